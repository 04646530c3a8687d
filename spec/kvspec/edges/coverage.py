"""What becomes of each edge class: a vector shows it, or values exclude each other; and how many there are of either.

Pure counting, without the solver; must not know how either was found.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kvspec.edges.atoms import TABLES
from kvspec.edges.goals import EdgeClass, atom_sets, class_of, parts, value_sets
from kvspec.edges.vectors import Unreachable, Vector, Vectors
from kvspec.vocabulary import Guard

Fate = Vector | Unreachable | None
"""What settles a class; None where nothing does."""


def fates(vectors: Vectors, guard: Guard) -> Iterator[tuple[EdgeClass, Fate]]:
    """Every class of a guard, in the order of the table: with the first vector that shows it, or what excludes it."""
    excluded = {each.values: each for each in vectors.unreachable if each.guard is guard}
    sights = [(vector, dict(values)) for vector in of_guard(vectors, guard) for values in vector.shows]
    for names in atom_sets(guard):
        first: dict[tuple[str, ...], Vector] = {}
        for vector, values in sights:
            first.setdefault((values["outcome"], *(values[name] for name in names)), vector)
        for words in value_sets(guard, names):
            each = class_of(guard, names, words)
            yield each, first.get(words) or next(filter(None, map(excluded.get, parts(each.all_values))), None)


def of_guard(vectors: Vectors, guard: Guard) -> list[Vector]:
    """The vectors about edges of this guard."""
    return [vector for vector in vectors.vectors if vector.shows and vector.guard is guard]


@dataclass(frozen=True)
class Line:
    """One guard's classes, in numbers. unreachable: classes that have values of one of the `exclusions`. vectors: those
    that end in this guard's operation.
    """

    guard: Guard
    classes: int
    witnessed: int
    unreachable: int
    exclusions: int
    vectors: int

    @property
    def settled(self) -> str:
        """The share that is either witnessed or proved unreachable, rounded down."""
        return _percent(self.witnessed + self.unreachable, self.classes)


def coverage(vectors: Vectors) -> list[Line]:
    """A line for each guard, in the order of the table."""
    return [_line(vectors, guard) for guard in TABLES]


def _line(vectors: Vectors, guard: Guard) -> Line:
    found = [fate for _, fate in fates(vectors, guard)]
    return Line(
        guard,
        len(found),
        sum(isinstance(fate, Vector) for fate in found),
        sum(isinstance(fate, Unreachable) for fate in found),
        sum(each.guard is guard for each in vectors.unreachable),
        len(of_guard(vectors, guard)),
    )


def percent(lines: Sequence[Line]) -> str:
    """The share of classes that are either witnessed or proved unreachable, rounded down."""
    settled = sum(line.witnessed + line.unreachable for line in lines)
    return _percent(settled, sum(line.classes for line in lines))


def _percent(some: int, of: int) -> str:
    return f"{100 * some // of} %"


def missing(vectors: Vectors) -> list[str]:
    """Classes that nothing settles: none, in a file that was generated."""
    return [each.id for guard in TABLES for each, fate in fates(vectors, guard) if fate is None]
