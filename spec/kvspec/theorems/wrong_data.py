"""Wrong variants of the micro-steps that move contents, each of which makes somebody read what is not its own.

Each bends one micro-step, or the order of two, and the solver finds a cache of a few blocks in which a law of contents
breaks that the right step keeps. Most of them keep every count as it should be: who looks at counts only sees nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from kvspec.algebra import Algebra
from kvspec.laws.data import Moved, Read, Sharing, Write
from kvspec.laws.table import Tenancy
from kvspec.model.cache import At, Cache, reads
from kvspec.model.pool import next_block
from kvspec.model.steps import FOLLOW, RELEASE, REPLACE, SHARE, TAKE, TRANSFER, WRITE, MicroStep
from kvspec.theorems.data import both_moved, wrong_slot
from kvspec.theorems.happening import Do, Happening, contents_of, somewhere
from kvspec.theorems.obligation import Area, Claim, claim_law
from kvspec.theorems.worlds import ClaimIn, World, sound_cache
from kvspec.theorems.wrong import ClaimOf, refute

AREA = Area("data")


# -- the claims, about any way to do a micro-step -------------------------------------------------------


def _claims(step: MicroStep, stated: Callable[[World, Happening], Claim]) -> ClaimOf:
    def of(do: Do) -> ClaimIn:
        return lambda world: stated(world, contents_of(world, step, do))

    return of


def _reading(world: World, cache: Cache, law: str, case: Callable[[Any], Any], given: list[Any]) -> Claim:
    """The law, of what some entry reads in some slot. case: from how many slots are wrong."""
    a, reader, slot = world.a, world.entry("reader"), world.number("at_slot")
    does_read = reads(a, cache, reader, slot)
    return claim_law(a, law, case(wrong_slot(a, cache, reader, slot)), [*given, does_read])


def _all_read_back(world: World, happened: Happening) -> Claim:
    return _reading(world, happened.after, "data.read-back", lambda wrong: Read(wrong=wrong, slots=1), happened.given)


def _copies_right(world: World, happened: Happening) -> Claim:
    return _reading(world, happened.after, "data.copies", Moved, happened.given)


def _swap_right(world: World, happened: Happening) -> Claim:
    return _reading(world, happened.after, "data.swap-content", Moved, happened.given)


def _nobody_spoiled(do: Do) -> ClaimIn:
    """A write by whatever rule: it is not given that it spoils nobody."""

    def claim(world: World) -> Claim:
        a, before, at = world.a, world.cache("here"), somewhere(world, WRITE)
        pool, reader = before.pool, world.entry("reader")
        world.show("before", before, at)
        after = do(a, before, at)
        world.show("after the write", after, at)
        another = [a.negate(reader == at.entry), reads(a, after, reader, at.slot)]
        room = a.any_of(pool.ref[pool.tab[at.entry]] == 1, pool.free > 0)
        given = [*sound_cache(world, before), WRITE.can(a, before, at), room, *another]
        sharing = pool.tab[reader] == pool.tab[at.entry]
        return claim_law(a, "data.exclusive-write", Write(sharing, wrong_slot(a, after, reader, at.slot)), given)

    return claim


def _nobody_misled(do: Do) -> ClaimIn:
    """The same, seen by the reader."""

    def claim(world: World) -> Claim:
        stated = _nobody_spoiled(do)(world)
        return claim_law(world.a, "data.read-back", Read(wrong=world.a.ite(stated.goal, 0, 1)), stated.given)

    return claim


def _no_strangers(world: World, happened: Happening) -> Claim:
    """A block that was just taken is written by its new owner: nobody else may read that slot."""
    a, cache, other = world.a, happened.after, world.entry("other")
    pool, p = cache.pool, happened.at.entry
    meets = a.all_of(a.negate(other == p), pool.tab[other] == pool.tab[p], reads(a, cache, other, 0))
    return claim_law(a, "table.no-alias", Tenancy(a.ite(meets, 1, 0)), happened.given)


def _sharing_kept(do: Do) -> ClaimIn:
    def claim(world: World) -> Claim:
        a = world.a
        moved, at, given = both_moved(world)
        after = do(a, moved, at)
        world.show("after the second owner", after, at)
        distinct = a.ite(after.pool.tab[at.entry] == after.pool.tab[at.other], 1, 2)
        return claim_law(a, "data.swap-keeps-sharing", Sharing(1, distinct), [*given, moved.pool.free > 0])

    return claim


def _follows_right(do: Do) -> ClaimIn:
    """A follow of whatever block is here: it is not given that it holds the same."""

    def claim(world: World) -> Claim:
        a, before, at = world.a, world.cache("here"), somewhere(world, FOLLOW)
        source = at.source
        assert source is not None
        world.show("before", before, at)
        after = do(a, before, at)
        world.show("after the follow", after, at)
        given = [
            *sound_cache(world, before),
            *sound_cache(world, source),
            FOLLOW.can(a, before, at),
            before.pool.free > 0,
        ]
        slot = world.number("at_slot")
        wrong = wrong_slot(a, after, at.entry, slot)
        return claim_law(a, "data.swap-content", Moved(wrong), [*given, reads(a, after, at.entry, slot)])

    return claim


def reused(world: World, cache: Cache, block: Any, r: Any) -> tuple[Cache, list[Any]]:
    """The block is free: r takes it and writes to its first slot. Answers the cache then, and that it is so."""
    a, content = world.a, world.number("content")
    taken = TAKE.do(a, cache, At(r))
    written = WRITE.do(a, taken, At(r, slot=0, content=content))
    world.show("the block that was left is taken again", taken, At(r))
    world.show("and written", written, At(r, slot=0, content=content))
    return written, [TAKE.can(a, cache, At(r)), taken.pool.tab[r] == block]


def _copied_in_time(do: Do) -> ClaimIn:
    """P leaves a block by copy-on-write, its other owner q releases it, r takes it and writes; then `do` happens."""

    def claim(world: World) -> Claim:
        a, happened = world.a, contents_of(world, REPLACE)
        q, r, p = world.entry("q"), world.entry("r"), happened.at.entry
        left = happened.before.pool.tab[p]
        released = RELEASE.do(a, happened.after, At(q))
        world.show("the other owner releases the block that was left", released, At(q))
        written, is_so = reused(world, released, left, r)
        end = do(a, written, At(p, slot=left))
        world.show("in the end", end, At(p))
        distinct = [a.negate(p == q), a.negate(p == r), a.negate(q == r), RELEASE.can(a, happened.after, At(q))]
        slot = world.number("at_slot")
        given = [*happened.given, *distinct, *is_so, reads(a, end, p, slot)]
        return claim_law(a, "data.copies", Moved(wrong_slot(a, end, p, slot)), given)

    return claim


def _moved_in_time(do: Do) -> ClaimIn:
    """P is transferred, its block over there released, taken by r and written; then `do` happens."""

    def claim(world: World) -> Claim:
        a, happened = world.a, contents_of(world, TRANSFER)
        source, p, r = happened.at.source, happened.at.entry, world.entry("r")
        assert source is not None
        left = source.pool.tab[p]
        released = RELEASE.do(a, source, At(p))
        written, is_so = reused(world, released, left, r)
        end = do(a, happened.after, At(p, source=written, slot=left))
        world.show("in the end", end, At(p))
        slot = world.number("at_slot")
        given = [*happened.given, a.negate(p == r), *is_so, reads(a, end, p, slot)]
        return claim_law(a, "data.swap-content", Moved(wrong_slot(a, end, p, slot)), given)

    return claim


# -- the wrong ways -------------------------------------------------------------------------------------


def without_holds(step: MicroStep) -> Do:
    """Does the step, but memory stays as it was."""
    return lambda a, cache, at: replace(step.do(a, cache, at), holds=cache.holds)


def _copy_then_write(a: Algebra, cache: Cache, at: At) -> Cache:
    """The right way to write where it is not known who else reads: copy-on-write if the block is shared."""
    pool, copied = cache.pool, REPLACE.do(a, cache, at)
    shared = pool.ref[pool.tab[at.entry]] > 1
    block = a.ite(shared, copied.pool.tab[at.entry], pool.tab[at.entry])
    target = replace(
        cache,
        pool=replace(pool, tab=pool.tab.put(at.entry, block)),
        holds=cache.holds.put_row(block, cache.holds.row(pool.tab[at.entry])),
    )
    return WRITE.do(a, target, at)


def _copies_backwards(a: Algebra, cache: Cache, at: At) -> Cache:
    right, left = REPLACE.do(a, cache, at), cache.pool.tab[at.entry]
    return replace(right, holds=cache.holds.put_row(left, cache.holds.row(right.pool.tab[at.entry])))


def _trusts_leftovers(a: Algebra, cache: Cache, at: At) -> Cache:
    right = TAKE.do(a, cache, at)
    return replace(right, computed=right.computed.put(at.entry, 1))


def _takes_a_held_one(a: Algebra, cache: Cache, at: At) -> Cache:
    """What is handed out is the first block beyond the free list, if there is one."""
    right, pool = TAKE.do(a, cache, at), cache.pool
    beyond = a.ite(pool.free < pool.size, pool.perm[pool.free], next_block(pool))
    return replace(right, pool=replace(right.pool, tab=right.pool.tab.put(at.entry, beyond)))


def _reads_ahead(a: Algebra, cache: Cache, at: At) -> Cache:
    right = SHARE.do(a, cache, at)
    return replace(right, computed=right.computed.put(at.entry, cache.block_size))


def _shares_the_wrong_row(a: Algebra, cache: Cache, at: At) -> Cache:
    right = SHARE.do(a, cache, at)
    return replace(right, must=cache.must)


def _by_its_number_here(a: Algebra, cache: Cache, at: At) -> Cache:
    """Memory is moved between equal numbers, as if both devices numbered alike; the table gets the right one."""
    assert at.source is not None
    right, number = TRANSFER.do(a, cache, at), at.source.pool.tab[at.entry]
    return replace(right, holds=cache.holds.put_row(number, at.source.holds.row(number)))


def _from_its_number_there(a: Algebra, cache: Cache, at: At) -> Cache:
    assert at.source is not None
    right = TRANSFER.do(a, cache, at)
    block = right.pool.tab[at.entry]
    return replace(right, holds=cache.holds.put_row(block, at.source.holds.row(block)))


def _was_done(a: Algebra, cache: Cache, at: At) -> Cache:
    """What had to be copied was copied when it was decided: there is nothing left to do."""
    return cache


def _copies_now(a: Algebra, cache: Cache, at: At) -> Cache:
    return replace(cache, holds=cache.holds.put_row(cache.pool.tab[at.entry], cache.holds.row(at.slot)))


def _moves_now(a: Algebra, cache: Cache, at: At) -> Cache:
    assert at.source is not None
    return replace(cache, holds=cache.holds.put_row(cache.pool.tab[at.entry], at.source.holds.row(at.slot)))


_add = partial(refute, AREA)


_add(
    "write.wrong.no-rule",
    "data.exclusive-write",
    "A write that asks nobody: another owner of the block reads that slot.",
    _nobody_spoiled,
    WRITE.do,
    _copy_then_write,
)
_add(
    "write.wrong.misleads",
    "data.read-back",
    "The same, seen by the other owner: without the exclusive-writer rule nobody can rely on what it reads.",
    _nobody_misled,
    WRITE.do,
    _copy_then_write,
)
_add(
    "replace.wrong.no-copy",
    "data.copies",
    "Copy-on-write that takes a new block and copies nothing into it.",
    _claims(REPLACE, _copies_right),
    without_holds(REPLACE),
    REPLACE.do,
)
_add(
    "replace.wrong.copies-backwards",
    "data.copies",
    "Copy-on-write whose copy goes from the new block to the shared one.",
    _claims(REPLACE, _copies_right),
    _copies_backwards,
    REPLACE.do,
)
_add(
    "replace.wrong.copies-late",
    "data.copies",
    "A copy that is made after the block it is made of was handed out again and written.",
    _copied_in_time,
    _copies_now,
    _was_done,
)
_add(
    "take.wrong.trusts-leftovers",
    "data.read-back",
    "A take that believes what an earlier owner left in the block.",
    _claims(TAKE, _all_read_back),
    _trusts_leftovers,
    TAKE.do,
)
_add(
    "take.wrong.a-held-one",
    "table.no-alias",
    "A take that hands out a block which another sequence reads.",
    _claims(TAKE, _no_strangers),
    _takes_a_held_one,
    TAKE.do,
)
_add(
    "share.wrong.reads-ahead",
    "data.read-back",
    "A fork that takes the parent's last block for full: the child reads slots that nobody computed.",
    _claims(SHARE, _all_read_back),
    _reads_ahead,
    SHARE.do,
)
_add(
    "share.wrong.another-prefix",
    "data.read-back",
    "A block shared with a sequence whose own prefix is another one.",
    _claims(SHARE, _all_read_back),
    _shares_the_wrong_row,
    SHARE.do,
)
_add(
    "transfer.wrong.no-content",
    "data.swap-content",
    "A swap that moves the table and not the memory.",
    _claims(TRANSFER, _swap_right),
    without_holds(TRANSFER),
    TRANSFER.do,
)
_add(
    "transfer.wrong.to-its-number",
    "data.swap-content",
    "A swap that writes to the block of the same number here: somebody else's.",
    _claims(TRANSFER, _swap_right),
    _by_its_number_here,
    TRANSFER.do,
)
_add(
    "transfer.wrong.from-its-number",
    "data.swap-content",
    "A swap that reads the block of the new number there: somebody else's.",
    _claims(TRANSFER, _swap_right),
    _from_its_number_there,
    TRANSFER.do,
)
_add(
    "transfer.wrong.moves-late",
    "data.swap-content",
    "A swap whose memory is moved after the block it was in was handed out again and written.",
    _moved_in_time,
    _moves_now,
    _was_done,
)
_add(
    "follow.wrong.any-block",
    "data.swap-content",
    "A further owner that shares whatever block is here, though another one was moved for it.",
    _follows_right,
    FOLLOW.do,
    TRANSFER.do,
)
_add(
    "follow.wrong.one-of-its-own",
    "data.swap-keeps-sharing",
    "A swap that moves a shared block once for each owner.",
    _sharing_kept,
    TRANSFER.do,
    FOLLOW.do,
)

OBLIGATIONS = AREA.obligations
