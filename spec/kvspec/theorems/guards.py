"""The admission guards are right: sound, exact, and final where they say NEVER.

A guard states a need before anything is taken; the operation then takes blocks one at a time (`performing`). Between
them stands one invariant, *on course*: what was taken and what is still outstanding is the need that was stated, and
what was taken is gone from the free blocks. It holds at the start, is kept by taking a block and by turning to the next
sequence, for any number of blocks and sequences, any block size, any lookahead and any tail; and from it follow the
laws. Each law is the predicate of the catalogue itself.

The wrong variants of guards are in `wrong_guards`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kvspec.algebra import Algebra
from kvspec.arithmetic import SequenceCounts, blocks_for, larger
from kvspec.guards import append_need, is_never, is_ok, total_append_need
from kvspec.laws.admission import Admitted, Approval, Counting, Precision, Refusal
from kvspec.laws.robust import Failure
from kvspec.laws.table import Row
from kvspec.theorems.arithmetic import counted
from kvspec.theorems.obligation import Area, Build, Claim, Kind, Named, claim_law
from kvspec.theorems.performing import Performing, differ, guarded, is_stuck, take_one, turn_to, wants_a_block
from kvspec.theorems.requests import (
    ASKED,
    IN_RING,
    OPERATION,
    WITH_HITS,
    Asking,
    Numbers,
    Request,
    premises,
    unknowns_of,
)

AREA = Area("guards")

UNDER_WAY = ("now_free", "taken", "moves", "table", "slots", "copies", "rest")
"""The state of an operation that has taken some blocks, and what the sequences after the present one need."""


def under_way(u: Numbers) -> Performing:
    """The operation at some moment."""
    return Performing(u.now_free, u.moves, u.table, u.slots, u.copies, u.taken)


def outstanding(a: Algebra, now: Performing, block_size: Any) -> Any:
    """Blocks that the present part of the operation will still take, counted."""
    return now.moves + larger(a, blocks_for(a, now.slots, block_size) - now.table, 0) + now.copies


def course(a: Algebra, now: Performing, block_size: Any, rest: Any, free: Any, need: Any) -> list[Named]:
    """The invariant: `free` blocks at the start and a need of `need` account for everything so far."""
    return [
        Named("moves-not-negative", now.moves >= 0),
        Named("copies-not-negative", now.copies >= 0),
        Named("rest-not-negative", rest >= 0),
        Named("taken-from-free", now.free + now.taken == free),
        Named("taken-of-need", now.taken + outstanding(a, now, block_size) + rest == need),
    ]


def on_course(a: Algebra, now: Performing, block_size: Any, rest: Any, free: Any, need: Any) -> Any:
    """Whether the invariant holds."""
    return a.all_of(*(part.fact for part in course(a, now, block_size, rest, free, need)))


def at_end(a: Algebra, now: Performing, block_size: Any, rest: Any) -> Any:
    """It wants nothing more, and nobody is left to append to."""
    return a.all_of(a.negate(wants_a_block(a, now, block_size)), rest == 0)


# -- the induction: common to all four ------------------------------------------------------------------


@AREA.lemma("need.not-negative", "Appending a sequence never needs less than no block.")
def _need_not_negative(
    a: Algebra, tokens: Any, seen: Any, blocks: Any, shared_writes: Any, lookahead: Any, block_size: Any
) -> Claim:
    seq = SequenceCounts(tokens, seen, blocks, shared_writes)
    return Claim(
        [block_size >= 1, *counted(a, seq, block_size)],
        append_need(a, seq, lookahead, block_size) >= 0,
    )


SEQUENCES = (1, 2, 3)
"""As many as it takes to see that one after the other is counted, and all in the same way."""


def _counts(numbers: Mapping[str, Any], i: int) -> SequenceCounts:
    return SequenceCounts(*(numbers[f"{name}_{i}"] for name in ("tokens", "seen", "blocks", "shared_writes")))


@AREA.lemma(
    "need.adds-up",
    "What several sequences need is what the first needs and what those after it need, copies included.",
    unknowns=(
        *("block_size", "lookahead"),
        *(f"{name}_{i}" for i in SEQUENCES for name in ("tokens", "seen", "blocks", "shared_writes")),
    ),
)
def _need_adds_up(a: Algebra, block_size: Any, lookahead: Any, **numbers: Any) -> Claim:
    first, *later = seqs = [_counts(numbers, i) for i in SEQUENCES]
    together = total_append_need(a, seqs, lookahead, block_size)
    apart = append_need(a, first, lookahead, block_size) + total_append_need(a, later, lookahead, block_size)
    nobody = total_append_need(a, [], lookahead, block_size) == 0
    return Claim([block_size >= 1], a.all_of(together == apart, nobody))


@AREA.induction("course.take", "Taking a block that is wanted keeps the operation on course.")
def _course_take(
    a: Algebra,
    block_size: Any,
    free: Any,
    need: Any,
    now_free: Any,
    taken: Any,
    moves: Any,
    table: Any,
    slots: Any,
    copies: Any,
    rest: Any,
) -> Claim:
    now = Performing(now_free, moves, table, slots, copies, taken)
    given = [
        block_size >= 1,
        *course(a, now, block_size, rest, free, need),
        wants_a_block(a, now, block_size),
        now.free > 0,
    ]
    return Claim(given, on_course(a, take_one(a, now, block_size), block_size, rest, free, need))


@AREA.induction("course.ends", "Each block taken brings the end one nearer, and at nothing outstanding it is there.")
def _course_ends(a: Algebra, block_size: Any, moves: Any, table: Any, slots: Any, copies: Any) -> Claim:
    now = Performing(1, moves, table, slots, copies)
    left = outstanding(a, now, block_size)
    wanting = wants_a_block(a, now, block_size)
    nearer = outstanding(a, take_one(a, now, block_size), block_size) == left - 1
    return Claim(
        [block_size >= 1, moves >= 0, table >= 0, copies >= 0],
        a.all_of(left >= 0, wanting == (left > 0), a.implies(wanting, nearer)),
    )


@AREA.induction("course.next", "Turning from a finished sequence to the next keeps the operation on course.")
def _course_next(
    a: Algebra,
    block_size: Any,
    lookahead: Any,
    free: Any,
    need: Any,
    now_free: Any,
    taken: Any,
    moves: Any,
    table: Any,
    slots: Any,
    copies: Any,
    tokens: Any,
    seen: Any,
    blocks: Any,
    shared_writes: Any,
    later: Any,
) -> Claim:
    now = Performing(now_free, moves, table, slots, copies, taken)
    seq = SequenceCounts(tokens, seen, blocks, shared_writes)
    rest = append_need(a, seq, lookahead, block_size) + later
    given = [
        block_size >= 1,
        later >= 0,
        *counted(a, seq, block_size),
        *course(a, now, block_size, rest, free, need),
        a.negate(wants_a_block(a, now, block_size)),
    ]
    return Claim(given, on_course(a, turn_to(now, seq, lookahead), block_size, later, free, need))


COURSE = ("guards.course.take", "guards.course.ends", "guards.course.next", "guards.need.adds-up")

# -- the table that comes of it -------------------------------------------------------------------------


def _tight_so_far(a: Algebra, now: Performing, before: Any, block_size: Any) -> Any:
    return now.table <= larger(a, before, blocks_for(a, now.slots, block_size))


@AREA.induction("table.stays-tight", "Taking a block never grows a table beyond what its slots need.")
def _table_stays_tight(
    a: Algebra, block_size: Any, before: Any, moves: Any, table: Any, slots: Any, copies: Any
) -> Claim:
    now = Performing(1, moves, table, slots, copies)
    given = [
        block_size >= 1,
        moves >= 0,
        copies >= 0,
        wants_a_block(a, now, block_size),
        Named("tight-so-far", _tight_so_far(a, now, before, block_size)),
    ]
    return Claim(given, _tight_so_far(a, take_one(a, now, block_size), before, block_size))


@AREA.soundness(
    "table.covers", "Where the operation wants no more blocks, the table covers its slots.", law="table.covers"
)
def _table_covers(a: Algebra, block_size: Any, moves: Any, table: Any, slots: Any, copies: Any) -> Claim:
    now = Performing(0, moves, table, slots, copies)
    given = [block_size >= 1, Named("wants-no-more", a.negate(wants_a_block(a, now, block_size)))]
    return claim_law(a, "table.covers", Row(now.table, now.slots, block_size), given)


@AREA.soundness(
    "table.tight",
    "The table that comes of it is tight.",
    law="table.tight",
    rests_on=("guards.table.stays-tight",),
)
def _table_tight(a: Algebra, block_size: Any, before: Any, table: Any, slots: Any) -> Claim:
    now = Performing(0, table=table, slots=slots)
    given = [block_size >= 1, Named("tight-so-far", _tight_so_far(a, now, before, block_size))]
    return claim_law(a, "table.tight", Row(now.table, now.slots, block_size, before), given)


# -- each guard -----------------------------------------------------------------------------------------


ClaimOf = Callable[[Algebra, Numbers, Request], Claim]
"""A claim about one guarded operation."""


def _about(asking: Asking, claim: ClaimOf) -> Build:
    def build(a: Algebra, **numbers: Any) -> Claim:
        u = Numbers(**numbers)
        return claim(a, u, asking(a, u))

    return build


def known(a: Algebra, u: Numbers, request: Request) -> list[Any]:
    """What has to be known of every pool and every group, and of this request."""
    return [*premises(a, u), *request.given]


def _starts_on_course(a: Algebra, u: Numbers, request: Request) -> Claim:
    goal = on_course(a, request.start, u.block_size, request.rest, u.free, request.demand.need)
    return Claim(known(a, u, request), goal)


def _going(a: Algebra, u: Numbers, request: Request, free: Any) -> tuple[Performing, list[Any]]:
    """The operation at some moment, and that it is on course since `free` blocks were free."""
    now = under_way(u)
    return now, [*known(a, u, request), *course(a, now, u.block_size, u.rest, free, request.demand.need)]


def _sound(law: str) -> ClaimOf:
    def claim(a: Algebra, u: Numbers, request: Request) -> Claim:
        now, given = _going(a, u, request, u.free)
        case = Approval(is_ok(request.demand, u.free), is_stuck(a, now, u.block_size))
        return claim_law(a, law, case, given)

    return claim


def _leaves_watermark(a: Algebra, u: Numbers, request: Request) -> Claim:
    now, given = _going(a, u, request, u.free)
    admitted = Admitted(is_ok(request.demand, u.free), now.free, u.watermark)
    return claim_law(a, "admission.watermark", admitted, [*given, at_end(a, now, u.block_size, u.rest)])


def _precise(law: str) -> ClaimOf:
    def claim(a: Algebra, u: Numbers, request: Request) -> Claim:
        now, given = _going(a, u, request, u.free)
        stuck = is_stuck(a, now, u.block_size)
        # What was really taken, and where it is stuck the block it could not get.
        tried = now.taken + a.ite(stuck, 1, 0)
        case = Precision(a.negate(is_ok(request.demand, u.free)), u.free, tried, request.reserve)
        return claim_law(a, law, case, [*given, a.any_of(stuck, at_end(a, now, u.block_size, u.rest))])

    return claim


def _refusal(a: Algebra, u: Numbers, request: Request) -> tuple[Refusal, list[Any]]:
    """A refusal, and the operation performed with every other group gone, at whatever moment."""
    now, given = _going(a, u, request, request.alone)
    never, ok = is_never(request.demand), is_ok(request.demand, u.free)
    leaves_reserve = a.implies(at_end(a, now, u.block_size, u.rest), now.free >= request.reserve)
    case = Refusal(
        never=never,
        later=a.all_of(a.negate(ok), a.negate(never)),
        alone=u.free == request.alone,
        ok_when_alone=is_ok(request.demand, request.alone),
        fits_when_alone=a.all_of(a.negate(is_stuck(a, now, u.block_size)), leaves_reserve),
    )
    return case, given


def _never_is_final(a: Algebra, u: Numbers, request: Request) -> Claim:
    case, given = _refusal(a, u, request)
    return claim_law(a, "admission.never-is-final", case, given)


def _impossible_is_never(a: Algebra, u: Numbers, request: Request) -> Claim:
    case, given = _refusal(a, u, request)
    return claim_law(a, "admission.impossible-is-never", case, given)


def _never_fails_alone(a: Algebra, u: Numbers, request: Request) -> Claim:
    case, given = _refusal(a, u, request)
    now = under_way(u)
    over = a.any_of(is_stuck(a, now, u.block_size), at_end(a, now, u.block_size, u.rest))
    return Claim([*given, case.never, over], a.negate(case.fits_when_alone))


def _one_verdict(a: Algebra, u: Numbers, request: Request) -> Claim:
    both = a.all_of(is_ok(request.demand, u.free), is_never(request.demand))
    return Claim(known(a, u, request), a.negate(both))


def _refused_is_nothing(a: Algebra, u: Numbers, request: Request) -> Claim:
    ok = is_ok(request.demand, u.free)
    result = guarded(a, ok, request.start, under_way(u))
    case = Failure(changed=differ(a, request.start, result))
    return claim_law(a, "robust.atomic-failure", case, [*known(a, u, request), a.negate(ok)])


def _hits_counted_once(a: Algebra, u: Numbers, request: Request) -> Claim:
    case = Counting(
        approved=is_ok(request.demand, u.free),
        free=u.free,
        blocks=blocks_for(a, u.tokens + u.lookahead, u.block_size),
        held=u.held_hits,
        cached=u.cached_hits,
    )
    return claim_law(a, "admission.hits-counted-once", case, known(a, u, request))


WATERMARKED = ("allocate", WITH_HITS, IN_RING, "swap-in")


def _add_guard(guard: str, asking: Asking) -> None:
    operation, asked = OPERATION[guard], unknowns_of(guard)
    here, course = f"guards.{guard}", (f"guards.{guard}.starts", *COURSE)
    sound, precise = f"admission.sound-{operation}", f"admission.precise-{operation}"

    def add(name: str, kind: Kind, statement: str, claim: ClaimOf, **more: Any) -> None:
        unknowns = asked if name in ("starts", "one-verdict", COUNTED_ONCE) else (*asked, *UNDER_WAY)
        AREA.add(f"{guard}.{name}", kind, statement, _about(asking, claim), unknowns=unknowns, **more)

    add("starts", Kind.INDUCTION, f"Before it took anything, {guard} is on course.", _starts_on_course)
    add("sound", Kind.SOUNDNESS, f"After OK, {guard} is never stuck.", _sound(sound), law=sound, rests_on=course)
    if guard in WATERMARKED:
        statement = f"After OK, {guard} ends with the watermark free."
        law = "admission.watermark"
        add("watermark", Kind.SOUNDNESS, statement, _leaves_watermark, law=law, rests_on=course)
    statement = f"A refused {guard}, performed, would get stuck or cross the reserve."
    add("precise", Kind.SOUNDNESS, statement, _precise(precise), law=precise, rests_on=course)
    statement = f"No {guard} is answered NEVER that would be answered OK alone."
    add("never-is-final", Kind.SOUNDNESS, statement, _never_is_final, law="admission.never-is-final")
    statement = f"Where {guard} answers LATER, it succeeds with every other group gone, and is not alone yet."
    law = "admission.impossible-is-never"
    add("impossible-is-never", Kind.SOUNDNESS, statement, _impossible_is_never, law=law, rests_on=course)
    statement = f"Where {guard} answers NEVER, performing it alone gets stuck or crosses the reserve."
    rests_on = (*course, f"{here}.never-is-final")
    add("never-fails-alone", Kind.LEMMA, statement, _never_fails_alone, rests_on=rests_on)
    statement = f"A refused {guard} takes nothing and moves nothing."
    add("refused-is-nothing", Kind.SOUNDNESS, statement, _refused_is_nothing, law="robust.atomic-failure")
    add("one-verdict", Kind.LEMMA, f"No {guard} is answered both OK and NEVER.", _one_verdict)
    if guard == WITH_HITS:
        statement = f"After OK, {guard} finds a free block for each that it needs, its cached hits among them."
        law = f"admission.{COUNTED_ONCE}"
        add(COUNTED_ONCE, Kind.SOUNDNESS, statement, _hits_counted_once, law=law)


COUNTED_ONCE = "hits-counted-once"

for _guard, _asking in ASKED.items():
    _add_guard(_guard, _asking)

OBLIGATIONS = AREA.obligations
