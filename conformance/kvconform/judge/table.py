"""Gathers the cases of the table laws: rows, their slots, their device, who else names them."""

from __future__ import annotations

from collections import Counter

from kvconform.adapter import Seq
from kvconform.judge.bench import WHOLE_POOL, Bench, RowChange, Transition
from kvconform.ledger import home
from kvspec.laws.table import Announcement, Entry, Frame, Place, Row, Tenancy
from kvspec.vocabulary import Allocate, Append, Capability, Device, Fork, SwapIn, SwapOut


class Table:
    """Judges block tables."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench

    def frame(self, t: Transition) -> None:
        """Rows that the operation does not name stay as they were."""
        others = [change for change in t.changes if change.seq.id not in t.named and change.before is not None]
        for change in others:
            self.bench.check(
                "table.frame",
                Frame(named=False, changed=not self._explained(t, change)),
                lambda c=change: (  # type: ignore[misc]
                    f"{t.op.op} changed the row of sequence {c.seq.id}, which it is not about",
                    f"row {c.before.blocks if c.before else None}",
                    f"row {c.after.blocks if c.after else None}",
                ),
            )
        if not others and len(self.bench.ledger.rows) > len(t.named):
            # One case stands for all the rows that are as they were: they are alike.
            self.bench.check("table.frame", Frame(named=False, changed=False), lambda: ("", "", ""))

    def _explained(self, t: Transition, change: RowChange) -> bool:
        """Whether announced copies turn the old row into the new one."""
        if change.before is None or change.after is None or len(change.before.blocks) != len(change.after.blocks):
            return False
        copies = {(transfer.source, transfer.target) for transfer in t.outcome.transfers if transfer.copy}
        pairs = zip(change.before.blocks, change.after.blocks, strict=True)
        return all(old == new or (old, new) in copies for old, new in pairs)

    def extent(self, t: Transition) -> None:
        """The rows of the sequences that the operation was carried through for have the slots they need."""
        if not isinstance(t.op, (Allocate, Append, Fork, SwapIn, SwapOut)):
            return
        declared, config = self.bench.adapter.capabilities, self.bench.config
        asked = t.group.lookahead if t.group else 0
        grows = isinstance(t.op, (Allocate, Append, SwapIn))
        provided = asked if not isinstance(t.op, Allocate) or declared.allocate_lookahead == "provided" else 0
        for seq in t.outcome.moved:
            row = self.bench.ledger.rows.get(seq.id)
            if row is None:
                continue
            wanted = seq.upto + (provided if grows else 0)
            longest = max(self.bench.config.max_model_len, seq.upto)
            before = t.lengths.get(t.op.parent if isinstance(t.op, Fork) else seq.id, 0)
            covers = Row(len(row.blocks), min(wanted, longest), config.block_size, before)
            tight = Row(len(row.blocks), wanted, config.block_size, before)
            for law, case in (("table.covers", covers), ("table.tight", tight)):
                self.bench.check(
                    law,
                    case,
                    lambda s=seq, c=case: (  # type: ignore[misc]
                        f"after {t.op.op}, the row of sequence {s.id} has the wrong length",
                        f"{c.slots} slots in blocks of {c.block_size}, {c.blocks_before} blocks before",
                        f"{c.blocks} blocks",
                    ),
                )

    def places(self, t: Transition) -> None:
        """Changed rows lie on the right device and name held blocks; announcements add up to them."""
        for change in t.changes:
            if change.after is None:
                continue
            self._device(change.seq)
            self._live(change)
            self._announced(change)
            self._aliases(change)

    def _device(self, seq: Seq) -> None:
        if not self.bench.has(Capability.ROW_DEVICE):
            return
        shown = self.bench.driver.row_device(seq)
        self.bench.check(
            "table.one-device",
            Place(shown is Device.GPU, home(seq) is Device.GPU),
            lambda: (
                f"the row of {seq.status.value} sequence {seq.id} lies on the wrong device",
                home(seq).value,
                shown.value,
            ),
        )

    def _live(self, change: RowChange) -> None:
        assert change.after is not None
        device, row = change.after.device, change.after.blocks
        live = -(-change.seq.upto // self.bench.config.block_size)
        numbers = self.bench.adapter.block_numbers(device, self.bench.config)
        whole = self.bench.has(Capability.FREE_SET) and self.bench.config.total(device) <= WHOLE_POOL
        listed = Counter(self.bench.driver.free_blocks(device)) if whole else Counter[int]()
        for block in row[:live]:
            known = self.bench.has(Capability.REFCOUNTS) and block in numbers
            refcount = self.bench.driver.refcount(device, block) if known else 1
            self.bench.check(
                "table.live",
                Entry(listed[block], refcount),
                lambda b=block, r=refcount: (  # type: ignore[misc]
                    f"the row of sequence {change.seq.id} names {device.value} block {b}, which is not held",
                    "not in the free set, refcount at least 1",
                    f"{'in' if listed[b] else 'not in'} the free set, refcount {r}",
                ),
            )

    def _announced(self, change: RowChange) -> None:
        if not self.bench.has(Capability.ANNOUNCES):
            return
        assert change.after is not None
        row, told = change.after.blocks, self.bench.driver.announced_row(change.seq)
        differences = sum(a != b for a, b in zip(row, told, strict=False)) + abs(len(row) - len(told))
        self.bench.check(
            "table.announced",
            Announcement(differences),
            lambda: (f"announcements do not add up to the row of sequence {change.seq.id}", f"{row}", f"{told}"),
        )

    def _aliases(self, change: RowChange) -> None:
        """Whether another live sequence names a slot of a changed row that one of them has written, and must read
        something else there.
        """
        assert change.after is not None
        device, size = change.after.device, self.bench.config.block_size
        for index, block in enumerate(change.after.blocks):
            strangers = [
                other
                for other, place in self.bench.ledger.readers(device, block)
                if other is not change.seq and self._differ(change.seq, index * size, other, place * size)
            ]
            self.tenancy(change.seq, strangers, device, block)

    def _differ(self, seq: Seq, start: int, other: Seq, begin: int) -> bool:
        written = max(seq.computed - start, other.computed - begin)
        common = min(seq.upto - start, other.upto - begin, written, self.bench.config.block_size)
        # Prefixes are interned: if the last common slot agrees, so do all before it.
        return common > 0 and seq.prefixes[start + common - 1] != other.prefixes[begin + common - 1]

    def tenancy(self, seq: Seq, strangers: list[Seq], device: Device, block: int) -> None:
        """Who else lives in a block of the sequence, and must not."""
        self.bench.check(
            "table.no-alias",
            Tenancy(len(strangers)),
            lambda: (
                f"sequences {seq.id} and {strangers[0].id} share a written slot of {device.value} block {block} "
                "and must read different KV there",
                "a slot of its own for each",
                f"both rows name {device.value} block {block}",
            ),
        )
