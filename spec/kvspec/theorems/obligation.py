"""What a proof obligation is, as data, and how an area of theorems collects its own.

Knows the algebra and the laws; must not know the solver: `kvspec.prover` discharges what is described here.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from kvspec.algebra import Algebra
from kvspec.laws import CATALOGUE
from kvspec.laws.base import always
from kvspec.story import Scene


class Kind(str, Enum):
    """What is meant to come out, and why it is asked."""

    LEMMA = "lemma"  # a fact about the rules, for all numbers
    INDUCTION = "induction"  # the start of, or one step of, an argument over any number of steps
    SOUNDNESS = "soundness"  # a law of the catalogue follows
    REFUTATION = "refutation"  # a wrong variant breaks the claim: there must be an example
    VACUITY = "vacuity"  # the hypotheses of another obligation can be met: there must be an example


PROOFS = frozenset({Kind.LEMMA, Kind.INDUCTION, Kind.SOUNDNESS})
"""The kinds that are claimed for all numbers. The others ask for one small example."""


VARIANT, VARIANT_PROVED_ONLY = ".wrong.", ".bent."
"""What the ids of wrong variants have in them. Of the first kind each is also played as a block manager
(`kvspec.edges`), which has no index, no window and no null block; the others are about those.
"""


def is_variant(name: str) -> bool:
    """Whether the obligation of this id is about a wrong variant of a rule."""
    return VARIANT in name or VARIANT_PROVED_ONLY in name


@dataclass(frozen=True)
class Named:
    """A hypothesis that has a name, so that it can be asked whether anything needs it."""

    name: str
    fact: Any


@dataclass(frozen=True)
class Claim:
    """Under all that is given (facts, some of them with a name), the goal holds."""

    given: Sequence[Any]
    goal: Any

    @property
    def facts(self) -> list[Any]:
        """All that is given, without the names."""
        return [item.fact if isinstance(item, Named) else item for item in self.given]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the hypotheses that have one."""
        return tuple(item.name for item in self.given if isinstance(item, Named))

    def without(self, name: str) -> Claim:
        """The same claim with the hypothesis of this name dropped. Raises KeyError where there is none."""
        if name not in self.names:
            raise KeyError(name)
        return Claim([item for item in self.given if not (isinstance(item, Named) and item.name == name)], self.goal)


Build = Callable[..., Claim]
"""Called with an algebra and a value for each unknown by name: terms to pose the claim, numbers to evaluate it."""


PREMISE = "premise"
"""The name of the hypothesis that a law applies."""


def claim_law(a: Algebra, law: str, case: Any, given: Sequence[Any]) -> Claim:
    """The law of this id holds of the case. Its premise is among what is given, so that it is known to be met."""
    rule = CATALOGUE[law]
    if not isinstance(case, rule.case):
        raise TypeError(f"{law} speaks of a {rule.case.__name__}, not of a {type(case).__name__}")
    if rule.applies is always:
        return Claim(list(given), rule.holds(a, case))
    return Claim([*given, Named(PREMISE, rule.applies(a, case))], rule.holds(a, case))


@dataclass(frozen=True)
class Obligation:
    """One thing to be proved or refuted.

    id: stable, `area.subject.claim`. unknowns: names of the whole numbers that `build` takes. law: the law of the
    catalogue that it is about. general: where `build` poses only a finite instance, the same claim for any number of
    blocks and sequences; takes the solver's side of the algebra. posed: that claim in any world that hands out blocks
    and sequences, be it to solve or to write. right: of a refutation, the same claim about the
    right rule; it must hold where the wrong variant fails. tell: what happens in an example, moment by moment.
    rests_on: other obligations that the argument needs.
    """

    id: str
    kind: Kind
    statement: str
    build: Build
    unknowns: tuple[str, ...]
    law: str | None = None
    general: Callable[[Any], Claim] | None = None
    posed: Callable[[Any], Claim] | None = None
    right: Build | None = None
    tell: Callable[[Mapping[str, int]], list[Scene]] | None = None
    rests_on: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.law is not None and self.law not in CATALOGUE:
            raise ValueError(f"{self.id}: no law {self.law!r} in the catalogue")
        if (self.kind is Kind.REFUTATION) != (self.right is not None):
            raise ValueError(f"{self.id}: a refutation names the right rule, and nothing else does")


def can_fire(proof: Obligation) -> Obligation:
    """That the hypotheses of a proof can be met together, the premise of its law among them: it says something."""
    return Obligation(
        f"{proof.id}.can-fire",
        Kind.VACUITY,
        f"What {proof.id} assumes can happen.",
        proof.build,
        proof.unknowns,
        law=proof.law,
    )


class Area:
    """Collects the obligations of one area: each proof is followed by the check that it is not vacuous."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._obligations: list[Obligation] = []

    @property
    def obligations(self) -> tuple[Obligation, ...]:
        """All obligations so far, in the order they were added."""
        return tuple(self._obligations)

    def add(self, name: str, kind: Kind, statement: str, build: Build, **more: Any) -> None:
        """Add one obligation. The unknowns are the parameters of `build` after the algebra, unless given."""
        unknowns = more.pop("unknowns", None) or tuple(inspect.signature(build).parameters)[1:]
        obligation = Obligation(f"{self.name}.{name}", kind, statement, build, unknowns, **more)
        self._obligations.append(obligation)
        if kind in PROOFS:
            self._obligations.append(can_fire(obligation))

    def lemma(self, name: str, statement: str, **more: Any) -> Callable[[Build], Build]:
        """Decorates a function that builds a fact about the rules."""
        return self._decorator(name, Kind.LEMMA, statement, more)

    def induction(self, name: str, statement: str, **more: Any) -> Callable[[Build], Build]:
        """Decorates a function that builds the start or one step of an induction."""
        return self._decorator(name, Kind.INDUCTION, statement, more)

    def soundness(self, name: str, statement: str, **more: Any) -> Callable[[Build], Build]:
        """Decorates a function that builds a law from the rules."""
        return self._decorator(name, Kind.SOUNDNESS, statement, more)

    def _decorator(self, name: str, kind: Kind, statement: str, more: dict[str, Any]) -> Callable[[Build], Build]:
        def decorate(build: Build) -> Build:
            self.add(name, kind, statement, build, **more)
            return build

        return decorate
