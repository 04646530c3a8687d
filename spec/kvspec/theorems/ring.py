"""A row that begins again with its first block: how many blocks it takes that nobody reads what is written over.

Under a sliding window a row need not grow: after its last block it comes back to the first, whose positions are dead by
then. Two positions have the same slot exactly if they are a whole number of turns apart. Here: with as many blocks as
`kvspec.arithmetic.ring_size` counts, no position that is written has the slot of one that is read still, and with one
block fewer some position has. The guard of a prompt that is put into such a row is in `guards`; a block that a row
names several times has one owner, see `wrong_ownership` for what comes of counting it more often.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kvspec.algebra import INTS, Algebra
from kvspec.arithmetic import blocks_for, first_live, larger, ring_size
from kvspec.laws.data import Write
from kvspec.story import Scene, counted_as, draw_table
from kvspec.theorems.obligation import VARIANT_PROVED_ONLY, Area, Build, Claim, Kind, Named, claim_law
from kvspec.theorems.window import window_of

AREA = Area("ring")

Size = Callable[[Algebra, Any, Any, Any], Any]
"""Blocks of a ring: of the window, the positions computed at once, and the size of a block."""


def _written_over(size: Size) -> Build:
    """Of the `new` positions after the computed ones one is written, and another position is read still."""

    def build(
        a: Algebra,
        computed: Any,
        window: Any,
        new: Any,
        block_size: Any,
        slots: Any,
        turns: Any,
        written: Any,
        position: Any,
    ) -> Claim:
        is_new = a.all_of(written >= computed, written < computed + new)
        is_read = a.all_of(position >= first_live(a, computed, window), position < computed + new)
        # Products of unknowns are hard for solvers: they are told that a turn or more is at least one turn.
        hints = [a.implies(turns >= 1, turns * slots >= slots), a.implies(turns <= -1, turns * slots <= 0 - slots)]
        given = [
            block_size >= 1,
            *window_of(a, computed, window),
            slots == size(a, window, new, block_size) * block_size,
            Named("is-new", is_new),
            Named("is-read", is_read),
            a.negate(turns == 0),
            *hints,
        ]
        case = Write(a.negate(written == position), a.ite(written - position == turns * slots, 1, 0))
        return claim_law(a, "data.exclusive-write", case, given)

    return build


AREA.add(
    "slots.apart",
    Kind.SOUNDNESS,
    "In a ring of so many blocks no position that is written has the slot of another one that is read still.",
    _written_over(ring_size),
    law="data.exclusive-write",
)


@AREA.lemma("size.least", "With one block fewer there is a position that is written over while it is read still.")
def _size_least(a: Algebra, computed: Any, window: Any, new: Any, block_size: Any) -> Claim:
    fewer = (ring_size(a, window, new, block_size) - 1) * block_size
    written = computed + larger(a, fewer - window + 1, 0)
    position = written - fewer
    is_new = a.all_of(written >= computed, written < computed + new)
    is_read = a.all_of(position >= first_live(a, computed, window), position < computed + new)
    given = [block_size >= 1, window >= 1, new >= 1, computed >= window - 1]
    return Claim(given, a.all_of(is_new, is_read))


def _of_the_window(a: Algebra, window: Any, new: Any, block_size: Any) -> Any:
    return blocks_for(a, window, block_size)


def _tell(example: Mapping[str, int]) -> list[Scene]:
    computed, window, new, size = (example[name] for name in ("computed", "window", "new", "block_size"))
    said, right = (by(INTS, window, new, size) for by in (_of_the_window, ring_size))
    row = f"a row begins again after {counted_as(said, 'block')}; right is {right}"
    reads = f"{counted_as(computed, 'token')} computed, and {new} more at once; the window is {window}"
    written, position = example["written"], example["position"]
    slot = written % (said * size)
    return [
        Scene(f"{row}; {reads}", (("row", draw_table(said, size, min(computed, said * size))),)),
        Scene(f"position {written} is written to slot {slot}"),
        Scene(f"position {position} lies there too, and is read still"),
    ]


AREA.add(
    f"size{VARIANT_PROVED_ONLY}of-the-window",
    Kind.REFUTATION,
    "A ring of the window's blocks, in which several positions are computed at once: a chunk, or drafts.",
    _written_over(_of_the_window),
    law="data.exclusive-write",
    right=_written_over(ring_size),
    tell=_tell,
)

OBLIGATIONS = AREA.obligations
