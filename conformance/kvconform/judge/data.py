"""Gathers the cases of the data laws: what a step moved, wrote and read."""

from __future__ import annotations

from kvconform.judge.bench import Bench, Transition
from kvconform.judge.table import Table
from kvconform.ledger import Writing, home
from kvspec.laws.data import Moved, Read, Sharing, Write
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
            self.bench.check(
                law,
                Moved(arrival.wrong),
                lambda a=arrival: (  # type: ignore[misc]
                    f"sequence {a.seq.id} does not find its KV after a {'copy' if a.copy else 'swap'}",
                    "every readable slot has its old content",
                    f"{a.wrong} slots with another content",
                ),
            )
        for writing in t.outcome.writings:
            self._written(writing)
        for seq in t.outcome.moved:
            wrong = self.bench.ledger.wrong_slots(seq)
            self.bench.check(
                "data.read-back",
                Read(len(wrong), seq.computed),
                lambda s=seq, w=wrong: (  # type: ignore[misc]
                    f"sequence {s.id} reads KV that is not its own",
                    f"its own tokens' KV at positions 0 to {s.computed - 1}",
                    f"another content at positions {w[:8]}",
                ),
            )

    def _written(self, writing: Writing) -> None:
        device = home(writing.seq)
        self.bench.check(
            "data.exclusive-write",
            Write(writing.sharing, len(writing.spoiled)),
            lambda: (
                f"sequence {writing.seq.id} wrote over a slot that sequence {writing.spoiled[0][2].id} reads",
                "a copy-on-write before writing to a shared block",
                f"slot {writing.spoiled[0][1]} of {device.value} block {writing.spoiled[0][0]} changed",
            ),
        )
        for block, strangers in writing.strangers.items():
            self.table.tenancy(writing.seq, strangers, device, block)

    def swapped(self, t: Transition) -> None:
        """Whether a swap kept what was shared."""
        if not isinstance(t.op, (SwapOut, SwapIn)) or t.outcome.result is not Result.OK:
            return
        after = len({transfer.target for transfer in t.outcome.transfers if not transfer.copy})
        self.bench.check(
            "data.swap-keeps-sharing",
            Sharing(t.distinct, after),
            lambda: (f"{t.op.op} lost sharing", f"{t.distinct} distinct blocks", f"{after} distinct blocks"),
        )
