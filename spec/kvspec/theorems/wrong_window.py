"""Wrong variants under a sliding window: rows that give up too much, and hits that take too little over.

Each is bent the way a block manager could have it, and the solver finds a row in which a token that is still to be
computed reads what was given up.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from kvspec.algebra import INTS, Algebra
from kvspec.arithmetic import blocks_for, dead_entries, first_live, full_blocks, larger
from kvspec.laws.window import Window
from kvspec.model.cache import At, Cache
from kvspec.model.pool import EMPTY, is_owner, return_block
from kvspec.model.window import Rows, all_dead, live_from
from kvspec.story import Scene, counted_as, draw_cache, draw_window, entry_name
from kvspec.theorems.obligation import VARIANT_PROVED_ONLY, Area, Build, Claim, Kind, claim_law
from kvspec.theorems.window import Skipped, hit_rows, live_read, some_read, still_read
from kvspec.theorems.worlds import ClaimIn, World, in_few, moments, names_in_few, sound_cache

AREA = Area("window")

Tell = Callable[[Mapping[str, int]], list[Scene]]


def _add(
    name: str, law: str, statement: str, wrong: Build, right: Build, tell: Tell, more: tuple[str, ...] = ()
) -> None:
    """name: what is bent, a stroke, and how."""
    full_name = name.replace("/", VARIANT_PROVED_ONLY)
    AREA.add(full_name, Kind.REFUTATION, statement, wrong, law=law, right=right, tell=tell, unknowns=more or None)


# -- how many entries are dead --------------------------------------------------------------------------

Dead = Callable[[Algebra, Any, Any, Any, Any], Any]
"""How many entries are given up: of the tokens computed, those covered, the window and the size of a block."""


def _right(a: Algebra, computed: Any, covered: Any, window: Any, block_size: Any) -> Any:
    return dead_entries(a, computed, window, block_size)


def _gives_up(dead: Dead) -> Build:
    """A token that was covered is still to be computed, and reads a position of some entry."""

    def build(
        a: Algebra, computed: Any, covered: Any, window: Any, block_size: Any, entry: Any, position: Any, by: Any
    ) -> Claim:
        sane = [window >= 1, computed >= 0, computed <= covered, by < covered]
        given = [*sane, *some_read(a, computed, window, entry, position, by, block_size)]
        gone = entry < dead(a, computed, covered, window, block_size)
        case = Window(dead=first_live(a, computed, window), missing=a.ite(gone, 1, 0))
        return claim_law(a, "window.live", case, given)

    return build


def _told(dead: Dead) -> Tell:
    def tell(example: Mapping[str, int]) -> list[Scene]:
        computed, covered, window, size = (example[name] for name in ("computed", "covered", "window", "block_size"))
        live, entries = first_live(INTS, computed, window), blocks_for(INTS, covered, size)
        said, right = (by(INTS, computed, covered, window, size) for by in (dead, _right))
        row = partial(draw_window, entries, size, live, covered)
        covers = f"a row covers {counted_as(covered, 'token')}, {computed} of them computed; the window is {window}"
        return [
            Scene(covers, (("row", row(0)),)),
            Scene(f"{counted_as(said, 'entry')} given up; right is {right}", (("row", row(said)),)),
            Scene(f"the token at position {example['by']} reads position {example['position']}, which is not there"),
        ]

    return tell


for _name, _statement, _dead in (
    (
        "rounds-up",
        "A row that gives up the entry which straddles the edge of the window: its last positions are read still.",
        lambda a, computed, covered, window, size: blocks_for(a, first_live(a, computed, window), size),
    ),
    (
        "off-by-one",
        "A row that takes the window for one position shorter than it is.",
        lambda a, computed, covered, window, size: full_blocks(a, larger(a, computed - window + 2, 0), size),
    ),
    (
        "from-covered",
        "A row that counts the window back from what it covers: of a chunk, several unseen tokens or drafts that are "
        "still to be computed the first one reads further back.",
        lambda a, computed, covered, window, size: dead_entries(a, covered, window, size),
    ),
    (
        "in-whole-blocks",
        "A row that keeps as many of its last blocks as the window fills: the window can touch one more.",
        lambda a, computed, covered, window, size: larger(
            a, blocks_for(a, computed, size) - blocks_for(a, window, size), 0
        ),
    ),
):
    _add(f"dead-entries/{_name}", "window.live", _statement, _gives_up(_dead), _gives_up(_right), _told(_dead))

# -- the rows of a device -------------------------------------------------------------------------------

MayGo = Callable[[Algebra, Rows, Any], Any]
"""Whether an entry may be given up."""


def _first_is_dead(a: Algebra, rows: Rows, entry: Any) -> Any:
    return rows.start[entry] < live_from(a, rows, entry)


def _gone_if(a: Algebra, goes: Any, cache: Cache, at: At) -> Cache:
    """Released, or as it was: which of both is known only in the example."""
    pool, block = cache.pool, cache.pool.tab[at.entry]
    left = pool.ref[block] - a.ite(goes, 1, 0)
    freed = return_block(a, pool, block, left == 0)
    tab = pool.tab.put(at.entry, a.ite(goes, EMPTY, block))
    return replace(cache, pool=replace(freed, ref=pool.ref.put(block, left), tab=tab))


def _reads_on(may_go: MayGo) -> ClaimIn:
    """An entry is given up if it may be; whoever reads a live position reads on."""

    def claim(world: World) -> Claim:
        a, rows, at = world.a, world.rows("here"), At(world.entry("p"))
        reader, slot = world.entry("reader"), world.number("slot")
        world.show("before", rows.cache, at)
        after = replace(rows, cache=_gone_if(a, may_go(a, rows, at.entry), rows.cache, at))
        world.show("after the entry was looked at", after.cache, at)
        given = [
            *sound_cache(world, rows.cache),
            is_owner(rows.cache.pool, at.entry),
            *live_read(a, rows, reader, slot),
        ]
        in_order = [rows.done[reader] >= rows.start[reader] + rows.cache.computed[reader]]
        return claim_law(a, "data.read-back", still_read(a, after, reader, slot), [*given, *in_order])

    return claim


def _positions(example: Mapping[str, int]) -> str:
    reader, size, window = (example[name] for name in ("reader", "block_size", "window"))
    start, done = example[f"start[{reader}]"], example[f"done[{reader}]"]
    live = first_live(INTS, done, window)
    where = f"{entry_name(reader)} has positions {start} to {start + size - 1} of its sequence"
    computed = f"{counted_as(done, 'token')} computed, and the window is {window}"
    return f"{where}; {computed}, so that from {live} on they are read"


def _scenes(claim: ClaimIn) -> Tell:
    def tell(example: Mapping[str, int]) -> list[Scene]:
        told = [
            Scene(f"{moment.words}, at {entry_name(moment.at.entry)}", (("here", draw_cache(moment.cache)),))
            for moment in moments(claim, example)
        ]
        return [*told, Scene(_positions(example))]

    return tell


def _refute(name: str, law: str, statement: str, broken: ClaimIn, kept: ClaimIn) -> None:
    unknowns = tuple(dict.fromkeys((*names_in_few(broken), *names_in_few(kept))))
    _add(name, law, statement, in_few(broken), in_few(kept), _scenes(broken), unknowns)


_refute(
    "give-up/first-slot-dead",
    "data.read-back",
    "An entry that is given up when its first position is dead: the sequence reads the others still.",
    _reads_on(_first_is_dead),
    _reads_on(all_dead),
)


# -- hits -----------------------------------------------------------------------------------------------


def _hits(skipped: Skipped) -> ClaimIn:
    def claim(world: World) -> Claim:
        rows, given, reader, slot = hit_rows(world, skipped)
        world.show("the prompt is taken over, but for what is dead", rows.cache, At(reader))
        found = [rows.done[reader] == world.number("known")]
        return claim_law(world.a, "data.read-back", still_read(world.a, rows, reader, slot), [*given, *found])

    return claim


_refute(
    "hits/one-block-fewer",
    "data.read-back",
    "A hit that takes over one block fewer than the window reaches back to.",
    _hits(lambda a, known, window, size: dead_entries(a, known, window, size) + 1),
    _hits(dead_entries),
)

OBLIGATIONS = AREA.obligations
