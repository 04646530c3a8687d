"""Reads a report from disk, in one clear line where it is none. Knows the document's shape."""

from __future__ import annotations

from pathlib import Path

import msgspec

from kvconform.errors import UsageError
from kvconform.report.model import SCHEMA, Report


class _Head(msgspec.Struct):
    schema: str


def read(path: Path) -> Report:
    """The report in this file. Raises UsageError where there is none."""
    try:
        data = path.read_bytes()
        schema = msgspec.json.decode(data, type=_Head).schema
        if schema != SCHEMA:
            raise UsageError(f"{path}: its schema is {schema[:100]!r}; this reads {SCHEMA}, as check --json writes it")
        return msgspec.json.decode(data, type=Report)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}") from None
    except RecursionError:
        raise UsageError(f"{path}: not a report: nested too deeply") from None
    except msgspec.ValidationError as error:
        raise UsageError(f"{path}: not a report as check --json writes it: {error}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: not JSON, or only a part of it: {error}") from None
