"""Every vector on the reference manager: legal, answered as expected, carried out where approved, and on its edge."""

from __future__ import annotations

import pytest
from edges_support import Run, features, margins, on_edge

from kvspec.edges.vectors import Vector, load
from kvspec.vocabulary import Verdict

VECTORS = load().vectors
BY_ID = pytest.mark.parametrize("vector", VECTORS, ids=[vector.id for vector in VECTORS])


@BY_ID
def test_kvref_answers_as_expected(vector: Vector) -> None:
    run = Run(vector.config, frozenset(vector.orders))
    assert all(expected in (None, Verdict.OK) for expected in vector.expects[:-1])
    for op, expected in zip(vector.operations, vector.expects, strict=True):
        assert run.why_not(op) is None
        assert run.verdict(op) is expected
        if expected in (None, Verdict.OK):
            run.perform(op)


@BY_ID
def test_doing_it_leaves_what_the_goal_says(vector: Vector) -> None:
    slack, spare = margins(vector.config, vector.operations)
    assert on_edge(vector.id.split("/")[1], slack, spare)
    assert vector.expects[-1] is (Verdict.OK if slack >= 0 else Verdict.LATER if spare >= 0 else Verdict.NEVER)


@BY_ID
def test_the_group_shows_just_the_features_of_the_goal(vector: Vector) -> None:
    names = vector.id.split("/")[2]
    assert features(vector.config, vector.operations) == (set() if names == "plain" else set(names.split("+")))
