"""Every fault of the catalogue is caught, by a small trace that fails on it and passes on the reference.

Knows: the catalogue. Must not know: what any fault does.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from kit_support import BRIEF, reported, target_of

from kvconform import faults
from kvconform.profiles import PROFILES
from kvconform.replay import replay
from kvconform.report.model import Report
from kvconform.targets import resolve
from kvspec.laws import CATALOGUE

MOST_OPERATIONS = 8
DEEP = {
    "match-remembered": 20,
    "evicted-stays-indexed": 12,
    "evicts-newest-first": 9,
    "preempted-waits-for-ever": 16,
}
"""Faults that need a hit, an eviction and another hit, several evictions, or a workload until it is stuck: how long
their smallest traces may be.
"""

ENOUGH = (
    replace(BRIEF, walk=BRIEF.walk // 4, examples=1, repeats=1),
    replace(BRIEF, examples=1, repeats=1),
    replace(PROFILES["quick"], examples=1, workloads=0, repeats=0),
)
"""What a check may spend on a fault: the first of these that catches it under all of its laws. Each walk is the
beginning of the next one, so none finds what `quick` does not.
"""


def report_of(fault: faults.Fault, out: Path) -> Report:
    """Of the cheapest check that is enough."""
    target = resolve(f"fault:{fault.name}")
    for profile in ENOUGH:
        for path in out.glob("*"):
            path.unlink()
        report = reported(target, out, profile)
        if {violation.law for violation in report.violations} >= set(fault.laws):
            break
    return report


@pytest.mark.parametrize("fault", faults.CATALOGUE.values(), ids=list(faults.CATALOGUE))
def test_a_fault_is_caught_under_its_laws_by_small_traces(fault: faults.Fault, tmp_path: Path) -> None:
    target = resolve(f"fault:{fault.name}")
    report = report_of(fault, tmp_path)
    assert report.verdict == "violates" or all(CATALOGUE[law].level != "MUST" for law in fault.laws)
    assert {violation.law for violation in report.violations} >= set(fault.laws)
    assert len(list(tmp_path.glob("*.jsonl"))) == len(report.violations)
    for law in fault.laws:
        smallest = min(len(violation.trace) for violation in report.violations if violation.law == law)
        assert smallest <= DEEP.get(fault.name, MOST_OPERATIONS)
    for violation in report.violations:
        (path,) = tmp_path.glob(f"{violation.law}-{violation.fingerprint}-*.jsonl")
        again = replay(path, target)
        assert again.failing
        assert again.shows is not None
        assert (again.shows.violation.law.id, again.shows.violation.op) == (violation.law, again.file.header["at"])
        assert again.shows.violation.expected
        assert again.shows.violation.observed
        assert not replay(path, target_of(fault.right())).failing


def test_the_catalogue_names_what_exists() -> None:
    for name, fault in faults.CATALOGUE.items():
        assert name == fault.name
        assert fault.laws
        assert set(fault.laws) <= set(CATALOGUE)
        assert fault.what.endswith(".")
        assert fault.resembles


def test_a_fault_is_one_change_to_the_reference() -> None:
    for name, fault in faults.CATALOGUE.items():
        adapter = resolve(f"fault:{name}").adapter
        reference = fault.right
        assert isinstance(adapter, reference)
        assert adapter.manager_class is fault.manager
        assert reference.manager_class in fault.manager.__mro__[1:]
