"""A report as a person reads it in a terminal. Knows the report only."""

from __future__ import annotations

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from kvconform.faults.classes import CLASSES
from kvconform.report.model import LawLine, Report, ViolationLine
from kvconform.report.story import many, setting, tell, told_probe
from kvconform.trace import config_from_json, operation_from_json
from kvspec.laws import CATALOGUE

COLOURS = {"conforms": "green", "violates": "red", "inconclusive": "yellow", "error": "red"}
MARKS = {
    "holds": "[green]holds[/]",
    "violated": "[red]VIOLATED[/]",
    "not-exercised": "[yellow]not exercised[/]",
    "not-applicable": "[dim]not applicable[/]",
    "known": "[yellow]known[/]",
}


def show(report: Report, console: Console) -> None:
    """Print the report."""
    if report.violations:
        traces = {str((v.config, v.trace, v.probe)) for v in report.violations}
        found, on = many(len(report.violations), "finding"), many(len(traces), "trace")
        console.print(f"{found} on {on}, MUST first, the smallest first")
    for number, violation in enumerate(report.violations, 1):
        _finding(number, violation, console)
    _laws(report, console)
    _restrictions(report, console)
    _summary(report, console)


def _finding(number: int, v: ViolationLine, console: Console) -> None:
    console.rule(f"[bold]finding {number}: [red]{v.law}[/] ({v.level})", align="left")
    console.print(escape(CATALOGUE[v.law].statement), style="italic")
    console.print(f"\n  with {setting(config_from_json(v.config))}:")
    for at, op in enumerate(v.trace, 1):
        here = at == v.step and not v.probe
        console.print(f"  {'[red]->[/]' if here else '  '} {at}. {escape(tell(operation_from_json(op)))}")
    if v.probe:
        console.print(f"     then: {told_probe(v.probe)}")
    console.print(f"\n  [bold]{escape(v.message)}[/]")
    console.print(f"  expected  {escape(v.expected)}")
    console.print(f"  observed  {escape(v.observed)}")
    if v.fault_class:
        told = "; ".join(f"{name} {CLASSES[name]}" for name in v.fault_class)
        console.print(f"  classes   {told}")
    console.print(f"  found by  {v.found_by}, fingerprint {v.fingerprint}")
    console.print(f"  reproduce {escape(v.reproduce)}\n", soft_wrap=True)


def _laws(report: Report, console: Console) -> None:
    table = Table(box=None, padding=(0, 2, 0, 0), show_edge=False)
    for title in ("law", "level", "verdict", "checks"):
        table.add_column(title, justify="right" if title == "checks" else "left", no_wrap=True)
    table.add_column("", style="dim")
    for law in report.laws:
        table.add_row(law.id, law.level, MARKS[law.verdict], _checks(law), escape(law.reason))
    console.print(table)


def _checks(law: LawLine) -> str:
    return f"{law.checks:,}" if law.checks else "-"


def _restrictions(report: Report, console: Console) -> None:
    if report.target.restrictions:
        console.print("\nwhat the engine never does, by the adapter's word:")
        for restriction in report.target.restrictions:
            console.print(f"  {restriction.what}: {escape(restriction.reason)}", style="dim")


def _summary(report: Report, console: Console) -> None:
    seen = ", ".join(f"{g.guard} {g.outcome} {g.hits:,}" for g in report.coverage.guards)
    edges = report.coverage.edges
    console.print(f"\nguards   {seen or 'none asked'}", soft_wrap=True)
    console.print(f"edges    {edges.run} of {edges.total} vectors reached, {edges.unreachable} proved unreachable")
    for note in report.notes:
        console.print(f"note     {escape(note)}")
    counts = {verdict: sum(law.verdict == verdict for law in report.laws) for verdict in MARKS}
    told = ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count)
    told = f"of {len(report.laws)} laws: {told}"
    console.print(
        f"ran      {report.operations:,} operations in {report.duration_s:.1f} s "
        f"(profile {report.profile}, seed {report.seed})"
    )
    version = f" {report.target.version}" if report.target.version else ""
    console.print(
        f"\n[bold]{escape(report.target.name)}{version}: [{COLOURS[report.verdict]}]{report.verdict}[/][/] ({told})"
    )
