"""Counterexamples are told so that a person can follow them, and what is told is what happened."""

from __future__ import annotations

import functools
from dataclasses import replace

import pytest

from kvspec.algebra import INTS
from kvspec.model.cache import Cache
from kvspec.model.columns import Plain
from kvspec.model.index import Index
from kvspec.model.pool import Pool
from kvspec.prover import discharge
from kvspec.story import Scene, draw_cache, draw_counts, draw_index, draw_table, tell, wrong_reads
from kvspec.theorems import OBLIGATIONS
from kvspec.theorems.obligation import Kind, is_variant

pytest.importorskip("z3")

TOLD = [obligation for obligation in OBLIGATIONS if obligation.tell is not None]
CONTENT_LAWS = ("data.read-back", "data.copies", "data.swap-content", "data.exclusive-write")


@functools.cache
def story_of(obligation):
    return tell(obligation.tell(discharge(obligation).example))


def test_every_wrong_guard_and_micro_step_has_a_story():
    untold = {o.id for o in OBLIGATIONS if o.kind is Kind.REFUTATION and is_variant(o.id)} - {o.id for o in TOLD}
    assert not untold


@pytest.mark.parametrize("obligation", TOLD, ids=[obligation.id for obligation in TOLD])
def test_it_has_a_beginning_a_drawing_and_an_end(obligation):
    lines = story_of(obligation)
    assert len(lines) >= 3
    assert any(line.startswith("    ") and "[" in line for line in lines)
    assert not any("None" in line for line in lines)


@pytest.mark.parametrize(
    "obligation",
    [o for o in TOLD if o.law and o.law.startswith("admission.sound-") and o.id.startswith("guards.")],
    ids=lambda obligation: obligation.id,
)
def test_an_unsound_guard_is_told_to_say_ok_and_to_run_out(obligation):
    lines = story_of(obligation)
    assert any("says OK; right is" in line for line in lines)
    assert "runs out" in "".join(line for line in lines if not line.startswith("    ")).splitlines()[-1]


@pytest.mark.parametrize(
    "obligation",
    [o for o in TOLD if o.law in CONTENT_LAWS and o.id.split(".")[0] in ("data", "refinement")],
    ids=lambda obligation: obligation.id,
)
def test_a_spoilt_content_is_told_by_who_reads_what(obligation):
    assert any("and must read" in line for line in story_of(obligation))


def a_cache(owners: dict[int, int], holds: dict[tuple[int, int], int] | None = None) -> Cache:
    """Two blocks; owners: the block that each entry names."""
    ref = {block: sum(named == block for named in owners.values()) for block in (0, 1)}
    free = [block for block in (0, 1) if ref[block] == 0]
    perm = [*free, *(block for block in (0, 1) if ref[block])]
    from kvspec.model.columns import Cells

    pool = Pool(
        2,
        Plain(ref),
        Cells(INTS, lambda: owners),
        Plain({}),
        Plain({}),
        Plain(dict(enumerate(perm))),
        Plain({block: i for i, block in enumerate(perm)}),
        len(free),
    )
    cells = Cells(INTS, lambda: holds) if holds is not None else Cells(INTS, lambda: {}["unknown"])
    return Cache(pool, 1, cells, Plain({(0, 0): 0, (1, 0): 1}), Plain({0: 1, 1: 1}))


def test_a_cache_is_drawn_with_owners_contents_and_what_is_free():
    cache = a_cache({0: 1, 1: 1, 2: -1}, {(0, 0): 3, (1, 0): 1})
    assert draw_cache(cache) == "0:[free | d]  1:[A B | b]    1 free"
    assert wrong_reads(cache) == ["A reads b and must read a"]


def test_an_index_is_drawn_with_what_is_wrong_with_its_blocks():
    cache = a_cache({0: 1, 1: -1, 2: -1}, {(0, 0): 3, (1, 0): 1})
    index = Index(cache, Plain({0: 3, 1: 1}), Plain({0: 0, 1: 1}), Plain({0: 2, 1: 1}), 2, Plain({}))
    assert draw_index(index) == "[d in block 0, 0 of 1 computed]  [b in block 1, of before the reset]"
    assert draw_index(replace(index, key=Plain({}))) == "[] nothing is published"


@pytest.mark.parametrize(
    "obligation", [o for o in TOLD if o.law == "prefix.reset"], ids=lambda obligation: obligation.id
)
def test_what_is_stale_is_told(obligation):
    lines = story_of(obligation)
    assert any("of before the reset" in line for line in lines)
    assert lines[-1].startswith("whoever needs ")


def test_what_is_not_known_is_not_drawn():
    cache = a_cache({0: 1, 1: -1, 2: -1})
    assert draw_cache(cache) == "0:[free]  1:[A]    1 free"
    assert wrong_reads(cache) == []


def test_a_table_is_drawn_with_its_slots():
    assert draw_table(2, 2, 3) == "[xx][x.]"
    assert draw_table(1, 2, 3) == "[xx] x outside"
    assert draw_table(0, 2, 0) == "no block"


def test_counts_are_drawn_as_boxes():
    assert draw_counts(4, 1, 2) == "[group][other][     ][     ]   2 free"
    assert draw_counts(0, 0, 0) == "no block   0 free"


def test_a_drawing_is_shown_when_it_changes():
    scenes = [Scene("one", (("GPU", "a"),)), Scene("two", (("GPU", "a"),)), Scene("three", (("GPU", "b"),))]
    assert tell(scenes) == ["one", "    GPU   a", "two", "three", "    GPU   b"]
