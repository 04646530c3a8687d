"""The solver side of the algebra on bit-vectors: for proofs about small numbers, where whole numbers are slow.

Knows z3 and the width of a number; must not know the model. All numbers of the proofs are small (see the ranges there),
so that nothing overflows.
"""

from __future__ import annotations

from typing import Any

import z3

from kvspec.terms import Terms, truth

WIDTH = 8
"""Signed, so -128..127: products of a quotient and a block size stay below 41 * 3."""

MOST_QUOTIENT = 41


def number(x: Any) -> Any:
    """The number as a bit-vector, be it one already or a plain number."""
    return x if z3.is_expr(x) else z3.BitVecVal(x, WIDTH)


def variable(name: str) -> Any:
    """A number that the solver chooses."""
    return z3.BitVec(name, WIDTH)


class Bits(Terms):
    """Bit-vector terms. Conditions are those of `Terms`; numbers are signed."""

    def copy(self) -> Bits:
        """The same quotients so far; further ones are its own."""
        copied = Bits()
        copied.definitions = list(self.definitions)
        copied._quotients = list(self._quotients)
        return copied

    def ite(self, condition: Any, then: Any, otherwise: Any) -> Any:
        """`then` where the condition holds, else `otherwise`."""
        if isinstance(condition, bool):
            return then if condition else otherwise
        if isinstance(then, bool) or z3.is_bool(then):
            return z3.If(condition, truth(then), truth(otherwise))
        return z3.If(condition, number(then), number(otherwise))

    def ceil_div(self, x: Any, y: Any) -> Any:
        """The least whole number q with q * y >= x, for 0 <= x and y >= 1: a fresh quotient with its bounds."""
        dividend, divisor = number(x), number(y)
        for known_dividend, known_divisor, known in self._quotients:
            if dividend.eq(known_dividend) and divisor.eq(known_divisor):
                return known
        quotient = variable(f"quotient.{len(self._quotients)}")
        self._quotients.append((dividend, divisor, quotient))
        product = quotient * divisor
        bounds = z3.And(quotient >= 0, quotient <= MOST_QUOTIENT, product - divisor < dividend, dividend <= product)
        self.definitions.append(bounds)
        return quotient
