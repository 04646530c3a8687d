"""Putting formulas together so that they read well: what is trivial is done at once.

Every rule here is an identity of whole numbers or of propositions, so that a formula means what the function said that
made it. Knows trees only; must not know the algebra, columns or what anything stands for.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence

from kvspec.writing.formulas import (
    And,
    Ceiling,
    Choice,
    Compare,
    Extreme,
    Iff,
    Implies,
    Not,
    Nothing,
    Number,
    One,
    Or,
    Product,
    Sum,
    Tree,
    Truth,
)

TRUE, FALSE, NOTHING = Truth(True), Truth(False), Nothing()

OPPOSITE = {"=": "≠", "≠": "=", "<": "≥", "≥": "<", ">": "≤", "≤": ">"}
TURNED = {"=": "=", "≠": "≠", "<": ">", ">": "<", "≤": "≥", "≥": "≤"}
MEANS: dict[str, Callable[[int, int], bool]] = {
    "=": operator.eq,
    "≠": operator.ne,
    "<": operator.lt,
    "≤": operator.le,
    ">": operator.gt,
    "≥": operator.ge,
}

# -- sums -----------------------------------------------------------------------------------------------

Linear = tuple[dict[Tree, int], int]
"""How often each term is added, and the number added."""


def linear(x: Tree) -> Linear:
    """A number as a sum of terms."""
    if isinstance(x, Number):
        return {}, x.value
    if isinstance(x, Sum):
        return {term: count for count, term in x.terms}, x.constant
    return {x: 1}, 0


def total(counts: dict[Tree, int], constant: int) -> Tree:
    """The sum of terms, in its shortest form."""
    terms = tuple((count, term) for term, count in counts.items() if count)
    if not terms:
        return Number(constant)
    if terms[0][0] == 1 and len(terms) == 1 and constant == 0:
        return terms[0][1]
    return Sum(terms, constant)


def plus(x: Tree, y: Tree, times_y: int = 1) -> Tree:
    """The sum of x and y, or of x and so many times y."""
    (counts, constant), (more, added) = linear(x), linear(y)
    for term, count in more.items():
        counts[term] = counts.get(term, 0) + times_y * count
    return total(counts, constant + times_y * added)


def minus(x: Tree, y: Tree) -> Tree:
    """The difference of x and y."""
    return plus(x, y, -1)


def times(x: Tree, y: Tree) -> Tree:
    """The product of x and y."""
    if isinstance(y, Number):
        x, y = y, x
    if isinstance(x, Number):
        counts, constant = linear(y)
        return total({term: x.value * count for term, count in counts.items()}, x.value * constant)
    return Product(x, y)


def ceiling(x: Tree, y: Tree) -> Tree:
    """The quotient of x and y rounded up, for y of at least 1."""
    if isinstance(x, Number) and isinstance(y, Number):
        return Number(-(-x.value // y.value))
    return x if x == Number(0) else Ceiling(x, y)


# -- comparisons ----------------------------------------------------------------------------------------


def compare(x: Tree, sign: str, y: Tree) -> Tree:
    """Two numbers compared. A number that is known stands on the right.

    What is the same on both sides stays, so that it can be read what was compared.
    """
    if isinstance(x, (Number, Nothing)):
        if isinstance(y, Number) and isinstance(x, Number):
            return Truth(MEANS[sign](x.value, y.value))
        return compare(y, TURNED[sign], x)
    if isinstance(y, Number):
        return _against(x, sign, y.value)
    return Compare(x, sign, y)


def _against(x: Tree, sign: str, value: int) -> Tree:
    """A number that is not known against one that is, with all that is known on the right."""
    counts, constant = linear(x)
    value -= constant
    if len(counts) == 1 and -1 in counts.values():
        counts, value, sign = dict.fromkeys(counts, 1), -value, TURNED[sign]
    x = total(counts, 0)
    if isinstance(x, One):
        return _one_against(x.condition, sign, value)
    if x.may_be_nothing and (sign, value) in _MEANING_NOTHING:
        return Compare(x, _MEANING_NOTHING[sign, value], NOTHING)
    return Compare(x, sign, Number(value))


_MEANING_NOTHING = {("<", 0): "=", ("≤", -1): "=", ("=", -1): "=", ("≥", 0): "≠", (">", -1): "≠", ("≠", -1): "≠"}
"""Comparisons that say of a number whether it is below 0, and how that is said of what may be nothing."""


def _one_against(condition: Tree, sign: str, value: int) -> Tree:
    if_so, if_not = MEANS[sign](1, value), MEANS[sign](0, value)
    if if_so == if_not:
        return Truth(if_so)
    return condition if if_so else negation(condition)


def equality(x: Tree, y: Tree) -> Tree:
    """Two numbers are equal, or two propositions hold together."""
    if not (x.proposition or y.proposition):
        return compare(x, "=", y)
    if isinstance(x, Truth):
        x, y = y, x
    if isinstance(y, Truth):
        return x if y.value else negation(x)
    return Iff(x, y)


# -- propositions ---------------------------------------------------------------------------------------


def negation(condition: Tree) -> Tree:
    """That it does not hold."""
    if isinstance(condition, Truth):
        return Truth(not condition.value)
    if isinstance(condition, Not):
        return condition.condition
    if isinstance(condition, Compare):
        return Compare(condition.x, OPPOSITE[condition.sign], condition.y)
    if isinstance(condition, Implies):
        return conjunction((condition.premise, negation(condition.conclusion)))
    return Not(condition)


def conjuncts(condition: Tree) -> tuple[Tree, ...]:
    """The parts that hold together."""
    if condition == TRUE:
        return ()
    return condition.parts if isinstance(condition, And) else (condition,)


def conjunction(conditions: Iterable[Tree]) -> Tree:
    """That all hold."""
    parts = tuple(dict.fromkeys(part for condition in conditions for part in conjuncts(condition)))
    if FALSE in parts:
        return FALSE
    if len(parts) < 2:
        return parts[0] if parts else TRUE
    return And(parts)


def disjunction(conditions: Iterable[Tree]) -> Tree:
    """That at least one holds."""
    found: dict[Tree, None] = {}
    for condition in conditions:
        found.update(dict.fromkeys(condition.parts if isinstance(condition, Or) else (condition,)))
    parts = tuple(part for part in found if part != FALSE)
    if TRUE in parts:
        return TRUE
    if len(parts) < 2:
        return parts[0] if parts else FALSE
    return Or(parts)


def implication(premise: Tree, conclusion: Tree) -> Tree:
    """That the one holds wherever the other does."""
    if premise == TRUE or conclusion == TRUE:
        return conclusion
    if premise == FALSE:
        return TRUE
    if conclusion == FALSE:
        return negation(premise)
    return Implies(premise, conclusion)


# -- choices --------------------------------------------------------------------------------------------


def choice(condition: Tree, then: Tree, otherwise: Tree) -> Tree:
    """The one where the condition holds, else the other."""
    if isinstance(condition, Truth):
        return then if condition.value else otherwise
    if then == otherwise:
        return then
    if then.proposition or otherwise.proposition:
        return Choice(condition, then, otherwise)
    if condition == compare(then, "≥", otherwise):
        return Extreme("max", then, otherwise)
    if condition == compare(then, "≤", otherwise):
        return Extreme("min", then, otherwise)
    difference = minus(then, otherwise)
    if difference in (Number(1), Number(-1)):
        # Plainer from the smaller of both: [c] for "1 if c, else 0", and [not c] for "0 if c, else 1".
        if then == Number(0):
            return One(negation(condition))
        return plus(otherwise, One(condition), linear(difference)[1])
    return Choice(condition, then, otherwise)


# -- what is known --------------------------------------------------------------------------------------


def decided(condition: Tree, known: Sequence[Tree]) -> Tree:
    """The condition, or its truth where one of the things known settles it."""
    for fact in known:
        if fact == condition:
            return TRUE
        if fact == negation(condition) or _apart(fact, condition):
            return FALSE
    return condition


def _apart(one: Tree, other: Tree) -> bool:
    """Whether two comparisons of the same number with known ones can not both hold."""
    if not (isinstance(one, Compare) and isinstance(other, Compare) and one.x == other.x):
        return False
    if not (isinstance(one.y, Number) and isinstance(other.y, Number)):
        return False
    a, b = one.y.value, other.y.value
    # Between and around the two bounds a comparison does not change its answer.
    tried = range(min(a, b) - 1, max(a, b) + 2)
    return not any(MEANS[one.sign](x, a) and MEANS[other.sign](x, b) for x in tried)
