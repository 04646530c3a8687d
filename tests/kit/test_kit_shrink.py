"""The shrinker: smaller, still the same, and nothing more can be left out.

Knows: what the same violation is. Must not know: the candidates that it tries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from kit_support import shown_by
from kit_toy import GPU, ToyAdapter
from kit_wrong import WRONG, AppendTurnsItsRow, ForgetsToCopy, FreesASharedBlock, step

from kvconform import faults, shrink
from kvconform.adapter import Adapter, Seq, capabilities_of
from kvconform.features import shape, used
from kvconform.finding import Finding, Raw, raws_of
from kvconform.reference import ReferenceAdapter
from kvconform.run import Run, replay
from kvconform.shrink import Shrinker, Trace
from kvconform.walk import Walk
from kvspec.vocabulary import (
    Allocate,
    Append,
    Capability,
    Config,
    Fork,
    Free,
    Operation,
    Preempt,
    Step,
    SwapIn,
    SwapOut,
)

Start = Callable[[Config], Run]


def start_of(adapter: Adapter) -> Start:
    """How runs of an adapter are begun."""
    return lambda config: Run(adapter, config)


def walked(adapter: Adapter, runs: int = 160) -> Iterator[Raw]:
    """What a walk finds."""
    walk = Walk(adapter, start_of(adapter), capabilities_of(adapter), seed=3)
    for number in range(runs):
        yield from walk.one(number)[1]


def raw_of(adapter: Adapter, config: Config, operations: list[Operation]) -> Raw:
    """The first violation of a run by hand."""
    run = Run(adapter, config)
    replay(run, operations)
    return raws_of(run, "test")[0]


def shrunk(adapter: Adapter, raw: Raw) -> Finding:
    """The finding; fails where there is none."""
    finding = Shrinker(start_of(adapter)).shrink(raw)
    assert finding is not None
    return finding


MOST = 120


def longest(adapter: Adapter) -> list[Raw]:
    """The longest raw violation of each kind, of those that the budget is enough for: a check shrinks the shortest."""
    found: dict[object, Raw] = {}
    for raw in (raw for raw in walked(adapter) if len(raw.operations) <= MOST):
        if raw.key not in found or len(raw.operations) > len(found[raw.key].operations):
            found[raw.key] = raw
    return list(found.values())


NAMES = ("unseen-ignored", "cow-missing", "watermark-off-by-one", "free-forgets-table", "failed-append-keeps-block")


@pytest.mark.parametrize("name", NAMES)
def test_a_shrunk_trace_shows_the_same_and_nothing_can_be_left_out(name: str) -> None:
    adapter = faults.CATALOGUE[name].adapter()()
    raws = longest(adapter)
    assert raws
    assert any(len(raw.operations) > 10 for raw in raws)
    for raw in [raw for raw in raws if raw.violation.law.id in faults.CATALOGUE[name].laws][:2]:
        finding = shrunk(adapter, raw)
        late = finding.probe == "finish"
        assert finding.key == raw.key
        assert (finding.found_by, finding.probe) == (raw.found_by, raw.probe)
        assert len(finding.operations) <= len(raw.operations)
        assert raw.key in shown_by(adapter, finding.config, finding.operations, finish=late)
        every_operation_is_legal(adapter, finding)
        for at in range(len(finding.operations)):
            fewer = finding.operations[:at] + finding.operations[at + 1 :]
            assert raw.key not in shown_by(adapter, finding.config, fewer, finish=late), fewer


def every_operation_is_legal(adapter: Adapter, finding: Finding) -> None:
    run = Run(adapter, finding.config)
    for op in finding.operations:
        assert run.why_not(op) is None
        run.apply(op)


def noisy(*, law_at: Operation) -> list[Operation]:
    """Groups that have nothing to do with it, and the one that has, under high numbers."""
    return [
        Allocate(50, (70,), (1,) * 5),
        Allocate(41, (90, 91), (2, 1, 2, 1, 2)),
        Step({70: (1,), 90: (1,), 91: (2,)}),
        Append(50, 1),
        Fork(90, 95, (2, 2)),
        SwapOut(50),
        Step({}),
        SwapIn(50, 2),
        Preempt(50),
        Free(91, "aborted"),
        Free(70),
        law_at,
        Step({}),
    ]


def test_what_has_nothing_to_do_with_it_is_left_out_and_the_rest_is_renumbered() -> None:
    adapter = ForgetsToCopy()
    raw = raw_of(adapter, Config(4, 20, 20), noisy(law_at=Append(41, 3)))
    assert raw.violation.law.id == "data.read-back"
    assert "sequence 90" in raw.violation.message
    finding = shrunk(adapter, raw)
    assert len(finding.operations) == 4
    numbers = [n for op in finding.operations for n in numbers_in(op)]
    assert list(dict.fromkeys(numbers)) == sorted(set(numbers))
    assert set(numbers) <= {1, 2}
    assert "sequence 90" not in finding.violation.message
    assert "sequence 1" in finding.violation.message or "sequence 2" in finding.violation.message
    assert finding.config.num_gpu_blocks <= 3
    assert finding.config.num_cpu_blocks == 0
    assert {"swap", "preempt"} <= raw.features
    assert not {"swap", "preempt"} & finding.features


def numbers_in(op: Operation) -> list[int]:
    """Groups' and sequences' numbers in order of appearance, both from one series here."""
    if isinstance(op, Allocate):
        return list(op.seqs)
    if isinstance(op, Fork):
        return [op.parent, op.child]
    if isinstance(op, Step):
        return list(op.tokens)
    return [op.seq] if isinstance(op, Free) else []


def test_tokens_and_sizes_shrink_too() -> None:
    adapter = AppendTurnsItsRow()
    operations = [Allocate(7, (9,), (2, 1, 2, 1, 2, 1, 2)), Step({9: (2,) * 6}), Append(7, 4), Step({9: (2,)})]
    finding = shrunk(adapter, raw_of(adapter, Config(4, 30, 9, 5), operations))
    assert finding.config.block_size == 1
    assert finding.config.num_cpu_blocks == finding.config.watermark_blocks == 0
    assert finding.config.num_gpu_blocks == 2
    told = [op.tokens for op in finding.operations if isinstance(op, Allocate)]
    assert told == [(1,)] or told == [(1, 1)]
    assert not any(getattr(op, "lookahead", 0) > 1 for op in finding.operations)


class RaisesTwoWays(ToyAdapter):
    """Two faults in one operation, told apart by their errors only."""

    def append(self, seq: Seq) -> list[tuple[int, int]]:
        raise ValueError("with lookahead") if seq.lookahead > 2 else KeyError("without")


def test_a_shrink_does_not_slip_to_another_error() -> None:
    adapter = RaisesTwoWays()
    before = [Allocate(1, (1,), (1,) * 6), step(1, tokens=2)]
    one = shrunk(adapter, raw_of(adapter, Config(2, 9), [*before, Append(1, 9)]))
    other = shrunk(adapter, raw_of(adapter, Config(2, 9), [*before, Append(1, 1)]))
    assert (one.violation.error, other.violation.error) == ("ValueError", "KeyError")
    assert [op.lookahead for op in one.operations if isinstance(op, Append)] == [3]
    assert [op.lookahead for op in other.operations if isinstance(op, Append)] == [0]
    assert one.fingerprint != other.fingerprint


class LeaksAtFreeAndAtPreempt(ToyAdapter):
    """One law broken at two operations."""

    def num_free_blocks(self, device: object) -> int:
        return len(self.toy.free[GPU]) - self.lost if device is GPU else super().num_free_blocks(device)  # type: ignore[arg-type]

    def start(self, config: Config) -> None:
        super().start(config)
        self.lost = 0

    def free(self, seq: Seq) -> None:
        self.lost += seq.id in self.toy.rows
        super().free(seq)

    def preempt(self, group: object) -> None:
        super().preempt(group)  # type: ignore[arg-type]
        self.lost += 1


def test_a_shrink_does_not_slip_to_another_operation() -> None:
    adapter = LeaksAtFreeAndAtPreempt()
    for last in (Free(1), Preempt(1)):
        finding = shrunk(adapter, raw_of(adapter, Config(2, 9), [Allocate(1, (1,), (1,) * 6), Step({}), last]))
        assert finding.violation.op == last.op
        assert [op.op for op in finding.operations] == ["allocate", last.op]


def test_a_finding_of_the_end_of_a_run_stays_one() -> None:
    (wrong,) = [w for w in WRONG if w.law == "accounting.spendable"]

    def start(config: Config) -> Run:
        return Run(wrong.adapter(), config, without=wrong.without)

    run = start(Config(4, 8))
    replay(run, [Allocate(1, (1,), (1,) * 9), Step({1: (1,)}), Append(1)])
    (raw,) = raws_of(run, "test")
    assert raw.probe == "finish"
    finding = Shrinker(start).shrink(raw)
    assert finding is not None
    assert (finding.probe, finding.operations) == ("finish", [])
    assert finding.config.num_gpu_blocks == 1


def test_what_does_not_show_again_gives_nothing() -> None:
    adapter = faults.CATALOGUE["cow-missing"].adapter()()
    raw = next(raw for raw in walked(adapter) if raw.violation.law.id == "data.exclusive-write")
    assert Shrinker(start_of(ReferenceAdapter())).shrink(raw) is None


def test_shrinking_is_deterministic_and_within_its_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    adapter = faults.CATALOGUE["unseen-ignored"].adapter()()
    raws = longest(adapter)[:3]
    assert [shrunk(adapter, raw) for raw in raws] == [shrunk(adapter, raw) for raw in raws]
    monkeypatch.setattr(shrink, "BUDGET", 300)
    shrinker = Shrinker(start_of(adapter))
    finding = shrinker.shrink(raws[0])
    assert finding is not None
    assert shrinker.total <= 300 + 3 * (len(raws[0].operations) + 40)  # the last attempts may begin below it
    assert finding.violation.law is raws[0].violation.law


def test_another_violation_s_trace_is_shown_to_serve() -> None:
    adapter = FreesASharedBlock()
    config = Config(4, 8)
    operations = [Allocate(1, (1,), (1,) * 6), step(1), Fork(1, 2), Free(2)]
    run = Run(adapter, config)
    replay(run, operations)
    first, second = raws_of(run, "test")
    shrinker = Shrinker(start_of(adapter))
    finding = shrinker.shrink(first)
    assert finding is not None
    shown = shrinker.show(second, Trace(finding.config, tuple(finding.operations)))
    assert shown is not None
    assert shown.violation.law is second.violation.law
    assert shown.operations == finding.operations
    assert shrinker.show(second, Trace(config, (Allocate(1, (1,), (1,)),))) is None


def test_a_configuration_that_cannot_be_started_is_no_candidate() -> None:
    class Choosy(ForgetsToCopy):
        def start(self, config: Config) -> None:
            if config.block_size < 3:
                raise ValueError("no such block size")
            super().start(config)

    adapter = Choosy()
    finding = shrunk(adapter, raw_of(adapter, Config(4, 20, 20), noisy(law_at=Append(41, 3))))
    assert finding.config.block_size == 3
    assert Capability.FORK in capabilities_of(adapter)


def test_features_name_what_the_trace_used_and_what_shape_it_met() -> None:
    adapter = ToyAdapter()
    run = Run(adapter, Config(2, 12, 12, 1))
    seen: list[frozenset[str]] = []
    operations: list[Operation] = [
        Allocate(1, (1,), (1, 1, 1)),
        step(1),
        Append(1, 3),
        step(1),
        SwapOut(1),
        SwapIn(1, force=True),
        step(1),
        Fork(1, 2, (1,)),
        Append(1),
        Preempt(1),
        Allocate(1, (1, 2)),
        Free(1),
        Free(1),
        Allocate(2, (3, 4), (1,)),
    ]
    for op in operations:
        seen.append(used([*run.operations, op], run.config) | shape(op, run.world, run.ledger))
        run.apply(op)
    assert not run.found
    plain = {"watermark"}
    assert seen[:2] == [plain, plain]
    assert seen[2] == plain | {"lookahead", "unseen"}
    assert seen[4] == plain | {"lookahead", "swap", "unseen", "lookahead-tail"}
    assert seen[5] == seen[4] | {"forced"}
    assert "forced" not in seen[6]
    assert seen[8] >= {"fork", "shared", "unseen"}
    assert "shared" not in seen[9]
    assert "preempt" in seen[9]
    assert "ended" not in seen[11]
    assert "ended" in seen[12]
    assert "group" not in seen[9]
    assert "group" in seen[13]
