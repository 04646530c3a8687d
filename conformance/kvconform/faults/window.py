"""Managers that are wrong about a sliding window, the null block, chunks or drafts."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import kvref
from kvconform.faults.assembly import Assembled, Pool
from kvconform.faults.base import Fault
from kvref import NULL, BlockManager, RequestManager
from kvref.content import Match, PrefixCache
from kvref.sequence import SeqId, SequenceState
from kvref.table import dead_entries
from kvref.verdict import AllocStatus

# --- what is given up --------------------------------------------------------------------------------


class _GivesUp(BlockManager):
    """The reference, with its own idea of how many entries nobody reads any more."""

    def _dead(self, seq: SequenceState, window: int) -> int:
        raise NotImplementedError

    def _give_up_dead(self, seq: SequenceState) -> None:
        if self._window is None:
            return
        kept, dead = seq.given_up, min(self._dead(seq, self._window), len(seq.blocks))
        for block in self._release_order(seq.blocks[kept:dead]):
            self._gpu.release(block)
        seq.blocks[kept:dead] = [NULL] * max(0, dead - kept)
        seq.given_up = max(kept, dead)


class StraddlingGivenUp(_GivesUp):
    """Rounds up: the block in which the window begins is given up too."""

    def _dead(self, seq: SequenceState, window: int) -> int:
        return -(-max(0, seq.seen - window + 1) // self._block_size)


class WindowOneShort(_GivesUp):
    """Keeps one position less than attention reads."""

    def _dead(self, seq: SequenceState, window: int) -> int:
        return max(0, seq.seen - window + 2) // self._block_size


class WindowFromUnseen(BlockManager):
    """Gives up at an append what the window leaves behind once its tokens are computed; they read it still."""

    def append(self, seq_id: SeqId, lookahead: int = 0) -> list[tuple[int, int]]:
        copies = super().append(seq_id, lookahead)
        if self._window is not None:
            self._give_up_dead(self._sequences[seq_id])
        return copies


class GivenUpNotReleased(BlockManager):
    """The row forgets the blocks that the window has left behind, and nobody gives them back."""

    def _give_up_dead(self, seq: SequenceState) -> None:
        kept, dead = seq.given_up, dead_entries(seq.seen, self._window, self._block_size)
        seq.blocks[kept:dead] = [NULL] * (dead - kept)
        seq.given_up = dead


class GivenUpStaysInRow(BlockManager):
    """Blocks that the window has left behind are given back, and the row still names them when it ends."""

    def _give_up_dead(self, seq: SequenceState) -> None:
        kept, dead = seq.given_up, dead_entries(seq.seen, self._window, self._block_size)
        for block in self._release_order(seq.blocks[kept:dead]):
            if self._gpu.refcount(block):
                self._gpu.release(block)


class SwapDropsGivenUp(BlockManager):
    """A swap moves a row without its empty beginning, so that everything after it shifts."""

    def swap_out(self, group_id: kvref.GroupId) -> list[tuple[int, int]]:
        moves = super().swap_out(group_id)
        for seq in self._group(group_id).values():
            seq.blocks, seq.given_up = seq.blocks[seq.given_up :], 0
        return moves


# --- what a guard counts -----------------------------------------------------------------------------


class WindowCapInGuard(BlockManager):
    """Admission counts no more blocks than a window can span, and the prompt takes all that it needs."""

    def _admission_verdict(self, need: int) -> AllocStatus:
        cap = need if self._window is None else self._window // self._block_size + 2
        return super()._admission_verdict(min(need, cap))


class NullBlockNotCounted(BlockManager):
    """Takes its null block from the pool at the first append, and no guard has counted it."""

    def _start_pools(self, num_gpu_blocks: int, num_cpu_blocks: int) -> None:
        window, self._window = self._window, None
        super()._start_pools(num_gpu_blocks, num_cpu_blocks)
        self._window = window
        if self._cache is not None:
            self._cache = PrefixCache(self._cache._pool, self._block_size, window)

    def append(self, seq_id: SeqId, lookahead: int = 0) -> list[tuple[int, int]]:
        if self._window is not None and self._gpu.aside is None:
            self._gpu._aside = self._gpu.take()
            self._gpu._refcounts[self._gpu._aside] = 0
        return super().append(seq_id, lookahead)


# --- the null block ----------------------------------------------------------------------------------


class NullBlockFreed(BlockManager):
    """Giving a row back gives the null block back with it."""

    def _release_row(self, seq: SequenceState) -> None:
        empty = seq.given_up
        super()._release_row(seq)
        null = self._gpu.aside
        if empty and null is not None and null not in self._gpu._free:
            self._gpu._free.append(null)


class NullBlockCountedFree(BlockManager):
    """The free count includes the null block."""

    def num_free(self, device: kvref.Device) -> int:
        aside = device is kvref.Device.GPU and self._gpu.aside is not None
        return super().num_free(device) + aside


class NullBlockGivenUp(BlockManager):
    """Sets its null block aside until the first row has gone, and takes another one then."""

    def free(self, seq_id: SeqId) -> None:
        super().free(seq_id)
        null = self._gpu.aside
        if null is not None and self._gpu._free:
            self._gpu._free.insert(0, null)
            self._gpu._aside = self._gpu._free.pop()


# --- hits under a window -----------------------------------------------------------------------------


class _ShortCache(PrefixCache):
    def match(self, ids: Sequence[int], extra: Hashable) -> Match:
        found = super().match(ids, extra)
        if self._window is None or len(found.held) < 2:
            return found
        blocks = list(found.blocks)
        blocks[found.given_up] = NULL
        return found._replace(blocks=blocks, given_up=found.given_up + 1)


class WindowHitTooShort(Assembled):
    """Takes over one block fewer than the next token reads."""

    pool_class = Pool
    cache_class = _ShortCache


# --- chunks and drafts -------------------------------------------------------------------------------


class ChunkPublishesAll(RequestManager):
    """The first chunk publishes all whole blocks of the prompt that there is room for."""

    def computed(self, seq_id: SeqId) -> None:
        super().computed(seq_id)
        seq, content = self._sequences[seq_id], self._contents[seq_id]
        if self._publishes:
            covered = min(len(seq.blocks) * self._block_size, len(content.ids))
            self._cache.publish(content, seq.blocks, max(covered, content.computed))


class ChunkWithoutHits(RequestManager):
    """Covers a chunk from the start of the prompt, whatever of it is cached."""

    def _begin(self, seq: SequenceState, content: object, upto: int | None, lookahead: int) -> int | None:
        cached = super()._begin(seq, content, upto, lookahead)  # type: ignore[arg-type]
        if cached and upto is not None and upto < seq.tokens:
            spare = len(seq.blocks) - max(1, -(-(upto - cached) // self._block_size))
            for block in reversed(seq.blocks[len(seq.blocks) - spare :] if spare > 0 else []):
                self._gpu.release(block)
                seq.blocks.pop()
        return cached


class ExtendForgetsLookahead(RequestManager):
    """Where the tokens fit the last block, no room is made for drafts and lookahead after them."""

    def extend(self, request_id: SeqId, tokens: Sequence[int], upto: int | None = None, lookahead: int = 0) -> bool:
        seq = self._running(request_id)
        stop = seq.tokens + len(tokens) if upto is None else upto
        fits = stop <= len(seq.blocks) * self._block_size
        return super().extend(request_id, tokens, upto, 0 if fits else lookahead)


class RefusedExtendKeepsBlocks(RequestManager):
    """A growth that is refused has taken what blocks there were."""

    def extend(self, request_id: SeqId, tokens: Sequence[int], upto: int | None = None, lookahead: int = 0) -> bool:
        done = super().extend(request_id, tokens, upto, lookahead)
        if not done and self._gpu.num_free:
            self._sequences[request_id].blocks.append(self._gpu.take())
        return done


@dataclass(frozen=True)
class _Row:
    """One line of the table below."""

    name: str
    fault_class: str
    laws: tuple[str, ...]
    resembles: str
    manager: type[BlockManager] | type[RequestManager]


_ROWS = (
    _Row("window-straddling-block", "C04", ("window.live",),
         "A window that does not begin at a block boundary.", StraddlingGivenUp),
    _Row("window-one-short", "C04", ("window.live",),
         "An off-by-one at the window's edge: the last token counts as one of the window.", WindowOneShort),
    _Row("window-from-unseen", "C04", ("window.live",),
         "Chunked prefill and speculation under a window: the first of several tokens reads further back.",
         WindowFromUnseen),
    _Row("window-leak", "C09", ("accounting.conservation",),
         "Blocks that fall out of the window and are in no table.", GivenUpNotReleased),
    _Row("window-freed-in-row", "C01", ("accounting.refcount",),
         "vLLM's first generation: a fork counts table entries, a free counts blocks.", GivenUpStaysInRow),
    _Row("window-swap-shifts", "C32", ("data.read-back",),
         "Swaps that move only blocks, and tables whose entries say positions.", SwapDropsGivenUp),
    _Row("window-cap-in-guard", "C13", ("admission.sound-allocate",),
         "vLLM 0.6 to 0.10, second generation: can_allocate is capped at the window, allocate is not.",
         WindowCapInGuard),
    _Row("null-block-not-counted", "C30", ("admission.sound-append",),
         "vLLM 0.6 to 0.10, second generation: the null block is taken at the first append.", NullBlockNotCounted),
    _Row("null-block-freed", "C30", ("window.null",),
         "Rows freed entry by entry, the null block among them.", NullBlockFreed),
    _Row("null-block-counted-free", "C30", ("accounting.conservation",),
         "A validator that uses one capacity and an admission that uses another.", NullBlockCountedFree),
    _Row("null-block-given-up", "C30", ("window.null",),
         "A null block that is replaced while tables still refer to it.", NullBlockGivenUp),
    _Row("window-hit-too-short", "C26", ("window.live",),
         "Hits under a window that count its blocks without the one in which it begins.", WindowHitTooShort),
    _Row("chunk-publishes-all", "C23", ("prefix.hit-computed",),
         "Chunked prefill whose first chunk marks the whole prompt as computed.", ChunkPublishesAll),
    _Row("chunk-without-hits", "C13", ("table.covers",),
         "A chunk counted from the start of the prompt, and computed after its hits.", ChunkWithoutHits),
    _Row("drafts-without-slots", "C16", ("table.covers",),
         "Speculative tokens written behind the last block.", ExtendForgetsLookahead),
    _Row("refused-growth-keeps-blocks", "C10", ("robust.atomic-failure",),
         "A growth that allocates block by block and gives up half way.", RefusedExtendKeepsBlocks),
)  # fmt: skip

FAULTS = tuple(
    Fault(row.name, row.fault_class, row.laws, (row.manager.__doc__ or "").strip(), row.resembles, row.manager)
    for row in _ROWS
)
