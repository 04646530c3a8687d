"""Copy-on-write of one shared block: how many copies its writers take, for any number of owners and writers.

Owners write in turn. A writer that is not alone leaves the block with a copy; the one that is alone writes in place.
By induction over the writers, `kvspec.arithmetic.copies_needed` counts exactly the copies taken so far, and the block
has the owners that did not leave it. Knows counts only: which slot names which block is in `ownership`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from kvspec.algebra import INTS, Algebra
from kvspec.arithmetic import copies_needed
from kvspec.story import Scene, counted_as
from kvspec.theorems.obligation import Area, Build, Claim, Kind, Named

AREA = Area("copying")


@dataclass(frozen=True)
class Shared:
    """One block under copy-on-write. owners: who still names it. copies: blocks taken by writers so far."""

    owners: Any
    copies: Any


def write(a: Algebra, block: Shared) -> Shared:
    """The next writer's turn."""
    shared = block.owners > 1
    return Shared(a.ite(shared, block.owners - 1, block.owners), a.ite(shared, block.copies + 1, block.copies))


def _counted(a: Algebra, block: Shared, owners: Any, writers: Any) -> list[Named]:
    """What the count says after so many of the first owners wrote."""
    copies = copies_needed(a, owners, writers)
    return [Named("copies-counted", block.copies == copies), Named("owners-left", block.owners == owners - copies)]


def _accounted(a: Algebra, block: Shared, owners: Any, writers: Any) -> Any:
    """Whether the count is right."""
    return a.all_of(*(part.fact for part in _counted(a, block, owners, writers)))


@AREA.induction("turns.start", "Before anyone writes, no copy is counted.")
def _start(a: Algebra, owners: Any) -> Claim:
    return Claim([owners >= 1], _accounted(a, Shared(owners, 0), owners, 0))


def _next(a: Algebra, owners: Any, writers: Any, still: Any, copies: Any) -> tuple[list[Any], list[Named]]:
    """What is given before an owner's turn, and what is counted after it."""
    block = Shared(still, copies)
    given = [owners >= 1, writers >= 0, writers < owners, *_counted(a, block, owners, writers)]
    return given, _counted(a, write(a, block), owners, writers + 1)


@AREA.induction("turns.next.copies-counted", "Each owner's turn keeps the number of copies exact.")
def _next_copies(a: Algebra, owners: Any, writers: Any, still: Any, copies: Any) -> Claim:
    given, (copies_counted, _) = _next(a, owners, writers, still, copies)
    return Claim(given, copies_counted.fact)


@AREA.induction("turns.next.owners-left", "Each owner's turn keeps the number of those who are left exact.")
def _next_owners(a: Algebra, owners: Any, writers: Any, still: Any, copies: Any) -> Claim:
    given, (_, owners_left) = _next(a, owners, writers, still, copies)
    return Claim(given, owners_left.fact)


@AREA.lemma("turns.last-in-place", "When every other owner has written, the last one writes in place.")
def _last_in_place(a: Algebra, owners: Any, still: Any, copies: Any) -> Claim:
    block = Shared(still, copies)
    after = write(a, block)
    given = [owners >= 1, *_counted(a, block, owners, owners - 1)]
    return Claim(given, a.all_of(block.owners == 1, after.copies == block.copies, after.owners == 1))


@AREA.induction(
    "turns.any-order",
    "Whoever writes next, what a block will still cost falls by what this write takes: in any order it adds up.",
)
def _any_order(a: Algebra, owners: Any, writers: Any) -> Claim:
    after = write(a, Shared(owners, 0))
    before, left = copies_needed(a, owners, writers), copies_needed(a, after.owners, writers - 1)
    return Claim([owners >= 1, writers >= 1, writers <= owners], before == left + after.copies)


MOST = 4
"""Turns that a refutation unrolls."""


def _counted_by(count: Any) -> Build:
    def build(a: Algebra, owners: Any, writers: Any) -> Claim:
        block = Shared(owners, 0)
        for turn in range(MOST):
            after = write(a, block)
            goes_on = turn < writers
            block = Shared(a.ite(goes_on, after.owners, block.owners), a.ite(goes_on, after.copies, block.copies))
        given = [owners >= 1, writers >= 0, writers <= owners, writers <= MOST]
        return Claim(given, count(a, owners, writers) == block.copies)

    return build


def _told(count: Any) -> Callable[[Mapping[str, int]], list[Scene]]:
    def tell(example: Mapping[str, int]) -> list[Scene]:
        owners, writers = example["owners"], example["writers"]
        block = Shared(owners, 0)
        said = count(INTS, owners, writers)
        block_has = f"a block has {counted_as(owners, 'owner')}, of which {writers} write"
        scenes = [Scene(f"{block_has}: {counted_as(said, 'copy')} counted")]
        for turn in range(writers):
            after = write(INTS, block)
            how = "leaves it with a copy" if after.copies > block.copies else "is alone, and writes in place"
            scenes.append(Scene(f"writer {turn + 1} {how}", (("block", "[owner]" * after.owners),)))
            block = after
        return [*scenes, Scene(f"{counted_as(block.copies, 'copy')} taken")]

    return tell


def _add_refutation(name: str, statement: str, wrong: Any) -> None:
    right = _counted_by(copies_needed)
    AREA.add(name, Kind.REFUTATION, statement, _counted_by(wrong), right=right, tell=_told(wrong))


_add_refutation(
    "turns.wrong.every-writer-copies", "A copy for every writer: the last owner needs none.", lambda a, o, w: w
)
_add_refutation(
    "turns.wrong.one-copy-a-block",
    "One copy for a shared block, however many of its owners write to it.",
    lambda a, o, w: a.ite(a.all_of(o > 1, w > 0), 1, 0),
)
_add_refutation(
    "turns.wrong.nobody-in-place",
    "Copies counted by the owners that were there at first, as if none of them ever left.",
    lambda a, o, w: a.ite(o > 1, w, 0),
)

OBLIGATIONS = AREA.obligations
