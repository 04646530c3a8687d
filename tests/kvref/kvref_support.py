"""Helpers of the kvref tests: comparing and copying whole managers.

Knows: the manager's private state, so that "nothing changed" means nothing at all.
Must not know: what any operation is supposed to do.
"""

import pickle
from collections.abc import Callable, Iterable

from kvref import (
    AllocStatus,
    BlockAllocator,
    BlockManager,
    BlockManagerError,
    CachingAllocator,
    Device,
    OutOfBlocks,
    RequestManager,
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
