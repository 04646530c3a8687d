"""The solver side of the algebra: the same rules and laws, on z3 terms instead of numbers.

Knows z3 and the six methods of `kvspec.algebra.Algebra`; must not know any rule, law or theorem. Plain numbers and
truth values may be mixed with terms wherever a rule does so; what plain values settle becomes no term, and where they
settle everything the result is a plain value too (`truth` makes a term of it).
"""

from __future__ import annotations

from typing import Any

import z3


def truth(condition: Any) -> Any:
    """The condition as a term, be it a term already or a plain truth value."""
    return condition if z3.is_expr(condition) else z3.BoolVal(bool(condition))


class Terms:
    """Solver terms: what the prover poses.

    `definitions` say what the fresh quotients mean. They belong to the hypotheses of any goal built with this object:
    a quotient always exists for a block size of at least 1, so they never make hypotheses contradictory. They are not
    for use under a quantifier, where one quotient would have to serve all values.
    """

    def __init__(self) -> None:
        self.definitions: list[Any] = []
        self._quotients: list[tuple[Any, Any, Any]] = []

    def ite(self, condition: Any, then: Any, otherwise: Any) -> Any:
        """`then` where the condition holds, else `otherwise`."""
        if not z3.is_expr(condition):
            return then if condition else otherwise
        return z3.If(condition, then, otherwise)

    def all_of(self, *conditions: Any) -> Any:
        """Whether every condition holds."""
        terms = [condition for condition in conditions if z3.is_expr(condition)]
        if not all(condition for condition in conditions if not z3.is_expr(condition)):
            return False
        return z3.And(terms) if len(terms) > 1 else terms[0] if terms else True

    def any_of(self, *conditions: Any) -> Any:
        """Whether at least one condition holds."""
        terms = [condition for condition in conditions if z3.is_expr(condition)]
        if any(condition for condition in conditions if not z3.is_expr(condition)):
            return True
        return z3.Or(terms) if len(terms) > 1 else terms[0] if terms else False

    def negate(self, condition: Any) -> Any:
        """Whether the condition does not hold."""
        return z3.Not(condition) if z3.is_expr(condition) else not condition

    def implies(self, premise: Any, conclusion: Any) -> Any:
        """Whether the conclusion holds wherever the premise does."""
        if not z3.is_expr(premise):
            return conclusion if premise else True
        if not z3.is_expr(conclusion):
            return True if conclusion else z3.Not(premise)
        return z3.Implies(premise, conclusion)

    def ceil_div(self, x: Any, y: Any) -> Any:
        """The least whole number q with q * y >= x, for y >= 1.

        Division by a symbolic number is where solvers give up; a fresh quotient with its two bounds is not. The same
        division gives the same quotient, which spares the solver a proof that two of them are equal.
        """
        if not z3.is_expr(x) and not z3.is_expr(y):
            return -(-x // y)
        dividend, divisor = _number(x), _number(y)
        for known_dividend, known_divisor, known in self._quotients:
            if dividend.eq(known_dividend) and divisor.eq(known_divisor):
                return known
        # Numbered by this object and not by the solver: an exported problem is the same file each time.
        quotient = z3.Int(f"quotient.{len(self._quotients)}")
        self._quotients.append((dividend, divisor, quotient))
        self.definitions.append(z3.And((quotient - 1) * divisor < dividend, dividend <= quotient * divisor))
        return quotient


def _number(x: Any) -> Any:
    return x if z3.is_expr(x) else z3.IntVal(x)
