"""Gathers the cases of the prefix laws: what admissions took over, and which cached blocks were handed out.

Knows what the ledger says may be in an index. What it tells the ledger afterwards is what became of these blocks.
"""

from __future__ import annotations

from collections.abc import Iterator

from kvconform.adapter import Group, Seq
from kvconform.cached import Cached
from kvconform.judge.bench import WHOLE_POOL, Bench, Expected, RowChange, Transition
from kvconform.ledger import GARBAGE
from kvconform.rows import NULL
from kvspec.algebra import INTS
from kvspec.arithmetic import blocks_for
from kvspec.vocabulary import Allocate, Capability, Device, Fork, Result


class Prefix:
    """Judges hits, and evictions."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.layout = bench.layout
        self.size = bench.config.block_size

    # -- before ----------------------------------------------------------------------------------------------

    def expect(self, group: Group) -> Expected | None:
        """What an admission of this group should find now; None where its sequences differ, or there is no cache."""
        cached = self.bench.ledger.cached
        first, *others = group.waiting
        if cached is None or any(seq.prefixes != first.prefixes for seq in others):
            return None
        ends = self._ends(first)
        if not self.layout.plain:
            return Expected(self._longest(cached, ends), 0, 0)
        run = cached.run(ends)
        usable = min(run, (len(first.tokens) - 1) // self.size)
        owned = self.bench.ledger.owners[Device.GPU]
        known = [cached.blocks[end] for end in ends[:usable]]
        held = sum(not blocks.isdisjoint(owned) for blocks in known)
        return Expected(run, held, usable - held)

    def _ends(self, seq: Seq) -> list[int]:
        """The prefixes that the whole blocks of a sequence's tokens end."""
        return seq.prefixes[self.size - 1 :: self.size]

    def _longest(self, cached: Cached, ends: list[int]) -> int:
        """The most whole blocks that can be taken over: of a group of layers that reads everything all must be there,
        of one that reads a window only those that the next token reads, the last one at least.
        """
        content, count = self.layout.content, len(ends)
        for lane in self.layout.full_lanes():
            count = min(count, cached.run([content(end, lane) for end in ends[:count]]))
        while count:
            first = min(count - 1, self.layout.dead(count * self.size) // self.size)
            read = ends[first:count]
            if all(cached.knows(content(end, lane)) for lane in self.layout.sliding_lanes() for end in read):
                break
            count -= 1
        return count

    def counted(self, t: Transition) -> None:
        """Whether an approved admission counted its cached hits once. Judged before the rows are read again."""
        expected, group = t.expected, t.group
        if expected is None or group is None or not self.layout.plain:
            return
        seq = group.waiting[0] if group.waiting else group.seqs[0]
        blocks = blocks_for(INTS, seq.upto or len(seq.tokens), self.size)  # a chunk takes no more than it covers
        free = t.counts_before.get(Device.GPU, 0)
        law, approved = "admission.hits-counted-once", t.outcome.approved
        if self.bench.has(Capability.RECLAIMABLE):
            free += expected.cached  # these are not among the free ones, and are there all the same
        if not self.bench.holds(law, approved, free, blocks, expected.held, expected.cached):
            what = f"{t.op.op} was approved, counting {expected.cached} cached blocks as hits and as free"
            wanted = f"a refusal: {blocks - expected.held} blocks are not held by anybody yet, {free} are free"
            self.bench.report(law, (what, wanted, "OK"))

    # -- after -----------------------------------------------------------------------------------------------

    def judge(self, t: Transition) -> None:
        """Judge one operation, and tell the ledger what became of cached blocks. The rows are known already."""
        cached = self.bench.ledger.cached
        if cached is None:
            return
        now = self.bench.ledger.clock.now
        if isinstance(t.op, Allocate) and t.outcome.result is Result.OK:
            self._hits(t, cached)
        self._evictions(t, cached, list(self._handed_out(t)))
        owned = self.bench.ledger.owners[Device.GPU]
        for change in t.changes:
            before = change.before
            if before is not None and before.device is Device.GPU:
                cached.released([block for block in before.blocks if block not in owned], now)
        for seq in t.outcome.moved:
            row = self.bench.ledger.rows.get(seq.id)
            if row is not None and row.device is Device.GPU:
                cached.touch(row.blocks, now)

    def _hits(self, t: Transition, cached: Cached) -> None:
        expected = t.expected
        for seq in t.outcome.moved:
            taken = t.outcome.cached.get(seq.id, 0)
            if taken:
                self._hit(seq, taken, cached)
            if expected is not None:
                self._found(seq, taken, expected.run * self.size)
                break  # the others share its row

    def _hit(self, seq: Seq, taken: int, cached: Cached) -> None:
        bench, layout, row = self.bench, self.layout, self.bench.ledger.rows[seq.id]
        strange, unwritten, stale = set[int](), set[int](), list[int]()
        for index in range(layout.length(taken)):
            block = row.blocks[index] if index < len(row.blocks) else NULL
            start = layout.start(index)
            stop = min(start + self.size, taken)
            held = bench.ledger.content(row.device, block) if block != NULL else [GARBAGE] * self.size
            for position in range(max(start, layout.live(index, seq.computed)), stop):
                found, wanted = held[position - start], layout.content(seq.prefixes[position], index)
                if found != wanted and not self._promised(seq, block, index, position):
                    (unwritten if found == GARBAGE or self._left(block, index, seq) else strange).add(position)
            whole = block != NULL and stop == start + self.size
            if whole and layout.content(seq.prefixes[stop - 1], index) in cached.stale:
                stale += [] if self._promised(seq, block, index, stop - 1) else [stop - 1]
        for law, numbers, where, what in (
            (
                "prefix.hit-exact",
                (taken, len(strange)),
                strange,
                f"KV of another prefix at positions {sorted(strange)[:8]}",
            ),
            (
                "prefix.hit-computed",
                (taken, 0, len(unwritten)),
                unwritten,
                f"KV never written at positions {sorted(unwritten)[:8]}",
            ),
            (
                "prefix.reset",
                (taken, 0, 0, len(stale)),
                stale,
                f"{len(stale)} blocks computed before the index was reset",
            ),
        ):
            if not bench.holds(law, *numbers):
                told = f"sequence {seq.id} took {taken} tokens over from the prefix cache that it must not"
                blocks = bench.ledger.holding(seq, sorted(where))
                bench.report(law, (told, "the computed KV of just this prefix", what), blocks=blocks)

    def _promised(self, seq: Seq, block: int, index: int, position: int) -> bool:
        """Whether a sequence that runs in the next step writes just this there."""
        layout = self.layout
        for other, there in self.bench.ledger.readers(Device.GPU, block):
            place = layout.start(there) + position % self.size
            if other is not seq and other.scheduled and other.computed <= place < other.upto:
                theirs = layout.content(other.prefixes[place], there)
                return theirs == layout.content(seq.prefixes[position], index)
        return False

    def _left(self, block: int, index: int, seq: Seq) -> bool:
        """Whether the block was last given to somebody who was to write just this, and did not."""
        stop = min(self.layout.start(index) + self.size, len(seq.prefixes))
        return self.bench.ledger.claims.get(block) == self.layout.content(seq.prefixes[stop - 1], index)

    def _found(self, seq: Seq, taken: int, known: int) -> None:
        bench, tokens = self.bench, len(seq.tokens)
        if not bench.holds("prefix.leave-one", tokens, taken, known):
            what = f"sequence {seq.id} was admitted with nothing left to compute"
            bench.report("prefix.leave-one", (what, f"at most {tokens - 1} of {tokens} tokens taken over", f"{taken}"))
        if not bench.holds("prefix.hit-maximal", tokens, taken, known):
            what = f"sequence {seq.id} was admitted with fewer cached tokens than there are"
            bench.report("prefix.hit-maximal", (what, f"{known} of {tokens} tokens", f"{taken}"))

    def _handed_out(self, t: Transition) -> Iterator[tuple[RowChange, int, int]]:
        """GPU blocks that a row names newly, but for those that are shared by a hit, by a fork or with the group."""
        seen, fresh = set[int](), {change.seq.id for change in t.changes}
        parent = self.bench.ledger.rows.get(t.op.parent) if isinstance(t.op, Fork) else None
        shared = set(parent.blocks) if parent is not None else set[int]()
        for change in t.changes:
            if change.after is None or change.after.device is not Device.GPU:
                continue
            taken = t.outcome.cached.get(change.seq.id, 0)
            for index, block in change.fresh:
                if self.layout.start(index) < taken or block in shared or block in seen:
                    continue
                if self.bench.ledger.alike(change.seq, Device.GPU, block, index, fresh):
                    continue  # shared with somebody who reads the same there, which is no reuse
                seen.add(block)
                self.bench.ledger.claim(change.seq, block, index)
                yield change, index, block

    def _evictions(self, t: Transition, cached: Cached, out: list[tuple[RowChange, int, int]]) -> None:
        for change, index, _ in out:
            stop = self.layout.start(index) + self.size
            if stop <= change.seq.computed:
                cached.doubtful.add(self.layout.content(change.seq.prefixes[stop - 1], index))
        gone = []
        for change, index, block in out:
            end = cached.ends.get(block)
            if end is None:
                continue
            if end == self.bench.ledger.wanted(change.seq, index):
                cached.handed_out(block)  # a hit that was not counted, or a reuse for the same: both are right
            else:
                gone.append((change, block, end))
        if not gone:
            return
        fresh = {change.seq.id for change in t.changes}
        kept = self._kept(cached, {block for _, block, _ in gone})
        # Of several blocks with one content a manager may have forgotten all but one: that one alone is evicted.
        uses = {block: cached.uses[block] for _, block, _ in gone if cached.alone(block)}
        for _, block, _ in gone:
            cached.handed_out(block)
        for _, block, end in gone:
            readers = self.bench.ledger.readers(Device.GPU, block)
            owners = sum(other.id not in fresh for other, _ in readers)
            use = uses.get(block)
            left = [b for b in kept if b in cached.ends] if use is not None else []
            older = [b for b in left if use is not None and cached.uses[b].older(use)]
            children = [b for b in left if cached.parents[cached.ends[b]] == end and end not in cached.blocks]
            # A block that was used after its prefix, by somebody with a prefix block of his own, may be left behind.
            orphans = [b for b in children if use is not None and not use.before(cached.uses[b])]
            self._reuse(t, block, owners, older, orphans)

    def _kept(self, cached: Cached, gone: set[int]) -> list[int]:
        """Cached blocks that nobody owns, left alone; none in large pools, where looking costs too much."""
        if self.bench.config.num_gpu_blocks > WHOLE_POOL:
            return []
        owned = self.bench.ledger.owners[Device.GPU]
        return [b for b in cached.ends if b not in owned and b not in gone and cached.alone(b)]

    def _reuse(self, t: Transition, block: int, owners: int, older: list[int], orphans: list[int]) -> None:
        for law, numbers, told, wanted in (
            ("prefix.evict-unreferenced", (owners,), f"{owners} sequences own it", "no owner"),
            ("prefix.lru", (0, len(older)), f"blocks {older[:8]} are older", "the least recently used first"),
            (
                "prefix.descendants-first",
                (0, 0, len(orphans)),
                f"blocks {orphans[:8]} continue its prefix",
                "no cached block left behind that continues its prefix",
            ),
        ):
            if not self.bench.holds(law, *numbers):
                what = f"{t.op.op} handed out cached block {block}"
                self.bench.report(law, (what, wanted, told), blocks=((Device.GPU, block),))
