"""The end of sequences and groups, ids used again, reset, inspection."""

import pytest
from kvref_support import gpu_free, snapshot

from kvref import AllocStatus, BlockManager, Device, InvalidConfig, Status, UnknownGroup, UnknownSequence


def new_manager() -> BlockManager:
    return BlockManager(block_size=2, num_gpu_blocks=6, num_cpu_blocks=4)


def test_free_in_every_status_gives_everything_back() -> None:
    for enter in (lambda m: None, lambda m: m.swap_out("g"), lambda m: m.preempt("g")):
        manager = new_manager()
        manager.allocate("g", ["a", "b"], 3)
        manager.add_tokens("a", 1)
        enter(manager)
        manager.free("a")
        manager.check()
        assert "a" not in manager
        assert "b" in manager
        manager.free("b")
        manager.check()
        assert [manager.num_free(device) for device in Device] == [6, 4]
        with pytest.raises(UnknownGroup):
            manager.members("g")


def test_blocks_that_others_share_stay() -> None:
    manager = new_manager()
    manager.allocate("g", ["a", "b"], 3)
    manager.free("a")
    assert gpu_free(manager) == 4
    assert manager.refcount(Device.GPU, 0) == 1
    assert manager.block_table("b") == [0, 1]


def test_free_twice_does_nothing() -> None:
    manager = new_manager()
    manager.allocate("g", ["a", "b"], 3)
    manager.free("a")
    before = snapshot(manager)
    manager.free("a")
    assert snapshot(manager) == before


def test_free_of_an_id_never_used() -> None:
    manager = new_manager()
    before = snapshot(manager)
    with pytest.raises(UnknownSequence, match="never admitted"):
        manager.free("a")
    assert snapshot(manager) == before


def test_an_ended_id_may_be_used_again() -> None:
    manager = new_manager()
    manager.allocate("g", ["a"], 3)
    manager.free("a")
    manager.allocate("g", ["a"], 1)
    assert manager.num_tokens("a") == 1
    manager.free("a")
    assert gpu_free(manager) == 6
    manager.allocate("h", ["b"], 1)
    manager.fork("b", "a")
    assert manager.group_of("a") == "h"
    manager.free("a")
    assert manager.refcount(Device.GPU, manager.block_table("b")[0]) == 1


def test_reset_forgets_everything() -> None:
    manager = new_manager()
    manager.allocate("g", ["a", "b"], 3)
    manager.swap_out("g")
    manager.allocate("h", ["c"], 3)
    manager.free("c")
    manager.reset()
    assert snapshot(manager) == snapshot(new_manager())
    with pytest.raises(UnknownSequence):
        manager.free("c")
    manager.allocate("g", ["a"], 3)
    assert manager.block_table("a") == [0, 1]


def test_inspection() -> None:
    manager = BlockManager(block_size=2, num_gpu_blocks=6, num_cpu_blocks=4, watermark_blocks=1)
    assert (manager.block_size, manager.watermark_blocks) == (2, 1)
    manager.allocate(7, [1, 2], 3)
    assert [manager.num_total(device) for device in Device] == [6, 4]
    assert [manager.num_free(device) for device in Device] == [4, 4]
    assert manager.free_blocks(Device.GPU) == (2, 3, 4, 5)
    assert manager.free_blocks(Device.CPU) == (0, 1, 2, 3)
    assert manager.status(1) is Status.RUNNING
    assert manager.members(7) == [1, 2]
    assert (1 in manager, 3 in manager) == (True, False)


def test_a_manager_without_blocks() -> None:
    manager = BlockManager(block_size=1, num_gpu_blocks=0)
    assert manager.can_allocate("g", ["a"], 1) is AllocStatus.NEVER
    manager.check()


@pytest.mark.parametrize(
    "sizes",
    [
        {"block_size": 0},
        {"num_gpu_blocks": -1},
        {"num_cpu_blocks": -1},
        {"watermark_blocks": -1},
    ],
)
def test_sizes_out_of_range(sizes: dict[str, int]) -> None:
    with pytest.raises(InvalidConfig):
        BlockManager(**({"block_size": 1, "num_gpu_blocks": 1} | sizes))
