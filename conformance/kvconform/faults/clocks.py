"""Managers that are right as long as no two uses have the same time by their clock."""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heappop, heappush

from kvconform.faults.base import Fault
from kvconform.faults.clocked import Clocked, ClockedPool


class _LazyHeapPool(ClockedPool):
    """Leaves the entries of revived blocks in its heap, and skips those whose stamp is not their block's any more."""

    def __init__(self, num_blocks: int, name: str = "pool") -> None:
        super().__init__(num_blocks, name)
        self._heap: list[tuple[int, ...]] = []

    def release_many(self, blocks: Iterable[int]) -> None:
        blocks = list(blocks)
        super().release_many(blocks)
        for block in blocks:
            if block in self._cached:
                heappush(self._heap, self._rank(block))

    def acquire(self, block: int) -> None:
        super().acquire(block)
        self._stamps[block] = self.time()

    def forget(self) -> None:
        super().forget()
        self._heap.clear()

    def _evict_oldest(self) -> int:
        while True:
            stamp, _, block = heappop(self._heap)
            if self._nodes[block] is not None and stamp == self._stamps[block]:
                break
        if block in self._cached:
            self._cached.remove(block)
        self._unpublish(block)
        return block


class StampIsIdentity(Clocked):
    """Tells a stale entry of its eviction heap by its time stamp: a block that is released and hit at one time is
    evicted although it is in use.
    """

    pool_class = _LazyHeapPool


class _NewestOfEqualsPool(ClockedPool):
    def __init__(self, num_blocks: int, name: str = "pool") -> None:
        super().__init__(num_blocks, name)
        self._released, self._serials = 0, [0] * num_blocks

    def release_many(self, blocks: Iterable[int]) -> None:
        blocks = list(blocks)
        super().release_many(blocks)
        self._released += 1
        for block in blocks:
            self._serials[block] = self._released

    def _rank(self, block: int) -> tuple[int, ...]:
        stamp, *rest = super()._rank(block)
        return stamp, -self._serials[block], *rest


class EqualTimesNewestFirst(Clocked):
    """Of blocks that were released at one time it evicts those released last: a prefix that others have used longer
    goes before what continues it.
    """

    pool_class = _NewestOfEqualsPool


FAULTS = (
    Fault(
        "stamp-is-identity",
        "C27",
        ("prefix.evict-unreferenced",),
        "A block that is released and hit again while the clock stands still is evicted although it is in use.",
        "vLLM 0.6.6 to 0.10, second generation: a lazily cleaned heap tells stale entries by their time stamps.",
        StampIsIdentity,
    ),
    Fault(
        "equal-times-newest-first",
        "C29",
        ("prefix.descendants-first",),
        "Of blocks released at one time, the last one goes first: a prefix before what continues it.",
        "Ties of time stamps that are left to a heap or a sort.",
        EqualTimesNewestFirst,
    ),
)
