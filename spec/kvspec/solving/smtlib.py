"""A question as one SMT-LIB 2.6 text, to be read by people and by any solver.

Knows what a text has to hold and in which order; must not know who answers it. The same question is the same text, to
the byte, whatever was asked before.
"""

from __future__ import annotations

from collections.abc import Iterator

from kvspec.laws import CATALOGUE
from kvspec.solving.formulas import Formula, Reader
from kvspec.solving.layout import List, comment, filled, flat, lines, number, symbol
from kvspec.solving.questions import LEAST, MOST, Question
from kvspec.solving.writing import Writer
from kvspec.theorems.obligation import Kind

WHY = {
    Kind.LEMMA: "unsat: nothing meets all that is given and breaks the goal",
    Kind.INDUCTION: "unsat: nothing meets all that is given and breaks the goal",
    Kind.SOUNDNESS: "unsat: nothing meets all that is given and breaks the law",
    Kind.REFUTATION: "sat: the wrong variant breaks the law, and the values show how",
    Kind.VACUITY: "sat: what is given can be, so a proof that assumes it says something",
}


def text_of(question: Question) -> str:
    """The text. Raises Unwritable where the question holds what not every solver reads."""
    return "\n".join(_Text(question).lines()) + "\n"


class _Text:
    def __init__(self, question: Question) -> None:
        self._question, self._reader = question, Reader()
        read = self._reader.read
        self._given = [(name, read(term)) for name, term in question.given]
        self._definitions = [read(term) for term in question.definitions]
        self._goal = None if question.goal is None else read(question.goal)
        goals = [] if self._goal is None else [self._goal]
        self._writer = Writer([*(term for _, term in self._given), *self._definitions, *goals])

    def lines(self) -> Iterator[str]:
        yield from self._header()
        yield from self._declarations()
        if self._question.finite:
            yield from self._ranges()
        yield from self._hypotheses()
        for term in self._definitions:
            yield from ("", "; a division, rounded up")
            yield from self._asserted(term)
        if self._goal is not None:
            yield from ("", "; not the goal")
            yield from self._asserted(self._goal, negated=True)
        yield from self._ask()

    def _header(self) -> Iterator[str]:
        obligation = self._question.obligation
        yield from comment(f"{obligation.id} ({obligation.kind.value})")
        yield from comment(obligation.statement)
        if obligation.law is not None:
            yield from comment(f"Law {obligation.law}: {CATALOGUE[obligation.law].statement}")
        yield from comment(f"The answer should be {WHY[obligation.kind]}.")
        yield "(set-info :smt-lib-version 2.6)"
        yield f"(set-info :status {self._question.expected})"
        if self._question.names:
            yield "(set-option :produce-models true)"
        yield "(set-logic ALL)"

    def _declarations(self) -> Iterator[str]:
        yield ""
        for sort in self._reader.sorts:
            yield f"(declare-sort {sort} 0)"
        sorts = {**dict.fromkeys(self._question.names, "Int"), **self._writer.constants}
        for name, sort in sorts.items():
            yield f"(declare-const {symbol(name)} {sort})"

    def _ranges(self) -> Iterator[str]:
        yield from ("", "; small numbers only: this asks for an example")
        for name in self._question.names:
            yield flat(List("assert", List("<=", number(str(LEAST)), symbol(name), number(str(MOST)))))

    def _hypotheses(self) -> Iterator[str]:
        for count, (name, term) in enumerate(self._given, 1):
            if term.head != "true":
                yield from ("", *comment(f"given, {count}: {name}" if name else f"given, {count}"))
                yield from self._asserted(term)

    def _asserted(self, term: Formula, negated: bool = False) -> Iterator[str]:
        for definition in self._writer.definitions_for(term):
            yield from lines(definition)
        written = self._writer.expression(term)
        yield from lines(List("assert", List("not", written) if negated else written))

    def _ask(self) -> Iterator[str]:
        yield from ("", "(check-sat)")
        if self._question.expected == "sat":
            *rows, last = filled([symbol(name) for name in self._question.names])
            yield from ("(get-value", *(f"  {row}" for row in rows), f"  {last})")
