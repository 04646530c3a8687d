"""The counts of windows, rings, chunks and drafts on plain numbers agree with positions looked at one by one."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from kvspec.algebra import INTS
from kvspec.arithmetic import (
    accepted_drafts,
    chunk_end,
    computed_after,
    dead_entries,
    first_live,
    live_entries,
    most_live_entries,
    ring_size,
)
from kvspec.model.cache import CONTENTS, At, Cache, can_take, can_write, reads, take, write
from kvspec.model.columns import Plain
from kvspec.model.pool import INVARIANT, Pool, is_owner
from kvspec.model.window import LIVE, Rows, can_give_up, give_up

BLOCK_SIZES, WINDOWS, TOKENS = (1, 2, 3, 4), range(1, 8), range(14)


def read_by(position, window):
    """What attention at a position reads."""
    return {p for p in range(position + 1) if position - p < window}


def live(computed, window, slots):
    """Every position of so many slots that a token still to be computed reads, or that is still to be written."""
    return set().union(*(read_by(position, window) for position in range(computed, slots + 20))) & set(range(slots))


@pytest.mark.parametrize("block_size", BLOCK_SIZES)
def test_what_is_live_is_what_is_read_still(block_size):
    for window, computed, new in itertools.product(WINDOWS, TOKENS, range(4)):
        slots = computed + new
        positions = live(computed, window, slots + 1)
        assert first_live(INTS, computed, window) == min(positions)
        entries = {position // block_size for position in positions - {slots}}
        assert live_entries(INTS, computed, window, slots, block_size) == len(entries)
        assert dead_entries(INTS, computed, window, block_size) == min(p // block_size for p in positions)


@pytest.mark.parametrize("block_size", BLOCK_SIZES)
def test_the_bound_is_what_some_row_reaches(block_size):
    for window, new in itertools.product(WINDOWS, range(4)):
        counts = [live_entries(INTS, computed, window, computed + new, block_size) for computed in range(24)]
        assert max(counts) == most_live_entries(INTS, window, new, block_size)


def written_over(computed, window, new, slots):
    """Positions that are read by what is computed, and whose slot another position of it is written to."""
    read = set().union(*(read_by(position, window) for position in range(computed, computed + new)))
    written = range(computed, computed + new)
    return {p for p in read for q in written if p != q and p % slots == q % slots}


@pytest.mark.parametrize("block_size", BLOCK_SIZES)
def test_a_ring_is_as_small_as_it_can_be(block_size):
    for window, new in itertools.product(WINDOWS, range(1, 5)):
        blocks = ring_size(INTS, window, new, block_size)
        assert not any(written_over(computed, window, new, blocks * block_size) for computed in range(16))
        if blocks > 1:
            fewer = (blocks - 1) * block_size
            assert any(written_over(computed, window, new, fewer) for computed in range(16))


def test_chunks_come_to_an_end():
    for tokens, chunk in itertools.product(range(1, 9), range(1, 5)):
        covered, steps = 0, 0
        while covered < tokens:
            covered, steps = chunk_end(INTS, tokens, covered, chunk), steps + 1
        assert (covered, steps) == (tokens, -(-tokens // chunk))


def test_of_new_tokens_the_drafts_are_those_before_the_last():
    for covered, drafts in itertools.product(range(4), range(4)):
        for right in range(drafts + 1):
            assert accepted_drafts(INTS, right + 1, drafts) == right
            assert computed_after(INTS, covered, right + 1, drafts) == covered + right
        assert accepted_drafts(INTS, 0, drafts) == 0
        assert accepted_drafts(INTS, drafts + 3, drafts) == drafts


# -- one life of a row ----------------------------------------------------------------------------------


def an_empty_row(blocks, block_size, window, entries):
    """Entry i of the one row there is stands at the i-th block of its sequence."""
    nothing, in_place = Plain({}), Plain({block: block for block in range(blocks)})
    pool = Pool(blocks, Plain(dict.fromkeys(range(blocks), 0)), nothing, nothing, nothing, in_place, in_place, blocks)
    starts, none = Plain({i: i * block_size for i in range(entries)}), Plain(dict.fromkeys(range(entries), 0))
    return Rows(Cache(pool, block_size, nothing, nothing, nothing), window, starts, none, none)


def broken(rows, entries):
    """The parts of the invariants that do not hold."""
    for conjuncts, state in ((INVARIANT, rows.cache.pool), (CONTENTS, rows.cache), (LIVE, rows)):
        for conjunct in conjuncts:
            over = (range(entries) if kind == "entry" else range(4) for kind in conjunct.over)
            if not all(conjunct.holds(INTS, state, *things) for things in itertools.product(*over)):
                yield conjunct.name


@pytest.mark.parametrize("block_size", [1, 2, 3])
@pytest.mark.parametrize("window", [1, 2, 4, 5])
def test_a_row_runs_for_ever_in_the_blocks_that_are_counted_for_it(block_size, window):
    """Token after token is covered and computed, in no more blocks than the bound says, and read back while live."""
    length = 20
    entries = -(-length // block_size)
    most = most_live_entries(INTS, window, 1, block_size)
    rows = an_empty_row(most, block_size, window, entries)
    for computed in range(length):
        at = At(computed // block_size, slot=computed % block_size, content=computed)
        for entry in range(entries):
            if is_owner(rows.cache.pool, entry) and can_give_up(INTS, rows, At(entry)):
                rows = give_up(INTS, rows, At(entry))
        cache = rows.cache
        if not is_owner(cache.pool, at.entry):
            assert can_take(INTS, cache, at)
            cache = take(INTS, cache, at)
        assert can_write(INTS, cache, at)
        cache = write(INTS, cache, at)
        covered = Plain(dict.fromkeys(range(entries), computed + 1))
        for position in read_by(computed, window):
            entry, slot = divmod(position, block_size)
            assert reads(INTS, cache, entry, slot)
            assert cache.holds[cache.pool.tab[entry], slot] == position
        rows = replace(rows, cache=cache, covered=covered, done=covered)
        assert not list(broken(rows, entries))
