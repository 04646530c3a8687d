"""The HTML page from the command line: where it goes, from which report, and what is said where that cannot be.

Knows: interfaces.md. Must not know: what the page looks like.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from kit_support import Command


def test_the_page_goes_beside_the_report_and_where_it_is_told_to_and_can_be_drawn_again(
    command: Command, tmp_path: Path
) -> None:
    ended = command("check", "fault:fork-forgets-refcount", "--out", "out", "--html", "page.html")
    assert ended.code == 1
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert (tmp_path / "out" / "report.html").read_text(encoding="utf-8") == page
    fingerprints = [v["fingerprint"] for v in json.loads((tmp_path / "out" / "report.json").read_text())["violations"]]
    assert fingerprints
    assert all(fingerprint in page for fingerprint in fingerprints)

    again = command("report", "out/report.json", "--html", "again.html")
    assert again.code == 1, "as the verdict of the report"
    assert (tmp_path / "again.html").read_text(encoding="utf-8") == page

    shown = command("report", "out/report.json")
    assert shown.code == 1
    assert shown.out == ended.out, "without a file, what check printed"
    assert not list(tmp_path.glob("**/*.part"))


@pytest.mark.parametrize("file", [".", "nowhere/page.html"])
def test_a_page_that_cannot_be_written_is_said_before_the_work(command: Command, tmp_path: Path, file: str) -> None:
    ended = command("check", "reference", "--html", file)
    assert ended.code == 2
    assert ended.complaint.startswith(f"cannot write {file}")
    assert not (tmp_path / ".kvconform").exists()


NO_REPORTS: list[tuple[bytes, str]] = [
    (b"", "not JSON"),
    (b"\xff\xfe{}", "not"),
    (b"[]", "not a report"),
    (b"{}", "not a report"),
    (b'{"schema": 7}', "not a report"),
    (b'{"schema": "kvconform/report@1"}', "not a report"),
    (b'{"schema": "kvconform/report@2"}', "its schema is 'kvconform/report@2'"),
    (b'{"schema": "kvconform/report@1", "notes": ' + b"[" * 100_000, "not"),
]


@pytest.mark.parametrize(("data", "complaint"), NO_REPORTS, ids=range(len(NO_REPORTS)))
def test_what_is_no_report_is_one_line_and_2(command: Command, tmp_path: Path, data: bytes, complaint: str) -> None:
    (tmp_path / "given.json").write_bytes(data)
    (tmp_path / "page.html").write_text("kept")
    ended = command("report", "given.json", "--html", "page.html")
    assert ended.code == 2
    assert complaint in ended.complaint
    assert "given.json" in ended.complaint
    assert (tmp_path / "page.html").read_text() == "kept"


def test_a_report_that_is_not_there_is_one_line_and_2(command: Command) -> None:
    ended = command("report", "nowhere.json")
    assert ended.code == 2
    assert ended.complaint == "cannot read nowhere.json: No such file or directory"
