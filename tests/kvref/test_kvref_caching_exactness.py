"""The guards with prefix caching against their operations, in every state reachable in small managers."""

from collections.abc import Iterator

import pytest
from kvref_support import Action, Question, append_all, judge, ran, reachable, snapshot

from kvref import AllocStatus, BlockManager, Status

PROMPTS = ([1, 1, 1], [1, 2, 1, 1, 2])


def questions(manager: BlockManager, watermark: int) -> Iterator[Question]:
    """Every legal guard, with and without lookahead."""
    for lookahead in (0, 2):
        for prompt in PROMPTS:
            yield (
                "new",
                lambda m, p=prompt, n=lookahead: m.can_allocate("new", ["y", "z"], p, n),
                lambda m, p=prompt, n=lookahead: m.allocate("new", ["y", "z"], p, n),
                watermark,
            )
        for group in list(manager._groups):
            status = manager.status(manager.members(group)[0])
            if status is Status.RUNNING:
                yield (
                    group,
                    lambda m, g=group, n=lookahead: m.can_append(g, n),
                    lambda m, g=group, n=lookahead: append_all(m, g, n),
                    0,
                )
            elif status is Status.SWAPPED:
                yield (
                    group,
                    lambda m, g=group, n=lookahead: m.can_swap_in(g, n),
                    lambda m, g=group, n=lookahead: (m.swap_in(g, n), append_all(m, g, n)),
                    watermark,
                )
            else:
                yield (
                    group,
                    lambda m, g=group, n=lookahead: m.can_readmit(g, n),
                    lambda m, g=group, n=lookahead: m.readmit(g, n),
                    watermark,
                )


MOVES: list[Action] = [
    lambda m: m.allocate("g", ["a", "b"], [1, 1, 1]),
    lambda m: m.allocate("h", ["d"], [1, 2, 1, 1], 1),
    lambda m: m.allocate("h", ["d"], [1, 1, 1, 2]),
    lambda m: ran(m, "g"),
    lambda m: ran(m, "h"),
    lambda m: m.add_tokens("a", [2]),
    lambda m: m.add_tokens("d", [1, 1]),
    lambda m: m.append("a"),
    lambda m: m.append("d", 1),
    lambda m: m.fork("d", "e", 0),
    lambda m: m.swap_out("g"),
    lambda m: m.swap_in("g"),
    lambda m: m.preempt("g"),
    lambda m: m.preempt("h"),
    lambda m: m.readmit("g"),
    lambda m: m.free("a"),
    lambda m: m.free("d"),
    lambda m: m.evict(1),
    lambda m: m.reset_index(),
]


def small(block_size: int, gpu: int, cpu: int, watermark: int, window: int | None = None) -> BlockManager:
    return BlockManager(
        block_size=block_size,
        num_gpu_blocks=gpu,
        num_cpu_blocks=cpu,
        watermark_blocks=watermark,
        prefix_caching=True,
        sliding_window=window,
    )


@pytest.mark.parametrize(("block_size", "gpu", "cpu", "watermark"), [(1, 7, 4, 1), (2, 4, 3, 0), (2, 6, 2, 1)])
def test_guards_are_exact_in_every_small_state(block_size: int, gpu: int, cpu: int, watermark: int) -> None:
    states = reachable(small(block_size, gpu, cpu, watermark), MOVES, depth=4)
    answers = [judge(state, questions(state, watermark)) for state in states]
    assert len(states) > 300
    assert set().union(*answers) == set(AllocStatus)


@pytest.mark.parametrize(
    ("block_size", "gpu", "cpu", "watermark", "window"),
    [(1, 6, 3, 1, 1), (1, 5, 3, 0, 2), (2, 5, 3, 0, 2), (1, 6, 4, 0, 3), (2, 5, 2, 1, 3)],
)
def test_guards_are_exact_under_a_window(block_size: int, gpu: int, cpu: int, watermark: int, window: int) -> None:
    start = small(block_size, gpu, cpu, watermark, window)
    start.allocate("before", ["x"], [1])
    for token in (2, 1, 1, 2):  # its first blocks are given up one after the other, and evicted
        start.computed("x")
        start.add_tokens("x", [token])
        start.append("x")
    start.computed("x")
    start.free("x")
    start.evict(1)
    states = reachable(start, MOVES, depth=3)
    answers = [judge(state, questions(state, watermark)) for state in states]
    assert len(states) > 100
    assert set().union(*answers) == set(AllocStatus)
    matches = [state._cache.match(prompt, None) for state in states for prompt in PROMPTS if state._cache]
    assert any(match.given_up for match in matches)  # such a hit costs less than it is long


def test_guards_are_pure() -> None:
    for manager in reachable(small(2, 4, 3, 0), MOVES, depth=3):
        before = snapshot(manager)
        for _, guard, _, _ in questions(manager, 0):
            guard(manager)
        assert snapshot(manager) == before
