"""Laws of counting: every block is in exactly one class, and nothing is lost, doubled or invented."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kvspec.algebra import Algebra
from kvspec.laws.base import Law
from kvspec.vocabulary import Capability, Level, Scope


@dataclass(frozen=True)
class Pool:
    """The blocks of one device after an operation, by class (counts of blocks)."""

    free: Any
    held: Any
    total: Any
    reclaimable: Any = 0
    reserved: Any = 0
    pending: Any = 0


@dataclass(frozen=True)
class Block:
    """One block after an operation. refcount: as the manager shows it. owners: live sequences whose table names it.
    times_free: how often the manager's free set lists it. classified: 1 if it is held, reserved or pending, else 0.
    """

    refcount: Any = 0
    owners: Any = 0
    times_free: Any = 0
    classified: Any = 0


@dataclass(frozen=True)
class Release:
    """What one operation gave back to one pool. growth: by how much the free count grew. ended: blocks that lost their
    last owner, less blocks that got their first. error: the manager reported a double free.
    handed_out_while_held: blocks newly put into a table although another live sequence's table holds them.
    """

    growth: Any = 0
    ended: Any = 0
    error: Any = False
    handed_out_while_held: Any = 0


@dataclass(frozen=True)
class BlockNumber:
    """One entry newly put into a row: its number, the range the adapter declares for the device (first to last), and
    how often the row names it.
    """

    number: Any
    first: Any
    last: Any
    times_in_row: Any = 1


@dataclass(frozen=True)
class Spending:
    """The end of a run, everything freed: one-block admissions until there is no more. handed_out: blocks that came;
    distinct: different ones among them; left: blocks then still counted as free; total: blocks that should be free at
    first. kept: blocks that may be left: any number where a guard refused (how early it may refuse is a matter of the
    admission laws), else less than one admission takes.
    """

    handed_out: Any
    distinct: Any
    left: Any
    total: Any
    kept: Any


def everything_has_a_class(a: Algebra, pool: Pool) -> Any:
    """The classes add up to the pool."""
    return pool.free + pool.reclaimable + pool.held + pool.reserved + pool.pending == pool.total


def listed_free_or_classified(a: Algebra, block: Block) -> Any:
    """Once in the free set, or once elsewhere."""
    return block.times_free + block.classified == 1


def refcount_is_owners(a: Algebra, block: Block) -> Any:
    """The refcount is the number of owners."""
    return block.refcount == block.owners


def nothing_released_twice(a: Algebra, release: Release) -> Any:
    """No error, no growth beyond what ended, no block with two lives."""
    return a.all_of(a.negate(release.error), release.growth <= release.ended, release.handed_out_while_held == 0)


def a_number_of_its_own(a: Algebra, entry: BlockNumber) -> Any:
    """In range, and different blocks of one row have different numbers."""
    return a.all_of(entry.first <= entry.number, entry.number <= entry.last, entry.times_in_row == 1)


def all_unowned_is_free(a: Algebra, pool: Pool) -> Any:
    """With no owner left, everything but the reserved blocks is free or reclaimable."""
    return pool.free + pool.reclaimable + pool.reserved == pool.total


def nobody_left(a: Algebra, pool: Pool) -> Any:
    """No live sequence holds a block of the pool."""
    return pool.held == 0


def all_spent_once(a: Algebra, spending: Spending) -> Any:
    """Every block that should be free was handed out once, or is still there to be handed out."""
    return a.all_of(
        spending.handed_out + spending.left == spending.total,
        spending.distinct == spending.handed_out,
        spending.left <= spending.kept,
    )


LAWS = (
    Law(
        "accounting.conservation",
        Level.MUST,
        "After each operation, free + reclaimable + held + reserved + pending blocks of each pool are all its blocks.",
        Pool,
        everything_has_a_class,
        breaking=Pool(free=1, held=2, total=4),
        source="Fault classes C02, C12: a lost block shrinks the cache for ever, an invented one is written twice.",
    ),
    Law(
        "accounting.free-exact",
        Level.MUST,
        "The free set is exactly the blocks that are in no other class, each once.",
        Block,
        listed_free_or_classified,
        breaking=Block(times_free=1, classified=1),
        needs=(Capability.FREE_SET,),
        source="Fault classes C01, C04: counts stay balanced while a page is both free and held.",
    ),
    Law(
        "accounting.refcount",
        Level.MUST,
        "The refcount of a block is the number of its owners.",
        Block,
        refcount_is_owners,
        breaking=Block(refcount=1, owners=2),
        needs=(Capability.REFCOUNTS,),
        source="PagedAttention section 4.4 (sharing); fault classes C03, C06, C07: too low ends in reuse under a "
        "reader, too high in a leak.",
    ),
    Law(
        "accounting.no-double-free",
        Level.MUST,
        "No legal operation releases a block twice, whether it shows as an error, as a free count that grows too far, "
        "or as a block handed out while it is held.",
        Release,
        nothing_released_twice,
        breaking=Release(growth=2, ended=1),
        source="Fault classes C01, C03, C11: the second release frees somebody else's block.",
    ),
    Law(
        "accounting.valid-ids",
        Level.MUST,
        "Block numbers are from the range declared for the device, and different blocks have different numbers.",
        BlockNumber,
        a_number_of_its_own,
        breaking=BlockNumber(number=0, first=0, last=3, times_in_row=2),
        source="A number names a place in memory: two blocks with one number overwrite each other.",
    ),
    Law(
        "accounting.no-leak",
        Level.MUST,
        "When the last sequence is gone, whatever the way, free + reclaimable + reserved blocks are all the blocks.",
        Pool,
        all_unowned_is_free,
        applies=nobody_left,
        breaking=Pool(free=3, held=0, total=4),
        scope=Scope.RUN,
        source="Fault classes C08, C09, C10: aborts and refusals that forget blocks.",
    ),
    Law(
        "accounting.spendable",
        Level.MUST,
        "At the end of a run, with everything freed, one-block sequences can be admitted until every block that should "
        "be free is handed out, all distinct, or is held back by the guard and still counted as free.",
        Spending,
        all_spent_once,
        breaking=Spending(handed_out=3, distinct=3, left=0, total=4, kept=0),
        scope=Scope.RUN,
        source="Needs no inspection at all: what is counted as free must be there to be used.",
    ),
)
