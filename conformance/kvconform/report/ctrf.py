"""CTRF (Common Test Report Format) JSON: a test a law, and one for the run. Knows the report only.

Only the run has a duration: laws are judged together, each operation by all of them. CTRF has no word for an error: a
law that binds and was not exercised is `other`, and the run, which then has no verdict, `failed`.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

import msgspec

from kvconform.report import plain
from kvconform.report.model import Report
from kvconform.report.outcomes import RUN, Case, cases

SPEC_VERSION = "1.0.0"
STATUSES = ("passed", "failed", "skipped", "pending", "other")


def render(report: Report) -> str:
    """The report as CTRF."""
    milliseconds = round(report.duration_s * 1000)
    tests = [_test(case, report, milliseconds if case.id == RUN else 0) for case in cases(report)]
    document = {
        "reportFormat": "CTRF",
        "specVersion": SPEC_VERSION,
        "generatedBy": f"kvconform {report.kvconform}",
        "results": {
            "tool": {"name": "kvconform", "version": report.kvconform},
            "summary": _summary(tests, _milliseconds(report.started), milliseconds),
            "tests": tests,
            "environment": _environment(report),
        },
    }
    if report.started:
        document["timestamp"] = report.started
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode() + "\n"


def _milliseconds(started: str) -> int:
    """Since 1970; 0 where nobody knows when, or the time is none."""
    try:
        return round(datetime.fromisoformat(started.replace("Z", "+00:00")).timestamp() * 1000)
    except (ValueError, OverflowError):
        return 0


def _summary(tests: list[dict[str, Any]], start: int, duration: int) -> dict[str, int]:
    counts = {status: sum(test["status"] == status for test in tests) for status in STATUSES}
    return {"tests": len(tests), **counts, "suites": 1, "start": start, "stop": start + duration, "duration": duration}


def _test(case: Case, report: Report, duration: int) -> dict[str, Any]:
    test: dict[str, Any] = {
        "name": plain.printable(case.id) or "(no name)",
        "status": _status(case),
        "duration": duration,
        "suite": [f"kvconform {plain.printable(report.target.name)}"],
        "rawStatus": case.status,
        "extra": {"statement": plain.printable(case.statement), "checks": case.checks},
    }
    if case.level:
        test["tags"] = [plain.printable(case.level)]
    if case.reason:
        test["message"] = plain.cut(plain.printable(case.reason))
    if case.findings:
        test["trace"] = "\n\n".join(plain.finding(v) for v in case.findings)
        test["extra"]["reproduce"] = [plain.printable(v.reproduce) for v in case.findings]
        test["extra"]["fingerprints"] = [plain.printable(v.fingerprint) for v in case.findings]
    return test


def _status(case: Case) -> str:
    if case.outcome == "error":
        return "failed" if case.id == RUN else "other"
    return case.outcome


def _environment(report: Report) -> dict[str, Any]:
    extra = {**report.environment, "profile": report.profile, "seed": report.seed, "operations": report.operations}
    told = {"appName": plain.printable(report.target.name), "healthy": report.verdict == "conforms"}
    if report.target.version:
        told["appVersion"] = plain.printable(report.target.version)
    if "platform" in report.environment:
        told["osPlatform"] = plain.printable(report.environment["platform"])
    return {**told, "extra": _printable(extra.items())}


def _printable(items: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    return {plain.printable(key): plain.printable(v) if isinstance(v, str) else v for key, v in items}
