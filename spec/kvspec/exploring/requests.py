"""What a guard may answer, measured by doing it: what it refused is carried out too, and so is what it calls possible.

Nothing here adds up a need or divides: blocks are counted as they are taken, and *with every other group gone* is the
state after every other sequence was freed. Must not know the formulas of the guards.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from kvspec.exploring.judging import Tally, require
from kvspec.exploring.sight import Sight, look
from kvspec.model.manager import Manager, Performed, ask, carry_out
from kvspec.model.steps import MICRO_STEPS
from kvspec.vocabulary import (
    Allocate,
    Append,
    Device,
    Free,
    Guard,
    Operation,
    Result,
    SwapIn,
    SwapOut,
    Verdict,
)

ADMISSIONS = (Allocate, SwapIn)
"""What must leave the watermark free."""


def check_request(
    before: Manager, op: Operation, done: Performed, tried: Performed, alone: Alone, tally: Tally
) -> None:
    """Everything that must hold of what the guard said; `tried` is what comes of it whatever the guard says.

    Raises Disagreement where something does not.
    """
    assert done.verdict is not None
    tally.guards[Guard(op.op), done.verdict] += 1
    _check_count(before, op, tried, done, tally)
    if done.verdict is not Verdict.OK:
        _check_refusal(before, op, tried, done.verdict, alone, tally)


def overruled(op: Operation) -> Operation:
    """The same operation, to be carried out whatever its guard says."""
    assert isinstance(op, (Allocate, Append, SwapOut, SwapIn))
    return replace(op, force=True)


class Alone:
    """A state with every other group gone, for each of its groups."""

    def __init__(self, state: Manager) -> None:
        self._state = state
        self._without: dict[int, Manager] = {}

    def __getitem__(self, group: int) -> Manager:
        if group not in self._without:
            state = self._state
            for seq in state.seqs:
                if seq.group != group:
                    state = carry_out(state, Free(seq.id)).after
            self._without[group] = state
        return self._without[group]


def _check_count(before: Manager, op: Operation, tried: Performed, done: Performed, tally: Tally) -> None:
    """Carried out, it takes what was demanded; after OK it ends well, and what was refused does not."""
    free, reserve = before.cache(_pool_of(op)).pool.free, _reserve(before, op)
    ok, ran_out = done.verdict is Verdict.OK, tried.result is Result.OUT_OF_BLOCKS
    taken, name = taken_by(tried), op.op.replace("_", "-")
    tally.judge(f"admission.sound-{name}", ok, ran_out)
    tally.judge(f"admission.precise-{name}", not ok, free, taken + ran_out, reserve)
    if isinstance(op, ADMISSIONS):
        tally.judge("admission.watermark", ok, tried.after.gpu.pool.free, before.config.watermark_blocks)
    assert done.demand is not None
    require(ran_out or taken == done.demand.need, f"{op.op} took {taken} blocks and demanded {done.demand.need}")


def _check_refusal(
    before: Manager, op: Operation, tried: Performed, answer: Verdict, alone: Alone, tally: Tally
) -> None:
    """It can be had with every other group gone exactly if it was not answered NEVER."""
    assert isinstance(op, (Allocate, Append, SwapOut, SwapIn))
    state = alone[op.group]
    was_alone = state is before
    if not was_alone:
        tried = carry_out(state, op)
    fits = tried.result is Result.OK and tried.after.cache(_pool_of(op)).pool.free >= _reserve(before, op)
    never, later = answer is Verdict.NEVER, answer is Verdict.LATER
    ok_when_alone = ask(state, op)[0] is Verdict.OK
    for law in ("admission.never-is-final", "admission.impossible-is-never"):
        tally.judge(law, never, later, was_alone, ok_when_alone, fits)
    require(never is not fits, f"{op.op} was answered {answer.value}; alone it {'fits' if fits else 'does not fit'}")


def _pool_of(op: Operation) -> Device:
    return Device.CPU if isinstance(op, SwapOut) else Device.GPU


def _reserve(state: Manager, op: Operation) -> int:
    return state.config.watermark_blocks if isinstance(op, ADMISSIONS) else 0


def taken_by(done: Performed) -> int:
    """Free blocks that the micro-steps took."""
    return sum(MICRO_STEPS[fired.step].takes for fired in done.fired)


def check_asking(sight: Sight, asked: Iterable[tuple[Operation, Verdict]], tally: Tally) -> None:
    """After everything was asked of a state and tried in it, it is as it was, and so are the answers."""
    changed = look(sight.state).key != sight.key
    for op, answer in asked:
        again, _ = ask(sight.state, op)
        tally.judge("admission.guard-pure", changed, changed, changed, again is not answer)
