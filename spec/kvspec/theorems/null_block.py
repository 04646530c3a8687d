"""The null block is nobody's: it never becomes free, and no row ever owns it.

A block is *set aside* by a take for an entry that belongs to no row, the *pin*, and stays there: it is neither free nor
any sequence's, and what owners and contents are known to be goes on as it is. No micro-step of a row happens at the
pin, and none shares with it; under that, for any number of blocks and whatever happens, it stays set aside, and the
blocks besides it are counted as ever. Entries that are given up name it to the engine and own nothing (`kvspec.model.
window`). The guard that counts it when it is first used is in `guards`; wrong variants are in `wrong_null`.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from kvspec.algebra import Algebra
from kvspec.laws import CATALOGUE
from kvspec.laws.accounting import Block
from kvspec.laws.accounting import Pool as PoolCounts
from kvspec.laws.window import NullBlock
from kvspec.model.cache import At
from kvspec.model.index import HITS, PUBLISH, IndexStep
from kvspec.model.pool import Pool, is_block, is_owner
from kvspec.model.steps import MICRO_STEPS, RELEASE, REPLACE, TAKE, TRANSFER, WRITE, MicroStep
from kvspec.theorems.data import READ_BACK
from kvspec.theorems.happening import add_general, owners_of
from kvspec.theorems.indexing import happens
from kvspec.theorems.obligation import Area, Claim, Kind, Named, claim_law
from kvspec.theorems.ownership import KEPT, is_held, times_free
from kvspec.theorems.worlds import FEW, ClaimIn, Few, World, invariant

AREA = Area("null")


add = partial(add_general, AREA)
"""Adds an obligation about any number of blocks and entries."""


def set_aside(a: Algebra, pool: Pool, pin: Any) -> Any:
    """The pin owns a block, and nobody owns it besides."""
    return a.all_of(is_owner(pool, pin), pool.ref[pool.tab[pin]] == 1)


def elsewhere(a: Algebra, at: At, pin: Any) -> Any:
    """What happens is not about the pin."""
    there = [at.entry == pin, *([] if at.other is None else [at.other == pin])]
    return a.negate(a.any_of(*there))


def pinned(world: World, pool: Pool, at: At) -> tuple[Any, Any, list[Any]]:
    """A pin, its block, and that something happens elsewhere."""
    a, pin = world.a, world.entry("pin")
    given = [Named("set-aside", set_aside(a, pool, pin)), Named("not-the-pin", elsewhere(a, at, pin))]
    return pin, pool.tab[pin], given


def seen(world: World, before: Pool, after: Pool, pin: Any, null: Any, written: Any = 0) -> NullBlock:
    """What the law says of the null block, after something happened."""
    a, other = world.a, world.entry("other")
    by_another = a.all_of(a.negate(other == pin), after.tab[other] == null)
    return NullBlock(
        times_free=times_free(a, after, null),
        named=a.ite(by_another, 1, 0),
        written=written,
        free=after.free,
        total=after.size,
        reserved=a.ite(a.all_of(after.tab[pin] == null, set_aside(a, after, pin)), 1, 0),
        reserved_before=a.ite(set_aside(a, before, pin), 1, 0),
    )


def _stays_apart(step: MicroStep) -> ClaimIn:
    def claim(world: World) -> Claim:
        happened, a = owners_of(world, step), world.a
        before, after = happened.before.pool, happened.after.pool
        pin, null, given = pinned(world, before, happened.at)
        written = a.ite(before.tab[happened.at.entry] == null, 1, 0) if step is WRITE else 0
        case = seen(world, before, after, pin, null, written)
        return claim_law(a, "window.null", case, [*happened.given, *given])

    return claim


def _stays_apart_of_hits(step: IndexStep) -> ClaimIn:
    def claim(world: World) -> Claim:
        happened = happens(world, step)
        before, after = happened.before.cache.pool, happened.after.cache.pool
        pin, null, given = pinned(world, before, happened.at)
        return claim_law(world.a, "window.null", seen(world, before, after, pin, null), [*happened.given, *given])

    return claim


def _never_published(world: World) -> Claim:
    happened = happens(world, PUBLISH)
    _, null, given = pinned(world, happened.before.cache.pool, happened.at)
    not_yet = Named("not-cached", happened.before.key[null] < 0)
    return Claim([*happened.given, *given, not_yet], happened.after.key[null] < 0)


def _is_set_aside(world: World) -> Claim:
    """The take at the pin."""
    happened = owners_of(world, TAKE)
    before, after, pin = happened.before.pool, happened.after.pool, happened.at.entry
    return claim_law(world.a, "window.null", seen(world, before, after, pin, after.tab[pin]), happened.given)


def _counted_aside(world: World) -> Claim:
    """The same, counted: one free block less, one reserved block more."""
    happened, a, held = owners_of(world, TAKE), world.a, world.number("held")
    before, after = happened.before.pool, happened.after.pool
    counted = CATALOGUE["accounting.conservation"].holds(a, PoolCounts(before.free, held, before.size))
    reserved = a.ite(set_aside(a, after, happened.at.entry), 1, 0)
    case = PoolCounts(after.free, held, after.size, reserved=reserved)
    return claim_law(a, "accounting.conservation", case, [*happened.given, counted])


def _conserves(step: MicroStep) -> ClaimIn:
    """held: blocks that rows own."""

    def claim(world: World) -> Claim:
        happened, a, held = owners_of(world, step), world.a, world.number("held")
        before, after = happened.before.pool, happened.after.pool
        _, null, given = pinned(world, before, happened.at)

        def held_by_rows(pool: Pool, block: Any) -> Any:
            return a.ite(block == null, 0, is_held(a, pool, block))

        changed = step.owned(before, happened.at)
        newly = sum(held_by_rows(after, block) - held_by_rows(before, block) for block in changed)
        counted = CATALOGUE["accounting.conservation"].holds(a, PoolCounts(before.free, held, before.size, reserved=1))
        case = PoolCounts(after.free, held + newly, after.size, reserved=1)
        return claim_law(a, "accounting.conservation", case, [*happened.given, *given, counted])

    return claim


def _one_class(world: World) -> Claim:
    pool, pin, a = world.pool("pool"), world.entry("pin"), world.a
    given = [*invariant(world, pool), Named("set-aside", set_aside(a, pool, pin))]
    case = Block(times_free=times_free(a, pool, pool.tab[pin]), classified=1)
    return claim_law(a, "accounting.free-exact", case, given)


def _nothing_leaks(world: World) -> Claim:
    """No block but that one has an owner; all that is needed of it is two blocks that would not be free."""
    pool, pin, a = world.pool("pool"), world.entry("pin"), world.a
    null = pool.tab[pin]
    beyond = [pool.perm[pool.free], pool.perm[pool.free + 1]]
    unowned = [a.implies(a.all_of(is_block(a, pool, b), a.negate(b == null)), pool.ref[b] == 0) for b in beyond]
    given = [*invariant(world, pool), Named("set-aside", set_aside(a, pool, pin)), *unowned]
    return claim_law(a, "accounting.no-leak", PoolCounts(pool.free, 0, pool.size, reserved=1), given)


def _few(step: MicroStep) -> Few:
    """Enough for an example: a copy takes a block beside the shared one, and both are not the null block."""
    return Few(blocks=3) if step is REPLACE else FEW


add(
    "take.sets-aside",
    Kind.INDUCTION,
    "A block that is taken for the pin is not free, and nobody else's.",
    _is_set_aside,
    law="window.null",
    rests_on=KEPT,
)
for _step in MICRO_STEPS.values():
    add(
        f"{_step.name}.stays-apart",
        Kind.SOUNDNESS,
        f"A {_step.name} leaves the null block set aside: not free, in no row, and not written.",
        _stays_apart(_step),
        few=_few(_step),
        law="window.null",
        rests_on=(*KEPT, "null.take.sets-aside"),
    )
for _hit in HITS:
    add(
        f"{_hit.name}.stays-apart",
        Kind.SOUNDNESS,
        f"A {_hit.name} takes over another block than the null block.",
        _stays_apart_of_hits(_hit),
        law="window.null",
        rests_on=(*READ_BACK, "null.take.sets-aside"),
    )
add(
    "publish.never-cached",
    Kind.INDUCTION,
    "The null block is never published, so that it is no hit.",
    _never_published,
    rests_on=READ_BACK,
)
add(
    "take.counted-aside",
    Kind.INDUCTION,
    "When a block is set aside, free, held and reserved blocks are still all blocks.",
    _counted_aside,
    law="accounting.conservation",
    rests_on=KEPT,
)
for _step in (TAKE, RELEASE, REPLACE, TRANSFER):
    add(
        f"{_step.name}.conserves",
        Kind.INDUCTION,
        f"After a {_step.name}, free, held and reserved blocks are still all blocks.",
        _conserves(_step),
        few=_few(_step),
        law="accounting.conservation",
        rests_on=(*KEPT, f"ownership.{_step.name}.others-alone"),
    )
add(
    "pin.one-class",
    Kind.SOUNDNESS,
    "A block that is set aside is in no free list.",
    _one_class,
    law="accounting.free-exact",
    rests_on=KEPT,
)
add(
    "end.nothing-leaks",
    Kind.SOUNDNESS,
    "When no block but the null block has an owner, all others are free.",
    _nothing_leaks,
    law="accounting.no-leak",
    rests_on=KEPT,
)

OBLIGATIONS = AREA.obligations
