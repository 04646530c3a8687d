"""Which edge classes of the admission guards are wanted: outcomes with pairs or triples of the values of their atoms.

Pure data, from the table of `atoms`. It must not know how a class is reached, or whether it can be.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import combinations, product

from kvspec.edges.atoms import FAR, OUTCOME, TABLES
from kvspec.vocabulary import Guard

Values = tuple[tuple[str, str], ...]
"""Atoms with the value of each, by name, in the order of the guard's table; the outcome, where it is there, first."""


@dataclass(frozen=True, order=True)
class EdgeClass:
    """One edge class: a guard is asked, this is the outcome, and one sequence of the group shows these values."""

    guard: Guard
    outcome: str
    values: Values

    @property
    def id(self) -> str:
        """`guard/outcome/atom=value,...`, stable for ever."""
        return f"{self.guard.value}/{self.outcome}/{listed(self.values)}"

    @property
    def words(self) -> str:
        """The class in words."""
        shown = "; ".join(sentences(self.guard, self.values))
        return f"{self.guard.value} is asked, and the answer is {OUTCOME.values[self.outcome]}: {shown}"

    @property
    def all_values(self) -> Values:
        """The outcome and the other values."""
        return (("outcome", self.outcome), *self.values)


def listed(values: Values) -> str:
    """Values as they stand in ids."""
    return ",".join(f"{name}={value}" for name, value in values)


def parts(values: Values) -> Iterator[Values]:
    """Every choice of some of these values, the fewest first."""
    for number in range(1, len(values) + 1):
        yield from combinations(values, number)


@cache
def meanings(guard: Guard) -> Mapping[str, Mapping[str, str]]:
    """The values of the outcome and of each atom that decides the guard, by name, each with its sentence."""
    return {"outcome": OUTCOME.values, **{atom.name: atom.values for atom in TABLES[guard].atoms}}


def sentences(guard: Guard, values: Values) -> list[str]:
    """What each value means."""
    return [meanings(guard)[name][value] for name, value in values]


NEAR = tuple(outcome for outcome in OUTCOME.values if outcome not in FAR)


@cache
def atom_sets(guard: Guard) -> Mapping[tuple[str, ...], tuple[str, ...]]:
    """The names of the atoms whose values are combined, each with the outcomes that they are combined with."""
    table = TABLES[guard]
    names = [atom.name for atom in table.atoms]
    if table.at_once == 2:
        return dict.fromkeys(combinations(names, 2), tuple(OUTCOME.values))
    # A triple on an edge has all its pairs in it.
    return dict.fromkeys(combinations(names, 2), FAR) | dict.fromkeys(combinations(names, 3), NEAR)


def value_sets(guard: Guard, names: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Every combination of outcome and values of these atoms: the outcome first."""
    known = meanings(guard)
    yield from product(atom_sets(guard)[names], *(known[name] for name in names))


def is_class(guard: Guard, values: Values) -> bool:
    """Whether these are an outcome and the values of a class."""
    (first, outcome), *others = values
    return first == "outcome" and outcome in atom_sets(guard).get(tuple(name for name, _ in others), ())


def most_with(guard: Guard, first: str) -> int:
    """How many values a class has at most, where this is the first one that is considered: the outcome counts too."""
    if first not in OUTCOME.values:
        return TABLES[guard].at_once
    return 3 if first in FAR else TABLES[guard].at_once + 1


def class_of(guard: Guard, names: tuple[str, ...], words: tuple[str, ...]) -> EdgeClass:
    """The class with these values, the outcome first."""
    outcome, *values = words
    return EdgeClass(guard, outcome, tuple(zip(names, values, strict=True)))


def classes_of(guard: Guard) -> Iterator[EdgeClass]:
    """Every class of one guard, in the order of the table."""
    for names in atom_sets(guard):
        yield from (class_of(guard, names, words) for words in value_sets(guard, names))


def parse_class(text: str) -> EdgeClass:
    """The class of an id. Raises KeyError where there is none."""
    try:
        guard_name, outcome, combination = text.split("/")
        guard = Guard(guard_name)
        names, words = zip(*(each.split("=") for each in combination.split(",")), strict=True)
    except ValueError:
        raise KeyError(text) from None
    known = meanings(guard)
    if outcome not in atom_sets(guard).get(names, ()):
        raise KeyError(text)
    if any(word not in known[name] for name, word in zip(names, words, strict=True)):
        raise KeyError(text)
    return class_of(guard, names, (outcome, *words))
