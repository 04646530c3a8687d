"""Every guard against the operation it speaks for, in every state reachable in small managers.

A breadth-first search from the empty manager, states told apart by their whole content. In each state each
guard is asked, and the operation is tried on a twin: OK must mean that it fits and leaves the reserve,
LATER that it would be OK with the other groups gone, NEVER that it would not even then.
"""

from collections.abc import Iterator

import pytest
from kvref_support import Action, Question, append_all, fits, judge, ran, reachable, snapshot

from kvref import AllocStatus, BlockManager, Status, WrongStatus

LOOKAHEADS = (0, 1, 3)


def swap_in_and_append(manager: BlockManager, group: str, lookahead: int) -> None:
    manager.swap_in(group, lookahead)
    append_all(manager, group, lookahead)


def questions(manager: BlockManager, watermark: int) -> Iterator[Question]:
    """Every legal guard."""
    for lookahead in LOOKAHEADS:
        for tokens in (1, 4):
            yield (
                "new",
                lambda m, t=tokens, n=lookahead: m.can_allocate("new", ["y", "z"], t, n),
                lambda m, t=tokens, n=lookahead: m.allocate("new", ["y", "z"], t, n),
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
                yield (group, lambda m, g=group: m.can_swap_out(g), lambda m, g=group: m.swap_out(g), 0)
            elif status is Status.SWAPPED:
                yield (
                    group,
                    lambda m, g=group, n=lookahead: m.can_swap_in(g, n),
                    lambda m, g=group, n=lookahead: swap_in_and_append(m, g, n),
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
    lambda m: m.allocate("g", ["a", "b"], 3),
    lambda m: m.allocate("g", ["a", "b", "c"], 2, lookahead=1),
    lambda m: m.allocate("h", ["d"], 2),
    lambda m: m.fork("a", "c"),
    lambda m: m.fork("d", "e", 0),
    lambda m: m.add_tokens("a", 1),
    lambda m: m.add_tokens("b", 2),
    lambda m: m.append("a"),
    lambda m: m.append("b", 2),
    lambda m: m.append("d", 3),
    lambda m: m.swap_out("g"),
    lambda m: m.swap_in("g"),
    lambda m: m.swap_out("h"),
    lambda m: m.preempt("g"),
    lambda m: m.readmit("g"),
    lambda m: m.free("a"),
    lambda m: m.free("d"),
]


STEPS: list[Action] = [lambda m: ran(m, "g"), lambda m: ran(m, "h"), lambda m: m.add_tokens("d", 3)]


@pytest.mark.parametrize(
    ("block_size", "gpu", "cpu", "watermark"), [(1, 7, 4, 1), (2, 4, 3, 0), (2, 6, 2, 1), (3, 3, 2, 0)]
)
def test_guards_are_exact_in_every_small_state(block_size: int, gpu: int, cpu: int, watermark: int) -> None:
    start = BlockManager(block_size=block_size, num_gpu_blocks=gpu, num_cpu_blocks=cpu, watermark_blocks=watermark)
    states = reachable(start, MOVES, depth=4)
    answers = [judge(state, questions(state, watermark)) for state in states]
    assert len(states) > 300
    assert set().union(*answers) == set(AllocStatus)


@pytest.mark.parametrize(
    ("block_size", "gpu", "cpu", "watermark", "window"),
    [(1, 5, 3, 1, 1), (1, 6, 2, 0, 2), (2, 4, 2, 0, 2), (2, 5, 2, 1, 1), (1, 1, 1, 0, 1), (1, 0, 1, 0, 1)],
)
def test_guards_are_exact_under_a_window(block_size: int, gpu: int, cpu: int, watermark: int, window: int) -> None:
    start = BlockManager(
        block_size=block_size,
        num_gpu_blocks=gpu,
        num_cpu_blocks=cpu,
        watermark_blocks=watermark,
        sliding_window=window,
    )
    states = reachable(start, [*MOVES, *STEPS], depth=4)
    answers = set().union(*[judge(state, questions(state, watermark)) for state in states])
    if gpu > 1:
        assert answers == set(AllocStatus)
        assert any(seq.given_up for state in states for seq in state._sequences.values())
    else:
        assert answers == {AllocStatus.NEVER}  # the only block is the null block, if there is one


def test_guards_are_pure() -> None:
    for manager in reachable(BlockManager(block_size=2, num_gpu_blocks=4, num_cpu_blocks=3), MOVES, depth=3):
        before = snapshot(manager)
        for _, guard, _, _ in questions(manager, 0):
            guard(manager)
        assert snapshot(manager) == before


def test_append_order_does_not_change_the_need() -> None:
    for manager in reachable(BlockManager(block_size=2, num_gpu_blocks=9, num_cpu_blocks=3), MOVES, depth=4):
        for group in list(manager._groups):
            members = manager.members(group)
            try:
                answer = manager.can_append(group, 1)
            except WrongStatus:
                continue
            for order in (members, members[::-1]):
                assert fits(manager, lambda m, o=order: [m.append(s, 1) for s in o]) == (answer is AllocStatus.OK)
