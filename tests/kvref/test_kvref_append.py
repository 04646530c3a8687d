"""Append and fork: growth, the exclusive-writer rule, copies, and the exact group guard."""

import pytest
from kvref_support import append_all, gpu_free, snapshot

from kvref import AllocStatus, BlockManager, Device, OutOfBlocks

OK, LATER, NEVER = AllocStatus.OK, AllocStatus.LATER, AllocStatus.NEVER


def manager_with(seq_ids: list[str], tokens: int, *, block_size: int = 4, blocks: int = 8) -> BlockManager:
    manager = BlockManager(block_size=block_size, num_gpu_blocks=blocks)
    manager.allocate("g", seq_ids, tokens)
    return manager


def test_tokens_are_unseen_until_appended() -> None:
    manager = manager_with(["a"], 3)
    manager.add_tokens("a", 2)
    manager.add_tokens("a", 1)
    assert (manager.num_tokens("a"), manager.unseen("a")) == (6, 3)
    assert manager.block_table("a") == [0]
    assert manager.append("a") == []
    assert (manager.num_tokens("a"), manager.unseen("a")) == (6, 0)
    assert manager.block_table("a") == [0, 1]


def test_append_fills_the_partial_block_in_place() -> None:
    manager = manager_with(["a"], 3)
    manager.add_tokens("a", 1)
    assert manager.append("a") == []
    assert manager.block_table("a") == [0]


@pytest.mark.parametrize(("lookahead", "length"), [(0, 1), (1, 2), (4, 2), (5, 3), (12, 4)])
def test_lookahead_lengthens_the_row(lookahead: int, length: int) -> None:
    manager = manager_with(["a"], 4)
    assert manager.append("a", lookahead) == []
    assert len(manager.block_table("a")) == length
    assert manager.unseen("a") == 0


def test_the_row_never_shrinks_and_its_tail_is_used_again() -> None:
    manager = manager_with(["a"], 4)
    manager.append("a", 9)
    assert manager.block_table("a") == [0, 1, 2, 3]
    manager.add_tokens("a", 5)
    manager.append("a")
    assert manager.block_table("a") == [0, 1, 2, 3]
    assert gpu_free(manager) == 4


def test_nothing_to_append_takes_nothing_even_from_shared_blocks() -> None:
    manager = manager_with(["a", "b"], 3)
    before = snapshot(manager)
    assert append_all(manager, "g", 0) == []
    assert snapshot(manager) == before


def test_a_shared_partial_block_is_copied_once_for_two_writers() -> None:
    manager = manager_with(["a", "b"], 6)
    for seq_id in "ab":
        manager.add_tokens(seq_id, 1)
    assert manager.append("a") == [(1, 2)]
    assert manager.append("b") == []
    assert (manager.block_table("a"), manager.block_table("b")) == ([0, 2], [0, 1])
    assert [manager.refcount(Device.GPU, block) for block in range(3)] == [2, 1, 1]


def test_a_full_shared_block_is_not_copied() -> None:
    manager = manager_with(["a", "b"], 4)
    for seq_id in "ab":
        manager.add_tokens(seq_id, 1)
    assert append_all(manager, "g", 0) == []
    assert (manager.block_table("a"), manager.block_table("b")) == ([0, 1], [0, 2])


def test_a_shared_empty_lookahead_block_is_replaced_without_a_copy() -> None:
    manager = BlockManager(block_size=4, num_gpu_blocks=8)
    manager.allocate("g", ["a", "b"], 4, lookahead=1)
    manager.add_tokens("a", 1)
    assert manager.append("a") == []
    assert (manager.block_table("a"), manager.block_table("b")) == ([0, 2], [0, 1])


def test_partial_block_copied_and_empty_block_replaced_in_one_append() -> None:
    manager = BlockManager(block_size=2, num_gpu_blocks=8)
    manager.allocate("g", ["a", "b"], 3, lookahead=2)
    assert manager.append("a", lookahead=4) == [(1, 3)]
    assert manager.block_table("a") == [0, 3, 4, 5]
    assert manager.block_table("b") == [0, 1, 2]


def test_lookahead_slots_are_written_too_so_their_block_is_not_shared() -> None:
    manager = manager_with(["a", "b"], 3)
    assert manager.append("a", lookahead=1) == [(0, 1)]


def test_a_shared_block_beyond_the_write_range_stays_shared() -> None:
    manager = BlockManager(block_size=2, num_gpu_blocks=8)
    manager.allocate("g", ["a", "b"], 2, lookahead=4)
    manager.add_tokens("a", 1)
    manager.append("a")
    assert (manager.block_table("a"), manager.block_table("b")) == ([0, 3, 2], [0, 1, 2])
    assert manager.refcount(Device.GPU, 2) == 2


def test_append_that_runs_out_changes_nothing() -> None:
    manager = manager_with(["a", "b"], 3, blocks=2)
    manager.add_tokens("a", 2)
    before = snapshot(manager)
    with pytest.raises(OutOfBlocks, match="2 blocks wanted, 1 of 2 free"):
        manager.append("a")
    assert snapshot(manager) == before


# r owners of a partial block of whom k write take min(k, r - 1) blocks, neither k nor r.
@pytest.mark.parametrize(("owners", "writers"), [(r, k) for r in range(1, 5) for k in range(1, r + 1)])
def test_the_guard_counts_copies_until_the_last_owner(owners: int, writers: int) -> None:
    need = min(writers, owners - 1)
    for blocks in range(1, 7):
        manager = manager_with(list("abcd"[:owners]), 3, blocks=blocks)
        for seq_id in "abcd"[:writers]:
            manager.add_tokens(seq_id, 1)
        expected = OK if blocks - 1 >= need else NEVER
        assert manager.can_append("g") is expected
        if expected is OK:
            assert len(append_all(manager, "g", 0)) == need
            assert gpu_free(manager) == blocks - 1 - need


def test_the_append_guard_ignores_the_watermark() -> None:
    manager = BlockManager(block_size=1, num_gpu_blocks=3, watermark_blocks=2)
    manager.allocate("g", ["a"], 1)
    manager.add_tokens("a", 2)
    assert manager.can_append("g") is OK
    assert manager.can_append("g", 1) is NEVER


def test_append_verdicts() -> None:
    manager = BlockManager(block_size=1, num_gpu_blocks=4)
    manager.allocate("g", ["a"], 1)
    manager.allocate("h", ["b"], 2)
    manager.add_tokens("a", 1)
    assert manager.can_append("g") is OK
    assert manager.can_append("g", 1) is LATER
    assert manager.can_append("g", 2) is LATER
    assert manager.can_append("g", 3) is NEVER


def test_fork_shares_the_row_and_takes_no_block() -> None:
    manager = manager_with(["a"], 6)
    manager.fork("a", "b")
    assert manager.block_table("b") == manager.block_table("a") == [0, 1]
    assert [manager.refcount(Device.GPU, block) for block in (0, 1)] == [2, 2]
    assert gpu_free(manager) == 6
    assert manager.members("g") == ["a", "b"]
    assert (manager.num_tokens("b"), manager.unseen("b")) == (6, 0)


@pytest.mark.parametrize(("unseen", "tokens"), [(None, 5), (0, 3), (1, 4), (7, 10)])
def test_fork_keeps_the_seen_tokens_and_sets_the_unseen_ones(unseen: int | None, tokens: int) -> None:
    manager = manager_with(["a"], 3)
    manager.add_tokens("a", 2)
    manager.fork("a", "b", unseen)
    assert manager.num_tokens("b") == tokens
    assert manager.unseen("b") == tokens - 3
    assert manager.unseen("a") == 2


def test_fork_of_a_fork_and_the_last_reader_writes_in_place() -> None:
    manager = manager_with(["a"], 3)
    manager.fork("a", "b")
    manager.fork("b", "c")
    assert manager.refcount(Device.GPU, 0) == 3
    manager.free("a")
    manager.add_tokens("b", 1)
    assert manager.append("b") == [(0, 1)]
    manager.add_tokens("c", 1)
    assert manager.append("c") == []
