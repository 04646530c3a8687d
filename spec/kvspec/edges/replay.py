"""Performs a vector's operations on numbered blocks, to count what they take without any of the guards' formulas.

This is the second opinion on what the solver found: it knows rows, owners and engine order, and it must not know the
model, the arithmetic or the guards of the specification. Pools never run out here; what is free may go below 0, and
that is how far short a request falls.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count

from kvspec.vocabulary import (
    Allocate,
    Append,
    Config,
    Device,
    Fork,
    Free,
    Operation,
    Status,
    Step,
    SwapIn,
    SwapOut,
    Verdict,
)


class IllegalVector(Exception):
    """No engine performs these operations in this order."""


@dataclass
class _Seq:
    group: int
    tokens: int
    seen: int
    row: list[int]
    status: Status = Status.RUNNING
    scheduled: bool = True


@dataclass(frozen=True)
class Asked:
    """One guarded operation in numbers. free: blocks free before it. need: blocks it took. reserve: blocks that must be
    free afterwards. attainable: blocks that would be free without any other group.
    """

    free: int
    need: int
    reserve: int
    attainable: int

    @property
    def slack(self) -> int:
        """Blocks beyond what is needed and reserved."""
        return self.free - self.need - self.reserve

    @property
    def spare(self) -> int:
        """The same with every other group gone."""
        return self.attainable - self.need - self.reserve

    @property
    def verdict(self) -> Verdict:
        """What an exact guard answers."""
        if self.slack >= 0:
            return Verdict.OK
        return Verdict.LATER if self.spare >= 0 else Verdict.NEVER

    @property
    def outcome(self) -> str:
        """The verdict and how near it is to another one, in the words of the atoms."""
        near = {0: "0", 1: "1", -1: "1"}
        if self.slack >= 0:
            return f"ok-{near.get(self.slack, 'far')}"
        if self.spare < 0:
            return f"never-{near.get(self.spare, 'far')}"
        return "later-tight" if self.spare == 0 else f"later-{near.get(self.slack, 'far')}"


@dataclass
class Replay:
    """A manager without limits, in the state after the operations performed so far."""

    config: Config
    seqs: dict[int, _Seq] = field(default_factory=dict)
    fresh: count[int] = field(default_factory=count)

    def perform(self, op: Operation) -> Asked | None:
        """Carry the operation out; what it asked for, where it has a guard.

        Raises IllegalVector where it is out of order.
        """
        if isinstance(op, (Allocate, Append, SwapIn)):
            return self._gpu_request(op)
        if isinstance(op, SwapOut):
            free, total = self._free(Device.CPU), self.config.num_cpu_blocks
            self._move(op.group, Status.RUNNING, Status.SWAPPED)
            return Asked(free, free - self._free(Device.CPU), 0, total)
        if isinstance(op, Step):
            self._step(op)
        elif isinstance(op, Fork):
            self._fork(op)
        elif isinstance(op, Free):
            _require(op.seq in self.seqs, "a sequence is freed that does not live")
            del self.seqs[op.seq]
        else:
            raise IllegalVector(f"vectors have no {op.op}")
        return None

    def _gpu_request(self, op: Allocate | Append | SwapIn) -> Asked:
        free, total = self._free(Device.GPU), self.config.num_gpu_blocks
        own = len({block for seq in self._members(op.group, Status.RUNNING) for block in seq.row})
        if isinstance(op, Allocate):
            self._allocate(op)
        else:
            if isinstance(op, SwapIn):
                self._move(op.group, Status.SWAPPED, Status.RUNNING)
            self._append(op.group, op.lookahead)
        reserve = 0 if isinstance(op, Append) else self.config.watermark_blocks
        return Asked(free, free - self._free(Device.GPU), reserve, total - own)

    def _free(self, device: Device) -> int:
        status = Status.RUNNING if device is Device.GPU else Status.SWAPPED
        taken = {block for seq in self.seqs.values() if seq.status is status for block in seq.row}
        return self.config.total(device) - len(taken)

    def _members(self, group: int, status: Status) -> list[_Seq]:
        return [seq for seq in self.seqs.values() if seq.group == group and seq.status is status]

    def _allocate(self, op: Allocate) -> None:
        _require(bool(op.tokens) and not op.lookahead, "an admission without a prompt, or with lookahead")
        _require(all(seq.group != op.group for seq in self.seqs.values()), "a group is admitted twice")
        length = len(op.tokens or ())
        row = [next(self.fresh) for _ in range(0, length, self.config.block_size)]
        for seq_id in op.seqs:
            self.seqs[seq_id] = _Seq(op.group, length, length, list(row))

    def _append(self, group: int, lookahead: int) -> None:
        members = self._members(group, Status.RUNNING)
        _require(bool(members) and not any(seq.scheduled for seq in members), "an append that is out of order")
        for seq in members:
            for slot in range(seq.seen, seq.tokens + lookahead):
                self._write(seq, slot // self.config.block_size)
            seq.seen, seq.scheduled = seq.tokens, True

    def _write(self, seq: _Seq, entry: int) -> None:
        """Make an entry of the row writable: there, and owned by nobody else."""
        if entry == len(seq.row):
            seq.row.append(next(self.fresh))
        elif any(seq.row[entry] in other.row for other in self.seqs.values() if other is not seq):
            seq.row[entry] = next(self.fresh)

    def _move(self, group: int, before: Status, after: Status) -> None:
        members = self._members(group, before)
        _require(bool(members), "a swap of a group that does not lie there")
        moved: dict[int, int] = {}
        for seq in members:
            seq.row = [moved.setdefault(block, next(self.fresh)) for block in seq.row]
            seq.status, seq.scheduled = after, False

    def _step(self, op: Step) -> None:
        for seq_id, tokens in op.tokens.items():
            _require(seq_id in self.seqs and self.seqs[seq_id].scheduled, "tokens for what is not scheduled")
            self.seqs[seq_id].tokens += len(tokens)
        for seq in self.seqs.values():
            seq.scheduled = False

    def _fork(self, op: Fork) -> None:
        parent = self.seqs.get(op.parent)
        _require(
            parent is not None
            and parent.status is Status.RUNNING
            and not parent.scheduled
            and op.child not in self.seqs,
            "a fork that is out of order",
        )
        assert parent is not None
        unseen = parent.tokens - parent.seen if op.tokens is None else len(op.tokens)
        self.seqs[op.child] = _Seq(parent.group, parent.seen + unseen, parent.seen, list(parent.row), scheduled=False)


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise IllegalVector(what)
