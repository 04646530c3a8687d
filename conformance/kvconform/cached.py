"""What a prefix index should hold: whole blocks whose KV was computed, by the prefix that they end.

Knows interned prefixes and block numbers of the GPU; must not know the manager's own index, or laws. It errs on one
side: a prefix that it names was computed, and lies in no block that was handed out since. Of a prefix that lies in
several blocks it expects nothing as soon as one of them is handed out: managers differ in which they remember.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from kvconform.clock import Moment


@dataclass
class Use:
    """When a cached block was last used. released: when its last owner left. touched: when it was last computed or
    read.
    """

    released: Moment
    touched: Moment

    def before(self, other: Use) -> bool:
        """Whether this one came before the other by any way to count uses."""
        return self.released < other.released and self.touched < other.touched

    def older(self, other: Use) -> bool:
        """Whether the clock tells so too: of two uses with one tick the manager chooses which is the older."""
        return self.released.tick < other.released.tick and self.touched.tick < other.touched.tick


@dataclass
class Cached:
    """blocks: by prefix number, those that hold it whole. ends: by block, the prefix number. parents: by prefix number,
    that of the block before without which it is of no use; 0 where there is none. stale: prefixes from before a reset,
    not computed again since. doubtful: prefixes that have lain in several blocks, one of which was handed out: a
    manager may remember another one or none; and those that a block has by a swap or a copy: a manager may publish it
    again, or not; and those of which some were to be dropped.
    """

    blocks: dict[int, set[int]] = field(default_factory=dict)
    ends: dict[int, int] = field(default_factory=dict)
    parents: dict[int, int] = field(default_factory=dict)
    uses: dict[int, Use] = field(default_factory=dict)
    stale: set[int] = field(default_factory=set)
    doubtful: set[int] = field(default_factory=set)

    def computed(self, block: int, end: int, parent: int, now: Moment) -> None:
        """A block has got its last slot written."""
        self.blocks.setdefault(end, set()).add(block)
        self.ends[block], self.parents[end] = end, parent
        self.uses[block] = Use(now, now)
        self.stale.discard(end)

    def handed_out(self, block: int) -> None:
        """A block begins a new life: what it held is gone from any index."""
        end = self.ends.pop(block, None)
        if end is None:
            return
        del self.uses[block]
        self.blocks[end].remove(block)
        if self.blocks[end]:
            self.doubtful.add(end)
        else:
            del self.blocks[end]

    def dropped(self, blocks: Iterable[int]) -> None:
        """Some of these blocks have left the index, and nobody said which."""
        for block in blocks:
            end = self.ends[block]
            self.handed_out(block)
            self.doubtful.add(end)

    def touch(self, blocks: Iterable[int], now: Moment) -> None:
        """These blocks are read or written."""
        for block in blocks:
            if block in self.uses:
                self.uses[block].touched = now

    def released(self, blocks: Iterable[int], now: Moment) -> None:
        """These blocks have lost their last owner."""
        for block in blocks:
            if block in self.uses:
                self.uses[block].released = now

    def run(self, ends: Sequence[int]) -> int:
        """How many of these prefixes, each a whole block longer than the one before, are there from the first on."""
        for number, end in enumerate(ends):
            if not self.knows(end):
                return number
        return len(ends)

    def knows(self, end: int) -> bool:
        """Whether this prefix must be in the index."""
        return end in self.blocks and end not in self.doubtful

    def alone(self, block: int) -> bool:
        """Whether the block is the only one that can stand for its prefix in any index."""
        end = self.ends.get(block)
        return end is not None and len(self.blocks[end]) == 1 and end not in self.doubtful

    def reset(self) -> None:
        """The index was dropped: whatever was computed before must not be a hit again."""
        self.stale.update(self.blocks)
        for known in (self.blocks, self.ends, self.uses):
            known.clear()
        self.doubtful.clear()
