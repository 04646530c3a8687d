"""Long random walks of the face that tries beside a naive model that predicts every block and every answer.

The model is lists and dictionaries searched from end to end: no index, no hashes, no nodes. It also plays the
GPU: each slot remembers the extra keys and the whole prefix that its KV was computed from.
"""

import random
from collections import Counter
from collections.abc import Callable

import pytest
from kvref_support import dead, longest_hit, request_snapshot, require_null_block_is_nobodys

from kvref import NULL, RequestManager, Status

Prefix = tuple[object, tuple[int, ...]]
EXTRAS = [None, None, "adapter"]


class Naive:
    """What the manager must do, written as it is said."""

    def __init__(self, size: int, blocks: int, watermark: int, window: int | None, caching: bool) -> None:
        self.size, self.watermark, self.window, self.caching = size, watermark, window, caching
        self.blank = list(range(window is not None, blocks))  # the next one to be handed out first
        self.cached: list[int] = []  # the next one to be evicted first
        self.published: dict[int, Prefix] = {}
        self.memory: dict[tuple[int, int], Prefix] = {}
        self.texts: dict[int, list[int]] = {}
        self.extras: dict[int, object] = {}
        self.rows: dict[int, list[int]] = {}  # of running requests
        self.seen: dict[int, int] = {}
        self.computed: dict[int, int] = {}
        self.told: dict[int, int] = {}  # whole blocks that were hits or could be published
        self.stale: set[int] = set()

    def hits(self, text: list[int], extra: object) -> list[int]:
        def holder(stop: int) -> int | None:
            holders = [block for block, held in self.published.items() if held == (extra, tuple(text[:stop]))]
            assert len(holders) <= 1
            return holders[0] if holders else None

        return longest_hit(self.size, self.window, len(text), holder)[0]

    def take(self) -> int:
        if self.blank:
            return self.blank.pop(0)
        block = self.cached.pop(0)
        del self.published[block]
        return block

    def begin(self, request: int, text: list[int], extra: object, upto: int, lookahead: int) -> int | None:
        hits = self.hits(text, extra)
        need = -(-(upto + lookahead) // self.size)
        revived = [block for block in hits if block in self.cached]
        if len(self.blank) + len(self.cached) - (need - len(hits) + len(revived)) < self.watermark:
            return None
        self.cached = [block for block in self.cached if block not in hits]
        self.rows[request] = hits + [self.take() for _ in range(need - len(hits))]
        self.texts[request], self.extras[request] = list(text), extra
        self.seen[request] = upto
        self.computed[request] = len(hits) * self.size
        self.told[request] = len(hits)
        self.require_live(request)
        return len(hits) * self.size

    def require_live(self, request: int) -> None:
        """The slot of each token that is computed and still read holds the KV of exactly its prefix."""
        for position in range(dead(self.window, self.computed[request]), self.computed[request]):
            block = self.rows[request][position // self.size]
            expected = (self.extras[request], tuple(self.texts[request][: position + 1]))
            assert self.memory[block, position % self.size] == expected

    def extend(self, request: int, tokens: list[int], upto: int, lookahead: int) -> bool:
        self.texts[request] += tokens
        growth = -(-(upto + lookahead) // self.size) - len(self.rows[request])
        if growth > len(self.blank) + len(self.cached):
            return False
        self.rows[request] += [self.take() for _ in range(growth)]
        self.seen[request] = upto
        return True

    def run(self, request: int) -> None:
        text, extra, row = self.texts[request], self.extras[request], self.rows[request]
        for position in range(self.computed[request], self.seen[request]):
            block = row[position // self.size]
            assert block not in self.published, "a published block is written"
            self.memory[block, position % self.size] = (extra, tuple(text[: position + 1]))
        self.computed[request] = self.seen[request]
        self.publish(request, text, extra, row)
        gone = dead(self.window, self.computed[request]) // self.size
        self.rows[request] = [NULL] * gone + row[gone:]
        self.leave(row[:gone])

    def publish(self, request: int, text: list[int], extra: object, row: list[int]) -> None:
        while self.caching and request not in self.stale and (self.told[request] + 1) * self.size <= self.seen[request]:
            block = row[self.told[request]]
            self.told[request] += 1
            content = (extra, tuple(text[: self.told[request] * self.size]))
            if content not in self.published.values():
                self.published[block] = content

    def release(self, request: int) -> None:
        self.leave(self.rows.pop(request))
        self.stale.discard(request)

    def leave(self, blocks: list[int]) -> None:
        for block in reversed(blocks):
            if block == NULL or any(block in other for other in self.rows.values()):
                continue
            if block in self.published:
                self.cached.append(block)
            else:
                self.blank.insert(0, block)

    def evict(self, count: int) -> int:
        gone, self.cached = self.cached[:count], self.cached[count:]
        for block in gone:
            del self.published[block]
        self.blank = gone + self.blank
        return len(gone)

    def forget(self) -> None:
        self.evict(len(self.cached))
        self.published.clear()
        self.stale |= {request for request in self.rows if self.computed[request]}


class Walk:
    """Does the same to both."""

    def __init__(self, manager: RequestManager, naive: Naive, rng: random.Random) -> None:
        self.manager, self.naive, self.rng = manager, naive, rng
        self.done: Counter[str] = Counter()
        self.next_id = 0

    def some_text(self, least: int, most: int) -> list[int]:
        return [self.rng.randrange(2) for _ in range(self.rng.randint(least, most))]

    def prompt(self) -> list[int]:
        """Often what somebody has already, up to somewhere."""
        texts = list(self.naive.texts.values())
        known = self.rng.choice(texts) if texts and self.rng.random() < 0.5 else []
        cut = self.rng.choice([self.rng.randint(0, len(known)), len(known)])
        return known[:cut] + self.some_text(1, 9)

    def begin(self, request: int, text: list[int], extra: object, call: Callable[[int, int], int | None]) -> None:
        least = self.manager.match(text, extra) + 1
        assert least == len(self.naive.hits(text, extra)) * self.naive.size + 1
        upto = self.rng.randint(least, len(text)) if self.rng.random() < 0.4 else len(text)
        lookahead = self.rng.choice([0, 0, 1, 5])
        before = None if self.rng.random() < 0.9 else request_snapshot(self.manager)
        answer = call(upto, lookahead)
        assert answer == self.naive.begin(request, text, extra, upto, lookahead)
        if answer is None:
            assert before is None or request_snapshot(self.manager) == before
        self.done["refuse" if answer is None else "hit" if answer else "miss"] += 1

    def admit(self) -> None:
        self.next_id += 1
        text, extra = self.prompt(), self.rng.choice(EXTRAS)
        request = self.next_id
        self.begin(request, text, extra, lambda upto, ahead: self.manager.admit(request, text, upto, ahead, extra))

    def readmit(self, request: int) -> None:
        text, extra = self.naive.texts[request], self.naive.extras[request]
        self.begin(request, text, extra, lambda upto, ahead: self.manager.readmit(request, upto, ahead))

    def extend(self, request: int) -> None:
        tokens = self.some_text(0, 3)
        least, most = self.naive.seen[request], len(self.naive.texts[request]) + len(tokens)
        upto, lookahead = self.rng.choice([most, self.rng.randint(least, most)]), self.rng.choice([0, 0, 3])
        answer = self.manager.extend(request, tokens, upto, lookahead)
        assert answer == self.naive.extend(request, tokens, upto, lookahead)
        self.done["extend" if answer else "refuse to extend"] += 1

    def run(self, request: int) -> None:
        self.manager.computed(request)
        self.naive.run(request)

    def preempt(self, request: int) -> None:
        self.manager.preempt(request)
        self.naive.release(request)

    def free(self, request: int) -> None:
        self.manager.free(request)
        if request in self.naive.rows:
            self.naive.release(request)
        del self.naive.texts[request]

    def act(self) -> None:
        kind = self.rng.random()
        running = list(self.naive.rows)
        waiting = [request for request in self.naive.texts if request not in self.naive.rows]
        if kind < 0.2 or not self.naive.texts:
            self.admit()
        elif kind < 0.23:
            count = self.rng.randint(0, 4)
            assert self.manager.evict(count) == self.naive.evict(count)
        elif kind < 0.234:
            self.manager.reset_index()
            self.naive.forget()
            self.done["forget"] += 1
        elif kind < 0.35:
            self.free(self.rng.choice(list(self.naive.texts)))
        elif kind < 0.45 and waiting:
            self.readmit(self.rng.choice(waiting))
        elif running:
            action = self.rng.choices([self.run, self.extend, self.preempt], [5, 5, 1])[0]
            action(self.rng.choice(running))

    def compare(self) -> None:
        naive, manager = self.naive, self.manager
        assert manager.free_blocks() == (*naive.blank, *naive.cached)
        assert manager.cached_blocks() == tuple(naive.cached)
        require_null_block_is_nobodys(manager, manager.free_blocks())
        for request, text in naive.texts.items():
            assert manager.block_table(request) == naive.rows.get(request, [])
            seen = naive.seen[request] if request in naive.rows else 0
            assert manager.unseen(request) == len(text) - seen
            assert (manager.status(request) is Status.RUNNING) == (request in naive.rows)
            if request in naive.rows:
                naive.require_live(request)


def walk(
    seed: int, steps: int, *, audit: int, collide: bool = False, window: int | None = None, caching: bool = True
) -> Walk:
    """So many steps of a random configuration; `audit`: every how many the books are checked."""
    rng = random.Random(seed)
    size, blocks, watermark = rng.choice([1, 2, 3]), rng.randint(8, 14), rng.choice([0, 1, 2])
    hash_block = (lambda *_: 0) if collide else None
    manager = RequestManager(size, blocks, watermark, caching, window, hash_block)
    course = Walk(manager, Naive(size, blocks, watermark, window, caching), rng)
    for step in range(steps):
        course.act()
        course.compare()
        if step % audit == 0:
            manager.check()
    return course


@pytest.mark.parametrize("seed", range(4))
def test_every_block_and_answer_as_predicted_and_the_books_right_after_each_step(seed: int) -> None:
    course = walk(seed, 4_000, audit=1)
    kinds = ["refuse", "hit", "miss", "extend", "refuse to extend", "forget"]
    assert [kind for kind in kinds if course.done[kind] < 5] == []


@pytest.mark.parametrize("caching", [True, False])
@pytest.mark.parametrize(("seed", "window"), [*enumerate([1, 2, 3, 4, 6])])
def test_the_same_under_a_window(seed: int, window: int, caching: bool) -> None:
    course = walk(seed, 2_000, audit=1, window=window, caching=caching)
    kinds = ["refuse", "miss", "extend", "refuse to extend", *["hit"] * caching]
    assert [kind for kind in kinds if course.done[kind] < 5] == []
    end(course)


@pytest.mark.parametrize("seed", range(4, 8))
def test_the_same_for_longer(seed: int) -> None:
    end(walk(seed, 50_000, audit=50))


def end(course: Walk) -> None:
    """All end, and nothing is left."""
    for request in list(course.naive.texts):
        course.free(request)
    course.manager.check()
    assert course.manager.num_free() == course.manager.num_total() - (course.manager.sliding_window is not None)
    course.manager.evict(course.manager.num_total())
    assert course.manager._gpu.index.nodes() == []


@pytest.mark.parametrize("seed", range(2))
def test_one_hash_for_everything_changes_nothing(seed: int) -> None:
    assert walk(seed, 4_000, audit=10, collide=True).done == walk(seed, 4_000, audit=100).done
