"""The adapters of vLLM's first two generations: known findings where they are known to be, nothing elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from kvconform.adapter import Adapter, ErrorKind, Order, capabilities_of
from kvconform.engines import (
    EngineUnavailable,
    LoadedEngine,
    NotInThisVersion,
    UnknownEngine,
    adapter_class,
    adapter_factory,
    available,
)
from kvconform.run import Run, replay
from kvspec.vocabulary import (
    Allocate,
    Append,
    Capability,
    Config,
    Device,
    Fork,
    Free,
    Level,
    Operation,
    Preempt,
    Result,
    Status,
    Step,
    SwapIn,
    SwapOut,
    Verdict,
)

FIRST, SECOND = "vllm-v0-v1", "vllm-v0-v2"
MakeAdapter = Callable[[str, str], Adapter]


@pytest.fixture
def make(published: Callable[[str], LoadedEngine]) -> MakeAdapter:
    """A fresh adapter, its engine fetched first."""

    def get(name: str, version: str) -> Adapter:
        published(version)
        return adapter_factory(name, version)()

    return get


def broken(adapter: Adapter, config: Config, operations: list[Operation]) -> set[str]:
    """The MUST laws that a trace shows to be violated."""
    run = Run(adapter, config)
    replay(run, operations)
    return {found.violation.law.id for found in run.found if found.violation.law.level is Level.MUST}


@dataclass(frozen=True)
class Known:
    """One row of the calibration table: a trace, the law it breaks, and in which releases."""

    config: Config
    operations: list[Operation]
    law: str
    present: tuple[tuple[str, str], ...]
    absent: tuple[tuple[str, str], ...]


def second(*versions: str) -> tuple[tuple[str, str], ...]:
    return tuple((SECOND, version) for version in versions)


def first(*versions: str) -> tuple[tuple[str, str], ...]:
    return tuple((FIRST, version) for version in versions)


ADMIT = [Allocate(1, (1,), (5,)), Step({1: (6,)})]
AWAY = [SwapOut(1), Step({})]
FORKED: list[Operation] = [Allocate(1, (1,), (5, 6, 7, 8)), Step({1: (9,)}), Fork(1, 2)]
# Two samples of one prompt; the first one ends, the other is preempted and comes back.
WIDOWED: list[Operation] = [*ADMIT, Fork(1, 2, (7,)), Free(1), Preempt(1), Allocate(1, (2,))]
# Two blocks are cached, hit and cached again; one of them gets another content, and is to be evicted once more.
REUSED: list[Operation] = [
    *(op for seq in (1, 2) for op in (Allocate(seq, (seq,), (1, 1)), Step({seq: (9,)}), Free(seq))),
    *(Allocate(3, (3,), (2,)), Step({3: (9,)}), Free(3)),
    Allocate(4, (4,), (3,)),
]

KNOWN = {
    "pull request 8824": Known(
        Config(1, 1, 2),
        [*ADMIT, *AWAY, SwapIn(1)],
        "admission.sound-swap-in",
        second("0.6.1.post2", "0.6.2"),
        second("0.6.3", "0.10.2") + first("0.6.2"),
    ),
    "pull request 8824, one block held by another": Known(
        Config(4, 2, 2),
        [
            Allocate(1, (1,), (5, 6, 7)),
            Step({1: (8,)}),
            *AWAY,
            Allocate(2, (2,), (5,)),
            Step({2: (6,)}),
            SwapIn(1, lookahead=1),
        ],
        "admission.sound-swap-in",
        second("0.6.2"),
        second("0.6.3", "0.10.2"),
    ),
    "pull request 8824, with room for the tokens": Known(
        Config(4, 2, 2),
        [Allocate(1, (1,), (5, 6, 7, 8)), Step({1: (9,)}), *AWAY, SwapIn(1, lookahead=5)],
        "admission.sound-swap-in",
        second("0.6.2"),
        second("0.6.3", "0.10.2"),
    ),
    "unseen tokens go below the watermark": Known(
        Config(4, 4, 2, watermark_blocks=2),
        [
            Allocate(1, (1,), (5, 6, 7, 8)),
            Step({1: (9,)}),
            *AWAY,
            Allocate(2, (2,), (5,)),
            Step({2: (6,)}),
            SwapIn(1),
        ],
        "admission.watermark",
        second("0.5.0", "0.6.2"),
        second("0.6.3", "0.10.2") + first("0.6.2"),
    ),
    "a lookahead tail forgotten when swapping out": Known(
        Config(1, 4, 3),
        [*ADMIT, Append(1, lookahead=2), Step({1: (7,)}), SwapOut(1)],
        "admission.sound-swap-out",
        second("0.6.3", "0.6.3.post1", "0.10.2"),
        second("0.6.2"),
    ),
    "a forked group does not fit where it is said to": Known(
        Config(2, 3, 3),
        [*FORKED, SwapOut(1)],
        "admission.sound-swap-out",
        second("0.5.0", "0.6.2"),
        second("0.6.3") + first("0.6.2"),
    ),
    "a forked group loses a transfer": Known(
        Config(2, 3, 4),
        [*FORKED, SwapOut(1), Step({})],
        "data.swap-content",
        second("0.5.0"),
        second("0.6.2", "0.6.3") + first("0.2.7", "0.5.0", "0.6.2"),
    ),
    "LATER for ever": Known(
        Config(1, 4, 4, watermark_blocks=1),
        [Allocate(1, (1,), (5, 6, 7)), Step({1: (8,)}), *AWAY, SwapIn(1)],
        "admission.impossible-is-never",
        second("0.6.3", "0.10.2") + first("0.6.2"),
        (),
    ),
    "LATER for ever, 0.6.2": Known(
        Config(1, 5, 4, watermark_blocks=2),
        [Allocate(1, (1,), (5, 6, 7)), Step({1: (8,)}), Append(1), Step({1: (9,)}), *AWAY, SwapIn(1)],
        "admission.impossible-is-never",
        second("0.6.2"),
        (),
    ),
    "an evicted prefix is evicted again while the clock stands still": Known(
        Config(1, 2, prefix_caching=True, passes_per_tick=1000),
        REUSED,
        "robust.no-crash",
        second("0.6.6.post1", "0.7.0", "0.8.5.post1", "0.9.0", "0.10.2"),
        second("0.6.4.post1"),
    ),
    "the same by a clock that moves with the passes": Known(
        Config(1, 2, prefix_caching=True, passes_per_tick=1),
        REUSED,
        "robust.no-crash",
        (),
        second("0.6.6.post1", "0.10.2"),
    ),
    "finished sequences are counted when a group comes back": Known(
        Config(4, 3, 3),
        [*WIDOWED, Step({2: (8,)})],
        "accounting.refcount",
        first("0.2.7", "0.6.2", "0.6.3"),
        second("0.5.0", "0.6.2", "0.6.3"),
    ),
}

PRESENT = [(name, *where) for name, known in KNOWN.items() for where in known.present]
ABSENT = [(name, *where) for name, known in KNOWN.items() for where in known.absent]


@pytest.mark.parametrize(("name", "adapter", "version"), PRESENT)
def test_a_known_fault_is_found_and_is_all_that_is_found(
    make: MakeAdapter, name: str, adapter: str, version: str
) -> None:
    known = KNOWN[name]
    assert broken(make(adapter, version), known.config, known.operations) == {known.law}


@pytest.mark.parametrize(("name", "adapter", "version"), ABSENT)
def test_a_fault_is_not_found_where_it_is_not(make: MakeAdapter, name: str, adapter: str, version: str) -> None:
    known = KNOWN[name]
    assert broken(make(adapter, version), known.config, known.operations) == set()


# -- what is right ----------------------------------------------------------------------------------------------------

# Parallel sampling, preemption both ways, aborts in every state, and two prompts in between.
A_DAY = [
    Allocate(1, (1,), (5, 6, 7)),
    Step({1: (8,)}),
    Fork(1, 2, (9,)),
    Append(1),
    Step({1: (5,), 2: (5,)}),
    Append(1),
    Allocate(2, (3,), (5, 6, 7, 8, 9)),
    Step({1: (6,), 2: (6,), 3: (6,)}),
    Preempt(2),
    SwapOut(1),
    Step({}),
    Allocate(2, (3,)),
    Step({3: (7,)}),
    Append(2),
    Step({3: (8,)}),
    SwapIn(1),
    Step({1: (7,), 2: (7,)}),
    Free(1, "finished"),
    Allocate(3, (4,), (5,) * 40),
    Free(4, "aborted"),
    Append(1),
    Step({2: (8,)}),
    Append(2),
    Step({3: (9,)}),
    Free(3, "finished"),
    Free(3, "finished"),
    Allocate(4, (5,), (6,)),
    Step({5: (6,)}),
]

CLEAN = [
    *first("0.2.7", "0.3.3", "0.4.2", "0.5.0", "0.6.2", "0.6.3"),
    *second("0.6.2", "0.6.3", "0.6.3.post1"),
]


@pytest.mark.parametrize(("name", "version"), CLEAN)
def test_a_long_legal_day_is_clean(make: MakeAdapter, name: str, version: str) -> None:
    run = Run(make(name, version), Config(2, 16, 10, watermark_blocks=1), record=True)
    replay(run, A_DAY)
    assert {found.violation.law.id for found in run.found if found.violation.law.level is Level.MUST} == set()
    verdicts = {(entry.op.op, entry.outcome.verdict) for entry in run.entries}
    assert {("swap_in", Verdict.OK), ("swap_out", Verdict.OK), ("allocate", Verdict.NEVER)} <= verdicts
    assert all(entry.outcome.result in (Result.OK, Result.REFUSED) for entry in run.entries)


@pytest.mark.parametrize(("name", "version"), [*first("0.2.7", "0.6.2"), *second("0.4.2", "0.6.2", "0.10.2")])
@pytest.mark.parametrize("watermark", range(8))
def test_the_watermark_is_the_number_asked_for(make: MakeAdapter, name: str, version: str, watermark: int) -> None:
    for blocks in (1, 3, 7, 29):
        adapter: Any = make(name, version)
        adapter.start(Config(4, blocks, 0, watermark))
        assert adapter.manager.watermark_blocks == watermark


@pytest.mark.parametrize(("name", "version"), [*first("0.2.7", "0.6.2"), *second("0.6.2", "0.10.2")])
def test_rows_are_numbered_from_zero_on_both_devices(make: MakeAdapter, name: str, version: str) -> None:
    adapter = make(name, version)
    run = Run(adapter, Config(1, 3, 3))
    # vLLM before 0.5.0 swaps only groups of several.
    fork: list[Operation] = [Fork(1, 2, (7,))] if Capability.FORK in run.capabilities else []
    for op in [*ADMIT, *fork]:
        run.apply(op)
    seq = run.world.seqs[1]
    assert adapter.row_device(seq) is Device.GPU
    assert adapter.refcount(Device.GPU, adapter.block_table(seq)[0]) == 1 + len(fork)
    run.apply(SwapOut(1))
    assert seq.status is Status.SWAPPED
    assert adapter.row_device(seq) is Device.CPU
    held = {block for other in run.world.seqs.values() for block in adapter.block_table(other)}
    assert held | set(adapter.free_blocks(Device.CPU)) == {0, 1, 2}
    assert all(adapter.refcount(Device.CPU, block) for block in held)


# -- errors -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "version"), [*first("0.2.7", "0.6.2"), *second("0.4.2", "0.6.2", "0.10.2")])
def test_errors_are_told_apart(make: MakeAdapter, name: str, version: str) -> None:
    adapter: Any = make(name, version)
    run = Run(adapter, Config(1, 2, 2))
    run.apply(Allocate(1, (1,), (5, 6)))
    with pytest.raises(Exception) as no_blocks:  # noqa: PT011 (which exception it is differs, and is what is tested)
        adapter.allocate(run.world.prepare(Allocate(2, (2,), (5,))))
    assert adapter.classify(no_blocks.value) is ErrorKind.OUT_OF_BLOCKS
    table = adapter.manager.block_tables[1]
    adapter.free(run.world.seqs[1])
    adapter.manager.block_tables[1] = table
    with pytest.raises(Exception) as twice:  # noqa: PT011
        _free_again(adapter, name, table)
    assert adapter.classify(twice.value) is ErrorKind.DOUBLE_FREE
    assert adapter.classify(KeyError(1)) is ErrorKind.UNDECLARED


def _free_again(adapter: Any, name: str, table: Any) -> None:
    if name == FIRST:
        adapter.manager.gpu_allocator.free(table[0])
    else:
        counter = adapter.manager.block_allocator._allocators
        next(pool for device, pool in counter.items() if device.name == "GPU")._refcounter.decr(0)


# -- what each release can do -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "version", "has", "lacks"),
    [
        (FIRST, "0.2.7", {"swap", "fork", "watermark"}, {"lookahead", "groups", "reset"}),
        (FIRST, "0.6.2", {"swap", "fork", "watermark"}, {"lookahead", "groups", "reset"}),
        (SECOND, "0.4.2", {"lookahead", "fork", "watermark"}, {"swap", "reset", "groups", "guard-swap-in"}),
        (SECOND, "0.6.2", {"lookahead", "fork", "swap"}, {"reset", "groups"}),
        (SECOND, "0.10.2", {"lookahead", "swap"}, {"fork", "reset", "groups"}),
    ],
)
def test_what_a_release_lacks_is_not_a_capability(
    make: MakeAdapter, name: str, version: str, has: set[str], lacks: set[str]
) -> None:
    found = {capability.value for capability in capabilities_of(make(name, version))}
    assert has <= found
    assert not lacks & found


def test_what_the_engine_never_does_is_declared_release_by_release(make: MakeAdapter) -> None:
    def orders(name: str, version: str) -> set[Order]:
        return {restriction.what for restriction in make(name, version).restrictions}

    assert {Order.SWAP_SEVERAL, Order.ONE_TOKEN, Order.FINISHED_STAY} <= orders(FIRST, "0.2.7")
    assert Order.SWAP_SEVERAL not in orders(FIRST, "0.5.0")
    assert Order.LOOKAHEAD_FIXED in orders(SECOND, "0.6.2")
    assert not {Order.ONE_TOKEN, Order.SWAP_SEVERAL} & orders(SECOND, "0.6.2")
    assert not {Order.FORK_AFTER_TOKENS, Order.PREEMPT_SINGLE, Order.FINISHED_STAY} & orders(SECOND, "0.10.2")


@pytest.mark.parametrize(
    ("version", "declared"), [("0.6.2", "none"), ("0.6.3", "reserved"), ("0.9.0", "reserved"), ("0.10.2", "none")]
)
def test_allocate_reserves_lookahead_where_the_scheduler_asks_for_it(
    make: MakeAdapter, version: str, declared: str
) -> None:
    assert make(SECOND, version).capabilities.allocate_lookahead == declared


# -- finding adapters -------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("cache")
def test_an_engine_that_is_not_here_is_unavailable_and_says_what_to_do() -> None:
    with pytest.raises(EngineUnavailable, match=r"kvconform engines fetch vllm==0\.6\.2"):
        adapter_factory(SECOND, "0.6.2")
    targets = {target.name: target for target in available()}
    assert set(targets) == {FIRST, SECOND, "vllm-v1"}
    assert all(not target.versions and "engines fetch vllm==" in target.hint for target in targets.values())


@pytest.mark.parametrize("name", ["vllm", "vllm-v0-v3"])
def test_an_unknown_adapter_is_named_with_those_that_exist(name: str) -> None:
    with pytest.raises(UnknownEngine, match="vllm-v0-v1, vllm-v0-v2"):
        adapter_factory(name, "0.6.2")


def test_a_release_without_the_generation_says_so(make: MakeAdapter) -> None:
    with pytest.raises(NotInThisVersion):
        make(FIRST, "0.10.2")
    with pytest.raises(NotInThisVersion):
        make(SECOND, "0.2.7")


def test_what_is_fetched_is_listed_with_what_it_can_do(make: MakeAdapter) -> None:
    make(SECOND, "0.6.2")
    target = next(target for target in available() if target.name == SECOND)
    assert Capability.SWAP in target.versions["0.6.2"]
    assert "0.2.7" not in target.versions


def test_an_adapter_class_is_made_once_and_knows_its_name(make: MakeAdapter) -> None:
    make(SECOND, "0.6.2")
    found = adapter_class(SECOND, "0.6.2")
    assert adapter_class(SECOND, "0.6.2") is found
    assert (found.name, found.version) == (SECOND, "0.6.2")
    assert found.restrictions
    assert all(len(restriction.reason.splitlines()) == 1 for restriction in found.restrictions)
