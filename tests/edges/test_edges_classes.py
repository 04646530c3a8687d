"""The table of atoms and the classes it makes; what becomes of each; the meaning of the atoms on plain numbers."""

from __future__ import annotations

from itertools import combinations, product
from math import prod

import pytest

from kvspec.algebra import INTS
from kvspec.edges.atoms import OUTCOME, TABLES
from kvspec.edges.coverage import coverage, missing, percent
from kvspec.edges.goals import classes_of, parse_class
from kvspec.edges.meaning import Pool, outcome, pool_values
from kvspec.edges.vectors import Unreachable, Vector, Vectors, load
from kvspec.guards import Demand
from kvspec.vocabulary import Guard


def test_every_class_is_witnessed_or_proved_unreachable() -> None:
    shipped = load()
    assert missing(shipped) == []
    lines = coverage(shipped)
    assert percent(lines) == "100 %"
    assert all(line.witnessed + line.unreachable == line.classes for line in lines)
    assert sum(line.witnessed for line in lines) == shipped.witnessed
    assert sum(line.unreachable for line in lines) == shipped.excluded


def test_what_is_missing_is_told() -> None:
    shipped = load()
    fewer = Vectors(shipped.vectors, shipped.unreachable[1:])
    gone = shipped.unreachable[0]
    assert missing(fewer)
    assert all(set(gone.values) <= set(parse_class(name).all_values) for name in missing(fewer))
    assert percent(coverage(Vectors((), ()))) == "0 %"


def test_nothing_is_both() -> None:
    def contradicts(vector: Vector, each: Unreachable) -> bool:
        return each.guard is vector.guard and any(set(each.values) <= set(values) for values in vector.shows)

    shipped = load()
    edges = [vector for vector in shipped.vectors if vector.shows]
    assert not [vector.id for vector in edges for each in shipped.unreachable if contradicts(vector, each)]


def test_no_exclusion_has_another_one_in_it() -> None:
    for one, other in combinations(load().unreachable, 2):
        assert one.guard is not other.guard or not set(one.values) <= set(other.values)
        assert one.guard is not other.guard or not set(other.values) <= set(one.values)


@pytest.mark.parametrize("guard", TABLES, ids=str)
def test_ids_are_unique_and_read_back(guard: Guard) -> None:
    every = list(classes_of(guard))
    assert len({each.id for each in every}) == len(every)
    assert all(parse_class(each.id) == each for each in every[::97])


@pytest.mark.parametrize("name", ["append/ok-0", "append/ok-0/fill=full", "append/ok-0/fill=no,unseen=none", "x/y/z=1"])
def test_an_id_of_no_class_is_refused(name: str) -> None:
    with pytest.raises(KeyError):
        parse_class(name)


def test_all_pairs_are_combined_and_all_triples_for_swap_in() -> None:
    for guard, table in TABLES.items():
        pairs, triples = (
            sum(prod(len(atom.values) for atom in atoms) for atoms in combinations(table.atoms, number))
            for number in (2, 3)
        )
        number = 3 * pairs + 5 * triples if guard is Guard.SWAP_IN else 8 * pairs
        assert sum(1 for _ in classes_of(guard)) == number


def test_an_atom_left_out_says_why() -> None:
    every = {atom.name for table in TABLES.values() for atom in table.atoms} - {"prompt", "blocks"}
    for table in TABLES.values():
        assert every - {atom.name for atom in table.atoms} == set(table.left_out)
        assert all(table.left_out.values())


def test_the_values_of_an_atom_exclude_each_other() -> None:
    for free, need, reserve, mark, other, swapped in product(range(4), range(5), (0, 1, 2), (0, 1, 2), (0, 1), (0, 1)):
        for attainable in range(free, 5):
            found = outcome(INTS, Demand(need, reserve, attainable), free)
            assert list(found) == list(OUTCOME.values)
            assert sum(map(bool, found.values())) == 1
        for meaning in pool_values(INTS, Pool(free, 3 + free, mark, bool(other), bool(swapped)), need).values():
            assert sum(map(bool, meaning.values())) == 1
