"""Progress on long work, on standard error: a bar on a terminal that somebody looks at, plain lines elsewhere."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from kvconform.moment import Moment, Report
from kvconform.report.story import many

EVERY = 10.0
"""Seconds between two plain lines about one tier: a CI keeps all of them."""

ROOM = 48
"""Characters of what is being done that a bar has room for."""

Clock = Callable[[], float]


@contextmanager
def bar() -> Iterator[Report]:
    """Gives a `Report` that shows progress until the end of the block."""
    console = Console(stderr=True)
    if not _watched(console):
        yield Lines()
        return
    columns = (
        TextColumn("{task.description:<10}"),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[told]}"),
    )
    with Progress(*columns, console=console, transient=True) as shown:
        yield Bar(shown)


def _watched(console: Console) -> bool:
    """Whether standard error is a terminal that can redraw a line, and not one that a CI keeps as a log."""
    in_ci = os.environ.get("CI", "").lower() not in ("", "0", "false")
    return sys.stderr is not None and console.is_terminal and not console.is_dumb_terminal and not in_ci


class Counts:
    """What a moment has counted, in words, with the operations a second since its tier began."""

    def __init__(self, clock: Clock) -> None:
        self._clock, self._tier, self._first, self._began = clock, "", 0, 0.0

    def __call__(self, moment: Moment) -> list[str]:
        """Nothing of what was not counted."""
        told = []
        if moment.operations is not None:
            told.append(f"{moment.operations:,} operations{self._speed(moment.tier, moment.operations)}")
        if moment.broken:
            told.append(f"{many(moment.broken, 'law')} broken so far")
        return told

    def _speed(self, tier: str, operations: int) -> str:
        now = self._clock()
        if tier != self._tier:
            self._tier, self._first, self._began = tier, operations, now
        seconds, spent = now - self._began, operations - self._first
        return f" ({spent / seconds:,.0f} a second)" if seconds > 0 and spent > 0 else ""


class Bar:
    """One line that is drawn again and again."""

    def __init__(self, shown: Progress, clock: Clock = time.monotonic) -> None:
        self._shown, self._tier, self._counts = shown, "", Counts(clock)
        self._task = shown.add_task("starting", total=None, told="")

    def __call__(self, moment: Moment) -> None:
        """Draw it."""
        if moment.tier != self._tier:
            self._tier = moment.tier
            self._shown.reset(self._task, total=moment.of, description=moment.tier)
        doing = moment.doing if len(moment.doing) <= ROOM else f"{moment.doing[: ROOM - 3]}..."
        told = ", ".join([*self._counts(moment), *filter(None, [doing])])
        self._shown.update(self._task, completed=moment.done, total=moment.of, told=escape(told))


class Lines:
    """One line when a tier begins, and one every so many seconds while it lasts."""

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._tier, self._last, self._clock, self._counts = "", 0.0, clock, Counts(clock)

    def __call__(self, moment: Moment) -> None:
        """Print it, if it is time; nowhere, where standard error is closed."""
        now = self._clock()
        if sys.stderr is None or (moment.tier == self._tier and now - self._last < EVERY):
            return
        self._tier, self._last = moment.tier, now
        counts = "".join(f", {told}" for told in self._counts(moment))
        doing = f": {moment.doing}" if moment.doing else ""
        print(f"kvconform: {moment.tier} {moment.done:,} of {moment.of:,}{counts}{doing}", file=sys.stderr, flush=True)
