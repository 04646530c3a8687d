"""Gathers the cases of the robustness laws that one transition shows: crashes, failures, endings."""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import Any

from kvconform.adapter import ErrorKind
from kvconform.judge.bench import Bench, Transition, shown
from kvspec.laws.robust import Call, Ending, Failure
from kvspec.vocabulary import Capability, Free, Result


class Robust:
    """Judges errors and what failures leave behind."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench

    def call(self, t: Transition) -> None:
        """Whether the operation raised what it must not."""
        outcome = t.outcome
        told_again = outcome.again and outcome.error_kind is ErrorKind.BAD_INPUT
        raised = outcome.result is Result.RAISED and not told_again
        error = type(outcome.error).__name__ if outcome.error else ""
        if outcome.error_kind is not ErrorKind.DOUBLE_FREE:  # accounting.no-double-free has that one
            self.bench.check("robust.no-crash", Call(raised), lambda: self._raised(t), error)
        if isinstance(t.op, Free):
            changed = outcome.again and (bool(t.changes) or t.counts != t.counts_before)
            self.bench.check(
                "robust.free-any-state", Ending(outcome.again, raised, changed), lambda: self._ending(t, changed), error
            )

    def _raised(self, t: Transition) -> tuple[str, str, str]:
        outcome = t.outcome
        declared = ", ".join(kind.__name__ for kind in _classes(self.bench.adapter.out_of_blocks))
        return (
            f"{outcome.where} raised {type(outcome.error).__name__}",
            f"nothing but the declared out-of-blocks outcome ({declared or 'out_of_blocks of the adapter is empty'})",
            f"{type(outcome.error).__name__}: {outcome.error}{_place(outcome.error)}",
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
        result, ledger = t.outcome.result, self.bench.ledger
        atomic = result is Result.OUT_OF_BLOCKS and self.bench.has(Capability.ATOMIC_FAILURES)
        if result is not Result.REFUSED and not atomic:
            return
        rows = self._rows_left(t)
        lost = [
            device.value
            for device, free in t.counts.items()
            if free + ledger.held(device) != t.counts_before[device] + t.held[device]
        ]
        self.bench.check(
            "robust.atomic-failure",
            Failure(bool(rows or lost)),
            lambda: (
                f"{t.op.op} {'was refused' if result is Result.REFUSED else 'failed'} and left something behind",
                "counts and rows as they were",
                f"rows of sequences {rows} changed" if rows else f"blocks of the {', '.join(lost)} pool are gone",
            ),
        )

    def _rows_left(self, t: Transition) -> list[int]:
        """Sequences whose rows the failed operation changed. Members that were appended to before it failed, and a
        swap that was done before its appends began, are operations of their own that succeeded.
        """
        outcome, rows = t.outcome, self.bench.ledger.rows
        if outcome.failed is not None:
            now = rows.get(outcome.failed.id)
            return [] if now is not None and now.blocks == outcome.failed_row else [outcome.failed.id]
        return [change.seq.id for change in t.changes]


def _classes(declared: Any) -> tuple[type[BaseException], ...]:
    return declared if isinstance(declared, tuple) else (declared,)


def _place(error: BaseException | None) -> str:
    """The file and line that an exception comes from."""
    frames = traceback.extract_tb(error.__traceback__) if error is not None else []
    return f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
