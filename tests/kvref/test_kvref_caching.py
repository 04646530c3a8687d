"""Prefix caching behind the guards: hits, exact counts, publishing, eviction, and each way a row can go."""

from collections.abc import Callable

import pytest
from kvref_support import append_all, gpu_free, snapshot

from kvref import AllocStatus, BlockManager, Device, InvalidRequest, OutOfBlocks, WrongStatus

OK, LATER, NEVER = AllocStatus.OK, AllocStatus.LATER, AllocStatus.NEVER


def caching(*, block_size: int = 2, blocks: int = 8, cpu: int = 0, watermark: int = 0) -> BlockManager:
    return BlockManager(
        block_size=block_size,
        num_gpu_blocks=blocks,
        num_cpu_blocks=cpu,
        watermark_blocks=watermark,
        prefix_caching=True,
    )


def ran(manager: BlockManager, seq_id: str, prompt: list[int], extra: object = None) -> int:
    """Admit a group of one and run its step."""
    cached = manager.allocate(f"group of {seq_id}", [seq_id], prompt, extra=extra)
    manager.computed(seq_id)
    return cached


def test_whole_blocks_of_a_computed_prefix_are_hit() -> None:
    manager = caching(blocks=12)
    assert ran(manager, "a", [1, 2, 3, 4, 5]) == 0
    assert manager.allocate("h", ["b"], [1, 2, 3, 4, 6]) == 4
    assert (manager.block_table("a"), manager.block_table("b")) == ([0, 1, 2], [0, 1, 3])
    assert manager.allocate("i", ["c"], [1, 2, 4, 3, 5]) == 2
    assert manager.allocate("j", ["d"], [2, 1, 3, 4, 5]) == 0
    assert [manager.refcount(Device.GPU, block) for block in range(2)] == [3, 2]


def test_nothing_is_hit_before_it_is_computed() -> None:
    manager = caching()
    manager.allocate("g", ["a"], [1, 2, 3])
    assert manager.allocate("h", ["b"], [1, 2, 3]) == 0
    manager.computed("a")
    assert manager.allocate("i", ["c"], [1, 2, 3]) == 2
    assert manager.block_table("c")[0] == manager.block_table("a")[0]


def test_a_row_freed_before_its_step_leaves_nothing() -> None:
    manager = caching()
    manager.allocate("g", ["a"], [1, 2, 3])
    manager.free("a")
    assert manager.cached_blocks() == ()
    assert manager.allocate("h", ["b"], [1, 2, 3]) == 0


def test_a_full_hit_leaves_one_token_to_compute() -> None:
    manager = caching()
    ran(manager, "a", [1, 2, 3, 4])
    assert manager.allocate("h", ["b"], [1, 2, 3, 4]) == 2
    assert manager.block_table("b") == [0, 2]
    assert manager.allocate("i", ["c"], [1]) == 0


def test_hits_outlive_their_owner_and_keep_their_blocks() -> None:
    manager = caching()
    ran(manager, "a", [1, 2, 3, 4, 5])
    manager.free("a")
    assert gpu_free(manager) == 8
    assert manager.cached_blocks() == (1, 0)
    assert manager.allocate("h", ["b"], [1, 2, 3, 4, 9]) == 4
    assert manager.block_table("b")[:2] == [0, 1]
    assert manager.cached_blocks() == ()


def test_hits_that_are_free_are_counted_once() -> None:
    manager = caching(block_size=1, blocks=4)
    ran(manager, "a", [1, 2])
    ran(manager, "b", [8])
    manager.free("a")
    assert (gpu_free(manager), len(manager.cached_blocks())) == (3, 2)
    assert manager.can_allocate("h", ["c"], [1, 2, 3, 4]) is LATER
    before = snapshot(manager)
    with pytest.raises(OutOfBlocks, match="4 blocks wanted, 3 of 4 free"):
        manager.allocate("h", ["c"], [1, 2, 3, 4])
    assert snapshot(manager) == before
    assert manager.can_allocate("h", ["c"], [1, 2, 3]) is OK
    assert manager.allocate("h", ["c"], [1, 2, 3]) == 2
    assert gpu_free(manager) == 0


def test_two_free_hits_and_three_fresh_blocks_do_not_fit_in_four() -> None:
    manager = caching(block_size=1, blocks=4)
    ran(manager, "a", [1, 2])
    manager.free("a")
    assert manager.can_allocate("h", ["b"], [1, 2, 3, 4, 5]) is NEVER
    before = snapshot(manager)
    with pytest.raises(OutOfBlocks):
        manager.allocate("h", ["b"], [1, 2, 3, 4, 5])
    assert snapshot(manager) == before


def test_hits_that_others_hold_cost_nothing() -> None:
    manager = caching(block_size=1, blocks=5, watermark=1)
    ran(manager, "a", [1, 2, 3])
    assert manager.can_allocate("h", ["b"], [1, 2, 3, 4]) is OK
    assert manager.can_allocate("h", ["b"], [1, 2, 9, 4]) is LATER
    assert manager.can_allocate("h", ["b"], [1, 2, 3, 4, 5]) is NEVER
    assert manager.allocate("h", ["b"], [1, 2, 3, 4]) == 3
    assert gpu_free(manager) == 1


def test_a_group_shares_its_hits_too() -> None:
    manager = caching()
    ran(manager, "x", [1, 2, 3])
    manager.free("x")
    assert manager.allocate("g", ["a", "b"], [1, 2, 4]) == 2
    assert manager.block_table("a") == manager.block_table("b") == [0, 1]
    assert [manager.refcount(Device.GPU, block) for block in (0, 1)] == [2, 2]
    for seq_id in "ab":
        manager.computed(seq_id)
        manager.add_tokens(seq_id, [5])
    assert append_all(manager, "g", 0) == [(1, 2)]
    manager.check()


def test_extra_keys_keep_contents_apart() -> None:
    manager = caching()
    ran(manager, "a", [1, 2, 3], extra="adapter")
    assert ran(manager, "b", [1, 2, 3]) == 0
    assert ran(manager, "c", [1, 2, 3], extra=("adapter", "salt")) == 0
    assert ran(manager, "d", [1, 2, 3], extra="adapter") == 2
    assert manager.block_table("d")[0] == manager.block_table("a")[0]


def test_generated_tokens_are_published_when_their_block_is_whole_and_computed() -> None:
    manager = caching()
    ran(manager, "a", [1, 2, 3])
    manager.add_tokens("a", [4, 5])
    manager.append("a", lookahead=3)
    assert manager.can_allocate("h", ["b"], [1, 2, 3, 4, 9]) is OK
    manager.computed("a")
    manager.free("a")
    assert manager.cached_blocks() == (1, 0)
    assert manager.allocate("h", ["b"], [1, 2, 3, 4, 5, 6]) == 4


def test_unseen_tokens_are_not_published() -> None:
    manager = caching()
    manager.allocate("g", ["a"], [1])
    manager.add_tokens("a", [2])
    manager.computed("a")
    manager.free("a")
    assert manager.cached_blocks() == ()


def test_later_blocks_are_evicted_before_their_prefix() -> None:
    manager = caching(block_size=1, blocks=4)
    ran(manager, "a", [1, 2, 3, 4])
    manager.free("a")
    assert manager.free_blocks(Device.GPU) == manager.cached_blocks() == (3, 2, 1, 0)
    manager.allocate("h", ["b"], [9, 9])
    assert manager.block_table("b") == [3, 2]
    assert manager.cached_blocks() == (1, 0)


def test_the_least_recently_used_goes_first() -> None:
    manager = caching(block_size=1, blocks=3)
    ran(manager, "a", [1])
    ran(manager, "b", [2])
    manager.free("a")
    manager.free("b")
    assert ran(manager, "c", [1, 7]) == 1
    manager.free("c")
    assert manager.cached_blocks() == (1, 2, 0)


def test_asking_and_failing_do_not_count_as_use() -> None:
    manager = caching(block_size=1, blocks=3)
    ran(manager, "a", [1])
    ran(manager, "b", [2])
    manager.free("a")
    manager.free("b")
    before = snapshot(manager)
    manager.can_allocate("g", ["c"], [1, 3])
    with pytest.raises(OutOfBlocks):
        manager.allocate("g", ["c"], [1, 3, 4, 5])
    assert snapshot(manager) == before


def test_a_second_block_with_the_same_content_is_an_ordinary_one() -> None:
    manager = caching()
    for group, seq_id in (("g", "a"), ("h", "b")):
        manager.allocate(group, [seq_id], [1, 2])
    manager.computed("a")
    manager.computed("b")
    manager.free("b")
    assert manager.cached_blocks() == ()
    manager.free("a")
    assert manager.cached_blocks() == (0,)


def test_a_fork_publishes_what_becomes_its_own() -> None:
    manager = caching()
    ran(manager, "a", [1, 2, 3])
    manager.fork("a", "b")
    manager.add_tokens("a", [4])
    manager.add_tokens("b", [5])
    assert append_all(manager, "group of a", 0) == [(1, 2)]
    for seq_id in "ab":
        manager.computed(seq_id)
    assert manager.allocate("h", ["c"], [1, 2, 3, 4, 0]) == 4
    assert manager.allocate("i", ["d"], [1, 2, 3, 5, 0]) == 4
    assert manager.block_table("c")[:2] == [0, 2]
    assert manager.block_table("d")[:2] == [0, 1]


def test_a_fork_has_the_parents_unseen_tokens_or_none() -> None:
    manager = caching()
    manager.allocate("g", ["a"], [1])
    manager.add_tokens("a", [2, 3])
    manager.fork("a", "b")
    manager.fork("a", "c", 0)
    assert [manager.unseen(s) for s in "bc"] == [2, 0]
    with pytest.raises(InvalidRequest, match="without ids"):
        manager.fork("a", "d", 2)
    manager.check()


def test_preempt_and_readmit_find_what_was_computed() -> None:
    manager = caching()
    manager.allocate("g", ["a", "b"], [1, 2, 3])
    manager.computed("a")
    manager.add_tokens("a", [4, 5])
    manager.append("a")
    manager.computed("a")
    manager.preempt("g")
    assert gpu_free(manager) == 8
    assert manager.readmit("g") == [4, 2]
    assert manager.block_table("a")[0] == manager.block_table("b")[0] == 0
    manager.check()


def test_readmission_counts_a_free_block_that_two_sequences_hit_once() -> None:
    manager = caching(block_size=1, blocks=5)
    manager.allocate("g", ["a", "b"], [1, 2, 3])
    manager.computed("a")
    manager.preempt("g")
    assert len(manager.cached_blocks()) == 3
    # Rows of 3 and 3 blocks that begin with the same 2: 4 in all.
    assert manager.can_readmit("g") is OK
    assert manager.readmit("g") == [2, 2]
    assert gpu_free(manager) == 1
    manager.preempt("g")
    manager.evict(5)
    assert manager.can_readmit("g") is NEVER


def test_swapped_blocks_stay_cached_on_the_gpu_and_are_published_again_when_back() -> None:
    manager = caching(blocks=4, cpu=4)
    ran(manager, "a", [1, 2, 3, 4, 5])
    assert manager.swap_out("group of a") == [(0, 0), (1, 1), (2, 2)]
    assert manager.cached_blocks() == (1, 0)
    assert ran(manager, "b", [1, 2, 3]) == 2
    manager.free("b")
    assert manager.evict(4) == 2
    manager.swap_in("group of a")
    assert manager.can_allocate("h", ["c"], [1, 2, 3]) is LATER
    manager.computed("a")
    assert manager.can_allocate("h", ["c"], [1, 2, 3]) is OK
    assert manager.allocate("h", ["c"], [1, 2, 3]) == 2
    assert manager.block_table("c")[0] == manager.block_table("a")[0]
    manager.check()


def test_a_block_on_the_cpu_is_not_indexed() -> None:
    manager = caching(blocks=2, cpu=2)
    ran(manager, "a", [1, 2, 3])
    manager.swap_out("group of a")
    manager.evict(2)
    with pytest.raises(WrongStatus):
        manager.computed("a")
    assert manager.allocate("h", ["b"], [1, 2, 3]) == 0
    manager.free("a")
    assert manager.num_free(Device.CPU) == 2
    manager.check()


def test_a_swapped_out_prefix_that_others_hold_stays_theirs() -> None:
    manager = caching(blocks=6, cpu=4)
    ran(manager, "a", [1, 2, 3])
    assert ran(manager, "b", [1, 2, 4]) == 2
    manager.swap_out("group of a")
    assert manager.refcount(Device.GPU, 0) == 1
    assert manager.cached_blocks() == ()
    manager.swap_in("group of a")
    manager.computed("a")
    manager.free("a")
    # The copy that came back was never the indexed one.
    assert manager.cached_blocks() == ()
    manager.check()


def test_after_the_index_is_forgotten_nothing_old_is_hit_or_published() -> None:
    manager = caching()
    ran(manager, "a", [1, 2, 3])
    ran(manager, "b", [8, 8, 8])
    manager.free("b")
    manager.allocate("g", ["not run yet"], [5, 5, 5])
    manager.reset_index()
    assert (manager.cached_blocks(), gpu_free(manager)) == ((), 4)
    manager.add_tokens("a", [4, 5])
    manager.append("a")
    manager.computed("a")
    manager.computed("not run yet")
    manager.check()
    assert manager.allocate("h", ["c"], [1, 2, 3]) == 0
    assert manager.allocate("i", ["d"], [5, 5, 5]) == 2
    manager.free("c")
    manager.preempt("group of a")
    assert manager.readmit("group of a") == [0]
    manager.computed("a")
    assert manager.allocate("j", ["e"], [1, 2, 3]) == 2
    manager.check()


def test_reset_forgets_content() -> None:
    manager = caching()
    ran(manager, "a", [1, 2, 3])
    manager.free("a")
    manager.reset()
    assert snapshot(manager) == snapshot(caching())
    assert ran(manager, "a", [1, 2, 3]) == 0


def test_without_prefix_caching_ids_are_as_good_as_their_number() -> None:
    with_ids, with_numbers = (BlockManager(block_size=2, num_gpu_blocks=8) for _ in range(2))
    assert with_ids.allocate("g", ["a"], [1, 2, 3]) == 0
    with_numbers.allocate("g", ["a"], 3)
    with_ids.add_tokens("a", [4, 5])
    with_numbers.add_tokens("a", 2)
    for manager in (with_ids, with_numbers):
        manager.append("a")
        manager.computed("a")
        manager.preempt("g")
        assert manager.readmit("g") == [0]
        assert (manager.cached_blocks(), manager.evict(3)) == ((), 0)
        manager.reset_index()
    assert snapshot(with_ids) == snapshot(with_numbers)


@pytest.mark.parametrize(
    "call",
    [
        lambda m: m.allocate("g", ["b"], 3),
        lambda m: m.can_allocate("g", ["b"], 3),
        lambda m: m.allocate("g", ["b"], []),
        lambda m: m.allocate("g", ["b"], [1], extra=[]),
        lambda m: m.can_allocate("g", ["b"], [1], extra={}),
        lambda m: m.add_tokens("a", 1),
        lambda m: m.add_tokens("a", []),
        lambda m: m.evict(-1),
    ],
)
def test_what_prefix_caching_refuses(call: Callable[[BlockManager], object]) -> None:
    manager = caching()
    ran(manager, "a", [1, 2, 3])
    before = snapshot(manager)
    with pytest.raises(InvalidRequest):
        call(manager)
    assert snapshot(manager) == before


def test_the_index_is_as_large_as_what_is_published() -> None:
    manager = caching(block_size=2, blocks=16)
    for number in range(500):
        prompt = [1, 2, *(number // 7**place % 7 for place in range(6)), 0]
        ran(manager, "a", prompt)
        manager.free("a")
        pool = manager._gpu
        assert len(pool.index.nodes()) <= manager.num_total(Device.GPU) + 1  # type: ignore[attr-defined]
    manager.evict(16)
    assert pool.index.nodes() == []  # type: ignore[attr-defined]
    assert pool._nodes == [None] * 16  # type: ignore[attr-defined]


def test_a_long_prefix_needs_no_recursion() -> None:
    manager = caching(block_size=1, blocks=20_000)
    prompt = [7] * 20_000
    ran(manager, "a", prompt)
    manager.free("a")
    assert manager.allocate("h", ["b"], prompt) == 19_999
    manager.free("b")
    assert manager.evict(20_000) == 19_999  # the full hit had given up its last block
    manager.check()
