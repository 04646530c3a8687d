"""Wrong variants of the ownership steps, each of which some law tells from the right one.

Each bends one step the way a block manager could have it wrong, in a pool of two blocks and three entries that is as it
should be, and the solver finds entries where a law breaks that the right step keeps. The laws are stated by counting
owners and entries of the free list, not by the invariant: the ranks are not asked.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from kvspec.algebra import Algebra
from kvspec.laws.accounting import Block, Release
from kvspec.laws.data import Write
from kvspec.laws.table import Entry
from kvspec.model.pool import (
    Pool,
    can_release,
    can_replace,
    can_share,
    can_take,
    is_block,
    is_owner,
    next_block,
    release,
    replace_shared,
    return_block,
    share,
    take,
)
from kvspec.theorems.obligation import Area, Claim, Kind, claim_law
from kvspec.theorems.ownership import is_held, owners_counted
from kvspec.theorems.worlds import BLOCKS, ClaimIn, World, in_few, invariant, names_in_few

AREA = Area("ownership")

AtEntry = Callable[[Algebra, Pool, Any], Pool]
"""A step at one entry."""


# -- the claims, about a step that may be wrong ---------------------------------------------------------


def _sound_pool(world: World) -> tuple[Pool, list[Any]]:
    pool = world.pool("pool")
    return pool, invariant(world, pool)


def _released(world: World, step: AtEntry) -> tuple[Pool, Pool, Any, list[Any]]:
    (pool, given), p = _sound_pool(world), world.entry("p")
    return pool, step(world.a, pool, p), p, [*given, can_release(world.a, pool, p)]


def _refcount_right(world: World, after: Pool, given: list[Any]) -> Claim:
    block = world.number("block")
    case = Block(refcount=after.ref[block], owners=owners_counted(world.a, after, block))
    return claim_law(world.a, "accounting.refcount", case, [*given, is_block(world.a, after, block)])


def _release_keeps_refcount(step: AtEntry) -> ClaimIn:
    def claim(world: World) -> Claim:
        _, after, _, given = _released(world, step)
        return _refcount_right(world, after, given)

    return claim


def _release_once(step: AtEntry) -> ClaimIn:
    """Releasing an entry and, where that is possible, once more: no more comes back than was held."""

    def claim(world: World) -> Claim:
        before, once, p, given = _released(world, step)
        a, block = world.a, before.tab[p]
        again = can_release(a, once, p)
        twice = a.ite(again, step(a, once, p).free, once.free)
        # Nobody but the entry's own owner went.
        ended = a.ite(owners_counted(a, before, block) == 1, 1, 0)
        return claim_law(a, "accounting.no-double-free", Release(growth=twice - before.free, ended=ended), given)

    return claim


def _release_spares_others(step: AtEntry) -> ClaimIn:
    def claim(world: World) -> Claim:
        _, after, _, given = _released(world, step)
        a, other = world.a, world.entry("other")
        entry = Entry(times_free=times_listed(a, after, after.tab[other]))
        return claim_law(a, "table.live", entry, [*given, is_owner(after, other)])

    return claim


def _release_frees(step: AtEntry) -> ClaimIn:
    def claim(world: World) -> Claim:
        _, after, _, given = _released(world, step)
        return _free_exact(world, after, given)

    return claim


def _free_exact(world: World, after: Pool, given: list[Any]) -> Claim:
    a, block = world.a, world.number("block")
    owned = a.ite(owners_counted(a, after, block) > 0, 1, 0)
    case = Block(times_free=times_listed(a, after, block), classified=owned)
    return claim_law(a, "accounting.free-exact", case, [*given, is_block(a, after, block)])


def times_listed(a: Algebra, pool: Pool, block: Any) -> Any:
    """How often the free list has the block, counted place by place."""
    return sum(a.ite(a.all_of(i < pool.free, pool.perm[i] == block), 1, 0) for i in range(BLOCKS))


def _share_keeps_refcount(step: Callable[[Algebra, Pool, Any, Any], Pool]) -> ClaimIn:
    def claim(world: World) -> Claim:
        (pool, given), p, q = _sound_pool(world), world.entry("p"), world.entry("q")
        after = step(world.a, pool, q, p)
        return _refcount_right(world, after, [*given, can_share(world.a, pool, q, p)])

    return claim


def _take_exact(step: AtEntry) -> ClaimIn:
    def claim(world: World) -> Claim:
        (pool, given), p = _sound_pool(world), world.entry("p")
        return _free_exact(world, step(world.a, pool, p), [*given, can_take(world.a, pool, p)])

    return claim


def _take_twice(step: AtEntry) -> ClaimIn:
    """Taking for two entries in turn: the second block is nobody's."""

    def claim(world: World) -> Claim:
        (pool, given), p, q = _sound_pool(world), world.entry("p"), world.entry("q")
        a, once = world.a, step(world.a, pool, p)
        given = [*given, can_take(a, pool, p), can_take(a, once, q)]
        held = a.ite(owners_counted(a, once, next_block(once)) > 0, 1, 0)
        return claim_law(a, "accounting.no-double-free", Release(handed_out_while_held=held), given)

    return claim


def _written_alone(step: AtEntry) -> ClaimIn:
    def claim(world: World) -> Claim:
        (pool, given), p = _sound_pool(world), world.entry("p")
        a, after = world.a, step(world.a, pool, p)
        readers = owners_counted(a, after, after.tab[p]) - 1
        case = Write(sharing=is_held(a, pool, pool.tab[p]) == 1, spoiled=readers)
        return claim_law(a, "data.exclusive-write", case, [*given, can_replace(a, pool, p)])

    return claim


# -- the wrong steps ------------------------------------------------------------------------------------


def _forgets_decrement(a: Algebra, pool: Pool, entry: Any) -> Pool:
    return replace(release(a, pool, entry), ref=pool.ref)


def _keeps_the_entry(a: Algebra, pool: Pool, entry: Any) -> Pool:
    return replace(release(a, pool, entry), tab=pool.tab)


def _frees_at_once(a: Algebra, pool: Pool, entry: Any) -> Pool:
    shared_too = return_block(a, pool, pool.tab[entry], a.all_of())
    right = release(a, pool, entry)
    return replace(right, perm=shared_too.perm, pos=shared_too.pos, free=shared_too.free)


def _never_frees(a: Algebra, pool: Pool, entry: Any) -> Pool:
    return replace(release(a, pool, entry), perm=pool.perm, pos=pool.pos, free=pool.free)


def _forgets_increment(a: Algebra, pool: Pool, owner: Any, entry: Any) -> Pool:
    return replace(share(a, pool, owner, entry), ref=pool.ref)


def _leaves_it_listed(a: Algebra, pool: Pool, entry: Any) -> Pool:
    return replace(take(a, pool, entry), free=pool.free)


def _writes_in_place(a: Algebra, pool: Pool, entry: Any) -> Pool:
    return pool


def _add(name: str, law: str, statement: str, claim: Callable[[Any], ClaimIn], wrong: Any, right: Any) -> None:
    AREA.add(
        name,
        Kind.REFUTATION,
        statement,
        in_few(claim(wrong)),
        unknowns=names_in_few(claim(wrong)),
        law=law,
        right=in_few(claim(right)),
    )


_add(
    "release.wrong.forgets-decrement",
    "accounting.refcount",
    "A release that does not lower the refcount: the block never comes back.",
    _release_keeps_refcount,
    _forgets_decrement,
    release,
)
_add(
    "release.wrong.keeps-the-entry",
    "accounting.no-double-free",
    "A release that does not empty the entry: it is released once more, and somebody else's block is freed.",
    _release_once,
    _keeps_the_entry,
    release,
)
_add(
    "release.wrong.frees-at-once",
    "table.live",
    "A release that frees the block although others own it still.",
    _release_spares_others,
    _frees_at_once,
    release,
)
_add(
    "release.wrong.never-frees",
    "accounting.free-exact",
    "A release that does not return a block without owners to the free list.",
    _release_frees,
    _never_frees,
    release,
)
_add(
    "share.wrong.forgets-increment",
    "accounting.refcount",
    "A fork that does not raise the refcount: the first of both to go takes the other's block along.",
    _share_keeps_refcount,
    _forgets_increment,
    share,
)
_add(
    "take.wrong.leaves-it-listed",
    "accounting.free-exact",
    "A take that does not remove the block from the free list.",
    _take_exact,
    _leaves_it_listed,
    take,
)
_add(
    "take.wrong.same-block-twice",
    "accounting.no-double-free",
    "A take that leaves the block in the free list hands it out again while it is held.",
    _take_twice,
    _leaves_it_listed,
    take,
)
_add(
    "replace.wrong.writes-in-place",
    "data.exclusive-write",
    "A write to a shared block in place: the other owners read it too.",
    _written_alone,
    _writes_in_place,
    replace_shared,
)

OBLIGATIONS = AREA.obligations
