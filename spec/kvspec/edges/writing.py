"""Writes a life in operations and token ids, as the vector that it is.

Knows the vector format and how a path is confirmed; must not know how it was found. Every path is performed again by
the model's own rules on plain numbers, and by counting blocks without any of the guards' formulas.
"""

from __future__ import annotations

from collections.abc import Iterable

from kvspec.algebra import INTS
from kvspec.edges.cover import Chosen
from kvspec.edges.goals import EdgeClass, Values
from kvspec.edges.meaning import Ask, asked, sights
from kvspec.edges.model import after
from kvspec.edges.replay import Asked, Replay
from kvspec.edges.search import Path, SearchFailed
from kvspec.edges.state import START, Kind, Move, Order, State
from kvspec.edges.vectors import Vector
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

GROUP, MEMBERS = 1, (1, 2, 3)
FILLER_GROUP, FILLER = 2, 4
"""Each sequence repeats one token, its own id. All sequences of a group begin with the first one's prompt and then
diverge at once; the filler's first token differs from the group's, so that no prefix is ever shared with it."""

MAX_MODEL_LEN = 64
"""Longer than anything here: no vector is about the longest sequence."""


def vector_of(chosen: Chosen, orders: frozenset[Order]) -> Vector:
    """The vector that a path stands for.

    Raises SearchFailed where plain numbers do not confirm it, be it by the model's own rules or by counting blocks.
    """
    path, guard = chosen.path, chosen.classes[0].guard
    states = _states(path, orders)
    shows = _confirm_by_rules(chosen, orders, states[-1])
    operations = [_operation(move, state) for move, state in zip(path.moves, states, strict=False)]
    operations.append(_last(guard, path))
    sizes = path.sizes
    config = Config(sizes.block, sizes.gpu, sizes.cpu, sizes.watermark, MAX_MODEL_LEN)
    numbers = _confirm_by_counting(chosen.classes, config, operations)
    expects = [Verdict.OK if op.op in GUARDED else None for op in operations[:-1]]
    return Vector(
        id=chosen.classes[0].id,
        goal=chosen.classes[0].words,
        laws=_laws(guard, numbers.verdict, config),
        needs=_needs(guard, config, operations),
        orders=tuple(sorted(order.value for order in orders)),
        config=config,
        operations=tuple(operations),
        expects=(*expects, numbers.verdict),
        why=_why(guard, numbers),
        accepts=ACCEPTS[numbers.verdict],
        shows=shows,
    )


ACCEPTS = {
    Verdict.OK: (Verdict.OK, Verdict.LATER, Verdict.NEVER, Verdict.NO),
    Verdict.LATER: (Verdict.LATER, Verdict.NEVER, Verdict.NO),
    Verdict.NEVER: (Verdict.NEVER, Verdict.NO),
}
"""What the laws that bind every manager leave open, the exact answer first. Soundness forces refusals, and an
impossible request must not be told to wait; that a guard is not stricter than this specification no such law asks.
"""


# -- confirming -------------------------------------------------------------------------------------------------------


def _states(path: Path, orders: frozenset[Order]) -> list[State]:
    states = [START]
    for move in path.moves:
        possible, following = after(INTS, Kind(move.kind), orders, path.sizes, states[-1], move)
        if not possible:
            raise SearchFailed(f"plain numbers do not allow {move} after {states[-1]}")
        states.append(following)
    return states


def _confirm_by_rules(chosen: Chosen, orders: frozenset[Order], state: State) -> tuple[Values, ...]:
    """What asking the guard shows in the state that the path leads to."""
    path, guard = chosen.path, chosen.classes[0].guard
    found = sights(guard, asked(INTS, orders, path.sizes, state, Ask(guard, path.argument, path.seqs)))
    for each in chosen.classes:
        if not any(set(each.all_values).issubset(values) for values in found):
            raise SearchFailed(f"plain numbers do not confirm that {each.id} is reached")
    return found


def _confirm_by_counting(classes: tuple[EdgeClass, ...], config: Config, operations: Iterable[Operation]) -> Asked:
    replay = Replay(config)
    *earlier, last = [replay.perform(op) for op in operations]
    name = classes[0].id
    if any(numbers is not None and numbers.verdict is not Verdict.OK for numbers in earlier):
        raise SearchFailed(f"counting blocks refuses an earlier operation of {name}")
    if last is None or any(each.outcome != last.outcome for each in classes):
        raise SearchFailed(f"counting blocks does not confirm that {name} is reached: {last}")
    return last


# -- in operations ----------------------------------------------------------------------------------------------------


def _operation(move: Move, state: State) -> Operation:
    kind = Kind(move.kind)
    if kind is Kind.STEP:
        return Step(_step_tokens(move, state))
    if kind is Kind.FORK:
        child = MEMBERS[2 if state.two.live else 1]
        return Fork(MEMBERS[move.second], child, _ids(child, move.first))
    simple: dict[Kind, Operation] = {
        Kind.ADMIT: Allocate(GROUP, MEMBERS[: move.second], _ids(MEMBERS[0], move.first)),
        Kind.ADMIT_FILLER: Allocate(FILLER_GROUP, (FILLER,), _ids(FILLER, move.first)),
        Kind.APPEND: Append(GROUP, move.first),
        Kind.SWAP_OUT: SwapOut(GROUP),
        Kind.SWAP_OUT_FILLER: SwapOut(FILLER_GROUP),
        Kind.SWAP_IN: SwapIn(GROUP, move.first),
        Kind.FREE_FILLER: Free(FILLER),
        Kind.GROW_FILLER: Append(FILLER_GROUP, move.first),
    }
    return simple[kind]


def _last(guard: Guard, path: Path) -> Operation:
    if guard is Guard.ALLOCATE:
        return Allocate(GROUP, MEMBERS[: path.seqs], _ids(MEMBERS[0], path.argument))
    if guard is Guard.SWAP_OUT:
        return SwapOut(GROUP)
    return Append(GROUP, path.argument) if guard is Guard.APPEND else SwapIn(GROUP, path.argument)


def _ids(seq: int, tokens: int) -> tuple[int, ...]:
    return (seq,) * tokens


def _step_tokens(move: Move, state: State) -> dict[int, tuple[int, ...]]:
    given = dict(zip(MEMBERS, (move.first, move.second, move.third), strict=True))
    given[FILLER] = int(bool(state.filler.scheduled))
    return {seq: _ids(seq, tokens) for seq, tokens in given.items() if tokens}


# -- what it is for ---------------------------------------------------------------------------------------------------


def _laws(guard: Guard, verdict: Verdict, config: Config) -> tuple[str, ...]:
    name = guard.value.replace("_", "-")
    laws = {f"admission.sound-{name}"}
    if verdict is Verdict.OK:
        laws.add(f"admission.precise-{name}")
        if config.watermark_blocks and guard in (Guard.ALLOCATE, Guard.SWAP_IN):
            laws.add("admission.watermark")
    else:
        laws.add("admission.never-is-final" if verdict is Verdict.NEVER else "admission.impossible-is-never")
    return tuple(sorted(laws))


def _needs(guard: Guard, config: Config, operations: Iterable[Operation]) -> tuple[Capability, ...]:
    """Telling LATER from NEVER is not among them: a guard may just say no."""
    needs = {Capability(f"guard-{guard.value.replace('_', '-')}")}
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
    return tuple(sorted(needs, key=lambda need: need.value))


def _why(guard: Guard, numbers: Asked) -> str:
    pool = "CPU" if guard is Guard.SWAP_OUT else "GPU"
    return (
        f"{pool} blocks: free {numbers.free}, need {numbers.need}, reserve {numbers.reserve}, attainable "
        f"{numbers.attainable}; slack {numbers.slack}, so {numbers.verdict.value}"
    )
