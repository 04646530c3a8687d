"""The lives about prefix caches and windows: every correct manager answers alike, and wrong ones are told by them.

Knows: the vectors, and the kit that judges them. Must not know: how the lives are enumerated.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kvconform import vectors as player
from kvconform.adapter import Adapter, capabilities_of
from kvconform.run import Run
from kvconform.targets import resolve
from kvspec.edges import contents, vectors
from kvspec.edges.vectors import Vector
from kvspec.vocabulary import Allocate, Level

MADE = contents.vectors()
SHIPPED = tuple(each for each in vectors.load().vectors if each.id.startswith(("content/", "window/")))
PREFIX = [each for each in MADE if each.cached is not None]


def played(target: str, vector: Vector) -> player.Played:
    adapter = resolve(target).adapter
    start: Callable[..., Run] = lambda config: Run(adapter, config, record=True)  # noqa: E731
    return player.play(start, vector, adapter, capabilities_of(adapter))


def test_what_is_shipped_is_what_is_made() -> None:
    assert SHIPPED == MADE
    assert len({each.id for each in MADE}) == len(MADE)


@pytest.mark.parametrize("target", ["reference", "reference-try"])
def test_both_faces_of_the_reference_find_what_must_be_found_and_no_more(target: str) -> None:
    for vector in PREFIX:
        one = played(target, vector)
        assert not one.skipped
        assert one.run is not None
        assert not one.run.found
        (cached,) = one.run.entries[-1].outcome.cached.values()
        assert vector.cached is not None
        least, most = vector.cached
        assert least <= cached <= most


def test_every_way_to_lose_a_prefix_is_there() -> None:
    past = {value for each in PREFIX for value in each.id.split(",") if value.startswith("past=")}
    assert past == {f"past={reason}" for reason in contents.WORDS["past"]}
    for word in ("left=whole", "left=one", "from=owners", "from=cache", "from=both", "promised=some", "way=readmitted"):
        assert any(word in each.id for each in PREFIX)


def test_the_last_operation_is_the_admission_that_is_asked_about() -> None:
    for each in PREFIX:
        assert isinstance(each.operations[-1], Allocate)
        assert all(len(op.seqs) == 1 for op in each.operations if isinstance(op, Allocate))


def test_the_reference_answers_as_expected_under_windows() -> None:
    for vector in (each for each in MADE if each.cached is None):
        one = played("reference", vector)
        assert not one.skipped, vector.id
        assert one.run is not None
        assert not one.run.found
        verdicts = [entry.outcome.verdict for entry in one.run.entries]
        assert verdicts == list(vector.expects), vector.id


CAUGHT = (
    "key-without-prefix", "key-without-extra", "published-uncomputed", "reset-ignored",
    "full-hit-leaves-nothing", "window-straddling-block", "window-one-short", "window-leak", "window-cap-in-guard",
    "null-block-not-counted", "null-block-freed", "window-swap-shifts", "forgotten-when-freed",
)  # fmt: skip


@pytest.mark.parametrize("name", CAUGHT)
def test_these_lives_alone_catch_a_fault(name: str) -> None:
    adapter: Adapter = resolve(f"fault:{name}").adapter
    levels = {
        found.violation.law.level
        for vector in MADE
        if (one := player.play(lambda config: Run(adapter, config), vector, adapter, capabilities_of(adapter))).run
        for found in one.run.found
    }
    assert levels & {Level.MUST, Level.SHOULD}
