"""An operation as it is performed: one block at a time, from a pool that can run dry.

This is what guards are measured against, so it must not know them: nothing here adds up a need or divides. A block is
taken while one is still to be moved, while the table does not yet cover its slots, while a shared block is still to be
written. The pool gives one block each time, or has none left. Written over the algebra, so that a run can be unrolled
on solver terms and repeated on numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from kvspec.algebra import INTS, Algebra
from kvspec.arithmetic import SequenceCounts


@dataclass(frozen=True)
class Performing:
    """An operation under way.

    free: blocks the pool can still give. moves: blocks still to be moved here, each of which takes one. table, slots,
    copies: of the sequence now appended to, the entries of its block table, the slots it must come to cover, and the
    shared blocks it has still to write. taken: blocks taken so far. ran_out: a block was wanted and none was left.
    """

    free: Any
    moves: Any = 0
    table: Any = 0
    slots: Any = 0
    copies: Any = 0
    taken: Any = 0
    ran_out: Any = False


def wants_a_block(a: Algebra, now: Performing, block_size: Any) -> Any:
    """Whether the operation needs another block to go on."""
    return a.any_of(now.moves > 0, now.table * block_size < now.slots, now.copies > 0)


def is_stuck(a: Algebra, now: Performing, block_size: Any) -> Any:
    """Whether it needs one and there is none."""
    return a.all_of(wants_a_block(a, now, block_size), now.free <= 0)


def take_one(a: Algebra, now: Performing, block_size: Any) -> Performing:
    """Take the block that is wanted: moves come first, then copies, then growth."""
    moving, copying = now.moves > 0, now.copies > 0
    return replace(
        now,
        free=now.free - 1,
        taken=now.taken + 1,
        moves=a.ite(moving, now.moves - 1, now.moves),
        copies=a.ite(moving, now.copies, a.ite(copying, now.copies - 1, now.copies)),
        table=a.ite(a.any_of(moving, copying), now.table, now.table + 1),
    )


def turn_to(now: Performing, seq: SequenceCounts, lookahead: Any) -> Performing:
    """Begin to append to the next sequence."""
    return replace(now, table=seq.blocks, slots=seq.tokens + lookahead, copies=seq.shared_writes)


def moments(
    start: Performing, seqs: Sequence[SequenceCounts], lookahead: int, block_size: int, most: int
) -> list[tuple[str, Performing]]:
    """The same run on plain numbers, told block by block: what each was taken for, and the operation after it."""
    told: list[tuple[str, Performing]] = []
    now = start
    for seq in (None, *seqs):
        now = now if seq is None else turn_to(now, seq, lookahead)
        for _ in range(most):
            if not wants_a_block(INTS, now, block_size):
                break
            wanted = _wanted(now)
            if now.free <= 0:
                return [*told, (f"a block is wanted {wanted}, and none is free: it runs out", now)]
            now = take_one(INTS, now, block_size)
            told.append((f"a block is taken {wanted}", now))
    return [*told, ("it wants no more", now)]


def _wanted(now: Performing) -> str:
    if now.moves > 0:
        return "for one that is moved"
    return "for a copy-on-write" if now.copies > 0 else "for the table to grow"


def guarded(a: Algebra, ok: Any, before: Performing, after: Performing) -> Performing:
    """What an operation comes to that is performed if its guard says OK, and not at all otherwise."""
    return _choose(a, ok, after, before)


def run(
    a: Algebra, start: Performing, seqs: Sequence[SequenceCounts], lookahead: Any, block_size: Any, most: int
) -> tuple[Performing, Any]:
    """Perform the whole operation, taking at most `most` blocks for each part of it.

    Answers its end, and whether it got there: it ran out, or wants nothing more.
    """
    now, ended = _finish_part(a, start, block_size, most)
    for seq in seqs:
        now, part_ended = _finish_part(a, _choose(a, now.ran_out, now, turn_to(now, seq, lookahead)), block_size, most)
        ended = a.all_of(ended, part_ended)
    return now, ended


def _finish_part(a: Algebra, now: Performing, block_size: Any, most: int) -> tuple[Performing, Any]:
    for _ in range(most):
        now = replace(now, ran_out=a.any_of(now.ran_out, is_stuck(a, now, block_size)))
        goes_on = a.all_of(wants_a_block(a, now, block_size), a.negate(now.ran_out))
        now = _choose(a, goes_on, take_one(a, now, block_size), now)
    return now, a.any_of(now.ran_out, a.negate(wants_a_block(a, now, block_size)))


def differ(a: Algebra, one: Performing, other: Performing) -> Any:
    """Whether anything differs between two moments."""
    names = [field.name for field in fields(Performing)]
    return a.any_of(*(a.negate(getattr(one, name) == getattr(other, name)) for name in names))


def _choose(a: Algebra, condition: Any, then: Performing, otherwise: Performing) -> Performing:
    names = [field.name for field in fields(Performing)]
    return Performing(**{name: a.ite(condition, getattr(then, name), getattr(otherwise, name)) for name in names})
