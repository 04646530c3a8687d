"""What each guarded operation demands, counted from the kit's own ledger with the specification's rules.

A manager may move blocks in more than one correct way (a swap that loses sharing, separate tables after recompute), so
a demand is an interval: `least` is what no correct manager can do without, `most` what this one may take by what its
adapter declares. Knows rows, owners and tokens; it must not know the manager's own count.
"""

from __future__ import annotations

from dataclasses import dataclass

from kvconform.adapter import Capabilities, Group, Seq
from kvconform.ledger import Ledger
from kvspec.algebra import INTS
from kvspec.arithmetic import SequenceCounts, blocks_for
from kvspec.guards import (
    Demand,
    allocate_demand,
    append_demand,
    swap_in_demand,
    swap_out_demand,
)
from kvspec.vocabulary import Allocate, Append, Config, Device, Operation, SwapIn, SwapOut


@dataclass(frozen=True)
class Demands:
    """The least and the most that an operation may demand, and the device whose pool it demands it of."""

    device: Device
    least: Demand
    most: Demand


def demands_of(op: Operation, group: Group, ledger: Ledger, config: Config, declared: Capabilities) -> Demands | None:
    """The demands of a guarded operation in the state before it; None for the other operations."""
    watermark = config.watermark_blocks if declared.watermark else 0
    if isinstance(op, Allocate):
        return _allocate(group, op.lookahead, config, declared, watermark)
    if isinstance(op, Append):
        counts = append_counts(group.running, op.lookahead, ledger)
        held = ledger.distinct(group.seqs)
        demand = append_demand(INTS, counts, op.lookahead, config.block_size, config.num_gpu_blocks, held)
        return Demands(Device.GPU, demand, demand)
    if isinstance(op, SwapOut):
        total = config.num_cpu_blocks
        least = swap_out_demand(INTS, ledger.distinct(group.running), total)
        most = swap_out_demand(INTS, _moved(group.running, ledger, declared), total)
        return Demands(Device.CPU, least, most)
    if isinstance(op, SwapIn):
        return _swap_in(group, op.lookahead, ledger, config, declared, watermark)
    return None


def _moved(seqs: list[Seq], ledger: Ledger, declared: Capabilities) -> int:
    return ledger.entries(seqs) if declared.swap_unit == "entry" else ledger.distinct(seqs)


def _allocate(group: Group, lookahead: int, config: Config, declared: Capabilities, watermark: int) -> Demands:
    size, total = config.block_size, config.num_gpu_blocks
    slots = 0 if declared.allocate_lookahead == "none" else lookahead
    shared = {tuple(seq.prefixes) for seq in group.waiting}
    each = [allocate_demand(INTS, len(tokens), slots, size, total, watermark).need for tokens in shared]
    if len(each) == 1 and not group.admitted_before:
        most = least = each[0]
    else:
        ends = {
            tuple(seq.prefixes)[: start + size] for seq in group.waiting for start in range(0, len(seq.tokens), size)
        }
        least = max(len(ends), max(each))
        most = sum(blocks_for(INTS, len(seq.tokens) + slots, size) for seq in group.waiting)
    return Demands(Device.GPU, Demand(least, watermark, total), Demand(most, watermark, total))


def _swap_in(
    group: Group, lookahead: int, ledger: Ledger, config: Config, declared: Capabilities, watermark: int
) -> Demands:
    size, total = config.block_size, config.num_gpu_blocks
    counts = append_counts(group.swapped, lookahead, ledger)
    shared = swap_in_demand(INTS, ledger.distinct(group.swapped), counts, lookahead, size, total, watermark)
    if declared.swap_unit == "block":
        return Demands(Device.GPU, shared, shared)
    entries = ledger.entries(group.swapped)
    alone = [SequenceCounts(c.tokens, c.seen, c.blocks) for c in counts]
    split = swap_in_demand(INTS, entries, alone, lookahead, size, total, watermark)
    return Demands(Device.GPU, min(shared, split, key=lambda d: d.need), max(shared, split, key=lambda d: d.need))


def append_counts(seqs: list[Seq], lookahead: int, ledger: Ledger) -> list[SequenceCounts]:
    """The counts for appending to each sequence in turn; a shared block that is written to costs a copy, unless its
    other owners among these have left it before.
    """
    size = ledger.block_size
    left: dict[int, int] = {}
    counts = []
    for seq in seqs:
        row = ledger.rows[seq.id]
        slots = len(seq.tokens) + lookahead
        written = range(seq.upto // size, min(len(row.blocks), -(-slots // size))) if slots > seq.upto else ()
        copies = 0
        for index in written:
            block = row.blocks[index]
            owners = len(ledger.owners[row.device].get(block, ())) - left.get(block, 0)
            if owners > 1:
                copies += 1
                left[block] = left.get(block, 0) + 1
        counts.append(SequenceCounts(len(seq.tokens), seq.upto, len(row.blocks), copies))
    return counts
