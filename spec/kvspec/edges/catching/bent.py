"""A manager that is wrong in one way: the model's own operations, with one micro-step, count, guard or undoing bent.

Knows how the model performs an operation and where a bend takes hold of it. Must not know which bends there are, nor
what of their doing can be seen.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from kvspec.algebra import INTS
from kvspec.model import manager as model
from kvspec.model.cache import At, Cache
from kvspec.model.manager import Fired, Manager, Performed, Seq, lies_on
from kvspec.model.steps import MICRO_STEPS
from kvspec.theorems.happening import Do
from kvspec.vocabulary import Config, Device, Operation, Result, Step, Verdict

Ask = Callable[[Manager, Operation], Verdict | None]
"""What a guard answers; None where the operation has none."""

Reads = Mapping[int, tuple[Any, ...]]
"""By sequence, what it finds in the slots that it reads in one step."""


class Late(NamedTuple):
    """A block's content that has not been brought yet: from where, and to where."""

    source: Device
    block: int
    target: Device
    new: int


@dataclass(frozen=True)
class Bend:
    """One way to be wrong; whatever is not named here is done rightly.

    steps: what micro-steps do instead. takes: those that come to take a block. within: operations in which the steps
    are bent, all where it is empty. late: micro-steps whose memory follows only after the next step wrote. asked, ask:
    the operations whose guards are bent, and what they answer. operations: what whole operations do instead. left: what
    a failure leaves of an operation half done.
    """

    steps: Mapping[str, Do] = field(default_factory=dict)
    takes: frozenset[str] = frozenset()
    within: tuple[type[Operation], ...] = ()
    late: frozenset[str] = frozenset()
    asked: frozenset[str] = frozenset()
    ask: Ask | None = None
    operations: Mapping[type[Operation], Callable[[Work, Any], None]] = field(default_factory=dict)
    left: Callable[[Manager, Work], Manager] | None = None

    def bends(self, op: Operation, steps: frozenset[str], failed: bool) -> bool:
        """Whether an operation comes to a place that is bent. steps: the micro-steps that the right manager performs
        it by. failed: it ran out of blocks.
        """
        if failed:
            return self.left is not None
        if op.op in self.asked or type(op) in self.operations or not self.late.isdisjoint(steps):
            return True
        return self.is_within(op) and not steps.isdisjoint(self.steps)

    @property
    def only_asks(self) -> bool:
        """Whether nothing but guards is bent: states stay what they are."""
        return not (self.steps or self.late or self.operations or self.left)

    def is_within(self, op: Operation) -> bool:
        """Whether its steps are bent in this operation."""
        return not self.within or isinstance(op, self.within)


@dataclass(frozen=True)
class Bent:
    """A state of a manager that went wrong, or may have. late: content that is still to be brought."""

    state: Manager
    late: tuple[Late, ...] = ()


@dataclass(frozen=True)
class Told:
    """What became of one operation. reads: of a step, what each sequence that it computed found."""

    verdict: Verdict | None
    result: Result
    after: Bent
    reads: Reads = field(default_factory=dict)


def start(config: Config) -> Manager:
    """The manager before anything happened."""
    return lowest_first(model.empty(config))


def lowest_first(state: Manager) -> Manager:
    """The same state, in which the free block of the lowest number is handed out next.

    So what was left is soon taken again, by the same entry of a table if nobody comes between: what a wrong manager
    spoils is not shown by mere numbers, and a manager that numbers otherwise shows it too.
    """
    return replace(state, gpu=_arranged(state.gpu), cpu=_arranged(state.cpu))


def _arranged(cache: Cache) -> Cache:
    pool = cache.pool
    listed = [pool.perm[place] for place in range(pool.free)]
    ordered = sorted(listed, reverse=True)
    if listed == ordered:
        return cache
    perm, pos = pool.perm, pool.pos
    for place, block in enumerate(ordered):
        perm, pos = perm.put(place, block), pos.put(block, place)
    return replace(cache, pool=replace(pool, perm=perm, pos=pos))


def perform_rightly(before: Manager, op: Operation) -> Performed:
    """What the right manager does."""
    done = model.perform(before, op)
    return done if done.after is before else replace(done, after=lowest_first(done.after))


def reads_of(before: Manager, after: Manager, op: Operation) -> Reads:
    """What the sequences find that a step computed: each reads all of its slots."""
    if not isinstance(op, Step):
        return {}
    scheduled = {seq.id for seq in before.seqs if seq.scheduled}
    return {seq.id: _read(after, seq) for seq in after.seqs if seq.id in scheduled}


def _read(state: Manager, seq: Seq) -> tuple[Any, ...]:
    device = lies_on(seq)
    if device is None:
        return ()
    cache = state.cache(device)
    found = (cache.holds[cache.pool.tab[e], slot] for e in seq.table() for slot in range(cache.computed[e]))
    return tuple(found)


class Work(model._Work):
    """An operation under way, bent."""

    def __init__(self, before: Bent, op: Operation, bend: Bend) -> None:
        super().__init__(before.state)
        self.bend = bend
        self.late = list(before.late)
        self._steps = bend.steps if bend.is_within(op) else {}

    def do(self, name: str, device: Device, at: At) -> None:
        """One micro-step, whatever its rule would say: only a pool that is empty stops a manager that is wrong."""
        cache, step = self.caches[device], MICRO_STEPS[name]
        if (step.takes or name in self.bend.takes) and cache.pool.free <= 0:
            raise model._RanOut
        after = self._steps.get(name, step.do)(INTS, cache, at)
        if name in self.bend.late:
            self.late.append(_late(cache, after, device, at))
            after = replace(after, holds=cache.holds)
        self.caches[device] = after
        self.fired.append(Fired(name, device, at.entry))

    def bring(self) -> None:
        """Bring the content that is late."""
        for source, block, target, new in self.late:
            row, cache = self.caches[source].holds.row(block), self.caches[target]
            self.caches[target] = replace(cache, holds=cache.holds.put_row(new, row))
        self.late = []


def _late(before: Cache, after: Cache, device: Device, at: At) -> Late:
    new = after.pool.tab[at.entry]
    if at.source is None:
        return Late(device, before.pool.tab[at.entry], device, new)
    other = Device.CPU if device is Device.GPU else Device.GPU
    return Late(other, at.source.pool.tab[at.entry], device, new)


def perform(bend: Bend, before: Bent, op: Operation) -> Told:
    """Ask the guard and carry the operation out, as the wrong manager does."""
    verdict = verdict_of(bend, before.state, op)
    if verdict not in (None, Verdict.OK) and not getattr(op, "force", False):
        return Told(verdict, Result.REFUSED, before)
    work = Work(before, op, bend)
    try:
        bend.operations.get(type(op), model._CARRY_OUT[type(op)])(work, op)
    except model._RanOut:
        state = before.state if bend.left is None else bend.left(before.state, work)
        return Told(verdict, Result.OUT_OF_BLOCKS, replace(before, state=state))
    reads = reads_of(before.state, work.done(), op)
    if isinstance(op, Step):
        work.bring()
    return Told(verdict, Result.OK, Bent(lowest_first(work.done()), tuple(work.late)), reads)


def verdict_of(bend: Bend, state: Manager, op: Operation) -> Verdict | None:
    """What the guard answers."""
    return bend.ask(state, op) if bend.ask is not None and op.op in bend.asked else right_verdict(state, op)


def right_verdict(state: Manager, op: Operation) -> Verdict | None:
    """What the right guard answers."""
    return model.ask(state, op)[0]
