"""Wrong variants of a null block: rows that own it, and pools that count it.

Each bends one micro-step, and the solver finds a pool of a few blocks in which the block that is set aside becomes
free, is counted as free, or is somebody's. A guard that does not count it is in `wrong_guards`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from kvspec.algebra import Algebra
from kvspec.laws.accounting import Pool as PoolCounts
from kvspec.laws.window import NullBlock
from kvspec.model.cache import At, Cache
from kvspec.model.pool import is_owner
from kvspec.model.steps import RELEASE, SHARE, TAKE, MicroStep
from kvspec.story import entry_name
from kvspec.theorems.happening import Do, owners_of, possible, somewhere
from kvspec.theorems.null_block import pinned, seen
from kvspec.theorems.obligation import Area, Claim, claim_law
from kvspec.theorems.worlds import ClaimIn, World, invariant
from kvspec.theorems.wrong import refute
from kvspec.theorems.wrong_ownership import held_counted, times_listed

AREA = Area("null")


# -- the claims, about any way to do it -----------------------------------------------------------------


def _beside_the_pin(world: World, step: MicroStep) -> tuple[Cache, At, Any, Any, list[Any]]:
    """Where a micro-step may happen, beside a pin: the cache, the place, the pin, its block, and that it is so."""
    cache, at = world.cache("here"), somewhere(world, step)
    pin, null, given = pinned(world, cache.pool, at)
    world.show("before", cache, at)
    return cache, at, pin, null, [*invariant(world, cache.pool), *possible(world, step, cache, at), *given]


def _given_up_and_freed(do: Do) -> ClaimIn:
    """A row gives an entry up; then the sequence ends, and its row is freed entry by entry."""

    def claim(world: World) -> Claim:
        a, (before, at, pin, null, given) = world.a, _beside_the_pin(world, RELEASE)
        p = at.entry
        once = do(a, before, At(p, other=pin))
        world.show("the row gives the entry up", once, at)
        freed, names = RELEASE.do(a, once, At(p)), is_owner(once.pool, p)
        world.show("the row is freed", freed, at)
        listed = a.ite(names, times_listed(a, freed.pool, null), times_listed(a, once.pool, null))
        return claim_law(a, "window.null", NullBlock(times_free=listed), given)

    return claim


def _set_aside(do: Do) -> ClaimIn:
    def claim(world: World) -> Claim:
        a, happened = world.a, owners_of(world, TAKE, do)
        before, after, pin = happened.before.pool, happened.after.pool, happened.at.entry
        case = seen(world, before, after, pin, after.tab[pin])
        listed = times_listed(a, after, after.tab[pin])
        return claim_law(a, "window.null", replace(case, times_free=listed), happened.given)

    return claim


def _counted(do: Do) -> ClaimIn:
    """Blocks that rows own are counted one by one; the pin is no row."""

    def claim(world: World) -> Claim:
        a, happened = world.a, owners_of(world, TAKE, do)
        after = happened.after.pool
        case = PoolCounts(after.free, held_counted(a, after) - 1, after.size, reserved=1)
        return claim_law(a, "accounting.conservation", case, happened.given)

    return claim


def _forked(do: Do) -> ClaimIn:
    """A row whose first entry was given up is forked: there is nothing to share at that entry."""

    def claim(world: World) -> Claim:
        a, (before, at, pin, null, given) = world.a, _beside_the_pin(world, SHARE)
        after = do(a, before, At(at.entry, other=pin))
        world.show("the row is forked", after, at)
        return claim_law(a, "window.null", seen(world, before.pool, after.pool, pin, null), given)

    return claim


# -- the wrong ways -------------------------------------------------------------------------------------


def _names_it_as_owned(a: Algebra, cache: Cache, at: At) -> Cache:
    """The null block takes the place of what was given up, in the table that says what the row owns."""
    right = RELEASE.do(a, cache, at)
    tab = right.pool.tab.put(at.entry, cache.pool.tab[at.other])
    return replace(right, pool=replace(right.pool, tab=tab))


def _stays_listed(a: Algebra, cache: Cache, at: At) -> Cache:
    right = TAKE.do(a, cache, at)
    return replace(right, pool=replace(right.pool, free=cache.pool.free))


def _nothing_to_share(a: Algebra, cache: Cache, at: At) -> Cache:
    return cache


def _pin(name: str) -> Any:
    def end(example: Mapping[str, int]) -> str:
        pin = example[name]
        return f"{entry_name(pin)} is the pin: its block is the null block"

    return end


_add = partial(refute, AREA)

_add(
    "release.bent.as-if-owned",
    "window.null",
    "A row that names the null block as if it owned it: when the row is freed, so is the null block.",
    _given_up_and_freed,
    _names_it_as_owned,
    RELEASE.do,
    _pin("pin"),
)
_add(
    "share.bent.of-the-null-block",
    "window.null",
    "A fork that shares whatever an entry names, the null block too: rows come to own it, and one will free it.",
    _forked,
    SHARE.do,
    _nothing_to_share,
    _pin("pin"),
)
_add(
    "take.bent.stays-listed",
    "window.null",
    "A null block that stays among the free blocks: it is handed out to a sequence.",
    _set_aside,
    _stays_listed,
    TAKE.do,
    _pin("p"),
)
_add(
    "take.bent.counted-as-free",
    "accounting.conservation",
    "The same, seen by the count of the pool: it says one block more than can be had.",
    _counted,
    _stays_listed,
    TAKE.do,
    _pin("p"),
)

OBLIGATIONS = AREA.obligations
