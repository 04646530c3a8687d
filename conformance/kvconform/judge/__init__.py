"""The judge: evaluates the laws on each observed transition, one file an area.

Knows the order in which a transition is looked at, and where looking must stop: after an approved operation that ran
out, or an error, the state is not what anybody promised, and what follows from it is not judged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from kvconform.adapter import Adapter, ErrorKind, Group, Seq
from kvconform.demand import demands_of
from kvconform.driver import Driver, Outcome, Unobservable
from kvconform.judge.accounting import Accounting
from kvconform.judge.admission import Admission
from kvconform.judge.bench import Bench, RowChange, Tally, Transition, Violation
from kvconform.judge.data import Data
from kvconform.judge.prefix import Prefix
from kvconform.judge.robust import Robust
from kvconform.judge.table import Table
from kvconform.judge.window import Sliding
from kvconform.ledger import Ledger, Row, home
from kvconform.rows import NULL
from kvconform.world import World
from kvspec.laws import CATALOGUE, Law
from kvspec.vocabulary import (
    GUARDED,
    Allocate,
    Capability,
    Device,
    Fork,
    Free,
    Operation,
    ResetAll,
    Result,
    Status,
    Step,
    SwapIn,
    SwapOut,
)

__all__ = ["Judge", "Tally", "Violation"]


class Judge:
    """Judges one run, operation by operation."""

    def __init__(
        self,
        adapter: Adapter,
        world: World,
        ledger: Ledger,
        driver: Driver,
        laws: Iterable[Law] = tuple(CATALOGUE.values()),
    ) -> None:
        self.bench = Bench(adapter, world, ledger, driver, laws)
        self.admission = Admission(self.bench)
        self.accounting = Accounting(self.bench)
        self.table = Table(self.bench)
        self.data = Data(self.bench, self.table)
        self.robust = Robust(self.bench)
        self.prefix = Prefix(self.bench)
        self.window = Sliding(self.bench)
        self.counts: dict[Device, int] = {}
        self.held = ledger.holdings()  # as `counts`: after the last operation

    @property
    def tally(self) -> Tally:
        """What was checked so far."""
        return self.bench.tally

    # -- looking ---------------------------------------------------------------------------------------------

    def _look(self, look: Callable[[], object]) -> bool:
        """Observe, or judge with observing; a manager that cannot show a live sequence's state has crashed."""
        try:
            look()
        except Unobservable as blind:
            problem, error = str(blind), type(blind.cause).__name__
            raised = True
            if not self.bench.holds("robust.no-crash", raised):
                what = f"the manager cannot be observed after {self.bench.op}"
                self.bench.report("robust.no-crash", (what, "its counts and rows", problem), error)
            return False
        return True

    def begin(self) -> list[Violation]:
        """Judge the state right after start."""
        self.bench.op, self.bench.found = "start", []
        if self._look(self._see_counts):
            self.accounting.pools(self.counts, self.held)
            self.window.null(None, self.counts)
        return self.bench.found

    def _see_counts(self) -> None:
        self.counts = self.bench.driver.counts()
        self.bench.null = self.bench.driver.null_block()
        self.bench.reclaimable = self.bench.driver.reclaimable()

    # -- one transition --------------------------------------------------------------------------------------

    def before(self, op: Operation, group: Group | None) -> Transition:
        """Remember what judging this operation will need of the state before it."""
        bench, ledger = self.bench, self.bench.ledger
        bench.op, bench.found = op.op, []
        ledger.clock.begin(op)
        members = group.seqs if group else ()
        lengths = {seq.id: len(ledger.rows[seq.id].blocks) for seq in members if seq.id in ledger.rows}
        t = Transition(
            op, group, self.counts, self.held, self._named(op, group), lengths, bench.null, bench.reclaimable
        )
        if group is None or op.op not in GUARDED:
            return t
        t.demands = demands_of(op, group, ledger, bench.config, bench.adapter.capabilities, bench.null_use)
        t.request = self._request(op, group)
        t.alone = t.demands is not None and self._alone(group, t.demands.device)
        if isinstance(op, Allocate):
            held = any(seq.holds for seq in group.waiting)  # looked up already
            t.expected = None if held else self.prefix.expect(group)
        if isinstance(op, (SwapOut, SwapIn)):
            t.distinct = ledger.distinct(group.running if isinstance(op, SwapOut) else group.swapped)
        return t

    def _named(self, op: Operation, group: Group | None) -> frozenset[int]:
        if isinstance(op, Fork):
            return frozenset((op.child,))  # the parent's row must stay as it is
        if isinstance(op, Free):
            return frozenset((op.seq,))
        if isinstance(op, ResetAll):
            return frozenset(self.bench.ledger.rows)
        return frozenset([seq.id for seq in group.seqs]) if group else frozenset()

    def _request(self, op: Operation, group: Group) -> tuple[object, ...]:
        """What a guard is asked, names apart: equal requests deserve equal verdicts in equal pools."""
        contents = tuple([tuple(seq.prefixes) for seq in group.waiting]) if isinstance(op, Allocate) else ()
        return op.op, group.lookahead, group.admitted_before, contents, tuple([self._shape(s) for s in group.seqs])

    def _shape(self, seq: Seq) -> tuple[object, ...]:
        """What of a sequence a guard may look at, names and contents apart."""
        row = self.bench.ledger.rows.get(seq.id)
        owners = self.bench.ledger.owners[row.device] if row else {}
        shares = tuple([len(owners.get(block, ())) for block in row.blocks]) if row else ()
        return len(seq.tokens), seq.upto, seq.computed, seq.status, seq.scheduled, shares

    def _alone(self, group: Group, device: Device) -> bool:
        """Whether no other group holds a block of the device, nor an index that must be evicted first."""
        held = self.bench.ledger.held(device)
        if self.counts.get(device) != self.bench.total(device) - held:
            return False
        rows = [row for seq in group.seqs if (row := self.bench.ledger.rows.get(seq.id)) and row.device is device]
        return held == len({block for row in rows for block in row.blocks} - {NULL})

    def after(self, t: Transition, outcome: Outcome) -> list[Violation]:
        """Judge one operation; the violations found at it."""
        bench = self.bench
        t.outcome = outcome
        bench.tally.operations += 1
        self.admission.asked(t)
        self.prefix.counted(t)
        if bench.broken("admission.guard-pure"):
            return bench.found
        t.counts = self.counts
        if outcome.result is Result.RAISED or (outcome.result is Result.OUT_OF_BLOCKS and not self._may_run_out(t)):
            self._raised(t)
            if not outcome.again:
                return bench.found
        self.admission.promised(t)
        if outcome.result is Result.OUT_OF_BLOCKS and not bench.has(Capability.ATOMIC_FAILURES):
            return bench.found
        self._look(lambda: self._see_and_judge(t))
        return bench.found

    def _may_run_out(self, t: Transition) -> bool:
        """Whether running out of blocks is among the outcomes that the call may have."""
        return t.outcome.where in ("allocate", "append", "fork", "swap_out", "swap_in")

    def _raised(self, t: Transition) -> None:
        if t.outcome.error_kind is ErrorKind.DOUBLE_FREE:
            self.accounting.double_free_reported(t)
        elif t.outcome.result is Result.OUT_OF_BLOCKS:
            t.outcome.result = Result.RAISED
        if not t.outcome.again:
            self.robust.call(t)

    def _see_rows(self, t: Transition) -> None:
        ledger, driver = self.bench.ledger, self.bench.driver
        live = self.bench.world.seqs
        for seq in live.values():
            old = ledger.rows.get(seq.id)
            if seq.status is Status.WAITING and not seq.holds:
                if old is not None:
                    t.changes.append(RowChange(seq, old, None))
                continue
            device, blocks = home(seq), driver.row(seq)
            if old is None or old.device is not device or old.blocks != blocks:
                t.changes.append(RowChange(seq, old, Row(device, blocks)))
        for seq_id, row in ledger.rows.items():
            if seq_id not in live:
                t.changes.append(RowChange(self.bench.world.gone(seq_id), row, None))

    def _see_and_judge(self, t: Transition) -> None:
        self._see_counts()
        self._see_rows(t)
        t.counts = self.counts
        self._judge(t)

    def _judge(self, t: Transition) -> None:
        self.robust.call(t)
        self.table.frame(t)
        touched = self._apply(t.changes)
        if isinstance(t.op, Allocate) and t.op.external:
            for seq in t.outcome.moved:
                self.bench.ledger.bring(seq, t.outcome.cached.get(seq.id, 0))
        t.held = self.held
        approved_ran_out = t.outcome.approved and t.outcome.result is Result.OUT_OF_BLOCKS
        self.robust.failure(t)
        if approved_ran_out:
            return
        self.prefix.judge(t)
        self.accounting.numbers(t.changes)
        self.accounting.pools(t.counts, t.held)
        self.accounting.released(t)
        if t.changes:
            self.accounting.blocks(t, touched)
            if not self.bench.world.has_tables():
                self.accounting.empty(t.counts, t.held)
        self.table.extent(t)
        self.table.places(t)
        if not self.bench.layout.plain:
            self.window.rows(t)
        if self.bench.null is not None or t.null_before is not None:
            self.window.null(t, t.counts)
        self.admission.watermark(t)
        self.data.swapped(t)
        if isinstance(t.op, Step):
            self.data.step(t)

    def _apply(self, changes: list[RowChange]) -> dict[Device, set[int]]:
        """Tell the ledger; the blocks that any changed row named or names."""
        touched: dict[Device, set[int]] = {}
        if not changes:
            return touched
        for change in changes:
            for row in (change.before, change.after):
                if row is not None:
                    touched.setdefault(row.device, set()).update(row.blocks)
                    touched[row.device].discard(NULL)
            if change.after is None:
                self.bench.ledger.drop_row(change.seq)
            else:
                self.bench.ledger.set_row(change.seq, change.after.device, change.after.blocks)
        self.held = self.bench.ledger.holdings()
        return touched

    def sweep(self) -> list[Violation]:
        """Judge every block of the pools, at the end of a run."""
        self.bench.op, self.bench.found = "end", []
        self._look(self.accounting.sweep)
        return self.bench.found
