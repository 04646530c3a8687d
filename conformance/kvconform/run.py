"""One run: an adapter started with one configuration, operations applied one by one, each judged.

Knows how the engine's side, the ledger, the driver and the judge work together, and when a run is over. It must not
know where operations come from.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from kvconform.adapter import Adapter, AdapterMistake, Order, capabilities_of
from kvconform.driver import Driver, Outcome
from kvconform.errors import said
from kvconform.features import shape, used
from kvconform.judge import Judge, Tally, Violation
from kvconform.ledger import Ledger
from kvconform.picture import Picture, draw
from kvconform.rows import NULL
from kvconform.world import World
from kvspec.laws import CATALOGUE, Law
from kvspec.vocabulary import (
    Allocate,
    Capability,
    Config,
    Device,
    Evict,
    Free,
    Level,
    Operation,
    Result,
    Step,
    Verdict,
)

FRESH = 1_000_000
"""Tokens from here on are in no other prompt: nothing can be shared with it."""


class IllegalOperation(Exception):
    """An operation that no engine would do in this state, or that this manager does not have. reason: why."""

    def __init__(self, op: Operation, reason: str) -> None:
        super().__init__(f"{op.op}: {reason}")
        self.reason = reason


@dataclass
class Entry:
    """One operation of a run with what came of it."""

    op: Operation
    outcome: Outcome
    counts: dict[Device, int]
    rows: dict[int, tuple[Device, list[int]]]
    lanes: int = 1  # rows of each sequence, one for each group of layers, kept by turns
    reserved: dict[Device, int] = field(default_factory=dict)
    reclaimable: dict[Device, int] = field(default_factory=dict)
    violations: list[Violation] = field(default_factory=list)


@dataclass(frozen=True)
class Found:
    """A violation with its place: after so many operations (late: in the end of the run that follows them)."""

    at: int
    violation: Violation
    late: bool
    features: frozenset[str]


class Run:
    """A manager under observation from its start on.

    without: capabilities that must not be used. laws: those to be judged. record: keep what was observed after each
    operation (for reports; costs time).

    Raises AdapterMistake where the adapter's `start` raises anything.
    """

    def __init__(
        self,
        adapter: Adapter,
        config: Config,
        *,
        without: frozenset[Capability] = frozenset(),
        laws: Iterable[Law] = tuple(CATALOGUE.values()),
        record: bool = False,
    ) -> None:
        self.adapter = adapter
        self.config = config
        self.capabilities = capabilities_of(adapter) - without
        orders = frozenset(restriction.what for restriction in adapter.restrictions)
        _start(adapter, config)
        self.world = World(config, self.capabilities, orders)
        self.ledger = Ledger(config)
        self.driver = Driver(adapter, self.world, self.ledger, self.capabilities)
        self.judge = Judge(adapter, self.world, self.ledger, self.driver, laws)
        self.operations: list[Operation] = []
        self.entries: list[Entry] = []
        self.pictures: list[Picture] = []  # of the start, after each operation, and at the end of a run
        self.found: list[Found] = []
        self.over = False
        self.refused: set[tuple[str, int]] = set()  # operations on groups refused since anything else succeeded
        self.hopeless: set[int] = set()  # groups whose admission was answered NEVER
        self._traced: int | None = None  # operations before the end of the run began
        self._shape: frozenset[str] = frozenset()
        self._record = record
        self._drawing = False
        self._note(self.judge.begin())

    def keep_pictures(self) -> None:
        """From now on, before the first operation, keep a picture of every moment (costs more time than recording)."""
        self._drawing = True
        self.pictures.append(draw(0, self.driver))

    @property
    def tally(self) -> Tally:
        """What was checked so far."""
        return self.judge.tally

    def leave_out(self, laws: Iterable[str]) -> None:
        """Judge this run without these laws."""
        for law in laws:
            self.judge.bench.leave_out(law)

    def why_not(self, op: Operation) -> str | None:
        """None where the operation is legal now, else why not."""
        return "the run is over" if self.over else self.world.why_not(op)

    def apply(self, op: Operation) -> Outcome:
        """Carry one operation out and judge it. Raises IllegalOperation where no engine would do it now."""
        reason = self.why_not(op)
        if reason is not None:
            raise IllegalOperation(op, reason)
        group = self.world.prepare(op)
        before = self.judge.before(op, group)
        self._shape = shape(op, self.world, self.ledger)
        outcome = self.driver.perform(op, group)
        self.world.note_lookahead(op)
        self.operations.append(op)
        found = self.judge.after(before, outcome)
        if self._record:
            rows = {seq: (row.device, row.blocks) for seq, row in self.ledger.rows.items()}
            reserved = {Device.GPU: int(self.judge.bench.null is not None)}
            lanes = self.config.kv_groups
            self.entries.append(
                Entry(op, outcome, self.judge.counts, rows, lanes, reserved, self.judge.bench.reclaimable, list(found))
            )
        if self._drawing and self._traced is None:
            self.pictures.append(draw(len(self.operations), self.driver, outcome))
        if found:
            self._note(found)
        self._remember(op, outcome)
        unknown = outcome.result is Result.OUT_OF_BLOCKS and Capability.ATOMIC_FAILURES not in self.capabilities
        if (outcome.result is Result.RAISED and not outcome.again) or unknown:
            self.over = True
        return outcome

    def _remember(self, op: Operation, outcome: Outcome) -> None:
        """What need not be asked again before something has changed; generators heed it, legality does not."""
        if not outcome.refused:
            if not isinstance(op, Step) or op.tokens:
                self.refused.clear()
            return
        group: int = getattr(op, "group", 0)
        self.refused.add((op.op, group))
        if isinstance(op, Allocate) and outcome.verdict is Verdict.NEVER:
            self.hopeless.add(group)

    def _note(self, violations: Iterable[Violation]) -> None:
        for violation in violations:
            late = self._traced is not None
            at = len(self.operations) if self._traced is None else self._traced
            features = used(self.operations, self.config) | self._shape
            self.found.append(Found(at, violation, late, features))
            if violation.law.level is Level.MUST:
                self.over = True

    # -- the end of a run ------------------------------------------------------------------------------------

    def finish(self, *, spend: bool = True) -> None:
        """End the run as an engine would: step, free everybody, then (spend) see that all blocks are there to be used.

        What is done here is not part of the trace: a replay does it again.
        """
        traced = self._traced = len(self.operations)
        recording, self._record = self._record, False
        if not self.over:
            self._note(self.judge.sweep())
        for op in self._last_operations():
            if self.over or self.world.why_not(op) is not None:
                break
            self.apply(op)
        if spend and not self.over:
            self._spend()
        if self._drawing:
            self.pictures.append(draw(None, self.driver))
        del self.operations[traced:]
        self.over, self._record = True, recording

    def _last_operations(self) -> Iterable[Operation]:
        scheduled = [seq for seq in self.world.seqs.values() if seq.scheduled]
        if scheduled:
            every = Order.TOKENS_EVERY_STEP in self.world.orders
            yield Step({seq.id: (1,) for seq in scheduled if not seq.unseen} if every else {})
        for seq in list(self.world.seqs):
            yield Free(seq, "aborted")

    def _spend(self) -> None:
        """Admit one-block sequences until there is no more, and count what was handed out.

        Where failures are atomic it goes on past a refusing guard, so that every single block must come.
        """
        if "accounting.spendable" not in self.judge.bench.laws or self.world.seqs:
            return
        atomic = Capability.ATOMIC_FAILURES in self.capabilities
        guarded = not self.capabilities.isdisjoint((Capability.GUARD_ALLOCATE, Capability.TRY_ALLOCATE))
        total = self.judge.bench.total(Device.GPU)
        blocks: list[int] = []
        last, forced = 1, False
        first = max([0, *self.world.ended, *self.world.groups]) + 1
        drop = Evict(max(1, total))
        if Capability.RECLAIMABLE in self.capabilities and self.why_not(drop) is None:
            self.apply(drop)
        # Without a guard the last admission would have to fail to be seen: only where failures are atomic.
        for number in range(first, first + total + (guarded or atomic)):
            outcome = self.apply(Allocate(number, (number,), (FRESH + number,), force=forced))
            if outcome.refused and not forced and atomic and not self.over:
                forced = True
                outcome = self.apply(Allocate(number, (number,), None, force=True))
            if self.over or outcome.result is not Result.OK:
                break
            row = self.ledger.rows.get(number)
            blocks += [block for block in row.blocks if block != NULL] if row else []
            last = max(1, len(row.blocks) if row else 1)
        if not self.over:
            left = self.judge.counts[Device.GPU] + self.judge.bench.reclaimable.get(Device.GPU, 0)
            kept = left if guarded and not atomic else last - 1
            self._judge_spending(len(blocks), len(set(blocks)), left, total, kept)

    def _judge_spending(self, handed_out: int, distinct: int, left: int, total: int, kept: int) -> None:
        bench = self.judge.bench
        bench.op, bench.found = "end", []
        if not bench.holds("accounting.spendable", handed_out, distinct, left, total, kept):
            what = "with everything freed, not every block that should be free can be had"
            expected = f"{total} blocks handed out or still free, each once"
            came = f"{handed_out} handed out ({distinct} different), {left} still counted as free"
            bench.report("accounting.spendable", (what, expected, came))
        self._note(bench.found)


def _start(adapter: Adapter, config: Config) -> None:
    if adapter.capabilities.coarse_clock:
        adapter.now = 0
    try:
        adapter.start(config)
    except AdapterMistake:
        raise
    except Exception as error:
        problem = f"{type(adapter).__name__}.start({config}) raised {said(error)}"
        raise AdapterMistake(f"{problem}; where the manager allows no such configuration, declare a Domain") from error


def replay(run: Run, operations: Iterable[Operation]) -> None:
    """Apply operations to a fresh run until one ends it; then finish. Raises IllegalOperation."""
    for op in operations:
        if run.over:
            return
        run.apply(op)
    if not run.over:
        run.finish()
