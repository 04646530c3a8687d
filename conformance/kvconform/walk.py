"""The fast guided walk: long random runs of legal operations, judged all the way.

Knows how runs are begun, biased, ended and put to the test when something was refused. It must not know any fault.
Deterministic for a seed.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from kvconform.adapter import Adapter
from kvconform.finding import Raw, raws_of
from kvconform.propose import FORCIBLE, candidates, configuration, make_alone, on_edge, propose, style
from kvconform.run import Run
from kvspec.vocabulary import Allocate, Capability, Operation

T = TypeVar("T")
Start = Callable[..., Run]
"""Starts a run: start(config) -> Run."""


SPENDING = 4
"""Every so manieth run ends with spending all blocks: it costs as much as a short run."""


LENGTHS = [12, 30, 60, 120] * 6 + [400]
"""Operations in a run: some faults need a long life, most need many beginnings."""


EDGES = 25
"""Of a hundred operations, how many are chosen for lying on the edge of what fits, where any does."""


class Dice:
    """A chooser over a seeded random number generator."""

    def __init__(self, seed: str) -> None:
        self._random = random.Random(seed)

    def integer(self, low: int, high: int) -> int:
        """A number from low to high, both included."""
        return low + int(self._random.random() * (high - low + 1))

    def choose(self, options: Sequence[T]) -> T:
        """One of the options."""
        return options[int(self._random.random() * len(options))]

    def chance(self, percent: int) -> bool:
        """True in so many of a hundred cases."""
        return self._random.random() * 100 < percent


def weighted(weights: dict[str, int], pick: Dice) -> str:
    """One of the keys, as often as its weight says."""
    at = pick.integer(1, sum(weights.values()))
    for kind, weight in weights.items():
        at -= weight
        if at <= 0:
            return kind
    raise AssertionError("the weights add up")


class Walk:
    """A series of runs over one adapter."""

    def __init__(self, adapter: Adapter, start: Start, capabilities: frozenset[Capability], seed: int) -> None:
        self.adapter = adapter
        self.start = start
        self.capabilities = capabilities
        self.seed = seed
        self._fatal: Counter[str] = Counter()

    def one(self, number: int) -> tuple[Run, list[Raw]]:
        """The run of this number, from its start to its end, and what it found."""
        pick = Dice(f"{self.seed}/{number}")
        config = configuration(self.adapter.domain, self.capabilities, pick)
        run = self.start(config)
        manner = style(config, pick, evicts=Capability.RECLAIMABLE in self.capabilities)
        refused: Operation | None = None
        for _ in range(pick.choose(LENGTHS)):
            if run.over:
                break
            possible = candidates(run)
            weights = {kind: self._weight(manner.weights[kind], kind, number) for kind in possible}
            if not any(weights.values()):
                break
            edge = on_edge(run, possible, manner, pick) if pick.chance(EDGES) else None
            if edge is None:
                kind = weighted(weights, pick)
                edge = kind, possible[kind]
            op = propose(run, *edge, manner, pick)
            if op is not None:
                outcome = run.apply(op)
                if outcome.refused:
                    refused = op
        if refused is not None and not run.over:
            _retry_alone(run, refused)
        if not run.over:
            run.finish(spend=number % SPENDING == 0)
        found = raws_of(run, "walk")
        self._fatal.update({raw.violation.op for raw in found})
        return run, found

    def _weight(self, weight: int, kind: str, number: int) -> int:
        """Every other run avoids what has ended many runs already, so that one fault does not hide the others."""
        return 0 if number % 2 and self._fatal[kind] > 3 and kind not in ("allocate", "step") else weight


def _retry_alone(run: Run, refused: Operation) -> None:
    """Ask again for what was refused when everybody else is gone: a LATER must be granted then, a NEVER must not."""
    group = getattr(refused, "group", None)
    if group not in run.world.groups:
        return
    for op in make_alone(run, group):
        if run.why_not(op) is not None:
            return
        run.apply(op)
    again = _again(run, refused)
    if again is not None and run.why_not(again) is None:
        run.apply(again)


def _again(run: Run, refused: Operation) -> Operation | None:
    if isinstance(refused, Allocate):
        waiting = tuple(seq.id for seq in run.world.groups[refused.group].waiting)
        return replace(refused, seqs=waiting, tokens=None, force=False) if waiting else None
    return replace(refused, force=False) if isinstance(refused, FORCIBLE) else None
