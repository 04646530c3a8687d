"""Wrong variants of the guards, each of which some law tells from the right one.

A proof that nothing could fail proves nothing. Here each rule is bent the way published managers had it, or easily
could, and the solver has to find a small pool and sequence where the bent rule breaks the law and the right one keeps
it. The operation itself is performed block by block, unrolled, for a group of one or two sequences: no quantifiers and
no invariant, so that the example can be repeated on plain numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from kvspec.algebra import INTS, Algebra
from kvspec.arithmetic import SequenceCounts, blocks_for, blocks_touched, full_blocks, smaller
from kvspec.guards import Demand, append_demand, is_never, is_ok, swap_in_demand
from kvspec.laws.admission import Admitted, Approval, Counting, Precision, Refusal
from kvspec.story import Scene, counted_as, draw_counts
from kvspec.theorems.arithmetic import ranges
from kvspec.theorems.guards import known
from kvspec.theorems.obligation import VARIANT, VARIANT_PROVED_ONLY, Area, Build, Claim, Kind, claim_law
from kvspec.theorems.performing import Performing, moments, run
from kvspec.theorems.requests import (
    ASKED,
    GUARDED,
    IN_RING,
    OPERATION,
    WITH_HITS,
    WITH_NULL,
    Numbers,
    Request,
    first_sequence,
    unknowns_of,
)

AREA = Area("guards")

MOST = 3
"""Blocks that each part of an unrolled operation may take: the moves, and the append of each sequence."""


@dataclass(frozen=True)
class Decision:
    """What a guard makes of a request, be it right or wrong."""

    ok: Any
    never: Any


Decide = Callable[[Algebra, Numbers], Decision]


def by_demand(demand: Demand, u: Numbers) -> Decision:
    """The decision of the right comparison on a demand."""
    return Decision(is_ok(demand, u.free), is_never(demand))


# -- the claims -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """One request, decided and performed. decision: the guard's, right or wrong. alone: what it would decide with every
    other group gone. request: what was asked. end: the operation performed; ended: it got there.
    """

    u: Numbers
    decision: Decision
    alone: Decision
    request: Request
    end: Performing
    ended: Any


def _sound(a: Algebra, law: str, case: Case) -> Claim:
    return claim_law(a, law, Approval(case.decision.ok, case.end.ran_out), [case.ended])


def _watermark(a: Algebra, law: str, case: Case) -> Claim:
    done = [case.ended, a.negate(case.end.ran_out)]
    return claim_law(a, law, Admitted(case.decision.ok, case.end.free, case.u.watermark), done)


def _precise(a: Algebra, law: str, case: Case) -> Claim:
    tried = case.end.taken + a.ite(case.end.ran_out, 1, 0)
    precision = Precision(a.negate(case.decision.ok), case.u.free, tried, case.request.reserve)
    return claim_law(a, law, precision, [case.ended])


def _final(a: Algebra, law: str, case: Case) -> Claim:
    refusal = Refusal(
        never=case.decision.never,
        later=a.all_of(a.negate(case.decision.ok), a.negate(case.decision.never)),
        alone=case.u.free == case.request.alone,
        ok_when_alone=case.alone.ok,
        fits_when_alone=a.all_of(a.negate(case.end.ran_out), case.end.free >= case.request.reserve),
    )
    return claim_law(a, law, refusal, [case.ended])


def _counted_once(a: Algebra, law: str, case: Case) -> Claim:
    u = case.u
    blocks = blocks_for(a, u.tokens + u.lookahead, u.block_size)
    counting = Counting(case.decision.ok, u.free, blocks, held=u.held_hits, cached=u.cached_hits)
    return claim_law(a, law, counting, [case.ended])


ABOUT_ALONE = ("admission.never-is-final", "admission.impossible-is-never")
"""The laws for which the operation is performed with every other group gone."""


def _claim_of(a: Algebra, law: str, case: Case) -> Claim:
    if law in ABOUT_ALONE:
        return _final(a, law, case)
    if law == "admission.watermark":
        return _watermark(a, law, case)
    if law == "admission.hits-counted-once":
        return _counted_once(a, law, case)
    return _sound(a, law, case) if law.startswith("admission.sound-") else _precise(a, law, case)


def _performed(guard: str, law: str, decide: Decide) -> Build:
    asking = ASKED[guard]

    def build(a: Algebra, **numbers: Any) -> Claim:
        u = Numbers(**numbers)
        request = asking(a, u)
        start = replace(request.start, free=request.alone) if law in ABOUT_ALONE else request.start
        seqs = [] if request.first is None else [request.first, after_the_first(u)]
        end, ended = run(a, start, seqs, u.lookahead, u.block_size, MOST)
        alone = decide(a, Numbers(**{**numbers, "free": request.alone}))
        claim = _claim_of(a, law, Case(u, decide(a, u), alone, request, end, ended))
        return Claim([*known(a, u, request), *_real(guard, a, u), *claim.given], claim.goal)

    return build


def _real(guard: str, a: Algebra, u: Numbers) -> list[Any]:
    """What is so of every group and pool that can really be: the proofs do without it, an example is easier to believe.

    A group that is admitted has nothing yet. Any other has a first sequence with a table of what it has seen, whose
    blocks are what is moved or held, and which writes to shared blocks of it, if it writes at all.
    """
    seq, nothing = first_sequence(u), [u.others == 0, u.shared_writes == 0]
    always = [u.total >= 1, u.lookahead >= 0, u.free >= 0, u.elsewhere >= 0, *ranges(a, seq)]
    if OPERATION[guard] == "allocate":
        in_ring = [u.ring >= 1] if guard == IN_RING else []
        return [*always, *in_ring, *nothing, u.seen == 0, u.blocks == 0, u.moved == 0, u.held == 0]
    writes = u.tokens + u.lookahead > u.seen
    has_table = [u.seen >= 1, u.moved == u.blocks, u.shared_writes <= a.ite(writes, u.blocks, 0)]
    if OPERATION[guard] == "append":
        one_null = [u.reserved >= 0, u.reserved + u.first_use <= 1, u.others == 0] if guard == WITH_NULL else []
        return [*always, *has_table, *one_null, u.held >= u.blocks]
    return [*always, *has_table, u.held == 0, *([u.others == 0] if guard == "swap-out" else [])]


def after_the_first(u: Numbers) -> SequenceCounts:
    """A second sequence that is to be appended to: it needs the blocks that the others need, all of them for copies."""
    return SequenceCounts(1, 1, 1 + u.lookahead, u.others)


# -- the story of an example ----------------------------------------------------------------------------

MOVED_FOR = {WITH_HITS: "that is a cached hit", WITH_NULL: "to be set aside"}
"""What a block is taken for at first, where that is no swap."""

ANSWERS = {(True, False): "OK", (False, True): "NEVER", (False, False): "LATER", (True, True): "both OK and NEVER"}


def _told(guard: str, law: str, decide: Decide) -> Callable[[Mapping[str, int]], list[Scene]]:
    """What is asked, what the wrong and the right guard say, and what comes of doing it, block by block."""

    def tell(example: Mapping[str, int]) -> list[Scene]:
        u = Numbers(**example)
        request, wrong, right = ASKED[guard](INTS, u), decide(INTS, u), _right(guard)(INTS, u)
        said, correct = (ANSWERS[bool(d.ok), bool(d.never)] for d in (wrong, right))
        asked = f"{guard} is asked, and says {said}; right is {correct}: it takes {request.demand.need}"
        asked += f" and must leave {request.demand.reserve}" if request.demand.reserve else ""
        start, free = request.start, u.free
        if law in ABOUT_ALONE:
            free = request.alone
            start = replace(start, free=free)
        scenes = [Scene(_situation(guard, u), _pools(guard, u, u.free, 0, 0)), Scene(asked)]
        if law in ABOUT_ALONE and free != u.free:
            scenes.append(Scene("with every other group gone", _pools(guard, u, free, 0, 0)))
        seqs = [] if request.first is None else [request.first, after_the_first(u)]
        for told, now in moments(start, seqs, u.lookahead, u.block_size, MOST):
            words = told.replace("for one that is moved", MOVED_FOR.get(guard, "for one that is moved"))
            scenes.append(Scene(words, _pools(guard, u, now.free, now.taken, start.moves - now.moves)))
        return scenes

    return tell


def _situation(guard: str, u: Numbers) -> str:
    """The request in words."""
    size = f"blocks of {counted_as(u.block_size, 'slot')}, watermark {u.watermark}, lookahead {u.lookahead}"
    if guard == "allocate":
        window = f"; the window fills {counted_as(u.ring, 'block')}" if hasattr(u, "ring") else ""
        return f"a prompt of {counted_as(u.tokens, 'token')} waits{window}; {size}"
    if guard == IN_RING:
        ring = f"a row that begins again after {counted_as(u.ring, 'block')}"
        return f"a prompt of {counted_as(u.tokens, 'token')} waits for {ring}; {size}"
    if guard == WITH_HITS:
        hits = f"{counted_as(u.held_hits, 'block')} that others own and {u.cached_hits} of the free ones"
        return f"a prompt of {counted_as(u.tokens, 'token')} waits, and is found in {hits}; {size}"
    state = "runs" if OPERATION[guard] in ("append", "swap-out") else "is swapped out"
    group = f"a sequence of {counted_as(u.tokens, 'token')} {state}, {u.seen} of them in its table of "
    group += counted_as(u.blocks, "block")
    group += f", {u.shared_writes} of which it shares" if u.shared_writes else ""
    group += f"; another of its group needs {counted_as(u.others, 'block')}" if u.others else ""
    if guard == WITH_NULL:
        group += "; a null block is set aside" if u.reserved else "; no null block is set aside yet"
        group += ", and now wanted" if u.first_use else ""
    return f"{group}; {size}"


def _pools(guard: str, u: Numbers, free: int, taken: int, moved: int) -> tuple[tuple[str, str], ...]:
    """The pool that is asked, and of a swap the one that is left."""
    if OPERATION[guard] == "append":
        return (("GPU", draw_counts(u.total, u.held + taken, free)),)
    if guard in ("allocate", IN_RING):
        return (("GPU", draw_counts(u.total, taken, free)),)
    if guard == WITH_HITS:
        return (("GPU", draw_counts(u.total, u.held_hits + taken, free)),)
    asked, left = ("CPU", "GPU") if guard == "swap-out" else ("GPU", "CPU")
    return (asked, draw_counts(u.total, taken, free)), (
        left,
        f"{'[group]' * (u.moved - moved) or 'nothing of the group'}",
    )


def _right(guard: str) -> Decide:
    return lambda a, u: by_demand(ASKED[guard](a, u).demand, u)


WRONG: dict[str, Decide] = {}
"""Every wrong way to decide where there is no index and no window, by the id of its obligation."""


def refute(guard: str, name: str, law: str, statement: str, more: tuple[str, ...] = ()) -> Callable[[Decide], Decide]:
    """Decorates a wrong way to decide on a request. more: what the wrong way knows besides; then it is told apart only
    by its theorem, as those are of guards that know of an index or a window.
    """

    def decorate(wrong: Decide) -> Decide:
        build, right = _performed(guard, law, wrong), _performed(guard, law, _right(guard))
        played = guard in GUARDED and not more
        infix = VARIANT if played else VARIANT_PROVED_ONLY
        full_name = f"{guard}{infix}{name}"
        unknowns, tell = (*unknowns_of(guard), *more, "elsewhere"), _told(guard, law, wrong)
        AREA.add(full_name, Kind.REFUTATION, statement, build, unknowns=unknowns, law=law, right=right, tell=tell)
        if played:
            WRONG[f"{AREA.name}.{full_name}"] = wrong
        return wrong

    return decorate


def _demand(guard: str, a: Algebra, u: Numbers, **changes: Any) -> Demand:
    """The right demand with some of its parts changed."""
    return replace(ASKED[guard](a, u).demand, **changes)


def _append_of(a: Algebra, u: Numbers, seq: SequenceCounts, lookahead: Any) -> Decision:
    """The decision with the first sequence counted so, and the others right."""
    demand = append_demand(a, [seq], lookahead, u.block_size, u.total, u.held)
    return by_demand(replace(demand, need=demand.need + u.others), u)


def _swap_in_of(a: Algebra, u: Numbers, seq: SequenceCounts, lookahead: Any) -> Decision:
    """The decision with the first sequence counted so, and the others right."""
    demand = swap_in_demand(a, u.moved, [seq], lookahead, u.block_size, u.total, u.watermark)
    return by_demand(replace(demand, need=demand.need + u.others), u)


# -- too small a need: unsound --------------------------------------------------------------------------


@refute(
    "swap-in",
    "unseen-ignored",
    "admission.sound-swap-in",
    "Swap-in that does not count the tokens its sequences have yet to be appended (vLLM pull request 8824).",
)
def _unseen_ignored(a: Algebra, u: Numbers) -> Decision:
    return _swap_in_of(a, u, replace(first_sequence(u), tokens=u.seen), u.lookahead)


@refute("swap-in", "lookahead-ignored", "admission.sound-swap-in", "Swap-in that does not count lookahead slots.")
def _swap_in_lookahead_ignored(a: Algebra, u: Numbers) -> Decision:
    return _swap_in_of(a, u, first_sequence(u), 0)


@refute("append", "unseen-ignored", "admission.sound-append", "Append that does not count the tokens to be appended.")
def _append_unseen_ignored(a: Algebra, u: Numbers) -> Decision:
    return _append_of(a, u, replace(first_sequence(u), tokens=u.seen), u.lookahead)


@refute("append", "lookahead-ignored", "admission.sound-append", "Append that does not count lookahead slots.")
def _append_lookahead_ignored(a: Algebra, u: Numbers) -> Decision:
    return _append_of(a, u, first_sequence(u), 0)


@refute("append", "copies-ignored", "admission.sound-append", "Append that does not count copy-on-write blocks.")
def _copies_ignored(a: Algebra, u: Numbers) -> Decision:
    return _append_of(a, u, replace(first_sequence(u), shared_writes=0), u.lookahead)


@refute(
    "append",
    "one-block-each",
    "admission.sound-append",
    "Append that asks for one free block a sequence (vLLM's first generation): too few for a long lookahead.",
)
def _one_block_each(a: Algebra, u: Numbers) -> Decision:
    return by_demand(_demand("append", a, u, need=1 + u.others), u)


@refute("append", "need-forgotten", "admission.sound-append", "Append that looks at the free blocks only.")
def _need_forgotten(a: Algebra, u: Numbers) -> Decision:
    return by_demand(_demand("append", a, u, need=0), u)


@refute("allocate", "lookahead-ignored", "admission.sound-allocate", "Allocate that does not count lookahead slots.")
def _allocate_lookahead_ignored(a: Algebra, u: Numbers) -> Decision:
    return by_demand(_demand("allocate", a, u, need=blocks_for(a, u.tokens, u.block_size)), u)


@refute("allocate", "rounded-down", "admission.sound-allocate", "Allocate that counts full blocks only.")
def _rounded_down(a: Algebra, u: Numbers) -> Decision:
    return by_demand(_demand("allocate", a, u, need=full_blocks(a, u.tokens + u.lookahead, u.block_size)), u)


@refute("allocate", "free-against-itself", "admission.sound-allocate", "Allocate that compares free with free.")
def _free_against_itself(a: Algebra, u: Numbers) -> Decision:
    return Decision(u.free >= u.free, False)


@refute(
    "swap-out",
    "tail-forgotten",
    "admission.sound-swap-out",
    "Swap-out that counts the blocks with tokens, while lookahead blocks are moved too.",
)
def _tail_forgotten(a: Algebra, u: Numbers) -> Decision:
    return by_demand(_demand("swap-out", a, u, need=blocks_for(a, u.seen, u.block_size)), u)


@refute(
    "swap-in",
    "moved-ignored",
    "admission.sound-swap-in",
    "Swap-in that counts what is appended and not what is moved.",
)
def _moved_ignored(a: Algebra, u: Numbers) -> Decision:
    demand = GUARDED["swap-in"](a, u).demand
    return by_demand(replace(demand, need=demand.need - u.moved), u)


@refute(
    "swap-in",
    "first-sequence-only",
    "admission.sound-swap-in",
    "Swap-in that counts the append of one resumed sequence, though the group has more.",
)
def _first_resumed_only(a: Algebra, u: Numbers) -> Decision:
    demand = GUARDED["swap-in"](a, u).demand
    return by_demand(replace(demand, need=demand.need - u.others), u)


@refute(
    "append",
    "first-sequence-only",
    "admission.sound-append",
    "Append that counts what one running sequence needs, though the group has more.",
)
def _first_running_only(a: Algebra, u: Numbers) -> Decision:
    demand = GUARDED["append"](a, u).demand
    return by_demand(replace(demand, need=demand.need - u.others), u)


@refute(
    "swap-in",
    "copies-ignored",
    "admission.sound-swap-in",
    "Swap-in that forgets the copy-on-write of the append that follows.",
)
def _swap_in_copies_ignored(a: Algebra, u: Numbers) -> Decision:
    demand = GUARDED["swap-in"](a, u).demand
    return by_demand(replace(demand, need=demand.need - u.shared_writes), u)


@refute(
    "swap-in",
    "by-the-other-pool",
    "admission.sound-swap-in",
    "Swap-in that asks the CPU pool, which it empties, instead of the GPU pool, which it fills.",
)
def _by_the_other_pool(a: Algebra, u: Numbers) -> Decision:
    return replace(_right("swap-in")(a, u), ok=is_ok(GUARDED["swap-in"](a, u).demand, u.elsewhere))


@refute(
    "swap-out",
    "by-the-other-pool",
    "admission.sound-swap-out",
    "Swap-out that asks the GPU pool, which it empties, instead of the CPU pool, which it fills.",
)
def _out_by_the_other_pool(a: Algebra, u: Numbers) -> Decision:
    return replace(_right("swap-out")(a, u), ok=is_ok(GUARDED["swap-out"](a, u).demand, u.elsewhere))


@refute(
    "swap-out",
    "shared-never-counted",
    "admission.sound-swap-out",
    "Swap-out that leaves out the blocks which the group shares.",
)
def _shared_never_counted(a: Algebra, u: Numbers) -> Decision:
    return by_demand(_demand("swap-out", a, u, need=u.moved - u.shared_writes), u)


@refute(
    "allocate",
    "total-for-free",
    "admission.sound-allocate",
    "Allocate that compares with the size of the pool instead of with what is free in it.",
)
def _total_for_free(a: Algebra, u: Numbers) -> Decision:
    demand = GUARDED["allocate"](a, u).demand
    return Decision(is_ok(demand, u.total), is_never(demand))


# -- too small a reserve --------------------------------------------------------------------------------


@refute("allocate", "watermark-ignored", "admission.watermark", "Allocate that leaves no watermark.")
def _allocate_watermark_ignored(a: Algebra, u: Numbers) -> Decision:
    return by_demand(_demand("allocate", a, u, reserve=0), u)


@refute("swap-in", "watermark-ignored", "admission.watermark", "Swap-in that leaves no watermark.")
def _swap_in_watermark_ignored(a: Algebra, u: Numbers) -> Decision:
    return by_demand(_demand("swap-in", a, u, reserve=0), u)


@refute("allocate", "watermark-off-by-one", "admission.watermark", "Allocate that leaves one block too few.")
def _watermark_off_by_one(a: Algebra, u: Numbers) -> Decision:
    return by_demand(_demand("allocate", a, u, reserve=u.watermark - 1), u)


# -- too large a need or reserve: imprecise --------------------------------------------------------------


@refute("allocate", "watermark-too-strict", "admission.precise-allocate", "Allocate that wants one block to spare.")
def _watermark_too_strict(a: Algebra, u: Numbers) -> Decision:
    return by_demand(_demand("allocate", a, u, reserve=u.watermark + 1), u)


@refute(
    "allocate",
    "prompt-for-each",
    "admission.precise-allocate",
    "Allocate that counts a shared prompt once for each of two sequences.",
)
def _prompt_for_each(a: Algebra, u: Numbers) -> Decision:
    return by_demand(_demand("allocate", a, u, need=2 * blocks_for(a, u.tokens + u.lookahead, u.block_size)), u)


@refute(
    "swap-out",
    "shared-counted-each-time",
    "admission.precise-swap-out",
    "Swap-out that counts each block once for each of two sequences which share it, and moves it once.",
)
def _shared_counted_each_time(a: Algebra, u: Numbers) -> Decision:
    return by_demand(_demand("swap-out", a, u, need=2 * u.moved), u)


@refute(
    "append",
    "keeps-watermark",
    "admission.precise-append",
    "Append that keeps the watermark free, which is there for it to grow into.",
)
def _append_keeps_watermark(a: Algebra, u: Numbers) -> Decision:
    return by_demand(_demand("append", a, u, reserve=u.watermark), u)


def _touched(a: Algebra, u: Numbers) -> Any:
    return blocks_touched(a, u.seen, u.tokens + u.lookahead - u.seen, u.block_size)


@refute(
    "append",
    "touched",
    "admission.precise-append",
    "Append that counts every touched block (vLLM's second generation): a partial last block is filled in place.",
)
def _append_touched(a: Algebra, u: Numbers) -> Decision:
    return by_demand(_demand("append", a, u, need=_touched(a, u) + u.others), u)


@refute("swap-in", "touched", "admission.precise-swap-in", "Swap-in that counts every touched block as new.")
def _swap_in_touched(a: Algebra, u: Numbers) -> Decision:
    return by_demand(_demand("swap-in", a, u, need=u.moved + _touched(a, u) + u.others), u)


@refute(
    "append",
    "one-block-at-least",
    "admission.precise-append",
    "Append that asks for one free block a sequence although the tokens fit in what is there.",
)
def _one_block_at_least(a: Algebra, u: Numbers) -> Decision:
    return by_demand(_demand("append", a, u, need=1 + u.others), u)


@refute(
    "append",
    "tail-counted-again",
    "admission.precise-append",
    "Append that forgets the lookahead blocks of an earlier call, which are there to be used.",
)
def _tail_counted_again(a: Algebra, u: Numbers) -> Decision:
    tailless = replace(first_sequence(u), blocks=blocks_for(a, u.seen, u.block_size))
    return _append_of(a, u, tailless, u.lookahead)


@refute(
    "swap-in",
    "tail-counted-again",
    "admission.precise-swap-in",
    "Swap-in that forgets the lookahead blocks which are moved along, and are there to be used.",
)
def _swap_in_tail_counted_again(a: Algebra, u: Numbers) -> Decision:
    tailless = replace(first_sequence(u), blocks=blocks_for(a, u.seen, u.block_size))
    return _swap_in_of(a, u, tailless, u.lookahead)


@refute(
    "swap-in",
    "whole-table-again",
    "admission.precise-swap-in",
    "Swap-in that counts the whole table again on top of the blocks moved.",
)
def _whole_table_again(a: Algebra, u: Numbers) -> Decision:
    return _swap_in_of(a, u, replace(first_sequence(u), blocks=0), u.lookahead)


@refute("swap-out", "keeps-watermark", "admission.precise-swap-out", "Swap-out that keeps the GPU's watermark free.")
def _swap_out_keeps_watermark(a: Algebra, u: Numbers) -> Decision:
    return by_demand(_demand("swap-out", a, u, reserve=u.watermark), u)


# -- the wrong NEVER ------------------------------------------------------------------------------------


def _never_instead(guard: str, a: Algebra, u: Numbers, never: Any) -> Decision:
    return replace(by_demand(ASKED[guard](a, u).demand, u), never=never)


@refute(
    "allocate",
    "never-without-watermark",
    "admission.impossible-is-never",
    "Allocate that forgets the watermark when it asks whether a group can ever fit: it waits for ever.",
)
def _never_without_watermark(a: Algebra, u: Numbers) -> Decision:
    demand = GUARDED["allocate"](a, u).demand
    return _never_instead("allocate", a, u, demand.attainable < demand.need)


@refute(
    "swap-in",
    "never-without-watermark",
    "admission.impossible-is-never",
    "Swap-in that forgets the watermark when it asks whether a group can ever come back.",
)
def _swap_in_never_without_watermark(a: Algebra, u: Numbers) -> Decision:
    demand = GUARDED["swap-in"](a, u).demand
    return _never_instead("swap-in", a, u, demand.attainable < demand.need)


@refute(
    "swap-in",
    "never-without-append",
    "admission.impossible-is-never",
    "Swap-in that asks whether the moved blocks can ever fit, and not whether the append can that follows.",
)
def _swap_in_never_without_append(a: Algebra, u: Numbers) -> Decision:
    return _never_instead("swap-in", a, u, is_never(_demand("swap-in", a, u, need=u.moved)))


@refute(
    "append",
    "never-forgets-held",
    "admission.impossible-is-never",
    "Append that hopes for the blocks its own group holds.",
)
def _never_forgets_held(a: Algebra, u: Numbers) -> Decision:
    return _never_instead("append", a, u, is_never(_demand("append", a, u, attainable=u.total)))


@refute(
    "allocate",
    "never-by-free",
    "admission.never-is-final",
    "Allocate that answers NEVER by what is free now: the request is dropped, though it would have fitted later.",
)
def _never_by_free(a: Algebra, u: Numbers) -> Decision:
    return _never_instead("allocate", a, u, is_never(_demand("allocate", a, u, attainable=u.free)))


# -- with an index --------------------------------------------------------------------------------------


def _hits_free_too(a: Algebra, u: Numbers) -> Decision:
    demand = ASKED[WITH_HITS](a, u).demand
    return by_demand(replace(demand, need=demand.need - u.cached_hits), u)


refute(
    WITH_HITS,
    "hits-free-too",
    "admission.hits-counted-once",
    "Allocate that counts a cached hit as a block it has, and among the free ones it may take as well.",
)(_hits_free_too)
refute(
    WITH_HITS,
    "held-after-asking",
    "admission.sound-allocate",
    "The same, seen by what comes of it: what was free when it was asked is not free once its hits are held.",
)(_hits_free_too)


@refute(
    WITH_HITS,
    "held-hits-ignored",
    "admission.precise-allocate",
    "Allocate that counts a block anew although somebody owns it whom it could join.",
)
def _held_hits_ignored(a: Algebra, u: Numbers) -> Decision:
    return by_demand(_demand(WITH_HITS, a, u, need=blocks_for(a, u.tokens + u.lookahead, u.block_size)), u)


@refute(
    WITH_HITS,
    "lookahead-ignored",
    "admission.sound-allocate",
    "Allocate with hits that does not count lookahead slots.",
)
def _hits_lookahead_ignored(a: Algebra, u: Numbers) -> Decision:
    return by_demand(_demand(WITH_HITS, a, u, need=blocks_for(a, u.tokens, u.block_size) - u.held_hits), u)


@refute(
    WITH_HITS,
    "rounded-down",
    "admission.sound-allocate",
    "Allocate with hits that counts full blocks only.",
)
def _hits_rounded_down(a: Algebra, u: Numbers) -> Decision:
    need = full_blocks(a, u.tokens + u.lookahead, u.block_size) - u.held_hits
    return by_demand(_demand(WITH_HITS, a, u, need=need), u)


@refute(WITH_HITS, "watermark-ignored", "admission.watermark", "Allocate with hits that leaves no watermark.")
def _hits_watermark_ignored(a: Algebra, u: Numbers) -> Decision:
    return by_demand(_demand(WITH_HITS, a, u, reserve=0), u)


@refute(
    WITH_HITS,
    "total-for-free",
    "admission.sound-allocate",
    "Allocate with hits that compares with the size of the pool instead of with what is free in it.",
)
def _hits_total_for_free(a: Algebra, u: Numbers) -> Decision:
    demand = ASKED[WITH_HITS](a, u).demand
    return Decision(is_ok(demand, u.total), is_never(demand))


@refute(
    WITH_HITS,
    "never-forgets-held-hits",
    "admission.impossible-is-never",
    "Allocate that hopes for its held hits to become free, and not to need them then: it waits for ever.",
)
def _never_forgets_held_hits(a: Algebra, u: Numbers) -> Decision:
    return _never_instead(WITH_HITS, a, u, is_never(_demand(WITH_HITS, a, u, attainable=u.total)))


# -- under a window -------------------------------------------------------------------------------------


def _prompt_blocks(a: Algebra, u: Numbers) -> Any:
    return blocks_for(a, u.tokens + u.lookahead, u.block_size)


@refute(
    "allocate",
    "capped-at-the-window",
    "admission.sound-allocate",
    "Allocate that counts no more than the window's blocks, though it takes the whole prompt's (vLLM with a window).",
    more=("ring",),
)
def _capped_at_the_window(a: Algebra, u: Numbers) -> Decision:
    need = a.ite(u.ring >= 1, smaller(a, _prompt_blocks(a, u), u.ring), _prompt_blocks(a, u))
    return by_demand(_demand("allocate", a, u, need=need), u)


@refute(
    IN_RING,
    "not-capped",
    "admission.precise-allocate",
    "Allocate that counts the whole prompt, though its row begins again after the window's blocks.",
)
def _ring_ignored(a: Algebra, u: Numbers) -> Decision:
    return by_demand(_demand(IN_RING, a, u, need=_prompt_blocks(a, u)), u)


@refute(IN_RING, "lookahead-ignored", "admission.sound-allocate", "Allocate in a ring that counts no lookahead slots.")
def _ring_lookahead_ignored(a: Algebra, u: Numbers) -> Decision:
    return by_demand(_demand(IN_RING, a, u, need=smaller(a, blocks_for(a, u.tokens, u.block_size), u.ring)), u)


@refute(IN_RING, "rounded-down", "admission.sound-allocate", "Allocate in a ring that counts full blocks only.")
def _ring_rounded_down(a: Algebra, u: Numbers) -> Decision:
    full = full_blocks(a, u.tokens + u.lookahead, u.block_size)
    return by_demand(_demand(IN_RING, a, u, need=smaller(a, full, u.ring)), u)


@refute(IN_RING, "watermark-ignored", "admission.watermark", "Allocate in a ring that leaves no watermark.")
def _ring_watermark_ignored(a: Algebra, u: Numbers) -> Decision:
    return by_demand(_demand(IN_RING, a, u, reserve=0), u)


@refute(IN_RING, "total-for-free", "admission.sound-allocate", "Allocate in a ring that compares with the whole pool.")
def _ring_total_for_free(a: Algebra, u: Numbers) -> Decision:
    demand = ASKED[IN_RING](a, u).demand
    return Decision(is_ok(demand, u.total), is_never(demand))


@refute(
    IN_RING,
    "never-by-the-prompt",
    "admission.never-is-final",
    "Allocate that answers NEVER to a prompt that is longer than the pool, though its row begins again.",
)
def _never_by_the_prompt(a: Algebra, u: Numbers) -> Decision:
    return _never_instead(IN_RING, a, u, is_never(_demand(IN_RING, a, u, need=_prompt_blocks(a, u))))


@refute(
    WITH_NULL,
    "first-use-ignored",
    "admission.sound-append",
    "Append that does not count the null block which is taken from the pool when it is first used (vLLM).",
)
def _first_use_ignored(a: Algebra, u: Numbers) -> Decision:
    demand = ASKED[WITH_NULL](a, u).demand
    return by_demand(replace(demand, need=demand.need - u.first_use), u)


@refute(
    WITH_NULL,
    "counted-each-time",
    "admission.precise-append",
    "Append that counts a null block each time, although it is set aside already.",
)
def _null_counted_each_time(a: Algebra, u: Numbers) -> Decision:
    demand = ASKED[WITH_NULL](a, u).demand
    return by_demand(replace(demand, need=demand.need + u.reserved), u)


@refute(
    WITH_NULL,
    "never-forgets-reserved",
    "admission.impossible-is-never",
    "Append that hopes for the null block, which nobody can ever have: the group waits for ever.",
)
def _never_forgets_reserved(a: Algebra, u: Numbers) -> Decision:
    return _never_instead(WITH_NULL, a, u, is_never(_demand(WITH_NULL, a, u, attainable=u.total - u.held)))


OBLIGATIONS = AREA.obligations
