"""What an obligation asks a solver, in parts that each have their own place in a text.

Knows obligations and the solver's side of the algebra; must not know how a question is written down, nor who answers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import z3

from kvspec.terms import Terms, truth
from kvspec.theorems.obligation import PROOFS, Claim, Kind, Named, Obligation

LEAST, MOST = -1, 8
"""The range of the unknowns wherever an example is asked for: finite, so that solvers answer."""


@dataclass(frozen=True)
class Question:
    """Can all of this be? Of a proof the good answer is unsat.

    obligation: what asks it. given: the hypotheses, each with its name, if it has one. definitions: what the quotients
    among them mean. goal: what is claimed, to be negated; None where only the hypotheses are asked about. names: the
    numbers to read back from an answer sat. finite: whether these are bounded, and so is everything.
    """

    obligation: Obligation
    given: tuple[tuple[str | None, Any], ...]
    definitions: tuple[Any, ...]
    goal: Any
    names: tuple[str, ...]
    finite: bool

    @property
    def expected(self) -> str:
        """The answer it should get."""
        return "unsat" if self.obligation.kind in PROOFS else "sat"


def main_question(obligation: Obligation) -> Question:
    """What settles the obligation: of a proof the claim in general, else the search for an example."""
    return whole(obligation) if obligation.kind in PROOFS else finite(obligation)


def whole(obligation: Obligation) -> Question:
    """Whether anything at all meets the hypotheses and breaks the goal."""
    a = Terms()
    if obligation.general is not None:
        return _question(obligation, a, obligation.general(a), names=(), bounded=False)
    return _question(obligation, a, _posed(obligation, a), obligation.unknowns, bounded=False)


def finite(obligation: Obligation) -> Question:
    """Whether a few small numbers do."""
    a = Terms()
    return _question(obligation, a, _posed(obligation, a), obligation.unknowns, bounded=True)


def _posed(obligation: Obligation, a: Terms) -> Claim:
    return obligation.build(a, **{name: z3.Int(name) for name in obligation.unknowns})


def _question(obligation: Obligation, a: Terms, claim: Claim, names: tuple[str, ...], bounded: bool) -> Question:
    goal = None if obligation.kind is Kind.VACUITY else truth(claim.goal)
    return Question(obligation, tuple(map(_given, claim.given)), tuple(a.definitions), goal, names, bounded)


def _given(item: Any) -> tuple[str | None, Any]:
    return (item.name, truth(item.fact)) if isinstance(item, Named) else (None, truth(item))
