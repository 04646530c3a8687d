"""How fast kvref is beside vLLM 0.10.2's second-generation block manager: same operations, one run, one machine.

    KVCONFORM_ENGINES=FOLDER python benchmarks/kvref_speed.py

needs `kvconform engines fetch vllm==0.10.2` before. A request is asked for, admitted, grows token by token, each step
asked for and declared computed, and ends; some requests live at a time. Prints operations a second (median of five)
and ratios, with and without prefix caching, in a small and a large pool: the ratio should be 1 or more, and a large
pool should not cost more. Both managers are driven bare. What the other manager is asked about (its stand-ins of
sequences) is made before the clock starts.

Knows: the two managers' calls. Must not know: laws, or the kit beyond how it loads an engine.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

from kvconform.engines.errors import EngineUnavailable
from kvconform.engines.loader import load
from kvconform.engines.vllm_managers import Generation, find_manager
from kvconform.engines.vllm_standins import Sequence as StandIn
from kvconform.engines.vllm_standins import SequenceGroup, SequenceStatus
from kvref import BlockManager

TIMES = 5
POOLS = (1_000, 100_000)
BLOCK_SIZE = 16
LIVE = 20  # requests at a time
REQUESTS = 200
SHARED, OWN, APPENDS = 192, 70, 32  # tokens: common to a family of prompts, a prompt's own, generated
FAMILIES = 4


class Player(Protocol):
    """One manager, ready for one run of the workload; each method carries out one operation."""

    def admit(self, request: int) -> None:
        """Ask and allocate."""

    def step(self, request: int, token: int) -> None:
        """One more token: ask, append, computed."""

    def free(self, request: int) -> None:
        """End it."""


def prompts() -> list[list[int]]:
    """Families of prompts with a common beginning; every prompt has an end of its own."""
    families = [list(range(1000 * family, 1000 * family + SHARED)) for family in range(FAMILIES)]
    return [families[n % FAMILIES] + [n, *range(50_000 + n, 50_000 + n + OWN - 1)] for n in range(REQUESTS)]


class Kvref:
    """The predicate face of kvref. Without prefix caching it is told numbers of tokens."""

    def __init__(self, blocks: int, caching: bool, texts: Sequence[list[int]]) -> None:
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
        """One more token."""
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

    def __init__(self, blocks: int, caching: bool, texts: Sequence[list[int]]) -> None:
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
        """One more token."""
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


MakePlayer = Callable[[int, bool, Sequence[list[int]]], Player]

# A line each; the first is what the others are compared with. vLLM's V1 has its place here.
PLAYERS: dict[str, MakePlayer] = {"kvref": Kvref, "vllm-v0-v2@0.10.2": VllmSecond}


def seconds(player: Player) -> dict[str, float]:
    """Time spent in each kind of operation; when a request comes, the oldest of too many goes."""
    spent = {"allocate": 0.0, "append": 0.0, "free": 0.0}
    live: list[int] = []
    for request in range(REQUESTS):
        if len(live) == LIVE:
            spent["free"] += took(player.free, [(live.pop(0),)])
        spent["allocate"] += took(player.admit, [(request,)])
        spent["append"] += took(player.step, [(request, 90_000 + n) for n in range(APPENDS)])
        live.append(request)
    return spent


def took(operation: Callable[..., None], arguments: Iterable[tuple[int, ...]]) -> float:
    """Seconds for these calls."""
    began = time.perf_counter()
    for each in arguments:
        operation(*each)
    return time.perf_counter() - began


def rates(make: MakePlayer, blocks: int, caching: bool) -> dict[str, float]:
    """Operations a second, median of several runs on fresh managers."""
    counts = {"allocate": REQUESTS, "append": REQUESTS * APPENDS, "free": REQUESTS - LIVE}
    runs = [seconds(make(blocks, caching, prompts())) for _ in range(TIMES)]
    each = {kind: count / statistics.median(run[kind] for run in runs) for kind, count in counts.items()}
    return each | {"all": sum(counts.values()) / statistics.median(sum(run.values()) for run in runs)}


def main() -> None:
    """Print the table."""
    reference = next(iter(PLAYERS))
    print(
        f"operations a second; {REQUESTS} requests of {SHARED + OWN} tokens, {APPENDS} appends each, {LIVE} at a time"
    )
    for caching in (False, True):
        for blocks in POOLS:
            print(f"\n{'with' if caching else 'without'} prefix caching, {blocks:,} blocks")
            found: dict[str, dict[str, float]] = {}
            for name, make in PLAYERS.items():
                try:
                    found[name] = rates(make, blocks, caching)
                except EngineUnavailable as missing:
                    print(f"  {name}: {missing}")
            for kind, ours in found[reference].items():
                others = [f"{name} {each[kind]:>10,.0f}, {ours / each[kind]:.2f} times" for name, each in found.items()]
                print(f"  {kind:<9}{reference} {ours:>10,.0f}   " + "   ".join(others[1:]))


if __name__ == "__main__":
    main()
