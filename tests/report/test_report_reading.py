"""Reading a report from disk: what is none, or contradicts itself, is one clear error, and never shown.

Knows: the report's shape. Must not know: any view.
"""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from report_support import law, report, violated, violation
from rich.console import Console

from kvconform.errors import UsageError
from kvconform.report import terminal
from kvconform.report.reading import read
from kvconform.report.views import ALL, as_json

FEW = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], derandomize=True
)

GOOD = as_json(violated()).encode()


def refused(tmp_path: Path, data: bytes) -> str:
    """Why this is refused, in one line."""
    path = tmp_path / "report.json"
    path.write_bytes(data)
    with pytest.raises(UsageError) as error:
        read(path)
    assert error.value.exit_code == 2
    assert path.read_bytes() == data
    text = str(error.value)
    assert "\n" not in text
    assert str(path) in text
    return text


def changed(**values: Any) -> bytes:
    return json.dumps({**json.loads(GOOD), **values}).encode()


def test_what_was_written_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_bytes(GOOD)
    assert read(path) == violated()
    path.write_bytes(changed(added_by_a_later_version=[1]))
    assert read(path) == violated()


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "not JSON, or only a part of it"),
        (b"not json", "not JSON"),
        (GOOD[: len(GOOD) // 2], "not JSON, or only a part of it"),
        (GOOD + b"{}", "not JSON"),
        (b"\xff\xfe" + GOOD, "not JSON"),
        (GOOD.replace(b"a row is short", b"\xff\xff"), "not JSON"),
        (b"[]", "not a report"),
        (b"null", "not a report"),
        (b"{}", "not a report as check --json writes it: Object missing required field `schema`"),
        (b'{"schema": 7}', "not a report"),
        (b'{"schema": "kvconform/proof@1"}', "its schema is 'kvconform/proof@1'; this reads kvconform/report@1"),
        (b'{"schema": "kvconform/report@1"}', "missing required field"),
        (b"[" * 1_000_000, "not"),
        (b'{"schema": ' * 100_000, "not"),
        (b'{"schema": "kvconform/report@1", "target": ' + b'{"a":' * 100_000, "nested too deeply"),
        (changed(operations="many"), "Expected `int`, got `str` - at `$.operations`"),
        (GOOD.replace(b'"operations": 4321', b'"operations": ' + b"9" * 5_000), "out of range"),
        (GOOD.replace(b'"duration_s": 1.25', b'"duration_s": 1e999'), "out of range"),
        (GOOD.replace(b'"duration_s": 1.25', b'"duration_s": NaN'), "not JSON"),
        (changed(verdict="fine"), "Invalid enum value 'fine' - at `$.verdict`"),
        (changed(verdict="conforms"), "says conforms, and that table.tight is not so"),
        (as_json(report(law(), violations=[violation("a.b")])).encode(), "a finding is about 'a.b'"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_no_report_is_refused(tmp_path: Path, data: bytes, why: str) -> None:
    assert why in refused(tmp_path, data)


def test_what_goes_on_for_ever_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("kvconform.report.reading.LARGEST", 1 << 20)
    assert "more than 1 MiB" in refused(tmp_path, b" " * (1 << 20) + GOOD)


@pytest.mark.parametrize("name", ["missing.json", ".", "a\0b"])
def test_a_file_that_cannot_be_read_is_one_line(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="cannot read"):
        read(tmp_path / name)


@given(data=st.binary(max_size=200))
@FEW
def test_random_bytes_are_refused(tmp_path: Path, data: bytes) -> None:
    refused(tmp_path, data)


@given(at=st.integers(0, len(GOOD) - 1), byte=st.integers(0, 255))
@FEW
def test_one_wrong_byte_is_refused_or_read_as_something_that_can_be_shown(tmp_path: Path, at: int, byte: int) -> None:
    path = tmp_path / "report.json"
    path.write_bytes(GOOD[:at] + bytes([byte]) + GOOD[at + 1 :])
    shown_or_refused(path)


def shown_or_refused(path: Path) -> None:
    """Every view shows it, and the terminal, or nobody does."""
    try:
        found = read(path)
    except UsageError:
        return
    for view in ALL:
        view.render(found).encode()
    terminal.show(found, Console(file=io.StringIO()))


@given(
    place=st.lists(
        st.sampled_from(["laws", "violations", "target", "coverage", "guards", "frames", "trace", 0]), max_size=4
    ),
    value=st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
        max_leaves=8,
    ),
)
@FEW
def test_anything_in_the_place_of_anything_is_refused_or_shown(tmp_path: Path, place: list[Any], value: Any) -> None:
    document = json.loads(GOOD)
    spot, key = document, "notes"
    for step in place:
        if (isinstance(spot, dict) and step in spot) or (isinstance(spot, list) and isinstance(step, int) and spot):
            inner = spot[step]
            if not isinstance(inner, (dict, list)):
                break
            spot, key = (spot, step) if not inner else (inner, key)
    if isinstance(spot, list):
        spot.append(value)
    else:
        spot[key if key in spot else next(iter(spot), "x")] = value
    path = tmp_path / "report.json"
    path.write_bytes(json.dumps(document).encode())
    shown_or_refused(path)
