"""From a check's result to the report, and to the trace files that its findings name."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable
from pathlib import Path

from kvconform import __version__, progress, trace
from kvconform.check import Result, environment, judged, overall
from kvconform.errors import UsageError
from kvconform.finding import Finding
from kvconform.report.classes import likely_classes
from kvconform.report.model import (
    CoverageLine,
    EdgesLine,
    GuardLine,
    LawLine,
    Report,
    RestrictionLine,
    TargetLine,
    ViolationLine,
)
from kvconform.report.story import setting, tell
from kvconform.run import Run
from kvspec.laws import CATALOGUE_VERSION
from kvspec.vocabulary import Capability, Config, Operation


def build(result: Result, out: Path, start: Callable[..., Run]) -> Report:
    """The report; the findings' traces are written below `out`."""
    laws = judged(result)
    return Report(
        kvconform=__version__,
        catalogue=CATALOGUE_VERSION,
        target=target_line(result),
        verdict=overall(result, laws),  # type: ignore[arg-type]
        profile=result.profile.name,
        seed=result.seed,
        duration_s=round(result.seconds, 3),
        operations=result.tally.operations,
        laws=[
            LawLine(j.law.id, j.law.level.value, j.verdict, j.checks, j.reason, j.law.statement)  # type: ignore[arg-type]
            for j in laws
        ],
        violations=[_violation(finding, result, out, start) for finding in result.findings],
        coverage=_coverage(result),
        environment=environment(),
        strict=result.strict,
        without=sorted(capability.value for capability in result.without),
        notes=result.notes,
    )


def target_line(result: Result) -> TargetLine:
    """What was checked, with what it offers and what its engine never does."""
    adapter = result.target.adapter
    restrictions = [RestrictionLine(r.what.value, r.reason) for r in adapter.restrictions]
    if adapter.domain.reason:
        restrictions.append(RestrictionLine("domain", adapter.domain.reason))
    offered = {c.value: c in result.capabilities for c in Capability}
    return TargetLine(result.target.name, result.target.version, offered, restrictions)


def _coverage(result: Result) -> CoverageLine:
    hits = sorted(result.tally.guards.items(), key=lambda item: (item[0][0].value, item[0][1].value))
    guards = [GuardLine(guard.value, verdict.value, count) for (guard, verdict), count in hits]
    return CoverageLine(guards, EdgesLine(result.edges_total, result.edges_run, result.edges_unreachable))


def _violation(finding: Finding, result: Result, out: Path, start: Callable[..., Run]) -> ViolationLine:
    path = out / f"{finding.violation.law.id}-{finding.fingerprint}-{_slug(result.target.spec)}.jsonl"
    run = recorded(start, finding.config, finding.operations, finding.probe)
    try:
        save(finding, result, path, run)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror or error}") from None
    violation = finding.violation
    return ViolationLine(
        law=violation.law.id,
        level=violation.law.level.value,
        message=violation.message,
        expected=violation.expected,
        observed=violation.observed,
        config=trace.config_to_json(finding.config),
        step=len(finding.operations),
        trace=[trace.operation_to_json(op) for op in finding.operations],
        found_by=finding.found_by,
        fingerprint=finding.fingerprint,
        reproduce=f"kvconform replay {shlex.quote(str(path))} --on {shlex.quote(result.target.spec)}",
        features=sorted(finding.features),
        fault_class=likely_classes(violation.law.id),
        probe=finding.probe,
        statement=violation.law.statement,
        setting=setting(finding.config),
        story=[tell(op) for op in finding.operations],
        frames=run.pictures,
        marked=[(device.value, block) for device, block in violation.blocks],
        trace_file=str(path),
    )


def _slug(spec: str) -> str:
    """A target's name as part of a file name: two targets may share `--out`."""
    return re.sub(r"[^\w.@-]+", "-", spec)


def save(finding: Finding, result: Result, path: Path, run: Run) -> None:
    """Write the finding's trace, with what was observed at each operation. run: its operations, recorded."""
    violation = finding.violation
    header: dict[str, object] = {
        "target": result.target.spec,
        "law": violation.law.id,
        "at": violation.op,
        "fingerprint": finding.fingerprint,
        "message": violation.message,
    }
    if finding.probe:
        header["probe"] = finding.probe
    if result.without:
        header["without"] = sorted(capability.value for capability in result.without)
    if finding.workload is not None:
        work = finding.workload
        header["workload"] = {"requests": [[r.prompt, r.output] for r in work.requests], "lookahead": work.lookahead}
    lines = [trace.entry_to_json(entry) for entry in run.entries]
    lines += [trace.operation_to_json(op) for op in finding.operations[len(lines) :]]
    trace.write(path, header, finding.config, lines)


def recorded(start: Callable[..., Run], config: Config, operations: Iterable[Operation], probe: str) -> Run:
    """The operations once more, as far as they go, recorded. probe: what beyond them showed the violation."""
    run = start(config, record=True)
    if probe == progress.PROBE:
        run.leave_out(progress.VERDICT_LAWS)
    for op in operations:
        if run.over or run.why_not(op) is not None:
            break
        run.apply(op)
    if probe == "finish" and not run.over:
        run.finish()
    return run
