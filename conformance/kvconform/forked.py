"""Work that consists of many independent parts, shared out among forked processes where that is safe.

Knows processes only. A forked process has all that this one has, so nothing need be sent to it, but neither threads nor
devices nor open connections survive that: an adapter says that it has none (`Adapter.forkable`).
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

T = TypeVar("T")

LEAST = 200
"""With fewer parts than this, starting processes takes longer than it saves."""

PART = 32
"""Parts that a process does before it answers."""


def workers() -> int:
    """Processes that can run at once."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def answers(work: Callable[[int], T], count: int, forkable: bool) -> Iterator[T]:
    """work(0), work(1), ... in this order; in several processes at once where forkable."""
    if not forkable or count < LEAST or workers() < 2 or "fork" not in multiprocessing.get_all_start_methods():
        yield from map(work, range(count))
        return
    parts = [range(start, min(start + PART, count)) for start in range(0, count, PART)]
    context: Any = multiprocessing.get_context("fork")
    with context.Pool(min(workers(), len(parts)), _begin, (work,)) as pool:
        for part in pool.imap(_do, parts):
            yield from part


_work: Callable[[int], Any]
"""A process's own, from its beginning on."""


def _begin(work: Callable[[int], Any]) -> None:
    global _work
    _work = work
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that collects the answers


def _do(part: range) -> list[Any]:
    return [_work(number) for number in part]
