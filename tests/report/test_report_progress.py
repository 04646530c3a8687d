"""Progress: a bar where somebody looks, plain lines elsewhere, and not too many of them.

Knows: moments. Must not know: what is at work.
"""

from __future__ import annotations

import contextlib
import io

import pytest
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from kvconform.moment import Moment
from kvconform.report.progress import Bar, Lines, bar


class Clock:
    """Time that passes when it is told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Terminal(io.StringIO):
    """A standard error that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    monkeypatch.setenv("TERM", "xterm-256color")
    for name in ("CI", "NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    return Terminal()


def work(shown: io.StringIO | None) -> None:
    with contextlib.redirect_stderr(shown), bar() as report:
        for done in range(3):
            report(Moment("walk", done, 3, "law [bold]x[/bold]", 1000 * done, 2))


def test_a_terminal_has_a_bar_that_goes_away(terminal: Terminal) -> None:
    work(terminal)
    shown = terminal.getvalue()
    assert "walk" in shown
    assert "━" in shown
    assert "\x1b[" in shown
    assert "kvconform:" not in shown


def test_a_bar_without_colours(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    work(terminal)
    assert "━" in terminal.getvalue()
    assert "\x1b[3" not in terminal.getvalue()


@pytest.mark.parametrize(("name", "value"), [("CI", "true"), ("CI", "1"), ("TERM", "dumb")])
def test_a_terminal_that_is_kept_as_a_log_has_lines(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    work(terminal)
    assert terminal.getvalue() == "kvconform: walk 0 of 3, 0 operations, 2 laws broken so far: law [bold]x[/bold]\n"


def test_ci_that_is_false_is_none(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "false")
    work(terminal)
    assert "━" in terminal.getvalue()


def test_no_terminal_has_lines() -> None:
    shown = io.StringIO()
    work(shown)
    assert shown.getvalue().startswith("kvconform: walk 0 of 3, 0 operations")


def test_a_closed_standard_error_is_no_error() -> None:
    work(None)


def test_lines_come_when_a_tier_begins_and_every_ten_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    lines = Lines(clock)
    for second in range(25):
        clock.now = 100.0 + second
        lines(Moment("walk", second, 25, operations=5_000 + 2_000 * second))
    lines(Moment("shrinking", 0, 4, "table.covers", 53_000, 1))
    assert capsys.readouterr().err.splitlines() == [
        "kvconform: walk 0 of 25, 5,000 operations",
        "kvconform: walk 10 of 25, 25,000 operations (2,000 a second)",
        "kvconform: walk 20 of 25, 45,000 operations (2,000 a second)",
        "kvconform: shrinking 0 of 4, 53,000 operations, 1 law broken so far: table.covers",
    ]


def test_a_bar_says_tier_part_speed_and_what_is_at_work() -> None:
    clock, out = Clock(), io.StringIO()
    columns = TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[told]}")
    shown = Progress(*columns, console=Console(file=out, width=200, force_terminal=False), auto_refresh=False)
    drawn = Bar(shown, clock)
    drawn(Moment("walk", 1, 10, operations=0))
    clock.now += 2
    drawn(Moment("walk", 5, 10, "x" * 60, 9_000, 3))
    (task,) = shown.tasks
    assert (task.description, task.completed, task.total) == ("walk", 5, 10)
    assert task.fields["told"] == f"9,000 operations (4,500 a second), 3 laws broken so far, {'x' * 45}..."
    drawn(Moment("shrinking", 0, 2, "[a]"))
    assert (task.description, task.completed, task.total, task.fields["told"]) == ("shrinking", 0, 2, "\\[a]")
