"""One pool: which block each table entry names, and which blocks are free, as small pure steps.

An *entry* is one place in some block table; it owns the block it names. State and steps are written over the algebra
and over columns, so that one text serves solver arrays for any number of blocks, a few solver terms for examples, and
plain numbers. Nothing here claims anything, and nothing here knows what a block holds: see `kvspec.model.cache`.

How counting is avoided, which solvers are bad at:

- rank numbers the owners of each block, and `at` is its inverse: owners of b correspond one to one to 0 .. ref[b]-1;
- the free list is the first `free` entries of a permutation of all blocks, `perm`, with its inverse `pos`: each free
  block is listed once, and as long as `free` > 0 there is one to take.

rank, at and pos are ghosts: a real manager need not have them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from kvspec.algebra import Algebra
from kvspec.model.columns import NOTHING, Column

EMPTY = NOTHING
"""What an entry names that owns nothing."""


@dataclass(frozen=True)
class Pool:
    """The blocks 0 .. size-1 of one device, and who owns them.

    ref[b]: refcount of block b. tab[e]: block that entry e names, or EMPTY. rank[e]: which owner of its block entry e
    is. at[b, r]: the owner of block b that has rank r. perm[i]: a permutation of the blocks, of which the first `free`
    are the free list. pos[b]: where block b stands in it.
    """

    size: Any
    ref: Column
    tab: Column
    rank: Column
    at: Column
    perm: Column
    pos: Column
    free: Any


# -- steps ----------------------------------------------------------------------------------------------


def next_block(pool: Pool) -> Any:
    """The block that is handed out next."""
    return pool.perm[pool.free - 1]


def is_empty(pool: Pool, entry: Any) -> Any:
    """Whether the entry owns nothing."""
    return pool.tab[entry] < 0


def is_owner(pool: Pool, entry: Any) -> Any:
    """Whether the entry owns a block."""
    return pool.tab[entry] >= 0


def can_take(a: Algebra, pool: Pool, entry: Any) -> Any:
    """A block is free and the entry is empty."""
    return a.all_of(pool.free > 0, is_empty(pool, entry))


def take(a: Algebra, pool: Pool, entry: Any) -> Pool:
    """Put a free block into an empty entry."""
    block = next_block(pool)
    return replace(
        pool,
        ref=pool.ref.put(block, 1),
        tab=pool.tab.put(entry, block),
        rank=pool.rank.put(entry, 0),
        at=pool.at.put((block, 0), entry),
        free=pool.free - 1,
    )


def can_share(a: Algebra, pool: Pool, owner: Any, entry: Any) -> Any:
    """The one entry owns a block and the other is empty."""
    return a.all_of(is_owner(pool, owner), is_empty(pool, entry))


def share(a: Algebra, pool: Pool, owner: Any, entry: Any) -> Pool:
    """Let an empty entry own the block of another too (what a fork does with each entry)."""
    block = pool.tab[owner]
    owners = pool.ref[block]
    return replace(
        pool,
        ref=pool.ref.put(block, owners + 1),
        tab=pool.tab.put(entry, block),
        rank=pool.rank.put(entry, owners),
        at=pool.at.put((block, owners), entry),
    )


def can_release(a: Algebra, pool: Pool, entry: Any) -> Any:
    """The entry owns a block."""
    return is_owner(pool, entry)


def release(a: Algebra, pool: Pool, entry: Any) -> Pool:
    """Empty an entry. Its block becomes free with its last owner; until then the last rank moves into the hole."""
    block, hole = pool.tab[entry], pool.rank[entry]
    last = pool.ref[block] - 1
    moved = pool.at[block, last]
    freed = return_block(a, pool, block, last == 0)
    return replace(
        freed,
        ref=pool.ref.put(block, last),
        tab=pool.tab.put(entry, EMPTY),
        rank=pool.rank.put(moved, hole),
        at=pool.at.put((block, hole), moved),
    )


def return_block(a: Algebra, pool: Pool, block: Any, gone: Any) -> Pool:
    """Append the block to the free list if it is gone: it changes places with the first block that is not free."""
    where, other = pool.pos[block], pool.perm[pool.free]
    perm = _put_if(a, gone, _put_if(a, gone, pool.perm, where, other), pool.free, block)
    pos = _put_if(a, gone, _put_if(a, gone, pool.pos, other, where), block, pool.free)
    return replace(pool, perm=perm, pos=pos, free=a.ite(gone, pool.free + 1, pool.free))


def _put_if(a: Algebra, condition: Any, column: Column, index: Any, value: Any) -> Column:
    return column.put(index, a.ite(condition, value, column[index]))


def can_replace(a: Algebra, pool: Pool, entry: Any) -> Any:
    """The entry owns a block that others own too, and a block is free."""
    return a.all_of(is_owner(pool, entry), pool.ref[pool.tab[entry]] > 1, pool.free > 0)


def replace_shared(a: Algebra, pool: Pool, entry: Any) -> Pool:
    """Copy-on-write at one entry: leave the shared block to its other owners, and take one instead."""
    return take(a, release(a, pool, entry), entry)


def reorder(a: Algebra, pool: Pool, block: Any) -> Pool:
    """Let a free block be the next that is handed out: it changes places in the free list with the one that was."""
    place, last = pool.pos[block], pool.free - 1
    other = pool.perm[last]
    return replace(
        pool,
        perm=pool.perm.put(place, other).put(last, block),
        pos=pool.pos.put(other, place).put(block, last),
    )


# -- invariant ------------------------------------------------------------------------------------------


def is_block(a: Algebra, pool: Pool, number: Any) -> Any:
    """Whether the pool has a block of this number."""
    return a.all_of(number >= 0, number < pool.size)


def owner_has_rank(a: Algebra, pool: Pool, entry: Any) -> Any:
    """An owner names a block of the pool, has a rank below its refcount, and is what stands at that rank."""
    block, rank = pool.tab[entry], pool.rank[entry]
    ranked = a.all_of(block < pool.size, rank >= 0, rank < pool.ref[block], pool.at[block, rank] == entry)
    return a.implies(block >= 0, ranked)


def rank_has_owner(a: Algebra, pool: Pool, block: Any, rank: Any) -> Any:
    """At each rank below a block's refcount stands an owner of it that has this rank."""
    entry = pool.at[block, rank]
    premise = a.all_of(is_block(a, pool, block), rank >= 0, rank < pool.ref[block])
    return a.implies(premise, a.all_of(pool.tab[entry] == block, pool.rank[entry] == rank))


def free_iff_unowned(a: Algebra, pool: Pool, block: Any) -> Any:
    """A block stands in the free list exactly if its refcount is 0."""
    place = pool.pos[block]
    listed = a.all_of(is_block(a, pool, place), pool.perm[place] == block)
    agrees = (pool.ref[block] == 0) == (place < pool.free)
    return a.implies(is_block(a, pool, block), a.all_of(pool.ref[block] >= 0, agrees, listed))


def each_place_one_block(a: Algebra, pool: Pool, place: Any) -> Any:
    """Each place of the permutation names a block that stands there and nowhere else."""
    block = pool.perm[place]
    stands = a.all_of(is_block(a, pool, block), pool.pos[block] == place)
    return a.implies(is_block(a, pool, place), stands)


def free_in_range(a: Algebra, pool: Pool) -> Any:
    """No fewer than no block is free, and no more than all."""
    return a.all_of(pool.free >= 0, pool.free <= pool.size)


@dataclass(frozen=True)
class Conjunct:
    """One part of the invariant. over: what it is about for all of: entries, numbers. words: the same, to be read."""

    name: str
    over: tuple[str, ...]
    holds: Callable[..., Any]
    words: str


INVARIANT = (
    Conjunct("owner-has-rank", ("entry",), owner_has_rank, "every owner of a block has a rank of its own"),
    Conjunct("rank-has-owner", ("number", "number"), rank_has_owner, "every rank below a refcount has its owner"),
    Conjunct("free-iff-unowned", ("number",), free_iff_unowned, "a block is free exactly if its refcount is 0"),
    Conjunct("each-place-one-block", ("number",), each_place_one_block, "no block stands twice in the free list"),
    Conjunct("free-in-range", (), free_in_range, "no fewer than 0 blocks are free and no more than all"),
)

PRISTINE = (
    Conjunct("no-owner", ("entry",), lambda a, pool, entry: is_empty(pool, entry), "no entry owns anything"),
    Conjunct(
        "all-in-order",
        ("number",),
        lambda a, pool, i: a.implies(
            is_block(a, pool, i), a.all_of(pool.ref[i] == 0, pool.perm[i] == i, pool.pos[i] == i)
        ),
        "every block has refcount 0 and stands in its own place",
    ),
    Conjunct("all-free", (), lambda a, pool: pool.free == pool.size, "all blocks are free"),
)
"""A pool before anything happened."""
