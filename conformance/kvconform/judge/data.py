"""Gathers the cases of the data laws: what a step moved, wrote and read."""

from __future__ import annotations

from kvconform.judge.bench import Bench, Transition
from kvconform.judge.table import Table
from kvconform.ledger import Writing, home
from kvspec.vocabulary import Result, SwapIn, SwapOut


class Data:
    """Judges contents."""

    def __init__(self, bench: Bench, table: Table) -> None:
        self.bench = bench
        self.table = table

    def step(self, t: Transition) -> None:
        """What arrived, what was written over, and what every scheduled sequence reads."""
        for arrival in t.outcome.arrivals:
            law = "data.copies" if arrival.copy else "data.swap-content"
            if not self.bench.holds(law, arrival.wrong):
                way = "copy" if arrival.copy else "swap"
                what = f"sequence {arrival.seq.id} does not find its KV after a {way}"
                observed = f"{arrival.wrong} slots with another content"
                ledger = self.bench.ledger
                blocks = ledger.holding(arrival.seq, ledger.wrong_slots(arrival.seq))
                self.bench.report(law, (what, "every readable slot has its old content", observed), blocks=blocks)
        for writing in t.outcome.writings:
            self._written(writing)
        for seq in t.outcome.moved:
            wrong = self.bench.ledger.wrong_slots(seq)
            if not self.bench.holds("data.read-back", len(wrong), seq.computed):
                what = f"sequence {seq.id} reads KV that is not its own"
                expected = f"its own tokens' KV at positions 0 to {seq.computed - 1}"
                observed = f"another content at positions {wrong[:8]}"
                blocks = self.bench.ledger.holding(seq, wrong)
                self.bench.report("data.read-back", (what, expected, observed), blocks=blocks)

    def _written(self, writing: Writing) -> None:
        device = home(writing.seq)
        if not self.bench.holds("data.exclusive-write", writing.sharing, len(writing.spoiled)):
            block, slot, reader = writing.spoiled[0]
            what = f"sequence {writing.seq.id} wrote over a slot that sequence {reader.id} reads"
            observed = f"slot {slot} of {device.value} block {block} changed"
            explanation = what, "a copy-on-write before writing to a shared block", observed
            self.bench.report("data.exclusive-write", explanation, blocks=((device, block),))
        for block, strangers in writing.strangers.items():
            self.table.tenancy(writing.seq, strangers, device, block)

    def swapped(self, t: Transition) -> None:
        """Whether a swap kept what was shared."""
        if not isinstance(t.op, (SwapOut, SwapIn)) or t.outcome.result is not Result.OK:
            return
        after = len({transfer.target for transfer in t.outcome.transfers if not transfer.copy})
        if not self.bench.holds("data.swap-keeps-sharing", t.distinct, after):
            explanation = f"{t.op.op} lost sharing", f"{t.distinct} distinct blocks", f"{after} distinct blocks"
            self.bench.report("data.swap-keeps-sharing", explanation)
