"""Long random walks of the guarded face with prefix caching, beside a memory of what each slot was computed from.

The memory knows no index: it remembers for every slot the extra keys and the whole prefix, and for every published
content the block that had it first. Hits must be the longest that these allow, and every computed token of every
sequence that its window still reads must be read back, whatever was forked, copied, swapped, preempted or evicted in
between.
"""

import random
from collections import Counter

import pytest
from kvref_support import dead, longest_hit, require_null_block_is_nobodys

from kvref import NULL, AllocStatus, BlockManager, Device, Status

Prefix = tuple[object, tuple[int, ...]]
EXTRAS = [None, None, "adapter"]


class Engine:
    """Drives a manager as an engine would, and remembers."""

    def __init__(self, manager: BlockManager, rng: random.Random) -> None:
        self.manager, self.rng = manager, rng
        self.memory: dict[tuple[Device, int, int], Prefix] = {}
        self.published: dict[Prefix, int] = {}
        self.texts: dict[int, list[int]] = {}
        self.extras: dict[int, object] = {}
        self.computed: dict[int, int] = {}
        self.told: dict[int, int] = {}
        self.stale: set[int] = set()
        self.next_id = 0
        self.done: Counter[str] = Counter()

    # --- what is remembered ---

    def fresh_id(self) -> int:
        self.next_id += 1
        return self.next_id

    def hits(self, text: list[int], extra: object) -> list[int]:
        hit, gap = longest_hit(
            self.manager.block_size,
            self.manager.sliding_window,
            len(text),
            lambda stop: self.published.get((extra, tuple(text[:stop]))),
        )
        self.done["hit behind a gap"] += gap
        return hit

    def drop(self, blocks: list[int]) -> None:
        """These blocks have lost their content."""
        self.published = {key: block for key, block in self.published.items() if block not in blocks}

    def taken(self, before: tuple[int, ...], hits: list[int]) -> None:
        """What was handed out came in the order announced, hits apart, and its content is gone."""
        after = self.manager.free_blocks(Device.GPU)
        order = [block for block in before if block not in hits]
        assert list(after) == order[len(order) - len(after) :]
        self.drop(order[: len(order) - len(after)])

    def move(self, pairs: list[tuple[int, int]], source: Device, target: Device) -> None:
        for old, new in pairs:
            for offset in range(self.manager.block_size):
                self.memory[target, new, offset] = self.memory.get((source, old, offset), (None, ()))

    def verify(self) -> None:
        manager = self.manager
        cached = manager.cached_blocks()
        unowned = {b for b in self.published.values() if manager.refcount(Device.GPU, b) == 0}
        assert len(cached) == len(unowned)
        assert set(cached) == unowned
        size = manager.block_size
        require_null_block_is_nobodys(manager, manager.free_blocks(Device.GPU))
        for seq_id, text in self.texts.items():
            device = Device.CPU if manager.status(seq_id) is Status.SWAPPED else Device.GPU
            row, extra = manager.block_table(seq_id), self.extras[seq_id]
            for position in range(dead(manager.sliding_window, self.computed[seq_id]), self.computed[seq_id]):
                slot = (device, row[position // size], position % size)
                assert self.memory[slot] == (extra, tuple(text[: position + 1]))

    # --- what an engine does ---

    def begin(self, seq_id: int, cached: int) -> None:
        self.computed[seq_id] = cached
        self.told[seq_id] = cached // self.manager.block_size
        self.done["hit" if cached else "miss"] += 1

    def prompt(self) -> list[int]:
        texts = list(self.texts.values())
        known = self.rng.choice(texts) if texts and self.rng.random() < 0.5 else []
        cut = self.rng.choice([self.rng.randint(0, len(known)), len(known)])
        return known[:cut] + [self.rng.randrange(2) for _ in range(self.rng.randint(1, 7))]

    def admit(self) -> None:
        group, seq_ids = self.fresh_id(), [self.fresh_id() for _ in range(self.rng.choice([1, 1, 2, 3]))]
        text, extra, lookahead = self.prompt(), self.rng.choice(EXTRAS), self.rng.choice([0, 0, 1, 4])
        if not self.manager.can_allocate(group, seq_ids, text, lookahead, extra):
            self.done["refuse"] += 1
            return
        hits, before = self.hits(text, extra), self.manager.free_blocks(Device.GPU)
        cached = self.manager.allocate(group, seq_ids, text, lookahead, extra)
        assert cached == len(hits) * self.manager.block_size
        assert self.manager.num_free(Device.GPU) >= self.manager.watermark_blocks
        self.taken(before, hits)
        for seq_id in seq_ids:
            assert self.manager.block_table(seq_id)[: len(hits)] == hits
            self.texts[seq_id], self.extras[seq_id] = list(text), extra
            self.begin(seq_id, cached)

    def readmit(self, group: int) -> None:
        lookahead = self.rng.choice([0, 2])
        members, answer = self.manager.members(group), self.manager.can_readmit(group, lookahead)
        if answer is AllocStatus.NEVER:
            for seq_id in members:
                self.end(seq_id)
        if not answer:
            return
        hits = {seq_id: self.hits(self.texts[seq_id], self.extras[seq_id]) for seq_id in members}
        before = self.manager.free_blocks(Device.GPU)
        cached = self.manager.readmit(group, lookahead)
        assert cached == [len(hits[seq_id]) * self.manager.block_size for seq_id in members]
        self.taken(before, [block for found in hits.values() for block in found])
        for seq_id, tokens in zip(members, cached, strict=True):
            self.begin(seq_id, tokens)
        self.done["readmit"] += 1

    def produce(self, seq_id: int) -> None:
        if self.manager.status(seq_id) is Status.RUNNING:
            tokens = [self.rng.randrange(2) for _ in range(self.rng.randint(1, 3))]
            self.manager.add_tokens(seq_id, tokens)
            self.texts[seq_id] += tokens

    def step(self, group: int, lookahead: int) -> None:
        """Append every member, copy, write, and say that it is done."""
        members, before = self.manager.members(group), self.manager.free_blocks(Device.GPU)
        pairs = [pair for seq_id in members for pair in self.manager.append(seq_id, lookahead)]
        self.taken(before, [])
        self.move(pairs, Device.GPU, Device.GPU)
        self.done["copy"] += len(pairs)
        for seq_id in members:
            self.write(seq_id)
        for seq_id in members:
            row = self.manager.block_table(seq_id)
            self.manager.computed(seq_id)
            self.publish(seq_id, row)
            gone = dead(self.manager.sliding_window, self.computed[seq_id]) // self.manager.block_size
            assert self.manager.block_table(seq_id) == [NULL] * gone + row[gone:]
        self.done["step"] += 1

    def write(self, seq_id: int) -> None:
        row, text, size = self.manager.block_table(seq_id), self.texts[seq_id], self.manager.block_size
        held = set(self.published.values())
        for position in range(self.computed[seq_id], len(text)):
            block = row[position // size]
            assert block not in held, "a published block is written"
            self.memory[Device.GPU, block, position % size] = (self.extras[seq_id], tuple(text[: position + 1]))
        self.computed[seq_id] = len(text)

    def publish(self, seq_id: int, row: list[int]) -> None:
        size = self.manager.block_size
        while seq_id not in self.stale and (self.told[seq_id] + 1) * size <= self.computed[seq_id]:
            block = row[self.told[seq_id]]
            self.told[seq_id] += 1
            content = (self.extras[seq_id], tuple(self.texts[seq_id][: self.told[seq_id] * size]))
            if block != NULL:
                self.published.setdefault(content, block)

    def try_step(self, group: int) -> None:
        lookahead = self.rng.choice([0, 0, 1, 4])
        if self.manager.can_append(group, lookahead):
            self.step(group, lookahead)

    def fork(self, parent: int) -> None:
        if self.manager.status(parent) is Status.RUNNING and len(self.texts) < 8:
            child, unseen = self.fresh_id(), self.rng.choice([None, 0])
            self.manager.fork(parent, child, unseen)
            self.texts[child] = self.texts[parent][: self.manager.num_tokens(child)]
            for known in (self.extras, self.computed, self.told):
                known[child] = known[parent]  # type: ignore[index]
            if parent in self.stale:
                self.stale.add(child)
            self.done["fork"] += 1

    def swap_out(self, group: int) -> None:
        if self.manager.can_swap_out(group):
            self.move(self.manager.swap_out(group), Device.GPU, Device.CPU)
            for seq_id in self.manager.members(group):
                self.told[seq_id] = 0
            self.done["swap out"] += 1

    def swap_in(self, group: int) -> None:
        lookahead = self.rng.choice([0, 1])
        if self.manager.can_swap_in(group, lookahead):
            before = self.manager.free_blocks(Device.GPU)
            pairs = self.manager.swap_in(group, lookahead)
            self.taken(before, [])
            self.move(pairs, Device.CPU, Device.GPU)
            self.step(group, lookahead)
            assert self.manager.num_free(Device.GPU) >= self.manager.watermark_blocks
            self.done["swap in"] += 1

    def preempt(self, group: int) -> None:
        self.manager.preempt(group)
        for seq_id in self.manager.members(group):
            self.computed[seq_id] = 0
            self.stale.discard(seq_id)
        self.done["preempt"] += 1

    def end(self, seq_id: int) -> None:
        self.manager.free(seq_id)
        del self.texts[seq_id]
        self.stale.discard(seq_id)

    def evict(self) -> None:
        count, cached = self.rng.randint(0, 4), self.manager.cached_blocks()
        assert self.manager.evict(count) == min(count, len(cached))
        self.drop(list(cached[:count]))

    def forget(self) -> None:
        self.manager.reset_index()
        self.published.clear()
        self.stale |= {seq_id for seq_id in self.texts if self.computed[seq_id]}
        self.done["forget"] += 1

    def act(self) -> None:
        kind = self.rng.random()
        if len(self.texts) > 8 or max(map(len, self.texts.values()), default=0) > 40:
            self.end(max(self.texts, key=lambda seq_id: len(self.texts[seq_id])))
        if kind < 0.2 or not self.texts:
            self.admit()
        elif kind < 0.23:
            self.evict()
        elif kind < 0.235:
            self.forget()
        elif kind < 0.5:
            action = self.rng.choice([self.produce, self.produce, self.fork, self.end])
            action(self.rng.choice(list(self.texts)))
        else:
            group = self.manager.group_of(self.rng.choice(list(self.texts)))
            status = self.manager.status(self.manager.members(group)[0])
            if status is Status.RUNNING:
                self.rng.choices([self.try_step, self.swap_out, self.preempt], [8, 1, 1])[0](group)
            else:
                {Status.SWAPPED: self.swap_in, Status.WAITING: self.readmit}[status](group)


def walk(seed: int, steps: int, *, audit: int, collide: bool = False, window: int | None = None) -> Engine:
    """So many steps of a random configuration; `audit`: every how many the books are checked."""
    rng = random.Random(seed)
    manager = BlockManager(
        block_size=rng.choice([1, 2, 3]),
        num_gpu_blocks=rng.randint(12, 20),
        num_cpu_blocks=rng.randint(6, 12),
        watermark_blocks=rng.choice([0, 1, 2]),
        prefix_caching=True,
        sliding_window=window,
        hash_block=(lambda *_: 0) if collide else None,
    )
    engine = Engine(manager, rng)
    for step in range(steps):
        engine.act()
        engine.verify()
        if step % audit == 0:
            manager.check()
    return engine


@pytest.mark.parametrize("seed", range(4))
def test_the_books_are_right_after_each_step(seed: int) -> None:
    engine = walk(seed, 3_000, audit=1)
    kinds = ["hit", "miss", "refuse", "step", "fork", "swap out", "swap in", "preempt", "readmit", "forget"]
    assert [kind for kind in kinds if engine.done[kind] < 3] == []
    assert (engine.done["copy"] > 0) == (engine.manager.block_size > 1)


@pytest.mark.parametrize(("seed", "window"), [(1, 1), (0, 2), (2, 3), (1, 4), (4, 6)])
def test_the_books_are_right_after_each_step_under_a_window(seed: int, window: int) -> None:
    engine = walk(seed, 2_000, audit=1, window=window)
    kinds = ["hit", "hit behind a gap", "miss", "refuse", "step", "fork", "swap out", "swap in", "preempt", "readmit"]
    assert [kind for kind in kinds if engine.done[kind] < 3] == []
    end(engine)


@pytest.mark.parametrize("seed", range(4, 8))
def test_every_token_is_read_back_and_every_hit_is_the_longest(seed: int) -> None:
    end(walk(seed, 30_000, audit=50))


def end(engine: Engine) -> None:
    """All end, and nothing is left."""
    for seq_id in list(engine.texts):
        engine.end(seq_id)
    manager = engine.manager
    manager.check()
    assert manager.num_free(Device.GPU) == manager.num_total(Device.GPU) - (manager.sliding_window is not None)
    assert manager.num_free(Device.CPU) == manager.num_total(Device.CPU)
    manager.evict(manager.num_total(Device.GPU))
    assert manager._gpu.index.nodes() == []  # type: ignore[attr-defined]


@pytest.mark.parametrize("seed", range(2))
def test_one_hash_for_everything_changes_nothing(seed: int) -> None:
    assert walk(seed, 3_000, audit=10, collide=True).done == walk(seed, 3_000, audit=100).done


def test_one_hash_for_everything_changes_nothing_under_a_window() -> None:
    assert walk(0, 1_000, audit=10, collide=True, window=3).done == walk(0, 1_000, audit=100, window=3).done
