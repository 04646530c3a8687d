"""Bounded model checking: for each goal a shortest sequence of operations that reaches it, and the least among those.

Knows z3, the model and the meaning of goals; must not know token ids or how vectors are stored.

Least means, in this order: the fewest operations; the fewest GPU blocks, CPU blocks, slots in a block, watermark blocks;
then operation by operation the kind (in the order of `Kind`) and the arguments; then the guarded operation's argument;
then the run's lookahead. Each is fixed in turn to its minimum, so that the result is the same whatever the solver
finds first. Goals of the same length are looked for together: one question per length covers all that are left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import z3

from kvspec.edges.bits import Bits, variable
from kvspec.edges.edge import reached
from kvspec.edges.goals import Goal
from kvspec.edges.model import MOST_BLOCKS, START, Kind, Move, Order, Sizes, State, transition
from kvspec.vocabulary import Guard

MOST_OPERATIONS = 10
MOST_PROMPT = 28  # tokens: one more than what fills the largest pool can hold
MOST_LOOKAHEAD = 4
MOST_STEP = 4  # tokens that one step gives to one sequence

RANGES: dict[str, tuple[int, int]] = {
    "gpu": (1, MOST_BLOCKS),
    "cpu": (0, MOST_BLOCKS),
    "block": (1, 4),
    "watermark": (0, 2),
    "lookahead": (0, MOST_LOOKAHEAD),
}

MOST_ARGUMENT = {
    Kind.ADMIT_ONE: MOST_PROMPT,
    Kind.ADMIT_TWO: MOST_PROMPT,
    Kind.ADMIT_FILLER: MOST_PROMPT,
    Kind.STEP: MOST_STEP,
    Kind.FORK: MOST_STEP,
}


class SearchFailed(Exception):  # noqa: N818 (a situation, not a class of mistakes)
    """The search could not do what it promises; the message says for which goals."""


@dataclass(frozen=True)
class Path:
    """One sequence of operations from the empty state, with the argument of the guarded operation that ends it."""

    sizes: Sizes
    moves: tuple[Move, ...]
    argument: int


def argument_range(guard: Guard) -> tuple[int, int]:
    """The least and the most that a guarded operation's argument may be."""
    if guard is Guard.ALLOCATE:
        return 1, MOST_PROMPT
    return 0, 0 if guard is Guard.SWAP_OUT else MOST_LOOKAHEAD


def within(term: Any, least: int, most: int) -> Any:
    """Whether a term lies in a range."""
    return z3.And(term >= least, term <= most)


def new_sizes() -> Sizes:
    """A configuration that the solver chooses."""
    return Sizes(**{name: variable(name) for name in RANGES})


def sizes_in_range(sizes: Sizes) -> Any:
    """Whether a configuration is one of those searched."""
    return z3.And([within(getattr(sizes, name), *bounds) for name, bounds in RANGES.items()])


def move_in_range(move: Move) -> Any:
    """Whether the arguments of an operation are among those searched."""
    limits = [
        z3.Implies(move.kind == int(kind), z3.And(move.first <= most, move.second <= most))
        for kind, most in ((kind, MOST_ARGUMENT.get(kind, MOST_LOOKAHEAD)) for kind in Kind)
    ]
    return z3.And(within(move.first, 0, MOST_PROMPT), within(move.second, 0, MOST_STEP), *limits)


class Unrolling:
    """The model unrolled from the empty state, one operation at a time, for engines bound to the same orders."""

    def __init__(self, orders: frozenset[Order]) -> None:
        self.orders = orders
        self.solver = z3.SolverFor("QF_BV")
        self.bits = Bits()
        self.sizes = new_sizes()
        self.moves: list[Move] = []
        self.state: State = START
        self.argument = variable("argument")
        self._defined = 0
        self.solver.add(sizes_in_range(self.sizes))
        if Order.LOOKAHEAD_FIXED not in orders:
            self.solver.add(self.sizes.lookahead == 0)

    def extend(self) -> None:
        """Add one operation."""
        at = len(self.moves)
        move = Move(*(variable(f"{part}.{at}") for part in ("kind", "first", "second")))
        allowed, self.state = transition(self.bits, self.orders, self.sizes, self.state, move)
        self.moves.append(move)
        self.solver.add(move_in_range(move), allowed)
        self._define()

    def goal_term(self, goal: Goal) -> Any:
        """The goal, asked after the operations so far."""
        term = reached(self.bits, goal, self.orders, self.sizes, self.state, self.argument)
        self._define()
        return z3.And(within(self.argument, *argument_range(goal.guard)), term)

    def _define(self) -> None:
        self.solver.add(self.bits.definitions[self._defined :])
        self._defined = len(self.bits.definitions)

    def find(self, goals: Sequence[Goal]) -> Iterator[tuple[Goal, Path]]:
        """Those of the goals that the operations so far can reach, each with its least path."""
        terms = {goal: self.goal_term(goal) for goal in goals}
        left = dict(terms)
        while left:
            model = self._model(z3.Or(list(left.values())))
            if model is None:
                return
            met = [goal for goal, term in left.items() if z3.is_true(model.eval(term, model_completion=True))]
            if not met:
                raise SearchFailed("the solver's model meets none of the goals that it was asked for")
            for goal in met:
                yield goal, self._least(left.pop(goal))

    def _model(self, condition: Any) -> Any:
        self.solver.push()
        self.solver.add(condition)
        try:
            return self._check()
        finally:
            self.solver.pop()

    def _check(self, *assumptions: Any) -> Any:
        answer = self.solver.check(*assumptions)
        if answer == z3.unknown:
            raise SearchFailed(f"the solver gave up: {self.solver.reason_unknown()}")
        return self.solver.model() if answer == z3.sat else None

    def _variables(self) -> list[tuple[Any, int]]:
        """What is to be minimised, in order, with the least value of each."""
        sizes = [(getattr(self.sizes, name), RANGES[name][0]) for name in ("gpu", "cpu", "block", "watermark")]
        moves = [(term, 0) for move in self.moves for term in (move.kind, move.first, move.second)]
        return [*sizes, *moves, (self.argument, 0), (self.sizes.lookahead, 0)]

    def _least(self, goal_term: Any) -> Path:
        self.solver.push()
        self.solver.add(goal_term)
        model = self._check()
        for number, (term, least) in enumerate(self._variables()):
            value = _value(model, term)
            while value > least:
                smaller = z3.Bool(f"smaller.{number}.{value}")
                self.solver.add(z3.Implies(smaller, term < value))
                found = self._check(smaller)
                if found is None:
                    break
                model, value = found, _value(found, term)
            self.solver.add(term == value)
        self.solver.pop()
        return self._path(model)

    def _path(self, model: Any) -> Path:
        sizes = Sizes(**{name: _value(model, getattr(self.sizes, name)) for name in RANGES})
        moves = tuple(
            Move(*(_value(model, term) for term in (move.kind, move.first, move.second))) for move in self.moves
        )
        return Path(sizes, moves, _value(model, self.argument))


def _value(model: Any, term: Any) -> int:
    return int(model.eval(term, model_completion=True).as_signed_long())


Progress = Callable[[str], None]


def search(goals: Iterable[Goal], orders: frozenset[Order], progress: Progress | None = None) -> dict[Goal, Path]:
    """A least path for each goal.

    Raises SearchFailed where a goal needs more than MOST_OPERATIONS.
    """
    pending = list(goals)
    found: dict[Goal, Path] = {}
    unrolling = Unrolling(orders)
    for length in range(1, MOST_OPERATIONS + 1):
        for goal, path in unrolling.find(pending):
            found[goal] = path
            if progress is not None:
                progress(f"{goal.id}: {length} operations")
        pending = [goal for goal in pending if goal not in found]
        if not pending:
            return found
        unrolling.extend()
    names = ", ".join(goal.id for goal in pending)
    raise SearchFailed(f"not reached within {MOST_OPERATIONS} operations, and not proved unreachable: {names}")
