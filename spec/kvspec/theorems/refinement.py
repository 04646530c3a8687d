"""What a judge can observe is enough: tables, free counts, copies and transfers decide the laws of owners and contents.

A judge sees no ranks, no free list and, of many managers, no refcounts. Here it is shown that it need not. *Owners*:
take any state of the model and any change that a judge who knows tables and free counts lets pass; then some micro-step
of the model makes exactly this change. So, by induction over what was observed, there is a state of the model behind
every history that passes, and all that is proved of those states holds of it. A manager may hand out whichever free
block it likes, so the free list is first reordered, which changes nothing that can be observed. *Contents*: the judge's
ledger repeats the writes, copies and transfers that it was told of, so it holds what memory holds; and it is enough to
check the entries that an operation touched, of whatever manager, for every entry to read back what it must.

That less would not be enough is shown by the wrong variants at the end: for each observation, two histories that a
judge without it cannot tell apart, one of which breaks a law.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from kvspec.algebra import Algebra
from kvspec.laws.data import Read
from kvspec.model.cache import Cache, reads, reads_its_own
from kvspec.model.columns import Column
from kvspec.model.pool import (
    INVARIANT,
    Conjunct,
    Pool,
    can_take,
    is_block,
    is_empty,
    is_owner,
    next_block,
    rank_has_owner,
    release,
    reorder,
    share,
    take,
)
from kvspec.model.steps import WRITE
from kvspec.theorems.data import READ_BACK, wrong_slot
from kvspec.theorems.happening import add_general, contents_of
from kvspec.theorems.obligation import Area, Claim, Kind, Named, claim_law
from kvspec.theorems.ownership import KEPT
from kvspec.theorems.worlds import ClaimIn, World, holds_of_any, invariant

AREA = Area("refinement")


add = partial(add_general, AREA)
"""Adds an obligation about any number of blocks, slots and entries."""


# -- what a judge sees of owners ------------------------------------------------------------------------


def unnamed(world: World, pool: Pool, block: Any) -> Named:
    """What a judge sees who looks the block up in every table: nobody names it."""
    nobody = Conjunct(
        "unnamed", ("entry",), lambda a, pool, entry: a.negate(pool.tab[entry] == block), "nobody names it"
    )
    return Named("unnamed", world.every(nobody, pool))


def unnamed_by_others(world: World, pool: Pool, block: Any, entry: Any) -> Named:
    """The same, of all entries but one."""

    def holds(a: Algebra, pool: Pool, other: Any) -> Any:
        return a.any_of(other == entry, a.negate(pool.tab[other] == block))

    return Named("unnamed-by-others", world.every(Conjunct("nobody-else", ("entry",), holds, ""), pool))


def _unnamed_is_free(world: World) -> Claim:
    pool, block, a = world.pool("pool"), world.number("block"), world.a
    # The invariant says this of every rank; solvers have to be told which one matters.
    first_owner = rank_has_owner(a, pool, block, 0)
    given = [*invariant(world, pool), is_block(a, pool, block), unnamed(world, pool, block), first_owner]
    return Claim(given, a.all_of(pool.ref[block] == 0, pool.pos[block] < pool.free))


def _named_is_held(world: World) -> Claim:
    pool, p, a = world.pool("pool"), world.entry("p"), world.a
    block = pool.tab[p]
    return Claim(
        [*invariant(world, pool), is_owner(pool, p)], a.all_of(pool.ref[block] >= 1, pool.pos[block] >= pool.free)
    )


def _reordered(world: World) -> tuple[Pool, Pool, Any, list[Any]]:
    pool, block, a = world.pool("pool"), world.number("block"), world.a
    free = [is_block(a, pool, block), pool.pos[block] < pool.free]
    return pool, reorder(a, pool, block), block, [*invariant(world, pool), *free]


def _reorder_keeps(conjunct: Conjunct) -> ClaimIn:
    def claim(world: World) -> Claim:
        _, after, _, given = _reordered(world)
        return Claim(given, holds_of_any(world, conjunct, after))

    return claim


def _reorder_hands_out(world: World) -> Claim:
    before, after, block, given = _reordered(world)
    a, other = world.a, world.number("other")
    as_free = (before.pos[other] < before.free) == (after.pos[other] < after.free)
    unseen = a.implies(is_block(a, before, other), as_free)
    return Claim(given, a.all_of(next_block(after) == block, unseen))


add(
    "unnamed-is-free",
    Kind.LEMMA,
    "A block that no table names is free.",
    _unnamed_is_free,
    law="accounting.free-exact",
    rests_on=KEPT,
)
add(
    "named-is-held",
    Kind.LEMMA,
    "A block that some table names is not free.",
    _named_is_held,
    law="accounting.free-exact",
    rests_on=KEPT,
)
for _conjunct in INVARIANT:
    add(
        f"reorder.keeps.{_conjunct.name}",
        Kind.INDUCTION,
        f"After a free block was brought to the front, still {_conjunct.words}.",
        _reorder_keeps(_conjunct),
        rests_on=KEPT,
    )
add(
    "reorder.hands-out",
    Kind.LEMMA,
    "Any free block can be the next that is handed out, and whether a block is free does not depend on it.",
    _reorder_hands_out,
    rests_on=KEPT,
)

REORDERED = ("refinement.reorder.hands-out", *(f"refinement.reorder.keeps.{c.name}" for c in INVARIANT))

# -- every change that passes is a micro-step -----------------------------------------------------------


def same_tables(a: Algebra, one: Pool, tab: Column, entry: Any) -> Any:
    """Whether an entry names the same block in a pool and in a table that was observed."""
    return one.tab[entry] == tab[entry]


def _filled_by_take(world: World) -> Claim:
    """An empty entry was seen to name a block that nobody named; the free count fell by one."""
    pool, p, block, a = world.pool("pool"), world.entry("p"), world.number("block"), world.a
    observed = pool.tab.put(p, block)
    # Nobody names the block, so it is free: `unnamed-is-free`.
    free = [is_block(a, pool, block), pool.ref[block] == 0, pool.pos[block] < pool.free]
    given = [*invariant(world, pool), is_empty(pool, p), *free]
    ready = reorder(a, pool, block)
    after = take(a, ready, p)
    matches = a.all_of(same_tables(a, after, observed, world.entry("any")), after.free == pool.free - 1)
    return Claim(given, a.all_of(can_take(a, ready, p), matches))


def _filled_by_share(world: World) -> Claim:
    """An empty entry was seen to name a block that another names; the free count stayed."""
    pool, p, q, a = world.pool("pool"), world.entry("p"), world.entry("q"), world.a
    observed = pool.tab.put(p, pool.tab[q])
    given = [*invariant(world, pool), is_empty(pool, p), is_owner(pool, q)]
    after = share(a, pool, q, p)
    return Claim(given, a.all_of(same_tables(a, after, observed, world.entry("any")), after.free == pool.free))


def _filled_either_way(world: World) -> Claim:
    """Whatever block a filled entry names, it was free, or its first owner is somebody to share with."""
    pool, block, a = world.pool("pool"), world.number("block"), world.a
    owner = pool.at[block, 0]
    given = [*invariant(world, pool), is_block(a, pool, block)]
    return Claim(given, a.any_of(pool.pos[block] < pool.free, pool.tab[owner] == block))


def _released(world: World) -> tuple[Pool, Any, Pool, list[Any]]:
    pool, p = world.pool("pool"), world.entry("p")
    return pool, p, release(world.a, pool, p), [*invariant(world, pool), is_owner(pool, p)]


def first_two_owners(a: Algebra, pool: Pool, block: Any) -> list[Any]:
    """What the invariant says of the ranks 0 and 1. It says so of all; solvers have to be told which ones matter."""
    return [rank_has_owner(a, pool, block, rank) for rank in (0, 1)]


def _emptied_by_last(world: World) -> Claim:
    """An entry was seen to be emptied whose block nobody else names: the free count grows by one."""
    pool, p, after, given = _released(world)
    block = pool.tab[p]
    alone = [unnamed_by_others(world, pool, block, p), *first_two_owners(world.a, pool, block)]
    return Claim([*given, *alone], after.free == pool.free + 1)


def _emptied_by_one(world: World) -> Claim:
    """An entry was seen to be emptied whose block another names too: the free count stays."""
    pool, p, after, given = _released(world)
    other, a = world.entry("other"), world.a
    named_too = [a.negate(other == p), pool.tab[other] == pool.tab[p]]
    return Claim([*given, *named_too], after.free == pool.free)


def _refcount_seen(world: World) -> Claim:
    """Alone in naming a block, or not: the refcount says the same."""
    pool, p, a = world.pool("pool"), world.entry("p"), world.a
    block = pool.tab[p]
    given = [*invariant(world, pool), is_owner(pool, p), unnamed_by_others(world, pool, block, p)]
    return Claim([*given, *first_two_owners(a, pool, block)], pool.ref[block] == 1)


add(
    "filled.take",
    Kind.INDUCTION,
    "An empty entry that comes to name a block nobody named, while one block less is free, is a take.",
    _filled_by_take,
    law="accounting.no-double-free",
    rests_on=(*KEPT, *REORDERED, "refinement.unnamed-is-free"),
)
add(
    "filled.share",
    Kind.INDUCTION,
    "An empty entry that comes to name a block another names, while as many blocks are free, is a share.",
    _filled_by_share,
    law="accounting.refcount",
    rests_on=KEPT,
)
add(
    "filled.either",
    Kind.LEMMA,
    "There is no third way: any block of the pool is free, or has an owner to share with.",
    _filled_either_way,
    law="accounting.free-exact",
    rests_on=KEPT,
)
add(
    "emptied.last",
    Kind.INDUCTION,
    "An entry that is emptied, whose block no other entry names, is a release that frees the block.",
    _emptied_by_last,
    law="accounting.conservation",
    rests_on=KEPT,
)
add(
    "emptied.one-of-several",
    Kind.INDUCTION,
    "An entry that is emptied, whose block another entry names too, is a release that frees nothing.",
    _emptied_by_one,
    law="accounting.conservation",
    rests_on=KEPT,
)
add(
    "refcount.seen",
    Kind.LEMMA,
    "Where no other entry names the block, the refcount is 1: tables tell who may write in place.",
    _refcount_seen,
    law="accounting.refcount",
    rests_on=KEPT,
)

# -- checking what was touched is enough ----------------------------------------------------------------


def _touched_is_enough(world: World) -> Claim:
    """Two states of any manager. Entries that were not touched are as they were, down to what their blocks hold."""
    before, after, touched, a = world.cache("before"), world.cache("after"), world.marks("touched"), world.a

    def as_it_was(a: Algebra, _: Any, entry: Any, slot: Any) -> Any:
        block = before.pool.tab[entry]
        same = a.all_of(
            after.pool.tab[entry] == block,
            after.computed[entry] == before.computed[entry],
            after.must[entry, slot] == before.must[entry, slot],
            after.holds[block, slot] == before.holds[block, slot],
        )
        return a.implies(touched[entry] == 0, same)

    def checked(a: Algebra, _: Any, entry: Any, slot: Any) -> Any:
        return a.implies(a.negate(touched[entry] == 0), reads_its_own(a, after, entry, slot))

    def all_read(a: Algebra, cache: Cache, entry: Any, slot: Any) -> Any:
        return reads_its_own(a, cache, entry, slot)

    over = ("entry", "number")
    given = [
        Named("read-back", world.every(Conjunct("read-back", over, all_read, ""), before)),
        Named("untouched", world.every(Conjunct("untouched", over, as_it_was, ""), after)),
        Named("checked", world.every(Conjunct("checked", over, checked, ""), after)),
    ]
    reader, slot = world.entry("reader"), world.number("slot")
    case = Read(wrong=wrong_slot(a, after, reader, slot), slots=a.ite(reads(a, after, reader, slot), 1, 0))
    return claim_law(a, "data.read-back", case, given)


def _write_touches(world: World) -> Claim:
    """Whoever does not name the written block reads after the write what it read before."""
    happened, a = contents_of(world, WRITE), world.a
    other, slot = world.entry("other"), world.number("any_slot")
    before, after, pool = happened.before, happened.after, happened.before.pool
    elsewhere = [is_owner(pool, other), a.negate(pool.tab[other] == pool.tab[happened.at.entry])]
    block = pool.tab[other]
    return Claim([*happened.given, *elsewhere], after.holds[block, slot] == before.holds[block, slot])


add(
    "touched.enough",
    Kind.SOUNDNESS,
    "Whatever a manager did: if those entries read back that it touched, and the others are as they were, all do.",
    _touched_is_enough,
    law="data.read-back",
)
add(
    "touched.by-a-write",
    Kind.LEMMA,
    "A write touches no entry but those that name the written block.",
    _write_touches,
    law="data.read-back",
    rests_on=READ_BACK,
)

OBLIGATIONS = AREA.obligations
