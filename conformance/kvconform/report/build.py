"""From a check's result to the report, and to the trace files that its findings name."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from datetime import datetime, timezone
from pathlib import Path

from kvconform import __version__, trace
from kvconform.check import Result, environment, judged, overall
from kvconform.errors import UsageError
from kvconform.files import slug
from kvconform.finding import Finding, Raw
from kvconform.known.standing import Standing
from kvconform.recording import record
from kvconform.report import pytest_file
from kvconform.report.classes import likely_classes
from kvconform.report.model import (
    CoverageLine,
    EdgesLine,
    GuardLine,
    KnownLine,
    LawLine,
    Report,
    RestrictionLine,
    TargetLine,
    ViolationLine,
)
from kvconform.report.story import beyond, many, setting, tell
from kvconform.run import Run
from kvspec.laws import CATALOGUE_VERSION
from kvspec.vocabulary import Capability


def build(result: Result, out: Path, start: Callable[..., Run]) -> Report:
    """The report; the findings' traces are written below `out`."""
    laws = judged(result)
    known = [_known(standing) for standing in result.known]
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
        without=_without(result),
        notes=[*_told(known), *result.notes],
        started=_when(result.started),
        known=known,
        rounds=result.rounds,
    )


def _when(seconds: float) -> str:
    """Seconds since 1970 as people write a moment."""
    return datetime.fromtimestamp(seconds, timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _known(standing: Standing) -> KnownLine:
    one = standing.deviation
    detail = "; ".join(part for part in (standing.detail, REMEDIES.get(standing.status, "")) if part)
    return KnownLine(
        one.fingerprint,
        one.law,
        standing.status,
        one.reason,
        one.link,
        one.expires.isoformat(),
        detail,
        one.every_shape,
    )


REMEDIES = {
    "stale": "take the entry out (kvconform known prune)",
    "expired": "have it fixed, or agree on another day",
    "cannot run": "take the entry out, or restrict it to its targets",
}
"""What to do about an entry that is not as it should be."""


def _told(known: Sequence[KnownLine]) -> list[str]:
    """The ledger in the notes, which every view shows: what is let pass, and each entry that fails the run."""
    passed = sum(line.status == "still failing" for line in known)
    notes = [f"{many(passed, 'known deviation')} let pass: not counted"] if passed else []
    for line in known:
        if line.status in REMEDIES:
            status = "not to be run here" if line.status == "cannot run" else line.status
            notes.append(f"known deviation {line.fingerprint} ({line.law}) is {status}: {line.detail}")
    return notes


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
    spec = result.target.spec
    path = out / f"{finding.violation.law.id}-{finding.fingerprint}-{slug(spec)}.jsonl"
    test = out / pytest_file.name(finding.violation.law.id, finding.fingerprint, spec)
    run = record(finding, start)
    line = violation_line(finding, run)
    line.fingerprint = finding.fingerprint
    line.reproduce = f"kvconform replay {shlex.quote(str(path))} --on {shlex.quote(spec)}"
    line.trace_file, line.test_file = str(path), str(test)
    line.known = result.is_known(finding)
    try:
        save(finding, path, run, spec, _without(result))
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror or error}") from None
    pytest_file.write(test, line, spec, finding.workload, _without(result))
    return line


def violation_line(raw: Raw, run: Run) -> ViolationLine:
    """A violation as the report tells it, without fingerprint and files. run: its operations, recorded."""
    violation = raw.violation
    return ViolationLine(
        law=violation.law.id,
        level=violation.law.level.value,
        message=violation.message,
        expected=violation.expected,
        observed=violation.observed,
        config=trace.config_to_json(raw.config),
        step=len(raw.operations),
        trace=[trace.operation_to_json(op) for op in raw.operations],
        found_by=raw.found_by,
        fingerprint="",
        reproduce="",
        features=sorted(raw.features),
        fault_class=likely_classes(violation.law.id),
        probe=raw.probe,
        statement=violation.law.statement,
        setting=setting(raw.config),
        story=[tell(op) for op in raw.operations],
        frames=run.pictures,
        marked=[(device.value, block) for device, block in violation.blocks],
        then=beyond(raw.probe, raw.workload),
    )


def _without(result: Result) -> list[str]:
    return sorted(capability.value for capability in result.without)


def save(finding: Finding, path: Path, run: Run, spec: str, without: Sequence[str] = ()) -> None:
    """Write the finding's trace, with what was observed at each operation. run: its operations, recorded. spec: the
    target's name. without: capabilities that were not used. Raises OSError.
    """
    violation = finding.violation
    header: dict[str, object] = {
        "target": spec,
        "law": violation.law.id,
        "at": violation.op,
        "fingerprint": finding.fingerprint,
        "message": violation.message,
        "found_by": finding.found_by,
    }
    if finding.probe:
        header["probe"] = finding.probe
    if without:
        header["without"] = list(without)
    if finding.workload is not None:
        header["workload"] = trace.workload_to_json(finding.workload)
    lines = [trace.entry_to_json(entry) for entry in run.entries]
    lines += [trace.operation_to_json(op) for op in finding.operations[len(lines) :]]
    trace.write(path, header, finding.config, lines)
