"""Carries one operation out: asks the guard, calls the adapter in the engine's order, notes what came of it.

Knows the adapter's calls and how their answers are to be read. It must not know laws: an outcome is a fact, and whether
it is right is the judge's business.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kvconform.adapter import BY_METHOD, Adapter, AdapterMistake, ErrorKind, Group, Moves, Seq
from kvconform.errors import said
from kvconform.ledger import Arrival, Ledger, Transfer, Writing
from kvconform.rows import NULL, interleaved
from kvconform.world import World
from kvspec.vocabulary import (
    Allocate,
    Append,
    Capability,
    Device,
    Evict,
    Fork,
    Free,
    Operation,
    Preempt,
    ResetAll,
    ResetIndex,
    Result,
    Status,
    Step,
    SwapIn,
    SwapOut,
    Verdict,
)


@dataclass(slots=True)
class Outcome:
    """What became of one operation.

    verdict: the guard's, None where there is none. asked_again: its verdict when asked a second time. counts_asked,
    rows_asked: free counts and the group's rows right after asking. refcounts_moved: whether asking changed a refcount
    of its blocks. result, error, error_kind: how it ended. where: the adapter call that was under
    way. failed, failed_row: the sequence whose append failed, its row before. moved: the sequences that it was carried
    through for. transfers: copies and moves that it ordered. arrivals, writings: what a step brought and wrote.
    again: a free of a sequence that had ended before. cached: tokens that an admission took over, by sequence.
    """

    result: Result = Result.OK
    verdict: Verdict | None = None
    asked_again: Verdict | None = None
    counts_asked: dict[Device, int] | None = None
    rows_asked: dict[int, list[int]] | None = None
    refcounts_moved: bool = False
    error: Exception | None = None
    error_kind: ErrorKind | None = None
    where: str = ""
    failed: Seq | None = None
    failed_row: list[int] | None = None
    moved: list[Seq] = field(default_factory=list)
    transfers: list[Transfer] = field(default_factory=list)
    arrivals: Sequence[Arrival] = ()
    writings: Sequence[Writing] = ()
    again: bool = False
    cached: Mapping[int, int] = field(default_factory=dict)

    @property
    def copies(self) -> list[list[int]]:
        """The copies that it ordered, as [source, target] on the GPU."""
        return [[t.source, t.target] for t in self.transfers if t.copy]

    @property
    def moves(self) -> list[list[Any]]:
        """The moves that it ordered, as [device, source, device, target]."""
        return [
            [t.source_device.value, t.source, t.target_device.value, t.target] for t in self.transfers if not t.copy
        ]

    @property
    def refused(self) -> bool:
        """The guard said no."""
        return self.verdict is not None and self.verdict is not Verdict.OK

    @property
    def approved(self) -> bool:
        """The guard said OK."""
        return self.verdict is Verdict.OK


def _whole(value: object) -> int | None:
    """The value as a whole number, whatever library's; None where it is none."""
    if isinstance(value, bool):
        return None
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        return None


class Unobservable(Exception):
    """The manager raised where it was only looked at. cause: what it raised; method: the adapter's."""

    def __init__(self, method: str, cause: Exception) -> None:
        super().__init__(f"{method} raised {said(cause)}")
        self.method, self.cause = method, cause


class _Stop(Exception):
    """The operation ends here; the outcome says how."""


class Driver:
    """Drives one adapter through one run."""

    def __init__(self, adapter: Adapter, world: World, ledger: Ledger, capabilities: frozenset[Capability]) -> None:
        self.adapter = adapter
        self.world = world
        self.ledger = ledger
        self.capabilities = capabilities
        self.devices = (Device.GPU, Device.CPU) if Capability.SWAP in capabilities else (Device.GPU,)
        self.calling = ""  # the adapter call that is under way
        tries = {Capability.TRY_ALLOCATE: "allocate", Capability.TRY_APPEND: "append"}
        self._tried = {method for capability, method in tries.items() if capability in capabilities}
        self._tables = world.config.kv_groups > 1
        self._reclaimable_shown = Capability.RECLAIMABLE in capabilities
        self._null_shown = Capability.NULL_BLOCK in capabilities
        self._clocked = adapter.capabilities.coarse_clock
        self._steps = type(adapter).step is not Adapter.step
        self._transfers_first = adapter.capabilities.step_order == "transfers-first"

    # -- observing -------------------------------------------------------------------------------------------

    def counts(self) -> dict[Device, int]:
        """Free blocks of each device.

        Raises AdapterMistake where the adapter answers anything but a number.
        """
        found = {}
        for device in self.devices:
            try:  # `_look` written out, as below for rows, refcounts and free sets: no calls are more frequent
                count: object = self.adapter.num_free_blocks(device)
            except AdapterMistake:
                raise
            except Exception as error:
                raise Unobservable("num_free_blocks", error) from error
            found[device] = count if type(count) is int else self._number("num_free_blocks", count, "of blocks")
        return found

    def reclaimable(self) -> dict[Device, int]:
        """Cached blocks of each device that must be evicted before they can be handed out. Raises as `counts`."""
        if not self._reclaimable_shown:
            return {}
        method = "num_reclaimable_blocks"
        return {device: self._number(method, self._look(method, device), "of blocks") for device in self.devices}

    def null_block(self) -> int | None:
        """The number of the null block, None where there is none. Raises as `counts`."""
        if not self._null_shown:
            return None
        answer = self._look("null_block")
        return None if answer is None else self._number("null_block", answer, "(of a block), or None")

    def row(self, seq: Seq) -> list[int]:
        """A copy of the sequence's block table, all groups of layers in one, with NULL for None.

        Raises AdapterMistake where the adapter answers anything but a list of numbers.
        """
        if self._tables:
            return self._rows_of_groups(seq)
        try:
            answer = self.adapter.block_table(seq)
        except AdapterMistake:
            raise
        except Exception as error:
            raise Unobservable("block_table", error) from error
        return self._numbers("block_table", answer)

    def _rows_of_groups(self, seq: Seq) -> list[int]:
        answer, groups = self._look("block_tables", seq), self.world.config.kv_groups
        rows = list(answer) if isinstance(answer, (list, tuple)) else []
        if len(rows) != groups:
            raise AdapterMistake(self._says("block_tables", answer, f"a list of {groups} rows"))
        return interleaved([self._numbers("block_tables", row) for row in rows])

    def announced_row(self, seq: Seq) -> list[int]:
        """The row that an engine would have from announcements alone. Raises as `row`."""
        return self._numbers("announced_row", self._look("announced_row", seq))

    def free_blocks(self, device: Device) -> list[int]:
        """The numbers in the free set, as often as it lists them. Raises as `row`."""
        try:
            answer = self.adapter.free_blocks(device)
        except AdapterMistake:
            raise
        except Exception as error:
            raise Unobservable("free_blocks", error) from error
        return self._numbers("free_blocks", answer)

    def see_refcounts(self, device: Device, blocks: Iterable[int], seen: dict[int, int]) -> None:
        """Note the blocks' refcounts, as many as can be seen.

        Raises AdapterMistake where the adapter answers anything but a number.
        """
        try:
            for block in blocks:
                count: object = self.adapter.refcount(device, block)
                seen[block] = count if type(count) is int else self._number("refcount", count, "of owners")
        except AdapterMistake:
            raise
        except Exception as error:
            raise Unobservable("refcount", error) from error

    def row_device(self, seq: Seq) -> Device:
        """Where the manager has the row. Raises AdapterMistake where the adapter answers anything but a Device."""
        device = self._look("row_device", seq)
        if not isinstance(device, Device):
            raise AdapterMistake(self._says("row_device", device, "a Device"))
        return device

    def _look(self, method: str, *arguments: Any) -> Any:
        try:
            return getattr(self.adapter, method)(*arguments)
        except AdapterMistake:
            raise
        except Exception as error:
            raise Unobservable(method, error) from error

    def _number(self, method: str, answer: object, of_what: str) -> int:
        number = _whole(answer)
        if number is None:
            raise AdapterMistake(self._says(method, answer, f"a whole number {of_what}"))
        return number

    def _numbers(self, method: str, answer: Any) -> list[int]:
        try:
            row = list(answer)
        except TypeError:
            raise AdapterMistake(self._says(method, answer, "a list of block numbers")) from None
        for block in row:
            if type(block) is not int:  # the common case costs nothing more
                return self._converted(method, answer, row)
        return row

    def _converted(self, method: str, answer: Any, row: list[Any]) -> list[int]:
        nulls = method in _WITH_NULLS
        numbers = [NULL if block is None and nulls else _whole(block) for block in row]
        if None in numbers:
            raise AdapterMistake(self._says(method, answer, "a list of block numbers"))
        return [number for number in numbers if number is not None]

    def _says(self, method: str, value: object, expected: str) -> str:
        return f"{type(self.adapter).__name__}.{method} answered {value!r}; it must answer {expected}"

    # -- performing ------------------------------------------------------------------------------------------

    def perform(self, op: Operation, group: Group | None) -> Outcome:
        """Carry the operation out. Raises AdapterMistake where the adapter answers what cannot be used."""
        outcome = Outcome()
        if self._clocked:
            self.adapter.now = self.ledger.clock.now.tick
        try:
            _PERFORM[type(op)](self, op, group, outcome)
        except _Stop:
            pass
        except Unobservable as blind:
            outcome.where, outcome.error, outcome.error_kind = blind.method, blind.cause, ErrorKind.UNDECLARED
            outcome.result = Result.RAISED
        return outcome

    def _call(self, outcome: Outcome, method: str, *arguments: Any) -> Any:
        """Call the adapter; an exception or False becomes the outcome, and the operation stops."""
        outcome.where = self.calling = method
        try:
            answer = getattr(self.adapter, method)(*arguments)
            self.calling = ""
        except AdapterMistake:
            raise
        except Exception as error:
            outcome.error, outcome.error_kind = error, self.adapter.classify(error)
            if outcome.error_kind is ErrorKind.OUT_OF_BLOCKS:
                self._ran_out(outcome, method)
            else:
                outcome.result = Result.RAISED
            raise _Stop from None
        if answer is False and not method.startswith("can_"):
            if method not in _MAY_REFUSE:
                raise AdapterMistake(self._says(method, answer, "nothing, or as its documentation says"))
            self._ran_out(outcome, method)
            raise _Stop
        return answer

    def _ran_out(self, outcome: Outcome, method: str) -> None:
        """The adapter says that it cannot be done: a refusal, where trying is how one asks."""
        tried = method in self._tried and not outcome.moved
        outcome.result = Result.REFUSED if tried or method == "reset_index" else Result.OUT_OF_BLOCKS
        if tried:
            outcome.verdict = outcome.asked_again = Verdict.NO

    def _approve(self, outcome: Outcome, method: str) -> None:
        """It was done; where trying is how one asks, that is the answer."""
        if method in self._tried:
            outcome.verdict = outcome.asked_again = Verdict.OK

    def _ask(self, outcome: Outcome, guard: Capability, subject: Group | Seq, force: bool) -> None:
        """Ask the guard twice (it must not matter), and stop where it refuses."""
        if guard not in self.capabilities:
            return
        method = _GUARD_METHODS[guard]
        seqs = subject.seqs if isinstance(subject, Group) else [subject]
        refcounts = self._refcounts(seqs)
        outcome.verdict = self._verdict(method, self._call(outcome, method, subject))
        once = self.counts(), self._rows(seqs)  # a guard that undoes at the second asking what it did at the first
        outcome.asked_again = self._verdict(method, self._call(outcome, method, subject))
        outcome.counts_asked, outcome.rows_asked = self.counts(), self._rows(seqs)
        outcome.refcounts_moved = self._refcounts(seqs) != refcounts
        if once != (outcome.counts_asked, outcome.rows_asked):
            outcome.counts_asked, outcome.rows_asked = once
        if outcome.refused and not force:
            outcome.result = Result.REFUSED
            raise _Stop

    def _rows(self, seqs: list[Seq]) -> dict[int, list[int]]:
        return {seq.id: self.row(seq) for seq in seqs if seq.id in self.ledger.rows}

    def _refcounts(self, seqs: list[Seq]) -> dict[Device, dict[int, int]]:
        """The refcounts of the sequences' blocks, where they can be seen."""
        seen: dict[Device, dict[int, int]] = {}
        if Capability.REFCOUNTS in self.capabilities:
            rows = [self.ledger.rows[seq.id] for seq in seqs if seq.id in self.ledger.rows]
            for row in rows:
                those = seen.setdefault(row.device, {})
                fresh = [block for block in row.blocks if block != NULL and block not in those]
                self.see_refcounts(row.device, fresh, those)
        return seen

    def _verdict(self, method: str, answer: object) -> Verdict:
        if isinstance(answer, Verdict):
            if answer in (Verdict.LATER, Verdict.NEVER) and self.adapter.capabilities.outcomes == "two":
                raise AdapterMistake(
                    self._says(method, answer, 'what it declares; for LATER and NEVER outcomes="three"')
                )
            return answer
        if isinstance(answer, bool) or type(answer).__name__ in ("bool", "bool_"):  # numpy's too
            return Verdict.OK if answer else Verdict.NO
        raise AdapterMistake(self._says(method, answer, "True, False or a Verdict"))

    def _allocate(self, op: Allocate, group: Group, outcome: Outcome) -> None:
        seqs = group.waiting
        if op.match:
            outcome.cached = self._cached("match", self._call(outcome, "match", group), seqs)
            self.world.hold(seqs, outcome.cached)
            outcome.moved = seqs
            return
        self._ask(outcome, Capability.GUARD_ALLOCATE, group, op.force)
        answer = self._call(outcome, "allocate", group)
        self._approve(outcome, "allocate")
        outcome.cached = self._cached("allocate", answer, seqs)
        self.world.admit(seqs, outcome.cached)
        self.ledger.begun_before_reset.difference_update([seq.id for seq in seqs])
        outcome.moved = seqs
        self._sync(outcome, seqs)

    def _cached(self, method: str, answer: Any, seqs: list[Seq]) -> dict[int, int]:
        """Tokens that the manager took over from its cache, by sequence; empty without prefix caching."""
        if method != "match" and (not self.world.config.prefix_caching or answer is None or isinstance(answer, bool)):
            return {}
        found = {}
        for seq in seqs:
            number = _whole(answer.get(seq.id, 0) if isinstance(answer, Mapping) else answer)
            if number is None or not 0 <= number <= len(seq.tokens):
                wanted = f"the number of cached tokens, for sequence {seq.id} from 0 to {len(seq.tokens)}"
                raise AdapterMistake(self._says(method, answer, wanted))
            found[seq.id] = number
        return found

    def _append(self, op: Append, group: Group, outcome: Outcome) -> None:
        self._ask(outcome, Capability.GUARD_APPEND, group, op.force)
        rows = {seq.id: self.ledger.rows[seq.id].blocks for seq in group.running}
        self._append_all(group.running, rows, outcome)
        self._approve(outcome, "append")

    def _append_all(self, seqs: list[Seq], rows: dict[int, list[int]], outcome: Outcome) -> None:
        for seq in seqs:
            outcome.failed, outcome.failed_row = seq, rows[seq.id]
            copies = self._call(outcome, "append", seq)
            self.world.cover(seq)
            outcome.moved.append(seq)
            for source, target in self._copies("append", copies, rows[seq.id], seq):
                self._transfer(outcome, Transfer(Device.GPU, source, Device.GPU, target, copy=True))
            outcome.failed = None

    def _copies(self, method: str, answer: Any, before: list[int], seq: Seq) -> list[tuple[int, int]]:
        if answer is None:
            pairs = zip(before, self.row(seq), strict=False)
            return [(old, new) for old, new in pairs if old != new and NULL not in (old, new)]
        return self._pairs(method, answer, "a list of (source block, destination block) pairs")

    def _pairs(self, method: str, answer: Any, expected: str) -> list[tuple[int, int]]:
        try:
            pairs = [(int(source), int(target)) for source, target in answer]
        except (TypeError, ValueError):
            raise AdapterMistake(self._says(method, answer, expected)) from None
        return pairs

    def _transfer(self, outcome: Outcome, transfer: Transfer) -> None:
        outcome.transfers.append(transfer)
        self.ledger.pending.append(transfer)

    def _step(self, op: Step, group: None, outcome: Outcome) -> None:
        outcome.arrivals = self.ledger.execute(self._transfers_first)
        scheduled = [seq for seq in self.world.seqs.values() if seq.scheduled]
        outcome.moved = scheduled
        outcome.writings = [self.ledger.write(seq) for seq in scheduled]
        if self._steps:
            self._call(outcome, "step", [(seq, seq.upto) for seq in scheduled])
        grown = self.world.receive(op)
        for writing in outcome.writings:
            if writing.seq.scheduled_drafts:
                accepted = min(writing.seq.scheduled_drafts, max(0, len(op.tokens.get(writing.seq.id, ())) - 1))
                self.ledger.speculate(writing, accepted)
        self._sync(outcome, grown)

    def _fork(self, op: Fork, group: Group, outcome: Outcome) -> None:
        parent = self.world.seqs[op.parent]
        self._ask(outcome, Capability.GUARD_FORK, parent, force=False)
        child = self.world.child_of(op)
        try:
            answer = self._call(outcome, "fork", parent, child)
            child.status = Status.RUNNING
            copies = self._copies("fork", answer, self.ledger.rows[parent.id].blocks, child)
        except (_Stop, Unobservable):
            self.world.forget(child)
            raise
        for source, target in copies:  # none, unless the tail is copied at the fork
            self._transfer(outcome, Transfer(Device.GPU, source, Device.GPU, target, copy=True))
        if parent.id in self.ledger.begun_before_reset:
            self.ledger.begun_before_reset.add(child.id)
        outcome.moved = [child]
        self._sync(outcome, [child])

    def _swap(self, op: SwapOut | SwapIn, group: Group, outcome: Outcome) -> list[Seq]:
        out = isinstance(op, SwapOut)
        source, target = (Device.GPU, Device.CPU) if out else (Device.CPU, Device.GPU)
        seqs = group.running if out else group.swapped
        rows = {seq.id: self.ledger.rows[seq.id].blocks for seq in seqs}
        moves = self._call(outcome, op.op, group)
        for old, new in self._moves(op.op, moves, seqs, rows):
            self._transfer(outcome, Transfer(source, old, target, new, copy=False))
        for seq in seqs:
            seq.status = Status.SWAPPED if out else Status.RUNNING
            seq.scheduled = False
            self.ledger.swapped.add(seq.id)
        outcome.moved = list(seqs)
        self._sync(outcome, seqs)
        return seqs

    def _moves(
        self, method: str, answer: Moves | None, seqs: list[Seq], rows: dict[int, list[int]]
    ) -> list[tuple[int, int]]:
        if answer is None:
            by_row = [pair for seq in seqs for pair in zip(rows[seq.id], self.row(seq), strict=False)]
            return [pair for pair in dict.fromkeys(by_row) if NULL not in pair]
        pairs = answer.items() if isinstance(answer, Mapping) else answer
        return self._pairs(method, pairs, "(source block, destination block) pairs, or a mapping")

    def _swap_out(self, op: SwapOut, group: Group, outcome: Outcome) -> None:
        self._ask(outcome, Capability.GUARD_SWAP_OUT, group, op.force)
        self._swap(op, group, outcome)
        self.world.swapped_out_since_step.add(group.id)

    def _swap_in(self, op: SwapIn, group: Group, outcome: Outcome) -> None:
        self._ask(outcome, Capability.GUARD_SWAP_IN, group, op.force)
        seqs = self._swap(op, group, outcome)
        outcome.moved = []
        if Capability.APPEND in self.capabilities:
            self._append_all(seqs, {seq.id: self.row(seq) for seq in seqs}, outcome)

    def _preempt(self, op: Preempt, group: Group, outcome: Outcome) -> None:
        seqs = group.running
        self._call(outcome, "preempt", group)
        self.world.give_up(seqs)
        outcome.moved = seqs
        self._sync(outcome, seqs)

    def _free(self, op: Free, group: Group, outcome: Outcome) -> None:
        outcome.again = op.seq in self.world.ended
        seq = self.world.ended[op.seq] if outcome.again else self.world.seqs[op.seq]
        self._call(outcome, "free", seq)
        if not outcome.again:
            self.world.end(seq)

    def _evict(self, op: Evict, group: None, outcome: Outcome) -> None:
        self._call(outcome, "evict", op.count)
        self.ledger.evicted()

    def _reset_index(self, op: ResetIndex, group: None, outcome: Outcome) -> None:
        self._call(outcome, "reset_index")
        self.ledger.reset_index()

    def _reset_all(self, op: ResetAll, group: None, outcome: Outcome) -> None:
        self._call(outcome, "reset_all")
        self.ledger.reset_index()
        self.world.end_all()

    def _sync(self, outcome: Outcome, seqs: list[Seq]) -> None:
        for seq in seqs:
            self._call(outcome, "sync", seq)


_MAY_REFUSE = ("allocate", "append", "fork", "swap_out", "swap_in", "reset_index")
"""The operations that may answer False: not now, or out of blocks."""

_WITH_NULLS = ("block_table", "block_tables", "announced_row")
"""The answers in which None stands for no block."""

_GUARD_METHODS = {capability: method for method, capability in BY_METHOD.items() if method.startswith("can_")}

_PERFORM: dict[type[Operation], Callable[[Driver, Any, Any, Outcome], None]] = {
    Allocate: Driver._allocate,
    Append: Driver._append,
    Step: Driver._step,
    Fork: Driver._fork,
    SwapOut: Driver._swap_out,
    SwapIn: Driver._swap_in,
    Preempt: Driver._preempt,
    Free: Driver._free,
    Evict: Driver._evict,
    ResetIndex: Driver._reset_index,
    ResetAll: Driver._reset_all,
}
