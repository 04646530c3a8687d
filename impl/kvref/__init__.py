"""kvref: a small reference block manager for the paged KV cache of LLM inference engines.

Knows: the names that are public. Must not know: anything else.
"""

from kvref.allocator import BlockAllocator
from kvref.caching import CachingAllocator
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
from kvref.prefix import BlockHash
from kvref.requests import RequestManager
from kvref.sequence import Device, GroupId, SeqId, SequenceState, Status, Tokens
from kvref.table import NULL
from kvref.verdict import AllocStatus

__all__ = [
    "NULL",
    "AllocStatus",
    "BlockAllocator",
    "BlockHash",
    "BlockManager",
    "BlockManagerError",
    "BlockNotHeld",
    "BrokenInvariant",
    "CachingAllocator",
    "Device",
    "DoubleFree",
    "DuplicateGroup",
    "DuplicateSequence",
    "GroupId",
    "InvalidConfig",
    "InvalidRequest",
    "OutOfBlocks",
    "RequestManager",
    "SeqId",
    "SequenceState",
    "Status",
    "Tokens",
    "UnknownGroup",
    "UnknownSequence",
    "WrongStatus",
]
