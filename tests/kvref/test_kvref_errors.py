"""Every illegal call: its exception, and that it changed nothing."""

from collections.abc import Callable

import pytest
from kvref_support import ran, snapshot

from kvref import (
    NULL,
    BlockManager,
    BlockManagerError,
    DuplicateGroup,
    DuplicateSequence,
    InvalidRequest,
    UnknownGroup,
    UnknownSequence,
    WrongStatus,
)

Call = Callable[[BlockManager], object]


def crowded(window: int | None = None) -> BlockManager:
    """Groups `run`, `swap` and `wait` in the status of their name, each of two sequences; `gone` has ended."""
    manager = BlockManager(block_size=2, num_gpu_blocks=20, num_cpu_blocks=10, sliding_window=window)
    for group in ("run", "swap", "wait", "gone"):
        manager.allocate(group, [f"{group}1", f"{group}2"], 3)
        ran(manager, group)
        manager.add_tokens(f"{group}1", 1)
    manager.swap_out("swap")
    manager.preempt("wait")
    manager.free("gone1")
    manager.free("gone2")
    return manager


ILLEGAL: list[tuple[type[BlockManagerError], Call]] = [
    # arguments
    (InvalidRequest, lambda m: m.allocate("g", [], 1)),
    (InvalidRequest, lambda m: m.can_allocate("g", [], 1)),
    (InvalidRequest, lambda m: m.allocate("g", ["a"], 0)),
    (InvalidRequest, lambda m: m.can_allocate("g", ["a"], 0)),
    (InvalidRequest, lambda m: m.allocate("g", ["a"], 1, lookahead=-1)),
    (InvalidRequest, lambda m: m.can_allocate("g", ["a"], 1, lookahead=-1)),
    (InvalidRequest, lambda m: m.readmit("wait", -1)),
    (InvalidRequest, lambda m: m.can_readmit("wait", -1)),
    (InvalidRequest, lambda m: m.append("run1", -1)),
    (InvalidRequest, lambda m: m.can_append("run", -1)),
    (InvalidRequest, lambda m: m.swap_in("swap", -1)),
    (InvalidRequest, lambda m: m.can_swap_in("swap", -1)),
    (InvalidRequest, lambda m: m.add_tokens("run1", 0)),
    (InvalidRequest, lambda m: m.add_tokens("run1", -2)),
    (InvalidRequest, lambda m: m.fork("run1", "child", -1)),
    # ids used twice
    (DuplicateSequence, lambda m: m.allocate("g", ["a", "run1"], 1)),
    (DuplicateSequence, lambda m: m.can_allocate("g", ["a", "run1"], 1)),
    (DuplicateSequence, lambda m: m.allocate("g", ["swap1"], 1)),
    (DuplicateSequence, lambda m: m.allocate("g", ["wait1"], 1)),
    (DuplicateSequence, lambda m: m.allocate("g", ["a", "a"], 1)),
    (DuplicateSequence, lambda m: m.fork("run1", "run2")),
    (DuplicateSequence, lambda m: m.fork("run1", "run1")),
    (DuplicateSequence, lambda m: m.fork("run1", "swap1")),
    (DuplicateGroup, lambda m: m.allocate("run", ["a"], 1)),
    (DuplicateGroup, lambda m: m.can_allocate("wait", ["a"], 1)),
    # sequences that are not live
    *[
        (UnknownSequence, lambda m, use=use, seq_id=seq_id: use(m, seq_id))
        for seq_id in ("never", "gone1")
        for use in (
            BlockManager.append,
            BlockManager.computed,
            BlockManager.block_table,
            BlockManager.status,
            BlockManager.group_of,
            BlockManager.num_tokens,
            BlockManager.unseen,
            lambda m, seq_id: m.add_tokens(seq_id, 1),
            lambda m, seq_id: m.fork(seq_id, "child"),
        )
    ],
    (UnknownSequence, lambda m: m.free("never")),
    # groups that are not live
    *[
        (UnknownGroup, lambda m, use=use, group_id=group_id: use(m, group_id))
        for group_id in ("never", "gone")
        for use in (
            BlockManager.can_readmit,
            BlockManager.readmit,
            BlockManager.can_append,
            BlockManager.can_swap_out,
            BlockManager.swap_out,
            BlockManager.can_swap_in,
            BlockManager.swap_in,
            BlockManager.preempt,
            BlockManager.members,
        )
    ],
    # the wrong status
    *[
        (WrongStatus, lambda m, use=use, name=name: use(m, name))
        for name in ("swap", "wait")
        for use in (
            BlockManager.can_append,
            BlockManager.can_swap_out,
            BlockManager.swap_out,
            BlockManager.preempt,
            lambda m, name: m.append(f"{name}1"),
            lambda m, name: m.computed(f"{name}1"),
            lambda m, name: m.add_tokens(f"{name}1", 1),
            lambda m, name: m.fork(f"{name}1", "child"),
        )
    ],
    *[
        (WrongStatus, lambda m, use=use, name=name: use(m, name))
        for name in ("run", "wait")
        for use in (BlockManager.can_swap_in, BlockManager.swap_in)
    ],
    *[
        (WrongStatus, lambda m, use=use, name=name: use(m, name))
        for name in ("run", "swap")
        for use in (BlockManager.can_readmit, BlockManager.readmit)
    ],
]


@pytest.mark.parametrize("window", [None, 2])
@pytest.mark.parametrize(("error", "call"), ILLEGAL)
def test_illegal_calls(error: type[BlockManagerError], call: Call, window: int | None) -> None:
    manager = crowded(window)
    before = snapshot(manager)
    with pytest.raises(BlockManagerError) as caught:
        call(manager)
    assert type(caught.value) is error
    assert len(str(caught.value)) > 20
    assert snapshot(manager) == before
    manager.check()


def test_the_crowd_is_what_it_says() -> None:
    manager = crowded()
    assert {manager.status(f"{name}1").value for name in ("run", "swap", "wait")} == {
        "running",
        "swapped",
        "waiting",
    }
    assert [crowded(2).block_table(f"{name}1")[0] for name in ("run", "swap")] == [NULL, NULL]
    manager.can_swap_in("swap")
    manager.can_readmit("wait")
    manager.can_append("run")
