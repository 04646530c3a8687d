"""Progress on long work: a bar on a terminal, plain lines elsewhere, on standard error."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

Report = Callable[[str, int, int], None]


@contextmanager
def bar() -> Iterator[Report]:
    """Gives a function (tier, done, of) that shows progress."""
    if not sys.stderr.isatty():
        yield _Lines()
        return
    columns = (TextColumn("{task.description:<10}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task, current = shown.add_task("starting", total=None), ""

        def report(tier: str, done: int, of: int) -> None:
            nonlocal current
            if tier != current:
                current = tier
                shown.reset(task, total=of, description=tier)
            shown.update(task, completed=done)

        yield report


class _Lines:
    """One line when a tier begins, and one every so many seconds while it lasts."""

    def __init__(self, every: float = 10.0) -> None:
        self._tier, self._last, self._every = "", 0.0, every

    def __call__(self, tier: str, done: int, of: int) -> None:
        now = time.monotonic()
        if tier != self._tier or now - self._last > self._every:
            print(f"kvconform: {tier} {done:,} of {of:,}", file=sys.stderr, flush=True)
            self._tier, self._last = tier, now
