"""Distinguishing vectors: each kills its variant, none fails on the reference, and none could be shorter."""

from __future__ import annotations

import functools
import itertools
import json
import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from kvspec.algebra import INTS
from kvspec.arithmetic import SequenceCounts, copies_needed
from kvspec.edges import catching
from kvspec.edges.catching import counting
from kvspec.edges.catching.bent import Bent, Told, perform, perform_rightly, reads_of, start
from kvspec.edges.catching.every import TIERS, variants
from kvspec.edges.catching.lives import Life, Manners, choices, forced, scope_of
from kvspec.edges.catching.observed import difference
from kvspec.edges.catching.variant import REFUTATIONS, Variant
from kvspec.edges.catching.writing import PREFIX
from kvspec.edges.vectors import Vector, Vectors, dump, parse
from kvspec.laws import CATALOGUE
from kvspec.laws.table import Row
from kvspec.vocabulary import Capability, Config, Operation, Result, Verdict

kvconform = pytest.importorskip("kvconform.vectors", reason="the kit is not on the path")

from catching_variants import MANAGERS, NO_MANAGER, adapter_of  # noqa: E402

from kvconform.adapter import Adapter, Order, Restriction, capabilities_of  # noqa: E402
from kvconform.reference import ReferenceAdapter  # noqa: E402
from kvconform.run import Run  # noqa: E402

BY_ID = {variant.id: variant for variant in variants()}
EVERY = pytest.mark.parametrize("name", sorted(REFUTATIONS))


@functools.cache
def found() -> dict[str, Vector]:
    return {vector.id.removeprefix(PREFIX): vector for vector in catching.vectors()}


# -- all of them ----------------------------------------------------------------------------------------


def test_every_wrong_variant_has_a_vector_or_a_reason() -> None:
    beyond = {each.id: each.reason for each in catching.out_of_reach(tuple(found().values()))}
    assert found().keys() | beyond.keys() == REFUTATIONS.keys()
    assert not found().keys() & beyond.keys()
    assert not beyond  # each of them can be told, today


def test_what_has_no_vector_is_named_with_how_far_was_looked() -> None:
    without = tuple(vector for name, vector in found().items() if name != SAMPLE[0])
    (beyond,) = catching.out_of_reach(without)
    assert beyond.id == SAMPLE[0]
    assert "7 operations" in beyond.reason


def test_they_are_sorted_and_survive_the_file() -> None:
    vectors = Vectors(tuple(found().values()), ())
    assert list(found()) == sorted(found())
    assert parse(dump(vectors)) == vectors
    assert all(json.loads(line) for line in dump(vectors).splitlines())


@EVERY
def test_it_says_what_it_is_for(name: str) -> None:
    vector, obligation = found()[name], REFUTATIONS[name]
    assert obligation.statement in vector.goal
    assert vector.laws == ((obligation.law,) if obligation.law else vector.laws)
    assert vector.laws
    assert all(law in CATALOGUE for law in vector.laws)
    assert "the variant" in vector.why


SAMPLE = (
    "guards.append.wrong.touched",
    "ownership.release.wrong.ends-again",
    "data.replace.wrong.copies-late",
    "atomicity.failure.wrong.points-back",
    "data.share.wrong.another-prefix",
)

AGAIN = """
import sys
from kvspec.edges.catching.every import hits, variants
from kvspec.edges.catching.writing import vector_of
from kvspec.edges.vectors import Vectors, dump
those = [variant for variant in variants() if variant.id in sys.argv[1:]]
print(dump(Vectors(tuple(vector_of(hit) for _, hit in sorted(hits(those).items())), ())), end="")
"""


def test_the_same_bytes_again_whatever_the_hashes_and_whoever_else_is_looked_for() -> None:
    there = {**os.environ, "PYTHONHASHSEED": "4711", "PYTHONPATH": os.pathsep.join(sys.path)}
    again = subprocess.run(
        [sys.executable, "-c", AGAIN, *SAMPLE], env=there, capture_output=True, text=True, check=True
    ).stdout
    assert again == dump(Vectors(tuple(found()[name] for name in sorted(SAMPLE)), ()))


# -- on real managers -----------------------------------------------------------------------------------


def played(adapter: Adapter, vector: Vector) -> kvconform.Played:
    return kvconform.play(lambda config: Run(adapter, config), vector, adapter, capabilities_of(adapter))


@EVERY
def test_it_kills_its_variant(name: str) -> None:
    if name in NO_MANAGER:
        pytest.skip(NO_MANAGER[name])
    vector = found()[name]
    what = played(adapter_of(name), vector)
    assert what.run is not None
    broken = {each.violation.law.id for each in what.run.found}
    answered = what.verdict is vector.expects[-1] or vector.expects[-1] is None
    assert broken or not answered, f"nothing shows: {what.skipped}"


def test_every_variant_is_a_real_manager_but_those_that_cannot_be() -> None:
    assert MANAGERS.keys() | NO_MANAGER.keys() == REFUTATIONS.keys()
    assert not MANAGERS.keys() & NO_MANAGER.keys()


@EVERY
def test_the_reference_keeps_it_in_the_life_that_it_claims(name: str) -> None:
    vector = found()[name]
    restrictions = tuple(Restriction(Order(order), "claimed") for order in vector.orders)
    adapter: Adapter = type("Bound", (ReferenceAdapter,), {"restrictions": restrictions})()
    what = played(adapter, vector)
    assert what.run is not None
    assert not what.skipped
    assert not what.run.found
    run = Run(ReferenceAdapter(), vector.config)
    for op, expected in zip(vector.operations, vector.expects, strict=True):
        assert run.apply(op).verdict is expected
    assert all(expected in (None, Verdict.OK) for expected in vector.expects[:-1])


FOR_SEEING = (Capability.REFCOUNTS, Capability.THREE_VALUED, Capability.WATERMARK, Capability.APPEND)


@EVERY
def test_it_names_what_it_needs(name: str) -> None:
    """Without one of its needs it is not legal, or (these are left out) what differs is not to be seen."""
    vector = found()[name]
    to_be_seen = {need for need in vector.needs if need.value.startswith("guard-") or need in FOR_SEEING}
    for need in set(vector.needs) - to_be_seen:
        run = Run(ReferenceAdapter(), vector.config, without=frozenset((need,)))
        assert any(run.why_not(op) is not None or run.apply(op) is None for op in vector.operations), need


# -- none could be shorter ------------------------------------------------------------------------------


def lives_that_show(variant: Variant, config: Config, manners: Manners, most: int) -> Iterator[tuple[Operation, ...]]:
    """All of up to so many operations, none left out because the state was known."""
    scope = scope_of(config, manners)

    def go_on(life: Life, wrong: Bent, ops: tuple[Operation, ...]) -> Iterator[tuple[Operation, ...]]:
        if len(ops) == most:
            return
        for op in choices(life, scope, manners):
            for tried in (op, forced(life.state, op)):
                if tried is not None:
                    yield from follow(life, wrong, ops, tried)

    def follow(life: Life, wrong: Bent, ops: tuple[Operation, ...], op: Operation) -> Iterator[tuple[Operation, ...]]:
        done = perform_rightly(life.state, op)
        if getattr(op, "force", False) and (variant.bend.left is None or done.verdict is Verdict.OK):
            return
        right = Told(done.verdict, done.result, Bent(done.after), reads_of(life.state, done.after, op))
        bent = perform(variant.bend, wrong, op)
        if difference(right, bent) is not None:
            if variant.wanted(right, bent):
                yield (*ops, op)
        elif done.verdict in (None, Verdict.OK) and done.result is Result.OK:
            yield from go_on(life.then(op, done.after), bent.after, (*ops, op))

    yield from go_on(Life(start(config)), Bent(start(config)), ())


SHORT = (
    "guards.append.wrong.unseen-ignored",
    "guards.append.wrong.copies-ignored",
    "guards.swap-out.wrong.shared-counted-each-time",
    "guards.allocate.wrong.never-by-free",
    "arithmetic.append.wrong.rounds-down",
    "copying.turns.wrong.nobody-in-place",
    "ownership.release.wrong.keeps-the-entry",
    "ownership.replace.wrong.only-beyond-two",
    "data.replace.wrong.copies-late",
    "data.take.wrong.a-held-one",
    "data.follow.wrong.any-block",
    "atomicity.failure.wrong.keeps-the-table",
)


@pytest.mark.parametrize("name", SHORT)
def test_no_shorter_life_tells_it_in_its_configuration(name: str) -> None:
    vector, manners = found()[name], TIERS[0].manners
    assert not list(lives_that_show(BY_ID[name], vector.config, manners, len(vector.operations) - 1))
    assert vector.operations in lives_that_show(BY_ID[name], vector.config, manners, len(vector.operations))


# -- the counts are the theorems' -----------------------------------------------------------------------


@pytest.mark.parametrize("name", counting.TABLES)
def test_tables_are_counted_as_the_theorems_count_them(name: str) -> None:
    obligation = REFUTATIONS[f"arithmetic.append.wrong.{name}"]
    assert obligation.law is not None
    for tokens, seen, blocks, lookahead, size in itertools.product((1, 2, 3, 5), (0, 1, 3), range(4), range(3), (1, 2)):
        if seen > tokens or blocks * size < seen:
            continue
        numbers = {"tokens": tokens, "seen": seen, "blocks": blocks, "lookahead": lookahead, "block_size": size}
        count = counting.TABLES[name](INTS, SequenceCounts(tokens, seen, blocks), lookahead, size)
        law = CATALOGUE[obligation.law]
        assert obligation.build(INTS, **numbers).goal is law.judge(Row(count, tokens + lookahead, size, blocks))


@pytest.mark.parametrize("name", counting.COPIES)
def test_copies_are_counted_as_the_theorems_count_them(name: str) -> None:
    obligation = REFUTATIONS[f"copying.turns.wrong.{name}"]
    for owners in range(1, 5):
        for writers in range(owners + 1):
            right = copies_needed(INTS, owners, writers)
            same = counting.COPIES[name](INTS, owners, writers) == right
            assert obligation.build(INTS, owners=owners, writers=writers).goal is same
