"""The reference block manager: which physical blocks each sequence's KV cache lies in, and when.

Knows: sequences, groups, their block table rows, and what each operation takes and gives back.
Must not know: what token ids mean, KV data, schedulers, or anyone who checks it.

The order inside every operation is: check the arguments, look up, compute, take blocks (the last thing
that can fail), commit. That is why a failing operation changes nothing.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from itertools import islice

from kvref.allocator import BlockAllocator
from kvref.audit import audit_cache, audit_groups, audit_pool, audit_sequence
from kvref.base import SequenceManager
from kvref.caching import CachingAllocator
from kvref.content import Content, Match, PrefixCache
from kvref.errors import DuplicateGroup, InvalidRequest, UnknownGroup, WrongStatus
from kvref.prefix import BlockHash
from kvref.sequence import Device, GroupId, SeqId, SequenceState, Status, Tokens
from kvref.table import blocks_for, entries_touched, holds_slot_below
from kvref.verdict import AllocStatus, verdict


class BlockManager(SequenceManager):
    """Paged KV cache bookkeeping for one engine with a GPU pool and a CPU swap pool.

    Sizes are in blocks of `block_size` >= 1 slots, one slot per token. `watermark_blocks` of the GPU
    stay free when a group is admitted or swapped in, so that the groups already running can grow.
    `InvalidConfig` if a size is out of range; pools may be empty.

    Groups and their all-or-nothing moves, sharing, copy-on-write, swapping and recomputation are the
    PagedAttention paper's (Kwon et al., "Efficient Memory Management for Large Language Model Serving
    with PagedAttention", SOSP 2023, sections 4.3 to 4.5). All live members of a group have the same
    status, and without prefix caching blocks are shared only within a group.

    With `prefix_caching`, tokens are given as token ids instead of their number, and whole blocks of
    computed KV are shared by everyone whose tokens begin with the same ids under the same `extra` keys,
    after their owners are gone too, as long as nobody needs the room (vLLM's automatic prefix caching).
    Only the GPU pool caches. `hash_block` is for tests that want hashes to collide.

    With a `sliding_window` of >= 1 tokens, attention at position p reads the positions p - window + 1 to p.
    Rows give up what nobody reads any more; see `computed` and `null_block`.

    A guard (`can_...`) answers `AllocStatus` and changes nothing. An operation never looks at the
    watermark: asked past a refusing guard it does what it can, or raises `OutOfBlocks`. Guard and
    operation raise the same errors for bad arguments.
    """

    def __init__(
        self,
        *,
        block_size: int,
        num_gpu_blocks: int,
        num_cpu_blocks: int = 0,
        watermark_blocks: int = 0,
        prefix_caching: bool = False,
        sliding_window: int | None = None,
        hash_block: BlockHash | None = None,
    ) -> None:
        super().__init__(block_size, watermark_blocks, sliding_window)
        self._caching = prefix_caching
        self._hash_block = hash_block
        self._groups: dict[GroupId, dict[SeqId, SequenceState]] = {}
        self._start_pools(num_gpu_blocks, num_cpu_blocks)

    # --- admission -------------------------------------------------------------------------------

    def can_allocate(
        self,
        group_id: GroupId,
        seq_ids: Sequence[SeqId],
        prompt: Tokens,
        lookahead: int = 0,
        extra: Hashable = None,
    ) -> AllocStatus:
        """Whether `allocate` with these arguments fits and leaves the watermark free.

        NEVER iff total - need < watermark, OK iff free - need >= watermark, else LATER, in GPU blocks,
        the null block not among the total. With prefix caching OK asks for less and comes first: a hit that
        others hold costs no free block, and under a sliding window part of it is not even there. NEVER does
        not, as hits may be gone by the time there is room. Errors as `allocate`, `OutOfBlocks` excepted.
        """
        num_tokens = self._require_new_group(group_id, seq_ids, prompt, lookahead)
        need = self._allocate_need(num_tokens, lookahead)
        if self._cache is None:
            return self._admission_verdict(need)
        return self._cached_verdict(need, [self._cache.match(self._ids(prompt), extra)])

    def allocate(
        self,
        group_id: GroupId,
        seq_ids: Sequence[SeqId],
        prompt: Tokens,
        lookahead: int = 0,
        extra: Hashable = None,
    ) -> int:
        """Admit a new group whose sequences all start with the same prompt of >= 1 tokens.

        They share one row: enough blocks for the tokens and `lookahead` >= 0 further slots, each block
        with as many owners as there are sequences (PagedAttention paper, section 4.4). The prompt
        counts as seen. Ids of ended sequences may be used again.

        Returns how many tokens from the start are cached: whole blocks that are hits, one token at
        least left to compute; 0 without prefix caching. `extra` are the keys besides the tokens that
        their KV depends on (an adapter, a salt).

        Raises `InvalidRequest` (range, no sequence, a number where ids are needed, extra keys that cannot
        be hashed), `DuplicateSequence`, `DuplicateGroup`, `OutOfBlocks`.
        """
        num_tokens = self._require_new_group(group_id, seq_ids, prompt, lookahead)
        need = self._allocate_need(num_tokens, lookahead)
        if self._cache is None:
            self._enter_all(group_id, seq_ids, num_tokens, self._gpu.take_many(need))
            return 0
        ids = self._ids(prompt)
        match = self._cache.match(ids, extra)
        row = self._cache.take_rows([match], [need])[0]
        self._enter_all(group_id, seq_ids, num_tokens, row, match.given_up)
        for seq_id in seq_ids:
            content = self._contents[seq_id] = Content(list(ids), extra)
            self._cache.begin(content, match)
        return len(match.blocks) * self._block_size

    def can_readmit(self, group_id: GroupId, lookahead: int = 0) -> AllocStatus:
        """Whether `readmit` fits and leaves the watermark free; the rule is `can_allocate`'s.

        A cached block that several of the sequences hit counts once, so that a group may fit which
        would not fit beside an empty cache: OK comes before NEVER. A sequence that has outgrown the pool
        under a sliding window comes back by such hits, or not at all: its row is computed from position 0 on,
        in one piece. Errors as `readmit`, `OutOfBlocks` excepted.
        """
        self._require_lookahead(lookahead)
        waiting = self._members_in(group_id, Status.WAITING)
        need = sum(self._readmit_needs(waiting, lookahead))
        if self._cache is None:
            return self._admission_verdict(need)
        return self._cached_verdict(need, self._matches(self._cache, waiting))

    def readmit(self, group_id: GroupId, lookahead: int = 0) -> list[int]:
        """Bring a preempted group back for recomputation: a row for each waiting sequence.

        Members may have diverged and nothing was computed together, so each gets blocks of its own for
        its tokens and `lookahead` >= 0 further slots, apart from hits. All its tokens count as seen
        afterwards. Returns how many tokens of each sequence are cached, in the order of the group.

        Raises `InvalidRequest`, `UnknownGroup`, `WrongStatus` (nothing waiting), `OutOfBlocks`.
        """
        self._require_lookahead(lookahead)
        waiting = self._members_in(group_id, Status.WAITING)
        needs = self._readmit_needs(waiting, lookahead)
        if self._cache is None:
            fresh = iter(self._gpu.take_many(sum(needs)))
            self._resume(waiting, [list(islice(fresh, need)) for need in needs])
            return [0] * len(waiting)
        matches = self._matches(self._cache, waiting)
        self._resume(waiting, self._cache.take_rows(matches, needs))
        cached = []
        for seq, match in zip(waiting, matches, strict=True):
            seq.given_up = match.given_up
            cached.append(self._cache.begin(self._contents[seq.seq_id], match))
        return cached

    # --- growth ----------------------------------------------------------------------------------

    def add_tokens(self, seq_id: SeqId, tokens: Tokens) -> None:
        """Note that a step produced >= 1 tokens; they stay unseen until `append`. Takes no block.

        Raises `InvalidRequest`, `UnknownSequence`, `WrongStatus` (not running).
        """
        count = self._length(tokens)
        if count < 1:
            raise InvalidRequest(f"{count} tokens for sequence {seq_id!r}; a step adds 1 or more")
        self._running(seq_id).tokens += count
        if self._cache is not None:
            self._contents[seq_id].ids.extend(self._ids(tokens))

    def can_append(self, group_id: GroupId, lookahead: int = 0) -> AllocStatus:
        """Whether `append` of every running sequence of the group, one after the other, fits.

        Counts exactly what those calls take. The watermark is there for this growth, so it is not
        held back here. OK iff free >= need; NEVER iff even with every other group gone it would not
        fit; else LATER. Errors as `append`, with `UnknownGroup` for the group.
        """
        self._require_lookahead(lookahead)
        running = self._members_in(group_id, Status.RUNNING)
        need = self._append_need(running, lookahead, self._gpu)
        if need <= self._gpu.num_free:
            return AllocStatus.OK
        # Only a refusal has to look at whole rows, to tell LATER from NEVER.
        reachable = self._gpu.num_usable - len(self._owners(running))
        return verdict(need, self._gpu.num_free, reachable, reserve=0)

    def append(self, seq_id: SeqId, lookahead: int = 0) -> list[tuple[int, int]]:
        """Make room for the sequence's unseen tokens and `lookahead` >= 0 slots after them.

        The row grows as needed and never shrinks. Whoever writes a block must be its only owner, so
        each shared block in the range about to be written is replaced by a fresh one (copy-on-write,
        PagedAttention paper, section 4.4). Returns the copies to make before the next step, as (source,
        destination) GPU blocks: one for each replaced block that holds seen tokens; an empty
        lookahead block has nothing to copy. All tokens are seen afterwards. Linear in the blocks
        touched, not in the row.

        Raises `InvalidRequest`, `UnknownSequence`, `WrongStatus` (not running), `OutOfBlocks`.
        """
        self._require_lookahead(lookahead)
        seq = self._running(seq_id)
        shared = self._shared_entries(seq, lookahead)
        need = len(shared) + self._growth(seq, lookahead)
        if need == 0:  # as in most steps: the last block has room
            seq.seen = seq.tokens
            return []
        fresh = self._gpu.take_many(need)
        copies = self._replace(seq, shared, fresh[: len(shared)])
        seq.blocks.extend(fresh[len(shared) :])
        seq.seen = seq.tokens
        return copies

    def fork(self, parent_id: SeqId, child_id: SeqId, unseen: int | None = None) -> None:
        """Start a sequence in the parent's group that shares the parent's whole row. Takes no block.

        The child has the parent's seen tokens and `unseen` >= 0 tokens of its own after them (by
        default as many as the parent has). With prefix caching its own tokens need ids: it can only
        have the parent's unseen tokens (the default) or none, and others by `add_tokens`.

        Raises `InvalidRequest`, `UnknownSequence`, `WrongStatus` (parent not running), `DuplicateSequence`.
        """
        if unseen is not None and unseen < 0:
            raise InvalidRequest(f"{unseen} unseen tokens for sequence {child_id!r}; give 0 or more")
        if unseen and self._cache is not None:
            raise InvalidRequest(f"{unseen} tokens without ids for {child_id!r}; give 0 and add them by `add_tokens`")
        parent = self._running(parent_id)
        self._require_unused([child_id])
        tokens = parent.seen + (parent.unseen if unseen is None else unseen)
        row, given_up = self._share_row(parent.blocks, parent.given_up), parent.given_up
        self._enter(SequenceState(child_id, parent.group_id, Status.RUNNING, tokens, parent.seen, row, given_up))
        if self._cache is not None:
            self._contents[child_id] = self._cache.branch(self._contents[parent_id], tokens)

    # --- swapping and preemption -----------------------------------------------------------------

    def can_swap_out(self, group_id: GroupId) -> AllocStatus:
        """Whether the CPU pool has room for the group's distinct blocks. No watermark on the CPU.

        OK iff free >= need, NEVER iff total < need. Errors as `swap_out`, `OutOfBlocks` excepted.
        """
        need = self._swap_out_need(self._members_in(group_id, Status.RUNNING))
        return verdict(need, self._cpu.num_free, self._cpu.num_total, reserve=0)

    def swap_out(self, group_id: GroupId) -> list[tuple[int, int]]:
        """Move every running sequence of the group to the CPU; what was shared stays shared.

        Returns the transfers to make, as (GPU block, CPU block), one for each distinct block (PagedAttention
        paper, section 4.5). GPU blocks left behind stay cached if they were published; CPU blocks are
        not indexed. Raises `UnknownGroup`, `WrongStatus` (nothing running), `OutOfBlocks`.
        """
        running = self._members_in(group_id, Status.RUNNING)
        transfers = self._move(running, self._gpu, self._cpu, Status.SWAPPED)
        if self._cache is not None:
            for seq in running:
                self._cache.leave_gpu(self._contents[seq.seq_id])
        return transfers

    def can_swap_in(self, group_id: GroupId, lookahead: int = 0) -> AllocStatus:
        """Whether `swap_in` *and* the `append` of each resumed sequence fit and leave the watermark free.

        Need: the distinct blocks to move, plus exactly what appending unseen tokens and `lookahead` >= 0
        slots takes then. That both belong in the count is the point of vLLM pull request 8824; here
        a partial last block filled in place and an empty tail block cost nothing extra. NEVER iff
        total - need < watermark, OK iff free - need >= watermark, else LATER, in GPU blocks.

        Errors as `swap_in`, `OutOfBlocks` excepted, and `InvalidRequest`.
        """
        self._require_lookahead(lookahead)
        swapped = self._members_in(group_id, Status.SWAPPED)
        return self._admission_verdict(self._swap_in_need(swapped, lookahead))

    def swap_in(self, group_id: GroupId, lookahead: int = 0) -> list[tuple[int, int]]:
        """Move every swapped sequence of the group back to the GPU; what was shared stays shared.

        Moves blocks only: the engine then calls `append` for each sequence, with the `lookahead` it
        gave here and to the guard. Returns the transfers, as (CPU block, GPU block). With prefix caching
        the next `computed` publishes what has come back.

        Raises `InvalidRequest`, `UnknownGroup`, `WrongStatus` (nothing swapped), and `OutOfBlocks`
        if the moved blocks themselves do not fit.
        """
        self._require_lookahead(lookahead)
        swapped = self._members_in(group_id, Status.SWAPPED)
        return self._move(swapped, self._cpu, self._gpu, Status.RUNNING)

    def preempt(self, group_id: GroupId) -> None:
        """Preempt by recompute: running sequences give their blocks back and wait, tokens kept.

        Source: PagedAttention paper, section 4.5. Raises `UnknownGroup`, `WrongStatus` (nothing running).
        """
        for seq in self._members_in(group_id, Status.RUNNING):
            self._release_row(seq)
            seq.seen = 0
            seq.status = Status.WAITING

    # --- the end ---------------------------------------------------------------------------------

    def free(self, seq_id: SeqId) -> None:
        """End a sequence, whatever its status, and give its blocks back; again does nothing.

        A group ends with its last sequence. Raises `UnknownSequence` if the id was never used.
        """
        if seq_id in self._ended:
            return
        seq = self._live(seq_id)
        self._release_row(seq)
        self._leave(seq)

    def reset(self) -> None:
        """Forget every sequence, ended ones too, and all content; all blocks are free, as in a new manager."""
        self._start_pools(self._gpu.num_total, self._cpu.num_total)
        self._sequences.clear()
        self._contents.clear()
        self._groups.clear()
        self._ended.clear()

    # --- inspection ------------------------------------------------------------------------------

    def group_of(self, seq_id: SeqId) -> GroupId:
        """The group of a live sequence."""
        return self._live(seq_id).group_id

    def members(self, group_id: GroupId) -> list[SeqId]:
        """The live sequences of a group in the order they joined. `UnknownGroup` if there is none."""
        return list(self._group(group_id))

    def num_free(self, device: Device) -> int:
        """Free blocks of a device; the null block is not one of them."""
        return self._pool(device).num_free

    def num_total(self, device: Device) -> int:
        """All blocks of a device, the null block included."""
        return self._pool(device).num_total

    def refcount(self, device: Device, block: int) -> int:
        """Live sequences whose row names the block; 0 if free, or the null block. `InvalidRequest` if there is none."""
        return self._pool(device).refcount(block)

    def free_blocks(self, device: Device) -> tuple[int, ...]:
        """The free blocks of a device in the order they would be handed out."""
        return self._pool(device).free_blocks()

    def check(self) -> None:
        """Verify the manager's own books, in time linear in their size. Raises `BrokenInvariant`."""
        audit_groups(self._sequences, self._groups, self._ended, sharing=self._caching)
        for seq in self._sequences.values():
            audit_sequence(seq, self._block_size, self._window)
        for pool in (self._gpu, self._cpu):
            audit_pool(pool, [seq.held for seq in self._sequences.values() if self._pool_of(seq) is pool])
        if self._cache is not None and isinstance(self._gpu, CachingAllocator):
            audit_cache(self._gpu, self._cache, self._sequences, self._contents, self._block_size)

    # --- decisions: how many blocks an operation takes -------------------------------------------

    def _blocks_for(self, tokens: int, lookahead: int) -> int:
        """Length of the row that has a slot for each token and each lookahead position."""
        return blocks_for(tokens + lookahead, self._block_size)

    def _allocate_need(self, num_tokens: int, lookahead: int) -> int:
        """Blocks for one shared prompt, however many sequences share it."""
        return self._blocks_for(num_tokens, lookahead)

    def _readmit_needs(self, waiting: Iterable[SequenceState], lookahead: int) -> list[int]:
        """Blocks for each sequence that comes back; nothing is shared any more."""
        return [self._blocks_for(seq.tokens, lookahead) for seq in waiting]

    def _append_need(self, members: Sequence[SequenceState], lookahead: int, pool: BlockAllocator) -> int:
        """Blocks that appending all of `members`, whose rows lie in `pool` now, takes together."""
        growth = sum([self._growth(seq, lookahead) for seq in members])
        return growth + self._replacement_need(members, lookahead, pool)

    def _growth(self, seq: SequenceState, lookahead: int) -> int:
        """Blocks by which an append lengthens the row; a row never shrinks."""
        growth = blocks_for(seq.tokens + lookahead, self._block_size) - len(seq.blocks)
        return growth if growth > 0 else 0

    def _replacement_need(self, members: Sequence[SequenceState], lookahead: int, pool: BlockAllocator) -> int:
        """Fresh blocks for shared ones that several appends write to.

        Each writer leaves the shared block, so the last owner can write in place: of r owners of whom
        w write, w take a fresh block, but never all r.
        """
        written = [seq.blocks[entry] for seq in members for entry in self._shared_entries(seq, lookahead)]
        if not written:
            return 0
        return sum(min(count, pool.refcount(block) - 1) for block, count in Counter(written).items())

    def _swap_out_need(self, running: Iterable[SequenceState]) -> int:
        """CPU blocks that the move takes: one for each distinct block, empty tail blocks included."""
        return len(self._owners(running))

    def _swap_in_need(self, swapped: Sequence[SequenceState], lookahead: int) -> int:
        """GPU blocks that the move and the appends after it take; sharing, hence the count, survives it."""
        return len(self._owners(swapped)) + self._append_need(swapped, lookahead, self._cpu)

    def _admission_verdict(self, need: int) -> AllocStatus:
        """The answer for a group that holds no GPU block yet."""
        return verdict(need, self._gpu.num_free, self._gpu.num_usable, self._watermark)

    def _cached_verdict(self, need: int, matches: Sequence[Match]) -> AllocStatus:
        """The same where rows begin with hits. If they do not fit now, an empty cache decides what then."""
        assert self._cache is not None
        fits = self._gpu.num_free - self._cache.cost(need, matches) >= self._watermark
        return AllocStatus.OK if fits else self._admission_verdict(need)

    def _matches(self, cache: PrefixCache, waiting: Iterable[SequenceState]) -> list[Match]:
        """What each sequence that comes back can begin with."""
        contents = [self._contents[seq.seq_id] for seq in waiting]
        return [cache.match(content.ids, content.extra) for content in contents]

    # --- decisions: which blocks an append may write ---------------------------------------------

    def _write_entries(self, seq: SequenceState, lookahead: int) -> range:
        """Entries already in the row that hold a slot about to be written."""
        touched = entries_touched(seq.seen, seq.tokens + lookahead, self._block_size)
        length = len(seq.blocks)
        return touched if touched.stop <= length else range(touched.start, length)

    def _shared_entries(self, seq: SequenceState, lookahead: int) -> list[int]:
        """Those of them that the sequence must not write in place."""
        pool = self._pool_of(seq)
        return [e for e in self._write_entries(seq, lookahead) if self._is_shared(pool, seq.blocks[e])]

    def _is_shared(self, pool: BlockAllocator, block: int) -> bool:
        """Whether someone else may read the block."""
        return pool.refcount(block) > 1

    def _must_copy(self, seq: SequenceState, entry: int) -> bool:
        """Whether a replaced entry holds seen tokens, which the fresh block must get too."""
        return holds_slot_below(entry, seq.seen, self._block_size)

    # --- commits: how rows and refcounts change --------------------------------------------------

    def _replace(self, seq: SequenceState, entries: Iterable[int], fresh: Iterable[int]) -> list[tuple[int, int]]:
        """Put fresh blocks in the place of shared ones; returns the copies to make."""
        copies = []
        for entry, new in zip(entries, fresh, strict=True):
            old = seq.blocks[entry]
            if self._must_copy(seq, entry):
                copies.append((old, new))
            seq.blocks[entry] = new
            self._gpu.release(old)
        return copies

    def _share_row(self, row: Iterable[int], given_up: int = 0) -> list[int]:
        """A second row of the same GPU blocks, with a new owner; `given_up` entries name none."""
        shared = list(row)
        for block in islice(shared, given_up, None):
            self._gpu.share(block)
        return shared

    def _move(
        self, members: Sequence[SequenceState], source: BlockAllocator, target: BlockAllocator, status: Status
    ) -> list[tuple[int, int]]:
        """Move rows between devices, one new block for each distinct old one; returns the transfers."""
        owners = self._owners(members)
        moved = dict(zip(owners, target.take_many(len(owners)), strict=True))
        for block in self._release_order(owners):
            self._hand_over(block, source, moved[block], target, owners[block])
        for seq in members:
            seq.blocks[seq.given_up :] = [moved[block] for block in seq.held]
            seq.status = status
        return list(moved.items())

    def _hand_over(self, old: int, source: BlockAllocator, new: int, target: BlockAllocator, owners: int) -> None:
        """Pass all owners of `old` to the block just taken, which has one already."""
        for _ in range(owners - 1):
            target.share(new)
        for _ in range(owners):
            source.release(old)

    def _owners(self, members: Iterable[SequenceState]) -> dict[int, int]:
        """Each distinct block of these rows, in order of first use, and how many of the rows name it."""
        return dict(Counter(block for seq in members for block in seq.held))

    def _enter_all(
        self, group_id: GroupId, seq_ids: Sequence[SeqId], tokens: int, row: list[int], given_up: int = 0
    ) -> None:
        """File the sequences of a new group, which share one row, all of it seen."""
        for nth, seq_id in enumerate(seq_ids):
            shared = self._share_row(row, given_up) if nth else row
            self._enter(SequenceState(seq_id, group_id, Status.RUNNING, tokens, tokens, shared, given_up))

    def _resume(self, waiting: Iterable[SequenceState], rows: Iterable[list[int]]) -> None:
        """Give preempted sequences their new rows, all of it seen."""
        for seq, row in zip(waiting, rows, strict=True):
            seq.blocks = row
            seq.seen = seq.tokens
            seq.status = Status.RUNNING

    def _enter(self, seq: SequenceState) -> None:
        """File a new live sequence; an ended one of that id is over for good."""
        self._ended.discard(seq.seq_id)
        self._sequences[seq.seq_id] = seq
        self._groups.setdefault(seq.group_id, {})[seq.seq_id] = seq

    def _leave(self, seq: SequenceState) -> None:
        """Strike a sequence off, and its group with the last one."""
        del self._sequences[seq.seq_id]
        self._contents.pop(seq.seq_id, None)
        group = self._groups[seq.group_id]
        del group[seq.seq_id]
        if not group:
            del self._groups[seq.group_id]
        self._ended.add(seq.seq_id)

    # --- pools and look-ups ----------------------------------------------------------------------

    def _start_pools(self, num_gpu_blocks: int, num_cpu_blocks: int) -> None:
        self._gpu = self._new_pool(Device.GPU, num_gpu_blocks)
        self._cpu = self._new_pool(Device.CPU, num_cpu_blocks)
        if self._window is not None:
            self._gpu.set_aside()
        self._cache = None
        if isinstance(self._gpu, CachingAllocator):
            self._cache = PrefixCache(self._gpu, self._block_size, self._window)

    def _new_pool(self, device: Device, num_blocks: int) -> BlockAllocator:
        if self._caching and device is Device.GPU:
            return CachingAllocator(num_blocks, device.name, self._hash_block)
        return BlockAllocator(num_blocks, device.name)

    def _pool(self, device: Device) -> BlockAllocator:
        return self._gpu if device is Device.GPU else self._cpu

    def _pool_of(self, seq: SequenceState) -> BlockAllocator:
        return self._cpu if seq.status is Status.SWAPPED else self._gpu

    def _group(self, group_id: GroupId) -> dict[SeqId, SequenceState]:
        group = self._groups.get(group_id)
        if group is None:
            raise UnknownGroup(f"group {group_id!r} has no live sequence; allocate it first")
        return group

    def _members_in(self, group_id: GroupId, status: Status) -> list[SequenceState]:
        members = [seq for seq in self._group(group_id).values() if seq.status is status]
        if not members:
            raise WrongStatus(f"group {group_id!r} has no {status.value} sequence, which this works on")
        return members

    # --- argument checks -------------------------------------------------------------------------

    def _require_new_group(self, group_id: GroupId, seq_ids: Sequence[SeqId], prompt: Tokens, lookahead: int) -> int:
        """Check what both `allocate` and its guard are given; returns the number of tokens."""
        self._require_lookahead(lookahead)
        num_tokens = self._length(prompt)
        if num_tokens < 1:
            raise InvalidRequest(f"{num_tokens} tokens for group {group_id!r}; a prompt has 1 or more")
        if not seq_ids:
            raise InvalidRequest(f"group {group_id!r} has no sequence; name 1 or more")
        self._require_unused(seq_ids)
        if group_id in self._groups:
            raise DuplicateGroup(f"group {group_id!r} is live; fork into it, or use another id")
        return num_tokens

    def _length(self, tokens: Tokens) -> int:
        """How many tokens these are; with prefix caching a number is not enough."""
        if isinstance(tokens, int) and self._cache is None:
            return tokens
        return len(self._ids(tokens))

    def _ids(self, tokens: Tokens) -> Sequence[int]:
        if isinstance(tokens, int):
            raise InvalidRequest(f"{tokens} tokens without ids; with prefix caching give the token ids")
        return tokens
