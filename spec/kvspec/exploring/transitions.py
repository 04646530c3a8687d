"""What holds of every operation that was carried out, seen from outside before and after.

Knows which tables an operation is about; must not know guards (`requests`), nor what holds of a state alone (`states`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from kvspec.exploring.judging import Tally, require
from kvspec.exploring.sight import DeviceSight, Sight, wrong_slots
from kvspec.model.manager import Manager, Performed, carry_out, lies_on
from kvspec.model.operations import COMPOSED
from kvspec.vocabulary import (
    Allocate,
    Append,
    Device,
    Evict,
    Fork,
    Free,
    Operation,
    ResetAll,
    ResetIndex,
    Result,
    Step,
    SwapIn,
    SwapOut,
)


class Transition(NamedTuple):
    """One operation, seen from both sides of it. about: the sequences whose tables it may change."""

    seen_before: Sight
    op: Operation
    done: Performed
    seen_after: Sight
    about: frozenset[int]

    @property
    def before(self) -> Manager:
        """The state before it."""
        return self.seen_before.state

    @property
    def after(self) -> Manager:
        """The state after it."""
        return self.seen_after.state


def transition(seen_before: Sight, op: Operation, done: Performed, seen_after: Sight) -> Transition:
    """One operation that was performed."""
    about = frozenset(_about(op, seen_before.state, seen_after.state))
    return Transition(seen_before, op, done, seen_after, about)


def _about(op: Operation, before: Manager, after: Manager) -> Iterable[int]:
    if isinstance(op, (Step, Evict, ResetIndex)):
        return ()
    if isinstance(op, (Fork, Free)):
        return (op.child if isinstance(op, Fork) else op.seq,)
    return (seq.id for seq in (*before.seqs, *after.seqs) if isinstance(op, ResetAll) or seq.group == op.group)


def check_transition(t: Transition, tally: Tally) -> None:
    """Everything that must hold of it. Raises Disagreement where something does not."""
    tally.judge("robust.no-crash", False)
    if isinstance(t.op, Fork):
        tally.judge("admission.sound-fork", True, t.done.result is Result.OUT_OF_BLOCKS)
    if isinstance(t.op, Free):
        tally.judge("robust.free-any-state", t.op.seq in t.before.ended, False, t.seen_before.key != t.seen_after.key)
    if t.done.result is not Result.OK:
        tally.judge("robust.atomic-failure", t.seen_before.key != t.seen_after.key)
        return
    _compose(t)
    _release_once(t, tally)
    _leave_others(t, tally)
    _cover(t, tally)
    _carry_contents(t, tally)
    if not t.after.seqs and t.before.seqs:
        _spend(t.after, tally)


IN_TURN = ("replace", "take")
"""The parts that run again for each sequence of a group."""


def _compose(t: Transition) -> None:
    """It is made of its parts, in their order."""
    parts = [(part.step, part.device) for part in COMPOSED[t.op.op]]
    last, writer = -1, 0
    for step, device, entry in t.done.fired:
        require((step, device) in parts, f"{step} on the {device.value} is no part of {t.op.op}")
        place = parts.index((step, device))
        next_turn = step in IN_TURN and parts[last][0] in IN_TURN and entry[0] != writer
        require(place >= last or next_turn, f"{step} on the {device.value} comes too late in {t.op.op}")
        last, writer = place, entry[0]


# -- blocks ---------------------------------------------------------------------------------------------


def _release_once(t: Transition, tally: Tally) -> None:
    for device in Device:
        before, after = t.seen_before.devices[device], t.seen_after.devices[device]
        if before is after:
            continue
        growth, ended = len(after.free) - len(before.free), len(before.owners) - len(after.owners)
        tally.judge("accounting.no-double-free", growth, ended, False, _handed_out_while_held(t, before, after))


def _handed_out_while_held(t: Transition, before: DeviceSight, after: DeviceSight) -> int:
    """Blocks newly named although somebody names them who has no part in that."""
    may_share = frozenset() if isinstance(t.op, Append) else t.about
    if isinstance(t.op, Fork):
        group = next(seq.group for seq in t.after.seqs if seq.id in t.about)
        may_share = frozenset(seq.id for seq in t.after.seqs if seq.group == group)
    found = 0
    for block, entries in after.owners.items():
        held = before.owners.get(block, ())
        for entry in entries:
            if entry not in held:
                found += any(other[0] not in may_share for other in entries if other != entry)
    return found


def _leave_others(t: Transition, tally: Tally) -> None:
    for seq in t.before.seqs:
        changed = any(
            was.rows.get(seq.id) != now.rows.get(seq.id)
            for was, now in zip(t.seen_before.devices.values(), t.seen_after.devices.values(), strict=True)
        )
        tally.judge("table.frame", seq.id in t.about, changed)


def _cover(t: Transition, tally: Tally) -> None:
    """The tables that it was about have the slots they need, and no more blocks than that."""
    if not isinstance(t.op, (Allocate, Append, Fork, SwapIn, SwapOut)):
        return
    grows = isinstance(t.op, (Allocate, Append, SwapIn))
    lookahead, before = getattr(t.op, "lookahead", 0), {seq.id: seq.entries for seq in t.before.seqs}
    for seq in t.after.seqs:
        if seq.id in t.about:
            slots = len(seq.tokens) if grows else seq.seen
            entries = before.get(t.op.parent if isinstance(t.op, Fork) else seq.id, 0)
            for law in ("table.covers", "table.tight"):
                tally.judge(law, seq.entries, slots + lookahead, t.after.config.block_size, entries)
            require(seq.seen == slots and seq.scheduled is grows, f"sequence {seq.id} is not as {t.op.op} leaves it")


def _spend(state: Manager, tally: Tally) -> None:
    """With everything freed, sequences of one block can be admitted until every block was handed out."""
    total, handed_out = state.config.num_gpu_blocks, []
    for seq_id in range(1, total + 2):
        done = carry_out(state, Allocate(-seq_id, (-seq_id,), (0,)))
        if done.result is Result.OUT_OF_BLOCKS:
            break
        state = done.after
        handed_out.append(state.gpu.pool.tab[-seq_id, 0])
    tally.judge("accounting.spendable", len(handed_out), len(set(handed_out)), state.gpu.pool.free, total, 0)


# -- contents -------------------------------------------------------------------------------------------


def _carry_contents(t: Transition, tally: Tally) -> None:
    if isinstance(t.op, Step):
        _write_alone(t, tally)
    elif isinstance(t.op, (SwapOut, SwapIn)):
        _arrive(t, tally)
    if isinstance(t.op, (Append, SwapIn)):
        _copy(t, tally)
    for seq in t.after.seqs:
        if seq.id in t.seen_before.read and lies_on(seq) is not None:
            require(not _lost(t, seq.id), f"{t.op.op} changes what sequence {seq.id} reads")


def _write_alone(t: Transition, tally: Tally) -> None:
    """Nobody else's slots are written over, whether they were read before or written in the same step."""
    shared = [{entry[0] for entry in entries} for entries in t.seen_before.devices[Device.GPU].owners.values()]
    for writer in t.before.seqs:
        if writer.scheduled:
            sharing = any(writer.id in owners and len(owners) > 1 for owners in shared)
            others = (seq for seq in t.after.seqs if seq.id != writer.id)
            tally.judge("data.exclusive-write", sharing, sum(wrong_slots(t.seen_after, seq) for seq in others))


def _lost(t: Transition, seq_id: int) -> int:
    """Slots that the sequence read before and in which it finds something else now, or nothing."""
    was, now = t.seen_before.read[seq_id], t.seen_after.read[seq_id]
    return sum(i >= len(now) or now[i] != content for i, content in enumerate(was))


def _arrive(t: Transition, tally: Tally) -> None:
    moved = [seq for seq in t.before.seqs if seq.id in t.about and lies_on(seq)]
    for seq in moved:
        if t.seen_before.read[seq.id]:
            tally.judge("data.swap-content", _lost(t, seq.id))
    source = Device.GPU if isinstance(t.op, SwapOut) else Device.CPU
    distinct = {block for seq in moved for block in t.seen_before.devices[source].rows.get(seq.id, ())}
    transfers = sum(fired.step == "transfer" for fired in t.done.fired)
    tally.judge("data.swap-keeps-sharing", len(distinct), transfers)


def _copy(t: Transition, tally: Tally) -> None:
    """What the writer finds in a block that was made for it."""
    gpu, tokens = t.after.gpu, {seq.id: seq.tokens for seq in t.after.seqs}
    for step, _, entry in t.done.fired:
        if step == "replace" and gpu.computed[entry]:
            start = entry[1] * gpu.block_size
            found = [gpu.holds[gpu.pool.tab[entry], slot] for slot in range(gpu.computed[entry])]
            wrong = sum(content != tokens[entry[0]][: start + slot + 1] for slot, content in enumerate(found))
            tally.judge("data.copies", wrong)
