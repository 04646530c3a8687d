"""Wrong variants of a device with an index, each of which some law of prefix caching tells from the right one.

Each bends one micro-step, the order of two, the key that a block is found by, or a count, the way a prefix cache could
have it wrong. The solver finds a device of a few blocks in which somebody takes over what it must not. An admission
guard that counts hits wrongly is in `wrong_guards`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from kvspec.algebra import INTS, Algebra
from kvspec.arithmetic import full_blocks, hits_taken
from kvspec.laws.prefix import Hit, Prompt, Reuse
from kvspec.model.cache import At
from kvspec.model.index import (
    DROP,
    PUBLISH,
    RENEW,
    REVIVE,
    STEPS,
    Index,
    Standing,
    finds,
    goes_first,
    is_published,
    is_slot,
)
from kvspec.model.pool import is_block, is_empty, next_block, return_block
from kvspec.story import Scene, content_name, counted_as, draw_cache, draw_index, draw_table, entry_name
from kvspec.theorems.indexing import DoIndex, possible, somewhere
from kvspec.theorems.obligation import VARIANT_PROVED_ONLY, Area, Build, Claim, Kind, claim_law
from kvspec.theorems.ownership import owners_counted
from kvspec.theorems.prefix import hit_at, prefix_stays
from kvspec.theorems.worlds import FEW, ClaimIn, Moment, World, in_few, moments, names_in_few, sound_index

AREA = Area("prefix")

ClaimOf = Callable[[Any], ClaimIn]
"""A claim about one way to do something."""

Tell = Callable[[Mapping[str, int]], list[Scene]]
"""The story of an example."""

End = Callable[[Mapping[str, int]], str]
"""What comes of it in an example, in words."""


def refute(name: str, law: str, statement: str, claim: ClaimOf, wrong: Any, right: Any, end: End | None = None) -> None:
    """Add a wrong way to do something with an index, that breaks the law where the right way keeps it."""
    broken, kept = claim(wrong), claim(right)

    def tell(example: Mapping[str, int]) -> list[Scene]:
        ending = [] if end is None else [Scene(end(example))]
        return [*(_scene(moment) for moment in moments(broken, example)), *ending]

    unknowns = tuple(dict.fromkeys((*names_in_few(broken), *names_in_few(kept))))
    _add(name, law, statement, in_few(broken), in_few(kept), tell, unknowns)


def _add(name: str, law: str, statement: str, wrong: Build, right: Build, tell: Tell, unknowns: Sequence[str]) -> None:
    """name: what is bent, a stroke, and how."""
    AREA.add(
        name.replace("/", VARIANT_PROVED_ONLY),
        Kind.REFUTATION,
        statement,
        wrong,
        unknowns=tuple(unknowns),
        law=law,
        right=right,
        tell=tell,
    )


def _is_found(example: Mapping[str, int]) -> str:
    return f"whoever needs {content_name(example['wanted'])} finds block {example['hit']} and takes it over"


def _is_taken_for(because: str) -> End:
    def end(example: Mapping[str, int]) -> str:
        return f"it needs {content_name(example['wanted'])}; {because}"

    return end


def _scene(moment: Moment) -> Scene:
    assert moment.index is not None
    where = "" if moment.at.entry is None else f", at {entry_name(moment.at.entry)}"
    drawings = (("here", draw_cache(moment.cache)), ("index", draw_index(moment.index)))
    return Scene(moment.words + where, drawings)


def _show(world: World, words: str, index: Index, at: At) -> None:
    world.show(words, index.cache, at, index)


# -- the claims, about any way to do it -----------------------------------------------------------------


def _some_hit(world: World, index: Index) -> Hit:
    """Whatever is found in the index: a block, and the content that it is found by."""
    a, block, content, slot = world.a, world.number("hit"), world.number("wanted"), world.number("at_slot")
    there = a.all_of(is_block(a, index.cache.pool, block), finds(a, index, block, content), is_slot(a, index, slot))
    return hit_at(a, index, block, content, slot, a.ite(there, index.cache.block_size, 0))


def _hits_after(
    law: str, given: Callable[[World, Index, At], list[Any]], at: Callable[[World], At], words: str
) -> ClaimOf:
    """Whatever is found after something happened to a sound index."""

    def of(do: DoIndex) -> ClaimIn:
        def claim(world: World) -> Claim:
            before, here = world.index("here"), at(world)
            after = do(world.a, before, here)
            _show(world, "before", before, here)
            _show(world, words, after, here)
            facts = [*sound_index(world, before), *given(world, before, here)]
            return claim_law(world.a, law, _some_hit(world, after), facts)

        return claim

    return of


def _nowhere(world: World) -> At:
    return At(None)


def _publishing(world: World) -> At:
    return somewhere(world, PUBLISH)


def _may_be_named(world: World, index: Index, at: At) -> list[Any]:
    """The entry owns a block that is not published, and the content is its own prefix there."""
    a, pool = world.a, index.cache.pool
    own = PUBLISH.rules[0]
    named = [own.holds(a, index, at, slot) for slot in range(FEW.slots)]
    return [pool.tab[at.entry] >= 0, index.key[pool.tab[at.entry]] < 0, at.content >= 0, *named]


def _took_and_wrote(do: DoIndex) -> ClaimIn:
    """A block is taken in some way, and its new owner writes to it; then it is looked for."""

    def claim(world: World) -> Claim:
        a, before, p = world.a, world.index("here"), world.entry("p")
        taken = do(a, before, At(p))
        writing = At(p, slot=0, content=world.number("content"))
        written = STEPS["write"].do(a, taken, writing)
        for words, index in (("before", before), ("after the take", taken), ("after the write", written)):
            _show(world, words, index, At(p))
        given = [*sound_index(world, before), *possible(world, STEPS["take"], before, At(p))]
        return claim_law(a, "prefix.hit-exact", _some_hit(world, written), given)

    return claim


Finds = Callable[[Algebra, World, Index, Any, Any], Any]
"""Whether a block is found for a content, rightly or by whatever is taken for its key."""


def _found_exact(found: Finds) -> ClaimIn:
    """A block that is cached is found for some content, and revived for it."""

    def claim(world: World) -> Claim:
        a, index, p = world.a, world.index("here"), world.entry("p")
        block, content, slot = world.number("block"), world.number("wanted"), world.number("at_slot")
        _show(world, "what is published", index, At(p))
        taken = replace(index, cache=REVIVE.do(a, index, At(p, content=content, block=block)).cache)
        _show(world, "a block is found and taken over", taken, At(p))
        pool = index.cache.pool
        cached = [is_block(a, pool, block), pool.ref[block] == 0, is_published(index, block), is_empty(pool, p)]
        needed = [content >= 0, content < FEW.contents, is_slot(a, index, slot)]
        given = [
            *sound_index(world, index),
            *_contents(world),
            *cached,
            *needed,
            found(a, world, index, block, content),
        ]
        return claim_law(a, "prefix.hit-exact", hit_at(a, index, block, content, slot, index.cache.block_size), given)

    return claim


def _contents(world: World) -> list[Any]:
    """Two contents differ in the tokens up to there, or in the keys besides."""
    a, (one, two) = world.a, range(FEW.contents)
    tokens, extra = world.labels("tokens"), world.labels("extra")
    return [a.any_of(a.negate(tokens[one] == tokens[two]), a.negate(extra[one] == extra[two]))]


def _evicts_nobodys(do: DoIndex) -> ClaimIn:
    """A take, that hands out something published."""

    def claim(world: World) -> Claim:
        a, before, at = world.a, world.index("here"), At(world.entry("p"))
        after = do(a, before, at)
        _show(world, "before", before, at)
        _show(world, "after the take", after, at)
        block = after.cache.pool.tab[at.entry]
        given = [*sound_index(world, before), *possible(world, STEPS["take"], before, at), is_published(before, block)]
        owners = owners_counted(a, before.cache.pool, block)
        return claim_law(a, "prefix.evict-unreferenced", Reuse(owners=owners), given)

    return claim


def _evicts_then_takes(do: DoIndex) -> ClaimIn:
    """An evict drops a published block, and somebody is given a free one."""

    def claim(world: World) -> Claim:
        a, before, at = world.a, world.index("here"), At(world.entry("q"), block=world.number("block"))
        after = do(a, before, at)
        end = STEPS["take"].do(a, after, at)
        _show(world, "before", before, at)
        _show(world, "a block was evicted", after, at)
        _show(world, "and one is taken", end, at)
        found = [
            is_block(a, before.cache.pool, at.block),
            DROP.can(a, before, at),
            is_empty(before.cache.pool, at.entry),
        ]
        owners = owners_counted(a, after.cache.pool, end.cache.pool.tab[at.entry])
        given = [*sound_index(world, before), *found, before.cache.pool.free > 0]
        return claim_law(a, "prefix.evict-unreferenced", Reuse(owners=owners), given)

    return claim


Admit = Callable[[Algebra, Index, At, At], tuple[Index, Index]]
"""Takes a cached hit over for one entry and a block for another, in some order: the index after each of them."""


def _not_handed_out(admit: Admit) -> ClaimIn:
    def claim(world: World) -> Claim:
        end, hit, given = _admitted(world, admit)
        tab = end.cache.pool.tab
        both = world.a.ite(tab[hit.entry] == tab[world.entry("q")], 1, 0)
        return claim_law(world.a, "prefix.evict-unreferenced", Reuse(owners=both), given)

    return claim


def _not_written_over(admit: Admit) -> ClaimIn:
    def claim(world: World) -> Claim:
        a, slot = world.a, world.number("at_slot")
        end, hit, given = _admitted(world, admit)
        case = hit_at(a, end, end.cache.pool.tab[hit.entry], hit.content, slot, end.cache.block_size)
        return claim_law(a, "prefix.hit-exact", case, [*given, is_slot(a, end, slot)])

    return claim


def _admitted(world: World, admit: Admit) -> tuple[Index, At, list[Any]]:
    """A prompt of a cached hit, for p, and a block beyond it, for q, to which its first token is written.

    Answers the index then, where the hit is, and that it is so.
    """
    a, before, p, q = world.a, world.index("here"), world.entry("p"), world.entry("q")
    hit = At(p, content=world.number("wanted"), block=world.number("block"))
    first, both = admit(a, before, hit, At(q))
    end = STEPS["write"].do(a, both, At(q, slot=0, content=world.number("content")))
    _show(world, "a block is found for the first entry; before", before, hit)
    _show(world, "one of both is done", first, hit)
    _show(world, "and the other", both, At(q))
    _show(world, "the rest of the prompt is written", end, At(q))
    room = [is_empty(before.cache.pool, q), a.negate(p == q), before.cache.pool.free >= 2]
    return end, hit, [*sound_index(world, before), REVIVE.can(a, before, hit), *room]


# -- the wrong ways -------------------------------------------------------------------------------------


def _if(a: Algebra, condition: Any, index: Index, key: Any, block: Any) -> Index:
    return replace(index, key=index.key.put(block, a.ite(condition, key, index.key[block])))


def _publish_if(*parts: str) -> DoIndex:
    """Publishes where these parts of what it asks are so: that the block is whole, and of this era."""

    def do(a: Algebra, index: Index, at: At) -> Index:
        cache, block = index.cache, index.cache.pool.tab[at.entry]
        asks = {
            "whole": cache.computed[at.entry] == cache.block_size,
            "all": a.all_of(*(PUBLISH.rules[1].holds(a, index, at, reader) for reader in range(FEW.entries))),
            "fresh": index.era[block] == index.resets,
        }
        return _if(a, a.all_of(*(asks[part] for part in parts)), index, at.content, block)

    return do


def _keeps_the_entry(a: Algebra, index: Index, at: At) -> Index:
    return replace(STEPS["take"].do(a, index, at), key=index.key)


def _takes_a_held_one(a: Algebra, index: Index, at: At) -> Index:
    """What is handed out is the first block beyond the free list, if there is one."""
    right, pool = STEPS["take"].do(a, index, at), index.cache.pool
    beyond = a.ite(pool.free < pool.size, pool.perm[pool.free], next_block(pool))
    tab = right.cache.pool.tab.put(at.entry, beyond)
    return replace(right, cache=replace(right.cache, pool=replace(right.cache.pool, tab=tab)))


def _frees_what_is_dropped(a: Algebra, index: Index, at: At) -> Index:
    """What is dropped goes back to the free list, be it there already or not."""
    right, pool = DROP.do(a, index, at), index.cache.pool
    freed = return_block(a, pool, at.block, pool.pos[at.block] >= pool.free)
    return replace(right, cache=replace(right.cache, pool=freed))


def _by_key(a: Algebra, world: World, index: Index, block: Any, content: Any) -> Any:
    return finds(a, index, block, content)


def _by(*labels: str) -> Finds:
    """By these numbers of contents alone, whatever else tells contents apart."""

    def found(a: Algebra, world: World, index: Index, block: Any, content: Any) -> Any:
        known = [world.labels(label) for label in labels]
        return a.all_of(*(label[index.key[block]] == label[content] for label in known))

    return found


def _holds_first(a: Algebra, index: Index, hit: At, rest: At) -> tuple[Index, Index]:
    held = REVIVE.do(a, index, hit)
    return held, STEPS["take"].do(a, held, rest)


def _takes_first(a: Algebra, index: Index, hit: At, rest: At) -> tuple[Index, Index]:
    """What was found is remembered by its number and named at the end, whatever became of it."""
    taken = STEPS["take"].do(a, index, rest)
    cache = taken.cache
    named = replace(
        cache,
        pool=replace(cache.pool, tab=cache.pool.tab.put(hit.entry, hit.block)),
        computed=cache.computed.put(hit.entry, cache.block_size),
    )
    return taken, replace(taken, cache=named)


def _resets(which: Callable[[Algebra, Index, Any], Any]) -> DoIndex:
    """Drops those blocks and begins a new era."""

    def do(a: Algebra, index: Index, at: At) -> Index:
        for block in range(index.cache.pool.size):
            dropped = DROP.do(a, index, At(None, block=block))
            index = _if(a, which(a, index, block), index, dropped.key[block], block)
        return RENEW.do(a, index, at)

    return do


def _all(a: Algebra, index: Index, block: Any) -> Any:
    return a.all_of()


def _none(a: Algebra, index: Index, block: Any) -> Any:
    return a.any_of()


def _unowned(a: Algebra, index: Index, block: Any) -> Any:
    return index.cache.pool.ref[block] == 0


def _owned(a: Algebra, index: Index, block: Any) -> Any:
    return index.cache.pool.ref[block] > 0


_Situation = tuple[Callable[[World, Index, At], list[Any]], Callable[[World], At], str]
"""What is given, where it happens, and what it is called that happens."""

_PUBLISHED: _Situation = (_may_be_named, _publishing, "after the publish")
_RESET: _Situation = (lambda world, index, at: [], _nowhere, "after the reset")

refute(
    "publish/before-compute",
    "prefix.hit-computed",
    "A block that is published when it is allocated: whoever finds it takes over what nobody computed.",
    _hits_after("prefix.hit-computed", *_PUBLISHED),
    _publish_if("fresh"),
    _publish_if("whole", "all", "fresh"),
    _is_found,
)
refute(
    "publish/what-was-left-there",
    "prefix.hit-exact",
    "The same, seen by what is found: the block holds what an earlier owner left there.",
    _hits_after("prefix.hit-exact", *_PUBLISHED),
    _publish_if("fresh"),
    _publish_if("whole", "all", "fresh"),
    _is_found,
)
refute(
    "publish/of-before",
    "prefix.reset",
    "A block that was computed before a reset, and is published after it.",
    _hits_after("prefix.reset", *_PUBLISHED),
    _publish_if("whole", "all"),
    _publish_if("whole", "all", "fresh"),
    _is_found,
)
refute(
    "find/without-prefix",
    "prefix.hit-exact",
    "A key made of the tokens of the block alone: another prefix with the same tokens there finds it.",
    _found_exact,
    _by("own_tokens"),
    _by_key,
    _is_taken_for("the tokens of both blocks are the same, and what comes before them is not"),
)
refute(
    "find/without-extra-keys",
    "prefix.hit-exact",
    "A key that leaves the adapter or the salt out: the same tokens under another one find it.",
    _found_exact,
    _by("tokens"),
    _by("tokens", "extra"),
    _is_taken_for("all tokens are the same up to there, and the adapter or the salt is not"),
)
refute(
    "find/by-hash-alone",
    "prefix.hit-exact",
    "A key that is a hash, believed without a look at what it was made of.",
    _found_exact,
    _by("hash"),
    _by_key,
    _is_taken_for("both have the same hash"),
)
refute(
    "take/keeps-the-entry",
    "prefix.hit-exact",
    "A take that does not drop the entry of the block: it is found by what it held before.",
    _took_and_wrote,
    _keeps_the_entry,
    STEPS["take"].do,
    _is_found,
)
refute(
    "take/a-held-one",
    "prefix.evict-unreferenced",
    "A take that evicts a published block which somebody owns.",
    _evicts_nobodys,
    _takes_a_held_one,
    STEPS["take"].do,
)
refute(
    "revive/after-the-rest",
    "prefix.evict-unreferenced",
    "A hit that is held only after the rest of the prompt was allocated: its block was handed out for that.",
    _not_handed_out,
    _takes_first,
    _holds_first,
)
refute(
    "revive/overwritten",
    "prefix.hit-exact",
    "The same, seen by what is read: the rest of the prompt was written over the hit.",
    _not_written_over,
    _takes_first,
    _holds_first,
)
refute(
    "evict/a-held-one",
    "prefix.evict-unreferenced",
    "An evict that frees a published block although somebody owns it: it is handed out to whoever comes next.",
    _evicts_then_takes,
    _frees_what_is_dropped,
    DROP.do,
)
for _name, _which, _statement in (
    ("keeps-entries", _none, "A reset that leaves the entries of the index."),
    ("keeps-held", _unowned, "A reset that drops what is cached and forgets the entries of blocks that are owned."),
    ("keeps-cached", _owned, "A reset that drops what running sequences own and forgets what is cached."),
):
    refute(
        f"renew/{_name}",
        "prefix.reset",
        _statement,
        _hits_after("prefix.reset", *_RESET),
        _resets(_which),
        _resets(_all),
        _is_found,
    )

# -- how much is found, and what goes first: numbers alone ----------------------------------------------


Taken = Callable[[Algebra, Any, Any, Any], Any]
"""How many blocks of a prompt are taken over: from its tokens, the blocks that are known, and the size of a block."""


def _prompt(law: str) -> Callable[[Taken], Build]:
    def of(taken: Taken) -> Build:
        def build(a: Algebra, tokens: Any, known: Any, block_size: Any) -> Claim:
            cached = taken(a, tokens, known, block_size) * block_size
            given = [block_size >= 1, tokens >= 1, known >= 0, known * block_size <= tokens]
            return claim_law(a, law, Prompt(tokens, cached, known * block_size), given)

        return build

    return of


def _tell_prompt(taken: Taken) -> Callable[[Mapping[str, int]], list[Scene]]:
    def tell(example: Mapping[str, int]) -> list[Scene]:
        tokens, known, size = (example[name] for name in ("tokens", "known", "block_size"))
        found = taken(INTS, tokens, known, size)
        right = hits_taken(INTS, tokens, known, size)
        blocks = -(-tokens // size)
        return [
            Scene(
                f"a prompt of {counted_as(tokens, 'token')}, in blocks of {counted_as(size, 'slot')}",
                (("row", draw_table(blocks, size, tokens)),),
            ),
            Scene(
                f"{counted_as(known, 'block')} of it can be found", (("found", draw_table(known, size, known * size)),)
            ),
            Scene(
                f"{found} taken over; right is {right}: {tokens - found * size} of {tokens} tokens left to compute",
                (("taken", draw_table(found, size, found * size)),),
            ),
        ]

    return tell


def _known_whole(a: Algebra, tokens: Any, known: Any, block_size: Any) -> Any:
    return known


def _one_block_short(a: Algebra, tokens: Any, known: Any, block_size: Any) -> Any:
    most = full_blocks(a, tokens, block_size) - 1
    return a.ite(known <= most, known, most)


for _name, _law, _statement, _taken in (
    (
        "found/leaves-none",
        "prefix.leave-one",
        "A prompt that is found whole and taken over whole: nothing is left to compute the next token from.",
        _known_whole,
    ),
    (
        "found/one-block-short",
        "prefix.hit-maximal",
        "A prompt whose last whole block is never taken over, though a token is left to compute after it.",
        _one_block_short,
    ),
):
    _right, _unknowns = _prompt(_law)(hits_taken), ("tokens", "known", "block_size")
    _add(_name, _law, _statement, _prompt(_law)(_taken), _right, _tell_prompt(_taken), _unknowns)

First = Callable[[Algebra, Standing, Standing], Any]
"""Whether the one is evicted before the other."""

_ORDER = ("used", "depth", "other_used", "other_depth")


def _recent_first(a: Algebra, one: Standing, other: Standing) -> Any:
    return goes_first(a, other, one)


def _front_first(a: Algebra, one: Standing, other: Standing) -> Any:
    as_recent = a.all_of(one.used == other.used, one.depth <= other.depth)
    return a.any_of(one.used < other.used, as_recent)


def _longest_first(a: Algebra, one: Standing, other: Standing) -> Any:
    return one.depth >= other.depth


def _least_recent(first: First) -> Build:
    def build(a: Algebra, used: Any, depth: Any, other_used: Any, other_depth: Any) -> Claim:
        evicted, other = Standing(used, depth), Standing(other_used, other_depth)
        given = [used >= 0, depth >= 0, other_used >= 0, other_depth >= 0, first(a, evicted, other)]
        return claim_law(a, "prefix.lru", Reuse(older=a.ite(other_used < used, 1, 0)), given)

    return build


def _strands(first: First) -> Build:
    """Another cached block goes on from the prefix that the evicted one ends."""

    def build(a: Algebra, used: Any, depth: Any, other_used: Any, other_depth: Any) -> Claim:
        evicted, further = Standing(used, depth), Standing(other_used, other_depth)
        given = [used >= 0, depth >= 0, other_used >= 0, prefix_stays(a, evicted, further), first(a, evicted, further)]
        return claim_law(a, "prefix.descendants-first", Reuse(stranded=1), given)

    return build


def _tell_order(example: Mapping[str, int]) -> list[Scene]:
    def standing(used: str, depth: str) -> str:
        return f"last used at {example[used]}, place {example[depth]} of its row"

    both = f"0:[free]  {standing('used', 'depth')}   1:[free]  {standing('other_used', 'other_depth')}"
    return [
        Scene("two blocks are cached", (("here", both),)),
        Scene("a block is wanted, and none is free but these"),
        Scene("block 0 is evicted", (("here", f"0:[A]   1:[free]  {standing('other_used', 'other_depth')}"),)),
    ]


for _name, _law, _statement, _of, _first in (
    (
        "order/most-recent",
        "prefix.lru",
        "Eviction that takes the block that was used last, as a stack of free blocks does.",
        _least_recent,
        _recent_first,
    ),
    (
        "order/longest-prefix",
        "prefix.lru",
        "Eviction that takes the block of the longest prefix, however recently it was used.",
        _least_recent,
        _longest_first,
    ),
    (
        "order/front-first",
        "prefix.descendants-first",
        "Eviction that begins at the front of a row that was given up: what goes on from there is found no more.",
        _strands,
        _front_first,
    ),
):
    _add(_name, _law, _statement, _of(_first), _of(goes_first), _tell_order, _ORDER)

OBLIGATIONS = AREA.obligations
