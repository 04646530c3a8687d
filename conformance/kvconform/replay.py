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
from kvconform.choices import choose_capabilities, needs
from kvconform.documents import WorkloadLine
from kvconform.errors import TargetError, UsageError
from kvconform.finding import Raw, raws_of
from kvconform.run import Run
from kvconform.targets import Target
from kvconform.trace import TraceError, TraceFile, read
from kvconform.workload import Request, Workload, fits_alone
from kvspec.laws import CATALOGUE
from kvspec.vocabulary import NEEDS, Config, Level, Result

REPETITIONS = 5
"""How often a run that did not repeat is tried again: what differs by chance does not differ each time."""


@dataclass
class Replayed:
    """What a replay came to. shows: the violation that the trace was kept for, if it still shows. others: violations of
    other MUST laws. skipped: operations (numbers from 1) that no longer applied. turned: the first operation that ended
    otherwise than OK, and how. start: starts another run like it.
    """

    file: TraceFile
    start: Callable[..., Run]
    shows: Raw | None = None
    others: list[Raw] = field(default_factory=list)
    skipped: list[int] = field(default_factory=list)
    turned: tuple[int, str] | None = None

    @property
    def failing(self) -> bool:
        """Whether the law that the trace is about, or any MUST law, is broken."""
        return bool(self.raws)

    @property
    def raws(self) -> list[Raw]:
        """All that is broken, what the trace is about first."""
        return [*([self.shows] if self.shows else []), *self.others]

    @property
    def answer(self) -> str:
        """In a word: `fixed` or `still failing`; of a trace that is about no law `conforms` or `violates`."""
        if self.file.law is None:
            return "violates" if self.failing else "conforms"
        return "still failing" if self.failing else "fixed"

    def note(self) -> str:
        """Where the target took another way than the trace, if it did."""
        if self.turned is None or self.failing:
            return ""
        at, ended = self.turned
        told = f"operation {at} ({self.file.operations[at - 1].op}) ended otherwise: {ended}"
        numbers = ", ".join(map(str, self.skipped))
        return f"{told}; so these were left out, as no engine would go on with them: {numbers}" if numbers else told


def read_trace(path: Path) -> TraceFile:
    """The trace file. Raises UsageError for one that is no trace, or whose header asks for what there is not."""
    try:
        file = read(path)
    except TraceError as error:
        raise UsageError(str(error)) from None
    validate(file, f"{path}, line 1")
    return file


def validate(file: TraceFile, where: str) -> None:
    """Raises UsageError, which begins with `where`, for a header that asks for what there is not."""
    law, probe, names = file.law, file.header.get("probe", ""), file.header.get("without", [])
    known = ["", "finish", progress.PROBE, probes.REPEAT, *(probes.PREFIX + probe.name for probe in probes.PROBES)]
    if law is not None and (not isinstance(law, str) or law not in CATALOGUE):
        raise UsageError(f"{where}: unknown law {law!r}; see: kvconform laws")
    if probe not in known:
        raise UsageError(f"{where}: unknown probe {probe!r}; known: {', '.join(known[1:])}")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise UsageError(f"{where}: without is a list of capabilities, not {names!r}")
    choose_capabilities(names)
    if probe == progress.PROBE:
        _workload(file)


def replay(path: Path, target: Target) -> Replayed:
    """Read a trace and run it again. Raises as `read_trace` and `rerun`."""
    return rerun(read_trace(path), target)


def own_target(file: TraceFile) -> str:
    """The target that a finding was made on, by its header. Raises UsageError where the trace is none or names none."""
    target = file.header.get("target")
    if file.law is None:
        raise UsageError(
            "the trace is no finding (its header names no law); say on which target to run it: --on TARGET"
        )
    if not isinstance(target, str) or not target:
        raise UsageError("the trace's header names no target; say on which to run it: --on TARGET")
    return target


def rerun(file: TraceFile, target: Target) -> Replayed:
    """Run a trace again.

    Raises TargetError where the target cannot run it, or where the law that it is about cannot be judged there.
    """
    without = choose_capabilities(file.header.get("without", []))
    capabilities = capabilities_of(target.adapter) - without
    lacking = unsupported(file.config, capabilities)
    if lacking:
        raise TargetError(f"the trace's configuration asks for {lacking}, which the target does not have")
    if file.law is not None and not CATALOGUE[file.law].applicable(capabilities):
        raise TargetError(
            f"{file.law} cannot be judged on the target: it needs {needs(CATALOGUE[file.law], capabilities)}"
        )

    def start(config: Config, *, record: bool = False) -> Run:
        return Run(target.adapter, config, without=without, record=record)

    replayed = Replayed(file, start)
    try:
        raws = raws_again(replayed)
    except AdapterMistake as error:
        raise TargetError(f"the adapter, not the manager, is at fault: {error}") from None
    shown = [raw for raw in raws if raw.violation.law.id == file.law]
    # A law that does not end a run may be broken more than once: the trace was kept for what its header says.
    meant = [raw for raw in shown if raw.violation.op == file.header.get("at")]
    replayed.shows = next(iter(meant or shown), None)
    replayed.others = [
        raw for raw in raws if raw.violation.law.id != file.law and raw.violation.law.level is Level.MUST
    ]
    return replayed


def raws_again(replayed: Replayed, found_by: str = "replay") -> list[Raw]:
    """Run the trace, and note what became of it; everything that it shows, the first of each kind.

    Raises TargetError where it cannot be run.
    """
    file, start = replayed.file, replayed.start
    probe = file.header.get("probe", "")
    if probe.startswith(probes.PREFIX):
        return _bad_input(probe, file.config, start)
    if probe == progress.PROBE:
        return progress.attempt(start, _workload(file))[1]
    raws = _operations(replayed, found_by)
    if probe == probes.REPEAT:
        for _ in range(REPETITIONS):
            raws += probes.repeated(start, file.config, file.operations)
    return raws


def _bad_input(probe: str, config: Config, start: Callable[..., Run]) -> list[Raw]:
    known = probes.named(probe)
    run, raw = probes.bad_input(start, known, config)
    if raw is None and not run.tally.checks[probes.BAD_INPUT]:
        raise TargetError(
            f"bad input ({known.words}) cannot be tried on the target: it lacks what that takes, or refuses or breaks "
            "what comes before it"
        )
    return [raw] if raw else []


def _workload(file: TraceFile) -> Workload:
    try:
        data = msgspec.convert(file.header.get("workload"), WorkloadLine)
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


def _operations(replayed: Replayed, found_by: str) -> list[Raw]:
    run = replayed.start(replayed.file.config)
    for number, op in enumerate(replayed.file.operations, 1):
        if run.over:
            break
        missing = [need.value for need in NEEDS[op.op] if need not in run.capabilities]
        if missing:
            raise TargetError(f"operation {number} ({op.op}) cannot be run: the target has no {', '.join(missing)}")
        reason = run.why_not(op)
        if reason is None:
            outcome = run.apply(op)
            if outcome.result is not Result.OK and replayed.turned is None:
                replayed.turned = (
                    number,
                    outcome.verdict.value if outcome.refused and outcome.verdict else outcome.result.value,
                )
        elif replayed.turned is not None:
            replayed.skipped.append(number)
        else:
            raise TargetError(f"operation {number} ({op.op}) cannot be run: {reason}")
    if not run.over:
        run.finish()
    return raws_of(run, found_by)
