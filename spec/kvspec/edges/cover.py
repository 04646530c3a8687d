"""From sights to a small set of lives that witness every class that is witnessed, each by a shortest life.

Knows classes and sights; must not know states or operations. Greedy, shortest first: of the lives of one length that
are left, the one that witnesses most classes which no shorter life and no chosen one witnesses; of several such, the
least.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kvspec.edges.atoms import TABLES
from kvspec.edges.goals import EdgeClass, classes_of
from kvspec.edges.pools import POOL_ATOMS
from kvspec.edges.search import Path, Shown, Sight
from kvspec.vocabulary import Guard


class Index:
    """The classes of one guard as numbers, found by what a sight shows."""

    def __init__(self, guard: Guard) -> None:
        self.classes = list(classes_of(guard))
        self._numbers: dict[tuple[str, ...], dict[tuple[str, ...], int]] = {}
        for number, each in enumerate(self.classes):
            names, words = zip(*each.all_values, strict=True)
            self._numbers.setdefault(names, {})[words] = number

    def shown(self, values: Mapping[str, str]) -> list[int]:
        """The numbers of the classes that these values, the outcome among them, witness."""
        found = (numbers.get(tuple([values[name] for name in key])) for key, numbers in self._numbers.items())
        return [number for number in found if number is not None]


@dataclass(frozen=True)
class Chosen:
    """A life, and the classes that it is there for, in the order of the table."""

    path: Path
    classes: tuple[EdgeClass, ...]


def cover(found: Mapping[Sight, Shown], without: frozenset[EdgeClass] = frozenset()) -> list[Chosen]:
    """Lives that witness every class that some sight shows, those left out that need no witness."""
    return [one for guard in TABLES for one in _cover_guard(guard, found, without)]


def _cover_guard(guard: Guard, found: Mapping[Sight, Shown], without: frozenset[EdgeClass]) -> list[Chosen]:
    index = Index(guard)
    shown: dict[Path, set[int]] = {}
    for sight, (path, together) in found.items():
        if sight.guard is guard and path not in shown:
            around = dict(zip(POOL_ATOMS, sight.around, strict=True))
            shown[path] = {number for within in together for number in index.shown(around | dict(within))}
    least: dict[int, int] = {number: 0 for number, each in enumerate(index.classes) if each in without}
    chosen = []
    for length in sorted({path.length for path in shown}):
        lives = {path: _new(numbers, least) for path, numbers in shown.items() if path.length == length}
        wanted = {number for numbers in lives.values() for number in numbers}
        for path, numbers in _greedy(lives):
            chosen.append(Chosen(path, tuple(index.classes[number] for number in sorted(numbers))))
        least.update(dict.fromkeys(wanted, length))
    return chosen


def _new(numbers: Iterable[int], known: Mapping[int, int]) -> set[int]:
    return {number for number in numbers if number not in known}


def _greedy(lives: Mapping[Path, set[int]]) -> list[tuple[Path, set[int]]]:
    """Lives are taken up lazily: what one would add only ever gets less."""
    heap = [(-len(numbers), path) for path, numbers in lives.items() if numbers]
    heapq.heapify(heap)
    done: set[int] = set()
    chosen: list[tuple[Path, set[int]]] = []
    while heap:
        claimed, path = heapq.heappop(heap)
        left = lives[path] - done
        if len(left) < -claimed:
            if left:
                heapq.heappush(heap, (-len(left), path))
            continue
        chosen.append((path, left))
        done |= left
    return _needed([path for path, _ in chosen], lives)


def _needed(chosen: list[Path], lives: Mapping[Path, set[int]]) -> list[tuple[Path, set[int]]]:
    """Without those that the others make up for, the last chosen left out first; each with what it is there for."""
    times = Counter(number for path in chosen for number in lives[path])
    kept = []
    for path in reversed(chosen):
        if all(times[number] > 1 for number in lives[path]):
            times.subtract(lives[path])
        else:
            kept.append(path)
    return _shared_out(kept[::-1], lives)


def _shared_out(chosen: list[Path], lives: Mapping[Path, set[int]]) -> list[tuple[Path, set[int]]]:
    """Each class goes to the first life that has it."""
    done: set[int] = set()
    shared = []
    for path in chosen:
        shared.append((path, lives[path] - done))
        done |= lives[path]
    return [(path, numbers) for path, numbers in shared if numbers]
