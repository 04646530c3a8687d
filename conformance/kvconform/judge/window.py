"""Gathers the cases of the window laws: rows whose first positions nobody reads any more, and the null block."""

from __future__ import annotations

from kvconform.adapter import Seq
from kvconform.judge.bench import WHOLE_POOL, Bench, Transition
from kvconform.ledger import Row
from kvconform.rows import NULL, shown
from kvspec.vocabulary import Capability, Device


class Sliding:
    """Judges what a sliding window leaves behind."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench

    def rows(self, t: Transition) -> None:
        """Rows that changed, or whose sequences were carried on, have their live positions."""
        rows = self.bench.ledger.rows
        seqs = {seq.id: seq for seq in (*t.outcome.moved, *(change.seq for change in t.changes))}
        for seq in seqs.values():
            if seq.id in rows:
                self._row(t, seq, rows[seq.id])

    def _row(self, t: Transition, seq: Seq, row: Row) -> None:
        bench, layout = self.bench, self.bench.layout
        length, dead = min(len(row.blocks), layout.length(seq.upto)), layout.dead(seq.computed)
        first, missing = layout.first_live(seq.computed), list[int]()
        if NULL in row.blocks[first:length]:  # seldom, and looking at each entry takes long
            missing = [i for i in range(first, length) if row.blocks[i] == NULL and not layout.gone(i, seq.computed)]
        if not bench.holds("window.live", dead, len(missing)):
            what = f"after {t.op.op}, the row of sequence {seq.id} has no block for positions that are still read"
            expected = f"blocks for positions {dead} to {seq.upto - 1} (a window of {layout.window})"
            observed = f"none for positions {layout.start(missing[0])} on; row {shown(row.blocks)}"
            bench.report("window.live", (what, expected, observed))

    def null(self, t: Transition | None, counts: dict[Device, int]) -> None:
        """The null block is nobody's."""
        bench = self.bench
        before = t.null_before if t else bench.null
        block = bench.null if before is None else before
        if block is None:
            return
        readers = bench.ledger.readers(Device.GPU, block)
        written = sum(seq.computed > bench.layout.start(index) for seq, index in readers)
        free, total = counts[Device.GPU], bench.config.num_gpu_blocks
        kept, kept_before = int(bench.null == block), int(before is not None)
        numbers = self._listed(block), len(readers), written, free, total, kept, kept_before
        if not bench.holds("window.null", *numbers):
            what = f"the null block, GPU block {block}, is not left alone"
            expected = "not in the free set, not counted there, in no row as a block of its own, and kept"
            observed = (
                f"{numbers[0]} times in the free set, {free} of {total} blocks free, named by {len(readers)} rows"
            )
            observed += "" if kept else ", and given up"
            bench.report("window.null", (what, expected, observed), blocks=((Device.GPU, block),))

    def _listed(self, block: int) -> int:
        """How often the free set lists it; 0 where that is not shown, or would cost too much."""
        bench = self.bench
        if not bench.has(Capability.FREE_SET) or bench.config.num_gpu_blocks > WHOLE_POOL:
            return 0
        return bench.driver.free_blocks(Device.GPU).count(block)
