"""The two sides of the algebra agree, whatever mixture of plain values and terms they are given."""

from __future__ import annotations

import itertools

import pytest
import z3

from kvspec.algebra import INTS
from kvspec.terms import Terms


def valid(a, goal):
    solver = z3.Solver()
    solver.add(*a.definitions, a.negate(goal))
    return solver.check() == z3.unsat


def as_term(value):
    return z3.BoolVal(value) if isinstance(value, bool) else z3.IntVal(value)


SIDES = (lambda value: value, as_term)


def test_no_condition_is_true_for_all_and_false_for_any():
    assert Terms().all_of() is True
    assert Terms().any_of() is False


def test_what_plain_values_settle_becomes_no_term():
    a, p = Terms(), z3.Bool("p")
    assert a.ite(True, 3, z3.Int("x")) == 3
    assert a.all_of(True, p, True).eq(p)
    assert a.all_of(p, False) is False
    assert a.any_of(p, True) is True
    assert a.implies(False, p) is True
    assert a.implies(p, False).eq(z3.Not(p))
    assert a.negate(False) is True


@pytest.mark.parametrize("name", ["all_of", "any_of", "implies"])
@pytest.mark.parametrize(("p", "q"), list(itertools.product([True, False], repeat=2)))
def test_connectives_agree(name, p, q):
    for one, two in itertools.product(SIDES, repeat=2):
        a = Terms()
        assert valid(a, getattr(a, name)(one(p), two(q)) == getattr(INTS, name)(p, q))


@pytest.mark.parametrize("condition", [True, False])
def test_choices_agree(condition):
    for one, two, three in itertools.product(SIDES, repeat=3):
        a = Terms()
        assert valid(a, a.ite(one(condition), two(3), three(5)) == INTS.ite(condition, 3, 5))
        assert valid(a, a.negate(one(condition)) == INTS.negate(condition))


@pytest.mark.parametrize(("x", "y"), list(itertools.product(range(-3, 8), range(1, 4))))
def test_divisions_agree(x, y):
    for one, two in itertools.product(SIDES, repeat=2):
        a = Terms()
        quotient = a.ceil_div(one(x), two(y))
        assert valid(a, as_term(True) if isinstance(quotient, int) else quotient == INTS.ceil_div(x, y))


def test_the_same_division_has_one_quotient():
    a, (x, y) = Terms(), z3.Ints("x y")
    assert a.ceil_div(x + 1, y).eq(a.ceil_div(x + 1, y))
    assert len(a.definitions) == 1
    assert not a.ceil_div(x, y).eq(a.ceil_div(x + 1, y))
