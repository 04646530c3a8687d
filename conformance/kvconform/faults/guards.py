"""Managers whose admission guards are wrong: they promise too much, watch the wrong line, or are not pure."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from kvconform.faults.base import Fault
from kvref import AllocStatus, BlockManager
from kvref.sequence import GroupId, SeqId, SequenceState, Tokens
from kvref.verdict import verdict


class SwapInGuardBlind(BlockManager):
    """Compares the free count with itself."""

    def can_swap_in(self, group_id: GroupId, lookahead: int = 0) -> AllocStatus:
        super().can_swap_in(group_id, lookahead)
        free = self._gpu.num_free
        return AllocStatus.OK if free >= self._gpu.num_free else AllocStatus.LATER


class UnseenIgnored(BlockManager):
    """Swap-in admission counts the table and the lookahead, not the tokens that the table does not cover yet."""

    def _swap_in_need(self, swapped: Sequence[SequenceState], lookahead: int) -> int:
        growth = sum(max(0, self._blocks_for(seq.seen, lookahead) - len(seq.blocks)) for seq in swapped)
        return len(self._owners(swapped)) + growth


class LookaheadIgnored(BlockManager):
    """Append admission counts the unseen tokens only."""

    def can_append(self, group_id: GroupId, lookahead: int = 0) -> AllocStatus:
        return super().can_append(group_id, 0)


class LookaheadTailForgotten(BlockManager):
    """Swap-out admission counts the blocks that hold tokens, not the empty ones that lookahead left behind."""

    def _swap_out_need(self, running: Sequence[SequenceState]) -> int:  # type: ignore[override]
        return len({block for seq in running for block in seq.blocks[: self._blocks_for(seq.seen, 0)]})


class WatermarkIgnored(BlockManager):
    """Admission fills the pool to the last block."""

    def _admission_verdict(self, need: int) -> AllocStatus:
        return verdict(need, self._gpu.num_free, self._gpu.num_usable, 0)


class WatermarkOffByOne(BlockManager):
    """Admission leaves one block less than the watermark."""

    def _admission_verdict(self, need: int) -> AllocStatus:
        return verdict(need, self._gpu.num_free, self._gpu.num_usable, max(0, self._watermark - 1))


class NeverWithoutWatermark(BlockManager):
    """NEVER is decided without the watermark, OK with it: what lies between waits for ever."""

    def _admission_verdict(self, need: int) -> AllocStatus:
        if self._gpu.num_usable < need:
            return AllocStatus.NEVER
        return AllocStatus.OK if self._gpu.num_free - need >= self._watermark else AllocStatus.LATER


class GuardTakesABlock(BlockManager):
    """Asking for admission reserves a block and never gives it back."""

    def can_allocate(
        self,
        group_id: GroupId,
        seq_ids: Sequence[SeqId],
        prompt: Tokens,
        lookahead: int = 0,
        extra: Hashable = None,
    ) -> AllocStatus:
        answer = super().can_allocate(group_id, seq_ids, prompt, lookahead, extra)
        if answer is AllocStatus.OK:
            self._gpu.take()
        return answer


FAULTS = (
    Fault(
        "swap-in-guard-blind",
        "C15",
        ("admission.sound-swap-in",),
        "can_swap_in compares the free count with itself: it always says OK.",
        "A careless copy of a PagedAttention-era manager.",
        SwapInGuardBlind,
    ),
    Fault(
        "unseen-ignored",
        "C15",
        ("admission.sound-swap-in",),
        "can_swap_in ignores tokens that were generated but are not in the block table yet.",
        "vLLM pull request 8824.",
        UnseenIgnored,
    ),
    Fault(
        "lookahead-ignored",
        "C16",
        ("admission.sound-append",),
        "can_append ignores the lookahead slots that append then takes.",
        "Speculative decoding bolted onto a manager that admits by tokens.",
        LookaheadIgnored,
    ),
    Fault(
        "lookahead-tail-forgotten",
        "C20",
        ("admission.sound-swap-out",),
        "can_swap_out forgets empty lookahead blocks that swap_out then moves.",
        "vLLM 0.6.3 to 0.10.2, second generation: it came with the fix of pull request 8824.",
        LookaheadTailForgotten,
    ),
    Fault(
        "watermark-ignored",
        "C13",
        ("admission.watermark",),
        "Admission does not heed the watermark.",
        "Preemption right after admission.",
        WatermarkIgnored,
    ),
    Fault(
        "watermark-off-by-one",
        "C13",
        ("admission.watermark",),
        "Admission leaves one block less than the watermark.",
        "A comparison with > where >= was meant, or the reverse.",
        WatermarkOffByOne,
    ),
    Fault(
        "never-without-watermark",
        "C18",
        ("admission.impossible-is-never",),
        "A request that fits the pool but not beside the watermark is answered LATER for ever.",
        "vLLM's swap-in admission: NEVER is decided without the watermark.",
        NeverWithoutWatermark,
    ),
    Fault(
        "guard-takes-a-block",
        "C06",
        ("admission.guard-pure",),
        "can_allocate reserves a block each time it says OK.",
        "Reservations made while asking.",
        GuardTakesABlock,
    ),
)
