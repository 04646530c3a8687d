"""Formulas as SMT-LIB expressions, where a long part that occurs more than once is written once, under a name.

Knows formulas and the syntax; must not know questions, nor any solver. Without names some questions would be a million
times as long: an operation performed block by block says at each block everything that led to it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from kvspec.solving.formulas import Formula, parts_below
from kvspec.solving.layout import Expression, List, number, symbol

LONG = 60
"""Characters from which on a part that occurs again gets a name. Names spare reading; too many of them hinder it."""

PART = "part"
"""What the names of parts begin with."""


def fresh(base: str, taken: set[str]) -> str:
    """The name, or the first of name.2, name.3, ... that is not taken; it is taken from now on."""
    name, count = base, 1
    while name in taken:
        count += 1
        name = f"{base}.{count}"
    taken.add(name)
    return name


class Writer:
    """Writes the formulas of one question. Which parts have names is settled by all of them together."""

    def __init__(self, formulas: Sequence[Formula]) -> None:
        self.constants = {f.head: f.sort for f in parts_below(formulas) if f.kind == "constant"}
        self._taken = set(self.constants)
        self._seen: set[Formula] = set()
        parts = repeated(formulas, lambda term: True, lambda term: term.closed)
        self._names = {term: fresh(f"{PART}.{count}", self._taken) for count, term in enumerate(parts, 1)}

    def definitions_for(self, formula: Formula) -> Iterator[Expression]:
        """The definitions of those parts of the formula that no formula before it needed."""
        for part in parts_below([formula], seen=self._seen):
            if part in self._names:
                yield List("define-fun", self._names[part], "()", part.sort, self._spelt(part, (), self._names))

    def expression(self, formula: Formula) -> Expression:
        """The formula."""
        return self._named(formula, (), self._names)

    def _named(self, term: Formula, scope: tuple[str, ...], names: dict[Formula, str]) -> Expression:
        return names[term] if term in names else self._spelt(term, scope, names)

    def _spelt(self, term: Formula, scope: tuple[str, ...], names: dict[Formula, str]) -> Expression:
        """scope: the names of the variables that are bound here, the innermost last."""
        if term.kind == "variable":
            return symbol(scope[-1 - term.index])
        if term.kind == "quantifier":
            return self._quantifier(term, scope)
        if term.kind == "number":
            return number(term.head)
        if term.kind == "constant":
            return symbol(term.head)
        if not term.args:
            return term.head
        return List(term.head, *[self._named(arg, scope, names) for arg in term.args])

    def _quantifier(self, term: Formula, scope: tuple[str, ...]) -> Expression:
        taken = self._taken | set(scope)
        variables = [fresh(name, taken) for name, _ in term.bound]
        bound = List(*(List(symbol(v), sort) for v, (_, sort) in zip(variables, term.bound, strict=True)))
        return List(term.head, bound, self._body(term.args[0], (*scope, *variables), taken))

    def _body(self, body: Formula, scope: tuple[str, ...], taken: set[str]) -> Expression:
        """What a quantifier speaks of. A part that is about its variables cannot have a name outside of it."""
        parts = repeated(
            [body],
            lambda term: not term.closed and term.kind != "quantifier",
            lambda term: not term.closed,
            self._names,
        )
        names, bindings = dict(self._names), []
        for count, part in enumerate(parts, 1):
            spelt = self._spelt(part, scope, names)
            names[part] = fresh(f"local.{count}", taken)
            bindings.append(List(names[part], spelt))
        written = self._named(body, scope, names)
        for binding in reversed(bindings):
            written = List("let", List(binding), written)
        return written


def repeated(
    roots: Sequence[Formula],
    enter: Callable[[Formula], bool],
    may: Callable[[Formula], bool],
    named: Iterable[Formula] = (),
) -> list[Formula]:
    """The terms that deserve a name: long, and there more than once. Those that may, the parts before the whole.

    enter: whether to look inside a term. named: those that have a name already.
    """
    terms = parts_below(roots, enter)
    times = Counter(roots) + Counter(arg for term in terms if enter(term) for arg in term.args)
    length, chosen = {term: len(PART) + 3 for term in named}, []
    for term in terms:
        if term not in length:
            length[term] = len(term.head) + 3 + sum(1 + length[arg] for arg in term.args if arg in length)
            if times[term] > 1 and term.args and length[term] > LONG and may(term):
                length[term] = len(PART) + 3
                chosen.append(term)
    return chosen
