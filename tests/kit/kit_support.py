"""Helpers of the kit's tests: short checks, and runs by hand.

Knows: the kit's public steps. Must not know: any law or fault.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from kvconform import cli
from kvconform.adapter import Adapter
from kvconform.check import Check, Result, judged
from kvconform.finding import Key, raws_of
from kvconform.profiles import PROFILES, Profile
from kvconform.report.build import build
from kvconform.report.model import Report
from kvconform.run import Run
from kvconform.targets import Target
from kvspec.edges import vectors as edges
from kvspec.vocabulary import Config, Operation

BRIEF = Profile("quick", walk=5_000, examples=10, steps=25, workloads=6, repeats=2, shrink=8_000)
"""A quarter of `quick`: its walk is the beginning of the walk of `quick`, so what it finds, `quick` finds."""


TINY = Profile("quick", walk=2_000, examples=5, steps=20, workloads=4, repeats=1, shrink=6_000)
"""Enough to reach every law once."""

SHIPPED = edges.load()


SHORT = ("content/", "window/")
"""What the ids of vectors about contents and windows begin with: they are short."""


def some_vectors() -> edges.Vectors:
    """Some of the shipped vectors, of every kind."""
    short = [vector for vector in SHIPPED.vectors if vector.id.startswith(SHORT)]
    long = [vector for vector in SHIPPED.vectors if not vector.id.startswith(SHORT)]
    return replace(SHIPPED, vectors=(*long[::25], *short))


FEW = some_vectors()


def target_of(adapter: Adapter) -> Target:
    """A target around an adapter."""
    return Target("test:target", adapter.name or "test", "", adapter)


def verdicts(result: Result) -> dict[str, str]:
    """Every law's verdict."""
    return {one.law.id: one.verdict for one in judged(result)}


def violated(result: Result) -> set[str]:
    """The laws found broken."""
    return {finding.violation.law.id for finding in result.findings}


def checked(adapter: Adapter, profile: Profile = BRIEF, **options: Any) -> Result:
    """The result of a check."""
    return Check(target_of(adapter), profile, **options).run()


def reported(target: Target, out: Path, profile: Profile = BRIEF, **options: Any) -> Report:
    """The report of a check, its traces written to a folder."""
    check = Check(target, profile, **options)
    return build(check.run(), out, check.start)


def shown_by(adapter: Adapter, config: Config, operations: Iterable[Operation], *, finish: bool = False) -> set[Key]:
    """What a run of whatever is legal of these operations shows."""
    run = Run(adapter, config)
    for op in operations:
        if run.why_not(op) is None:
            run.apply(op)
    if finish and not run.over:
        run.finish()
    return {raw.key for raw in raws_of(run, "test")}


# -- the command line -----------------------------------------------------------------------------------------------


PROGRESS = re.compile(r"kvconform: [a-z]+ [\d,]+ of [\d,]+([,:].*)?")


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def complaint(self) -> str:
        """The one line on standard error that is not progress; fails where there is not exactly one."""
        lines = [line for line in self.err.splitlines() if not PROGRESS.fullmatch(line)]
        assert len(lines) == 1, self.err
        assert lines[0].startswith("kvconform: ")
        return lines[0].removeprefix("kvconform: ")


class Command:
    """The command line inside this process, with short profiles, in a folder of its own."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], folder: Path) -> None:
        self.monkeypatch, self.capsys, self.folder = monkeypatch, capsys, folder
        monkeypatch.setitem(PROFILES, "quick", TINY)
        monkeypatch.chdir(folder)

    def __call__(self, *arguments: str) -> Ended:
        self.monkeypatch.setattr(sys, "argv", ["kvconform", *arguments])
        self.capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            cli.main()
        out, err = self.capsys.readouterr()
        assert isinstance(ended.value.code, int)
        return Ended(ended.value.code, out, err)

    def report(self) -> dict[str, Any]:
        """The report of the last check."""
        found: dict[str, Any] = json.loads((self.folder / ".kvconform" / "report.json").read_text())
        return found


def in_a_process(folder: Path, *arguments: str) -> Ended:
    """The command line in a process of its own."""
    path = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    done = subprocess.run(
        [sys.executable, "-m", "kvconform", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    return Ended(done.returncode, done.stdout, done.stderr)
