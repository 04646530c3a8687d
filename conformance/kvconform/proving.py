"""`kvconform prove`: runs the specification's proofs, and the enumeration that must agree with them.

Knows the prover and the enumeration; what came of them is shown by `report.proofs`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from kvconform.errors import CONFORMS, INCONCLUSIVE, VIOLATES, UsageError
from kvconform.moment import Moment
from kvconform.report import proofs
from kvconform.report.progress import bar

if TYPE_CHECKING:
    from kvspec import prover
    from kvspec.explore import Exploration
    from kvspec.theorems import Obligation

EXIT = {"proved": CONFORMS, "refuted": VIOLATES, "disagree": INCONCLUSIVE, "inconclusive": INCONCLUSIVE}

DEPTH_SHOWN = 9
"""Levels of one scope, for the progress bar: as many as the default scopes have."""

SOLVERS = {"z3": ("z3",), "cvc5": ("cvc5",), "both": ("z3", "cvc5")}
"""What may be asked for, and who then answers."""


@dataclass(frozen=True)
class Wanted:
    """What is to be proved, of which laws or theorems (all, where neither is said), by whom, and where to export it."""

    laws: Sequence[str]
    theorems: Sequence[str]
    solvers: Sequence[str]
    timeout: float
    seed: int
    smt2: Path | None = None

    @property
    def everything(self) -> bool:
        """Whether nothing is left out."""
        return not self.laws and not self.theorems

    @property
    def selection(self) -> tuple[list[str] | None, list[str] | None]:
        """As the prover takes it."""
        return list(self.laws) or None, list(self.theorems) or None


def solvers_named(name: str) -> Sequence[str]:
    """The solvers that an option asks for. Raises UsageError where it asks for none there is."""
    if name not in SOLVERS:
        raise UsageError(f"no solver {name!r}; there are {', '.join(SOLVERS)}")
    return SOLVERS[name]


def run_proofs(console: Console, wanted: Wanted, verbose: bool, write: Callable[[Any], None]) -> int:
    """Prove what is wanted, write the report, show it; the exit code. Raises UsageError for an unknown id, and for a
    solver that is not installed.
    """
    from kvspec import prover  # loads the solver: only here
    from kvspec.theorems import OBLIGATIONS, UNPROVED

    try:
        chosen = prover.select(*wanted.selection)
        if wanted.smt2 is not None:
            _export(chosen, wanted.smt2)
        results, explored, interrupted = _proved(wanted, len(chosen))
    except (prover.UnknownId, prover.SolverMissing) as error:
        raise UsageError(str(error)) from None
    bare = [law for law in wanted.laws if not any(obligation.law == law for obligation in chosen)]
    for law in bare:
        console.print(f"nothing is proved of {law}: {UNPROVED.get(law, 'no obligation names it')}", markup=False)
    stories = _stories(chosen, results)
    document = prover.report(results)
    for row in document["obligations"]:
        if row["id"] in stories:
            row["story"] = stories[row["id"]]
    if explored is not None:
        document["exploration"] = explored.as_data()
    document["selected"], document["interrupted"] = len(chosen), interrupted
    document["verdict"] = _verdict(document["verdict"], explored, interrupted or bool(bare))
    write(document)
    told = stories if verbose or not wanted.everything else {}
    proofs.show(console, results, wanted.solvers, verbose, told)
    if explored is not None:
        proofs.show_exploration(console, explored)
    if interrupted:
        when = (
            "in the enumeration"
            if len(results) == len(chosen)
            else f"after {len(results)} of {len(chosen)} obligations"
        )
        console.print(f"interrupted {when}")
    of_all = None if wanted.everything else (len(chosen), len(OBLIGATIONS))
    proofs.show_verdict(console, document["verdict"], of_all)
    return EXIT[document["verdict"]]


def _export(chosen: Sequence[Any], folder: Path) -> None:
    from kvspec import prover

    for obligation in chosen:
        path = folder / prover.file_name(obligation)
        text = prover.to_smt2(obligation)
        try:
            path.write_text(text)
        except OSError as error:
            raise UsageError(f"cannot write {path}: {error.strerror or error}") from None


def _verdict(proofs_say: str, explored: Exploration | None, incomplete: bool) -> str:
    """The verdict on proofs and enumeration together: a state that contradicts a proof refutes the specification."""
    if explored is not None and not explored.good:
        return "refuted" if explored.path else "inconclusive" if proofs_say == "proved" else proofs_say
    return "inconclusive" if incomplete and proofs_say == "proved" else proofs_say


def _stories(chosen: Sequence[Obligation], results: Sequence[prover.Result]) -> dict[str, list[str]]:
    """The story of each wrong variant's example, line by line."""
    from kvspec.story import tell

    telling = {obligation.id: obligation.tell for obligation in chosen}
    stories = {}
    for result in results:
        teller = telling[result.id]
        if result.good and result.countermodel and teller is not None:
            stories[result.id] = tell(teller(result.countermodel))
    return stories


def _proved(wanted: Wanted, of: int) -> tuple[list[prover.Result], Exploration | None, bool]:
    """What came of the proofs and of the enumeration so far, and whether it was interrupted."""
    from kvspec import prover
    from kvspec.explore import explore
    from kvspec.exploring.scopes import SCOPES

    explored = None
    results: list[prover.Result] = []
    with bar() as report:

        def seen(result: prover.Result) -> None:
            results.append(result)
            report(Moment("proving", len(results), of, result.id))

        try:
            prover.prove(*wanted.selection, seen, wanted.timeout, wanted.solvers, wanted.seed)
            if wanted.everything:
                levels, of = itertools.count(1), DEPTH_SHOWN * len(SCOPES)
                explored = explore(lambda line: report(Moment("exploring", next(levels), of, line)))
        except KeyboardInterrupt:
            return results, None, True
    return results, explored, False
