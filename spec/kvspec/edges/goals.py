"""Which edge classes of the admission guards are wanted: outcomes with pairs and triples of the values of their atoms.

Pure data, from the table of `atoms`. It must not know how a class is reached, or whether it can be.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import combinations, product

from kvspec.edges.atoms import NEAR, OUTCOME, TABLES, Atom
from kvspec.vocabulary import Guard

Values = tuple[tuple[str, str], ...]
"""Atoms with the value of each, by name, in the order of the guard's table."""


@dataclass(frozen=True, order=True)
class EdgeClass:
    """One edge class: a guard is asked, this is the outcome, and one sequence of the group shows these values."""

    guard: Guard
    outcome: str
    values: Values

    @property
    def combination(self) -> str:
        """The values, as they stand in the id."""
        return ",".join(f"{name}={value}" for name, value in self.values)

    @property
    def id(self) -> str:
        """`guard/outcome/atom=value,...`, stable for ever."""
        return f"{self.guard.value}/{self.outcome}/{self.combination}"

    @property
    def words(self) -> str:
        """The class in words."""
        return goal_words(self.guard, self.outcome, self.values)


def goal_words(guard: Guard, outcome: str, values: Values) -> str:
    """A guard, an outcome and values in words."""
    sentences = {atom.name: atom.values for atom in TABLES[guard].atoms}
    shown = "; ".join(sentences[name][value] for name, value in values)
    return f"{guard.value} is asked, and the answer is {OUTCOME.values[outcome]}: {shown}"


def atom_sets(guard: Guard) -> list[tuple[Atom, ...]]:
    """The atoms whose values are combined: each alone, triples, and those pairs that are in no triple."""
    table = TABLES[guard]
    triples = list(combinations(table.triples, 3))
    inside = {pair for triple in triples for pair in combinations(triple, 2)}
    pairs = [pair for pair in combinations(table.pairs, 2) if pair not in inside]
    return [*((atom,) for atom in table.atoms), *pairs, *triples]


def outcomes_of(atoms: tuple[Atom, ...]) -> tuple[str, ...]:
    """The outcomes that values of these atoms are combined with."""
    return tuple(OUTCOME.values) if len(atoms) == 1 else NEAR


@cache
def classes_of(guard: Guard) -> tuple[EdgeClass, ...]:
    """Every class of one guard, in the order of the table."""
    return tuple(
        EdgeClass(guard, outcome, tuple(zip((atom.name for atom in atoms), values, strict=True)))
        for atoms in atom_sets(guard)
        for values in product(*(atom.values for atom in atoms))
        for outcome in outcomes_of(atoms)
    )


@cache
def all_classes() -> dict[str, EdgeClass]:
    """Every class, by id."""
    return {each.id: each for guard in TABLES for each in classes_of(guard)}


def parse_class(text: str) -> EdgeClass:
    """The class of an id. Raises KeyError where there is none."""
    return all_classes()[text]
