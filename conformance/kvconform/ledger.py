"""The shadow KV memory: what every slot of every block holds, and who owns which block.

Knows contents (interned prefixes), block table rows as last observed, and pending copies and moves. It must not know
laws, guards, or the manager: the kit, not the adapter, owns what is true.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass, field

from kvconform.adapter import Seq
from kvconform.cached import Cached
from kvconform.clock import Clock
from kvconform.rows import NULL, Layout
from kvspec.vocabulary import Config, Device, Status

GARBAGE = 0


@dataclass(frozen=True)
class Transfer:
    """One block's content on its way. copy: a copy-on-write on the GPU; else one block of a swap."""

    source_device: Device
    source: int
    target_device: Device
    target: int
    copy: bool


@dataclass
class Row:
    """One sequence's block table as last observed, with the device it lies on."""

    device: Device
    blocks: list[int]


@dataclass(frozen=True)
class Arrival:
    """What one sequence finds after copies and moves took effect: readable slots with a wrong content."""

    seq: Seq
    copy: bool
    wrong: int


@dataclass
class Writing:
    """What one sequence's part of a step did. sharing: another live sequence shares a block with it. spoiled: slots
    (block, offset) of a reader that changed. strangers: by block written to, those who must read something else there.
    """

    seq: Seq
    sharing: bool = False
    spoiled: list[tuple[int, int, Seq]] = field(default_factory=list)
    strangers: dict[int, list[Seq]] = field(default_factory=dict)


def home(seq: Seq) -> Device:
    """The device on which a sequence's row must lie."""
    return Device.CPU if seq.status is Status.SWAPPED else Device.GPU


class Ledger:
    """Contents and ownership for one run."""

    def __init__(self, config: Config) -> None:
        self.block_size = config.block_size
        self.layout = Layout(config)
        self.rows: dict[int, Row] = {}
        self.owners: dict[Device, dict[int, dict[int, int]]] = {Device.GPU: {}, Device.CPU: {}}  # block: {seq: index}
        self.pending: list[Transfer] = []
        self.swapped: set[int] = set()  # sequences that were swapped since the last step
        self.cached = Cached() if config.prefix_caching else None
        self.clock = Clock(config.passes_per_tick)
        self.begun_before_reset: set[int] = set()  # sequences some of whose KV was computed before the index was reset
        self.claims: dict[int, int] = {}  # the prefix that a GPU block was last given out for
        self._contents: dict[tuple[Device, int], list[int]] = {}
        self._seqs: dict[int, Seq] = {}

    # -- ownership -------------------------------------------------------------------------------------------

    def held(self, device: Device) -> int:
        """Distinct blocks of the device that live sequences own."""
        return len(self.owners[device])

    def holdings(self) -> dict[Device, int]:
        """The same for each device."""
        return {device: len(owners) for device, owners in self.owners.items()}

    def set_row(self, seq: Seq, device: Device, blocks: list[int]) -> None:
        """The sequence's row is now this one."""
        self.drop_row(seq)
        self.rows[seq.id] = Row(device, blocks)
        self._seqs[seq.id] = seq
        owners = self.owners[device]
        for index, block in enumerate(blocks):
            if block != NULL:
                owners.setdefault(block, {})[seq.id] = index

    def drop_row(self, seq: Seq) -> None:
        """The sequence has no row any more."""
        row = self.rows.pop(seq.id, None)
        if row is None:
            return
        owners = self.owners[row.device]
        for block in row.blocks:
            those = owners.get(block)
            if those is not None:
                those.pop(seq.id, None)
                if not those:
                    del owners[block]
        self._seqs.pop(seq.id, None)

    def distinct(self, seqs: Iterable[Seq]) -> int:
        """Distinct blocks in the rows of these sequences."""
        return len({block for seq in seqs if seq.id in self.rows for block in self.rows[seq.id].blocks} - {NULL})

    def entries(self, seqs: Iterable[Seq]) -> int:
        """Entries in the rows of these sequences that name a block."""
        rows = [self.rows[seq.id].blocks for seq in seqs if seq.id in self.rows]
        return sum(len(row) - row.count(NULL) for row in rows)

    def evicted(self) -> None:
        """Cached blocks that nobody owns were dropped: which and how many of them is the manager's choice."""
        if self.cached is not None:
            owned = self.owners[Device.GPU]
            self.cached.dropped([block for block in self.cached.ends if block not in owned])

    def reset_index(self) -> None:
        """The prefix index was dropped."""
        if self.cached is not None:
            self.cached.reset()
            self.begun_before_reset = {seq.id for seq in self._seqs.values() if seq.computed}

    def claim(self, seq: Seq, block: int, index: int) -> None:
        """A GPU block was given to a sequence for these slots of its tokens."""
        start = self.layout.start(index)
        stop = min(start + self.block_size, len(seq.prefixes))
        if start < stop:
            self.claims[block] = self.layout.content(seq.prefixes[stop - 1], index)

    def holding(self, seq: Seq, positions: Iterable[int]) -> tuple[tuple[Device, int], ...]:
        """The blocks in which the sequence's row has these positions, in each group of layers, with their device."""
        row, groups = self.rows.get(seq.id), self.layout.groups
        if row is None:
            return ()
        first = [position // self.block_size * groups for position in positions]
        entries = dict.fromkeys(index for at in first for index in range(at, at + groups))
        named = [row.blocks[index] for index in entries if index < len(row.blocks)]
        return tuple((row.device, block) for block in named if block != NULL)

    # -- contents --------------------------------------------------------------------------------------------

    def content(self, device: Device, block: int) -> list[int]:
        """What the block's slots hold, as a live list."""
        found = self._contents.get((device, block))
        if found is None:
            found = self._contents[device, block] = [GARBAGE] * self.block_size
        return found

    def execute(self, transfers_first: bool) -> list[Arrival]:
        """Let the pending copies and moves take effect; what those that were to receive something then find."""
        done, self.pending = self.pending, []
        if transfers_first:
            done.sort(key=lambda transfer: transfer.copy)  # stable: each kind stays as issued
        for transfer in done:
            source = self.content(transfer.source_device, transfer.source)
            self._contents[transfer.target_device, transfer.target] = source.copy()
        return self._copied(done) + self._swapped()

    def _copied(self, done: list[Transfer]) -> list[Arrival]:
        return [
            Arrival(seq, True, self._wrong_in(seq, index, transfer))
            for transfer in done
            if transfer.copy
            for seq, index in self.readers(transfer.target_device, transfer.target)
        ]

    def _swapped(self) -> list[Arrival]:
        seqs, self.swapped = [self._seqs[seq] for seq in sorted(self.swapped) if seq in self._seqs], set()
        return [Arrival(seq, False, len(self.wrong_slots(seq))) for seq in seqs if seq.computed]

    def wrong_slots(self, seq: Seq) -> list[int]:
        """Positions, of those computed that it still reads, at which the sequence would read something else than its
        own prefix.
        """
        row = self.rows.get(seq.id)
        if row is None or not seq.computed:
            return []
        layout, size, blocks = self.layout, self.block_size, row.blocks
        wrong = []
        for index in range(layout.first_live(seq.computed), layout.length(seq.computed)):
            start = layout.start(index)
            begin = start if layout.plain else max(start, layout.live(index, seq.computed))
            stop = min(start + size, seq.computed)
            block = blocks[index] if index < len(blocks) else NULL
            found = self.content(row.device, block)[begin - start : stop - start] if block != NULL else []
            mine = layout.contents(seq.prefixes, begin, stop, index)
            if begin < stop and found != mine:
                there = [*found, *[GARBAGE] * (len(mine) - len(found))]
                wrong += [begin + at for at, (one, other) in enumerate(zip(there, mine, strict=True)) if one != other]
        return sorted(set(wrong))

    def readers(self, device: Device, block: int) -> list[tuple[Seq, int]]:
        """The live sequences whose rows name the block, each with the entry's index."""
        return [(self._seqs[seq], index) for seq, index in self.owners[device].get(block, {}).items()]

    def wanted(self, seq: Seq, index: int) -> int:
        """The number of what the entry's last slot is to hold; 0 where its tokens do not fill it."""
        stop = self.layout.start(index) + self.block_size
        return self.layout.content(seq.prefixes[stop - 1], index) if stop <= len(seq.prefixes) else GARBAGE

    def alike(self, seq: Seq, device: Device, block: int, index: int, besides: Container[int] = ()) -> bool:
        """With prefix caching, whether somebody else owns the block, and all who do need the same whole block of KV
        there as this sequence does in this entry of its row. besides: sequences that do not count.
        """
        layout, mine = self.layout, self.wanted(seq, index)
        owners = self.readers(device, block)
        others = [(other, place) for other, place in owners if other is not seq and other.id not in besides]
        if self.cached is None or not others or not mine:
            return False
        for other, place in others:
            end = layout.start(place) + layout.size
            if end > other.upto or layout.content(other.prefixes[end - 1], place) != mine:
                return False
        return True

    def _wrong_in(self, seq: Seq, index: int, transfer: Transfer) -> int:
        start = self.layout.start(index)
        begin = max(start, self.layout.live(index, seq.computed))
        stop = min(start + self.block_size, seq.computed)
        found = self.content(transfer.target_device, transfer.target)
        mine = self.layout.contents(seq.prefixes, begin, stop, index)
        return sum(found[begin - start + at] != number for at, number in enumerate(mine))

    def write(self, seq: Seq) -> Writing:
        """Write the KV of the sequence's covered, not yet computed positions, and see whose slots that changes."""
        row = self.rows[seq.id]
        writing = Writing(seq)
        owners = self.owners[row.device]
        writing.sharing = any(len(owners[block]) > 1 for block in row.blocks if block != NULL)
        self._write(writing, row, seq.computed, seq.upto)
        if self.cached is not None:
            self._complete(self.cached, seq, row)
        seq.computed = seq.noted = seq.upto
        return writing

    def bring(self, seq: Seq, start: int) -> None:
        """Bring the KV of the positions from start on that count as computed into the sequence's blocks."""
        writing, row = Writing(seq), self.rows.get(seq.id)
        if row is not None:
            self._write(writing, row, start, seq.computed)
            if self.cached is not None:
                layout, size = self.layout, self.block_size
                for index in range(start // size * layout.groups, seq.computed // size * layout.groups):
                    self.cached.stale.discard(self.wanted(seq, index))  # it was brought after any reset

    def speculate(self, writing: Writing, accepted: int) -> None:
        """Write the KV of the drafts that the sequence was scheduled with. The first of them have turned out to be its
        next tokens; the others leave garbage in their slots.
        """
        seq = writing.seq
        row = self.rows[seq.id]
        self._write(writing, row, seq.upto, seq.upto + accepted)
        self._write(writing, row, seq.upto + accepted, seq.upto + seq.scheduled_drafts, garbage=True)
        seq.computed = seq.upto + accepted

    def _write(self, writing: Writing, row: Row, start: int, stop: int, *, garbage: bool = False) -> None:
        """Write the positions from start to stop in each group of layers: the sequence's own KV, or garbage."""
        layout, size, prefixes = self.layout, self.block_size, writing.seq.prefixes
        for index in range(start // size * layout.groups, min(layout.length(stop), len(row.blocks))):
            block, base = row.blocks[index], layout.start(index)
            first, last = max(start, base), min(stop, base + size)
            if block == NULL or first >= last:
                continue  # where a slot is missing, table.covers and window.live say so
            mine = [GARBAGE] * (last - first) if garbage else layout.contents(prefixes, first, last, index)
            self.content(row.device, block)[first - base : last - base] = mine
            if len(self.owners[row.device][block]) > 1:
                for offset, number in enumerate(mine, first - base):
                    self._meet_others(writing, row.device, block, offset, number)

    def _complete(self, cached: Cached, seq: Seq, row: Row) -> None:
        """Note the blocks whose last slot this sequence has just computed, if it has computed its whole row since the
        index was last reset: a manager may, but need not, publish what comes after KV that was computed before.
        """
        layout, size = self.layout, self.block_size
        first, stop = seq.noted // size * layout.groups, seq.upto // size * layout.groups
        for index in range(first, min(stop, len(row.blocks))):
            block, start = row.blocks[index], layout.start(index)
            if block == NULL:
                continue
            self.claims.pop(block, None)  # whoever writes there now spoils what was written
            if seq.id in self.begun_before_reset:
                continue
            # Under a window a block is of use without what comes before it, so that nothing is its parent.
            orphan = not start or layout.slides(index)
            parent = 0 if orphan else layout.content(seq.prefixes[start - 1], index)
            cached.computed(block, layout.content(seq.prefixes[start + size - 1], index), parent, self.clock.now)

    def _meet_others(self, writing: Writing, device: Device, block: int, offset: int, mine: int) -> None:
        for other, index in self.readers(device, block):
            place = self.layout.start(index) + offset
            if other is writing.seq or place >= max(other.upto, other.computed):
                continue
            if place < self.layout.live(index, other.computed):
                continue
            if self.layout.content(other.prefixes[place], index) == mine:
                continue
            strangers = writing.strangers.setdefault(block, [])
            if other not in strangers:
                strangers.append(other)
            if place < other.computed:
                writing.spoiled.append((block, offset, other))
