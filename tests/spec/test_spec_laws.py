"""The catalogue is well formed, and every law is either proved about the rules or has a reason why not."""

from __future__ import annotations

import re

import pytest

from kvspec.laws import CATALOGUE
from kvspec.theorems import OBLIGATIONS, UNPROVED
from kvspec.theorems.obligation import PROOFS, Kind
from kvspec.vocabulary import GUARDED, Level

PROVED = {obligation.law for obligation in OBLIGATIONS if obligation.kind in PROOFS}
REFUTED = {obligation.law for obligation in OBLIGATIONS if obligation.kind is Kind.REFUTATION}


@pytest.mark.parametrize("law", list(CATALOGUE.values()), ids=list(CATALOGUE))
def test_its_breaking_case_breaks_it(law):
    assert isinstance(law.breaking, law.case)
    assert law.judge(law.breaking) is False


@pytest.mark.parametrize("law", list(CATALOGUE.values()), ids=list(CATALOGUE))
def test_its_id_is_area_and_name(law):
    assert re.fullmatch(r"[a-z]+\.[a-z]+(-[a-z]+)*", law.id)
    assert law.area == law.id.split(".")[0]


@pytest.mark.parametrize("law", list(CATALOGUE))
def test_it_is_proved_or_has_a_reason_why_not(law):
    assert (law in PROVED) != (law in UNPROVED)


@pytest.mark.parametrize("law", list(UNPROVED))
def test_only_laws_have_reasons(law):
    assert law in CATALOGUE
    assert len(UNPROVED[law]) > 30


def test_the_core_is_proved():
    admission = {law for law in CATALOGUE if law.startswith("admission.") and law != "admission.guard-pure"}
    accounting = {f"accounting.{name}" for name in ("refcount", "free-exact", "conservation", "no-double-free")}
    prefix = {law for law in CATALOGUE if law.startswith("prefix.")}
    assert admission | accounting | prefix <= PROVED


def test_every_must_law_of_guards_has_a_wrong_variant():
    # Forks have no guard among the rules, so there is none to bend.
    must = [law for law in CATALOGUE.values() if law.level is Level.MUST]
    about_guards = {law.id for law in must if set(law.guards) & set(GUARDED.values())}
    assert about_guards | {"admission.never-is-final", "admission.impossible-is-never"} <= REFUTED
