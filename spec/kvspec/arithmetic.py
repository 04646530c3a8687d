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


def smaller(a: Algebra, x: Any, y: Any) -> Any:
    """The smaller of two numbers."""
    return a.ite(x <= y, x, y)


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
    return smaller(a, known, blocks_for(a, tokens, block_size) - 1)


def first_live(a: Algebra, computed: Any, window: Any) -> Any:
    """The first position that a token still to be computed reads: what attention at position `computed` reads first.

    window: positions that attention reads, its own included (>= 1). Positions before this one are dead, and stay so.
    """
    return larger(a, computed - window + 1, 0)


def dead_entries(a: Algebra, computed: Any, window: Any, block_size: Any) -> Any:
    """Entries at the beginning of a row whose positions are all dead. One with a live position is not among them."""
    return full_blocks(a, first_live(a, computed, window), block_size)


def live_entries(a: Algebra, computed: Any, window: Any, slots: Any, block_size: Any) -> Any:
    """Entries of a row of so many slots (>= computed) that hold a live position."""
    first = first_live(a, computed, window)
    return blocks_touched(a, first, slots - first, block_size)


def most_live_entries(a: Algebra, window: Any, new: Any, block_size: Any) -> Any:
    """The most entries with a live position that a row has, however long it is, with `new` slots after the computed
    ones: the first and the last live position can lie anywhere in their blocks.
    """
    reads = window - 1 + new
    return a.ite(reads <= 0, 0, blocks_for(a, reads - 1, block_size) + 1)


def ring_size(a: Algebra, window: Any, new: Any, block_size: Any) -> Any:
    """Blocks of a row that begins again with its first block after its last one, and computes `new` positions at once:
    none of them lies in the slot of another, or of one that any of them reads.
    """
    return blocks_for(a, window - 1 + new, block_size)


def chunk_end(a: Algebra, tokens: Any, seen: Any, chunk: Any) -> Any:
    """Tokens that a row covers once the next `chunk` unseen ones (>= 1) are, or all there are."""
    return smaller(a, seen + chunk, tokens)


def accepted_drafts(a: Algebra, new: Any, drafts: Any) -> Any:
    """Drafts that were right, of a sequence that gets so many new tokens (>= 0): all of those but the last, which comes
    of the one before it.
    """
    return a.ite(new >= 1, smaller(a, new - 1, drafts), 0)


def computed_after(a: Algebra, covered: Any, new: Any, drafts: Any) -> Any:
    """Tokens whose KV is computed, once all that were covered are and so many new ones came, by so many drafts."""
    return covered + accepted_drafts(a, new, drafts)


def copies_needed(a: Algebra, owners: Any, writers: Any) -> Any:
    """Copy-on-write blocks for one shared block of `owners` owners (>= 1), `writers` of which write to it in turn.

    Each writer leaves the block with a copy, except that the last owner writes in place.
    """
    return a.ite(writers >= owners, owners - 1, writers)
