"""The pool that keeps content, and its index: publishing, hits, eviction, collisions, memory."""

import pytest
from kvref_support import published

from kvref import BlockNotHeld, CachingAllocator, DoubleFree, InvalidRequest, OutOfBlocks
from kvref.prefix import Node, PrefixIndex, chain_hash


def publish_row(pool: CachingAllocator, row: list[int], text: list[tuple[int, ...]], extra: object = None) -> Node:
    """Publish a row block by block, as a manager does."""
    node = pool.root(extra)
    for block, tokens in zip(row, text, strict=True):
        node = pool.publish(block, node, tokens)
    return node


def test_a_published_block_stays_cached_and_counts_as_free() -> None:
    pool = CachingAllocator(4)
    row = pool.take_many(2)
    publish_row(pool, row[:1], [(7,)])
    for block in reversed(row):
        assert pool.release(block) is True
    assert pool.num_free == 4
    assert pool.cached_blocks() == (0,)
    assert pool.free_blocks() == (1, 2, 3, 0)


def test_unpublished_blocks_go_first_then_the_least_recently_released() -> None:
    pool = CachingAllocator(4)
    row = pool.take_many(3)
    publish_row(pool, row, [(1,), (2,), (3,)])
    for block in (1, 2, 0):
        pool.release(block)
    assert pool.free_blocks() == (3, 1, 2, 0)
    assert pool.take_many(2) == [3, 1]
    assert pool.cached_blocks() == (2, 0)
    assert [pool.refcount(block) for block in range(4)] == [0, 1, 0, 1]
    assert pool.node_of(1) is None


def test_a_hit_revives_a_cached_block_and_shares_a_held_one() -> None:
    pool = CachingAllocator(2)
    row = pool.take_many(1)
    publish_row(pool, row, [(1,)])
    pool.release(0)
    pool.acquire(0)
    assert (pool.refcount(0), pool.num_free, pool.cached_blocks()) == (1, 1, ())
    pool.acquire(0)
    assert pool.refcount(0) == 2
    with pytest.raises(BlockNotHeld):
        pool.acquire(1)


def test_a_revived_block_is_the_youngest_when_released_again() -> None:
    pool = CachingAllocator(2)
    publish_row(pool, pool.take_many(2), [(1,), (2,)])
    pool.release(1)
    pool.release(0)
    pool.acquire(1)
    pool.release(1)
    assert pool.cached_blocks() == (0, 1)


def test_taking_too_much_evicts_nothing() -> None:
    pool = CachingAllocator(2)
    publish_row(pool, pool.take_many(1), [(1,)])
    pool.release(0)
    before = published(pool)
    with pytest.raises(OutOfBlocks):
        pool.take_many(3)
    assert published(pool) == before
    assert pool.free_blocks() == (1, 0)


def test_the_first_of_two_blocks_with_one_content_is_the_indexed_one() -> None:
    pool = CachingAllocator(2)
    row = pool.take_many(2)
    first = publish_row(pool, row[:1], [(5, 5)])
    assert publish_row(pool, row[1:], [(5, 5)]) is first
    assert first.block == 0
    pool.release(1)
    pool.release(0)
    assert pool.cached_blocks() == (0,)
    assert pool.free_blocks() == (1, 0)


def test_only_an_owner_can_publish() -> None:
    pool = CachingAllocator(1)
    with pytest.raises(BlockNotHeld):
        pool.publish(0, Node(0, None), (1,))


def test_evict_drops_the_oldest_and_says_how_many() -> None:
    pool = CachingAllocator(4)
    publish_row(pool, pool.take_many(4), [(1,), (2,), (3,), (4,)])
    for block in (3, 2, 1):
        pool.release(block)
    assert pool.evict(2) == 2
    assert pool.cached_blocks() == (1,)
    assert pool.free_blocks() == (3, 2, 1)
    assert pool.evict(5) == 1
    assert pool.evict(0) == 0
    assert pool.num_free == 3
    with pytest.raises(InvalidRequest):
        pool.evict(-1)


def test_an_evicted_prefix_can_be_computed_again_and_its_descendants_found() -> None:
    pool = CachingAllocator(3)
    row = pool.take_many(3)
    publish_row(pool, row[:2], [(1,), (2,)])
    pool.release(0)
    assert pool.evict(1) == 1
    root = pool.index.find_root(None)
    assert root is not None
    prefix = pool.index.find(root, (1,))
    assert prefix is not None
    assert prefix.block is None
    again = pool.publish(2, root, (1,))
    child = pool.index.find(again, (2,))
    assert child is not None
    assert child.block == 1


def test_a_node_without_block_or_child_is_dropped_with_its_idle_ancestors() -> None:
    pool = CachingAllocator(3)
    row = pool.take_many(3)
    publish_row(pool, row, [(1,), (2,), (3,)])
    assert len(pool.index.nodes()) == 4
    for block in (0, 1, 2):
        pool.release(block)
    pool.evict(2)
    assert [node.block for node in pool.index.nodes()] == [None, None, None, 2]
    pool.evict(1)
    assert pool.index.nodes() == []


def test_one_hash_for_everything_is_never_a_hit() -> None:
    index = PrefixIndex(lambda *_: 0)
    roots = [index.obtain_root(extra) for extra in (None, "salt")]
    nodes = [index.obtain(root, tokens) for root in roots for tokens in [(1, 2), (2, 1)]]
    nodes += [index.obtain(nodes[0], (1, 2)), index.obtain(nodes[1], (1, 2))]
    assert len({id(node) for node in nodes}) == 6
    assert index.find(roots[1], (1, 2)) is nodes[2]
    assert index.find(nodes[1], (1, 2)) is nodes[5]
    assert index.find(nodes[1], (2, 1)) is None
    for node in nodes[2:]:
        index.prune(node)
    assert index.nodes() == []


def test_the_hash_depends_on_the_whole_prefix() -> None:
    start = chain_hash(0, (1,))
    assert chain_hash(start, (2,)) != chain_hash(chain_hash(0, (3,)), (2,))


def test_forgetting_leaves_every_block_where_it_is_and_nothing_to_find() -> None:
    pool = CachingAllocator(4)
    row = pool.take_many(3)
    publish_row(pool, row, [(1,), (2,), (3,)])
    pool.release(2)
    pool.release(1)
    pool.forget()
    assert pool.cached_blocks() == ()
    assert pool.free_blocks() == (2, 1, 3)
    assert pool.index.nodes() == []
    pool.release(0)
    assert (pool.num_free, pool.cached_blocks()) == (4, ())


def test_a_block_that_does_not_exist_is_not_published() -> None:
    pool = CachingAllocator(2)
    publish_row(pool, pool.take_many(2), [(1,), (2,)])
    assert pool.node_of(1) is not None
    assert [pool.node_of(block) for block in (-1, 2)] == [None, None]
    for block in (-1, 2):
        with pytest.raises(InvalidRequest, match="no block"):
            pool.acquire(block)


def test_what_was_released_before_a_double_free_is_free() -> None:
    pool = CachingAllocator(4)
    row = pool.take_many(3)
    publish_row(pool, row[:2], [(1,), (2,)])
    with pytest.raises(DoubleFree, match="block 3"):
        pool.release_many([1, 2, 3, 0])
    assert (pool.cached_blocks(), pool.free_blocks(), pool.num_free) == ((1,), (2, 3, 1), 3)
    with pytest.raises(InvalidRequest, match="no block -1"):
        pool.release_many([0, -1])
    assert (pool.cached_blocks(), pool.num_free) == ((1, 0), 4)
