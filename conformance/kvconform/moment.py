"""How far a long work is. Knows nothing of who works or who looks on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Moment:
    """What was reached. tier: a word for the kind of work; done, of: its parts. doing: what is at work now, such as a
    law or a vector. operations: carried out so far, in all tiers; broken: laws seen broken so far; None where nobody
    counts.
    """

    tier: str
    done: int
    of: int
    doing: str = ""
    operations: int | None = None
    broken: int | None = None


Report = Callable[[Moment], None]
"""Takes what was reached, to show it."""


def silent(moment: Moment) -> None:
    """A `Report` that shows nothing."""
