"""Makes the vectors: searches, checks what was found on plain numbers, and writes it in operations and token ids.

Knows search, proofs and the vector format; must not know how any of them works inside. Goals are first looked for in
the life of a plain engine, so that as many adapters as possible can run them; what such an engine cannot reach, as
proved, is looked for with fewer restrictions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from kvspec.algebra import INTS
from kvspec.edges.edge import OFFSET, reached
from kvspec.edges.goals import Edge, Feature, Goal
from kvspec.edges.model import after
from kvspec.edges.proofs import reasons, unreachable
from kvspec.edges.replay import Asked, Replay
from kvspec.edges.search import Path, SearchFailed, search
from kvspec.edges.state import CALM_ORDERS, ENGINE_ORDERS, START, Kind, Move, Order, State
from kvspec.edges.vectors import Unreachable, Vector, Vectors
from kvspec.vocabulary import (
    GUARDED,
    NEEDS,
    Allocate,
    Append,
    Capability,
    Config,
    Fork,
    Free,
    Guard,
    Operation,
    Step,
    SwapIn,
    SwapOut,
    Verdict,
)

GROUP, FIRST, SECOND = 1, 1, 2
FILLER_GROUP, FILLER = 2, 3

TOKEN = {FIRST: 1, SECOND: 2, FILLER: 2}
"""Each sequence repeats one token. The second shares the first's prompt and then diverges at once; the filler's first
token differs from the group's, so that no prefix is ever shared with it."""

MAX_MODEL_LEN = 64
"""Longer than anything here: no vector is about the longest sequence."""


def generate_all(goals: Sequence[Goal], progress: Callable[[str], None] | None = None) -> Vectors:
    """A vector or a proof for each goal."""
    tell = progress or (lambda line: None)
    tell("proving which goals no engine can reach")
    never = reasons(goals)
    possible = [goal for goal in goals if goal not in never]
    tell("proving which goals a plain engine cannot reach")
    other = set(unreachable(possible, ENGINE_ORDERS)) if possible else set()
    plain = [goal for goal in possible if goal not in other]
    vectors = _searched(plain, ENGINE_ORDERS, tell) + _searched([g for g in possible if g in other], CALM_ORDERS, tell)
    entries = (Unreachable(goal.id, goal.words, reason) for goal, reason in never.items())
    return Vectors(tuple(sorted(vectors, key=lambda v: v.id)), tuple(sorted(entries, key=lambda e: e.id)))


def _searched(goals: Sequence[Goal], orders: frozenset[Order], tell: Callable[[str], None]) -> list[Vector]:
    return [vector_of(goal, path, orders) for goal, path in search(goals, orders, tell).items()]


def vector_of(goal: Goal, path: Path, orders: frozenset[Order]) -> Vector:
    """The vector that a path stands for.

    Raises SearchFailed where plain numbers do not confirm it, be it by the model's own rules or by counting blocks.
    """
    _confirm_by_rules(goal, path, orders)
    operations = _operations(goal, path, orders)
    config = Config(path.sizes.block, path.sizes.gpu, path.sizes.cpu, path.sizes.watermark, MAX_MODEL_LEN)
    asked = _confirm_by_counting(goal, config, operations)
    expects = [Verdict.OK if op.op in GUARDED else None for op in operations[:-1]]
    return Vector(
        id=goal.id,
        goal=goal.words,
        laws=_laws(goal, asked.verdict),
        needs=_needs(goal, config, operations),
        orders=tuple(sorted(order.value for order in orders)),
        config=config,
        operations=tuple(operations),
        expects=(*expects, asked.verdict),
        why=_why(goal, asked),
    )


# -- confirming -------------------------------------------------------------------------------------------------------


def _states(path: Path, orders: frozenset[Order]) -> list[State]:
    states = [START]
    for move in path.moves:
        possible, following = after(INTS, Kind(move.kind), orders, path.sizes, states[-1], move)
        if not possible:
            raise SearchFailed(f"plain numbers do not allow {move} after {states[-1]}")
        states.append(following)
    return states


def _confirm_by_rules(goal: Goal, path: Path, orders: frozenset[Order]) -> None:
    if not reached(INTS, goal, orders, path.sizes, _states(path, orders)[-1], path.argument):
        raise SearchFailed(f"plain numbers do not confirm that {goal.id} is reached")


def _confirm_by_counting(goal: Goal, config: Config, operations: Iterable[Operation]) -> Asked:
    replay = Replay(config)
    answers = [replay.perform(op) for op in operations]
    *earlier, last = answers
    if any(asked is not None and asked.verdict is not Verdict.OK for asked in earlier):
        raise SearchFailed(f"counting blocks refuses an earlier operation of {goal.id}")
    if last is None or not _on_edge(goal.edge, last):
        raise SearchFailed(f"counting blocks does not confirm that {goal.id} is reached: {last}")
    return last


def _on_edge(edge: Edge, asked: Asked) -> bool:
    if edge is Edge.NEVER:
        return asked.spare == OFFSET[edge] and asked.verdict is Verdict.NEVER
    if edge is Edge.LATER:
        return asked.spare == OFFSET[edge] and asked.verdict is Verdict.LATER
    return asked.slack == OFFSET[edge]


# -- writing it in operations -----------------------------------------------------------------------------------------


def _operations(goal: Goal, path: Path, orders: frozenset[Order]) -> list[Operation]:
    states = _states(path, orders)
    operations = [_operation(move, state, orders) for move, state in zip(path.moves, states, strict=False)]
    return [*operations, _last(goal, path.argument)]


def _operation(move: Move, state: State, orders: frozenset[Order]) -> Operation:
    kind = Kind(move.kind)
    if kind is Kind.STEP:
        return Step(_step_tokens(move, state, orders))
    if kind in (Kind.ADMIT_ONE, Kind.ADMIT_TWO):
        return _admission(kind is Kind.ADMIT_TWO, move.first)
    if kind is Kind.FORK:
        return Fork(FIRST, SECOND, _ids(SECOND, move.first))
    simple: dict[Kind, Operation] = {
        Kind.ADMIT_FILLER: Allocate(FILLER_GROUP, (FILLER,), _ids(FILLER, move.first)),
        Kind.APPEND: Append(GROUP, move.first),
        Kind.SWAP_OUT: SwapOut(GROUP),
        Kind.SWAP_OUT_FILLER: SwapOut(FILLER_GROUP),
        Kind.SWAP_IN: SwapIn(GROUP, move.first),
        Kind.FREE_FILLER: Free(FILLER),
    }
    return simple[kind]


def _last(goal: Goal, argument: int) -> Operation:
    if goal.guard is Guard.ALLOCATE:
        return _admission(Feature.SIBLINGS in goal.features, argument)
    if goal.guard is Guard.SWAP_OUT:
        return SwapOut(GROUP)
    return Append(GROUP, argument) if goal.guard is Guard.APPEND else SwapIn(GROUP, argument)


def _admission(two: bool, tokens: int) -> Allocate:
    return Allocate(GROUP, (FIRST, SECOND) if two else (FIRST,), _ids(FIRST, tokens))


def _ids(seq: int, tokens: int) -> tuple[int, ...]:
    return (TOKEN[seq],) * tokens


def _step_tokens(move: Move, state: State, orders: frozenset[Order]) -> dict[int, tuple[int, ...]]:
    """The filler's tokens matter to nobody: it gets one where every scheduled sequence must."""
    due = int(bool(state.filler.scheduled) and Order.TOKENS_EVERY_STEP in orders)
    given = {FIRST: move.first, SECOND: move.second, FILLER: due}
    return {seq: _ids(seq, tokens) for seq, tokens in given.items() if tokens}


# -- what it is for ---------------------------------------------------------------------------------------------------


def _laws(goal: Goal, verdict: Verdict) -> tuple[str, ...]:
    name = goal.guard.value.replace("_", "-")
    laws = {f"admission.sound-{name}"}
    if verdict is Verdict.OK:
        laws.add(f"admission.precise-{name}")
        if Feature.WATERMARK in goal.features and goal.guard in (Guard.ALLOCATE, Guard.SWAP_IN):
            laws.add("admission.watermark")
    else:
        laws.add("admission.never-is-final" if verdict is Verdict.NEVER else "admission.impossible-is-never")
    return tuple(sorted(laws))


def _needs(goal: Goal, config: Config, operations: Iterable[Operation]) -> tuple[Capability, ...]:
    """Telling LATER from NEVER is needed only where that is the goal; elsewhere a guard may just say no."""
    needs = {Capability(f"guard-{goal.guard.value.replace('_', '-')}")}
    for op in operations:
        needs.update(NEEDS[op.op])
        if isinstance(op, SwapIn):
            needs.add(Capability.APPEND)  # every resumed sequence is appended to
        if getattr(op, "lookahead", 0):
            needs.add(Capability.LOOKAHEAD)
        if isinstance(op, Allocate) and len(op.seqs) > 1:
            needs.add(Capability.GROUPS)
    if config.watermark_blocks:
        needs.add(Capability.WATERMARK)
    if goal.edge in (Edge.NEVER, Edge.LATER):
        needs.add(Capability.THREE_VALUED)
    return tuple(sorted(needs, key=lambda need: need.value))


def _why(goal: Goal, asked: Asked) -> str:
    pool = "CPU" if goal.guard is Guard.SWAP_OUT else "GPU"
    return (
        f"{pool} blocks: free {asked.free}, need {asked.need}, reserve {asked.reserve}, attainable {asked.attainable}; "
        f"slack {asked.slack}, so {asked.verdict.value}"
    )
