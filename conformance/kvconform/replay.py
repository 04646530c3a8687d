"""Runs a trace's operations again on a target, and says whether what it shows is still so.

Knows trace files and runs. A manager that is right may refuse what the wrong one approved; what then no longer
applies is left out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from kvconform import probes, progress
from kvconform.adapter import AdapterMistake, capabilities_of, unsupported
from kvconform.choices import choose_capabilities
from kvconform.errors import TargetError, UsageError
from kvconform.judge import Violation
from kvconform.run import Run
from kvconform.targets import Target
from kvconform.trace import TraceError, TraceFile, read
from kvconform.workload import Request, Workload, fits_alone
from kvspec.laws import CATALOGUE
from kvspec.vocabulary import NEEDS, Config, Level, Result

REPETITIONS = 5
"""How often a run that did not repeat is tried again: what differs by chance does not differ each time."""


class _WorkloadLine(msgspec.Struct, forbid_unknown_fields=True):
    requests: list[tuple[int, int]]
    lookahead: int = 0


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


def read_trace(path: Path) -> TraceFile:
    """The trace file. Raises UsageError for one that is no trace, or whose header asks for what there is not."""
    try:
        file = read(path)
    except TraceError as error:
        raise UsageError(str(error)) from None
    law, probe, names = file.law, file.header.get("probe", ""), file.header.get("without", [])
    known = ["", "finish", progress.PROBE, probes.REPEAT, *(probes.PREFIX + probe.name for probe in probes.PROBES)]
    if law is not None and (not isinstance(law, str) or law not in CATALOGUE):
        raise UsageError(f"{path}, line 1: unknown law {law!r}; see: kvconform laws")
    if probe not in known:
        raise UsageError(f"{path}, line 1: unknown probe {probe!r}; known: {', '.join(known[1:])}")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise UsageError(f"{path}, line 1: without is a list of capabilities, not {names!r}")
    choose_capabilities(names)
    if probe == progress.PROBE:
        _workload(file)
    return file


def replay(path: Path, target: Target) -> Replayed:
    """Read a trace and run it again. Raises as `read_trace` and `rerun`."""
    return rerun(read_trace(path), target)


def rerun(file: TraceFile, target: Target) -> Replayed:
    """Run a trace again. Raises TargetError where the target cannot run it."""
    without = choose_capabilities(file.header.get("without", []))
    lacking = unsupported(file.config, capabilities_of(target.adapter) - without)
    if lacking:
        raise TargetError(f"the trace's configuration asks for {lacking}, which the target does not have")

    def start(config: Config, *, record: bool = False) -> Run:
        return Run(target.adapter, config, without=without, record=record)

    replayed = Replayed(file)
    try:
        violations = _violations(file, start, replayed)
    except AdapterMistake as error:
        raise TargetError(f"the adapter, not the manager, is at fault: {error}") from None
    shown = [violation for violation in violations if violation.law.id == file.law]
    # A law that does not end a run may be broken more than once: the trace was kept for what its header says.
    meant = [violation for violation in shown if violation.op == file.header.get("at")]
    replayed.shows = next(iter(meant or shown), None)
    replayed.others = [v for v in violations if v.law.id != file.law and v.law.level is Level.MUST]
    return replayed


def _violations(file: TraceFile, start: Callable[..., Run], replayed: Replayed) -> list[Violation]:
    probe = file.header.get("probe", "")
    if probe.startswith(probes.PREFIX):
        return _bad_input(probe, file.config, start)
    if probe == progress.PROBE:
        _, raws = progress.attempt(start, _workload(file))
        return [raw.violation for raw in raws]
    violations = _operations(file, start(file.config), replayed)
    if probe == probes.REPEAT:
        for _ in range(REPETITIONS):
            violations += [raw.violation for raw in probes.repeated(start, file.config, file.operations)]
    return violations


def _bad_input(probe: str, config: Config, start: Callable[..., Run]) -> list[Violation]:
    for known in probes.PROBES:
        if probe == probes.PREFIX + known.name:
            _, raw = probes.bad_input(start, known, config)
            return [raw.violation] if raw else []
    raise AssertionError("read_trace knows the probes")


def _workload(file: TraceFile) -> Workload:
    try:
        data = msgspec.convert(file.header.get("workload"), _WorkloadLine)
    except msgspec.ValidationError as error:
        raise UsageError(f"the trace's header has no usable workload: {error}") from None
    work = Workload(file.config, tuple(Request(*pair) for pair in data.requests), data.lookahead)
    for request in work.requests:
        if request.prompt < 1 or request.output < 1 or work.lookahead < 0:
            raise UsageError(
                "the workload in the trace's header needs prompts and outputs of at least 1, lookahead of 0"
            )
        if not fits_alone(work.config, request, work.lookahead):
            raise UsageError(f"the workload in the trace's header has a request that does not fit alone: {request}")
    return work


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
