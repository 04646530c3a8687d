"""Examples on plain numbers: whether what a solver found is an example at all.

Knows obligations and the number side of the algebra; must not know any solver. This is what makes a sat answer worth
something: the same functions that were posed as terms are evaluated again, without a solver.
"""

from __future__ import annotations

from collections.abc import Mapping

from kvspec.algebra import INTS
from kvspec.theorems.obligation import Build, Kind, Obligation


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
