"""What `targets` and `engines` print: what there is, and what was fetched."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from kvconform import __version__, faults
from kvconform.adapter import capabilities_of
from kvconform.errors import TargetError, UsageError
from kvconform.reference import ReferenceAdapter
from kvconform.reference_told import ToldReference
from kvconform.reference_try import TryReference
from kvspec.vocabulary import Capability


def plain_table(*titles: str) -> Table:
    """A table without lines."""
    table = Table(box=None, padding=(0, 2, 0, 0), show_edge=False)
    for title in titles:
        table.add_column(title, overflow="fold")
    return table


# -- targets -------------------------------------------------------------------------------------------------


def targets() -> list[dict[str, Any]]:
    """Every target that ships with the kit, one row a version."""
    rows = [_row("reference", __version__, capabilities_of(ReferenceAdapter()), "the reference manager, kvref")]
    for face, words in (
        (TryReference, "kvref, asked by trying: no guards, swap or fork; chunks and drafts"),
        (ToldReference, "kvref, for an engine that keeps its own block tables, and asks before it forks"),
    ):
        rows.append(_row(face.name, __version__, capabilities_of(face()), words))
    rows += _engines()
    for fault in faults.CATALOGUE.values():
        offered = capabilities_of(fault.adapter()())
        row = _row(f"fault:{fault.name}", __version__, offered, f"{fault.fault_class}: {fault.what}")
        rows.append({**row, "laws": list(fault.laws), "resembles": fault.resembles})
    return rows


def _row(name: str, version: str, capabilities: frozenset[Capability], note: str) -> dict[str, Any]:
    offered = sorted(capability.value for capability in capabilities)
    return {"name": name, "version": version, "available": True, "capabilities": offered, "note": note}


def _engines() -> list[dict[str, Any]]:
    from kvconform.engines import available

    rows: list[dict[str, Any]] = []
    for engine in available():
        for version, offered in engine.versions.items():
            rows.append(_row(f"{engine.name}@{version}", version, offered, "a published engine's block manager"))
        for version, problem in engine.problems.items():
            rows.append(_absent(f"{engine.name}@{version}", version, problem))
        if not engine.versions and not engine.problems:
            rows.append(_absent(f"{engine.name}@VERSION", "", f"not here; get it with: {engine.hint}"))
    return rows


def _absent(name: str, version: str, note: str) -> dict[str, Any]:
    return {"name": name, "version": version, "available": False, "capabilities": [], "note": note}


def show(rows: Sequence[dict[str, Any]], console: Console) -> None:
    """Print the targets."""
    table = plain_table("target", "", "capabilities")
    reference = rows[0]["capabilities"]
    for row in rows:
        note = row["note"] if row["available"] else f"not available: {row['note']}"
        offered = ", ".join(reference) if row is rows[0] else _compared(row["capabilities"], reference)
        table.add_row(escape(row["name"]), escape(note), offered if row["available"] else "")
    console.print(table)


def _compared(offered: Sequence[str], reference: Sequence[str]) -> str:
    """Capabilities in terms of the reference's."""
    less = [f"no {name}" for name in reference if name not in offered]
    more = [f"and {name}" for name in offered if name not in reference]
    return ", ".join([*more, *less]) or "as reference"


# -- engines -------------------------------------------------------------------------------------------------


def fetch(console: Console, specs: Sequence[str]) -> None:
    """Fetch engines. Raises UsageError or TargetError, with what to do."""
    from kvconform import engines

    try:
        wanted = [engines.parse_spec(spec) for spec in specs]
        for spec in wanted:
            console.print(f"{spec.name}=={spec.version}", markup=False)
            folder = engines.fetch(
                spec.name, spec.version, progress=lambda line: console.print(f"  {line}", markup=False)
            )
            console.print(f"  here: {folder}", markup=False, soft_wrap=True)
    except engines.EngineError as error:
        kind = UsageError if error.exit_code == UsageError.exit_code else TargetError
        raise kind(str(error)) from None
