"""Wrong ways to take a failure back, and judges that see too little: what `atomicity` and `refinement` rule out.

For a failure: ways to take it back that leave a trace. For each thing that a judge observes: what it would conclude
without seeing it, and a history in which that is false.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from kvspec.algebra import Algebra
from kvspec.laws.accounting import Pool as PoolCounts
from kvspec.laws.accounting import Release
from kvspec.laws.data import Moved, Read
from kvspec.laws.robust import Failure
from kvspec.model.cache import At, Cache, reads
from kvspec.model.pool import is_block
from kvspec.model.steps import REPLACE, SHARE, TAKE, TRANSFER, WRITE, MicroStep
from kvspec.theorems.atomicity import OBSERVED, release_again, share_again
from kvspec.theorems.data import wrong_slot
from kvspec.theorems.happening import Do, Happening, contents_of, owners_of, somewhere
from kvspec.theorems.obligation import Area, Claim, claim_law
from kvspec.theorems.ownership import is_held
from kvspec.theorems.worlds import ClaimIn, World, sound_cache
from kvspec.theorems.wrong import ClaimOf, refute
from kvspec.theorems.wrong_data import without_holds

AREA = Area("atomicity")
JUDGES = Area("refinement")

# -- failures that leave a trace ------------------------------------------------------------------------


def _taken_back(step: MicroStep, part: str) -> Callable[[Do], ClaimIn]:
    """The step happened, and is to be taken back: `at` says where, and has the cache before it as its source."""

    def of(undo: Do) -> ClaimIn:
        def claim(world: World) -> Claim:
            a, happened = world.a, contents_of(world, step)
            back = undo(a, happened.after, replace(happened.at, source=happened.before))
            world.show("taken back", back, happened.at)
            changed = OBSERVED[part][0](a, happened.before, back, world)
            return claim_law(a, "robust.atomic-failure", Failure(changed), happened.given)

        return claim

    return of


def _leaves_it(a: Algebra, cache: Cache, at: At) -> Cache:
    return cache


def _releases(a: Algebra, cache: Cache, at: At) -> Cache:
    return release_again(a, Happening(cache, cache, at, []))


def _shares(a: Algebra, cache: Cache, at: At) -> Cache:
    assert at.source is not None
    return share_again(a, Happening(at.source, cache, at, []))


def _forgets_the_refcount(a: Algebra, cache: Cache, at: At) -> Cache:
    right = _releases(a, cache, at)
    return replace(right, pool=replace(right.pool, ref=cache.pool.ref))


def _points_back(a: Algebra, cache: Cache, at: At) -> Cache:
    """Puts the old number back into the table, and no more."""
    assert at.source is not None
    old = at.source.pool.tab[at.entry]
    return replace(cache, pool=replace(cache.pool, tab=cache.pool.tab.put(at.entry, old)))


def _failure(name: str, statement: str, claim: ClaimOf, wrong: Do, right: Do) -> None:
    refute(AREA, f"failure.wrong.{name}", "robust.atomic-failure", statement, claim, wrong, right)


_failure(
    "keeps-what-it-took",
    "A failure half way that keeps the blocks it had taken.",
    _taken_back(TAKE, "pool"),
    _leaves_it,
    _releases,
)
_failure(
    "keeps-the-table",
    "A failure half way that leaves the new block in the table.",
    _taken_back(TAKE, "tables"),
    _leaves_it,
    _releases,
)
_failure(
    "forgets-the-refcount",
    "A share that is taken back out of the table, but not out of the refcount.",
    _taken_back(SHARE, "pool"),
    _forgets_the_refcount,
    _releases,
)
_failure(
    "points-back",
    "A copy-on-write that is taken back by restoring the table only: the copy is lost, and the refcount too low.",
    _taken_back(REPLACE, "pool"),
    _points_back,
    _shares,
)

# -- judges that see too little -------------------------------------------------------------------------


def _blind(name: str, law: str, statement: str, claim: ClaimOf, wrong: Do, right: Do) -> None:
    refute(JUDGES, f"judge.wrong.{name}", law, statement, claim, wrong, right)


def _new_block_was_nobodys(do: Do) -> ClaimIn:
    """An entry was filled, and the free count fell by one, as it should."""

    def claim(world: World) -> Claim:
        a, happened = world.a, owners_of(world, TAKE, do)
        before, after, p = happened.before.pool, happened.after.pool, happened.at.entry
        as_counted = after.free == before.free - 1
        held = is_held(a, before, after.tab[p])
        given = [*happened.given, is_block(a, after, after.tab[p]), as_counted]
        return claim_law(a, "accounting.no-double-free", Release(handed_out_while_held=held), given)

    return claim


def _counts_follow_tables(do: Do) -> ClaimIn:
    """An entry was filled with a block that was nobody's, as it should be."""

    def claim(world: World) -> Claim:
        a, happened, held = world.a, owners_of(world, TAKE, do), world.number("held")
        before, after, p = happened.before.pool, happened.after.pool, happened.at.entry
        tables_right = [before.ref[after.tab[p]] == 0, before.free + held == before.size]
        case = PoolCounts(after.free, held + 1, after.size)
        return claim_law(a, "accounting.conservation", case, [*happened.given, *tables_right])

    return claim


def _moves_follow_tables(step: MicroStep, law: str) -> Callable[[Do], ClaimIn]:
    """The table says what the step did; what memory was copied or moved is not seen."""

    def of(do: Do) -> ClaimIn:
        def claim(world: World) -> Claim:
            a, happened, slot = world.a, contents_of(world, step, do), world.number("at_slot")
            after, p = happened.after, happened.at.entry
            as_seen = after.pool.tab[p] == step.do(a, happened.before, happened.at).pool.tab[p]
            given = [*happened.given, as_seen, reads(a, after, p, slot)]
            return claim_law(a, law, Moved(wrong_slot(a, after, p, slot)), given)

        return claim

    return of


def _writer_is_enough(do: Do) -> ClaimIn:
    """A write after which the writer reads back what it must, which is all that was checked."""

    def claim(world: World) -> Claim:
        a, before, at = world.a, world.cache("here"), somewhere(world, WRITE)
        world.show("before", before, at)
        after = do(a, before, at)
        world.show("after the write", after, at)
        reader, slot = world.entry("reader"), world.number("at_slot")
        checked = wrong_slot(a, after, at.entry, at.slot) == 0
        given = [*sound_cache(world, before), WRITE.can(a, before, at), before.pool.free > 0, checked]
        case = Read(wrong=wrong_slot(a, after, reader, slot), slots=a.ite(reads(a, after, reader, slot), 1, 0))
        return claim_law(a, "data.read-back", case, given)

    return claim


def _takes_a_held_one(a: Algebra, cache: Cache, at: At) -> Cache:
    """The free count falls, but the table gets the first block beyond the free list."""
    right, pool = TAKE.do(a, cache, at), cache.pool
    held = a.ite(pool.free < pool.size, pool.perm[pool.free], pool.perm[0])
    return replace(right, pool=replace(right.pool, tab=right.pool.tab.put(at.entry, held)))


def _loses_another(a: Algebra, cache: Cache, at: At) -> Cache:
    right = TAKE.do(a, cache, at)
    return replace(right, pool=replace(right.pool, free=right.pool.free - 1))


def _copy_first(a: Algebra, cache: Cache, at: At) -> Cache:
    """Copy-on-write always, be it needed or not: nobody else reads the block that is written."""
    copied, left = TAKE.do(a, replace(cache, pool=_emptied(a, cache, at)), at), cache.pool.tab[at.entry]
    block = copied.pool.tab[at.entry]
    target = replace(copied, computed=cache.computed, holds=cache.holds.put_row(block, cache.holds.row(left)))
    return WRITE.do(a, target, at)


def _emptied(a: Algebra, cache: Cache, at: At) -> Any:
    return replace(cache.pool, tab=cache.pool.tab.put(at.entry, -1))


_blind(
    "sees-counts-only",
    "accounting.no-double-free",
    "A judge that sees free counts and not tables: a block is handed out while it is held, and every count is right.",
    _new_block_was_nobodys,
    _takes_a_held_one,
    TAKE.do,
)
_blind(
    "sees-tables-only",
    "accounting.conservation",
    "A judge that sees tables and not free counts: a block is lost, and every table is right.",
    _counts_follow_tables,
    _loses_another,
    TAKE.do,
)
_blind(
    "sees-no-copies",
    "data.copies",
    "A judge that sees tables and counts and not copies: the table has its new block, and nothing was copied into it.",
    _moves_follow_tables(REPLACE, "data.copies"),
    without_holds(REPLACE),
    REPLACE.do,
)
_blind(
    "sees-no-transfers",
    "data.swap-content",
    "A judge that sees tables and counts and not transfers: the table was moved, and no memory.",
    _moves_follow_tables(TRANSFER, "data.swap-content"),
    without_holds(TRANSFER),
    TRANSFER.do,
)
_blind(
    "checks-the-writer-only",
    "data.read-back",
    "A judge that checks who writes and not who else names the block.",
    _writer_is_enough,
    WRITE.do,
    _copy_first,
)

OBLIGATIONS = (*AREA.obligations, *JUDGES.obligations)
