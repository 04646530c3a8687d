"""Arithmetic between slots (one token's KV each) and the entries of a block table row.

Knows: that entry i of a row holds the slots i*block_size .. (i+1)*block_size - 1.
Must not know: physical blocks, owners, sequences, pools.
"""


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
