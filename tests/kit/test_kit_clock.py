"""Clocks that are coarse: what they show, whom they are given to, and what the laws of order make of equal times."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import pytest
from kit_support import checked, shown_by, violated
from kit_toy import ToyAdapter

from kvconform.adapter import Adapter, Seq, capabilities_of, unsupported
from kvconform.cached import Use
from kvconform.clock import STILL, Clock, Moment
from kvconform.faults import CATALOGUE
from kvconform.faults.clocked import Clocked, ClockedPool, ClockedReference
from kvconform.features import used
from kvconform.finding import Raw, raws_of
from kvconform.propose import configuration
from kvconform.report.story import setting
from kvconform.run import Run, replay
from kvconform.shrink import Shrinker
from kvconform.trace import config_from_json, config_to_json
from kvconform.walk import Dice
from kvspec.vocabulary import Allocate, Append, Capability, Config, Free, Operation, Step

CACHING = Config(1, 3, prefix_caching=True)
NOTHING = Step({})

PASS: tuple[Operation, ...] = (Append(1), Step({1: (1,)}))
TIMES = {
    0: [1, 2, 3, 4, 5, 6],  # each operation has its own
    1: [1, 1, 2, 2, 3, 3],
    2: [1, 1, 1, 1, 2, 2],
    STILL: [1, 1, 1, 1, 1, 1],
}


@pytest.mark.parametrize("passes", TIMES)
def test_so_many_passes_have_one_time(passes: int) -> None:
    clock, shown = Clock(passes), []
    for op in PASS * 3:
        clock.begin(op)
        shown.append(clock.now)
    assert [moment.tick for moment in shown] == TIMES[passes]
    assert [moment.operation for moment in shown] == [1, 2, 3, 4, 5, 6]
    assert shown == sorted(shown)


class Reads(ClockedReference):
    """Notes what the clock shows."""

    def allocate(self, group: object) -> int | dict[int, int]:
        self.seen.append(self.now)
        return super().allocate(group)  # type: ignore[arg-type]

    def step(self, batch: Sequence[tuple[Seq, int]]) -> None:
        self.seen.append(self.now)
        super().step(batch)

    def start(self, config: Config) -> None:
        super().start(config)
        self.seen = [self.now]


def test_the_adapter_is_given_the_time_of_the_operation_under_way() -> None:
    adapter = Reads()
    run = Run(adapter, Config(2, 8, prefix_caching=True, passes_per_tick=2))
    for number in range(1, 4):
        run.apply(Allocate(number, (number,), (number,)))
        run.apply(Step({}))
    assert adapter.seen == [0, 1, 1, 1, 1, 2, 2]
    Run(adapter, Config(2, 8))
    assert adapter.seen == [0], "each run begins at the beginning"


def test_of_equal_times_the_manager_chooses_the_older() -> None:
    early, same, late = (Use(Moment(tick, at), Moment(tick, at)) for tick, at in ((1, 1), (1, 2), (2, 3)))
    assert early.before(same)
    assert not early.older(same)
    assert early.older(late)
    assert same.older(late)
    assert not late.older(early)


def test_only_who_declares_a_coarse_clock_is_given_one() -> None:
    config = Config(2, 8, prefix_caching=True, passes_per_tick=1)
    assert Capability.COARSE_CLOCK in capabilities_of(ClockedReference())
    assert unsupported(config, capabilities_of(ClockedReference())) == ""
    assert unsupported(config, capabilities_of(ToyAdapter())) == "coarse-clock"

    def drawn(adapter: Adapter) -> set[int]:
        capabilities = capabilities_of(adapter)
        configs = [configuration(adapter.domain, capabilities, Dice(f"clock/{seed}")) for seed in range(200)]
        assert all(config.prefix_caching for config in configs if config.passes_per_tick)
        return {config.passes_per_tick for config in configs}

    assert drawn(ClockedReference()) == {0, 1, 3, STILL}
    assert drawn(ToyAdapter()) == {0}


def test_a_clock_is_told_kept_and_named() -> None:
    config = Config(2, 8, prefix_caching=True, passes_per_tick=3)
    assert "a clock that stands still for 3 passes" in setting(config)
    assert "a clock that stands still for 1 pass" in setting(Config(2, 8, prefix_caching=True, passes_per_tick=1))
    assert "clock" not in setting(Config(2, 8))
    assert config_from_json(config_to_json(config)) == config
    assert "coarse-clock" in used([], config)
    with pytest.raises(ValueError, match="passes_per_tick"):
        Config(2, 8, passes_per_tick=-1)


def test_who_must_decide_among_equal_times_may_and_conforms() -> None:
    result = checked(ClockedReference(), strict=True)
    assert not violated(result)
    assert result.tally.checks["prefix.lru"]


def test_there_is_a_fault_that_only_a_coarse_clock_shows() -> None:
    """That it is caught with one is a test of the catalogue."""
    fault = CATALOGUE["stamp-is-identity"]
    assert not violated(checked(fault.adapter()(), without=frozenset((Capability.COARSE_CLOCK,))))


# -- what is judged by it ------------------------------------------------------------------------------------------


def laws(adapter: Adapter, config: Config, operations: Iterable[Operation]) -> set[str]:
    """The laws that a trace shows to be violated."""
    run = Run(adapter, config)
    replay(run, operations)
    return {found.violation.law.id for found in run.found}


def life(seq: int, *tokens: int) -> list[Operation]:
    """A sequence that is admitted, computed and freed."""
    return [Allocate(seq, (seq,), tokens), NOTHING, Free(seq)]


class _LastNumberPool(ClockedPool):
    """Of equal stamps the block with the highest number goes first, whichever was released first."""

    def _rank(self, block: int) -> tuple[int, ...]:
        return self._stamps[block], -block


class _LatestPool(ClockedPool):
    """The latest stamp goes first."""

    def _rank(self, block: int) -> tuple[int, ...]:
        return -self._stamps[block], block


class LastNumber(ClockedReference):
    """Breaks ties in its own way."""

    manager_class = type("LastNumberManager", (Clocked,), {"pool_class": _LastNumberPool})


class Latest(ClockedReference):
    """Wrong by any clock that moves."""

    manager_class = type("LatestManager", (Clocked,), {"pool_class": _LatestPool})


RELEASED_IN_ORDER = [
    Allocate(1, (1,), (1,)),
    Allocate(2, (2,), (2,)),
    Allocate(3, (3,), (3,)),
    NOTHING,
    Free(1),
    Free(2),
    Free(3),
    Allocate(4, (4,), (4,)),
]


@pytest.mark.parametrize("passes", [1, 3, STILL])
def test_which_of_two_uses_with_one_time_is_the_older_is_the_managers_choice(passes: int) -> None:
    assert laws(LastNumber(), replace(CACHING, passes_per_tick=passes), RELEASED_IN_ORDER) == set()


@pytest.mark.parametrize(("passes", "broken"), [(0, True), (1, True), (2, True), (STILL, False)])
def test_where_ticks_differ_the_order_is_judged(passes: int, broken: bool) -> None:
    operations = [*life(1, 1), *life(2, 2), *life(3, 3), Allocate(4, (4,), (4,))]
    found = laws(Latest(), replace(CACHING, passes_per_tick=passes), operations)
    assert found == ({"prefix.lru"} if broken else set())


SPLIT = [
    Allocate(1, (1,), (1, 1)),
    NOTHING,
    Allocate(2, (2,), (1, 2)),
    NOTHING,
    Free(1),
    Free(2),
    Allocate(3, (3,), (3, 3, 3)),
]
"""Sequence 1 goes, whose last block continues the prefix that 2 still has; then that prefix comes out of use."""


@pytest.mark.parametrize("passes", [1, STILL])
def test_a_tie_does_not_excuse_a_prefix_that_goes_before_what_continues_it(passes: int) -> None:
    config = Config(1, 4, prefix_caching=True, passes_per_tick=passes)
    newest = CATALOGUE["equal-times-newest-first"].adapter()()
    assert "prefix.descendants-first" in laws(newest, config, SPLIT)
    assert laws(ClockedReference(), config, SPLIT) == set()
    assert laws(newest, replace(config, passes_per_tick=0), SPLIT) == set()


HIT_AT_ONCE = [
    Allocate(1, (1,), (1,)),
    Allocate(2, (2,), (2,)),
    NOTHING,
    Free(1),
    Free(2),
    Allocate(3, (3,), (1, 3)),
    Allocate(4, (4,), (4,)),
]


@pytest.mark.parametrize(("passes", "broken"), [(0, False), (1, True), (STILL, True)])
def test_a_stamp_is_no_identity_where_times_are_equal(passes: int, broken: bool) -> None:
    config = replace(CACHING, passes_per_tick=passes)
    found = laws(CATALOGUE["stamp-is-identity"].adapter()(), config, HIT_AT_ONCE)
    assert ("prefix.evict-unreferenced" in found) == broken
    assert bool(found) == broken
    assert laws(ClockedReference(), config, HIT_AT_ONCE) == set()


# -- findings carry it ---------------------------------------------------------------------------------------------


def raw_of(adapter: Adapter, config: Config, operations: Iterable[Operation]) -> Raw:
    """The first violation of a trace."""
    run = Run(adapter, config)
    for op in operations:
        if not run.over:
            run.apply(op)
    return raws_of(run, "test")[0]


def test_a_finding_keeps_the_clock_that_it_needs_and_no_other() -> None:
    wrong = CATALOGUE["stamp-is-identity"].adapter()()
    finding = Shrinker(lambda config, **options: Run(wrong, config, **options)).shrink(
        raw_of(wrong, replace(CACHING, passes_per_tick=5), HIT_AT_ONCE)
    )
    assert finding is not None
    assert finding.config.passes_per_tick == STILL
    assert "coarse-clock" in used(finding.operations, finding.config)
    fine = replace(finding.config, passes_per_tick=0)
    assert shown_by(wrong, fine, finding.operations) == set()

    order = [*life(1, 1), *life(2, 2), *life(3, 3), Allocate(4, (4,), (4,))]
    raw = raw_of(Latest(), replace(CACHING, passes_per_tick=1), order)
    plain = Shrinker(lambda config, **options: Run(Latest(), config, **options)).shrink(raw)
    assert plain is not None
    assert plain.config.passes_per_tick == 0
