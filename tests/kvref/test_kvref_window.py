"""Sliding windows: what is given up and when, the null block, hits without a beginning, and each way a row can go."""

from collections.abc import Callable

import pytest
from kvref_support import append_all, gpu_free, ran, request_snapshot, snapshot

from kvref import (
    NULL,
    AllocStatus,
    BlockManager,
    BlockNotHeld,
    BrokenInvariant,
    Device,
    DoubleFree,
    InvalidConfig,
    OutOfBlocks,
    RequestManager,
)

OK, LATER, NEVER = AllocStatus.OK, AllocStatus.LATER, AllocStatus.NEVER
N = NULL


def sliding(
    window: int, *, block_size: int = 2, blocks: int = 9, cpu: int = 0, watermark: int = 0, caching: bool = False
) -> BlockManager:
    return BlockManager(
        block_size=block_size,
        num_gpu_blocks=blocks,
        num_cpu_blocks=cpu,
        watermark_blocks=watermark,
        prefix_caching=caching,
        sliding_window=window,
    )


def grow(manager: BlockManager, seq_id: str, tokens: list[int]) -> None:
    """A step for each token."""
    for token in tokens:
        manager.add_tokens(seq_id, [token])
        manager.append(seq_id)
        manager.computed(seq_id)


# --- what is given up ---


@pytest.mark.parametrize(
    ("window", "gone"),
    # Of seven tokens the next one reads the last window - 1; blocks are of two.
    [(1, 3), (2, 3), (3, 2), (4, 2), (5, 1), (6, 1), (7, 0), (8, 0), (100, 0)],
)
def test_blocks_that_the_next_token_does_not_read_are_given_up(window: int, gone: int) -> None:
    manager = sliding(window)
    manager.allocate("g", ["a"], 7)
    before = manager.block_table("a")
    assert before == [1, 2, 3, 4]
    manager.computed("a")
    assert manager.block_table("a") == [N] * gone + before[gone:]
    assert gpu_free(manager) == 4 + gone
    manager.check()


def test_with_a_window_of_one_a_row_may_be_given_up_whole() -> None:
    manager = sliding(1, cpu=1)
    manager.allocate("g", ["a"], 4)
    manager.computed("a")
    assert (manager.block_table("a"), gpu_free(manager)) == ([N, N], 8)
    assert manager.swap_out("g") == manager.swap_in("g") == []
    manager.fork("a", "b")
    grow(manager, "a", [5])
    assert [manager.block_table(seq_id) for seq_id in "ab"] == [[N, N, 2], [N, N]]
    manager.check()


def test_nothing_is_given_up_before_it_is_computed() -> None:
    manager = sliding(2)
    manager.allocate("g", ["a"], 4)
    assert manager.block_table("a") == [1, 2]
    manager.computed("a")
    manager.add_tokens("a", 2)
    manager.append("a", lookahead=2)
    assert manager.block_table("a") == [N, 2, 1, 3]
    manager.computed("a")
    assert manager.block_table("a") == [N, N, 1, 3]
    manager.computed("a")
    assert manager.block_table("a") == [N, N, 1, 3]


def test_a_block_given_up_leaves_one_owner_only() -> None:
    manager = sliding(2)
    manager.allocate("g", ["a", "b"], 4)
    manager.computed("a")
    assert [manager.block_table(seq_id) for seq_id in "ab"] == [[N, 2], [1, 2]]
    assert [manager.refcount(Device.GPU, block) for block in (1, 2)] == [1, 2]
    manager.computed("b")
    assert manager.refcount(Device.GPU, 1) == 0


def test_a_fork_shares_what_is_left_and_goes_its_own_way() -> None:
    manager = sliding(3)
    manager.allocate("g", ["a"], 5)
    manager.computed("a")
    manager.fork("a", "b", 0)
    manager.add_tokens("a", 1)
    manager.add_tokens("b", 3)
    assert manager.can_append("g") is OK
    assert append_all(manager, "g", 0) == [(3, 1)]
    assert [manager.block_table(seq_id) for seq_id in "ab"] == [[N, 2, 1], [N, 2, 3, 4]]
    ran(manager, "g")
    assert [manager.block_table(seq_id) for seq_id in "ab"] == [[N, N, 1], [N, N, N, 4]]
    manager.check()


def test_a_swap_moves_what_is_left() -> None:
    manager = sliding(3, cpu=2)
    manager.allocate("g", ["a", "b"], 6)
    manager.computed("a")
    assert manager.can_swap_out("g") is NEVER
    manager.computed("b")
    assert manager.can_swap_out("g") is OK
    assert manager.swap_out("g") == [(3, 0)]
    assert manager.block_table("a") == manager.block_table("b") == [N, N, 0]
    assert (gpu_free(manager), manager.num_free(Device.CPU)) == (8, 1)
    manager.check()
    assert manager.swap_in("g") == [(0, 3)]
    assert manager.block_table("b") == [N, N, 3]
    grow(manager, "b", [1, 2])
    manager.check()


def test_after_a_preemption_everything_is_live_again() -> None:
    manager = sliding(3, blocks=5)
    manager.allocate("g", ["a"], 6)
    manager.computed("a")
    manager.preempt("g")
    assert (manager.block_table("a"), gpu_free(manager)) == ([], 4)
    assert manager.readmit("g", lookahead=1) == [0]
    assert N not in manager.block_table("a")
    manager.computed("a")
    assert manager.block_table("a")[:2] == [N, N]
    grow(manager, "a", [7, 8, 9, 10])
    manager.preempt("g")
    assert manager.can_readmit("g") is NEVER  # ten tokens in one piece
    manager.check()


def test_a_sequence_may_be_longer_than_the_pool() -> None:
    manager = sliding(4, blocks=4)
    manager.allocate("g", ["a"], 1)
    for _ in range(100):
        assert manager.can_append("g") is OK
        grow(manager, "a", [1])
    assert manager.block_table("a")[:48] == [N] * 48
    assert gpu_free(manager) == 1
    assert manager.can_append("g", lookahead=3) is OK
    assert manager.can_append("g", lookahead=4) is NEVER


# --- the null block ---


def test_block_0_is_set_aside() -> None:
    manager = sliding(4, blocks=3, watermark=1)
    assert (manager.null_block, manager.sliding_window) == (0, 4)
    assert (manager.num_total(Device.GPU), gpu_free(manager), manager.free_blocks(Device.GPU)) == (3, 2, (1, 2))
    assert manager.refcount(Device.GPU, 0) == 0
    assert [manager.can_allocate("g", ["a"], tokens) for tokens in (2, 3)] == [OK, NEVER]
    manager.allocate("g", ["a"], 4)
    assert manager.can_allocate("h", ["b"], 1) is LATER
    with pytest.raises(OutOfBlocks):
        manager.append("a", 1)
    manager.reset()
    assert snapshot(manager) == snapshot(sliding(4, blocks=3))
    manager.check()


def test_the_null_block_has_no_owner_to_leave_and_gets_none() -> None:
    pool = sliding(4)._gpu
    assert (pool.aside, pool.num_usable) == (0, 8)
    with pytest.raises(BlockNotHeld):
        pool.share(0)
    with pytest.raises(DoubleFree):
        pool.release(0)
    assert 0 not in pool.take_many(8)


def test_without_a_window_there_is_none() -> None:
    for manager in (BlockManager(block_size=1, num_gpu_blocks=2), RequestManager(1, 2)):
        assert (manager.null_block, manager.sliding_window) == (None, None)
        assert manager._gpu.num_usable == manager._gpu.num_free == 2


@pytest.mark.parametrize(("blocks", "null"), [(0, None), (1, 0)])
def test_pools_without_a_usable_block_start_and_admit_nothing(blocks: int, null: int | None) -> None:
    manager, requests = sliding(1, blocks=blocks), RequestManager(1, blocks, sliding_window=1)
    assert manager.null_block == requests.null_block == null
    assert manager.can_allocate("g", ["a"], 1) is NEVER
    assert requests.admit("a", [1]) is None
    manager.check()
    requests.check()


@pytest.mark.parametrize("window", [0, -1])
def test_windows_out_of_range(window: int) -> None:
    with pytest.raises(InvalidConfig, match="sliding_window"):
        sliding(window)
    with pytest.raises(InvalidConfig, match="sliding_window"):
        RequestManager(1, 1, sliding_window=window)


# --- with prefix caching ---


def test_what_is_given_up_stays_cached_and_later_blocks_go_first() -> None:
    manager = sliding(2, caching=True)
    manager.allocate("g", ["a"], [1, 2, 3, 4, 5, 6])
    manager.computed("a")
    assert (manager.block_table("a"), manager.cached_blocks()) == ([N, N, 3], (2, 1))
    assert manager.allocate("h", ["b"], [1, 2, 3, 4, 9]) == 4
    assert manager.block_table("b") == [N, 2, 4]
    assert manager.cached_blocks() == (1,)
    manager.check()


def test_a_hit_needs_only_what_its_next_token_reads() -> None:
    manager = sliding(3, blocks=12, caching=True)
    manager.allocate("g", ["a"], [1])
    grow(manager, "a", [2, 3, 4, 5, 6, 7])
    assert manager.block_table("a")[:2] == [N, N]
    assert manager.evict(2) == 2
    # Positions 4 and 5 are read at 6; nothing is left of what is read at 4, or at 2.
    assert manager.allocate("h", ["b"], [1, 2, 3, 4, 5, 6, 9]) == 6
    assert manager.block_table("b")[:3] == [N, N, manager.block_table("a")[2]]
    assert manager.allocate("i", ["c"], [1, 2, 3, 4, 5, 6]) == 0
    assert manager.allocate("j", ["d"], [1, 2, 3, 4, 0, 6, 9]) == 0
    manager.check()


def test_a_hit_ends_before_a_gap_that_the_window_reaches() -> None:
    manager = sliding(5, block_size=1, blocks=12, caching=True)
    manager.allocate("g", ["a"], [1, 2, 3, 4, 5, 6])
    manager.computed("a")
    manager.free("a")
    # Given up at the step, 2 before 1, and gone first; 6 and 5 are the next to go.
    assert manager.cached_blocks() == (2, 1, 6, 5, 4, 3)
    manager.evict(1)
    assert manager.allocate("h", ["b"], [1, 2, 3, 4, 5, 6, 7]) == 6
    manager.preempt("h")
    manager.evict(1)
    assert manager.readmit("h") == [6]
    manager.preempt("h")
    assert manager.cached_blocks() == (6, 5, 4, 3)
    manager.evict(1)
    assert manager.can_readmit("h") is OK
    assert manager.readmit("h") == [0]  # 3 to 5 alone do not do for what comes after 5
    manager.check()


def test_with_a_window_of_one_a_hit_still_ends_in_a_block_that_is_there() -> None:
    manager = sliding(1, block_size=1, caching=True)
    assert manager.allocate("g", ["a"], [1, 2, 3]) == 0
    manager.computed("a")
    assert manager.block_table("a") == [N, N, N]
    assert manager.evict(1) == 1
    assert manager.allocate("h", ["b"], [1, 2, 3, 4]) == 2
    assert manager.block_table("b")[:2] == [N, 2]
    manager.check()


def test_entries_that_are_not_there_cost_nothing() -> None:
    manager = sliding(2, block_size=1, blocks=4, caching=True)
    manager.allocate("g", ["a"], [1])
    grow(manager, "a", [2, 3, 4, 5])
    # Five tokens and one to compute: six entries, of which one is held and one is to be taken.
    assert manager.can_allocate("h", ["b"], [1, 2, 3, 4, 5, 6]) is OK
    assert manager.can_allocate("h", ["b"], [1, 2, 3, 4, 5, 6], 2) is NEVER
    assert manager.allocate("h", ["b"], [1, 2, 3, 4, 5, 6]) == 5
    assert gpu_free(manager) == 1
    manager.preempt("h")
    assert manager.can_readmit("h") is OK
    assert manager.readmit("h") == [5]
    manager.check()


def test_a_group_shares_a_hit_without_a_beginning() -> None:
    manager = sliding(2, block_size=1, caching=True)
    manager.allocate("g", ["a"], [1])
    grow(manager, "a", [2, 3])
    assert manager.allocate("h", ["b", "c"], [1, 2, 3, 4]) == 3
    assert manager.block_table("b") == manager.block_table("c")
    assert [manager.refcount(Device.GPU, block) for block in manager.block_table("b")[2:]] == [3, 2]
    manager.check()
    for seq_id in "abc":
        manager.free(seq_id)
    assert gpu_free(manager) == 8
    manager.check()


def test_a_row_that_begins_without_blocks_publishes_what_follows() -> None:
    manager = sliding(2, block_size=1, caching=True)
    manager.allocate("g", ["a"], [1])
    grow(manager, "a", [2, 3])
    manager.allocate("h", ["b"], [1, 2, 3, 4])
    manager.computed("b")
    assert manager.allocate("i", ["c"], [1, 2, 3, 4, 5]) == 4
    for seq_id in "abc":
        manager.free(seq_id)
    manager.check()
    manager.evict(9)
    assert manager._gpu.index.nodes() == []  # type: ignore[attr-defined]


def test_a_row_that_comes_back_from_the_cpu_publishes_what_it_has_left() -> None:
    manager = sliding(3, cpu=4, caching=True)
    manager.allocate("g", ["a"], [1, 2, 3, 4, 5, 6, 7])
    manager.computed("a")
    manager.swap_out("g")
    manager.evict(8)
    assert manager._gpu.index.nodes() == []  # type: ignore[attr-defined]
    manager.swap_in("g")
    manager.computed("a")
    manager.check()
    assert manager.allocate("h", ["b"], [1, 2, 3, 4, 5, 6, 7]) == 6
    assert manager.block_table("b")[:3] == manager.block_table("a")[:3]
    assert manager.block_table("b")[:2] == [N, N]


def test_after_the_index_is_forgotten_blocks_are_still_given_up() -> None:
    manager = sliding(2, block_size=1, caching=True)
    manager.allocate("g", ["a"], [1, 2, 3])
    manager.computed("a")
    manager.reset_index()
    grow(manager, "a", [4, 5])
    assert manager.block_table("a")[:4] == [N, N, N, N]
    assert (manager.cached_blocks(), gpu_free(manager)) == ((), 7)
    assert manager.allocate("h", ["b"], [1, 2, 3, 4, 5, 6]) == 0
    manager.check()


@pytest.mark.parametrize("caching", [True, False])
def test_requests_give_up_what_is_computed_chunk_by_chunk(caching: bool) -> None:
    manager = RequestManager(2, 6, prefix_caching=caching, sliding_window=3)
    tokens = list(range(12))
    assert manager.admit("a", tokens, upto=5) == 0
    manager.computed("a")
    assert manager.block_table("a") == [N, 2, 3]
    assert manager.extend("a", [], upto=9)
    assert manager.block_table("a")[:2] == [N, 2]
    manager.computed("a")
    assert manager.block_table("a")[:4] == [N, N, N, 4] if caching else [N, N, N, 1]
    assert manager.extend("a", [12])
    manager.computed("a")
    assert manager.num_free() == 3
    manager.check()
    hits = 12 if caching else 0
    assert manager.match([*tokens, 12]) == hits
    manager.preempt("a")
    assert manager.readmit("a", upto=hits + 1) == hits
    manager.reset()
    assert request_snapshot(manager) == request_snapshot(RequestManager(2, 6, sliding_window=3))


# --- the books ---

DAMAGE: list[Callable[[BlockManager], object]] = [
    lambda m: setattr(m._sequences["a"], "given_up", 0),
    lambda m: setattr(m._sequences["a"], "given_up", 2),
    lambda m: setattr(m._sequences["a"], "seen", 4),
    lambda m: m._sequences["a"].blocks.__setitem__(0, 1),
    lambda m: m._sequences["a"].blocks.__setitem__(2, N),
    lambda m: m._sequences["a"].blocks.__setitem__(2, 0),
    lambda m: m._gpu._free.append(0),
    lambda m: m._gpu._refcounts.__setitem__(0, 1),
    lambda m: setattr(m._gpu, "_aside", None),
    lambda m: setattr(m._gpu, "_aside", 8),
]


@pytest.mark.parametrize("caching", [True, False])
@pytest.mark.parametrize("damage", DAMAGE)
def test_check_notices(damage: Callable[[BlockManager], object], caching: bool) -> None:
    manager = sliding(4, caching=caching)
    manager.allocate("g", ["a"], [1, 2, 3, 4, 5])
    manager.computed("a")
    assert manager.block_table("a") == [N, 2, 3]
    manager.check()
    damage(manager)
    with pytest.raises(BrokenInvariant):
        manager.check()


def test_check_notices_a_row_that_owns_the_null_block() -> None:
    manager = sliding(4)
    manager.allocate("g", ["a"], 3)
    seq = manager._sequences["a"]
    manager._gpu.release(seq.blocks.pop())
    seq.blocks.append(0)
    manager._gpu._refcounts[0] = 1
    with pytest.raises(BrokenInvariant, match="set aside"):
        manager.check()
