"""The scheduler, bad input, the same run twice, the end of a run, the hypothesis machine.

Knows: what each of them promises. Must not know: the judge.
"""

from __future__ import annotations

import unittest
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import Phase, settings
from kit_support import checked, verdicts, violated
from kit_toy import CPU, GPU, BareAdapter, Toy, ToyAdapter
from kit_wrong import GUARDS, EveryOtherLifeIsDifferent, LastBlockIsNotThere, NeverComesBack, TakesAnyInput

from kvconform import faults, probes, progress
from kvconform.adapter import Adapter, AdapterMistake, Domain, Group, Order, Restriction, Seq, capabilities_of
from kvconform.machine import explore, machine_for
from kvconform.reference import ReferenceAdapter
from kvconform.run import Run
from kvconform.walk import Dice, Walk
from kvconform.workload import Request, Workload, fits_alone
from kvspec.laws import CATALOGUE
from kvspec.vocabulary import (
    Allocate,
    Append,
    Capability,
    Config,
    Free,
    Preempt,
    Status,
    Step,
    SwapIn,
    SwapOut,
)

NONE: frozenset[Capability] = frozenset()


def start_of(adapter: Adapter, without: frozenset[Capability] = NONE) -> Callable[[Config], Run]:
    return lambda config: Run(adapter, config, without=without)


# -- the scheduler --------------------------------------------------------------------------------------------------

CROWD = Workload(Config(2, 4, 8), (Request(3, 4), Request(2, 5), Request(4, 4)))


def finished(work: Workload, without: frozenset[Capability] = NONE) -> set[type]:
    """The kinds of operations with which a right manager finishes the workload."""
    run, raws = progress.attempt(start_of(ToyAdapter(), without), work)
    assert not raws
    assert run.tally.checks["robust.progress"] == 1
    assert all(seq.status is Status.ENDED for seq in run.world.ended.values())
    assert len([op for op in run.operations if isinstance(op, Free) and op.why == "finished"]) == len(work.requests)
    return {type(op) for op in run.operations}


def test_the_scheduler_preempts_by_swap_where_it_can() -> None:
    used = finished(CROWD)
    assert used >= {Allocate, Append, Step, SwapOut, SwapIn, Free}
    assert Preempt not in used


def test_it_recomputes_where_there_is_no_room_to_swap() -> None:
    assert finished(replace(CROWD, config=Config(2, 4, 0))) == {Allocate, Append, Step, SwapOut, Preempt, Free}
    assert finished(CROWD, frozenset((Capability.SWAP,))) == {Allocate, Append, Step, Preempt, Free}


def test_it_restarts_by_hand_where_the_manager_cannot_preempt() -> None:
    used = finished(CROWD, frozenset((Capability.SWAP, Capability.PREEMPT)))
    assert used == {Allocate, Append, Step, Free}


def test_every_request_gets_the_tokens_that_it_asked_for() -> None:
    run = Run(ToyAdapter(), CROWD.config)
    scheduler = progress.Scheduler(run, CROWD)
    assert scheduler.go() is True
    assert not scheduler.left
    lengths = sorted(len(seq.tokens) for seq in run.world.ended.values())
    assert lengths == sorted(request.prompt + request.output for request in CROWD.requests)


def test_a_stuck_workload_is_told_and_shrunk() -> None:
    start = start_of(NeverComesBack())
    work = Workload(Config(2, 5, 0), (Request(3, 4), Request(2, 6), Request(4, 4)), lookahead=1)
    _, raws = progress.attempt(start, work)
    (raw,) = [raw for raw in raws if raw.violation.law.id == "robust.progress"]
    assert "3 requests" in raw.violation.message
    assert (raw.probe, raw.workload) == ("progress", work)
    finding = progress.shrink(start, raw)
    small = finding.workload
    assert small is not None
    assert len(small.requests) == 2
    assert small.lookahead == 0
    assert all(fits_alone(small.config, request, small.lookahead) for request in small.requests)
    assert finding.violation.observed.startswith(("0 finish", "1 finish"))
    for smaller in progress._smaller(small):
        assert not [r for r in progress.attempt(start, smaller)[1] if r.violation.law.id == "robust.progress"]


def test_a_run_that_ends_early_says_nothing_of_progress() -> None:
    class Crashes(ToyAdapter):
        def append(self, seq: Seq) -> list[tuple[int, int]]:
            raise KeyError

    run, raws = progress.attempt(start_of(Crashes()), CROWD)
    assert {raw.violation.law.id for raw in raws} == {"robust.no-crash"}
    assert not run.tally.checks["robust.progress"]


def test_every_request_of_a_workload_fits_alone() -> None:
    adapter, found = ToyAdapter(), 0
    for number in range(300):
        work = progress.workload(adapter, capabilities_of(adapter), Dice(f"{number}"))
        if work is not None:
            found += 1
            assert all(fits_alone(work.config, request, work.lookahead) for request in work.requests)
            assert all(request.prompt and request.output for request in work.requests)
    assert found > 150


# -- bad input ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("adapter", [ToyAdapter, ReferenceAdapter])
def test_bad_input_is_told_by_a_right_manager(adapter: type[Adapter]) -> None:
    for probe in probes.PROBES:
        run, raw = probes.bad_input(start_of(adapter()), probe, Config(2, 8, 8))
        assert raw is None
        assert run.tally.checks["robust.bad-input"] == 1, probe.name


@pytest.mark.parametrize("name", [probe.name for probe in probes.PROBES])
def test_bad_input_that_goes_through_is_told(name: str) -> None:
    class Deaf(ToyAdapter):
        """Answers everything that it is not ready for with nothing at all."""

        def _quiet(self, method: str, *arguments: object) -> object:
            try:
                return getattr(super(), method)(*arguments)
            except Exception:
                return None

        def allocate(self, group: Group) -> None:
            self._quiet("allocate", group)

        def append(self, seq: Seq) -> object:  # type: ignore[override]
            return self._quiet("append", seq)

        def fork(self, parent: Seq, child: Seq) -> None:
            self._quiet("fork", parent, child)

        def swap_out(self, group: Group) -> object:  # type: ignore[override]
            return self._quiet("swap_out", group)

        def swap_in(self, group: Group) -> object:  # type: ignore[override]
            return self._quiet("swap_in", group)

    (probe,) = [probe for probe in probes.PROBES if probe.name == name]
    run, raw = probes.bad_input(start_of(Deaf()), probe, Config(2, 8, 8))
    assert raw is not None
    assert (raw.violation.law.id, raw.violation.op, raw.probe) == ("robust.bad-input", name, f"bad-input:{name}")
    assert probe.words in raw.violation.message
    assert run.tally.checks["robust.bad-input"] == 1
    assert not run.found


def test_bad_input_is_not_tried_where_it_does_not_apply() -> None:
    for probe in probes.PROBES:
        run, raw = probes.bad_input(start_of(BareAdapter()), probe, Config(2, 8))
        assert raw is None
        assert bool(run.tally.checks["robust.bad-input"]) == (set(probe.needs) <= {Capability.APPEND})


def test_damage_done_by_bad_input_is_blamed_on_nothing_else() -> None:
    assert violated(checked(TakesAnyInput())) == {"robust.bad-input"}


# -- the same run twice ---------------------------------------------------------------------------------------------


def test_a_manager_that_is_not_deterministic_is_found() -> None:
    result = checked(EveryOtherLifeIsDifferent(), strict=True)
    assert violated(result) == {"robust.deterministic"}
    for finding in result.findings:
        assert finding.probe == "repeat"
        assert "tables" in finding.violation.observed
        assert len(finding.operations) <= 2


def test_what_differs_is_told_at_the_first_operation_that_shows_it() -> None:
    class AfterTwoRows(EveryOtherLifeIsDifferent):
        lives = 0

        def start(self, config: Config) -> None:
            ToyAdapter.start(self, config)
            type(self).lives += 1

        def append(self, seq: Seq) -> list[tuple[int, int]]:
            if type(self).lives % 2:
                self.toy.free[GPU].reverse()
            return super().append(seq)

    operations = [Allocate(1, (1,), (1, 1)), Step({1: (1, 1, 1)}), Append(1), Step({})]

    def start(config: Config, *, record: bool = False) -> Run:
        return Run(AfterTwoRows(), config, record=record)

    (raw,) = probes.repeated(start, Config(2, 8), operations)
    assert raw.operations == operations[:3]
    assert "operation 3" in raw.violation.message
    assert (raw.violation.op, raw.violation.observed) == ("append", "tables differ")


# -- the end of a run -----------------------------------------------------------------------------------------------


def spent(adapter: Adapter, config: Config, without: frozenset[Capability] = NONE) -> Run:
    run = Run(adapter, config, without=without)
    run.finish()
    return run


@pytest.mark.parametrize("watermark", [0, 1, 3])
@pytest.mark.parametrize("without", [NONE, GUARDS], ids=["guarded", "bare-handed"])
def test_all_blocks_can_be_spent(watermark: int, without: frozenset[Capability]) -> None:
    run = spent(ToyAdapter(), Config(4, 5, 2, watermark), without)
    assert not run.found
    assert run.tally.checks["accounting.spendable"] == 1
    assert len(run.ledger.rows) == 5  # past the guard too: the toy's failures are atomic
    assert run.operations == []


def test_a_block_that_is_counted_but_not_there_is_found() -> None:
    (found,) = spent(LastBlockIsNotThere(), Config(4, 5), GUARDS).found
    assert (found.violation.law.id, found.late, found.at) == ("accounting.spendable", True, 0)
    assert found.violation.expected == "5 blocks handed out or still free, each once"
    assert found.violation.observed == "4 handed out (4 different), 1 still counted as free"


def test_a_block_too_many_is_found() -> None:
    class OneMore(ToyAdapter):
        class make(Toy):
            def __init__(self, size: int, totals: dict[object, int]) -> None:
                super().__init__(size, {GPU: totals[GPU] + 1, CPU: totals[CPU] + 1})

        def num_free_blocks(self, device: object) -> int:
            return max(0, len(self.toy.free[device]) - 1)  # type: ignore[index]

    found = spent(OneMore(), Config(4, 5), GUARDS | {Capability.FREE_SET, Capability.REFCOUNTS}).found
    assert "accounting.valid-ids" in {one.violation.law.id for one in found}
    run = Run(OneMore(), Config(4, 5), without=GUARDS, laws=[CATALOGUE["accounting.spendable"]])
    run.finish()
    assert [one.violation.observed for one in run.found] == ["6 handed out (6 different), 0 still counted as free"]


def test_the_end_of_a_run_obeys_the_engine_s_orders() -> None:
    class Restricted(ToyAdapter):
        restrictions = (
            Restriction(Order.NO_RELEASE_WHILE_SCHEDULED, "asynchronous"),
            Restriction(Order.TOKENS_EVERY_STEP, "no chunks"),
        )

    run = Run(Restricted(), Config(4, 5))
    run.apply(Allocate(1, (1, 2), (1, 1)))
    run.finish()
    assert not run.found
    assert run.tally.checks["accounting.no-leak"] > 0
    assert run.operations == [Allocate(1, (1, 2), (1, 1))]
    assert run.over


@pytest.mark.parametrize("order", Order)
def test_under_every_order_alone_the_search_goes_on_and_finds_nothing(order: Order) -> None:
    adapter = type("Restricted", (ToyAdapter,), {"restrictions": (Restriction(order, "so it is"),)})()
    walk = Walk(adapter, start_of(adapter), capabilities_of(adapter), seed=0)
    kinds: set[str] = set()
    for number in range(25):
        run, raws = walk.one(number)
        assert not raws
        kinds |= {op.op for op in run.operations}
    assert kinds >= {"allocate", "append", "step", "fork", "swap_out", "swap_in", "free"}


# -- configurations -------------------------------------------------------------------------------------------------


def test_configurations_stay_inside_the_domain_and_the_capabilities() -> None:
    class Narrow(ToyAdapter):
        domain = Domain((2, 8), least_gpu_blocks=3, least_cpu_blocks=2, reason="so it is")

    class Bare(BareAdapter):
        pass

    seen = set()
    for adapter in (Narrow(), Bare()):
        for number in range(40):
            run, _ = Walk(adapter, start_of(adapter), capabilities_of(adapter), seed=number).one(0)
            config = run.config
            if isinstance(adapter, Narrow):
                seen.add(config.block_size)
                assert config.num_gpu_blocks >= 3
                assert config.num_cpu_blocks >= 2
                assert config.watermark_blocks <= config.num_gpu_blocks
            else:
                assert config.num_cpu_blocks == config.watermark_blocks == 0
    assert seen == {2, 8}


# -- the hypothesis machine -----------------------------------------------------------------------------------------

FEW = settings(
    max_examples=10,
    stateful_step_count=15,
    deadline=None,
    database=None,
    report_multiple_bugs=False,
    phases=[Phase.generate],
)


def as_unittest(adapter: Adapter) -> unittest.TestCase:
    case = machine_for(adapter).TestCase
    case.settings = FEW
    return case("runTest")


@pytest.mark.parametrize("adapter", [ReferenceAdapter, ToyAdapter, BareAdapter])
def test_the_machine_is_a_unittest_that_passes_on_a_right_manager(adapter: type[Adapter]) -> None:
    result = unittest.TestResult()
    as_unittest(adapter()).run(result)
    assert result.testsRun == 1
    assert result.wasSuccessful(), result.failures + result.errors


class TestReference(machine_for(ReferenceAdapter()).TestCase):  # type: ignore[misc, name-defined]
    """The one line that a third party writes."""

    settings = FEW


def test_the_machine_raises_and_names_the_law_of_a_wrong_manager() -> None:
    adapter = faults.CATALOGUE["guard-takes-a-block"].adapter()()
    with pytest.raises(AssertionError, match=r"admission\.guard-pure: asking can_allocate changed counts"):
        as_unittest(adapter).debug()


def test_the_machine_does_not_raise_for_a_should_law() -> None:
    as_unittest(EveryOtherLifeIsDifferent()).debug()


def test_exploring_collects_instead_of_raising_and_uses_only_what_it_may() -> None:
    adapter = faults.CATALOGUE["guard-takes-a-block"].adapter()()
    without = frozenset((Capability.WATERMARK,))
    runs: list[Run] = []
    laws: set[str] = set()

    def collect(run: Run, raws: list[object]) -> None:
        runs.append(run)
        laws.update(raw.violation.law.id for raw in raws)  # type: ignore[attr-defined]
        assert all(raw.found_by == "hypothesis" for raw in raws)  # type: ignore[attr-defined]

    explore(
        adapter, start_of(adapter, without), collect, capabilities=capabilities_of(adapter) - without,
        examples=15, steps=10, seed=0,
    )  # fmt: skip
    assert len(runs) >= 10
    assert laws == {"admission.guard-pure"}
    assert {run.config.watermark_blocks for run in runs} == {0}


def test_what_the_adapter_gets_wrong_is_not_the_manager_s() -> None:
    class Mute(ToyAdapter):
        def can_allocate(self, group: Group) -> None:  # type: ignore[override]
            return None

    with pytest.raises(AdapterMistake, match=r"Mute\.can_allocate answered None; it must answer True"):
        as_unittest(Mute()).debug()


def test_a_check_of_a_manager_without_guards_still_finds_what_is_wrong() -> None:
    class Leaks(BareAdapter):
        def free(self, seq: Seq) -> None:
            if seq.id in self.toy.rows:
                self.toy.rows.pop(seq.id), self.toy.where.pop(seq.id)

    result = checked(Leaks())
    assert violated(result) >= {"accounting.conservation", "accounting.no-leak"}
    assert verdicts(result)["admission.sound-allocate"] == "not-applicable"
