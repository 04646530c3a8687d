"""kvref: a small reference block manager for the paged KV cache of LLM inference engines.

Knows: the names that are public. Must not know: anything else.
"""

from kvref.allocator import BlockAllocator
from kvref.errors import (
    BlockManagerError,
    BlockNotHeld,
    BrokenInvariant,
    DoubleFree,
    DuplicateGroup,
    DuplicateSequence,
    InvalidConfig,
    InvalidRequest,
    OutOfBlocks,
    UnknownGroup,
    UnknownSequence,
    WrongStatus,
)
from kvref.manager import BlockManager
from kvref.sequence import Device, GroupId, SeqId, SequenceState, Status
from kvref.verdict import AllocStatus

__all__ = [
    "AllocStatus",
    "BlockAllocator",
    "BlockManager",
    "BlockManagerError",
    "BlockNotHeld",
    "BrokenInvariant",
    "Device",
    "DoubleFree",
    "DuplicateGroup",
    "DuplicateSequence",
    "GroupId",
    "InvalidConfig",
    "InvalidRequest",
    "OutOfBlocks",
    "SeqId",
    "SequenceState",
    "Status",
    "UnknownGroup",
    "UnknownSequence",
    "WrongStatus",
]
