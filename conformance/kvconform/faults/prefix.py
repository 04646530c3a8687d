"""Managers whose prefix cache finds, publishes or forgets the wrong content."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from kvconform.faults.assembly import Assembled, Pool
from kvconform.faults.base import Fault
from kvref import BlockManager
from kvref.caching import CachingAllocator
from kvref.content import Content, Match, PrefixCache
from kvref.prefix import BlockTokens, Node, PrefixIndex
from kvref.sequence import SeqId, Tokens

# --- when content is published -----------------------------------------------------------------------


class PublishedUncomputed(BlockManager):
    """Publishes a prompt's blocks when they are allocated, not when the step has run."""

    def allocate(
        self,
        group_id: str | int,
        seq_ids: Sequence[SeqId],
        prompt: Tokens,
        lookahead: int = 0,
        extra: Hashable = None,
    ) -> int:
        cached = super().allocate(group_id, seq_ids, prompt, lookahead, extra)
        for seq_id in seq_ids:
            self.computed(seq_id)
        return cached


class PartlyFilledPublished(BlockManager):
    """Counts a token as computed as soon as it was sampled: a block is published before its last slot is written."""

    def add_tokens(self, seq_id: SeqId, tokens: Tokens) -> None:
        super().add_tokens(seq_id, tokens)
        seq = self._sequences[seq_id]
        if self._cache is not None:
            covered = min(seq.tokens, len(seq.blocks) * self._block_size)
            self._cache.publish(self._contents[seq_id], seq.blocks, covered)


# --- how content is named ----------------------------------------------------------------------------


class _OwnTokensIndex(PrefixIndex):
    def find(self, parent: Node, tokens: BlockTokens) -> Node | None:
        for node in self.nodes():
            if node.tokens == tokens and _root(node) is _root(parent):
                return node
        return None


def _root(node: Node) -> Node:
    while node.parent is not None:
        node = node.parent
    return node


class _OwnTokensPool(Pool):
    index_class = _OwnTokensIndex


class KeyWithoutPrefix(Assembled):
    """Looks a block up by its own tokens, whatever comes before it."""

    pool_class = _OwnTokensPool


class _OneRootIndex(PrefixIndex):
    def find_root(self, extra: Hashable) -> Node | None:
        return super().find_root(None)

    def obtain_root(self, extra: Hashable) -> Node:
        return super().obtain_root(None)


class _OneRootPool(Pool):
    index_class = _OneRootIndex


class KeyWithoutExtra(Assembled):
    """Looks a block up by tokens only, whatever adapter or salt its KV depends on."""

    pool_class = _OneRootPool


class _TrustingIndex(PrefixIndex):
    def find(self, parent: Node, tokens: BlockTokens) -> Node | None:
        return next(iter(self._buckets.get(self._hash_block(parent.key, tokens), ())), None)


class _TrustingPool(Pool):
    index_class = _TrustingIndex

    def hash_of(self, parent: int, tokens: BlockTokens) -> int:
        return super().hash_of(parent, tokens[:1])


class HashCollisionIsHit(Assembled):
    """Takes blocks with equal hashes for equal content; its hash sees a block's first token only."""

    pool_class = _TrustingPool


class _RememberingCache(PrefixCache):
    def __init__(self, pool: CachingAllocator, block_size: int, window: int | None = None) -> None:
        super().__init__(pool, block_size, window)
        self._matches: dict[tuple[object, ...], Match] = {}

    def match(self, ids: Sequence[int], extra: Hashable) -> Match:
        known = self._matches.get((tuple(ids), extra))
        if known is not None:
            return known._replace(blocks=list(known.blocks))
        found = super().match(ids, extra)
        if found.tip is not None:
            self._matches[tuple(ids), extra] = found._replace(blocks=list(found.blocks))
        return found


class _RevivingPool(Pool):
    def acquire(self, block: int) -> None:
        if block in self._free:
            self._free.remove(block)
            self._refcounts[block] = 1
        else:
            super().acquire(block)


class MatchRemembered(Assembled):
    """Remembers what a prompt matched when it was asked about first, and admits it with that, whatever the blocks hold
    now; the pool is kept from complaining.
    """

    pool_class = _RevivingPool
    cache_class = _RememberingCache


# --- how much is found -------------------------------------------------------------------------------


class _WholePromptCache(PrefixCache):
    def match(self, ids: Sequence[int], extra: Hashable) -> Match:
        return super().match([*ids, 0], extra)


class FullHitLeavesNothing(Assembled):
    """Takes a whole prompt over from the cache, its last token too."""

    cache_class = _WholePromptCache


class OneTokenTooMany(BlockManager):
    """Says of an admission with hits that one token more is cached than is."""

    def allocate(
        self,
        group_id: str | int,
        seq_ids: Sequence[SeqId],
        prompt: Tokens,
        lookahead: int = 0,
        extra: Hashable = None,
    ) -> int:
        cached = super().allocate(group_id, seq_ids, prompt, lookahead, extra)
        return cached + 1 if cached else 0


class _ShyCache(PrefixCache):
    def match(self, ids: Sequence[int], extra: Hashable) -> Match:
        return super().match(ids[:-1], extra)


class LastBlockGivenUp(Assembled):
    """Leaves out the last token before it leaves one to compute: a prompt of one token more loses a block."""

    cache_class = _ShyCache


class _FirstBlockCache(PrefixCache):
    def match(self, ids: Sequence[int], extra: Hashable) -> Match:
        return super().match(ids[: self._block_size + 1], extra)


class FirstBlockOnly(Assembled):
    """Looks no further than the first block."""

    cache_class = _FirstBlockCache


class PartialHitNotCopied(BlockManager):
    """Takes a cached block over whose first tokens only are the prompt's, and writes the rest into it."""

    def allocate(
        self,
        group_id: str | int,
        seq_ids: Sequence[SeqId],
        prompt: Tokens,
        lookahead: int = 0,
        extra: Hashable = None,
    ) -> int:
        cached = super().allocate(group_id, seq_ids, prompt, lookahead, extra)
        pool = self._gpu
        if not isinstance(pool, CachingAllocator):
            return cached
        content = self._contents[seq_ids[0]]
        rest = content.ids[cached:]
        above = content.tip or pool.index.find_root(extra)
        for node in pool.index.nodes():
            common = _common(node.tokens, rest[:-1])
            if node.block is not None and node.parent is above and common:
                for seq_id in seq_ids:
                    row = self._sequences[seq_id].blocks
                    pool.release(row[content.whole])
                    pool.acquire(node.block)
                    row[content.whole] = node.block
                return cached + common
        return cached


def _common(some: Sequence[int], others: Sequence[int]) -> int:
    """How many tokens both begin with."""
    for number, (one, other) in enumerate(zip(some, others, strict=False)):
        if one != other:
            return number
    return min(len(some), len(others))


# --- what a reset forgets ----------------------------------------------------------------------------


class ResetIgnored(BlockManager):
    """A reset of the index does nothing."""

    def reset_index(self) -> None:
        pass


class _FreeOnlyCache(PrefixCache):
    def forget(self) -> None:
        self.evict(self._pool.num_total)


class ResetForgetsFreeOnly(Assembled):
    """A reset of the index forgets the blocks that nobody owns; those in use can still be hit."""

    cache_class = _FreeOnlyCache


class _UsedOnlyPool(Pool):
    def forget(self) -> None:
        for block, node in enumerate(self._nodes):
            if node is not None and self._refcounts[block]:
                self._unpublish(block)


class ResetForgetsUsedOnly(Assembled):
    """A reset of the index forgets the blocks in use; those that nobody owns can still be hit."""

    pool_class = _UsedOnlyPool


class _RepublishingCache(PrefixCache):
    def publish(self, content: Content, row: Sequence[int], computed: int) -> None:
        if content.era != self._era:
            content.computed, content.whole, content.tip = 0, 0, None
        super().publish(content, row, computed)


class ResetRepublished(Assembled):
    """A sequence that was running at a reset publishes its old blocks again at its next step."""

    cache_class = _RepublishingCache


class ResetAllKeepsIndex(BlockManager):
    """Forgetting everything ends all sequences, and leaves what they computed in the index."""

    def reset(self) -> None:
        for seq_id in list(self._sequences):
            self.free(seq_id)
        self._ended.clear()


FAULTS = (
    Fault(
        "published-uncomputed",
        "C23",
        ("prefix.hit-computed",),
        "A prompt's blocks can be hit from its admission on, and still when it is aborted before its first step.",
        "Blocks indexed when they are allocated, in engines that can abort a request before it runs.",
        PublishedUncomputed,
    ),
    Fault(
        "partly-filled-published",
        "C23",
        ("prefix.hit-computed",),
        "The token that a step has just sampled counts as computed: the block that it fills is published too early.",
        "Confusing the number of tokens with the number of computed tokens.",
        PartlyFilledPublished,
    ),
    Fault(
        "key-without-prefix",
        "C25",
        ("prefix.hit-exact",),
        "A block is looked up by its own tokens, whatever comes before it.",
        "Block hashes that are not chained to the block before.",
        KeyWithoutPrefix,
    ),
    Fault(
        "key-without-extra",
        "C25",
        ("prefix.hit-exact",),
        "A block is looked up by its tokens without the extra keys (adapter, salt).",
        "Prefix caches that answer a request for one LoRA adapter with the KV of another.",
        KeyWithoutExtra,
    ),
    Fault(
        "hash-collision-is-hit",
        "C25",
        ("prefix.hit-exact",),
        "Equal hashes are taken for equal content.",
        "CVE-2025-25183: predictable hashes in vLLM's prefix cache.",
        HashCollisionIsHit,
    ),
    Fault(
        "match-remembered",
        "C24",
        ("prefix.hit-exact",),
        "A match that was made when a request was asked about is used later, when its blocks hold something else.",
        "Matching when a request arrives, and admitting it later.",
        MatchRemembered,
    ),
    Fault(
        "full-hit-leaves-nothing",
        "C26",
        ("prefix.leave-one",),
        "A prompt that is cached whole is taken over whole: nothing is left to compute.",
        "vLLM's automatic prefix caching had to learn to recompute the last token.",
        FullHitLeavesNothing,
    ),
    Fault(
        "one-token-too-many",
        "C26",
        ("prefix.hit-computed",),
        "With hits, one token more is said to be cached than is.",
        "Counting the last cached position, and taking it for how many there are.",
        OneTokenTooMany,
    ),
    Fault(
        "last-block-given-up",
        "C26",
        ("prefix.hit-maximal",),
        "One token beyond a cached prefix is not enough: its last block is computed again.",
        "A token left out twice, by the caller and by the cache.",
        LastBlockGivenUp,
    ),
    Fault(
        "first-block-only",
        "C22",
        ("prefix.hit-maximal",),
        "Of a cached prefix, only the first block is found.",
        "A search that ends at its first success.",
        FirstBlockOnly,
    ),
    Fault(
        "partial-hit-not-copied",
        "C31",
        ("table.no-alias",),
        "A cached block that begins as the prompt goes on is taken over and written to, without a copy.",
        "Reuse of partly matching blocks, as in TensorRT-LLM, without the copy that it needs.",
        PartialHitNotCopied,
    ),
    Fault(
        "reset-ignored",
        "C34",
        ("prefix.reset",),
        "A reset of the index does nothing.",
        "Training loops that change the weights and go on with the old cache.",
        ResetIgnored,
    ),
    Fault(
        "reset-forgets-free-only",
        "C34",
        ("prefix.reset",),
        "A reset of the index forgets the cached blocks that nobody owns, not those in use.",
        "A reset by evicting whatever can be evicted.",
        ResetForgetsFreeOnly,
    ),
    Fault(
        "reset-forgets-used-only",
        "C34",
        ("prefix.reset",),
        "A reset of the index forgets the blocks in use, not the cached ones that nobody owns.",
        "A reset that walks over the running requests.",
        ResetForgetsUsedOnly,
    ),
    Fault(
        "reset-republished",
        "C34",
        ("prefix.reset",),
        "What a sequence computed before a reset of the index is published again when it goes on.",
        "A reset while requests are running.",
        ResetRepublished,
    ),
    Fault(
        "reset-all-keeps-index",
        "C34",
        ("prefix.reset",),
        "Forgetting everything ends the sequences and keeps what they computed in the index.",
        "Recovery that frees every request instead of starting anew.",
        ResetAllKeepsIndex,
    ),
)
