"""Discharges proof obligations with one or several solvers, and reports what came of each.

Knows what an obligation is and how solvers are asked; must not know what any single theorem says. Four rules make its
answers worth trusting: every solver answers the same text, and two that differ are an end of its own; `unknown` is
never a good end; every example that a solver finds is evaluated again on plain numbers, through the same functions,
before it counts; and one obligation that cannot even be built does not stop the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from kvspec.laws import CATALOGUE
from kvspec.solving.asking import Answer, Asking, Reply
from kvspec.solving.interrupts import interrupts_noted, raise_if_interrupted
from kvspec.solving.plain import doubt_about, holds
from kvspec.solving.questions import LEAST, MOST, finite, main_question, whole
from kvspec.solving.smallest import smallest
from kvspec.solving.smtlib import text_of
from kvspec.solving.solver import Solver, SolverMissing, solver_named
from kvspec.theorems import OBLIGATIONS
from kvspec.theorems.obligation import PROOFS, Kind, Obligation

__all__ = [
    "LEAST",
    "MOST",
    "Answer",
    "Result",
    "SolverMissing",
    "UnknownId",
    "discharge",
    "doubt_about",
    "file_name",
    "holds",
    "prove",
    "report",
    "select",
    "to_smt2",
    "verdict",
]

TIMEOUT = 10.0
"""Seconds that one question to one solver may take."""

STATUSES = ("proved", "refuted", "unknown", "disagree")
VERDICTS = ("proved", "refuted", "disagree", "inconclusive")


class UnknownId(ValueError):
    """No law, or no theorem, has this id."""


@dataclass(frozen=True)
class Result:
    """What became of one obligation.

    status: proved, refuted, unknown, or disagree (solvers differ, or an example does not stand up on plain numbers).
    z3, cvc5: what each said; None where it was not asked. example: the numbers found, by name: a smallest
    countermodel, or for vacuity a way to meet the hypotheses. reason: why there is no answer, in words. minimising:
    seconds that it took to make the example small, with z3.
    """

    id: str
    law: str | None
    statement: str
    kind: Kind
    status: str
    z3: Answer | None = None
    cvc5: Answer | None = None
    example: Mapping[str, int] | None = None
    reason: str | None = None
    minimising: float = 0.0

    @property
    def good(self) -> bool:
        """Whether it ended as it should: wrong variants refuted, all else proved."""
        return self.status == ("refuted" if self.kind is Kind.REFUTATION else "proved")

    @property
    def countermodel(self) -> Mapping[str, int] | None:
        """Numbers that break the claim: of a failed proof, and of a wrong variant as it should be."""
        return None if self.kind is Kind.VACUITY else self.example

    @property
    def answers(self) -> dict[str, Answer]:
        """What was said, by the solvers that were asked."""
        said = {"z3": self.z3, "cvc5": self.cvc5}
        return {name: answer for name, answer in said.items() if answer is not None}

    @property
    def seconds(self) -> float:
        """What it took in all solvers, and to make the example small."""
        return sum(answer.seconds for answer in self.answers.values()) + self.minimising


@dataclass(frozen=True)
class _End:
    """How one obligation ended; the fields are those of `Result`."""

    status: str
    reason: str | None = None
    example: Mapping[str, int] | None = None
    minimising: float = 0.0


def discharge(
    obligation: Obligation, timeout: float = TIMEOUT, solvers: Sequence[str] = ("z3",), seed: int = 0
) -> Result:
    """Prove or refute one obligation. Raises SolverMissing for a solver that is not installed."""
    return _discharge(obligation, timeout, [solver_named(name) for name in solvers], seed)


def _discharge(obligation: Obligation, timeout: float, solvers: Sequence[Solver], seed: int) -> Result:
    asking = Asking(solvers, timeout, seed)
    try:
        end = (_for_all if obligation.kind in PROOFS else _for_one)(obligation, asking)
    except Exception as error:  # whatever a builder does, the other obligations still get their turn
        end = _End("unknown", f"{type(error).__name__}: {error}")
    return Result(
        obligation.id,
        obligation.law,
        obligation.statement,
        obligation.kind,
        end.status,
        z3=asking.answers.get("z3"),
        cvc5=asking.answers.get("cvc5"),
        example=end.example,
        reason=end.reason,
        minimising=end.minimising,
    )


def _for_all(obligation: Obligation, asking: Asking) -> _End:
    general = asking.ask(whole(obligation))
    if general.answer == "unsat":
        return _End("proved")
    if general.answer == "disagree":
        return _End("disagree", general.reason)
    if general.answer == "sat" and obligation.general is None:
        return _exemplified(obligation, asking, general, "refuted")
    # A countermodel of any number of blocks is no numbers, and a question about all of them may be too hard. If a few
    # blocks break the claim, that settles it.
    few = asking.ask(finite(obligation))
    if few.answer == "sat" and "unsat" in general.said:
        return _End("disagree", f"{general.reason}; yet a few small numbers break the claim")
    if few.answer == "sat":
        return _exemplified(obligation, asking, few, "refuted")
    if few.answer == "disagree":
        return _End("disagree", few.reason)
    return _End("unknown", general.reason or "a countermodel that has no small instance: it cannot be evaluated")


def _for_one(obligation: Obligation, asking: Asking) -> _End:
    good, bad = ("refuted", "proved") if obligation.kind is Kind.REFUTATION else ("proved", "refuted")
    found = asking.ask(finite(obligation))
    if found.answer == "sat":
        return _exemplified(obligation, asking, found, good)
    return _End(bad if found.answer == "unsat" else found.answer, found.reason)


def _exemplified(obligation: Obligation, asking: Asking, reply: Reply, status: str) -> _End:
    """The status, if the example of each solver stands up on plain numbers."""
    examples = {name: found.values or {} for name, found in reply.founds.items()}
    for name, example in examples.items():
        doubt = doubt_about(obligation, example)
        if doubt is not None:
            return _End("disagree", f"{doubt} ({name})", example)
    example = next(iter(examples.values()))
    if status != "refuted":  # that something can be needs no beauty
        return _End(status, example=example)
    text = reply.text if reply.question.finite else text_of(finite(obligation))
    small = smallest(text, example, asking.timeout)
    doubt = doubt_about(obligation, small.example)
    if doubt is not None:
        return _End("disagree", f"{doubt} (z3, of the smallest)", small.example, small.seconds)
    reason = None if small.exact else "perhaps not the smallest example: the search for it was cut short"
    return _End(status, reason, small.example, small.seconds)


def to_smt2(obligation: Obligation) -> str:
    """What is asked of the solvers, as an SMT-LIB text with the answer it should get."""
    return text_of(main_question(obligation))


def file_name(obligation: Obligation) -> str:
    """What the file of that text is called: after the theorem and the law."""
    return f"{obligation.id}{f'--{obligation.law}' if obligation.law else ''}.smt2"


def select(
    law: str | Iterable[str] | None = None,
    theorem: str | Iterable[str] | None = None,
    obligations: Sequence[Obligation] = OBLIGATIONS,
) -> list[Obligation]:
    """The obligations about any of these laws or under any of these theorem ids, and all that they rest on.

    A theorem id may be cut at a dot: `guards`, or `guards.swap-in`. Without either, all of them. Raises UnknownId for
    an id that is neither; a law that has no theorem selects nothing.
    """
    laws, theorems = _ids(law), _ids(theorem)
    for name in laws:
        if name not in CATALOGUE:
            raise UnknownId(f"no law {name!r}; `kvconform laws` lists them")
    for name in theorems:
        if not any(_under(obligation, name) for obligation in obligations):
            near = get_close_matches(name, _names(obligations), n=4, cutoff=0.3)
            raise UnknownId(f"no theorem {name!r}; near it: {', '.join(near)} (all: kvconform prove --verbose)")
    if law is None and theorem is None:
        return list(obligations)
    wanted = {o.id for o in obligations if o.law in laws or any(_under(o, name) for name in theorems)}
    wanted = _with_foundations(wanted, obligations)
    return [obligation for obligation in obligations if obligation.id in wanted]


def _names(obligations: Sequence[Obligation]) -> list[str]:
    """Every theorem id, and every id that some begin with."""
    parts = (obligation.id.split(".") for obligation in obligations)
    return sorted({".".join(split[:length]) for split in parts for length in range(1, len(split) + 1)})


def _ids(names: str | Iterable[str] | None) -> list[str]:
    if names is None:
        return []
    return [names] if isinstance(names, str) else list(names)


def _under(obligation: Obligation, name: str) -> bool:
    return obligation.id == name or obligation.id.startswith(f"{name}.")


def _with_foundations(wanted: set[str], obligations: Sequence[Obligation]) -> set[str]:
    below = {o.id: o.rests_on for o in obligations}
    reached: set[str] = set()
    todo = list(wanted)
    while todo:
        name = todo.pop()
        if name not in reached:
            reached.add(name)
            todo.extend(below.get(name, ()))
            if f"{name}.can-fire" in below:
                todo.append(f"{name}.can-fire")
    return reached


def prove(
    law: str | Iterable[str] | None = None,
    theorem: str | Iterable[str] | None = None,
    on_result: Callable[[Result], None] | None = None,
    timeout: float = TIMEOUT,
    solvers: Sequence[str] = ("z3",),
    seed: int = 0,
) -> list[Result]:
    """Discharge what `select` selects, in order. `on_result` is told each result as it comes.

    Raises SolverMissing for a solver that is not installed.
    """
    results = []
    chosen, asked = select(law, theorem), [solver_named(name) for name in solvers]
    with interrupts_noted():
        for obligation in chosen:
            result = _discharge(obligation, timeout, asked, seed)
            raise_if_interrupted()
            results.append(result)
            if on_result is not None:
                on_result(result)
    return results


def verdict(results: Sequence[Result]) -> str:
    """The verdict on all: refuted where some proof failed; else disagree where solvers, or a solver and plain numbers,
    do; else inconclusive where anything is open; else proved.
    """
    if any(not result.good and result.status in ("proved", "refuted") for result in results):
        return "refuted"
    if any(result.status == "disagree" for result in results):
        return "disagree"
    if not results or not all(result.good for result in results):
        return "inconclusive"
    return "proved"


def report(results: Sequence[Result]) -> dict[str, Any]:
    """The results as plain data, schema kvconform/proof@1."""
    return {
        "schema": "kvconform/proof@1",
        "verdict": verdict(results),
        "obligations": [_as_data(result) for result in results],
    }


def _as_data(result: Result) -> dict[str, Any]:
    data: dict[str, Any] = {
        "id": result.id,
        "law": result.law,
        "statement": result.statement,
        "kind": result.kind.value,
        "z3": _answer_as_data(result.z3),
        "cvc5": _answer_as_data(result.cvc5),
        "status": result.status,
    }
    if result.countermodel is not None:
        data["countermodel"] = dict(result.countermodel)
    if result.minimising:
        data["minimising"] = round(result.minimising, 6)
    if result.reason is not None:
        data["reason"] = result.reason
    return data


def _answer_as_data(answer: Answer | None) -> dict[str, Any] | None:
    return None if answer is None else {"answer": answer.answer, "seconds": round(answer.seconds, 6)}
