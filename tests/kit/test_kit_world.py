"""Which operations are legal when: each order blocks what it says and nothing else.

Knows: the orders in words, stated here once more on purpose. Must not know: how the world keeps them.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pytest
from kit_toy import BareAdapter, ToyAdapter

from kvconform.adapter import Order, Restriction, capabilities_of
from kvconform.run import IllegalOperation, Run
from kvconform.world import MOST_LOOKAHEAD
from kvspec.vocabulary import (
    NEEDS,
    OPERATIONS,
    Allocate,
    Append,
    Capability,
    Config,
    Evict,
    Fork,
    Free,
    Operation,
    Preempt,
    ResetAll,
    ResetIndex,
    Status,
    Step,
    SwapIn,
    SwapOut,
)

CONFIG = Config(2, 12, 12, max_model_len=12)


class History:
    """A run without orders, and what an engine with orders would remember of it."""

    def __init__(self) -> None:
        self.run = Run(ToyAdapter(), CONFIG)
        self.swapped_out = False
        self.lookahead: int | None = None
        self.covered_with: dict[int, int] = {}

    def apply(self, op: Operation) -> None:
        outcome = self.run.apply(op)
        if isinstance(op, Step):
            self.swapped_out = False
        if isinstance(op, SwapOut) and not outcome.refused and outcome.error is None:
            self.swapped_out = True
        if isinstance(op, (Append, SwapIn)):
            self.lookahead = op.lookahead if self.lookahead is None else self.lookahead
        if isinstance(op, (Allocate, Append, SwapIn)):
            asked = 0 if isinstance(op, Allocate) else op.lookahead
            self.covered_with.update((seq.id, asked) for seq in outcome.moved)


def blocked(order: Order, op: Operation, past: History) -> bool:
    """What each order says, about an operation that is legal without it."""
    world = past.run.world
    group = world.groups.get(getattr(op, "group", -1))
    running = group.running if group else []
    match order, op:
        case Order.NO_RELEASE_WHILE_SCHEDULED, SwapOut() | Preempt():
            return any(seq.scheduled for seq in running)
        case Order.NO_RELEASE_WHILE_SCHEDULED, Free(seq=number):
            return number in world.seqs and world.seqs[number].scheduled
        case Order.NO_RELEASE_WHILE_SCHEDULED, ResetAll():
            return any(seq.scheduled for seq in world.seqs.values())
        case Order.SWAP_IN_AFTER_STEP, SwapIn():
            return past.swapped_out
        case Order.PREEMPT_SINGLE, Preempt():
            return len(running) != 1
        case Order.SWAP_SEVERAL, SwapOut():
            return len(running) == 1
        case Order.ONE_TOKEN, Step(tokens=tokens):
            return any(len(those) > 1 for those in tokens.values())
        case Order.ONE_TOKEN, Fork(parent=parent, tokens=own):
            return (world.seqs[parent].unseen if own is None else len(own)) > 1
        case Order.WITHIN_LOOKAHEAD, Step(tokens=tokens):
            return any(len(those) > past.covered_with[seq] + 1 for seq, those in tokens.items())
        case Order.WITHIN_LOOKAHEAD, Fork(parent=parent, tokens=own):
            return (world.seqs[parent].unseen if own is None else len(own)) > past.covered_with.get(parent, 0) + 1
        case Order.TOKENS_EVERY_STEP, Step(tokens=tokens):
            return any(seq.scheduled and not tokens.get(seq.id) for seq in world.seqs.values())
        case Order.LOOKAHEAD_FIXED, Append(lookahead=asked) | SwapIn(lookahead=asked):
            return past.lookahead is not None and asked != past.lookahead
        case Order.FORK_AFTER_TOKENS, Fork(parent=parent, tokens=own):
            return not world.seqs[parent].unseen or own == ()
    return False


def anything(dice: random.Random, past: History) -> Operation:
    """Any operation, legal or not, about what there is or about what there is not."""
    world = past.run.world
    groups, seqs = [*world.groups, 77], [*world.seqs, *list(world.ended)[-2:], 77]
    group, seq, lookahead = dice.choice(groups), dice.choice(seqs), dice.choice((0, 0, 1, 3))
    fresh = max([0, *world.seqs, *world.ended, *world.groups]) + 1
    waiting = tuple(s.id for s in world.groups[group].waiting) if group in world.groups else (seq,)

    def tokens() -> tuple[int, ...]:
        return (dice.choice((1, 2)),) * dice.choice((0, 1, 1, 2, 3))

    makers: list[Callable[[], Operation]] = [
        lambda: Allocate(fresh, tuple(range(fresh, fresh + dice.choice((1, 2)))), tokens(), lookahead),
        lambda: Allocate(group, waiting, None, lookahead),
        lambda: Append(group, lookahead),
        lambda: Step({s.id: tokens() for s in world.seqs.values() if s.scheduled and dice.random() < 0.9}),
        lambda: Step({seq: tokens()}),
        lambda: Fork(seq, fresh, dice.choice((None, tokens()))),
        lambda: SwapOut(group),
        lambda: SwapIn(group, lookahead),
        lambda: Preempt(group),
        lambda: Free(seq),
        ResetAll,
    ]
    return dice.choice(makers)()


def test_each_order_blocks_what_it_says_and_nothing_else() -> None:
    dice = random.Random(1)
    seen: Counter[tuple[Order, str]] = Counter()
    for _ in range(60):
        past = History()
        world = past.run.world
        for _ in range(40):
            offers = [anything(dice, past) for _ in range(10)]
            for op in offers:
                without = world.why_not(op)
                for order in Order:
                    world.orders = frozenset((order,))
                    world.lookahead = past.lookahead
                    reason = world.why_not(op)
                    world.orders = frozenset()
                    if without is not None:
                        assert reason is not None
                        continue
                    told = blocked(order, op, past)
                    assert (reason is not None) == told, (order, op, reason)
                    seen[order, op.op] += told
            legal = [op for op in offers if past.run.why_not(op) is None and not isinstance(op, ResetAll)]
            if past.run.over:
                break
            if legal:
                past.apply(dice.choice(legal))
        assert not past.run.found
    assert {kind for kind, times in seen.items() if times} == {
        (Order.NO_RELEASE_WHILE_SCHEDULED, "swap_out"),
        (Order.NO_RELEASE_WHILE_SCHEDULED, "preempt"),
        (Order.NO_RELEASE_WHILE_SCHEDULED, "free"),
        (Order.NO_RELEASE_WHILE_SCHEDULED, "reset_all"),
        (Order.SWAP_IN_AFTER_STEP, "swap_in"),
        (Order.PREEMPT_SINGLE, "preempt"),
        (Order.SWAP_SEVERAL, "swap_out"),
        (Order.ONE_TOKEN, "step"),
        (Order.ONE_TOKEN, "fork"),
        (Order.WITHIN_LOOKAHEAD, "step"),
        (Order.WITHIN_LOOKAHEAD, "fork"),
        (Order.TOKENS_EVERY_STEP, "step"),
        (Order.LOOKAHEAD_FIXED, "append"),
        (Order.LOOKAHEAD_FIXED, "swap_in"),
        (Order.FORK_AFTER_TOKENS, "fork"),
    }


def test_where_finished_sequences_stay_they_stay_in_their_group() -> None:
    for stay in (False, True):
        adapter = ToyAdapter()
        adapter.restrictions = (Restriction(Order.FINISHED_STAY, "so it is"),) if stay else ()  # type: ignore[misc]
        run = Run(adapter, CONFIG)
        run.apply(Allocate(1, (1, 2), (1,)))
        group = run.world.groups[1]
        run.apply(Free(1))
        assert [seq.id for seq in group.seqs] == ([1, 2] if stay else [2])
        assert [seq.id for seq in group.running] == [2]
        assert 1 in run.world.groups
        run.apply(Free(2))
        assert 1 not in run.world.groups
        assert not run.found


def test_an_adapter_s_restrictions_are_the_orders_of_its_runs() -> None:
    class Restricted(ToyAdapter):
        restrictions = (Restriction(Order.ONE_TOKEN, "no speculation"),)

    run = Run(Restricted(), CONFIG)
    run.apply(Allocate(1, (1,), (1,)))
    with pytest.raises(IllegalOperation, match="step: the engine gives one token a step"):
        run.apply(Step({1: (1, 1)}))
    run.apply(Step({1: (1,)}))


# -- without any order ----------------------------------------------------------------------------------------------

READY: tuple[Operation, ...] = (
    Allocate(1, (1, 2), (1, 1)),
    Step({1: (1,), 2: (1,)}),
    Allocate(2, (3,), (1, 1)),  # scheduled
    Allocate(3, (4,), (1, 1)),
    Allocate(4, (5,), (1,)),
    Step({3: (1,)}),
    SwapOut(3),
    Preempt(4),
    Allocate(5, (6,), (1,)),
    Free(6),
    Append(2),  # scheduled again
)

LEGAL: tuple[Operation, ...] = (
    Allocate(4, (5,)), Allocate(9, (10, 11), (1,) * 9, 3), Append(1, 64), Step({3: (1,)}), Step({}),
    Fork(1, 9), Fork(1, 9, ()),
    SwapOut(1), SwapOut(2), SwapIn(3, 1), Preempt(2), Free(5), Free(6), Free(4, "aborted"), ResetAll(),
    Append(1, force=True),
)  # fmt: skip

ILLEGAL: tuple[tuple[Operation, str], ...] = (
    (Allocate(9, (5,)), "group 9 is unknown"),
    (Allocate(4, (6,)), "does not wait with just these"),
    (Allocate(1, (1, 2)), "does not wait with just these"),
    (Allocate(1, (9,), (1,)), "group 1 exists already"),
    (Allocate(9, (9,), ()), "between 1 and max_model_len"),
    (Allocate(9, (9,), (1,) * 13), "between 1 and max_model_len"),
    (Allocate(9, (), (1,)), "at least one sequence"),
    (Allocate(9, (9, 9), (1,)), "ids of their own"),
    (Allocate(9, (1,), (1,)), "ids of their own"),
    (Allocate(9, (6,), (1,)), "ids of their own"),
    (Allocate(9, (9,), (1,), -1), "lookahead"),
    (Append(2), "group 2 is scheduled already"),
    (Append(3), "group 3 does not run"),
    (Append(9), "group 9 does not run"),
    (Append(1, -1), "lookahead must be between"),
    (Append(1, MOST_LOOKAHEAD + 1), "lookahead must be between"),
    (Step({1: (1,)}), "sequence 1 is not scheduled"),
    (Step({9: (1,)}), "sequence 9 is not scheduled"),
    (Step({3: (1,) * 11}), "sequence 3 would be longer"),
    (Fork(3, 9), "is scheduled"),
    (Fork(4, 9), "does not run"),
    (Fork(9, 10), "does not run"),
    (Fork(1, 2), "sequence 2 exists already"),
    (Fork(1, 6), "sequence 6 exists already"),
    (Fork(1, 9, (1,) * 11), "longer than max_model_len"),
    (SwapOut(3), "does not run"),
    (SwapIn(1), "is not swapped out"),
    (SwapIn(3, 4097), "lookahead must be between"),
    (Preempt(3), "does not run"),
    (Preempt(9), "does not run"),
    (Free(9), "sequence 9 is unknown"),
    (Allocate(9, (9,), (1,), extra=("a",)), "with prefix caching only"),
    (Allocate(4, (5,), extra=("a",)), "has its extra keys already"),
    (ResetIndex(), "no index without prefix caching"),
    (Evict(1), "no index without prefix caching"),
    (Allocate(9, (9,), (1,), chunk=1), "admits prompts whole"),
    (Allocate(9, (9,), (1, 1), external=1), "brought no KV from elsewhere"),
    (Allocate(9, (9,), (1, 1), match=True), "looks nothing up before"),
    (Append(1, chunk=1), "admits prompts whole"),
    (Append(1, drafts=1), "knows no drafts"),
)

CACHING = Config(4, 8, prefix_caching=True)


def ready(run: Run) -> Run:
    """A run in a state with a bit of everything."""
    for op in READY:
        run.apply(op)
    assert not run.found
    return run


@pytest.mark.parametrize("op", LEGAL, ids=repr)
def test_what_an_engine_does_is_legal_and_can_be_done(op: Operation) -> None:
    run = ready(Run(ToyAdapter(), CONFIG))
    assert run.why_not(op) is None
    run.apply(op)
    assert not run.found


@pytest.mark.parametrize(("op", "reason"), ILLEGAL, ids=repr)
def test_what_no_engine_does_is_illegal_and_changes_nothing(op: Operation, reason: str) -> None:
    run = ready(Run(ToyAdapter(), CONFIG))
    assert reason in (run.why_not(op) or "")
    known = {seq.id for seq in run.world.seqs.values()}
    with pytest.raises(IllegalOperation, match=op.op):
        run.apply(op)
    assert {seq.id for seq in run.world.seqs.values()} == known
    assert run.operations == list(READY)


def test_every_operation_is_legal_and_illegal_somewhere() -> None:
    assert {op.op for op in LEGAL} == set(OPERATIONS) - {"reset_index", "evict"}
    assert Run(ToyAdapter(), CACHING).why_not(ResetIndex()) is None
    assert Run(ToyAdapter(), CACHING).why_not(Evict(1)) is None
    assert Run(ToyAdapter(), CACHING).why_not(Evict(0)) == "at least one block is to be evicted"
    assert {op.op for op, _ in ILLEGAL} == set(OPERATIONS) - {"reset_all"}  # always legal


@pytest.mark.parametrize("op", LEGAL, ids=repr)
def test_an_operation_needs_its_capabilities(op: Operation) -> None:
    run = ready(Run(ToyAdapter(), CONFIG))
    for needed in NEEDS[op.op]:
        run.world.capabilities = capabilities_of(ToyAdapter()) - {needed}
        assert run.why_not(op) == f"the manager has no {needed.value}"


def test_lookahead_groups_and_force_need_capabilities() -> None:
    run = Run(BareAdapter(), CONFIG)
    assert "no groups" in (run.why_not(Allocate(1, (1, 2), (1,))) or "")
    assert "no lookahead" in (run.why_not(Allocate(1, (1,), (1,), 1)) or "")
    assert "declared atomic" in (run.why_not(Allocate(1, (1,), (1,), force=True)) or "")
    run.apply(Allocate(1, (1,), (1,)))
    run.apply(Step({1: (1,)}))
    assert "no lookahead" in (run.why_not(Append(1, 1)) or "")
    assert "declared atomic" in (run.why_not(Append(1, force=True)) or "")
    assert run.why_not(Append(1)) is None


def test_a_run_that_is_over_does_nothing_more() -> None:
    run = Run(ToyAdapter(), CONFIG)
    run.finish()
    assert run.why_not(Allocate(1, (1,), (1,))) == "the run is over"


# -- what the views show --------------------------------------------------------------------------------------------


def test_views_show_what_the_scheduler_knows() -> None:
    run = Run(ToyAdapter(), CONFIG)
    run.apply(Allocate(1, (1,), (5, 6, 7)))
    seq = run.world.seqs[1]
    assert (seq.status, seq.upto, seq.computed, seq.unseen, seq.scheduled) == (Status.RUNNING, 3, 0, 0, True)
    run.apply(Step({1: (8, 9)}))
    assert (seq.tokens, seq.upto, seq.computed, seq.unseen, seq.scheduled) == ([5, 6, 7, 8, 9], 3, 3, 2, False)
    run.apply(Fork(1, 2, (4,)))
    child = run.world.seqs[2]
    assert child.group is seq.group
    assert (child.tokens, child.upto, child.computed, child.status) == ([5, 6, 7, 4], 3, 3, Status.RUNNING)
    run.apply(Fork(1, 3))
    assert run.world.seqs[3].tokens == [5, 6, 7, 8, 9]
    run.apply(Append(1))
    assert (seq.unseen, seq.scheduled) == (0, True)
    run.apply(SwapOut(1))
    assert {s.status for s in seq.group.seqs} == {Status.SWAPPED}
    assert not seq.scheduled  # it is not computed after all
    run.apply(SwapIn(1, 2))
    assert (seq.status, seq.upto, seq.computed, seq.scheduled_lookahead) == (Status.RUNNING, 5, 3, 2)
    run.apply(Preempt(1))
    assert (seq.status, seq.upto, seq.computed, seq.unseen) == (Status.WAITING, 0, 0, 5)
    assert seq.group.admitted_before
    run.apply(Free(1))
    assert seq.status is Status.ENDED
    assert not run.found


def test_a_refused_admission_waits_and_a_failed_fork_never_was() -> None:
    class NoFork(ToyAdapter):
        def fork(self, parent: object, child: object) -> bool:
            return False

    run = Run(NoFork(), replace(CONFIG, num_gpu_blocks=2))
    run.apply(Allocate(1, (1,), (1,)))
    run.apply(Allocate(2, (2,), (1, 1, 1)))
    assert run.world.seqs[2].status is Status.WAITING
    assert not run.world.groups[2].admitted_before
    run.apply(Step({1: (1,)}))
    run.apply(Fork(1, 3))
    assert 3 not in run.world.seqs
    assert [seq.id for seq in run.world.groups[1].seqs] == [1]


def test_capability_names_are_what_the_table_of_needs_uses() -> None:
    assert set(NEEDS) == set(OPERATIONS)
    assert all(isinstance(need, Capability) for needs in NEEDS.values() for need in needs)
