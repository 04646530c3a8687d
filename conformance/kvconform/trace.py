"""The trace format, schema kvconform/trace@1: JSON Lines, a header and one operation a line with what was observed.

Knows how operations, configurations and observations are written and read. It must not know how they came about.
Reading is strict: an unknown operation or field, a missing or mistyped one, is one clear error with its line.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import msgspec

from kvconform.errors import said
from kvconform.rows import shown
from kvconform.run import Entry
from kvconform.workload import Workload
from kvspec.vocabulary import OPERATIONS, Config, Operation, arguments

SCHEMA = "kvconform/trace@1"

OBSERVED = frozenset(
    ("verdict", "result", "cached_tokens", "tables", "pools", "copies", "transfers", "refcounts", "free_blocks",
     "cached", "error")
)  # fmt: skip
"""Keys of an operation's line that say what was seen, not what was done."""


MOST = {
    "block_size": 65_536,
    "num_gpu_blocks": 10_000_000,
    "num_cpu_blocks": 10_000_000,
    "watermark_blocks": 10_000_000,
    "max_model_len": 1_000_000_000,
    "sliding_window": 1_000_000_000,
    "kv_groups": 64,
    "passes_per_tick": 1_000_000_000,
}
"""Larger configurations in a trace are mistakes: nobody's block manager has them, and the ledger would not end."""


class TraceError(ValueError):
    """A trace file that cannot be read; the message says where and why."""


@dataclass
class TraceFile:
    """What a trace file holds. law: the law that it shows broken, if it is a finding. header: everything in its first
    line.
    """

    config: Config
    operations: list[Operation]
    law: str | None = None
    header: dict[str, Any] = field(default_factory=dict)


def operation_to_json(op: Operation) -> dict[str, Any]:
    """The operation as JSON values: its name and the arguments that differ from their defaults."""
    return {"op": op.op, **{name: _plain(value) for name, value in arguments(op).items()}}


def _plain(value: object) -> Any:
    if isinstance(value, dict):
        return {str(key): list(tokens) for key, tokens in value.items()}
    return list(value) if isinstance(value, tuple) else value


def operation_from_json(data: Any) -> Operation:
    """The operation that these JSON values say. Raises TraceError."""
    if not isinstance(data, dict) or not isinstance(data.get("op"), str):
        raise TraceError("an operation is an object with an 'op'")
    kind = OPERATIONS.get(data["op"])
    if kind is None:
        raise TraceError(f"unknown operation {data['op']!r}; known: {', '.join(OPERATIONS)}")
    known = {f.name for f in fields(kind)}
    given = {key: value for key, value in data.items() if key != "op" and key not in OBSERVED - known}
    unknown = sorted(set(given) - known)
    if unknown:
        raise TraceError(f"{kind.op} has no {', '.join(unknown)}; it has {', '.join(sorted(known))}")
    try:
        return msgspec.convert(given, kind, str_keys=True)
    except msgspec.ValidationError as error:
        raise TraceError(f"{kind.op}: {error}") from None


def config_from_json(data: Any) -> Config:
    """The configuration that these JSON values say. Raises TraceError."""
    if not isinstance(data, dict):
        raise TraceError("config is an object")
    known = {f.name for f in fields(Config)}
    for key, value in data.items():
        if key not in known:
            raise TraceError(f"config.{key} = {value!r} is not supported by this version")
    for key, most in MOST.items():
        if isinstance(data.get(key), int) and data[key] > most:
            raise TraceError(f"config.{key} = {data[key]} is more than this kit drives ({most})")
    try:
        return msgspec.convert({key: value for key, value in data.items() if key in known}, Config)
    except (msgspec.ValidationError, ValueError) as error:
        raise TraceError(f"config: {error}") from None


def config_to_json(config: Config) -> dict[str, Any]:
    """The configuration as JSON values."""
    return {f.name: getattr(config, f.name) for f in fields(config)}


def workload_to_json(work: Workload) -> dict[str, Any]:
    """A workload's requests, as [prompt, output], and its lookahead; the configuration is the trace's own."""
    return {"requests": [[r.prompt, r.output] for r in work.requests], "lookahead": work.lookahead}


def entry_to_json(entry: Entry) -> dict[str, Any]:
    """One operation with what was observed."""
    line = operation_to_json(entry.op)
    outcome = entry.outcome
    line["verdict"] = outcome.verdict.value if outcome.verdict else None
    line["result"] = outcome.result.value
    if outcome.error is not None:
        line["error"] = said(outcome.error)
    line["tables"] = {
        str(seq): {
            "device": device.value,
            "rows": [{"first": 0, "blocks": shown(blocks[lane :: entry.lanes])} for lane in range(entry.lanes)],
        }
        for seq, (device, blocks) in entry.rows.items()
    }
    line["pools"] = {
        device.value: {
            "free": free,
            "reclaimable": entry.reclaimable.get(device, 0),
            "reserved": entry.reserved.get(device, 0),
            "pending": 0,
        }
        for device, free in entry.counts.items()
    }
    if outcome.cached:
        line["cached_tokens"] = max(outcome.cached.values())
    if outcome.copies:
        line["copies"] = outcome.copies
    if outcome.moves:
        line["transfers"] = outcome.moves
    return line


def write(path: Path, header: dict[str, Any], config: Config, lines: Iterable[dict[str, Any]]) -> None:
    """Write a trace file, all or nothing."""
    first = {"schema": SCHEMA, **header, "config": config_to_json(config)}
    encoded = b"".join(msgspec.json.encode(line) + b"\n" for line in (first, *lines))
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".part")
    partial.write_bytes(encoded)
    partial.replace(path)


def read(path: Path) -> TraceFile:
    """Read a trace file. Raises TraceError with the line that is wrong, and what to do."""
    try:
        text = path.read_bytes()
    except OSError as error:
        raise TraceError(f"{path}: {error.strerror or error}") from None
    lines = [(number, line) for number, line in enumerate(text.split(b"\n"), 1) if line.strip()]
    if not lines:
        raise TraceError(f"{path}: empty; a trace begins with a line that has schema and config")
    header = _json(path, *lines[0])
    if not isinstance(header, dict) or header.get("schema") != SCHEMA:
        raise TraceError(f"{path}, line 1: not a {SCHEMA} header")
    operations, number = [], 1
    try:
        config = config_from_json(header.get("config"))
        for number, line in lines[1:]:
            operations.append(operation_from_json(_json(path, number, line)))
    except TraceError as error:
        raise TraceError(
            str(error) if str(error).startswith(str(path)) else f"{path}, line {number}: {error}"
        ) from None
    return TraceFile(config, operations, header.get("law"), header)


def _json(path: Path, number: int, line: bytes) -> Any:
    try:
        return msgspec.json.decode(line)
    except RecursionError:
        raise TraceError(f"{path}, line {number}: nested too deeply") from None
    except msgspec.DecodeError as error:
        raise TraceError(f"{path}, line {number}: not JSON ({error})") from None
