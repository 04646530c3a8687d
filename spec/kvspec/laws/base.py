"""What a law is.

A law is data: an id that never changes, a level, what it needs, a statement in words, and a predicate over one *case*:
one pool, one block, one row, one slot, one guard call, one operation. The predicate is written over the algebra, so
that the judge evaluates it on numbers for whatever an operation touched, and the prover states it of one arbitrary
(Skolem) case. Nothing here knows a block manager or how cases are gathered.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from kvspec.algebra import INTS, Algebra
from kvspec.vocabulary import Capability, Guard, Level, Scope

CATALOGUE_VERSION = "1"

Predicate = Callable[[Algebra, Any], Any]


def always(a: Algebra, case: Any) -> Any:
    """The premise of a law that every case of its kind meets."""
    return a.all_of()


@dataclass(frozen=True)
class Law:
    """One requirement on block managers.

    id: `area.name`, stable for ever. level: MUST, SHOULD or MAY. statement: the law in words. case: the kind of case it
    speaks of. holds: the requirement. applies: its premise; only cases that meet it count as checked. needs: the
    capabilities without which it is not applicable; needs_any: at least one of these as well. guards: the admission
    guards of which both an OK and a refusal must have been seen before it counts as exercised. scope: judged on one
    transition, or on a whole run. source: where the rule comes from, and what breaking it leads to. breaking: a
    smallest case that breaks it. since: the version of the catalogue that introduced it.
    """

    id: str
    level: Level
    statement: str
    case: type
    holds: Predicate
    breaking: Any
    source: str
    applies: Predicate = always
    needs: tuple[Capability, ...] = ()
    needs_any: tuple[Capability, ...] = ()
    guards: tuple[Guard, ...] = ()
    scope: Scope = Scope.TRANSITION
    since: str = field(default=CATALOGUE_VERSION)

    @property
    def area(self) -> str:
        """The part of the id before the dot."""
        return self.id.partition(".")[0]

    def applicable(self, capabilities: frozenset[Capability]) -> bool:
        """Whether a manager with these capabilities is held to this law."""
        return capabilities.issuperset(self.needs) and (
            not self.needs_any or not capabilities.isdisjoint(self.needs_any)
        )

    def judge(self, case: Any) -> bool | None:
        """On numbers: None where the premise is not met, else whether the law holds."""
        if self.applies is not always and not self.applies(INTS, case):
            return None
        return bool(self.holds(INTS, case))
