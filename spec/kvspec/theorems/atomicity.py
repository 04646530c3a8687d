"""A refused operation, and one that fails half way, leaves everything as it was.

A refused operation happens to nothing. One that fails has done some micro-steps, and takes them back in reverse order:
each micro-step that an operation may fail after has an inverse made of micro-steps, after which whatever can be
observed is as before: the tables, the refcounts, how many blocks are free and which, what every entry must read, and
what the blocks that are owned hold. By induction over the micro-steps done, taking all of them back leaves no trace:
what a micro-step does to what can be observed depends on nothing else (`refinement`). Releases come last in every
operation and a write is not part of one that can fail, so neither is ever taken back.

Only the ghosts may differ, and the order of the free list where a copy is taken back.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from kvspec.algebra import Algebra
from kvspec.laws.robust import Ending, Failure
from kvspec.model.cache import At, Cache, release, share
from kvspec.model.pool import is_block, is_owner
from kvspec.model.steps import FOLLOW, RELEASE, REPLACE, SHARE, TAKE, TRANSFER, MicroStep
from kvspec.theorems.happening import Happening, add_general, contents_of
from kvspec.theorems.obligation import Area, Claim, Kind, claim_law
from kvspec.theorems.ownership import KEPT, times_free
from kvspec.theorems.worlds import ClaimIn, World, invariant

AREA = Area("atomicity")


add = partial(add_general, AREA)
"""Adds an obligation about any number of blocks, slots and entries."""


Undo = Callable[[Algebra, Happening], Cache]
"""Takes a micro-step back."""


def release_again(a: Algebra, happened: Happening) -> Cache:
    """What was taken, shared or moved is given up."""
    return release(a, happened.after, happened.at)


def share_again(a: Algebra, happened: Happening) -> Cache:
    """The copy is given up, and the block that was left is shared with an owner that stayed."""
    before, at = happened.before, happened.at
    given_up = release(a, happened.after, at)
    stayed = happened.after.pool.at[before.pool.tab[at.entry], 0]
    back = share(a, given_up, At(at.entry, other=stayed))
    # What an entry must read is its sequence's own affair: it is not taken from the other owner.
    return replace(back, must=before.must, computed=before.computed)


@dataclass(frozen=True)
class Inverse:
    """A micro-step, and how it is taken back."""

    step: MicroStep
    undo: Undo
    words: str


INVERSES = (
    Inverse(TAKE, release_again, "releasing what was taken"),
    Inverse(SHARE, release_again, "releasing what was shared"),
    Inverse(TRANSFER, release_again, "releasing what was transferred"),
    Inverse(FOLLOW, release_again, "releasing what was followed to"),
    Inverse(REPLACE, share_again, "releasing the copy and sharing the block that was left"),
)


def differs(a: Algebra, one: Any, other: Any) -> Any:
    """Whether two values differ."""
    return a.negate(one == other)


def tables_differ(a: Algebra, before: Cache, after: Cache, world: World) -> Any:
    """Whether any entry names another block, or must read anything else."""
    entry, slot = world.entry("entry"), world.number("in_slot")
    owner, owns_now = is_owner(before.pool, entry), is_owner(after.pool, entry)
    return a.any_of(
        a.all_of(a.any_of(owner, owns_now), differs(a, before.pool.tab[entry], after.pool.tab[entry])),
        a.all_of(owner, differs(a, before.computed[entry], after.computed[entry])),
        a.all_of(owner, differs(a, before.must[entry, slot], after.must[entry, slot])),
    )


def pools_differ(a: Algebra, before: Cache, after: Cache, world: World) -> Any:
    """Whether any refcount, the number of free blocks, or which blocks are free differs."""
    block = world.number("block")
    other = a.any_of(
        differs(a, before.pool.ref[block], after.pool.ref[block]),
        differs(a, times_free(a, before.pool, block), times_free(a, after.pool, block)),
    )
    return a.any_of(differs(a, before.pool.free, after.pool.free), a.all_of(is_block(a, before.pool, block), other))


def contents_differ(a: Algebra, before: Cache, after: Cache, world: World) -> Any:
    """Whether a block that has an owner holds anything else."""
    block, slot = world.number("owned"), world.number("of_slot")
    owned = a.all_of(is_block(a, before.pool, block), before.pool.ref[block] > 0)
    return a.all_of(owned, differs(a, before.holds[block, slot], after.holds[block, slot]))


OBSERVED: dict[str, tuple[Callable[[Algebra, Cache, Cache, World], Any], str]] = {
    "tables": (tables_differ, "every entry names and must read what it did"),
    "pool": (pools_differ, "every refcount is what it was, and the same blocks are free"),
    "contents": (contents_differ, "every owned block holds what it did"),
}
"""What can be told of a cache from outside, in three parts, each with the words that say it is unchanged."""


def _undone(inverse: Inverse, part: str) -> ClaimIn:
    def claim(world: World) -> Claim:
        happened, a = contents_of(world, inverse.step), world.a
        after = inverse.undo(a, happened)
        changed = OBSERVED[part][0](a, happened.before, after, world)
        return claim_law(a, "robust.atomic-failure", Failure(changed), happened.given)

    return claim


for _inverse in INVERSES:
    for _part, (_, _words) in OBSERVED.items():
        add(
            f"{_inverse.step.name}.taken-back.{_part}",
            Kind.SOUNDNESS,
            f"A {_inverse.step.name} is taken back by {_inverse.words}: {_words}.",
            _undone(_inverse, _part),
            law="robust.atomic-failure",
            rests_on=KEPT,
        )


# -- ending ---------------------------------------------------------------------------------------------


def _frees_in_any_state(world: World) -> Claim:
    cache, p, a = world.cache("here"), world.entry("p"), world.a
    given = [*invariant(world, cache.pool), is_owner(cache.pool, p)]
    fails = a.negate(a.all_of(RELEASE.can(a, cache, At(p)), cache.pool.ref[cache.pool.tab[p]] >= 1))
    return claim_law(a, "robust.free-any-state", Ending(again=a.any_of(), raised=fails, changed=a.any_of()), given)


def _frees_nothing_again(world: World) -> Claim:
    happened, a = contents_of(world, RELEASE), world.a
    more = RELEASE.can(a, happened.after, happened.at)
    return claim_law(a, "robust.free-any-state", Ending(again=a.all_of(), raised=more, changed=more), happened.given)


add(
    "free.any-state",
    Kind.SOUNDNESS,
    "Whatever an entry owns can be given back at any time, on whichever device it lies.",
    _frees_in_any_state,
    law="robust.free-any-state",
    rests_on=KEPT,
)
add(
    "free.again",
    Kind.SOUNDNESS,
    "An entry that was given back owns nothing: freeing again finds nothing to do.",
    _frees_nothing_again,
    law="robust.free-any-state",
    rests_on=KEPT,
)

OBLIGATIONS = AREA.obligations
