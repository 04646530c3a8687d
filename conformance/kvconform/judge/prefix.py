"""Gathers the cases of the prefix laws: what admissions took over, and which cached blocks were handed out.

Knows what the ledger says may be in an index. What it tells the ledger afterwards is what became of these blocks.
"""

from __future__ import annotations

from collections.abc import Iterator

from kvconform.adapter import Group, Seq
from kvconform.cached import Cached
from kvconform.judge.bench import WHOLE_POOL, Bench, Expected, RowChange, Transition
from kvconform.ledger import GARBAGE
from kvspec.algebra import INTS
from kvspec.arithmetic import blocks_for
from kvspec.vocabulary import Allocate, Device, Fork, Result


class Prefix:
    """Judges hits, and evictions."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.size = bench.config.block_size

    # -- before ----------------------------------------------------------------------------------------------

    def expect(self, group: Group) -> Expected | None:
        """What an admission of this group should find now; None where its sequences differ, or there is no cache."""
        cached = self.bench.ledger.cached
        first, *others = group.waiting
        if cached is None or any(seq.prefixes != first.prefixes for seq in others):
            return None
        ends = self._ends(first)
        run = cached.run(ends)
        usable = min(run, (len(first.tokens) - 1) // self.size)
        owned = self.bench.ledger.owners[Device.GPU]
        known = [cached.blocks[end] for end in ends[:usable]]
        held = sum(not blocks.isdisjoint(owned) for blocks in known)
        return Expected(run, held, usable - held)

    def _ends(self, seq: Seq) -> list[int]:
        """The prefixes that the whole blocks of a sequence's tokens end."""
        return seq.prefixes[self.size - 1 :: self.size]

    def counted(self, t: Transition) -> None:
        """Whether an approved admission counted its cached hits once. Judged before the rows are read again."""
        expected, group = t.expected, t.group
        if expected is None or group is None:
            return
        seq = group.waiting[0] if group.waiting else group.seqs[0]
        blocks = blocks_for(INTS, len(seq.tokens), self.size)
        free = t.counts_before.get(Device.GPU, 0)
        law, approved = "admission.hits-counted-once", t.outcome.approved
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
        now = self.bench.ledger.now
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
        bench, row = self.bench, self.bench.ledger.rows[seq.id]
        strange, unwritten = list[int](), list[int]()
        for position in range(taken):
            index, offset = divmod(position, self.size)
            block = row.blocks[index] if index < len(row.blocks) else -1
            found = bench.ledger.content(row.device, block)[offset]
            if found != seq.prefixes[position] and not self._promised(seq, block, position):
                (unwritten if found == GARBAGE or self._left(block, index, seq) else strange).append(position)
        stale = sum(
            end in cached.stale and not self._promised(seq, row.blocks[index], (index + 1) * self.size - 1)
            for index, end in enumerate(self._ends(seq)[: min(taken // self.size, len(row.blocks))])
        )
        for law, numbers, what in (
            ("prefix.hit-exact", (taken, len(strange)), f"KV of another prefix at positions {strange[:8]}"),
            ("prefix.hit-computed", (taken, 0, len(unwritten)), f"KV never written at positions {unwritten[:8]}"),
            ("prefix.reset", (taken, 0, 0, stale), f"{stale} blocks computed before the index was reset"),
        ):
            if not bench.holds(law, *numbers):
                told = f"sequence {seq.id} took {taken} tokens over from the prefix cache that it must not"
                bench.report(law, (told, "the computed KV of just this prefix", what))

    def _promised(self, seq: Seq, block: int, position: int) -> bool:
        """Whether a sequence that runs in the next step writes just this there."""
        for other, index in self.bench.ledger.readers(Device.GPU, block):
            place = index * self.size + position % self.size
            if other is not seq and other.scheduled and other.computed <= place < other.upto:
                return bool(other.prefixes[place] == seq.prefixes[position])
        return False

    def _left(self, block: int, index: int, seq: Seq) -> bool:
        """Whether the block was last given to somebody who was to write just this, and did not."""
        stop = min((index + 1) * self.size, len(seq.prefixes))
        return self.bench.ledger.claims.get(block) == seq.prefixes[stop - 1]

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
        seen = set[int]()
        parent = self.bench.ledger.rows.get(t.op.parent) if isinstance(t.op, Fork) else None
        shared = set(parent.blocks) if parent is not None else set[int]()
        for change in t.changes:
            if change.after is None or change.after.device is not Device.GPU:
                continue
            taken = t.outcome.cached.get(change.seq.id, 0)
            for index, block in change.fresh:
                if index * self.size < taken or block in shared or block in seen:
                    continue
                seen.add(block)
                self.bench.ledger.claim(change.seq, block, index)
                yield change, index, block

    def _evictions(self, t: Transition, cached: Cached, out: list[tuple[RowChange, int, int]]) -> None:
        for change, index, _ in out:
            if (index + 1) * self.size <= change.seq.computed:
                cached.doubtful.add(change.seq.prefixes[(index + 1) * self.size - 1])
        gone = [(change, block, cached.ends[block]) for change, _, block in out if block in cached.ends]
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
            older = [b for b in left if use is not None and cached.uses[b].before(use)]
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
                self.bench.report(law, (f"{t.op.op} handed out cached block {block}", wanted, told))
