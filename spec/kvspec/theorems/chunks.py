"""Prompts that are computed in parts, and drafts of which only some turn out to be right.

A chunk is an append of the next unseen tokens and no more: it goes on, covers what it must, and all chunks together
take the blocks that one append of everything takes, so that whoever fits whole fits in parts. Drafts are computed
beside the last token; those that were right count as computed, and the slots of the others are written over. Knows the
arithmetic only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kvspec.algebra import INTS, Algebra
from kvspec.arithmetic import (
    SequenceCounts,
    accepted_drafts,
    blocks_after_append,
    blocks_for,
    chunk_end,
    computed_after,
    growth,
    larger,
)
from kvspec.laws.data import Read
from kvspec.laws.table import Row
from kvspec.story import Scene, counted_as, draw_table
from kvspec.theorems.arithmetic import counted, ranges
from kvspec.theorems.obligation import VARIANT_PROVED_ONLY, Area, Build, Claim, Kind, Named, claim_law

AREA = Area("chunks")


# -- a prompt in parts ----------------------------------------------------------------------------------


@AREA.lemma("end.goes-on", "While tokens are unseen each chunk covers one more at least, and no more than there are.")
def _goes_on(a: Algebra, tokens: Any, seen: Any, chunk: Any) -> Claim:
    end = chunk_end(a, tokens, seen, chunk)
    given = [Named("chunk-positive", chunk >= 1), Named("has-unseen", seen < tokens)]
    return Claim(given, a.all_of(seen < end, end <= tokens, end <= seen + chunk))


@AREA.soundness("append.covers", "After the append of a chunk the table has a slot for all of it.", law="table.covers")
def _covers(a: Algebra, tokens: Any, seen: Any, blocks: Any, chunk: Any, lookahead: Any, block_size: Any) -> Claim:
    end = chunk_end(a, tokens, seen, chunk)
    seq = SequenceCounts(end, seen, blocks)
    after = blocks_after_append(a, seq, lookahead, block_size)
    given = [block_size >= 1, *counted(a, seq, block_size)]
    return claim_law(a, "table.covers", Row(after, end + lookahead, block_size, blocks), given)


@AREA.induction(
    "append.adds-up",
    "What a chunk takes and what all tokens after it take is what all of them take at once, so that no chunk takes "
    "more than that.",
)
def _adds_up(a: Algebra, tokens: Any, seen: Any, blocks: Any, chunk: Any, lookahead: Any, block_size: Any) -> Claim:
    end = chunk_end(a, tokens, seen, chunk)
    first, whole = SequenceCounts(end, seen, blocks), SequenceCounts(tokens, seen, blocks)
    rest = SequenceCounts(tokens, end, blocks_after_append(a, first, lookahead, block_size))
    part, left, at_once = (growth(a, seq, lookahead, block_size) for seq in (first, rest, whole))
    return Claim([block_size >= 1], a.all_of(part + left == at_once, left >= 0))


Counting = Callable[[Algebra, Any, Any, Any, Any, Any], Any]
"""Entries of a table after the append of a chunk: of tokens, seen, entries before, chunk and block size."""


def _chunked(a: Algebra, tokens: Any, seen: Any, blocks: Any, chunk: Any, block_size: Any) -> Any:
    return larger(a, blocks, blocks_for(a, chunk_end(a, tokens, seen, chunk), block_size))


def _of_chunk(law: str, count: Counting) -> Build:
    def build(a: Algebra, tokens: Any, seen: Any, blocks: Any, chunk: Any, block_size: Any) -> Claim:
        seq = SequenceCounts(tokens, seen, blocks)
        given = [block_size >= 1, chunk >= 1, seen < tokens, *ranges(a, seq), blocks * block_size >= seen]
        after = count(a, tokens, seen, blocks, chunk, block_size)
        return claim_law(a, law, Row(after, chunk_end(a, tokens, seen, chunk), block_size, blocks), given)

    return build


def _told(count: Counting) -> Callable[[Mapping[str, int]], list[Scene]]:
    def tell(example: Mapping[str, int]) -> list[Scene]:
        tokens, seen, blocks, chunk, size = (
            example[name] for name in ("tokens", "seen", "blocks", "chunk", "block_size")
        )
        end = chunk_end(INTS, tokens, seen, chunk)
        said, right = (by(INTS, tokens, seen, blocks, chunk, size) for by in (count, _chunked))
        of = f"of a prompt of {counted_as(tokens, 'token')} {seen} are covered, in {counted_as(blocks, 'block')}"
        return [
            Scene(f"{of} of {counted_as(size, 'slot')}", (("table", draw_table(blocks, size, seen)),)),
            Scene(
                f"a chunk of {chunk} covers {end} of them; by the count the table comes to {counted_as(said, 'block')}",
                (("table", draw_table(said, size, end)),),
            ),
            Scene(f"right is {right}", (("table", draw_table(right, size, end)),)),
        ]

    return tell


def _add_wrong(name: str, law: str, statement: str, wrong: Counting) -> None:
    right, tell = _of_chunk(law, _chunked), _told(wrong)
    full_name, build = f"append{VARIANT_PROVED_ONLY}{name}", _of_chunk(law, wrong)
    AREA.add(full_name, Kind.REFUTATION, statement, build, law=law, right=right, tell=tell)


_add_wrong(
    "from-the-start",
    "table.covers",
    "A table for as many tokens as the chunk has, counted from the start and not from what is covered already.",
    lambda a, tokens, seen, blocks, chunk, size: larger(a, blocks, blocks_for(a, chunk, size)),
)
_add_wrong(
    "whole-prompt",
    "table.tight",
    "A table for the whole prompt, though only a chunk of it is computed.",
    lambda a, tokens, seen, blocks, chunk, size: larger(a, blocks, blocks_for(a, tokens, size)),
)

# -- drafts ---------------------------------------------------------------------------------------------


@AREA.lemma("drafts.last-is-new", "Whatever drafts were right, the last token that comes is still to be computed.")
def _last_is_new(a: Algebra, covered: Any, new: Any, drafts: Any) -> Claim:
    computed = computed_after(a, covered, new, drafts)
    given = [Named("tokens-come", new >= 1), Named("drafts-not-negative", drafts >= 0)]
    within = a.all_of(covered <= computed, computed <= covered + drafts)
    return Claim(given, a.all_of(computed < covered + new, within))


Computed = Callable[[Algebra, Any, Any, Any], Any]
"""Tokens that count as computed: of those covered, the new ones, and the drafts."""


def _drafted(computed: Computed) -> Build:
    """So many drafts were right, and a token comes after the last of them. position: one that counts as computed."""

    def build(a: Algebra, covered: Any, drafts: Any, right: Any, position: Any) -> Claim:
        given = [
            Named("drafts-in-range", a.all_of(covered >= 0, right >= 0, right <= drafts)),
            position >= 0,
        ]
        counts = position < computed(a, covered, right + 1, drafts)
        is_wrong = a.all_of(counts, position >= covered + right)
        return claim_law(a, "data.read-back", Read(a.ite(is_wrong, 1, 0), a.ite(counts, 1, 0)), given)

    return build


AREA.add(
    "drafts.read-back",
    Kind.SOUNDNESS,
    "Every position that counts as computed holds the KV of its own token, be it a draft that was right.",
    _drafted(computed_after),
    law="data.read-back",
)


def _tell_drafts(example: Mapping[str, int]) -> list[Scene]:
    covered, drafts, right = (example[name] for name in ("covered", "drafts", "right"))
    said = covered + drafts
    return [
        Scene(
            f"{counted_as(covered, 'token')} covered, and {counted_as(drafts, 'draft')} beside them, are computed",
            (("row", draw_table(1, max(said, 1), said)),),
        ),
        Scene(f"{right} of the drafts were right, and a token comes"),
        Scene(
            f"{said} count as computed; right is {covered + accepted_drafts(INTS, right + 1, drafts)}: "
            f"position {example['position']} holds the KV of a draft that was not right"
        ),
    ]


AREA.add(
    f"drafts{VARIANT_PROVED_ONLY}all-computed",
    Kind.REFUTATION,
    "All drafts count as computed, be they right or not: the tokens that come instead of them are never computed.",
    _drafted(lambda a, covered, new, drafts: covered + drafts),
    law="data.read-back",
    right=_drafted(computed_after),
    tell=_tell_drafts,
)

OBLIGATIONS = AREA.obligations
