"""Gathers the cases of the table laws: rows, their slots, their device, who else names them."""

from __future__ import annotations

from collections.abc import Mapping

from kvconform.adapter import Seq
from kvconform.judge.bench import Bench, RowChange, Transition
from kvconform.ledger import home
from kvconform.rows import NULL, shown
from kvspec.vocabulary import Allocate, Append, Capability, Device, Fork, SwapIn, SwapOut

EXTENDS = frozenset(kind.op for kind in (Allocate, Append, Fork, SwapIn, SwapOut))
"""The operations after which rows must have the slots that they need."""

UNSEEN: Mapping[int, int] = {}


class Table:
    """Judges block tables."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self._devices_shown, self._announcing = bench.has(Capability.ROW_DEVICE), bench.has(Capability.ANNOUNCES)

    def frame(self, t: Transition) -> None:
        """Rows that the operation does not name stay as they were."""
        bench, law, named = self.bench, "table.frame", False
        others = [change for change in t.changes if change.seq.id not in t.named and change.before is not None]
        for change in others:
            if not bench.holds(law, named, not self._explained(t, change)):
                what = f"{t.op.op} changed the row of sequence {change.seq.id}, which it is not about"
                before, after = (shown(row.blocks) if row else None for row in (change.before, change.after))
                bench.report(law, (what, f"row {before}", f"row {after}"), blocks=change.differing())
        if not others and len(bench.ledger.rows) > len(t.named):
            changed = False
            bench.holds(law, named, changed)  # one case stands for all the rows that are as they were: they are alike

    def _explained(self, t: Transition, change: RowChange) -> bool:
        """Whether announced copies turn the old row into the new one, or a window has left behind what it gave up."""
        if change.only_gives_up(self.bench.layout):
            return True
        if change.before is None or change.after is None or len(change.before.blocks) != len(change.after.blocks):
            return False
        copies = {(transfer.source, transfer.target) for transfer in t.outcome.transfers if transfer.copy}
        pairs = zip(change.before.blocks, change.after.blocks, strict=True)
        return all(old == new or (old, new) in copies for old, new in pairs)

    def extent(self, t: Transition) -> None:
        """The rows of the sequences that the operation was carried through for have the slots they need."""
        if t.op.op not in EXTENDS:
            return
        declared, config, groups = self.bench.adapter.capabilities, self.bench.config, self.bench.layout.groups
        asked = t.group.lookahead + t.group.drafts if t.group else 0
        grows = not isinstance(t.op, (Fork, SwapOut))
        provided = asked if not isinstance(t.op, Allocate) or declared.allocate_lookahead == "provided" else 0
        for seq in t.outcome.moved:
            row = self.bench.ledger.rows.get(seq.id)
            if row is None:
                continue
            wanted = seq.upto + (provided if grows else 0)
            longest = max(config.max_model_len, seq.upto)
            before = t.lengths.get(t.op.parent if isinstance(t.op, Fork) else seq.id, 0) // groups
            length = len(row.blocks) // groups
            for law, slots in (("table.covers", min(wanted, longest)), ("table.tight", wanted)):
                if not self.bench.holds(law, length, slots, config.block_size, before):
                    what = f"after {t.op.op}, the row of sequence {seq.id} has the wrong length"
                    expected = f"{slots} slots in blocks of {config.block_size}, {before} blocks before"
                    self.bench.report(law, (what, expected, f"{length} blocks"))

    def places(self, t: Transition) -> None:
        """Changed rows lie on the right device and name held blocks; announcements add up to them."""
        for change in t.changes:
            if change.after is None:
                continue
            if self._devices_shown:
                self._device(change.seq)
            self._live(t, change)
            if self._announcing:
                self._announced(change)
            self._aliases(change)

    def _device(self, seq: Seq) -> None:
        shown, law = self.bench.driver.row_device(seq), "table.one-device"
        if not self.bench.holds(law, shown is Device.GPU, home(seq) is Device.GPU):
            what = f"the row of {seq.status.value} sequence {seq.id} lies on the wrong device"
            self.bench.report(law, (what, home(seq).value, shown.value))

    def _live(self, t: Transition, change: RowChange) -> None:
        """By what accounting has seen of the blocks. Blocks of which nothing is shown pass for held."""
        assert change.after is not None
        device, bench, law = change.after.device, self.bench, "table.live"
        refcounts, listed = t.refcounts.get(device, UNSEEN), t.listed.get(device, UNSEEN)
        blocks = change.after.blocks[: bench.layout.length(change.seq.upto)]
        if not bench.layout.plain:
            gone = bench.layout.gone
            blocks = [b for i, b in enumerate(blocks) if b != NULL and not gone(i, change.seq.computed)]
        cases = [(listed.get(block, 0), refcounts.get(block, 1)) for block in blocks]
        for at in bench.breaches(law, cases):
            times, refcount = cases[at]
            what = f"the row of sequence {change.seq.id} names {device.value} block {blocks[at]}, which is not held"
            observed = f"{'in' if times else 'not in'} the free set, refcount {refcount}"
            expected = "not in the free set, refcount at least 1"
            bench.report(law, (what, expected, observed), blocks=((device, blocks[at]),))

    def _announced(self, change: RowChange) -> None:
        assert change.after is not None
        row, told = change.after.blocks, self.bench.driver.announced_row(change.seq)
        differences = sum(a != b for a, b in zip(row, told, strict=False)) + abs(len(row) - len(told))
        if not self.bench.holds("table.announced", differences):
            what = f"announcements do not add up to the row of sequence {change.seq.id}"
            self.bench.report("table.announced", (what, f"{shown(row)}", f"{shown(told)}"))

    def _aliases(self, change: RowChange) -> None:
        """Whether another live sequence names a slot of a changed row that one of them has written, and must read
        something else there.
        """
        assert change.after is not None
        device, row = change.after.device, change.after.blocks
        owned = self.bench.ledger.owners[device]
        # A block of one owner has no strangers, and most have one.
        strangers = [
            self._strangers(change.seq, index, device, block) if block != NULL and len(owned[block]) > 1 else []
            for index, block in enumerate(row)
        ]
        for at in self.bench.breaches("table.no-alias", [(len(those),) for those in strangers]):
            self._shared(change.seq, strangers[at], device, row[at])

    def _strangers(self, seq: Seq, index: int, device: Device, block: int) -> list[Seq]:
        return [
            other
            for other, place in self.bench.ledger.readers(device, block)
            if other is not seq and self._differ(seq, index, other, place)
        ]

    def _differ(self, seq: Seq, index: int, other: Seq, place: int) -> bool:
        layout = self.bench.layout
        start, begin = layout.start(index), layout.start(place)
        written = max(seq.computed - start, other.computed - begin)
        if written <= 0:
            return False
        common = min(seq.upto - start, other.upto - begin, written, layout.size)
        if common <= max(0, layout.live(index, seq.computed) - start, layout.live(place, other.computed) - begin):
            return False  # one of them reads nothing there any more
        # Prefixes are interned: if the last common slot agrees, so do all before it.
        mine, yours = seq.prefixes[start + common - 1], other.prefixes[begin + common - 1]
        return layout.content(mine, index) != layout.content(yours, place)

    def tenancy(self, seq: Seq, strangers: list[Seq], device: Device, block: int) -> None:
        """Who else lives in a block of the sequence, and must not."""
        if not self.bench.holds("table.no-alias", len(strangers)):
            self._shared(seq, strangers, device, block)

    def _shared(self, seq: Seq, strangers: list[Seq], device: Device, block: int) -> None:
        where = f"{device.value} block {block}"
        pair = f"sequences {seq.id} and {strangers[0].id}"
        what = f"{pair} share a written slot of {where} and must read different KV there"
        explanation = what, "a slot of its own for each", f"both rows name {where}"
        self.bench.report("table.no-alias", explanation, blocks=((device, block),))
