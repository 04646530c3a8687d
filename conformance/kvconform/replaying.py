"""What `replay` prints and writes: whether a finding is fixed, still failing, or cannot be run. Exit codes 0, 1, 4.

Knows results of replays; how one is run is in `replay`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console

from kvconform.documents import BrokenLine, ReplayDocument
from kvconform.errors import CONFORMS, VIOLATES, TargetError
from kvconform.guard import time_guard
from kvconform.replay import Replayed, own_target, rerun
from kvconform.report.replayed import told
from kvconform.targets import resolve
from kvconform.trace import TraceFile

GUARD = 300.0
"""Seconds after which a target is taken to hang."""

COLOURS = {"fixed": "green", "conforms": "green", "still failing": "red", "violates": "red"}


def run(console: Console, path: Path, file: TraceFile, on: str | None, write: Callable[[Any], None]) -> int:
    """Run the trace again, say what came of it, and write it as JSON; the exit code.

    Raises UsageError where there is no target, TargetError (after the JSON is written) where it cannot run the trace.
    """
    target = on if on is not None else own_target(file)
    try:
        replayed = _rerun(file, target)
    except TargetError as error:
        write(_document(path, target, file, error=str(error)))
        raise
    for line in told(replayed) if replayed.failing else []:
        console.print(line, soft_wrap=True)
    if replayed.failing and replayed.shows is None and file.law is not None:
        console.print(f"\n{file.law} is kept now, but the same operations break another MUST law")
    if replayed.note():
        console.print(replayed.note(), markup=False)
    said = "" if on is not None else " (the target that it names)"
    console.print(f"\n{path.name} on {target}{said}: ", end="", markup=False, soft_wrap=True)
    console.print(replayed.answer, style=f"bold {COLOURS[replayed.answer]}")
    write(_document(path, target, file, replayed))
    return VIOLATES if replayed.failing else CONFORMS


def _rerun(file: TraceFile, target: str) -> Replayed:
    try:
        with time_guard(GUARD):
            return rerun(file, resolve(target))
    except KeyboardInterrupt as stop:
        if not str(stop):
            raise
        raise TargetError(f"{target} does not come back: {stop}") from None


def _document(
    path: Path, target: str, file: TraceFile, replayed: Replayed | None = None, error: str = ""
) -> ReplayDocument:
    violations = [raw.violation for raw in replayed.raws] if replayed else []
    return ReplayDocument(
        trace=str(path),
        target=target,
        answer=replayed.answer if replayed else "error",  # type: ignore[arg-type]
        verdict="error" if replayed is None else "violates" if replayed.failing else "conforms",
        law=file.law,
        violations=[BrokenLine(v.law.id, v.law.level.value, v.message, v.expected, v.observed) for v in violations],
        skipped=replayed.skipped if replayed else [],
        note=replayed.note() if replayed else "",
        error=error,
    )
