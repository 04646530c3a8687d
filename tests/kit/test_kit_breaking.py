"""What trials of the kit brought: faults that were missed once, and right managers that were accused once.

Knows: wrong and unusual managers made of the reference. Must not know: how the kit finds them.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import pytest
from kit_support import BRIEF, Command, checked, verdicts, violated

import kvref
from kvconform.adapter import Adapter, AdapterMistake, Capabilities, Domain, Group, Order, Seq, capabilities_of
from kvconform.check import judged, overall
from kvconform.profiles import PROFILES
from kvconform.reference import ReferenceAdapter
from kvconform.run import Run
from kvref import AllocStatus, BlockManager, OutOfBlocks
from kvref.sequence import GroupId, SeqId, SequenceState, Tokens
from kvspec.laws import CATALOGUE
from kvspec.vocabulary import Allocate, Append, Config, Fork, Level, Preempt, ResetAll, Step, Verdict


def driving(manager: type[BlockManager], **members: Any) -> Adapter:
    return type("Driven", (ReferenceAdapter,), {"manager_class": manager, **members})()


def must(found: set[str]) -> set[str]:
    return {law for law in found if CATALOGUE[law].level is Level.MUST}


# -- missed once ----------------------------------------------------------------------------------------------------


class LosesABlockOfALargePool(BlockManager):
    def __init__(self, **sizes: int) -> None:
        super().__init__(**sizes)  # type: ignore[arg-type]
        if self._gpu.num_total >= 32:
            self._gpu._free.remove(31)


class FifthOwnerCountsTwice(BlockManager):
    def fork(self, parent_id: SeqId, child_id: SeqId, unseen: int | None = None) -> None:
        super().fork(parent_id, child_id, unseen)
        for block in self._sequences[child_id].blocks:
            if self._gpu.refcount(block) == 5:
                self._gpu.share(block)


class SixtiethAdmissionLeaks(BlockManager):
    lives = 0

    def allocate(self, group_id: GroupId, seq_ids: Sequence[SeqId], num_tokens: int, lookahead: int = 0) -> None:
        super().allocate(group_id, seq_ids, num_tokens, lookahead)
        self.lives += 1
        if self.lives >= 60 and self._gpu.num_free:
            self._gpu.take()
            self.lives = -1_000_000


class EndedIdsAreForGood(BlockManager):
    """After a reset, a sequence under an id that had ended before cannot be freed."""

    def __init__(self, **sizes: int) -> None:
        super().__init__(**sizes)  # type: ignore[arg-type]
        self.before: set[SeqId] = set()

    def reset(self) -> None:
        self.before |= set(self._sequences) | self._ended
        super().reset()

    def _enter(self, seq: SequenceState) -> None:
        super()._enter(seq)
        if seq.seq_id in self.before:
            self._ended.add(seq.seq_id)


@pytest.mark.parametrize(
    "manager", [LosesABlockOfALargePool, FifthOwnerCountsTwice, SixtiethAdmissionLeaks, EndedIdsAreForGood]
)
def test_what_was_missed_once_is_found_by_quick(manager: type[BlockManager]) -> None:
    assert must(violated(checked(driving(manager), PROFILES["quick"])))


def test_a_guard_that_undoes_at_the_second_asking_what_it_did_at_the_first_is_not_pure() -> None:
    class Toggles(BlockManager):
        taken: int | None = None

        def can_append(self, group_id: GroupId, lookahead: int = 0) -> AllocStatus:
            if self.taken is not None:
                self._gpu.release(self.taken)
                self.taken = None
            elif self._gpu.num_free:
                self.taken = self._gpu.take()
            return super().can_append(group_id, lookahead)

    run = Run(driving(Toggles), Config(4, 8))
    run.apply(Allocate(1, (1,), (1,)))
    run.apply(Step({1: (1,)}))
    run.apply(Append(1))
    assert {found.violation.law.id for found in run.found} == {"admission.guard-pure"}


# -- accused once ---------------------------------------------------------------------------------------------------


class WantsOneMore(BlockManager):
    """Conservative admission: imprecise (SHOULD), and nothing else."""

    def _allocate_need(self, num_tokens: int, lookahead: int) -> int:
        return super()._allocate_need(num_tokens, lookahead) + self.extra

    def _readmit_needs(self, waiting: Any, lookahead: int) -> list[int]:
        return [need + self.extra for need in super()._readmit_needs(waiting, lookahead)]

    extra = 0

    def can_allocate(self, *request: Any) -> AllocStatus:
        self.extra = 1
        try:
            return super().can_allocate(*request)
        finally:
            self.extra = 0

    def can_readmit(self, group_id: GroupId, lookahead: int = 0) -> AllocStatus:
        self.extra = 1
        try:
            return super().can_readmit(group_id, lookahead)
        finally:
            self.extra = 0


class CountsTouchedBlocks(BlockManager):
    """Swap-in by vLLM's upper estimate: a partial last block counts as a new one."""

    def _swap_in_need(self, swapped: Sequence[SequenceState], lookahead: int) -> int:
        return super()._swap_in_need(swapped, lookahead) + len(swapped)


class NoLongPrompts(BlockManager):
    """A limit of its own: prompts of more than six tokens are declined for good."""

    def can_allocate(
        self,
        group_id: GroupId,
        seq_ids: Sequence[SeqId],
        prompt: Tokens,
        lookahead: int = 0,
        extra: Hashable = None,
    ) -> AllocStatus:
        answer = super().can_allocate(group_id, seq_ids, prompt, lookahead, extra)
        return AllocStatus.NEVER if (prompt if isinstance(prompt, int) else len(prompt)) > 6 else answer


@pytest.mark.parametrize("manager", [WantsOneMore, CountsTouchedBlocks, NoLongPrompts])
def test_a_conservative_manager_breaks_nothing_that_it_must_keep(manager: type[BlockManager]) -> None:
    assert must(violated(checked(driving(manager), BRIEF))) == set()


def test_a_large_block_size_with_lookahead_is_no_fault() -> None:
    domain = Domain(block_sizes=(128,), reason="128 only")
    # Prompts are long there: every operation costs a hundred times as much.
    result = checked(driving(BlockManager, domain=domain), replace(BRIEF, walk=1_000, examples=3))
    assert violated(result) == set()
    assert verdicts(result)["robust.progress"] == "holds"


class TailCopy(Adapter):
    """A small manager that copies a partial last block at the fork, and so never copies on write."""

    capabilities = Capabilities(failures="atomic", outcomes="three")
    out_of_blocks = (OutOfBlocks,)
    name: ClassVar[str] = "tail-copy"
    announce = True

    def start(self, config: Config) -> None:
        self.size, self.pool = config.block_size, kvref.BlockAllocator(config.num_gpu_blocks)
        self.rows: dict[int, list[int]] = {}

    def can_allocate(self, group: Group) -> Verdict:
        need = -(-len(group.waiting[0].tokens) // self.size)
        if need > self.pool.num_total:
            return Verdict.NEVER
        return Verdict.OK if need <= self.pool.num_free else Verdict.LATER

    def allocate(self, group: Group) -> None:
        (seq,) = group.waiting
        self.rows[seq.id] = self.pool.take_many(-(-len(seq.tokens) // self.size))

    def append(self, seq: Seq) -> list[tuple[int, int]]:
        row = self.rows[seq.id]
        row += self.pool.take_many(max(0, -(-len(seq.tokens) // self.size) - len(row)))
        return []

    def can_fork(self, parent: Seq) -> bool:
        return self.pool.num_free >= bool(parent.upto % self.size)

    def fork(self, parent: Seq, child: Seq) -> list[tuple[int, int]] | None:
        row, whole = self.rows[parent.id], parent.upto // self.size
        fresh = self.pool.take_many(int(parent.upto % self.size > 0))
        for block in row[:whole]:
            self.pool.share(block)
        self.rows[child.id] = row[:whole] + fresh
        return [(row[whole], block) for block in fresh] if self.announce else None

    def free(self, seq: Seq) -> None:
        for block in self.rows.pop(seq.id, []):
            self.pool.release(block)

    def block_table(self, seq: Seq) -> list[int]:
        return self.rows[seq.id]

    def num_free_blocks(self, device: object) -> int:
        return self.pool.num_free


@pytest.mark.parametrize("announce", [True, False])
def test_a_tail_copied_at_the_fork_is_a_copy(announce: bool) -> None:
    adapter = type("Announced", (TailCopy,), {"announce": announce})()
    result = checked(adapter, BRIEF)
    assert must(violated(result)) == set()
    assert verdicts(result)["admission.sound-fork"] == "holds"
    assert verdicts(result)["data.copies"] == "holds"


def test_a_tail_copy_that_is_forgotten_is_found() -> None:
    class Forgets(TailCopy):
        def fork(self, parent: Seq, child: Seq) -> list[tuple[int, int]]:
            super().fork(parent, child)
            return []

    assert "data.read-back" in violated(checked(Forgets(), BRIEF))


def test_the_row_may_go_beyond_the_longest_sequence_and_be_tight() -> None:
    run = Run(ReferenceAdapter(), Config(2, 12, 0, max_model_len=12))
    run.apply(Allocate(1, (1,), (1,) * 12, 3))
    assert run.found == []


def test_ids_begin_anew_after_a_reset() -> None:
    run = Run(ReferenceAdapter(), Config(2, 4))
    ops = (Allocate(1, (1,), (1,)), Step({1: (1,)}), Fork(1, 2), ResetAll(), Allocate(1, (1, 2), (2,)))
    for op in ops:
        run.apply(op)
    assert run.found == []
    assert sorted(run.ledger.rows) == [1, 2]


# -- what a user may get wrong ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["capabilties", "restriction", "out_of_block", "can_apend", "num_free_block"])
def test_a_misspelt_name_is_told(name: str) -> None:
    adapter = type("Mine", (ReferenceAdapter,), {name: ()})()
    with pytest.raises(AdapterMistake, match=name):
        capabilities_of(adapter)


@pytest.mark.parametrize(
    ("members", "told"),
    [
        ({"out_of_blocks": ("NoFreeBlocks",)}, "out_of_blocks"),
        ({"bad_input": (KeyError, 3)}, "bad_input"),
        ({"capabilities": {"lookahead": True}}, "capabilities"),
        ({"capabilities": Capabilities(outcomes="3")}, "outcomes"),  # type: ignore[arg-type]
        ({"capabilities": Capabilities(swap_unit="page")}, "swap_unit"),  # type: ignore[arg-type]
        ({"domain": {"block_sizes": (1,)}}, "domain"),
        ({"domain": Domain(block_sizes=(0,))}, "block_sizes"),
        ({"restrictions": (Order.ONE_TOKEN,)}, "restrictions"),
        ({"append": lambda seq: []}, "append must be a method"),
        ({"fork": lambda self, parent: None}, "fork must be a method"),
        ({"swap_in": lambda self, group, lookahead: []}, "swap_in must be a method"),
        ({"num_free_blocks": lambda self: 0}, "num_free_blocks must be a method"),
    ],
)
def test_a_wrong_declaration_or_signature_is_told_at_load(members: dict[str, Any], told: str) -> None:
    adapter = type("Mine", (ReferenceAdapter,), members)()
    with pytest.raises(AdapterMistake, match=told):
        capabilities_of(adapter)


def test_a_guard_of_two_answers_must_not_give_a_third() -> None:
    adapter = driving(BlockManager, capabilities=replace(ReferenceAdapter.capabilities, outcomes="two"))
    run = Run(adapter, Config(1, 1))
    with pytest.raises(AdapterMistake, match="outcomes"):
        run.apply(Allocate(1, (1,), (1, 1)))


def test_what_survives_a_start_is_no_success() -> None:
    class Remembers(ReferenceAdapter):
        """Answers rows from a cache that start() does not clear."""

        rows: ClassVar[dict[tuple[int, int], list[int]]] = {}

        def block_table(self, seq: Seq) -> list[int]:
            row = super().block_table(seq)
            return list(self.rows.setdefault((seq.id, len(row)), row))

    result = checked(Remembers(), BRIEF)
    assert overall(result, judged(result)) != "conforms"


def test_without_groups_only_single_sequences_are_recomputed() -> None:
    adapter = driving(BlockManager, capabilities=replace(ReferenceAdapter.capabilities, groups=False))
    run = Run(adapter, Config(2, 8))
    for op in (Allocate(1, (1,), (1,)), Step({1: (1,)}), Fork(1, 2)):
        run.apply(op)
    assert "could not come back" in (run.why_not(Preempt(1)) or "")
    assert violated(checked(adapter, BRIEF)) == set()


def test_a_hanging_manager_ends_in_an_inconclusive_report(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:

    monkeypatch.setitem(PROFILES, "quick", replace(PROFILES["quick"], guard=1.0))
    assert command("check", "kit_targets:Hangs").code == 3
    report = command.report()
    assert report["verdict"] == "inconclusive"
    assert any("time guard" in note for note in report["notes"])


@pytest.mark.parametrize(
    "header",
    [
        {"probe": "progress", "law": "robust.progress"},
        {"probe": "progress", "workload": {"requests": [[0, 0]]}},
        {"probe": "progress", "workload": {"requests": [[5, 100]]}},
        {"probe": "progress", "workload": {"requests": [["5", "6"]]}},
        {"probe": 7},
        {"law": ["x"]},
        {"without": ["x"]},
    ],
)
def test_a_header_that_means_nothing_is_a_usage_error(command: Command, header: dict[str, object]) -> None:

    config = {"block_size": 2, "num_gpu_blocks": 4}
    path = command.folder / "trace.jsonl"
    path.write_text(json.dumps({"schema": "kvconform/trace@1", "config": config, **header}) + "\n")
    ended = command("replay", "trace.jsonl", "--on", "nope")
    assert ended.code == 2
    assert ended.complaint


@pytest.mark.parametrize(
    "line",
    [
        '{"op": "free", "seq": 1, "why": "zzz"}',
        "[" * 100_000,
    ],
)
def test_a_line_that_means_nothing_is_told(command: Command, line: str) -> None:
    path = command.folder / "trace.jsonl"
    first = '{"schema": "kvconform/trace@1", "config": {"block_size": 2, "num_gpu_blocks": 4}}'
    path.write_text(f"{first}\n{line}\n")
    ended = command("replay", "trace.jsonl", "--on", "reference")
    assert ended.code in (2, 4)
    assert ended.complaint


@pytest.mark.parametrize("key", ["block_size", "num_gpu_blocks", "max_model_len"])
def test_a_configuration_that_nobody_has_is_a_usage_error(command: Command, key: str) -> None:

    config = {"block_size": 2, "num_gpu_blocks": 4, key: 10**30}
    (command.folder / "trace.jsonl").write_text(json.dumps({"schema": "kvconform/trace@1", "config": config}) + "\n")
    ended = command("replay", "trace.jsonl", "--on", "reference")
    assert ended.code == 2
    assert key in ended.complaint
