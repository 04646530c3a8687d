"""A reference manager put together from other parts: how a fault changes the pool, the index or the cache."""

from __future__ import annotations

from typing import ClassVar

from kvref import BlockManager
from kvref.allocator import BlockAllocator
from kvref.caching import CachingAllocator
from kvref.content import PrefixCache
from kvref.prefix import BlockTokens, PrefixIndex, chain_hash
from kvref.sequence import Device


class Pool(CachingAllocator):
    """A pool with an index of a given kind."""

    index_class: ClassVar[type[PrefixIndex]] = PrefixIndex

    def __init__(self, num_blocks: int, name: str = "pool") -> None:
        super().__init__(num_blocks, name)
        self._index = self.index_class(self.hash_of)

    def hash_of(self, parent: int, tokens: BlockTokens) -> int:
        """The hash of a block."""
        return chain_hash(parent, tokens)


class Assembled(BlockManager):
    """The reference, with a pool and a cache of given kinds. Without prefix caching it is the reference."""

    pool_class: ClassVar[type[CachingAllocator]] = Pool
    cache_class: ClassVar[type[PrefixCache]] = PrefixCache

    def _new_pool(self, device: Device, num_blocks: int) -> BlockAllocator:
        pool = super()._new_pool(device, num_blocks)
        return self.pool_class(num_blocks, device.name) if isinstance(pool, CachingAllocator) else pool

    def _start_pools(self, num_gpu_blocks: int, num_cpu_blocks: int) -> None:
        super()._start_pools(num_gpu_blocks, num_cpu_blocks)
        if isinstance(self._gpu, CachingAllocator):
            self._cache = self.cache_class(self._gpu, self._block_size, self._window)
