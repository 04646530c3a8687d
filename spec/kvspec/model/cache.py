"""The KV cache of one device: its pool of blocks, what each slot of them holds, and what each table entry must read.

Adds contents to `kvspec.model.pool`. A *content* is a number that stands for the KV of one token after one prefix: equal
prefixes have equal contents, and nothing else does. The entry of a block table owns a block and reads the slots of it
that are *computed*; what it must find there is what its own sequence wrote there, or the sequence that it was forked
from. Written over the algebra and over columns; must not know any operation, guard or claim.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from kvspec.algebra import Algebra
from kvspec.model import pool as pools
from kvspec.model.columns import Column
from kvspec.model.pool import Conjunct, Pool


@dataclass(frozen=True)
class Cache:
    """One device.

    pool: its blocks and their owners. block_size: slots in a block. holds[b, o]: content of slot o of block b.
    must[e, o]: content that entry e must read at slot o of its block. computed[e]: slots of its block, from the first
    on, that entry e reads.
    """

    pool: Pool
    block_size: Any
    holds: Column
    must: Column
    computed: Column


@dataclass(frozen=True)
class At:
    """Where a micro-step happens.

    entry: the entry that it is about. other: of a share, the entry that owns the block already; of a transfer, the
    entry on the other device. source: of a transfer, the other device. slot, content: of a write.
    """

    entry: Any
    other: Any = None
    source: Cache | None = None
    slot: Any = None
    content: Any = None


def can_take(a: Algebra, cache: Cache, at: At) -> Any:
    """A block is free and the entry is empty."""
    return pools.can_take(a, cache.pool, at.entry)


def take(a: Algebra, cache: Cache, at: At) -> Cache:
    """Put a free block into an empty entry. Nothing of it is computed, whatever an earlier owner left there."""
    return replace(cache, pool=pools.take(a, cache.pool, at.entry), computed=cache.computed.put(at.entry, 0))


def can_share(a: Algebra, cache: Cache, at: At) -> Any:
    """The one entry owns a block and the other is empty."""
    return pools.can_share(a, cache.pool, at.other, at.entry)


def share(a: Algebra, cache: Cache, at: At) -> Cache:
    """Let an empty entry own the block of another too, and read there what that one reads."""
    return replace(
        cache,
        pool=pools.share(a, cache.pool, at.other, at.entry),
        must=cache.must.put_row(at.entry, cache.must.row(at.other)),
        computed=cache.computed.put(at.entry, cache.computed[at.other]),
    )


def can_release(a: Algebra, cache: Cache, at: At) -> Any:
    """The entry owns a block."""
    return pools.can_release(a, cache.pool, at.entry)


def release(a: Algebra, cache: Cache, at: At) -> Cache:
    """Empty an entry. Its block becomes free with its last owner, and keeps what it holds."""
    return replace(cache, pool=pools.release(a, cache.pool, at.entry))


def can_replace(a: Algebra, cache: Cache, at: At) -> Any:
    """The entry owns a block that others own too, and a block is free."""
    return pools.can_replace(a, cache.pool, at.entry)


def replace_shared(a: Algebra, cache: Cache, at: At) -> Cache:
    """Copy-on-write: leave a shared block to its other owners, and take one instead that is made to hold the same."""
    shared = cache.pool.tab[at.entry]
    after = pools.replace_shared(a, cache.pool, at.entry)
    return replace(cache, pool=after, holds=cache.holds.put_row(after.tab[at.entry], cache.holds.row(shared)))


def can_transfer(a: Algebra, cache: Cache, at: At) -> Any:
    """The entry on the other device owns a block; here a block is free, and the entry is empty."""
    assert at.source is not None
    return a.all_of(pools.is_owner(at.source.pool, at.other), pools.can_take(a, cache.pool, at.entry))


def transfer(a: Algebra, cache: Cache, at: At) -> Cache:
    """Take a block here and make it hold what a block of the other device holds. That one is released on its own."""
    assert at.source is not None
    source, after = at.source, pools.take(a, cache.pool, at.entry)
    return replace(
        cache,
        pool=after,
        holds=cache.holds.put_row(after.tab[at.entry], source.holds.row(source.pool.tab[at.other])),
        must=cache.must.put_row(at.entry, source.must.row(at.other)),
        computed=cache.computed.put(at.entry, source.computed[at.other]),
    )


def can_write(a: Algebra, cache: Cache, at: At) -> Any:
    """The entry owns a block, and the slot is the next of it that is not computed. Who else reads it: see `SPOILS_NOBODY`."""
    next_one = a.all_of(at.slot == cache.computed[at.entry], at.slot >= 0, at.slot < cache.block_size)
    return a.all_of(pools.is_owner(cache.pool, at.entry), next_one)


def write(a: Algebra, cache: Cache, at: At) -> Cache:
    """Write the KV of the next token, which is then computed."""
    return replace(
        cache,
        holds=cache.holds.put((cache.pool.tab[at.entry], at.slot), at.content),
        must=cache.must.put((at.entry, at.slot), at.content),
        computed=cache.computed.put(at.entry, at.slot + 1),
    )


# -- what is claimed of contents ------------------------------------------------------------------------


def reads(a: Algebra, cache: Cache, entry: Any, slot: Any) -> Any:
    """Whether the entry reads this slot of its block."""
    return a.all_of(pools.is_owner(cache.pool, entry), slot >= 0, slot < cache.computed[entry])


def reads_its_own(a: Algebra, cache: Cache, entry: Any, slot: Any) -> Any:
    """What an entry reads is what it must read."""
    right = cache.holds[cache.pool.tab[entry], slot] == cache.must[entry, slot]
    return a.implies(reads(a, cache, entry, slot), right)


def within_block(a: Algebra, cache: Cache, entry: Any) -> Any:
    """No entry reads beyond its block."""
    owner = pools.is_owner(cache.pool, entry)
    return a.implies(owner, a.all_of(cache.computed[entry] >= 0, cache.computed[entry] <= cache.block_size))


CONTENTS = (
    Conjunct("read-back", ("entry", "number"), reads_its_own, "every entry reads back what it must, in every slot"),
    Conjunct("within-block", ("entry",), within_block, "no entry reads beyond its block"),
)
"""The invariant of contents, of one cache; that of its pool is `kvspec.model.pool.INVARIANT`."""


def spoils_nothing(a: Algebra, cache: Cache, at: At, reader: Any) -> Any:
    """The exclusive-writer rule: an entry that reads the slot which is written must find there what is written."""
    same_slot = a.all_of(cache.pool.tab[reader] == cache.pool.tab[at.entry], reads(a, cache, reader, at.slot))
    return a.implies(same_slot, cache.must[reader, at.slot] == at.content)
