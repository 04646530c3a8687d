"""The rows of one device under a sliding window: which positions their entries have, and what keeps the live ones.

Adds to `kvspec.model.cache` where each entry stands in its sequence. A position is *live* while a token that is still
to be computed reads it (`kvspec.arithmetic.first_live`), and an entry is as long as one of its positions is. An entry
all of whose positions are dead may be given up, which is a `release`; its place in the row is left empty, or shown to
the engine as a null block. Must not know any operation, guard or claim.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from kvspec.algebra import Algebra
from kvspec.arithmetic import first_live
from kvspec.model.cache import At, Cache, can_release, release
from kvspec.model.columns import Column
from kvspec.model.pool import Conjunct, is_owner


@dataclass(frozen=True)
class Rows:
    """One device under a window.

    cache: its blocks and their contents. window: positions that attention reads, its own included. start[e]: position
    that the first slot of entry e is for. done[e]: tokens computed of the sequence whose row entry e is in. covered[e]:
    positions that this row covers.
    """

    cache: Cache
    window: Any
    start: Column
    done: Column
    covered: Column


def live_from(a: Algebra, rows: Rows, entry: Any) -> Any:
    """The first live position of the sequence that the entry belongs to."""
    return first_live(a, rows.done[entry], rows.window)


def all_dead(a: Algebra, rows: Rows, entry: Any) -> Any:
    """No position of the entry is live."""
    return rows.start[entry] + rows.cache.block_size <= live_from(a, rows, entry)


def is_live(a: Algebra, rows: Rows, entry: Any) -> Any:
    """Some position of the entry is live, and the row covers it."""
    return a.all_of(a.negate(all_dead(a, rows, entry)), rows.start[entry] < rows.covered[entry])


def can_give_up(a: Algebra, rows: Rows, at: At) -> Any:
    """The entry owns a block, and all of its positions are dead."""
    return a.all_of(can_release(a, rows.cache, at), all_dead(a, rows, at.entry))


def give_up(a: Algebra, rows: Rows, at: At) -> Rows:
    """Release what the entry owns; the sequence runs on without it."""
    return replace(rows, cache=release(a, rows.cache, at))


def held_where_live(a: Algebra, rows: Rows, entry: Any) -> Any:
    """An entry with a live position owns a block."""
    return a.implies(is_live(a, rows, entry), is_owner(rows.cache.pool, entry))


LIVE = (Conjunct("live-held", ("entry",), held_where_live, "every entry with a live position owns a block"),)
"""The invariant of rows under a window; those of their cache go on as they are."""

UNCOVERED = (
    Conjunct(
        "nothing-covered",
        ("entry",),
        lambda a, rows, entry: rows.covered[entry] <= rows.start[entry],
        "no entry has a position that its row covers",
    ),
)
"""Rows before anything happened."""
