"""`kvconform prove`: runs the specification's proofs and shows what came of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape

from kvconform.errors import CONFORMS, INCONCLUSIVE, VIOLATES, UsageError
from kvconform.report.progress import bar

EXIT = {"proved": CONFORMS, "refuted": VIOLATES, "inconclusive": INCONCLUSIVE}


def run_proofs(
    console: Console,
    laws: Sequence[str],
    theorems: Sequence[str],
    smt2: Path | None,
    verbose: bool,
    write: Callable[[Any], None],
) -> int:
    """Prove what is selected, show it, write the report; the exit code. Raises UsageError for an unknown id."""
    from kvspec import prover  # loads the solver: only here
    from kvspec.theorems import UNPROVED

    try:
        chosen = prover.select(list(laws) or None, list(theorems) or None)
        if smt2 is not None:
            for obligation in chosen:
                (smt2 / f"{obligation.id}.smt2").write_text(prover.to_smt2(obligation))
        with bar() as report:
            results: list[prover.Result] = []

            def seen(result: prover.Result) -> None:
                results.append(result)
                report("proving", len(results), len(chosen))

            interrupted = False
            try:
                prover.prove(list(laws) or None, list(theorems) or None, on_result=seen)
            except KeyboardInterrupt:
                interrupted = True
    except prover.UnknownId as error:
        raise UsageError(str(error)) from None
    for law in laws if not results else ():
        console.print(f"nothing is proved of {law}: {UNPROVED.get(law, 'no obligation names it')}", markup=False)
    document = prover.report(results)
    verdict = prover.verdict(results)
    if interrupted and verdict == "proved":
        verdict = document["verdict"] = "inconclusive"
    write(document)
    _show(console, results, verbose)
    if interrupted:
        console.print(f"interrupted after {len(results)} of {len(chosen)} obligations")
    console.print(f"\n[bold]specification: [{'green' if verdict == 'proved' else 'red'}]{verdict}[/][/]")
    return EXIT[verdict]


def _show(console: Console, results: Sequence[Any], verbose: bool) -> None:
    for result in results:
        if verbose or not result.good:
            mark = "[green]" if result.good else "[red]"
            console.print(f"{mark}{result.status:8}[/] {result.kind.value:10} {result.id}: {escape(result.statement)}")
        if not result.good:
            console.print(f"  {escape(str(result.reason or ''))} {escape(str(result.countermodel or ''))}")
    areas: dict[str, Counter[str]] = {}
    for result in results:
        areas.setdefault(result.id.partition(".")[0], Counter())[result.kind.value] += 1
    for area, kinds in areas.items():
        told = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
        console.print(f"{area:12} {sum(kinds.values()):4} obligations: {told}")
    bad = [result for result in results if not result.good]
    spent = sum(result.z3.seconds for result in results if result.z3)
    console.print(f"{len(results) - len(bad)} of {len(results)} end as they must, {spent:.1f} s in z3")
