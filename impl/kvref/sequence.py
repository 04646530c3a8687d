"""What the manager remembers of one sequence: counts and its block table row.

Knows: the life of a sequence and where its blocks lie in each status.
Must not know: token ids, reference counts, other sequences.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeAlias

SeqId: TypeAlias = int | str
GroupId: TypeAlias = int | str

Tokens: TypeAlias = int | Sequence[int]
"""How many tokens, or their ids; with prefix caching it must be the ids."""


class Device(Enum):
    """Where a pool of blocks lies."""

    GPU = "gpu"
    CPU = "cpu"


class Status(Enum):
    """What a live sequence is doing; one that has ended has no status."""

    WAITING = "waiting"
    """Preempted by recompute: holds no block, keeps its tokens."""
    RUNNING = "running"
    """Its row lies on the GPU."""
    SWAPPED = "swapped"
    """Its row lies on the CPU."""


@dataclass(slots=True)
class SequenceState:
    """One live sequence.

    `tokens` >= 1 is its length in tokens; `seen` <= `tokens` is how many of them its row covers, and
    the difference is *unseen*: produced, but not appended yet. `blocks` is its block table row: the
    physical blocks of its slots in order, at least as many as `seen` needs (lookahead may have left
    more). Its first `given_up` entries are NULL: a sliding window has left their slots behind.
    WAITING: `seen` is 0 and the row empty.
    """

    seq_id: SeqId
    group_id: GroupId
    status: Status
    tokens: int
    seen: int
    blocks: list[int] = field(default_factory=list)
    given_up: int = 0

    @property
    def unseen(self) -> int:
        """Tokens that the row does not cover yet."""
        return self.tokens - self.seen

    @property
    def held(self) -> list[int]:
        """The blocks that the row names, in order: its entries without those given up. Not to be changed. O(blocks)."""
        return self.blocks[self.given_up :] if self.given_up else self.blocks
