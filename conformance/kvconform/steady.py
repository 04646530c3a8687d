"""Keeps hypothesis's draws the same whatever else is loaded.

Hypothesis reads the numbers in the sources of all modules that are not installed, and mixes them into what it draws: a
good idea for finding magic numbers, but a check's report would change with any edit of any file, and from one way of
installing the kit to another. What is drawn here are choices among few, where a magic number means nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from hypothesis.internal.conjecture import providers

HARVEST, POOL, CACHE = "_get_local_constants", "Constants", "CONSTANTS_CACHE"
"""Hypothesis's own names, since 6.131: older ones read no sources. A test tells when newer ones call it otherwise."""


@contextmanager
def steady() -> Iterator[None]:
    """Within, hypothesis draws without the constants of local modules."""
    inside: Any = providers
    if not all(hasattr(inside, name) for name in (HARVEST, POOL, CACHE)):
        yield
        return
    harvest, nothing = getattr(inside, HARVEST), getattr(inside, POOL)()
    setattr(inside, HARVEST, lambda: nothing)
    getattr(inside, CACHE).cache.clear()
    try:
        yield
    finally:
        setattr(inside, HARVEST, harvest)
        getattr(inside, CACHE).cache.clear()
