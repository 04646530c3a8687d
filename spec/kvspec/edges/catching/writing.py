"""Writes what was found as a vector: its name, what it is for, what it needs, and in numbers what the variant does.

Performs the operations once more from the empty state, so that nothing is written that was only remembered. Must not
know how the operations were found, nor any variant.
"""

from __future__ import annotations

from collections.abc import Iterator

from kvspec.edges.catching.bent import Bent, Told, perform, perform_rightly, reads_of, start
from kvspec.edges.catching.lives import Life, obeyed
from kvspec.edges.catching.observed import Difference, Kind, difference
from kvspec.edges.catching.search import Hit
from kvspec.edges.catching.variant import Variant
from kvspec.edges.vectors import Vector
from kvspec.model import manager as model
from kvspec.model.manager import GPU
from kvspec.vocabulary import (
    NEEDS,
    Allocate,
    Capability,
    Config,
    Operation,
    Result,
    SwapIn,
    Verdict,
)

PREFIX = "catches/"


class NotConfirmed(Exception):
    """What was found does not happen when it is performed from the empty state."""


def vector_of(hit: Hit) -> Vector:
    """The vector that tells the variant from the right manager. Raises NotConfirmed."""
    operations = hit.path.operations
    lives, right, seen = _confirmed(hit.variant, hit.config, operations)
    obligation, last = hit.variant.obligation, operations[-1]
    return Vector(
        id=PREFIX + hit.variant.id,
        goal=f"catches: {obligation.statement}",
        laws=(obligation.law,) if obligation.law is not None else _laws_of(last, right[-1]),
        needs=_needs(hit.config, operations, right[-1], seen, hit.wrong),
        orders=tuple(sorted(order.value for order in obeyed(lives, operations))),
        config=hit.config,
        operations=operations,
        expects=tuple(told.verdict for told in right),
        why=f"{_right_is(lives[-1], last, right[-1])}; the variant {seen.words}",
    )


def _confirmed(
    variant: Variant, config: Config, operations: tuple[Operation, ...]
) -> tuple[list[Life], list[Told], Difference]:
    """The lives before each operation, what the right manager makes of it, and what in the end differs, not before."""
    life, wrong = Life(start(config)), Bent(start(config))
    lives, right = list[Life](), list[Told]()
    seen: Difference | None = None
    for op in operations:
        if seen is not None:
            raise NotConfirmed(f"{variant.id} shows before the last operation of {operations}")
        done = perform_rightly(life.state, op)
        told = Told(done.verdict, done.result, Bent(done.after), reads_of(life.state, done.after, op))
        bent = perform(variant.bend, wrong, op)
        seen = difference(told, bent)
        lives, right = [*lives, life], [*right, told]
        life, wrong = life.then(op, done.after), bent.after
    if seen is None:
        raise NotConfirmed(f"{variant.id} does not show after {operations}")
    return lives, right, seen


# -- what it is for -------------------------------------------------------------------------------------


def _laws_of(op: Operation, right: Told) -> tuple[str, ...]:
    """The law of a variant that has none of its own: a guard that refuses too much, or promises too much."""
    kind = "precise" if right.verdict is Verdict.OK else "sound"
    return (f"admission.{kind}-{op.op.replace('_', '-')}",)


def _needs(
    config: Config, operations: tuple[Operation, ...], right: Told, seen: Difference, wrong: Told
) -> tuple[Capability, ...]:
    """Without which it cannot be performed, or what differs cannot be seen."""
    needs = {need for op in operations for need in _needs_of(op)}
    if config.watermark_blocks:
        needs.add(Capability.WATERMARK)
    if seen.kind is Kind.VERDICT:
        needs.add(Capability(f"guard-{operations[-1].op.replace('_', '-')}"))
        if Verdict.OK not in (right.verdict, wrong.verdict):
            needs.add(Capability.THREE_VALUED)
    if seen.kind is Kind.REFCOUNT:
        needs.add(Capability.REFCOUNTS)
    return tuple(sorted(needs, key=lambda need: need.value))


def _needs_of(op: Operation) -> Iterator[Capability]:
    yield from NEEDS[op.op]
    if isinstance(op, SwapIn):
        yield Capability.APPEND  # every resumed sequence is appended to
    if getattr(op, "lookahead", 0):
        yield Capability.LOOKAHEAD
    if isinstance(op, Allocate) and len(op.seqs) > 1:
        yield Capability.GROUPS
    if getattr(op, "force", False):
        yield Capability.ATOMIC_FAILURES


# -- in numbers -----------------------------------------------------------------------------------------


def _right_is(life: Life, op: Operation, right: Told) -> str:
    """What is right, in numbers."""
    asked = model.demand_of(life.state, op)
    if asked is None:
        free = right.after.state.cache(GPU).pool.free
        return f"after the {op.op.replace('_', '-')}, {free} of {life.state.config.num_gpu_blocks} GPU blocks are free"
    device, demand = asked
    assert right.verdict is not None
    free = life.state.cache(device).pool.free
    numbers = f"free {free}, need {demand.need}, reserve {demand.reserve}, attainable {demand.attainable}"
    told = f"{device.value.upper()} blocks: {numbers}, so {right.verdict.value}"
    return f"{told}; forced, it runs out and changes nothing" if right.result is Result.OUT_OF_BLOCKS else told
