"""The adapters of V1's managers: the leak of the first where it is, and what later ones do with windows and groups."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from kvconform.adapter import capabilities_of
from kvconform.check import Check, judged, overall
from kvconform.engines import LoadedEngine, NotInThisVersion, adapter_class, adapter_factory
from kvconform.profiles import PROFILES, Profile
from kvconform.rows import NULL, shown
from kvconform.run import Run, replay
from kvconform.targets import Target
from kvspec.vocabulary import Allocate, Append, Capability, Config, Free, Level, ResetIndex, Result, Step

NAME = "vllm-v1"
Published = Callable[[str], LoadedEngine]


BRIEF = replace(PROFILES["quick"], walk=5_000, examples=10, workloads=6, repeats=2, shrink=8_000)


def checked(version: str, profile: Profile) -> Check:
    return Check(Target(NAME, NAME, version, adapter_factory(NAME, version)()), profile)


def test_a_refused_admission_that_keeps_its_hits_is_found(published: Published) -> None:
    published("0.6.6.post1")
    result = checked("0.6.6.post1", BRIEF).run()
    assert overall(result, judged(result)) == "violates"
    found = [f for f in result.findings if f.violation.law.id == "robust.atomic-failure"]
    assert found
    assert min(len(finding.operations) for finding in found) <= 4


def test_the_next_release_breaks_no_must_law(published: Published) -> None:
    published("0.7.0")
    result = checked("0.7.0", PROFILES["quick"]).run()
    laws = judged(result)
    assert overall(result, laws) == "conforms"
    assert {law.law.id for law in laws if law.verdict == "violated"} == {"robust.bad-input"}
    verdicts = {law.law.id: law.verdict for law in laws}
    assert all(verdicts[f"prefix.{name}"] == "holds" for name in ("hit-exact", "hit-computed", "hit-maximal", "reset"))


def test_a_reset_is_refused_while_a_block_is_in_use(published: Published) -> None:
    published("0.7.0")
    adapter = adapter_factory(NAME, "0.7.0")()
    assert Capability.RESET_INDEX in capabilities_of(adapter)
    assert Capability.TRY_ALLOCATE in capabilities_of(adapter)
    run = Run(adapter, Config(1, 4, prefix_caching=True))
    for op in (Allocate(1, (1,), (1, 2)), Step({1: (3,)})):
        run.apply(op)
    assert run.apply(ResetIndex()).result is Result.REFUSED
    run.apply(Free(1))
    assert run.apply(ResetIndex()).result is Result.OK
    assert run.apply(Allocate(2, (2,), (1, 2, 3))).cached == {2: 0}
    assert not run.found


def test_a_hit_on_what_the_same_step_computes_is_legal(published: Published) -> None:
    published("0.7.0")
    run = Run(adapter_factory(NAME, "0.7.0")(), Config(1, 4, prefix_caching=True))
    replay(run, [Allocate(1, (1,), (1, 2)), Allocate(2, (2,), (1, 2, 3)), Step({1: (3,), 2: (4,)}), Free(1)])
    assert run.tally.checks["prefix.hit-computed"] == 1
    assert not [found for found in run.found if found.violation.law.level is Level.MUST]


def test_a_manager_between_the_two_kinds_has_no_adapter(published: Published) -> None:
    published("0.9.0")
    with pytest.raises(NotInThisVersion, match="of a kind between"):
        adapter_class(NAME, "0.9.0")


LATER = ("0.10.2", "0.18.0", "0.33.0")


@pytest.mark.parametrize("version", LATER[1:])
def test_later_releases_break_no_must_law(published: Published, version: str) -> None:
    """With whatever they offer: chunks, drafts, lookahead, windows, groups of layers, the watermark from 0.33 on."""
    published(version)
    result = checked(version, PROFILES["quick"] if version == "0.33.0" else BRIEF).run()
    laws = judged(result)
    assert overall(result, laws) == "conforms"
    assert {law.law.area for law in laws if law.verdict == "violated"} <= {"robust", "prefix"}
    held = {law.law.id for law in laws if law.verdict == "holds"}
    assert held >= {"window.live", "window.null", "prefix.hit-exact", "prefix.hit-computed", "data.read-back"}
    assert ("admission.watermark" in held) == (version == "0.33.0")


@pytest.mark.parametrize("version", LATER)
def test_groups_of_layers_have_rows_of_their_own(published: Published, version: str) -> None:
    published(version)
    run = Run(adapter_factory(NAME, version)(), Config(1, 16, sliding_window=2, kv_groups=3), record=True)
    replay(run, [Allocate(1, (1,), (1, 2, 3)), Step({1: (4,)}), Append(1), Step({1: (5,)}), Append(1, drafts=2)])
    rows = run.entries[2].rows[1][1]
    lanes = [rows[lane::3] for lane in range(3)]
    assert len(lanes[0]) == len(lanes[1]) == len(lanes[2]) == 4
    assert [lane.count(NULL) for lane in lanes] == [0, 2, 2]  # only the last of the computed tokens is read again
    assert not run.found


@pytest.mark.parametrize("version", LATER)
def test_a_hit_under_a_window_needs_only_what_is_read(published: Published, version: str) -> None:
    published(version)
    run = Run(adapter_factory(NAME, version)(), Config(1, 7, prefix_caching=True, sliding_window=2), record=True)
    replay(run, [Allocate(1, (1,), (1, 2, 3, 4)), Step({1: (5,)}), Free(1), Allocate(2, (2,), (1, 2, 3, 4, 6))])
    assert run.entries[3].outcome.cached == {2: 4}
    assert shown(run.entries[3].rows[2][1])[:3] == [None, None, None]
    assert run.tally.checks["window.live"]
    assert not run.found


def test_an_extra_key_is_part_of_what_is_found(published: Published) -> None:
    published("0.33.0")
    run = Run(adapter_factory(NAME, "0.33.0")(), Config(1, 9, prefix_caching=True), record=True)
    first = (Allocate(1, (1,), (1, 2), extra=("a",)), Step({1: (3,)}), Free(1))
    replay(run, [*first, Allocate(2, (2,), (1, 2, 3)), Allocate(3, (3,), (1, 2, 3), extra=("a",))])
    assert [entry.outcome.cached for entry in run.entries[3:]] == [{2: 0}, {3: 2}]
    assert not run.found


def test_drafts_that_were_right_are_computed_already(published: Published) -> None:
    published("0.33.0")
    run = Run(adapter_factory(NAME, "0.33.0")(), Config(2, 9))
    for op in (Allocate(1, (1,), (1, 2)), Step({1: (3,)}), Append(1, drafts=3), Step({1: (4, 5)})):
        run.apply(op)
    seq = run.world.seqs[1]
    assert (len(seq.tokens), seq.upto, seq.computed) == (5, 3, 4)
    assert run.why_not(Append(1, drafts=2)) is None
    run.apply(Append(1))
    run.apply(Step({1: (6,)}))
    assert (seq.upto, seq.computed) == (5, 5)
    assert not run.found


def test_accepted_drafts_beyond_a_window_put_the_null_block_into_the_index(published: Published) -> None:
    """0.10.2: what a window gives up before it was published is published as the null block, which fails at the second
    one. See docs/findings/vllm-v1-null-block-cached.md.
    """
    operations = [
        Allocate(1, (1,), (1,)),
        Step({1: (1,)}),
        Append(1, drafts=2),
        Step({1: (1, 1, 1)}),
        Append(1),
    ]
    for version in LATER:
        published(version)
        run = Run(adapter_factory(NAME, version)(), Config(1, 8, prefix_caching=True, sliding_window=1))
        replay(run, operations)
        broken = {found.violation.law.id for found in run.found if found.violation.law.level is Level.MUST}
        assert broken == ({"robust.no-crash"} if version == "0.10.2" else set())
