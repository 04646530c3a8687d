"""The table of atoms and the classes it makes; the meaning of the atoms on plain numbers."""

from __future__ import annotations

from itertools import product

from kvspec.algebra import INTS
from kvspec.edges.atoms import OUTCOME, TABLES
from kvspec.edges.coverage import coverage, missing, percent
from kvspec.edges.goals import all_classes, atom_sets, classes_of, parse_class
from kvspec.edges.meaning import Pool, outcome, pool_values
from kvspec.edges.vectors import load
from kvspec.guards import Demand
from kvspec.vocabulary import Guard


def test_every_class_is_witnessed_or_proved_unreachable() -> None:
    shipped = load()
    assert missing(shipped) == []
    lines = coverage(shipped)
    assert percent(lines) == "100 %"
    assert all(line.witnessed + line.unreachable == line.classes for line in lines)
    assert sum(line.classes for line in lines) == len(all_classes())


def test_ids_are_unique_and_read_back() -> None:
    for guard in TABLES:
        for each in classes_of(guard):
            assert parse_class(each.id) == each
    assert len(all_classes()) == sum(len(classes_of(guard)) for guard in TABLES)


def test_every_pair_of_atoms_is_combined() -> None:
    for guard, table in TABLES.items():
        together = [{atom.name for atom in atoms} for atoms in atom_sets(guard)]
        for one, other in product(table.pairs, repeat=2):
            assert one.name == other.name or any({one.name, other.name} <= names for names in together)
    triples = [atoms for atoms in atom_sets(Guard.SWAP_IN) if len(atoms) == 3]
    assert len(triples) == 10


def test_an_atom_left_out_says_why() -> None:
    assert all(reason for table in TABLES.values() for reason in table.left_out.values())


def test_the_values_of_an_atom_exclude_each_other() -> None:
    for free, need, reserve, mark, other, swapped in product(range(4), range(5), (0, 1, 2), (0, 1, 2), (0, 1), (0, 1)):
        for attainable in range(free, 5):
            found = outcome(INTS, Demand(need, reserve, attainable), free)
            assert list(found) == list(OUTCOME.values)
            assert sum(map(bool, found.values())) == 1
        for meaning in pool_values(INTS, Pool(free, 3 + free, mark, bool(other), bool(swapped)), need).values():
            assert sum(map(bool, meaning.values())) == 1
