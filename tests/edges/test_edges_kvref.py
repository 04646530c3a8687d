"""Every vector on the reference manager: legal, answered as expected, carried out where approved, and on its edge."""

from __future__ import annotations

import pytest
from edges_support import Run, margins, outcome

from kvspec.edges.vectors import Vector, load
from kvspec.vocabulary import Verdict

VECTORS = [vector for vector in load().vectors if vector.classes]
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
def test_doing_it_leaves_what_its_classes_say(vector: Vector) -> None:
    slack, spare = margins(vector.config, vector.operations)
    assert {name.split("/")[1] for name in vector.classes} == {outcome(slack, spare)}
    assert vector.expects[-1] is (Verdict.OK if slack >= 0 else Verdict.LATER if spare >= 0 else Verdict.NEVER)
