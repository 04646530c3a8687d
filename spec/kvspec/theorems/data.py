"""What a sequence reads is what was written for it, whatever is shared, copied, moved or freed.

The invariant of `kvspec.model.cache` says that every entry reads back what it must. It holds at the start and is kept
by each micro-step, for any number of blocks, slots and entries; of `write` it takes the exclusive-writer rule, which
follows wherever the writer is the block's only owner, as it is after copy-on-write. The laws of contents are
consequences. Copies and transfers take effect here when they are decided: an engine that puts them off executes them in
the order in which they were decided and before anything is written, which is the same.

Wrong variants, among them each step without the rule that makes it right, are in `wrong_data`.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from kvspec.algebra import Algebra
from kvspec.laws.data import Moved, Read, Sharing, Write
from kvspec.laws.table import Tenancy
from kvspec.model.cache import CONTENTS, SAME_CONTENT, At, Cache, reads, spoils_nothing
from kvspec.model.pool import PRISTINE, Conjunct, is_empty
from kvspec.model.steps import FOLLOW, MICRO_STEPS, REPLACE, TRANSFER, WRITE, MicroStep
from kvspec.theorems.happening import add_general, contents_of, somewhere
from kvspec.theorems.obligation import Area, Claim, Kind, claim_law
from kvspec.theorems.ownership import KEPT
from kvspec.theorems.worlds import ClaimIn, World, holds_of_any, invariant, named, sound_cache

AREA = Area("data")


add = partial(add_general, AREA)
"""Adds an obligation about any number of blocks, slots and entries."""


def wrong_slot(a: Algebra, cache: Cache, entry: Any, slot: Any) -> Any:
    """1 if the entry reads something there that is not its own, else 0."""
    differs = a.negate(cache.holds[cache.pool.tab[entry], slot] == cache.must[entry, slot])
    return a.ite(a.all_of(reads(a, cache, entry, slot), differs), 1, 0)


# -- the invariant --------------------------------------------------------------------------------------


def _starts(conjunct: Conjunct) -> ClaimIn:
    def claim(world: World) -> Claim:
        cache = world.cache("here")
        return Claim(named(world, PRISTINE, cache.pool), holds_of_any(world, conjunct, cache))

    return claim


def _keeps(step: MicroStep, conjunct: Conjunct) -> ClaimIn:
    def claim(world: World) -> Claim:
        happened = contents_of(world, step)
        return Claim(happened.given, holds_of_any(world, conjunct, happened.after))

    return claim


for _conjunct in CONTENTS:
    add(f"start.{_conjunct.name}", Kind.INDUCTION, f"At the start, {_conjunct.words}.", _starts(_conjunct))
    for _step in MICRO_STEPS.values():
        _statement = f"After a {_step.name}, still {_conjunct.words}."
        add(
            f"{_step.name}.keeps.{_conjunct.name}",
            Kind.INDUCTION,
            _statement,
            _keeps(_step, _conjunct),
            law="data.read-back" if _conjunct.name == "read-back" else None,
            rests_on=KEPT,
        )

READ_BACK = (
    *KEPT,
    *(f"data.start.{conjunct.name}" for conjunct in CONTENTS),
    *(f"data.{step}.keeps.{conjunct.name}" for step in MICRO_STEPS for conjunct in CONTENTS),
)
"""What everything below rests on: both invariants hold in every state that micro-steps can reach."""

# -- reading --------------------------------------------------------------------------------------------


def _reads_back(world: World) -> Claim:
    cache, entry, slot, a = world.cache("here"), world.entry("reader"), world.number("slot"), world.a
    scheduled = a.ite(reads(a, cache, entry, slot), 1, 0)
    case = Read(wrong=wrong_slot(a, cache, entry, slot), slots=scheduled)
    return claim_law(a, "data.read-back", case, sound_cache(world, cache))


def _no_alias(world: World) -> Claim:
    """Two entries that read the same slot of the same block."""
    cache, slot, a = world.cache("here"), world.number("slot"), world.a
    one, two = world.entry("one"), world.entry("two")
    same = [cache.pool.tab[one] == cache.pool.tab[two], reads(a, cache, one, slot), reads(a, cache, two, slot)]
    strangers = a.ite(cache.must[one, slot] == cache.must[two, slot], 0, 1)
    return claim_law(a, "table.no-alias", Tenancy(strangers), [*sound_cache(world, cache), *same])


add(
    "reader.reads-back",
    Kind.SOUNDNESS,
    "Whatever entry reads whatever slot, it finds its own there.",
    _reads_back,
    law="data.read-back",
    rests_on=READ_BACK,
)
add(
    "reader.no-alias",
    Kind.SOUNDNESS,
    "Two entries that read the same slot must read the same there.",
    _no_alias,
    law="table.no-alias",
    rests_on=READ_BACK,
)

# -- writing --------------------------------------------------------------------------------------------


def _spoils_nobody(world: World) -> Claim:
    happened, a, reader = contents_of(world, WRITE), world.a, world.entry("reader")
    before, after, at = happened.before, happened.after, happened.at
    another = a.negate(reader == at.entry)
    sharing = a.all_of(another, before.pool.tab[reader] == before.pool.tab[at.entry])
    spoiled = a.ite(another, wrong_slot(a, after, reader, at.slot), 0)
    return claim_law(a, "data.exclusive-write", Write(sharing, spoiled), happened.given)


def _alone_spoils_nobody(world: World) -> Claim:
    """The exclusive-writer rule, of any reader, from the refcount alone."""
    cache, at, a = world.cache("here"), somewhere(world, WRITE), world.a
    given = [*invariant(world, cache.pool), WRITE.can(a, cache, at), cache.pool.ref[cache.pool.tab[at.entry]] == 1]
    return Claim(given, spoils_nothing(a, cache, at, world.entry("reader")))


def _alone_after_copy(world: World) -> Claim:
    """The same right after copy-on-write, whatever the refcount was."""
    happened, a = contents_of(world, REPLACE), world.a
    after, p = happened.after, happened.at.entry
    at = At(p, slot=world.number("slot"), content=world.number("content"))
    given = [*happened.given, WRITE.can(a, after, at)]
    return Claim(given, spoils_nothing(a, after, at, world.entry("reader")))


def _same_prefix_spoils_nobody(world: World) -> Claim:
    """Sequences that share a prompt write the same content in turn."""
    cache, at, a = world.cache("here"), somewhere(world, WRITE), world.a
    reader, pool = world.entry("reader"), cache.pool
    agrees = a.implies(pool.tab[reader] == pool.tab[at.entry], cache.must[reader, at.slot] == at.content)
    return Claim([WRITE.can(a, cache, at), agrees], spoils_nothing(a, cache, at, reader))


add(
    "write.spoils-nobody",
    Kind.SOUNDNESS,
    "Under the exclusive-writer rule a write leaves every other reader what it must read.",
    _spoils_nobody,
    law="data.exclusive-write",
    rests_on=READ_BACK,
)
add(
    "write.alone",
    Kind.LEMMA,
    "A writer that is its block's only owner keeps the exclusive-writer rule.",
    _alone_spoils_nobody,
    law="data.exclusive-write",
    rests_on=KEPT,
)
add(
    "write.after-copy",
    Kind.LEMMA,
    "So does a writer that has just left a shared block by copy-on-write.",
    _alone_after_copy,
    law="data.exclusive-write",
    rests_on=READ_BACK,
)
add(
    "write.same-prefix",
    Kind.LEMMA,
    "So do sequences that share a block and write the same content to it, as those do that are admitted together.",
    _same_prefix_spoils_nobody,
    law="data.exclusive-write",
)

# -- copying and moving ---------------------------------------------------------------------------------


def _copied(world: World) -> Claim:
    happened, a, slot = contents_of(world, REPLACE), world.a, world.number("slot")
    case = Moved(wrong_slot(a, happened.after, happened.at.entry, slot))
    return claim_law(a, "data.copies", case, [*happened.given, reads(a, happened.after, happened.at.entry, slot)])


def _left_alone(world: World) -> Claim:
    """Whoever stays with the block that was left reads there what it read before."""
    happened, a, slot, other = contents_of(world, REPLACE), world.a, world.number("slot"), world.entry("other")
    stays = [a.negate(other == happened.at.entry), reads(a, happened.after, other, slot)]
    return claim_law(a, "data.copies", Moved(wrong_slot(a, happened.after, other, slot)), [*happened.given, *stays])


def _moved(world: World) -> Claim:
    happened, a, slot = contents_of(world, TRANSFER), world.a, world.number("slot")
    after, p = happened.after, happened.at.entry
    return claim_law(
        a, "data.swap-content", Moved(wrong_slot(a, after, p, slot)), [*happened.given, reads(a, after, p, slot)]
    )


def _outsiders_unharmed(world: World) -> Claim:
    happened, a, slot, other = contents_of(world, TRANSFER), world.a, world.number("slot"), world.entry("other")
    outside = [a.negate(other == happened.at.entry), reads(a, happened.after, other, slot)]
    case = Moved(wrong_slot(a, happened.after, other, slot))
    return claim_law(a, "data.swap-content", case, [*happened.given, *outside])


def both_moved(world: World) -> tuple[Cache, At, list[Any]]:
    """Two owners of one block over there, moved as a swap moves them: a transfer of the first, then the second follows.

    Answers the cache between the two, the place of the second, and what is given.
    """
    happened, a, q = contents_of(world, TRANSFER), world.a, world.entry("q")
    source, p = happened.at.source, happened.at.entry
    assert source is not None
    together = [a.negate(p == q), source.pool.tab[p] == source.pool.tab[q], is_empty(happened.before.pool, q)]
    return happened.after, At(q, other=p, source=source), [*happened.given, *together]


def _may_follow(world: World) -> Claim:
    moved, at, given = both_moved(world)
    a, slot = world.a, world.number("slot")
    return Claim(given, a.all_of(FOLLOW.can(a, moved, at), SAME_CONTENT.holds(a, moved, at, slot)))


def _shared_still(world: World) -> Claim:
    moved, at, given = both_moved(world)
    tab = FOLLOW.do(world.a, moved, at).pool.tab
    distinct = world.a.ite(tab[at.entry] == tab[at.other], 1, 2)
    return claim_law(world.a, "data.swap-keeps-sharing", Sharing(before=1, after=distinct), given)


def _follower_reads(world: World) -> Claim:
    happened, a, slot = contents_of(world, FOLLOW), world.a, world.number("slot")
    after, q = happened.after, happened.at.entry
    return claim_law(
        a, "data.swap-content", Moved(wrong_slot(a, after, q, slot)), [*happened.given, reads(a, after, q, slot)]
    )


add(
    "replace.brings-content",
    Kind.SOUNDNESS,
    "After copy-on-write the writer reads in its new block what it read in the shared one.",
    _copied,
    law="data.copies",
    rests_on=READ_BACK,
)
add(
    "replace.leaves-content",
    Kind.SOUNDNESS,
    "And whoever stays with the shared block reads there what it read before.",
    _left_alone,
    law="data.copies",
    rests_on=READ_BACK,
)
add(
    "transfer.brings-content",
    Kind.SOUNDNESS,
    "After a transfer the entry reads here what it read on the other device.",
    _moved,
    law="data.swap-content",
    rests_on=READ_BACK,
)
add(
    "transfer.harms-nobody",
    Kind.SOUNDNESS,
    "A transfer writes to no block that anybody else reads.",
    _outsiders_unharmed,
    law="data.swap-content",
    rests_on=READ_BACK,
)
add(
    "transfer.may-follow",
    Kind.LEMMA,
    "Once a block was transferred for one owner, any further owner may follow: the new block holds the same.",
    _may_follow,
    rests_on=READ_BACK,
)
add(
    "follow.brings-content",
    Kind.SOUNDNESS,
    "A further owner that follows reads here what it read on the other device.",
    _follower_reads,
    law="data.swap-content",
    rests_on=READ_BACK,
)
add(
    "follow.keeps-sharing",
    Kind.SOUNDNESS,
    "Two owners of one block share a block after a swap too.",
    _shared_still,
    law="data.swap-keeps-sharing",
    rests_on=(*READ_BACK, "data.transfer.may-follow"),
)

OBLIGATIONS = AREA.obligations
