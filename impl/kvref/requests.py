"""The reference for engines that try: a request gets its blocks or is refused, and nothing is asked before.

Knows: single-sequence requests, how much of one is covered, and when it is refused.
Must not know: groups, forks, copies, other devices, schedulers, or anyone who checks it.

As in `manager`, whatever can fail or refuse comes before the first change.
"""

from collections.abc import Hashable, Sequence

from kvref.audit import audit_cache, audit_pool, audit_sequence
from kvref.base import SequenceManager
from kvref.caching import CachingAllocator
from kvref.content import Content, PrefixCache
from kvref.errors import InvalidRequest, WrongStatus
from kvref.prefix import BlockHash
from kvref.sequence import SeqId, SequenceState, Status
from kvref.table import blocks_for


class RequestManager(SequenceManager):
    """Paged KV cache bookkeeping with prefix caching for an engine that schedules chunk by chunk.

    One pool of `num_blocks` >= 0 blocks of `block_size` >= 1 slots; `watermark_blocks` of it stay free
    when a request is admitted or readmitted, so that those already running can grow. `InvalidConfig` if
    a size is out of range. The shape of the interface is that of engines like vLLM V1: no guard before
    an operation, but an operation that may be refused; preemption by recomputation only.

    A refusal changes nothing, the order in which cached blocks will be evicted included. With
    `prefix_caching` off nothing is ever cached. With a `sliding_window` of >= 1 tokens rows give up what
    attention reads no more; see `computed` and `null_block`. `hash_block` is for tests that want hashes
    to collide.
    """

    _gpu: CachingAllocator
    _cache: PrefixCache

    def __init__(
        self,
        block_size: int,
        num_blocks: int,
        watermark_blocks: int = 0,
        prefix_caching: bool = True,
        sliding_window: int | None = None,
        hash_block: BlockHash | None = None,
    ) -> None:
        super().__init__(block_size, watermark_blocks, sliding_window)
        self._publishes = prefix_caching
        self._hash_block = hash_block
        self._start_pool(num_blocks)

    # --- admission -------------------------------------------------------------------------------

    def match(self, tokens: Sequence[int], extra: Hashable = None) -> int:
        """How many tokens from the start of a prompt are cached now. Holds and changes nothing.

        Whole blocks only, and at least one token is left to compute. Raises `InvalidRequest` (no
        token, extra keys that cannot be hashed).
        """
        self._require_tokens(tokens)
        return len(self._cache.match(tokens, extra).blocks) * self._block_size

    def admit(
        self,
        request_id: SeqId,
        tokens: Sequence[int],
        upto: int | None = None,
        lookahead: int = 0,
        extra: Hashable = None,
    ) -> int | None:
        """Admit a request with these >= 1 prompt tokens: returns how many of them are cached, or None.

        The row covers the cached tokens and those up to `upto` (default all; more than are cached, not
        more than there are), and has room for `lookahead` >= 0 slots after them. None if that would not
        leave the watermark free: nothing has changed then. Blocks of `extra` keys (an adapter, a salt)
        are only hit under the same ones. Ids of ended requests may be used again.

        Raises `InvalidRequest` (range, extra keys that cannot be hashed), `DuplicateSequence`.
        """
        self._require_tokens(tokens)
        self._require_lookahead(lookahead)
        self._require_unused([request_id])
        seq = SequenceState(request_id, request_id, Status.WAITING, len(tokens), 0)
        content = Content(list(tokens), extra)
        cached = self._begin(seq, content, upto, lookahead)
        if cached is not None:
            self._ended.discard(request_id)
            self._sequences[request_id] = seq
            self._contents[request_id] = content
        return cached

    def readmit(self, request_id: SeqId, upto: int | None = None, lookahead: int = 0) -> int | None:
        """Bring a preempted request back, its tokens being its prompt now; otherwise as `admit`.

        Raises `InvalidRequest`, `UnknownSequence`, `WrongStatus` (not waiting).
        """
        self._require_lookahead(lookahead)
        seq = self._live(request_id)
        if seq.status is not Status.WAITING:
            raise WrongStatus(f"request {request_id!r} is {seq.status.value}; only a preempted one comes back")
        return self._begin(seq, self._contents[request_id], upto, lookahead)

    def _begin(self, seq: SequenceState, content: Content, upto: int | None, lookahead: int) -> int | None:
        match = self._cache.match(content.ids, content.extra)
        cached = len(match.blocks) * self._block_size
        stop = self._stop(seq, cached + 1, upto)
        need = blocks_for(stop + lookahead, self._block_size)
        if self._cache.cost(need, [match]) > self._gpu.num_free - self._watermark:
            return None
        seq.blocks = self._cache.take_rows([match], [need])[0]
        seq.given_up = match.given_up
        seq.seen = stop
        seq.status = Status.RUNNING
        return self._cache.begin(content, match)

    # --- growth ----------------------------------------------------------------------------------

    def extend(self, request_id: SeqId, tokens: Sequence[int], upto: int | None = None, lookahead: int = 0) -> bool:
        """Note new tokens, perhaps none, and cover those up to `upto` and `lookahead` >= 0 slots after them.

        `upto` is all by default, not less than is covered already, and not more than there are. The
        row never shrinks. False if there are too few free blocks: the tokens are known then, and nothing
        else has changed. The watermark is there for this growth.

        Raises `InvalidRequest`, `UnknownSequence`, `WrongStatus` (not running).
        """
        self._require_lookahead(lookahead)
        seq = self._running(request_id)
        stop = self._stop(seq, seq.seen, upto, len(tokens))
        self._contents[request_id].ids.extend(tokens)
        seq.tokens += len(tokens)
        growth = blocks_for(stop + lookahead, self._block_size) - len(seq.blocks)
        if growth > self._gpu.num_free:
            return False
        if growth > 0:
            seq.blocks.extend(self._gpu.take_many(growth))
        seq.seen = stop
        return True

    def computed(self, seq_id: SeqId) -> None:
        """As the base; nothing is published with prefix caching off."""
        if self._publishes:
            super().computed(seq_id)
            return
        seq = self._running(seq_id)
        if self._window is not None:
            self._give_up_dead(seq)

    # --- the end ---------------------------------------------------------------------------------

    def preempt(self, request_id: SeqId) -> None:
        """Take a request's blocks away and let it wait, tokens kept. `UnknownSequence`, `WrongStatus` (not running)."""
        seq = self._running(request_id)
        self._release_row(seq)
        seq.seen = 0
        seq.status = Status.WAITING

    def free(self, request_id: SeqId) -> None:
        """End a request, whatever its status, and give its blocks back; again does nothing.

        Raises `UnknownSequence` if the id was never admitted.
        """
        if request_id in self._ended:
            return
        self._release_row(self._live(request_id))
        del self._sequences[request_id]
        del self._contents[request_id]
        self._ended.add(request_id)

    def reset(self) -> None:
        """Forget every request and all content; all blocks are free, as in a new manager."""
        self._sequences.clear()
        self._contents.clear()
        self._ended.clear()
        self._start_pool(self._gpu.num_total)

    # --- inspection ------------------------------------------------------------------------------

    def requests(self) -> list[SeqId]:
        """The live requests in the order they were admitted."""
        return list(self._sequences)

    def num_free(self) -> int:
        """Free blocks, cached ones included, the null block not."""
        return self._gpu.num_free

    def num_total(self) -> int:
        """All blocks, the null block included."""
        return self._gpu.num_total

    def refcount(self, block: int) -> int:
        """Live requests whose row names the block; 0 if free, or the null block. `InvalidRequest` if there is none."""
        return self._gpu.refcount(block)

    def free_blocks(self) -> tuple[int, ...]:
        """The free blocks in the order they would be handed out."""
        return self._gpu.free_blocks()

    def check(self) -> None:
        """Verify the manager's own books, in time linear in their size. Raises `BrokenInvariant`."""
        for seq in self._sequences.values():
            audit_sequence(seq, self._block_size, self._window)
        audit_pool(self._gpu, [seq.held for seq in self._sequences.values()])
        audit_cache(self._gpu, self._cache, self._sequences, self._contents, self._block_size)

    # --- arguments -------------------------------------------------------------------------------

    def _start_pool(self, num_blocks: int) -> None:
        self._gpu = CachingAllocator(num_blocks, "pool", self._hash_block)
        if self._window is not None:
            self._gpu.set_aside()
        self._cache = PrefixCache(self._gpu, self._block_size, self._window)

    def _stop(self, seq: SequenceState, least: int, upto: int | None, new: int = 0) -> int:
        """Where the covered part is to end, checked."""
        total = seq.tokens + new
        stop = total if upto is None else upto
        if not least <= stop <= total:
            raise InvalidRequest(f"request {seq.seq_id!r} up to token {stop}; ask for {least} to {total}")
        return stop

    def _require_tokens(self, tokens: Sequence[int]) -> None:
        if len(tokens) == 0:
            raise InvalidRequest("a prompt without tokens; give 1 or more")
