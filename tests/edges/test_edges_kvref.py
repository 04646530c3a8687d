"""Every vector on the reference manager: legal, answered as expected, carried out where approved, and on its edge."""

from __future__ import annotations

import pytest
from edges_support import EDGES, Run, margins, outcome

from kvspec.vocabulary import Verdict

BY_EDGE = pytest.mark.parametrize("edge", EDGES)


@BY_EDGE
def test_kvref_answers_as_expected(edge: str) -> None:
    for vector in EDGES[edge]:
        run = Run(vector.config, frozenset(vector.orders))
        assert all(expected in (None, Verdict.OK) for expected in vector.expects[:-1]), vector.id
        for op, expected in zip(vector.operations, vector.expects, strict=True):
            assert run.why_not(op) is None, vector.id
            assert run.verdict(op) is expected, vector.id
            if expected in (None, Verdict.OK):
                run.perform(op)


@BY_EDGE
def test_doing_it_leaves_what_it_shows(edge: str) -> None:
    for vector in EDGES[edge]:
        slack, spare = margins(vector.config, vector.operations)
        assert {dict(values)["outcome"] for values in vector.shows} == {outcome(slack, spare)}, vector.id
        exact = Verdict.OK if slack >= 0 else Verdict.LATER if spare >= 0 else Verdict.NEVER
        assert vector.expects[-1] is exact, vector.id
