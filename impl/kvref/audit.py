"""Checks a manager's books against each other, in time linear in their size.

Knows: what must always hold between rows, reference counts, free lists, groups and sequences.
Must not know: which operation ran, or how the manager decides anything.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping

from kvref.allocator import BlockAllocator
from kvref.errors import BrokenInvariant
from kvref.sequence import GroupId, SeqId, SequenceState, Status
from kvref.table import blocks_for


def audit_pool(pool: BlockAllocator, rows: Iterable[Collection[int]]) -> None:
    """Refcount = number of rows that name the block; free list = the blocks no row names, each once.

    Raises `BrokenInvariant`.
    """
    blocks = range(pool.num_total)
    owners = Counter(block for row in rows for block in row)
    strangers = [block for block in owners if block not in blocks]
    _require(not strangers, f"rows name the blocks {strangers}, which the pool does not have")
    miscounted = [block for block in blocks if pool.refcount(block) != owners[block]]
    _require(not miscounted, f"refcount and owners differ for the blocks {miscounted}")
    unowned = [block for block in blocks if owners[block] == 0]
    _require(sorted(pool.free_blocks()) == unowned, "the free list is not the blocks without an owner")
    # The lists may agree while a counter kept apart from them does not.
    _require(pool.num_free == len(unowned), f"{pool.num_free} blocks counted free, {len(unowned)} are")


def audit_sequence(seq: SequenceState, block_size: int) -> None:
    """Counts in range, row long enough for what it covers, no block twice in it. `BrokenInvariant`."""
    name = f"sequence {seq.seq_id!r}"
    _require(seq.tokens >= 1, f"{name}: {seq.tokens} tokens")
    _require(0 <= seq.seen <= seq.tokens, f"{name}: seen {seq.seen} of {seq.tokens} tokens")
    _require(len(set(seq.blocks)) == len(seq.blocks), f"{name}: a block twice in the row {seq.blocks}")
    if seq.status is Status.WAITING:
        _require(seq.seen == 0 and not seq.blocks, f"{name}: waiting, yet holds {seq.blocks}")
    else:
        _require(seq.seen >= 1, f"{name}: {seq.status.value}, yet its row covers nothing")
    needed = blocks_for(seq.seen, block_size)
    _require(len(seq.blocks) >= needed, f"{name}: row of {len(seq.blocks)} blocks, needs {needed}")


def audit_groups(
    sequences: Mapping[SeqId, SequenceState],
    groups: Mapping[GroupId, Mapping[SeqId, SequenceState]],
    ended: Collection[SeqId],
) -> None:
    """Each live sequence in its own group only; groups move as one and share no block. `BrokenInvariant`."""
    members = {seq_id: seq for group in groups.values() for seq_id, seq in group.items()}
    _require(members == dict(sequences), "groups and sequences list different sequences")
    _require(not any(seq_id in ended for seq_id in sequences), "a sequence is both live and ended")
    holder: dict[tuple[Status, int], GroupId] = {}
    for group_id, group in groups.items():
        statuses = {seq.status for seq in group.values()}
        _require(len(statuses) == 1, f"group {group_id!r}: empty or of mixed status")
        for seq_id, seq in group.items():
            _require((seq.seq_id, seq.group_id) == (seq_id, group_id), f"sequence {seq_id!r}: filed wrongly")
            for block in seq.blocks:
                other = holder.setdefault((seq.status, block), group_id)
                _require(other == group_id, f"block {block} shared by groups {other!r} and {group_id!r}")


def _require(holds: bool, message: str) -> None:
    if not holds:
        raise BrokenInvariant(f"{message}; this is a defect in the block manager")
