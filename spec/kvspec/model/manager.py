"""The whole block manager on plain numbers: two caches, the sequences with their block tables, and every operation.

Each operation is performed as `kvspec.model.operations` composes it, one micro-step at a time, each only where it is
possible and its rule holds for every reader and every slot. A guarded operation is admitted by the rules of
`kvspec.guards`, from counts alone. States are frozen and everything here is a pure function of them.

Entry number i of the block table of sequence s is the entry `(s, i)`, on whichever device it lies. A content is the
token prefix itself that the KV belongs to. Must not know which operations are tried, nor what is claimed of any state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from kvspec import guards
from kvspec.algebra import INTS
from kvspec.arithmetic import SequenceCounts
from kvspec.guards import Demand
from kvspec.model.cache import At, Cache, Rule
from kvspec.model.columns import Plain
from kvspec.model.pool import Pool
from kvspec.model.steps import MICRO_STEPS
from kvspec.vocabulary import (
    Allocate,
    Append,
    Config,
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

GPU, CPU = Device.GPU, Device.CPU

Entry = tuple[int, int]
"""A place in a block table: the sequence, and the index in its table."""


@dataclass(frozen=True, slots=True)
class Seq:
    """One live sequence.

    tokens: its token ids, unseen ones included. seen: tokens that its block table covers. scheduled: the next step
    computes it. entries: length of its block table.
    """

    id: int
    group: int
    tokens: tuple[int, ...]
    seen: int = 0
    status: Status = Status.WAITING
    scheduled: bool = False
    entries: int = 0

    def table(self) -> list[Entry]:
        """The entries of its block table, in order."""
        return [(self.id, index) for index in range(self.entries)]


def lies_on(seq: Seq) -> Device | None:
    """The device on which the block table of a sequence lies, if it has one."""
    if seq.status is Status.RUNNING:
        return GPU
    return CPU if seq.status is Status.SWAPPED else None


@dataclass(frozen=True, slots=True)
class Manager:
    """One state of the manager. seqs: the live sequences, in the order they joined. ended: ids that were in use."""

    config: Config
    gpu: Cache
    cpu: Cache
    seqs: tuple[Seq, ...] = ()
    ended: frozenset[int] = frozenset()

    def cache(self, device: Device) -> Cache:
        """The cache of this device."""
        return self.gpu if device is GPU else self.cpu

    def having(self, group: int, status: Status) -> list[Seq]:
        """The group's sequences of this status, in the order they joined."""
        return [seq for seq in self.seqs if seq.group == group and seq.status is status]

    def computed(self, seq: Seq) -> int:
        """Slots that the sequence reads, on the device where its block table lies."""
        device = lies_on(seq)
        return sum(self.cache(device).computed[entry] for entry in seq.table()) if device else 0


class Fired(NamedTuple):
    """One micro-step that was done: its name, the device it changed, the entry it was about."""

    step: str
    device: Device
    entry: Entry


@dataclass(frozen=True, slots=True)
class Performed:
    """What became of one operation.

    after: the state after it, which is the one before where it was refused or ran out. fired: the micro-steps done, up
    to where it ran out. verdict, demand: of its guard, where it has one.
    """

    after: Manager
    result: Result
    fired: tuple[Fired, ...] = ()
    verdict: Verdict | None = None
    demand: Demand | None = None


class Impossible(Exception):
    """A micro-step of an operation is not possible, or spoils what somebody reads, although the operation is legal."""


class _RanOut(Exception):
    """A micro-step wanted a block and none was free."""


def empty(config: Config) -> Manager:
    """The manager before anything happened."""
    gpu, cpu = (_empty_cache(config.total(device), config.block_size) for device in (GPU, CPU))
    return Manager(config, gpu, cpu)


def _empty_cache(size: int, block_size: int) -> Cache:
    nothing, in_place = Plain({}), Plain({block: block for block in range(size)})
    unowned = Plain(dict.fromkeys(range(size), 0))
    pool = Pool(size, unowned, nothing, nothing, nothing, in_place, in_place, size)
    return Cache(pool, block_size, nothing, nothing, nothing)


def perform(before: Manager, op: Operation) -> Performed:
    """Ask the guard, where there is one, and carry the operation out if it said OK or is overruled.

    Raises Impossible where a micro-step is not possible for another reason than that no block is free.
    """
    answer, demand = ask(before, op)
    if answer not in (None, Verdict.OK) and not getattr(op, "force", False):
        return Performed(before, Result.REFUSED, (), answer, demand)
    done = carry_out(before, op)
    return Performed(done.after, done.result, done.fired, answer, demand)


def carry_out(before: Manager, op: Operation) -> Performed:
    """Do it, whatever a guard says of it; all of it or, where the blocks run out, nothing. Raises as `perform`."""
    work = _Work(before)
    try:
        _CARRY_OUT[type(op)](work, op)
    except _RanOut:
        return Performed(before, Result.OUT_OF_BLOCKS, tuple(work.fired))
    return Performed(work.done(), Result.OK, tuple(work.fired))


# -- guards ---------------------------------------------------------------------------------------------


def ask(state: Manager, op: Operation) -> tuple[Verdict, Demand] | tuple[None, None]:
    """What the operation's guard answers, and to what demand; None where it has none."""
    request = demand_of(state, op)
    if request is None:
        return None, None
    device, demand = request
    if guards.is_ok(demand, state.cache(device).pool.free):
        return Verdict.OK, demand
    return Verdict.NEVER if guards.is_never(demand) else Verdict.LATER, demand


def demand_of(state: Manager, op: Operation) -> tuple[Device, Demand] | None:
    """What a guarded operation demands, and of which pool; None for the operations without a guard."""
    config = state.config
    size, total, watermark = config.block_size, config.num_gpu_blocks, config.watermark_blocks
    if isinstance(op, Allocate):
        length = len(op.tokens or state.having(op.group, Status.WAITING)[0].tokens)
        return GPU, guards.allocate_demand(INTS, length, op.lookahead, size, total, watermark)
    if isinstance(op, Append):
        running = state.having(op.group, Status.RUNNING)
        counts = append_counts(running, op.lookahead, state.gpu)
        return GPU, guards.append_demand(INTS, counts, op.lookahead, size, total, distinct(running, state.gpu))
    if isinstance(op, SwapOut):
        moved = distinct(state.having(op.group, Status.RUNNING), state.gpu)
        return CPU, guards.swap_out_demand(INTS, moved, config.num_cpu_blocks)
    if isinstance(op, SwapIn):
        swapped = state.having(op.group, Status.SWAPPED)
        counts, moved = append_counts(swapped, op.lookahead, state.cpu), distinct(swapped, state.cpu)
        return GPU, guards.swap_in_demand(INTS, moved, counts, op.lookahead, size, total, watermark)
    return None


def distinct(seqs: Iterable[Seq], cache: Cache) -> int:
    """Different blocks in the tables of these sequences."""
    return len({cache.pool.tab[entry] for seq in seqs for entry in seq.table()})


def append_counts(seqs: Iterable[Seq], lookahead: int, cache: Cache) -> list[SequenceCounts]:
    """The counts for appending to these sequences in turn. Whoever copies a block has left it to those after."""
    left: dict[int, int] = {}
    counts = []
    for seq in seqs:
        slots = range(seq.seen, len(seq.tokens) + lookahead)
        written = {cache.pool.tab[entry] for entry in _entries_of(seq, slots, cache.block_size)}
        shared = [block for block in written if cache.pool.ref[block] - left.get(block, 0) > 1]
        left.update((block, left.get(block, 0) + 1) for block in shared)
        counts.append(SequenceCounts(len(seq.tokens), seq.seen, seq.entries, len(shared)))
    return counts


def _entries_of(seq: Seq, slots: Iterable[int], block_size: int) -> list[Entry]:
    """The entries there are of the table that these slots lie in, each once."""
    indices = dict.fromkeys(slot // block_size for slot in slots)
    return [(seq.id, index) for index in indices if index < seq.entries]


# -- operations -----------------------------------------------------------------------------------------


class _Work:
    """An operation under way: the state so far, and the micro-steps done."""

    def __init__(self, before: Manager) -> None:
        self.config = before.config
        self.caches = {GPU: before.gpu, CPU: before.cpu}
        self.seqs = {seq.id: seq for seq in before.seqs}
        self.ended = before.ended
        self.fired: list[Fired] = []

    def done(self) -> Manager:
        """The state after it."""
        return Manager(self.config, self.caches[GPU], self.caches[CPU], tuple(self.seqs.values()), self.ended)

    def having(self, group: int, status: Status) -> list[Seq]:
        """The group's sequences of this status, in the order they joined."""
        return [seq for seq in self.seqs.values() if seq.group == group and seq.status is status]

    def put(self, seq: Seq) -> None:
        """The sequence is now this."""
        self.seqs[seq.id] = seq

    def do(self, name: str, device: Device, at: At) -> None:
        """One micro-step, if it is possible and its rule holds."""
        step, cache = MICRO_STEPS[name], self.caches[device]
        if not step.can(INTS, cache, at):
            if step.takes and not cache.pool.free:
                raise _RanOut
            raise Impossible(f"{name} of entry {at.entry} on the {device.value} is not possible")
        if step.rule is not None:
            self._keep(step.rule, device, at)
        self.caches[device] = step.do(INTS, cache, at)
        self.fired.append(Fired(name, device, at.entry))

    def _keep(self, rule: Rule, device: Device, at: At) -> None:
        for thing in self._entries_on(device) if rule.over == "entry" else range(self.config.block_size):
            if not rule.holds(INTS, self.caches[device], at, thing):
                raise Impossible(
                    f"{rule.name} is broken at entry {at.entry} on the {device.value}, by {rule.over} {thing}"
                )

    def _entries_on(self, device: Device) -> list[Entry]:
        return [entry for seq in self.seqs.values() if lies_on(seq) is device for entry in seq.table()]


def _allocate(work: _Work, op: Allocate) -> None:
    if op.tokens is not None:
        for seq_id in op.seqs:
            work.put(Seq(seq_id, op.group, op.tokens))
    first, *others = (_admitted(seq) for seq in work.having(op.group, Status.WAITING))
    first = _grow(work, first, first.seen + op.lookahead)
    work.put(first)
    for other in others:
        _share_table(work, first, replace(other, entries=first.entries))


def _admitted(seq: Seq) -> Seq:
    return replace(seq, seen=len(seq.tokens), status=Status.RUNNING, scheduled=True)


def _append(work: _Work, op: Append) -> None:
    for seq in work.having(op.group, Status.RUNNING):
        _append_one(work, seq, op.lookahead)


def _append_one(work: _Work, seq: Seq, lookahead: int) -> None:
    slots = range(seq.seen, len(seq.tokens) + lookahead)
    for entry in _entries_of(seq, slots, work.config.block_size):
        pool = work.caches[GPU].pool
        if pool.ref[pool.tab[entry]] > 1:
            work.do("replace", GPU, At(entry))
    grown = _grow(work, seq, slots.stop)
    work.put(replace(grown, seen=len(seq.tokens), scheduled=True))


def _grow(work: _Work, seq: Seq, slots: int) -> Seq:
    """Take blocks while the table does not offer so many slots."""
    entries = seq.entries
    while entries * work.config.block_size < slots:
        work.do("take", GPU, At((seq.id, entries)))
        entries += 1
    return replace(seq, entries=entries)


def _share_table(work: _Work, owner: Seq, joining: Seq) -> None:
    for entry, other in zip(joining.table(), owner.table(), strict=True):
        work.do("share", GPU, At(entry, other=other))
    work.put(joining)


def _step(work: _Work, op: Step) -> None:
    for seq in list(work.seqs.values()):
        if seq.scheduled:
            _write_tokens(work, seq)
            new = op.tokens.get(seq.id, ())
            work.put(replace(seq, tokens=seq.tokens + new, scheduled=False))


def _write_tokens(work: _Work, seq: Seq) -> None:
    size = work.config.block_size
    for entry in seq.table():
        start = entry[1] * size
        for position in range(start + work.caches[GPU].computed[entry], min(start + size, seq.seen)):
            content = seq.tokens[: position + 1]
            work.do("write", GPU, At(entry, slot=position - start, content=content))


def _fork(work: _Work, op: Fork) -> None:
    parent = work.seqs[op.parent]
    unseen = parent.tokens[parent.seen :] if op.tokens is None else op.tokens
    tokens = parent.tokens[: parent.seen] + unseen
    _share_table(work, parent, replace(parent, id=op.child, tokens=tokens, scheduled=False))


def _swap_out(work: _Work, op: SwapOut) -> None:
    _move(work, work.having(op.group, Status.RUNNING), GPU, CPU, Status.SWAPPED)


def _swap_in(work: _Work, op: SwapIn) -> None:
    swapped = work.having(op.group, Status.SWAPPED)
    _move(work, swapped, CPU, GPU, Status.RUNNING)
    for seq in swapped:
        _append_one(work, work.seqs[seq.id], op.lookahead)


def _move(work: _Work, seqs: list[Seq], source: Device, target: Device, status: Status) -> None:
    entries = [entry for seq in seqs for entry in seq.table()]
    names = work.caches[source].pool.tab
    first_of: dict[Any, Entry] = {}
    for entry in entries:
        first_of.setdefault(names[entry], entry)
    for entry in first_of.values():
        work.do("transfer", target, At(entry, source=work.caches[source]))
    for entry in entries:
        first = first_of[names[entry]]
        if entry != first:
            work.do("follow", target, At(entry, other=first, source=work.caches[source]))
    for entry in entries:
        work.do("release", source, At(entry))
    for seq in seqs:
        work.put(replace(seq, status=status, scheduled=False))


def _preempt(work: _Work, op: Preempt) -> None:
    for seq in work.having(op.group, Status.RUNNING):
        _release_table(work, seq)
        work.put(Seq(seq.id, seq.group, seq.tokens))


def _release_table(work: _Work, seq: Seq) -> None:
    device = lies_on(seq)
    if device is not None:
        for entry in seq.table():
            work.do("release", device, At(entry))


def _free(work: _Work, op: Free) -> None:
    if op.seq in work.ended:
        return
    _release_table(work, work.seqs.pop(op.seq))
    work.ended |= {op.seq}


def _evict(work: _Work, op: Evict) -> None:
    """The index is no part of this state: nothing is cached."""


def _reset_index(work: _Work, op: ResetIndex) -> None:
    """The index is no part of this state."""


def _reset_all(work: _Work, op: ResetAll) -> None:
    for device in (GPU, CPU):
        for seq in work.seqs.values():
            if lies_on(seq) is device:
                _release_table(work, seq)
    work.seqs, work.ended = {}, frozenset()


_CARRY_OUT: dict[type[Operation], Callable[[_Work, Any], None]] = {
    Allocate: _allocate,
    Append: _append,
    Step: _step,
    Fork: _fork,
    SwapOut: _swap_out,
    SwapIn: _swap_in,
    Preempt: _preempt,
    Free: _free,
    Evict: _evict,
    ResetIndex: _reset_index,
    ResetAll: _reset_all,
}
