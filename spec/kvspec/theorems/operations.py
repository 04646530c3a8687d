"""Operations are made of micro-steps that are always possible: an approved operation is never stuck at one of them.

`guards` counts blocks, `ownership` and `data` know which ones; here they meet. While an approved operation is on
course, and the pool has as many free blocks as was counted, each micro-step that it comes to is possible and takes
exactly the block that was counted for it. By induction over the rounds of its loops the whole operation is performed,
and whatever is kept by each micro-step is kept by it. Micro-steps that take no block need no guard: that they are
possible follows from the tables alone.

`PARTS` names, for each part of each operation of `kvspec.model.operations`, the theorem that says so.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from kvspec.algebra import Algebra
from kvspec.guards import is_ok
from kvspec.model.cache import At, Cache
from kvspec.model.operations import COMPOSED, Part
from kvspec.model.pool import is_empty, is_owner
from kvspec.model.steps import MICRO_STEPS, RELEASE, SHARE, TAKE, TRANSFER, MicroStep
from kvspec.theorems.guards import COURSE, UNDER_WAY, course, known, under_way
from kvspec.theorems.happening import add_general, owners_of
from kvspec.theorems.obligation import Area, Claim, Kind
from kvspec.theorems.ownership import KEPT
from kvspec.theorems.performing import take_one, wants_a_block
from kvspec.theorems.requests import ASKED, Numbers, unknowns_of
from kvspec.theorems.worlds import ClaimIn, World, invariant

AREA = Area("operations")


add = partial(add_general, AREA)
"""Adds an obligation about any number of blocks and entries."""


# -- parts that take blocks -----------------------------------------------------------------------------


def comes_to(world: World, step: str, cache: Cache) -> tuple[At, Any]:
    """Where the next round of the loop happens, and what is so there whatever is free."""
    a, p, pool = world.a, world.entry("p"), cache.pool
    if step == "replace":
        return At(p), a.all_of(is_owner(pool, p), pool.ref[pool.tab[p]] > 1)
    if step == "take":
        return At(p), is_empty(pool, p)
    there = world.cache("there")
    return At(p, source=there), a.all_of(is_owner(there.pool, p), is_empty(pool, p))


def approved(world: World, guard: str, free: Any) -> tuple[Any, list[Any]]:
    """What is free after one more block of an operation that was approved, on course and wants one, with so many free;
    and that it is so.
    """
    a = world.a
    u = Numbers(**{name: world.number(name) for name in (*unknowns_of(guard), *UNDER_WAY)})
    request, now = ASKED[guard](a, u), under_way(u)
    given = [
        *known(a, u, request),
        *course(a, now, u.block_size, u.rest, u.free, request.demand.need),
        is_ok(request.demand, u.free),
        wants_a_block(a, now, u.block_size),
        free == now.free,
    ]
    return take_one(a, now, u.block_size).free, given


def never_stuck(guard: str, step: MicroStep) -> ClaimIn:
    """An approved operation that comes to this micro-step finds a free block, and it takes just the one."""

    def claim(world: World) -> Claim:
        a, cache = world.a, world.cache("here")
        at, ready = comes_to(world, step.name, cache)
        left, given = approved(world, guard, cache.pool.free)
        counted = step.do(a, cache, at).pool.free == left
        return Claim([*given, ready], a.all_of(step.can(a, cache, at), counted))

    return claim


def _name(op: str, part: Part) -> str:
    return f"{op.replace('_', '-')}.{part.step}-on-{part.device.value}"


PARTS: dict[tuple[str, Part], str] = {}

for _op, _parts in COMPOSED.items():
    for _part in _parts:
        if MICRO_STEPS[_part.step].takes:
            _guard = _op.replace("_", "-")
            add(
                _name(_op, _part),
                Kind.INDUCTION,
                f"An approved {_op} never comes to a {_part.step} on the {_part.device.value.upper()} that finds no "
                "free block, and it takes the one that was counted.",
                never_stuck(_guard, MICRO_STEPS[_part.step]),
                rests_on=(*COURSE, f"guards.{_guard}.starts", f"guards.{_guard}.sound"),
            )
            PARTS[_op, _part] = f"operations.{_name(_op, _part)}"

# -- parts that take none -------------------------------------------------------------------------------


def _shares_what_was_taken(world: World) -> Claim:
    happened, a, q = owners_of(world, TAKE), world.a, world.entry("q")
    given = [*happened.given, is_empty(happened.before.pool, q), a.negate(q == happened.at.entry)]
    return Claim(given, SHARE.can(a, happened.after, At(q, other=happened.at.entry)))


def _shares_the_parents(world: World) -> Claim:
    """The child is new: its entries are empty. It comes to read what its parent reads there."""
    cache, a, slot = world.cache("here"), world.a, world.number("slot")
    parent, child = world.entry("parent"), world.entry("child")
    given = [is_owner(cache.pool, parent), is_empty(cache.pool, child)]
    at = At(child, other=parent)
    after = SHARE.do(a, cache, at)
    same = a.all_of(
        after.pool.tab[child] == cache.pool.tab[parent],
        after.computed[child] == cache.computed[parent],
        after.must[child, slot] == cache.must[parent, slot],
    )
    return Claim(given, a.all_of(SHARE.can(a, cache, at), same))


def _releases_what_was_moved(world: World) -> Claim:
    """A transfer changes nothing on the device it reads from, so that the entry can be released there, and then is here
    only.
    """
    happened, a = owners_of(world, TRANSFER), world.a
    source, p = happened.at.source, happened.at.entry
    assert source is not None
    left = RELEASE.do(a, source, At(p))
    goal = a.all_of(RELEASE.can(a, source, At(p)), is_empty(left.pool, p), is_owner(happened.after.pool, p))
    return Claim([*happened.given, *invariant(world, source.pool)], goal)


def _has_a_slot(a: Algebra, block_size: Any, blocks: Any, tokens: Any, position: Any, entry: Any) -> Claim:
    """entry: the one of the table that position lies in."""
    slot = position - entry * block_size
    given = [
        block_size >= 1,
        blocks * block_size >= tokens,
        position >= 0,
        position < tokens,
        slot >= 0,
        slot < block_size,
    ]
    return Claim(given, a.all_of(entry >= 0, entry < blocks))


add(
    "allocate.share-on-gpu",
    Kind.INDUCTION,
    "Whoever is admitted with the first sequence can share each block that was taken for it.",
    _shares_what_was_taken,
    rests_on=KEPT,
)
add(
    "fork.share-on-gpu",
    Kind.INDUCTION,
    "A child can share each block of its parent, and reads there what its parent reads.",
    _shares_the_parents,
    rests_on=KEPT,
)
for _op, _here, _there in (("swap_out", "gpu", "CPU"), ("swap_in", "cpu", "GPU")):
    add(
        f"{_op.replace('_', '-')}.release-on-{_here}",
        Kind.INDUCTION,
        f"What a {_op} has moved to the {_there} can be released where it was, and then lies on the {_there} only.",
        _releases_what_was_moved,
        rests_on=(*KEPT, "ownership.transfer.one-device"),
    )
AREA.add(
    "step.write-on-gpu",
    Kind.INDUCTION,
    "Every token that a step computes has a slot in its sequence's table, which covers the tokens.",
    _has_a_slot,
    law="table.covers",
    rests_on=("guards.table.covers", "data.write.alone"),
)

ELSEWHERE = {
    "follow": "data.transfer.may-follow",
    "release": "atomicity.free.any-state",
}
"""Micro-steps that are possible for a reason that has nothing to do with the operation."""

_HERE = {obligation.id for obligation in AREA.obligations}
for _op, _parts in COMPOSED.items():
    for _part in _parts:
        _own = f"operations.{_name(_op, _part)}"
        PARTS[_op, _part] = _own if _own in _HERE else ELSEWHERE[_part.step]

OBLIGATIONS = AREA.obligations
