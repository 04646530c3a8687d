"""The search: a sample found anew is what is shipped, proofs prove, and the shipped vectors are shortest."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from random import Random

import pytest
from edges_support import Run, features, margins, on_edge

from kvref import BlockManagerError
from kvspec.algebra import INTS
from kvspec.edges import search
from kvspec.edges.edge import reached
from kvspec.edges.generate import vector_of
from kvspec.edges.goals import GOALS, Goal
from kvspec.edges.model import after
from kvspec.edges.proofs import invariant
from kvspec.edges.search import Path, SearchFailed
from kvspec.edges.state import CALM_ORDERS, ENGINE_ORDERS, NO_ORDERS, START, Kind, Move, Order, Sizes, State
from kvspec.edges.vectors import Vectors, dump, generate, load, parse
from kvspec.vocabulary import (
    Allocate,
    Append,
    Config,
    Fork,
    Free,
    Guard,
    Operation,
    Preempt,
    Step,
    SwapIn,
    SwapOut,
    Verdict,
)

GOAL = {goal.id: goal for goal in GOALS}
SHIPPED = load()

SAMPLE = {
    ENGINE_ORDERS: (
        "allocate/slack-0/siblings+partial",
        "append/slack-1/unseen+siblings+partial",
        "swap_in/slack-0/unseen+lookahead",
    ),
    CALM_ORDERS: ("append/slack-0/lookahead", "swap_out/slack+1/partial"),
}
SHIPPED_LINES = {line.rstrip(",") for line in dump(SHIPPED).splitlines()}


@pytest.mark.parametrize("orders", SAMPLE, ids=["engine", "calm"])
def test_a_sample_found_anew_is_what_is_shipped(orders: frozenset[Order]) -> None:
    told: list[str] = []
    found = search.search([GOAL[name] for name in SAMPLE[orders]], orders, told.append)
    vectors = Vectors(tuple(vector_of(goal, path, orders) for goal, path in found.items()), ())
    lines = {line.rstrip(",") for line in dump(vectors).splitlines() if line.startswith('{"id"')}
    assert len(lines) == len(told) == len(SAMPLE[orders])
    assert lines <= SHIPPED_LINES


def test_what_is_proved_unreachable_again_is_what_is_shipped() -> None:
    names = ("append/slack-1/plain", "swap_in/never-by-1/plain")
    made = generate(goals=[GOAL[name] for name in names])
    assert made.unreachable == tuple(entry for entry in SHIPPED.unreachable if entry.id in names)
    assert made.vectors == ()
    assert parse(dump(made)) == made


def test_a_goal_that_is_too_far_is_an_error_and_not_unreachable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "MOST_OPERATIONS", 2)
    goal = GOAL["append/slack-0/unseen"]
    with pytest.raises(SearchFailed, match=goal.id):
        search.search([goal], ENGINE_ORDERS)


PATH = Path(Sizes(2, 0, 1, 0, 0), (Move(Kind.ADMIT_ONE, 1), Move(Kind.STEP, 1)), 0)


def test_a_wrong_answer_of_the_solver_is_not_trusted() -> None:
    assert vector_of(GOAL["append/slack-0/unseen"], PATH, ENGINE_ORDERS).expects[-1] is Verdict.OK
    with pytest.raises(SearchFailed, match="do not confirm"):
        vector_of(GOAL["append/slack+1/unseen"], PATH, ENGINE_ORDERS)
    too_soon = Path(PATH.sizes, (Move(Kind.APPEND, 1),), 0)
    with pytest.raises(SearchFailed, match="do not allow"):
        vector_of(GOAL["append/slack-0/unseen"], too_soon, CALM_ORDERS)


def _random_moves(seed: int, orders: frozenset[Order]) -> Iterator[tuple[Sizes, State]]:
    """The states of a random life of the model on plain numbers."""
    chance = Random(seed)
    gpu, cpu = chance.randint(1, 6), chance.randint(0, 6)
    sizes = Sizes(gpu, cpu, chance.randint(1, 4), chance.randint(0, 2), chance.randint(0, 4))
    state = START
    for _ in range(40):
        move = Move(chance.choice(list(Kind)), chance.randint(0, 4), chance.randint(0, 4))
        possible, following = after(INTS, move.kind, orders, sizes, state, move)
        if possible:
            state = following
            yield sizes, state


@pytest.mark.parametrize("orders", [NO_ORDERS, CALM_ORDERS, ENGINE_ORDERS], ids=["none", "calm", "engine"])
def test_the_proved_invariant_holds_in_random_lives(orders: frozenset[Order]) -> None:
    states = [found for seed in range(300) for found in _random_moves(seed, orders)]
    assert len(states) > 300
    assert any(state.two.live and state.swapped for _, state in states)
    assert all(invariant(INTS, orders, sizes, state) for sizes, state in states)
    out_of_reach = [GOAL[entry.id] for entry in SHIPPED.unreachable]
    for sizes, state in states:
        for goal in out_of_reach:
            assert not reached(INTS, goal, orders, sizes, state, 0)


# -- brute force: no shorter life reaches the goal --------------------------------------------------------------------

SIZES = [Config(*sizes) for sizes in product((1, 2), (1, 2), (0, 1, 2), (0, 1))]


def _choices(scheduled: set[int]) -> Iterator[Operation]:
    """What an engine might do next, legal or not, in a few sizes."""
    for seqs in ((1,), (1, 2)):
        yield from (Allocate(1, seqs, (1,) * tokens) for tokens in (1, 2, 3))
    yield Allocate(2, (3,), (2,))
    yield Step(dict.fromkeys(scheduled, (1,)))
    yield Step({})
    yield from (SwapOut(group) for group in (1, 2))
    yield Preempt(1)
    yield from (Append(1, lookahead) for lookahead in (0, 1, 2))
    yield from (SwapIn(1, lookahead) for lookahead in (0, 1, 2))
    yield Fork(1, 2, (2,))
    yield Free(3)


def _lives(config: Config, length: int, orders: frozenset[str]) -> Iterator[tuple[Operation, ...]]:
    """Every legal and approved life of so many operations."""
    if length == 0:
        yield ()
        return
    for life in _lives(config, length - 1, orders):
        for op in _choices(_after(config, orders, life).scheduled):
            if _approved(_after(config, orders, life), op):
                yield (*life, op)


def _after(config: Config, orders: frozenset[str], life: tuple[Operation, ...]) -> Run:
    run = Run(config, orders)
    for op in life:
        run.perform(op)
    return run


def _approved(run: Run, op: Operation) -> bool:
    try:
        if run.why_not(op) is not None or run.verdict(op) not in (None, Verdict.OK):
            return False
        run.perform(op)
    except BlockManagerError:
        return False  # kvref knows that it is out of order
    return True


def _last(goal: Goal) -> list[Operation]:
    if goal.guard is Guard.APPEND:
        return [Append(1, lookahead) for lookahead in (0, 1, 2)]
    return [SwapOut(1)] if goal.guard is Guard.SWAP_OUT else [SwapIn(1, lookahead) for lookahead in (0, 1, 2)]


def _reaches(goal: Goal, config: Config, orders: frozenset[str], life: tuple[Operation, ...]) -> bool:
    for last in _last(goal):
        run = _after(config, orders, life)
        try:
            if run.why_not(last) is not None or run.verdict(last) is None:
                continue
        except BlockManagerError:
            continue
        whole = (*life, last)
        wanted = {feature.value for feature in goal.features}
        if features(config, whole) == wanted and on_edge(goal.edge.value, *margins(config, whole)):
            return True
    return False


@pytest.mark.parametrize(
    "name",
    [
        "append/slack-1/unseen",
        "append/slack-1/unseen+siblings+partial",
        "swap_out/later-by-0/unseen",
        "swap_in/slack-0/unseen+lookahead",
        "swap_in/slack-1/unseen+siblings",
    ],
)
def test_no_shorter_life_reaches_the_goal(name: str) -> None:
    vector = next(vector for vector in SHIPPED.vectors if vector.id == name)
    goal, orders = GOAL[name], frozenset(vector.orders)
    length = len(vector.operations) - 1
    assert _reaches(goal, vector.config, orders, vector.operations[:-1])
    for config in SIZES:
        for shorter in range(length):
            assert not any(_reaches(goal, config, orders, life) for life in _lives(config, shorter, orders))
