"""Managers that lose track of cached blocks: who owns them, which are free, which is given up first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kvconform.faults.assembly import Assembled, Pool
from kvconform.faults.base import Fault
from kvref import AllocStatus, BlockAllocator, BlockManager
from kvref.caching import CachingAllocator
from kvref.content import Match, PrefixCache
from kvref.prefix import BlockTokens, Node

# --- admission ---------------------------------------------------------------------------------------


class HitsCountedTwice(BlockManager):
    """Counts a hit that nobody owns as one block less to take, and as a free block as well."""

    def _cached_verdict(self, need: int, matches: Sequence[Match]) -> AllocStatus:
        hits = sum(len(match.held) for match in matches)
        if self._gpu.num_free - (need - hits) >= self._watermark:
            return AllocStatus.OK
        return super()._cached_verdict(need, matches)


class _HastyCache(PrefixCache):
    def take_rows(self, matches: Sequence[Match], needs: Sequence[int]) -> list[list[int]]:
        for match in matches:
            for block in match.held:
                self._pool.acquire(block)
        return [
            match.blocks + self._pool.take_many(need - len(match.blocks))
            for match, need in zip(matches, needs, strict=True)
        ]


class FailedAdmissionKeepsHits(Assembled):
    """Takes the hits before it knows that there is room for the rest, and keeps them if there is none."""

    cache_class = _HastyCache


# --- references --------------------------------------------------------------------------------------


class _UnheldHitPool(Pool):
    def acquire(self, block: int) -> None:
        if block not in self._cached:
            super().acquire(block)

    def release_many(self, blocks: Iterable[int]) -> None:
        for block in blocks:
            if block not in self._cached:
                super().release_many([block])


class HitNotReferenced(Assembled):
    """A hit on a cached block takes no reference: the block stays free. Releasing it is kept from complaining."""

    pool_class = _UnheldHitPool


class _ListedHitPool(Pool):
    def acquire(self, block: int) -> None:
        if block in self._cached:
            self._refcounts[block] += 1
        else:
            super().acquire(block)


class RevivedStaysListed(Assembled):
    """A cached block that is hit gets its owner, and stays in the list of those to be handed out."""

    pool_class = _ListedHitPool


class _UncountedHitPool(Pool):
    def acquire(self, block: int) -> None:
        if block in self._cached:
            super().acquire(block)


class SharedHitNotCounted(Assembled):
    """A hit on a block that somebody holds adds no owner: it is free when the first of them goes."""

    pool_class = _UncountedHitPool


class _PinningPool(Pool):
    def __init__(self, num_blocks: int, name: str = "pool") -> None:
        super().__init__(num_blocks, name)
        self._pinned: set[int] = set()

    def acquire(self, block: int) -> None:
        super().acquire(block)
        self._pinned.add(block)

    def release_many(self, blocks: Iterable[int]) -> None:
        blocks = list(blocks)
        super().release_many(blocks)
        for block in self._pinned.intersection(blocks):
            if block in self._cached:
                self._cached.remove(block)
            elif block in self._free:
                self._free.remove(block)


class HitNeverGivenBack(Assembled):
    """A hit pins its block, and nobody takes the pin away: without an owner it is not free."""

    pool_class = _PinningPool


class _DeduplicatingPool(Pool):
    def publish(self, block: int, parent: Node, tokens: BlockTokens) -> Node:
        node = super().publish(block, parent, tokens)
        if node.block is not None and node.block != block:
            self.acquire(node.block)
            self.release(block)
        return node


class WrongDuplicateReferenced(Assembled):
    """Of two blocks with one content it references the published one, while the row names the other."""

    pool_class = _DeduplicatingPool


class SwappedOutStaysHeld(BlockManager):
    """After a swap-out, published GPU blocks stay held as if the sequence were still there."""

    def _hand_over(self, old: int, source: BlockAllocator, new: int, target: BlockAllocator, owners: int) -> None:
        published = isinstance(source, CachingAllocator) and source.node_of(old) is not None
        super()._hand_over(old, source, new, target, owners)
        if published and isinstance(source, CachingAllocator):
            source.acquire(old)


# --- eviction ----------------------------------------------------------------------------------------


class _StalePool(Pool):
    def _evict_oldest(self) -> int:
        return self._cached.pop()


class EvictedStaysIndexed(Assembled):
    """A cached block that is handed out for something else can still be hit for what it held."""

    pool_class = _StalePool


class _PublishingOrderPool(Pool):
    """Remembers in which order blocks were published."""

    def __init__(self, num_blocks: int, name: str = "pool") -> None:
        super().__init__(num_blocks, name)
        self._published: dict[int, None] = {}

    def publish(self, block: int, parent: Node, tokens: BlockTokens) -> Node:
        node = super().publish(block, parent, tokens)
        if node.block == block:
            self._published.setdefault(block)
        return node

    def forget(self) -> None:
        super().forget()
        self._published.clear()

    def _unpublish(self, block: int) -> None:
        super()._unpublish(block)
        del self._published[block]


class _OldestPublishedPool(_PublishingOrderPool):
    def _evict_oldest(self) -> int:
        block = next(iter(self._published))
        if block in self._cached:
            self._cached.remove(block)
        self._unpublish(block)
        return block


class EvictsReferenced(Assembled):
    """Evicts the block that was published first, whether or not somebody owns it."""

    pool_class = _OldestPublishedPool


class _NewestFirstPool(Pool):
    def _evict_oldest(self) -> int:
        block = next(reversed(self._cached))
        self._cached.remove(block)
        self._unpublish(block)
        return block


class EvictsNewestFirst(Assembled):
    """Evicts the cached block that was used last."""

    pool_class = _NewestFirstPool


class _FifoPool(_PublishingOrderPool):
    def _evict_oldest(self) -> int:
        block = next(block for block in self._published if block in self._cached)
        self._cached.remove(block)
        self._unpublish(block)
        return block


class EvictsFirstPublished(Assembled):
    """Evicts the cached block that was published first, however often it was hit since."""

    pool_class = _FifoPool


class PrefixEvictedFirst(BlockManager):
    """Gives a row's blocks back from the first on: a prefix is evicted before what continues it."""

    def _release_order(self, blocks: Iterable[int]) -> Iterable[int]:
        return blocks


class _BoundedPool(Pool):
    def release_many(self, blocks: Iterable[int]) -> None:
        for block in blocks:
            super().release_many([block])
            if len(self._cached) > 1:
                self._evict_oldest()


class EvictedBlockLost(Assembled):
    """Keeps one cached block at most; what it evicts for that is in no list any more."""

    pool_class = _BoundedPool


class _LeakyResetPool(Pool):
    def forget(self) -> None:
        self._cached.clear()
        super().forget()


class ResetLosesCached(Assembled):
    """A reset of the index drops the cached blocks' entries, and does not put them among the free ones."""

    pool_class = _LeakyResetPool


class _UncountedPool(Pool):
    @property
    def num_free(self) -> int:
        return len(self._free)


class CachedNotCounted(Assembled):
    """A cached block is not counted as free."""

    pool_class = _UncountedPool


class _ForgetfulPool(Pool):
    def release_many(self, blocks: Iterable[int]) -> None:
        for block in blocks:
            if self._refcounts[block] == 1 and self._nodes[block] is not None:
                self._unpublish(block)
            super().release_many([block])


class ForgottenWhenFreed(Assembled):
    """Content is forgotten with a block's last owner: only what others hold is ever hit."""

    pool_class = _ForgetfulPool


FAULTS = (
    Fault(
        "hits-counted-twice",
        "C14",
        ("admission.hits-counted-once", "admission.sound-allocate"),
        "can_allocate counts a cached hit that nobody owns as a hit and as a free block.",
        "vLLM's V1 manager subtracts such hits from the free blocks for this reason.",
        HitsCountedTwice,
    ),
    Fault(
        "failed-admission-keeps-hits",
        "C10",
        ("robust.atomic-failure",),
        "An admission that runs out of blocks keeps the hits that it took first.",
        "Hits referenced before the rest of the prompt is looked at.",
        FailedAdmissionKeepsHits,
    ),
    Fault(
        "hit-not-referenced",
        "C06",
        ("accounting.refcount", "accounting.free-exact"),
        "A hit on a cached block takes no reference: the block stays in the free set.",
        "Matches that are not locked before they are used.",
        HitNotReferenced,
    ),
    Fault(
        "revived-stays-listed",
        "C27",
        ("accounting.free-exact",),
        "A cached block that is hit stays among those to be handed out, and is handed out twice.",
        "A hit that does not take the block out of the eviction list.",
        RevivedStaysListed,
    ),
    Fault(
        "shared-hit-not-counted",
        "C06",
        ("accounting.refcount",),
        "A hit on a block that somebody holds adds no owner.",
        "A live table that names a block freed by another request.",
        SharedHitNotCounted,
    ),
    Fault(
        "hit-never-given-back",
        "C06",
        ("accounting.conservation", "accounting.no-leak"),
        "The pin of a hit is never taken away: the block does not come back.",
        "Lock and unlock that do not pair up in prefix trees.",
        HitNeverGivenBack,
    ),
    Fault(
        "wrong-duplicate-referenced",
        "C07",
        ("accounting.conservation",),
        "Of two blocks with the same content, the published one gets the reference that the row's own had.",
        "Two requests that compute one prefix in the same step.",
        WrongDuplicateReferenced,
    ),
    Fault(
        "swapped-out-stays-held",
        "C20",
        ("accounting.conservation",),
        "A swap-out keeps a reference to the GPU blocks that were published.",
        "Tiered caches that pin the upper tier's copy.",
        SwappedOutStaysHeld,
    ),
    Fault(
        "evicted-stays-indexed",
        "C22",
        ("prefix.hit-exact",),
        "A block that was evicted and handed out can still be hit for what it held.",
        "An index that is not told of evictions.",
        EvictedStaysIndexed,
    ),
    Fault(
        "evicts-referenced",
        "C27",
        ("prefix.evict-unreferenced",),
        "The block that was published first is evicted, even while somebody owns it.",
        "Eviction that does not look at references.",
        EvictsReferenced,
    ),
    Fault(
        "evicts-newest-first",
        "C28",
        ("prefix.lru",),
        "The cached block that was used last is evicted first.",
        "The wrong end of the eviction list.",
        EvictsNewestFirst,
    ),
    Fault(
        "evicts-first-published",
        "C28",
        ("prefix.lru",),
        "Cached blocks are evicted in the order in which they were published, whatever was hit since.",
        "Hits that do not refresh a block's place in the eviction order.",
        EvictsFirstPublished,
    ),
    Fault(
        "prefix-evicted-first",
        "C29",
        ("prefix.descendants-first",),
        "A freed row's first block is evicted before those that continue it.",
        "Blocks freed in row order; vLLM frees them in reverse.",
        PrefixEvictedFirst,
    ),
    Fault(
        "evicted-block-lost",
        "C12",
        ("accounting.conservation",),
        "Of cached blocks beyond a limit the entry is dropped, and the block is lost with it.",
        "A limit on what is cached, heeded when blocks are freed.",
        EvictedBlockLost,
    ),
    Fault(
        "reset-loses-cached",
        "C34",
        ("accounting.conservation",),
        "A reset of the index loses the cached blocks.",
        "A reset that empties the eviction list with the index.",
        ResetLosesCached,
    ),
    Fault(
        "cached-not-counted",
        "C12",
        ("accounting.conservation",),
        "The free count leaves cached blocks out.",
        "Capacity that shrinks as the cache fills.",
        CachedNotCounted,
    ),
    Fault(
        "forgotten-when-freed",
        "C22",
        ("prefix.hit-maximal",),
        "A block's content is forgotten when its last owner goes.",
        "Sharing among running requests only.",
        ForgottenWhenFreed,
    ),
)
