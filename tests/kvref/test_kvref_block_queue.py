"""The queue of blocks: what leaves first, leaving from the middle, and the same answers as an ordered dictionary's."""

from collections import OrderedDict

from hypothesis import given
from hypothesis import strategies as st

from kvref.block_queue import BlockQueue

BLOCKS = 6
MOVES = ("extend", "remove", "pop", "clear")


def queue_of(*blocks: int) -> BlockQueue:
    """A queue of some of the blocks 0..5."""
    queue = BlockQueue(BLOCKS)
    queue.extend(blocks)
    return queue


def test_who_comes_first_leaves_first() -> None:
    queue = queue_of(3, 0, 5)
    assert [queue.pop(), queue.pop(), queue.pop()] == [3, 0, 5]
    assert (len(queue), list(queue)) == (0, [])


def test_any_block_can_leave() -> None:
    for block, left in ((4, [1, 2]), (1, [4, 2]), (2, [4, 1])):
        queue = queue_of(4, 1, 2)
        queue.remove(block)
        assert (list(queue), block in queue, len(queue)) == (left, False, 2)


def test_who_comes_back_is_last() -> None:
    queue = queue_of(0, 1)
    queue.remove(0)
    queue.extend([0])
    assert list(queue) == [1, 0]


def test_a_queue_of_no_blocks() -> None:
    queue = BlockQueue(0)
    queue.extend([])
    queue.clear()
    assert (len(queue), list(queue)) == (0, [])


@given(st.lists(st.tuples(st.sampled_from(MOVES), st.permutations(range(BLOCKS)), st.integers(0, BLOCKS))))
def test_as_an_ordered_dictionary(moves: list[tuple[str, list[int], int]]) -> None:
    queue, model = BlockQueue(BLOCKS), OrderedDict[int, None]()
    for move, order, many in moves:
        if move == "extend":
            coming = [block for block in order if block not in model][:many]
            queue.extend(coming)
            model.update(dict.fromkeys(coming))
        elif move == "clear":
            queue.clear()
            model.clear()
        elif model and move == "pop":
            assert queue.pop() == model.popitem(last=False)[0]
        elif model:
            leaving = next(block for block in order if block in model)
            queue.remove(leaving)
            del model[leaving]
        assert list(queue) == list(model)
        assert list(reversed(queue)) == list(reversed(model))
        assert len(queue) == len(model)
        assert [block in queue for block in range(BLOCKS)] == [block in model for block in range(BLOCKS)]
