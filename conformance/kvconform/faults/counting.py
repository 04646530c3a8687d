"""Managers whose guards refuse although there is room, each by a count of its own, or promise what never comes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence

from kvconform.faults.base import Fault
from kvref import AllocStatus, BlockManager
from kvref.allocator import BlockAllocator
from kvref.sequence import GroupId, SeqId, SequenceState, Tokens


class AllocateCountsEachSequence(BlockManager):
    """Admission counts the prompt once for each sequence of the group, which share it."""

    def can_allocate(
        self,
        group_id: GroupId,
        seq_ids: Sequence[SeqId],
        prompt: Tokens,
        lookahead: int = 0,
        extra: Hashable = None,
    ) -> AllocStatus:
        need = self._allocate_need(self._length(prompt), lookahead) * len(seq_ids)
        alone = super().can_allocate(group_id, seq_ids, prompt, lookahead, extra)
        fits = self._gpu.num_free - need >= self._watermark
        return AllocStatus.LATER if alone is AllocStatus.OK and len(seq_ids) > 1 and not fits else alone


class EachWriterCounted(BlockManager):
    """Of a shared block, admission counts a copy for each sequence that writes to it, the last one too."""

    def _replacement_need(self, members: Sequence[SequenceState], lookahead: int, pool: BlockAllocator) -> int:
        written = [seq.blocks[entry] for seq in members for entry in self._shared_entries(seq, lookahead)]
        return sum(Counter(written).values())


class SwapOutCountsEntries(BlockManager):
    """Swap-out admission counts table entries, where the move takes one block for each distinct block."""

    def _swap_out_need(self, running: Iterable[SequenceState]) -> int:
        return sum(len(seq.held) for seq in running)


class SwapInCountsEntries(BlockManager):
    """Swap-in admission counts table entries, where the move takes one block for each distinct block."""

    def _swap_in_need(self, swapped: Sequence[SequenceState], lookahead: int) -> int:
        return sum(len(seq.held) for seq in swapped) + self._append_need(swapped, lookahead, self._cpu)


class NeverForLater(BlockManager):
    """Takes a pool that is full at the moment for one that is too small."""

    def _admission_verdict(self, need: int) -> AllocStatus:
        answer = super()._admission_verdict(need)
        return AllocStatus.NEVER if answer is AllocStatus.LATER else answer


class NeverReadmitted(BlockManager):
    """What was preempted is told to wait, whatever is free."""

    def can_readmit(self, group_id: GroupId, lookahead: int = 0) -> AllocStatus:
        answer = super().can_readmit(group_id, lookahead)
        return AllocStatus.LATER if answer is AllocStatus.OK else answer


FAULTS = (
    Fault(
        "each-sequence-counted",
        "C21",
        ("admission.precise-allocate",),
        "Admission of a group counts its shared prompt once for each sequence.",
        "Guards that multiply by the number of sequences (best_of, n).",
        AllocateCountsEachSequence,
    ),
    Fault(
        "each-writer-counted",
        "C21",
        ("admission.precise-append",),
        "Append admission counts a copy for every writer of a shared block, though the last one writes in place.",
        "Upper bounds on copy-on-write that are taken for the need.",
        EachWriterCounted,
    ),
    Fault(
        "swap-out-counts-entries",
        "C21",
        ("admission.precise-swap-out",),
        "Swap-out admission counts table entries instead of distinct blocks.",
        "Guards that add up table lengths.",
        SwapOutCountsEntries,
    ),
    Fault(
        "swap-in-counts-entries",
        "C21",
        ("admission.precise-swap-in",),
        "Swap-in admission counts table entries instead of distinct blocks.",
        "Guards that add up table lengths.",
        SwapInCountsEntries,
    ),
    Fault(
        "never-for-later",
        "C21",
        ("admission.never-is-final",),
        "Admission answers NEVER while the pool is full for the moment.",
        "A request dropped for good because others run.",
        NeverForLater,
    ),
    Fault(
        "preempted-waits-for-ever",
        "C19",
        ("robust.progress",),
        "A preempted group is told LATER although everything is free.",
        "Preemption loops: a request that never comes back.",
        NeverReadmitted,
    ),
)
