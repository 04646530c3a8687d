"""The GitHub Action: its file is sound, and its steps do under bash what they promise.

Knows: how GitHub reads an action's file, and the files that it hands to a step. Must not know: how a check works.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from kvconform import github_action
from kvconform.errors import UsageError
from kvconform.report.views import ALL

ROOT = Path(__file__).parents[2]
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
STEPS: list[dict[str, Any]] = ACTION["runs"]["steps"]
SCRIPTS = [step for step in STEPS if "run" in step]
EXPRESSION = re.compile(r"\$\{\{\s*(.*?)\s*\}\}")

needs_bash = pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash here")


# -- the file -------------------------------------------------------------------------------------------------------


def test_it_is_a_composite_action_with_a_name_and_described_inputs_and_outputs() -> None:
    assert ACTION["runs"]["using"] == "composite"
    assert ACTION["name"]
    assert ACTION["description"]
    for described in (*ACTION["inputs"].values(), *ACTION["outputs"].values()):
        assert described["description"]
    for name, given in ACTION["inputs"].items():
        assert given.get("required") or isinstance(given["default"], str), name


def test_every_input_is_used_and_every_one_that_is_used_is_there() -> None:
    text = json.dumps(ACTION["runs"])
    assert set(re.findall(r"inputs\.([\w-]+)", text)) == set(ACTION["inputs"])


def test_every_output_comes_from_a_step_that_is_there() -> None:
    ids = {step["id"] for step in STEPS if "id" in step}
    for output in ACTION["outputs"].values():
        (expression,) = EXPRESSION.findall(output["value"])
        assert expression.split(".")[1] in ids


def test_every_script_names_its_shell_and_has_nothing_put_into_it() -> None:
    assert SCRIPTS
    for step in SCRIPTS:
        assert step["shell"] == "bash"
        assert "${{" not in step["run"], "inputs come by the environment: in a script they would be code"


def test_every_step_does_one_thing_and_foreign_actions_have_a_version() -> None:
    for step in STEPS:
        assert ("run" in step) != ("uses" in step)
        assert "uses" not in step or re.fullmatch(r"[\w-]+/[\w-]+@v\d+", step["uses"])


# -- its steps, under bash ------------------------------------------------------------------------------------------


@dataclass
class Ran:
    """How the steps ended."""

    code: int
    out: str
    summary: str
    outputs: dict[str, str]
    pip: list[list[str]]


Run = Callable[..., Ran]


class Runner:
    """A stand-in for GitHub's runner: evaluates what the action's file says, and runs its scripts."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.temp, self.work, bin = folder / "temp", folder / "work", folder / "bin"
        for made in (self.temp, self.work, bin):
            made.mkdir()
        self.summary, self.output, self.pip = folder / "summary", folder / "output", folder / "pip"
        self.summary.write_text("from a step before\n")
        shim = bin / "python"
        shim.write_text(
            f'#!/bin/sh\n[ "$2" = pip ] && {{ printf "%s\\n" "$@" --end-- >>"{self.pip}"; exit 0; }}\n'
            f'exec "{sys.executable}" "$@"\n'
        )
        shim.chmod(0o755)
        self.environment = {
            **os.environ,
            "PATH": os.pathsep.join([str(bin), os.environ["PATH"]]),
            "PYTHONPATH": os.pathsep.join([str(ROOT / "tests" / "kit"), *sys.path]),
            "RUNNER_TEMP": str(self.temp),
            "GITHUB_STEP_SUMMARY": str(self.summary),
            "GITHUB_OUTPUT": str(self.output),
            "CI": "true",
        }

    def __call__(self, **given: str) -> Ran:
        inputs = {
            name: given.get(name.replace("-", "_"), told.get("default", "")) for name, told in ACTION["inputs"].items()
        }
        code, told = 0, ""
        for step in SCRIPTS:
            if not code and self._wanted(step, inputs):
                done = subprocess.run(**self.started(step, inputs), capture_output=True, text=True, check=False)
                code, told = done.returncode, told + done.stdout + done.stderr
        return Ran(code, told, self.summary.read_text(), self.outputs(), self._pip())

    def started(self, step: dict[str, Any], inputs: dict[str, str]) -> dict[str, Any]:
        """How a step is started: as GitHub starts bash."""
        script = self.folder / "script.sh"
        script.write_text(step["run"])
        environment = {name: self._value(value, inputs) for name, value in step.get("env", {}).items()}
        where = self.work / self._value(step.get("working-directory", "."), inputs)
        words = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", str(script)]
        return {"args": words, "cwd": where, "env": {**self.environment, **environment}}

    @staticmethod
    def _value(text: str, inputs: dict[str, str]) -> str:
        known = {f"inputs.{name}": value for name, value in inputs.items()} | {"github.action_path": str(ROOT)}
        return EXPRESSION.sub(lambda found: known[found[1]], text)

    @staticmethod
    def _wanted(step: dict[str, Any], inputs: dict[str, str]) -> bool:
        name = re.fullmatch(r"inputs\.([\w-]+) != ''", step.get("if", "inputs.target != ''"))
        assert name is not None, "a condition that this stand-in does not know"
        return inputs[name[1]] != ""

    def outputs(self) -> dict[str, str]:
        """As GitHub reads them."""
        text = self.output.read_text() if self.output.exists() else ""
        return {name: value for name, _, value in re.findall(r"^([\w-]+)<<(.+)\n(.*)\n\2$", text, flags=re.MULTILINE)}

    def _pip(self) -> list[list[str]]:
        text = self.pip.read_text() if self.pip.exists() else ""
        return [part.split("\n")[:-1] for part in text.split("--end--\n")[:-1]]


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    return Runner(tmp_path)


@needs_bash
def test_a_wrong_manager_fails_the_step_after_its_summary_is_written(runner: Runner) -> None:
    ran = runner(target="fault:watermark-ignored", profile="quick", args="--law admission.watermark --without 'swap'")
    assert ran.code == 1
    assert ran.summary.startswith("from a step before\n## ❌ kvconform: fault:watermark-ignored")
    assert "::error title=admission.watermark (MUST)::" in ran.out
    folder = runner.temp / "kvconform"
    assert ran.outputs == {
        "verdict": "violates", "exit-code": "1", "report": str(folder / "report.json"), "folder": str(folder),
    }  # fmt: skip
    assert {path.name for path in folder.iterdir()} == {view.file for view in ALL if view.file} | {"findings"}
    assert list((folder / "findings").glob("*.jsonl"))
    assert json.loads((folder / "report.json").read_text())["without"] == ["swap"]
    assert ran.pip == [["-m", "pip", "install", "--disable-pip-version-check", str(ROOT)]]


@needs_bash
def test_a_right_manager_passes(runner: Runner) -> None:
    ran = runner(target="reference", profile="quick", seed="3", args="--law table.covers", strict="true")
    assert (ran.code, ran.outputs["verdict"], ran.outputs["exit-code"]) == (0, "conforms", "0")
    assert "## ✅ kvconform: reference" in ran.summary
    assert "::notice" in ran.out
    report = json.loads(Path(ran.outputs["report"]).read_text())
    assert (report["seed"], report["strict"], report["profile"]) == (3, True, "quick")


@needs_bash
def test_what_cannot_be_checked_says_so_in_the_summary(runner: Runner) -> None:
    stale = runner.temp / "kvconform" / "summary.md"
    stale.parent.mkdir()
    stale.write_text("## ✅ of a step before\n")
    ran = runner(target="no.such:thing", profile="quick")
    assert (ran.code, ran.outputs["verdict"], ran.outputs["exit-code"]) == (4, "error", "4")
    assert "✅" not in ran.summary
    assert "## ⚠️ kvconform: " in ran.summary
    ran = runner(target="reference", profile="slow")
    assert (ran.code, ran.outputs["verdict"]) == (2, "error")
    assert "Exit code 2" in ran.summary


@needs_bash
def test_a_target_that_takes_the_process_down_leaves_a_summary(runner: Runner) -> None:
    (runner.work / "dies.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n")
    ran = runner(target="dies:x")
    assert (ran.code, ran.outputs["verdict"], ran.outputs["exit-code"]) == (137, "error", "137")
    assert "Exit code 137: the check did not come to its end" in ran.summary


@needs_bash
def test_no_input_is_code(runner: Runner) -> None:
    harm = '"x"; touch harmed; echo $(touch harmed) `touch harmed` # ${{ inputs.seed }}'
    names = ("target", "profile", "seed", "known", "args")
    assert runner(**dict.fromkeys(names, harm)).code == 2
    assert runner(target="kit_targets:Interrupted", args=harm).code == 2
    assert runner(target=harm).code == 4
    assert not list(runner.folder.rglob("harmed"))


@needs_bash
def test_what_the_adapter_needs_is_installed_from_where_it_is(runner: Runner) -> None:
    below = runner.work / "a b"
    below.mkdir()
    (below / "here.py").write_text("def make():\n    raise RuntimeError('found me')\n")
    ran = runner(target="here:make", working_directory="a b", install="--help --find-links 'a b'")
    assert ran.code == 4
    assert "pip install [options]" in ran.out
    assert "found me" in ran.out
    failed = runner(target="here:make", working_directory="a b", install="--no-such-option")
    assert failed.code == 2
    assert "no such option: --no-such-option" in failed.out


@needs_bash
@pytest.mark.parametrize("word", [signal.SIGINT, signal.SIGTERM])
def test_a_job_that_is_cancelled_leaves_a_partial_report(runner: Runner, word: signal.Signals) -> None:
    step = next(step for step in SCRIPTS if step.get("id") == "check")
    inputs = {name: told.get("default", "") for name, told in ACTION["inputs"].items()} | {
        "target": "kit_targets:Hangs"
    }
    with subprocess.Popen(**runner.started(step, inputs), stderr=subprocess.PIPE, stdout=subprocess.DEVNULL) as running:
        assert running.stderr is not None
        assert b"vectors" in running.stderr.readline()
        running.send_signal(word)
        assert running.wait() == 3
    assert runner.outputs()["verdict"] == "inconclusive"
    assert "⚠️ kvconform: toy inconclusive" in runner.summary.read_text()


# -- its module -----------------------------------------------------------------------------------------------------


def test_the_command_line_has_all_inputs(tmp_path: Path) -> None:
    given = {
        "TARGET": "a:b",
        "PROFILE": "ci",
        "SEED": "7",
        "KNOWN": "known.json",
        "STRICT": "true",
        "ARGS": "--without x",
    }
    words = github_action.command({f"INPUT_{name}": value for name, value in given.items()}, tmp_path)
    told = " ".join(words[1:])
    assert told.startswith(
        "-m kvconform check a:b --profile ci --seed 7 --known known.json --strict --without x --out "
    )
    assert all(f"--{view.name}" in words for view in ALL)
    bare = github_action.command({"INPUT_TARGET": "a:b", "INPUT_STRICT": "", "INPUT_KNOWN": ""}, tmp_path)
    assert "--strict" not in bare
    assert "--known" not in bare


def test_pip_gets_words_as_a_shell_would_split_them(monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[list[str]] = []
    monkeypatch.setattr(subprocess, "call", lambda words: called.append(words) or 5)
    assert github_action.install({"INPUT_INSTALL": "-e . 'b[c]>=1; python_version > \"3\"'\n$HOME *"}) == 5
    assert called[0][5:] == ["-e", ".", 'b[c]>=1; python_version > "3"', "$HOME", "*"]


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({}, "`target` is empty"),
        ({"TARGET": "a:b", "ARGS": "'"}, "`args` cannot be split"),
        ({"TARGET": "a:b", "STRICT": "perhaps"}, "`strict` is true or false"),
    ],
)
def test_inputs_that_make_no_sense_are_usage_errors(tmp_path: Path, given: dict[str, str], why: str) -> None:
    with pytest.raises(UsageError, match=why):
        github_action.command({f"INPUT_{name}": value for name, value in given.items()}, tmp_path)


def test_it_says_how_it_is_used(capsys: pytest.CaptureFixture[str]) -> None:
    assert github_action.main([]) == 2
    assert "install | check" in capsys.readouterr().err
