"""The shadow KV memory: what every slot of every block holds, and who owns which block.

Knows contents (interned prefixes), block table rows as last observed, and pending copies and moves. It must not know
laws, guards, or the manager: the kit, not the adapter, owns what is true.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from kvconform.adapter import Seq
from kvconform.cached import Cached
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
        self.rows: dict[int, Row] = {}
        self.owners: dict[Device, dict[int, dict[int, int]]] = {Device.GPU: {}, Device.CPU: {}}  # block: {seq: index}
        self.pending: list[Transfer] = []
        self.swapped: set[int] = set()  # sequences that were swapped since the last step
        self.cached = Cached() if config.prefix_caching else None
        self.now = 0  # operations so far
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
        return len({block for seq in seqs if seq.id in self.rows for block in self.rows[seq.id].blocks})

    def entries(self, seqs: Iterable[Seq]) -> int:
        """Entries in the rows of these sequences."""
        return sum(len(self.rows[seq.id].blocks) for seq in seqs if seq.id in self.rows)

    def reset_index(self) -> None:
        """The prefix index was dropped."""
        if self.cached is not None:
            self.cached.reset()
            self.begun_before_reset = {seq.id for seq in self._seqs.values() if seq.computed}

    def claim(self, seq: Seq, block: int, index: int) -> None:
        """A GPU block was given to a sequence for these slots of its tokens."""
        stop = min((index + 1) * self.block_size, len(seq.prefixes))
        if index * self.block_size < stop:
            self.claims[block] = seq.prefixes[stop - 1]

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
        """Positions (of its computed ones) at which the sequence would read something else than its own prefix."""
        row = self.rows.get(seq.id)
        if row is None or not seq.computed:
            return []
        size, wrong = self.block_size, []
        blocks = row.blocks
        for start in range(0, seq.computed, size):
            stop = min(start + size, seq.computed)
            index = start // size
            found = self.content(row.device, blocks[index]) if index < len(blocks) else []
            if found[: stop - start] != seq.prefixes[start:stop]:
                wrong += [
                    p for p in range(start, stop) if p - start >= len(found) or found[p - start] != seq.prefixes[p]
                ]
        return wrong

    def readers(self, device: Device, block: int) -> list[tuple[Seq, int]]:
        """The live sequences whose rows name the block, each with the entry's index."""
        return [(self._seqs[seq], index) for seq, index in self.owners[device].get(block, {}).items()]

    def _wrong_in(self, seq: Seq, index: int, transfer: Transfer) -> int:
        start = index * self.block_size
        stop = min(start + self.block_size, seq.computed)
        found = self.content(transfer.target_device, transfer.target)
        return sum(found[p - start] != seq.prefixes[p] for p in range(start, stop))

    def write(self, seq: Seq) -> Writing:
        """Write the KV of the sequence's covered, not yet computed positions, and see whose slots that changes."""
        row, size = self.rows[seq.id], self.block_size
        writing = Writing(seq)
        owners = self.owners[row.device]
        writing.sharing = any(len(owners[block]) > 1 for block in row.blocks)
        for position in range(seq.computed, seq.upto):
            index, offset = divmod(position, size)
            if index >= len(row.blocks):
                break  # no slot there: table.covers says so
            block, mine = row.blocks[index], seq.prefixes[position]
            self.content(row.device, block)[offset] = mine
            if len(owners[block]) > 1:
                self._meet_others(writing, row.device, block, offset, mine)
        if self.cached is not None:
            self._complete(self.cached, seq, row)
        seq.computed = seq.upto
        return writing

    def _complete(self, cached: Cached, seq: Seq, row: Row) -> None:
        """Note the blocks whose last slot this sequence has just computed, if it has computed its whole row since the
        index was last reset: a manager may, but need not, publish what comes after KV that was computed before.
        """
        size = self.block_size
        for index in range(seq.computed // size, min(seq.upto // size, len(row.blocks))):
            self.claims.pop(row.blocks[index], None)  # whoever writes there now spoils what was written
            if seq.id in self.begun_before_reset:
                continue
            parent = seq.prefixes[index * size - 1] if index else 0
            cached.computed(row.blocks[index], seq.prefixes[(index + 1) * size - 1], parent, self.now)

    def _meet_others(self, writing: Writing, device: Device, block: int, offset: int, mine: int) -> None:
        for other, index in self.readers(device, block):
            place = index * self.block_size + offset
            if other is writing.seq or place >= other.upto:
                continue
            if other.prefixes[place] == mine:
                continue
            strangers = writing.strangers.setdefault(block, [])
            if other not in strangers:
                strangers.append(other)
            if place < other.computed:
                writing.spoiled.append((block, offset, other))
