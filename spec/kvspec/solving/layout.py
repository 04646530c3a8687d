"""How SMT-LIB is put on lines: symbols, numbers, comments, and long expressions broken and indented.

Knows the syntax of SMT-LIB 2.6; must not know any solver, nor what a text says.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence

WIDTH = 100


class List:
    """A list of expressions, with how it looks on one line."""

    __slots__ = ("items", "text")

    def __init__(self, *items: Expression) -> None:
        self.items = items
        self.text = f"({' '.join([flat(item) for item in items])})"


Expression = str | List
"""An atom as it is written, or a list."""

_SIMPLE = re.compile(r"[A-Za-z~!$%^&*_+=<>?/-][0-9A-Za-z~!@$%^&*_+=<>.?/-]*")
_TAKEN = frozenset(
    (
        *("!", "_", "as", "BINARY", "DECIMAL", "exists", "HEXADECIMAL", "forall", "let", "match", "NUMERAL", "par"),
        *("STRING", "Int", "Bool", "Array", "true", "false", "not", "and", "or", "xor", "=>", "ite", "=", "distinct"),
        *("+", "-", "*", "div", "mod", "abs", "<", "<=", ">", ">=", "select", "store"),
    )
)
"""Words that mean something already. Quoting does not help: some solvers take |and| for and."""

BESIDE = {"define-fun": 3, **dict.fromkeys(("and", "or", "+", "*", "distinct", "assert"), 0)}
"""How many arguments stay beside an operator whose list is broken, where they are short enough: 1, unless said here.
Those of `and` and its like are equals, and each has a line of its own.
"""


class Unwritable(ValueError):
    """What SMT-LIB, or one of the solvers, has no word for."""


def symbol(name: str) -> str:
    """The name as a symbol, quoted where it has to be. Raises Unwritable for a name that cannot be one."""
    if name in _TAKEN or re.search(r"[|\\]", name) or not name.isprintable() or name.startswith(("@", ".")):
        raise Unwritable(f"the name {name!r}")
    return name if _SIMPLE.fullmatch(name) else f"|{name}|"


def number(value: str) -> Expression:
    """A whole number; SMT-LIB has no negative ones."""
    return List("-", value[1:]) if value.startswith("-") else value


def comment(text: str) -> list[str]:
    """The text as comment lines."""
    return textwrap.wrap(text, WIDTH, initial_indent="; ", subsequent_indent="; ", break_on_hyphens=False)


def flat(expression: Expression) -> str:
    """The expression on one line."""
    return expression if isinstance(expression, str) else expression.text


def lines(expression: Expression) -> list[str]:
    """The expression on as many lines as it needs."""
    return _broken(expression, 0, 0)


def filled(items: Sequence[str]) -> list[str]:
    """A long list of names, on as few lines as it fits on."""
    rows = [f"({items[0]}"]
    for item in items[1:]:
        if len(rows[-1]) + 1 + len(item) < WIDTH:
            rows[-1] += f" {item}"
        else:
            rows.append(f"  {item}")
    rows[-1] += ")"
    return rows


def _broken(expression: Expression, indent: int, closing: int) -> list[str]:
    """`closing`: how many brackets of enclosing lists will follow on the last line."""
    if isinstance(expression, str) or len(expression.text) + indent + closing <= WIDTH:
        return [" " * indent + flat(expression)]
    first, rest = _first_line(expression.items, indent)
    broken = [" " * indent + first]
    for item in rest[:-1]:
        broken += _broken(item, indent + 2, 0)
    broken += _broken(rest[-1], indent + 2, closing + 1)
    broken[-1] += ")"
    return broken


def _first_line(items: tuple[Expression, ...], indent: int) -> tuple[str, tuple[Expression, ...]]:
    """What stands on the first line of a list that is broken, and what is left for lines of their own."""
    beside = BESIDE.get(flat(items[0]), 1)
    first = f"({' '.join(map(flat, items[: 1 + beside]))}"
    if len(items) > 1 + beside and indent + len(first) <= WIDTH:
        return first, items[1 + beside :]
    return f"({flat(items[0])}", items[1:]
