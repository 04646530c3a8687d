"""What the atoms mean: for each value, when it holds.

Written over the algebra, so that search, proof and check use one meaning. It must not know how states come about.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from kvspec.algebra import Algebra
from kvspec.arithmetic import blocks_for
from kvspec.edges.goals import Values, meanings
from kvspec.edges.model import Turn, demand, legal, shared_with_any, total, turns
from kvspec.edges.state import Member, Order, Sizes, State
from kvspec.guards import Demand
from kvspec.vocabulary import Guard

Meaning = dict[str, Any]
"""For each value of an atom, whether it holds."""

Meanings = dict[str, Meaning]
"""The same for several atoms, by name."""


@dataclass(frozen=True)
class Ask:
    """The guarded operation that ends a life. argument: tokens of the prompt for allocate, else the lookahead. seqs:
    sequences of the new group, for allocate only.
    """

    guard: Guard
    argument: Any
    seqs: Any = 0


@dataclass(frozen=True)
class Pool:
    """The pool that a guard is about. other, other_swapped: whether there is another group, and whether it lies on the
    CPU.
    """

    free: Any
    blocks: Any
    watermark: Any
    other: Any
    other_swapped: Any


def outcome(a: Algebra, wanted: Demand, free: Any) -> Meaning:
    """The verdict, and how near it is to another one."""
    slack = free - wanted.need - wanted.reserve
    alone = wanted.attainable - wanted.need - wanted.reserve
    later = a.all_of(slack < 0, alone > 0)
    return {
        "ok-0": slack == 0,
        "ok-1": slack == 1,
        "ok-far": slack > 1,
        "later-1": a.all_of(later, slack == -1),
        "later-far": a.all_of(later, slack < -1),
        "later-tight": a.all_of(slack < 0, alone == 0),
        "never-1": alone == -1,
        "never-far": alone < -1,
    }


def pool_values(a: Algebra, pool: Pool, need: Any) -> Meanings:
    """The atoms of the pool, and of the other group."""
    free = pool.free
    left = free - need
    marked = pool.watermark > 0
    short = left < 0
    return {
        "watermark": {
            "none": pool.watermark == 0,
            "left": a.all_of(marked, left >= pool.watermark),
            "crossed": a.all_of(marked, left < pool.watermark, left >= 0),
            "short": a.all_of(marked, short),
        },
        "device": {
            "full": free == 0,
            "part": a.all_of(free > 0, free < pool.blocks),
            "empty": a.all_of(free > 0, free == pool.blocks),
        },
        "other": {
            "none": a.negate(pool.other),
            "running": a.all_of(pool.other, a.negate(pool.other_swapped)),
            "swapped": a.all_of(pool.other, pool.other_swapped),
        },
        "failure": {
            "nowhere": left >= 0,
            "only": a.all_of(short, free == 0, need == 1),
            "first": a.all_of(short, free == 0, need > 1),
            "middle": a.all_of(left < -1, free > 0),
            "last": a.all_of(left == -1, free > 0),
        },
    }


def new_group_values(a: Algebra, sizes: Sizes, ask: Ask) -> Meanings:
    """The atoms of a group that is about to be admitted."""
    blocks = blocks_for(a, ask.argument, sizes.block)
    partial = blocks * sizes.block != ask.argument
    return {
        "prompt": {"partial": partial, "full": a.negate(partial)},
        "blocks": {"one": blocks == 1, "several": blocks > 1},
        "group": {"one": ask.seqs == 1, "two": ask.seqs == 2, "three": ask.seqs == 3},
    }


def group_values(a: Algebra, state: State) -> Meanings:
    """The atoms of the group that has a table."""
    two, three = state.two.live, state.three.live
    pair = a.all_of(two, a.negate(three))
    return {
        "group": {
            "one": a.negate(two),
            "siblings": a.all_of(pair, a.negate(state.forked)),
            "forked": a.all_of(pair, state.forked),
            "three": three,
        }
    }


def turns_of(a: Algebra, sizes: Sizes, state: State, ask: Ask) -> list[Turn]:
    """The turns of the append that a guard is asked about; none where it is about something else."""
    growing = ask.guard in (Guard.APPEND, Guard.SWAP_IN)
    return turns(a, sizes, state, ask.argument)[0] if growing else []


def sequence_values(a: Algebra, sizes: Sizes, state: State, ask: Ask, taken: list[Turn]) -> list[Meanings]:
    """The atoms of each sequence of the group that may exist; of those that do not they mean nothing."""
    found = []
    for position, seq in enumerate(state.members):
        if seq.live is False:
            continue
        values = _covered(a, sizes, seq)
        common = shared_with_any(a, state.shared, position)
        values["sharing"] = _sharing(a, seq, common)
        if not taken:
            values["tail"] = _held(a, sizes, seq)
        else:
            values["ahead"] = _ahead(a, sizes, seq, ask.argument)
            values["tail"] = _tail(a, sizes, seq, ask.argument)
            copies = total(a, taken[position].copied)
            kept = total(a, (a.all_of(x, y) for x, y in zip(common, taken[position].written, strict=True)))
            values["copy"] = {
                "none": kept == 0,
                "copied": copies > 0,
                "last": a.all_of(copies == 0, kept > 0),
            }
        found.append(values)
    return found


def _covered(a: Algebra, sizes: Sizes, seq: Member) -> Meanings:
    seen = blocks_for(a, seq.seen, sizes.block)
    partial = seen * sizes.block != seq.seen
    within = blocks_for(a, seq.tokens, sizes.block) == seen
    some = seq.tokens > seq.seen
    return {
        "fill": {"partial": partial, "full": a.negate(partial)},
        "unseen": {"none": a.negate(some), "within": a.all_of(some, within), "across": a.negate(within)},
    }


def _ahead(a: Algebra, sizes: Sizes, seq: Member, slots: Any) -> Meaning:
    crosses = blocks_for(a, seq.tokens + slots, sizes.block) > blocks_for(a, seq.tokens, sizes.block)
    return {
        "none": slots == 0,
        "within": a.all_of(slots > 0, a.negate(crosses)),
        "across": a.all_of(crosses, slots <= sizes.block),
        "more": slots > sizes.block,
    }


def _tail(a: Algebra, sizes: Sizes, seq: Member, slots: Any) -> Meaning:
    left = seq.blocks - blocks_for(a, seq.tokens + slots, sizes.block)
    there = seq.blocks > blocks_for(a, seq.seen, sizes.block)
    return {
        "none": a.negate(there),
        "outgrown": a.all_of(there, left < 0),
        "filled": a.all_of(there, left == 0),
        "one-left": a.all_of(there, left == 1),
        "several-left": a.all_of(there, left > 1),
    }


def _held(a: Algebra, sizes: Sizes, seq: Member) -> Meaning:
    empty = seq.blocks - blocks_for(a, seq.seen, sizes.block)
    return {"none": empty == 0, "one": empty == 1, "several": empty > 1}


def _sharing(a: Algebra, seq: Member, common: tuple[Any, ...]) -> Meaning:
    number = total(a, common)
    some = a.all_of(number > 0, number < seq.blocks)
    first = a.all_of(*(a.implies(later, sooner) for sooner, later in pairwise(common)))
    return {
        "none": number == 0,
        "whole": a.all_of(number > 0, number == seq.blocks),
        "prefix": a.all_of(some, first),
        "scattered": a.all_of(some, a.negate(first)),
    }


def pool_of(a: Algebra, guard: Guard, sizes: Sizes, state: State, free: Any) -> Pool:
    """The pool that a guard about the group is about."""
    blocks = sizes.cpu if guard is Guard.SWAP_OUT else sizes.gpu
    return Pool(free, blocks, sizes.watermark, state.filler.blocks > 0, state.filler.swapped)


@dataclass(frozen=True)
class Asked:
    """What a guard that is asked in a state shows. legal: whether it may be asked. outcome: the outcome's values.
    around: atoms of the pool and the group. sequences: for each sequence, whether it exists, and its atoms.
    """

    legal: Any
    outcome: Meaning
    around: Meanings
    sequences: tuple[tuple[Any, Meanings], ...]

    def holds(self, a: Algebra, outcomes: tuple[str, ...], values: tuple[tuple[str, str], ...]) -> Any:
        """Whether it may be asked, has one of these outcomes, and one sequence shows all of these values."""
        around = [self.around[name][value] for name, value in values if name in self.around]
        within = [(name, value) for name, value in values if name not in self.around]
        some = True
        if within:
            some = a.any_of(
                *(a.all_of(live, *(of[name][value] for name, value in within)) for live, of in self.sequences)
            )
        return a.all_of(self.legal, a.any_of(*(self.outcome[each] for each in outcomes)), *around, some)


def asked(a: Algebra, orders: frozenset[Order], sizes: Sizes, state: State, ask: Ask) -> Asked:
    """What asking shows."""
    wanted, free = demand(a, ask.guard, sizes, state, ask.argument)
    around = pool_values(a, pool_of(a, ask.guard, sizes, state, free), wanted.need)
    allowed = legal(a, ask.guard, orders, sizes, state, ask.argument)
    sequences: tuple[tuple[Any, Meanings], ...] = ()
    if ask.guard is Guard.ALLOCATE:
        allowed = a.all_of(allowed, ask.seqs >= 1, ask.seqs <= 3)
        around |= new_group_values(a, sizes, ask)
    else:
        around |= group_values(a, state)
        each = sequence_values(a, sizes, state, ask, turns_of(a, sizes, state, ask))
        there = [seq.live for seq in state.members if seq.live is not False]
        sequences = tuple(zip(there, each, strict=True))
    return Asked(allowed, outcome(a, wanted, free), around, sequences)


def shown(values: Meanings) -> dict[str, str]:
    """On plain numbers: the value of each atom that holds."""
    return {name: next(value for value, holds in meaning.items() if holds) for name, meaning in values.items()}


def sights(guard: Guard, seen: Asked) -> tuple[Values, ...]:
    """On plain numbers: what asking shows, once for each different sequence; nothing where it may not be asked."""
    if not seen.legal:
        return ()
    around = {"outcome": seen.outcome, **seen.around}
    parts = [of for live, of in seen.sequences if live] if seen.sequences else [{}]
    each = [shown({name: (around | of)[name] for name in meanings(guard)}) for of in parts]
    return tuple(dict.fromkeys(tuple(values.items()) for values in each))
