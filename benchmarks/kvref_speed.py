"""How fast kvref is beside vLLM's block managers: the same operations, in one run on one machine.

    KVCONFORM_ENGINES=FOLDER python benchmarks/kvref_speed.py

needs `kvconform engines fetch vllm==0.10.2 vllm==0.33.0` before; takes about a minute. Each face of kvref is set
beside the manager of its kind: `BlockManager`, which is asked before each operation, beside the second generation of
0.10.2, and `RequestManager`, which is asked by trying, beside V1's KVCacheManager of 0.33.0. Prints operations a
second, the ratio kvref/vLLM (it should be 1 or more), and what an operation costs in a large pool, compared with a
small one (a large pool should not cost more): medians of five rounds.

A request is admitted, grows token by token, each step declared computed, and ends; some live at a time, and their
prompts come in families that begin alike. With prefix caching there are two tables: in an empty pool, where a small
one soon has to evict and a large one never does, and in a pool that is full of other content before the clock starts,
as in an engine that has run for a while: there each new block evicts another, whatever the size of the pool.

What makes it fair. Managers are driven bare, and take turns within a round. The clock is the processor time of the
thread, so other work on the machine takes less part; what a manager is asked about (stand-ins of sequences and
requests) is made before it starts. `RequestManager` keeps the tokens itself, with V1 the request does, so making that
copy of the prompt and dropping it at the end is on the clock for both. Hashes of blocks are what V1's prefix cache
costs, where kvref compares token ids: they are on the clock as the request would make them, those of the prompt with
its admission, and none without prefix caching. V1 is given a hash that is far cheaper than those it comes with
(Python's own), and a plain list of tokens. The garbage collector runs, but not over what was there before. Reading
the rows is left out for all.

Knows: the managers' calls. Must not know: laws, or the kit beyond how it loads and starts an engine.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias

from kvconform.engines.errors import EngineUnavailable
from kvconform.engines.loader import load
from kvconform.engines.vllm_managers import Generation, find_manager
from kvconform.engines.vllm_standins import Request, RequestStatus, SequenceGroup, SequenceStatus
from kvconform.engines.vllm_standins import Sequence as StandIn
from kvconform.engines.vllm_v1 import VllmV1 as V1Adapter
from kvconform.engines.vllm_v1 import vllm_v1_class
from kvref import BlockManager, RequestManager
from kvspec.vocabulary import Config

ROUNDS = 5
POOLS = (1_000, 100_000)
BLOCK_SIZE = 16
LIVE = 20  # requests at a time
BATCH = 10  # of them come and go together: the clock is read once for each kind of operation of theirs
REQUESTS = 400
SHARED, OWN, APPENDS = 192, 70, 32  # tokens: common to a family of prompts, a prompt's own, generated
FAMILIES = 4
FILLER = 50  # blocks of a request that only fills the pool
KINDS = ("admit", "append", "free", "request")  # the last is the three others of one request, as a whole

Texts: TypeAlias = Sequence[list[int]]


class Player(Protocol):
    """One manager, ready for one run of the workload; each method carries out one operation."""

    def admit(self, request: int) -> None:
        """Let it in, all of its prompt computed."""

    def step(self, request: int, token: int) -> None:
        """One more token, computed."""

    def free(self, request: int) -> None:
        """End it."""


def prompts() -> list[list[int]]:
    """Families of prompts with a common beginning; every prompt has an end of its own."""
    families = [list(range(1000 * family, 1000 * family + SHARED)) for family in range(FAMILIES)]
    return [families[n % FAMILIES] + [n, *range(50_000 + n, 50_000 + n + OWN - 1)] for n in range(REQUESTS)]


def fillers(blocks: int) -> list[list[int]]:
    """Prompts of whole blocks that fill a pool of so many, and that nobody else hits."""
    rest = list(range(FILLER * BLOCK_SIZE - 1))
    return [[1_000_000 + n, *rest] for n in range(-(-blocks // FILLER))]


class KvrefAsked:
    """kvref's `BlockManager`. Without prefix caching it is told numbers of tokens."""

    def __init__(self, blocks: int, caching: bool, texts: Texts) -> None:
        self.manager = BlockManager(block_size=BLOCK_SIZE, num_gpu_blocks=blocks, prefix_caching=caching)
        self.texts: Sequence[Any] = texts if caching else [len(text) for text in texts]
        self.caching = caching

    def admit(self, request: int) -> None:
        """Ask and allocate."""
        assert self.manager.can_allocate(request, [request], self.texts[request])
        self.manager.allocate(request, [request], self.texts[request])
        if self.caching:
            self.manager.computed(request)

    def step(self, request: int, token: int) -> None:
        """Ask and append."""
        manager = self.manager
        manager.add_tokens(request, [token] if self.caching else 1)
        assert manager.can_append(request)
        manager.append(request)
        if self.caching:
            manager.computed(request)

    def free(self, request: int) -> None:
        """End it."""
        self.manager.free(request)


class VllmSecond:
    """vLLM's second generation, called as its scheduler calls it."""

    def __init__(self, blocks: int, caching: bool, texts: Texts) -> None:
        api = find_manager(load("vllm", "0.10.2"), Generation.SECOND)
        self.manager = api.manager(BLOCK_SIZE, blocks, 0, watermark=0.0, enable_caching=caching)
        self.fits = api.alloc_status.OK
        self.seqs = [StandIn(n, text, BLOCK_SIZE) for n, text in enumerate(texts)]
        self.groups = [SequenceGroup(str(seq.seq_id), [seq]) for seq in self.seqs]
        self.caching = caching

    def admit(self, request: int) -> None:
        """Ask and allocate."""
        seq, group = self.seqs[request], self.groups[request]
        self.manager.get_num_cached_tokens(seq)  # asked by the scheduler for each waiting sequence; free relies on it
        assert self.manager.can_allocate(group) == self.fits
        self.manager.allocate(group)
        seq.status = SequenceStatus.RUNNING
        self._computed(group, seq)

    def step(self, request: int, token: int) -> None:
        """Ask and append."""
        seq, group = self.seqs[request], self.groups[request]
        seq.data.tokens.append(token)
        assert self.manager.can_append_slots(group, 0)
        self.manager.append_slots(seq, 0)
        self._computed(group, seq)

    def _computed(self, group: SequenceGroup, seq: StandIn) -> None:
        if self.caching:
            self.manager.mark_blocks_as_computed(group, 1)
        seq.data.set_computed(len(seq.data.tokens))

    def free(self, request: int) -> None:
        """End it."""
        self.manager.free(self.seqs[request])


class KvrefTried:
    """kvref's `RequestManager`, which is given token ids in any case."""

    def __init__(self, blocks: int, caching: bool, texts: Texts) -> None:
        self.manager = RequestManager(BLOCK_SIZE, blocks, prefix_caching=caching)
        self.texts = texts
        self.ids = [str(n) for n in range(len(texts))]  # as V1 has them

    def admit(self, request: int) -> None:
        """Try, and declare computed."""
        assert self.manager.admit(self.ids[request], self.texts[request]) is not None
        self.manager.computed(self.ids[request])

    def step(self, request: int, token: int) -> None:
        """Try, and declare computed."""
        assert self.manager.extend(self.ids[request], (token,))
        self.manager.computed(self.ids[request])

    def free(self, request: int) -> None:
        """End it."""
        self.manager.free(self.ids[request])


class VllmV1:
    """vLLM's V1, called as its scheduler calls it; the requests' own hashing is done here, as they would do it."""

    def __init__(self, blocks: int, caching: bool, texts: Texts) -> None:
        adapter = vllm_v1_class(load("vllm", "0.33.0"), "vllm-v1")()
        assert isinstance(adapter, V1Adapter)
        adapter.start(Config(BLOCK_SIZE, blocks, prefix_caching=caching))
        self.manager = adapter.manager
        self.hashes = type(adapter).hasher(BLOCK_SIZE) if caching else None
        self.texts = texts
        self.requests = [Request(str(n), text) for n, text in enumerate(texts)]
        for request in self.requests:
            request.status = RequestStatus.WAITING

    def admit(self, request: int) -> None:
        """Look hits up, and try."""
        asked, manager = self.requests[request], self.manager
        asked.all_token_ids = list(self.texts[request])
        if self.hashes is not None:
            asked.block_hashes.extend(self.hashes(asked))
        hits, cached, _ = manager.get_computed_blocks(asked)
        fresh = asked.num_tokens - cached
        assert (
            manager.allocate_slots(asked, fresh, num_new_computed_tokens=cached, new_computed_blocks=hits) is not None
        )
        asked.status = RequestStatus.RUNNING
        asked.num_computed_tokens = cached + fresh

    def step(self, request: int, token: int) -> None:
        """Try."""
        asked = self.requests[request]
        asked.all_token_ids.append(token)
        if self.hashes is not None:
            asked.block_hashes.extend(self.hashes(asked))
        assert self.manager.allocate_slots(asked, 1) is not None
        asked.num_computed_tokens += 1

    def free(self, request: int) -> None:
        """End it, and drop its tokens."""
        asked = self.requests[request]
        self.manager.free(asked)
        asked.all_token_ids, asked.block_hashes = [], []


MakePlayer: TypeAlias = Callable[[int, bool, Texts], Player]
Seconds: TypeAlias = dict[str, float]
"""By kind of operation."""


class Scene(NamedTuple):
    """What the managers are started with, and whether the pool is full of others' content when the clock starts."""

    told: str
    caching: bool
    filled: bool


SCENES = (
    Scene("no prefix caching", False, False),
    Scene("prefix caching, pool empty at first", True, False),
    Scene("prefix caching, pool full at first", True, True),
)


class Named(NamedTuple):
    """A manager and what it is called in the tables."""

    name: str
    make: MakePlayer


class Pair(NamedTuple):
    """A face of kvref and the manager that it is compared with."""

    ours: Named
    theirs: Named


PAIRS = (
    Pair(Named("kvref BlockManager", KvrefAsked), Named("vllm-v0-v2@0.10.2", VllmSecond)),
    Pair(Named("kvref RequestManager", KvrefTried), Named("vllm-v1@0.33.0", VllmV1)),
)


def played(make: MakePlayer, blocks: int, scene: Scene) -> Seconds:
    """Seconds for one operation of each kind, in one run on a fresh manager."""
    own, others = prompts(), fillers(blocks) if scene.filled else []
    player = make(blocks, scene.caching, own + others)
    for filler in range(len(own), len(own) + len(others)):
        player.admit(filler)
        player.free(filler)
    gc.collect()
    gc.freeze()
    spent = workload(player)
    gc.unfreeze()
    each = {kind: spent[kind] / REQUESTS for kind in spent}
    return {**each, "append": each["append"] / APPENDS, "request": sum(each.values())}


def workload(player: Player) -> Seconds:
    """Seconds spent in each kind of operation; when a batch comes, the oldest of too many requests go."""
    spent = {"admit": 0.0, "append": 0.0, "free": 0.0}
    for first in range(0, REQUESTS + LIVE, BATCH):
        leaving = range(max(0, first - LIVE), max(0, first - LIVE + BATCH))
        batch = range(first, min(first + BATCH, REQUESTS))
        spent["free"] += took(player.free, [(request,) for request in leaving])
        spent["admit"] += took(player.admit, [(request,) for request in batch])
        spent["append"] += took(player.step, [(request, 90_000 + n) for n in range(APPENDS) for request in batch])
    return spent


def took(operation: Callable[..., None], arguments: Iterable[tuple[int, ...]]) -> float:
    """Seconds for these calls."""
    began = time.thread_time()
    for each in arguments:
        operation(*each)
    return time.thread_time() - began


Rounds: TypeAlias = dict[tuple[str, int], list[Seconds]]
"""What each manager took in pools of each size, by round."""


def measured(pairs: Sequence[Pair], scene: Scene) -> Rounds:
    """Each manager plays once in each pool and round; who is compared plays one after the other, first or second."""
    found: Rounds = {(named.name, blocks): [] for pair in pairs for named in pair for blocks in POOLS}
    for number in range(ROUNDS):
        for pair in pairs:
            for named in pair if number % 2 else reversed(pair):
                for blocks in POOLS:
                    found[named.name, blocks].append(played(named.make, blocks, scene))
    return found


def ratios(costs: Sequence[Seconds], other: Sequence[Seconds]) -> Seconds:
    """How many times the first the second is, by kind: the median of the rounds."""
    rounds = list(zip(costs, other, strict=True))
    return {kind: statistics.median(theirs[kind] / ours[kind] for ours, theirs in rounds) for kind in KINDS}


def rates(costs: Sequence[Seconds]) -> Seconds:
    """Operations a second: the median of the rounds."""
    return {kind: statistics.median(1 / each[kind] for each in costs) for kind in KINDS}


def show(title: str, rows: dict[str, Seconds], shape: str) -> None:
    """Print a table with a column for each kind."""
    print(f"\n{title:<50}" + "".join(f"{kind:>10}" for kind in KINDS))
    for name, row in rows.items():
        print(f"  {name:<48}" + "".join(f"{row[kind]:>10{shape}}" for kind in KINDS), flush=True)


def report(pairs: Sequence[Pair], scene: Scene) -> None:
    """Measure and print what there is to say of one scene."""
    found = measured(pairs, scene)
    print(f"\n=== {scene.told}")
    for blocks in POOLS:
        rows = {named.name: rates(found[named.name, blocks]) for pair in pairs for named in pair}
        show(f"{blocks:,} blocks, operations a second", rows, ",.0f")
        compared = {
            f"{ours.name} / {theirs.name}": ratios(found[ours.name, blocks], found[theirs.name, blocks])
            for ours, theirs in pairs
        }
        show(f"{blocks:,} blocks, kvref / vLLM", compared, ".2f")
    growth = {named.name: ratios(*(found[named.name, blocks] for blocks in POOLS)) for pair in pairs for named in pair}
    show(f"cost at {POOLS[-1]:,} blocks / at {POOLS[0]:,}", growth, ".2f")


def here(pair: Pair) -> bool:
    """Whether the other manager can be loaded; says so if not."""
    try:
        pair.theirs.make(POOLS[0], False, [])
    except EngineUnavailable as missing:
        print(f"{pair.theirs.name}: {missing}")
        return False
    return True


def main() -> None:
    """Print the tables."""
    print(f"{REQUESTS} requests of {SHARED + OWN} tokens, {APPENDS} appends each, {LIVE} at a time; {ROUNDS} rounds")
    pairs = [pair for pair in PAIRS if here(pair)]
    for scene in SCENES:
        report(pairs, scene)


if __name__ == "__main__":
    main()
