"""The same text put to several solvers, and what their answers come to.

Knows how solvers are asked; must not know what an obligation makes of the answer. Two rules: whoever gives up makes the
whole unknown, and solvers that differ are a disagreement, not a majority.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kvspec.solving.questions import Question
from kvspec.solving.smtlib import text_of
from kvspec.solving.solver import Found, Solver


@dataclass(frozen=True)
class Answer:
    """What one solver said (sat, unsat, unknown), and how long it took."""

    answer: str
    seconds: float


@dataclass(frozen=True)
class Reply:
    """What became of one question. text: the text of it. founds: the answer of each solver, by name."""

    question: Question
    text: str
    founds: Mapping[str, Found]

    @property
    def answer(self) -> str:
        """What all say: sat, unsat, unknown (one of them does), or disagree (one says sat and another unsat)."""
        said = self.said
        if {"sat", "unsat"} <= said:
            return "disagree"
        return "unknown" if "unknown" in said or not said else said.pop()

    @property
    def said(self) -> set[str]:
        """All that was said."""
        return {found.answer for found in self.founds.values()}

    @property
    def reason(self) -> str | None:
        """Why the answer is neither sat nor unsat."""
        if self.answer == "disagree":
            return ", ".join(f"{name} says {found.answer}" for name, found in self.founds.items())
        return "; ".join(found.reason for found in self.founds.values() if found.reason) or None


class Asking:
    """Puts questions about one obligation to some solvers. answers: the last answer of each, with all its seconds."""

    def __init__(self, solvers: Sequence[Solver], timeout: float, seed: int) -> None:
        self.answers: dict[str, Answer] = {}
        self.timeout = timeout
        self._solvers, self._seed = solvers, seed

    def ask(self, question: Question) -> Reply:
        """What the solvers make of a question."""
        text, founds = text_of(question), {}
        for solver in self._solvers:
            found = founds[solver.name] = solver.ask(text, question.names, self.timeout, self._seed)
            before = self.answers[solver.name].seconds if solver.name in self.answers else 0.0
            self.answers[solver.name] = Answer(found.answer, before + found.seconds)
        return Reply(question, text, founds)
