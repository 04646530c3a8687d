"""What is asked of the four guards, and what is then performed: the common ground of proofs and refutations.

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
from kvspec.arithmetic import SequenceCounts
from kvspec.guards import (
    Demand,
    allocate_demand,
    append_demand,
    append_need,
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


@dataclass(frozen=True)
class Request:
    """One guarded operation. demand: what the guard says of it. start: the operation before it took anything. reserve:
    blocks that must be free after it, and alone: blocks free with every other group gone, both stated apart from the
    guard. first: the sequence appended to first, if any. rest: what appending that and all others needs.
    """

    demand: Demand
    start: Performing
    reserve: Any
    alone: Any
    first: SequenceCounts | None = None
    rest: Any = 0


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
