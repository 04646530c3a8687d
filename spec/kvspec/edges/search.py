"""Bounded model checking: for each goal a shortest sequence of operations that reaches it, and the least among those.

Knows z3, the model and the meaning of goals; must not know token ids or how vectors are stored.

Least means, in this order: the fewest operations; the least kind of each operation in turn (in the order of `Kind`); the
fewest GPU blocks, CPU blocks, slots in a block, watermark blocks; the least arguments of each operation in turn; the
least argument of the guarded operation; the least lookahead of the run. Each is fixed in turn to its minimum, so that
the result is the same whatever the solver finds first. All goals that are left are looked for together: one question
settles the kinds, and with these settled the numbers are small questions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import z3

from kvspec.edges.bits import Bits, variable
from kvspec.edges.edge import reached
from kvspec.edges.goals import Goal
from kvspec.edges.model import MOST_BLOCKS, START, Kind, Move, Order, Sizes, State, after, no_unused, transition
from kvspec.terms import truth
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


class SearchFailed(Exception):
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


class Life:
    """The model unrolled from the empty state, one operation at a time, for engines bound to the same orders.

    kinds: the kinds of the operations where they are settled; beyond those the solver chooses them.
    """

    def __init__(self, orders: frozenset[Order], kinds: Sequence[int] = ()) -> None:
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
        for kind in kinds:
            self.extend(kind)

    def extend(self, kind: int | None = None) -> None:
        """Add one operation, of this kind where one is given."""
        at = len(self.moves)
        move = Move(*(variable(f"{part}.{at}") for part in ("kind", "first", "second")))
        if kind is None:
            allowed, self.state = transition(self.bits, self.orders, self.sizes, self.state, move)
        else:
            allowed, self.state = after(self.bits, Kind(kind), self.orders, self.sizes, self.state, move)
            allowed = z3.And(truth(allowed), move.kind == kind, no_unused(self.bits, Kind(kind), move))
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

    def check(self, *assumptions: Any) -> Any:
        """A model, or None where there is none.

        Raises SearchFailed where the solver does not know.
        """
        answer = self.solver.check(*assumptions)
        if answer == z3.unknown:
            raise SearchFailed(f"the solver gave up: {self.solver.reason_unknown()}")
        return self.solver.model() if answer == z3.sat else None

    def least(self, condition: Any, terms: Sequence[Any]) -> list[int] | None:
        """The least values of the terms, each in turn, where the condition holds; None where it cannot hold.

        No term is ever negative.
        """
        self.solver.push()
        self.solver.add(condition)
        model = self.check()
        values = None if model is None else [self._fix_least(term) for term in terms]
        self.solver.pop()
        return values

    def _fix_least(self, term: Any) -> int:
        value = value_of(self.solver.model(), term)
        while value > 0:
            smaller = z3.FreshBool("smaller")
            self.solver.add(z3.Implies(smaller, term < value))
            model = self.check(smaller)
            if model is None:
                break
            value = value_of(model, term)
        self.solver.add(term == value)
        if self.check() is None:
            raise SearchFailed("a value that the solver gave does not hold any more")
        return value


def value_of(model: Any, term: Any) -> int:
    """What the solver chose for a number."""
    return int(model.eval(term, model_completion=True).as_signed_long())


class Search:
    """Looks for all goals at once among lives of the same length, and settles each goal's least life."""

    def __init__(self, orders: frozenset[Order]) -> None:
        self.orders = orders
        self.life = Life(orders)

    def longer(self) -> None:
        """Go on with lives of one operation more."""
        self.life.extend()

    def find(self, goals: Sequence[Goal]) -> Iterator[tuple[Goal, Path]]:
        """Those of the goals that lives of this length can reach, each with its least path."""
        left = {goal: self.life.goal_term(goal) for goal in goals}
        kinds = [move.kind for move in self.life.moves]
        while left:
            least = self.life.least(z3.Or(list(left.values())), kinds)
            if least is None:
                return
            yield from self._goals_of(tuple(least), left)

    def _goals_of(self, kinds: tuple[int, ...], left: dict[Goal, Any]) -> Iterator[tuple[Goal, Path]]:
        """Of the goals that are left, those that operations of these kinds reach. They are the least kinds that reach
        any of them, hence the least for each.
        """
        life = Life(self.orders, kinds)
        sizes = [getattr(life.sizes, name) for name in ("gpu", "cpu", "block", "watermark")]
        arguments = [term for move in life.moves for term in (move.first, move.second)]
        terms = [*sizes, *arguments, life.argument, life.sizes.lookahead]
        for goal in list(left):
            values = life.least(life.goal_term(goal), terms)
            if values is not None:
                del left[goal]
                yield goal, _path(kinds, values)


def _path(kinds: tuple[int, ...], values: list[int]) -> Path:
    gpu, cpu, block, watermark, *arguments, argument, lookahead = values
    moves = (Move(Kind(kind), *arguments[2 * at : 2 * at + 2]) for at, kind in enumerate(kinds))
    return Path(Sizes(gpu, cpu, block, watermark, lookahead), tuple(moves), argument)


Progress = Callable[[str], None]


def search(goals: Iterable[Goal], orders: frozenset[Order], progress: Progress | None = None) -> dict[Goal, Path]:
    """A least path for each goal.

    Raises SearchFailed where a goal needs more than MOST_OPERATIONS.
    """
    pending = list(goals)
    found: dict[Goal, Path] = {}
    lives = Search(orders)
    for length in range(1, MOST_OPERATIONS + 1):
        for goal, path in lives.find(pending):
            found[goal] = path
            if progress is not None:
                progress(f"{goal.id}: {length} operations")
        pending = [goal for goal in pending if goal not in found]
        if not pending:
            return found
        lives.longer()
    names = ", ".join(goal.id for goal in pending)
    raise SearchFailed(f"not reached within {MOST_OPERATIONS} operations, and not proved unreachable: {names}")
