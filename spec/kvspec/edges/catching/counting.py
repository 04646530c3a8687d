"""The wrong ways to count blocks and copies, as managers that count so.

A wrong length of a table is counted so by guard and append alike: what is promised is done, and what is done is wrong.
A wrong number of copies is the guard's alone, since an append copies one block at a time. Knows the two counts; must
not know how a state is searched for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

from kvspec.algebra import INTS, Algebra
from kvspec.arithmetic import SequenceCounts, blocks_after_append, blocks_for, full_blocks, larger
from kvspec.edges.catching.bent import Ask, Bend, Told, Work
from kvspec.edges.catching.variant import REFUTATIONS, Variant, Wanted, either
from kvspec.guards import Demand, is_never, is_ok
from kvspec.model import manager as model
from kvspec.model.cache import At, Cache
from kvspec.model.manager import CPU, GPU, Manager, Seq, append_counts
from kvspec.theorems.arithmetic import Counting
from kvspec.vocabulary import Append, Operation, Result, Status, SwapIn, Verdict

Copies = Callable[[Algebra, Any, Any], Any]
"""Copies of one shared block, of its owners and how many of them write."""

TABLES: dict[str, Counting] = {
    "rounds-down": lambda a, seq, lookahead, size: larger(a, seq.blocks, full_blocks(a, seq.tokens + lookahead, size)),
    "forgets-lookahead": lambda a, seq, lookahead, size: larger(a, seq.blocks, blocks_for(a, seq.tokens, size)),
    "one-block-at-most": lambda a, seq, lookahead, size: (
        seq.blocks + a.ite(seq.tokens + lookahead > seq.blocks * size, 1, 0)
    ),
    "always-one-more": lambda a, seq, lookahead, size: larger(
        a, seq.blocks, full_blocks(a, seq.tokens + lookahead, size) + 1
    ),
    "new-tokens-in-new-blocks": lambda a, seq, lookahead, size: (
        seq.blocks + blocks_for(a, seq.tokens + lookahead - seq.seen, size)
    ),
}
"""How long a table is after an append: the wrong counts of `kvspec.theorems.arithmetic`, which have no names there."""

COPIES: dict[str, Copies] = {
    "every-writer-copies": lambda a, owners, writers: writers,
    "one-copy-a-block": lambda a, owners, writers: a.ite(a.all_of(owners > 1, writers > 0), 1, 0),
    "nobody-in-place": lambda a, owners, writers: a.ite(owners > 1, writers, 0),
}
"""How many copies a shared block takes: those of `kvspec.theorems.copying`."""


ASKED = frozenset((Append.op, SwapIn.op))
"""The guards that count what an append takes."""


def variants() -> Iterator[Variant]:
    """Every wrong count."""
    for name, count in TABLES.items():
        yield _of_tables(f"arithmetic.append.wrong.{name}", count)
    for name, copies in COPIES.items():
        wanted = either("admission.sound-append", "admission.precise-append")
        yield Variant(f"copying.turns.wrong.{name}", Bend(asked=ASKED, ask=_asked(_with_copies(copies))), wanted)


NeedOf = Callable[[Manager, list[Seq], Cache, int], int]
"""What appending to these sequences takes, with a lookahead, from the cache where they lie."""


def _asked(need_of: NeedOf) -> Ask:
    """The guards of what is appended to, which count so."""

    def ask(state: Manager, op: Operation) -> Verdict | None:
        answer, right = model.ask(state, op)
        if not isinstance(op, (Append, SwapIn)) or right is None:
            return answer
        status, cache = (Status.SWAPPED, state.cpu) if isinstance(op, SwapIn) else (Status.RUNNING, state.gpu)
        members = state.having(op.group, status)
        moved = model.distinct(members, cache) if isinstance(op, SwapIn) else 0
        return _verdict(replace(right, need=moved + need_of(state, members, cache, op.lookahead)), state)

    return ask


def _verdict(demand: Demand, state: Manager) -> Verdict:
    if is_ok(demand, state.gpu.pool.free):
        return Verdict.OK
    return Verdict.NEVER if is_never(demand) else Verdict.LATER


# -- the length of a table ------------------------------------------------------------------------------


def _of_tables(name: str, count: Counting) -> Variant:
    law = REFUTATIONS[name].law
    assert law is not None
    operations: dict[type[Operation], Callable[[Work, Any], None]]
    operations = {Append: _append_with(count), SwapIn: _swap_in_with(count)}
    return Variant(name, Bend(asked=ASKED, ask=_asked(_with_tables(count)), operations=operations), _misfits(law))


def _with_tables(count: Counting) -> NeedOf:
    def need(state: Manager, members: list[Seq], cache: Cache, lookahead: int) -> int:
        size, found = state.config.block_size, append_counts(members, lookahead, cache)
        grown = sum(count(INTS, seq, lookahead, size) - seq.blocks for seq in found)
        return int(grown + sum(seq.shared_writes for seq in found))

    return need


def _append_with(count: Counting) -> Callable[[Work, Any], None]:
    def append(work: Work, op: Append) -> None:
        _append_all(work, work.having(op.group, Status.RUNNING), op.lookahead, count)

    return append


def _swap_in_with(count: Counting) -> Callable[[Work, Any], None]:
    def swap_in(work: Work, op: SwapIn) -> None:
        swapped = work.having(op.group, Status.SWAPPED)
        model._move(work, swapped, CPU, GPU, Status.RUNNING)
        _append_all(work, [work.seqs[seq.id] for seq in swapped], op.lookahead, count)

    return swap_in


def _append_all(work: Work, seqs: Iterable[Seq], lookahead: int, count: Counting) -> None:
    for seq in seqs:
        _append_one(work, seq, lookahead, count)


def _append_one(work: Work, seq: Seq, lookahead: int, count: Counting) -> None:
    """As the model appends, but for the length that the table grows to."""
    size = work.config.block_size
    for entry in model._entries_of(seq, range(seq.seen, len(seq.tokens) + lookahead), size):
        pool = work.caches[GPU].pool
        if pool.ref[pool.tab[entry]] > 1:
            work.do("replace", GPU, At(entry))
    entries = count(INTS, SequenceCounts(len(seq.tokens), seq.seen, seq.entries), lookahead, size)
    grown = model._grow(work, seq, entries * size)
    work.put(replace(grown, seen=len(seq.tokens), scheduled=True))


def _misfits(law: str) -> Wanted:
    """That the operation is approved and done, and a table came out too short (or, by the other law, too long)."""

    def wanted(right: Told, wrong: Told) -> bool:
        if right.verdict is not Verdict.OK or wrong.result is not Result.OK:
            return False
        lengths = {seq.id: seq.entries for seq in right.after.state.seqs}
        longer = [seq.entries - lengths[seq.id] for seq in wrong.after.state.seqs]
        return min(longer) < 0 if law == "table.covers" else max(longer) > 0

    return wanted


# -- copies ---------------------------------------------------------------------------------------------


def _with_copies(copies: Copies) -> NeedOf:
    def need(state: Manager, members: list[Seq], cache: Cache, lookahead: int) -> int:
        size, refs = state.config.block_size, cache.pool.ref
        writers = Counter(block for seq in members for block in _written(seq, lookahead, cache, size))
        counts = (SequenceCounts(len(seq.tokens), seq.seen, seq.entries) for seq in members)
        grown = sum(blocks_after_append(INTS, seq, lookahead, size) - seq.blocks for seq in counts)
        return int(grown + sum(copies(INTS, refs[block], n) for block, n in writers.items() if refs[block] > 1))

    return need


def _written(seq: Seq, lookahead: int, cache: Cache, size: int) -> set[int]:
    """The blocks of a table that an append writes to."""
    entries = model._entries_of(seq, range(seq.seen, len(seq.tokens) + lookahead), size)
    return {cache.pool.tab[entry] for entry in entries}
