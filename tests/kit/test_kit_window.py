"""Windows, groups of layers, chunks, drafts and what is brought from elsewhere, on small managers made for it.

Knows: what each of these means for an engine. Must not know: how kvref does it.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from kit_support import BRIEF

from kvconform.adapter import (
    Adapter,
    AdapterMistake,
    Capabilities,
    Domain,
    Group,
    Order,
    Restriction,
    Seq,
    capabilities_of,
    unsupported,
)
from kvconform.check import Check, judged, overall
from kvconform.reference import ReferenceAdapter
from kvconform.reference_try import TryReference
from kvconform.rows import NULL, Layout, interleaved, shown
from kvconform.run import Run, replay
from kvconform.targets import Target
from kvconform.walk import Walk
from kvspec.vocabulary import (
    Allocate,
    Append,
    Capability,
    Config,
    Device,
    Evict,
    Free,
    Preempt,
    ResetIndex,
    Result,
    Step,
)

# -- layouts --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("window", "computed", "dead"), [(1, 0, 0), (1, 3, 3), (2, 3, 2), (4, 3, 0), (None, 9, 0)])
def test_a_position_is_dead_once_nothing_reads_it_any_more(window: int | None, computed: int, dead: int) -> None:
    assert Layout(Config(4, 8, sliding_window=window)).dead(computed) == dead
    if window is not None:  # the next position to be computed reads back this far, and no further
        assert max(0, computed - window + 1) == dead


def test_the_first_of_several_groups_reads_everything() -> None:
    layout = Layout(Config(2, 8, sliding_window=2, kv_groups=3))
    assert [layout.slides(index) for index in range(6)] == [False, True, True] * 2
    assert [layout.start(index) for index in range(6)] == [0, 0, 0, 2, 2, 2]
    assert [layout.gone(index, 3) for index in range(6)] == [False, True, True, False, False, False]
    assert [layout.gone(index, 2) for index in range(3)] == [False, False, False]  # the block straddles the edge
    assert layout.length(3) == 6
    alone = Layout(Config(2, 8, sliding_window=2))
    assert [alone.gone(index, 5) for index in range(3)] == [True, True, False]


def test_rows_of_groups_are_kept_by_turns() -> None:
    assert interleaved([[1, 2], [3]]) == [1, 3, 2, NULL]
    assert shown([1, NULL]) == [1, None]


def test_groups_hold_different_kv_for_the_same_prefix() -> None:
    layout = Layout(Config(1, 8, kv_groups=2))
    assert len({layout.content(prefix, index) for prefix in (1, 2) for index in (0, 1)}) == 4
    assert layout.contents([7, 8], 0, 2, 1) == [layout.content(7, 1), layout.content(8, 1)]


# -- a manager with groups of layers --------------------------------------------------------------------------------


class Grouped(Adapter):
    """One pool, and a row for each group of layers; the last ones slide. The null block is block 0."""

    name = "grouped"
    capabilities = Capabilities(admission="try", window=True)
    restrictions = (Restriction(Order.NO_RELEASE_WHILE_SCHEDULED, "the toy frees between steps"),)

    def start(self, config: Config) -> None:
        self.config, self.layout = config, Layout(config)
        self.free_list = list(range(1, config.num_gpu_blocks))
        self.rows: dict[int, list[list[int]]] = {}

    def wanted(self, seq: Seq, slots: int) -> list[int]:
        """How many blocks each row lacks."""
        rows = self.rows.get(seq.id, [[]] * self.config.kv_groups)
        return [max(0, -(-slots // self.config.block_size) - len(row)) for row in rows]

    def cover(self, seq: Seq) -> bool:
        lacking = self.wanted(seq, len(seq.tokens))
        if sum(lacking) > len(self.free_list):
            return False
        rows = self.rows.setdefault(seq.id, [[] for _ in lacking])
        for row, count in zip(rows, lacking, strict=True):
            row += [self.free_list.pop() for _ in range(count)]
        return True

    def allocate(self, group: Group) -> bool | None:
        return None if self.cover(group.waiting[0]) else False

    def append(self, seq: Seq) -> bool | None:
        return None if self.cover(seq) else False

    def step(self, batch: Sequence[tuple[Seq, int]]) -> None:
        for seq, computed in batch:
            for lane, row in enumerate(self.rows[seq.id]):
                for at, block in enumerate(row):
                    if block != NULL and self.gives_up(at, lane, computed):
                        self.free_list.append(block)
                        row[at] = NULL

    def gives_up(self, at: int, lane: int, computed: int) -> bool:
        return self.layout.gone(at * self.config.kv_groups + lane, computed)

    def free(self, seq: Seq) -> None:
        for row in self.rows.pop(seq.id, []):
            self.free_list += [block for block in row if block != NULL]

    def block_table(self, seq: Seq) -> Sequence[int | None]:
        return self.block_tables(seq)[0]

    def block_tables(self, seq: Seq) -> Sequence[Sequence[int | None]]:
        return [shown(row) for row in self.rows[seq.id]]

    def num_free_blocks(self, device: Device) -> int:
        return len(self.free_list)

    def free_blocks(self, device: Device) -> list[int]:
        return self.free_list

    def null_block(self) -> int | None:
        return 0 if self.config.num_gpu_blocks else None


class OneRowForAll(Grouped):
    """Every group has the blocks of the first."""

    def block_tables(self, seq: Seq) -> Sequence[Sequence[int | None]]:
        return [self.rows[seq.id][0] for _ in range(self.config.kv_groups)]


class CountsOneGroup(Grouped):
    """Admission counts the blocks of one group."""

    def cover(self, seq: Seq) -> bool:
        lacking = self.wanted(seq, len(seq.tokens))
        if lacking[0] > len(self.free_list):
            return False
        rows = self.rows.setdefault(seq.id, [[] for _ in lacking])
        for row, count in zip(rows, lacking, strict=True):
            row += [self.free_list.pop() if self.free_list else 1 for _ in range(count)]
        return True


class AllSlide(Grouped):
    """The group that reads everything slides as well."""

    def gives_up(self, at: int, lane: int, computed: int) -> bool:
        return super().gives_up(at, 1 if self.config.kv_groups > 1 else lane, computed)


class FreesOneGroup(Grouped):
    """Only the first group's blocks come back."""

    def free(self, seq: Seq) -> None:
        self.free_list += [block for block in self.rows.pop(seq.id, [[]])[0] if block != NULL]


def verdict(adapter: Adapter) -> tuple[str, set[str]]:
    check = Check(Target("grouped", "grouped", "", adapter), BRIEF)
    result = check.run()
    laws = judged(result)
    return overall(result, laws), {law.law.id for law in laws if law.verdict == "violated"}


def test_a_manager_with_groups_of_layers_conforms() -> None:
    word, broken = verdict(Grouped())
    assert word == "conforms"
    assert broken <= {"robust.bad-input"}


@pytest.mark.parametrize(
    ("wrong", "law", "window"),
    [
        (OneRowForAll, "accounting.valid-ids", 1),
        (CountsOneGroup, "accounting.valid-ids", 1),
        (AllSlide, "window.live", 1),
        (FreesOneGroup, "accounting.conservation", 2),
    ],
)
def test_a_wrong_manager_of_groups_is_caught(wrong: type[Grouped], law: str, window: int) -> None:
    config = Config(1, 8, sliding_window=window, kv_groups=3)
    run = Run(wrong(), config)
    replay(run, [Allocate(1, (1,), (1, 2)), Step({1: (3,)}), Append(1), Allocate(2, (2,), (1,)), Step({}), Free(1)])
    assert law in {found.violation.law.id for found in run.found}
    clean = Run(Grouped(), config)
    replay(clean, run.operations)
    assert not clean.found


# -- chunks, drafts, what is brought --------------------------------------------------------------------------------


def trying(config: Config) -> Run:
    return Run(TryReference(), config, record=True)


def test_a_chunk_is_covered_and_the_rest_waits() -> None:
    run = trying(Config(2, 8))
    run.apply(Allocate(1, (1,), (1, 2, 3, 4, 5), chunk=3))
    seq = run.world.seqs[1]
    assert (seq.upto, seq.unseen, len(run.ledger.rows[1].blocks)) == (3, 2, 2)
    assert run.why_not(Step({1: (9,)})) == "sequence 1 has tokens that are not computed yet: it gets no new ones"
    run.apply(Step({}))
    run.apply(Append(1, chunk=1))
    assert (seq.upto, seq.computed) == (4, 3)
    run.apply(Step({}))
    run.apply(Append(1))
    run.apply(Step({1: (9,)}))
    assert (seq.upto, seq.computed, seq.unseen) == (5, 5, 1)
    assert not run.found


def test_a_chunk_comes_after_what_is_cached() -> None:
    run = trying(Config(1, 8, prefix_caching=True))
    replay(run, [Allocate(1, (1,), (1, 2)), Step({}), Free(1), Allocate(2, (2,), (1, 2, 3, 4), chunk=1)])
    assert run.entries[3].outcome.cached == {2: 2}
    assert len(run.entries[3].rows[2][1]) == 3
    assert not run.found


def test_drafts_that_were_right_are_computed_and_the_others_leave_garbage() -> None:
    run = trying(Config(1, 8))
    for op in (Allocate(1, (1,), (1,)), Step({1: (2,)}), Append(1, drafts=3), Step({1: (3, 4)})):
        run.apply(op)
    seq, row = run.world.seqs[1], run.ledger.rows[1]
    assert (seq.tokens, seq.upto, seq.computed) == ([1, 2, 3, 4], 2, 3)
    held = [run.ledger.content(Device.GPU, block)[0] for block in row.blocks]
    assert held == [*seq.prefixes[:3], 0, 0]
    assert run.why_not(Append(1, drafts=1)) is None
    assert run.why_not(Append(1, drafts=1, chunk=1)) is not None
    assert not run.found


def test_a_manager_without_slots_for_its_drafts_is_caught() -> None:
    class NoSlots(TryReference):
        def append(self, seq: Seq) -> bool | None:
            return None if self.manager.extend(seq.id, (), seq.reach(seq.upto), seq.lookahead) else False

    run = Run(NoSlots(), Config(1, 8))
    replay(run, [Allocate(1, (1,), (1,)), Step({1: (2,)}), Append(1, drafts=1)])
    assert {found.violation.law.id for found in run.found} == {"table.covers"}


class Brought(ReferenceAdapter):
    """kvref does not care where KV comes from."""

    capabilities = Capabilities(external=True)


def test_what_is_brought_from_elsewhere_is_read_and_one_token_is_left() -> None:
    run = Run(Brought(), Config(2, 8))
    run.apply(Allocate(1, (1,), (1, 2, 3), external=9))
    seq = run.world.seqs[1]
    assert (seq.computed, seq.upto) == (2, 3)
    assert not run.ledger.wrong_slots(seq)
    run.apply(Step({1: (4,)}))
    assert seq.computed == 3
    assert run.tally.checks["data.read-back"] == 1
    assert not run.found


# -- windows --------------------------------------------------------------------------------------------------------


def test_what_a_window_has_left_behind_may_hold_anything() -> None:
    """Block 1 was sequence 1's; sequence 2 writes there, and nobody minds."""
    run = Run(ReferenceAdapter(), Config(1, 4, sliding_window=2), record=True)
    replay(run, [Allocate(1, (1,), (1, 2)), Step({1: (3,)}), Allocate(2, (2,), (4, 5)), Step({2: (6,)}), Append(1)])
    assert shown(run.entries[1].rows[1][1]) == [None, 2]
    assert 1 in run.entries[2].rows[2][1]
    assert run.tally.checks["window.live"]
    assert not run.found


def test_a_preempted_sequence_reads_everything_again() -> None:
    run = Run(ReferenceAdapter(), Config(1, 6, sliding_window=1), record=True)
    replay(run, [Allocate(1, (1,), (1, 2)), Step({1: (3,)}), Preempt(1), Allocate(1, (1,)), Step({})])
    assert NULL not in run.entries[3].rows[1][1]
    assert shown(run.entries[4].rows[1][1]) == [None, None, None]
    assert not run.found


def test_an_eviction_on_demand_is_no_longer_expected_to_be_a_hit() -> None:
    run = Run(ReferenceAdapter(), Config(1, 6, prefix_caching=True), record=True)
    first = (Allocate(1, (1,), (1, 2)), Step({}), Free(1))
    replay(run, [*first, Evict(9), Allocate(2, (2,), (1, 2, 3))])
    assert run.entries[4].outcome.cached == {2: 0}
    assert run.entries[3].outcome.result is Result.OK
    assert not run.found


def test_the_null_block_is_taken_off_what_sequences_can_have() -> None:
    run = Run(ReferenceAdapter(), Config(1, 3, sliding_window=1), record=True)
    assert run.judge.bench.null == 0
    assert run.judge.bench.total(Device.GPU) == 2
    replay(run, [Allocate(1, (1,), (1, 2, 3))])
    assert run.entries[0].outcome.refused
    assert run.tally.checks["window.null"]
    assert not run.found


def test_a_null_block_that_the_adapter_does_not_show_is_missed() -> None:
    class Hidden(ReferenceAdapter):
        null_block = Adapter.null_block

    run = Run(Hidden(), Config(1, 3, sliding_window=1))
    assert Capability.NULL_BLOCK not in capabilities_of(Hidden())
    assert [found.violation.law.id for found in run.found] == ["accounting.conservation"]


# -- what was missed once -------------------------------------------------------------------------------------------


def test_what_is_brought_after_a_reset_may_be_found() -> None:
    class Caching(Brought):
        capabilities = Capabilities(external=True, prefix_caching=True, outcomes="three")

    run = Run(Caching(), Config(2, 8, prefix_caching=True), record=True)
    first = (Allocate(1, (1,), (1, 1, 1)), Step({1: (1,)}), Free(1), ResetIndex())
    replay(run, [*first, Allocate(2, (2,), (1, 1, 2), external=2), Step({2: (1,)}), Allocate(3, (3,), (1, 1, 2))])
    assert run.entries[-1].outcome.cached == {3: 2}
    assert not run.found


def test_readmissions_are_chunked_too() -> None:
    adapter = TryReference()
    walk = Walk(adapter, lambda config: Run(adapter, config), capabilities_of(adapter), seed=0)
    runs = [walk.one(number)[0] for number in range(40)]
    operations = [op for run in runs for op in run.operations if isinstance(op, Allocate)]
    assert any(op.tokens is None and op.chunk is not None for op in operations)


@pytest.mark.parametrize(
    ("config", "lacking"),
    [
        (Config(1, 4, kv_groups=2), "kv-groups"),
        (Config(1, 4, sliding_window=2), "window"),
        (Config(1, 4, prefix_caching=True, colliding_hashes=True), "prefix-caching, colliding-hashes"),
        (Config(1, 4, prefix_caching=True, passes_per_tick=1), "prefix-caching, coarse-clock"),
        (Config(1, 4), ""),
    ],
)
def test_a_configuration_may_ask_for_more_than_there_is(config: Config, lacking: str) -> None:
    assert unsupported(config, frozenset()) == lacking
    assert unsupported(config, frozenset(Capability)) == ""


@pytest.mark.parametrize(
    ("declared", "told"),
    [
        ({"capabilities": Capabilities(window="yes")}, "capabilities.window is 'yes'"),  # type: ignore[arg-type]
        ({"domain": Domain(least_gpu_blocks="3")}, "domain.least_gpu_blocks is '3'"),  # type: ignore[arg-type]
        ({"domain": Domain(whole_windows=1)}, "domain.whole_windows is 1"),  # type: ignore[arg-type]
    ],
)
def test_a_declaration_of_the_wrong_type_is_told(declared: dict[str, object], told: str) -> None:
    with pytest.raises(AdapterMistake, match=told):
        capabilities_of(type("Declares", (TryReference,), declared)())


@pytest.mark.parametrize("answer", [None, True, False, 1.5])
def test_a_match_answers_how_many_tokens(answer: object) -> None:
    class Matches(TryReference):
        def match(self, group: Group) -> int:
            return answer  # type: ignore[return-value]

    run = Run(Matches(), Config(1, 4, prefix_caching=True))
    with pytest.raises(AdapterMistake, match=r"Matches\.match answered"):
        run.apply(Allocate(1, (1,), (1, 2), match=True))
