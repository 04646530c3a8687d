"""The adapters of V1's first managers: the leak where it is, nothing elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from kvconform.adapter import capabilities_of
from kvconform.check import PROFILES, Check, Profile, judged, overall
from kvconform.engines import LoadedEngine, NotInThisVersion, adapter_class, adapter_factory
from kvconform.run import Run, replay
from kvconform.targets import Target
from kvspec.vocabulary import Allocate, Capability, Config, Free, Level, ResetIndex, Result, Step

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


def test_a_later_manager_has_no_adapter_yet(published: Published) -> None:
    published("0.10.2")
    with pytest.raises(NotInThisVersion, match="of a later kind"):
        adapter_class(NAME, "0.10.2")
