"""How many edge classes of each guard are witnessed and how many unreachable, against what the table asks for.

Pure counting, without the solver; must not know how either was found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kvspec.edges.atoms import TABLES
from kvspec.edges.goals import all_classes, classes_of
from kvspec.edges.vectors import Vectors
from kvspec.vocabulary import Guard


@dataclass(frozen=True)
class Line:
    """One guard's classes, in numbers. vectors: those that end in this guard's operation."""

    guard: Guard
    classes: int
    witnessed: int
    unreachable: int
    vectors: int

    @property
    def settled(self) -> str:
        """The share that is either witnessed or proved unreachable, rounded down."""
        return _percent(self.witnessed + self.unreachable, self.classes)


def coverage(vectors: Vectors) -> list[Line]:
    """A line for each guard, in the order of the table."""
    witnessed = [name for vector in vectors.vectors for name in vector.classes]
    gone = [each.id for each in vectors.unreachable]
    return [
        Line(
            guard,
            len(classes_of(guard)),
            _about(guard, witnessed),
            _about(guard, gone),
            _about(guard, [vector.classes[0] for vector in vectors.vectors if vector.classes]),
        )
        for guard in TABLES
    ]


def _about(guard: Guard, names: list[str]) -> int:
    return sum(name.startswith(f"{guard.value}/") for name in names)


def percent(lines: Sequence[Line]) -> str:
    """The share of classes that are either witnessed or proved unreachable, rounded down."""
    settled = sum(line.witnessed + line.unreachable for line in lines)
    return _percent(settled, sum(line.classes for line in lines))


def _percent(some: int, of: int) -> str:
    return f"{100 * some // of} %"


def missing(vectors: Vectors) -> list[str]:
    """Classes that are neither, or that are both: none, in a file that was generated."""
    names = [name for vector in vectors.vectors for name in vector.classes] + [each.id for each in vectors.unreachable]
    twice = {name for name in names if names.count(name) > 1} if len(names) != len(set(names)) else set()
    return sorted(set(all_classes()).symmetric_difference(names) | twice)
