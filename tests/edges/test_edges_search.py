"""The search and the proofs: what is found is least and the same each time, and no wrong answer is trusted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random

import pytest

from kvspec.algebra import INTS
from kvspec.edges.atoms import TABLES
from kvspec.edges.cover import Chosen, Index, cover
from kvspec.edges.family import Family, families
from kvspec.edges.goals import EdgeClass
from kvspec.edges.meaning import Ask, asked, sights
from kvspec.edges.model import after
from kvspec.edges.proofs import NotProved, Proofs, excluded, invariant, prove_invariant
from kvspec.edges.search import Search, SearchFailed
from kvspec.edges.state import CALM_ORDERS, ENGINE_ORDERS, NO_ORDERS, START, Kind, Move, Order, Sizes, State
from kvspec.edges.vectors import dump, load, parse
from kvspec.edges.writing import vector_of
from kvspec.vocabulary import Guard

SHIPPED = load()
SMALL = Family("small", 2, ENGINE_ORDERS, 6, (1, 2, 3), (1, 2), (1,), (1,))


@pytest.fixture(scope="module")
def small() -> list[Chosen]:
    """The lives that cover what a small family shows."""
    return cover(Search(SMALL).run())


def test_the_same_bytes_each_time(small: list[Chosen]) -> None:
    def made(chosen: list[Chosen]) -> str:
        return dump(replace(SHIPPED, vectors=tuple(vector_of(one, ENGINE_ORDERS) for one in chosen), unreachable=()))

    text = made(small)
    assert made(cover(Search(SMALL).run())) == text
    assert dump(parse(text)) == text


def test_a_class_is_covered_once_and_by_a_shortest_life(small: list[Chosen]) -> None:
    names = [each.id for one in small for each in one.classes]
    assert len(names) == len(set(names)) > 500
    deeper = {each.id: one.path.length for one in cover(Search(replace(SMALL, depth=7)).run()) for each in one.classes}
    assert all(deeper[each.id] == one.path.length for one in small for each in one.classes)


def test_a_wrong_answer_is_not_trusted(small: list[Chosen]) -> None:
    one = next(one for one in small if one.path.length == 4)
    vector_of(one, ENGINE_ORDERS)
    pools = one.path.pools
    roomy = one.path._replace(pools=pools._replace(gpu=pools.gpu + 3, cpu=pools.cpu + 3))
    with pytest.raises(SearchFailed, match="do not"):
        vector_of(replace(one, path=roomy), ENGINE_ORDERS)
    with pytest.raises(SearchFailed, match="do not allow"):
        vector_of(replace(one, path=one.path._replace(steps=one.path.steps[1:])), CALM_ORDERS)


# -- brute force: no shorter life shows the class ---------------------------------------------------------------------

LEAST = Family("least", 1, NO_ORDERS, 4, (1, 2), (1, 2), (0, 1), (1,))
SIZES = [Sizes(gpu, cpu, 1, mark, 0) for gpu in (1, 2, 3) for cpu in (0, 1, 2) for mark in (0, 1)]


def _moves() -> Iterator[Move]:
    yield from (Move(Kind.STEP, first, second) for first in (0, 1) for second in (0, 1))
    yield from (Move(Kind.ADMIT, tokens, seqs) for tokens in (1, 2) for seqs in (1, 2))
    yield from (Move(Kind.ADMIT_FILLER, tokens) for tokens in (1, 2))
    yield from (Move(kind, slots) for kind in (Kind.APPEND, Kind.SWAP_IN) for slots in (0, 1))
    yield from (Move(Kind.FORK, tokens) for tokens in (0, 1))
    yield from (Move(kind) for kind in (Kind.SWAP_OUT, Kind.SWAP_OUT_FILLER, Kind.FREE_FILLER))


def _levels(sizes: Sizes, depth: int) -> Iterator[tuple[int, State]]:
    """Every state of one configuration, with the operations that it takes: the model itself, nothing left out."""
    known, level = {START}, [START]
    for length in range(depth):
        yield from ((length, state) for state in level)
        new = {}
        for state in level:
            for move in _moves():
                allowed, following = after(INTS, Kind(move.kind), NO_ORDERS, sizes, state, move)
                if allowed and following not in known:
                    new[following] = None
        known.update(new)
        level = list(new)


def test_brute_force_finds_nothing_shorter() -> None:
    shortest = {each: one.path.length for one in cover(Search(LEAST).run()) for each in one.classes}
    known = {guard: Index(guard) for guard in (Guard.APPEND, Guard.SWAP_OUT, Guard.SWAP_IN)}
    found: dict[EdgeClass, int] = {}
    for sizes in SIZES:
        for length, state in _levels(sizes, 4):
            for guard, index in known.items():
                for slots in (0, 1):
                    for values in sights(guard, asked(INTS, NO_ORDERS, sizes, state, Ask(guard, slots))):
                        for number in index.shown(dict(values)):
                            each = index.classes[number]
                            found[each] = min(found.get(each, 9), length + 1)
    assert len(found) > 1000
    assert found.items() <= shortest.items()


# -- proofs -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("guard", TABLES, ids=str)
def test_a_sample_is_proved_unreachable_again(guard: Guard) -> None:
    those = [each for each in SHIPPED.unreachable if each.guard is guard]
    proofs = Proofs(guard)
    for each in those[:: len(those) // 4 + 1]:
        assert proofs.reason(each.values) == each.reason


def test_what_is_witnessed_is_not_proved_unreachable() -> None:
    vector = next(vector for vector in SHIPPED.vectors if vector.id.startswith("append/ok-0"))
    with pytest.raises(NotProved, match="append/outcome=ok-0"):
        Proofs(Guard.APPEND).reason(vector.shows[0])


def test_a_class_without_vector_or_proof_fails_the_build() -> None:
    shown = [
        values
        for vector in SHIPPED.vectors
        if vector.shows and vector.guard is Guard.ALLOCATE
        for values in vector.shows
    ]
    assert len(list(excluded(Guard.ALLOCATE, shown))) > 50
    fewer = [values for values in shown if dict(values)["outcome"] != "ok-1"]
    with pytest.raises(NotProved, match="outcome=ok-1"):
        list(excluded(Guard.ALLOCATE, fewer))


def test_the_invariant_is_proved() -> None:
    prove_invariant()


def _random_life(seed: int, orders: frozenset[Order]) -> Iterator[tuple[Sizes, State]]:
    """The states of a random life of the model on plain numbers."""
    chance = Random(seed)
    sizes = Sizes(chance.randint(1, 8), chance.randint(0, 8), chance.randint(1, 3), chance.randint(0, 2), 0)
    state = START
    for _ in range(50):
        kind = chance.choice(list(Kind))
        first = chance.randint(0, 4)
        move = Move(kind, first, chance.randint(1, 3) if kind is Kind.ADMIT else chance.randint(0, 1), 0)
        if kind is Kind.STEP:
            move = replace(move, third=chance.randint(0, 2))
        allowed, following = after(INTS, kind, orders, sizes, state, move)
        if allowed and all(seq.blocks <= 6 for seq in following.members):
            state = following
            yield sizes, state


@pytest.mark.parametrize("orders", [NO_ORDERS, CALM_ORDERS], ids=["none", "calm"])
def test_the_proved_invariant_holds_in_random_lives(orders: frozenset[Order]) -> None:
    states = [found for seed in range(200) for found in _random_life(seed, orders)]
    assert any(state.three.live and state.swapped for _, state in states)
    assert all(invariant(INTS, sizes, state) for sizes, state in states)
    for sizes, state in states[::10]:
        for guard in (Guard.APPEND, Guard.SWAP_OUT, Guard.SWAP_IN):
            gone = [set(each.values) for each in SHIPPED.unreachable if each.guard is guard]
            for values in sights(guard, asked(INTS, NO_ORDERS, sizes, state, Ask(guard, 0))):
                assert not any(each.issubset(values) for each in gone)


def test_the_families_are_those_of_the_documentation() -> None:
    assert len({repr(family) for family in families()}) == len(families())
    assert families()[0].orders == ENGINE_ORDERS
