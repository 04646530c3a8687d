"""Clocks that are coarse: what they show, whom they are given to, and what the laws of order make of equal times."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from kit_support import checked, violated
from kit_toy import ToyAdapter

from kvconform.adapter import Adapter, Seq, capabilities_of, unsupported
from kvconform.cached import Use
from kvconform.clock import STILL, Clock, Moment
from kvconform.faults import CATALOGUE
from kvconform.faults.clocked import ClockedReference
from kvconform.features import used
from kvconform.propose import configuration
from kvconform.report.story import setting
from kvconform.run import Run
from kvconform.trace import config_from_json, config_to_json
from kvconform.walk import Dice
from kvspec.vocabulary import Allocate, Append, Capability, Config, Operation, Step

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
