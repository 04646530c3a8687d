"""Runs a trace's operations again on a target, and says whether what it shows is still so.

Knows trace files and runs. A manager that is right may refuse what the wrong one approved; what then no longer
applies is left out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kvconform import probes, progress
from kvconform.adapter import AdapterMistake
from kvconform.check import choose_capabilities
from kvconform.errors import TargetError, UsageError
from kvconform.judge import Violation
from kvconform.run import Run
from kvconform.targets import Target
from kvconform.trace import TraceError, TraceFile, read
from kvconform.workload import Request, Workload
from kvspec.vocabulary import NEEDS, Config, Level, Result


@dataclass
class Replayed:
    """What a replay came to. skipped: operations (numbers from 1) that no longer applied. shows: the violation that the
    trace was kept for, if it still shows. others: MUST violations beside it.
    """

    file: TraceFile
    shows: Violation | None = None
    others: list[Violation] = field(default_factory=list)
    skipped: list[int] = field(default_factory=list)
    done: int = 0

    @property
    def failing(self) -> bool:
        """Whether the law that the trace is about, or any MUST law, is broken."""
        return self.shows is not None or bool(self.others)


def replay(path: Path, target: Target) -> Replayed:
    """Run a trace again. Raises UsageError for a file that is no trace, TargetError where the target cannot run it."""
    try:
        file = read(path)
    except TraceError as error:
        raise UsageError(str(error)) from None
    names = file.header.get("without", [])
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise UsageError(f"{path}, line 1: without is a list of capabilities, not {names!r}")
    without = choose_capabilities(names)

    def start(config: Config, *, record: bool = False) -> Run:
        return Run(target.adapter, config, without=without, record=record)

    replayed = Replayed(file)
    try:
        violations = _violations(file, start, replayed)
    except AdapterMistake as error:
        raise TargetError(f"the adapter, not the manager, is at fault: {error}") from None
    for violation in violations:
        if violation.law.id == file.law:
            replayed.shows = replayed.shows or violation
        elif violation.law.level is Level.MUST:
            replayed.others.append(violation)
    return replayed


def _violations(file: TraceFile, start: Callable[..., Run], replayed: Replayed) -> list[Violation]:
    probe = str(file.header.get("probe", ""))
    if probe.startswith(probes.PREFIX):
        return _bad_input(probe, file.config, start)
    if probe == probes.REPEAT:
        return [raw.violation for raw in probes.repeated(start, file.config, file.operations)]
    if probe == "progress":
        _, raws = progress.attempt(start, _workload(file))
        return [raw.violation for raw in raws]
    return _operations(file, start(file.config), replayed)


def _bad_input(probe: str, config: Config, start: Callable[..., Run]) -> list[Violation]:
    for known in probes.PROBES:
        if probe == probes.PREFIX + known.name:
            _, raw = probes.bad_input(start, known, config)
            return [raw.violation] if raw else []
    raise UsageError(f"unknown probe {probe!r}; known: {', '.join(p.name for p in probes.PROBES)}")


def _workload(file: TraceFile) -> Workload:
    try:
        data: Any = file.header["workload"]
        requests = tuple(Request(int(prompt), int(output)) for prompt, output in data["requests"])
        return Workload(file.config, requests, int(data["lookahead"]))
    except (KeyError, TypeError, ValueError):
        raise UsageError("the trace's header has no usable workload: requests [[prompt, output]], lookahead") from None


def _operations(file: TraceFile, run: Run, replayed: Replayed) -> list[Violation]:
    diverged = False
    for number, op in enumerate(file.operations, 1):
        if run.over:
            break
        missing = [need.value for need in NEEDS[op.op] if need not in run.capabilities]
        if missing:
            raise TargetError(f"operation {number} ({op.op}) cannot be run: the target has no {', '.join(missing)}")
        reason = run.why_not(op)
        if reason is None:
            outcome = run.apply(op)
            replayed.done += 1
            diverged = diverged or outcome.result is not Result.OK
        elif diverged:
            replayed.skipped.append(number)
        else:
            raise TargetError(f"operation {number} ({op.op}) cannot be run: {reason}")
    if not run.over:
        run.finish()
    return [found.violation for found in run.found]
