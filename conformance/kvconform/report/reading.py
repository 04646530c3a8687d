"""Reads a report from disk. Strict: what it cannot be sure to show rightly, it refuses, in one line."""

from __future__ import annotations

from pathlib import Path

import msgspec

from kvconform.errors import UsageError
from kvconform.report.model import SCHEMA, Report
from kvconform.report.outcomes import NOT_GREEN, cases

LARGEST = 256 << 20
"""Bytes: no report comes near it, and what goes on for ever is no report."""


class _Head(msgspec.Struct):
    schema: str


def read(path: Path) -> Report:
    """The report in this file. Raises UsageError where there is none, or where it contradicts itself."""
    data = _bytes(path)
    try:
        schema = msgspec.json.decode(data, type=_Head).schema
        if schema != SCHEMA:
            raise UsageError(f"{path}: its schema is {schema[:100]!r}; this reads {SCHEMA}, as check --json writes it")
        report = msgspec.json.decode(data, type=Report)
    except RecursionError:
        raise UsageError(f"{path}: not a report: nested too deeply") from None
    except msgspec.ValidationError as error:
        raise UsageError(f"{path}: not a report as check --json writes it: {error}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: not JSON, or only a part of it: {error}") from None
    _consistent(path, report)
    return report


def _bytes(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
    except (OSError, ValueError) as error:  # ValueError: a name that no file can have
        raise UsageError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from None
    if len(data) > LARGEST:
        raise UsageError(f"{path}: more than {LARGEST >> 20} MiB; no report is so large")
    return data


def _consistent(path: Path, report: Report) -> None:
    """A report that says one thing above and another below is not shown as either."""
    laws = {law.id for law in report.laws}
    for violation in report.violations:
        if violation.law not in laws:
            raise UsageError(f"{path}: a finding is about {violation.law!r}, which is not among the report's laws")
    against = [case.id for case in cases(report) if case.outcome in NOT_GREEN]
    if report.verdict == "conforms" and against:
        raise UsageError(f"{path}: says conforms, and that {against[0]} is not so; write it anew with: kvconform check")
