"""Large pools: correct, and touching only what an operation needs (counted, not timed)."""

from kvref import AllocStatus, BlockAllocator, BlockManager, Device


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
