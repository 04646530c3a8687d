"""A queue of block numbers that any of them can leave: the order in which cached blocks are given up.

Knows: who comes after whom. Must not know: why a block is queued, what it holds, or who owned it.
"""

from collections.abc import Collection, Iterator

_ABSENT = -1


class BlockQueue:
    """Some of the blocks 0..num_blocks-1 in the order in which they came, each once at most.

    A doubly linked list in two flat lists of neighbours, where an `OrderedDict` would do as well but for
    the processor's caches: in a pool of 100,000 blocks its table and its links lie all over the memory.
    The number after the last block stands for both ends, so no case is special. Everything but going
    through it is O(1) for each block.
    """

    def __init__(self, num_blocks: int) -> None:
        self._end = num_blocks
        self._next = [_ABSENT] * num_blocks + [num_blocks]
        self._previous = [_ABSENT] * num_blocks + [num_blocks]
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def __contains__(self, block: int) -> bool:
        """Whether one of the blocks 0..num_blocks-1 is queued."""
        return self._next[block] != _ABSENT

    def __iter__(self) -> Iterator[int]:
        """The blocks, the first to leave first. O(blocks)."""
        block = self._next[self._end]
        while block != self._end:
            yield block
            block = self._next[block]

    def __reversed__(self) -> Iterator[int]:
        """The blocks, the last to leave first. O(blocks)."""
        block = self._previous[self._end]
        while block != self._end:
            yield block
            block = self._previous[block]

    def extend(self, blocks: Collection[int]) -> None:
        """Queue blocks that are not queued, in this order, behind all others. O(blocks)."""
        following, preceding, end = self._next, self._previous, self._end
        last = preceding[end]
        for block in blocks:
            following[last] = block
            preceding[block] = last
            last = block
        following[last] = end
        preceding[end] = last
        self._length += len(blocks)

    def remove(self, block: int) -> None:
        """Take a queued block out, wherever it is. O(1)."""
        after, before = self._next[block], self._previous[block]
        self._next[before] = after
        self._previous[after] = before
        self._next[block] = _ABSENT
        self._length -= 1

    def pop(self) -> int:
        """Take the first one out of a queue that is not empty. O(1)."""
        first = self._next[self._end]
        self.remove(first)
        return first

    def clear(self) -> None:
        """Take all out. O(blocks)."""
        for block in list(self):
            self.remove(block)
