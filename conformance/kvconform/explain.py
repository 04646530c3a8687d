"""What `laws` prints: the catalogue, and one law explained with a smallest example of breaking it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.markup import escape

from kvconform import examples, faults
from kvconform.errors import UsageError
from kvconform.examples import Shown
from kvconform.faults.classes import CLASSES
from kvconform.listing import plain_table
from kvconform.report.classes import likely_classes
from kvconform.report.drawing import drawing
from kvconform.report.story import beyond, setting, tell
from kvspec.laws import CATALOGUE, CATALOGUE_VERSION, Law


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


def laws_markdown() -> str:
    """docs/laws.md."""
    lines = [
        "# The laws",
        "",
        f"Catalogue {CATALOGUE_VERSION}, {len(CATALOGUE)} laws. "
        "Written by `make docs` from `spec/kvspec/laws`; do not edit.",
        "",
        "MUST: safety and soundness. SHOULD: quality that users may rely on; counts with `--strict`. MAY: advice.",
    ]
    for law in CATALOGUE.values():
        proof = proved_by(law.id)
        breakers = [f"`fault:{fault.name}`" for fault in faults.CATALOGUE.values() if law.id in fault.laws]
        lines += ["", f"## {law.id}", "", f"**{law.level.value}**, judged on {_scope(law)}. {law.statement}", ""]
        lines += [f"- Why: {law.source}", f"- Needs: {_needs(law)}", f"- Proved: {proof}"]
        lines += [f"- Broken on purpose by: {', '.join(breakers)}", "", *_smallest_markdown(law)]
    return "\n".join(lines) + "\n"


def _smallest_markdown(law: Law) -> list[str]:
    """The smallest example of breaking the law, told and drawn."""
    shown = examples.show(examples.load(law.id))
    fault, violation = shown.example.fault, shown.raw.violation
    return [
        f"A smallest way to break it, by `fault:{fault.name}` ({_lowered(fault.what)}), with "
        f"{setting(shown.example.file.config)}:",
        "",
        *[f"{number}. {line}" for number, line in enumerate(_story(shown), 1)],
        "",
        f"What is wrong then: {violation.message}. Expected: {violation.expected}. Observed: {violation.observed}.",
        "",
        f"![{law.id}: before and after]({drawing_path(law.id)})",
    ]


def _lowered(sentence: str) -> str:
    return sentence[0].lower() + sentence[1:].rstrip(".")


def drawing_path(law_id: str) -> str:
    """Where the drawing of a law's example is, as seen from docs/."""
    return f"images/laws/{law_id}.svg"


def law_drawing(law_id: str) -> str:
    """The pools before and after the operation by which the law's example breaks it."""
    shown = examples.show(examples.load(law_id))
    pictures, story = shown.pictures, _story(shown)
    last = len(pictures) - 1
    scenes = [(f"after {at}. {story[at - 1]}" if at else "at the start", pictures[at]) for at in range(last + 1)]
    marked = [(device.value, block) for device, block in shown.raw.violation.blocks]
    return drawing(f"{law_id}, broken", scenes[-2:], shown.example.file.config.block_size, marked)


def proved_by(law_id: str) -> str:
    """Where the law is proved, or why it is not."""
    from kvspec.theorems import OBLIGATIONS, UNPROVED

    if law_id in UNPROVED:
        return f"no; {UNPROVED[law_id]}"
    count = sum(obligation.law == law_id for obligation in OBLIGATIONS)
    return f"`kvconform prove --law {law_id}` ({count} obligations)"


def faults_markdown() -> str:
    """docs/faults.md."""
    lines = [
        "# Fault classes and the fault catalogue",
        "",
        "Written by `make docs` from `conformance/kvconform/faults`; do not edit.",
        "",
        "## How block managers go wrong",
        "",
        "Classes of public bug reports on the block managers of LLM inference engines, 2023 to 2026.",
        "",
        "| class | what | wrong on purpose |",
        "|---|---|---|",
    ]
    for name, words in CLASSES.items():
        mine = [f"`{fault.name}`" for fault in faults.CATALOGUE.values() if fault.fault_class == name]
        lines.append(f"| {name} | {words} | {', '.join(mine)} |")
    lines += ["", "## Block managers that are wrong on purpose", ""]
    lines += ["Each is the reference with one decision changed: `kvconform check fault:NAME`.", ""]
    lines += ["| fault | class | what it does wrong | must be reported under | resembles |", "|---|---|---|---|---|"]
    for fault in faults.CATALOGUE.values():
        laws = ", ".join(f"`{law}`" for law in fault.laws)
        lines.append(f"| `{fault.name}` | {fault.fault_class} | {fault.what} | {laws} | {fault.resembles} |")
    return "\n".join(lines) + "\n"


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
        told = "; ".join(f"{name} {CLASSES[name]}" for name in likely_classes(law_id))
        console.print(f"classes  {told}")
    console.print(f"proved   {escape(proved_by(law_id))}")
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
    shown = examples.show(examples.load(law.id))
    fault, config, violation = shown.example.fault, shown.example.file.config, shown.raw.violation
    console.print(f"example  fault:{fault.name}: {escape(fault.what)}")
    console.print(f"         with {setting(config)}:")
    for number, line in enumerate(_story(shown), 1):
        console.print(f"         {number}. {escape(line)}")
    console.print(f"         {escape(violation.message)}")
    console.print(f"         expected  {escape(violation.expected)}")
    console.print(f"         observed  {escape(violation.observed)}")
    console.print(f"try      kvconform check fault:{fault.name}")


def _story(shown: Shown) -> list[str]:
    """The example in words, one line an operation; what shows it beyond them comes last."""
    raw = shown.raw
    then = beyond(raw.probe, raw.workload)
    return [*map(tell, raw.operations), *([then] if then else [])]
