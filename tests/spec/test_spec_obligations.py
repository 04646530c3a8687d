"""Each obligation ends well, and the collection as a whole says something."""

from __future__ import annotations

import itertools

import pytest

from kvspec.algebra import INTS
from kvspec.prover import LEAST, MOST, discharge, doubt_about, holds
from kvspec.theorems import OBLIGATIONS
from kvspec.theorems.obligation import PROOFS, Kind

BY_ID = {obligation.id: obligation for obligation in OBLIGATIONS}


@pytest.mark.parametrize("obligation", OBLIGATIONS, ids=[obligation.id for obligation in OBLIGATIONS])
def test_it_ends_well(obligation):
    result = discharge(obligation)
    assert result.good, f"{result.status}: {result.countermodel or result.reason}"
    if obligation.kind is Kind.REFUTATION:
        the_right_rule_survives_where_the_wrong_one_fails(obligation, result.countermodel)


def the_right_rule_survives_where_the_wrong_one_fails(obligation, example):
    """Looked at where the example was found, so that nothing is asked twice."""
    assert doubt_about(obligation, example) is None
    assert not holds(obligation.build, example)
    assert holds(obligation.right, example)


def test_ids_are_unique():
    assert len(BY_ID) == len(OBLIGATIONS)


@pytest.mark.parametrize("obligation", OBLIGATIONS, ids=[obligation.id for obligation in OBLIGATIONS])
def test_it_rests_on_proofs_that_exist(obligation):
    assert all(BY_ID[name].kind in PROOFS for name in obligation.rests_on)


def test_every_proof_is_checked_to_say_something():
    proofs = {obligation.id for obligation in OBLIGATIONS if obligation.kind in PROOFS}
    checks = {name for name, o in BY_ID.items() if o.kind is Kind.VACUITY and not name.startswith("reachable.")}
    assert {f"{name}.can-fire" for name in proofs} == checks


SMALL = [o for o in OBLIGATIONS if o.kind in PROOFS and o.general is None and len(o.unknowns) <= 6]


@pytest.mark.parametrize("obligation", SMALL, ids=[obligation.id for obligation in SMALL])
def test_what_is_proved_holds_of_plain_numbers(obligation):
    met = 0
    for values in itertools.product(range(LEAST, 4), repeat=len(obligation.unknowns)):
        numbers = dict(zip(obligation.unknowns, values, strict=True))
        if numbers.get("block_size", 1) < 1:
            continue
        claim = obligation.build(INTS, **numbers)
        if all(claim.facts):
            met += 1
            assert claim.goal, numbers
    assert met
    assert MOST > 3
