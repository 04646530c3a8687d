"""Every fault of the catalogue is caught, by a small trace that fails on it and passes on the reference.

Knows: the catalogue. Must not know: what any fault does.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from kit_support import reported

from kvconform import faults
from kvconform.replay import replay
from kvconform.targets import resolve
from kvspec.laws import CATALOGUE

MOST_OPERATIONS = 8


@pytest.mark.parametrize("fault", faults.CATALOGUE.values(), ids=list(faults.CATALOGUE))
def test_a_fault_is_caught_under_its_laws_by_small_traces(fault: faults.Fault, tmp_path: Path) -> None:
    target = resolve(f"fault:{fault.name}")
    report = reported(target, tmp_path)
    assert report.verdict == "violates" or all(CATALOGUE[law].level != "MUST" for law in fault.laws)
    assert {violation.law for violation in report.violations} >= set(fault.laws)
    assert len(list(tmp_path.glob("*.jsonl"))) == len(report.violations)
    for violation in report.violations:
        assert len(violation.trace) <= MOST_OPERATIONS or violation.law not in fault.laws
        (path,) = tmp_path.glob(f"{violation.law}-{violation.fingerprint}-*.jsonl")
        again = replay(path, target)
        assert again.failing
        assert again.shows is not None
        assert (again.shows.law.id, again.shows.op) == (violation.law, again.file.header["at"])
        assert again.shows.expected
        assert again.shows.observed
        assert not replay(path, resolve("reference")).failing


def test_the_catalogue_names_what_exists() -> None:
    for name, fault in faults.CATALOGUE.items():
        assert name == fault.name
        assert fault.laws
        assert set(fault.laws) <= set(CATALOGUE)
        assert fault.what.endswith(".")
        assert fault.resembles


def test_a_fault_is_one_change_to_the_reference() -> None:
    reference = type(resolve("reference").adapter)
    for name, fault in faults.CATALOGUE.items():
        adapter = resolve(f"fault:{name}").adapter
        assert isinstance(adapter, reference)
        assert adapter.manager_class is fault.manager
        assert reference.manager_class in fault.manager.__mro__[1:]
