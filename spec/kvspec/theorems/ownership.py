"""Ownership is kept, for any number of blocks, sequences and steps, on both devices.

The invariant of `kvspec.model.pool` says that refcounts are numbers of owners and that the free list is exactly the
blocks without one. Here: it holds at the start; each micro-step keeps every part of it; a step is possible whenever it
should be and a double release never; and what the laws of the catalogue ask of blocks, releases, rows and pools
follows. A transfer takes a block on the one device and is followed by a release on the other, so that both stay sound.

Wrong variants of the steps are in `wrong_ownership`.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from kvspec.algebra import Algebra
from kvspec.laws import CATALOGUE
from kvspec.laws.accounting import Block, BlockNumber, Release, Spending
from kvspec.laws.accounting import Pool as PoolCounts
from kvspec.laws.admission import Approval
from kvspec.laws.data import Write
from kvspec.laws.table import Entry, Frame, Place
from kvspec.model.columns import Cells
from kvspec.model.pool import (
    INVARIANT,
    PRISTINE,
    Conjunct,
    Pool,
    can_release,
    can_take,
    is_block,
    is_empty,
    is_owner,
    next_block,
    release,
    take,
)
from kvspec.model.steps import MICRO_STEPS, RELEASE, REPLACE, SHARE, TAKE, MicroStep
from kvspec.theorems.happening import Happening, add_general, owners_of
from kvspec.theorems.obligation import Area, Claim, Kind, claim_law
from kvspec.theorems.worlds import ClaimIn, Few, World, holds_of_any, in_few, invariant, named, names_in_few

AREA = Area("ownership")


add = partial(add_general, AREA)
"""Adds an obligation about any number of blocks and entries."""


# -- the invariant --------------------------------------------------------------------------------------


def _starts(conjunct: Conjunct) -> ClaimIn:
    def claim(world: World) -> Claim:
        pool = world.pool("pool")
        return Claim(named(world, PRISTINE, pool), holds_of_any(world, conjunct, pool))

    return claim


def _keeps(step: MicroStep, conjunct: Conjunct) -> ClaimIn:
    def claim(world: World) -> Claim:
        happened = owners_of(world, step)
        return Claim(happened.given, holds_of_any(world, conjunct, happened.after.pool))

    return claim


for _conjunct in INVARIANT:
    add(f"start.{_conjunct.name}", Kind.INDUCTION, f"At the start, {_conjunct.words}.", _starts(_conjunct))
    for _step in MICRO_STEPS.values():
        _statement = f"After a {_step.name}, still {_conjunct.words}."
        add(f"{_step.name}.keeps.{_conjunct.name}", Kind.INDUCTION, _statement, _keeps(_step, _conjunct))

KEPT = tuple(
    f"ownership.{name}.{conjunct.name}"
    for name in ("start", *(f"{step}.keeps" for step in MICRO_STEPS))
    for conjunct in INVARIANT
)
"""What everything below rests on: the invariant holds in every state that steps can reach."""

# -- what is possible -----------------------------------------------------------------------------------


def _free_can_be_taken(world: World) -> Claim:
    pool = world.pool("pool")
    block = next_block(pool)
    goal = world.a.all_of(is_block(world.a, pool, block), pool.ref[block] == 0)
    return Claim([*invariant(world, pool), pool.free > 0], goal)


def _no_double_release(world: World) -> Claim:
    happened = owners_of(world, RELEASE)
    return Claim(happened.given, world.a.negate(RELEASE.can(world.a, happened.after, happened.at)))


def _owner_can_release(world: World) -> Claim:
    pool, p = world.pool("pool"), world.entry("p")
    goal = world.a.all_of(pool.ref[pool.tab[p]] >= 1, is_block(world.a, pool, pool.tab[p]))
    return Claim([*invariant(world, pool), is_owner(pool, p)], goal)


add(
    "take.possible",
    Kind.LEMMA,
    "While the free count is not 0, the next block is one of the pool and nobody's.",
    _free_can_be_taken,
    rests_on=KEPT,
)
add(
    "release.once",
    Kind.LEMMA,
    "An entry that was released cannot be released again.",
    _no_double_release,
    law="accounting.no-double-free",
    rests_on=KEPT,
)
add(
    "release.possible",
    Kind.LEMMA,
    "What an entry names is a block with a refcount to take one from.",
    _owner_can_release,
    rests_on=KEPT,
)

# -- refcounts are numbers of owners --------------------------------------------------------------------


def _ranks_differ(world: World) -> Claim:
    pool, p, q = world.pool("pool"), world.entry("p"), world.entry("q")
    a = world.a
    owners_of_one = a.all_of(is_owner(pool, p), pool.tab[p] == pool.tab[q], a.negate(p == q))
    below = a.all_of(pool.rank[p] >= 0, pool.rank[p] < pool.ref[pool.tab[p]])
    goal = a.all_of(below, pool.rank[p] != pool.rank[q])
    return Claim([*invariant(world, pool), owners_of_one], goal)


def _each_rank_owned(world: World) -> Claim:
    pool, block, rank = world.pool("pool"), world.number("block"), world.number("rank")
    a = world.a
    given = [is_block(a, pool, block), rank >= 0, rank < pool.ref[block]]
    owner = pool.at[block, rank]
    return Claim([*invariant(world, pool), *given], a.all_of(pool.tab[owner] == block, pool.rank[owner] == rank))


def _refcount_counted(world: World) -> Claim:
    """In the finite world owners can be counted, so the law can be stated as it is judged."""
    pool, block = world.pool("pool"), world.number("block")
    case = Block(refcount=pool.ref[block], owners=owners_counted(world.a, pool, block))
    given = [*invariant(world, pool), is_block(world.a, pool, block)]
    return claim_law(world.a, "accounting.refcount", case, given)


def owners_counted(a: Algebra, pool: Pool, block: Any) -> Any:
    """Owners of a block in the finite world."""
    assert isinstance(pool.tab, Cells), "owners cannot be counted where there is any number of them"
    return sum(a.ite(named == block, 1, 0) for named in pool.tab.cells.values())


add(
    "refcount.ranks-differ",
    Kind.LEMMA,
    "Two owners of a block have two ranks below its refcount: there are no more owners than it says.",
    _ranks_differ,
    law="accounting.refcount",
    rests_on=KEPT,
)
add(
    "refcount.each-rank-owned",
    Kind.LEMMA,
    "Each rank below a block's refcount has its owner: there are no fewer owners than it says.",
    _each_rank_owned,
    law="accounting.refcount",
    rests_on=KEPT,
)
AREA.add(
    "refcount.counted",
    Kind.SOUNDNESS,
    "Counted in a pool of a few blocks and entries, the refcount is the number of owners.",
    in_few(_refcount_counted),
    unknowns=names_in_few(_refcount_counted),
    law="accounting.refcount",
    rests_on=KEPT,
)

# -- the laws of counting -------------------------------------------------------------------------------


def _one_place(world: World) -> Claim:
    pool, i, j = world.pool("pool"), world.number("i"), world.number("j")
    a = world.a
    given = [is_block(a, pool, i), is_block(a, pool, j), pool.perm[i] == pool.perm[j]]
    return Claim([*invariant(world, pool), *given], i == j)


def times_free(a: Algebra, pool: Pool, block: Any) -> Any:
    """How often the free list has the block: it stands in one place (free-list.one-place), which is in it or not."""
    return a.ite(pool.pos[block] < pool.free, 1, 0)


def is_held(a: Algebra, pool: Pool, block: Any) -> Any:
    """1 if the block has an owner, else 0."""
    return a.ite(pool.ref[block] > 0, 1, 0)


def _free_exact(world: World) -> Claim:
    pool, block = world.pool("pool"), world.number("block")
    case = Block(times_free=times_free(world.a, pool, block), classified=is_held(world.a, pool, block))
    given = [*invariant(world, pool), is_block(world.a, pool, block)]
    return claim_law(world.a, "accounting.free-exact", case, given)


def _others_alone(step: MicroStep) -> ClaimIn:
    def claim(world: World) -> Claim:
        happened = owners_of(world, step)
        before, other, a = happened.before.pool, world.number("other"), world.a
        elsewhere = [a.negate(other == block) for block in step.owned(before, happened.at)]
        given = [*happened.given, is_block(a, before, other), *elsewhere]
        return Claim(given, before.ref[other] == happened.after.pool.ref[other])

    return claim


def newly_held(a: Algebra, step: MicroStep, happened: Happening) -> Any:
    """Blocks that got their first owner, less those that lost their last one."""
    before, after = happened.before.pool, happened.after.pool
    return sum(is_held(a, after, block) - is_held(a, before, block) for block in step.owned(before, happened.at))


def _conserves(step: MicroStep) -> ClaimIn:
    def claim(world: World) -> Claim:
        happened, a, held = owners_of(world, step), world.a, world.number("held")
        before, after = happened.before.pool, happened.after.pool
        counted = CATALOGUE["accounting.conservation"].holds(a, PoolCounts(before.free, held, before.size))
        # Only these blocks changed (others-alone), so the held blocks changed by what became of them.
        case = PoolCounts(after.free, held + newly_held(a, step, happened), after.size)
        return claim_law(a, "accounting.conservation", case, [*happened.given, counted])

    return claim


def _takes(step: MicroStep) -> ClaimIn:
    def claim(world: World) -> Claim:
        happened, a = owners_of(world, step), world.a
        before, after = happened.before.pool, happened.after.pool
        last = before.ref[before.tab[happened.at.entry]] == 1
        back = a.ite(last, 1, 0) if step is RELEASE else 0
        return Claim(happened.given, after.free == before.free - step.takes + back)

    return claim


def _no_double_free(step: MicroStep) -> ClaimIn:
    def claim(world: World) -> Claim:
        happened, a = owners_of(world, step), world.a
        before, after = happened.before.pool, happened.after.pool
        handed_out = is_held(a, before, after.tab[happened.at.entry]) if step.takes else 0
        growth, ended = after.free - before.free, 0 - newly_held(a, step, happened)
        case = Release(growth=growth, ended=ended, handed_out_while_held=handed_out)
        return claim_law(a, "accounting.no-double-free", case, happened.given)

    return claim


def _spends_one(world: World) -> Claim:
    """So many blocks were handed out, all distinct, since everything was free; one more is."""
    happened, a, handed_out = owners_of(world, TAKE), world.a, world.number("handed_out")
    before, after = happened.before.pool, happened.after.pool
    new = 1 - is_held(a, before, after.tab[happened.at.entry])
    so_far = handed_out + before.free == before.size
    case = Spending(handed_out + 1, handed_out + new, after.free, after.size, kept=after.free)
    return claim_law(a, "accounting.spendable", case, [*happened.given, so_far])


def _nothing_leaks(world: World) -> Claim:
    pool, a = world.pool("pool"), world.a
    # No block has an owner; all that is needed of it is the first block that would not be free.
    first = pool.perm[pool.free]
    unowned = a.implies(is_block(a, pool, first), pool.ref[first] == 0)
    case = PoolCounts(pool.free, 0, pool.size)
    return claim_law(a, "accounting.no-leak", case, [*invariant(world, pool), unowned])


def _own_number(step: MicroStep) -> ClaimIn:
    def claim(world: World) -> Claim:
        happened, a, other = owners_of(world, step), world.a, world.entry("other")
        pool, p = happened.after.pool, happened.at.entry
        again = a.ite(a.all_of(a.negate(other == p), pool.tab[other] == pool.tab[p]), 1, 0)
        case = BlockNumber(pool.tab[p], 0, pool.size - 1, 1 + again)
        return claim_law(a, "accounting.valid-ids", case, happened.given)

    return claim


add("free-list.one-place", Kind.LEMMA, "No block stands twice in the free list.", _one_place, rests_on=KEPT)
add(
    "free-list.exact",
    Kind.SOUNDNESS,
    "A block is once in the free list, or it has an owner.",
    _free_exact,
    law="accounting.free-exact",
    rests_on=(*KEPT, "ownership.free-list.one-place"),
)
for _step in MICRO_STEPS.values():
    add(
        f"{_step.name}.others-alone",
        Kind.LEMMA,
        f"A {_step.name} changes the refcounts of no other blocks than it says.",
        _others_alone(_step),
        few=Few(blocks=3),
        rests_on=KEPT,
    )
    add(
        f"{_step.name}.conserves",
        Kind.INDUCTION,
        f"After a {_step.name}, free and held blocks are still all blocks.",
        _conserves(_step),
        law="accounting.conservation",
        rests_on=(*KEPT, f"ownership.{_step.name}.others-alone"),
    )
    add(
        f"{_step.name}.no-double-free",
        Kind.SOUNDNESS,
        f"A {_step.name} frees no more than what lost its last owner, and hands out nothing that is held.",
        _no_double_free(_step),
        law="accounting.no-double-free",
        rests_on=KEPT,
    )
for _step in MICRO_STEPS.values():
    _statement = f"A {_step.name} takes {'one free block' if _step.takes else 'no block'}"
    _statement += (
        ", and gives one back exactly if it was the last owner's." if _step is RELEASE else ", and gives none back."
    )
    add(f"{_step.name}.takes", Kind.LEMMA, _statement, _takes(_step), rests_on=KEPT)
add(
    "take.spends",
    Kind.INDUCTION,
    "While blocks are taken one after the other, those handed out are distinct, and with the free ones all there are.",
    _spends_one,
    law="accounting.spendable",
    rests_on=(*KEPT, "ownership.take.possible"),
)
add(
    "end.nothing-leaks",
    Kind.SOUNDNESS,
    "When no block has an owner, all blocks are free.",
    _nothing_leaks,
    law="accounting.no-leak",
    rests_on=KEPT,
)
for _step in (step for step in MICRO_STEPS.values() if step.takes):
    add(
        f"{_step.name}.own-number",
        Kind.SOUNDNESS,
        f"A block that a {_step.name} brings is one of the pool, and no other entry names it.",
        _own_number(_step),
        law="accounting.valid-ids",
        rests_on=KEPT,
    )

# -- the laws of tables, and who may write --------------------------------------------------------------


def _entry_live(world: World) -> Claim:
    pool, p = world.pool("pool"), world.entry("p")
    block = pool.tab[p]
    case = Entry(times_free=times_free(world.a, pool, block), refcount=pool.ref[block])
    return claim_law(world.a, "table.live", case, [*invariant(world, pool), is_owner(pool, p)])


def _frame(step: MicroStep) -> ClaimIn:
    def claim(world: World) -> Claim:
        happened, other = owners_of(world, step), world.entry("other")
        changed = world.a.negate(happened.after.pool.tab[other] == happened.before.pool.tab[other])
        case = Frame(named=other == happened.at.entry, changed=changed)
        return claim_law(world.a, "table.frame", case, happened.given)

    return claim


def _written_alone(world: World) -> Claim:
    happened, a, other = owners_of(world, REPLACE), world.a, world.entry("other")
    before, after, p = happened.before.pool, happened.after.pool, happened.at.entry
    reads_it = a.all_of(a.negate(other == p), after.tab[other] == after.tab[p])
    case = Write(sharing=before.ref[before.tab[p]] > 1, spoiled=a.ite(reads_it, 1, 0))
    return claim_law(a, "data.exclusive-write", case, happened.given)


def _last_writes_in_place(world: World) -> Claim:
    pool, p, other = world.pool("pool"), world.entry("p"), world.entry("other")
    a = world.a
    given = [is_owner(pool, p), pool.ref[pool.tab[p]] == 1, a.negate(other == p)]
    return Claim([*invariant(world, pool), *given], a.negate(pool.tab[other] == pool.tab[p]))


def _fork_takes_nothing(world: World) -> Claim:
    happened = owners_of(world, SHARE)
    ran_out = happened.after.pool.free < happened.before.pool.free
    return claim_law(world.a, "admission.sound-fork", Approval(world.a.all_of(), ran_out), happened.given)


def _moves_to_one_device(world: World) -> Claim:
    here, there, p = world.pool("cpu"), world.pool("gpu"), world.entry("p")
    a = world.a
    given = [*invariant(world, here), *invariant(world, there), can_release(a, here, p), can_take(a, there, p)]
    left, arrived = release(a, here, p), take(a, there, p)
    only_there = a.all_of(is_owner(arrived, p), is_empty(left, p))
    return claim_law(a, "table.one-device", Place(shown_on_gpu=only_there, running=a.all_of()), given)


add(
    "entry.live",
    Kind.SOUNDNESS,
    "Whatever an entry names is held and not free.",
    _entry_live,
    law="table.live",
    rests_on=KEPT,
)
for _step in MICRO_STEPS.values():
    add(
        f"{_step.name}.frame",
        Kind.SOUNDNESS,
        f"A {_step.name} changes no other entry.",
        _frame(_step),
        law="table.frame",
        rests_on=KEPT,
    )
add(
    "replace.written-alone",
    Kind.SOUNDNESS,
    "After copy-on-write nobody else reads the block that is written.",
    _written_alone,
    law="data.exclusive-write",
    rests_on=KEPT,
)
add(
    "write.in-place-alone",
    Kind.LEMMA,
    "Where the refcount is 1 nobody else reads the block, so that its owner may write in place.",
    _last_writes_in_place,
    law="data.exclusive-write",
    rests_on=KEPT,
)
add(
    "share.takes-nothing",
    Kind.SOUNDNESS,
    "A fork that shares takes no block, so it cannot run out.",
    _fork_takes_nothing,
    law="admission.sound-fork",
    rests_on=KEPT,
)
add(
    "transfer.one-device",
    Kind.SOUNDNESS,
    "A block moved between devices leaves its entry empty on the one and filled on the other.",
    _moves_to_one_device,
    law="table.one-device",
    rests_on=KEPT,
)

OBLIGATIONS = AREA.obligations
