"""How the counts of a block manager move: one group of up to three sequences under test, and one that is in its way.

Written once over the algebra: on solver terms it is the transition system that is proved about, on plain numbers it is
what the search enumerates. Needs and verdicts are those of `kvspec.guards`. It knows counts, and for each entry of the
group's tables which sequences share the block; it must not know block numbers, token ids, or which edges there are.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from kvspec.algebra import Algebra
from kvspec.arithmetic import SequenceCounts, blocks_after_append, blocks_for, full_blocks
from kvspec.edges.state import MOST_BLOCKS, PAIRS, UNSHARED, Filler, Kind, Member, Move, Order, Sizes, State
from kvspec.guards import (
    Demand,
    allocate_demand,
    append_demand,
    is_ok,
    swap_in_demand,
    swap_out_demand,
    total_append_need,
)
from kvspec.vocabulary import Guard

ENDLESS = 31
"""A table length beyond anything that is asked for."""

Entries = tuple[Any, ...]
"""A condition for each entry of a table."""


def total(a: Algebra, conditions: Iterable[Any]) -> Any:
    """How many of the conditions hold."""
    count: Any = 0
    for condition in conditions:
        count = count + a.ite(condition, 1, 0)
    return count


# -- counts -----------------------------------------------------------------------------------------------------------


def held(a: Algebra, state: State) -> Any:
    """Distinct blocks that the group under test holds: a block is counted for the first that has it."""
    first_two, *with_third = state.shared
    blocks = state.one.blocks + state.two.blocks - total(a, first_two)
    return blocks + state.three.blocks - total(a, _either(a, *with_third))


def gpu_free(a: Algebra, sizes: Sizes, state: State) -> Any:
    """Free GPU blocks."""
    group, filler = a.ite(state.swapped, 0, held(a, state)), a.ite(state.filler.swapped, 0, state.filler.blocks)
    return sizes.gpu - group - filler


def cpu_free(a: Algebra, sizes: Sizes, state: State) -> Any:
    """Free CPU blocks."""
    group, filler = a.ite(state.swapped, held(a, state), 0), a.ite(state.filler.swapped, state.filler.blocks, 0)
    return sizes.cpu - group - filler


def scheduled(a: Algebra, state: State) -> Any:
    """Whether the next step computes a sequence of the group under test."""
    return a.any_of(*(seq.scheduled for seq in state.members))


def running(a: Algebra, state: State) -> Any:
    """Whether the group under test runs."""
    return a.all_of(state.one.live, a.negate(state.swapped))


def _either(a: Algebra, some: Entries, others: Entries) -> Entries:
    return tuple(a.any_of(x, y) for x, y in zip(some, others, strict=True))


def _both(a: Algebra, some: Entries, others: Entries) -> Entries:
    return tuple(a.all_of(x, y) for x, y in zip(some, others, strict=True))


def _without(a: Algebra, some: Entries, others: Entries) -> Entries:
    return tuple(a.all_of(x, a.negate(y)) for x, y in zip(some, others, strict=True))


def shared_with_any(a: Algebra, shared: tuple[Entries, ...], position: int) -> Entries:
    """For each entry of one sequence's table, whether another sequence has the block too."""
    with_first, with_second = (row for pair, row in zip(PAIRS, shared, strict=True) if position in pair)
    return _either(a, with_first, with_second)


@dataclass(frozen=True)
class Turn:
    """One sequence's part in an append. written: entries of its table that it writes to. copied: those of them that
    another sequence still has when its turn comes.
    """

    written: Entries
    copied: Entries
    counts: SequenceCounts


def _written(a: Algebra, sizes: Sizes, seq: Member, lookahead: Any) -> Entries:
    slots = seq.tokens + lookahead
    start, stop = full_blocks(a, seq.seen, sizes.block), blocks_for(a, slots, sizes.block)
    writes = a.all_of(seq.live, slots > seq.seen)
    return tuple(a.all_of(writes, entry >= start, entry < stop, entry < seq.blocks) for entry in range(MOST_BLOCKS))


def turns(a: Algebra, sizes: Sizes, state: State, lookahead: Any) -> tuple[list[Turn], tuple[Entries, ...]]:
    """The sequences appended to in turn, and what is shared afterwards: whoever writes to a shared block leaves it.

    A sequence that does not exist has a table long enough for anything: it asks for nothing.
    """
    shared = state.shared
    taken = []
    for position, seq in enumerate(state.members):
        if seq.live is False:  # settled: on plain numbers most groups are small
            taken.append(Turn(UNSHARED, UNSHARED, SequenceCounts(0, 0, ENDLESS)))
            continue
        written = _written(a, sizes, seq, lookahead)
        copied = _both(a, shared_with_any(a, shared, position), written)
        blocks = a.ite(seq.live, seq.blocks, ENDLESS)
        taken.append(Turn(written, copied, SequenceCounts(seq.tokens, seq.seen, blocks, total(a, copied))))
        shared = tuple(
            _without(a, row, written) if position in pair else row for pair, row in zip(PAIRS, shared, strict=True)
        )
    return taken, shared


def need(a: Algebra, guard: Guard, sizes: Sizes, state: State, argument: Any, taken: list[Turn]) -> Any:
    """Blocks that the guarded operation takes: of the configuration it depends on the block size only. taken: the turns
    of its append, if any.
    """
    if guard is Guard.ALLOCATE:
        return blocks_for(a, argument, sizes.block)
    if guard is Guard.SWAP_OUT:
        return held(a, state)
    counts = [turn.counts for turn in taken]
    grown = total_append_need(a, counts, argument, sizes.block)
    return grown if guard is Guard.APPEND else held(a, state) + grown


def demand(a: Algebra, guard: Guard, sizes: Sizes, state: State, argument: Any) -> tuple[Demand, Any]:
    """What the guarded operation demands of its pool, and what is free there. argument: tokens of the prompt for
    allocate, else the lookahead.
    """
    free = gpu_free(a, sizes, state)
    if guard is Guard.ALLOCATE:
        return allocate_demand(a, argument, 0, sizes.block, sizes.gpu, sizes.watermark), free
    if guard is Guard.SWAP_OUT:
        return swap_out_demand(a, held(a, state), sizes.cpu), cpu_free(a, sizes, state)
    counts = [turn.counts for turn in turns(a, sizes, state, argument)[0]]
    if guard is Guard.APPEND:
        return append_demand(a, counts, argument, sizes.block, sizes.gpu, held(a, state)), free
    return swap_in_demand(a, held(a, state), counts, argument, sizes.block, sizes.gpu, sizes.watermark), free


def approved(a: Algebra, guard: Guard, sizes: Sizes, state: State, argument: Any) -> Any:
    """Whether the guard says OK."""
    return is_ok(*demand(a, guard, sizes, state, argument))


# -- legality ---------------------------------------------------------------------------------------------------------


def legal(a: Algebra, guard: Guard, orders: frozenset[Order], sizes: Sizes, state: State, argument: Any) -> Any:
    """Whether an engine bound to these orders may ask the guard about the group under test now."""
    if guard is Guard.ALLOCATE:
        return a.all_of(a.negate(state.one.live), argument >= 1)
    fixed = _fixed_lookahead(orders, sizes, argument)
    if guard is Guard.APPEND:
        return a.all_of(running(a, state), a.negate(scheduled(a, state)), argument >= 0, fixed)
    if guard is Guard.SWAP_OUT:
        return a.all_of(running(a, state), _releasable(a, orders, scheduled(a, state)), argument == 0)
    calm = a.negate(state.swap_out_pending) if Order.SWAP_IN_AFTER_STEP in orders else True
    return a.all_of(state.swapped, argument >= 0, fixed, calm)


def _fixed_lookahead(orders: frozenset[Order], sizes: Sizes, lookahead: Any) -> Any:
    return lookahead == sizes.lookahead if Order.LOOKAHEAD_FIXED in orders else True


def _releasable(a: Algebra, orders: frozenset[Order], is_scheduled: Any) -> Any:
    return a.negate(is_scheduled) if Order.NO_RELEASE_WHILE_SCHEDULED in orders else True


def _legal_step(a: Algebra, orders: frozenset[Order], state: State, move: Move) -> Any:
    conditions = []
    for seq, given in zip(state.members, (move.first, move.second, move.third), strict=True):
        conditions += [given >= 0, a.implies(given > 0, seq.scheduled)]
        if Order.ONE_TOKEN in orders:
            conditions.append(given <= 1)
        if Order.TOKENS_EVERY_STEP in orders:
            conditions.append(a.implies(seq.scheduled, given >= 1))
    return a.all_of(*conditions)


def _parent(a: Algebra, state: State, move: Move) -> Member:
    """The sequence that is forked: the second only where it exists."""
    one, two = state.one, state.two
    second = move.second == 1
    return Member(
        a.ite(second, two.live, one.live),
        a.ite(second, two.scheduled, one.scheduled),
        a.ite(second, two.tokens, one.tokens),
        a.ite(second, two.seen, one.seen),
        a.ite(second, two.blocks, one.blocks),
    )


def _legal_fork(a: Algebra, orders: frozenset[Order], state: State, move: Move) -> Any:
    parent, unseen = _parent(a, state, move), move.first
    room = a.negate(state.three.live)
    conditions = [running(a, state), parent.live, a.negate(parent.scheduled), room, unseen >= 0, move.second >= 0]
    conditions.append(move.second <= 1)
    if Order.FORK_AFTER_TOKENS in orders:
        conditions += [unseen >= 1, parent.tokens > parent.seen]
    if Order.ONE_TOKEN in orders:
        conditions.append(unseen <= 1)
    return a.all_of(*conditions)


def _legal_filler(a: Algebra, orders: frozenset[Order], filler: Filler) -> Any:
    return a.all_of(filler.blocks > 0, _releasable(a, orders, filler.scheduled))


GUARDS = {
    Kind.ADMIT: Guard.ALLOCATE,
    Kind.APPEND: Guard.APPEND,
    Kind.SWAP_OUT: Guard.SWAP_OUT,
    Kind.SWAP_IN: Guard.SWAP_IN,
}
"""The guards about the group under test, by the operation that asks them."""


def legal_move(a: Algebra, kind: Kind, orders: frozenset[Order], sizes: Sizes, state: State, move: Move) -> Any:
    """Whether an operation of this kind is in order, whatever a guard says."""
    filler = state.filler
    if kind is Kind.ADMIT:
        group = a.all_of(move.second >= 1, move.second <= len(state.members))
        return a.all_of(group, legal(a, Guard.ALLOCATE, orders, sizes, state, move.first))
    if kind in GUARDS:
        return legal(a, GUARDS[kind], orders, sizes, state, move.first)
    if kind is Kind.STEP:
        return _legal_step(a, orders, state, move)
    if kind is Kind.FORK:
        return _legal_fork(a, orders, state, move)
    if kind is Kind.ADMIT_FILLER:
        return a.all_of(a.negate(filler.used), move.first >= 1)
    if kind is Kind.GROW_FILLER:
        ready = a.all_of(filler.blocks > 0, filler.fed, a.negate(filler.grown), a.negate(filler.swapped))
        idle = a.negate(filler.scheduled)
        return a.all_of(ready, idle, move.first >= 0, _fixed_lookahead(orders, sizes, move.first))
    staying = a.negate(filler.swapped) if kind is Kind.SWAP_OUT_FILLER else True
    return a.all_of(_legal_filler(a, orders, filler), staying)


def fits(a: Algebra, kind: Kind, sizes: Sizes, state: State, move: Move) -> Any:
    """Whether the guard that such an operation asks, if any, says OK."""
    if kind in GUARDS:
        return approved(a, GUARDS[kind], sizes, state, move.first)
    if kind is Kind.ADMIT_FILLER:
        return approved(a, Guard.ALLOCATE, sizes, state, move.first)
    if kind is Kind.SWAP_OUT_FILLER:
        return is_ok(swap_out_demand(a, state.filler.blocks, sizes.cpu), cpu_free(a, sizes, state))
    if kind is Kind.GROW_FILLER:
        return gpu_free(a, sizes, state) >= filler_growth(a, sizes, move.first)
    return True


# -- what operations do -----------------------------------------------------------------------------------------------


def _admit(a: Algebra, sizes: Sizes, state: State, move: Move) -> State:
    blocks = blocks_for(a, move.first, sizes.block)
    members = []
    for position in range(len(state.members)):
        there = position < move.second
        counts = (a.ite(there, number, 0) for number in (move.first, move.first, blocks))
        members.append(Member(there, there, *counts))
    shared = tuple(
        tuple(a.all_of(later < move.second, entry < blocks) for entry in range(MOST_BLOCKS)) for _, later in PAIRS
    )
    one, two, three = members
    return replace(state, one=one, two=two, three=three, shared=shared)


def _append(a: Algebra, sizes: Sizes, state: State, lookahead: Any) -> State:
    taken, shared = turns(a, sizes, state, lookahead)
    grown = []
    for seq, turn in zip(state.members, taken, strict=True):
        row = a.ite(seq.live, blocks_after_append(a, turn.counts, lookahead, sizes.block), 0)
        grown.append(Member(seq.live, seq.live, seq.tokens, seq.tokens, row))
    one, two, three = grown
    return replace(state, one=one, two=two, three=three, shared=shared)


def _step(a: Algebra, state: State, move: Move) -> State:
    one, two, three = (
        replace(seq, scheduled=False, tokens=seq.tokens + given)
        for seq, given in zip(state.members, (move.first, move.second, move.third), strict=True)
    )
    was = state.filler
    filler = replace(was, scheduled=False, fed=a.any_of(was.fed, was.scheduled))
    return replace(state, one=one, two=two, three=three, filler=filler, swap_out_pending=False)


def _fork(a: Algebra, state: State, move: Move) -> State:
    """The child is the second sequence, or the third where there is a second: with that one or with the first it shares
    what its parent does.
    """
    parent, second_there = _parent(a, state, move), state.two.live
    child = replace(parent, tokens=parent.seen + move.first)
    all_of_parent = tuple(entry < parent.blocks for entry in range(MOST_BLOCKS))
    between = state.shared[0]
    of_first = move.second == 0

    def chosen(condition: Any, some: Entries, others: Entries) -> Entries:
        return tuple(a.ite(condition, x, y) for x, y in zip(some, others, strict=True))

    first_two = chosen(second_there, between, all_of_parent)
    first_third = chosen(second_there, chosen(of_first, all_of_parent, between), UNSHARED)
    second_third = chosen(second_there, chosen(of_first, between, all_of_parent), UNSHARED)
    return replace(
        state,
        two=_member_ite(a, second_there, state.two, child),
        three=_member_ite(a, second_there, child, state.three),
        shared=(first_two, first_third, second_third),
        forked=True,
    )


def _member_ite(a: Algebra, condition: Any, then: Member, otherwise: Member) -> Member:
    return Member(
        *(
            a.ite(condition, getattr(then, name), getattr(otherwise, name))
            for name in ("live", "scheduled", "tokens", "seen", "blocks")
        )
    )


def _swap_out(state: State) -> State:
    one, two, three = (replace(seq, scheduled=False) for seq in state.members)
    return replace(state, one=one, two=two, three=three, swapped=True, swap_out_pending=True)


def filler_growth(a: Algebra, sizes: Sizes, lookahead: Any) -> Any:
    """Blocks that the filler's one token and the lookahead take: its other blocks are full."""
    return blocks_for(a, lookahead + 1, sizes.block)


def effect(a: Algebra, kind: Kind, sizes: Sizes, state: State, move: Move) -> State:
    """The state after an operation of this kind that is in order and fits."""
    filler = state.filler
    if kind is Kind.STEP:
        return _step(a, state, move)
    if kind is Kind.ADMIT:
        return _admit(a, sizes, state, move)
    if kind is Kind.ADMIT_FILLER:
        return replace(state, filler=Filler(True, True, False, blocks_for(a, move.first, sizes.block)))
    if kind is Kind.APPEND:
        return _append(a, sizes, state, move.first)
    if kind is Kind.FORK:
        return _fork(a, state, move)
    if kind is Kind.SWAP_OUT:
        return _swap_out(state)
    if kind is Kind.SWAP_OUT_FILLER:
        moved = replace(filler, swapped=True, scheduled=False)
        return replace(state, filler=moved, swap_out_pending=True)
    if kind is Kind.SWAP_IN:
        return _append(a, sizes, replace(state, swapped=False), move.first)
    if kind is Kind.GROW_FILLER:
        blocks = filler.blocks + filler_growth(a, sizes, move.first)
        return replace(state, filler=replace(filler, scheduled=True, blocks=blocks, fed=False, grown=True))
    return replace(state, filler=replace(filler, scheduled=False, swapped=False, blocks=0))


def after(
    a: Algebra, kind: Kind, orders: frozenset[Order], sizes: Sizes, state: State, move: Move
) -> tuple[Any, State]:
    """Whether an operation of this kind is legal and approved in this state, and the state after it."""
    in_order = legal_move(a, kind, orders, sizes, state, move)
    return a.all_of(in_order, fits(a, kind, sizes, state, move)), effect(a, kind, sizes, state, move)


ARGUMENTS = {
    Kind.STEP: 3,
    Kind.ADMIT: 2,
    Kind.ADMIT_FILLER: 1,
    Kind.APPEND: 1,
    Kind.FORK: 2,
    Kind.SWAP_OUT: 0,
    Kind.SWAP_OUT_FILLER: 0,
    Kind.SWAP_IN: 1,
    Kind.FREE_FILLER: 0,
    Kind.GROW_FILLER: 1,
}
"""How many arguments an operation of each kind has."""


def no_unused(a: Algebra, kind: Kind, move: Move) -> Any:
    """Whether the arguments that an operation of this kind does not have are 0."""
    return a.all_of(*(value == 0 for value in (move.first, move.second, move.third)[ARGUMENTS[kind] :]))
