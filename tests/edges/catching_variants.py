"""Every wrong variant of the formal model as a real block manager: the reference with one decision changed.

Built as the kit's faults are, and where a fault of the kit is that variant already it is taken from there. Knows kvref
only; must not know the vectors, nor how a variant is bent in the model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from kvconform.adapter import Adapter, Seq
from kvconform.faults import blocks as block_faults
from kvconform.faults import guards as guard_faults
from kvconform.reference import ReferenceAdapter
from kvref import AllocStatus, BlockAllocator, BlockManager, Device, OutOfBlocks, Status
from kvref.sequence import GroupId, SeqId, SequenceState
from kvref.table import entries_touched
from kvref.verdict import verdict
from kvspec.vocabulary import Verdict

Pairs = list[tuple[int, int]]


def adapter_of(name: str) -> Adapter:
    """An adapter that drives the manager which is this variant."""
    base = AsksNobody if MANAGERS[name] is ForkCopies else ReferenceAdapter
    adapter: Adapter = type("VariantAdapter", (base,), {"manager_class": MANAGERS[name], "name": name})()
    return adapter


class AsksNobody(ReferenceAdapter):
    """A fork that takes blocks has a guard in the kit; this one says OK whatever is free."""

    def can_fork(self, parent: Seq) -> Verdict:
        return Verdict.OK


# -- guards: allocate -----------------------------------------------------------------------------------


class AllocateNeeds(BlockManager):
    """Admission of a new group by another need than what it takes."""

    def can_allocate(
        self, group_id: GroupId, seq_ids: Sequence[SeqId], num_tokens: int, lookahead: int = 0
    ) -> AllocStatus:
        need = self._wrong_need(len(seq_ids), num_tokens, lookahead)
        return self._admission_verdict(need)

    def _wrong_need(self, seqs: int, tokens: int, lookahead: int) -> int:
        raise NotImplementedError


class AllocateLookaheadIgnored(AllocateNeeds):
    def _wrong_need(self, seqs: int, tokens: int, lookahead: int) -> int:
        return self._blocks_for(tokens, 0)


class AllocateRoundedDown(AllocateNeeds):
    def _wrong_need(self, seqs: int, tokens: int, lookahead: int) -> int:
        return (tokens + lookahead) // self._block_size


class PromptForEach(AllocateNeeds):
    def _wrong_need(self, seqs: int, tokens: int, lookahead: int) -> int:
        return seqs * self._blocks_for(tokens, lookahead)


class FreeAgainstItself(BlockManager):
    def _admission_verdict(self, need: int) -> AllocStatus:
        return AllocStatus.OK if self._gpu.num_free >= self._gpu.num_free else AllocStatus.LATER


class TotalForFree(BlockManager):
    def _admission_verdict(self, need: int) -> AllocStatus:
        return verdict(need, self._gpu.num_total, self._gpu.num_total, self._watermark)


class WatermarkTooStrict(BlockManager):
    def _admission_verdict(self, need: int) -> AllocStatus:
        return verdict(need, self._gpu.num_free, self._gpu.num_total, self._watermark + 1)


class NeverByFree(BlockManager):
    def _admission_verdict(self, need: int) -> AllocStatus:
        return verdict(need, self._gpu.num_free, self._gpu.num_free, self._watermark)


# -- guards: append -------------------------------------------------------------------------------------


class AppendNeeds(BlockManager):
    """An append that is admitted by another need, reserve or hope than the right one."""

    def can_append(self, group_id: GroupId, lookahead: int = 0) -> AllocStatus:
        running = self._members_in(group_id, Status.RUNNING)
        need = self._wrong_need(running, lookahead)
        return verdict(need, self._gpu.num_free, self._hope(running), self._reserve())

    def _wrong_need(self, running: Sequence[SequenceState], lookahead: int) -> int:
        return self._append_need(running, lookahead, self._gpu)

    def _hope(self, running: Sequence[SequenceState]) -> int:
        return self._gpu.num_total - len(self._owners(running))

    def _reserve(self) -> int:
        return 0


class AppendUnseenIgnored(AppendNeeds):
    def _wrong_need(self, running: Sequence[SequenceState], lookahead: int) -> int:
        return sum(max(0, self._blocks_for(seq.seen, lookahead) - len(seq.blocks)) for seq in running)


class AppendCopiesIgnored(AppendNeeds):
    def _wrong_need(self, running: Sequence[SequenceState], lookahead: int) -> int:
        return sum(self._growth(seq, lookahead) for seq in running)


class OneBlockEach(AppendNeeds):
    def _wrong_need(self, running: Sequence[SequenceState], lookahead: int) -> int:
        return len(running)


class NeedForgotten(AppendNeeds):
    def _wrong_need(self, running: Sequence[SequenceState], lookahead: int) -> int:
        return 0


class FirstRunningOnly(AppendNeeds):
    def _wrong_need(self, running: Sequence[SequenceState], lookahead: int) -> int:
        return self._append_need(running[:1], lookahead, self._gpu)


class AppendTouched(AppendNeeds):
    def _wrong_need(self, running: Sequence[SequenceState], lookahead: int) -> int:
        return sum(touched(self, seq, lookahead) for seq in running)


class AppendTailCountedAgain(AppendNeeds):
    def _wrong_need(self, running: Sequence[SequenceState], lookahead: int) -> int:
        return sum(tailless(self, seq, lookahead) for seq in running)


class AppendKeepsWatermark(AppendNeeds):
    def _reserve(self) -> int:
        return self._watermark


class NeverForgetsHeld(AppendNeeds):
    def _hope(self, running: Sequence[SequenceState]) -> int:
        return self._gpu.num_total


def touched(manager: BlockManager, seq: SequenceState, lookahead: int) -> int:
    return len(entries_touched(seq.seen, seq.tokens + lookahead, manager.block_size))


def tailless(manager: BlockManager, seq: SequenceState, lookahead: int) -> int:
    return manager._blocks_for(seq.tokens, lookahead) - manager._blocks_for(seq.seen, 0)


# -- guards: swap-out -----------------------------------------------------------------------------------


class OutByTheOtherPool(BlockManager):
    def can_swap_out(self, group_id: GroupId) -> AllocStatus:
        need = self._swap_out_need(self._members_in(group_id, Status.RUNNING))
        return AllocStatus.OK if self._gpu.num_free >= need else super().can_swap_out(group_id)


class SharedNeverCounted(BlockManager):
    def _swap_out_need(self, running: Iterable[SequenceState]) -> int:
        return sum(count == 1 for count in self._owners(running).values())


class SharedCountedEachTime(BlockManager):
    def _swap_out_need(self, running: Iterable[SequenceState]) -> int:
        return sum(self._owners(running).values())


class SwapOutKeepsWatermark(BlockManager):
    def can_swap_out(self, group_id: GroupId) -> AllocStatus:
        need = self._swap_out_need(self._members_in(group_id, Status.RUNNING))
        return verdict(need, self._cpu.num_free, self._cpu.num_total, self._watermark)


# -- guards: swap-in ------------------------------------------------------------------------------------


class SwapInLookaheadIgnored(BlockManager):
    def can_swap_in(self, group_id: GroupId, lookahead: int = 0) -> AllocStatus:
        return super().can_swap_in(group_id, 0)


class MovedIgnored(BlockManager):
    def _swap_in_need(self, swapped: Sequence[SequenceState], lookahead: int) -> int:
        return self._append_need(swapped, lookahead, self._cpu)


class FirstResumedOnly(BlockManager):
    def _swap_in_need(self, swapped: Sequence[SequenceState], lookahead: int) -> int:
        return len(self._owners(swapped)) + self._append_need(swapped[:1], lookahead, self._cpu)


class SwapInCopiesIgnored(BlockManager):
    def _swap_in_need(self, swapped: Sequence[SequenceState], lookahead: int) -> int:
        return len(self._owners(swapped)) + sum(self._growth(seq, lookahead) for seq in swapped)


class SwapInTouched(BlockManager):
    def _swap_in_need(self, swapped: Sequence[SequenceState], lookahead: int) -> int:
        return len(self._owners(swapped)) + sum(touched(self, seq, lookahead) for seq in swapped)


class SwapInTailCountedAgain(BlockManager):
    def _swap_in_need(self, swapped: Sequence[SequenceState], lookahead: int) -> int:
        return len(self._owners(swapped)) + sum(tailless(self, seq, lookahead) for seq in swapped)


class WholeTableAgain(BlockManager):
    def _swap_in_need(self, swapped: Sequence[SequenceState], lookahead: int) -> int:
        return len(self._owners(swapped)) + sum(self._blocks_for(seq.tokens, lookahead) for seq in swapped)


class SwapInDecides(BlockManager):
    """A swap-in that is decided otherwise by the right need."""

    def can_swap_in(self, group_id: GroupId, lookahead: int = 0) -> AllocStatus:
        swapped = self._members_in(group_id, Status.SWAPPED)
        return self._decide(self._swap_in_need(swapped, lookahead), len(self._owners(swapped)))

    def _decide(self, need: int, moved: int) -> AllocStatus:
        raise NotImplementedError


class InByTheOtherPool(SwapInDecides):
    def _decide(self, need: int, moved: int) -> AllocStatus:
        right = self._admission_verdict(need)
        return AllocStatus.OK if self._cpu.num_free - need >= self._watermark else right


class SwapInWatermarkIgnored(SwapInDecides):
    def _decide(self, need: int, moved: int) -> AllocStatus:
        return verdict(need, self._gpu.num_free, self._gpu.num_total, 0)


class SwapInNeverWithoutWatermark(SwapInDecides):
    def _decide(self, need: int, moved: int) -> AllocStatus:
        if self._gpu.num_total < need:
            return AllocStatus.NEVER
        return AllocStatus.OK if self._gpu.num_free - need >= self._watermark else AllocStatus.LATER


class NeverWithoutAppend(SwapInDecides):
    def _decide(self, need: int, moved: int) -> AllocStatus:
        if self._gpu.num_total - moved < self._watermark:
            return AllocStatus.NEVER
        return AllocStatus.OK if self._gpu.num_free - need >= self._watermark else AllocStatus.LATER


# -- counts ---------------------------------------------------------------------------------------------


class RoundsDown(BlockManager):
    def _growth(self, seq: SequenceState, lookahead: int) -> int:
        return max(0, (seq.tokens + lookahead) // self._block_size - len(seq.blocks))


class ForgetsLookahead(BlockManager):
    def _growth(self, seq: SequenceState, lookahead: int) -> int:
        return super()._growth(seq, 0)


class OneBlockAtMost(BlockManager):
    def _growth(self, seq: SequenceState, lookahead: int) -> int:
        return min(1, super()._growth(seq, lookahead))


class AlwaysOneMore(BlockManager):
    def _growth(self, seq: SequenceState, lookahead: int) -> int:
        return max(0, (seq.tokens + lookahead) // self._block_size + 1 - len(seq.blocks))


class NewTokensInNewBlocks(BlockManager):
    def _growth(self, seq: SequenceState, lookahead: int) -> int:
        return self._blocks_for(seq.tokens - seq.seen, lookahead)


def copying(count: Callable[[int, int], int]) -> type[BlockManager]:
    """A manager that counts the copies of a shared block so, of its owners and its writers."""

    class Copying(BlockManager):
        def _replacement_need(self, members: Sequence[SequenceState], lookahead: int, pool: BlockAllocator) -> int:
            rows = [[seq.blocks[entry] for entry in self._shared_entries(seq, lookahead)] for seq in members]
            written = [block for row in rows for block in row]
            return sum(count(pool.refcount(block), written.count(block)) for block in dict.fromkeys(written))

    return Copying


# -- blocks: taken, released, shared --------------------------------------------------------------------


def pooled(allocator: type[BlockAllocator]) -> type[BlockManager]:
    """A manager whose pools are of this kind."""

    class Pooled(BlockManager):
        def _new_pool(self, device: Device, num_blocks: int) -> BlockAllocator:
            return allocator(num_blocks, device.name)

    return Pooled


class ForgetsDecrement(BlockAllocator):
    def release_many(self, blocks: Iterable[int]) -> None:
        pass


class FreesAtOnce(BlockAllocator):
    def release_many(self, blocks: Iterable[int]) -> None:
        for block in blocks:
            super().release_many((block,))
            if self._refcounts[block]:
                self._free.append(block)


class NeverFrees(BlockAllocator):
    def release_many(self, blocks: Iterable[int]) -> None:
        for block in blocks:
            self._refcounts[block] -= 1


class LeavesItListed(BlockAllocator):
    def take_many(self, count: int) -> list[int]:
        listed = list(self._free)
        taken = super().take_many(count)
        self._free = listed
        return taken


class AlwaysTheFirst(BlockAllocator):
    def take_many(self, count: int) -> list[int]:
        first = self._free[:1]
        return [first[0] for _ in super().take_many(count)]


class CountsTwo(BlockAllocator):
    lost = 0

    @property
    def num_free(self) -> int:
        return len(self._free) - self.lost

    def take_many(self, count: int) -> list[int]:
        taken = super().take_many(count)
        self.lost += count
        return taken


class TakesAHeldOne(BlockAllocator):
    """What is handed out first is the block that was handed out last, if it is held still."""

    last: int | None = None

    def take_many(self, count: int) -> list[int]:
        taken = super().take_many(count)
        if taken and self.last is not None and self._refcounts[self.last]:
            taken[0] = self.last
        self.last = taken[-1] if taken else self.last
        return taken


class NumbersFromOne(BlockManager):
    def block_table(self, seq_id: SeqId) -> list[int]:
        return [block + 1 for block in super().block_table(seq_id)]


class ReleasesAllOwners(BlockManager):
    def _release_row(self, seq: SequenceState) -> None:
        gone = set(seq.blocks)
        super()._release_row(seq)
        for other in self._sequences.values():
            other.blocks = [block for block in other.blocks if block not in gone]


class ForkCopies(BlockManager):
    def fork(self, parent_id: SeqId, child_id: SeqId, unseen: int | None = None) -> None:
        row = self._gpu.take_many(len(self._running(parent_id).blocks))
        super().fork(parent_id, child_id, unseen)
        child = self._sequences[child_id]
        self._release_row(child)
        child.blocks = row


class ForksAnother(BlockManager):
    """A fork that shares the row of the first other sequence."""

    def fork(self, parent_id: SeqId, child_id: SeqId, unseen: int | None = None) -> None:
        others = [seq for seq in self._sequences.values() if seq.seq_id != parent_id and seq.blocks]
        super().fork(parent_id, child_id, unseen)
        if others:
            child = self._sequences[child_id]
            self._release_row(child)
            child.blocks = self._share_row(others[0].blocks)


class ForkTakesTheLastForFull(BlockManager):
    """What a child writes begins after the last block that it shares, be that full or not."""

    def fork(self, parent_id: SeqId, child_id: SeqId, unseen: int | None = None) -> None:
        super().fork(parent_id, child_id, unseen)
        self._full = {**getattr(self, "_full", {}), child_id: len(self._sequences[child_id].blocks)}

    def _growth(self, seq: SequenceState, lookahead: int) -> int:
        shared = getattr(self, "_full", {}).get(seq.seq_id)
        if shared is None:
            return super()._growth(seq, lookahead)
        return max(0, shared + self._blocks_for(seq.unseen, lookahead) - len(seq.blocks))


class CopiesOnlyBeyondTwo(BlockManager):
    def _is_shared(self, pool: BlockAllocator, block: int) -> bool:
        return pool.refcount(block) > 2


class KeepsTheOldOne(BlockManager):
    def _replace(self, seq: SequenceState, entries: Iterable[int], fresh: Iterable[int]) -> Pairs:
        entries = list(entries)
        for entry in entries:
            self._gpu.share(seq.blocks[entry])
        return super()._replace(seq, entries, fresh)


class StaysBehind(BlockManager):
    def _hand_over(self, old: int, source: BlockAllocator, new: int, target: BlockAllocator, owners: int) -> None:
        for _ in range(owners):
            source.share(old)
        super()._hand_over(old, source, new, target, owners)


# -- memory: copied and moved ---------------------------------------------------------------------------


def appending(change: Callable[[BlockManager, Pairs], Pairs]) -> type[BlockManager]:
    """A manager whose appends order other copies."""

    class Appending(BlockManager):
        def append(self, seq_id: SeqId, lookahead: int = 0) -> Pairs:
            return change(self, super().append(seq_id, lookahead))

    return Appending


def moving(change: Callable[[BlockManager, Pairs], Pairs]) -> type[BlockManager]:
    """A manager whose swaps order other moves."""

    class Moving(BlockManager):
        def swap_out(self, group_id: GroupId) -> Pairs:
            return change(self, super().swap_out(group_id))

        def swap_in(self, group_id: GroupId, lookahead: int = 0) -> Pairs:
            return change(self, super().swap_in(group_id, lookahead))

    return Moving


def nothing(manager: BlockManager, pairs: Pairs) -> Pairs:
    return []


def backwards(manager: BlockManager, pairs: Pairs) -> Pairs:
    return [(new, old) for old, new in pairs]


def one_call_late(manager: BlockManager, pairs: Pairs) -> Pairs:
    """What the call before should have ordered."""
    late: Pairs = getattr(manager, "_late", [])
    manager._late = pairs  # type: ignore[attr-defined]
    return late


class CopiesLate(BlockManager):
    """A sequence's copies are ordered with its next append only."""

    def append(self, seq_id: SeqId, lookahead: int = 0) -> Pairs:
        owed: dict[SeqId, Pairs] = getattr(self, "_owed", {})
        late, copies = owed.get(seq_id, []), super().append(seq_id, lookahead)
        self._owed = {**owed, seq_id: copies}
        return late


def to_its_number(manager: BlockManager, pairs: Pairs) -> Pairs:
    return [(old, old) for old, _ in pairs]


def from_its_number(manager: BlockManager, pairs: Pairs) -> Pairs:
    return [(new, new) for _, new in pairs]


class FollowsToTheFirst(BlockManager):
    """Whatever a further owner shared, its row names the first block that was moved."""

    def _move(
        self, members: Sequence[SequenceState], source: BlockAllocator, target: BlockAllocator, status: Status
    ) -> Pairs:
        pairs = super()._move(members, source, target, status)
        for seq in members[1:]:
            seq.blocks = [members[0].blocks[0] for _ in seq.blocks]
        return pairs


# -- failures -------------------------------------------------------------------------------------------


class FailedAllocateKeepsBlocks(BlockManager):
    def allocate(self, group_id: GroupId, seq_ids: Sequence[SeqId], num_tokens: int, lookahead: int = 0) -> None:
        try:
            super().allocate(group_id, seq_ids, num_tokens, lookahead)
        except OutOfBlocks:
            self._left_behind(self._gpu.take_many(self._gpu.num_free), len(seq_ids))
            raise

    def _left_behind(self, blocks: list[int], owners: int) -> None:
        """All of it stays."""


class FailedAllocateForgetsRefcount(FailedAllocateKeepsBlocks):
    """Each block is shared as soon as it is there; for the owners that share it, only the tables are taken back."""

    def _left_behind(self, blocks: list[int], owners: int) -> None:
        for block in blocks:
            for _ in range(owners - 1):
                self._gpu.share(block)
            self._gpu.release(block)


class FailedAppendKeepsTable(BlockManager):
    def append(self, seq_id: SeqId, lookahead: int = 0) -> Pairs:
        try:
            return super().append(seq_id, lookahead)
        except OutOfBlocks:
            self._sequences[seq_id].blocks += self._gpu.take_many(self._gpu.num_free)
            raise


class FailedAppendPointsBack(BlockManager):
    """Of a copy-on-write that was done before it failed, the table is put back and no more."""

    def append(self, seq_id: SeqId, lookahead: int = 0) -> Pairs:
        try:
            return super().append(seq_id, lookahead)
        except OutOfBlocks:
            seq = self._sequences[seq_id]
            for entry in self._shared_entries(seq, lookahead)[: self._gpu.num_free]:
                self._gpu.take()
                self._gpu.release(seq.blocks[entry])
            raise


# -- all of them ----------------------------------------------------------------------------------------

_ALLOCATE = {
    "lookahead-ignored": AllocateLookaheadIgnored,
    "rounded-down": AllocateRoundedDown,
    "free-against-itself": FreeAgainstItself,
    "total-for-free": TotalForFree,
    "watermark-ignored": guard_faults.WatermarkIgnored,
    "watermark-off-by-one": guard_faults.WatermarkOffByOne,
    "watermark-too-strict": WatermarkTooStrict,
    "prompt-for-each": PromptForEach,
    "never-without-watermark": guard_faults.NeverWithoutWatermark,
    "never-by-free": NeverByFree,
}

_APPEND = {
    "unseen-ignored": AppendUnseenIgnored,
    "lookahead-ignored": guard_faults.LookaheadIgnored,
    "copies-ignored": AppendCopiesIgnored,
    "one-block-each": OneBlockEach,
    "one-block-at-least": OneBlockEach,
    "need-forgotten": NeedForgotten,
    "first-sequence-only": FirstRunningOnly,
    "keeps-watermark": AppendKeepsWatermark,
    "touched": AppendTouched,
    "tail-counted-again": AppendTailCountedAgain,
    "never-forgets-held": NeverForgetsHeld,
}

_SWAP_OUT = {
    "tail-forgotten": guard_faults.LookaheadTailForgotten,
    "by-the-other-pool": OutByTheOtherPool,
    "shared-never-counted": SharedNeverCounted,
    "shared-counted-each-time": SharedCountedEachTime,
    "keeps-watermark": SwapOutKeepsWatermark,
}

_SWAP_IN = {
    "unseen-ignored": guard_faults.UnseenIgnored,
    "lookahead-ignored": SwapInLookaheadIgnored,
    "moved-ignored": MovedIgnored,
    "first-sequence-only": FirstResumedOnly,
    "copies-ignored": SwapInCopiesIgnored,
    "by-the-other-pool": InByTheOtherPool,
    "watermark-ignored": SwapInWatermarkIgnored,
    "touched": SwapInTouched,
    "tail-counted-again": SwapInTailCountedAgain,
    "whole-table-again": WholeTableAgain,
    "never-without-watermark": SwapInNeverWithoutWatermark,
    "never-without-append": NeverWithoutAppend,
}

_TABLES = {
    "rounds-down": RoundsDown,
    "forgets-lookahead": ForgetsLookahead,
    "one-block-at-most": OneBlockAtMost,
    "always-one-more": AlwaysOneMore,
    "new-tokens-in-new-blocks": NewTokensInNewBlocks,
}

_COPIES = {
    "every-writer-copies": copying(lambda owners, writers: writers),
    "one-copy-a-block": copying(lambda owners, writers: 1),
    "nobody-in-place": copying(lambda owners, writers: writers if owners > 1 else 0),
}

_OWNERSHIP = {
    "release.wrong.forgets-decrement": pooled(ForgetsDecrement),
    "release.wrong.keeps-the-entry": block_faults.FreeForgetsTable,
    "release.wrong.ends-again": block_faults.FreeForgetsTable,
    "release.wrong.frees-at-once": pooled(FreesAtOnce),
    "release.wrong.never-frees": pooled(NeverFrees),
    "release.wrong.leaks-the-last": pooled(NeverFrees),
    "release.wrong.all-owners": ReleasesAllOwners,
    "share.wrong.forgets-increment": block_faults.ForkForgetsRefcount,
    "share.wrong.copies-instead": ForkCopies,
    "take.wrong.leaves-it-listed": pooled(LeavesItListed),
    "take.wrong.same-block-twice": pooled(LeavesItListed),
    "take.wrong.always-the-first": pooled(AlwaysTheFirst),
    "take.wrong.counts-two": pooled(CountsTwo),
    "take.wrong.off-by-one": NumbersFromOne,
    "replace.wrong.writes-in-place": block_faults.CopyOnWriteMissing,
    "replace.wrong.only-beyond-two": CopiesOnlyBeyondTwo,
    "replace.wrong.keeps-the-old-one": KeepsTheOldOne,
    "transfer.wrong.stays-behind": StaysBehind,
}

_DATA = {
    "write.wrong.no-rule": block_faults.CopyOnWriteMissing,
    "write.wrong.misleads": block_faults.CopyOnWriteMissing,
    "replace.wrong.no-copy": appending(nothing),
    "replace.wrong.copies-backwards": appending(backwards),
    "replace.wrong.copies-late": CopiesLate,
    "take.wrong.a-held-one": pooled(TakesAHeldOne),
    "share.wrong.reads-ahead": ForkTakesTheLastForFull,
    "share.wrong.another-prefix": ForksAnother,
    "transfer.wrong.no-content": moving(nothing),
    "transfer.wrong.to-its-number": moving(to_its_number),
    "transfer.wrong.from-its-number": moving(from_its_number),
    "transfer.wrong.moves-late": moving(one_call_late),
    "follow.wrong.any-block": FollowsToTheFirst,
    "follow.wrong.one-of-its-own": block_faults.SwapLosesSharing,
}

_FAILURES = {
    "keeps-what-it-took": FailedAllocateKeepsBlocks,
    "keeps-the-table": FailedAppendKeepsTable,
    "forgets-the-refcount": FailedAllocateForgetsRefcount,
    "points-back": FailedAppendPointsBack,
}

_JUDGES = {
    "sees-counts-only": pooled(TakesAHeldOne),
    "sees-tables-only": pooled(CountsTwo),
    "sees-no-copies": appending(nothing),
    "sees-no-transfers": moving(nothing),
    "checks-the-writer-only": block_faults.CopyOnWriteMissing,
}

MANAGERS: dict[str, type[BlockManager]] = {
    prefix + name: manager
    for prefix, managers in (
        ("guards.allocate.wrong.", _ALLOCATE),
        ("guards.append.wrong.", _APPEND),
        ("guards.swap-out.wrong.", _SWAP_OUT),
        ("guards.swap-in.wrong.", _SWAP_IN),
        ("arithmetic.append.wrong.", _TABLES),
        ("copying.turns.wrong.", _COPIES),
        ("ownership.", _OWNERSHIP),
        ("data.", _DATA),
        ("atomicity.failure.wrong.", _FAILURES),
        ("refinement.judge.wrong.", _JUDGES),
    )
    for name, manager in managers.items()
}
"""The managers, by the obligation whose wrong variant they are."""

NO_MANAGER = {
    "data.take.wrong.trusts-leftovers": "what is computed is the engine's to say: no block manager of this kind tells "
    "its engine that a block holds something already",
}
"""The variants that cannot be built into a manager, each with the reason."""
