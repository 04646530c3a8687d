"""The wrong guards as managers: the numbers of a state, by which a wrong way to decide is asked.

Knows how the unknowns of `kvspec.theorems.requests` are counted in a state. Must not know what any variant makes of
them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from kvspec.algebra import INTS
from kvspec.arithmetic import SequenceCounts
from kvspec.edges.catching.bent import Ask, Bend, right_verdict
from kvspec.edges.catching.variant import REFUTATIONS, Variant, breaks
from kvspec.guards import total_append_need
from kvspec.model.manager import Manager, Seq, append_counts, distinct
from kvspec.theorems import wrong_guards
from kvspec.theorems.requests import Numbers
from kvspec.theorems.wrong_guards import Decide
from kvspec.vocabulary import Allocate, Append, Device, Operation, Status, SwapIn, SwapOut, Verdict

OF_TWO = ("guards.allocate.wrong.prompt-for-each", "guards.swap-out.wrong.shared-counted-each-time")
"""What these count, they count for each of two sequences which share it: of other groups they say nothing."""


def variants() -> Iterator[Variant]:
    """Every wrong guard."""
    counted = _Counted()
    for name, decide in wrong_guards.WRONG.items():
        law = REFUTATIONS[name].law
        assert law is not None
        guard = name.split(".")[1].replace("-", "_")
        ask = _asked(decide, counted, of_two=name in OF_TWO)
        yield Variant(name, Bend(asked=frozenset((guard,)), ask=ask), breaks(law))


def _asked(decide: Decide, counted: _Counted, of_two: bool) -> Ask:
    def ask(state: Manager, op: Operation) -> Verdict | None:
        request = counted.request(state, op)
        # The variant is stated for such groups only.
        stated = request.real and (request.seqs == 2 or not of_two)
        return _verdict(decide, request.u) if stated else right_verdict(state, op)

    return ask


class _Request(NamedTuple):
    """A request in numbers. seqs: sequences it is about. real: the group and the pool are as variants speak of them."""

    state: Manager
    u: Numbers
    seqs: int
    real: bool


class _Counted:
    """The numbers of requests, which all variants of a guard ask for in the same states."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, Operation], _Request] = {}

    def request(self, state: Manager, op: Operation) -> _Request:
        """The request that asks this guard in this very state."""
        key = id(state), op
        if key not in self._known:
            members = _members(state, op)
            u = numbers(state, op, members)
            real = all(wrong_guards._real(op.op.replace("_", "-"), INTS, u))
            self._known[key] = _Request(state, u, _count(op, members), real)
        return self._known[key]


def _verdict(decide: Decide, u: Numbers) -> Verdict:
    decision = decide(INTS, u)
    if decision.ok:
        return Verdict.OK
    return Verdict.NEVER if decision.never else Verdict.LATER


def _members(state: Manager, op: Operation) -> list[Seq]:
    """The sequences that a request is about."""
    assert isinstance(op, (Allocate, Append, SwapOut, SwapIn))
    needed = {Allocate: Status.WAITING, SwapIn: Status.SWAPPED}.get(type(op), Status.RUNNING)
    return state.having(op.group, needed)


def _count(op: Operation, members: list[Seq]) -> int:
    return len(op.seqs) if isinstance(op, Allocate) else len(members)


def numbers(state: Manager, op: Operation, members: list[Seq]) -> Numbers:
    """The unknowns of a request, counted in the state in which it is made."""
    device, other = (Device.CPU, Device.GPU) if isinstance(op, SwapOut) else (Device.GPU, Device.CPU)
    home = state.cpu if isinstance(op, SwapIn) else state.gpu
    lookahead = getattr(op, "lookahead", 0)
    first, others = _counts(state, op, members, lookahead)
    pool = state.cache(device).pool
    return Numbers(
        block_size=state.config.block_size,
        lookahead=lookahead,
        watermark=state.config.watermark_blocks,
        total=pool.size,
        held=distinct(members, home) if isinstance(op, Append) else 0,
        free=pool.free,
        moved=0 if isinstance(op, Allocate) else distinct(members, home),
        elsewhere=state.cache(other).pool.free,
        tokens=first.tokens,
        seen=first.seen,
        blocks=first.blocks,
        shared_writes=first.shared_writes,
        others=others,
    )


def _counts(state: Manager, op: Operation, members: list[Seq], lookahead: int) -> tuple[SequenceCounts, int]:
    """The counts of the first sequence, and what the others need together."""
    if isinstance(op, Allocate):
        return SequenceCounts(len(op.tokens or members[0].tokens), 0, 0), 0
    if isinstance(op, SwapOut):
        first, refs, names = members[0], state.gpu.pool.ref, state.gpu.pool.tab
        shared = len({names[entry] for entry in first.table() if refs[names[entry]] > 1})
        return SequenceCounts(len(first.tokens), first.seen, first.entries, shared), 0
    counts = append_counts(members, lookahead, state.cpu if isinstance(op, SwapIn) else state.gpu)
    return counts[0], total_append_need(INTS, counts[1:], lookahead, state.config.block_size)
