"""Under a sliding window a row gives up what no later token reads, and nothing else: for any window and any length.

First the counts: from which position on a row is live, how many of its first entries are dead, and how many entries
with a live position there can be, which is what bounds a row. Then the rows of a device (`kvspec.model.window`): an
entry is given up by a `release`, every micro-step keeps *every entry with a live position owns a block*, and so do
tokens that are computed; whoever reads a live position still reads it back. A hit under a window takes over only the
blocks that are read still. An append that first gives up what is dead has more free blocks than its guard was told of,
which is no harm. Wrong variants are in `wrong_window`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from kvspec.algebra import Algebra
from kvspec.arithmetic import (
    blocks_for,
    dead_entries,
    first_live,
    live_entries,
    most_live_entries,
)
from kvspec.guards import is_ok
from kvspec.laws.admission import Approval
from kvspec.laws.data import Read
from kvspec.laws.window import Window
from kvspec.model.cache import At, reads
from kvspec.model.pool import Conjunct, is_empty, is_owner
from kvspec.model.steps import MICRO_STEPS, RELEASE, REPLACE, TAKE, MicroStep
from kvspec.model.window import LIVE, UNCOVERED, Rows, all_dead, give_up, is_live, live_from
from kvspec.theorems.arithmetic import least
from kvspec.theorems.data import READ_BACK
from kvspec.theorems.guards import COURSE, UNDER_WAY, course, known, under_way
from kvspec.theorems.happening import add_general, possible, somewhere
from kvspec.theorems.obligation import Area, Claim, Kind, Named, claim_law
from kvspec.theorems.operations import approved, comes_to
from kvspec.theorems.performing import is_stuck
from kvspec.theorems.requests import WITH_NULL, Numbers, append_with_null, unknowns_of
from kvspec.theorems.worlds import ClaimIn, World, holds_of_any, invariant, named, sound_cache

AREA = Area("window")


add = partial(add_general, AREA)
"""Adds an obligation about any number of blocks, slots and entries."""


# -- which positions are read ---------------------------------------------------------------------------


def window_of(a: Algebra, computed: Any, window: Any) -> list[Any]:
    """What is so of every sequence under a window."""
    return [Named("window-positive", window >= 1), Named("computed-not-negative", computed >= 0)]


def is_read(a: Algebra, position: Any, by: Any, window: Any) -> Any:
    """Whether attention at one position reads another."""
    return a.all_of(position >= 0, position > by - window, position <= by)


@AREA.lemma("first-live.dead-stay-dead", "A position before the first live one is read by no token still to compute.")
def _dead_stay_dead(a: Algebra, computed: Any, window: Any, position: Any, by: Any) -> Claim:
    given = [position < first_live(a, computed, window), by >= computed]
    return Claim(given, a.negate(is_read(a, position, by, window)))


@AREA.lemma("first-live.is-read", "The first live position is read by the next token, so that no more could be dead.")
def _first_is_read(a: Algebra, computed: Any, window: Any) -> Claim:
    first = first_live(a, computed, window)
    return Claim(window_of(a, computed, window), is_read(a, first, computed, window))


@AREA.lemma("first-live.never-back", "While tokens are computed the first live position never goes back.")
def _never_back(a: Algebra, computed: Any, later: Any, window: Any) -> Claim:
    return Claim([computed <= later], first_live(a, computed, window) <= first_live(a, later, window))


# -- which entries are dead -----------------------------------------------------------------------------


def further(a: Algebra, fewer: Any, more: Any, block_size: Any) -> Any:
    """What is one entry further begins a block later: products of unknowns are hard for solvers without being told."""
    return a.implies(fewer + 1 <= more, (fewer + 1) * block_size <= more * block_size)


@AREA.lemma("dead-entries.whole", "An entry is among the dead ones exactly if all of its positions are dead.")
def _dead_whole(a: Algebra, computed: Any, window: Any, entry: Any, block_size: Any) -> Claim:
    dead, first = dead_entries(a, computed, window, block_size), first_live(a, computed, window)
    hints = [further(a, entry, dead, block_size), further(a, dead, entry + 1, block_size)]
    return Claim([block_size >= 1, *hints], (entry < dead) == ((entry + 1) * block_size <= first))


@AREA.lemma("dead-entries.never-fewer", "While tokens are computed an entry that is dead stays dead.")
def _never_fewer(a: Algebra, computed: Any, later: Any, window: Any, block_size: Any) -> Claim:
    before, after = (dead_entries(a, at, window, block_size) for at in (computed, later))
    return Claim([block_size >= 1, computed <= later], a.all_of(before >= 0, before <= after))


def some_read(a: Algebra, computed: Any, window: Any, entry: Any, position: Any, by: Any, size: Any) -> Sequence[Any]:
    """A token still to be computed reads a position that lies in this entry."""
    lies_there = a.all_of(entry >= 0, entry * size <= position, position < (entry + 1) * size)
    return [size >= 1, Named("still-to-compute", by >= computed), lies_there, is_read(a, position, by, window)]


@AREA.soundness(
    "dead-entries.are-unread",
    "No token that is still to be computed reads a position in an entry that is counted as dead.",
    law="window.live",
    rests_on=("window.dead-entries.whole", "window.first-live.dead-stay-dead"),
)
def _are_unread(a: Algebra, computed: Any, window: Any, entry: Any, position: Any, by: Any, block_size: Any) -> Claim:
    dead = dead_entries(a, computed, window, block_size)
    read = some_read(a, computed, window, entry, position, by, block_size)
    case = Window(dead=first_live(a, computed, window), missing=a.ite(entry < dead, 1, 0))
    return claim_law(a, "window.live", case, [*read, further(a, entry, dead, block_size)])


# -- how many are live ----------------------------------------------------------------------------------


@AREA.lemma(
    "live-entries.bounded",
    "However long a row is, its entries with a live position are no more than its window and its new slots can touch.",
    rests_on=("arithmetic.touched.bounds",),
)
def _live_bounded(a: Algebra, computed: Any, window: Any, new: Any, block_size: Any) -> Claim:
    slots, most = computed + new, most_live_entries(a, window, new, block_size)
    first = first_live(a, computed, window)
    # A run of slots that begins in one block ends before so many more: an instance of blocks-for.least.
    before = dead_entries(a, computed, window, block_size)
    hint = least(a, slots, block_size, before + most)
    given = [block_size >= 1, *window_of(a, computed, window), new >= 0, first <= slots, hint]
    return Claim(given, live_entries(a, computed, window, slots, block_size) <= most)


@AREA.lemma("live-entries.tight", "Where the first live position is the last one of its block, there are just so many.")
def _live_tight(a: Algebra, window: Any, new: Any, block_size: Any) -> Claim:
    computed = window - 1 + block_size - 1
    most = most_live_entries(a, window, new, block_size)
    reached = live_entries(a, computed, window, computed + new, block_size)
    reads = window - 1 + new
    hint = least(a, reads - 1, block_size, blocks_for(a, computed + new, block_size) - 1)
    given = [block_size >= 1, window >= 1, new >= 0, hint]
    return Claim(given, reached == most)


@AREA.lemma(
    "live-entries.in-blocks", "That is at most one more than the blocks which the window and the new slots fill."
)
def _in_blocks(a: Algebra, window: Any, new: Any, block_size: Any) -> Claim:
    reads = window - 1 + new
    filled = blocks_for(a, reads, block_size)
    given = [block_size >= 1, window >= 1, new >= 0]
    return Claim(given, most_live_entries(a, window, new, block_size) <= filled + 1)


# -- the rows of a device -------------------------------------------------------------------------------


def _starts(world: World) -> Claim:
    rows = world.rows("here")
    return Claim(named(world, UNCOVERED, rows), holds_of_any(world, LIVE[0], rows))


def _keeps(step: MicroStep) -> ClaimIn:
    """Of a release, where it gives up what is dead."""

    def claim(world: World) -> Claim:
        a, rows, at = world.a, world.rows("here"), somewhere(world, step)
        dead = [Named("all-dead", all_dead(a, rows, at.entry))] if step is RELEASE else []
        after = replace(rows, cache=step.do(a, rows.cache, at))
        sound = [*invariant(world, rows.cache.pool), *named(world, LIVE, rows)]
        given = [*sound, *possible(world, step, rows.cache, at), *dead]
        return Claim(given, holds_of_any(world, LIVE[0], after))

    return claim


def _computing_keeps(world: World) -> Claim:
    """Whatever is computed of whatever sequences."""
    rows, later = world.rows("here"), world.marks("later")

    def grows(a: Algebra, rows: Rows, entry: Any) -> Any:
        return rows.done[entry] <= later[entry]

    more = Conjunct("computed-grows", ("entry",), grows, "no sequence has fewer tokens computed than before")
    given = [*named(world, LIVE, rows), *named(world, (more,), rows)]
    return Claim(given, holds_of_any(world, LIVE[0], replace(rows, done=later)))


def giving_up(world: World) -> tuple[Rows, Rows, At, list[Any]]:
    """An entry is given up whose positions are all dead: the rows before and after, where, and that all was sound."""
    a, rows, at = world.a, world.rows("here"), At(world.entry("p"))
    after = give_up(a, rows, at)
    sound = [*sound_cache(world, rows.cache), *named(world, LIVE, rows)]
    given = [*sound, *possible(world, RELEASE, rows.cache, at), Named("all-dead", all_dead(a, rows, at.entry))]
    return rows, after, at, given


def missing_at(a: Algebra, rows: Rows, entry: Any) -> Window:
    """What the law says of one entry."""
    gone = a.all_of(is_live(a, rows, entry), is_empty(rows.cache.pool, entry))
    return Window(dead=live_from(a, rows, entry), missing=a.ite(gone, 1, 0))


def _gives_up_nothing_live(world: World) -> Claim:
    _, after, _, given = giving_up(world)
    return claim_law(world.a, "window.live", missing_at(world.a, after, world.entry("other")), given)


def live_read(a: Algebra, rows: Rows, reader: Any, slot: Any) -> list[Any]:
    """The entry reads this slot, whose position is live."""
    live = rows.start[reader] + slot >= live_from(a, rows, reader)
    return [reads(a, rows.cache, reader, slot), Named("position-is-live", live)]


def still_read(a: Algebra, rows: Rows, reader: Any, slot: Any) -> Read:
    """One slot that was read and is live: wrong where it is not there any more, or holds something else."""
    cache = rows.cache
    right = cache.holds[cache.pool.tab[reader], slot] == cache.must[reader, slot]
    return Read(wrong=a.ite(a.all_of(reads(a, cache, reader, slot), right), 0, 1), slots=1)


def _reads_live_ones_back(world: World) -> Claim:
    rows, after, _, given = giving_up(world)
    a, reader, slot = world.a, world.entry("reader"), world.number("slot")
    case = still_read(a, after, reader, slot)
    return claim_law(a, "data.read-back", case, [*given, *live_read(a, rows, reader, slot)])


add("start.live-held", Kind.INDUCTION, f"At the start, {LIVE[0].words}.", _starts)
for _step in MICRO_STEPS.values():
    _which = " of an entry that is dead" if _step is RELEASE else ""
    add(
        f"{_step.name}.keeps.live-held",
        Kind.INDUCTION,
        f"After a {_step.name}{_which}, still {LIVE[0].words}.",
        _keeps(_step),
    )
add(
    "compute.keeps.live-held",
    Kind.INDUCTION,
    f"However many tokens are computed, still {LIVE[0].words}: what is live becomes dead, and never the other way.",
    _computing_keeps,
)

LIVE_HELD = (
    "window.start.live-held",
    *(f"window.{step}.keeps.live-held" for step in MICRO_STEPS),
    "window.compute.keeps.live-held",
)
"""What the laws rest on: no entry with a live position is ever without a block."""

add(
    "give-up.nothing-live",
    Kind.SOUNDNESS,
    "A row that gives up an entry whose positions are dead has a block for every live position.",
    _gives_up_nothing_live,
    law="window.live",
    rests_on=LIVE_HELD,
)
add(
    "give-up.reads-back",
    Kind.SOUNDNESS,
    "Whoever reads a live position, of this sequence or another, reads it back after an entry was given up.",
    _reads_live_ones_back,
    law="data.read-back",
    rests_on=(*READ_BACK, *LIVE_HELD),
)

# -- hits -----------------------------------------------------------------------------------------------


Skipped = Callable[[Algebra, Any, Any, Any], Any]
"""How many of its first entries a row does without: of tokens computed, a window and the size of a block."""


def hit_rows(world: World, skipped: Skipped) -> tuple[Rows, list[Any], Any, Any]:
    """A new row of which `known` tokens are found, from an entry on that is taken over; and one live position of it.

    Answers the rows, what is given, and the entry and slot of that position.
    """
    a, rows, known_tokens = world.a, world.rows("here"), world.number("known")
    reader, slot, place = world.entry("reader"), world.number("slot"), world.number("place")
    size = rows.cache.block_size
    first, skips = first_live(a, known_tokens, rows.window), skipped(a, known_tokens, rows.window, size)

    def taken(a: Algebra, rows: Rows, entry: Any) -> Any:
        is_hit = a.all_of(rows.start[entry] >= skips * size, rows.start[entry] < known_tokens)
        whole = a.all_of(is_owner(rows.cache.pool, entry), rows.cache.computed[entry] == size)
        return a.implies(is_hit, whole)

    taken_over = Conjunct("hits-taken-over", ("entry",), taken, "the hits from there on were taken over whole")
    position = rows.start[reader] + slot
    given = [
        *sound_cache(world, rows.cache),
        *named(world, (taken_over,), rows),
        Named("in-a-block", a.all_of(place >= 0, rows.start[reader] == place * size, slot >= 0, slot < size)),
        Named("live-and-known", a.all_of(position >= first, position < known_tokens)),
        further(a, place, skips, size),
    ]
    return rows, given, reader, slot


def _hits_read_back(world: World) -> Claim:
    rows, given, reader, slot = hit_rows(world, dead_entries)
    return claim_law(world.a, "data.read-back", still_read(world.a, rows, reader, slot), given)


@AREA.soundness(
    "hits.are-enough",
    "Of a prompt that is found, every block with a live position is among those after the dead ones.",
    law="window.live",
    rests_on=("window.dead-entries.whole",),
)
def _hits_are_enough(a: Algebra, known: Any, window: Any, entry: Any, position: Any, block_size: Any) -> Claim:
    dead, first = dead_entries(a, known, window, block_size), first_live(a, known, window)
    lies_there = a.all_of(entry * block_size <= position, position < (entry + 1) * block_size)
    given = [block_size >= 1, entry >= 0, lies_there, Named("position-is-live", position >= first)]
    case = Window(dead=first, missing=a.ite(entry < dead, 1, 0))
    return claim_law(a, "window.live", case, [*given, further(a, entry, dead, block_size)])


add(
    "hits.read-back",
    Kind.SOUNDNESS,
    "A prompt of which only the blocks after the dead ones were taken over reads back every live position of it.",
    _hits_read_back,
    law="data.read-back",
    rests_on=(*READ_BACK, "window.hits.are-enough", "prefix.join.exact", "prefix.revive.exact"),
)

# -- guards ---------------------------------------------------------------------------------------------


@AREA.soundness(
    "append.more-is-free",
    "An approved append that first gives up what is dead is not stuck: it has what was counted, and more.",
    law="admission.sound-append",
    unknowns=(*unknowns_of(WITH_NULL), *UNDER_WAY, "more"),
    rests_on=(*COURSE, f"guards.{WITH_NULL}.starts"),
)
def _more_is_free(a: Algebra, more: Any, **numbers: Any) -> Claim:
    u = Numbers(**numbers)
    request, now = append_with_null(a, u), under_way(u)
    given = [*known(a, u, request), *course(a, now, u.block_size, u.rest, u.free, request.demand.need)]
    stuck = is_stuck(a, replace(now, free=now.free + more), u.block_size)
    given.append(Named("gives-up-not-negative", more >= 0))
    return claim_law(a, "admission.sound-append", Approval(is_ok(request.demand, u.free), stuck), given)


def _finds_a_block(step: MicroStep) -> ClaimIn:
    """An approved append that comes to this micro-step, with so many more blocks free than were counted."""

    def claim(world: World) -> Claim:
        a, cache, more = world.a, world.cache("here"), world.number("more")
        at, ready = comes_to(world, step.name, cache)
        _, given = approved(world, WITH_NULL, cache.pool.free - more)
        return Claim([*given, ready, Named("gives-up-not-negative", more >= 0)], step.can(a, cache, at))

    return claim


for _step in (REPLACE, TAKE):
    add(
        f"append.{_step.name}-on-gpu",
        Kind.INDUCTION,
        f"An approved append that first gives up what is dead never comes to a {_step.name} that finds no free block.",
        _finds_a_block(_step),
        rests_on=(*COURSE, f"guards.{WITH_NULL}.starts", f"guards.{WITH_NULL}.sound"),
    )

PARTS_WITH_WINDOW: dict[tuple[str, str], str] = {
    ("append", "release"): "window.give-up.nothing-live",
    ("append", "replace"): "window.append.replace-on-gpu",
    ("append", "take"): "window.append.take-on-gpu",
}
"""Of each loop of an operation under a window, the theorem that says why its micro-step may happen."""

OBLIGATIONS = AREA.obligations
