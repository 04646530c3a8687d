"""What both faces of the reference have in common: live sequences, their rows on the GPU, and the prefix cache.

Knows: who is live, what each row and each sequence's content is, and what may be asked about them.
Must not know: guards, groups, swapping, chunks, or when a row is taken.
"""

from collections.abc import Iterable, Reversible, Sequence

from kvref.allocator import BlockAllocator
from kvref.content import Content, PrefixCache
from kvref.errors import DuplicateSequence, InvalidConfig, InvalidRequest, UnknownSequence, WrongStatus
from kvref.sequence import SeqId, SequenceState, Status
from kvref.table import NULL, dead_entries


class SequenceManager:
    """Base of `BlockManager` and `RequestManager`.

    `_cache` is None where prefix caching is not wanted at all; otherwise `_contents` has an entry for
    each live sequence, and `_gpu` is the pool that the cache is of.
    """

    _gpu: BlockAllocator
    _cache: PrefixCache | None

    def __init__(self, block_size: int, watermark_blocks: int, sliding_window: int | None) -> None:
        if block_size < 1:
            raise InvalidConfig(f"block_size {block_size}: a block has 1 slot or more")
        if watermark_blocks < 0:
            raise InvalidConfig(f"watermark_blocks {watermark_blocks}: reserve 0 blocks or more")
        if sliding_window is not None and sliding_window < 1:
            raise InvalidConfig(f"sliding_window {sliding_window}: attention reads 1 token or more; None for all")
        self._block_size = block_size
        self._watermark = watermark_blocks
        self._window = sliding_window
        self._sequences: dict[SeqId, SequenceState] = {}
        self._contents: dict[SeqId, Content] = {}
        self._ended: set[SeqId] = set()

    # --- after a step ----------------------------------------------------------------------------

    def computed(self, seq_id: SeqId) -> None:
        """State that the step has run: the KV of every token that the row covers is there now.

        With prefix caching its whole blocks are published: later prompts can hit them, and they keep
        their content when they are freed, until they are handed out. With a sliding window of w tokens
        the next token reads only the last w - 1 of those computed: blocks that hold none of them, or of
        later ones, are given up, and their entries are `NULL` from now on. Otherwise nothing happens.
        O(blocks that became whole or are given up). Raises `UnknownSequence`, `WrongStatus` (not running).
        """
        seq = self._running(seq_id)
        if self._cache is not None:
            self._cache.publish(self._contents[seq_id], seq.blocks, seq.seen)
        if self._window is not None:
            self._give_up_dead(seq)

    # --- the prefix cache ------------------------------------------------------------------------

    def cached_blocks(self) -> tuple[int, ...]:
        """The free GPU blocks that still have published content, the next one to be evicted first."""
        return () if self._cache is None else self._cache.cached_blocks()

    def evict(self, count: int) -> int:
        """Drop the content of at least `count` >= 0 cached free blocks, if there are so many; returns of how many.

        The least recently used go first; they stay free. `InvalidRequest` if `count` is negative.
        """
        if count < 0:
            raise InvalidRequest(f"{count} blocks to evict; ask for 0 or more")
        return 0 if self._cache is None else self._cache.evict(count)

    def reset_index(self) -> None:
        """Forget all published content, as is needed when the model's weights change. No block changes hands.

        A row that had computed KV at that time publishes nothing any more until it is begun anew
        (by preemption and readmission): what it computes later rests on KV that was to be forgotten.
        So call it between steps, when `computed` has been called for everyone that has run.
        """
        if self._cache is not None:
            self._cache.forget()

    # --- inspection ------------------------------------------------------------------------------

    @property
    def block_size(self) -> int:
        """Slots in a block."""
        return self._block_size

    @property
    def watermark_blocks(self) -> int:
        """GPU blocks that admission leaves free."""
        return self._watermark

    @property
    def sliding_window(self) -> int | None:
        """Tokens that attention reads, the one that asks included; None if it reads all."""
        return self._window

    @property
    def null_block(self) -> int | None:
        """The GPU block that is set aside under a sliding window, for kernels that need one in the place of `NULL`.

        It is never free, handed out or owned: its reference count is 0, and rows do not name it. None
        without a window, and where the GPU has no block.
        """
        return self._gpu.aside

    def __contains__(self, seq_id: object) -> bool:
        """Whether a live sequence has this id."""
        return seq_id in self._sequences

    def block_table(self, seq_id: SeqId) -> list[int]:
        """A copy of the row: GPU blocks when running, CPU blocks when swapped, empty when waiting.

        Entries at its beginning that a sliding window has given up are `NULL`; the others are where they
        were. `UnknownSequence` if it is not live; so for the other questions about a sequence.
        """
        return list(self._live(seq_id).blocks)

    def status(self, seq_id: SeqId) -> Status:
        """What a live sequence is doing."""
        return self._live(seq_id).status

    def num_tokens(self, seq_id: SeqId) -> int:
        """Tokens in a live sequence, unseen ones included."""
        return self._live(seq_id).tokens

    def unseen(self, seq_id: SeqId) -> int:
        """Tokens of a live sequence that its row does not cover yet; all of them while it waits."""
        return self._live(seq_id).unseen

    # --- rows ------------------------------------------------------------------------------------

    def _release_row(self, seq: SequenceState) -> None:
        """Give back everything the sequence owns."""
        self._pool_of(seq).release_many(self._release_order(seq.held))
        seq.blocks = []
        seq.given_up = 0
        if self._cache is not None:
            self._cache.leave(self._contents[seq.seq_id])

    def _give_up_dead(self, seq: SequenceState) -> None:
        """Give back the blocks that hold dead positions only, all that the row covers being computed."""
        kept, dead = seq.given_up, dead_entries(seq.seen, self._window, self._block_size)
        self._gpu.release_many(self._release_order(seq.blocks[kept:dead]))
        seq.blocks[kept:dead] = [NULL] * (dead - kept)
        seq.given_up = dead

    def _release_order(self, blocks: Reversible[int]) -> Iterable[int]:
        """Later blocks first where it matters, since what is released first is evicted first.

        A prefix is worth more than what follows it: without it nothing after it can be hit
        (RadixAttention evicts leaves first for the same reason).
        """
        return blocks if self._cache is None else reversed(blocks)

    def _pool_of(self, seq: SequenceState) -> BlockAllocator:
        """The pool in which the sequence's row lies."""
        return self._gpu

    # --- look-ups and argument checks ------------------------------------------------------------

    def _live(self, seq_id: SeqId) -> SequenceState:
        seq = self._sequences.get(seq_id)
        if seq is None:
            fate = "has ended" if seq_id in self._ended else "was never admitted"
            raise UnknownSequence(f"sequence {seq_id!r} {fate}; admit it first")
        return seq

    def _running(self, seq_id: SeqId) -> SequenceState:
        seq = self._live(seq_id)
        if seq.status is not Status.RUNNING:
            raise WrongStatus(f"sequence {seq_id!r} is {seq.status.value}; bring it back first")
        return seq

    def _require_unused(self, seq_ids: Sequence[SeqId]) -> None:
        if len(set(seq_ids)) < len(seq_ids):
            raise DuplicateSequence(f"an id twice in {list(seq_ids)}; sequences need ids of their own")
        for seq_id in seq_ids:
            if seq_id in self._sequences:
                raise DuplicateSequence(f"sequence {seq_id!r} is live; free it first, or use another id")

    def _require_lookahead(self, lookahead: int) -> None:
        if lookahead < 0:
            raise InvalidRequest(f"lookahead {lookahead}; ask for 0 slots or more")
