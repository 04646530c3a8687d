"""An example as a story: what happens, moment by moment, with a drawing of the blocks at each.

Knows how to draw a cache of a few blocks, or pools of which only counts are known; must not know what an example shows.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from string import ascii_lowercase, ascii_uppercase

from kvspec.model.cache import Cache
from kvspec.model.index import Index


@dataclass(frozen=True)
class Scene:
    """One moment. words: what happens. drawings: of each pool that matters then, by its name."""

    words: str
    drawings: tuple[tuple[str, str], ...] = ()


def tell(scenes: Iterable[Scene]) -> list[str]:
    """The story, line by line. A drawing that has not changed since it was last shown is not shown again."""
    lines, shown = [], dict[str, str]()
    for scene in scenes:
        lines.append(scene.words)
        for name, drawing in scene.drawings:
            if shown.get(name) != drawing:
                lines.append(f"    {name:5} {drawing}")
                shown[name] = drawing
    return lines


def counted_as(number: int, what: str) -> str:
    """So many of something, in words."""
    return (
        f"{number} {what}" if number == 1 else f"{number} {what[:-1]}ies" if what.endswith("y") else f"{number} {what}s"
    )


# -- pools of which counts are known --------------------------------------------------------------------


def draw_counts(total: int, groups: int, free: int) -> str:
    """A pool as a row of boxes: the group's own blocks, those of others, and free ones."""
    others = max(0, total - groups - free)
    boxes = ["[group]"] * groups + ["[other]"] * others + ["[     ]"] * free
    return f"{''.join(boxes) or 'no block'}   {free} free"


def draw_table(blocks: int, block_size: int, slots: int) -> str:
    """A block table as a row of boxes, with an x in each slot that is used, and those that lie outside of it."""
    used = ["x" if slot < slots else "." for slot in range(blocks * block_size)]
    boxes = ["[" + "".join(used[at : at + block_size]) + "]" for at in range(0, len(used), block_size)]
    outside = max(0, slots - blocks * block_size)
    return "".join(boxes) + (f" {'x' * outside} outside" if outside else "") or "no block"


def draw_window(entries: int, block_size: int, live: int, slots: int, given_up: int) -> str:
    """A row under a window: an x in each slot that is live, a dash in each that is dead, and what was given up."""
    boxes = []
    for entry in range(entries):
        positions = range(entry * block_size, (entry + 1) * block_size)
        slot = ["." if p >= slots else "-" if p < live else "x" for p in positions]
        boxes.append(f"[{''.join(slot)}]" + (" given up" if entry < given_up else ""))
    return "  ".join(boxes) or "no block"


# -- caches of a few blocks -----------------------------------------------------------------------------


def draw_cache(cache: Cache) -> str:
    """Each block with its number, who names it or that it is free, and what it holds where that is known."""
    pool = cache.pool
    listed = {pool.perm[place] for place in range(min(pool.free, pool.size))}
    boxes = []
    for block in range(pool.size):
        owners = [entry_name(entry) for entry in _entries(cache) if pool.tab[entry] == block]
        if block in listed:
            owners.append("free")
        elif not owners:
            owners.append("lost")
        count = f" ref {pool.ref[block]}" if pool.ref[block] != sum(o != "free" and o != "lost" for o in owners) else ""
        boxes.append(f"{block}:[{' '.join(owners)}{count}{_contents(cache, block)}]")
    beyond = [f"{entry_name(e)} names {pool.tab[e]}" for e in _entries(cache) if pool.tab[e] >= pool.size]
    return "  ".join([*boxes, *beyond, f"  {pool.free} free"])


def draw_index(index: Index) -> str:
    """Which block is found under which content, and of which it is known that not all was computed, or not lately."""
    found = [
        f"[{content_name(index.key[block])} in block {block}{_doubts(index, block)}]"
        for block in range(index.cache.pool.size)
        if index.key[block] >= 0
    ]
    return "  ".join(found) or "[] nothing is published"


def _doubts(index: Index, block: int) -> str:
    written = f", {index.written[block]} of {index.cache.block_size} computed"
    doubts = [written] if index.written[block] < index.cache.block_size else []
    if index.era[block] != index.resets:
        doubts.append(", of before the reset")
    return "".join(doubts)


def entry_name(entry: int) -> str:
    """What an entry of a block table is called: a letter."""
    return ascii_uppercase[entry]


def _entries(cache: Cache) -> range:
    """The entries of a finite world: they are numbered from 0."""
    return range(len(cache.pool.tab.cells))  # type: ignore[attr-defined]


def wrong_reads(cache: Cache) -> list[str]:
    """Who reads what it must not, in words; nothing where the story is not about contents."""
    try:
        return [
            f"{entry_name(entry)} reads {content_name(held)} and must read {content_name(must)}"
            for entry in _entries(cache)
            if 0 <= cache.pool.tab[entry] < cache.pool.size
            for slot in range(min(cache.computed[entry], cache.block_size))
            for held, must in [(cache.holds[cache.pool.tab[entry], slot], cache.must[entry, slot])]
            if held != must
        ]
    except KeyError:
        return []


def content_name(content: int) -> str:
    """What a content is called: a small letter."""
    return ascii_lowercase[content] if 0 <= content < len(ascii_lowercase) else "?"


def _contents(cache: Cache, block: int) -> str:
    """What the slots of a block hold; nothing where the story is not about contents, so that there are none."""
    try:
        return " | " + " ".join(content_name(cache.holds[block, slot]) for slot in range(cache.block_size))
    except KeyError:
        return ""
