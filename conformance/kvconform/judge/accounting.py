"""Gathers the cases of the accounting laws: pools, blocks, block numbers, releases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from kvconform.adapter import ErrorKind, Seq
from kvconform.judge.bench import WHOLE_POOL, Bench, RowChange, Transition
from kvspec.laws.accounting import Block, BlockNumber, Pool, Release
from kvspec.vocabulary import Append, Capability, Device, SwapIn, SwapOut


class Accounting:
    """Judges counts, refcounts, free sets and block numbers."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self._numbers = {device: bench.adapter.block_numbers(device, bench.config) for device in Device}

    def pools(self, counts: dict[Device, int]) -> None:
        """Each pool's classes add up."""
        for device, free in counts.items():
            held, total = self.bench.ledger.held(device), self.bench.config.total(device)
            self.bench.check(
                "accounting.conservation",
                Pool(free=free, held=held, total=total),
                lambda d=device, f=free, h=held, n=total: (  # type: ignore[misc]
                    f"blocks of the {d.value} pool do not add up",
                    f"free + held = {n}",
                    f"{f} free + {h} held = {f + h}",
                ),
                place=device.value,
            )

    def empty(self, counts: dict[Device, int]) -> None:
        """With no sequence left, everything is free."""
        for device, free in counts.items():
            held, total = self.bench.ledger.held(device), self.bench.config.total(device)
            self.bench.check(
                "accounting.no-leak",
                Pool(free=free, held=held, total=total),
                lambda d=device, f=free, n=total: (  # type: ignore[misc]
                    f"the {d.value} pool does not come back when the last sequence is gone",
                    f"{n} free",
                    f"{f} free",
                ),
                place=device.value,
            )

    def released(self, t: Transition) -> None:
        """Nothing was given back twice. Judged after the ledger knows the new rows."""
        error = t.outcome.error_kind is ErrorKind.DOUBLE_FREE
        strangers = self._strangers(t)
        for device, free in t.counts.items():
            growth = free - t.counts_before.get(device, free)
            ended = t.held[device] - self.bench.ledger.held(device)
            taken = strangers.get(device, [])
            self.bench.check(
                "accounting.no-double-free",
                Release(growth, ended, error, len(taken)),
                lambda d=device, g=growth, e=ended, s=taken: (  # type: ignore[misc]
                    f"{t.op.op} handed out block {s[0]} of the {d.value} pool while another sequence holds it"
                    if s
                    else f"{t.op.op} gave more blocks of the {d.value} pool back than lost their last owner",
                    f"free count changes by {e}",
                    f"free count changed by {g}",
                ),
                place=device.value,
            )

    def double_free_reported(self, t: Transition) -> None:
        """The manager itself complained of a double free during a legal operation."""
        error = t.outcome.error
        self.bench.check(
            "accounting.no-double-free",
            Release(error=True),
            lambda: (f"{t.outcome.where} reported a double free", "no double free in a legal operation", f"{error}"),
            type(error).__name__,
        )

    def _strangers(self, t: Transition) -> dict[Device, list[int]]:
        """Blocks newly in a row although a sequence that has no part in them holds them."""
        found: dict[Device, list[int]] = {}
        for change in t.changes:
            for index, block in change.new_entries():
                assert change.after is not None
                readers = self.bench.ledger.readers(change.after.device, block)
                if any(other is not change.seq and not _may_share(t, change, other, index) for other, _ in readers):
                    found.setdefault(change.after.device, []).append(block)
        return found

    def numbers(self, changes: Iterable[RowChange]) -> None:
        """Every new entry has a number of the device, once in its row."""
        for change in changes:
            if change.after is None:
                continue
            numbers = self._numbers[change.after.device]
            repeated = Counter(change.after.blocks) if len(set(change.after.blocks)) < len(change.after.blocks) else {}
            for _, block in change.new_entries():
                first, last, times = numbers.start, numbers.stop - 1, repeated.get(block, 1)
                self.bench.check(
                    "accounting.valid-ids",
                    BlockNumber(block, first, last, times),
                    lambda c=change, b=block, f=first, e=last, n=times: (  # type: ignore[misc]
                        f"the row of sequence {c.seq.id} names block {b} {n} times"
                        if n > 1
                        else f"the row of sequence {c.seq.id} names block {b}, which the pool does not have",
                        f"numbers from {f} to {e}, each once in a row",
                        f"row {c.after.blocks}",
                    ),
                )

    def blocks(self, touched: dict[Device, set[int]]) -> None:
        """Refcounts and free set agree with the owners, for these blocks."""
        for device, blocks in touched.items():
            if self.bench.has(Capability.REFCOUNTS):
                self._refcounts(device, blocks)
            if self.bench.has(Capability.FREE_SET) and self.bench.config.total(device) <= WHOLE_POOL:
                self._free_set(device, blocks)

    def sweep(self) -> None:
        """The same for every block of the pools."""
        for device in self.bench.driver.devices:
            blocks = set(self._numbers[device])
            if self.bench.has(Capability.REFCOUNTS):
                self._refcounts(device, blocks)
            if self.bench.has(Capability.FREE_SET):
                self._free_set(device, blocks)

    def _refcounts(self, device: Device, blocks: Iterable[int]) -> None:
        numbers, owned = self._numbers[device], self.bench.ledger.owners[device]
        for block in sorted(blocks):
            if block not in numbers:
                continue  # accounting.valid-ids says so
            refcount, owners = self.bench.driver.refcount(device, block), len(owned.get(block, ()))
            self.bench.check(
                "accounting.refcount",
                Block(refcount=refcount, owners=owners),
                lambda b=block, r=refcount, o=owners: (  # type: ignore[misc]
                    f"the refcount of {device.value} block {b} is not its number of owners",
                    f"{o} (sequences {sorted(owned.get(b, ()))})",
                    f"{r}",
                ),
                place=device.value,
            )

    def _free_set(self, device: Device, blocks: Iterable[int]) -> None:
        listed, owned = Counter(self.bench.driver.free_blocks(device)), self.bench.ledger.owners[device]
        for block in sorted(blocks):
            times, classified = listed[block], int(block in owned)
            self.bench.check(
                "accounting.free-exact",
                Block(times_free=times, classified=classified),
                lambda b=block, n=times, c=classified: (  # type: ignore[misc]
                    f"{device.value} block {b} is {_fate(n, c)}",
                    f"in the free set {1 - c} times",
                    f"{n} times",
                ),
                place=device.value,
            )


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
