"""The kit's own rules of legality accept every vector, under all orders that it claims to obey."""

from __future__ import annotations

import pytest
from edges_support import EDGES

from kvspec.edges.state import Order as Claimed
from kvspec.vocabulary import Capability, Verdict

adapter = pytest.importorskip("kvconform.adapter", reason="the kit is not on the path")
world = pytest.importorskip("kvconform.world", reason="the kit is not on the path")


def test_the_orders_are_words_of_the_kit() -> None:
    assert {order.value for order in Claimed} <= {order.value for order in adapter.Order}


@pytest.mark.parametrize("edge", EDGES)
def test_the_kit_finds_every_operation_legal(edge: str) -> None:
    for vector in EDGES[edge]:
        orders = frozenset(adapter.Order(name) for name in vector.orders)
        assumed = frozenset((*vector.needs, Capability.APPEND))
        run = _Life(world.World(vector.config, assumed, orders))
        for op, expected in zip(vector.operations, vector.expects, strict=True):
            assert run.world.why_not(op) is None, vector.id
            if expected in (None, Verdict.OK):
                run.perform(op)


class _Life:
    """What the kit's driver does to the world when a manager does all that it is asked."""

    def __init__(self, of) -> None:  # type: ignore[no-untyped-def]
        self.world = of

    def perform(self, op) -> None:  # type: ignore[no-untyped-def]
        group = self.world.prepare(op)
        self.world.note_lookahead(op)
        getattr(self, op.op)(op, group)

    def allocate(self, op, group) -> None:  # type: ignore[no-untyped-def]
        self.world.admit(group.waiting, {})

    def append(self, op, group) -> None:  # type: ignore[no-untyped-def]
        for seq in group.running:
            self.world.cover(seq)

    def step(self, op, group) -> None:  # type: ignore[no-untyped-def]
        for seq in self.world.seqs.values():
            if seq.scheduled:
                seq.computed = seq.upto
        self.world.receive(op)

    def fork(self, op, group) -> None:  # type: ignore[no-untyped-def]
        self.world.child_of(op).status = adapter.Status.RUNNING

    def swap_out(self, op, group) -> None:  # type: ignore[no-untyped-def]
        for seq in group.running:
            seq.status, seq.scheduled = adapter.Status.SWAPPED, False
        self.world.swapped_out_since_step.add(group.id)

    def swap_in(self, op, group) -> None:  # type: ignore[no-untyped-def]
        for seq in group.swapped:
            seq.status = adapter.Status.RUNNING
        self.append(op, group)

    def free(self, op, group) -> None:  # type: ignore[no-untyped-def]
        self.world.end(self.world.seqs[op.seq])
