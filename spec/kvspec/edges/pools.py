"""Which pools a life of the group needs, and what asking a guard at its end shows in each of them.

The group's counts do not depend on how large the pools are, how high the watermark is or how much another group holds,
as long as every guard on the way says OK. So the search carries along what the way *wants* of the pools, and the pools
are chosen at the end. It must not know how the group came to its state.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

from kvspec.algebra import INTS
from kvspec.edges.meaning import Pool, outcome, pool_values, shown
from kvspec.edges.state import MOST_POOL
from kvspec.guards import Demand
from kvspec.vocabulary import Guard

NOTHING = -MOST_POOL * 2
"""Less than any demand."""

MOST_WATERMARK = 2


class Place(IntEnum):
    """Where the other group is."""

    NOWHERE = 0
    GPU = 1
    CPU = 2


class Wants(NamedTuple):
    """The most blocks that the group held when a guard was asked for it, by what must fit beside that.

    admitted: after an admission, beside the watermark. appended: after an append. moved: on the CPU. Those that are
    `beside` fit beside the other group's prompt too, on the same device; what it has grown by is counted in.
    """

    admitted: int = NOTHING
    appended: int = NOTHING
    moved: int = NOTHING
    admitted_beside: int = NOTHING
    appended_beside: int = NOTHING
    moved_beside: int = NOTHING

    def most(self) -> int:
        """The largest of them."""
        return max(self)

    def within(self, other: Wants) -> bool:
        """Whether pools that suffice for the other suffice for this."""
        return all(mine <= theirs for mine, theirs in zip(self, other, strict=True))


class Pools(NamedTuple):
    """The pools, the watermark and the blocks of the other group's prompt. Ordered: fewest blocks in all first."""

    both: int
    gpu: int
    cpu: int
    watermark: int
    other: int


@dataclass(frozen=True)
class Request:
    """A guard asked of a group that holds so many blocks, where the other group is, after a way with these wants.

    extra: blocks that the other group has beyond those of its prompt.
    """

    guard: Guard
    need: int
    held: int
    swapped: bool
    place: Place
    extra: int
    wants: Wants


def _least_cpu(wants: Wants, other: int) -> int:
    return max(0, wants.moved, wants.moved_beside + other)


def _least_gpu(wants: Wants, other: int, watermark: int) -> int:
    admitted = max(wants.admitted, wants.admitted_beside + other) + watermark
    return max(1, admitted, wants.appended, wants.appended_beside + other)


def _possible(request: Request) -> Iterator[Pools]:
    """The pools that suffice for the way: of the pool that the guard is not about, just enough."""
    others = range(1, MOST_POOL + 1) if request.place else (0,)
    for other in others:
        cpu = _least_cpu(request.wants, other)
        if request.guard is Guard.SWAP_OUT:
            gpu = _least_gpu(request.wants, other, 0)
            if gpu <= MOST_POOL:
                yield from (Pools(gpu + more, gpu, more, 0, other) for more in range(cpu, MOST_POOL + 1))
            continue
        for watermark in range(MOST_WATERMARK + 1):
            least = _least_gpu(request.wants, other, watermark)
            if cpu <= MOST_POOL:
                yield from (Pools(gpu + cpu, gpu, cpu, watermark, other) for gpu in range(least, MOST_POOL + 1))


POOL_ATOMS = ("outcome", "watermark", "device", "other", "failure")


def _seen(request: Request, pools: Pools) -> tuple[str, ...]:
    """The values of POOL_ATOMS in these pools."""
    on_cpu = request.guard is Guard.SWAP_OUT
    total = pools.cpu if on_cpu else pools.gpu
    beside = pools.other + request.extra
    here = request.place is (Place.CPU if on_cpu else Place.GPU)
    own = request.held if request.swapped is on_cpu else 0
    free = total - own - (beside if here else 0)
    attainable = total - own if request.guard is Guard.APPEND else total
    reserve = pools.watermark if request.guard in (Guard.ALLOCATE, Guard.SWAP_IN) else 0
    wanted = Demand(request.need, reserve, attainable)
    pool = Pool(free, total, pools.watermark, bool(request.place), request.place is Place.CPU)
    values = {"outcome": outcome(INTS, wanted, free), **pool_values(INTS, pool, request.need)}
    found = shown(values)
    return tuple(found[name] for name in POOL_ATOMS)


def choices(request: Request) -> tuple[tuple[tuple[str, ...], Pools], ...]:
    """Everything that the request can show, each with the least pools in which it does."""
    least: dict[tuple[str, ...], Pools] = {}
    for pools in sorted(_possible(request)):
        least.setdefault(_seen(request, pools), pools)
    return tuple(least.items())
