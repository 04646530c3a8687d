"""Which edge classes random tests reach without the vectors, at equal numbers of operations: `make bench-edges`.

Plays the shipped vectors on the reference manager, then the walk and the hypothesis machine alone for as many
operations, and for ten times as many; prints how many of the witnessed classes each has reached, as a table for
docs/vectors.md (some minutes). Everything is seeded, so the same versions give the same figures.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator

from edge_sights import Class, Watched, classes

from kvconform import vectors
from kvconform.adapter import capabilities_of
from kvconform.machine import explore
from kvconform.reference import ReferenceAdapter
from kvconform.run import Run
from kvconform.walk import Walk
from kvspec.edges import vectors as edges
from kvspec.edges.atoms import TABLES
from kvspec.vocabulary import Config

BUDGETS = ((1, (0, 1, 2)), (10, (0,)))
"""How many times the operations of the vectors, and with which seeds."""

Found = tuple[int, set[Class]]
"""Operations that were carried out, and the classes that they showed."""


def start(config: Config) -> Watched:
    """A watched run of the reference manager."""
    return Watched(ReferenceAdapter(), config)


def played() -> Found:
    """What the shipped vectors show."""
    adapter, found, operations = ReferenceAdapter(), set[Class](), 0
    for vector in edges.load().vectors:
        done = vectors.play(start, vector, adapter, capabilities_of(adapter))
        assert isinstance(done.run, Watched)
        found |= classes(done.run.seen)
        operations += done.run.tally.operations
    return operations, found


def upto(operations: int, runs: Iterator[Run]) -> Found:
    """What random runs show until they have carried out so many operations."""
    done, found = 0, set[Class]()
    for run in runs:
        assert isinstance(run, Watched)
        done += run.tally.operations
        found |= classes(run.seen)
        if done >= operations:
            break
    return done, found


def walked(seed: int) -> Iterator[Run]:
    """The runs of a walk."""
    adapter = ReferenceAdapter()
    walk, number = Walk(adapter, start, capabilities_of(adapter), seed), 0
    while True:
        yield walk.one(number)[0]
        number += 1


def explored(seed: int) -> Iterator[Run]:
    """The examples of the hypothesis machine, a hundred at a time."""
    while True:
        runs: list[Run] = []
        adapter = ReferenceAdapter()
        explore(adapter, start, lambda run, raws: runs.append(run), examples=100, steps=50, seed=seed)  # noqa: B023
        yield from runs
        seed += 1000


def row(name: str, found: Found, all_of: set[Class]) -> str:
    """One line of the table."""
    operations, seen = found
    shares = [
        f"{100 * len([c for c in seen & all_of if c[0] is guard]) // len([c for c in all_of if c[0] is guard])} %"
        for guard in TABLES
    ]
    whole = f"{100 * len(seen & all_of) / len(all_of):.1f} %"
    return f"| {name} | {operations:,} | {len(seen & all_of):,} | {' | '.join(shares)} | {whole} |"


def main() -> None:
    """Measure and print."""
    budget, all_of = played()
    guards = " | ".join(f"`{guard.value}`" for guard in TABLES)
    print(f"| | operations | edge classes | {guards} | all |")
    print("|" + " --- |" * (len(TABLES) + 4))
    print(row("the vectors", (budget, all_of), all_of), flush=True)
    tiers: dict[str, Callable[[int], Iterator[Run]]] = {"hypothesis alone": explored, "the walk alone": walked}
    for name, tier in tiers.items():
        for times, seeds in BUDGETS:
            for seed in seeds:
                told = f"{name}, seed {seed}"
                print(row(told, upto(times * budget, tier(seed)), all_of), flush=True)
    print(f"\nclasses outside the table of the vectors are not counted; {len(all_of):,} is all of it", file=sys.stderr)


if __name__ == "__main__":
    main()
