"""Sharing work out among processes changes nothing but the time."""

from __future__ import annotations

import os

import pytest

from kvconform import forked, vector_commands
from kvconform.adapter import AdapterMistake
from kvconform.reference import ReferenceAdapter
from kvconform.targets import Target
from kvspec.edges import vectors as edges

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")


@pytest.fixture
def two_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a machine with two cores, whatever this one has."""
    monkeypatch.setattr(forked, "workers", lambda: 2)


@pytest.mark.usefixtures("two_workers")
@pytest.mark.parametrize("count", [0, 1, forked.LEAST - 1, forked.LEAST, 333])
def test_the_answers_are_in_order(count: int) -> None:
    assert list(forked.answers(lambda number: number * number, count, True)) == [n * n for n in range(count)]


@pytest.mark.usefixtures("two_workers")
def test_it_is_done_elsewhere_only_where_that_is_safe() -> None:
    here = os.getpid()
    assert set(forked.answers(lambda number: os.getpid(), forked.LEAST, False)) == {here}
    assert here not in set(forked.answers(lambda number: os.getpid(), forked.LEAST, True))


@pytest.mark.usefixtures("two_workers")
def test_a_mistake_is_told_all_the_same() -> None:
    def work(number: int) -> int:
        if number == 150:
            raise AdapterMistake("Mine.block_table answered 7")
        return number

    with pytest.raises(AdapterMistake, match="answered 7"):
        list(forked.answers(work, 300, True))


class Alone(ReferenceAdapter):
    """Not to be forked."""

    forkable = False


@pytest.mark.usefixtures("two_workers", "every_vector")
def test_the_vectors_end_alike_either_way() -> None:
    chosen = edges.load().vectors[: 2 * forked.LEAST]
    rows = []
    for kind in (ReferenceAdapter, Alone):
        play = vector_commands.player(Target("x", "x", "1", kind()), chosen, frozenset())
        rows.append(list(forked.answers(play, len(chosen), kind.forkable)))
    assert rows[0] == rows[1]
    assert {row["result"] for row in rows[0]} == {"passed"}
