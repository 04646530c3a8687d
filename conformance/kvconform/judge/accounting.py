"""Gathers the cases of the accounting laws: pools, blocks, block numbers, releases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from kvconform.adapter import Seq
from kvconform.judge.bench import WHOLE_POOL, Bench, RowChange, Transition
from kvspec.vocabulary import Append, Capability, Device, Fork, SwapIn, SwapOut


class Accounting:
    """Judges counts, refcounts, free sets and block numbers."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self._numbers = {device: bench.adapter.block_numbers(device, bench.config) for device in Device}
        self._totals = {device: bench.config.total(device) for device in Device}
        self._refcounts_shown, self._free_set_shown = bench.has(Capability.REFCOUNTS), bench.has(Capability.FREE_SET)

    def pools(self, counts: dict[Device, int], holdings: dict[Device, int]) -> None:
        """Each pool's classes add up."""
        bench, law = self.bench, "accounting.conservation"
        for device, free in counts.items():
            held, total, kept = holdings[device], bench.total(device), bench.reclaimable.get(device, 0)
            if not bench.holds(law, free, held, total, kept):
                what = f"blocks of the {device.value} pool do not add up"
                cached = f" + {kept} reclaimable" if kept else ""
                observed = f"{free} free + {held} held{cached} = {free + held + kept}"
                bench.report(law, (what, f"{total} in all", observed), place=device.value)

    def empty(self, counts: dict[Device, int], holdings: dict[Device, int]) -> None:
        """With no sequence left, everything is free."""
        bench, law = self.bench, "accounting.no-leak"
        for device, free in counts.items():
            held, total, kept = holdings[device], bench.total(device), bench.reclaimable.get(device, 0)
            if not bench.holds(law, free, held, total, kept):
                what = f"the {device.value} pool does not come back when the last sequence is gone"
                cached = f", {kept} reclaimable" if kept else ""
                bench.report(law, (what, f"{total} free", f"{free} free{cached}"), place=device.value)

    def released(self, t: Transition) -> None:
        """Nothing was given back twice, by what can be counted. Judged after the ledger knows the new rows."""
        bench, law = self.bench, "accounting.no-double-free"
        error = False  # what the manager itself complained of has been judged
        strangers = self._strangers(t) if t.changes else {}
        for device, free in t.counts.items():
            growth = free - t.counts_before.get(device, free)
            growth += self.bench.reclaimable.get(device, 0) - t.reclaimable_before.get(device, 0)
            ended = t.held_before[device] - t.held[device]
            taken = strangers.get(device, ())
            if bench.holds(law, growth, ended, error, len(taken)):
                continue
            if taken:
                block = f"block {taken[0]} of the {device.value} pool"
                what = f"{t.op.op} handed out {block} while another sequence holds it"
            else:
                what = f"{t.op.op} gave more blocks of the {device.value} pool back than lost their last owner"
            counted = f"free count changes by {ended}", f"free count changed by {growth}"
            blocks = tuple((device, block) for block in taken)
            bench.report(law, (what, *counted), place=device.value, blocks=blocks)

    def double_free_reported(self, t: Transition) -> None:
        """The manager itself complained of a double free during a legal operation."""
        error, law = t.outcome.error, "accounting.no-double-free"
        growth, ended, reported = 0, 0, True
        if not self.bench.holds(law, growth, ended, reported):
            what = f"{t.outcome.where} reported a double free"
            explanation = what, "no double free in a legal operation", f"{error}"
            self.bench.report(law, explanation, type(error).__name__)

    def _strangers(self, t: Transition) -> dict[Device, list[int]]:
        """Blocks newly in a row although a sequence that has no part in them holds them."""
        found: dict[Device, list[int]] = {}
        ledger = self.bench.ledger
        for change in t.changes:
            if change.after is None:
                continue
            device = change.after.device
            owned = ledger.owners[device]
            hits = t.outcome.cached.get(change.seq.id, 0)
            parent = ledger.rows.get(t.op.parent) if isinstance(t.op, Fork) else None
            inherited = parent.blocks if parent is not None else ()
            for index, block in change.fresh:
                if len(owned[block]) == 1 or ledger.layout.start(index) < hits:
                    continue  # its only owner is the sequence itself, or the laws of the prefix say what it must hold
                if block in inherited or ledger.alike(change.seq, device, block, index):
                    continue
                for other, _ in ledger.readers(device, block):
                    if other is not change.seq and not _may_share(t, change, other, index):
                        found.setdefault(device, []).append(block)
                        break
        return found

    def numbers(self, changes: Iterable[RowChange]) -> None:
        """Every new entry has a number of the device, once in its row."""
        bench, law = self.bench, "accounting.valid-ids"
        for change in changes:
            if change.after is None:
                continue
            row, numbers = change.after.blocks, self._numbers[change.after.device]
            first, last, times = numbers.start, numbers.stop - 1, _times(row)
            cases = [(block, first, last, times[block]) for _, block in change.fresh]
            for at in bench.breaches(law, cases):
                block, _, _, named = cases[at]
                trouble = f" {named} times" if named > 1 else ", which the pool does not have"
                what = f"the row of sequence {change.seq.id} names block {block}{trouble}"
                expected = f"numbers from {first} to {last}, each once in a row"
                bench.report(law, (what, expected, f"row {row}"), blocks=((change.after.device, block),))

    def blocks(self, t: Transition, touched: dict[Device, set[int]]) -> None:
        """Refcounts and free set agree with the owners, for these blocks; what is seen of them is kept."""
        for device, blocks in touched.items():
            if self._refcounts_shown:
                t.refcounts[device] = self._refcounts(device, blocks)
            if self._free_set_shown and self._totals[device] <= WHOLE_POOL:
                t.listed[device] = self._free_set(device, blocks)

    def sweep(self) -> None:
        """The same for every block of the pools."""
        for device in self.bench.driver.devices:
            null = self.bench.null if device is Device.GPU else None
            blocks = [block for block in self._numbers[device] if block != null]
            if self._refcounts_shown:
                self._refcounts(device, blocks)
            if self._free_set_shown:
                self._free_set(device, blocks)

    def _refcounts(self, device: Device, blocks: Iterable[int]) -> dict[int, int]:
        """Judge these blocks' refcounts; which they are."""
        numbers, seen = self._numbers[device], dict[int, int]()
        try:  # where a block is not in the pool, accounting.valid-ids says so
            known = [block for block in sorted(blocks) if block in numbers]
            self.bench.driver.see_refcounts(device, known, seen)
        finally:  # those that could be seen are judged even where the next one could not
            self._judge_refcounts(device, seen)
        return seen

    def _judge_refcounts(self, device: Device, seen: dict[int, int]) -> None:
        bench, law, owned = self.bench, "accounting.refcount", self.bench.ledger.owners[device]
        cases = [(refcount, len(owned.get(block, ()))) for block, refcount in seen.items()]
        for at in bench.breaches(law, cases):
            block, (refcount, owners) = list(seen)[at], cases[at]
            what = f"the refcount of {device.value} block {block} is not its number of owners"
            expected = f"{owners} (sequences {sorted(owned.get(block, ()))})"
            bench.report(law, (what, expected, f"{refcount}"), place=device.value, blocks=((device, block),))

    def _free_set(self, device: Device, blocks: Iterable[int]) -> Mapping[int, int]:
        """Judge these blocks' places in the free set; how often it lists whatever it lists."""
        bench, law = self.bench, "accounting.free-exact"
        listed, owned = _times(bench.driver.free_blocks(device)), bench.ledger.owners[device]
        numbers = sorted(blocks)
        refcount = owners = 0  # this law does not look at them
        # What an index owns by itself is in no free set; which blocks it owns only the count of them says.
        kept = bool(self.bench.reclaimable.get(device))
        cases = [
            (refcount, owners, times, block in owned or (kept and not times))
            for block in numbers
            for times in (listed.get(block, 0),)
        ]
        for at in bench.breaches(law, cases):
            _, _, times, classified = cases[at]
            what = f"{device.value} block {numbers[at]} is {_fate(times, classified)}"
            expected = f"in the free set {1 - classified} times"
            marked = ((device, numbers[at]),)
            bench.report(law, (what, expected, f"{times} times"), place=device.value, blocks=marked)
        return listed


def _times(blocks: list[int]) -> Mapping[int, int]:
    """How often each block is among these."""
    once = dict.fromkeys(blocks, 1)
    return once if len(once) == len(blocks) else Counter(blocks)  # counting costs several times as much


def _may_share(t: Transition, change: RowChange, other: Seq, index: int) -> bool:
    """Whether the operation may give a row an entry that another sequence names too."""
    if other.group is not change.seq.group or isinstance(t.op, Append):
        return False
    if not isinstance(t.op, (SwapOut, SwapIn)):
        return True
    rows = [c.before.blocks for c in t.changes if c.before and c.seq in (change.seq, other)]
    return all(index < len(row) for row in rows) and len({row[index] for row in rows}) == 1


def _fate(times_free: int, classified: int) -> str:
    """What is wrong with a block that is not just once in one class."""
    if not times_free:
        return "lost"
    return "both free and held" if classified else "free twice"
