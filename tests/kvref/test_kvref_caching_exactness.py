"""The guards with prefix caching against their operations, in every state reachable in small managers."""

from collections.abc import Iterator

import pytest
from kvref_support import Action, Question, append_all, judge, reachable, snapshot

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


def ran(manager: BlockManager, group: str) -> None:
    for seq_id in manager.members(group):
        manager.computed(seq_id)


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


def small(block_size: int, gpu: int, cpu: int, watermark: int) -> BlockManager:
    return BlockManager(
        block_size=block_size,
        num_gpu_blocks=gpu,
        num_cpu_blocks=cpu,
        watermark_blocks=watermark,
        prefix_caching=True,
    )


@pytest.mark.parametrize(("block_size", "gpu", "cpu", "watermark"), [(1, 7, 4, 1), (2, 4, 3, 0), (2, 6, 2, 1)])
def test_guards_are_exact_in_every_small_state(block_size: int, gpu: int, cpu: int, watermark: int) -> None:
    states = reachable(small(block_size, gpu, cpu, watermark), MOVES, depth=4)
    answers = [judge(state, questions(state, watermark)) for state in states]
    assert len(states) > 300
    assert set().union(*answers) == set(AllocStatus)


def test_guards_are_pure() -> None:
    for manager in reachable(small(2, 4, 3, 0), MOVES, depth=3):
        before = snapshot(manager)
        for _, guard, _, _ in questions(manager, 0):
            guard(manager)
        assert snapshot(manager) == before
