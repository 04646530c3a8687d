"""Gathers the cases of the robustness laws that one transition shows: crashes, failures, endings."""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import Any

from kvconform.adapter import ErrorKind
from kvconform.errors import said
from kvconform.judge.bench import WHOLE_POOL, Bench, Transition, shown
from kvspec.vocabulary import Capability, Device, Free, Result


class Robust:
    """Judges errors and what failures leave behind."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench

    def call(self, t: Transition) -> None:
        """Whether the operation raised what it must not."""
        outcome = t.outcome
        told_again = outcome.again and outcome.error_kind is ErrorKind.BAD_INPUT
        raised = outcome.result is Result.RAISED and not told_again
        # a reported double free is a matter of accounting.no-double-free
        if outcome.error_kind is not ErrorKind.DOUBLE_FREE and not self.bench.holds("robust.no-crash", raised):
            self.bench.report("robust.no-crash", self._raised(t), _kind(outcome.error))
        if isinstance(t.op, Free):
            changed = outcome.again and (bool(t.changes) or t.counts != t.counts_before)
            if not self.bench.holds("robust.free-any-state", outcome.again, raised, changed):
                self.bench.report("robust.free-any-state", self._ending(t, changed), _kind(outcome.error))

    def _raised(self, t: Transition) -> tuple[str, str, str]:
        outcome = t.outcome
        declared = ", ".join(kind.__name__ for kind in _classes(self.bench.adapter.out_of_blocks))
        return (
            f"{outcome.where} raised {type(outcome.error).__name__}",
            f"nothing but the declared out-of-blocks outcome ({declared or 'out_of_blocks of the adapter is empty'})",
            f"{said(outcome.error)}{_place(outcome.error)}",
        )

    def _ending(self, t: Transition, changed: bool) -> tuple[str, str, str]:
        if t.outcome.error is not None:
            return self._raised(t)
        return (
            "freeing a sequence again changed something",
            "nothing happens",
            f"free blocks {shown(t.counts)} after {shown(t.counts_before)}" if changed else "",
        )

    def failure(self, t: Transition) -> None:
        """Whether a refused or failed operation left something behind. Judged after the ledger knows the new rows."""
        result = t.outcome.result
        atomic = result is Result.OUT_OF_BLOCKS and self.bench.has(Capability.ATOMIC_FAILURES)
        if result is not Result.REFUSED and not atomic:
            return
        rows = self._rows_left(t)
        lost = [
            device.value
            for device, free in t.counts.items()
            if free + t.held[device] + self._set_aside(device, t) + self.bench.reclaimable.get(device, 0)
            != t.counts_before[device] + t.held_before[device] + t.reclaimable_before.get(device, 0)
        ]
        moved = [] if rows or lost else self._refcounts_left()
        if not self.bench.holds("robust.atomic-failure", bool(rows or lost or moved)):
            fate = "was refused" if result is Result.REFUSED else "failed"
            left = f"rows of sequences {rows} changed" if rows else f"blocks of the {', '.join(lost)} pool are gone"
            left = f"refcounts of blocks {moved[:8]} changed" if moved else left
            explanation = f"{t.op.op} {fate} and left something behind", "counts and rows as they were", left
            blocks = tuple((Device.GPU, block) for block in moved)
            self.bench.report("robust.atomic-failure", explanation, blocks=blocks)

    def _set_aside(self, device: Device, t: Transition) -> int:
        """1 where the operation has set the null block of this pool aside."""
        return int(device is Device.GPU and t.null_before is None and self.bench.null is not None)

    def _refcounts_left(self) -> list[int]:
        """With prefix caching, blocks that others own or that are cached, and whose refcount is not their owners': what
        a refused admission has found, and keeps.
        """
        ledger = self.bench.ledger
        if ledger.cached is None or not self.bench.has(Capability.REFCOUNTS):
            return []
        if self.bench.config.num_gpu_blocks > WHOLE_POOL:
            return []  # looking would cost too much
        owned = ledger.owners[Device.GPU]
        blocks = sorted({*owned, *ledger.cached.ends})
        counts: dict[int, int] = {}
        self.bench.driver.see_refcounts(Device.GPU, blocks, counts)
        return [block for block in blocks if counts[block] != len(owned.get(block, ()))]

    def _rows_left(self, t: Transition) -> list[int]:
        """Sequences whose rows the failed operation changed. Members that were appended to before it failed, and a
        swap that was done before its appends began, are operations of their own that succeeded; what a window has left
        behind may be given up at any time.
        """
        kept = [change for change in t.changes if not change.only_gives_up(self.bench.layout)]
        outcome, rows = t.outcome, self.bench.ledger.rows
        if outcome.failed is not None:
            now = rows.get(outcome.failed.id)
            same = now is not None and (
                now.blocks == outcome.failed_row or not any(change.seq is outcome.failed for change in kept)
            )
            return [] if same else [outcome.failed.id]
        return [change.seq.id for change in kept]


def _kind(error: BaseException | None) -> str:
    return type(error).__name__ if error else ""


def _classes(declared: Any) -> tuple[type[BaseException], ...]:
    return declared if isinstance(declared, tuple) else (declared,)


def _place(error: BaseException | None) -> str:
    """The file and line that an exception comes from."""
    frames = traceback.extract_tb(error.__traceback__) if error is not None else []
    return f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
