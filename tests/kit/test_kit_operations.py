"""One table of operations: whoever adds one must teach it to every part of the kit.

Knows: where the parts keep their tables. Must not know: what any operation does.
"""

from __future__ import annotations

import inspect
from collections import Counter
from dataclasses import fields

import pytest
from kit_toy import ToyAdapter

from kvconform import driver, propose, shrink, world
from kvconform.adapter import capabilities_of
from kvconform.machine import machine_for
from kvconform.report.story import tell
from kvconform.run import Run
from kvconform.trace import operation_from_json, operation_to_json
from kvconform.walk import Walk
from kvspec.vocabulary import (
    GUARDED,
    NEEDS,
    OPERATIONS,
    Allocate,
    Append,
    Capability,
    Config,
    Evict,
    Fork,
    Free,
    Guard,
    Operation,
    Preempt,
    ResetAll,
    ResetIndex,
    Step,
    SwapIn,
    SwapOut,
)

SAMPLES: dict[str, Operation] = {
    "allocate": Allocate(31, (41, 42), (1, 2), 3, force=True, extra=("blue",), chunk=5, external=8),
    "append": Append(31, 3, force=True, chunk=5, drafts=6),
    "step": Step({41: (1, 2), 42: (3,)}),
    "fork": Fork(41, 42, (1, 2)),
    "swap_out": SwapOut(31, force=True),
    "swap_in": SwapIn(31, 3, force=True),
    "preempt": Preempt(31),
    "free": Free(41, "aborted"),
    "evict": Evict(7),
    "reset_index": ResetIndex(),
    "reset_all": ResetAll(),
}


def test_there_is_a_sample_of_every_operation() -> None:
    assert {name: type(op) for name, op in SAMPLES.items()} == OPERATIONS


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_part_of_the_kit_knows_the_operation(name: str) -> None:
    kind, op = OPERATIONS[name], SAMPLES[name]
    assert kind in world._CHECKS
    assert kind in driver._PERFORM
    assert name in propose._MAKERS
    assert propose.BASE_WEIGHTS[name] > 0
    assert name in NEEDS
    assert callable(getattr(machine_for(ToyAdapter()), name))
    assert operation_from_json(operation_to_json(op)) == op
    others = [tell(other) for other in SAMPLES.values() if other is not op]
    assert tell(op) not in others


@pytest.mark.parametrize("name", OPERATIONS)
def test_the_story_names_whatever_the_operation_is_about(name: str) -> None:
    told = tell(SAMPLES[name])
    for field in fields(OPERATIONS[name]):
        value = getattr(SAMPLES[name], field.name)
        if (
            field.name in ("group", "seq", "parent", "child", "lookahead", "chunk", "drafts", "count", "external")
            and value
        ):
            assert str(value) in told
        if field.name == "seqs":
            assert all(str(seq) in told for seq in value)
        if field.name in ("extra", "why") and value:
            assert (value if isinstance(value, str) else value[0]) in told
        if field.name == "why":
            assert value in told
        if field.name == "force":
            assert "although the guard refuses" in told


@pytest.mark.parametrize("name", OPERATIONS)
def test_renumbering_reaches_every_number_of_the_operation(name: str) -> None:
    (renamed,) = shrink._renumbered(shrink.Trace(Config(1, 1), (SAMPLES[name],))).operations
    assert type(renamed) is OPERATIONS[name]
    for field in fields(renamed):
        assert not {31, 41, 42} & numbers(getattr(renamed, field.name))
    kept = ("lookahead", "force", "why", "chunk", "drafts", "count", "extra", "external")
    assert {k: v for k, v in operation_to_json(renamed).items() if k in kept} == {
        k: v for k, v in operation_to_json(SAMPLES[name]).items() if k in kept
    }


def numbers(value: object) -> set[object]:
    if isinstance(value, dict):
        return set(value)
    return set(value) if isinstance(value, tuple) else {value}


def test_the_walk_and_its_ends_use_every_operation() -> None:
    adapter = ToyAdapter()
    walk = Walk(adapter, lambda config: Run(adapter, config), capabilities_of(adapter), seed=0)
    used: Counter[str] = Counter()
    forced: Counter[str] = Counter()
    for number in range(60):
        run, raws = walk.one(number)
        assert not raws
        used.update(op.op for op in run.operations)
        forced.update(op.op for op in run.operations if getattr(op, "force", False))
    assert set(used) == set(OPERATIONS)
    assert set(forced) == set(GUARDED)


def test_every_guard_is_asked_inside_the_operation_of_its_name() -> None:
    assert set(GUARDED.values()) == set(Guard) - {Guard.FORK}
    assert set(GUARDED) <= set(OPERATIONS)
    for name in GUARDED:
        assert callable(getattr(ToyAdapter, f"can_{name}"))
        assert Capability[f"GUARD_{name.upper()}"]
        assert "force" in {field.name for field in fields(OPERATIONS[name])}


def test_every_field_of_every_operation_is_documented() -> None:
    for kind in OPERATIONS.values():
        assert inspect.getdoc(kind)
