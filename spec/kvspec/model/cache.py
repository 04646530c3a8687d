"""The KV cache of one device: its pool of blocks, what each slot of them holds, and what each table entry must read.

Adds contents to `kvspec.model.pool`. A *content* is a number that stands for the KV of one token after one prefix:
equal prefixes have equal contents, and nothing else does. The entry of a block table owns a block and reads the slots
of it that are *computed*; what it must find there is what its own sequence wrote there, or the sequence that it was
forked from. Written over the algebra and over columns; must not know any operation, guard or claim.
"""

from __future__ import annotations

from collections.abc import Callable
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

    entry: the entry that it is about. other: of a share and a follow, the entry that owns the block already. source: of
    a transfer and a follow, the other device, where the entry owns a block still. slot: of a write. content: of a
    write, what is written; of a publish and a hit, what the last slot of the block ends. block: of a revive and a drop.
    """

    entry: Any
    other: Any = None
    source: Cache | None = None
    slot: Any = None
    content: Any = None
    block: Any = None


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
    """The entry owns a block on the other device and none here, where a block is free."""
    assert at.source is not None
    return a.all_of(pools.is_owner(at.source.pool, at.entry), pools.can_take(a, cache.pool, at.entry))


def transfer(a: Algebra, cache: Cache, at: At) -> Cache:
    """Take a block here and make it hold what a block of the other device holds. That one is released on its own."""
    assert at.source is not None
    source, after = at.source, pools.take(a, cache.pool, at.entry)
    return replace(
        cache,
        pool=after,
        holds=cache.holds.put_row(after.tab[at.entry], source.holds.row(source.pool.tab[at.entry])),
        must=cache.must.put_row(at.entry, source.must.row(at.entry)),
        computed=cache.computed.put(at.entry, source.computed[at.entry]),
    )


def can_follow(a: Algebra, cache: Cache, at: At) -> Any:
    """The entry owns a block on the other device and none here, where another's is. Its content: see `SAME_CONTENT`."""
    assert at.source is not None
    return a.all_of(pools.is_owner(at.source.pool, at.entry), pools.can_share(a, cache.pool, at.other, at.entry))


def follow(a: Algebra, cache: Cache, at: At) -> Cache:
    """Let a further owner of a block that was transferred own the new block too, and read there what it read before."""
    assert at.source is not None
    return replace(
        cache,
        pool=pools.share(a, cache.pool, at.other, at.entry),
        must=cache.must.put_row(at.entry, at.source.must.row(at.entry)),
        computed=cache.computed.put(at.entry, at.source.computed[at.entry]),
    )


def can_write(a: Algebra, cache: Cache, at: At) -> Any:
    """The entry owns a block, and the slot is the next one not computed. Who else reads it: see `EXCLUSIVE_WRITER`."""
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


def holds_the_same(a: Algebra, cache: Cache, at: At, slot: Any) -> Any:
    """The rule of a follow: the block here holds, in each slot, what the entry's block on the other device holds."""
    assert at.source is not None
    source = at.source
    return cache.holds[cache.pool.tab[at.other], slot] == source.holds[source.pool.tab[at.entry], slot]


@dataclass(frozen=True)
class Rule:
    """What a micro-step asks of every reader or every slot, besides being possible. over, holds, words: as of a
    `Conjunct`, of the cache before it (or the device with its index) and of where it happens; over may be a block too.
    """

    name: str
    over: str
    holds: Callable[[Algebra, Any, At, Any], Any]
    words: str


EXCLUSIVE_WRITER = Rule(
    "exclusive-writer",
    "entry",
    spoils_nothing,
    "whoever reads the slot that is written must find there what is written",
)
SAME_CONTENT = Rule(
    "same-content", "number", holds_the_same, "the block here holds what the entry's block on the other device holds"
)
