"""How many blocks tokens, lookahead slots and copies take.

Written once over the algebra: the same functions run on numbers and on solver terms. Knows counts only; block
numbers, contents and verdicts are elsewhere. Units: tokens and slots are one to one, a block is `block_size` slots.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kvspec.algebra import Algebra


@dataclass(frozen=True)
class SequenceCounts:
    """What the arithmetic needs to know of one sequence that is about to be appended to.

    tokens: tokens in the sequence, unseen ones included (>= 1). seen: tokens that its block table covers
    (0 <= seen <= tokens). blocks: entries of its block table, empty lookahead blocks of an earlier call included
    (blocks * block_size >= seen). shared_writes: blocks in its table that the append will write to and that at
    that moment another owner still holds (>= 0); each of them costs a copy-on-write block.
    """

    tokens: Any
    seen: Any
    blocks: Any
    shared_writes: Any = 0


def larger(a: Algebra, x: Any, y: Any) -> Any:
    """The larger of two numbers."""
    return a.ite(x >= y, x, y)


def blocks_for(a: Algebra, slots: Any, block_size: Any) -> Any:
    """Blocks that hold so many slots."""
    return a.ceil_div(slots, block_size)


def blocks_after_append(a: Algebra, seq: SequenceCounts, lookahead: Any, block_size: Any) -> Any:
    """Entries of the block table once all tokens and the lookahead slots are covered.

    A table may be longer than its tokens need (lookahead blocks of an earlier call): it never shrinks.
    """
    return larger(a, seq.blocks, blocks_for(a, seq.tokens + lookahead, block_size))


def growth(a: Algebra, seq: SequenceCounts, lookahead: Any, block_size: Any) -> Any:
    """Entries that appending adds to the block table. A partial last block is filled in place: it adds none."""
    return blocks_after_append(a, seq, lookahead, block_size) - seq.blocks


def blocks_touched(a: Algebra, seen: Any, slots: Any, block_size: Any) -> Any:
    """Blocks that the next `slots` slots after position `seen` lie in, the partial last block included.

    This is the upper estimate that vLLM's second-generation manager admits by: each touched block may be new or
    need a copy-on-write.
    """
    return a.ite(slots <= 0, 0, blocks_for(a, seen + slots, block_size) - full_blocks(a, seen, block_size))


def full_blocks(a: Algebra, slots: Any, block_size: Any) -> Any:
    """Whole blocks that so many slots fill (rounded down)."""
    return a.ceil_div(slots + 1, block_size) - 1


def hits_taken(a: Algebra, tokens: Any, known: Any, block_size: Any) -> Any:
    """Whole blocks of a prompt that are taken over, of a run of `known` blocks that can be found from its start on.

    One token at least is left to compute: of a prompt that is found whole, that is all blocks but the last.
    """
    leaving_one = blocks_for(a, tokens, block_size) - 1
    return a.ite(known <= leaving_one, known, leaving_one)


def copies_needed(a: Algebra, owners: Any, writers: Any) -> Any:
    """Copy-on-write blocks for one shared block of `owners` owners (>= 1), `writers` of which write to it in turn.

    Each writer leaves the block with a copy, except that the last owner writes in place.
    """
    return a.ite(writers >= owners, owners - 1, writers)
