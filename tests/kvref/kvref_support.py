"""Helpers of the kvref tests: comparing and copying whole managers.

Knows: the manager's private state, so that "nothing changed" means nothing at all.
Must not know: what any operation is supposed to do.
"""

import pickle
from collections.abc import Callable, Iterable

from kvref import (
    NULL,
    AllocStatus,
    BlockAllocator,
    BlockManager,
    BlockManagerError,
    CachingAllocator,
    Device,
    OutOfBlocks,
    RequestManager,
    Status,
)

Action = Callable[[BlockManager], object]
Guard = Callable[[BlockManager], AllocStatus]
Question = tuple[str, Guard, Action, int]
"""A group, its guard, the action that the guard approves, and the GPU blocks that must be free after it."""


def snapshot(manager: BlockManager) -> tuple[object, ...]:
    """Everything that distinguishes two managers, as one comparable and hashable value."""
    refcounts = tuple(
        manager.refcount(device, block) for device in Device for block in range(manager.num_total(device))
    )
    return (
        repr(manager._sequences),
        repr(manager._groups),
        repr(manager._contents),
        tuple(sorted(map(repr, manager._ended))),
        tuple(manager.free_blocks(device) for device in Device),
        refcounts,
        published(manager._gpu),
    )


def published(pool: BlockAllocator) -> tuple[object, ...]:
    """Everything that a pool keeps of content."""
    if not isinstance(pool, CachingAllocator):
        return ()
    nodes = [(node.parent and repr(node.parent), repr(node)) for node in pool.index.nodes()]
    return pool.cached_blocks(), repr(pool._nodes), tuple(sorted(map(repr, nodes)))


def request_snapshot(manager: RequestManager) -> tuple[object, ...]:
    """The same for the other face."""
    return (
        repr(manager._sequences),
        repr(manager._contents),
        tuple(sorted(map(repr, manager._ended))),
        manager.free_blocks(),
        tuple(manager.refcount(block) for block in range(manager.num_total())),
        published(manager._gpu),
    )


def dead(window: int | None, computed: int) -> int:
    """How many positions, from the first on, attention reads no more once so many tokens are computed."""
    return 0 if window is None else max(0, computed - window + 1)


def longest_hit(
    size: int, window: int | None, tokens: int, block_of: Callable[[int], int | None]
) -> tuple[list[int], bool]:
    """The longest hit of a prompt of so many tokens, longest first, and whether something before it is gone.

    `block_of` says which block is known to hold the last whole block of a prefix of so many tokens, if any. A hit
    is what attention reads after it, and its last block in any case; NULL stands for the rest.
    """
    known = {stop: block_of(stop) for stop in range(size, tokens, size)}
    for stop in sorted(known, reverse=True):
        first = min(dead(window, stop) // size, stop // size - 1)
        needed = [known[end] for end in range((first + 1) * size, stop + 1, size)]
        if None not in needed:
            blocks = [NULL] * first + [block for block in needed if block is not None]
            return blocks, None in [known[end] for end in range(size, stop, size)]
    return [], False


def require_null_block_is_nobodys(manager: BlockManager | RequestManager, free: Iterable[int]) -> None:
    """Set aside exactly under a window; neither free, nor owned, nor in a row."""
    null = manager.null_block
    assert (null is None) == (manager.sliding_window is None)
    if null is not None:
        assert null not in free
        assert manager._gpu.refcount(null) == 0
        assert all(null not in seq.blocks for seq in manager._sequences.values() if seq.status is not Status.SWAPPED)


def clone(manager: BlockManager) -> BlockManager:
    """An independent twin."""
    twin: BlockManager = pickle.loads(pickle.dumps(manager))
    return twin


def fits(manager: BlockManager, action: Callable[[BlockManager], object]) -> bool:
    """Whether the action runs out of blocks when it is tried on a twin."""
    try:
        action(clone(manager))
    except OutOfBlocks:
        return False
    return True


def append_all(manager: BlockManager, group_id: str, lookahead: int) -> list[tuple[int, int]]:
    """What an engine does in a step of a group; returns all the copies."""
    return [pair for seq_id in manager.members(group_id) for pair in manager.append(seq_id, lookahead)]


def ran(manager: BlockManager, group_id: str) -> None:
    """The step of a group has run."""
    for seq_id in manager.members(group_id):
        manager.computed(seq_id)


def gpu_free(manager: BlockManager) -> int:
    """Free GPU blocks."""
    return manager.num_free(Device.GPU)


def reachable(start: BlockManager, moves: Iterable[Action], depth: int) -> list[BlockManager]:
    """All managers reachable in at most `depth` moves; failed moves must change nothing."""
    seen = {snapshot(start)}
    found = [start]
    frontier = [start]
    for _ in range(depth):
        fresh = []
        for manager in frontier:
            before = snapshot(manager)
            for move in moves:
                after = clone(manager)
                try:
                    move(after)
                except BlockManagerError:
                    assert snapshot(after) == before
                    continue
                key = snapshot(after)
                if key not in seen:
                    seen.add(key)
                    after.check()
                    fresh.append(after)
        found += fresh
        frontier = fresh
    return found


def judge(manager: BlockManager, questions: Iterable[Question]) -> set[AllocStatus]:
    """Check every guard in this state; returns the answers met."""
    met = set()
    for group, guard, action, reserve in questions:
        answer = guard(manager)
        after = clone(manager)
        try:
            action(after)
            possible = gpu_free(after) >= reserve
        except OutOfBlocks:
            possible = False
        assert (answer is AllocStatus.OK) == possible
        if not possible:
            alone = clone(manager)
            for seq_id, seq in list(alone._sequences.items()):
                if seq.group_id != group:
                    alone.free(seq_id)
            alone.evict(alone.num_total(Device.GPU))
            assert (guard(alone) is AllocStatus.OK) == (answer is AllocStatus.LATER)
        met.add(answer)
    return met
