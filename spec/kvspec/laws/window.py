"""Laws of sliding windows: what attention still reads stays, and what stands in for the rest is nobody's.

With a window of w tokens, attention at position p reads positions p - w + 1 to p. A position is *dead* once no position
that is still to be computed reads it: with c tokens computed, all positions before c - w + 1. A row may give up the
blocks that hold dead positions only; the *null block* stands in for them, where a manager has one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kvspec.algebra import Algebra
from kvspec.laws.base import Law
from kvspec.vocabulary import Capability, Level


@dataclass(frozen=True)
class Window:
    """One row under a window. dead: its dead positions. missing: entries with a live position that name no block."""

    dead: Any
    missing: Any


@dataclass(frozen=True)
class NullBlock:
    """The null block of a pool after an operation. times_free: how often the free set lists it (0 where not observed).
    named: rows that name it as a block of their own. written: of them those that have KV written there. free, total:
    blocks of the pool. reserved, reserved_before: 1 where there is a null block, now and before.
    """

    times_free: Any = 0
    named: Any = 0
    written: Any = 0
    free: Any = 0
    total: Any = 1
    reserved: Any = 1
    reserved_before: Any = 1


def nothing_missing(a: Algebra, window: Window) -> Any:
    """Every live position has a block."""
    return window.missing == 0


def something_dead(a: Algebra, window: Window) -> Any:
    """The window has left a position behind."""
    return window.dead >= 1


def nobodys(a: Algebra, null: NullBlock) -> Any:
    """Neither free nor held, never given up, and not among those counted as free."""
    return a.all_of(
        null.times_free == 0,
        null.named == 0,
        null.written == 0,
        null.reserved >= null.reserved_before,
        null.free + null.reserved <= null.total,
    )


def there_is_one(a: Algebra, null: NullBlock) -> Any:
    """A null block has been set aside by now."""
    return a.any_of(null.reserved >= 1, null.reserved_before >= 1)


LAWS = (
    Law(
        "window.live",
        Level.MUST,
        "Under a sliding window, every live position keeps its block: only blocks of dead positions are given up.",
        Window,
        nothing_missing,
        applies=something_dead,
        breaking=Window(dead=1, missing=1),
        needs=(Capability.WINDOW,),
        source="A block given up too early is read, or written, under its next owner; fault classes C01 and C04.",
    ),
    Law(
        "window.null",
        Level.MUST,
        "The null block is never freed, cached, written, handed out or counted as free.",
        NullBlock,
        nobodys,
        applies=there_is_one,
        breaking=NullBlock(times_free=1),
        needs=(Capability.NULL_BLOCK,),
        source="Rows of every sequence refer to it, at positions that nobody reads; fault class C30.",
    ),
)
