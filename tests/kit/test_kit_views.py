"""The views on the command line: options, files all or none, a report from disk, and what the target may say or do.

Knows: interfaces.md. Must not know: any view's format.
"""

from __future__ import annotations

import errno
import json
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path
from xml.etree import ElementTree as ET

import kit_targets
import pytest
from kit_support import Command

from kvconform.report.views import ALL

FILES = {view.name: view.file for view in ALL if view.file is not None}
OPTIONS = [word for name, file in FILES.items() for word in (f"--{name}", str(file))]
QUICKLY = ("--law", "admission.watermark", "--law", "table.covers")


def written(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if path.is_file()}


# -- check and report -----------------------------------------------------------------------------------------------


def test_check_writes_every_view_and_prints_annotations(command: Command) -> None:
    ended = command("check", "fault:watermark-ignored", *QUICKLY, *OPTIONS, "--annotations")
    assert ended.code == 1
    assert written(command.folder) == set(FILES.values())
    assert "\n::error title=admission.watermark (MUST)::" in ended.out
    assert json.loads((command.folder / "report.json").read_text()) == command.report()
    assert json.loads((command.folder / "badge.json").read_text())["message"] == "1 MUST violated"


def test_a_report_on_disk_gives_the_same_views(command: Command) -> None:
    told = command("check", "fault:watermark-ignored", *QUICKLY, *OPTIONS, "--annotations")
    first = {name: (command.folder / name).read_bytes() for name in FILES.values()}
    (command.folder / "report.json").rename(command.folder / "kept.json")
    again = command("report", "kept.json", *OPTIONS, "--annotations")
    assert (again.code, again.err) == (1, "")
    assert {name: (command.folder / name).read_bytes() for name in FILES.values()} == first
    assert again.out == told.out[told.out.index("::error") :]
    shown = command("report", "kept.json")
    assert (shown.code, shown.out) == (1, told.out[: told.out.index("::error")])


@pytest.mark.parametrize(("target", "code"), [("reference", 0), ("kit_targets:Lazy", 3)])
def test_a_report_has_its_verdict_s_exit_code(command: Command, target: str, code: int) -> None:
    assert command("check", target, "--law", "table.covers", "--json", "r.json").code == code
    assert command("report", "r.json", "--badge", "b.json").code == code


def test_help_names_every_view(command: Command) -> None:
    for name in ("check", "report"):
        ended = command(name, "--help")
        assert ended.code == 0
        assert [view.name for view in ALL if f"--{view.name}" not in ended.out] == []


def test_a_report_that_is_none_is_one_line_and_2_and_writes_nothing(command: Command) -> None:
    (command.folder / "r.json").write_text('{"schema": "kvconform/proof@1"}')
    ended = command("report", "r.json", "--junit", "j.xml")
    assert ended.code == 2
    assert ended.complaint.startswith("r.json: its schema is 'kvconform/proof@1'")
    assert command("report", "none.json").code == 2
    assert written(command.folder) == {"r.json"}


# -- files ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (("--junit", "x", "--ctrf", "./x"), "--ctrf x would overwrite what --junit writes"),
        (("--badge", "link", "--json", "x"), "would overwrite what --json writes"),
        (("--markdown", ".kvconform/report.json"), "would overwrite the report"),
        (("--junit", "no/such/folder/x"), "cannot write no/such/folder/x"),
        (("--json", "ok", "--badge", "."), "cannot write .: it is a folder"),
        (("--json", "a\0b"), "embedded null byte"),
    ],
)
def test_files_that_cannot_be_are_told_before_anything_runs(
    command: Command, options: tuple[str, ...], complaint: str
) -> None:
    (command.folder / "link").symlink_to("x")
    ended = command("check", "reference", *options)
    assert ended.code == 2
    assert complaint in ended.complaint
    assert "vectors" not in ended.err
    assert written(command.folder) == set()


def test_a_view_is_not_written_over_the_report_that_it_is_made_from(command: Command) -> None:
    command("check", "reference", "--law", "table.covers", "--json", "r.json")
    before = (command.folder / "r.json").read_bytes()
    ended = command("report", "r.json", "--junit", "r.json")
    assert ended.code == 2
    assert "would overwrite the report" in ended.complaint
    assert (command.folder / "r.json").read_bytes() == before


def test_the_report_may_be_named_where_it_goes_anyway(command: Command) -> None:
    assert command("check", "reference", "--law", "table.covers", "--json", ".kvconform/report.json").code == 0
    assert command.report()["verdict"] == "conforms"


def test_a_view_may_go_into_the_folder_that_is_made(command: Command) -> None:
    assert command("check", "reference", "--law", "table.covers", "--out", "new", "--junit", "new/junit.xml").code == 0
    assert {"junit.xml", "report.json", "report.html"} <= written(command.folder / "new")


def test_a_full_disk_leaves_no_view_and_nothing_half_written(command: Command) -> None:
    whole = Path.write_bytes

    def write(self: Path, data: bytes) -> int:
        if "summary.md" in self.name:
            whole(self, data[:10])
            raise OSError(errno.ENOSPC, "No space left on device")
        return whole(self, data)

    (command.folder / "junit.xml").write_text("of yesterday")
    command.monkeypatch.setattr(Path, "write_bytes", write)
    ended = command("check", "reference", "--law", "table.covers", *OPTIONS)
    assert ended.code == 2
    assert ended.complaint == "cannot write summary.md: No space left on device"
    assert written(command.folder) == {"junit.xml"}
    assert (command.folder / "junit.xml").read_text() == "of yesterday"
    assert written(command.folder / ".kvconform") == {".gitignore"}


def test_a_link_stays_a_link(command: Command) -> None:
    (command.folder / "real.json").write_text("old")
    (command.folder / "link.json").symlink_to("real.json")
    assert command("check", "reference", "--law", "table.covers", "--badge", "link.json").code == 0
    assert (command.folder / "link.json").is_symlink()
    assert json.loads((command.folder / "real.json").read_text())["label"] == "kvconform"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes with names here")
def test_what_is_no_file_is_written_to_and_not_replaced(command: Command) -> None:
    """So that --json /dev/null leaves /dev/null what it is, whoever runs it."""
    pipe, seen = command.folder / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: seen.append(pipe.read_text()), daemon=True)
    reader.start()
    assert command("check", "reference", "--law", "table.covers", "--badge", "pipe").code == 0
    reader.join(10)
    assert json.loads(seen[0])["label"] == "kvconform"
    assert stat.S_ISFIFO(pipe.stat().st_mode)


# -- what the target does -------------------------------------------------------------------------------------------


def test_ctrl_c_leaves_every_view_of_a_partial_report(command: Command) -> None:
    kit_targets.Interrupted.lives = 0
    ended = command("check", "kit_targets:Interrupted", *OPTIONS, "--annotations")
    assert ended.code == 3
    assert written(command.folder) == set(FILES.values())
    report = json.loads((command.folder / "report.json").read_text())
    assert report["verdict"] == "inconclusive"
    assert json.loads((command.folder / "badge.json").read_text())["message"] == "inconclusive"
    root = ET.parse(command.folder / "junit.xml").getroot()
    (run,) = [case for case in root.iter("testcase") if case.attrib["name"] == "run.verdict"]
    assert "interrupted" in run[0].attrib["message"]
    assert "::error title=kvconform%3A toy::inconclusive: interrupted" in ended.out


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("ForkSaysAnything", "ValueError: \\udcff \\x00 \\x1b[31m ]]> </failure> ``` | \\r\\n::stop-commands::x"),
        ("ForkRaisesTheUnspeakable", "Unspeakable: (its message cannot be read)"),
    ],
)
def test_whatever_an_error_says_can_be_told(command: Command, name: str, told: str) -> None:
    ended = command("check", f"kit_targets:{name}", "--law", "robust.no-crash", *OPTIONS, "--annotations")
    assert ended.code == 1
    assert "Traceback" not in ended.err
    (violation,) = command.report()["violations"]
    assert violation["observed"].startswith(told)
    assert not [
        line for line in ended.out.splitlines() if line.startswith("::") and not line.startswith("::error title")
    ]
    assert "\x1b" not in ended.out
    ET.parse(command.folder / "junit.xml")
    words = violation["reproduce"].split()
    assert command(*words[1:]).code == 1


# -- in processes of their own --------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [(), ("--annotations",)])
def test_a_reader_that_goes_away_or_is_not_there_is_no_traceback(command: Command, options: tuple[str, ...]) -> None:
    command("check", "fault:watermark-ignored", *QUICKLY, "--json", "r.json")
    words = [sys.executable, "-m", "kvconform", "report", "r.json", "--badge", "b.json", *options]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    for standing in (subprocess.PIPE, "closed"):
        with subprocess.Popen(
            ["sh", "-c", 'exec "$@" >&-', "sh", *words] if standing == "closed" else words,
            cwd=command.folder, env=environment, stderr=subprocess.PIPE,
            stdout=None if standing == "closed" else subprocess.PIPE,
        ) as running:  # fmt: skip
            if running.stdout is not None:
                running.stdout.close()
            assert running.stderr is not None
            errors = running.stderr.read()
        assert errors == b""
        assert running.returncode in (1, 3)
        assert json.loads((command.folder / "b.json").read_text())["message"] == "1 MUST violated"
        (command.folder / "b.json").unlink()
