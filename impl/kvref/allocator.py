"""One device's pool of physical blocks: which are free, and how many owners each of the others has.

Knows: block numbers, the free list, reference counts.
Must not know: sequences, tokens, devices other than its own, or why a block is wanted.
"""

from collections.abc import Iterable

from kvref.errors import BlockNotHeld, DoubleFree, InvalidConfig, InvalidRequest, OutOfBlocks


class BlockAllocator:
    """Hands out the blocks 0..num_blocks-1 of one device and counts their owners.

    Reference counting of physical blocks is the PagedAttention paper's (Kwon et al., SOSP 2023,
    section 4.4). The free list is a stack that starts with block 0 on top, so the same calls always
    give the same blocks, and a block given back is the next one handed out: a reuse bug shows at once.

    `num_blocks` >= 0 (a pool of size 0 is a device that is not there), else `InvalidConfig`.
    `name` appears in messages only.
    """

    def __init__(self, num_blocks: int, name: str = "pool") -> None:
        if num_blocks < 0:
            raise InvalidConfig(f"{name}: {num_blocks} blocks; a pool has 0 or more")
        self._name = name
        self._free = list(range(num_blocks - 1, -1, -1))
        self._refcounts = [0] * num_blocks
        self._aside: int | None = None

    @property
    def num_total(self) -> int:
        """Blocks in the pool: free, held, and set aside. O(1)."""
        return len(self._refcounts)

    @property
    def num_usable(self) -> int:
        """Blocks that can ever be handed out: all but the one set aside. O(1)."""
        return len(self._refcounts) - (self._aside is not None)

    @property
    def aside(self) -> int | None:
        """The block set aside, if there is one. It is not free, and has no owner. O(1)."""
        return self._aside

    @property
    def num_free(self) -> int:
        """Blocks that `take` can hand out now. O(1)."""
        return len(self._free)

    def free_blocks(self) -> tuple[int, ...]:
        """The free blocks in the order in which `take` would hand them out. O(free blocks)."""
        return tuple(reversed(self._free))

    def refcount(self, block: int) -> int:
        """How many owners a block has; 0 when free or set aside. `InvalidRequest` if there is no such block. O(1)."""
        # Python would read -1 as the last block.
        if not 0 <= block < len(self._refcounts):
            raise InvalidRequest(f"{self._name}: no block {block}; blocks are 0..{self.num_total - 1}")
        return self._refcounts[block]

    def set_aside(self) -> None:
        """Withhold block 0 of a new pool for good; an empty pool has none. O(1).

        Nobody is ever given it, and as it has no owner it cannot be shared or released either.
        """
        if self._free:
            self._aside = self._free.pop()

    def take(self) -> int:
        """Hand out one free block with one owner. `OutOfBlocks` if there is none. O(1)."""
        return self.take_many(1)[0]

    def take_many(self, count: int) -> list[int]:
        """Hand out `count` >= 0 blocks with one owner each, or none at all. O(count).

        Raises `OutOfBlocks` if fewer are free, `InvalidRequest` if `count` is negative.
        """
        self.require_free(count)
        keep = len(self._free) - count
        taken = self._free[keep:][::-1]
        del self._free[keep:]
        for block in taken:
            self._refcounts[block] = 1
        return taken

    def share(self, block: int) -> None:
        """Add an owner to a held block. `BlockNotHeld` if it is free. O(1)."""
        if self.refcount(block) == 0:
            raise BlockNotHeld(f"{self._name}: block {block} is free; take it before sharing it")
        self._refcounts[block] += 1

    def release(self, block: int) -> bool:
        """Take one owner away; True if it was the last and the block is free now. O(1).

        Raises `DoubleFree` if the block has no owner.
        """
        self.release_many((block,))
        return self._refcounts[block] == 0

    def release_many(self, blocks: Iterable[int]) -> None:
        """Take one owner away from each of these, in this order. O(blocks).

        Raises `DoubleFree` at the first that has no owner; those before it are released.
        """
        for block in blocks:
            owners = self.refcount(block)
            if owners == 0:
                raise self._double_free(block)
            self._refcounts[block] = owners - 1
            if owners == 1:
                self._free.append(block)

    def require_free(self, count: int) -> None:
        """`OutOfBlocks` if fewer than `count` blocks are free, `InvalidRequest` if it is negative. O(1)."""
        if count < 0:
            raise InvalidRequest(f"{self._name}: {count} blocks wanted; ask for 0 or more")
        if count > self.num_free:
            raise OutOfBlocks(
                f"{self._name}: {count} blocks wanted, {self.num_free} of {self.num_total} free; "
                "ask the guard first, or free, preempt or swap a group"
            )

    def _double_free(self, block: int) -> DoubleFree:
        return DoubleFree(f"{self._name}: block {block} is free already; release it once per owner")
