"""The prefix index of one device: which of its blocks are published, under which content, and what keeps that true.

A block whose slots are all computed can be *published*: under the content that its last slot ends, which stands for the
whole prefix up to there. From then on an entry that needs just this content takes the block over instead of computing
it, be it owned (`join`) or *cached*, that is free but published still (`revive`). What takes a free block for something
else drops its entry, which is all that eviction is. The micro-steps of `kvspec.model.cache` go on as they are; here
stands what each of them means for the index. Must not know any operation, guard or claim.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from kvspec.algebra import Algebra
from kvspec.arithmetic import larger
from kvspec.model import pool as pools
from kvspec.model.cache import At, Cache, Rule
from kvspec.model.columns import NOTHING, Column
from kvspec.model.pool import Conjunct, is_block, is_empty, is_owner, next_block
from kvspec.model.steps import FOLLOW, MICRO_STEPS, MicroStep


@dataclass(frozen=True)
class Index:
    """One device with an index.

    cache: its blocks and their contents. key[b]: content under which block b is published, or NOTHING. written[b]:
    slots of block b, from the first on, whose KV was computed since it was taken. era[b]: resets of the index before
    block b was taken. resets: how often the index was reset. spells[c, o]: content of slot o of a whole block whose
    last slot has content c; whatever it says, it is what a block that is found under c must hold.
    """

    cache: Cache
    key: Column
    written: Column
    era: Column
    resets: Any
    spells: Column


def is_published(index: Index, block: Any) -> Any:
    """Whether the block can be found."""
    return index.key[block] >= 0


def is_slot(a: Algebra, index: Index, slot: Any) -> Any:
    """Whether a block has a slot of this number."""
    return a.all_of(slot >= 0, slot < index.cache.block_size)


def finds(a: Algebra, index: Index, block: Any, content: Any) -> Any:
    """Whether the block is published under just this content."""
    return a.all_of(content >= 0, index.key[block] == content)


# -- the micro-steps of the index -----------------------------------------------------------------------


def can_publish(a: Algebra, index: Index, at: At) -> Any:
    """The entry owns a block that it reads whole, computed since the last reset, and that is not published yet."""
    cache, block = index.cache, index.cache.pool.tab[at.entry]
    whole = a.all_of(is_owner(cache.pool, at.entry), cache.computed[at.entry] == cache.block_size)
    return a.all_of(whole, index.era[block] == index.resets, index.key[block] < 0, at.content >= 0)


def publish(a: Algebra, index: Index, at: At) -> Index:
    """Let the block be found under this content."""
    return replace(index, key=index.key.put(index.cache.pool.tab[at.entry], at.content))


def can_join(a: Algebra, index: Index, at: At) -> Any:
    """The one entry owns a block that is published under this content, and the other is empty."""
    pool = index.cache.pool
    return a.all_of(pools.can_share(a, pool, at.other, at.entry), finds(a, index, pool.tab[at.other], at.content))


def join(a: Algebra, index: Index, at: At) -> Index:
    """Let an empty entry own a published block that has an owner, and read in it the prefix that it needs itself."""
    return _reads_its_prefix(index, pools.share(a, index.cache.pool, at.other, at.entry), at)


def can_revive(a: Algebra, index: Index, at: At) -> Any:
    """The block is published under this content and nobody's, and the entry is empty."""
    pool = index.cache.pool
    cached = a.all_of(is_block(a, pool, at.block), pool.ref[at.block] == 0)
    return a.all_of(is_empty(pool, at.entry), cached, finds(a, index, at.block, at.content))


def revive(a: Algebra, index: Index, at: At) -> Index:
    """Take just this block out of the free list, and read in it the prefix that the entry needs."""
    ready = pools.reorder(a, index.cache.pool, at.block)
    return _reads_its_prefix(index, pools.take(a, ready, at.entry), at)


def _reads_its_prefix(index: Index, pool: pools.Pool, at: At) -> Index:
    # What it must read is said by the content that it needs, not by whatever the block holds.
    cache = replace(
        index.cache,
        pool=pool,
        must=index.cache.must.put_row(at.entry, index.spells.row(at.content)),
        computed=index.cache.computed.put(at.entry, index.cache.block_size),
    )
    return replace(index, cache=cache)


def can_drop(a: Algebra, index: Index, at: At) -> Any:
    """The block is published."""
    return is_published(index, at.block)


def drop(a: Algebra, index: Index, at: At) -> Index:
    """Let a block not be found any more."""
    return replace(index, key=index.key.put(at.block, NOTHING))


def can_renew(a: Algebra, index: Index, at: At) -> Any:
    """Always. What is published: see `NOTHING_LEFT`."""
    return a.all_of()


def renew(a: Algebra, index: Index, at: At) -> Index:
    """Begin anew: what was computed so far is of before."""
    return replace(index, resets=index.resets + 1)


# -- what the micro-steps of a cache mean for it --------------------------------------------------------


def _brought(index: Index, after: Cache, at: At, written: Any, era: Any) -> Index:
    """A block was taken: if it was published it is not any more. written, era: what is known of its new contents."""
    block = next_block(index.cache.pool)
    return replace(
        index,
        cache=after,
        key=index.key.put(block, NOTHING),
        written=index.written.put(block, written),
        era=index.era.put(block, era),
    )


def _after_take(a: Algebra, index: Index, after: Cache, at: At) -> Index:
    return _brought(index, after, at, 0, index.resets)


def _after_replace(a: Algebra, index: Index, after: Cache, at: At) -> Index:
    left = index.cache.pool.tab[at.entry]
    return _brought(index, after, at, index.written[left], index.era[left])


def _after_transfer(a: Algebra, index: Index, after: Cache, at: At) -> Index:
    # When the other device got it is not known here, so that it counts as older than any reset.
    assert at.source is not None
    return _brought(index, after, at, at.source.computed[at.entry], NOTHING)


def _more_written(a: Algebra, index: Index, after: Cache, block: Any, slots: Any) -> Index:
    return replace(index, cache=after, written=index.written.put(block, larger(a, index.written[block], slots)))


def _after_follow(a: Algebra, index: Index, after: Cache, at: At) -> Index:
    assert at.source is not None
    return _more_written(a, index, after, index.cache.pool.tab[at.other], at.source.computed[at.entry])


def _after_write(a: Algebra, index: Index, after: Cache, at: At) -> Index:
    return _more_written(a, index, after, index.cache.pool.tab[at.entry], at.slot + 1)


def _as_it_was(a: Algebra, index: Index, after: Cache, at: At) -> Index:
    return replace(index, cache=after)


_MEANING: dict[str, Callable[[Algebra, Index, Cache, At], Index]] = {
    "take": _after_take,
    "share": _as_it_was,
    "release": _as_it_was,
    "replace": _after_replace,
    "transfer": _after_transfer,
    "follow": _after_follow,
    "write": _after_write,
}


# -- what they ask of every reader, slot or block -------------------------------------------------------


def is_own_content(a: Algebra, index: Index, at: At, slot: Any) -> Any:
    """What the entry must read in its block is what the content spells."""
    own = index.cache.must[at.entry, slot] == index.spells[at.content, slot]
    return a.implies(is_slot(a, index, slot), own)


def has_computed_all(a: Algebra, index: Index, at: At, reader: Any) -> Any:
    """Whoever owns the block reads all of it already, so that nobody has still to write to it."""
    pool = index.cache.pool
    owns_it = a.all_of(is_owner(pool, reader), pool.tab[reader] == pool.tab[at.entry])
    return a.implies(owns_it, index.cache.computed[reader] == index.cache.block_size)


def nothing_is_published(a: Algebra, index: Index, block: Any) -> Any:
    """The block is not published."""
    return a.negate(is_published(index, block))


OWN_CONTENT = Rule(
    "own-content", "number", is_own_content, "what the entry must read in each slot is what the content spells"
)
COMPUTED_BY_ALL = Rule("computed-by-all", "entry", has_computed_all, "whoever owns the block has computed all of it")
NOTHING_LEFT = Rule(
    "nothing-left", "block", lambda a, index, at, block: nothing_is_published(a, index, block), "no block is published"
)


@dataclass(frozen=True)
class IndexStep:
    """One micro-step of a device with an index: can, do, words, rules as of a `MicroStep`. plain: the micro-step of the
    cache that it is, if it is one.
    """

    name: str
    words: str
    can: Callable[[Algebra, Index, At], Any]
    do: Callable[[Algebra, Index, At], Index]
    rules: tuple[Rule, ...] = ()
    plain: MicroStep | None = None


PUBLISH = IndexStep(
    "publish",
    "let a whole block be found under the content that its last slot ends",
    can_publish,
    publish,
    (OWN_CONTENT, COMPUTED_BY_ALL),
)
JOIN = IndexStep(
    "join", "let an empty entry own a published block that has an owner, and read it whole", can_join, join
)
REVIVE = IndexStep(
    "revive", "let an empty entry own a published block that is nobody's, and read it whole", can_revive, revive
)
DROP = IndexStep("drop", "let a block not be found any more", can_drop, drop)
RENEW = IndexStep(
    "renew", "begin a new era, once nothing of the old one is published", can_renew, renew, (NOTHING_LEFT,)
)

OWN_STEPS: dict[str, IndexStep] = {step.name: step for step in (PUBLISH, JOIN, REVIVE, DROP, RENEW)}
"""The micro-steps that there are only with an index, by name."""

HITS = (JOIN, REVIVE)
"""Those by which an entry takes a block over."""


def with_index(step: MicroStep) -> IndexStep:
    """A micro-step of the cache, with what it means for the index."""

    def can(a: Algebra, index: Index, at: At) -> Any:
        possible = step.can(a, index.cache, at)
        # A block that was transferred is not published before all its owners have followed.
        if step is FOLLOW:
            return a.all_of(possible, index.key[index.cache.pool.tab[at.other]] < 0)
        return possible

    def do(a: Algebra, index: Index, at: At) -> Index:
        return _MEANING[step.name](a, index, step.do(a, index.cache, at), at)

    rules = () if step.rule is None else (_of_cache(step.rule),)
    return IndexStep(step.name, step.words, can, do, rules, step)


def _of_cache(rule: Rule) -> Rule:
    holds = rule.holds
    return replace(rule, holds=lambda a, index, at, it: holds(a, index.cache, at, it))


STEPS: dict[str, IndexStep] = {**{name: with_index(step) for name, step in MICRO_STEPS.items()}, **OWN_STEPS}
"""Every micro-step of a device with an index, by name."""


# -- what is claimed of it ------------------------------------------------------------------------------


def holds_its_prefix(a: Algebra, index: Index, block: Any, slot: Any) -> Any:
    """A published block holds in each slot what its content spells."""
    exact = index.cache.holds[block, slot] == index.spells[index.key[block], slot]
    return a.implies(a.all_of(is_published(index, block), is_slot(a, index, slot)), exact)


def written_whole(a: Algebra, index: Index, block: Any) -> Any:
    """All of a published block was computed."""
    return a.implies(is_published(index, block), index.written[block] >= index.cache.block_size)


def of_this_era(a: Algebra, index: Index, block: Any) -> Any:
    """It was computed since the last reset."""
    return a.implies(is_published(index, block), index.era[block] == index.resets)


def reads_what_is_written(a: Algebra, index: Index, entry: Any) -> Any:
    """No entry reads a slot that nobody computed."""
    pool = index.cache.pool
    return a.implies(is_owner(pool, entry), index.cache.computed[entry] <= index.written[pool.tab[entry]])


def reads_it_whole(a: Algebra, index: Index, entry: Any) -> Any:
    """Whoever owns a published block reads all of it."""
    pool = index.cache.pool
    owns_one = a.all_of(is_owner(pool, entry), is_published(index, pool.tab[entry]))
    return a.implies(owns_one, index.cache.computed[entry] == index.cache.block_size)


PUBLISHED = (
    Conjunct("published-exact", ("number", "number"), holds_its_prefix, "a published block holds what it says it does"),
    Conjunct("published-whole", ("number",), written_whole, "all of a published block was computed"),
    Conjunct("published-fresh", ("number",), of_this_era, "no published block is of before the last reset"),
    Conjunct("read-written", ("entry",), reads_what_is_written, "no entry reads what nobody computed"),
    Conjunct("owners-whole", ("entry",), reads_it_whole, "whoever owns a published block reads all of it"),
)
"""The invariant of an index; that of its cache is `kvspec.model.pool.INVARIANT` and `kvspec.model.cache.CONTENTS`."""


UNPUBLISHED = (Conjunct("nothing-published", ("number",), nothing_is_published, "no block is published"),)
"""An index before anything happened."""


# -- how far a prompt is found, and what is evicted first -----------------------------------------------


def takes_over_more(a: Algebra, tokens: Any, known: Any, hits: Any, block_size: Any) -> Any:
    """Whether a prompt of which `hits` blocks were taken over takes over another: it is one of the `known` blocks that
    can be found, and a token is left to compute after it.
    """
    return a.all_of(hits < known, (hits + 1) * block_size < tokens)


@dataclass(frozen=True)
class Standing:
    """Where a cached block stands in the order of eviction. used: when a sequence last had it. depth: its place in the
    row of blocks of that sequence, counted from the front.
    """

    used: Any
    depth: Any


def goes_first(a: Algebra, one: Standing, other: Standing) -> Any:
    """Whether the one is evicted no later than the other: it was used less recently, or as recently and stands no
    nearer to the front of its row.
    """
    as_recent = a.all_of(one.used == other.used, one.depth >= other.depth)
    return a.any_of(one.used < other.used, as_recent)


def use(a: Algebra, block: Standing, now: Any, used: Any) -> Standing:
    """Where it stands after a sequence was there, which had it or not."""
    return Standing(a.ite(used, now, block.used), block.depth)
