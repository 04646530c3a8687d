"""The pool of one device: order, counts, all-or-nothing, misuse."""

import pytest

from kvref import BlockAllocator, BlockNotHeld, DoubleFree, InvalidConfig, InvalidRequest, OutOfBlocks


def test_hands_out_blocks_in_ascending_order_with_one_owner() -> None:
    pool = BlockAllocator(3)
    assert [pool.take() for _ in range(3)] == [0, 1, 2]
    assert [pool.refcount(block) for block in range(3)] == [1, 1, 1]
    assert (pool.num_free, pool.num_total) == (0, 3)


def test_take_many_equals_that_many_takes() -> None:
    one_by_one, at_once = BlockAllocator(5), BlockAllocator(5)
    assert at_once.take_many(4) == [one_by_one.take() for _ in range(4)]
    assert at_once.free_blocks() == one_by_one.free_blocks() == (4,)
    assert at_once.take_many(0) == []


def test_a_block_given_back_is_the_next_one_handed_out() -> None:
    pool = BlockAllocator(4)
    pool.take_many(3)
    assert pool.release(1) is True
    assert pool.free_blocks() == (1, 3)
    assert pool.take() == 1


def test_take_many_is_all_or_nothing() -> None:
    pool = BlockAllocator(3)
    pool.take()
    with pytest.raises(OutOfBlocks, match="3 blocks wanted, 2 of 3 free"):
        pool.take_many(3)
    assert pool.free_blocks() == (1, 2)
    assert [pool.refcount(block) for block in range(3)] == [1, 0, 0]


def test_take_from_an_empty_pool() -> None:
    pool = BlockAllocator(0)
    assert (pool.num_free, pool.num_total, pool.free_blocks()) == (0, 0, ())
    with pytest.raises(OutOfBlocks):
        pool.take()
    assert pool.take_many(0) == []


def test_shared_block_is_free_after_its_last_release() -> None:
    pool = BlockAllocator(1)
    block = pool.take()
    pool.share(block)
    assert pool.refcount(block) == 2
    assert pool.release(block) is False
    assert pool.num_free == 0
    assert pool.release(block) is True
    assert (pool.num_free, pool.refcount(block)) == (1, 0)


def test_double_free_changes_nothing() -> None:
    pool = BlockAllocator(2)
    pool.release(pool.take())
    with pytest.raises(DoubleFree, match="block 0"):
        pool.release(0)
    assert pool.free_blocks() == (0, 1)
    assert pool.refcount(0) == 0


def test_a_free_block_cannot_be_shared() -> None:
    pool = BlockAllocator(1)
    with pytest.raises(BlockNotHeld):
        pool.share(0)
    assert pool.refcount(0) == 0


@pytest.mark.parametrize("block", [-1, 2, 100])
def test_blocks_that_do_not_exist(block: int) -> None:
    pool = BlockAllocator(2)
    pool.take_many(2)
    for use in (pool.refcount, pool.share, pool.release):
        with pytest.raises(InvalidRequest, match="no block"):
            use(block)
    assert [pool.refcount(b) for b in range(2)] == [1, 1]


def test_sizes_out_of_range() -> None:
    with pytest.raises(InvalidConfig):
        BlockAllocator(-1)
    with pytest.raises(InvalidRequest):
        BlockAllocator(2).take_many(-1)
