"""Discharges proof obligations with z3, and reports what came of each.

Knows the solver and what an obligation is; must not know what any single theorem says. Three rules make its answers
worth trusting: `unknown` is never a good end; every example the solver finds is evaluated again on plain numbers,
through the same functions, before it counts; and one obligation that cannot even be built does not stop the others.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any

import z3

from kvspec.algebra import INTS
from kvspec.laws import CATALOGUE
from kvspec.terms import Terms, truth
from kvspec.theorems import OBLIGATIONS
from kvspec.theorems.obligation import PROOFS, Build, Claim, Kind, Obligation

TIMEOUT = 10.0
"""Seconds that one question to the solver may take."""

SMALLEST, LARGEST = -1, (2, 4, 8)
"""The range of the unknowns wherever an example is asked for: finite, so that solvers answer. The smallest range that
has an example is the easiest to read, so the ranges are tried in turn.
"""

STATUSES = ("proved", "refuted", "unknown", "disagree")
VERDICTS = ("proved", "refuted", "inconclusive")


class UnknownId(ValueError):
    """No law, or no theorem, has this id."""


@dataclass(frozen=True)
class Answer:
    """What one solver said (sat, unsat, unknown), and how long it took."""

    answer: str
    seconds: float


@dataclass(frozen=True)
class Result:
    """What became of one obligation.

    status: proved, refuted, unknown, or disagree (an example of the solver does not stand up on plain numbers).
    example: the numbers found, by name: a countermodel, or for vacuity a way to meet the hypotheses. reason: why there
    is no answer, in words.
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

    @property
    def good(self) -> bool:
        """Whether it ended as it should: wrong variants refuted, all else proved."""
        return self.status == ("refuted" if self.kind is Kind.REFUTATION else "proved")

    @property
    def countermodel(self) -> Mapping[str, int] | None:
        """Numbers that break the claim: of a failed proof, and of a wrong variant as it should be."""
        return None if self.kind is Kind.VACUITY else self.example


@dataclass(frozen=True)
class _Found:
    """One question's answer. model: present where it is sat. reason: present where it is unknown."""

    answer: Answer
    model: Any = None
    reason: str | None = None


def discharge(obligation: Obligation, timeout: float = TIMEOUT) -> Result:
    """Prove or refute one obligation."""
    result = Result(obligation.id, obligation.law, obligation.statement, obligation.kind, "unknown")
    try:
        if obligation.kind in PROOFS:
            return _for_all(obligation, result, timeout)
        return _for_one(obligation, result, timeout)
    except Exception as error:  # whatever a builder does, the other obligations still get their turn
        return replace(result, reason=f"{type(error).__name__}: {error}")


def _for_all(obligation: Obligation, result: Result, timeout: float) -> Result:
    found = _ask(_whole(obligation), timeout)
    result = replace(result, z3=found.answer, reason=found.reason)
    if found.answer.answer == "unsat":
        return replace(result, status="proved")
    # A small countermodel is easier to read, and found where the whole question is too hard.
    small = _ask_small(obligation, timeout)
    if small.model is not None:
        return _settle(obligation, replace(result, z3=small.answer, reason=None), small.model, "refuted")
    if found.model is not None and obligation.general is None:
        return _settle(obligation, result, found.model, "refuted")
    return replace(result, reason=result.reason or "a countermodel that has no small instance: it cannot be evaluated")


def _for_one(obligation: Obligation, result: Result, timeout: float) -> Result:
    found = _ask_small(obligation, timeout)
    result = replace(result, z3=found.answer, reason=found.reason)
    good, bad = ("refuted", "proved") if obligation.kind is Kind.REFUTATION else ("proved", "refuted")
    if found.model is not None:
        return _settle(obligation, result, found.model, good)
    return replace(result, status=bad if found.answer.answer == "unsat" else "unknown")


def _settle(obligation: Obligation, result: Result, model: Any, status: str) -> Result:
    """The status, if the solver's example stands up on plain numbers."""
    example = {name: _value(model, name) for name in obligation.unknowns}
    doubt = doubt_about(obligation, example)
    return replace(result, status="disagree" if doubt else status, example=example, reason=doubt)


def doubt_about(obligation: Obligation, example: Mapping[str, int]) -> str | None:
    """Evaluate an example on plain numbers. None where it shows what it is meant to, else what is wrong with it."""
    claim = obligation.build(INTS, **example)
    if not all(claim.facts):
        return "on plain numbers the example does not meet the hypotheses"
    if obligation.kind is Kind.VACUITY:
        return None
    if claim.goal:
        return "on plain numbers the example does not break the goal"
    if obligation.right is not None and not holds(obligation.right, example):
        return "on plain numbers the example breaks the right rule too"
    return None


def holds(build: Build, example: Mapping[str, int]) -> bool:
    """Whether a claim holds of these plain numbers."""
    claim = build(INTS, **example)
    return not all(claim.facts) or bool(claim.goal)


def _whole(obligation: Obligation) -> list[Any]:
    """The question whose good answer is unsat: everything given, and not the goal."""
    a = Terms()
    claim = _posed(obligation, a) if obligation.general is None else obligation.general(a)
    return [*_facts(claim, a), a.negate(claim.goal)]


def _small(obligation: Obligation, largest: int) -> list[Any]:
    """The question whose answer sat comes with an example of small numbers."""
    a = Terms()
    claim = _posed(obligation, a)
    question = [] if obligation.kind is Kind.VACUITY else [a.negate(claim.goal)]
    numbers = [z3.Int(name) for name in obligation.unknowns]
    return [*_facts(claim, a), *question, *(z3.And(x >= SMALLEST, x <= largest) for x in numbers)]


def _posed(obligation: Obligation, a: Terms) -> Claim:
    return obligation.build(a, **{name: z3.Int(name) for name in obligation.unknowns})


def _facts(claim: Claim, a: Terms) -> list[Any]:
    return [truth(fact) for fact in (*claim.facts, *a.definitions)]


def _ask(question: Sequence[Any], timeout: float) -> _Found:
    solver = z3.Solver()
    solver.set("timeout", max(1, round(timeout * 1000)))
    solver.add(*question)
    start = time.perf_counter()
    outcome = solver.check()
    answer = Answer(str(outcome), time.perf_counter() - start)
    if outcome == z3.sat:
        return _Found(answer, model=solver.model())
    if outcome == z3.unsat:
        return _Found(answer)
    reason = solver.reason_unknown()
    if "interrupted from keyboard" in reason:  # the solver swallows Ctrl-C; the user did not mean `unknown`
        raise KeyboardInterrupt
    return _Found(answer, reason=f"the solver gave up: {reason}")


def _ask_small(obligation: Obligation, timeout: float) -> _Found:
    seconds = 0.0
    for largest in LARGEST:
        found = _ask(_small(obligation, largest), timeout)
        seconds += found.answer.seconds
        if found.answer.answer != "unsat":  # found, or already too hard: a wider range is harder still
            break
    return replace(found, answer=replace(found.answer, seconds=seconds))


def _value(model: Any, name: str) -> int:
    return int(model.eval(z3.Int(name), model_completion=True).as_long())


def to_smt2(obligation: Obligation) -> str:
    """The question as an SMT-LIB file that any solver reads, with the answer it should give.

    Written from the terms as they were built: a solver that has been asked may hold terms only it understands.
    """
    solver = z3.Solver()
    proof = obligation.kind in PROOFS
    solver.add(*(_whole(obligation) if proof else _small(obligation, LARGEST[-1])))
    expected = "unsat" if proof else "sat"
    text = solver.to_smt2().replace("(set-info :status unknown)", f"(set-info :status {expected})")
    header = [f"; {obligation.id} ({obligation.kind.value})", f"; {obligation.statement}", "(set-logic ALL)"]
    return "\n".join([*header, text])


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
) -> list[Result]:
    """Discharge what `select` selects, in order. `on_result` is told each result as it comes."""
    results = []
    for obligation in select(law, theorem):
        result = discharge(obligation, timeout)
        results.append(result)
        if on_result is not None:
            on_result(result)
    return results


def verdict(results: Sequence[Result]) -> str:
    """The verdict on all: refuted where some proof failed, inconclusive where anything is open, else proved."""
    if any(not result.good and result.status in ("proved", "refuted") for result in results):
        return "refuted"
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
    if result.reason is not None:
        data["reason"] = result.reason
    return data


def _answer_as_data(answer: Answer | None) -> dict[str, Any] | None:
    return None if answer is None else {"answer": answer.answer, "seconds": round(answer.seconds, 6)}
