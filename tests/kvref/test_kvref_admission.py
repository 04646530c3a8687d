"""Allocate, preempt and readmit: need, watermark, sharing."""

import pytest
from kvref_support import append_all, gpu_free, snapshot

from kvref import AllocStatus, BlockManager, Device, OutOfBlocks, Status

OK, LATER, NEVER = AllocStatus.OK, AllocStatus.LATER, AllocStatus.NEVER


def test_allocate_takes_blocks_for_tokens_and_lookahead() -> None:
    manager = BlockManager(block_size=4, num_gpu_blocks=8)
    manager.allocate("g", ["a"], 5)
    manager.allocate("h", ["b"], 4)
    manager.allocate("i", ["c"], 4, lookahead=1)
    assert [manager.block_table(s) for s in "abc"] == [[0, 1], [2], [3, 4]]
    assert gpu_free(manager) == 3
    assert manager.status("a") is Status.RUNNING
    assert (manager.num_tokens("c"), manager.unseen("c")) == (4, 0)


def test_a_group_shares_its_prompt() -> None:
    manager = BlockManager(block_size=2, num_gpu_blocks=4)
    manager.allocate("g", ["a", "b", "c"], 3)
    assert manager.block_table("a") == manager.block_table("b") == manager.block_table("c") == [0, 1]
    assert [manager.refcount(Device.GPU, block) for block in range(4)] == [3, 3, 0, 0]
    assert manager.members("g") == ["a", "b", "c"]
    assert manager.group_of("c") == "g"


def test_rows_of_a_group_are_separate_lists() -> None:
    manager = BlockManager(block_size=2, num_gpu_blocks=4)
    manager.allocate("g", ["a", "b"], 2)
    manager.add_tokens("a", 1)
    manager.append("a")
    assert (manager.block_table("a"), manager.block_table("b")) == ([0, 1], [0])
    manager.block_table("a").clear()
    assert manager.block_table("a") == [0, 1]


# 4 blocks of 2 slots, 1 of them watermark, 1 held by another group.
@pytest.mark.parametrize(
    ("tokens", "lookahead", "answer"),
    [(4, 0, OK), (3, 1, OK), (4, 1, LATER), (5, 0, LATER), (6, 0, LATER), (6, 1, NEVER), (7, 0, NEVER)],
)
def test_admission_verdicts(tokens: int, lookahead: int, answer: AllocStatus) -> None:
    manager = BlockManager(block_size=2, num_gpu_blocks=4, watermark_blocks=1)
    manager.allocate("other", ["x"], 1)
    assert manager.can_allocate("g", ["a"], tokens, lookahead) is answer


def test_the_number_of_sequences_does_not_change_the_need() -> None:
    manager = BlockManager(block_size=1, num_gpu_blocks=2)
    assert manager.can_allocate("g", ["a", "b", "c"], 2) is OK
    assert manager.can_allocate("g", ["a"], 3) is NEVER


def test_the_watermark_binds_the_guard_and_not_the_operation() -> None:
    manager = BlockManager(block_size=1, num_gpu_blocks=3, watermark_blocks=2)
    assert manager.can_allocate("g", ["a"], 2) is NEVER
    manager.allocate("g", ["a"], 2)
    assert gpu_free(manager) == 1


def test_a_watermark_above_the_pool_admits_nobody() -> None:
    manager = BlockManager(block_size=1, num_gpu_blocks=3, watermark_blocks=9)
    assert manager.can_allocate("g", ["a"], 1) is NEVER


def test_allocate_that_runs_out_changes_nothing() -> None:
    manager = BlockManager(block_size=1, num_gpu_blocks=3)
    manager.allocate("g", ["a"], 2)
    before = snapshot(manager)
    with pytest.raises(OutOfBlocks):
        manager.allocate("h", ["b", "c"], 2)
    assert snapshot(manager) == before


def test_preempt_gives_every_block_back_and_keeps_the_tokens() -> None:
    manager = BlockManager(block_size=2, num_gpu_blocks=5)
    manager.allocate("g", ["a", "b"], 3)
    manager.add_tokens("a", 2)
    manager.preempt("g")
    assert gpu_free(manager) == 5
    assert [manager.status(s) for s in "ab"] == [Status.WAITING, Status.WAITING]
    assert manager.block_table("a") == manager.block_table("b") == []
    assert [manager.num_tokens(s) for s in "ab"] == [5, 3]
    assert [manager.unseen(s) for s in "ab"] == [5, 3]


def test_readmit_gives_each_sequence_blocks_of_its_own() -> None:
    manager = BlockManager(block_size=2, num_gpu_blocks=5)
    manager.allocate("g", ["a", "b"], 3)
    manager.add_tokens("a", 2)
    manager.preempt("g")
    manager.readmit("g")
    rows = [manager.block_table(s) for s in "ab"]
    assert [len(row) for row in rows] == [3, 2]
    assert sorted(rows[0] + rows[1]) == [0, 1, 2, 3, 4]
    assert [manager.refcount(Device.GPU, block) for block in range(5)] == [1] * 5
    assert [manager.unseen(s) for s in "ab"] == [0, 0]
    assert append_all(manager, "g", 0) == []


# Tokens 5 and 3 in blocks of 2, watermark 1: needs 3 + 2 without lookahead, 3 + 2 with 1, 4 + 3 with 2 or 3.
@pytest.mark.parametrize(
    ("blocks", "lookahead", "held", "answer"),
    [
        (6, 0, 0, OK),
        (6, 1, 0, OK),
        (6, 0, 1, LATER),
        (5, 0, 0, NEVER),
        (6, 2, 0, NEVER),
        (8, 3, 0, OK),
        (8, 3, 1, LATER),
    ],
)
def test_readmission_verdicts(blocks: int, lookahead: int, held: int, answer: AllocStatus) -> None:
    manager = BlockManager(block_size=2, num_gpu_blocks=blocks, watermark_blocks=1)
    manager.allocate("g", ["a", "b"], 3)
    manager.add_tokens("a", 2)
    manager.preempt("g")
    if held:
        manager.allocate("other", ["x"], 2 * held)
    assert manager.can_readmit("g", lookahead) is answer


def test_readmit_that_runs_out_changes_nothing() -> None:
    manager = BlockManager(block_size=1, num_gpu_blocks=3)
    manager.allocate("g", ["a", "b"], 2)
    manager.preempt("g")
    before = snapshot(manager)
    with pytest.raises(OutOfBlocks):
        manager.readmit("g")
    assert snapshot(manager) == before
    manager.free("b")
    manager.readmit("g")
    assert len(manager.block_table("a")) == 2
