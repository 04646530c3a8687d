"""The three answers of an admission guard, and the one rule that picks among them.

Knows: four numbers of blocks.
Must not know: what the blocks are wanted for.
"""

from enum import Enum


class AllocStatus(Enum):
    """A guard's answer. Only OK is true in a condition, so that a bare `if` cannot take NEVER for yes."""

    OK = "ok"
    """Do it now."""
    LATER = "later"
    """Not now; possible once others have given blocks back."""
    NEVER = "never"
    """Not even with the device to itself."""

    def __bool__(self) -> bool:
        return self is AllocStatus.OK


def verdict(need: int, free: int, reachable: int, reserve: int) -> AllocStatus:
    """Judge a request for `need` blocks of which `reserve` must stay free afterwards. All in blocks.

    `free` are the blocks free now; `reachable` those that would be free if every other group were
    gone, so `free` <= `reachable`.
    """
    if reachable - need < reserve:
        return AllocStatus.NEVER
    if free - need < reserve:
        return AllocStatus.LATER
    return AllocStatus.OK
