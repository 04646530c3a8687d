"""Rows of blocks and what they hold: finding, taking and publishing prefixes.

Knows: the token ids of one sequence, how far its row is computed and published, and a pool that caches.
Must not know: groups, statuses, watermarks, or which operation asks.
"""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from kvref.caching import CachingAllocator
from kvref.errors import InvalidRequest
from kvref.prefix import Node
from kvref.table import NULL, dead_entries


class Match(NamedTuple):
    """The longest cached prefix of some tokens: its blocks in order, and the node of the last one, if any.

    It is an entry of `blocks` for each whole block; the first `given_up` are NULL, since a sliding window
    reads no slot of them.
    """

    blocks: list[int]
    tip: Node | None
    given_up: int = 0

    @property
    def held(self) -> list[int]:
        """The blocks without the NULL entries. Not to be changed. O(blocks)."""
        return self.blocks[self.given_up :] if self.given_up else self.blocks


@dataclass(slots=True)
class Content:
    """What one live sequence's row holds.

    `ids` are its tokens, `extra` the keys besides them that its KV depends on. The first `computed`
    tokens have their KV in the row. The first `whole` entries of the row are known to the index, as hits
    or because they were published; `tip` is the node of the last of them, which it keeps in the index,
    None if `whole` is 0. `era` is the index's when the row was begun. Without a row on the GPU `whole`
    is 0.
    """

    ids: list[int]
    extra: Hashable
    computed: int = 0
    whole: int = 0
    tip: Node | None = None
    era: int = 0


class PrefixCache:
    """The prefix cache of one pool, in terms of rows of blocks of `block_size` slots.

    `window` is the sliding window of attention in tokens (>= 1), None if it reads everything.
    """

    def __init__(self, pool: CachingAllocator, block_size: int, window: int | None = None) -> None:
        self._pool = pool
        self._block_size = block_size
        # A window of one token reads nothing of any hit; what is called cached should have been computed all the same,
        # so there a hit has its last block too, as it has under a window of two.
        self._window = None if window is None else max(2, window)
        self._era = 0

    @property
    def era(self) -> int:
        """How many times the index has been forgotten."""
        return self._era

    # --- looking ---------------------------------------------------------------------------------

    def match(self, ids: Sequence[int], extra: Hashable) -> Match:
        """The whole blocks from the start of `ids` that are cached, held or free. Changes nothing.

        At least one token is left over: somebody has to compute the logits of the last one, so a full
        hit gives up its last block (vLLM's automatic prefix caching has the same rule). Under a sliding
        window the blocks that the next token does not read may be gone. O(blocks).
        `InvalidRequest` if `extra` is not hashable.
        """
        size = self._block_size
        index = self._pool.index
        blocks: list[int] = []
        node = index.find_root(self._require_hashable(extra))
        if node is None:
            return Match(blocks, None)
        for start in range(0, len(ids) - size, size):
            child = index.find(node, tuple(ids[start : start + size]))
            if child is None:
                break
            if child.block is not None:
                blocks.append(child.block)
            elif self._window is None:
                break
            else:
                blocks.append(NULL)
            node = child
        if self._window is not None:
            return self._longest_hit(blocks, node)
        return Match(blocks, node if blocks else None)

    def cost(self, need: int, matches: Iterable[Match]) -> int:
        """By how much the free count falls if rows of `need` blocks in all begin with these matches.

        A hit that others hold costs nothing, nor does an entry without a block. A hit that is free does,
        and is counted once: it is one of the free blocks, however many of the rows begin with it.
        """
        hits: list[int] = []
        for match in matches:
            need -= len(match.blocks)
            hits += match.held
        return need + self._pool.num_unowned(hits)

    def cached_blocks(self) -> tuple[int, ...]:
        """The free blocks that still have content, the next one to be evicted first."""
        return self._pool.cached_blocks()

    def evict(self, count: int) -> int:
        """Drop the content of so many free blocks; see the pool."""
        return self._pool.evict(count)

    def _longest_hit(self, chain: list[int], last: Node) -> Match:
        """The longest hit under a window, of a chain of blocks that ends in node `last`; NULL is a block that is gone.

        Goes back from the end: behind a block that is gone no hit can end as long as the window reaches it. O(blocks).
        """
        size = self._block_size
        whole = entry = len(chain)
        while entry > dead_entries(whole * size, self._window, size):
            entry -= 1
            if chain[entry] == NULL:
                whole = entry
        tip: Node | None = last if whole else None
        for _ in range(len(chain) - whole):
            tip = tip.parent if tip else None
        given_up = dead_entries(whole * size, self._window, size)
        return Match([NULL] * given_up + chain[given_up:whole], tip, given_up)

    # --- a row's life ----------------------------------------------------------------------------

    def take_rows(self, matches: Sequence[Match], needs: Sequence[int]) -> list[list[int]]:
        """For each match a row of so many blocks that begins with it. `OutOfBlocks`, and nothing changed.

        All hits are secured first, since taking fresh blocks may evict.
        """
        self._pool.require_free(self.cost(sum(needs), matches))
        for match in matches:
            for block in match.held:
                self._pool.acquire(block)
        return [
            match.blocks + self._pool.take_many(need - len(match.blocks))
            for match, need in zip(matches, needs, strict=True)
        ]

    def begin(self, content: Content, match: Match) -> int:
        """Note that the content's new row begins with this match; returns how many tokens are cached."""
        content.whole = len(match.blocks)
        content.computed = content.whole * self._block_size
        content.era = self._era
        content.tip = match.tip
        if content.tip:
            content.tip.uses += 1
        return content.computed

    def branch(self, content: Content, tokens: int) -> Content:
        """The content of a second row of the same blocks, with the first `tokens` tokens."""
        tip = content.tip
        if tip:
            tip.uses += 1
        return Content(content.ids[:tokens], content.extra, content.computed, content.whole, tip, content.era)

    def publish(self, content: Content, row: Sequence[int], computed: int) -> None:
        """Note that the row's first `computed` tokens have their KV now; its whole blocks enter the index.

        A row that had KV when the index was forgotten publishes nothing any more: what it computes
        rests on what was to be forgotten. O(blocks that became whole).
        """
        fresh = content.computed == 0
        content.computed = computed
        if content.era != self._era:
            if not fresh:
                return
            content.era = self._era
        whole = computed // self._block_size
        if whole > content.whole:
            self._publish_entries(content, row, whole)

    def leave(self, content: Content) -> None:
        """Note that the row is given up, with the KV in it."""
        self.leave_gpu(content)
        content.computed = 0

    def leave_gpu(self, content: Content) -> None:
        """Note that the row's KV has moved out of this pool. If it comes back, it is published as if new."""
        if content.tip and content.era == self._era:
            self._unpin(content.tip)
        content.tip = None
        content.whole = 0

    def forget(self) -> None:
        """Drop everything published. See `publish` for the rows that stand."""
        self._pool.forget()
        self._era += 1

    def _publish_entries(self, content: Content, row: Sequence[int], whole: int) -> None:
        size = self._block_size
        before = content.tip
        node = before or self._pool.root(content.extra)
        for entry in range(content.whole, whole):
            tokens = tuple(content.ids[entry * size : (entry + 1) * size])
            # A row that was on the CPU begins anew with entries that were given up: they only lead to what follows.
            given_up = row[entry] == NULL
            node = self._pool.index.obtain(node, tokens) if given_up else self._pool.publish(row[entry], node, tokens)
        node.uses += 1
        content.tip = node
        content.whole = whole
        if before:
            before.uses -= 1  # its child has taken its place: it cannot be unused

    def _unpin(self, node: Node) -> None:
        node.uses -= 1
        self._pool.index.prune(node)

    def _require_hashable(self, extra: Hashable) -> Hashable:
        try:
            hash(extra)
        except TypeError as error:
            raise InvalidRequest(f"extra keys {extra!r} cannot be hashed; give an id, a string or a tuple") from error
        return extra
