"""What each guarded operation demands, counted from the kit's own ledger with the specification's rules.

A manager may move blocks in more than one correct way (a swap that loses sharing, separate tables after recompute, a
window that gives blocks up before or after it takes some), so a demand is an interval: `least` is what no correct
manager can do without, `most` what this one may take by what its adapter declares. Knows rows, owners and tokens; it
must not know the manager's own count.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from kvconform.adapter import Capabilities, Group, Seq
from kvconform.ledger import Ledger
from kvconform.rows import NULL
from kvspec.algebra import INTS
from kvspec.arithmetic import SequenceCounts, growth
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


@dataclass(frozen=True)
class NullUse:
    """What becomes of the null block. reserved: 1 where one is set aside. first_use: 1 where one may yet be."""

    reserved: int = 0
    first_use: int = 0


NO_NULL = NullUse()


@dataclass(frozen=True)
class Pools:
    """What the guards count with. gpu: GPU blocks that sequences can have. first_use: as of the null block. watermark:
    blocks that admissions leave free.
    """

    gpu: int
    first_use: int
    watermark: int


def demands_of(
    op: Operation, group: Group, ledger: Ledger, config: Config, declared: Capabilities, null: NullUse = NO_NULL
) -> Demands | None:
    """The demands of a guarded operation in the state before it; None for the other operations."""
    watermark = config.watermark_blocks if declared.watermark else 0
    pools = Pools(config.num_gpu_blocks - null.reserved, null.first_use, watermark)
    if isinstance(op, Allocate):
        return _first_used(_allocate(group, op, ledger, declared, pools), pools)
    if isinstance(op, Append):
        return _first_used(_append(group, op, ledger, pools), pools)
    if isinstance(op, SwapOut):
        total = config.num_cpu_blocks
        least = swap_out_demand(INTS, ledger.distinct(group.running), total)
        most = swap_out_demand(INTS, _moved(group.running, ledger, declared), total)
        return Demands(Device.CPU, least, most)
    if isinstance(op, SwapIn):
        return _first_used(_swap_in(group, op.lookahead, ledger, declared, pools), pools)
    return None


def _first_used(demands: Demands, pools: Pools) -> Demands:
    """The most includes a null block that is set aside on the way."""
    if not pools.first_use:
        return demands
    return replace(demands, most=replace(demands.most, need=demands.most.need + pools.first_use))


def _moved(seqs: list[Seq], ledger: Ledger, declared: Capabilities) -> int:
    return ledger.entries(seqs) if declared.swap_unit == "entry" else ledger.distinct(seqs)


def _allocate(group: Group, op: Allocate, ledger: Ledger, declared: Capabilities, pools: Pools) -> Demands:
    slots = 0 if declared.allocate_lookahead == "none" else op.lookahead
    size, groups = ledger.layout.size, ledger.layout.groups

    def need(tokens: int) -> int:
        return int(allocate_demand(INTS, tokens, slots, size, pools.gpu, pools.watermark).need) * groups

    shared = {tuple(seq.prefixes) for seq in group.waiting}
    first, last = _extents(op, ledger)
    each = [need(first(len(tokens))) for tokens in shared]
    if len(each) == 1 and not group.admitted_before:
        least = each[0]
        most = max(need(last(len(tokens))) for tokens in shared)
    else:
        ends = {
            tuple(seq.prefixes)[: start + size] for seq in group.waiting for start in range(0, len(seq.tokens), size)
        }
        least = max(len(ends) * groups if op.chunk is None else 0, max(each))
        most = sum(need(last(len(seq.tokens))) for seq in group.waiting)
    held = ledger.entries(group.waiting)  # by a match
    attainable = pools.gpu - held
    demands = [Demand(max(0, need - held), pools.watermark, attainable) for need in (least, most)]
    return Demands(Device.GPU, *demands)


def _extents(op: Allocate, ledger: Ledger) -> tuple[Callable[[int], int], Callable[[int], int]]:
    """Of a prompt of so many tokens, how many are covered at least and at most: a chunk comes after what is cached."""
    chunk, size = op.chunk, ledger.layout.size

    def first(tokens: int) -> int:
        return tokens if chunk is None else min(tokens, chunk)

    def last(tokens: int) -> int:
        cached = (tokens - 1) // size * size if ledger.cached is not None else 0
        return tokens if chunk is None else min(tokens, cached + op.external + chunk)

    return first, last


def _append(group: Group, op: Append, ledger: Ledger, pools: Pools) -> Demands:
    slots = op.lookahead + op.drafts
    counts, held = append_counts(group.running, slots, ledger, op.chunk), ledger.distinct(group.seqs)
    most = _all_lanes(append_demand(INTS, counts, slots, ledger.block_size, pools.gpu, held), counts, slots, ledger)
    dead = _dead(group.running, ledger)
    return Demands(Device.GPU, replace(most, need=max(0, most.need - dead)) if dead else most, most)


def _all_lanes(demand: Demand, counts: list[SequenceCounts], slots: int, ledger: Ledger) -> Demand:
    """A row for each group of layers grows as the one does that is counted."""
    others = ledger.layout.groups - 1
    if not others:
        return demand
    grown = sum(growth(INTS, count, slots, ledger.block_size) for count in counts)
    return replace(demand, need=demand.need + others * grown)


def _dead(seqs: list[Seq], ledger: Ledger) -> int:
    """Blocks of these sequences that nothing reads any more, and that may be given up before others are taken."""
    layout = ledger.layout
    if layout.window is None:
        return 0
    rows = [(seq, ledger.rows[seq.id].blocks) for seq in seqs]
    return len({b for seq, row in rows for i, b in enumerate(row) if b != NULL and layout.gone(i, seq.computed)})


def _swap_in(group: Group, lookahead: int, ledger: Ledger, declared: Capabilities, pools: Pools) -> Demands:
    size, total, watermark = ledger.block_size, pools.gpu, pools.watermark
    counts = append_counts(group.swapped, lookahead, ledger)
    whole = swap_in_demand(INTS, ledger.distinct(group.swapped), counts, lookahead, size, total, watermark)
    shared = _all_lanes(whole, counts, lookahead, ledger)
    dead = _dead(group.swapped, ledger)
    if declared.swap_unit == "block":
        return Demands(Device.GPU, replace(shared, need=max(0, shared.need - dead)), shared)
    entries = ledger.entries(group.swapped)
    alone = [SequenceCounts(c.tokens, c.seen, c.blocks) for c in counts]
    split = swap_in_demand(INTS, entries, alone, lookahead, size, total, watermark)
    split = _all_lanes(split, alone, lookahead, ledger)
    least, most = sorted((shared, split), key=lambda d: d.need)
    return Demands(Device.GPU, replace(least, need=max(0, least.need - dead)), most)


def append_counts(seqs: list[Seq], slots_after: int, ledger: Ledger, chunk: int | None = None) -> list[SequenceCounts]:
    """The counts for appending to each sequence in turn, with so many slots after its tokens, or after a chunk of them;
    a shared block that is written to costs a copy, unless its other owners among these have left it before.
    """
    layout = ledger.layout
    left: dict[int, int] = {}
    counts = []
    for seq in seqs:
        row = ledger.rows[seq.id]
        tokens = len(seq.tokens) if chunk is None else min(len(seq.tokens), seq.upto + chunk)
        slots = tokens + slots_after
        first = seq.upto // layout.size * layout.groups
        written = range(first, min(len(row.blocks), layout.length(slots))) if slots > seq.upto else ()
        copies = 0
        for index in written:
            block = row.blocks[index]
            owners = len(ledger.owners[row.device].get(block, ())) - left.get(block, 0)
            if owners > 1:
                copies += 1
                left[block] = left.get(block, 0) + 1
        counts.append(SequenceCounts(tokens, seq.upto, len(row.blocks) // layout.groups, copies))
    return counts
