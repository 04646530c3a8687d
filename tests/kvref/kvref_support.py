"""Helpers of the kvref tests: comparing and copying whole managers.

Knows: the manager's private state, so that "nothing changed" means nothing at all.
Must not know: what any operation is supposed to do.
"""

import pickle
from collections.abc import Callable

from kvref import BlockManager, Device, OutOfBlocks


def snapshot(manager: BlockManager) -> tuple[object, ...]:
    """Everything that distinguishes two managers, as one comparable and hashable value."""
    refcounts = tuple(
        manager.refcount(device, block) for device in Device for block in range(manager.num_total(device))
    )
    return (
        repr(manager._sequences),
        repr(manager._groups),
        tuple(sorted(map(repr, manager._ended))),
        tuple(manager.free_blocks(device) for device in Device),
        refcounts,
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
