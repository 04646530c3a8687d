"""Bounded model checking: for each goal a shortest sequence of operations that reaches it, and the least among those.

Knows z3, the model and the meaning of goals; must not know token ids or how vectors are stored.

Least means, in this order: the fewest operations; the least kind of each operation in turn (in the order of `Kind`);
the fewest GPU blocks, CPU blocks, slots in a block, watermark blocks; the least arguments of each operation in turn;
the least argument of the guarded operation; the least lookahead of the run.

The kinds of operations are enumerated (only a few thousand orders of them make sense), the numbers are the solver's:
each is fixed in turn to its minimum, so that the result is the same whatever the solver finds first. With the kinds
left to the solver too, lives of eight operations took it minutes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import z3

from kvspec.edges.bits import Bits, variable
from kvspec.edges.edge import reached
from kvspec.edges.goals import Feature, Goal
from kvspec.edges.model import after, legal, no_unused, step_matters
from kvspec.edges.state import MOST_BLOCKS, START, Kind, Move, Order, Sizes, State
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


def in_range(kind: Kind, move: Move) -> Any:
    """Whether the arguments of an operation of this kind are among those searched."""
    first = within(move.first, 0, MOST_ARGUMENT.get(kind, MOST_LOOKAHEAD))
    return z3.And(first, within(move.second, 0, MOST_STEP))


@dataclass(frozen=True)
class Life:
    """A sequence of operations of settled kinds from the empty state; the solver chooses the sizes and the arguments.

    conditions: that every operation so far is legal and approved.
    """

    orders: frozenset[Order]
    sizes: Sizes
    moves: tuple[Move, ...] = ()
    state: State = START
    conditions: tuple[Any, ...] = ()
    bits: Bits = field(default_factory=Bits)

    def longer(self) -> Iterator[Life]:
        """The lives of one operation more, the least kind first."""
        for kind in Kind:
            life = self._extended(kind)
            if life is not None:
                yield life

    def _extended(self, kind: Kind) -> Life | None:
        """None where no engine bound to these orders goes on so, whatever the numbers, or where it is pointless: a
        step that changes nothing is in no shortest life.
        """
        if kind is Kind.STEP and not step_matters(self.state):
            return None
        bits = self.bits.copy()
        at = len(self.moves)
        move = Move(kind, variable(f"first.{at}"), variable(f"second.{at}"))
        allowed, state = after(bits, kind, self.orders, self.sizes, self.state, move)
        if z3.is_false(z3.simplify(truth(allowed))):
            return None
        arguments = z3.And(in_range(kind, move), no_unused(bits, kind, move))
        return replace(
            self,
            moves=(*self.moves, move),
            state=state,
            conditions=(*self.conditions, allowed, arguments),
            bits=bits,
        )

    def may_reach(self, goal: Goal) -> bool:
        """Whether the goal's guard may be asked now, of a group that came about as the goal says."""
        pair = self.state.two.live
        if goal.guard is not Guard.ALLOCATE and (
            (Feature.FORK in goal.features) != (pair and self.state.forked)
            or (Feature.SIBLINGS in goal.features) != (pair and not self.state.forked)
        ):
            return False
        may_ask = legal(self.bits, goal.guard, self.orders, self.sizes, self.state, ARGUMENT)
        return not z3.is_false(z3.simplify(truth(may_ask)))


ARGUMENT = variable("argument")
"""The argument of the guarded operation that ends a life."""


def value_of(model: Any, term: Any) -> int:
    """What the solver chose for a number."""
    return int(model.eval(term, model_completion=True).as_signed_long())


class Search:
    """Looks for goals among lives of one length after the other, the least kinds of operations first."""

    def __init__(self, orders: frozenset[Order]) -> None:
        self.sizes = new_sizes()
        self.solver = z3.SolverFor("QF_BV")
        self.solver.add(sizes_in_range(self.sizes))
        if Order.LOOKAHEAD_FIXED not in orders:
            self.solver.add(self.sizes.lookahead == 0)
        self.lives = [Life(orders, self.sizes)]

    def longer(self) -> None:
        """Go on with lives of one operation more."""
        self.lives = [longer for life in self.lives for longer in life.longer()]

    def find(self, goals: Sequence[Goal]) -> Iterator[tuple[Goal, Path]]:
        """Those of the goals that lives of this length can reach, each with its least path."""
        left = list(goals)
        for life in self.lives:
            candidates = [goal for goal in left if life.may_reach(goal)]
            for goal, path in self._find_in(life, candidates):
                left.remove(goal)
                yield goal, path

    def _find_in(self, life: Life, goals: Sequence[Goal]) -> Iterator[tuple[Goal, Path]]:
        if not goals:
            return
        bits = life.bits.copy()
        terms = {goal: self._term(bits, life, goal) for goal in goals}
        self.solver.push()
        self.solver.add(*life.conditions, *bits.definitions)
        if self._least(z3.Or(list(terms.values())), []) is not None:
            for goal, term in terms.items():
                values = self._least(term, self._numbers(life))
                if values is not None:
                    yield goal, _path(life, values)
        self.solver.pop()

    def _term(self, bits: Bits, life: Life, goal: Goal) -> Any:
        term = reached(bits, goal, life.orders, life.sizes, life.state, ARGUMENT)
        return z3.And(within(ARGUMENT, *argument_range(goal.guard)), term)

    def _numbers(self, life: Life) -> list[Any]:
        """What is to be minimised, in order."""
        sizes = [getattr(self.sizes, name) for name in ("gpu", "cpu", "block", "watermark")]
        arguments = [term for move in life.moves for term in (move.first, move.second)]
        return [*sizes, *arguments, ARGUMENT, self.sizes.lookahead]

    def _least(self, condition: Any, terms: Sequence[Any]) -> list[int] | None:
        """The least values of the terms, each in turn, where the condition holds; None where it cannot hold.

        No term is ever negative.
        """
        self.solver.push()
        self.solver.add(condition)
        model = self._check()
        values = []
        for term in terms if model is not None else ():
            value, model = self._fix_least(model, term)
            values.append(value)
        self.solver.pop()
        return None if model is None else values

    def _fix_least(self, model: Any, term: Any) -> tuple[int, Any]:
        """The least value of the term, which is then fixed, and a model in which it has that value."""
        value = value_of(model, term)
        while value > 0:
            smaller = z3.FreshBool("smaller")
            self.solver.add(z3.Implies(smaller, term < value))
            found = self._check(smaller)
            if found is None:
                break
            model, value = found, value_of(found, term)
        self.solver.add(term == value)
        return value, model

    def _check(self, *assumptions: Any) -> Any:
        answer = self.solver.check(*assumptions)
        if answer == z3.unknown:
            raise SearchFailed(f"the solver gave up: {self.solver.reason_unknown()}")
        return self.solver.model() if answer == z3.sat else None


def _path(life: Life, values: list[int]) -> Path:
    gpu, cpu, block, watermark, *arguments, argument, lookahead = values
    moves = (Move(move.kind, *arguments[2 * at : 2 * at + 2]) for at, move in enumerate(life.moves))
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
