"""The judge: every law is broken by a wrong toy, and by nothing that a right one does.

Knows: the wrong toys. Must not know: the judge's insides.
"""

from __future__ import annotations

import pytest
from kit_toy import ToyAdapter
from kit_wrong import WRONG, Wrong, run_of

from kvconform.run import Run, replay
from kvspec.laws import CATALOGUE

ALL = [pytest.param(wrong, id=f"{number}-{wrong.id}") for number, wrong in enumerate(WRONG)]


def test_every_law_has_a_wrong_toy() -> None:
    assert {wrong.law for wrong in WRONG} == set(CATALOGUE)


@pytest.mark.parametrize("wrong", ALL)
def test_the_wrong_toy_is_reported_under_its_law_and_no_other(wrong: Wrong) -> None:
    found, _ = wrong.way(wrong, wrong.adapter())
    assert found == {wrong.law} | wrong.also


@pytest.mark.parametrize("wrong", ALL)
def test_the_right_toy_is_clean_under_the_same_operations(wrong: Wrong) -> None:
    found, tally = wrong.way(wrong, ToyAdapter())
    assert not found
    assert tally.checks["accounting.conservation"] > 0


@pytest.mark.parametrize("wrong", [p for p in ALL if p.values[0].way is run_of])
def test_a_law_that_is_not_chosen_is_not_judged(wrong: Wrong) -> None:
    run = Run(wrong.adapter(), wrong.config, without=wrong.without, laws=[CATALOGUE[wrong.law]])
    replay(run, wrong.operations)
    assert {found.violation.law.id for found in run.found} == {wrong.law}
    assert set(run.tally.checks) == {wrong.law}
