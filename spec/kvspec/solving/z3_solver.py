"""z3 as one of the solvers: reads the text with its own parser, in a context of its own.

Knows z3; must not know what a text says.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import z3

from kvspec.solving.interrupts import stopped_by
from kvspec.solving.solver import Found, in_turn

_SEEDS = ("smt.random_seed", "sat.random_seed", "nlsat.seed")
"""z3 is several solvers, each with a seed of its own. They can be set for the whole process only."""


class Z3:
    """z3 as a solver. Each question has a context of its own: the same question is the same run each time."""

    name = "z3"

    def ask(self, text: str, names: Sequence[str], timeout: float, seed: int) -> Found:
        """The answer to a text."""
        with _seeded(seed):
            # z3's core is four times as fast as z3 with the strategies that it would choose itself.
            core, strategies = (partial(_solve, make, text, names) for make in (z3.SimpleSolver, z3.Solver))
            return in_turn(core, strategies, timeout)


def _solve(make: Callable[..., Any], text: str, names: Sequence[str], timeout: float) -> Found:
    context = z3.Context()
    solver = make(ctx=context)
    solver.from_string(text)
    start = time.perf_counter()
    answer, reason = check(solver, timeout)
    seconds = time.perf_counter() - start
    values = None
    if answer == "sat":
        model = solver.model()
        values = {name: value_of(model, z3.Int(name, context)) for name in names}
    return Found(answer, seconds, values, reason)


SOLVER = Z3()


def check(solver: Any, timeout: float, *assumed: Any) -> tuple[str, str | None]:
    """The answer to what the solver holds, and where that is unknown the reason.

    z3 is kept from catching Ctrl-C: it would answer unknown, which is not what the user meant.
    """
    solver.set(timeout=max(1, round(timeout * 1000)), ctrl_c=False)
    with stopped_by(solver.ctx.interrupt):
        answer = str(solver.check(*assumed))
    return answer, f"z3 gave up: {solver.reason_unknown()}" if answer == "unknown" else None


def value_of(model: Any, term: Any) -> int:
    """The value of a number in a model; of one that may be anything, some number."""
    return int(model.eval(term, model_completion=True).as_long())


@contextmanager
def _seeded(seed: int) -> Iterator[None]:
    for name in _SEEDS:
        z3.set_param(name, seed)
    try:
        yield
    finally:
        for name in _SEEDS:
            z3.set_param(name, 0)
