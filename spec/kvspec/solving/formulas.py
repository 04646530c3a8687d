"""Solver terms as plain formulas: what is to be written down, in the words of SMT-LIB, and nothing else.

Knows z3's terms, and is the only place that takes them apart; must not know questions, nor how a text is laid out.
Whatever is not listed here is refused, so that no text is written that only one solver understands.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import z3
from z3 import z3core

from kvspec.solving.layout import Unwritable, symbol

OPERATORS: dict[int, tuple[str, str | None]] = {
    z3.Z3_OP_AND: ("and", "Bool"),
    z3.Z3_OP_OR: ("or", "Bool"),
    z3.Z3_OP_NOT: ("not", "Bool"),
    z3.Z3_OP_IMPLIES: ("=>", "Bool"),
    z3.Z3_OP_ITE: ("ite", None),
    z3.Z3_OP_EQ: ("=", "Bool"),
    z3.Z3_OP_DISTINCT: ("distinct", "Bool"),
    z3.Z3_OP_ADD: ("+", "Int"),
    z3.Z3_OP_SUB: ("-", "Int"),
    z3.Z3_OP_UMINUS: ("-", "Int"),
    z3.Z3_OP_MUL: ("*", "Int"),
    z3.Z3_OP_LT: ("<", "Bool"),
    z3.Z3_OP_LE: ("<=", "Bool"),
    z3.Z3_OP_GT: (">", "Bool"),
    z3.Z3_OP_GE: (">=", "Bool"),
    z3.Z3_OP_SELECT: ("select", None),
    z3.Z3_OP_STORE: ("store", None),
    z3.Z3_OP_TRUE: ("true", "Bool"),
    z3.Z3_OP_FALSE: ("false", "Bool"),
}
"""Every operator that may occur, with the sort of what it gives, if that is always the same. SMT-LIB 2.6 has them all,
with one meaning for every solver. There are no real numbers here: the sorts of their constants are refused.
"""


@dataclass(frozen=True, eq=False)
class Formula:
    """One term. What occurs more than once is the same object each time.

    kind: operator, number, constant, quantifier, or variable (of a quantifier). head: the operator, number or name.
    bound: of a quantifier, its variables with their sorts. index: of a variable, how many variables are bound further
    in than it is. loose: how many variables have to be bound around the term for it to mean anything.
    """

    kind: str
    head: str
    sort: str
    args: tuple[Formula, ...] = ()
    bound: tuple[tuple[str, str], ...] = ()
    index: int = 0
    loose: int = 0

    @property
    def closed(self) -> bool:
        """Whether it means the same everywhere."""
        return self.loose == 0


def parts_below(
    roots: Sequence[Formula],
    enter: Callable[[Formula], bool] = lambda term: True,
    seen: set[Formula] | None = None,
) -> list[Formula]:
    """Every term that occurs in these, each once, the parts before the whole.

    enter: whether to look inside a term. seen: terms that are left out; those found are added.
    """
    seen = set() if seen is None else seen
    found: list[Formula] = []

    def visit(term: Formula) -> None:
        if term not in seen:
            seen.add(term)
            for part in term.args if enter(term) else ():
                visit(part)
            found.append(term)

    for root in roots:
        visit(root)
    return found


class Reader:
    """Reads terms of one solver context, for as long as they live. `sorts`: the sorts that a text has to declare.

    It takes terms apart through z3's C functions: through its Python objects that takes four times as long, which every
    proof would pay for.
    """

    def __init__(self) -> None:
        self.sorts: dict[str, None] = {}
        self._context: Any = None
        self._terms: dict[int, Formula] = {}
        self._known_sorts: dict[int, str] = {}

    def read(self, term: Any) -> Formula:
        """The term as a formula. Raises Unwritable for what no text should hold."""
        self._context = term.ctx_ref()
        return self._term(term.as_ast())

    def _term(self, ast: Any) -> Formula:
        number = z3core.Z3_get_ast_id(self._context, ast)
        if number not in self._terms:
            self._terms[number] = self._new_term(ast)
        return self._terms[number]

    def _new_term(self, ast: Any) -> Formula:
        kind = z3core.Z3_get_ast_kind(self._context, ast)
        if kind == z3.Z3_APP_AST:
            return self._application(ast)
        if kind == z3.Z3_QUANTIFIER_AST:
            return self._quantifier(ast)
        if kind == z3.Z3_NUMERAL_AST:
            return Formula("number", z3core.Z3_get_numeral_string(self._context, ast), self._sort_of(ast))
        if kind == z3.Z3_VAR_AST:
            index = z3core.Z3_get_index_value(self._context, ast)
            return Formula("variable", "", self._sort_of(ast), index=index, loose=index + 1)
        raise Unwritable(f"a term of z3's kind {kind}")

    def _application(self, ast: Any) -> Formula:
        context, application = self._context, z3core.Z3_to_app(self._context, ast)
        declaration = z3core.Z3_get_app_decl(context, application)
        operator = z3core.Z3_get_decl_kind(context, declaration)
        many = z3core.Z3_get_app_num_args(context, application)
        if operator == z3.Z3_OP_UNINTERPRETED and not many:
            return Formula("constant", self._name(declaration), self._sort_of(ast))
        if operator not in OPERATORS:
            known = sorted({word for word, _ in OPERATORS.values()})
            raise Unwritable(f"{self._name(declaration)!r}, which is none of: {' '.join(known)}")
        word, sort = OPERATORS[operator]
        args = tuple([self._term(z3core.Z3_get_app_arg(context, application, i)) for i in range(many)])
        loose = max([arg.loose for arg in args], default=0)
        return Formula("operator", word, sort or self._sort_of(ast), args, loose=loose)

    def _quantifier(self, ast: Any) -> Formula:
        context = self._context
        if not z3core.Z3_is_quantifier_forall(context, ast):
            raise Unwritable("a quantifier that is not forall")
        if z3core.Z3_get_quantifier_num_patterns(context, ast):
            raise Unwritable("a quantifier with patterns: each solver has its own way with them")
        variables = range(z3core.Z3_get_quantifier_num_bound(context, ast))
        names = [self._symbol(z3core.Z3_get_quantifier_bound_name(context, ast, i)) for i in variables]
        sorts = [self._sort(z3core.Z3_get_quantifier_bound_sort(context, ast, i)) for i in variables]
        body = self._term(z3core.Z3_get_quantifier_body(context, ast))
        bound = tuple(zip(names, sorts, strict=True))
        return Formula("quantifier", "forall", "Bool", (body,), bound, loose=max(0, body.loose - len(bound)))

    def _sort_of(self, ast: Any) -> str:
        return self._sort(z3core.Z3_get_sort(self._context, ast))

    def _sort(self, sort: Any) -> str:
        number = z3core.Z3_get_ast_id(self._context, z3core.Z3_sort_to_ast(self._context, sort))
        if number not in self._known_sorts:
            self._known_sorts[number] = self._new_sort(sort)
        return self._known_sorts[number]

    def _new_sort(self, sort: Any) -> str:
        context, name = self._context, self._symbol(z3core.Z3_get_sort_name(self._context, sort))
        kind = z3core.Z3_get_sort_kind(context, sort)
        if kind == z3.Z3_ARRAY_SORT:
            index = self._sort(z3core.Z3_get_array_sort_domain(context, sort))
            return f"(Array {index} {self._sort(z3core.Z3_get_array_sort_range(context, sort))})"
        if kind == z3.Z3_UNINTERPRETED_SORT:
            self.sorts[symbol(name)] = None
            return symbol(name)
        if kind not in (z3.Z3_INT_SORT, z3.Z3_BOOL_SORT):
            raise Unwritable(f"the sort {name}")
        return name

    def _name(self, declaration: Any) -> str:
        return self._symbol(z3core.Z3_get_decl_name(self._context, declaration))

    def _symbol(self, found: Any) -> str:
        if z3core.Z3_get_symbol_kind(self._context, found) != z3.Z3_STRING_SYMBOL:
            raise Unwritable("a name that is a number")
        return str(z3core.Z3_get_symbol_string(self._context, found))
