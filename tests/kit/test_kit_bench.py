"""The judge's bench: what counts as checked, what is found, what is remembered.

Knows: how the areas hand their cases in. Must not know: how they gather them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from kit_toy import ToyAdapter

from kvconform.judge.bench import MOST_REMEMBERED, Bench, Verdicts
from kvconform.run import Run
from kvspec.laws import CATALOGUE, Law
from kvspec.vocabulary import Config

NEVER_BROKEN, BROKEN, SILENT = (True, False), (True, True), (False, True)
"""Cases of a guard's promise: whether it said OK, whether the operation ran out."""

SOUND = "admission.sound-allocate"


def bench_of(laws: Iterable[Law] = tuple(CATALOGUE.values())) -> Bench:
    return Run(ToyAdapter(), Config(4, 8, 8), laws=laws).judge.bench


def test_cases_judged_together_count_as_each_of_them_does() -> None:
    cases = [NEVER_BROKEN, SILENT, BROKEN, NEVER_BROKEN, BROKEN, SILENT]
    one_by_one, together = bench_of(), bench_of()
    broken = [at for at, case in enumerate(cases) if not one_by_one.holds(SOUND, *case)]
    assert together.breaches(SOUND, cases) == broken == [2, 4]
    assert together.tally.checks[SOUND] == one_by_one.tally.checks[SOUND] == 4


def test_cases_outside_the_premise_are_not_checked() -> None:
    bench = bench_of()
    assert bench.holds(SOUND, *SILENT)
    assert bench.breaches(SOUND, [SILENT, SILENT]) == []
    assert SOUND not in bench.tally.checks


def test_a_law_that_is_left_out_is_neither_checked_nor_broken() -> None:
    bench, other = bench_of(), bench_of()
    bench.leave_out(SOUND)
    assert SOUND not in bench.laws
    assert bench.holds(SOUND, *BROKEN)
    assert bench.breaches(SOUND, [BROKEN]) == []
    assert SOUND not in bench.tally.checks
    assert not other.holds(SOUND, *BROKEN)  # it is left out of one run only


def test_two_laws_of_one_id_do_not_answer_for_each_other() -> None:
    lenient = replace(CATALOGUE[SOUND], holds=lambda a, case: True)
    assert not bench_of().holds(SOUND, *BROKEN)
    assert bench_of([lenient]).holds(SOUND, *BROKEN)
    assert not bench_of().holds(SOUND, *BROKEN)


def test_verdicts_are_those_of_the_law_and_their_number_is_bounded() -> None:
    law = CATALOGUE["accounting.conservation"]
    verdicts = Verdicts(law)
    for free in range(MOST_REMEMBERED + 10):
        assert verdicts[free, 1, 5] is law.judge(law.case(free, 1, 5))
    assert len(verdicts) <= MOST_REMEMBERED
    assert verdicts[4, 1, 5] is True
