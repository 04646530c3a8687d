"""The judge: every law is broken by a wrong toy, and by nothing that a right one does.

Knows: the wrong toys. Must not know: the judge's insides.
"""

from __future__ import annotations

import pytest
from kit_toy import GPU, ToyAdapter
from kit_wrong import WRONG, Wrong, prompt, run_of, step

from kvconform.adapter import Seq
from kvconform.run import Run, replay
from kvspec.laws import CATALOGUE
from kvspec.vocabulary import Allocate, Append, Config, Step

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


class Tidies(ToyAdapter):
    """An append also moves the first row's first block elsewhere, and announces the copy."""

    def append(self, seq: Seq) -> list[tuple[int, int]]:
        copies = super().append(seq)
        first = min(self.toy.rows)
        if seq.id != first:
            row = self.toy.rows[first]
            old, (row[0],) = row[0], self.toy.take(GPU, 1)
            self.toy.give(GPU, old)
            self.toy.told[first] = list(row)
            copies.append((old, row[0]))
        return copies


class TidiesInSilence(Tidies):
    """The same without a word."""

    def append(self, seq: Seq) -> list[tuple[int, int]]:
        super().append(seq)
        return []


OTHER = (Allocate(1, (1,), prompt(3)), Allocate(2, (2,), prompt(3)), step(1, 2), Append(2), Append(1), Step({}))


def test_a_row_may_change_behind_an_operation_by_an_announced_copy_only() -> None:
    for adapter, laws in ((Tidies(), set()), (TidiesInSilence(), {"table.frame"})):
        run = Run(adapter, Config(4, 8))
        replay(run, OTHER)
        assert {found.violation.law.id for found in run.found} == laws
        assert run.tally.checks["table.frame"] > 0


def test_a_must_violation_ends_a_run_and_a_lesser_one_does_not() -> None:
    for law, over in (("table.tight", False), ("table.covers", True)):
        (wrong,) = [one for one in WRONG if one.law == law][:1]
        run = Run(wrong.adapter(), wrong.config)
        for op in wrong.operations:
            run.apply(op)
        assert [found.violation.law.id for found in run.found] == [law]
        assert run.over is over
        assert run.found[0].at == len(wrong.operations)
        assert not run.found[0].late


def test_a_violation_says_what_was_expected_and_what_was_observed() -> None:
    for wrong in WRONG:
        if wrong.way is run_of:
            run = Run(wrong.adapter(), wrong.config, without=wrong.without)
            replay(run, wrong.operations)
            for found in run.found:
                violation = found.violation
                assert violation.message
                assert violation.expected
                assert violation.observed
                assert violation.expected != violation.observed, violation
                assert "object at 0x" not in violation.message + violation.expected + violation.observed
