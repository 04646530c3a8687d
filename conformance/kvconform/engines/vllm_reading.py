"""Looking into vLLM's managers without touching anything: free blocks, reference counts, cached blocks.

Knows: the private fields that hold these, by generation. Must not know: what they should be, or the kit.
Block ids are the pool's own, from 0 on each device, in both generations.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from .vllm_managers import Generation


class Pool(NamedTuple):
    """One device's blocks as the manager has them now; a snapshot, not a view."""

    free: frozenset[int]  # blocks that hold nothing
    reclaimable: frozenset[int]  # unreferenced blocks that still can be found by content; they count as free
    refcounts: dict[int, int]  # of every block that the manager can be seen to know
    cached: frozenset[int]  # blocks in the content index (the first generation lists partly filled ones too)


def read_pool(manager: Any, generation: Generation, device: str) -> Pool:
    """The pool of one device, "gpu" or "cpu"."""
    if generation is Generation.FIRST:
        allocator = manager.gpu_allocator if device == "gpu" else manager.cpu_allocator
        return _first_cached(allocator) if hasattr(allocator, "evictor") else _first_plain(manager, allocator)
    allocator, offset = _second_allocator(manager, device)
    return _second_cached(allocator, offset) if hasattr(allocator, "evictor") else _second_plain(allocator, offset)


def _first_plain(manager: Any, allocator: Any) -> Pool:
    """Counts are in the blocks, and blocks in use are reached only through the tables."""
    free = frozenset(block.block_number for block in allocator.free_blocks)
    counts = {block.block_number: int(block.ref_count) for block in allocator.free_blocks}
    for table in manager.block_tables.values():
        for block in table:
            if block.device is allocator.device:
                counts[block.block_number] = int(block.ref_count)
    return Pool(free, frozenset(), counts, frozenset())


def _first_cached(allocator: Any) -> Pool:
    """Blocks come into being one by one; those in use are indexed, those out of use wait in the evictor."""
    waiting = {block.block_number: int(block.ref_count) for block in allocator.evictor.free_table.values()}
    in_use = {block.block_number: int(block.ref_count) for block in allocator.cached_blocks.values()}
    fresh = frozenset(range(allocator.current_num_blocks, allocator.num_blocks))
    counts = {**dict.fromkeys(fresh, 0), **waiting, **in_use}
    return Pool(fresh, frozenset(waiting), counts, frozenset(waiting) | frozenset(in_use))


def _second_allocator(manager: Any, device: str) -> tuple[Any, int]:
    """The device's allocator, and the number of blocks whose ids come before its own."""
    allocators = manager.block_allocator._allocators
    wanted = device.upper()
    found = next(allocator for key, allocator in allocators.items() if key.name == wanted)
    return found, 0 if wanted == "GPU" else manager.num_total_gpu_blocks


def _second_plain(allocator: Any, offset: int) -> Pool:
    free = frozenset(block - offset for block in allocator._free_block_indices)
    return Pool(free, frozenset(), _second_counts(allocator, offset), frozenset())


def _second_cached(allocator: Any, offset: int) -> Pool:
    free = frozenset(block - offset for block in allocator._hashless_allocator._free_block_indices)
    waiting = frozenset(block - offset for block in allocator.evictor.free_table)
    cached = frozenset(block - offset for block in allocator._cached_blocks.values())
    return Pool(free, waiting, _second_counts(allocator, offset), cached)


def _second_counts(allocator: Any, offset: int) -> dict[int, int]:
    return {block - offset: int(count) for block, count in allocator._refcounter._refcounts.items()}


class FirstPool:
    """A first-generation pool, to be looked at block by block at any time."""

    def __init__(self, manager: Any, allocator: Any) -> None:
        """To be made before the manager has handed out anything: later only tables reach the blocks in use."""
        self._manager = manager
        self._allocator = allocator
        # Block objects live as long as their pool, except where they come into being one by one (0.4.0 only).
        self._blocks = {block.block_number: block for block in getattr(allocator, "free_blocks", ())}

    def refcount(self, block: int) -> int:
        """The block's reference count."""
        if self._blocks:
            return int(self._blocks[block].ref_count)
        return self._pool().refcounts.get(block, 0)

    def free(self) -> list[int]:
        """The free list, with whatever it lists twice."""
        if self._blocks:
            return [block.block_number for block in self._allocator.free_blocks]
        pool = self._pool()
        return [*pool.free, *pool.reclaimable]

    def _pool(self) -> Pool:
        return read_pool(self._manager, Generation.FIRST, self._allocator.device.name.lower())


class SecondPool:
    """A second-generation pool, to be looked at block by block at any time."""

    def __init__(self, manager: Any, device: str) -> None:
        self._allocator, self._offset = _second_allocator(manager, device)
        self._refcounts = self._allocator._refcounter._refcounts
        self._caches = hasattr(self._allocator, "evictor")

    def refcount(self, block: int) -> int:
        """The block's reference count."""
        return int(self._refcounts[block + self._offset])

    def free(self) -> list[int]:
        """The free list, with whatever it lists twice; with caching also those that can still be found by content."""
        offset = self._offset
        if self._caches:
            listed = (*self._allocator._hashless_allocator._free_block_indices, *self._allocator.evictor.free_table)
            return [block - offset for block in listed]
        return [block - offset for block in self._allocator._free_block_indices]
