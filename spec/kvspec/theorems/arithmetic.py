"""Lemmas about `kvspec.arithmetic`, for every block size.

Counting blocks is rounding up, and rounding is where block managers go wrong: a count that is one too low writes
outside the sequence's memory, one too high wastes a block for ever. Here: the count covers and is the least that does;
appending never shrinks a table, fills a partial last block in place, and wastes less than a block; vLLM's estimate by
touched blocks is never too low and, without an over-allocated tail, at most one too high; copies of a shared block stay
within their bounds. Knows the arithmetic only: no guard, no operation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kvspec.algebra import INTS, Algebra
from kvspec.arithmetic import (
    SequenceCounts,
    blocks_after_append,
    blocks_for,
    blocks_touched,
    copies_needed,
    full_blocks,
    growth,
    larger,
)
from kvspec.laws.table import Row
from kvspec.story import Scene, counted_as, draw_table
from kvspec.theorems.obligation import Area, Build, Claim, Kind, Named, claim_law

AREA = Area("arithmetic")


def counted(a: Algebra, seq: SequenceCounts, block_size: Any) -> list[Any]:
    """What has to be known of the counts of a sequence; that they are in range (`ranges`) need not be."""
    return [
        Named("table-covers-seen", seq.blocks * block_size >= seq.seen),
        Named("shared-writes-not-negative", seq.shared_writes >= 0),
    ]


def ranges(a: Algebra, seq: SequenceCounts) -> list[Any]:
    """The ranges that `SequenceCounts` promises: no proof needs them, and no example should be outside of them."""
    return [seq.tokens >= 1, seq.seen >= 0, seq.seen <= seq.tokens, seq.blocks >= 0]


@AREA.lemma("blocks-for.covers", "The blocks counted for some slots hold them.")
def _blocks_for_covers(a: Algebra, slots: Any, block_size: Any) -> Claim:
    return Claim([block_size >= 1], blocks_for(a, slots, block_size) * block_size >= slots)


@AREA.lemma("blocks-for.tight", "One block fewer would not hold the slots.")
def _blocks_for_tight(a: Algebra, slots: Any, block_size: Any) -> Claim:
    return Claim([block_size >= 1], (blocks_for(a, slots, block_size) - 1) * block_size < slots)


def least(a: Algebra, slots: Any, block_size: Any, blocks: Any) -> Any:
    """If so many blocks hold the slots, no more are counted for them."""
    return a.implies(blocks * block_size >= slots, blocks_for(a, slots, block_size) <= blocks)


@AREA.lemma("blocks-for.least", "Any number of blocks that holds the slots is at least the number counted.")
def _blocks_for_least(a: Algebra, slots: Any, block_size: Any, blocks: Any) -> Claim:
    return Claim([block_size >= 1], least(a, slots, block_size, blocks))


LEAST = ("arithmetic.blocks-for.least",)
"""Where this is named, an instance of it is given: products of unknowns are hard for some solvers without."""


@AREA.lemma("blocks-for.waste", "The blocks counted for some slots waste less than one block.")
def _blocks_for_waste(a: Algebra, slots: Any, block_size: Any) -> Claim:
    waste = blocks_for(a, slots, block_size) * block_size - slots
    return Claim([block_size >= 1], a.all_of(waste >= 0, waste < block_size))


@AREA.lemma("blocks-for.monotone", "More slots never take fewer blocks.")
def _blocks_for_monotone(a: Algebra, slots: Any, more: Any, block_size: Any) -> Claim:
    return Claim(
        [block_size >= 1, slots <= more],
        blocks_for(a, slots, block_size) <= blocks_for(a, more, block_size),
    )


@AREA.lemma(
    "blocks-for.subadditive", "Slots counted together never take more blocks than counted apart.", rests_on=LEAST
)
def _blocks_for_subadditive(a: Algebra, slots: Any, others: Any, block_size: Any) -> Claim:
    apart = blocks_for(a, slots, block_size) + blocks_for(a, others, block_size)
    given = [block_size >= 1, least(a, slots + others, block_size, apart)]
    return Claim(given, blocks_for(a, slots + others, block_size) <= apart)


@AREA.lemma("full-blocks.floor", "Full blocks are filled by the slots, and one more would not be.")
def _full_blocks_floor(a: Algebra, slots: Any, block_size: Any) -> Claim:
    full = full_blocks(a, slots, block_size)
    filled = a.all_of(full >= 0, full * block_size <= slots, slots < (full + 1) * block_size)
    return Claim([block_size >= 1, slots >= 0], filled)


@AREA.lemma("full-blocks.partial", "Beyond its full blocks a sequence has one partial block, or none.")
def _full_blocks_partial(a: Algebra, slots: Any, block_size: Any) -> Claim:
    partial = blocks_for(a, slots, block_size) - full_blocks(a, slots, block_size)
    return Claim([block_size >= 1], a.all_of(partial >= 0, partial <= 1))


def _appended(
    a: Algebra, tokens: Any, seen: Any, blocks: Any, lookahead: Any, block_size: Any
) -> tuple[Any, list[Any]]:
    seq = SequenceCounts(tokens, seen, blocks)
    return seq, [block_size >= 1, *counted(a, seq, block_size)]


@AREA.soundness(
    "append.covers", "After an append the table has a slot for all tokens and the lookahead.", law="table.covers"
)
def _append_covers(a: Algebra, tokens: Any, seen: Any, blocks: Any, lookahead: Any, block_size: Any) -> Claim:
    seq, given = _appended(a, tokens, seen, blocks, lookahead, block_size)
    after = blocks_after_append(a, seq, lookahead, block_size)
    return claim_law(a, "table.covers", Row(after, tokens + lookahead, block_size, blocks), given)


@AREA.lemma("append.never-shrinks", "Appending takes no entry out of a table, and its growth is never negative.")
def _append_never_shrinks(a: Algebra, tokens: Any, seen: Any, blocks: Any, lookahead: Any, block_size: Any) -> Claim:
    seq, given = _appended(a, tokens, seen, blocks, lookahead, block_size)
    kept = blocks_after_append(a, seq, lookahead, block_size) >= blocks
    return Claim(given, a.all_of(kept, growth(a, seq, lookahead, block_size) >= 0))


@AREA.lemma(
    "append.in-place",
    "An append grows a table exactly where its slots do not fit in what is there: a partial last block and lookahead "
    "blocks of an earlier call are used first.",
)
def _append_in_place(a: Algebra, tokens: Any, seen: Any, blocks: Any, lookahead: Any, block_size: Any) -> Claim:
    seq, given = _appended(a, tokens, seen, blocks, lookahead, block_size)
    fits = tokens + lookahead <= blocks * block_size
    return Claim(given, fits == (growth(a, seq, lookahead, block_size) == 0))


@AREA.lemma("append.waste", "An append that grows a table leaves less than one block of it unused.")
def _append_waste(a: Algebra, tokens: Any, seen: Any, blocks: Any, lookahead: Any, block_size: Any) -> Claim:
    seq, given = _appended(a, tokens, seen, blocks, lookahead, block_size)
    after = blocks_after_append(a, seq, lookahead, block_size)
    return Claim([*given, after > blocks], after * block_size - (tokens + lookahead) < block_size)


@AREA.lemma("append.again", "Appending again with nothing new, or with less lookahead, grows nothing.")
def _append_again(
    a: Algebra, tokens: Any, seen: Any, blocks: Any, lookahead: Any, earlier: Any, block_size: Any
) -> Claim:
    seq, given = _appended(a, tokens, seen, blocks, earlier, block_size)
    after = SequenceCounts(tokens, tokens, blocks_after_append(a, seq, earlier, block_size))
    return Claim([*given, lookahead >= 0, lookahead <= earlier], growth(a, after, lookahead, block_size) == 0)


@AREA.lemma(
    "touched.bounds-growth",
    "The estimate of vLLM is never too low: a table grows by at most the blocks that its new slots touch, whatever "
    "tail an earlier lookahead left.",
    rests_on=(*LEAST, "arithmetic.full-blocks.partial"),
)
def _touched_bounds_growth(a: Algebra, tokens: Any, seen: Any, blocks: Any, lookahead: Any, block_size: Any) -> Claim:
    seq, given = _appended(a, tokens, seen, blocks, lookahead, block_size)
    slots, touched = tokens + lookahead, blocks_touched(a, seen, tokens + lookahead - seen, block_size)
    known = [
        least(a, seen, block_size, blocks),
        least(a, slots, block_size, blocks),
        full_blocks(a, seen, block_size) <= blocks_for(a, seen, block_size),
    ]
    return Claim([*given, *known], growth(a, seq, lookahead, block_size) <= touched)


@AREA.lemma(
    "touched.at-most-one-high",
    "Where a table has no tail, the estimate is at most one too high: the partial last block, filled in place.",
)
def _touched_at_most_one_high(a: Algebra, tokens: Any, seen: Any, lookahead: Any, block_size: Any) -> Claim:
    seq, given = _appended(a, tokens, seen, blocks_for(a, seen, block_size), lookahead, block_size)
    touched = blocks_touched(a, seen, tokens + lookahead - seen, block_size)
    return Claim(given, touched <= growth(a, seq, lookahead, block_size) + 1)


@AREA.lemma("touched.bounds", "Slots touch the blocks they fill, and at most one more.", rests_on=LEAST)
def _touched_bounds(a: Algebra, seen: Any, slots: Any, block_size: Any) -> Claim:
    touched, filled = blocks_touched(a, seen, slots, block_size), blocks_for(a, slots, block_size)
    beyond = full_blocks(a, seen, block_size) + 1 + filled
    given = [
        block_size >= 1,
        seen >= 0,
        slots >= 0,
        least(a, slots, block_size, touched),
        least(a, seen + slots, block_size, beyond),
    ]
    return Claim(given, a.all_of(filled <= touched, touched <= filled + 1))


@AREA.lemma("copies.bounds", "A shared block never costs more copies than writers, or than owners but one.")
def _copies_bounds(a: Algebra, owners: Any, writers: Any) -> Claim:
    copies = copies_needed(a, owners, writers)
    within = a.all_of(copies >= 0, copies <= owners - 1, copies <= writers)
    return Claim([owners >= 1, writers >= 0, writers <= owners], within)


@AREA.lemma("copies.every-writer", "While an owner is left that does not write, every writer needs a copy.")
def _copies_every_writer(a: Algebra, owners: Any, writers: Any) -> Claim:
    return Claim([writers >= 0, writers < owners], copies_needed(a, owners, writers) == writers)


# -- wrong ways to count --------------------------------------------------------------------------------

Counting = Callable[[Algebra, SequenceCounts, Any, Any], Any]
"""How many entries a table is to have after an append: of a sequence, a lookahead and a block size."""


def _table_of(law: str, count: Counting) -> Build:
    def build(a: Algebra, tokens: Any, seen: Any, blocks: Any, lookahead: Any, block_size: Any) -> Claim:
        seq, given = _appended(a, tokens, seen, blocks, lookahead, block_size)
        row = Row(count(a, seq, lookahead, block_size), tokens + lookahead, block_size, blocks)
        return claim_law(a, law, row, [*given, lookahead >= 0, *ranges(a, seq)])

    return build


def _told(count: Counting) -> Callable[[Mapping[str, int]], list[Scene]]:
    def tell(example: Mapping[str, int]) -> list[Scene]:
        seq = SequenceCounts(example["tokens"], example["seen"], example["blocks"])
        lookahead, size = example["lookahead"], example["block_size"]
        said, right = (by(INTS, seq, lookahead, size) for by in (count, blocks_after_append))
        slots = seq.tokens + lookahead
        asked = f"it is to cover {counted_as(slots, 'slot')}, {lookahead} of them lookahead"
        table = f"a table of {counted_as(seq.blocks, 'block')} of {counted_as(size, 'slot')}"
        before = f"{table} holds {counted_as(seq.seen, 'token')}"
        return [
            Scene(f"{before}; {asked}", (("table", draw_table(seq.blocks, size, seq.seen)),)),
            Scene(f"by the count it comes to {counted_as(said, 'block')}", (("table", draw_table(said, size, slots)),)),
            Scene(f"right is {right}", (("table", draw_table(right, size, slots)),)),
        ]

    return tell


def _add_wrong(name: str, law: str, statement: str, wrong: Counting) -> None:
    right, tell = _table_of(law, blocks_after_append), _told(wrong)
    build = _table_of(law, wrong)
    AREA.add(f"append.wrong.{name}", Kind.REFUTATION, statement, build, law=law, right=right, tell=tell)


_add_wrong(
    "rounds-down",
    "table.covers",
    "A table of full blocks only: the tokens beyond them have no slot.",
    lambda a, seq, lookahead, size: larger(a, seq.blocks, full_blocks(a, seq.tokens + lookahead, size)),
)
_add_wrong(
    "forgets-lookahead",
    "table.covers",
    "A table for the tokens alone: the lookahead slots lie outside.",
    lambda a, seq, lookahead, size: larger(a, seq.blocks, blocks_for(a, seq.tokens, size)),
)
_add_wrong(
    "one-block-at-most",
    "table.covers",
    "A table that grows by one block at most (vLLM's first generation): too short for several unseen tokens.",
    lambda a, seq, lookahead, size: seq.blocks + a.ite(seq.tokens + lookahead > seq.blocks * size, 1, 0),
)
_add_wrong(
    "always-one-more",
    "table.tight",
    "Full blocks and one more: a block too many wherever the last one is exactly full.",
    lambda a, seq, lookahead, size: larger(a, seq.blocks, full_blocks(a, seq.tokens + lookahead, size) + 1),
)
_add_wrong(
    "new-tokens-in-new-blocks",
    "table.tight",
    "New tokens put into blocks of their own: a partial last block stays partial.",
    lambda a, seq, lookahead, size: seq.blocks + blocks_for(a, seq.tokens + lookahead - seq.seen, size),
)

OBLIGATIONS = AREA.obligations
