"""What the guards have to agree with, written again: operations on pools that are lists of block numbers.

Imports nothing of the specification, so that a mistake there is not repeated here.
"""

from __future__ import annotations

from dataclasses import dataclass


class OutOfBlocks(Exception):
    """A block was wanted and none was left."""


@dataclass
class Sequence:
    """A block table, the tokens it has to cover, and which of its entries are shared and will be written."""

    table: list[int]
    tokens: int
    shared: int = 0


def pop(free: list[int]) -> int:
    """A free block."""
    if not free:
        raise OutOfBlocks
    return free.pop()


def append(free: list[int], seq: Sequence, lookahead: int, block_size: int) -> None:
    """Cover the tokens and the lookahead, then leave each shared block with a copy."""
    for entry in range(seq.shared):
        seq.table[entry] = pop(free)
    while sum(block_size for _ in seq.table) < seq.tokens + lookahead:
        seq.table.append(pop(free))


def left_after(free_blocks: int, moved: int, seqs: list[Sequence], lookahead: int, block_size: int) -> int | None:
    """Blocks free after moving so many and appending to each sequence; None where it runs out."""
    free = list(range(free_blocks))
    try:
        for _ in range(moved):
            pop(free)
        for seq in seqs:
            append(free, seq, lookahead, block_size)
    except OutOfBlocks:
        return None
    return len(free)


def copies_taken(owners: int, writers: int) -> int:
    """Copies that the first so many owners of one block take, writing in turn."""
    owner_of = dict.fromkeys(range(owners), "shared")
    copies = 0
    for writer in range(writers):
        if sum(block == "shared" for block in owner_of.values()) > 1:
            owner_of[writer] = f"copy {writer}"
            copies += 1
    return copies
