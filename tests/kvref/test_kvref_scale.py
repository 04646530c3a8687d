"""Large pools: correct, and touching only what an operation needs (counted, not timed)."""

from collections.abc import Iterable, Iterator
from typing import Any

from kvref import NULL, AllocStatus, BlockAllocator, BlockManager, Device, RequestManager


class CountingAllocator(BlockAllocator):
    """Counts the questions and changes it is asked for."""

    calls = 0

    def refcount(self, block: int) -> int:
        self.calls += 1
        return super().refcount(block)


class CountingManager(BlockManager):
    """A manager whose GPU pool counts."""

    def _new_pool(self, device: Device, num_blocks: int) -> CountingAllocator:
        return CountingAllocator(num_blocks, device.name)


def test_a_hundred_thousand_blocks() -> None:
    manager = BlockManager(block_size=16, num_gpu_blocks=100_000, num_cpu_blocks=100_000, watermark_blocks=1000)
    for number in range(900):
        assert manager.can_allocate(number, [number], 1600) is AllocStatus.OK
        manager.allocate(number, [number], 1600)
    manager.allocate("late", ["late"], 9000 * 16)
    assert manager.can_allocate("no", ["no"], 1) is AllocStatus.LATER
    assert manager.can_allocate("no", ["no"], 99_000 * 16 + 1) is AllocStatus.NEVER
    assert manager.num_free(Device.GPU) == 1000
    assert len(manager.swap_out("late")) == 9000
    for number in range(900):
        manager.free(number)
    assert len(manager.swap_in("late")) == 9000
    manager.check()
    manager.free("late")
    assert manager.num_free(Device.GPU) == manager.num_free(Device.CPU) == 100_000
    manager.check()


def test_append_looks_only_at_the_blocks_it_writes() -> None:
    manager = CountingManager(block_size=16, num_gpu_blocks=100_000)
    manager.allocate("g", ["a"], 16 * 50_000 - 8)
    manager.fork("a", "b")
    manager.add_tokens("a", 1)
    pool = manager._gpu
    assert isinstance(pool, CountingAllocator)
    pool.calls = 0
    assert manager.append("a") == [(49_999, 50_000)]
    assert pool.calls <= 3
    pool.calls = 0
    assert manager.append("a", 16 * 100) == []
    assert len(manager.block_table("a")) == 50_100
    assert pool.calls <= 3


class CountingRow(list[int]):
    """Counts the entries read and written."""

    touched = 0

    def __iter__(self) -> Iterator[int]:
        self.touched += len(self)
        return super().__iter__()

    def __getitem__(self, at: Any) -> Any:
        self.touched += len(range(*at.indices(len(self)))) if isinstance(at, slice) else 1
        return super().__getitem__(at)

    def __setitem__(self, at: Any, value: Any) -> None:
        self.touched += len(range(*at.indices(len(self)))) if isinstance(at, slice) else 1
        super().__setitem__(at, value)

    def extend(self, blocks: Iterable[int]) -> None:
        for block in blocks:
            self.touched += 1
            self.append(block)


def test_a_step_under_a_window_costs_the_same_after_ten_thousand_as_after_ten() -> None:
    manager = CountingManager(block_size=2, num_gpu_blocks=100_000, num_cpu_blocks=8, sliding_window=7)
    manager.allocate("g", ["a"], 1)
    seq, pool = manager._sequences["a"], manager._gpu
    seq.blocks = CountingRow(seq.blocks)
    assert isinstance(pool, CountingAllocator)
    costs = []
    for _ in range(20_000):
        before = seq.blocks.touched, pool.calls
        manager.add_tokens("a", 1)
        assert manager.can_append("g") is AllocStatus.OK
        manager.append("a")
        manager.computed("a")
        costs.append((seq.blocks.touched - before[0], pool.calls - before[1]))
    assert len(manager.block_table("a")) == 10_001
    assert max(costs) <= (6, 4)
    assert costs[16:24] * 1000 == costs[16:8016] == costs[-8000:]
    before = seq.blocks.touched, pool.calls
    assert len(manager.swap_out("g")) == len(manager.swap_in("g")) == 4
    assert (seq.blocks.touched - before[0], pool.calls - before[1]) < (40, 40)
    row = seq.blocks
    before = row.touched, pool.calls
    manager.free("a")
    assert (row.touched - before[0], pool.calls - before[1]) <= (4, 4)
    manager.check()


def test_a_long_request_lives_in_a_small_pool() -> None:
    manager = RequestManager(4, 6, sliding_window=8)
    assert manager.admit("a", list(range(50_000)), upto=8) == 0
    for upto in range(16, 50_001, 8):
        manager.computed("a")
        assert manager.extend("a", [], upto)
    manager.computed("a")
    assert manager.block_table("a") == [NULL] * 12_498 + manager.block_table("a")[-2:]
    assert manager.num_free() == 3
    manager.check()
    manager.free("a")
    # What leads to the blocks that are cached still stays in the index, and goes with them.
    assert len(manager._gpu.index.nodes()) == 12_501
    assert manager.match(list(range(50_000))) == 49_996
    manager.evict(5)
    assert manager._gpu.index.nodes() == []
