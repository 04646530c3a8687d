"""The guards on plain numbers agree with operations performed on lists, over small exhaustive ranges."""

from __future__ import annotations

import itertools

import pytest
from spec_oracle import Sequence, copies_taken, left_after

from kvspec.algebra import INTS
from kvspec.arithmetic import SequenceCounts, copies_needed, hits_taken
from kvspec.guards import (
    allocate_demand,
    allocate_in_ring_demand,
    allocate_with_hits_demand,
    append_demand,
    append_with_null_demand,
    is_never,
    is_ok,
    swap_in_demand,
    swap_out_demand,
)

POOLS = range(6)
BLOCK_SIZES = (1, 2, 3)
LOOKAHEADS = (0, 1, 3)


def agrees(demand, free, total, *operation):
    """OK, and NEVER, are what performing the operation from so many free blocks shows."""

    def succeeds(blocks):
        moved, group, lookahead, block_size = operation
        left = left_after(blocks, moved, sequences(group), lookahead, block_size)
        return left is not None and left >= demand.reserve

    assert is_ok(demand, free) == succeeds(free)
    assert is_never(demand) == (not succeeds(total))


def groups(block_size):
    """Groups of one and of two sequences, with tails of earlier lookaheads and shared blocks."""
    one = [
        (tokens, seen, blocks, shared)
        for tokens in (1, 2, 4)
        for seen in range(tokens + 1)
        for blocks in range(4)
        for shared in range(min(blocks, 1) + 1)
        if blocks * block_size >= seen
    ]
    yield from ([seq] for seq in one)
    yield from ([first, second] for first, second in itertools.product(one[::5], one[::7]))


def counts(group):
    return [SequenceCounts(tokens, seen, blocks, shared) for tokens, seen, blocks, shared in group]


def sequences(group):
    return [Sequence([-1] * blocks, tokens, shared) for tokens, _, blocks, shared in group]


@pytest.mark.parametrize("block_size", BLOCK_SIZES)
def test_allocate(block_size):
    for total, tokens, lookahead, watermark in itertools.product(POOLS, range(1, 8), LOOKAHEADS, range(3)):
        demand = allocate_demand(INTS, tokens, lookahead, block_size, total, watermark)
        for free in range(total + 1):
            agrees(demand, free, total, 0, [(tokens, 0, 0, 0)], lookahead, block_size)


def admitted(free, cached, held, blocks):
    """Free blocks left after an admission done on sets: hits are held first, then the rest is taken; None if stuck."""
    pool, row = {f"free {i}" for i in range(free - cached)} | {f"cached {i}" for i in range(cached)}, []
    row += [f"held {i}" for i in range(held)]
    for i in range(cached):
        pool.remove(f"cached {i}")
        row.append(f"cached {i}")
    while len(row) < blocks:
        if not pool:
            return None
        row.append(pool.pop())
    assert len(set(row)) == len(row)
    return len(pool)


@pytest.mark.parametrize("block_size", BLOCK_SIZES)
def test_allocate_with_hits(block_size):
    """Any number of hits, some of them owned and some cached: OK exactly if it can be done, NEVER if not even alone."""
    numbers = itertools.product(range(5), range(1, 6), (0, 2), range(2), range(3), range(3))
    for total, tokens, lookahead, watermark, held, cached in numbers:
        blocks = -(-(tokens + lookahead) // block_size)
        if held + cached > blocks or held + cached > total:
            continue
        demand = allocate_with_hits_demand(INTS, tokens, lookahead, block_size, total, watermark, held)
        alone = admitted(total, held + cached, 0, blocks)
        assert is_never(demand) == (alone is None or alone < watermark)
        for free in range(cached, total - held + 1):
            left = admitted(free, cached, held, blocks)
            assert is_ok(demand, free) == (left is not None and left >= watermark)


def test_without_hits_it_is_the_other_guard():
    for tokens, total, watermark in itertools.product(range(1, 6), POOLS, range(2)):
        assert allocate_with_hits_demand(INTS, tokens, 1, 2, total, watermark, 0) == allocate_demand(
            INTS, tokens, 1, 2, total, watermark
        )


@pytest.mark.parametrize("block_size", BLOCK_SIZES)
def test_hits_taken(block_size):
    for tokens, known in itertools.product(range(1, 10), range(5)):
        leaving_one = [hits for hits in range(known + 1) if hits * block_size < tokens]
        assert hits_taken(INTS, tokens, known, block_size) == max(leaving_one)


@pytest.mark.parametrize("block_size", BLOCK_SIZES)
def test_append(block_size):
    for group, lookahead, total, held in itertools.product(groups(block_size), LOOKAHEADS, (2, 5), range(3)):
        demand = append_demand(INTS, counts(group), lookahead, block_size, total, held)
        for free in range(total - held + 1):
            agrees(demand, free, total - held, 0, group, lookahead, block_size)


@pytest.mark.parametrize("block_size", BLOCK_SIZES)
def test_allocate_in_a_ring(block_size):
    """The blocks that the prompt's slots lie in, where a row comes back to its first block: counted one by one."""
    for tokens, lookahead, watermark, ring in itertools.product(range(1, 6), LOOKAHEADS, range(2), range(1, 4)):
        distinct = len({slot // block_size % ring for slot in range(tokens + lookahead)})
        for total in POOLS:
            demand = allocate_in_ring_demand(INTS, tokens, lookahead, block_size, total, watermark, ring)
            for free in range(total + 1):
                agrees(demand, free, total, distinct, [], lookahead, block_size)


@pytest.mark.parametrize("block_size", BLOCK_SIZES)
def test_append_beside_a_null_block(block_size):
    for group, reserved, first_use in itertools.product(groups(block_size), range(2), range(2)):
        if reserved + first_use > 1:
            continue
        demand = append_with_null_demand(INTS, counts(group), 1, block_size, 5, 1, reserved, first_use)
        for free in range(5 - 1 - reserved + 1):
            agrees(demand, free, 5 - 1 - reserved, first_use, group, 1, block_size)


@pytest.mark.parametrize("block_size", BLOCK_SIZES)
def test_swap_in(block_size):
    for group, lookahead, total, watermark in itertools.product(groups(block_size), LOOKAHEADS, (3, 6), range(2)):
        moved = sum(blocks for _, _, blocks, _ in group)
        demand = swap_in_demand(INTS, moved, counts(group), lookahead, block_size, total, watermark)
        for free in range(total + 1):
            agrees(demand, free, total, moved, group, lookahead, block_size)


def test_swap_out():
    for total, moved in itertools.product(POOLS, range(7)):
        for free in range(total + 1):
            agrees(swap_out_demand(INTS, moved, total), free, total, moved, [], 0, 1)


def test_copies():
    for owners in range(1, 7):
        for writers in range(owners + 1):
            assert copies_needed(INTS, owners, writers) == copies_taken(owners, writers)
