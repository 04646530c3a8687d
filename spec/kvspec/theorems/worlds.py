"""Two worlds in which a claim about the ownership kernel is posed: any number of blocks, or a few.

A claim is written once, against a world that hands out pools, entries and numbers and says what their invariant is. In
the *general* world pools are solver arrays, the invariant is quantified and entries are things without a number: good
for proofs. In the *finite* world everything is a few whole numbers by name, and the invariant is spelt out: good for
examples, which plain numbers can check. Knows the solver (in the general world only); must not know any claim.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, Protocol

import z3

from kvspec.algebra import INTS, Algebra
from kvspec.terms import Terms
from kvspec.model.columns import Cells, Column
from kvspec.model.pool import INVARIANT, Conjunct, Pool
from kvspec.theorems.obligation import Build, Claim


class World(Protocol):
    """What a claim may ask for. `facts` collects what holds of the things handed out."""

    a: Algebra
    facts: list[Any]

    def pool(self, name: str) -> Pool:
        """A pool of which nothing is known but that it has at least one block."""
        ...

    def entry(self, name: str) -> Any:
        """Some entry."""
        ...

    def number(self, name: str) -> Any:
        """Some number: of a block, a rank, a place."""
        ...

    def every(self, conjunct: Conjunct, pool: Pool) -> Any:
        """Whether the conjunct holds of all that it is about."""
        ...


ClaimIn = Callable[[Any], Claim]
"""Builds a claim in a world."""


def invariant(world: World, pool: Pool) -> list[Any]:
    """Each conjunct of the invariant, for all it is about."""
    return [world.every(conjunct, pool) for conjunct in INVARIANT]


def holds_of_any(world: World, conjunct: Conjunct, pool: Pool) -> Any:
    """The conjunct, of one arbitrary instance: as a goal, this is as good as all of them."""
    names = [f"any_{kind}_{i}" for i, kind in enumerate(conjunct.over)]
    things = [_some(world, kind, name) for kind, name in zip(conjunct.over, names, strict=True)]
    return conjunct.holds(world.a, pool, *things)


def _some(world: World, kind: str, name: str) -> Any:
    return world.entry(name) if kind == "entry" else world.number(name)


# -- any number -----------------------------------------------------------------------------------------


class ArrayColumn:
    """A column that is a solver array, or for pairs an array of arrays (which every solver reads)."""

    def __init__(self, term: Any) -> None:
        self.term = term

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, tuple):
            return self.term[index[0]][index[1]]
        return self.term[index]

    def put(self, index: Any, value: Any) -> Column:
        """The same memory with another value there."""
        if isinstance(index, tuple):
            row, place = index
            return ArrayColumn(z3.Store(self.term, row, z3.Store(self.term[row], place, value)))
        return ArrayColumn(z3.Store(self.term, index, value))

    def row(self, index: Any) -> Any:
        """The array at this index."""
        return self.term[index]

    def put_row(self, index: Any, row: Any) -> Column:
        """The same memory with another array there."""
        return ArrayColumn(z3.Store(self.term, index, row))


class GeneralWorld:
    """Any number of blocks and entries."""

    def __init__(self, a: Terms) -> None:
        self.a: Algebra = a
        self.facts: list[Any] = []
        self._entries = z3.DeclareSort("Entry")
        self._pools = 0

    def pool(self, name: str) -> Pool:
        """A pool of any size."""
        numbers = z3.IntSort()
        at = z3.Array(f"{name}.at", numbers, z3.ArraySort(numbers, self._entries))
        size = z3.Int(f"{name}.size")
        self.facts.append(size >= 1)
        return Pool(
            size,
            ref=ArrayColumn(z3.Array(f"{name}.ref", numbers, numbers)),
            tab=ArrayColumn(z3.Array(f"{name}.tab", self._entries, numbers)),
            rank=ArrayColumn(z3.Array(f"{name}.rank", self._entries, numbers)),
            at=ArrayColumn(at),
            perm=ArrayColumn(z3.Array(f"{name}.perm", numbers, numbers)),
            pos=ArrayColumn(z3.Array(f"{name}.pos", numbers, numbers)),
            free=z3.Int(f"{name}.free"),
        )

    def entry(self, name: str) -> Any:
        """Some entry."""
        return z3.Const(name, self._entries)

    def number(self, name: str) -> Any:
        """Some number."""
        return z3.Int(name)

    def every(self, conjunct: Conjunct, pool: Pool) -> Any:
        """The conjunct under a quantifier, where it is about anything."""
        things = [_some(self, kind, f"{kind}_{i}") for i, kind in enumerate(conjunct.over)]
        holds = conjunct.holds(self.a, pool, *things)
        return z3.ForAll(things, holds) if things else holds


# -- a few ----------------------------------------------------------------------------------------------

BLOCKS, ENTRIES = 2, 3
"""Enough for a block that is shared beside one that is not, and for an empty entry to share it with."""


class FiniteWorld:
    """A few blocks and entries. `value_of` gives the number (or term) of each name."""

    def __init__(self, a: Algebra, value_of: Callable[[str], Any]) -> None:
        self.a = a
        self.facts: list[Any] = []
        self._value_of = value_of

    def pool(self, name: str) -> Pool:
        """A pool of two blocks and three entries."""
        blocks, entries = range(BLOCKS), range(ENTRIES)
        pool = Pool(
            BLOCKS,
            ref=self._column(f"{name}.ref", blocks),
            tab=self._column(f"{name}.tab", entries),
            rank=self._column(f"{name}.rank", entries),
            at=self._column(f"{name}.at", itertools.product(blocks, entries)),
            perm=self._column(f"{name}.perm", blocks),
            pos=self._column(f"{name}.pos", blocks),
            free=self._value_of(f"{name}.free"),
        )
        # Ranks are entries here, so a refcount beyond their number would speak of cells that are not there.
        self.facts.extend(pool.ref[block] <= ENTRIES for block in blocks)
        return pool

    def entry(self, name: str) -> Any:
        """Some entry."""
        entry = self._value_of(name)
        self.facts.append(self.a.all_of(entry >= 0, entry < ENTRIES))
        return entry

    def number(self, name: str) -> Any:
        """Some number."""
        return self._value_of(name)

    def every(self, conjunct: Conjunct, pool: Pool) -> Any:
        """The conjunct of each entry and each number that it can be about."""
        instances = itertools.product(range(max(BLOCKS, ENTRIES)), repeat=len(conjunct.over))
        return self.a.all_of(*(conjunct.holds(self.a, pool, *instance) for instance in instances))

    def _column(self, name: str, keys: Any) -> Cells:
        return Cells(self.a, {key: self._value_of(f"{name}{_label(key)}") for key in keys})


def _label(key: Any) -> str:
    return "".join(f"[{part}]" for part in (key if isinstance(key, tuple) else (key,)))


# -- from a claim in a world to an obligation -----------------------------------------------------------


def in_any(claim: ClaimIn) -> Callable[[Terms], Claim]:
    """The claim for any number of blocks and entries."""

    def general(a: Terms) -> Claim:
        return _closed(GeneralWorld(a), claim)

    return general


def in_few(claim: ClaimIn) -> Build:
    """The claim for a few, on numbers or terms by name."""

    def build(a: Algebra, **numbers: Any) -> Claim:
        return _closed(FiniteWorld(a, numbers.__getitem__), claim)

    return build


def names_in_few(claim: ClaimIn) -> tuple[str, ...]:
    """The names of the numbers that the claim asks for in the finite world."""
    asked: dict[str, int] = {}
    claim(FiniteWorld(INTS, lambda name: asked.setdefault(name, 0)))
    return tuple(asked)


def _closed(world: Any, claim: ClaimIn) -> Claim:
    stated = claim(world)
    return Claim([*world.facts, *stated.given], stated.goal)
