"""The command line: exit codes, one clear line for every error, files.

Knows: interfaces.md. Must not know: how any command does its work.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import kit_targets
import pytest
from kit_support import Command, Ended, in_a_process

from kvconform import __version__, faults
from kvspec.laws import CATALOGUE
from kvspec.vocabulary import Capability

# -- usage ----------------------------------------------------------------------------------------------------------

USAGE: list[tuple[list[str], str]] = [
    (["check"], "TARGET"),
    (["bogus"], "bogus"),
    (["check", "reference", "--bogus"], "--bogus"),
    (["check", "reference", "--seed", "x"], "--seed"),
    (["check", "reference", "--law", "no.law"], "unknown law 'no.law'; see: kvconform laws"),
    (["check", "reference", "--law", ""], "unknown law ''"),
    (["check", "reference", "--law", "table.tight", "--law", "no.law"], "unknown law 'no.law'"),
    (["check", "reference", "--profile", "slow"], "unknown profile 'slow'; known: quick, ci, nightly"),
    (["check", "reference", "--without", "wings"], "unknown capability 'wings'; known: announces, append"),
    (["check", "fault:none"], "unknown fault 'none'; known: "),
    (["laws", "no.law"], "unknown law 'no.law'"),
    (["replay", "nowhere.jsonl", "--on", "reference"], "nowhere.jsonl: No such file"),
    (["vectors", "run", "reference", "--vector", "none"], "no vector is called 'none'"),
    (["vectors", "run", "reference", "--without", "wings"], "unknown capability 'wings'"),
    (["prove", "--law", "no.law"], "'no.law'"),
    (["prove", "--solver", "cvc9"], "solver 'cvc9'"),
]


@pytest.mark.parametrize(("arguments", "complaint"), USAGE, ids=" ".join)
def test_a_usage_error_is_one_line_and_2(command: Command, arguments: list[str], complaint: str) -> None:
    ended = command(*arguments)
    assert ended.code == 2
    assert complaint in ended.complaint
    assert not ended.out


NO_TARGET: list[tuple[str, str]] = [
    ("no.such:thing", "cannot import 'no.such'"),
    ("kit_targets:Absent", "module 'kit_targets' has no 'Absent'"),
    ("kit_targets:", "names no factory"),
    (":Toy", "names no factory"),
    ("kit_targets:number", "gives int, not a kvconform.Adapter"),
    ("kit_targets:CannotBeMade", "raised RuntimeError: no licence"),
    ("kit_targets:NoTable", "NoTable must define append, free, block_table, num_free_blocks"),
    ("kit_targets:HalfASwap", "HalfASwap must define both swap_out and swap_in"),
    ("kit_targets:leaves", "ended the process (sys.exit(0))"),
    ("exec:cat", "not part of this version"),
    ("no-engine@1.0", "unknown target 'no-engine@1.0'"),
    ("", "unknown target ''"),
]


@pytest.mark.parametrize(("target", "complaint"), NO_TARGET)
def test_a_target_that_cannot_be_loaded_is_one_line_and_4(command: Command, target: str, complaint: str) -> None:
    for arguments in (["check", target], ["vectors", "run", target]):
        ended = command(*arguments)
        assert ended.code == 4
        assert complaint in ended.complaint
        assert not ended.out


def test_a_module_that_raises_or_exits_when_imported_is_4(command: Command) -> None:
    (command.folder / "kit_breaks.py").write_text("1 / 0\n")
    (command.folder / "kit_leaves.py").write_text("import sys\nsys.exit(0)\n")
    (command.folder / "kit_needs.py").write_text("import no_such_package\n")
    command.monkeypatch.syspath_prepend(str(command.folder))
    assert "importing 'kit_breaks' raised ZeroDivisionError" in of(command("check", "kit_breaks:x"), 4)
    assert "ended the process" in of(command("check", "kit_leaves:x"), 4)
    assert "no_such_package" in of(command("check", "kit_needs:x"), 4)


def of(ended: Ended, code: int) -> str:
    """The complaint of a command that ended so."""
    assert ended.code == code
    return ended.complaint


MISTAKES: list[tuple[str, str]] = [
    ("GuardAnswersNone", "can_swap_in answered None"),
    ("TableIsNone", "block_table answered None"),
    ("TableOfStrings", "block_table answered ['0']"),
    ("CountIsAString", "num_free_blocks answered '4'"),
    ("CountIsABool", "num_free_blocks answered True"),
    ("CopiesAreANumber", "append answered 7"),
    ("MovesAreTriples", "swap_out answered [(1, 2, 3)]"),
    ("StartRaises", "raised ValueError: no GPU here"),
    ("StartRaisesForNothing", "raised ValueError: at least one block"),
    ("ExitsInAnOperation", "ended the process (sys.exit(0))"),
]

NOT_TOLD: list[tuple[str, str]] = [
    ("RefcountIsNone", "refcount answered None"),
    ("FreeSetIsNone", "free_blocks answered None"),
    ("AnnouncedIsNone", "announced_row answered None"),
    ("RowDeviceIsNone", "row_device answered None"),
]


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        *MISTAKES,
        *NOT_TOLD,
    ],
)
def test_a_mistake_of_the_adapter_is_4_and_names_method_and_value(command: Command, name: str, complaint: str) -> None:
    ended = command("check", f"kit_targets:{name}")
    assert ended.code == 4
    assert complaint in ended.complaint
    assert name in ended.complaint or "process" in ended.complaint
    assert not ended.out


# -- what a check comes to ------------------------------------------------------------------------------------------


def test_the_reference_conforms(command: Command) -> None:
    ended = command("check", "reference")
    assert ended.code == 0
    assert "reference " + __version__ + ": conforms" in ended.out
    assert "Traceback" not in ended.err


def test_one_law_alone_can_be_checked(command: Command) -> None:
    ended = command("check", "reference", "--law", "accounting.refcount")
    assert ended.code == 0
    (line,) = command.report()["laws"]
    assert (line["id"], line["verdict"]) == ("accounting.refcount", "holds")
    assert line["checks"] > 0


def test_a_law_that_is_not_applicable_or_not_exercised_is_no_green(command: Command) -> None:
    assert command("check", "reference", "--law", "table.announced").code == 3
    assert command.report()["laws"][0]["verdict"] == "not-applicable"
    assert command("check", "reference", "--law", "accounting.refcount", "--without", "refcounts").code == 3
    assert command("check", "kit_targets:Lazy", "--law", "table.covers").code == 3
    assert command.report()["laws"][0]["verdict"] == "not-exercised"
    assert command.report()["verdict"] == "inconclusive"


def test_a_manager_that_admits_nobody_does_not_pass(command: Command) -> None:
    ended = command("check", "kit_targets:Lazy")
    assert ended.code == 1
    laws = {line["id"]: line for line in command.report()["laws"]}
    assert laws["robust.progress"]["verdict"] == "violated"
    for law in ("table.covers", "data.read-back", "table.no-alias", "data.copies", "admission.sound-append"):
        assert laws[law]["verdict"] == "not-exercised"
        assert laws[law]["reason"]
    assert laws["admission.sound-allocate"]["verdict"] == "not-exercised"
    assert not [law for law, line in laws.items() if line["verdict"] == "holds" and not line["checks"]]


def test_a_bare_adapter_conforms(command: Command) -> None:
    ended = command("check", "kit_targets:Bare")
    assert ended.code == 0
    assert "needs free-set" in ended.out
    assert "none asked" in ended.out


def test_a_crash_in_one_operation_does_not_stop_the_others_from_being_judged(command: Command) -> None:
    assert command("check", "kit_targets:OnlyForkRaises").code == 1
    report = command.report()
    assert {(v["law"], v["trace"][-1]["op"]) for v in report["violations"]} == {("robust.no-crash", "fork")}
    (violation,) = report["violations"]
    assert "fork raised NameError" in violation["message"]
    assert "src_block_tabel" in violation["observed"]
    others = [line for line in report["laws"] if line["id"] not in ("robust.no-crash", "admission.sound-fork")]
    assert [line["id"] for line in others if line["verdict"] != "holds"] == []


def test_several_violations_in_one_run_are_all_told(command: Command) -> None:
    assert command("check", "kit_targets:TwoFaults").code == 1
    assert {v["law"] for v in command.report()["violations"]} >= {"robust.no-crash", "admission.sound-swap-out"}


RAISING = ("CountRaises", "TableRaises", "RefcountRaises", "FreeSetRaises", "RowDeviceRaises", "AnnouncedRowRaises")


@pytest.mark.parametrize(
    "name",
    RAISING,
)
def test_an_observation_that_raises_is_a_crash_of_the_manager(command: Command, name: str) -> None:
    assert command("check", f"kit_targets:{name}").code == 1
    assert {v["law"] for v in command.report()["violations"]} == {"robust.no-crash"}


def test_a_broken_should_law_counts_with_strict_only(command: Command) -> None:
    assert command("check", "kit_targets:TakesAnyInput").code == 0
    assert [v["law"] for v in command.report()["violations"]] == ["robust.bad-input"]
    assert command.report()["verdict"] == "conforms"
    assert command("check", "kit_targets:TakesAnyInput", "--strict").code == 1
    assert command.report()["verdict"] == "violates"
    assert command.report()["strict"]


def test_a_broken_may_law_never_counts(command: Command) -> None:
    assert command("check", "kit_targets:KeepsOneBack", "--strict").code == 0
    assert {v["law"] for v in command.report()["violations"]} == {"admission.precise-append"}
    assert command.report()["verdict"] == "conforms"


def test_ctrl_c_leaves_a_valid_partial_report(command: Command) -> None:
    kit_targets.Interrupted.lives = 0
    assert command("check", "kit_targets:Interrupted").code == 3
    report = command.report()
    assert report["verdict"] == "inconclusive"
    assert report["schema"] == "kvconform/report@1"
    assert len(report["laws"]) == len(CATALOGUE)
    assert any("interrupted" in note for note in report["notes"])


def test_ctrl_c_does_not_hide_what_was_found(command: Command) -> None:
    kit_targets.WrongAndInterrupted.lives = 0
    assert command("check", "kit_targets:WrongAndInterrupted").code == 1
    assert command.report()["verdict"] == "violates"
    assert "admission.guard-pure" in {v["law"] for v in command.report()["violations"]}


# -- files ----------------------------------------------------------------------------------------------------------

REPORT = {
    "schema", "kvconform", "catalogue", "target", "verdict", "profile", "seed", "duration_s", "operations", "laws",
    "violations", "coverage", "environment",
}  # fmt: skip
VIOLATION = {
    "law", "level", "message", "expected", "observed", "config", "step", "trace", "found_by", "fingerprint",
    "reproduce",
}  # fmt: skip


def test_the_report_has_the_keys_that_others_rely_on(command: Command) -> None:
    assert command("check", "fault:unseen-ignored", "--json", "mine.json", "--seed", "5").code == 1
    report: dict[str, Any] = json.loads((command.folder / "mine.json").read_text())
    assert report == command.report()
    assert set(report) >= REPORT
    assert (report["schema"], report["kvconform"], report["catalogue"]) == ("kvconform/report@1", __version__, "1")
    assert (report["profile"], report["seed"], report["verdict"]) == ("quick", 5, "violates")
    assert set(report["target"]) >= {"name", "version", "capabilities", "restrictions"}
    assert report["target"]["name"] == "fault:unseen-ignored"
    assert set(report["target"]["capabilities"]) == {capability.value for capability in Capability}
    assert [line["id"] for line in report["laws"]] == list(CATALOGUE)
    for line in report["laws"]:
        assert set(line) >= {"id", "level", "verdict", "checks"}
        assert line["verdict"] in ("holds", "violated", "not-exercised", "not-applicable")
    assert report["operations"] > 1000
    assert {guard["guard"] for guard in report["coverage"]["guards"]} == {"allocate", "append", "swap_in", "swap_out"}
    assert set(report["coverage"]["guards"][0]) == {"guard", "outcome", "hits"}
    assert set(report["coverage"]["edges"]) == {"total", "run", "unreachable"}
    assert set(report["environment"]) >= {"python", "z3-solver"}
    broken = {line["id"] for line in report["laws"] if line["verdict"] == "violated"}
    assert {violation["law"] for violation in report["violations"]} == broken
    assert "admission.sound-swap-in" in broken
    fingerprints = [violation["fingerprint"] for violation in report["violations"]]
    assert len(set(fingerprints)) == len(fingerprints)
    for violation in report["violations"]:
        assert set(violation) >= VIOLATION
        assert violation["found_by"] in ("vector", "walk", "hypothesis")
        assert violation["step"] == len(violation["trace"])
        assert violation["level"] == CATALOGUE[violation["law"]].level.value


def test_findings_and_report_go_to_a_folder_that_git_ignores(command: Command) -> None:
    subprocess.run(["git", "init", "-q"], cwd=command.folder, check=True)
    assert command("check", "fault:watermark-ignored").code == 1
    folder = command.folder / ".kvconform"
    names = {path.name for path in folder.iterdir()}
    assert {"report.json", ".gitignore"} < names
    for violation in command.report()["violations"]:
        assert any(name.startswith(f"{violation['law']}-{violation['fingerprint']}-") for name in names)
    status = subprocess.run(
        ["git", "status", "--porcelain", "--untracked-files=all"],
        cwd=command.folder, check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert status.stdout == ""


def test_another_folder_can_be_named_and_is_left_as_it_is(command: Command) -> None:
    assert command("check", "fault:watermark-ignored", "--out", "deep/er").code == 1
    folder = command.folder / "deep" / "er"
    assert (folder / "report.json").exists()
    assert list(folder.glob("admission.watermark-*.jsonl"))
    assert not (folder / ".gitignore").exists()
    assert not (command.folder / ".kvconform").exists()


@pytest.mark.parametrize("place", ["no/such/folder/x.json", ".", "blocked/x.json"])
def test_a_report_that_cannot_be_written_is_one_line_and_2(command: Command, place: str) -> None:
    (command.folder / "blocked").write_text("a file")
    complaint = of(command("check", "reference", "--law", "table.tight", "--json", place), 2)
    assert complaint.startswith(f"cannot write {place}")
    assert of(command("laws", "--json", place), 2).startswith(f"cannot write {place}")


@pytest.mark.parametrize("place", ["blocked", "blocked/below"])
def test_a_folder_that_cannot_be_written_is_one_line_and_2_before_anything_runs(command: Command, place: str) -> None:
    (command.folder / "blocked").write_text("a file")
    ended = command("check", "reference", "--out", place)
    assert of(ended, 2).startswith(f"cannot write to {place}")
    assert " of " not in ended.err


def test_a_trace_that_cannot_be_written_is_one_line_and_2(command: Command) -> None:
    whole = Path.write_bytes

    def write(self: Path, data: bytes) -> int:
        if ".jsonl" in self.name:
            raise PermissionError(13, "Permission denied")
        return whole(self, data)

    command.monkeypatch.setattr(Path, "write_bytes", write)
    assert "Permission denied" in of(command("check", "fault:watermark-ignored"), 2)


# -- replay ---------------------------------------------------------------------------------------------------------


def test_the_command_that_a_finding_names_runs_it_again(command: Command) -> None:
    assert command("check", "fault:unseen-ignored").code == 1
    for violation in command.report()["violations"]:
        words = shlex.split(violation["reproduce"])
        assert words[0] == "kvconform"
        again = command(*words[1:], "--json", "again.json")
        assert again.code == 1
        assert violation["law"] in again.out
        assert "still failing" in again.out
        told = json.loads((command.folder / "again.json").read_text())
        assert (told["verdict"], told["law"]) == ("violates", violation["law"])
        assert violation["law"] in [v["law"] for v in told["violations"]]
        assert command(*words[1:-1], "reference").code == 0
        assert command(*words[1:-1], "kit_targets:Toy").code == 0


def test_a_trace_that_the_target_cannot_run_is_4(command: Command) -> None:
    assert command("check", "fault:unseen-ignored", "--law", "admission.sound-swap-in").code == 1
    trace = next((command.folder / ".kvconform").glob("*.jsonl"))
    assert "it needs swap" in of(command("replay", str(trace), "--on", "kit_targets:Bare"), 4)
    assert "no GPU here" in of(command("replay", str(trace), "--on", "kit_targets:StartRaises"), 4)
    assert "unknown fault" in of(command("replay", str(trace), "--on", "fault:none"), 2)
    assert "cannot import" in of(command("replay", str(trace), "--on", "no.such:thing"), 4)


HEAD = {"schema": "kvconform/trace@1", "config": {"block_size": 4, "num_gpu_blocks": 4}}


@pytest.mark.parametrize(
    ("header", "lines", "code", "complaint"),
    [
        ({}, [{"op": "append", "group": 1}], 4, "operation 1 (append) cannot be run: group 1 does not run"),
        ({}, [{"op": "dance"}], 2, "line 2: unknown operation 'dance'"),
        ({"without": 5}, [], 2, "line 1: without is a list of capabilities"),
        ({"without": [["x"]]}, [], 2, "line 1: without is a list of capabilities"),
        ({"without": ["wings"]}, [], 2, "unknown capability 'wings'"),
        ({"probe": "progress"}, [], 2, "no usable workload"),
        ({"probe": "progress", "workload": {"requests": [[1]], "lookahead": 0}}, [], 2, "no usable workload"),
        ({"probe": "bad-input:none"}, [], 2, "unknown probe 'bad-input:none'"),
    ],
    ids=str,
)
def test_a_trace_that_cannot_be_replayed_is_one_line(
    command: Command, header: dict[str, object], lines: list[object], code: int, complaint: str
) -> None:
    path = command.folder / "one.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in ({**HEAD, **header}, *lines)))
    assert complaint in of(command("replay", str(path), "--on", "reference"), code)


@pytest.mark.parametrize(
    "header",
    [
        {"probe": "none"},
        {"law": "no.law"},
    ],
)
def test_a_trace_about_nothing_that_exists_does_not_pass(command: Command, header: dict[str, object]) -> None:
    path = command.folder / "one.jsonl"
    path.write_text(json.dumps({**HEAD, **header}) + "\n")
    assert command("replay", str(path), "--on", "reference").code == 2


# -- lists ----------------------------------------------------------------------------------------------------------


def test_laws_are_listed_and_explained(command: Command) -> None:
    ended = command("laws", "--json", "laws.json")
    assert ended.code == 0
    assert all(law in ended.out for law in CATALOGUE)
    listed = json.loads((command.folder / "laws.json").read_text())
    assert [law["id"] for law in listed["laws"]] == list(CATALOGUE)
    ended = command("laws", "admission.sound-swap-in")
    assert ended.code == 0
    assert "MUST" in ended.out
    assert "8824" in ended.out
    assert "example  fault:" in ended.out
    assert "try      kvconform check fault:" in ended.out
    assert "1. admit group 1" in ended.out


def test_targets_are_listed(command: Command) -> None:
    ended = command("targets", "--json", "targets.json")
    assert ended.code == 0
    rows = json.loads((command.folder / "targets.json").read_text())["targets"]
    names = {row["name"] for row in rows}
    assert {"reference", *(f"fault:{name}" for name in faults.CATALOGUE)} <= names
    assert all(row["available"] for row in rows if row["name"].startswith(("reference", "fault:")))
    assert all({"name", "version", "available", "capabilities"} <= set(row) for row in rows)


def test_vectors_are_listed_and_run(command: Command) -> None:
    assert command("vectors", "list", "--json", "list.json").code == 0
    listed = json.loads((command.folder / "list.json").read_text())["vectors"]
    ended = command("vectors", "run", "reference", "--json", "run.json")
    assert ended.code == 0
    rows = json.loads((command.folder / "run.json").read_text())["vectors"]
    assert [row["id"] for row in rows] == [row["id"] for row in listed]
    assert {row["result"] for row in rows} == {"passed"}
    assert all(row["verdict"] == row["expected"] for row in rows)
    first = listed[0]["id"]
    assert command("vectors", "run", "reference", "--vector", first).code == 0
    assert "1 passed, 0 failed, 0 unreached, 0 skipped" in command("vectors", "run", "reference", "--vector", first).out


def test_a_wrong_manager_fails_vectors(command: Command) -> None:
    ended = command("vectors", "run", "fault:swap-in-guard-blind", "--json", "run.json")
    assert ended.code == 1
    rows = json.loads((command.folder / "run.json").read_text())["vectors"]
    failed = [row for row in rows if row["result"] == "failed"]
    assert failed
    assert all(row["violated"] and row["why"] for row in failed)
    assert any(row["result"] == "passed" for row in rows)


def test_vectors_that_are_all_skipped_are_3(command: Command) -> None:
    ended = command("vectors", "run", "kit_targets:Bare", "--vector", "swap_in", "--json", "run.json")
    assert ended.code == 3
    assert "skipped" in ended.complaint
    rows = json.loads((command.folder / "run.json").read_text())
    assert rows["verdict"] == "inconclusive"
    assert {row["result"] for row in rows["vectors"]} == {"skipped"}
    assert all(row["why"].startswith("needs ") for row in rows["vectors"])


def test_help_and_version(command: Command) -> None:
    ended = command("--version")
    assert (ended.code, ended.out.strip()) == (0, f"kvconform {__version__}")
    ended = command("check", "--help")
    assert ended.code == 0
    for option in ("--profile", "--seed", "--law", "--without", "--strict", "--json", "--out"):
        assert option in ended.out
    assert command().code == 2


# -- in processes of their own --------------------------------------------------------------------------------------


def test_processes_end_with_the_same_codes(tmp_path: Path) -> None:
    ended = in_a_process(tmp_path, "check", "no.such:thing")
    assert (ended.code, ended.out) == (4, "")
    assert "cannot import" in ended.complaint
    ended = in_a_process(tmp_path, "check", "reference", "--law", "no.law")
    assert (ended.code, ended.out) == (2, "")
    assert "unknown law" in ended.complaint
    ended = in_a_process(tmp_path, "check", "kit_targets:CountIsAString")
    assert ended.code == 4
    assert "num_free_blocks answered '4'" in ended.complaint
    assert not (tmp_path / ".kvconform" / "report.json").exists()


def test_a_process_that_finds_something_ends_with_1_and_can_be_asked_again(tmp_path: Path) -> None:
    assert in_a_process(tmp_path, "check", "kit_targets:Interrupted").code == 3  # its Ctrl-C keeps this short
    ended = in_a_process(tmp_path, "check", "kit_targets:WrongAndInterrupted", "--law", "admission.guard-pure")
    assert ended.code == 1
    assert "VIOLATED" in ended.out
    assert "Traceback" not in ended.err
    assert all(line.startswith("kvconform: ") for line in ended.err.splitlines())
    (violation, *_) = json.loads((tmp_path / ".kvconform" / "report.json").read_text())["violations"]
    again = in_a_process(tmp_path, *shlex.split(violation["reproduce"])[1:])
    assert (again.code, again.err) == (1, "")


def test_a_reader_that_goes_away_is_no_traceback(tmp_path: Path) -> None:
    path = os.pathsep.join(sys.path)
    with subprocess.Popen(
        [sys.executable, "-m", "kvconform", "laws"],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": path}, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as running:  # fmt: skip
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdout.close()
        errors = running.stderr.read()
    assert b"Traceback" not in errors
    assert running.returncode == 3
