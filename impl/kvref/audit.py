"""Checks a manager's books against each other, in time linear in their size.

Knows: what must always hold between rows, reference counts, free lists, groups, sequences and the index.
Must not know: which operation ran, or how the manager decides anything.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping

from kvref.allocator import BlockAllocator
from kvref.caching import CachingAllocator
from kvref.content import Content, PrefixCache
from kvref.errors import BrokenInvariant
from kvref.prefix import Node
from kvref.sequence import GroupId, SeqId, SequenceState, Status
from kvref.table import NULL, blocks_for, dead_entries


def audit_pool(pool: BlockAllocator, rows: Iterable[Collection[int]]) -> None:
    """Refcount = number of rows that name the block; free list = the blocks no row names, each once.

    No row names the block set aside, and it is not free. `rows` are without the entries given up.
    Raises `BrokenInvariant`.
    """
    blocks = range(pool.num_total)
    owners = Counter(block for row in rows for block in row)
    strangers = [block for block in owners if block not in blocks]
    _require(not strangers, f"rows name the blocks {strangers}, which the pool does not have")
    miscounted = [block for block in blocks if pool.refcount(block) != owners[block]]
    _require(not miscounted, f"refcount and owners differ for the blocks {miscounted}")
    _require(pool.aside not in owners, f"rows name the block {pool.aside}, which is set aside")
    unowned = [block for block in blocks if owners[block] == 0 and block != pool.aside]
    _require(sorted(pool.free_blocks()) == unowned, "the free list is not the blocks without an owner")
    # The lists may agree while a counter kept apart from them does not.
    _require(pool.num_free == len(unowned), f"{pool.num_free} blocks counted free, {len(unowned)} are")


def audit_sequence(seq: SequenceState, block_size: int, window: int | None) -> None:
    """Counts in range, row long enough for what it covers, no block twice in it, nothing given up that may be read.

    Raises `BrokenInvariant`.
    """
    name = f"sequence {seq.seq_id!r}"
    _require(seq.tokens >= 1, f"{name}: {seq.tokens} tokens")
    _require(0 <= seq.seen <= seq.tokens, f"{name}: seen {seq.seen} of {seq.tokens} tokens")
    _require(len(set(seq.held)) == len(seq.held), f"{name}: a block twice in the row {seq.blocks}")
    dead = dead_entries(seq.seen, window, block_size)
    _require(0 <= seq.given_up <= dead, f"{name}: {seq.given_up} blocks given up, {dead} dead")
    gone = [entry for entry, block in enumerate(seq.blocks) if block == NULL]
    _require(gone == list(range(seq.given_up)), f"{name}: {seq.given_up} blocks given up, NULL are the entries {gone}")
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
    sharing: bool = False,
) -> None:
    """Each live sequence in its own group only; groups move as one, and share no block unless `sharing`.

    Raises `BrokenInvariant`.
    """
    members = {seq_id: seq for group in groups.values() for seq_id, seq in group.items()}
    _require(members == dict(sequences), "groups and sequences list different sequences")
    _require(not any(seq_id in ended for seq_id in sequences), "a sequence is both live and ended")
    holder: dict[tuple[Status, int], GroupId] = {}
    for group_id, group in groups.items():
        statuses = {seq.status for seq in group.values()}
        _require(len(statuses) == 1, f"group {group_id!r}: empty or of mixed status")
        for seq_id, seq in group.items():
            _require((seq.seq_id, seq.group_id) == (seq_id, group_id), f"sequence {seq_id!r}: filed wrongly")
            for block in () if sharing else seq.held:
                other = holder.setdefault((seq.status, block), group_id)
                _require(other == group_id, f"block {block} shared by groups {other!r} and {group_id!r}")


def audit_cache(
    pool: CachingAllocator,
    cache: PrefixCache,
    sequences: Mapping[SeqId, SequenceState],
    contents: Mapping[SeqId, Content],
    block_size: int,
) -> None:
    """Free lists, index and contents agree; what rows hold is published as what it is. `BrokenInvariant`."""
    _require(contents.keys() == sequences.keys(), "sequences and contents list different sequences")
    _audit_cached(pool)
    tips: Counter[Node] = Counter()
    for seq_id, seq in sequences.items():
        content = contents[seq_id]
        audit_content(seq, content, block_size)
        if content.era == cache.era:
            _audit_chain(seq, content, pool, block_size)
            tips.update([content.tip] if content.tip else [])
    _audit_index(pool, tips)


def _audit_cached(pool: CachingAllocator) -> None:
    """Cached = published and without an owner; a published block and its node name each other."""
    free = [block for block in range(pool.num_total) if pool.refcount(block) == 0]
    cached = sorted(block for block in free if pool.node_of(block))
    _require(sorted(pool.cached_blocks()) == cached, "the cached blocks are not the published ones without an owner")
    nodes = {block: pool.node_of(block) for block in range(pool.num_total)}
    strayed = [block for block, node in nodes.items() if node and node.block != block]
    _require(not strayed, f"the nodes of the blocks {strayed} name other blocks")
    published = {node for node in nodes.values() if node}
    indexed = {node for node in pool.index.nodes() if node.block is not None}
    _require(published == indexed, "blocks and index differ about what is published")


def _audit_index(pool: CachingAllocator, tips: Mapping[Node, int]) -> None:
    """Each node is found where it belongs, is needed, and knows by how many."""
    nodes = pool.index.nodes()
    children = Counter(node.parent for node in nodes if node.parent)
    _require(children.keys() | tips.keys() <= set(nodes), "a node is needed and not in the index")
    for node in nodes:
        found = pool.index.find(node.parent, node.tokens) if node.parent else pool.index.find_root(node.extra)
        _require(found is node, f"{node} is not found where it belongs")
        _require(node.uses == children[node] + tips.get(node, 0), f"{node} has miscounted its uses")
        _require(node.block is not None or node.uses > 0, f"nothing needs {node}")


def audit_content(seq: SequenceState, content: Content, block_size: int) -> None:
    """Counts in range; without a row on the GPU nothing is known to the index. `BrokenInvariant`."""
    name = f"sequence {seq.seq_id!r}"
    _require(len(content.ids) == seq.tokens, f"{name}: {len(content.ids)} token ids, {seq.tokens} tokens")
    _require(0 <= content.computed <= seq.seen, f"{name}: {content.computed} tokens computed, {seq.seen} seen")
    _require(0 <= content.whole * block_size <= content.computed, f"{name}: publishes {content.whole} blocks")
    _require((content.tip is None) == (content.whole == 0), f"{name}: a tip without blocks, or the reverse")
    _require(seq.status is Status.RUNNING or content.whole == 0, f"{name}: published while {seq.status.value}")


def _audit_chain(seq: SequenceState, content: Content, pool: CachingAllocator, block_size: int) -> None:
    """From the tip back to the root the nodes spell the row's tokens, and only such blocks are published."""
    name = f"sequence {seq.seq_id!r}"
    node = content.tip
    for entry in reversed(range(content.whole)):
        tokens = tuple(content.ids[entry * block_size : (entry + 1) * block_size])
        _require(node is not None and node.tokens == tokens, f"{name}: entry {entry} is indexed as other tokens")
        published = pool.node_of(seq.blocks[entry])
        _require(published in (None, node), f"{name}: block {seq.blocks[entry]} is published as other content")
        node = node.parent if node else None
    if content.whole:
        rooted = node is not None and node.parent is None and node.extra == content.extra
        _require(rooted, f"{name}: indexed under other keys")
    if seq.status is Status.RUNNING:
        _audit_untold(seq, content, pool, block_size)


def _audit_untold(seq: SequenceState, content: Content, pool: CachingAllocator, block_size: int) -> None:
    """Behind the tip a block may be published only by another member of the group that shares it, and only whole."""
    for entry in range(content.whole, len(seq.blocks)):
        node = pool.node_of(seq.blocks[entry])
        tokens = tuple(content.ids[entry * block_size : min((entry + 1) * block_size, seq.seen)])
        right = node is None or node.tokens == tokens
        _require(right, f"sequence {seq.seq_id!r}: block {seq.blocks[entry]} is published as other content")


def _require(holds: bool, message: str) -> None:
    if not holds:
        raise BrokenInvariant(f"{message}; this is a defect in the block manager")
