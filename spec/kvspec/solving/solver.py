"""What a solver is to the prover: it reads a text, answers it, and gives the values of some names where it says sat.

Knows the back ends by name and loads one only when it is asked for; must not know what a text says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Protocol


@dataclass(frozen=True)
class Found:
    """One solver's answer to one text.

    answer: sat, unsat or unknown. seconds: what the check took, without reading the text. values: of the names asked
    for, where the answer is sat. reason: why the answer is unknown.
    """

    answer: str
    seconds: float
    values: Mapping[str, int] | None = None
    reason: str | None = None


class Solver(Protocol):
    """A solver that reads SMT-LIB. An interrupt from the keyboard reaches the caller of `ask`, at the latest when the
    question ends.
    """

    name: str

    def ask(self, text: str, names: Sequence[str], timeout: float, seed: int) -> Found:
        """The answer to a text that holds one check. timeout: seconds for the check. seed: for whatever the solver
        chooses at random. Each question is answered on its own, whatever was asked before.
        """
        ...


class SolverMissing(Exception):
    """The solver is not installed."""


FIRST_SHARE = 0.2
"""Of the time for a question, what a solver's usual way has for itself before another way is tried."""


def in_turn(usual: Callable[[float], Found], other: Callable[[float], Found], timeout: float) -> Found:
    """What a solver's usual way answers, or where it has no answer soon, another way of the same solver.

    Solvers are built of strategies, and each has questions on which it runs away; no two run away on the same ones.
    """
    first = usual(timeout * FIRST_SHARE)
    if first.answer != "unknown":
        return first
    second = other(timeout - first.seconds)
    return replace(second, seconds=first.seconds + second.seconds)


_BACK_ENDS = {"z3": "z3_solver", "cvc5": "cvc5_solver"}
SOLVERS = tuple(_BACK_ENDS)
"""The names of the solvers there are."""


def solver_named(name: str) -> Solver:
    """The solver of this name. Raises KeyError where there is none, SolverMissing where it is not installed."""
    module = import_module(f"kvspec.solving.{_BACK_ENDS[name]}")
    solver: Solver = module.SOLVER
    return solver
