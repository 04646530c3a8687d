"""Arithmetic between slots (one token's KV each) and the entries of a block table row.

Knows: that entry i of a row holds the slots i*block_size .. (i+1)*block_size - 1, and which of them a window reads.
Must not know: physical blocks, owners, sequences, pools.
"""

from typing import Final

NULL: Final = -1
"""What a row names where it has given a block up: no block. Only entries at its beginning are ever NULL."""


def blocks_for(slots: int, block_size: int) -> int:
    """How many blocks hold the first `slots` >= 0 slots of a sequence: slots / block_size, rounded up."""
    return -(-slots // block_size)


def entries_touched(start: int, stop: int, block_size: int) -> range:
    """Which row entries hold a slot of [start, stop); an empty range touches none."""
    if start >= stop:
        return range(0)
    return range(start // block_size, blocks_for(stop, block_size))


def holds_slot_below(entry: int, slot: int, block_size: int) -> bool:
    """Whether row entry `entry` holds any slot before `slot`: does it have content worth keeping."""
    return entry * block_size < slot


def dead_entries(computed: int, window: int | None, block_size: int) -> int:
    """How many entries, from the first on, hold dead positions only when `computed` >= 0 tokens are computed.

    Attention at position p reads the positions p - window + 1 to p. The next p is `computed`, so whatever lies
    before computed - window + 1 is dead: nobody reads it any more. Nothing is without a window (None).
    """
    if window is None:
        return 0
    return max(0, computed - window + 1) // block_size
