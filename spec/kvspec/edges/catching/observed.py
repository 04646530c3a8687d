"""What can be seen of two managers side by side, and the first thing in which they differ.

Seen are verdicts, what became of an operation, free counts, block tables up to the numbers of blocks, refcounts, and
what a sequence reads in the step that computes it. Must not know why a manager does what it does.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple

from kvspec.edges.catching.bent import Told
from kvspec.exploring.sight import cells
from kvspec.model.manager import Manager, lies_on
from kvspec.vocabulary import Device, Result


class Kind(str, Enum):
    """In what two managers can differ."""

    VERDICT = "verdict"
    RESULT = "result"
    FREE = "free count"
    TABLE = "block table"
    REFCOUNT = "refcount"
    READ = "read back"


@dataclass(frozen=True)
class Difference:
    """One thing that is otherwise. words: what the wrong manager shows there instead, in numbers."""

    kind: Kind
    words: str


class Seen(NamedTuple):
    """One device. tables: by live sequence, its blocks, numbered in the order in which tables name them; a number that
    the pool does not have stays as it is, marked. refcounts: of the named blocks in that order, and of the others.
    """

    free: int
    tables: dict[int, tuple[object, ...]]
    refcounts: tuple[tuple[int, ...], tuple[int, ...]]


def see(state: Manager, device: Device) -> Seen:
    """One device of a state."""
    pool = state.cache(device).pool
    names: dict[int, int] = {}
    tables = {
        seq.id: tuple(_name(names, pool.tab[entry], pool.size) for entry in seq.table())
        for seq in state.seqs
        if lies_on(seq) is device
    }
    refs = cells(pool.ref)
    others = tuple(sorted(ref for block, ref in refs.items() if ref and block not in names))
    return Seen(pool.free, tables, (tuple(pool.ref[block] for block in names), others))


def _name(names: dict[int, int], block: int, size: int) -> object:
    if not 0 <= block < size:
        return f"no block {block}"
    return names.setdefault(block, len(names))


def difference(right: Told, wrong: Told) -> Difference | None:
    """The first thing in which what became of an operation differs; None where nothing can be seen."""
    if wrong.verdict is not right.verdict:
        assert wrong.verdict is not None
        return Difference(Kind.VERDICT, f"says {wrong.verdict.value}{_then(wrong)}")
    if wrong.result is not right.result:
        return Difference(Kind.RESULT, _result(wrong))
    return _state_differs(right, wrong) or _read_differs(right, wrong)


def _result(told: Told) -> str:
    if told.result is Result.OUT_OF_BLOCKS:
        return "runs out of blocks"
    return f"ends in {told.result.value}"


def _then(told: Told) -> str:
    if told.result is Result.REFUSED:
        return ""
    if told.result is Result.OUT_OF_BLOCKS:
        return ", and runs out of blocks"
    free = told.after.state.gpu.pool.free
    return f", and leaves {free} GPU block{'s' if free != 1 else ''} free"


def _state_differs(right: Told, wrong: Told) -> Difference | None:
    if wrong.after.state is right.after.state:
        return None
    sights = [(d, see(right.after.state, d), see(wrong.after.state, d)) for d in Device]
    for device, one, other in sights:
        for seq, table in one.tables.items():
            if other.tables.get(seq) != table:
                return Difference(Kind.TABLE, _tables(device, seq, table, other.tables.get(seq, ())))
    for device, one, other in sights:
        if other.free != one.free:
            return Difference(Kind.FREE, f"has {other.free} {_on(device)} free, where {one.free} are")
    for device, one, other in sights:
        if other.refcounts != one.refcounts:
            return Difference(Kind.REFCOUNT, _refcounts(device, one.refcounts, other.refcounts))
    return None


def _on(device: Device) -> str:
    return f"{device.value.upper()} blocks"


def _tables(device: Device, seq: int, right: tuple[object, ...], wrong: tuple[object, ...]) -> str:
    shown, correct = (f"[{', '.join(map(str, table))}]" for table in (wrong, right))
    return f"gives sequence {seq} the {device.value.upper()} blocks {shown}, not {correct} (numbered as they are named)"


def _refcounts(device: Device, right: tuple[tuple[int, ...], ...], wrong: tuple[tuple[int, ...], ...]) -> str:
    for named, one, other in zip(("named", "unnamed"), right, wrong, strict=True):
        if one != other:
            shown, correct = (list(refs) if refs else "none but 0" for refs in (other, one))
            return f"shows for {named} {_on(device)} the refcounts {shown}, where {correct} is right"
    raise AssertionError("the refcounts are alike")


def _read_differs(right: Told, wrong: Told) -> Difference | None:
    for seq, slots in right.reads.items():
        found = wrong.reads.get(seq, ())
        for place in range(max(len(slots), len(found))):
            one, other = (_content(each, place) for each in (slots, found))
            if one != other:
                return Difference(
                    Kind.READ, f"makes sequence {seq} find {other} at position {place}, where {one} belongs"
                )
    return None


def _content(slots: tuple[Any, ...], place: int) -> str:
    if place >= len(slots):
        return "nothing that is read"
    return f"the KV of tokens {list(slots[place])}" if isinstance(slots[place], tuple) else "what nobody wrote"


def raw(state: Manager) -> tuple[Any, ...]:
    """All there is to a state of a manager, ghosts and numbers too."""
    found: list[Any] = [state.seqs, state.ended]
    for device in Device:
        cache = state.cache(device)
        pool = cache.pool
        columns = (pool.ref, pool.tab, pool.rank, pool.at, pool.perm, pool.pos, cache.holds, cache.computed)
        found += [pool.free, *(frozenset(cells(column).items()) for column in columns)]
    return tuple(found)
