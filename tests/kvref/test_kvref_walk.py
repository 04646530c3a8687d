"""Long random walks with a small KV memory: after every operation the books add up and every sequence
reads back its own tokens, those that its window still reads. Lookahead slots are filled with junk, as rejected
draft tokens would.
"""

import random
from collections import Counter

import pytest
from kvref_support import dead, require_null_block_is_nobodys

from kvref import NULL, AllocStatus, BlockManager, Device, Status

Cell = tuple[Device, int, int]


class Engine:
    """Drives a manager as an engine would and does to its memory what the manager says."""

    def __init__(self, manager: BlockManager, rng: random.Random) -> None:
        self.manager = manager
        self.rng = rng
        self.memory: dict[Cell, int] = {}
        self.texts: dict[int, list[int]] = {}
        self.dead: dict[int, int] = {}
        self.next_id = 0
        self.next_token = 0
        self.done: Counter[str] = Counter()

    def fresh_tokens(self, count: int) -> list[int]:
        first = self.next_token
        self.next_token += count
        return list(range(first, self.next_token))

    def fresh_id(self) -> int:
        self.next_id += 1
        return self.next_id

    def cell(self, seq_id: int, position: int) -> Cell:
        device = Device.CPU if self.manager.status(seq_id) is Status.SWAPPED else Device.GPU
        entry, offset = divmod(position, self.manager.block_size)
        return device, self.manager.block_table(seq_id)[entry], offset

    def write(self, seq_id: int, start: int, stop: int) -> None:
        for position in range(start, stop):
            self.memory[self.cell(seq_id, position)] = self.texts[seq_id][position]

    def move(self, source: tuple[Device, int], target: tuple[Device, int]) -> None:
        for offset in range(self.manager.block_size):
            self.memory[(*target, offset)] = self.memory.get((*source, offset), -1)

    def verify(self) -> None:
        self.manager.check()
        require_null_block_is_nobodys(self.manager, self.manager.free_blocks(Device.GPU))
        for seq_id, text in self.texts.items():
            assert self.manager.num_tokens(seq_id) == len(text)
            for position in range(self.dead[seq_id], len(text) - self.manager.unseen(seq_id)):
                assert self.memory[self.cell(seq_id, position)] == text[position]
            gone = self.manager.block_table(seq_id)[: self.dead[seq_id] // self.manager.block_size]
            assert gone == [NULL] * len(gone)

    def computed(self, seq_ids: list[int]) -> None:
        """Say that a step has run."""
        for seq_id in seq_ids:
            self.manager.computed(seq_id)
            seen = self.manager.num_tokens(seq_id) - self.manager.unseen(seq_id)
            self.dead[seq_id] = dead(self.manager.sliding_window, seen)
            self.done["give up"] += self.dead[seq_id] >= self.manager.block_size

    # --- what an engine does ---

    def groups(self, status: Status) -> list[int]:
        return sorted({self.manager.group_of(s) for s in self.texts if self.manager.status(s) is status}, key=str)

    def admit(self) -> None:
        group, count = self.fresh_id(), self.rng.randint(1, 3)
        seq_ids = [self.fresh_id() for _ in range(count)]
        tokens, lookahead = self.rng.randint(1, 9), self.rng.choice([0, 0, 1, 5])
        if self.manager.can_allocate(group, seq_ids, tokens, lookahead) is not AllocStatus.OK:
            return
        self.manager.allocate(group, seq_ids, tokens, lookahead)
        text = self.fresh_tokens(tokens)
        for seq_id in seq_ids:
            self.texts[seq_id], self.dead[seq_id] = list(text), 0
        self.write(seq_ids[0], 0, tokens)
        self.computed(seq_ids)
        self.done["admit"] += 1

    def produce(self, seq_id: int) -> None:
        if self.manager.status(seq_id) is Status.RUNNING:
            count = self.rng.randint(1, 3)
            self.manager.add_tokens(seq_id, count)
            self.texts[seq_id] += self.fresh_tokens(count)

    def step(self, group: int, lookahead: int) -> None:
        """Append every member, then make all the copies, then write, as one forward pass does."""
        starts = {s: self.manager.num_tokens(s) - self.manager.unseen(s) for s in self.manager.members(group)}
        for source, target in [pair for s in starts for pair in self.manager.append(s, lookahead)]:
            self.move((Device.GPU, source), (Device.GPU, target))
            self.done["copy"] += 1
        for seq_id, start in starts.items():
            end = len(self.texts[seq_id])
            self.write(seq_id, start, end)
            for position in range(end, end + lookahead):
                self.memory[self.cell(seq_id, position)] = -2
        self.computed(list(starts))
        self.done["step"] += 1

    def try_step(self, group: int) -> None:
        lookahead = self.rng.choice([0, 0, 1, 4])
        if self.manager.can_append(group, lookahead) is AllocStatus.OK:
            self.step(group, lookahead)

    def fork(self, parent: int) -> None:
        if self.manager.status(parent) is Status.RUNNING:
            child, unseen = self.fresh_id(), self.rng.choice([None, 0, 2])
            self.manager.fork(parent, child, unseen)
            seen = self.manager.num_tokens(parent) - self.manager.unseen(parent)
            own = self.manager.unseen(child)
            self.texts[child] = self.texts[parent][:seen] + self.fresh_tokens(own)
            self.dead[child] = self.dead[parent]
            self.done["fork"] += 1

    def swap_out(self, group: int) -> None:
        if self.manager.can_swap_out(group) is AllocStatus.OK:
            for source, target in self.manager.swap_out(group):
                self.move((Device.GPU, source), (Device.CPU, target))
            self.done["swap out"] += 1

    def swap_in(self, group: int) -> None:
        lookahead = self.rng.choice([0, 1, 4])
        if self.manager.can_swap_in(group, lookahead) is AllocStatus.OK:
            for source, target in self.manager.swap_in(group, lookahead):
                self.move((Device.CPU, source), (Device.GPU, target))
            self.step(group, lookahead)
            assert self.manager.num_free(Device.GPU) >= self.manager.watermark_blocks
            self.done["swap in"] += 1

    def preempt(self, group: int) -> None:
        self.manager.preempt(group)
        self.dead.update(dict.fromkeys(self.manager.members(group), 0))
        self.done["preempt"] += 1

    def readmit(self, group: int) -> None:
        lookahead = self.rng.choice([0, 2])
        answer = self.manager.can_readmit(group, lookahead)
        if answer is AllocStatus.NEVER:
            for seq_id in self.manager.members(group):
                self.end(seq_id)
        if answer is AllocStatus.OK:
            self.manager.readmit(group, lookahead)
            for seq_id in self.manager.members(group):
                self.write(seq_id, 0, len(self.texts[seq_id]))
            self.verify()
            self.computed(self.manager.members(group))
            assert self.manager.num_free(Device.GPU) >= self.manager.watermark_blocks
            self.done["readmit"] += 1

    def end(self, seq_id: int) -> None:
        self.manager.free(seq_id)
        del self.texts[seq_id]
        self.done["end"] += 1

    def act(self) -> None:
        by_sequence = [self.produce, self.produce, self.fork, self.end]
        by_group = [
            *[(self.try_step, Status.RUNNING)] * 3,
            (self.swap_out, Status.RUNNING),
            *[(self.swap_in, Status.SWAPPED)] * 2,
            (self.preempt, Status.RUNNING),
            *[(self.readmit, Status.WAITING)] * 2,
        ]
        kind = self.rng.random()
        if kind < 0.15 or not self.texts:
            self.admit()
        elif kind < 0.5:
            self.rng.choice(by_sequence)(self.rng.choice(sorted(self.texts)))
        else:
            action, status = self.rng.choice(by_group)
            groups = self.groups(status)
            if groups:
                action(self.rng.choice(groups))


def walk(seed: int, window: int | None) -> Engine:
    """500 steps of a random configuration, then all end."""
    rng = random.Random(seed)
    manager = BlockManager(
        block_size=rng.choice([1, 2, 3, 4]),
        num_gpu_blocks=rng.randint(14, 30),
        num_cpu_blocks=rng.randint(6, 20),
        watermark_blocks=rng.choice([0, 1, 2]),
        sliding_window=window,
    )
    engine = Engine(manager, rng)
    for _ in range(500):
        engine.act()
        engine.verify()
    for seq_id in sorted(engine.texts):
        engine.end(seq_id)
        engine.verify()
    assert manager.num_free(Device.GPU) == manager.num_total(Device.GPU) - (window is not None)
    assert manager.num_free(Device.CPU) == manager.num_total(Device.CPU)
    # Blocks of one slot are never partial, so they alone need no copy.
    assert (engine.done["copy"] > 0) == (manager.block_size > 1)
    return engine


KINDS = ["admit", "step", "fork", "swap out", "swap in", "preempt", "readmit", "end"]


@pytest.mark.parametrize("seed", range(10))
def test_every_sequence_reads_back_its_tokens(seed: int) -> None:
    engine = walk(seed, None)
    assert [kind for kind in KINDS if engine.done[kind] < 2] == []


@pytest.mark.parametrize(("seed", "window"), [*enumerate([1, 2, 3, 4, 5, 8])])
def test_under_a_window_it_reads_back_what_the_window_reads(seed: int, window: int) -> None:
    engine = walk(seed, window)
    assert [kind for kind in [*KINDS, "give up"] if engine.done[kind] < 2] == []


def test_the_same_walk_twice_gives_the_same_rows() -> None:
    def rows() -> list[list[int]]:
        rng = random.Random(5)
        engine = Engine(BlockManager(block_size=2, num_gpu_blocks=20, num_cpu_blocks=10), rng)
        history = []
        for _ in range(300):
            engine.act()
            history += [engine.manager.block_table(seq_id) for seq_id in sorted(engine.texts)]
        return history

    assert rows() == rows()
