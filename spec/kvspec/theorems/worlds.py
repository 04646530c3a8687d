"""Two worlds in which a claim about the model is posed: any number of blocks, or a few.

A claim is written once, against a world that hands out caches, pools, entries and numbers and says what their invariant
is. In the *general* world columns are solver arrays, the invariant is quantified and entries are things without a
number: good for proofs. In the *finite* world everything is a few whole numbers by name, and the invariant is spelt
out: good for examples, which plain numbers can check. Knows the solver (in the general world only); must not know any
claim.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import z3

from kvspec.algebra import INTS, Algebra
from kvspec.model.cache import CONTENTS, At, Cache
from kvspec.model.columns import Cells, Column
from kvspec.model.index import PUBLISHED, Index
from kvspec.model.pool import INVARIANT, Conjunct, Pool
from kvspec.model.window import Rows
from kvspec.terms import Terms, truth
from kvspec.theorems.obligation import Build, Claim, Named


@dataclass(frozen=True)
class Moment:
    """One moment of a story, in words, with the cache as it was then and the place where things happened. index: what
    was published then, where there is an index.
    """

    words: str
    cache: Cache
    at: At
    index: Index | None = None


class World(Protocol):
    """What a claim may ask for. `facts` collects what holds of the things handed out."""

    a: Algebra
    facts: list[Any]

    def pool(self, name: str) -> Pool:
        """A pool of which nothing is known but that it has at least one block."""
        ...

    def cache(self, name: str) -> Cache:
        """A cache of which nothing is known but that its blocks have at least one slot."""
        ...

    def index(self, name: str) -> Index:
        """A cache with an index, of which nothing more is known."""
        ...

    def rows(self, name: str) -> Rows:
        """A cache under a window of at least one position, of which nothing more is known."""
        ...

    def marks(self, name: str) -> Column:
        """A number at each entry."""
        ...

    def labels(self, name: str) -> Column:
        """A number at each content."""
        ...

    def entry(self, name: str) -> Any:
        """Some entry."""
        ...

    def number(self, name: str) -> Any:
        """Some number: of a block, a rank, a place, a slot, a content."""
        ...

    def every(self, conjunct: Conjunct, state: Any) -> Any:
        """Whether the conjunct holds of all that it is about."""
        ...

    def show(self, words: str, cache: Cache, at: At, index: Index | None = None) -> None:
        """Remember a moment, so that the story of an example can be told."""
        ...


ClaimIn = Callable[[Any], Claim]
"""Builds a claim in a world."""


def named(world: World, conjuncts: Iterable[Conjunct], state: Any) -> list[Any]:
    """Each conjunct, for all it is about, by its name."""
    return [Named(conjunct.name, world.every(conjunct, state)) for conjunct in conjuncts]


def invariant(world: World, pool: Pool) -> list[Any]:
    """The invariant of a pool."""
    return named(world, INVARIANT, pool)


def sound_cache(world: World, cache: Cache) -> list[Any]:
    """The invariant of a cache: of its pool, and of its contents."""
    return [*invariant(world, cache.pool), *named(world, CONTENTS, cache)]


def sound_index(world: World, index: Index) -> list[Any]:
    """The invariant of a device with an index: of its cache, and of what is published."""
    return [*sound_cache(world, index.cache), *named(world, PUBLISHED, index)]


def rows_of(world: Any, cache: Cache) -> Rows:
    """A cache under a window, in any kind of world, with what is known of every window."""
    rows = Rows(cache, world.number("window"), world.marks("start"), world.marks("done"), world.marks("covered"))
    world.facts.append(rows.window >= 1)
    return rows


def holds_of_any(world: World, conjunct: Conjunct, state: Any) -> Any:
    """The conjunct, of one arbitrary instance: as a goal, this is as good as all of them."""
    names = [f"any_{kind}_{i}" for i, kind in enumerate(conjunct.over)]
    things = [_some(world, kind, name) for kind, name in zip(conjunct.over, names, strict=True)]
    return conjunct.holds(world.a, state, *things)


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
    """Any number of blocks, slots in a block, and entries."""

    def __init__(self, a: Terms) -> None:
        self.a: Algebra = a
        self.facts: list[Any] = []
        self._entries = z3.DeclareSort("Entry")

    def pool(self, name: str) -> Pool:
        """A pool of any size."""
        size = z3.Int(f"{name}.size")
        self.facts.append(size >= 1)
        return Pool(
            size,
            ref=self._column(f"{name}.ref", z3.IntSort()),
            tab=self._column(f"{name}.tab", self._entries),
            rank=self._column(f"{name}.rank", self._entries),
            at=self._table(f"{name}.at", z3.IntSort(), self._entries),
            perm=self._column(f"{name}.perm", z3.IntSort()),
            pos=self._column(f"{name}.pos", z3.IntSort()),
            free=z3.Int(f"{name}.free"),
        )

    def cache(self, name: str) -> Cache:
        """A cache of any size, with blocks of any size."""
        pool, block_size = self.pool(name), z3.Int("block_size")
        self.facts.append(block_size >= 1)
        return Cache(
            pool,
            block_size,
            holds=self._table(f"{name}.holds", z3.IntSort(), z3.IntSort()),
            must=self._table(f"{name}.must", self._entries, z3.IntSort()),
            computed=self._column(f"{name}.computed", self._entries),
        )

    def index(self, name: str) -> Index:
        """A cache of any size, with an index."""
        number = z3.IntSort()
        return Index(
            self.cache(name),
            key=self._column(f"{name}.key", number),
            written=self._column(f"{name}.written", number),
            era=self._column(f"{name}.era", number),
            resets=z3.Int(f"{name}.resets"),
            spells=self._table("spells", number, number),
        )

    def rows(self, name: str) -> Rows:
        """A cache of any size, under a window of any size."""
        return rows_of(self, self.cache(name))

    def marks(self, name: str) -> Column:
        """A number at each entry."""
        return self._column(name, self._entries)

    def labels(self, name: str) -> Column:
        """A number at each content."""
        return self._column(name, z3.IntSort())

    def entry(self, name: str) -> Any:
        """Some entry."""
        return z3.Const(name, self._entries)

    def number(self, name: str) -> Any:
        """Some number."""
        return z3.Int(name)

    def every(self, conjunct: Conjunct, state: Any) -> Any:
        """The conjunct under a quantifier, where it is about anything."""
        things = [_some(self, kind, f"{kind}_{i}") for i, kind in enumerate(conjunct.over)]
        holds = conjunct.holds(self.a, state, *things)
        return z3.ForAll(things, truth(holds)) if things else holds

    def show(self, words: str, cache: Cache, at: At, index: Index | None = None) -> None:
        """Nothing is told of any number of things."""

    def _column(self, name: str, index: Any) -> Column:
        return ArrayColumn(z3.Array(name, index, z3.IntSort()))

    def _table(self, name: str, index: Any, value: Any) -> Column:
        return ArrayColumn(z3.Array(name, index, z3.ArraySort(z3.IntSort(), value)))


# -- a few ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Few:
    """How many blocks, entries, slots in a block, and contents that a whole block ends with there are in a finite
    world.
    """

    blocks: int = 2
    entries: int = 3
    slots: int = 2
    contents: int = 2

    @property
    def most(self) -> int:
        """The largest of them: numbers below it are all that a conjunct can be about."""
        return max(self.blocks, self.entries, self.slots)


FEW = Few()
"""Enough for a shared block beside a free one, for an empty entry, and for a block that is partly written."""


class FiniteWorld:
    """A few blocks, slots and entries. `value_of` gives the number (or term) of each name."""

    def __init__(self, a: Algebra, value_of: Callable[[str], Any], few: Few = FEW) -> None:
        self.a = a
        self.few = few
        self.facts: list[Any] = []
        self.shown: list[Moment] = []
        self._value_of = value_of

    def pool(self, name: str) -> Pool:
        """A pool of a few blocks and entries."""
        blocks, entries = range(self.few.blocks), range(self.few.entries)
        pool = Pool(
            self.few.blocks,
            ref=self._column(f"{name}.ref", blocks),
            tab=self._column(f"{name}.tab", entries),
            rank=self._column(f"{name}.rank", entries),
            at=self._column(f"{name}.at", itertools.product(blocks, entries)),
            perm=self._column(f"{name}.perm", blocks),
            pos=self._column(f"{name}.pos", blocks),
            free=self._value_of(f"{name}.free"),
        )
        # Ranks are entries here, so a refcount beyond their number would speak of cells that are not there.
        self.facts.extend(pool.ref[block] <= self.few.entries for block in blocks)
        return pool

    def cache(self, name: str) -> Cache:
        """A cache of a few blocks of one slot or more."""
        pool, block_size = self.pool(name), self._value_of("block_size")
        self.facts.append(self.a.all_of(block_size >= 1, block_size <= self.few.slots))
        return Cache(
            pool,
            block_size,
            holds=self._column(f"{name}.holds", itertools.product(range(self.few.blocks), range(self.few.slots))),
            must=self._column(f"{name}.must", itertools.product(range(self.few.entries), range(self.few.slots))),
            computed=self._column(f"{name}.computed", range(self.few.entries)),
        )

    def index(self, name: str) -> Index:
        """A cache of a few blocks with an index."""
        blocks, contents, slots = range(self.few.blocks), range(self.few.contents), range(self.few.slots)
        index = Index(
            self.cache(name),
            key=self._column(f"{name}.key", blocks),
            written=self._column(f"{name}.written", blocks),
            era=self._column(f"{name}.era", blocks),
            resets=self._value_of(f"{name}.resets"),
            spells=self._column("spells", itertools.product(contents, slots)),
        )
        # No proof needs it, but an example should say what it means: the last slot has the content that it ends.
        size = index.cache.block_size
        ends = [self.a.implies(size == slot + 1, index.spells[c, slot] == c) for c in contents for slot in slots]
        self.facts.extend([*ends, *(index.key[block] < self.few.contents for block in blocks)])
        return index

    def rows(self, name: str) -> Rows:
        """A cache of a few blocks under a window."""
        rows = rows_of(self, self.cache(name))
        # No proof needs it, but positions and tokens are counted from 0.
        entries = range(self.few.entries)
        self.facts.extend(column[e] >= 0 for column in (rows.start, rows.done, rows.covered) for e in entries)
        return rows

    def marks(self, name: str) -> Column:
        """A number at each of the entries."""
        return self._column(name, range(self.few.entries))

    def labels(self, name: str) -> Column:
        """A number at each of the contents."""
        return self._column(name, range(self.few.contents))

    def entry(self, name: str) -> Any:
        """Some entry."""
        entry = self._value_of(name)
        self.facts.append(self.a.all_of(entry >= 0, entry < self.few.entries))
        return entry

    def number(self, name: str) -> Any:
        """Some number."""
        return self._value_of(name)

    def every(self, conjunct: Conjunct, state: Any) -> Any:
        """The conjunct of each entry and each number that it can be about."""
        instances = itertools.product(range(self.few.most), repeat=len(conjunct.over))
        return self.a.all_of(*(conjunct.holds(self.a, state, *instance) for instance in instances))

    def show(self, words: str, cache: Cache, at: At, index: Index | None = None) -> None:
        """Remember a moment: what it is, the cache then, and where things happen."""
        self.shown.append(Moment(words, cache, at, index))

    def _column(self, name: str, keys: Iterable[Any]) -> Cells:
        listed = list(keys)
        return Cells(self.a, lambda: {key: self._value_of(f"{name}{_label(key)}") for key in listed})


def _label(key: Any) -> str:
    return "".join(f"[{part}]" for part in (key if isinstance(key, tuple) else (key,)))


# -- from a claim in a world to an obligation -----------------------------------------------------------


def in_any(claim: ClaimIn) -> Callable[[Terms], Claim]:
    """The claim for any number of blocks and entries."""

    def general(a: Terms) -> Claim:
        return _closed(GeneralWorld(a), claim)

    return general


def in_few(claim: ClaimIn, few: Few = FEW) -> Build:
    """The claim for a few, on numbers or terms by name."""

    def build(a: Algebra, **numbers: Any) -> Claim:
        return _closed(FiniteWorld(a, numbers.__getitem__, few), claim)

    return build


def names_in_few(claim: ClaimIn, few: Few = FEW) -> tuple[str, ...]:
    """The names of the numbers that the claim asks for in the finite world."""
    asked: dict[str, int] = {}
    _closed(FiniteWorld(INTS, lambda name: asked.setdefault(name, 1), few), claim)
    return tuple(asked)


def moments(claim: ClaimIn, example: Mapping[str, int], few: Few = FEW) -> list[Moment]:
    """What the claim shows of an example, moment by moment."""
    world = FiniteWorld(INTS, example.__getitem__, few)
    claim(world)
    return world.shown


def _closed(world: Any, claim: ClaimIn) -> Claim:
    stated = claim(world)
    return Claim([*world.facts, *stated.given], stated.goal)
