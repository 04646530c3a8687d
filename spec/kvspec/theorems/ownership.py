"""Ownership is kept, for any number of blocks, sequences and steps.

The invariant of `kernel` says that refcounts are numbers of owners and that the free list is exactly the blocks without
one. Here: it holds at the start; each step (take, share, release, and copy-on-write as both) keeps every part of it;
a step is possible whenever it should be and a double release never; and what the laws of the catalogue ask of blocks,
releases, rows and pools follows. A transfer between devices is a release on the one and a take or share on the other,
so nothing new has to be kept.

Wrong variants of the steps are in `wrong_ownership`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kvspec.algebra import Algebra
from kvspec.laws import CATALOGUE
from kvspec.laws.accounting import Block, BlockNumber, Release
from kvspec.laws.accounting import Pool as PoolCounts
from kvspec.laws.admission import Approval
from kvspec.laws.data import Write
from kvspec.laws.table import Entry, Frame, Place
from kvspec.model.pool import (
    INVARIANT,
    PRISTINE,
    Conjunct,
    Pool,
    can_release,
    can_replace,
    can_share,
    can_take,
    is_block,
    is_empty,
    is_owner,
    next_block,
    release,
    replace_shared,
    share,
    take,
)
from kvspec.theorems.obligation import Area, Claim, Kind, claim_law
from kvspec.theorems.worlds import ENTRIES, ClaimIn, World, holds_of_any, in_any, in_few, invariant, names_in_few

AREA = Area("ownership")


@dataclass(frozen=True)
class Step:
    """One step of the kernel at the entry p (a share: from the owner q). block: the block that p names afterwards or
    before, whose owners the step changes.
    """

    name: str
    can: Callable[[Algebra, Pool, Any, Any], Any]
    do: Callable[[Algebra, Pool, Any, Any], Pool]
    block: Callable[[Pool, Any, Any], Any]


TAKE = Step(
    "take",
    lambda a, pool, p, q: can_take(a, pool, p),
    lambda a, pool, p, q: take(a, pool, p),
    lambda pool, p, q: next_block(pool),
)
SHARE = Step(
    "share",
    lambda a, pool, p, q: can_share(a, pool, q, p),
    lambda a, pool, p, q: share(a, pool, q, p),
    lambda pool, p, q: pool.tab[q],
)
RELEASE = Step(
    "release",
    lambda a, pool, p, q: can_release(a, pool, p),
    lambda a, pool, p, q: release(a, pool, p),
    lambda pool, p, q: pool.tab[p],
)
REPLACE = Step(
    "replace",
    lambda a, pool, p, q: can_replace(a, pool, p),
    lambda a, pool, p, q: replace_shared(a, pool, p),
    lambda pool, p, q: pool.tab[p],
)
STEPS = (TAKE, SHARE, RELEASE)
"""The steps that change the owners of one block only. Copy-on-write changes those of two."""


def add(name: str, kind: Kind, statement: str, claim: ClaimIn, **more: Any) -> None:
    """Add an obligation: proved in the general world, with examples in the finite one."""
    AREA.add(name, kind, statement, in_few(claim), unknowns=names_in_few(claim), general=in_any(claim), **more)


def across(world: World, step: Step) -> tuple[Pool, Pool, Any, Any, list[Any]]:
    """A pool that is as it should be, the same after the step, the entries p and q, and what is given of them."""
    before, p, q = world.pool("pool"), world.entry("p"), world.entry("q")
    given = [*invariant(world, before), step.can(world.a, before, p, q)]
    return before, step.do(world.a, before, p, q), p, q, given


# -- the invariant --------------------------------------------------------------------------------------


def _starts(conjunct: Conjunct) -> ClaimIn:
    def claim(world: World) -> Claim:
        pool = world.pool("pool")
        given = [world.every(part, pool) for part in PRISTINE]
        return Claim(given, holds_of_any(world, conjunct, pool))

    return claim


def _keeps(step: Step, conjunct: Conjunct) -> ClaimIn:
    def claim(world: World) -> Claim:
        _, after, _, _, given = across(world, step)
        return Claim(given, holds_of_any(world, conjunct, after))

    return claim


for _conjunct in INVARIANT:
    add(f"start.{_conjunct.name}", Kind.INDUCTION, f"At the start, {_conjunct.words}.", _starts(_conjunct))
    for _step in (*STEPS, REPLACE):
        _statement = f"After a {_step.name}, still {_conjunct.words}."
        add(f"{_step.name}.keeps.{_conjunct.name}", Kind.INDUCTION, _statement, _keeps(_step, _conjunct))

KEPT = tuple(
    f"ownership.{name}.{conjunct.name}"
    for name in ("start", *(f"{step.name}.keeps" for step in (*STEPS, REPLACE)))
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
    _, after, p, _, given = across(world, RELEASE)
    return Claim(given, world.a.negate(can_release(world.a, after, p)))


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
    return sum(a.ite(pool.tab[entry] == block, 1, 0) for entry in range(ENTRIES))


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


def _others_alone(step: Step) -> ClaimIn:
    def claim(world: World) -> Claim:
        before, after, p, q, given = across(world, step)
        other = world.number("other")
        elsewhere = world.a.negate(other == step.block(before, p, q))
        given = [*given, is_block(world.a, before, other), elsewhere]
        return Claim(given, before.ref[other] == after.ref[other])

    return claim


def _conserves(step: Step) -> ClaimIn:
    def claim(world: World) -> Claim:
        before, after, p, q, given = across(world, step)
        a, block, held = world.a, step.block(before, p, q), world.number("held")
        counted = CATALOGUE["accounting.conservation"].holds(a, PoolCounts(before.free, held, before.size))
        # Only this block changed (others-alone), so the held blocks changed by what became of it.
        held_after = held + is_held(a, after, block) - is_held(a, before, block)
        case = PoolCounts(after.free, held_after, after.size)
        return claim_law(a, "accounting.conservation", case, [*given, counted])

    return claim


def _no_double_free(step: Step) -> ClaimIn:
    def claim(world: World) -> Claim:
        before, after, p, q, given = across(world, step)
        a, block = world.a, step.block(before, p, q)
        handed_out = is_held(a, before, block) if step.name == "take" else 0
        ended = is_held(a, before, block) - is_held(a, after, block)
        case = Release(growth=after.free - before.free, ended=ended, handed_out_while_held=handed_out)
        return claim_law(a, "accounting.no-double-free", case, given)

    return claim


def _nothing_leaks(world: World) -> Claim:
    pool, a = world.pool("pool"), world.a
    # No block has an owner; all that is needed of it is the first block that would not be free.
    first = pool.perm[pool.free]
    unowned = a.implies(is_block(a, pool, first), pool.ref[first] == 0)
    case = PoolCounts(pool.free, 0, pool.size)
    return claim_law(a, "accounting.no-leak", case, [*invariant(world, pool), unowned])


def _own_number(world: World) -> Claim:
    _, after, p, q, given = across(world, TAKE)
    a = world.a
    again = a.ite(a.all_of(a.negate(p == q), after.tab[q] == after.tab[p]), 1, 0)
    case = BlockNumber(after.tab[p], 0, after.size - 1, 1 + again)
    return claim_law(a, "accounting.valid-ids", case, given)


add("free-list.one-place", Kind.LEMMA, "No block stands twice in the free list.", _one_place, rests_on=KEPT)
add(
    "free-list.exact",
    Kind.SOUNDNESS,
    "A block is once in the free list, or it has an owner.",
    _free_exact,
    law="accounting.free-exact",
    rests_on=(*KEPT, "ownership.free-list.one-place"),
)
for _step in STEPS:
    add(
        f"{_step.name}.others-alone",
        Kind.LEMMA,
        f"A {_step.name} changes the refcount of one block only.",
        _others_alone(_step),
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
add(
    "end.nothing-leaks",
    Kind.SOUNDNESS,
    "When no block has an owner, all blocks are free.",
    _nothing_leaks,
    law="accounting.no-leak",
    rests_on=KEPT,
)
add(
    "take.own-number",
    Kind.SOUNDNESS,
    "A block that is taken is one of the pool, and no other entry names it.",
    _own_number,
    law="accounting.valid-ids",
    rests_on=KEPT,
)

# -- the laws of tables, and who may write --------------------------------------------------------------


def _entry_live(world: World) -> Claim:
    pool, p = world.pool("pool"), world.entry("p")
    block = pool.tab[p]
    case = Entry(times_free=times_free(world.a, pool, block), refcount=pool.ref[block])
    return claim_law(world.a, "table.live", case, [*invariant(world, pool), is_owner(pool, p)])


def _frame(step: Step) -> ClaimIn:
    def claim(world: World) -> Claim:
        before, after, p, _, given = across(world, step)
        other = world.entry("other")
        case = Frame(named=other == p, changed=world.a.negate(after.tab[other] == before.tab[other]))
        return claim_law(world.a, "table.frame", case, given)

    return claim


def _written_alone(world: World) -> Claim:
    before, after, p, _, given = across(world, REPLACE)
    a, other = world.a, world.entry("other")
    reads_it = a.all_of(a.negate(other == p), after.tab[other] == after.tab[p])
    case = Write(sharing=before.ref[before.tab[p]] > 1, spoiled=a.ite(reads_it, 1, 0))
    return claim_law(a, "data.exclusive-write", case, given)


def _last_writes_in_place(world: World) -> Claim:
    pool, p, other = world.pool("pool"), world.entry("p"), world.entry("other")
    a = world.a
    given = [is_owner(pool, p), pool.ref[pool.tab[p]] == 1, a.negate(other == p)]
    return Claim([*invariant(world, pool), *given], a.negate(pool.tab[other] == pool.tab[p]))


def _fork_takes_nothing(world: World) -> Claim:
    before, after, _, _, given = across(world, SHARE)
    case = Approval(ok=world.a.all_of(), ran_out=after.free < before.free)
    return claim_law(world.a, "admission.sound-fork", case, given)


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
for _step in (*STEPS, REPLACE):
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
