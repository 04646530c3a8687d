"""The admission guards: what an operation demands of a pool, and the verdict on that demand.

Written once over the algebra. A guard adds up the blocks that the operation will take (the *need*) and compares with
what is free; nothing else decides. Where a rule comes from:

- watermark and OK / LATER / NEVER: PagedAttention (Kwon et al., SOSP 2023) and vLLM's block managers;
- swap-in counts the unseen tokens and the lookahead of the append that follows: vLLM pull request 8824;
- a partial last block that is filled in place needs no new block, and a table that already holds lookahead blocks
  needs only what goes beyond them: this specification (the rule of that pull request is an upper estimate for the
  first and misses the second);
- a row that begins again with its first block under a sliding window, and a null block that is set aside when it is
  first used: vLLM's block managers, whose guards and operations do not agree on either.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from kvspec.algebra import Algebra
from kvspec.arithmetic import SequenceCounts, blocks_for, growth, smaller


@dataclass(frozen=True)
class Demand:
    """What an operation asks of one pool, in blocks.

    need: blocks it takes. reserve: blocks that must be free afterwards (the watermark, or 0).
    attainable: blocks that would be free with every other group gone.
    """

    need: Any
    reserve: Any
    attainable: Any


def append_need(a: Algebra, seq: SequenceCounts, lookahead: Any, block_size: Any) -> Any:
    """Blocks that appending one sequence's unseen tokens and the lookahead takes: growth plus copy-on-write."""
    return growth(a, seq, lookahead, block_size) + seq.shared_writes


def total_append_need(a: Algebra, seqs: Iterable[SequenceCounts], lookahead: Any, block_size: Any) -> Any:
    """The same for several sequences appended in turn."""
    need: Any = 0
    for seq in seqs:
        need = need + append_need(a, seq, lookahead, block_size)
    return need


def allocate_demand(a: Algebra, tokens: Any, lookahead: Any, block_size: Any, total: Any, watermark: Any) -> Demand:
    """Admission of a new group: the prompt's blocks once, however many sequences share them."""
    return Demand(blocks_for(a, tokens + lookahead, block_size), watermark, total)


def allocate_with_hits_demand(
    a: Algebra, tokens: Any, lookahead: Any, block_size: Any, total: Any, watermark: Any, held_hits: Any
) -> Demand:
    """The same where the beginning of the prompt is found in an index: hits that somebody owns cost no free block.

    Hits that nobody owns are among the free blocks, and leave them when they are taken over: they save computation and
    no block, so that they are not counted here. With every other group gone, the hits that are held now are the group's
    own.
    """
    return Demand(blocks_for(a, tokens + lookahead, block_size) - held_hits, watermark, total - held_hits)


def allocate_in_ring_demand(
    a: Algebra, tokens: Any, lookahead: Any, block_size: Any, total: Any, watermark: Any, ring: Any
) -> Demand:
    """The same under a sliding window, where a row that has `ring` blocks (>= 0) begins again with the first of them.

    Right only of an operation that does so too: one that takes the whole prompt's blocks needs all of them.
    """
    return Demand(smaller(a, blocks_for(a, tokens + lookahead, block_size), ring), watermark, total)


def append_demand(
    a: Algebra, seqs: Iterable[SequenceCounts], lookahead: Any, block_size: Any, total: Any, held: Any
) -> Demand:
    """Append to every running sequence of a group that holds `held` distinct GPU blocks; no watermark here."""
    return Demand(total_append_need(a, seqs, lookahead, block_size), 0, total - held)


def with_null_block(a: Algebra, demand: Demand, reserved: Any, first_use: Any) -> Demand:
    """The same in a pool that sets blocks aside (one null block, for the positions that a window has left behind).

    reserved: blocks that are set aside already, which no group can ever have. first_use: blocks that the operation is
    going to set aside, because it is the first to use them.
    """
    return Demand(demand.need + first_use, demand.reserve, demand.attainable - reserved)


def append_with_null_demand(
    a: Algebra,
    seqs: Iterable[SequenceCounts],
    lookahead: Any,
    block_size: Any,
    total: Any,
    held: Any,
    reserved: Any,
    first_use: Any,
) -> Demand:
    """Append where entries that are given up name a null block: it is taken from the pool when it is first used."""
    demand = append_demand(a, seqs, lookahead, block_size, total, held)
    return with_null_block(a, demand, reserved, first_use)


def swap_out_demand(a: Algebra, moved: Any, total: Any) -> Demand:
    """Swap out: one CPU block for each block moved; the CPU pool has no watermark."""
    return Demand(moved, 0, total)


def swap_in_demand(
    a: Algebra,
    moved: Any,
    seqs: Iterable[SequenceCounts],
    lookahead: Any,
    block_size: Any,
    total: Any,
    watermark: Any,
) -> Demand:
    """Swap in: one GPU block for each block moved, and what the append of every resumed sequence then takes."""
    return Demand(moved + total_append_need(a, seqs, lookahead, block_size), watermark, total)


def is_ok(demand: Demand, free: Any) -> Any:
    """Whether the verdict is OK: the need fits and the reserve is left."""
    return free - demand.need >= demand.reserve


def is_never(demand: Demand) -> Any:
    """Whether the verdict is NEVER: it would not even fit with every other group gone."""
    return demand.attainable - demand.need < demand.reserve
