"""From what was checked to a verdict: which of several counts.

Knows: results made by hand. Must not know: how any search finds anything.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from kit_support import BRIEF, target_of
from kit_toy import BareAdapter, ToyAdapter

from kvconform.adapter import capabilities_of
from kvconform.check import Result, judged, overall
from kvconform.choices import choose_capabilities, choose_laws
from kvconform.errors import CONFORMS, INCONCLUSIVE, NO_TARGET, USAGE, VIOLATES, TargetError, UsageError
from kvconform.finding import Finding
from kvconform.judge import Tally, Violation
from kvconform.profiles import choose_profile
from kvspec.laws import CATALOGUE
from kvspec.vocabulary import Capability, Config, Guard, Level, Verdict

LAWS = list(CATALOGUE.values())
MUST, SHOULD, MAY = ([law.id for law in LAWS if law.level is level] for level in (Level.MUST, Level.SHOULD, Level.MAY))


def full(*, strict: bool = False) -> Result:
    """A result in which every law was checked and every guard gave every verdict."""
    capabilities = capabilities_of(ToyAdapter())
    guards = Counter({(guard, verdict): 3 for guard in Guard for verdict in Verdict})
    tally = Tally(Counter({law.id: 5 for law in LAWS}), guards, 99)
    return Result(target_of(ToyAdapter()), BRIEF, 0, capabilities, frozenset(), LAWS, strict, tally)


def with_violation(result: Result, law: str) -> Result:
    violation = Violation(CATALOGUE[law], "allocate", "message", "expected", "observed")
    result.findings.append(Finding(violation, Config(1, 1), [], frozenset(), "walk"))
    return result


def verdict(result: Result) -> str:
    return overall(result, judged(result))


def of(result: Result, law: str) -> str:
    return next(one.verdict for one in judged(result) if one.law.id == law)


def test_everything_checked_and_nothing_found_conforms() -> None:
    assert verdict(full()) == verdict(full(strict=True)) == "conforms"
    assert {one.verdict for one in judged(full())} == {"holds"}


@pytest.mark.parametrize("law", MUST)
def test_a_must_law_broken_violates(law: str) -> None:
    assert verdict(with_violation(full(), law)) == "violates"
    assert of(with_violation(full(), law), law) == "violated"


@pytest.mark.parametrize("law", SHOULD)
def test_a_should_law_broken_violates_when_strict(law: str) -> None:
    assert verdict(with_violation(full(), law)) == "conforms"
    assert verdict(with_violation(full(strict=True), law)) == "violates"
    assert of(with_violation(full(), law), law) == "violated"


@pytest.mark.parametrize("law", MAY)
def test_a_may_law_broken_is_told_and_never_counts(law: str) -> None:
    for strict in (False, True):
        assert verdict(with_violation(full(strict=strict), law)) == "conforms"
        assert of(with_violation(full(strict=strict), law), law) == "violated"


def unchecked(result: Result, law: str) -> Result:
    result.tally.checks[law] = 0
    return result


@pytest.mark.parametrize("law", MUST)
def test_a_must_law_not_exercised_is_inconclusive(law: str) -> None:
    assert of(unchecked(full(), law), law) == "not-exercised"
    assert verdict(unchecked(full(), law)) == "inconclusive"


@pytest.mark.parametrize("law", SHOULD)
def test_a_should_law_not_exercised_is_inconclusive_when_strict(law: str) -> None:
    assert verdict(unchecked(full(), law)) == "conforms"
    assert verdict(unchecked(full(strict=True), law)) == "inconclusive"


@pytest.mark.parametrize("law", MAY)
def test_a_may_law_not_exercised_never_counts(law: str) -> None:
    assert verdict(unchecked(full(strict=True), law)) == "conforms"


GUARDED_LAWS = [law for law in LAWS if law.guards]


@pytest.mark.parametrize("law", GUARDED_LAWS, ids=lambda law: law.id)
def test_a_guard_must_have_given_both_an_ok_and_a_refusal(law: object) -> None:
    assert law in GUARDED_LAWS
    for guard in CATALOGUE[law.id].guards:  # type: ignore[attr-defined]
        only_ok, only_refusals, one_refusal = full(), full(), full()
        for given in (Verdict.LATER, Verdict.NEVER, Verdict.NO):
            only_ok.tally.guards[guard, given] = 0
        only_refusals.tally.guards[guard, Verdict.OK] = 0
        for given in (Verdict.LATER, Verdict.NO):
            one_refusal.tally.guards[guard, given] = 0
        for result, missing in ((only_ok, "a refusal"), (only_refusals, "an OK")):
            one = next(one for one in judged(result) if one.law is law)
            assert (one.verdict, one.reason) == ("not-exercised", f"{missing} of can_{guard.value} was never seen")
        assert of(one_refusal, law.id) == "holds"  # type: ignore[attr-defined]


def test_the_soundness_of_every_guard_needs_both_of_its_outcomes() -> None:
    for guard in Guard:
        law = CATALOGUE[f"admission.sound-{guard.value.replace('_', '-')}"]
        assert law.guards == (guard,)


def test_a_violation_outranks_what_was_not_exercised_and_an_interruption() -> None:
    result = with_violation(unchecked(full(), "table.covers"), "table.live")
    result.interrupted = True
    assert verdict(result) == "violates"


def test_a_may_or_should_violation_does_not_hide_a_gap() -> None:
    assert verdict(with_violation(unchecked(full(), "table.covers"), "table.tight")) == "inconclusive"


def test_an_interruption_is_inconclusive() -> None:
    result = full()
    result.interrupted = True
    assert verdict(result) == "inconclusive"


def test_nothing_selected_or_nothing_applicable_is_inconclusive() -> None:
    bare = capabilities_of(BareAdapter())
    result = replace(full(), capabilities=bare, laws=[CATALOGUE["table.announced"], CATALOGUE["accounting.refcount"]])
    assert {one.verdict for one in judged(result)} == {"not-applicable"}
    assert verdict(result) == "inconclusive"
    may_only = replace(full(), laws=[CATALOGUE[law] for law in MAY])
    assert verdict(may_only) == "inconclusive"


def test_what_does_not_apply_says_what_it_needs() -> None:
    result = replace(full(), capabilities=capabilities_of(BareAdapter()))
    reasons = {one.law.id: one.reason for one in judged(result) if one.verdict == "not-applicable"}
    assert reasons["table.announced"] == "needs announces"
    assert reasons["table.live"] == "needs free-set or refcounts"
    assert reasons["data.swap-keeps-sharing"] == "needs swap, groups or fork"
    assert verdict(result) == "conforms"


def test_choices_are_checked() -> None:
    assert choose_laws([]) == LAWS
    assert choose_laws(["table.live", "table.live"]) == [CATALOGUE["table.live"]]
    assert choose_capabilities(["swap", "fork"]) == {Capability.SWAP, Capability.FORK}
    assert choose_profile("ci").walk > choose_profile("quick").walk
    for choose in (choose_laws, choose_capabilities):
        with pytest.raises(UsageError, match="unknown"):
            choose(["none"])
    with pytest.raises(UsageError, match="unknown profile"):
        choose_profile("none")


def test_the_exit_codes_are_those_of_the_interface() -> None:
    assert (CONFORMS, VIOLATES, USAGE, INCONCLUSIVE, NO_TARGET) == (0, 1, 2, 3, 4)
    assert (UsageError("").exit_code, TargetError("").exit_code) == (2, 4)
