"""Managers whose books are right, and that show, copy or move something else, or do not do the same twice."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import ClassVar

from kvconform.faults.base import Fault
from kvconform.reference_told import ToldReference
from kvref import BlockManager, OutOfBlocks, Status
from kvref.allocator import BlockAllocator
from kvref.sequence import Device, GroupId, SeqId, SequenceState, Tokens


class LastBlockKept(BlockManager):
    """The last block of the GPU pool is counted and listed as free, and never handed out."""

    def _start_pools(self, num_gpu_blocks: int, num_cpu_blocks: int) -> None:
        super()._start_pools(num_gpu_blocks, num_cpu_blocks)
        self._kept = self._gpu._free[:1]
        del self._gpu._free[:1]

    def num_free(self, device: Device) -> int:
        return super().num_free(device) + (len(self._kept) if device is Device.GPU else 0)

    def free_blocks(self, device: Device) -> tuple[int, ...]:
        return (*super().free_blocks(device), *(self._kept if device is Device.GPU else ()))


class AppendTakesSpare(BlockManager):
    """Whenever a row grows, it grows by a block more."""

    def _growth(self, seq: SequenceState, lookahead: int) -> int:
        growth = super()._growth(seq, lookahead)
        return growth + 1 if growth else 0


class StatusNotUpdated(BlockManager):
    """A sequence that is swapped out is still shown as running."""

    def status(self, seq_id: SeqId) -> Status:
        status = super().status(seq_id)
        return Status.RUNNING if status is Status.SWAPPED else status


class FurtherOwnersCounted(BlockManager):
    """The refcount says how many owners a block has besides the first."""

    def refcount(self, device: Device, block: int) -> int:
        return max(0, super().refcount(device, block) - 1)


class CompactsRows(BlockManager):
    """After a free, another sequence's last block moves to a lower number that has become free."""

    def free(self, seq_id: SeqId) -> None:
        super().free(seq_id)
        if self._cache is None:
            self._compact()

    def _compact(self) -> None:
        for seq in self._sequences.values():
            last = seq.held[-1] if seq.status is Status.RUNNING and seq.held else -1
            free = [block for block in self._gpu.free_blocks() if block < last]
            if free and self._gpu.refcount(last) == 1:
                taken = min(free)
                self._gpu._free.remove(taken)
                self._gpu._refcounts[taken] = 1
                self._gpu.release(last)
                seq.blocks[-1] = taken
                return


class CopiesBackwards(BlockManager):
    """A copy-on-write is ordered from the new block to the old one."""

    def append(self, seq_id: SeqId, lookahead: int = 0) -> list[tuple[int, int]]:
        return [(new, old) for old, new in super().append(seq_id, lookahead)]


class CopiesNotTold(BlockManager):
    """A shared block is replaced, and nobody is told to copy it."""

    def append(self, seq_id: SeqId, lookahead: int = 0) -> list[tuple[int, int]]:
        super().append(seq_id, lookahead)
        return []


class MovesCrossed(BlockManager):
    """A swap moves each block to the place of another."""

    def _move(
        self, members: Sequence[SequenceState], source: BlockAllocator, target: BlockAllocator, status: Status
    ) -> list[tuple[int, int]]:
        moves = super()._move(members, source, target, status)
        return list(zip([old for old, _ in moves], [new for _, new in reversed(moves)], strict=True))


class FreeAgainRaises(BlockManager):
    """Ending a sequence for the second time is a KeyError."""

    def free(self, seq_id: SeqId) -> None:
        if seq_id in self._ended:
            raise KeyError(seq_id)
        super().free(seq_id)


class AdmitsOverLive(BlockManager):
    """A sequence that is admitted under an id in use takes its place."""

    def allocate(
        self,
        group_id: GroupId,
        seq_ids: Sequence[SeqId],
        prompt: Tokens,
        lookahead: int = 0,
        extra: Hashable = None,
    ) -> int:
        for seq_id in seq_ids:
            if seq_id in self:
                self.free(seq_id)
        return super().allocate(group_id, seq_ids, prompt, lookahead, extra)


class EveryOtherLife(BlockManager):
    """Which blocks are handed out first depends on how often a manager was started in this process."""

    lives: ClassVar[int] = 0

    def _start_pools(self, num_gpu_blocks: int, num_cpu_blocks: int) -> None:
        super()._start_pools(num_gpu_blocks, num_cpu_blocks)
        EveryOtherLife.lives += 1
        if EveryOtherLife.lives % 2:
            self._gpu._free.reverse()


class ForkNeedsRoom(BlockManager):
    """A fork needs as many free blocks as the row is long, for the moment; its guard wants one."""

    def fork(self, parent_id: SeqId, child_id: SeqId, unseen: int | None = None) -> None:
        if self._gpu.num_free < len(self._running(parent_id).held):
            raise OutOfBlocks("no room for a second row")
        super().fork(parent_id, child_id, unseen)


FAULTS = (
    Fault(
        "last-block-kept",
        "C02",
        ("accounting.spendable",),
        "One block is counted and listed as free and can never be had.",
        "A free list that loses its sentinel's neighbour.",
        LastBlockKept,
    ),
    Fault(
        "append-takes-spare",
        "C09",
        ("table.tight",),
        "A row that grows takes one block more than it has slots to fill.",
        "Look-ahead that is rounded up twice.",
        AppendTakesSpare,
    ),
    Fault(
        "status-not-updated",
        "C20",
        ("table.one-device",),
        "A swapped-out sequence is still shown as lying on the GPU.",
        "A swap path that forgets the record of where a row is.",
        StatusNotUpdated,
    ),
    Fault(
        "further-owners-counted",
        "C06",
        ("table.live", "accounting.refcount"),
        "The refcount leaves a block's first owner out, so that a held block shows 0.",
        "Counting shares instead of owners.",
        FurtherOwnersCounted,
    ),
    Fault(
        "compacts-rows",
        "C05",
        ("table.frame",),
        "Freeing one sequence moves another's last block, and tells nobody.",
        "Compaction of the pool behind the engine's back.",
        CompactsRows,
    ),
    Fault(
        "copies-backwards",
        "C32",
        ("data.copies",),
        "Copy-on-write pairs have source and destination exchanged.",
        "Copy kernels that take (destination, source).",
        CopiesBackwards,
    ),
    Fault(
        "moves-crossed",
        "C32",
        ("data.swap-content",),
        "A swap of several blocks moves each to another one's place.",
        "A mapping rebuilt from two lists in different orders.",
        MovesCrossed,
    ),
    Fault(
        "free-again-raises",
        "C08",
        ("robust.free-any-state",),
        "Ending a sequence that has ended raises a KeyError.",
        "A request that finishes and is aborted in the same step.",
        FreeAgainRaises,
    ),
    Fault(
        "admits-over-live",
        "C11",
        ("robust.bad-input",),
        "An admission under an id that is live ends whoever had it, without a word.",
        "Owner records that are overwritten.",
        AdmitsOverLive,
    ),
    Fault(
        "every-other-life",
        "C28",
        ("robust.deterministic",),
        "Which blocks are handed out depends on how often a manager was started.",
        "Order that comes from process-wide state.",
        EveryOtherLife,
    ),
    Fault(
        "fork-needs-room",
        "C13",
        ("admission.sound-fork",),
        "A fork fails where fewer blocks are free than its row is long, which its guard does not count.",
        "Forks that copy the row before they share it.",
        ForkNeedsRoom,
        ToldReference,
    ),
    Fault(
        "copies-not-told",
        "C31",
        ("table.announced",),
        "A copy-on-write changes the block table and is not announced.",
        "Engines that build their own tables from what the manager announces.",
        CopiesNotTold,
        ToldReference,
    ),
)
