"""Swapping: what moves, what stays shared, and the exact admission of a swap-in."""

import pytest
from kvref_support import append_all, gpu_free, snapshot

from kvref import AllocStatus, BlockManager, Device, OutOfBlocks, Status

OK, LATER, NEVER = AllocStatus.OK, AllocStatus.LATER, AllocStatus.NEVER


def test_a_round_trip_moves_each_distinct_block_once() -> None:
    manager = BlockManager(block_size=2, num_gpu_blocks=6, num_cpu_blocks=4)
    manager.allocate("g", ["a", "b"], 3)
    manager.add_tokens("a", 1)
    manager.append("a")
    assert (manager.block_table("a"), manager.block_table("b")) == ([0, 2], [0, 1])
    assert manager.swap_out("g") == [(0, 0), (2, 1), (1, 2)]
    assert (manager.block_table("a"), manager.block_table("b")) == ([0, 1], [0, 2])
    assert [manager.refcount(Device.CPU, block) for block in range(4)] == [2, 1, 1, 0]
    assert (gpu_free(manager), manager.num_free(Device.CPU)) == (6, 1)
    assert manager.status("b") is Status.SWAPPED

    transfers = manager.swap_in("g")
    assert [source for source, _ in transfers] == [0, 1, 2]
    targets = dict(transfers)
    assert manager.block_table("a") == [targets[0], targets[1]]
    assert manager.block_table("b") == [targets[0], targets[2]]
    assert manager.refcount(Device.GPU, targets[0]) == 2
    assert (gpu_free(manager), manager.num_free(Device.CPU)) == (3, 4)
    assert [manager.status(s) for s in "ab"] == [Status.RUNNING, Status.RUNNING]
    manager.check()


def test_unseen_tokens_survive_a_swap() -> None:
    manager = BlockManager(block_size=2, num_gpu_blocks=2, num_cpu_blocks=1)
    manager.allocate("g", ["a"], 1)
    manager.add_tokens("a", 2)
    manager.swap_out("g")
    assert (manager.num_tokens("a"), manager.unseen("a")) == (3, 2)
    manager.swap_in("g")
    assert manager.unseen("a") == 2
    assert manager.append("a") == []
    assert len(manager.block_table("a")) == 2


def test_empty_tail_blocks_move_too_and_are_counted() -> None:
    manager = BlockManager(block_size=1, num_gpu_blocks=3, num_cpu_blocks=1)
    manager.allocate("g", ["a"], 1)
    manager.append("a", 1)
    assert manager.can_swap_out("g") is NEVER
    before = snapshot(manager)
    with pytest.raises(OutOfBlocks):
        manager.swap_out("g")
    assert snapshot(manager) == before


def test_swap_out_verdicts_count_distinct_blocks() -> None:
    manager = BlockManager(block_size=2, num_gpu_blocks=8, num_cpu_blocks=3, watermark_blocks=5)
    manager.allocate("g", ["a", "b"], 6)
    manager.allocate("h", ["c"], 1)
    manager.allocate("i", ["d"], 8)
    assert [manager.can_swap_out(group) for group in "ghi"] == [OK, OK, NEVER]
    manager.swap_out("h")
    assert [manager.can_swap_out(group) for group in "gi"] == [LATER, NEVER]
    manager.free("c")
    assert manager.can_swap_out("g") is OK


def test_no_cpu_pool_means_never() -> None:
    manager = BlockManager(block_size=2, num_gpu_blocks=8)
    manager.allocate("g", ["a"], 1)
    assert manager.can_swap_out("g") is NEVER


def swapped(
    *, block_size: int, blocks: int, prompt: int, unseen: int = 0, tail: int = 0, watermark: int = 0, held: int = 0
) -> BlockManager:
    """One swapped group `g` of one sequence `a`, and `held` GPU blocks with another group."""
    manager = BlockManager(block_size=block_size, num_gpu_blocks=blocks, num_cpu_blocks=8, watermark_blocks=watermark)
    manager.allocate("g", ["a"], prompt, lookahead=tail)
    if unseen:
        manager.add_tokens("a", unseen)
    manager.swap_out("g")
    if held:
        manager.allocate("other", ["x"], held * block_size)
    return manager


def test_swap_in_counts_unseen_tokens() -> None:
    assert swapped(block_size=1, blocks=1, prompt=1, unseen=1).can_swap_in("g") is NEVER
    assert swapped(block_size=1, blocks=2, prompt=1, unseen=1).can_swap_in("g") is OK
    assert swapped(block_size=4, blocks=2, prompt=3, unseen=1, held=1).can_swap_in("g", 1) is LATER


def test_swap_in_counts_lookahead() -> None:
    assert swapped(block_size=4, blocks=2, prompt=4).can_swap_in("g", 5) is NEVER
    assert swapped(block_size=4, blocks=3, prompt=4).can_swap_in("g", 5) is OK
    assert swapped(block_size=4, blocks=3, prompt=4, held=1).can_swap_in("g", 5) is LATER


def test_a_partial_last_block_filled_in_place_costs_nothing_extra() -> None:
    assert swapped(block_size=4, blocks=1, prompt=2, unseen=1).can_swap_in("g", 1) is OK


def test_an_empty_tail_is_moved_and_then_used() -> None:
    # A row of 3 blocks, 1 of them filled: moving takes 3, appending 2 more tokens takes none.
    for lookahead, need in [(0, 3), (2, 3), (3, 4)]:
        for blocks in (3, 4, 5):
            manager = swapped(block_size=1, blocks=blocks, prompt=1, tail=2)
            expected = OK if blocks >= need else NEVER
            assert manager.can_swap_in("g", lookahead) is expected


def test_swap_in_keeps_the_watermark() -> None:
    assert swapped(block_size=1, blocks=3, prompt=2, watermark=1).can_swap_in("g") is OK
    assert swapped(block_size=1, blocks=3, prompt=2, watermark=1, held=1).can_swap_in("g") is LATER
    assert swapped(block_size=1, blocks=3, prompt=2, unseen=1, watermark=1).can_swap_in("g") is NEVER


def test_swap_in_counts_the_copies_of_shared_blocks_exactly() -> None:
    # 2 blocks, the partial one shared by three writers: 2 move, 2 copies.
    for blocks, expected in [(3, NEVER), (4, OK)]:
        manager = BlockManager(block_size=2, num_gpu_blocks=blocks, num_cpu_blocks=2)
        manager.allocate("g", ["a", "b", "c"], 3)
        for seq_id in "abc":
            manager.add_tokens(seq_id, 1)
        manager.swap_out("g")
        assert manager.can_swap_in("g") is expected
        manager.swap_in("g")
        if expected is OK:
            assert len(append_all(manager, "g", 0)) == 2
            assert gpu_free(manager) == 0


def test_swap_in_past_its_guard_fails_only_if_the_blocks_to_move_do_not_fit() -> None:
    manager = swapped(block_size=1, blocks=2, prompt=2, unseen=3)
    assert manager.can_swap_in("g") is NEVER
    assert len(manager.swap_in("g")) == 2

    manager = swapped(block_size=1, blocks=2, prompt=2, held=1)
    before = snapshot(manager)
    with pytest.raises(OutOfBlocks):
        manager.swap_in("g")
    assert snapshot(manager) == before
