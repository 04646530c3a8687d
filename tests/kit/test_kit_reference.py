"""The reference conforms, with everything exercised; so does a manager that is not derived from it.

Knows: what `quick` promises. Must not know: kvref's insides.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from kit_support import SHIPPED, checked, reported, verdicts, violated
from kit_toy import BareAdapter, ToyAdapter

from kvconform.adapter import capabilities_of
from kvconform.check import Check, judged, overall
from kvconform.profiles import PROFILES
from kvconform.report.build import build
from kvconform.targets import resolve
from kvspec.laws import CATALOGUE
from kvspec.vocabulary import GUARDED, Capability, Verdict


@pytest.mark.usefixtures("every_vector")
def test_the_reference_conforms_and_every_law_is_exercised(tmp_path: Path) -> None:
    check = Check(resolve("reference"), PROFILES["quick"], strict=True)
    result = check.run()
    laws = judged(result)
    assert not result.findings
    assert not result.notes
    for one in laws:
        applicable = one.law.applicable(capabilities_of(check.adapter))
        assert one.verdict == ("holds" if applicable else "not-applicable")
        assert bool(one.checks) == applicable
    assert {one.law.id for one in laws if one.verdict == "not-applicable"} == {
        "table.announced",
        "admission.sound-fork",
    }
    assert overall(result, laws) == "conforms"
    assert overall(replace(result, strict=False), laws) == "conforms"
    seen = {key for key, hits in result.tally.guards.items() if hits}
    assert seen == {(guard, v) for guard in GUARDED.values() for v in (Verdict.OK, Verdict.LATER, Verdict.NEVER)}
    report = build(result, tmp_path, check.start)
    assert report.verdict == "conforms"
    edges = report.coverage.edges
    assert (edges.total, edges.run) == (len(SHIPPED.vectors), len(SHIPPED.vectors))
    assert edges.unreachable == SHIPPED.excluded > 0
    assert report.operations >= PROFILES["quick"].walk
    assert not list(tmp_path.iterdir())


def test_an_independent_manager_conforms_to_every_law() -> None:
    result = checked(ToyAdapter(), strict=True)
    assert violated(result) == set()
    assert set(verdicts(result)) == set(CATALOGUE)
    assert set(verdicts(result).values()) == {"holds"}


@pytest.mark.parametrize("target", ["reference", "fault:lookahead-tail-forgotten"])
def test_the_same_seed_gives_the_same_report(target: str, tmp_path: Path) -> None:
    def once() -> dict[str, object]:
        report = reported(resolve(target), tmp_path)
        found = msgspec.to_builtins(report)
        assert found.pop("duration_s") > 0
        assert found.pop("started").startswith("20")
        return dict(found)

    first = once()
    files = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert once() == first
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == files


def test_another_seed_is_another_search_with_the_same_verdict() -> None:
    first, second = (checked(resolve("reference").adapter, seed=seed) for seed in (0, 1))
    assert first.tally.checks != second.tally.checks
    for result in (first, second):
        assert overall(result, judged(result)) == "conforms"


@pytest.mark.parametrize(
    "without",
    [
        {"swap"},
        {"append"},
        {"fork", "groups"},
        {"lookahead", "watermark"},
        {"preempt", "atomic-failures"},
    ],
    ids=lambda names: "-and-".join(sorted(names)),
)
def test_what_is_not_used_is_not_held_against_it(without: set[str]) -> None:
    gone = frozenset(Capability(name) for name in without)
    result = checked(ToyAdapter(), without=gone)
    for law, verdict in verdicts(result).items():
        applicable = CATALOGUE[law].applicable(capabilities_of(ToyAdapter()) - gone)
        assert verdict == ("holds" if applicable else "not-applicable"), law


def test_a_bare_adapter_conforms_and_the_rest_is_not_applicable() -> None:
    result = checked(BareAdapter())
    assert capabilities_of(BareAdapter()) == {Capability.APPEND}
    laws = judged(result)
    assert overall(result, laws) == "conforms"
    for one in laws:
        applicable = not one.law.needs_any and set(one.law.needs) <= {Capability.APPEND}
        assert one.verdict == ("holds" if applicable else "not-applicable")
        assert one.reason.startswith("" if applicable else "needs ")
        assert all(need.value in one.reason for need in one.law.needs if need is not Capability.APPEND)
    assert not result.tally.guards
