"""Laws of admission: an OK is a promise, a NEVER is final, a LATER is possible, and asking changes nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kvspec.algebra import Algebra
from kvspec.laws.base import Law
from kvspec.vocabulary import Capability, Guard, Level


@dataclass(frozen=True)
class Approval:
    """One guarded operation. ok: the guard said OK. ran_out: doing it ended in out of blocks."""

    ok: Any
    ran_out: Any


@dataclass(frozen=True)
class Admitted:
    """One admission (allocate, or swap-in with its appends). admitted: it was approved and done. free: GPU blocks free
    right after it. watermark: blocks that must then be free.
    """

    admitted: Any
    free: Any
    watermark: Any


@dataclass(frozen=True)
class Refusal:
    """One three-valued guard call. never, later: its verdict. alone: every other sequence was gone and the cache empty
    when it was asked. ok_when_alone: the guard itself said OK to the same request when alone. fits_when_alone: the
    least need leaves the reserve free in a pool with every other sequence gone.
    """

    never: Any
    later: Any
    alone: Any = False
    ok_when_alone: Any = False
    fits_when_alone: Any = True


@dataclass(frozen=True)
class Precision:
    """One guard call. refused: its verdict. free: blocks free. need: blocks that the operation would take, counted as
    the manager moves them. reserve: blocks that must be free afterwards.
    """

    refused: Any
    free: Any
    need: Any
    reserve: Any


@dataclass(frozen=True)
class Counting:
    """One admission with hits, approved or not. approved: the guard said OK. free: blocks free before, cached ones
    among them. blocks: that the prompt takes. held: hits that somebody owns: they cost no free block. cached: hits that
    nobody owns: they are among the free ones.
    """

    approved: Any
    free: Any
    blocks: Any
    held: Any
    cached: Any


@dataclass(frozen=True)
class Asking:
    """One guard call: what it changed. counts, rows, refcounts: whether any differ. verdict: whether asking again gave
    another verdict.
    """

    counts: Any = False
    rows: Any = False
    refcounts: Any = False
    verdict: Any = False


def never_runs_out(a: Algebra, approval: Approval) -> Any:
    """It did not run out."""
    return a.negate(approval.ran_out)


def approved(a: Algebra, approval: Approval) -> Any:
    """The guard said OK."""
    return approval.ok


def watermark_left(a: Algebra, admitted: Admitted) -> Any:
    """The watermark is free."""
    return admitted.free >= admitted.watermark


def was_admitted(a: Algebra, admitted: Admitted) -> Any:
    """It was approved and done."""
    return admitted.admitted


def never_means_never(a: Algebra, refusal: Refusal) -> Any:
    """Alone, the guard itself does not say OK."""
    return a.negate(refusal.ok_when_alone)


def later_is_possible(a: Algebra, refusal: Refusal) -> Any:
    """It was not alone already, and there is room when it is."""
    return a.all_of(a.negate(refusal.alone), refusal.fits_when_alone)


def said_never(a: Algebra, refusal: Refusal) -> Any:
    """The verdict was NEVER."""
    return refusal.never


def said_later(a: Algebra, refusal: Refusal) -> Any:
    """The verdict was LATER."""
    return refusal.later


def refused_for_a_reason(a: Algebra, precision: Precision) -> Any:
    """It would have run out or crossed the reserve."""
    return precision.free - precision.need < precision.reserve


def was_refused(a: Algebra, precision: Precision) -> Any:
    """The guard refused."""
    return precision.refused


def counts_hits_once(a: Algebra, counting: Counting) -> Any:
    """The blocks that are not held already are all to be had: a cached hit leaves the free ones by being used."""
    return counting.blocks - counting.held <= counting.free


def approved_with_cached_hits(a: Algebra, counting: Counting) -> Any:
    """It was approved, and has hits that are free."""
    return a.all_of(counting.approved, counting.cached >= 1)


def changed_nothing(a: Algebra, asking: Asking) -> Any:
    """Neither counts, rows, refcounts nor the verdict."""
    return a.all_of(
        a.negate(asking.counts), a.negate(asking.rows), a.negate(asking.refcounts), a.negate(asking.verdict)
    )


ANY_GUARD = (
    Capability.GUARD_ALLOCATE,
    Capability.GUARD_APPEND,
    Capability.GUARD_SWAP_OUT,
    Capability.GUARD_SWAP_IN,
)


def _sound(name: str, statement: str, needs: tuple[Capability, ...], guards: tuple[Guard, ...], source: str) -> Law:
    return Law(
        f"admission.sound-{name}",
        Level.MUST,
        statement,
        Approval,
        never_runs_out,
        applies=approved,
        breaking=Approval(ok=True, ran_out=True),
        needs=needs,
        guards=guards,
        source=source,
    )


def _precise(
    name: str,
    level: Level,
    needs: tuple[Capability, ...],
    guard: Guard,
    reserve: str,
    ways: tuple[Capability, ...] = (),
) -> Law:
    """ways: the ways to be asked, of which there must be one."""
    return Law(
        f"admission.precise-{name}",
        level,
        f"A refusal of {name} means that doing it would have run out{reserve}.",
        Precision,
        refused_for_a_reason,
        applies=was_refused,
        breaking=Precision(refused=True, free=3, need=2, reserve=1),
        needs=needs,
        needs_any=ways,
        guards=(guard,),
        source="Fault class C21: capacity that exists and is not used. The need is counted as the manager moves "
        "blocks (per table entry where a swap loses sharing).",
    )


ASKED_TO_ALLOCATE = (Capability.GUARD_ALLOCATE, Capability.TRY_ALLOCATE)
ASKED_TO_APPEND = (Capability.GUARD_APPEND, Capability.TRY_APPEND)

LAWS = (
    _sound(
        "allocate",
        "After OK, allocate does not run out of blocks.",
        (Capability.GUARD_ALLOCATE,),
        (Guard.ALLOCATE,),
        "PagedAttention section 4.5; fault class C13: the guard's formula differs from what allocation does.",
    ),
    _sound(
        "append",
        "After OK, appending every running sequence of the group (unseen tokens, lookahead, copy-on-write) does not "
        "run out of blocks.",
        (Capability.APPEND, Capability.GUARD_APPEND),
        (Guard.APPEND,),
        "Fault class C16: append admission too small.",
    ),
    _sound(
        "fork",
        "After OK, fork does not run out of blocks.",
        (Capability.FORK, Capability.GUARD_FORK),
        (Guard.FORK,),
        "For managers that copy the tail at the fork.",
    ),
    _sound(
        "swap-in",
        "After OK, swapping in, and then appending every resumed sequence's unseen tokens with the lookahead asked "
        "about, does not run out of blocks.",
        (Capability.SWAP, Capability.GUARD_SWAP_IN),
        (Guard.SWAP_IN,),
        "vLLM pull request 8824; fault class C15: pending needs ignored.",
    ),
    _sound(
        "swap-out",
        "After OK, swapping out does not run out of blocks.",
        (Capability.SWAP, Capability.GUARD_SWAP_OUT),
        (Guard.SWAP_OUT,),
        "Fault class C20; over-allocated tails and shared blocks count as the manager moves them.",
    ),
    Law(
        "admission.watermark",
        Level.MUST,
        "Right after an admitted allocate, and an admitted swap-in with its appends, at least the watermark is free.",
        Admitted,
        watermark_left,
        applies=was_admitted,
        breaking=Admitted(admitted=True, free=0, watermark=1),
        needs=(Capability.WATERMARK,),
        needs_any=ASKED_TO_ALLOCATE,
        guards=(Guard.ALLOCATE,),
        source="vLLM's watermark: room for running sequences to grow, against preemption right after admission.",
    ),
    Law(
        "admission.never-is-final",
        Level.MUST,
        "NEVER only if the guard itself would refuse with every other sequence gone and the cache empty.",
        Refusal,
        never_means_never,
        applies=said_never,
        breaking=Refusal(never=True, later=False, alone=True, ok_when_alone=True),
        needs=(Capability.THREE_VALUED,),
        source="A request answered NEVER is dropped by the engine: its user gets an error.",
    ),
    Law(
        "admission.impossible-is-never",
        Level.MUST,
        "LATER only if the guard would say OK with every other sequence gone and the cache empty.",
        Refusal,
        later_is_possible,
        applies=said_later,
        breaking=Refusal(never=False, later=True, alone=True, fits_when_alone=False),
        needs=(Capability.THREE_VALUED,),
        source="Fault class C18: an impossible request waits for ever, and everything behind it.",
    ),
    _precise("allocate", Level.SHOULD, (), Guard.ALLOCATE, " or crossed the watermark", ASKED_TO_ALLOCATE),
    _precise("append", Level.MAY, (Capability.APPEND,), Guard.APPEND, "", ASKED_TO_APPEND),
    _precise("swap-out", Level.SHOULD, (Capability.SWAP, Capability.GUARD_SWAP_OUT), Guard.SWAP_OUT, ""),
    _precise(
        "swap-in",
        Level.MAY,
        (Capability.SWAP, Capability.GUARD_SWAP_IN),
        Guard.SWAP_IN,
        " or crossed the watermark",
    ),
    Law(
        "admission.guard-pure",
        Level.MUST,
        "Asking a guard changes no table, count, refcount or later verdict.",
        Asking,
        changed_nothing,
        breaking=Asking(counts=True),
        needs_any=ANY_GUARD,
        source="A scheduler asks many times before it acts.",
    ),
    Law(
        "admission.hits-counted-once",
        Level.MUST,
        "An unreferenced cached block is not counted both as a hit and as free.",
        Counting,
        counts_hits_once,
        applies=approved_with_cached_hits,
        breaking=Counting(approved=True, free=4, blocks=5, held=0, cached=2),
        needs=(Capability.PREFIX_CACHING,),
        needs_any=ASKED_TO_ALLOCATE,
        source="Fault class C14; vLLM's V1 manager subtracts such hits from the free ones for this reason.",
    ),
)
