"""Known deviations: let pass while they last, and failing the run once they do not.

Knows: the command line and the ledger's file. Must not know: how a ledger is judged inside.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from kit_support import Command

from kvconform.errors import UsageError
from kvconform.known import read

FAULT, LAW = "fault:status-not-updated", "table.one-device"
WHY = ("--reason", "it is being rewritten", "--link", "https://example.org/issues/1")


def ledger_of(command: Command, expires: str = "2999-01-01") -> Path:
    """A ledger with what the fault's check finds."""
    assert command("check", FAULT, "--law", LAW).code == 1
    (finding,) = (command.folder / ".kvconform").glob(f"{LAW}-*.jsonl")
    assert command("known", "add", str(finding), "--to", "known.json", *WHY, "--expires", expires).code == 0
    return command.folder / "known.json"


def test_what_is_known_is_let_pass_and_said(command: Command) -> None:
    ledger = ledger_of(command)
    ended = command("check", FAULT, "--law", LAW, "--known", str(ledger))
    report = command.report()
    assert ended.code != 1
    assert "1 known deviation" in ended.out
    assert [law["verdict"] for law in report["laws"]] == ["known"]
    assert [(entry["law"], entry["status"]) for entry in report["known"]] == [(LAW, "still failing")]
    assert all(violation["known"] for violation in report["violations"])
    assert [violation["found_by"] for violation in report["violations"]] == ["known"]


def test_what_is_fixed_is_stale_and_fails_the_run_until_it_is_taken_out(command: Command) -> None:
    ledger = ledger_of(command)
    ended = command("check", "reference", "--law", LAW, "--known", str(ledger))
    assert ended.code == 1
    assert command.report()["verdict"] == "violates"
    assert "stale" in ended.out
    assert "known prune" in ended.out
    assert command("known", "check", str(ledger), "--on", "reference").code == 1
    assert command("known", "prune", str(ledger), "--on", "reference").code == 0
    assert read(ledger).deviations == []
    assert command("check", "reference", "--law", LAW, "--known", str(ledger)).code == 0


def test_an_expired_entry_fails_the_run(command: Command) -> None:
    ledger = ledger_of(command)
    text = ledger.read_text()
    ledger.write_text(text.replace("2999-01-01", "2020-01-01"))
    ended = command("check", FAULT, "--law", LAW, "--known", str(ledger))
    assert ended.code == 1
    assert "expired" in ended.out


def test_what_is_new_fails_as_usual(command: Command) -> None:
    ledger = ledger_of(command)
    ended = command("check", "fault:cow-missing", "--known", str(ledger))
    assert ended.code == 1
    assert any(not violation["known"] for violation in command.report()["violations"])


def test_an_entry_is_added_once_and_only_with_a_reason_and_a_link(command: Command) -> None:
    ledger = ledger_of(command)
    before = ledger.read_bytes()
    (finding,) = (command.folder / ".kvconform").glob(f"{LAW}-*.jsonl")
    day = ("--expires", "2999-01-01")
    for options in (WHY, ("--reason", " ", *WHY[2:]), (*WHY[:2], "--link", "nowhere"), WHY[:2], WHY[2:]):
        assert command("known", "add", str(finding), "--to", "known.json", *options, *day).code == 2
        assert ledger.read_bytes() == before
    assert command("known", "add", str(finding), "--to", "other.json", *WHY, "--expires", "soon").code == 2
    assert not (command.folder / "other.json").exists()


def entry(ledger: Path, **changes: Any) -> bytes:
    """The ledger with its entry changed; None takes a field out."""
    data = json.loads(ledger.read_text())
    (key,) = [name for name, value in data.items() if isinstance(value, list)]
    changed = {**data[key][0], **changes}
    data[key] = [{name: value for name, value in changed.items() if value is not None}]
    return json.dumps(data).encode()


def test_a_ledger_that_is_none_is_one_clear_error(command: Command) -> None:
    ledger = ledger_of(command)
    whole = ledger.read_bytes()
    twice = json.loads(whole)
    (key,) = [name for name, value in twice.items() if isinstance(value, list)]
    twice[key] *= 2
    bad = [
        b"", b"{", whole[: len(whole) // 2], b"[" * 200_000, b"\xff\xfe", b"null", b'{"schema": "other"}', b"9" * 5_000,
        json.dumps(twice).encode(), entry(ledger, law="no.law"), entry(ledger, expires="31.12.2999"),
        entry(ledger, reason=""), entry(ledger, link=None), entry(ledger, unheard="of"), entry(ledger, reason=10**400),
    ]  # fmt: skip
    for content in bad:
        ledger.write_bytes(content)
        ended = command("check", "reference", "--known", str(ledger))
        assert ended.code == 2, content[:80]
        assert ended.complaint.startswith(str(ledger)), ended.complaint
        assert ledger.read_bytes() == content
    assert command("check", "reference", "--known", "nowhere.json").code == 2


@given(st.binary(max_size=200) | st.text(max_size=60).map(lambda text: json.dumps({"schema": text}).encode()))
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_bytes_are_a_traceback(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "known.json"
    path.write_bytes(content)
    with pytest.raises(UsageError):
        read(path)
    assert path.read_bytes() == content
