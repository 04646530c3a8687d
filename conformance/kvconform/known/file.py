"""The ledger of known deviations as a file, schema kvconform/known@1.

Knows how entries are written for people, and read strictly: whatever is wrong is one clear error that names the entry.
It must not know what an entry's trace shows.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import msgspec

from kvconform import trace
from kvconform.errors import UsageError
from kvconform.files import write_files
from kvconform.replay import validate
from kvconform.trace import TraceError, TraceFile

SCHEMA = "kvconform/known@1"

MOST_BYTES = 16_000_000
"""A ledger is reviewed by people: a larger file is not one."""

MOST_OPERATIONS = 10_000
"""Of one entry: a finding is shrunk, and every run replays it."""

LINK = re.compile(r"https?://[^\s/]+\S*|(?:[\w.-]+(?:/[\w.-]+)+)?[#!]\d+|[A-Z][A-Z0-9_]*-\d+")
"""An address, or an issue as trackers write it: #12, owner/name#12, group/name!12, KEY-12."""

FINGERPRINT = re.compile(r"[0-9a-f]{12}")


@dataclass(frozen=True)
class Deviation:
    """One entry. expires: the last day on which it is let pass. targets: those that it is about; none for every one.
    every_shape: whether it covers whatever has its law, operation and error, and its features with more beside them.
    file: its trace.
    """

    law: str
    fingerprint: str
    reason: str
    link: str
    expires: date
    file: TraceFile
    targets: tuple[str, ...] = ()
    every_shape: bool = False

    @property
    def without(self) -> frozenset[str]:
        """Names of the capabilities that were not used when it was found."""
        return frozenset(self.file.header.get("without", ()))

    def about(self, spec: str) -> bool:
        """Whether it is about this target: by its whole name, or by its name without the version."""
        return not self.targets or spec in self.targets or spec.partition("@")[0] in self.targets


@dataclass
class KnownFile:
    """A ledger and where it is."""

    path: Path
    deviations: list[Deviation]


class _TraceLine(msgspec.Struct, forbid_unknown_fields=True):
    config: dict[str, Any]
    operations: list[dict[str, Any]]
    probe: str = ""
    without: list[str] = []
    workload: dict[str, Any] | None = None


class _Line(msgspec.Struct, forbid_unknown_fields=True):
    law: str
    fingerprint: str
    reason: str
    link: str
    expires: date
    trace: _TraceLine
    targets: list[str] = []
    every_shape: bool = False


class _Lines(msgspec.Struct, forbid_unknown_fields=True):
    schema: str
    known: list[_Line]


# -- reading -------------------------------------------------------------------------------------------------


def read(path: Path) -> KnownFile:
    """The ledger in this file. Raises UsageError with the entry that is wrong, and how."""
    lines = _decoded(path)
    if lines.schema != SCHEMA:
        raise UsageError(f"{path}: not a {SCHEMA} ledger, but {lines.schema!r}")
    deviations: list[Deviation] = []
    for number, line in enumerate(lines.known, 1):
        deviation = checked(_deviation(line, f"{path}, entry {number}"), f"{path}, entry {number}")
        if any(other.fingerprint == deviation.fingerprint for other in deviations):
            raise UsageError(f"{path}, entry {number}: {deviation.fingerprint} is there twice; one finding, one entry")
        deviations.append(deviation)
    return KnownFile(path, deviations)


def _decoded(path: Path) -> _Lines:
    try:
        if not path.is_file():
            what = "it is not a file" if path.exists() else "no such file"
            raise UsageError(f"cannot read {path}: {what}")
        size = path.stat().st_size
        if size > MOST_BYTES:
            raise UsageError(f"cannot read {path}: {size:,} bytes are more than a ledger has ({MOST_BYTES:,})")
        data = path.read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a name that no file can have
        raise UsageError(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from None
    try:
        return msgspec.json.decode(data, type=_Lines)
    except RecursionError:
        raise UsageError(f"{path}: nested too deeply for a {SCHEMA} ledger") from None
    except (msgspec.DecodeError, ValueError) as error:  # ValueError: text that is no UTF-8
        raise UsageError(f"{path}: no {SCHEMA} ledger ({error})") from None


def _deviation(line: _Line, place: str) -> Deviation:
    try:
        config = trace.config_from_json(line.trace.config)
        operations = [trace.operation_from_json(op) for op in line.trace.operations]
    except TraceError as error:
        raise UsageError(f"{place}: {error}") from None
    header: dict[str, Any] = {"law": line.law}
    for name in ("probe", "without", "workload"):
        value = getattr(line.trace, name)
        if value:
            header[name] = value
    file = TraceFile(config, operations, line.law, header)
    return Deviation(
        line.law, line.fingerprint, line.reason, line.link, line.expires, file, tuple(line.targets), line.every_shape
    )


def checked(deviation: Deviation, place: str) -> Deviation:
    """The entry, if it is one that a ledger may have. Raises UsageError with the place where it is not."""
    validate(deviation.file, place)
    if len(deviation.file.operations) > MOST_OPERATIONS:
        raise UsageError(f"{place}: a trace of more than {MOST_OPERATIONS:,} operations; shrink it first")
    if not FINGERPRINT.fullmatch(deviation.fingerprint):
        raise UsageError(f"{place}: {deviation.fingerprint!r} is no fingerprint; copy it from the finding")
    if not deviation.reason.strip():
        raise UsageError(f"{place}: no reason; say why the deviation is let pass")
    if not LINK.fullmatch(deviation.link):
        raise UsageError(
            f"{place}: {deviation.link!r} is no link; say where it is followed up: https://..., #12, owner/name#12 or "
            "KEY-12"
        )
    if not all(target.strip() for target in deviation.targets):
        raise UsageError(f"{place}: a target without a name; leave targets out where it is about every target")
    return deviation


# -- writing -------------------------------------------------------------------------------------------------


def write(ledger: KnownFile) -> None:
    """Write a ledger, all or nothing. Raises UsageError where it cannot be written."""
    write_files({ledger.path: text(ledger.deviations).encode()})


def text(deviations: Sequence[Deviation]) -> str:
    """A ledger as it is written: a key a line, an operation a line."""
    entries = [_block("{", "}", _fields(deviation)) for deviation in deviations]
    known = _block("[", "]", entries)
    return _block("{", "}", [f'"schema": {_json(SCHEMA)}', f'"known": {known}']) + "\n"


def _fields(deviation: Deviation) -> list[str]:
    fields = [
        f'"{name}": {_json(value)}'
        for name, value in (
            ("law", deviation.law),
            ("fingerprint", deviation.fingerprint),
            ("reason", deviation.reason),
            ("link", deviation.link),
            ("expires", deviation.expires.isoformat()),
            ("targets", list(deviation.targets)),
            ("every_shape", deviation.every_shape),
        )
        if value not in ([], False)
    ]
    return [*fields, f'"trace": {_block("{", "}", _trace_fields(deviation.file))}']


def _trace_fields(file: TraceFile) -> list[str]:
    named = [(name, file.header[name]) for name in ("probe", "without", "workload") if file.header.get(name)]
    fields = [f'"{name}": {_json(value)}' for name, value in (("config", trace.config_to_json(file.config)), *named)]
    operations = [_json(trace.operation_to_json(op)) for op in file.operations]
    return [*fields, f'"operations": {_block("[", "]", operations)}']


def _block(opening: str, closing: str, parts: list[str]) -> str:
    if not parts:
        return opening + closing
    indented = ",\n".join("  " + part.replace("\n", "\n  ") for part in parts)
    return f"{opening}\n{indented}\n{closing}"


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
