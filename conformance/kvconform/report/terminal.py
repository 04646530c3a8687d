"""A report as a person reads it in a terminal. Knows the report only."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from kvconform.report import grouping, telling
from kvconform.report.deviations import beside, show_known
from kvconform.report.model import LawLine, Report, ViolationLine
from kvconform.report.story import many

COLOURS = {"conforms": "green", "violates": "red", "inconclusive": "yellow", "error": "red"}
MARKS = {
    "holds": "[green]holds[/]",
    "violated": "[red]VIOLATED[/]",
    "not-exercised": "[yellow]not exercised[/]",
    "not-applicable": "[dim]not applicable[/]",
    "known": "[yellow]known[/]",
}

MOST_TOLD = 8
"""Groups whose smallest case is told in full."""

HEADED = 2
"""Laws that a heading names."""

MOST_LISTED = 12
"""Further cases of a group that get a line."""


def show(report: Report, console: Console, *, verbose: bool = False) -> None:
    """Print the report. verbose: every finding in full, not only the smallest of each group."""
    new = [violation for violation in report.violations if not violation.known]
    if new:
        _findings(new, console, verbose)
    show_known(report.known, console)
    _laws(report, console)
    _restrictions(report, console)
    _summary(report, console)


def _findings(violations: Sequence[ViolationLine], console: Console, verbose: bool) -> None:
    groups = grouping.groups(violations)
    traces = sum(map(len, groups))
    found = f"{many(len(violations), 'finding')} on {many(traces, 'trace')}"
    if len(groups) < traces:
        found += f", in {many(len(groups), 'group')} that share laws or traces, and most likely causes"
    console.print(f"{found}; MUST first, the smallest first")
    for at, (smallest, *others) in enumerate(groups):
        if at < MOST_TOLD or verbose:
            _case(smallest, console, verbose)
        else:
            others = [smallest, *others]
        if verbose:
            for other in others:
                _case(other, console, verbose)
        elif others:
            _briefly(others, console)


def _case(case: grouping.Case, console: Console, verbose: bool) -> None:
    numbers = ", ".join(map(str, case.numbers))
    levels = {finding.law: finding.level for finding in case.findings}
    laws = ", ".join(f"[red]{escape(law)}[/] ({escape(level)})" for law, level in [*levels.items()][:HEADED])
    more = f" and {len(levels) - HEADED} more" if len(levels) > HEADED else ""
    console.rule(f"[bold]finding{'s' if len(case.numbers) > 1 else ''} {numbers}: {laws}{more}", align="left")
    for line in telling.case(case.findings, whole=verbose):
        console.print(line, soft_wrap=True)
    console.print()


def _briefly(cases: Sequence[grouping.Case], console: Console) -> None:
    """One line each for what has been told in a smaller case."""
    console.print("  more of the same group, each with its own files (--verbose tells them in full):", style="dim")
    for case in cases[:MOST_LISTED]:
        first, laws = case.findings[0], ", ".join(dict.fromkeys(finding.law for finding in case.findings))
        told = f"  {first.fingerprint}  {laws}, {many(len(first.trace), 'operation')}: {first.message}"
        console.print(Text(told), no_wrap=True, overflow="ellipsis")
    if len(cases) > MOST_LISTED:
        console.print(f"  and {len(cases) - MOST_LISTED} more", style="dim")
    console.print()


def _laws(report: Report, console: Console) -> None:
    table = Table(box=None, padding=(0, 2, 0, 0), show_edge=False)
    for title in ("law", "level", "verdict", "checks"):
        table.add_column(title, justify="right" if title == "checks" else "left", no_wrap=True)
    table.add_column("", style="dim")
    for law in report.laws:
        table.add_row(escape(law.id), escape(law.level), MARKS[law.verdict], _checks(law), escape(law.reason))
    console.print(table)


def _checks(law: LawLine) -> str:
    return f"{law.checks:,}" if law.checks else "-"


def _restrictions(report: Report, console: Console) -> None:
    if report.target.restrictions:
        console.print("\nwhat the engine never does, by the adapter's word:")
        for restriction in report.target.restrictions:
            console.print(f"  {escape(restriction.what)}: {escape(restriction.reason)}", style="dim")


def _summary(report: Report, console: Console) -> None:
    seen = ", ".join(f"{g.guard} {g.outcome} {g.hits:,}" for g in report.coverage.guards)
    edges = report.coverage.edges
    console.print(f"\nguards   {escape(seen) or 'none asked'}", soft_wrap=True)
    console.print(f"edges    {edges.run} of {edges.total} vectors reached, {edges.unreachable} proved unreachable")
    for note in report.notes:
        console.print(f"note     {escape(note)}")
    counts = {verdict: sum(law.verdict == verdict for law in report.laws) for verdict in MARKS}
    told = ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count)
    told = f"of {len(report.laws)} laws: {told}"
    console.print(
        f"ran      {report.operations:,} operations in {report.duration_s:.1f} s "
        f"(profile {escape(report.profile)}, seed {report.seed})"
    )
    version = f" {report.target.version}" if report.target.version else ""
    console.print(
        f"\n[bold]{escape(report.target.name + version)}: [{COLOURS[report.verdict]}]{report.verdict}"
        f"{beside(report.known)}[/][/] ({told})"
    )
