"""How the counts of a block manager move: one group of one or two sequences under test, and one that is in its way.

Written once over the algebra: on solver terms it is the transition system that is searched and proved about, on plain
numbers it checks what the solver found. Needs and verdicts are those of `kvspec.guards`. It knows counts, and for each
entry of the group's two tables whether they share the block; it must not know block numbers, token ids, or which goals
there are.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from kvspec.algebra import Algebra
from kvspec.arithmetic import SequenceCounts, blocks_after_append, blocks_for, full_blocks
from kvspec.edges.state import MOST_BLOCKS, Filler, Kind, Member, Move, Order, Sizes, State
from kvspec.guards import Demand, allocate_demand, append_demand, is_ok, swap_in_demand, swap_out_demand
from kvspec.vocabulary import Guard

ENDLESS = 31
"""A table length beyond anything that is asked for."""


def total(a: Algebra, conditions: tuple[Any, ...]) -> Any:
    """How many of the conditions hold."""
    count: Any = 0
    for condition in conditions:
        count = count + a.ite(condition, 1, 0)
    return count


# -- counts -----------------------------------------------------------------------------------------------------------


def held(a: Algebra, state: State) -> Any:
    """Distinct blocks that the group under test holds."""
    return state.one.blocks + state.two.blocks - total(a, state.shared)


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
    return a.any_of(state.one.scheduled, state.two.scheduled)


def step_matters(state: State) -> bool:
    """Whether a step would change anything; only where the kinds of all operations so far are settled."""
    return bool(state.one.scheduled or state.two.scheduled or state.filler.scheduled or state.swap_out_pending)


def running(a: Algebra, state: State) -> Any:
    """Whether the group under test runs."""
    return a.all_of(state.one.live, a.negate(state.swapped))


def _written(a: Algebra, sizes: Sizes, seq: Member, lookahead: Any) -> tuple[Any, ...]:
    """For each entry of the table, whether an append writes to it."""
    slots = seq.tokens + lookahead
    start, stop = full_blocks(a, seq.seen, sizes.block), blocks_for(a, slots, sizes.block)
    return tuple(
        a.all_of(seq.live, slots > seq.seen, entry >= start, entry < stop, entry < seq.blocks)
        for entry in range(MOST_BLOCKS)
    )


def _both(a: Algebra, some: tuple[Any, ...], others: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(a.all_of(x, y) for x, y in zip(some, others, strict=True))


def _without(a: Algebra, some: tuple[Any, ...], others: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(a.all_of(x, a.negate(y)) for x, y in zip(some, others, strict=True))


def append_counts(a: Algebra, sizes: Sizes, state: State, lookahead: Any) -> tuple[SequenceCounts, SequenceCounts]:
    """What the arithmetic needs to know of both sequences. The first leaves the blocks that it copies, so the second
    is their last owner. A sequence that does not exist has a table long enough for anything: it asks for nothing.
    """
    one, two = state.members
    writes = _written(a, sizes, one, lookahead)
    left = _without(a, state.shared, writes)
    second_writes = _written(a, sizes, two, lookahead)
    return (
        SequenceCounts(one.tokens, one.seen, one.blocks, total(a, _both(a, state.shared, writes))),
        SequenceCounts(
            two.tokens, two.seen, a.ite(two.live, two.blocks, ENDLESS), total(a, _both(a, left, second_writes))
        ),
    )


def demand(a: Algebra, guard: Guard, sizes: Sizes, state: State, argument: Any) -> tuple[Demand, Any]:
    """What the guarded operation demands of its pool, and what is free there. argument: tokens of the prompt for
    allocate, else the lookahead.
    """
    free = gpu_free(a, sizes, state)
    if guard is Guard.ALLOCATE:
        return allocate_demand(a, argument, 0, sizes.block, sizes.gpu, sizes.watermark), free
    if guard is Guard.SWAP_OUT:
        return swap_out_demand(a, held(a, state), sizes.cpu), cpu_free(a, sizes, state)
    counts = append_counts(a, sizes, state, argument)
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
    fixed = _fixed_lookahead(a, orders, sizes, argument)
    if guard is Guard.APPEND:
        return a.all_of(running(a, state), a.negate(scheduled(a, state)), argument >= 0, fixed)
    if guard is Guard.SWAP_OUT:
        return a.all_of(running(a, state), _releasable(a, orders, scheduled(a, state)), argument == 0)
    calm = a.negate(state.swap_out_pending) if Order.SWAP_IN_AFTER_STEP in orders else True
    return a.all_of(state.swapped, argument >= 0, fixed, calm)


def _fixed_lookahead(a: Algebra, orders: frozenset[Order], sizes: Sizes, lookahead: Any) -> Any:
    return lookahead == sizes.lookahead if Order.LOOKAHEAD_FIXED in orders else True


def _releasable(a: Algebra, orders: frozenset[Order], is_scheduled: Any) -> Any:
    return a.negate(is_scheduled) if Order.NO_RELEASE_WHILE_SCHEDULED in orders else True


def _legal_step(a: Algebra, orders: frozenset[Order], state: State, move: Move) -> Any:
    conditions = []
    for seq, given in zip(state.members, (move.first, move.second), strict=True):
        conditions += [given >= 0, a.implies(given > 0, seq.scheduled)]
        if Order.ONE_TOKEN in orders:
            conditions.append(given <= 1)
        if Order.TOKENS_EVERY_STEP in orders:
            conditions.append(a.implies(seq.scheduled, given >= 1))
    return a.all_of(*conditions)


def _legal_fork(a: Algebra, orders: frozenset[Order], state: State, unseen: Any) -> Any:
    parent = state.one
    conditions = [running(a, state), a.negate(parent.scheduled), a.negate(state.two.live), unseen >= 0]
    if Order.FORK_AFTER_TOKENS in orders:
        conditions += [unseen >= 1, parent.tokens > parent.seen]
    if Order.ONE_TOKEN in orders:
        conditions.append(unseen <= 1)
    return a.all_of(*conditions)


def _legal_filler(a: Algebra, orders: frozenset[Order], filler: Filler) -> Any:
    return a.all_of(filler.blocks > 0, _releasable(a, orders, filler.scheduled))


# -- what operations do -----------------------------------------------------------------------------------------------


def _admit(a: Algebra, sizes: Sizes, state: State, tokens: Any, two: bool) -> State:
    blocks = blocks_for(a, tokens, sizes.block)
    seq = Member(True, True, tokens, tokens, blocks)
    shared = tuple(entry < blocks for entry in range(MOST_BLOCKS)) if two else (False,) * MOST_BLOCKS
    return replace(state, one=seq, two=seq if two else Member(), shared=shared)


def _append(a: Algebra, sizes: Sizes, state: State, lookahead: Any) -> State:
    shared = state.shared
    grown = []
    for seq, counts in zip(state.members, append_counts(a, sizes, state, lookahead), strict=True):
        shared = _without(a, shared, _written(a, sizes, seq, lookahead))
        row = a.ite(seq.live, blocks_after_append(a, counts, lookahead, sizes.block), 0)
        grown.append(Member(seq.live, seq.live, seq.tokens, seq.tokens, row))
    return replace(state, one=grown[0], two=grown[1], shared=shared)


def _step(a: Algebra, state: State, move: Move) -> State:
    one = replace(state.one, scheduled=False, tokens=state.one.tokens + move.first)
    two = replace(state.two, scheduled=False, tokens=state.two.tokens + move.second)
    filler = replace(state.filler, scheduled=False)
    return replace(state, one=one, two=two, filler=filler, swap_out_pending=False)


def _fork(state: State, unseen: Any) -> State:
    parent = state.one
    child = replace(parent, tokens=parent.seen + unseen)
    shared = tuple(entry < parent.blocks for entry in range(MOST_BLOCKS))
    return replace(state, two=child, shared=shared, forked=True)


def _swap_out(state: State) -> State:
    one, two = (replace(seq, scheduled=False) for seq in state.members)
    return replace(state, one=one, two=two, swapped=True, swap_out_pending=True)


def after(
    a: Algebra, kind: Kind, orders: frozenset[Order], sizes: Sizes, state: State, move: Move
) -> tuple[Any, State]:
    """Whether an operation of this kind is legal and approved in this state, and the state after it."""

    def guarded(guard: Guard, argument: Any) -> Any:
        return a.all_of(legal(a, guard, orders, sizes, state, argument), approved(a, guard, sizes, state, argument))

    filler = state.filler
    if kind is Kind.STEP:
        return _legal_step(a, orders, state, move), _step(a, state, move)
    if kind in (Kind.ADMIT_ONE, Kind.ADMIT_TWO):
        return guarded(Guard.ALLOCATE, move.first), _admit(a, sizes, state, move.first, kind is Kind.ADMIT_TWO)
    if kind is Kind.ADMIT_FILLER:
        fits = approved(a, Guard.ALLOCATE, sizes, state, move.first)
        filler = Filler(True, True, False, blocks_for(a, move.first, sizes.block))
        return a.all_of(a.negate(state.filler.used), move.first >= 1, fits), replace(state, filler=filler)
    if kind is Kind.APPEND:
        return guarded(Guard.APPEND, move.first), _append(a, sizes, state, move.first)
    if kind is Kind.FORK:
        return _legal_fork(a, orders, state, move.first), _fork(state, move.first)
    if kind is Kind.SWAP_OUT:
        return guarded(Guard.SWAP_OUT, move.first), _swap_out(state)
    if kind is Kind.SWAP_OUT_FILLER:
        fits = is_ok(swap_out_demand(a, filler.blocks, sizes.cpu), cpu_free(a, sizes, state))
        moved = replace(filler, swapped=True, scheduled=False)
        legal_now = a.all_of(_legal_filler(a, orders, filler), a.negate(filler.swapped), fits)
        return legal_now, replace(state, filler=moved, swap_out_pending=True)
    if kind is Kind.SWAP_IN:
        resumed = replace(state, swapped=False)
        return guarded(Guard.SWAP_IN, move.first), _append(a, sizes, resumed, move.first)
    gone = replace(filler, scheduled=False, swapped=False, blocks=0)
    return _legal_filler(a, orders, filler), replace(state, filler=gone)


WITHOUT_ARGUMENTS = (Kind.SWAP_OUT, Kind.SWAP_OUT_FILLER, Kind.FREE_FILLER)


def no_unused(a: Algebra, kind: Kind, move: Move) -> Any:
    """Whether the arguments that an operation of this kind does not have are 0."""
    return a.all_of(
        True if kind not in WITHOUT_ARGUMENTS else move.first == 0, True if kind is Kind.STEP else move.second == 0
    )
