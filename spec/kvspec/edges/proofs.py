"""Which goals no state can meet: proved over every state of an invariant, not by giving up at a depth.

Knows z3, the model and the meaning of goals; must not know the search for paths. The invariant is itself proved: it
holds in the empty state, and every legal and approved operation keeps it. What is proved holds for every sequence of
operations of any length, for every configuration that is searched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import z3

from kvspec.algebra import Algebra
from kvspec.arithmetic import blocks_for
from kvspec.edges.bits import Bits, variable
from kvspec.edges.edge import asked, reached
from kvspec.edges.goals import Edge, Goal
from kvspec.edges.model import after, cpu_free, demand, gpu_free, held, no_unused
from kvspec.edges.search import (
    MOST_STEP,
    SearchFailed,
    argument_range,
    in_range,
    new_sizes,
    sizes_in_range,
    within,
)
from kvspec.edges.state import MOST_BLOCKS, NO_ORDERS, START, Filler, Kind, Member, Move, Order, Sizes, State


def _member(a: Algebra, orders: frozenset[Order], sizes: Sizes, state: State, seq: Member) -> Any:
    """What holds of each sequence."""
    needed = blocks_for(a, seq.seen, sizes.block)
    unseen = seq.tokens - seq.seen
    absent = a.all_of(seq.tokens == 0, seq.seen == 0, seq.blocks == 0, a.negate(seq.scheduled))
    conditions = [
        a.any_of(seq.live, absent),
        a.implies(seq.live, seq.seen >= 1),
        seq.blocks >= needed,
        seq.blocks <= MOST_BLOCKS,
        unseen >= 0,
        unseen <= MOST_STEP,
        seq.seen >= 0,
        a.implies(seq.scheduled, a.all_of(unseen == 0, a.negate(state.swapped))),
    ]
    if {Order.ONE_TOKEN, Order.TOKENS_EVERY_STEP, Order.FORK_AFTER_TOKENS} <= orders:
        conditions.append(a.implies(a.all_of(seq.live, a.negate(seq.scheduled)), unseen == 1))
    if Order.LOOKAHEAD_FIXED in orders:
        conditions.append(a.implies(sizes.lookahead == 0, seq.blocks == needed))
    return a.all_of(*conditions)


def invariant(a: Algebra, orders: frozenset[Order], sizes: Sizes, state: State) -> Any:
    """What holds in every state that an engine bound to these orders can bring about."""
    one, two = state.members
    filler = state.filler
    return a.all_of(
        *(_member(a, orders, sizes, state, seq) for seq in state.members),
        a.implies(two.live, one.live),
        a.implies(state.swapped, one.live),
        a.implies(state.forked, two.live),
        *(
            a.implies(shared, a.all_of(two.live, entry < one.blocks, entry < two.blocks))
            for entry, shared in enumerate(state.shared)
        ),
        filler.blocks >= 0,
        filler.blocks <= MOST_BLOCKS,
        a.implies(filler.blocks > 0, filler.used),
        # What lies on the CPU has once lain on the GPU.
        held(a, state) <= sizes.gpu,
        gpu_free(a, sizes, state) >= 0,
        cpu_free(a, sizes, state) >= 0,
    )


def any_state() -> State:
    """A state that the solver chooses."""

    def member(name: str) -> Member:
        live, scheduled = z3.Bool(f"{name}.live"), z3.Bool(f"{name}.scheduled")
        return Member(live, scheduled, *(variable(f"{name}.{part}") for part in ("tokens", "seen", "blocks")))

    return State(
        one=member("one"),
        two=member("two"),
        shared=tuple(z3.Bool(f"shared.{entry}") for entry in range(MOST_BLOCKS)),
        forked=z3.Bool("forked"),
        swapped=z3.Bool("swapped"),
        swap_out_pending=z3.Bool("swap_out_pending"),
        filler=Filler(
            used=z3.Bool("filler.used"),
            scheduled=z3.Bool("filler.scheduled"),
            swapped=z3.Bool("filler.swapped"),
            blocks=variable("filler.blocks"),
        ),
    )


@dataclass(frozen=True)
class Lemma:
    """A fact about what is needed, given that and what the group holds, and the edges that it puts out of reach."""

    words: str
    claim: Callable[[Any, Any], Any]
    excludes: tuple[Edge, ...]


LEMMAS = (
    Lemma(
        "Without unseen tokens and lookahead an append writes nothing: it grows no table and copies no block, so its "
        "need is 0, and no state has less than 0 blocks free.",
        lambda need, held: need == 0,
        (Edge.SHORT, Edge.NEVER, Edge.LATER),
    ),
    Lemma(
        "Without unseen tokens and lookahead only the blocks moved are needed; they have lain on the GPU before, so "
        "without a watermark they fit there once every other group is gone.",
        lambda need, held: need == held,
        (Edge.NEVER,),
    ),
)


class Unreachability:
    """Every state of the proved invariant, for engines bound to these orders.

    Raises SearchFailed where the invariant does not hold at the start or is not kept.
    """

    def __init__(self, orders: frozenset[Order]) -> None:
        self.orders = orders
        self.bits = Bits()
        self.sizes = new_sizes()
        self.state = any_state()
        self.solver = z3.SolverFor("QF_BV")
        self.argument = variable("argument")
        self.solver.add(sizes_in_range(self.sizes), invariant(self.bits, orders, self.sizes, self.state))
        self._defined = 0
        self._require_invariant()

    def _holds(self, *conditions: Any) -> bool:
        self.solver.add(self.bits.definitions[self._defined :])
        self._defined = len(self.bits.definitions)
        self.solver.push()
        self.solver.add(*conditions)
        answer = self.solver.check()
        self.solver.pop()
        if answer == z3.unknown:
            raise SearchFailed(f"the solver gave up: {self.solver.reason_unknown()}")
        return bool(answer == z3.unsat)

    def _require_invariant(self) -> None:
        start = self.bits.copy()
        at_start = invariant(start, self.orders, self.sizes, START)
        if not self._holds(*start.definitions, z3.Not(at_start)):
            raise SearchFailed("the invariant does not hold in the empty state")
        for kind in Kind:
            if not self._kept_by(kind):
                raise SearchFailed(f"{kind.name} does not keep the invariant")

    def _kept_by(self, kind: Kind) -> bool:
        bits = self.bits.copy()
        move = Move(kind, variable("first"), variable("second"))
        allowed, following = after(bits, kind, self.orders, self.sizes, self.state, move)
        kept = invariant(bits, self.orders, self.sizes, following)
        arguments = z3.And(in_range(kind, move), no_unused(bits, kind, move))
        return self._holds(*bits.definitions, arguments, allowed, z3.Not(kept))

    def proved(self, goal: Goal) -> bool:
        """Whether no state of the invariant meets the goal."""
        term = reached(self.bits, goal, self.orders, self.sizes, self.state, self.argument)
        return self._holds(within(self.argument, *argument_range(goal.guard)), term)

    def reason(self, goal: Goal) -> str:
        """Why the goal is out of reach: the first of the lemmas that is proved of all states with its features.

        Raises SearchFailed where none is.
        """
        features = asked(self.bits, goal, self.orders, self.sizes, self.state, self.argument)
        wanted, _ = demand(self.bits, goal.guard, self.sizes, self.state, self.argument)
        for lemma in LEMMAS:
            claim = lemma.claim(wanted.need, held(self.bits, self.state))
            if goal.edge in lemma.excludes and self._holds(features, z3.Not(claim)):
                return lemma.words
        raise SearchFailed(f"{goal.id} is out of reach for a reason that no lemma states")


def unreachable(goals: Iterable[Goal], orders: frozenset[Order]) -> list[Goal]:
    """Those of the goals that no state can meet."""
    proofs = Unreachability(orders)
    return [goal for goal in goals if proofs.proved(goal)]


def reasons(goals: Iterable[Goal]) -> dict[Goal, str]:
    """Those of the goals that no engine at all can reach, each with the reason."""
    proofs = Unreachability(NO_ORDERS)
    return {goal: proofs.reason(goal) for goal in goals if proofs.proved(goal)}
