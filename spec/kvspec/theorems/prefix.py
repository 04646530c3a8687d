"""Whoever takes a block over finds just its own prefix there, whatever is shared, evicted, reused or reset.

The invariant of `kvspec.model.index` says that a published block holds what its content spells, computed since the last
reset. It holds at the start and is kept by each micro-step, those of the cache included, for any number of blocks,
slots and entries; and the two by which a block is taken over keep the invariants of owners and contents. The laws are
consequences. That all that is published is dropped before a new era begins is a loop over blocks, as operations are.

What is found of a prompt, and what is evicted first, are about counts and orders alone, and come at the end: the order
of eviction is looked at for two arbitrary blocks. The guard that knows of hits is in `guards`; wrong variants are in
`wrong_prefix`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from kvspec.algebra import Algebra
from kvspec.arithmetic import hits_taken
from kvspec.laws.prefix import Hit, Prompt, Reuse
from kvspec.laws.table import Frame
from kvspec.model.cache import CONTENTS, SAME_CONTENT, At
from kvspec.model.index import (
    COMPUTED_BY_ALL,
    HITS,
    JOIN,
    PUBLISH,
    PUBLISHED,
    RENEW,
    REVIVE,
    STEPS,
    UNPUBLISHED,
    Index,
    IndexStep,
    Standing,
    finds,
    goes_first,
    is_published,
    is_slot,
    takes_over_more,
    use,
)
from kvspec.model.pool import INVARIANT, PRISTINE, Conjunct, is_block, is_empty, next_block, rank_has_owner
from kvspec.model.steps import TAKE
from kvspec.theorems.data import READ_BACK
from kvspec.theorems.guards import COURSE
from kvspec.theorems.happening import add_general
from kvspec.theorems.indexing import happens, somewhere
from kvspec.theorems.obligation import Area, Claim, Kind, Named, claim_law
from kvspec.theorems.operations import approved, never_stuck
from kvspec.theorems.requests import WITH_HITS
from kvspec.theorems.worlds import ClaimIn, World, holds_of_any, named, sound_index

AREA = Area("prefix")


add = partial(add_general, AREA)
"""Adds an obligation about any number of blocks, slots and entries."""


# -- the invariant --------------------------------------------------------------------------------------


def _starts(conjunct: Conjunct) -> ClaimIn:
    def claim(world: World) -> Claim:
        index = world.index("here")
        given = [*named(world, PRISTINE, index.cache.pool), *named(world, UNPUBLISHED, index)]
        return Claim(given, holds_of_any(world, conjunct, index))

    return claim


def _keeps(step: IndexStep, conjunct: Conjunct, part: Callable[[Index], Any] = lambda index: index) -> ClaimIn:
    """part: of what the conjunct is about in an index."""

    def claim(world: World) -> Claim:
        happened = happens(world, step)
        return Claim(happened.given, holds_of_any(world, conjunct, part(happened.after)))

    return claim


for _conjunct in PUBLISHED:
    add(f"start.{_conjunct.name}", Kind.INDUCTION, f"At the start, {_conjunct.words}.", _starts(_conjunct))
    for _step in STEPS.values():
        add(
            f"{_step.name}.keeps.{_conjunct.name}",
            Kind.INDUCTION,
            f"After a {_step.name}, still {_conjunct.words}.",
            _keeps(_step, _conjunct),
            law="prefix.hit-exact" if _conjunct.name == "published-exact" else None,
            rests_on=READ_BACK,
        )

for _step in HITS:
    for _conjunct in (*INVARIANT, *CONTENTS):
        _add_part = partial(_keeps, _step, _conjunct)
        add(
            f"{_step.name}.keeps.{_conjunct.name}",
            Kind.INDUCTION,
            f"After a {_step.name}, still {_conjunct.words}.",
            _add_part(lambda index: index.cache.pool)
            if _conjunct in INVARIANT
            else _add_part(lambda index: index.cache),
            rests_on=READ_BACK,
        )

INDEXED = (
    *READ_BACK,
    *(f"prefix.start.{conjunct.name}" for conjunct in PUBLISHED),
    *(f"prefix.{step}.keeps.{conjunct.name}" for step in STEPS for conjunct in PUBLISHED),
    *(f"prefix.{step.name}.keeps.{conjunct.name}" for step in HITS for conjunct in (*INVARIANT, *CONTENTS)),
)
"""What everything below rests on: all invariants hold in every state that micro-steps can reach."""

# -- hits -----------------------------------------------------------------------------------------------


def hit_at(a: Algebra, index: Index, block: Any, content: Any, slot: Any, slots: Any) -> Hit:
    """Some slots of a block taken over for the prefix that the content ends: what is wrong with one of them."""
    return Hit(
        slots=slots,
        strange=a.ite(index.cache.holds[block, slot] == index.spells[content, slot], 0, 1),
        unwritten=a.ite(slot < index.written[block], 0, 1),
        stale=a.ite(index.era[block] == index.resets, 0, 1),
    )


def _hit(step: IndexStep, law: str) -> ClaimIn:
    def claim(world: World) -> Claim:
        happened, a, slot = happens(world, step), world.a, world.number("slot")
        after, at = happened.after, happened.at
        block = after.cache.pool.tab[at.entry]
        case = hit_at(a, after, block, at.content, slot, after.cache.block_size)
        return claim_law(a, law, case, [*happened.given, is_slot(a, after, slot)])

    return claim


def _takes(step: IndexStep) -> ClaimIn:
    def claim(world: World) -> Claim:
        happened = happens(world, step)
        before, after = happened.before.cache.pool, happened.after.cache.pool
        return Claim(happened.given, after.free == before.free - (1 if step is REVIVE else 0))

    return claim


def _frame(step: IndexStep) -> ClaimIn:
    def claim(world: World) -> Claim:
        happened, other = happens(world, step), world.entry("other")
        before, after = happened.before.cache.pool, happened.after.cache.pool
        case = Frame(named=other == happened.at.entry, changed=world.a.negate(after.tab[other] == before.tab[other]))
        return claim_law(world.a, "table.frame", case, happened.given)

    return claim


def _others_alone(world: World) -> Claim:
    """Of a revive: no other block gets an owner or loses its place among the free ones."""
    happened, a, other = happens(world, REVIVE), world.a, world.number("other")
    before, after = happened.before.cache.pool, happened.after.cache.pool
    elsewhere = [is_block(a, before, other), a.negate(other == happened.at.block)]
    as_free = (before.pos[other] < before.free) == (after.pos[other] < after.free)
    return Claim([*happened.given, *elsewhere], a.all_of(before.ref[other] == after.ref[other], as_free))


def _either_way(world: World) -> Claim:
    """A published block, and an empty entry that needs what it holds."""
    a, index, p = world.a, world.index("here"), world.entry("p")
    block, content, pool = world.number("block"), world.number("c"), index.cache.pool
    # The invariant says this of every rank; solvers have to be told which one matters.
    owner, first_owner = pool.at[block, 0], rank_has_owner(a, pool, block, 0)
    found = [is_empty(pool, p), is_block(a, pool, block), finds(a, index, block, content)]
    given = [*sound_index(world, index), *found, first_owner]
    joins = a.all_of(pool.tab[owner] == block, JOIN.can(a, index, At(p, other=owner, content=content)))
    revives = REVIVE.can(a, index, At(p, content=content, block=block))
    return Claim(given, a.all_of(a.any_of(joins, revives), a.negate(a.all_of(joins, revives))))


def _cached_is_free(world: World) -> Claim:
    index, block, a = world.index("here"), world.number("block"), world.a
    pool = index.cache.pool
    cached = [is_published(index, block), is_block(a, pool, block), pool.ref[block] == 0]
    return Claim([*sound_index(world, index), *cached], a.all_of(pool.pos[block] < pool.free, pool.free > 0))


def _may_follow(world: World) -> Claim:
    """Two owners of one block over there: the second may follow the first, which was transferred."""
    happened, a, q = happens(world, STEPS["transfer"]), world.a, world.entry("q")
    source, p, slot = happened.at.source, happened.at.entry, world.number("slot")
    assert source is not None
    together = [a.negate(p == q), source.pool.tab[p] == source.pool.tab[q], is_empty(happened.before.cache.pool, q)]
    at, follow = At(q, other=p, source=source), STEPS["follow"]
    same = SAME_CONTENT.holds(a, happened.after.cache, at, slot)
    return Claim([*happened.given, *together], a.all_of(follow.can(a, happened.after, at), same))


_HIT_LAWS = (
    ("exact", "prefix.hit-exact", "holds just the prefix that it was taken over for, in every slot"),
    ("computed", "prefix.hit-computed", "was computed, all of it"),
    ("fresh", "prefix.reset", "was computed since the index was last reset"),
)

for _step in HITS:
    for _name, _law, _words in _HIT_LAWS:
        add(
            f"{_step.name}.{_name}",
            Kind.SOUNDNESS,
            f"What a {_step.name} takes over {_words}.",
            _hit(_step, _law),
            law=_law,
            rests_on=INDEXED,
        )
for _step, _words in ((JOIN, "no free block"), (REVIVE, "one free block, so that a cached hit is counted once")):
    add(f"{_step.name}.takes", Kind.LEMMA, f"A {_step.name} takes {_words}.", _takes(_step), rests_on=INDEXED)
for _step in HITS:
    add(
        f"{_step.name}.frame",
        Kind.SOUNDNESS,
        f"A {_step.name} changes no other entry.",
        _frame(_step),
        law="table.frame",
        rests_on=INDEXED,
    )
add(
    "revive.others-alone",
    Kind.LEMMA,
    "A revive leaves every other block its owners, or free.",
    _others_alone,
    rests_on=INDEXED,
)
add(
    "hit.either-way",
    Kind.LEMMA,
    "Whatever block is found, it can be taken over: by a join if somebody owns it, else by a revive.",
    _either_way,
    rests_on=INDEXED,
)
add(
    "cached.is-free", Kind.LEMMA, "A published block that nobody owns is a free one.", _cached_is_free, rests_on=INDEXED
)

add(
    "transfer.may-follow",
    Kind.LEMMA,
    "Once a block was transferred for one owner, any further owner may follow: it is not published yet.",
    _may_follow,
    rests_on=INDEXED,
)

# -- eviction -------------------------------------------------------------------------------------------


def _evicts_unreferenced(step: IndexStep) -> ClaimIn:
    """What it hands out was published for something else."""

    def claim(world: World) -> Claim:
        happened, a = happens(world, step), world.a
        before, block = happened.before, next_block(happened.before.cache.pool)
        given = [*happened.given, is_published(before, block)]
        return claim_law(a, "prefix.evict-unreferenced", Reuse(owners=before.cache.pool.ref[block]), given)

    return claim


def _keeps_what_was_hit(step: IndexStep) -> ClaimIn:
    """A hit, and then a take for another entry."""

    def claim(world: World) -> Claim:
        happened, a = happens(world, step), world.a
        after, p = happened.after, happened.at.entry
        handed_out = next_block(after.cache.pool)
        given = [*happened.given, after.cache.pool.free > 0]
        case = Reuse(owners=a.ite(handed_out == after.cache.pool.tab[p], 1, 0))
        return claim_law(a, "prefix.evict-unreferenced", case, given)

    return claim


for _step in STEPS.values():
    if _step.plain is not None and _step.plain.takes:
        add(
            f"{_step.name}.evicts-unreferenced",
            Kind.SOUNDNESS,
            f"A published block that a {_step.name} uses for something else has no owner.",
            _evicts_unreferenced(_step),
            law="prefix.evict-unreferenced",
            rests_on=INDEXED,
        )
for _step in HITS:
    add(
        f"{_step.name}.is-held",
        Kind.SOUNDNESS,
        f"What a {_step.name} took over is not handed out for the rest of the prompt.",
        _keeps_what_was_hit(_step),
        law="prefix.evict-unreferenced",
        rests_on=INDEXED,
    )

# -- publishing and resetting ---------------------------------------------------------------------------


def _never_published(world: World) -> Claim:
    happened = happens(world, STEPS["write"])
    block = happened.before.cache.pool.tab[happened.at.entry]
    return Claim(happened.given, world.a.negate(is_published(happened.before, block)))


def _publish_after_write(world: World) -> Claim:
    """The only owner of a block that was taken in this era writes its last slot."""
    happened, a, reader, content = happens(world, STEPS["write"]), world.a, world.entry("reader"), world.number("c")
    before, after, at = happened.before, happened.after, happened.at
    block = before.cache.pool.tab[at.entry]
    last = [at.slot == before.cache.block_size - 1, before.cache.pool.ref[block] == 1, content >= 0]
    given = [*happened.given, *last, before.era[block] == before.resets]
    here = At(at.entry, content=content)
    return Claim(given, a.all_of(PUBLISH.can(a, after, here), COMPUTED_BY_ALL.holds(a, after, here, reader)))


def _evicts_cached(world: World) -> Claim:
    """A round of an evict: a published block that nobody owns is found no more, and is as free as it was."""
    happened, a, other = happens(world, STEPS["drop"]), world.a, world.number("other")
    before, after, block = happened.before, happened.after, happened.at.block
    pool = after.cache.pool
    cached = Named("is-cached", a.all_of(is_block(a, pool, block), before.cache.pool.ref[block] == 0))
    still_free = a.all_of(pool.pos[block] < pool.free, pool.ref[block] == 0, a.negate(is_published(after, block)))
    others = a.implies(a.negate(other == block), after.key[other] == before.key[other])
    return Claim([*happened.given, cached], a.all_of(still_free, others))


def _nothing_found(world: World) -> Claim:
    happened, a = happens(world, RENEW), world.a
    block, content = world.number("block"), world.number("c")
    return Claim(happened.given, a.negate(finds(a, happened.after, block, content)))


def _drop_brings_nearer(world: World) -> Claim:
    """A round of the loop that empties the index: one block fewer is published, and none anew."""
    happened, a, other = happens(world, STEPS["drop"]), world.a, world.number("other")
    before, after = happened.before, happened.after
    fewer = a.all_of(is_published(before, happened.at.block), a.negate(is_published(after, happened.at.block)))
    return Claim(happened.given, a.all_of(fewer, a.implies(is_published(after, other), is_published(before, other))))


add(
    "write.never-published",
    Kind.LEMMA,
    "No write hits a published block.",
    _never_published,
    law="prefix.hit-exact",
    rests_on=INDEXED,
)
add(
    "publish.after-write",
    Kind.LEMMA,
    "A block can be published when its only owner has written its last slot.",
    _publish_after_write,
    rests_on=INDEXED,
)
add(
    "drop.brings-nearer",
    Kind.LEMMA,
    "With each drop one block fewer is published, be it owned or not, so that a reset comes to an end.",
    _drop_brings_nearer,
    rests_on=INDEXED,
)
add(
    "evict.drop-on-gpu",
    Kind.INDUCTION,
    "What an evict drops is free, as it was, and found no more; everything else is found as before.",
    _evicts_cached,
    rests_on=(*INDEXED, "prefix.drop.brings-nearer"),
)
add(
    "renew.finds-nothing",
    Kind.LEMMA,
    "Right after a reset nothing is found.",
    _nothing_found,
    rests_on=(*INDEXED, "prefix.drop.brings-nearer"),
)

# -- operations -----------------------------------------------------------------------------------------


def _revives_what_was_counted(world: World) -> Claim:
    """An approved allocate, on course, that comes to a cached hit."""
    a, index, at = world.a, world.index("here"), somewhere(world, REVIVE)
    pool = index.cache.pool
    left, given = approved(world, WITH_HITS, pool.free)
    found = [is_block(a, pool, at.block), pool.ref[at.block] == 0, finds(a, index, at.block, at.content)]
    given = [*sound_index(world, index), *given, is_empty(pool, at.entry), *found]
    counted = REVIVE.do(a, index, at).cache.pool.free == left
    return Claim(given, a.all_of(REVIVE.can(a, index, at), pool.pos[at.block] < pool.free, counted))


def _shares_hits(world: World) -> Claim:
    """Whoever is admitted with the first sequence, after a hit."""
    happened, a, q = happens(world, REVIVE), world.a, world.entry("q")
    given = [*happened.given, is_empty(happened.before.cache.pool, q), a.negate(q == happened.at.entry)]
    return Claim(given, STEPS["share"].can(a, happened.after, At(q, other=happened.at.entry)))


_APPROVED = (*COURSE, f"guards.{WITH_HITS}.starts", f"guards.{WITH_HITS}.sound")

add(
    "allocate.revive-on-gpu",
    Kind.INDUCTION,
    "An approved allocate that comes to a cached hit can revive it, and it takes the free block that was counted.",
    _revives_what_was_counted,
    rests_on=(*INDEXED, *_APPROVED),
)
add(
    "allocate.take-on-gpu",
    Kind.INDUCTION,
    "An approved allocate with hits never comes to a take that finds no free block, and it takes the one counted.",
    never_stuck(WITH_HITS, TAKE),
    rests_on=_APPROVED,
)
add(
    "allocate.share-on-gpu",
    Kind.INDUCTION,
    "Whoever is admitted with the first sequence can share each of its hits.",
    _shares_hits,
    rests_on=INDEXED,
)

PARTS_WITH_INDEX: dict[tuple[str, str], str] = {
    ("allocate", "join"): "prefix.hit.either-way",
    ("allocate", "revive"): "prefix.allocate.revive-on-gpu",
    ("allocate", "take"): "prefix.allocate.take-on-gpu",
    ("allocate", "share"): "prefix.allocate.share-on-gpu",
    ("step", "write"): "operations.step.write-on-gpu",
    ("step", "publish"): "prefix.publish.after-write",
    ("evict", "drop"): "prefix.evict.drop-on-gpu",
    ("reset_index", "drop"): "prefix.drop.brings-nearer",
    ("reset_index", "renew"): "prefix.drop.brings-nearer",
}
"""Of each loop of an operation with an index, the theorem that says why its micro-step is possible."""

# -- how far a prompt is found --------------------------------------------------------------------------


def matched(a: Algebra, tokens: Any, known: Any, hits: Any, block_size: Any) -> list[Any]:
    """What is so of a prompt so many blocks of which were taken over."""
    return [
        block_size >= 1,
        Named("known-not-negative", known >= 0),
        Named("no-more-than-known", hits <= known),
        Named("leaves-one-so-far", hits * block_size < tokens),
    ]


def _all_matched(a: Algebra, tokens: Any, known: Any, hits: Any, block_size: Any) -> Any:
    return a.all_of(hits <= known, hits * block_size < tokens)


@AREA.induction("found.starts", "Before any block is taken over, a prompt of a token has one to compute.")
def _found_starts(a: Algebra, tokens: Any, known: Any, block_size: Any) -> Claim:
    given = [block_size >= 1, Named("known-not-negative", known >= 0), Named("has-a-token", tokens >= 1)]
    return Claim(given, _all_matched(a, tokens, known, 0, block_size))


@AREA.induction("found.one-more", "Taking another block over leaves a token to compute.")
def _found_one_more(a: Algebra, tokens: Any, known: Any, hits: Any, block_size: Any) -> Claim:
    more = Named("takes-over-more", takes_over_more(a, tokens, known, hits, block_size))
    return Claim(
        [*matched(a, tokens, known, hits, block_size), more], _all_matched(a, tokens, known, hits + 1, block_size)
    )


FOUND = ("prefix.found.starts", "prefix.found.one-more")


def _ended(a: Algebra, tokens: Any, known: Any, hits: Any, block_size: Any) -> Named:
    return Named("takes-over-no-more", a.negate(takes_over_more(a, tokens, known, hits, block_size)))


@AREA.soundness(
    "found.leaves-one",
    "A prompt that is found whole leaves a token to compute.",
    law="prefix.leave-one",
    rests_on=FOUND,
)
def _found_leaves_one(a: Algebra, tokens: Any, known: Any, hits: Any, block_size: Any) -> Claim:
    case = Prompt(tokens=tokens, cached=hits * block_size, known=known * block_size)
    return claim_law(a, "prefix.leave-one", case, matched(a, tokens, known, hits, block_size))


@AREA.soundness(
    "found.all",
    "Where nothing more is taken over, all that is known was.",
    law="prefix.hit-maximal",
    rests_on=FOUND,
)
def _found_all(a: Algebra, tokens: Any, known: Any, hits: Any, block_size: Any) -> Claim:
    case = Prompt(tokens=tokens, cached=hits * block_size, known=known * block_size)
    # Solvers are told that fewer blocks have no more slots: products of unknowns are hard for them.
    fewer = a.implies(hits + 1 <= known, (hits + 1) * block_size <= known * block_size)
    given = [*matched(a, tokens, known, hits, block_size), _ended(a, tokens, known, hits, block_size), fewer]
    return claim_law(a, "prefix.hit-maximal", case, given)


@AREA.lemma(
    "found.counted",
    "So many blocks are taken over as are known, or as leave a token, whichever is less.",
    rests_on=(*FOUND, "arithmetic.blocks-for.least"),
)
def _found_counted(a: Algebra, tokens: Any, known: Any, hits: Any, block_size: Any) -> Claim:
    ended = _ended(a, tokens, known, hits, block_size)
    return Claim(
        [*matched(a, tokens, known, hits, block_size), ended], hits == hits_taken(a, tokens, known, block_size)
    )


@AREA.soundness(
    "found.leaves-one-as-counted",
    "However many blocks are known, as many as are counted leave a token to compute.",
    law="prefix.leave-one",
)
def _counted_leaves_one(a: Algebra, tokens: Any, known: Any, block_size: Any) -> Claim:
    cached = hits_taken(a, tokens, known, block_size) * block_size
    return claim_law(a, "prefix.leave-one", Prompt(tokens, cached, known * block_size), [block_size >= 1])


# -- what is evicted first ------------------------------------------------------------------------------


@AREA.lemma("order.one-goes-first", "Of two blocks one goes first, and of three one that goes before another's first.")
def _one_goes_first(a: Algebra, used: Any, depth: Any, used_2: Any, depth_2: Any, used_3: Any, depth_3: Any) -> Claim:
    one, two, three = Standing(used, depth), Standing(used_2, depth_2), Standing(used_3, depth_3)
    total = a.any_of(goes_first(a, one, two), goes_first(a, two, one))
    both = a.all_of(goes_first(a, one, two), goes_first(a, two, three))
    return Claim([], a.all_of(total, a.implies(both, goes_first(a, one, three))))


ORDER = ("prefix.order.one-goes-first",)


@AREA.soundness(
    "order.least-recent",
    "What goes before every other cached block was used no later than any.",
    law="prefix.lru",
    rests_on=ORDER,
)
def _least_recent(a: Algebra, used: Any, depth: Any, other_used: Any, other_depth: Any) -> Claim:
    evicted, other = Standing(used, depth), Standing(other_used, other_depth)
    given = [Named("goes-first", goes_first(a, evicted, other))]
    return claim_law(a, "prefix.lru", Reuse(older=a.ite(other.used < evicted.used, 1, 0)), given)


def prefix_stays(a: Algebra, prefix: Standing, further: Standing) -> Any:
    """The block of a prefix was used no earlier than one that goes on from it, and stands before it in its row."""
    return a.all_of(prefix.used >= further.used, prefix.depth < further.depth)


@AREA.induction(
    "order.use",
    "Who uses a block uses that of its prefix too, so that the prefix was used no earlier.",
)
def _order_use(
    a: Algebra, used: Any, depth: Any, further_used: Any, further_depth: Any, now: Any, uses: Any, uses_further: Any
) -> Claim:
    prefix, further = Standing(used, depth), Standing(further_used, further_depth)
    given = [
        Named("prefix-no-earlier", prefix_stays(a, prefix, further)),
        Named("now-is-latest", a.all_of(now >= used, now >= further_used)),
        Named("uses-the-prefix-too", a.implies(uses_further >= 1, uses >= 1)),
    ]
    after = use(a, prefix, now, uses >= 1), use(a, further, now, uses_further >= 1)
    return Claim(given, prefix_stays(a, *after))


@AREA.soundness(
    "order.strands-nothing",
    "What goes before every other cached block leaves no cached block without its prefix.",
    law="prefix.descendants-first",
    rests_on=(*ORDER, "prefix.order.use"),
)
def _strands_nothing(a: Algebra, used: Any, depth: Any, further_used: Any, further_depth: Any, is_cached: Any) -> Claim:
    evicted, further = Standing(used, depth), Standing(further_used, further_depth)
    cached = is_cached >= 1
    given = [
        Named("prefix-no-earlier", prefix_stays(a, evicted, further)),
        Named("goes-first", a.implies(cached, goes_first(a, evicted, further))),
    ]
    return claim_law(a, "prefix.descendants-first", Reuse(stranded=a.ite(cached, 1, 0)), given)


OBLIGATIONS = AREA.obligations
