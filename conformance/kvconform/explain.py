"""What `laws` prints: the catalogue, and one law explained with a smallest example of breaking it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.markup import escape

from kvconform import faults, vectors
from kvconform.adapter import capabilities_of
from kvconform.errors import UsageError
from kvconform.finding import Finding
from kvconform.listing import plain_table
from kvconform.report.classes import likely_classes
from kvconform.report.story import setting, tell
from kvconform.run import Run
from kvconform.shrink import Shrinker
from kvconform.walk import Walk
from kvspec.edges import vectors as edges
from kvspec.laws import CATALOGUE, CATALOGUE_VERSION, Law
from kvspec.vocabulary import Capability, Config

SEARCH = 400
"""Runs of the walk in which an example must show."""


def catalogue_json() -> dict[str, Any]:
    """The catalogue as data."""
    return {
        "schema": "kvconform/laws@1",
        "catalogue": CATALOGUE_VERSION,
        "laws": [_law_json(law) for law in CATALOGUE.values()],
    }


def _law_json(law: Law) -> dict[str, Any]:
    return {
        "id": law.id,
        "level": law.level.value,
        "scope": law.scope.value,
        "since": law.since,
        "statement": law.statement,
        "needs": [capability.value for capability in law.needs],
        "needs_any": [capability.value for capability in law.needs_any],
        "source": law.source,
        "breaking": {"case": type(law.breaking).__name__, **asdict(law.breaking)},
        "faults": [fault.name for fault in faults.CATALOGUE.values() if law.id in fault.laws],
    }


def catalogue(console: Console) -> None:
    """Print all laws."""
    table = plain_table("law", "level", "statement")
    for law in CATALOGUE.values():
        table.add_row(law.id, law.level.value, escape(law.statement))
    console.print(table)
    console.print(f"\n{len(CATALOGUE)} laws, catalogue {CATALOGUE_VERSION}; one explained: kvconform laws ID")


def one(law_id: str, console: Console) -> None:
    """Print one law. Raises UsageError for an unknown id."""
    law = CATALOGUE.get(law_id)
    if law is None:
        raise UsageError(f"unknown law {law_id!r}; see: kvconform laws")
    console.print(f"[bold]{law.id}[/] ({law.level.value}, judged on {_scope(law)}, since catalogue {law.since})")
    console.print(escape(law.statement) + "\n")
    console.print(f"why      {escape(law.source)}")
    console.print(f"needs    {_needs(law)}")
    if likely_classes(law_id):
        console.print(f"classes  {', '.join(likely_classes(law_id))} (docs/faults.md)")
    numbers = ", ".join(f"{name} {value}" for name, value in asdict(law.breaking).items())
    console.print(f"breaks   a {type(law.breaking).__name__} with {escape(numbers)}")
    _example(law, console)


def _scope(law: Law) -> str:
    return "a whole run" if law.scope.value == "run" else "each operation"


def _needs(law: Law) -> str:
    needed = [capability.value for capability in law.needs]
    if law.needs_any:
        needed.append(" or ".join(capability.value for capability in law.needs_any))
    return ", ".join(needed) or "nothing: every manager is held to it"


def _example(law: Law, console: Console) -> None:
    fault = next((fault for fault in faults.CATALOGUE.values() if law.id in fault.laws), None)
    if fault is None:
        console.print("example  no fault of the catalogue is kept for this law")
        return
    finding = smallest(law, fault)
    console.print(f"example  fault:{fault.name}: {escape(fault.what)}")
    if finding is None:
        console.print("         (not shown within the search that this command allows itself)")
        return
    console.print(f"         with {setting(finding.config)}:")
    for number, op in enumerate(finding.operations, 1):
        console.print(f"         {number}. {escape(tell(op))}")
    console.print(f"         expected  {escape(finding.violation.expected)}")
    console.print(f"         observed  {escape(finding.violation.observed)}")
    console.print(f"try      kvconform check fault:{fault.name}")


def smallest(law: Law, fault: faults.Fault) -> Finding | None:
    """A smallest trace on which the fault breaks the law, found now: by the vectors, else by the walk."""
    adapter = fault.adapter()()
    capabilities: frozenset[Capability] = capabilities_of(adapter)

    def start(config: Config) -> Run:
        return Run(adapter, config)

    shrinker = Shrinker(start)
    best: list[Finding] = []
    for vector in edges.load().vectors:
        raws = vectors.raws(vectors.play(start, vector, adapter, capabilities))
        best += [found for raw in raws if raw.violation.law is law and (found := shrinker.shrink(raw))]
        if len(best) > 2:
            break
    walk = Walk(adapter, start, capabilities, seed=0)
    for number in range(SEARCH):
        if best:
            break
        _, raws = walk.one(number)
        best += [found for raw in raws if raw.violation.law is law and (found := shrinker.shrink(raw))]
    return min(best, key=lambda f: (len(f.operations), f.config.num_gpu_blocks), default=None)
