"""A pool that keeps the content of free blocks until somebody needs the room.

Knows: which blocks are published and under which node of the index, and in which order free ones are given up.
Must not know: sequences, rows, when content is computed, or what a prefix is worth.
"""

from collections.abc import Hashable, Iterable

from kvref.allocator import BlockAllocator
from kvref.block_queue import BlockQueue
from kvref.errors import BlockNotHeld, InvalidRequest
from kvref.prefix import BlockHash, BlockTokens, Node, PrefixIndex, chain_hash


class CachingAllocator(BlockAllocator):
    """A `BlockAllocator` whose published blocks stay *cached* when their last owner goes.

    A cached block is free: it counts as such and can be handed out. Until then a hit revives it.
    Blocks without content are handed out first, in the stack order of the base, then cached ones, the
    one released longest ago first (vLLM's automatic prefix caching and RadixAttention both evict the
    least recently used). Equal calls give equal blocks; every operation is O(1) for each block.

    `hash_block` is for tests that want hashes to collide.
    """

    def __init__(self, num_blocks: int, name: str = "pool", hash_block: BlockHash | None = None) -> None:
        super().__init__(num_blocks, name)
        self._index = PrefixIndex(hash_block or chain_hash)
        self._nodes: list[Node | None] = [None] * num_blocks
        self._cached = BlockQueue(num_blocks)

    @property
    def index(self) -> PrefixIndex:
        """The index of what is published in this pool."""
        return self._index

    @property
    def num_free(self) -> int:
        """Blocks that `take` can hand out now, cached ones included. O(1)."""
        return len(self._free) + len(self._cached)

    def free_blocks(self) -> tuple[int, ...]:
        """The free blocks in the order in which `take` would hand them out. O(free blocks)."""
        return (*super().free_blocks(), *self._cached)

    def cached_blocks(self) -> tuple[int, ...]:
        """The free blocks that still have their content, the next one to be evicted first. O(cached blocks)."""
        return tuple(self._cached)

    def node_of(self, block: int) -> Node | None:
        """The node under which a block is published, if it is. O(1)."""
        # Python would read -1 as the last block.
        return self._nodes[block] if 0 <= block < self.num_total else None

    def take_many(self, count: int) -> list[int]:
        """As the base; cached blocks come last and lose their content. O(count)."""
        short = count - len(self._free)
        if short <= 0:
            return super().take_many(count)
        self.require_free(count)
        taken = super().take_many(len(self._free))
        for _ in range(short):
            taken.append(self._evict_oldest())
            self._refcounts[taken[-1]] = 1
        return taken

    def release_many(self, blocks: Iterable[int]) -> None:
        """As the base; what has content is cached, the one released first to be evicted first. O(blocks)."""
        counts, nodes, total, free = self._refcounts, self._nodes, self.num_total, self._free
        cached: list[int] = []
        try:
            for block in blocks:
                owners = counts[block] if 0 <= block < total else self.refcount(block)  # which says what is wrong
                if owners == 0:
                    raise self._double_free(block)
                counts[block] = owners - 1
                if owners == 1:
                    (free if nodes[block] is None else cached).append(block)
        finally:
            self._cached.extend(cached)

    def acquire(self, block: int) -> None:
        """Add an owner to a block that is held or cached: a hit. `BlockNotHeld` if it is neither. O(1)."""
        if self.refcount(block) == 0 and block in self._cached:
            self._cached.remove(block)
            self._refcounts[block] = 1
        else:
            self.share(block)

    def publish(self, block: int, parent: Node, tokens: BlockTokens) -> Node:
        """State that a held block holds `tokens` after `parent`, for good; returns the node of that content.

        If another block is published with the same content, it stays the one, and `block` an ordinary
        block, which is not cached when it is freed. `BlockNotHeld` if the block is free. O(1).
        """
        if self.refcount(block) == 0:
            raise BlockNotHeld(f"{self._name}: block {block} is free; only its owner can publish it")
        node = self._index.obtain(parent, tokens)
        if node.block is None:
            node.block = block
            self._nodes[block] = node
        return node

    def evict(self, count: int) -> int:
        """Drop the content of `count` >= 0 cached blocks, or of all there are; returns of how many. O(count).

        They stay free and are handed out next. `InvalidRequest` if `count` is negative.
        """
        if count < 0:
            raise InvalidRequest(f"{self._name}: {count} blocks to evict; ask for 0 or more")
        evicted = [self._evict_oldest() for _ in range(min(count, len(self._cached)))]
        self._free.extend(reversed(evicted))
        return len(evicted)

    def forget(self) -> None:
        """Drop all content, that of held blocks too. Nodes from before mean nothing afterwards. O(published)."""
        self._free.extend(reversed(self._cached))
        self._cached.clear()
        for node in self._index.nodes():
            if node.block is not None:
                self._nodes[node.block] = None
        self._index = self._index.emptied()

    def num_unowned(self, blocks: Iterable[int]) -> int:
        """How many distinct ones of these blocks have no owner. O(blocks)."""
        return len({block for block in blocks if self._refcounts[block] == 0})

    def root(self, extra: Hashable) -> Node:
        """The root to publish below for these extra keys."""
        return self._index.obtain_root(extra)

    def _evict_oldest(self) -> int:
        """Take the content of the cached block released longest ago away; the block is in no list then."""
        block = self._cached.pop()
        self._unpublish(block)
        return block

    def _unpublish(self, block: int) -> None:
        """Take a published block out of the index."""
        node = self._nodes[block]
        assert node is not None
        self._nodes[block] = None
        node.block = None
        self._index.prune(node)
