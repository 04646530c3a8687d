"""A guard in seconds over work that budgets in operations: against a manager that hangs.

It interrupts as Ctrl-C does, so that what was reached is reported and the verdict is inconclusive. It must not end a
check that merely runs on a slow machine: limits are many times what is usual.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def time_guard(seconds: float | None) -> Iterator[None]:
    """Raise KeyboardInterrupt in here after so many seconds; does nothing where there is no such timer."""
    possible = hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()
    if seconds is None or not possible:
        yield
        return

    def ring(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt(f"the time guard of {seconds:,.0f} seconds tripped")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
