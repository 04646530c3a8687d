"""Ctrl-C that reaches the user, whatever is under way.

Knows signals; must not know any solver. Left alone, three things lose it or hold it up. A solver that catches it for
itself gives up one question, and the next one is asked. While a solver works, Python hears nothing. And where Python
raises it at the end of some object's life, which with solver terms is all the time, Python drops it. So the first one
is noted, ends the question under way, and is raised where nothing loses it; a second one is raised at once.
"""

from __future__ import annotations

import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

_heard: list[int] = []
_working: list[Callable[[], None]] = []
"""How to end early what works now."""


def raise_if_interrupted() -> None:
    """Raise KeyboardInterrupt if an interrupt was noted."""
    if _heard:
        raise KeyboardInterrupt


@contextmanager
def stopped_by(stop: Callable[[], None]) -> Iterator[None]:
    """An interrupt that is noted during this is told at once to what works, and raised when that has ended."""
    _working.append(stop)
    try:
        yield
    finally:
        _working.remove(stop)
    raise_if_interrupted()


@contextmanager
def interrupts_noted() -> Iterator[None]:
    """During this, an interrupt is noted. Without effect where interrupts are somebody else's business."""
    _heard.clear()
    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, _note)
    try:
        with _watched():
            yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        _heard.clear()


def _note(number: int, frame: Any) -> None:
    _heard.append(number)
    if len(_heard) > 1:
        raise KeyboardInterrupt


@contextmanager
def _watched() -> Iterator[None]:
    """Python tells a socket that a signal came even while none of its own code can run; a thread listens there."""
    ours, theirs = socket.socketpair()
    theirs.setblocking(False)

    def watch() -> None:
        while ours.recv(1):
            for stop in [*_working]:
                stop()

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    before = signal.set_wakeup_fd(theirs.fileno())
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        theirs.close()  # which ends the watching
        watcher.join()
        ours.close()
