"""The micro-steps, as a table: all that a block manager ever does to the KV cache of a device.

Knows the steps of `kvspec.model.cache` by name; must not know which operation is made of which (`operations`), nor what
is claimed of them. What is proved of each of them is proved of every sequence of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kvspec.algebra import Algebra
from kvspec.model import cache as caches
from kvspec.model.cache import EXCLUSIVE_WRITER, SAME_CONTENT, At, Cache, Rule
from kvspec.model.pool import Pool, next_block


@dataclass(frozen=True)
class MicroStep:
    """One micro-step of one cache.

    can: whether it is possible there. do: the cache after it. words: what it does. takes: free blocks that it takes
    (0 or 1). owned: the blocks whose owners it changes. rule: what it also asks of every reader or every slot.
    """

    name: str
    words: str
    can: Callable[[Algebra, Cache, At], Any]
    do: Callable[[Algebra, Cache, At], Cache]
    takes: int = 0
    owned: Callable[[Pool, At], tuple[Any, ...]] = lambda pool, at: ()
    rule: Rule | None = None


TAKE = MicroStep(
    "take",
    "put a free block into an empty entry",
    caches.can_take,
    caches.take,
    takes=1,
    owned=lambda pool, at: (next_block(pool),),
)
SHARE = MicroStep(
    "share",
    "let an empty entry own the block of another entry too, and read what that one reads",
    caches.can_share,
    caches.share,
    owned=lambda pool, at: (pool.tab[at.other],),
)
RELEASE = MicroStep(
    "release",
    "empty an entry; its block becomes free with its last owner",
    caches.can_release,
    caches.release,
    owned=lambda pool, at: (pool.tab[at.entry],),
)
REPLACE = MicroStep(
    "replace",
    "copy-on-write: leave a shared block to its other owners, and take one instead that is made to hold the same",
    caches.can_replace,
    caches.replace_shared,
    takes=1,
    owned=lambda pool, at: (pool.tab[at.entry], next_block(pool)),
)
TRANSFER = MicroStep(
    "transfer",
    "take a block for an entry whose block lies on the other device, and make it hold the same",
    caches.can_transfer,
    caches.transfer,
    takes=1,
    owned=lambda pool, at: (next_block(pool),),
)
FOLLOW = MicroStep(
    "follow",
    "let a further owner of a block that was transferred own the new block too",
    caches.can_follow,
    caches.follow,
    owned=lambda pool, at: (pool.tab[at.other],),
    rule=SAME_CONTENT,
)
WRITE = MicroStep(
    "write",
    "write the KV of the next token into the next slot of an entry's block",
    caches.can_write,
    caches.write,
    rule=EXCLUSIVE_WRITER,
)

MICRO_STEPS: dict[str, MicroStep] = {
    step.name: step for step in (TAKE, SHARE, RELEASE, REPLACE, TRANSFER, FOLLOW, WRITE)
}
"""Every micro-step, by name."""
