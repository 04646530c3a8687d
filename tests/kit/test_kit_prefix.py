"""Prefix caching: what is expected of an index, and what is not held against a manager.

Knows: the toy and the reference. Must not know: the judge's insides.
"""

from __future__ import annotations

import pytest
from kit_support import checked, verdicts
from kit_toy import ToyAdapter

from kvconform.adapter import Adapter, AdapterMistake, Capabilities, Group, capabilities_of
from kvconform.cached import Cached
from kvconform.check import judged, overall
from kvconform.clock import Moment
from kvconform.reference import ReferenceAdapter
from kvconform.reference_try import TryReference
from kvconform.run import Run
from kvconform.targets import resolve
from kvspec.vocabulary import Allocate, Append, Config, Free, Operation, Preempt, ResetIndex, Result, Step, Verdict

CACHING = Config(2, 8, prefix_caching=True)


def run_of(adapter: Adapter, *operations: Operation, config: Config = CACHING) -> Run:
    """A run that is not over yet."""
    run = Run(adapter, config)
    for op in operations:
        run.apply(op)
    return run


# -- what is expected ----------------------------------------------------------------------------------------------


def test_a_run_of_blocks_is_expected_from_the_first_on() -> None:
    known = Cached()
    known.computed(0, 11, 0, Moment(1, 1))
    known.computed(2, 13, 12, Moment(1, 1))
    assert known.run([11, 12, 13]) == 1
    known.computed(1, 12, 11, Moment(2, 2))
    assert known.run([11, 12, 13]) == 3
    known.handed_out(0)
    assert known.run([11, 12, 13]) == 0


def test_nothing_is_expected_of_a_prefix_one_of_whose_blocks_is_gone() -> None:
    known = Cached()
    known.computed(0, 11, 0, Moment(1, 1))
    known.computed(5, 11, 0, Moment(1, 1))
    assert known.run([11]) == 1
    assert not known.alone(0)
    known.handed_out(0)
    assert known.run([11]) == 0
    assert not known.alone(5)


def test_after_a_reset_everything_is_stale_until_it_is_computed_again() -> None:
    known = Cached()
    known.computed(0, 11, 0, Moment(1, 1))
    known.reset()
    assert known.run([11]) == 0
    assert known.stale == {11}
    known.computed(0, 11, 0, Moment(5, 5))
    assert known.run([11]) == 1
    assert not known.stale


def test_the_older_of_two_blocks_is_older_by_any_way_to_count() -> None:
    known = Cached()
    known.computed(0, 11, 0, Moment(1, 1))
    known.computed(1, 12, 0, Moment(2, 2))
    known.touch([1], Moment(4, 4))
    known.released([0], Moment(5, 5))
    known.released([1], Moment(6, 6))
    assert known.uses[0].before(known.uses[1])
    known.touch([0], Moment(7, 7))
    assert not known.uses[0].before(known.uses[1])
    assert not known.uses[1].before(known.uses[0])


# -- what managers do ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("adapter", [ReferenceAdapter(), ToyAdapter(), TryReference()], ids=lambda a: a.name)
def test_hits_are_judged(adapter: Adapter) -> None:
    prompt = (1, 2, 3, 4, 5)
    run = run_of(adapter, Allocate(1, (1,), prompt), Step({}), Allocate(2, (2,), prompt))
    assert run.world.seqs[2].computed == 4
    assert run.ledger.rows[2].blocks[:2] == run.ledger.rows[1].blocks[:2]
    run.apply(Free(1))
    run.apply(Preempt(2))
    run.apply(Allocate(2, (2,)))
    assert run.world.seqs[2].computed == 4
    run.apply(Step({2: (6,)}))
    run.apply(Append(2))
    run.finish()
    assert not run.found
    for law in ("hit-exact", "hit-computed", "hit-maximal"):
        assert run.tally.checks[f"prefix.{law}"] == 2


@pytest.mark.parametrize("adapter", [ReferenceAdapter(), ToyAdapter(), TryReference()], ids=lambda a: a.name)
def test_extra_keys_and_a_reset_keep_hits_apart(adapter: Adapter) -> None:
    prompt = (1, 2, 3)
    run = run_of(adapter, Allocate(1, (1,), prompt, extra=("a",)), Step({}), Allocate(2, (2,), prompt))
    assert run.world.seqs[2].computed == 0
    run.apply(Allocate(3, (3,), prompt, extra=("a",)))
    assert run.world.seqs[3].computed == 2
    run.apply(Step({}))
    run.apply(ResetIndex())
    run.apply(Allocate(4, (4,), prompt))
    assert run.world.seqs[4].computed == 0
    run.finish()
    assert not run.found


def test_without_prefix_caching_nothing_is_cached() -> None:
    run = run_of(
        ReferenceAdapter(), Allocate(1, (1,), (1, 2, 3)), Step({}), Allocate(2, (2,), (1, 2, 3)), config=Config(2, 8)
    )
    assert run.world.seqs[2].computed == 0
    assert not [law for law in run.tally.checks if law.startswith("prefix.")]


def test_what_was_written_and_then_overwritten_is_strange_not_unwritten() -> None:
    adapter = resolve("fault:partial-hit-not-copied").adapter
    operations = (
        Allocate(1, (1,), (1, 1)),
        Step({}),
        Free(1),
        Allocate(2, (2,), (1, 2)),  # takes half of the cached block over, and writes the other half in place
        Step({}),
        Free(2),
        Allocate(3, (3,), (1, 1, 1)),
    )
    run = run_of(adapter, *operations, config=Config(2, 3, prefix_caching=True))
    assert {found.violation.law.id for found in run.found} == {"prefix.hit-exact"}


# -- answers that cannot be used -------------------------------------------------------------------------------------


@pytest.mark.parametrize("answer", [-1, 4, "2", {1: 7}, 1.5])
def test_a_number_of_cached_tokens_that_cannot_be_is_the_adapters_mistake(answer: object) -> None:
    class Mistaken(ToyAdapter):
        def allocate(self, group: Group) -> object:  # type: ignore[override]
            super().allocate(group)
            return answer

    with pytest.raises(AdapterMistake, match=r"Mistaken\.allocate answered"):
        run_of(Mistaken(), Allocate(1, (1,), (1, 2, 3)))


def test_who_is_asked_by_trying_has_no_guard() -> None:
    class Both(ToyAdapter):
        capabilities = Capabilities(admission="try")

    with pytest.raises(AdapterMistake, match="defines can_allocate, but declares"):
        capabilities_of(Both())


# -- trying ------------------------------------------------------------------------------------------------------------


def test_a_refusal_by_trying_is_a_refusal() -> None:
    run = run_of(TryReference(), Allocate(1, (1,), (1,) * 9), Allocate(2, (2,), (2,) * 8))
    assert run.world.seqs[2].computed == 0
    outcome = run.apply(Allocate(2, (2,)))
    assert (outcome.result, outcome.verdict) == (Result.REFUSED, Verdict.NO)
    run.apply(Free(1))
    outcome = run.apply(Allocate(2, (2,)))
    assert (outcome.result, outcome.verdict) == (Result.OK, Verdict.OK)
    assert not run.found


class KeepsItsHits(TryReference):
    """A refused admission takes the reference of its first hit with it."""

    def allocate(self, group: Group) -> bool | int:
        answer = super().allocate(group)
        if answer is False and group.waiting[0].id not in self.manager:
            hits = self.manager._cache.match(group.waiting[0].tokens, group.extra).blocks
            for block in hits[:1]:
                self.manager._gpu.share(block)
        return answer


def test_a_refused_try_that_keeps_its_hits_is_found() -> None:
    result = checked(KeepsItsHits())
    assert verdicts(result)["robust.atomic-failure"] == "violated"


@pytest.mark.parametrize("seed", [0, 1])
def test_the_reference_conforms_in_either_style(seed: int) -> None:
    result = checked(TryReference(), seed=seed, strict=True)
    assert overall(result, judged(result)) == "conforms"
    assert {law.law.id for law in judged(result) if law.law.area == "prefix" and law.verdict != "holds"} == set()
