"""A block manager of its own, small and right, with an adapter that offers everything: what the judge is tested on.

Knows: block arithmetic, written here once more on purpose. Must not know: kvref, or how anything is judged.
"""

from __future__ import annotations

from collections.abc import Sequence

from kvconform.adapter import Adapter, Capabilities, Domain, Group, Seq
from kvspec.vocabulary import Config, Device, Status, Verdict

GPU, CPU = Device.GPU, Device.CPU


class Full(Exception):
    """No block left."""


class Twice(Exception):
    """A block was given back that nobody holds."""


class Bad(Exception):
    """A sequence that is not there, or there already, or in another state."""


NULL = -1
"""What stands in a row where a window has left a block behind."""


def blocks(slots: int, size: int) -> int:
    """Blocks for so many slots."""
    return (slots + size - 1) // size


def held(row: list[int]) -> list[int]:
    """The row's blocks."""
    return [block for block in row if block != NULL]


class Toy:
    """Rows per sequence over two pools. Every operation counts first and takes then: failing changes nothing."""

    def __init__(self, size: int, totals: dict[Device, int]) -> None:
        self.size, self.totals = size, totals
        self.free = {device: list(range(total)) for device, total in totals.items()}
        self.refs = {device: [0] * total for device, total in totals.items()}
        self.rows: dict[int, list[int]] = {}
        self.where: dict[int, Device] = {}
        self.told: dict[int, list[int]] = {}  # what an engine would know that never reads a row again
        self.index: dict[object, int] = {}  # block by the whole prefix that it ends, where there is prefix caching
        self.keys: dict[int, object] = {}
        self.looked: dict[int, int] = {}  # by sequence, the blocks that were published or need not be
        self.begun: set[int] = set()  # sequences that have computed KV
        self.null: int | None = None  # under a window, the block that is nobody's

    def set_null_aside(self) -> None:
        if self.free[GPU]:
            self.null = self.free[GPU].pop()

    def slide(self, seq: int, dead: int) -> None:
        """The first so many entries of the row are read no more."""
        row = self.rows[seq]
        for index in range(min(dead, len(row))):
            if row[index] != NULL:
                self.give(GPU, row[index])
                row[index] = NULL
        self.told[seq] = list(row)

    def take(self, device: Device, count: int, owners: int = 1) -> list[int]:
        if count > len(self.free[device]):
            raise Full(f"{count} wanted, {len(self.free[device])} free")
        taken = [self.free[device].pop(0) for _ in range(count)]
        for block in taken:
            self.refs[device][block] = owners
            if device is GPU:
                self.evict(block)
        return taken

    def evict(self, block: int) -> None:
        key = self.keys.pop(block, None)
        if key is not None:
            del self.index[key]

    def key(self, extra: object, tokens: Sequence[int]) -> object:
        return extra, tuple(tokens)

    def hits(self, extra: object, tokens: Sequence[int]) -> list[int]:
        """The blocks of the longest run that is cached; at least one token is left out."""
        found: list[int] = []
        for stop in range(self.size, len(tokens), self.size):
            block = self.index.get(self.key(extra, tokens[:stop]))
            if block is None:
                break
            found.append(block)
        return found

    def publish(self, seq: int, extra: object, tokens: Sequence[int]) -> None:
        """All of these tokens are computed now."""
        row = self.rows[seq]
        self.begun.add(seq)
        for index in range(self.looked.get(seq, 0), len(tokens) // self.size):
            key = self.key(extra, tokens[: (index + 1) * self.size])
            if key not in self.index and row[index] not in self.keys:
                self.index[key], self.keys[row[index]] = row[index], key
        self.looked[seq] = max(self.looked.get(seq, 0), len(tokens) // self.size)

    def forget(self) -> None:
        """Nothing computed so far is published, now or later."""
        self.index, self.keys = {}, {}
        self.looked.update(dict.fromkeys(self.begun, 1 << 30))

    def give(self, device: Device, block: int) -> None:
        if not self.refs[device][block]:
            raise Twice(f"block {block}")
        self.refs[device][block] -= 1
        if not self.refs[device][block]:
            self.free[device].append(block)

    def must(self, seq: int, device: Device) -> list[int]:
        if self.where.get(seq) is not device:
            raise Bad(f"sequence {seq} is not on the {device.value}")
        return self.rows[seq]

    def admit(self, seqs: Sequence[int], count: int, hits: Sequence[int] = ()) -> None:
        if any(seq in self.rows for seq in seqs):
            raise Bad(f"one of {list(seqs)} is there already")
        if count - sum(self.refs[GPU][block] > 0 for block in hits) > len(self.free[GPU]):
            raise Full("not with these hits")
        for block in hits:
            if not self.refs[GPU][block]:
                self.free[GPU].remove(block)
            self.refs[GPU][block] += len(seqs)
        row = [*hits, *self.take(GPU, count - len(hits), len(seqs))]
        for seq in seqs:
            self.place(seq, GPU, list(row))
            self.looked[seq] = len(hits)
            (self.begun.add if hits else self.begun.discard)(seq)

    def place(self, seq: int, device: Device, row: list[int]) -> None:
        self.rows[seq], self.where[seq], self.told[seq] = row, device, list(row)

    def written(self, seq: int, upto: int, slots: int) -> list[int]:
        """Entries of the row that hold one of the slots from upto on and are somebody else's as well."""
        row = self.rows[seq]
        touched = range(upto // self.size, min(len(row), blocks(slots, self.size))) if slots > upto else range(0)
        return [i for i in touched if self.refs[self.where[seq]][row[i]] > 1]

    def grows(self, seq: int, slots: int) -> int:
        return max(0, blocks(slots, self.size) - len(self.rows[seq]))

    def extend(self, seq: int, upto: int, slots: int) -> list[tuple[int, int]]:
        row = self.must(seq, GPU)
        shared = self.written(seq, upto, slots)
        fresh = self.take(GPU, len(shared) + self.grows(seq, slots))
        copies = []
        for index in shared:
            old, row[index] = row[index], fresh.pop(0)
            self.give(GPU, old)
            copies.append((old, row[index]))
        row += fresh
        self.told[seq] = list(row)
        return copies

    def fork(self, parent: int, child: int) -> None:
        row = self.must(parent, GPU)
        if child in self.rows:
            raise Bad(f"sequence {child} is there already")
        for block in held(row):
            self.refs[GPU][block] += 1
        self.place(child, GPU, list(row))
        self.looked[child] = self.looked.get(parent, 0)
        self.begun.add(child)

    def move(self, seqs: Sequence[int], source: Device, target: Device) -> dict[int, int]:
        old = list(dict.fromkeys(block for seq in seqs for block in held(self.must(seq, source))))
        new = dict(zip(old, self.take(target, len(old), 0), strict=True))
        for seq in seqs:
            row = self.rows[seq]
            for block in self.given_back(row):
                self.give(source, block)
                self.refs[target][new[block]] += 1
            self.place(seq, target, [new.get(block, NULL) for block in row])
        return new

    def drop(self, seq: int) -> None:
        device = self.where.pop(seq)
        for block in self.given_back(self.rows.pop(seq)):
            self.give(device, block)

    def given_back(self, row: list[int]) -> list[int]:
        """With a cache, what continues a prefix goes before it."""
        return held(row)[::-1] if self.keys else held(row)


class ToyAdapter(Adapter):
    """The toy with all that an adapter can offer."""

    name = "toy"
    capabilities = Capabilities(
        lookahead=True,
        allocate_lookahead="provided",
        groups=True,
        watermark=True,
        outcomes="three",
        failures="atomic",
        prefix_caching=True,
        extra_keys=True,
        window=True,
    )
    domain = Domain(windows_with_caching=False, reason="the toy looks hits up from the first block on")
    out_of_blocks, double_free, bad_input = (Full,), (Twice,), (Bad,)
    make = Toy

    def start(self, config: Config) -> None:
        self.config = config
        self.toy = self.make(config.block_size, {GPU: config.num_gpu_blocks, CPU: config.num_cpu_blocks})
        if config.sliding_window is not None:
            self.toy.set_null_aside()
        self.usable = config.num_gpu_blocks - (self.toy.null is not None)

    def answer(self, device: Device, need: int, attainable: int, reserve: int) -> Verdict:
        if attainable - need < reserve:
            return Verdict.NEVER
        return Verdict.OK if len(self.toy.free[device]) - need >= reserve else Verdict.LATER

    def prompt_blocks(self, group: Group) -> list[int]:
        """Blocks of each row that an admission makes: one for all at first, one each on the way back."""
        each = [blocks(len(seq.tokens) + group.lookahead, self.config.block_size) for seq in group.waiting]
        return each if group.admitted_before else each[:1]

    def growth(self, seqs: Sequence[Seq], lookahead: int) -> int:
        """Blocks that appending to each in turn takes."""
        need, left = 0, {}
        for seq in seqs:
            slots = len(seq.tokens) + lookahead
            need += self.toy.grows(seq.id, slots)
            for index in self.toy.written(seq.id, seq.upto, slots):
                block = self.toy.rows[seq.id][index]
                if self.toy.refs[self.toy.where[seq.id]][block] - left.get(block, 0) > 1:
                    left[block] = left.get(block, 0) + 1
                    need += 1
        return need

    def distinct(self, seqs: Sequence[Seq]) -> int:
        return len({block for seq in seqs for block in held(self.toy.rows.get(seq.id, []))})

    def hits(self, group: Group) -> list[int]:
        return self.toy.hits(group.extra, group.waiting[0].tokens) if self.config.prefix_caching else []

    def can_allocate(self, group: Group) -> Verdict | bool:
        total, watermark = self.usable, self.config.watermark_blocks
        need = sum(self.prompt_blocks(group))
        answer = self.answer(GPU, need, total, watermark)
        if answer is not Verdict.LATER or group.admitted_before:
            return answer
        held = sum(self.toy.refs[GPU][block] > 0 for block in self.hits(group))
        return self.answer(GPU, need - held, total, watermark)

    def allocate(self, group: Group) -> bool | int | dict[int, int] | None:
        size = self.config.block_size
        if not group.admitted_before:
            hits = self.hits(group)
            self.toy.admit([seq.id for seq in group.waiting], self.prompt_blocks(group)[0], hits)
            return len(hits) * size
        if sum(self.prompt_blocks(group)) > len(self.toy.free[GPU]):
            raise Full("not for all of them")
        cached = {}
        for seq, count in zip(group.waiting, self.prompt_blocks(group), strict=True):
            hits = self.toy.hits(group.extra, seq.tokens) if self.config.prefix_caching else []
            self.toy.admit([seq.id], count, hits)
            cached[seq.id] = len(hits) * size
        return cached

    def step(self, batch: Sequence[tuple[Seq, int]]) -> None:
        if self.config.prefix_caching:
            for seq, upto in batch:
                self.toy.publish(seq.id, seq.group.extra, seq.tokens[:upto])
        window = self.config.sliding_window
        if window is not None:
            for seq, upto in batch:
                self.toy.slide(seq.id, max(0, upto - window + 1) // self.config.block_size)

    def evict(self, count: int) -> None:
        unowned = [block for block in self.toy.free[GPU] if block in self.toy.keys]
        for block in unowned[:count]:
            self.toy.evict(block)

    def null_block(self) -> int | None:
        return self.toy.null

    def reset_index(self) -> bool | None:
        self.toy.forget()
        return None

    def can_append(self, group: Group) -> Verdict | bool:
        attainable = self.usable - self.distinct(group.running)
        return self.answer(GPU, self.growth(group.running, group.lookahead), attainable, 0)

    def append(self, seq: Seq) -> list[tuple[int, int]] | bool | None:
        return self.toy.extend(seq.id, seq.upto, len(seq.tokens) + seq.lookahead)

    def can_fork(self, parent: Seq) -> Verdict | bool:
        return Verdict.OK if len(parent.group.running) < 4 else Verdict.LATER

    def fork(self, parent: Seq, child: Seq) -> bool | None:
        self.toy.fork(parent.id, child.id)
        return None

    def can_swap_out(self, group: Group) -> Verdict | bool:
        return self.answer(CPU, self.distinct(group.running), self.config.num_cpu_blocks, 0)

    def swap_out(self, group: Group) -> dict[int, int] | bool | None:
        return self.toy.move([s.id for s in group.running] or [s.id for s in group.seqs], GPU, CPU)

    def can_swap_in(self, group: Group) -> Verdict | bool:
        need = self.distinct(group.swapped) + self.growth(group.swapped, group.lookahead)
        return self.answer(GPU, need, self.usable, self.config.watermark_blocks)

    def swap_in(self, group: Group) -> dict[int, int] | bool | None:
        return self.toy.move([s.id for s in group.swapped] or [s.id for s in group.seqs], CPU, GPU)

    def preempt(self, group: Group) -> None:
        for seq in group.running:
            self.toy.drop(seq.id)

    def free(self, seq: Seq) -> None:
        if seq.id in self.toy.rows:
            self.toy.drop(seq.id)

    def reset_all(self) -> None:
        self.start(self.config)

    def block_table(self, seq: Seq) -> list[int | None]:
        return [None if block == NULL else block for block in self.toy.rows[seq.id]]

    def num_free_blocks(self, device: Device) -> int:
        return len(self.toy.free[device])

    def refcount(self, device: Device, block: int) -> int:
        return self.toy.refs[device][block]

    def free_blocks(self, device: Device) -> list[int]:
        return list(self.toy.free[device])

    def row_device(self, seq: Seq) -> Device:
        return self.toy.where[seq.id]

    def announced_row(self, seq: Seq) -> list[int | None]:
        return [None if block == NULL else block for block in self.toy.told[seq.id]]


class BareAdapter(Adapter):
    """The least that is an adapter: no guard, no swap, nothing shown."""

    def start(self, config: Config) -> None:
        self.size, self.toy = config.block_size, Toy(config.block_size, {GPU: config.num_gpu_blocks, CPU: 0})

    def allocate(self, group: Group) -> bool | None:
        need = blocks(len(group.waiting[0].tokens), self.size)
        return False if need > len(self.toy.free[GPU]) else self.toy.admit([group.waiting[0].id], need)

    def append(self, seq: Seq) -> list[tuple[int, int]] | bool | None:
        try:
            return self.toy.extend(seq.id, seq.upto, len(seq.tokens))
        except Full:
            return False

    def free(self, seq: Seq) -> None:
        if seq.status is not Status.ENDED and seq.id in self.toy.rows:
            self.toy.drop(seq.id)

    def block_table(self, seq: Seq) -> list[int]:
        return self.toy.rows[seq.id]

    def num_free_blocks(self, device: Device) -> int:
        return len(self.toy.free[device])
