"""The small algebra that rules and laws are written in.

One function over this algebra is both the oracle (on plain numbers, with `INTS`) and the formula that is proved
(on solver terms, with `kvspec.terms.Terms`). This file must not know the solver: the run-time check never loads it.

Beyond these methods, rules use the operators that numbers and solver terms share: + - * < <= > >= == !=.
"""

from __future__ import annotations

from typing import Any, Protocol


class Algebra(Protocol):
    """What a rule may ask of the side it runs on."""

    def ite(self, condition: Any, then: Any, otherwise: Any) -> Any:
        """`then` where the condition holds, else `otherwise`."""
        ...

    def all_of(self, *conditions: Any) -> Any:
        """Whether every condition holds."""
        ...

    def any_of(self, *conditions: Any) -> Any:
        """Whether at least one condition holds."""
        ...

    def negate(self, condition: Any) -> Any:
        """Whether the condition does not hold."""
        ...

    def implies(self, premise: Any, conclusion: Any) -> Any:
        """Whether the conclusion holds wherever the premise does."""
        ...

    def ceil_div(self, x: Any, y: Any) -> Any:
        """The least whole number q with q * y >= x, for y >= 1."""
        ...


class Ints:
    """The side of plain numbers: what the judge computes with."""

    def ite(self, condition: Any, then: Any, otherwise: Any) -> Any:
        """`then` where the condition holds, else `otherwise`."""
        return then if condition else otherwise

    def all_of(self, *conditions: Any) -> Any:
        """Whether every condition holds."""
        return all(conditions)

    def any_of(self, *conditions: Any) -> Any:
        """Whether at least one condition holds."""
        return any(conditions)

    def negate(self, condition: Any) -> Any:
        """Whether the condition does not hold."""
        return not condition

    def implies(self, premise: Any, conclusion: Any) -> Any:
        """Whether the conclusion holds wherever the premise does."""
        return (not premise) or conclusion

    def ceil_div(self, x: Any, y: Any) -> Any:
        """The least whole number q with q * y >= x, for y >= 1."""
        return -(-x // y)


INTS = Ints()
