"""Laws of content: what a sequence reads is the KV of its own tokens, whatever is shared, copied or moved.

Contents are interned prefixes: the number of a token prefix stands for the KV that its last token has after it.
0 stands for garbage: a slot that was never written, or whose block got a new life.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kvspec.algebra import Algebra
from kvspec.laws.base import Law
from kvspec.vocabulary import Capability, Level


@dataclass(frozen=True)
class Read:
    """Readable slots of one sequence. wrong: how many hold another content than the sequence's own prefix there.
    slots: how many were read.
    """

    wrong: Any
    slots: Any = 1


@dataclass(frozen=True)
class Write:
    """The slots one sequence writes in one step. sharing: another live sequence shares a block with it, or did so when
    it was scheduled. spoiled: slots whose content another live sequence reads and which now hold something else.
    """

    sharing: Any
    spoiled: Any


@dataclass(frozen=True)
class Moved:
    """A block that was copied or swapped, as one reader sees it. wrong: readable slots whose content is not what the
    reader must find there.
    """

    wrong: Any


@dataclass(frozen=True)
class Sharing:
    """A group across a swap: distinct blocks its moved sequences named before and name after."""

    before: Any
    after: Any


def reads_its_own(a: Algebra, read: Read) -> Any:
    """No wrong slot."""
    return read.wrong == 0


def reads_something(a: Algebra, read: Read) -> Any:
    """At least one slot was read."""
    return read.slots >= 1


def spoils_nothing(a: Algebra, write: Write) -> Any:
    """Nobody else's slot changed."""
    return write.spoiled == 0


def among_sharers(a: Algebra, write: Write) -> Any:
    """There is somebody to spoil."""
    return write.sharing


def arrived_right(a: Algebra, moved: Moved) -> Any:
    """No wrong slot."""
    return moved.wrong == 0


def still_shared(a: Algebra, sharing: Sharing) -> Any:
    """No more distinct blocks than before."""
    return sharing.after <= sharing.before


SHARERS = (Capability.GROUPS, Capability.FORK)

LAWS = (
    Law(
        "data.read-back",
        Level.MUST,
        "At each step every scheduled sequence reads, at every live computed position, the KV of its own tokens.",
        Read,
        reads_its_own,
        applies=reads_something,
        breaking=Read(wrong=1),
        source="What a block manager is for; anything else is silent wrong output.",
    ),
    Law(
        "data.exclusive-write",
        Level.MUST,
        "No write changes the content of a slot that another live sequence reads.",
        Write,
        spoils_nothing,
        applies=among_sharers,
        breaking=Write(sharing=True, spoiled=1),
        needs=(Capability.APPEND,),
        needs_any=SHARERS,
        source="PagedAttention section 4.4: copy-on-write before writing to a shared block; fault class C31.",
    ),
    Law(
        "data.copies",
        Level.MUST,
        "Executed when and in the order declared, every copy brings the right content to the writer's new block.",
        Moved,
        arrived_right,
        breaking=Moved(wrong=1),
        needs=(Capability.APPEND,),
        needs_any=SHARERS,
        source="PagedAttention section 4.4; fault class C32: copy mapping hazards.",
    ),
    Law(
        "data.swap-content",
        Level.MUST,
        "After a swap every readable slot of each new row has its old content.",
        Moved,
        arrived_right,
        breaking=Moved(wrong=1),
        needs=(Capability.SWAP,),
        source="PagedAttention section 4.5; fault class C32: swap mapping hazards.",
    ),
    Law(
        "data.swap-keeps-sharing",
        Level.SHOULD,
        "Blocks shared before a swap are shared after it.",
        Sharing,
        still_shared,
        breaking=Sharing(before=2, after=4),
        needs=(Capability.SWAP,),
        needs_any=SHARERS,
        source="PagedAttention section 4.5 swaps whole groups; without it a group may not fit where it came from.",
    ),
)
