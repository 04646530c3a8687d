"""What the GitHub Action of this repository runs: `python -m kvconform.github_action install | check`.

Knows the action's inputs, as `action.yml` hands them over in environment variables, and GitHub's files for outputs and
step summaries. The check is a process of its own: should the target take it down, there is still a summary.
"""

from __future__ import annotations

import os
import secrets
import shlex
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import FrameType

from kvconform.errors import NO_TARGET, USAGE, UsageError
from kvconform.report import annotations as github
from kvconform.report import reading
from kvconform.report.views import ALL

Environment = Mapping[str, str]


def install(environment: Environment) -> int:
    """What the input `install` asks for, by pip: the exit code."""
    wanted = _words(environment, "install")
    return subprocess.call([sys.executable, "-m", "pip", "install", "--disable-pip-version-check", *wanted])


def check(environment: Environment) -> int:
    """Check the target, write summary and outputs, and only then answer with the check's exit code."""
    folder = Path(environment.get("RUNNER_TEMP") or ".") / "kvconform"
    folder.mkdir(parents=True, exist_ok=True)
    files = {view.name: folder / view.file for view in ALL if view.file is not None}
    for file in files.values():
        file.unlink(missing_ok=True)  # of a step before: what is there afterwards is this check's
    code = _run(command(environment, folder))
    _append(environment, "GITHUB_STEP_SUMMARY", _summary(files["markdown"], code))
    outputs = {"exit-code": str(code), "verdict": _verdict(files["json"]), "folder": str(folder)}
    if files["json"].exists():
        outputs["report"] = str(files["json"])
    _append(environment, "GITHUB_OUTPUT", "".join(_output(name, value) for name, value in outputs.items()))
    return code


def command(environment: Environment, folder: Path) -> list[str]:
    """The command line that the inputs ask for. Raises UsageError for a missing target or unbalanced quotes."""
    target = _input(environment, "target")
    if not target:
        raise UsageError("the input `target` is empty: say what to check, such as my_adapter:MyAdapter")
    words = [sys.executable, "-m", "kvconform", "check", target]
    for name in ("profile", "seed", "known"):
        if _input(environment, name):
            words += [f"--{name}", _input(environment, name)]
    strict = _input(environment, "strict").lower() or "false"
    if strict not in ("true", "false"):
        raise UsageError(f"the input `strict` is true or false, not {strict!r}")
    words += ["--strict"] if strict == "true" else []
    words += _words(environment, "args")
    words += ["--out", str(folder / "findings")]
    for view in ALL:
        words += [f"--{view.name}"] if view.file is None else [f"--{view.name}", str(folder / view.file)]
    return words


def _input(environment: Environment, name: str) -> str:
    return environment.get(f"INPUT_{name.upper()}", "").strip()


def _words(environment: Environment, name: str) -> list[str]:
    """An input that holds several arguments, as a shell would split it, and nothing else that a shell does."""
    try:
        return shlex.split(_input(environment, name))
    except ValueError as error:
        raise UsageError(f"the input `{name}` cannot be split into arguments: {error}") from None


def _run(command: list[str]) -> int:
    """The exit code; a signal's as shells give it. Whoever cancels the job asks this process, first kindly and soon
    less so: the first word is passed on, so that the check writes what it has, and is not disturbed in that.
    """
    asked = False
    with subprocess.Popen(command, start_new_session=True) as running:

        def interrupt(number: int, frame: FrameType | None) -> None:
            nonlocal asked
            if not asked:
                asked = True
                running.send_signal(signal.SIGINT)

        if os.name == "posix":
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, interrupt)
        code = running.wait()
    return code if code >= 0 else 128 - code


def _summary(file: Path, code: int) -> str:
    if file.exists():
        return file.read_text(encoding="utf-8") + "\n"
    why = {USAGE: "an option or the configuration is wrong", NO_TARGET: "the target cannot be loaded or driven"}
    told = f"Exit code {code}: {why.get(code, 'the check did not come to its end')}; the log of this step says more."
    return f"## ⚠️ kvconform: no report\n\n{told}\n"


def _verdict(file: Path) -> str:
    """The report's, or error where there is none."""
    return reading.read(file).verdict if file.exists() else "error"


def _output(name: str, value: str) -> str:
    """One output, in the form in which no value can be taken for another output."""
    end = f"end-{secrets.token_hex(8)}"
    return f"{name}<<{end}\n{value}\n{end}\n"


def _append(environment: Environment, file: str, text: str) -> None:
    """Append to a file that GitHub names; nowhere, outside GitHub."""
    if environment.get(file):
        with open(environment[file], "a", encoding="utf-8") as appended:
            appended.write(text)


def main(arguments: list[str]) -> int:
    """The entry point: the exit code."""
    parts = {"install": install, "check": check}
    if len(arguments) != 1 or arguments[0] not in parts:
        print("usage: python -m kvconform.github_action install | check", file=sys.stderr)
        return USAGE
    try:
        return parts[arguments[0]](os.environ)
    except UsageError as error:
        print(github.command("error", "kvconform", str(error)), end="")
        return error.exit_code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
