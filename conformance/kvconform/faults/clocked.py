"""The reference ordered by a clock: it evicts what was released at the earliest time, and must decide among equals.

Right itself, and what the faults about clocks are wrong versions of: kvref has no clock that could be coarse. Knows
how kvref's pool can be changed. Must not know any fault.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import ClassVar

from kvconform.faults.assembly import Assembled, Pool
from kvconform.reference import ReferenceAdapter
from kvref import BlockManager
from kvspec.vocabulary import Config

Time = Callable[[], int]
"""Reads the clock."""


class ClockedPool(Pool):
    """A pool that stamps blocks with the time when they are released, and evicts the one with the lowest stamp; of
    equal ones the one that is furthest from the beginning of its prompt.
    """

    def __init__(self, num_blocks: int, name: str = "pool") -> None:
        super().__init__(num_blocks, name)
        self.time: Time = int
        self._stamps = [0] * num_blocks

    def release_many(self, blocks: Iterable[int]) -> None:
        blocks = list(blocks)
        super().release_many(blocks)
        for block in blocks:
            self._stamps[block] = self.time()

    def _evict_oldest(self) -> int:
        block = min(self._cached, key=self._rank)
        self._cached.remove(block)
        self._unpublish(block)
        return block

    def _rank(self, block: int) -> tuple[int, ...]:
        """What is lowest goes first."""
        return self._stamps[block], -self._depth(block), block

    def _depth(self, block: int) -> int:
        """Blocks from the beginning of the prompt to this one."""
        node, depth = self._nodes[block], 0
        while node is not None:
            node, depth = node.parent, depth + 1
        return depth


class Clocked(Assembled):
    """The reference with such a pool. Its clock stands still until it is given one."""

    pool_class = ClockedPool
    _time: Time = int

    def set_clock(self, time: Time) -> None:
        """Read this clock from now on."""
        self._time = time
        if isinstance(self._gpu, ClockedPool):
            self._gpu.time = time

    def _start_pools(self, num_gpu_blocks: int, num_cpu_blocks: int) -> None:
        super()._start_pools(num_gpu_blocks, num_cpu_blocks)
        self.set_clock(self._time)


class ClockedReference(ReferenceAdapter):
    """Gives the manager the kit's clock."""

    name: ClassVar[str] = "clocked"
    capabilities = replace(ReferenceAdapter.capabilities, coarse_clock=True)
    manager_class: ClassVar[type[BlockManager]] = Clocked

    def start(self, config: Config) -> None:
        """A fresh manager that reads the time from here."""
        super().start(config)
        if isinstance(self.manager, Clocked):
            self.manager.set_clock(lambda: self.now)
