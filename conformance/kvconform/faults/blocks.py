"""Managers that lose track of blocks: numbers, owners, devices, or what a failure took."""

from __future__ import annotations

from collections.abc import Sequence

from kvconform.faults.base import Fault
from kvref import BlockAllocator, BlockManager, OutOfBlocks, Status
from kvref.sequence import SeqId, SequenceState


class SameBlockNumber(BlockManager):
    """Every block that it hands out is called 0."""

    def block_table(self, seq_id: SeqId) -> list[int]:
        return [0 for _ in super().block_table(seq_id)]


class CopyOnWriteMissing(BlockManager):
    """Writes to shared blocks in place."""

    def _is_shared(self, pool: BlockAllocator, block: int) -> bool:
        return False


class ForkForgetsRefcount(BlockManager):
    """A fork copies the row without a new owner for its blocks; later releases are kept from complaining."""

    def fork(self, parent_id: SeqId, child_id: SeqId, unseen: int | None = None) -> None:
        super().fork(parent_id, child_id, unseen)
        for block in self._sequences[child_id].blocks:
            self._gpu.release(block)


class SwapOutFreesWrongDevice(BlockManager):
    """After a swap-out, the CPU blocks are freed and the GPU blocks stay held."""

    def _hand_over(self, old: int, source: BlockAllocator, new: int, target: BlockAllocator, owners: int) -> None:
        if source is self._gpu:
            target.release(new)
        else:
            super()._hand_over(old, source, new, target, owners)


class FreeForgetsTable(BlockManager):
    """Freeing gives the blocks back and keeps the block table: freeing again gives them back again."""

    def free(self, seq_id: SeqId) -> None:
        kept = list(self._sequences[seq_id].blocks) if seq_id in self._sequences else None
        if kept is None:
            super().free(seq_id)
            return
        self._release_row(self._sequences[seq_id])
        self._sequences[seq_id].blocks = kept


class SwapLosesSharing(BlockManager):
    """A swap takes one new block for each table entry, while the guards count distinct blocks."""

    def _move(
        self, members: Sequence[SequenceState], source: BlockAllocator, target: BlockAllocator, status: Status
    ) -> list[tuple[int, int]]:
        moves: list[tuple[int, int]] = []
        fresh = iter(target.take_many(sum(len(seq.held) for seq in members)))
        for seq in members:
            row = [next(fresh) for _ in seq.held]
            moves += zip(seq.held, row, strict=True)
            for block in seq.held:
                source.release(block)
            seq.blocks, seq.status = seq.blocks[: seq.given_up] + row, status
        return moves


class ForkRaises(BlockManager):
    """A wrong name in one operation: the code path was never run."""

    def fork(self, parent_id: SeqId, child_id: SeqId, unseen: int | None = None) -> None:
        raise NameError("name 'src_block_tabel' is not defined")


class FailedAppendKeepsBlock(BlockManager):
    """An append that runs out half-way keeps what it had taken so far."""

    def append(self, seq_id: SeqId, lookahead: int = 0) -> list[tuple[int, int]]:
        try:
            return super().append(seq_id, lookahead)
        except OutOfBlocks:
            if self._gpu.num_free:
                self._gpu.take()
            raise


FAULTS = (
    Fault(
        "same-block-number",
        "C01",
        ("accounting.valid-ids",),
        "Every block is handed out under the same number.",
        "A careless copy of a PagedAttention-era manager.",
        SameBlockNumber,
    ),
    Fault(
        "cow-missing",
        "C31",
        ("data.exclusive-write",),
        "Append writes to a block that another sequence still reads.",
        "A child that appends into its parent's last block.",
        CopyOnWriteMissing,
    ),
    Fault(
        "fork-forgets-refcount",
        "C06",
        ("accounting.refcount",),
        "A fork shares the parent's row without counting the child as an owner.",
        "Fork paths written after the refcounts.",
        ForkForgetsRefcount,
    ),
    Fault(
        "swap-out-frees-wrong-device",
        "C20",
        ("accounting.conservation",),
        "A swap-out frees the destination instead of the source.",
        "Two pools with the same interface, and the wrong one named.",
        SwapOutFreesWrongDevice,
    ),
    Fault(
        "free-forgets-table",
        "C03",
        ("accounting.no-double-free",),
        "Freeing keeps the block table, so that freeing again releases the blocks again.",
        "Two release paths (abort and finish) for one sequence.",
        FreeForgetsTable,
    ),
    Fault(
        "swap-loses-sharing",
        "C32",
        ("data.swap-keeps-sharing",),
        "A swap gives each table entry a block of its own.",
        "vLLM, second generation: a forked group may not fit where it came from.",
        SwapLosesSharing,
    ),
    Fault(
        "fork-raises",
        "C08",
        ("robust.no-crash",),
        "Fork raises a NameError; everything else works.",
        "A code path that no test runs.",
        ForkRaises,
    ),
    Fault(
        "failed-append-keeps-block",
        "C10",
        ("robust.atomic-failure",),
        "An append that runs out of blocks keeps one that it took.",
        "Blocks taken one by one, without giving them back on failure.",
        FailedAppendKeepsBlock,
    ),
)
