"""Managers whose engine admits in two phases: it looks hits up, does other things, and admits then.

Knows: the toy, with hits that are held in between. Must not know: how the judge keeps them apart.
"""

from __future__ import annotations

import pytest
from kit_support import BRIEF
from kit_toy import GPU, Full, ToyAdapter

from kvconform.adapter import Group, Seq
from kvconform.check import Check, judged, overall
from kvconform.run import Run, replay
from kvconform.targets import Target
from kvspec.vocabulary import Allocate, Config, Device, Free, ResetIndex, Step, Verdict

CACHING = Config(1, 4, prefix_caching=True)


class TwoPhases(ToyAdapter):
    """The toy, which holds what it has found."""

    name = "two-phases"

    def start(self, config: Config) -> None:
        super().start(config)
        self.held: dict[int, list[int]] = {}

    def match(self, group: Group) -> int:
        (seq,) = group.waiting
        self.held[seq.id] = self.hits(group)
        for block in self.held[seq.id]:
            self.hold(block)
        return len(self.held[seq.id]) * self.config.block_size

    def hold(self, block: int) -> None:
        if not self.toy.refs[GPU][block]:
            self.toy.free[GPU].remove(block)
        self.toy.refs[GPU][block] += 1

    def can_allocate(self, group: Group) -> Verdict | bool:
        seq = group.waiting[0]
        if seq.id not in self.held:
            return super().can_allocate(group)
        held = len(self.held[seq.id])
        need = self.prompt_blocks(group)[0] - held
        return self.answer(GPU, need, self.usable - held, self.config.watermark_blocks)

    def allocate(self, group: Group) -> bool | int | dict[int, int] | None:
        seq = group.waiting[0]
        if seq.id not in self.held:
            return super().allocate(group)
        held = self.held[seq.id]
        if self.prompt_blocks(group)[0] - len(held) > len(self.toy.free[GPU]):
            raise Full("not with what is held")
        fresh = self.toy.take(GPU, self.prompt_blocks(group)[0] - len(held))
        self.toy.place(seq.id, GPU, [*self.held.pop(seq.id), *fresh])
        self.toy.looked[seq.id] = len(held)
        (self.toy.begun.add if held else self.toy.begun.discard)(seq.id)
        return len(held) * self.config.block_size

    def free(self, seq: Seq) -> None:
        for block in reversed(self.held.pop(seq.id, [])):
            self.toy.give(GPU, block)
        super().free(seq)

    def block_table(self, seq: Seq) -> list[int | None]:
        return [*self.held[seq.id]] if seq.id in self.held else super().block_table(seq)

    def announced_row(self, seq: Seq) -> list[int | None]:
        return self.block_table(seq)

    def row_device(self, seq: Seq) -> Device:
        return GPU if seq.id in self.held else super().row_device(seq)


class OnlyLends(TwoPhases):
    """What was found may be handed out to somebody else before it is used."""

    def hold(self, block: int) -> None:
        pass

    def free(self, seq: Seq) -> None:
        self.held.pop(seq.id, None)
        super().free(seq)


class NeverGivesBack(TwoPhases):
    """What was found for a request that goes away stays held."""

    def free(self, seq: Seq) -> None:
        self.held.pop(seq.id, None)
        super().free(seq)


def test_a_manager_that_holds_what_it_finds_conforms() -> None:
    result = Check(Target("two", "two", "", TwoPhases()), BRIEF).run()
    laws = judged(result)
    assert overall(result, laws) == "conforms"
    assert {law.law.id for law in laws if law.verdict == "violated"} <= {"robust.bad-input"}


FIRST = (Allocate(1, (1,), (1, 2, 3)), Step({}), Free(1))
LIFE = (
    *FIRST,
    Allocate(2, (2,), (1, 2, 3, 4), match=True),
    Allocate(3, (3,), (7,)),
    Step({}),
    Free(3),
    Allocate(2, (2,)),
)


def test_what_was_found_is_held_while_others_come_and_go() -> None:
    run = Run(TwoPhases(), CACHING, record=True)
    replay(run, LIFE)
    assert run.entries[3].outcome.cached == {2: 3}
    assert run.entries[3].rows[2][1] == run.entries[7].rows[2][1][:3]
    assert run.entries[7].outcome.cached == {2: 3}
    assert run.why_not(ResetIndex()) == "the run is over"
    assert not run.found


def test_nothing_is_reset_between_a_match_and_its_admission() -> None:
    run = Run(TwoPhases(), CACHING)
    for op in LIFE[:4]:
        run.apply(op)
    assert run.why_not(ResetIndex()) == "the engine resets nothing between a match and the admission"
    run.apply(Free(2))
    assert run.why_not(ResetIndex()) is None
    assert not run.found


@pytest.mark.parametrize(
    ("wrong", "operations", "law"),
    [
        (OnlyLends, LIFE[:4], "accounting.conservation"),
        (NeverGivesBack, (*LIFE[:4], Free(2)), "accounting.conservation"),
    ],
)
def test_a_wrong_one_is_caught(wrong: type[TwoPhases], operations: tuple[object, ...], law: str) -> None:
    run = Run(wrong(), CACHING)
    replay(run, operations)  # type: ignore[arg-type]
    assert law in {found.violation.law.id for found in run.found}
