"""cvc5 as one of the solvers: reads the text with its own parser.

Knows cvc5, and is loaded only when it is asked for: it is not among what a plain install brings. Must not know what a
text says. While cvc5 works on a question Python waits, so that Ctrl-C is heard when that question ends.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from kvspec.solving.interrupts import raise_if_interrupted
from kvspec.solving.solver import Found, SolverMissing, in_turn

try:
    import cvc5
except ImportError:
    raise SolverMissing("cvc5 is not installed: pip install 'kvconform[crosscheck]'") from None

OPTIONS = {
    "produce-models": "true",
    # Where its other ways of instantiating quantifiers end without an answer, cvc5 tries terms one after the other.
    "enum-inst": "true",
}

FEWER_REWRITES = {"nl-ext-rewrite": "false"}
"""Products of unknowns are not rewritten by what is known of them so far. Without this, a few questions about division
run away; with it, none of them so far.
"""


class Cvc5:
    """cvc5 as a solver."""

    name = "cvc5"

    def ask(self, text: str, names: Sequence[str], timeout: float, seed: int) -> Found:
        """The answer to a text."""
        options = {**OPTIONS, "seed": str(seed), "sat-random-seed": str(seed)}
        ways = ({**options, **FEWER_REWRITES}, options)
        usual, other = (partial(_solve, chosen, text, names) for chosen in ways)
        return in_turn(usual, other, timeout)


def _solve(options: Mapping[str, str], text: str, names: Sequence[str], timeout: float) -> Found:
    terms = cvc5.TermManager()
    solver = cvc5.Solver(terms)
    for option, value in options.items():
        solver.setOption(option, value)
    solver.setOption("tlimit-per", str(max(1, round(timeout * 1000))))
    symbols = _read(text, terms, solver)
    start = time.perf_counter()
    result = solver.checkSat()
    seconds = time.perf_counter() - start
    raise_if_interrupted()
    if result.isSat():
        return Found("sat", seconds, _values(solver, symbols, names))
    if result.isUnsat():
        return Found("unsat", seconds)
    return Found("unknown", seconds, reason=f"cvc5 gave up: {result.getUnknownExplanation().name}")


SOLVER = Cvc5()


def _read(text: str, terms: Any, solver: Any) -> Any:
    """Put to the solver what the text says before it asks; the symbols that the text declares."""
    symbols = cvc5.SymbolManager(terms)
    parser = cvc5.InputParser(solver, symbols)
    parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, text, "the question")
    while True:
        command = parser.nextCommand()
        if command.isNull() or command.getCommandName() == "check-sat":
            return symbols
        # Told the answer that is expected, cvc5 fails on any other instead of giving it.
        if command.getCommandName() != "set-info":
            _carry_out(command, solver, symbols)


def _carry_out(command: Any, solver: Any, symbols: Any) -> None:
    said = command.invoke(solver, symbols).strip()
    if said:
        raise ValueError(f"cvc5 does not take {command}: {said}")


def _values(solver: Any, symbols: Any, names: Sequence[str]) -> dict[str, int]:
    declared = {term.getSymbol(): term for term in symbols.getDeclaredTerms()}
    return {name: int(solver.getValue(declared[name]).getIntegerValue()) for name in names}
