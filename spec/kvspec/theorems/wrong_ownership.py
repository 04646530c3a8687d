"""Wrong variants of the micro-steps that change owners, each of which some law tells from the right one.

Each bends one micro-step the way a block manager could have it wrong, and the solver finds entries where a law breaks
that the right step keeps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from kvspec.algebra import Algebra
from kvspec.arithmetic import larger
from kvspec.laws.accounting import Block, BlockNumber, Release, Spending
from kvspec.laws.accounting import Pool as PoolCounts
from kvspec.laws.admission import Approval
from kvspec.laws.data import Write
from kvspec.laws.robust import Ending
from kvspec.laws.table import Entry, Frame, Place
from kvspec.model.cache import At, Cache
from kvspec.model.pool import EMPTY, Pool, is_block, is_empty, is_owner, next_block, return_block
from kvspec.model.steps import RELEASE, REPLACE, SHARE, TAKE, TRANSFER, MicroStep
from kvspec.theorems.happening import Do, Happening, owners_of
from kvspec.theorems.obligation import Area, Claim, claim_law
from kvspec.theorems.ownership import is_held, owners_counted
from kvspec.theorems.worlds import ClaimIn, World
from kvspec.theorems.wrong import ClaimOf, refute

AREA = Area("ownership")


# -- the claims, about any way to do a micro-step -------------------------------------------------------


def times_listed(a: Algebra, pool: Pool, block: Any) -> Any:
    """How often the free list has the block, counted place by place."""
    return sum(a.ite(a.all_of(i < pool.free, pool.perm[i] == block), 1, 0) for i in range(pool.size))


def held_counted(a: Algebra, pool: Pool) -> Any:
    """Blocks that some entry names, counted block by block."""
    return sum(a.ite(owners_counted(a, pool, block) > 0, 1, 0) for block in range(pool.size))


def _claims(step: MicroStep, stated: Callable[[World, Happening], Claim]) -> ClaimOf:
    """A claim about what happened, for each way to do the step."""

    def of(do: Do) -> ClaimIn:
        return lambda world: stated(world, owners_of(world, step, do))

    return of


def _refcount_right(world: World, happened: Happening) -> Claim:
    pool, block = happened.after.pool, world.number("block")
    case = Block(refcount=pool.ref[block], owners=owners_counted(world.a, pool, block))
    return claim_law(world.a, "accounting.refcount", case, [*happened.given, is_block(world.a, pool, block)])


def _free_exact(world: World, happened: Happening) -> Claim:
    a, pool, block = world.a, happened.after.pool, world.number("block")
    owned = a.ite(owners_counted(a, pool, block) > 0, 1, 0)
    case = Block(times_free=times_listed(a, pool, block), classified=owned)
    return claim_law(a, "accounting.free-exact", case, [*happened.given, is_block(a, pool, block)])


def _adds_up(world: World, happened: Happening) -> Claim:
    pool = happened.after.pool
    case = PoolCounts(free=pool.free, held=held_counted(world.a, pool), total=pool.size)
    return claim_law(world.a, "accounting.conservation", case, happened.given)


def _nothing_leaks(world: World, happened: Happening) -> Claim:
    pool = happened.after.pool
    case = PoolCounts(free=pool.free, held=held_counted(world.a, pool), total=pool.size)
    return claim_law(world.a, "accounting.no-leak", case, happened.given)


def _valid_number(world: World, happened: Happening) -> Claim:
    pool = happened.after.pool
    case = BlockNumber(pool.tab[happened.at.entry], 0, pool.size - 1)
    return claim_law(world.a, "accounting.valid-ids", case, happened.given)


def _others_live(world: World, happened: Happening) -> Claim:
    a, pool, other = world.a, happened.after.pool, world.entry("other")
    entry = Entry(times_free=times_listed(a, pool, pool.tab[other]))
    return claim_law(a, "table.live", entry, [*happened.given, is_owner(pool, other)])


def _others_stay(world: World, happened: Happening) -> Claim:
    other = world.entry("other")
    changed = world.a.negate(happened.after.pool.tab[other] == happened.before.pool.tab[other])
    case = Frame(named=other == happened.at.entry, changed=changed)
    return claim_law(world.a, "table.frame", case, happened.given)


def _written_alone(world: World, happened: Happening) -> Claim:
    a, pool, p = world.a, happened.after.pool, happened.at.entry
    readers = owners_counted(a, pool, pool.tab[p]) - 1
    shared = is_held(a, happened.before.pool, happened.before.pool.tab[p]) == 1
    return claim_law(a, "data.exclusive-write", Write(sharing=shared, spoiled=readers), happened.given)


def _never_runs_out(world: World, happened: Happening) -> Claim:
    """A fork has no guard: it must not come to need a block."""
    ran_out = happened.after.pool.free < 0
    return claim_law(world.a, "admission.sound-fork", Approval(world.a.all_of(), ran_out), happened.given)


def _released_once(do: Do) -> ClaimIn:
    """Releasing an entry and, where that is possible, once more: no more comes back than was held."""

    def claim(world: World) -> Claim:
        a, happened = world.a, owners_of(world, RELEASE, do)
        before, once, block = happened.before.pool, happened.after, happened.before.pool.tab[happened.at.entry]
        again = RELEASE.can(a, once, happened.at)
        twice = a.ite(again, do(a, once, happened.at).pool.free, once.pool.free)
        # Nobody but the entry's own owner went.
        ended = a.ite(owners_counted(a, before, block) == 1, 1, 0)
        case = Release(growth=twice - before.free, ended=ended)
        return claim_law(a, "accounting.no-double-free", case, happened.given)

    return claim


def _ended_once(do: Do) -> ClaimIn:
    """Freeing what was freed finds nothing to do."""

    def claim(world: World) -> Claim:
        a, happened = world.a, owners_of(world, RELEASE, do)
        changed = RELEASE.can(a, happened.after, happened.at)
        return claim_law(a, "robust.free-any-state", Ending(a.all_of(), a.any_of(), changed), happened.given)

    return claim


def _two_taken(do: Do, stated: Callable[[World, Cache, Cache, Any], tuple[str, Any]]) -> ClaimIn:
    """Taking for two entries in turn."""

    def claim(world: World) -> Claim:
        a, happened, q = world.a, owners_of(world, TAKE, do), At(world.entry("q"))
        once = happened.after
        twice = do(a, once, q)
        world.show("after another take", twice, q)
        law, case = stated(world, once, twice, happened)
        return claim_law(a, law, case, [*happened.given, TAKE.can(a, once, q)])

    return claim


def _forked_and_freed(do: Do) -> ClaimIn:
    """A fork, and then both are freed, each of whose rows owns the block once."""

    def claim(world: World) -> Claim:
        a, happened = world.a, owners_of(world, SHARE, do)
        child, parent = happened.at, At(happened.at.other)
        once = RELEASE.do(a, happened.after, child)
        world.show("the child is freed", once, child)
        end = RELEASE.do(a, once, parent)
        world.show("and its parent", end, parent)
        case = PoolCounts(free=end.pool.free, held=held_counted(a, end.pool), total=end.pool.size)
        return claim_law(a, "accounting.no-leak", case, happened.given)

    return claim


def _second_was_nobodys(do: Do) -> ClaimIn:
    def stated(world: World, once: Cache, twice: Cache, happened: Happening) -> tuple[str, Any]:
        held = world.a.ite(owners_counted(world.a, once.pool, next_block(once.pool)) > 0, 1, 0)
        return "accounting.no-double-free", Release(handed_out_while_held=held)

    return _two_taken(do, stated)


def _both_spent(do: Do) -> ClaimIn:
    def stated(world: World, once: Cache, twice: Cache, happened: Happening) -> tuple[str, Any]:
        p, q = happened.at.entry, world.entry("q")
        distinct = world.a.ite(twice.pool.tab[p] == twice.pool.tab[q], 1, 2)
        total = happened.before.pool.free
        return "accounting.spendable", Spending(2, distinct, twice.pool.free, total, kept=total)

    return _two_taken(do, stated)


def _moved(do: Do) -> ClaimIn:
    """A transfer and the release that follows it on the other device: the entry lies on the one only."""

    def claim(world: World) -> Claim:
        a, happened = world.a, owners_of(world, TRANSFER)
        source, at = happened.at.source, happened.at
        assert source is not None
        left = do(a, source, at)
        world.show("the other device after the release", left, at)
        only_here = a.all_of(is_owner(happened.after.pool, at.entry), is_empty(left.pool, at.entry))
        return claim_law(a, "table.one-device", Place(only_here, a.all_of()), [*happened.given])

    return claim


# -- the wrong ways -------------------------------------------------------------------------------------


def _in_pool(change: Callable[[Algebra, Pool, Pool, Any], Pool], step: MicroStep) -> Do:
    """Does the step rightly, and then something to the pool before and after, at the entry."""

    def do(a: Algebra, cache: Cache, at: At) -> Cache:
        right = step.do(a, cache, at)
        return replace(right, pool=change(a, cache.pool, right.pool, at.entry))

    return do


def _keep(step: MicroStep, *names: str) -> Do:
    """Does the step, but leaves these parts of the pool as they were."""

    def change(a: Algebra, before: Pool, after: Pool, entry: Any) -> Pool:
        return replace(after, **{name: getattr(before, name) for name in names})

    return _in_pool(change, step)


def _nothing(a: Algebra, cache: Cache, at: At) -> Cache:
    return cache


def _frees_at_once(a: Algebra, cache: Cache, at: At) -> Cache:
    shared_too = return_block(a, cache.pool, cache.pool.tab[at.entry], a.all_of())
    right = RELEASE.do(a, cache, at)
    return replace(right, pool=replace(right.pool, perm=shared_too.perm, pos=shared_too.pos, free=shared_too.free))


def _releases_two_owners(a: Algebra, before: Pool, after: Pool, entry: Any) -> Pool:
    tab, block = after.tab, before.tab[entry]
    for rank in range(2):
        other = before.at[block, rank]
        tab = tab.put(other, a.ite(rank < before.ref[block], EMPTY, tab[other]))
    return replace(after, tab=tab)


def _off_by_one(a: Algebra, before: Pool, after: Pool, entry: Any) -> Pool:
    return replace(after, tab=after.tab.put(entry, after.tab[entry] + 1))


def _counts_two(a: Algebra, before: Pool, after: Pool, entry: Any) -> Pool:
    return replace(after, free=after.free - 1)


def _takes_the_first(a: Algebra, before: Pool, after: Pool, entry: Any) -> Pool:
    return replace(after, tab=after.tab.put(entry, before.perm[0]))


def _copies_only_beyond_two(a: Algebra, cache: Cache, at: At) -> Cache:
    pool, right = cache.pool, REPLACE.do(a, cache, at)
    copied, beyond = right.pool.tab[at.entry], pool.ref[pool.tab[at.entry]] > 2
    return replace(cache, pool=replace(pool, tab=pool.tab.put(at.entry, a.ite(beyond, copied, pool.tab[at.entry]))))


def _keeps_the_old_one_counted(a: Algebra, before: Pool, after: Pool, entry: Any) -> Pool:
    left = before.tab[entry]
    return replace(after, ref=after.ref.put(left, before.ref[left]))


def _counts_each_time(a: Algebra, before: Pool, after: Pool, entry: Any) -> Pool:
    """The row of the parent names the block twice, and so does the child's."""
    block = after.tab[entry]
    return replace(after, ref=after.ref.put(block, after.ref[block] + 1))


def _gives_up_each_time(a: Algebra, cache: Cache, at: At) -> Cache:
    """The row names the block twice: the refcount falls by two, and at nothing the block is free."""
    block, right = cache.pool.tab[at.entry], RELEASE.do(a, cache, at)
    left = larger(a, cache.pool.ref[block] - 2, 0)
    freed = return_block(a, cache.pool, block, left == 0)
    pool = replace(right.pool, ref=right.pool.ref.put(block, left), perm=freed.perm, pos=freed.pos, free=freed.free)
    return replace(right, pool=pool)


def _copies_instead(a: Algebra, cache: Cache, at: At) -> Cache:
    return TAKE.do(a, cache, at)


_add = partial(refute, AREA)


_add(
    "release.wrong.forgets-decrement",
    "accounting.refcount",
    "A release that does not lower the refcount: the block never comes back.",
    _claims(RELEASE, _refcount_right),
    _keep(RELEASE, "ref"),
    RELEASE.do,
)
_add(
    "release.wrong.keeps-the-entry",
    "accounting.no-double-free",
    "A release that does not empty the entry: it is released once more, and somebody else's block is freed.",
    _released_once,
    _keep(RELEASE, "tab"),
    RELEASE.do,
)
_add(
    "release.wrong.ends-again",
    "robust.free-any-state",
    "The same, of a sequence that is freed twice: the second time is not without effect.",
    _ended_once,
    _keep(RELEASE, "tab"),
    RELEASE.do,
)
_add(
    "release.wrong.frees-at-once",
    "table.live",
    "A release that frees the block although others own it still.",
    _claims(RELEASE, _others_live),
    _frees_at_once,
    RELEASE.do,
)
_add(
    "release.wrong.never-frees",
    "accounting.free-exact",
    "A release that does not return a block without owners to the free list.",
    _claims(RELEASE, _free_exact),
    _keep(RELEASE, "perm", "pos", "free"),
    RELEASE.do,
)
_add(
    "release.wrong.leaks-the-last",
    "accounting.no-leak",
    "The same, seen at the end: the last sequence is gone and a block is missing.",
    _claims(RELEASE, _nothing_leaks),
    _keep(RELEASE, "perm", "pos", "free"),
    RELEASE.do,
)
_add(
    "release.wrong.all-owners",
    "table.frame",
    "A release by block number, which empties the entries of other sequences that name the block.",
    _claims(RELEASE, _others_stay),
    _in_pool(_releases_two_owners, RELEASE),
    RELEASE.do,
)
_add(
    "share.wrong.forgets-increment",
    "accounting.refcount",
    "A fork that does not raise the refcount: the first of both to go takes the other's block along.",
    _claims(SHARE, _refcount_right),
    _keep(SHARE, "ref"),
    SHARE.do,
)
_add(
    "share.wrong.copies-instead",
    "admission.sound-fork",
    "A fork that takes blocks of its own without asking whether there are any.",
    _claims(SHARE, _never_runs_out),
    _copies_instead,
    SHARE.do,
)
_add(
    "share.bent.once-per-entry",
    "accounting.refcount",
    "A fork that counts a block once for each time the row names it, which under a window is more than once.",
    _claims(SHARE, _refcount_right),
    _in_pool(_counts_each_time, SHARE),
    SHARE.do,
)
_add(
    "share.bent.never-comes-back",
    "accounting.no-leak",
    "The same, seen at the end: each row gives the block up once, and it never comes back.",
    _forked_and_freed,
    _in_pool(_counts_each_time, SHARE),
    SHARE.do,
)
_add(
    "release.bent.once-per-entry",
    "accounting.no-double-free",
    "The other way round: a row that owns a block once gives it up each time that it names it.",
    _released_once,
    _gives_up_each_time,
    RELEASE.do,
)
_add(
    "take.wrong.leaves-it-listed",
    "accounting.free-exact",
    "A take that does not remove the block from the free list.",
    _claims(TAKE, _free_exact),
    _keep(TAKE, "free"),
    TAKE.do,
)
_add(
    "take.wrong.same-block-twice",
    "accounting.no-double-free",
    "A take that leaves the block in the free list hands it out again while it is held.",
    _second_was_nobodys,
    _keep(TAKE, "free"),
    TAKE.do,
)
_add(
    "take.wrong.always-the-first",
    "accounting.spendable",
    "A take that always hands out the first block of the list: what is counted as free cannot all be used.",
    _both_spent,
    _in_pool(_takes_the_first, TAKE),
    TAKE.do,
)
_add(
    "take.wrong.counts-two",
    "accounting.conservation",
    "A take that lowers the free count by two: a block is lost.",
    _claims(TAKE, _adds_up),
    _in_pool(_counts_two, TAKE),
    TAKE.do,
)
_add(
    "take.wrong.off-by-one",
    "accounting.valid-ids",
    "A take whose numbers begin at 1: the last block has a number beyond the pool.",
    _claims(TAKE, _valid_number),
    _in_pool(_off_by_one, TAKE),
    TAKE.do,
)
_add(
    "replace.wrong.writes-in-place",
    "data.exclusive-write",
    "A write to a shared block in place: the other owners read it too.",
    _claims(REPLACE, _written_alone),
    _nothing,
    REPLACE.do,
)
_add(
    "replace.wrong.only-beyond-two",
    "data.exclusive-write",
    "Copy-on-write that begins at three owners: with two, both write to one block.",
    _claims(REPLACE, _written_alone),
    _copies_only_beyond_two,
    REPLACE.do,
)
_add(
    "replace.wrong.keeps-the-old-one",
    "accounting.refcount",
    "Copy-on-write that does not give up its share of the block it leaves.",
    _claims(REPLACE, _refcount_right),
    _in_pool(_keeps_the_old_one_counted, REPLACE),
    REPLACE.do,
)
_add(
    "transfer.wrong.stays-behind",
    "table.one-device",
    "A swap that does not release what it has moved: the entry lies on both devices.",
    _moved,
    _nothing,
    RELEASE.do,
)

OBLIGATIONS = AREA.obligations
