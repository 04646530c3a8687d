"""Managers whose cached blocks must be evicted before they can be handed out: the engine evicts, not the manager.

Knows: the toy, with an index that owns blocks itself. Must not know: how the judge adds pools up.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import pytest
from kit_support import BRIEF
from kit_toy import GPU, Full, Toy, ToyAdapter

from kvconform.adapter import Group
from kvconform.check import Check, judged, overall
from kvconform.run import Run, replay
from kvconform.targets import Target
from kvspec.vocabulary import Allocate, Config, Device, Evict, Free, Step, Verdict

CACHING = Config(1, 4, prefix_caching=True)


class TreeToy(Toy):
    """What is published stays with the index when nobody else owns it."""

    def __init__(self, size: int, totals: dict[Device, int]) -> None:
        super().__init__(size, totals)
        self.kept: list[int] = []

    def give(self, device: Device, block: int) -> None:
        super().give(device, block)
        if device is GPU and not self.refs[GPU][block] and block in self.keys:
            self.free[GPU].remove(block)
            self.kept.append(block)

    def admit(self, seqs: Sequence[int], count: int, hits: Sequence[int] = ()) -> None:
        if count - len(hits) > len(self.free[GPU]):
            raise Full("not with these hits")
        mine = [block for block in hits if not self.refs[GPU][block]]
        self.kept = [block for block in self.kept if block not in mine]
        self.free[GPU] += mine  # the toy takes a hit out of the free list
        super().admit(seqs, count, hits)

    def drop_cached(self, count: int) -> None:
        gone, self.kept = self.kept[:count], self.kept[count:]
        for block in gone:
            self.evict(block)
            self.free[GPU].append(block)

    def forget(self) -> None:
        self.drop_cached(len(self.kept))
        super().forget()


class CallerEvicts(ToyAdapter):
    """The toy over a tree."""

    name = "tree"
    make = TreeToy

    @property
    def tree(self) -> TreeToy:
        return cast(TreeToy, self.toy)

    def can_allocate(self, group: Group) -> Verdict | bool:
        total, watermark = self.usable, self.config.watermark_blocks
        need = sum(self.prompt_blocks(group))
        answer = self.answer(GPU, need, total, watermark)
        if answer is not Verdict.LATER or group.admitted_before:
            return answer
        return self.answer(GPU, need - len(self.hits(group)), total, watermark)

    def evict(self, count: int) -> None:
        self.tree.drop_cached(count)

    def num_reclaimable_blocks(self, device: Device) -> int:
        return len(self.tree.kept) if device is GPU else 0


class LosesWhatItEvicts(CallerEvicts):
    """Evicted blocks leave the index and do not come back."""

    def evict(self, count: int) -> None:
        gone, self.tree.kept = self.tree.kept[:count], self.tree.kept[count:]
        for block in gone:
            self.tree.evict(block)


class EvictsNothing(CallerEvicts):
    """Eviction is promised and not done."""

    def evict(self, count: int) -> None:
        pass


class CountsCachedAsFree(CallerEvicts):
    """The free count has the cached blocks in it, and so has the other."""

    def num_free_blocks(self, device: Device) -> int:
        return super().num_free_blocks(device) + self.num_reclaimable_blocks(device)


def verdicts(adapter: CallerEvicts) -> tuple[str, set[str]]:
    result = Check(Target("tree", "tree", "", adapter), BRIEF).run()
    laws = judged(result)
    return overall(result, laws), {law.law.id for law in laws if law.verdict == "violated"}


def test_a_manager_whose_engine_evicts_conforms() -> None:
    word, broken = verdicts(CallerEvicts())
    assert word == "conforms"
    assert broken <= {"robust.bad-input"}


LIFE = (Allocate(1, (1,), (1, 2, 3)), Step({}), Free(1), Evict(1), Allocate(2, (2,), (1, 2)), Free(2))


@pytest.mark.parametrize(
    ("wrong", "law"),
    [(LosesWhatItEvicts, "accounting.conservation"), (CountsCachedAsFree, "accounting.conservation")],
)
def test_a_wrong_one_is_caught(wrong: type[CallerEvicts], law: str) -> None:
    run = Run(wrong(), CACHING)
    replay(run, LIFE)
    assert law in {found.violation.law.id for found in run.found}
    clean = Run(CallerEvicts(), CACHING)
    replay(clean, LIFE)
    assert not clean.found


def test_one_that_evicts_nothing_is_stuck() -> None:
    word, broken = verdicts(EvictsNothing())
    assert word == "violates"
    assert broken & {"robust.progress", "accounting.spendable"}
