"""What is asked of the guards, and what is then performed: the common ground of proofs and refutations.

One `Request` for each guarded operation: the demand that its guard states, next to how the operation begins. Knows the
guards and how operations are performed; must not know what is claimed of them. All numbers come by name, so that a
proof and a refutation of the same claim speak of the same unknowns.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from kvspec.algebra import Algebra
from kvspec.arithmetic import SequenceCounts, blocks_for
from kvspec.guards import (
    Demand,
    allocate_demand,
    allocate_in_ring_demand,
    allocate_with_hits_demand,
    append_demand,
    append_need,
    append_with_null_demand,
    swap_in_demand,
    swap_out_demand,
)
from kvspec.theorems.arithmetic import counted
from kvspec.theorems.obligation import Named
from kvspec.theorems.performing import Performing

Numbers = SimpleNamespace
"""Numbers (or solver terms) by name."""

UNKNOWNS = (
    *("block_size", "lookahead", "watermark", "total", "held", "free", "moved"),
    *("tokens", "seen", "blocks", "shared_writes", "others"),
)
"""block_size .. free: the pool that is asked, `held` of whose blocks the group itself owns. moved: blocks to swap.
tokens .. shared_writes: the counts of one sequence, the first. others: what the sequences after it need together.
"""

HITS = ("held_hits", "cached_hits")
"""Blocks of a prompt that are found in an index, and that somebody owns or that are free. Only one guard knows them."""

RING = ("ring",)
"""Blocks after which a row begins again with its first one."""

NULL = ("reserved", "first_use")
"""Blocks that are set aside already, and those that the operation is the first to use."""


@dataclass(frozen=True)
class Request:
    """One guarded operation. demand: what the guard says of it. start: the operation before it took anything. reserve:
    blocks that must be free after it, and alone: blocks free with every other group gone, both stated apart from the
    guard. first: the sequence appended to first, if any. rest: what appending that and all others needs. given: what
    has to be known of this one besides.
    """

    demand: Demand
    start: Performing
    reserve: Any
    alone: Any
    first: SequenceCounts | None = None
    rest: Any = 0
    given: tuple[Any, ...] = ()


Asking = Callable[[Algebra, Numbers], Request]


def first_sequence(u: Numbers) -> SequenceCounts:
    """The counts of the first sequence."""
    return SequenceCounts(u.tokens, u.seen, u.blocks, u.shared_writes)


def premises(a: Algebra, u: Numbers) -> list[Any]:
    """What has to be known of every pool and every group."""
    return [
        Named("block-size-positive", u.block_size >= 1),
        Named("slots-not-negative", u.tokens + u.lookahead >= 0),
        Named("watermark-not-negative", u.watermark >= 0),
        Named("held-not-negative", u.held >= 0),
        Named("free-within-total", u.free + u.held <= u.total),
        Named("moved-not-negative", u.moved >= 0),
        Named("others-not-negative", u.others >= 0),
        *counted(a, first_sequence(u), u.block_size),
    ]


def allocate(a: Algebra, u: Numbers) -> Request:
    """The group's prompt is put into a table that is empty; the other sequences share it and take nothing."""
    return Request(
        allocate_demand(a, u.tokens, u.lookahead, u.block_size, u.total, u.watermark),
        Performing(u.free, slots=u.tokens + u.lookahead),
        u.watermark,
        u.total,
    )


def allocate_with_hits(a: Algebra, u: Numbers) -> Request:
    """The same with hits: each is an entry of the table from the start, and a cached one is a block still to be taken.

    With every other group gone, the hits that are held now are this group's own.
    """
    slots, hits = u.tokens + u.lookahead, u.held_hits + u.cached_hits
    demand = allocate_with_hits_demand(a, u.tokens, u.lookahead, u.block_size, u.total, u.watermark, u.held_hits)
    return Request(
        demand,
        Performing(u.free, moves=u.cached_hits, table=hits, slots=slots),
        u.watermark,
        u.total - u.held_hits,
        given=(
            Named("hits-not-negative", a.all_of(u.held_hits >= 0, u.cached_hits >= 0)),
            Named("hits-are-of-the-prompt", hits <= blocks_for(a, slots, u.block_size)),
            Named("hits-are-blocks", a.all_of(u.free + u.held_hits <= u.total, u.cached_hits <= u.free)),
        ),
    )


def allocate_in_ring(a: Algebra, u: Numbers) -> Request:
    """The prompt is put into a table that does not grow beyond the ring: what comes after lies in its blocks too."""
    slots = u.tokens + u.lookahead
    in_ring = a.ite(blocks_for(a, slots, u.block_size) <= u.ring, slots, u.ring * u.block_size)
    return Request(
        allocate_in_ring_demand(a, u.tokens, u.lookahead, u.block_size, u.total, u.watermark, u.ring),
        Performing(u.free, slots=in_ring),
        u.watermark,
        u.total,
        given=(Named("ring-not-negative", u.ring >= 0),),
    )


def append(a: Algebra, u: Numbers) -> Request:
    """Each running sequence in turn: the first, then the others."""
    first = first_sequence(u)
    demand = append_demand(a, [first], u.lookahead, u.block_size, u.total, u.held)
    return Request(
        _and_others(demand, u),
        Performing(u.free),
        0,
        u.total - u.held,
        first,
        append_need(a, first, u.lookahead, u.block_size) + u.others,
    )


def append_with_null(a: Algebra, u: Numbers) -> Request:
    """The same where the blocks that are set aside on first use are taken before all others."""
    first = first_sequence(u)
    demand = append_with_null_demand(a, [first], u.lookahead, u.block_size, u.total, u.held, u.reserved, u.first_use)
    return Request(
        _and_others(demand, u),
        Performing(u.free, moves=u.first_use),
        0,
        u.total - u.held - u.reserved,
        first,
        append_need(a, first, u.lookahead, u.block_size) + u.others,
        given=(
            Named("first-use-not-negative", u.first_use >= 0),
            Named("free-within-unreserved", u.free + u.held + u.reserved <= u.total),
        ),
    )


def swap_out(a: Algebra, u: Numbers) -> Request:
    """Every block of the group is moved, lookahead tails too; nothing is appended."""
    return Request(swap_out_demand(a, u.moved, u.total), Performing(u.free, moves=u.moved), 0, u.total)


def swap_in(a: Algebra, u: Numbers) -> Request:
    """The blocks are moved, then each resumed sequence is appended to in turn: the first, then the others."""
    first = first_sequence(u)
    demand = swap_in_demand(a, u.moved, [first], u.lookahead, u.block_size, u.total, u.watermark)
    return Request(
        _and_others(demand, u),
        Performing(u.free, moves=u.moved),
        u.watermark,
        u.total,
        first,
        append_need(a, first, u.lookahead, u.block_size) + u.others,
    )


def _and_others(demand: Demand, u: Numbers) -> Demand:
    # A guard's need is a sum over sequences (guards.need.adds-up), so the others add a number of their own.
    return Demand(demand.need + u.others, demand.reserve, demand.attainable)


GUARDED: dict[str, Asking] = {"allocate": allocate, "append": append, "swap-out": swap_out, "swap-in": swap_in}
"""The request of each guard, by the name it has in the ids of laws."""

WITH_HITS = "allocate-with-hits"
"""The guard of an allocate that knows of an index, by the name it has in the ids of theorems."""

IN_RING, WITH_NULL = "allocate-in-ring", "append-with-null"
"""Guards under a sliding window: of an allocate into a row that begins again, of an append beside a null block."""

ASKED: dict[str, Asking] = {
    **GUARDED,
    WITH_HITS: allocate_with_hits,
    IN_RING: allocate_in_ring,
    WITH_NULL: append_with_null,
}
"""The request of every guard, with an index or a window or without, by the name it has in the ids of theorems."""

OPERATION: dict[str, str] = {
    **{guard: guard for guard in GUARDED},
    WITH_HITS: "allocate",
    IN_RING: "allocate",
    WITH_NULL: "append",
}
"""The operation that each of them is asked about, by the name it has in the ids of laws."""

MORE: dict[str, tuple[str, ...]] = {WITH_HITS: HITS, IN_RING: RING, WITH_NULL: NULL}
"""The unknowns that only this guard knows."""


def unknowns_of(guard: str) -> tuple[str, ...]:
    """The unknowns of a request."""
    return (*UNKNOWNS, *MORE.get(guard, ()))
