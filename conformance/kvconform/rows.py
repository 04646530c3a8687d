"""How a block table row is laid out: which entry holds the KV of which token, and which entries no longer matter.

Knows block size, sliding window and groups of layers. It must not know sequences, blocks' contents, or laws.

Where layers form several groups with KV of their own, a sequence has a row for each; the kit keeps them as one, by
turns: with two groups, entries 0 and 1 are for the first block of tokens, entries 2 and 3 for the second.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, zip_longest
from typing import Final

from kvspec.vocabulary import Config

NULL: Final = -(1 << 62)
"""What an entry names that stands for no block; no manager has a block of this number."""


class Layout:
    """The layout of every row under one configuration.

    size: slots of a block. groups: entries for each block of tokens. window: tokens that attention reads, None for all.
    plain: one group and no window.
    """

    def __init__(self, config: Config) -> None:
        self.size = config.block_size
        self.groups = config.kv_groups
        self.window = config.sliding_window
        self.plain = self.groups == 1 and self.window is None
        self._first_sliding = self.groups if self.window is None else min(1, self.groups - 1)

    def length(self, slots: int) -> int:
        """Entries of a row with so many slots."""
        return -(-slots // self.size) * self.groups

    def start(self, index: int) -> int:
        """The first position whose KV is in this entry."""
        return index // self.groups * self.size

    def full_lanes(self) -> range:
        """The groups of layers that read everything."""
        return range(self._first_sliding)

    def sliding_lanes(self) -> range:
        """The groups of layers that read a window."""
        return range(self._first_sliding, self.groups)

    def slides(self, index: int) -> bool:
        """Whether the entry is of a group that reads a window."""
        return index % self.groups >= self._first_sliding

    def dead(self, computed: int) -> int:
        """Positions, from the first on, that under the window nothing reads any more once so many are computed."""
        return 0 if self.window is None else max(0, computed - self.window + 1)

    def live(self, index: int, computed: int) -> int:
        """The first position that the entry's group still reads once so many are computed."""
        return self.dead(computed) if self.window is not None and self.slides(index) else 0

    def first_live(self, computed: int) -> int:
        """Entries, from the first on, that are all gone once so many positions are computed."""
        return self.dead(computed) // self.size if self.groups == 1 else 0

    def gone(self, index: int, computed: int) -> bool:
        """Whether nothing reads any position of the entry any more once so many are computed."""
        return self.start(index) + self.size <= self.live(index, computed)

    def content(self, prefix: int, index: int) -> int:
        """The number of what a slot of the entry holds when it holds the KV that this prefix ends in."""
        return prefix * self.groups + index % self.groups

    def contents(self, prefixes: Sequence[int], start: int, stop: int, index: int) -> Sequence[int]:
        """The same for the positions from start to stop."""
        if self.groups == 1:
            return prefixes[start:stop]
        return [self.content(prefix, index) for prefix in prefixes[start:stop]]


def interleaved(rows: Sequence[Sequence[int]]) -> list[int]:
    """The rows of several groups as one; NULL where one of them is shorter."""
    return list(chain.from_iterable(zip_longest(*rows, fillvalue=NULL)))


def shown(blocks: Sequence[int]) -> list[int | None]:
    """Entries to be read by others: None where an entry stands for no block."""
    return [None if block == NULL else block for block in blocks]
