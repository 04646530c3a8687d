"""`check` notices each kind of damage, and subclasses can do the damage by one override."""

from collections.abc import Callable

import pytest

from kvref import BlockAllocator, BlockManager, BrokenInvariant, SequenceState, Status


def busy() -> BlockManager:
    manager = BlockManager(block_size=2, num_gpu_blocks=8, num_cpu_blocks=4)
    manager.allocate("g", ["a", "b"], 3)
    manager.allocate("h", ["c"], 2)
    manager.allocate("i", ["w"], 2)
    manager.preempt("i")
    manager.allocate("j", ["gone"], 1)
    manager.free("gone")
    return manager


DAMAGE: list[Callable[[BlockManager], object]] = [
    lambda m: m._gpu._refcounts.__setitem__(0, 1),
    lambda m: m._gpu._free.append(0),
    lambda m: m._gpu._free.pop(),
    lambda m: m._gpu._free.append(m._gpu._free[0]),
    lambda m: m._sequences["a"].blocks.pop(),
    lambda m: m._sequences["a"].blocks.append(99),
    lambda m: m._sequences["c"].blocks.append(m._sequences["c"].blocks[0]),
    lambda m: setattr(m._sequences["c"], "seen", 3),
    lambda m: setattr(m._sequences["c"], "seen", 0),
    lambda m: setattr(m._sequences["c"], "tokens", 0),
    lambda m: setattr(m._sequences["c"], "status", Status.SWAPPED),
    lambda m: setattr(m._sequences["w"], "seen", 1),
    lambda m: setattr(m._sequences["c"], "group_id", "g"),
    lambda m: m._sequences.pop("c"),
    lambda m: m._groups["h"].pop("c"),
    lambda m: m._groups.setdefault("empty", {}),
    lambda m: m._ended.add("c"),
]


@pytest.mark.parametrize("damage", DAMAGE)
def test_check_notices(damage: Callable[[BlockManager], object]) -> None:
    manager = busy()
    manager.check()
    damage(manager)
    with pytest.raises(BrokenInvariant):
        manager.check()


def test_check_notices_a_row_too_short() -> None:
    manager = busy()
    manager._gpu.release(manager._sequences["c"].blocks.pop())
    with pytest.raises(BrokenInvariant, match="row of 0 blocks, needs 1"):
        manager.check()


def test_check_notices_a_group_of_mixed_status() -> None:
    manager = busy()
    manager._release_row(manager._sequences["a"])
    manager._sequences["a"].seen = 0
    manager._sequences["a"].status = Status.WAITING
    with pytest.raises(BrokenInvariant, match="mixed status"):
        manager.check()


def test_check_notices_blocks_shared_across_groups() -> None:
    manager = busy()
    manager._sequences["c"].blocks += manager._share_row(manager._sequences["a"].blocks)
    with pytest.raises(BrokenInvariant, match="shared by groups"):
        manager.check()


def test_check_notices_a_counter_that_drifts() -> None:
    class Drifting(BlockAllocator):
        @property
        def num_free(self) -> int:
            return super().num_free + 1

    manager = busy()
    manager._gpu.__class__ = Drifting
    with pytest.raises(BrokenInvariant, match="counted free"):
        manager.check()


def test_one_override_makes_a_manager_wrong_on_purpose() -> None:
    class Leaky(BlockManager):
        def _release_row(self, seq: SequenceState) -> None:
            seq.blocks = []

    class Careless(BlockManager):
        def _is_shared(self, pool: BlockAllocator, block: int) -> bool:
            return False

    leaky = Leaky(block_size=1, num_gpu_blocks=2)
    leaky.allocate("g", ["a"], 1)
    leaky.free("a")
    with pytest.raises(BrokenInvariant):
        leaky.check()

    careless = Careless(block_size=2, num_gpu_blocks=2)
    careless.allocate("g", ["a", "b"], 1)
    careless.add_tokens("a", 1)
    assert careless.append("a") == []
    assert careless.block_table("a") == careless.block_table("b")
