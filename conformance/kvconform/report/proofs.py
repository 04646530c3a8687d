"""The proofs as a person reads them in a terminal. Knows results only, not how they came about.

The check that a theorem is not vacuous is shown in the theorem's own row, unless it went wrong.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rich.console import Console, Group, RenderableType
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table

from kvconform.report.story import tell
from kvspec.laws import CATALOGUE

if TYPE_CHECKING:
    from kvspec.explore import Exploration
    from kvspec.prover import Result

CHECK = ".can-fire"
"""What the id of a theorem's vacuity check ends with."""

STATUS = {
    (True, "proved"): "[green]proved[/]",
    (True, "refuted"): "[green]refuted[/]",  # a wrong variant, as it must be
    (False, "proved"): "[red]not refuted[/]",
    (False, "refuted"): "[red]REFUTED[/]",
    (False, "unknown"): "[yellow]unknown[/]",
    (False, "disagree"): "[red]DISAGREE[/]",
}
COLOURS = {"proved": "green", "refuted": "red", "disagree": "red", "inconclusive": "yellow"}


def show(
    console: Console,
    results: Sequence[Result],
    solvers: Sequence[str],
    verbose: bool,
    stories: Mapping[str, Sequence[str]],
) -> None:
    """Print the table, these stories of examples, what is wrong, and the summary."""
    checks = {result.id: result for result in results if result.id.endswith(CHECK)}
    theorems = {result.id for result in results}
    rows = [
        r for r in results if verbose or not r.good or r.id not in checks or r.id.removesuffix(CHECK) not in theorems
    ]
    if rows:
        console.print(_table(rows, checks, solvers, verbose))
    for result in results:
        if not result.good:
            _wrong(console, result)
        elif result.id in stories:
            _story(console, result, stories[result.id])
    if results:
        _summary(console, results, solvers)


def _story(console: Console, result: Result, lines: Sequence[str]) -> None:
    console.print(f"\n[bold]{result.id}[/]: {escape(result.statement)}")
    for line in lines:
        console.print(f"  {line}", markup=False, highlight=False, soft_wrap=True)
    if result.law is not None:
        console.print(f"  so it breaks {result.law}: {escape(CATALOGUE[result.law].statement)}")


def show_exploration(console: Console, explored: Exploration) -> None:
    """Print what came of the enumeration, and where it disagrees the operations that lead there."""
    walked = f"{explored.transitions} operations in {explored.states} states"
    if explored.good:
        laws, outcomes = len(explored.tally.laws), len(explored.tally.guards)
        told = f"{laws} of {len(CATALOGUE)} laws judged, {outcomes} outcomes of guards seen"
        console.print(f"small scope: {walked} agree with the proofs; {told}")
        return
    console.print(f"[red]small scope[/]: {walked}, then: {escape(explored.reason)}")
    if explored.scope is not None:
        console.print(f"  with {explored.scope}:", markup=False)
    for number, op in enumerate(explored.path, start=1):
        console.print(f"  {number:3}. {tell(op)}", markup=False)


def show_verdict(console: Console, verdict: str, of_all: tuple[int, int] | None = None) -> None:
    """Print the last line. of_all: of a selection, how many obligations it has and how many there are."""
    part = ""
    if of_all is not None:
        part = f", as far as selected ({of_all[0]} of {of_all[1]} obligations, nothing enumerated)"
    console.print(f"\n[bold]specification: [{COLOURS[verdict]}]{verdict}[/][/]{part}")


def _table(rows: Sequence[Result], checks: dict[str, Result], solvers: Sequence[str], verbose: bool) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), show_edge=False)
    table.add_column("theorem (law)\n  in words", overflow="fold", ratio=1)  # ids are never cut off
    for title in ("status", *solvers):
        table.add_column(title, no_wrap=True)
    table.add_column("can\nhappen", no_wrap=True)
    table.add_column("seconds", justify="right", no_wrap=True)
    area = ""
    for result in rows:
        if result.id.partition(".")[0] != area:
            area = result.id.partition(".")[0]
            table.add_row()
            table.add_row(f"[bold]{area}[/]")
        table.add_row(*_row(result, checks.get(f"{result.id}{CHECK}"), solvers, verbose))
    return table


def _row(result: Result, check: Result | None, solvers: Sequence[str], verbose: bool) -> list[RenderableType]:
    name = result.id if result.law is None else f"{result.id} [dim]({result.law})[/]"
    words = [escape(result.statement)]
    if verbose and result.countermodel is not None:
        words.append(f"[dim]{escape(_numbers(result))}[/]")
    told = Group(name, *(Padding(line, (0, 0, 0, 2)) for line in words))
    answers = [result.answers[solver].answer if solver in result.answers else "-" for solver in solvers]
    happens = "" if check is None else "yes" if check.good else "[red]NO[/]" if check.status == "refuted" else "?"
    seconds = result.seconds + (0.0 if check is None else check.seconds)
    return [told, STATUS[result.good, result.status], *answers, happens, f"{seconds:.3f}"]


def _numbers(result: Result) -> str:
    """The numbers of an example that say something."""
    told = [f"{name} {value}" for name, value in (result.countermodel or {}).items() if value]
    return f"with {', '.join(told) or 'nothing'}, all else 0"


def _wrong(console: Console, result: Result) -> None:
    console.print(f"\n{STATUS[False, result.status]} {result.id}: {escape(result.statement)}")
    if result.answers:
        told = ", ".join(f"{name} says {a.answer} after {a.seconds:.3f} s" for name, a in result.answers.items())
        console.print(f"  {told}")
    if result.reason:
        console.print(f"  {escape(result.reason)}")
    if result.countermodel:
        console.print(f"  {escape(_numbers(result))}")


def _summary(console: Console, results: Sequence[Result], solvers: Sequence[str]) -> None:
    kinds = Counter(result.kind.value for result in results)
    told = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
    console.print(f"\n{len(results)} obligations: {told}")
    spent = {name: sum(r.answers[name].seconds for r in results if name in r.answers) for name in solvers}
    times = [f"{seconds:.1f} s in {name}" for name, seconds in spent.items()]
    small = sum(result.minimising for result in results)
    slowest = max(results, key=lambda result: result.seconds)
    times += [f"{small:.1f} s to make examples small"] if small else []
    console.print(f"{', '.join(times)}; slowest: {slowest.id}, {slowest.seconds:.3f} s", soft_wrap=True)
    if len(solvers) == 1:
        console.print(f"asked {solvers[0]} alone; --solver both cross-checks: z3 and cvc5 answer the same texts")
    good = sum(result.good for result in results)
    console.print(f"{good} of {len(results)} end as they must")
