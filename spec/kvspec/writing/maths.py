"""The third side of the algebra: rules and laws run on formulas, and what comes of it can be read.

Knows the operators and the six methods of `kvspec.algebra.Algebra`; must not know any rule, law or theorem. Plain
numbers and truth values may be mixed with formulas wherever a rule does so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kvspec.writing import simplify
from kvspec.writing.formulas import Name, Number, Tree, Truth


class Written:
    """A number or a proposition that is written down as it is computed with."""

    __hash__ = None  # type: ignore[assignment]  # equality is written too

    def __init__(self, tree: Tree) -> None:
        self.tree = tree

    def __str__(self) -> str:
        """As it is written."""
        return self.tree.text

    __repr__ = __str__

    def __bool__(self) -> bool:
        raise TypeError(f"whether {self} holds is not known: rules ask the algebra")

    def __add__(self, other: Any) -> Written:
        return Written(simplify.plus(self.tree, tree_of(other)))

    def __radd__(self, other: Any) -> Written:
        return Written(simplify.plus(tree_of(other), self.tree))

    def __sub__(self, other: Any) -> Written:
        return Written(simplify.minus(self.tree, tree_of(other)))

    def __rsub__(self, other: Any) -> Written:
        return Written(simplify.minus(tree_of(other), self.tree))

    def __mul__(self, other: Any) -> Written:
        return Written(simplify.times(self.tree, tree_of(other)))

    __rmul__ = __mul__

    def __lt__(self, other: Any) -> Written:
        return Written(simplify.compare(self.tree, "<", tree_of(other)))

    def __le__(self, other: Any) -> Written:
        return Written(simplify.compare(self.tree, "≤", tree_of(other)))

    def __gt__(self, other: Any) -> Written:
        return Written(simplify.compare(self.tree, ">", tree_of(other)))

    def __ge__(self, other: Any) -> Written:
        return Written(simplify.compare(self.tree, "≥", tree_of(other)))

    def __eq__(self, other: object) -> Written:  # type: ignore[override]
        return Written(simplify.equality(self.tree, tree_of(other)))

    def __ne__(self, other: object) -> Written:  # type: ignore[override]
        return Written(simplify.negation(simplify.equality(self.tree, tree_of(other))))


def tree_of(value: Any) -> Tree:
    """The formula of a value, be it written already or a plain number or truth value."""
    if isinstance(value, Written):
        return value.tree
    if isinstance(value, bool):
        return Truth(value)
    if isinstance(value, int):
        return Number(value)
    raise TypeError(f"{value!r} can not be written as a formula")


def name(word: str) -> Written:
    """A number, a thing or a proposition that is known by its name only."""
    return Written(Name(word))


class Maths:
    """Formulas: what is read. known: what holds, so that a choice between cases that are not both possible is made."""

    def __init__(self, known: Sequence[Tree] = ()) -> None:
        self._known = known

    def ite(self, condition: Any, then: Any, otherwise: Any) -> Any:
        """`then` where the condition holds, else `otherwise`."""
        settled = simplify.decided(tree_of(condition), self._known)
        return Written(simplify.choice(settled, tree_of(then), tree_of(otherwise)))

    def all_of(self, *conditions: Any) -> Any:
        """Whether every condition holds."""
        return Written(simplify.conjunction(map(tree_of, conditions)))

    def any_of(self, *conditions: Any) -> Any:
        """Whether at least one condition holds."""
        return Written(simplify.disjunction(map(tree_of, conditions)))

    def negate(self, condition: Any) -> Any:
        """Whether the condition does not hold."""
        return Written(simplify.negation(tree_of(condition)))

    def implies(self, premise: Any, conclusion: Any) -> Any:
        """Whether the conclusion holds wherever the premise does."""
        return Written(simplify.implication(tree_of(premise), tree_of(conclusion)))

    def ceil_div(self, x: Any, y: Any) -> Any:
        """The least whole number q with q * y >= x, for y >= 1."""
        return Written(simplify.ceiling(tree_of(x), tree_of(y)))
