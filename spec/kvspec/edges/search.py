"""Breadth-first enumeration of the lives of the group: for all that a guard can show, a least life that leads there.

Knows the model on plain numbers and the finite family of lives; must not know classes, token ids or how vectors are
stored. Least means, in this order: the fewest operations; the fewest blocks in both pools; the fewest tokens; the least
configuration; the least operations in turn (in the order of `Kind`, then of their arguments).

Levels are gone through in that order, and of the ways to one state of the group only those are kept that may do with
less than the others (`Wants`), so that what comes first is what is least.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple

from kvspec.algebra import INTS
from kvspec.edges.family import Family
from kvspec.edges.meaning import Ask, group_values, new_group_values, sequence_values, shown, turns_of
from kvspec.edges.model import effect, held, legal, legal_move, need
from kvspec.edges.pools import Place, Pools, Request, Wants, choices
from kvspec.edges.state import MOST_BLOCKS, MOST_POOL, START, Kind, Move, Sizes, State
from kvspec.vocabulary import Guard


class SearchFailed(Exception):
    """The search could not do what it promises; the message says for which classes."""


Values = tuple[tuple[str, str], ...]
"""Atoms by name, each with the value that holds."""


class Sight(NamedTuple):
    """What one sequence's part in a guarded operation shows. within: the atoms of the group and the sequence, by name.
    around: the values of the atoms of the pool.
    """

    guard: Guard
    within: Values
    around: tuple[str, ...]


Step = tuple[int, ...]
"""A move as plain numbers: its kind and its arguments."""


class Path(NamedTuple):
    """A life and the guarded operation that ends it. Ordered: the least first."""

    length: int
    blocks: int
    tokens: int
    block: int
    pools: Pools
    steps: tuple[Step, ...]
    argument: int
    seqs: int
    lookahead: int

    @property
    def sizes(self) -> Sizes:
        """The configuration, and the lookahead of the run."""
        pools = self.pools
        return Sizes(pools.gpu, pools.cpu, self.block, pools.watermark, self.lookahead)

    @property
    def moves(self) -> list[Move]:
        """The operations before the guarded one; the other group's prompt is as long as its blocks want."""
        filler = self.pools.other * self.block
        return [
            Move(Kind.ADMIT_FILLER, filler) if step[0] == Kind.ADMIT_FILLER else Move(Kind(step[0]), *step[1:])
            for step in self.steps
        ]


class Shown(NamedTuple):
    """A path, with the atoms of the group and of each of its sequences that it shows along with a sight."""

    path: Path
    together: tuple[Values, ...]


class Way(NamedTuple):
    """A way to a state of the group. Ordered by tokens, then operations."""

    tokens: int
    steps: tuple[Step, ...]
    wants: Wants
    state: State
    since: int = -1


def place_of(state: State) -> Place:
    """Where the other group is."""
    if state.filler.blocks == 0:
        return Place.NOWHERE
    return Place.CPU if state.filler.swapped else Place.GPU


def wanted(kind: Kind, before: Wants, state: State) -> Wants:
    """What a way wants once an operation of this kind has led to this state."""
    group, place = held(INTS, state), place_of(state)
    beside = group + extra_of(state)
    name = _WANTED.get(kind)
    if name is not None:
        with_other = place is (Place.CPU if kind is Kind.SWAP_OUT else Place.GPU)
        name, blocks = (f"{name}_beside", beside) if with_other else (name, group)
    elif kind in (Kind.ADMIT_FILLER, Kind.GROW_FILLER):
        name = "admitted_beside" if kind is Kind.ADMIT_FILLER else "appended_beside"
        blocks = extra_of(state) if state.swapped else beside
    elif kind is Kind.SWAP_OUT_FILLER:
        name, blocks = "moved_beside", beside if state.swapped else extra_of(state)
    else:
        return before
    return before._replace(**{name: max(getattr(before, name), blocks)})


_WANTED = {Kind.ADMIT: "admitted", Kind.SWAP_IN: "admitted", Kind.APPEND: "appended", Kind.SWAP_OUT: "moved"}


def extra_of(state: State) -> int:
    """Blocks of the other group beyond its prompt's: the search has it take one for that, whatever it comes to."""
    return int(state.filler.blocks) - 1 if state.filler.blocks else 0


@cache
def _choices(request: Request) -> tuple[tuple[tuple[str, ...], Pools], ...]:
    return choices(request)


@dataclass
class Search:
    """One family, breadth first. found: for each sight the least path. ways: those to be gone on from. known: for each
    state the wants of the ways to it that were kept.
    """

    family: Family
    found: dict[Sight, Shown] = field(default_factory=dict)
    ways: list[Way] = field(default_factory=lambda: [Way(0, (), Wants(), START)])
    known: dict[Any, list[Wants]] = field(default_factory=dict)
    states: int = 0

    def run(self) -> dict[Sight, Shown]:
        """Go as deep as the family says."""
        for level in range(self.family.depth):
            for way in self.ways:
                self._look(way)
                for moves in self.family.endings:
                    self._look_after(way, moves)
            if level + 1 < self.family.depth:
                self.ways = self._next()
        return self.found

    # -- asking the guards ----------------------------------------------------------------------------------------

    def _look(self, way: Way) -> None:
        family = self.family
        for guard, asks in family.asks.items():
            if legal(INTS, guard, family.orders, family.sizes, way.state, asks[0].argument):
                for ask in asks:
                    self._ask(way, ask)

    def _look_after(self, way: Way, moves: tuple[Move, ...]) -> None:
        """Ask at the end of a life that goes on with these operations, if all of them are in order."""
        for move in moves:
            following = self._moved(way, move)
            if following is None:
                return
            way = following
        self._look(way)

    def _ask(self, way: Way, ask: Ask) -> None:
        state = way.state
        wants, within = self._shown(state, ask)
        if wants > MOST_POOL + 2:
            return
        request = Request(
            ask.guard, wants, held(INTS, state), bool(state.swapped), place_of(state), extra_of(state), way.wants
        )
        length = len(way.steps) + 1
        for around, pools in _choices(request):
            path = None
            for each in within:
                sight = Sight(ask.guard, each, around)
                known = self.found.get(sight)
                if known is None or (length, pools.both) <= known.path[:2]:
                    path = path or self._path(way, ask, pools)
                    if known is None or path < known.path:
                        self.found[sight] = Shown(path, within)

    def _shown(self, state: State, ask: Ask) -> tuple[int, tuple[Values, ...]]:
        """Blocks needed, and the atoms of the group with those of each sequence."""
        sizes = self.family.sizes
        taken = turns_of(INTS, sizes, state, ask)
        blocks = need(INTS, ask.guard, sizes, state, ask.argument, taken)
        if ask.guard is Guard.ALLOCATE:
            return blocks, (tuple(shown(new_group_values(INTS, sizes, ask)).items()),)
        group = shown(group_values(INTS, state))
        each = sequence_values(INTS, sizes, state, ask, taken)
        return blocks, tuple(dict.fromkeys(tuple((group | shown(values)).items()) for values in each))

    def _path(self, way: Way, ask: Ask, pools: Pools) -> Path:
        block = self.family.sizes.block
        prompt = ask.argument if ask.guard is Guard.ALLOCATE else 0
        other = pools.other * block
        return Path(
            len(way.steps) + 1,
            pools.both,
            way.tokens + prompt + other,
            block,
            pools,
            way.steps,
            ask.argument,
            ask.seqs,
            self.family.sizes.lookahead,
        )

    # -- going on -------------------------------------------------------------------------------------------------

    def _next(self) -> list[Way]:
        new = sorted((each for way in self.ways for each in self._after(way)), key=lambda way: way[:2])
        kept = []
        for way in new:
            known = self.known.setdefault((way.state, way.since), [])
            if not any(wants.within(way.wants) for wants in known):
                known.append(way.wants)
                kept.append(way)
        self.states += len(kept)
        return kept

    def _after(self, way: Way) -> Iterator[Way]:
        late = self.family.late
        if way.since >= max(late, 0):
            return
        for move in self.family.moves(way.state):
            if move.kind is Kind.ADMIT_FILLER and late < 0:
                continue
            following = self._moved(way, move)
            if following is not None:
                yield following

    def _moved(self, way: Way, move: Move) -> Way | None:
        """The way with one operation more; None where it is out of order or takes too much."""
        family, state = self.family, way.state
        if not legal_move(INTS, move.kind, family.orders, family.sizes, state, move):
            return None
        following = effect(INTS, move.kind, family.sizes, state, move)
        wants = wanted(move.kind, way.wants, following)
        if wants.most() > MOST_POOL or any(seq.blocks > MOST_BLOCKS for seq in following.members):
            return None
        since = 0 if move.kind is Kind.ADMIT_FILLER else way.since + (way.since >= 0)
        step = (int(move.kind), move.first, move.second, move.third)
        return Way(way.tokens + _given(move), (*way.steps, step), wants, following, since)


def _given(move: Move) -> int:
    """Tokens that an operation gives to the group."""
    if move.kind is Kind.STEP:
        return int(move.first + move.second + move.third)
    return int(move.first) if move.kind in (Kind.ADMIT, Kind.FORK) else 0
