"""The lives that an engine may lead: what it does next, by the orders it keeps, within small bounds.

Knows the order of an engine's life and the operations that are worth trying. Must not know what any manager makes of
them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from kvspec.algebra import INTS
from kvspec.edges.state import Order
from kvspec.exploring.choices import legal_operations
from kvspec.exploring.scopes import Scope
from kvspec.guards import append_need
from kvspec.model.manager import Manager, Seq, append_counts
from kvspec.vocabulary import (
    Allocate,
    Append,
    Config,
    Evict,
    Fork,
    Free,
    Operation,
    Preempt,
    ResetAll,
    ResetIndex,
    Status,
    Step,
    SwapIn,
    SwapOut,
    arguments,
)

LONGEST = 5
"""Tokens of the longest sequence that is tried."""

PROMPTS, LOOKAHEADS, GRANTS = (1, 2, 3), (0, 1), (0, 1, 2)

FORCED = (Allocate, Append)
"""What may be gone on with past a refusal. Not a swap-in: it is two operations, of which the first may well succeed."""

Orders = frozenset[Order]


@dataclass(frozen=True)
class Manners:
    """How an engine lives. orders: those it keeps. seqs: sequences that there ever are. admits_with_lookahead: an
    admission may ask for lookahead slots; no order or capability tells whether a manager heeds that.
    """

    orders: Orders
    seqs: int = 3
    admits_with_lookahead: bool = True


def scope_of(config: Config, manners: Manners) -> Scope:
    """The bounds on what is asked of a configuration."""
    return Scope(replace(config, max_model_len=LONGEST), manners.seqs, PROMPTS, LOOKAHEADS, GRANTS)


@dataclass(frozen=True)
class Life:
    """A state, and what of the past an order may depend on. swapped: a swap-out since the last step. lookahead: the one
    that was asked for so far, if any.
    """

    state: Manager
    swapped: bool = False
    lookahead: int | None = None

    def then(self, op: Operation, after: Manager) -> Life:
        """The life after one more operation."""
        swapped = isinstance(op, SwapOut) or (self.swapped and not isinstance(op, Step))
        asked = op.lookahead if isinstance(op, (Append, SwapIn)) else None
        return Life(after, swapped, self.lookahead if asked is None else asked)

    def past(self, orders: Orders) -> tuple[object, ...]:
        """What of the past matters to these orders."""
        return (
            self.swapped if Order.SWAP_IN_AFTER_STEP in orders else None,
            self.lookahead if Order.LOOKAHEAD_FIXED in orders else None,
        )


def choices(life: Life, scope: Scope, manners: Manners) -> list[Operation]:
    """What an engine of these manners may do next, in a fixed order."""
    every = itertools.chain(legal_operations(life.state, scope), _admissions_of_three(life.state, scope))
    kept = (op for op in every if _worth(op, manners) and all(_KEPT[order](life, op) for order in manners.orders))
    return sorted(kept, key=order_of)


def _worth(op: Operation, manners: Manners) -> bool:
    # A reset does nothing that freeing everybody does not; there is no index.
    return not (
        isinstance(op, (Evict, ResetIndex, ResetAll))
        or (isinstance(op, Allocate) and op.lookahead > manners.admits_with_lookahead)
    )


def _admissions_of_three(state: Manager, scope: Scope) -> Iterator[Operation]:
    if scope.seqs >= 3 and not state.seqs and not state.ended:
        yield from (Allocate(1, (1, 2, 3), (1,) * length) for length in scope.prompts)


def forced(state: Manager, op: Operation) -> Operation | None:
    """The same operation, whatever its guard says; None where that is not tried.

    To an engine, appending to a group is one append after the other, and those before the one that fails stay: so only
    where the first fails has nothing been done.
    """
    if not isinstance(op, FORCED) or (isinstance(op, Append) and not _first_fails(state, op)):
        return None
    return replace(op, force=True)


def _first_fails(state: Manager, op: Append) -> bool:
    first, *_ = append_counts(state.having(op.group, Status.RUNNING), op.lookahead, state.gpu)
    need = append_need(INTS, first, op.lookahead, state.config.block_size)
    return bool(need > state.gpu.pool.free)


# -- the orders -----------------------------------------------------------------------------------------


def obeyed(lives: list[Life], operations: tuple[Operation, ...]) -> Orders:
    """The orders that a life kept; lives: before each operation."""
    did = list(zip(lives, operations, strict=True))
    return frozenset(order for order, kept in _KEPT.items() if all(kept(life, op) for life, op in did))


def _released(life: Life, op: Operation) -> list[Seq]:
    if isinstance(op, Free):
        return [seq for seq in life.state.seqs if seq.id == op.seq]
    return [seq for seq in life.state.seqs if isinstance(op, (SwapOut, Preempt)) and seq.group == op.group]


def _one_token(life: Life, op: Operation) -> bool:
    if isinstance(op, Fork):
        return _childs(life, op) <= 1
    return not isinstance(op, Step) or all(len(tokens) <= 1 for tokens in op.tokens.values())


def _every_step(life: Life, op: Operation) -> bool:
    due = {seq.id for seq in life.state.seqs if seq.scheduled}
    return not isinstance(op, Step) or due <= {seq for seq, tokens in op.tokens.items() if tokens}


def _after_tokens(life: Life, op: Operation) -> bool:
    return not isinstance(op, Fork) or (_unseen(life, op) > 0 and _childs(life, op) > 0)


def _unseen(life: Life, op: Fork) -> int:
    parent = next(seq for seq in life.state.seqs if seq.id == op.parent)
    return len(parent.tokens) - parent.seen


def _childs(life: Life, op: Fork) -> int:
    return _unseen(life, op) if op.tokens is None else len(op.tokens)


_KEPT: dict[Order, Callable[[Life, Operation], bool]] = {
    Order.NO_RELEASE_WHILE_SCHEDULED: lambda life, op: not any(seq.scheduled for seq in _released(life, op)),
    Order.SWAP_IN_AFTER_STEP: lambda life, op: not (life.swapped and isinstance(op, SwapIn)),
    Order.FORK_AFTER_TOKENS: _after_tokens,
    Order.ONE_TOKEN: _one_token,
    Order.TOKENS_EVERY_STEP: _every_step,
    Order.LOOKAHEAD_FIXED: lambda life, op: (
        not isinstance(op, (Append, SwapIn)) or life.lookahead in (None, op.lookahead)
    ),
}
"""Of each order, whether an operation keeps it."""


# -- least ----------------------------------------------------------------------------------------------

_KINDS = (Allocate, Append, Step, Fork, SwapOut, SwapIn, Free, Preempt, ResetAll)
_PLACE = {kind: place for place, kind in enumerate(_KINDS)}


def weight_of(op: Operation) -> tuple[int, int, int]:
    """How much an operation is: tokens that come into being and slots asked for beyond them; of these, the slots; and
    sequences that come into being.
    """
    if isinstance(op, Step):
        return sum(len(tokens) for tokens in op.tokens.values()), 0, 0
    lookahead, tokens = getattr(op, "lookahead", 0), len(getattr(op, "tokens", None) or ())
    seqs = len(op.seqs) if isinstance(op, Allocate) else int(isinstance(op, Fork))
    return tokens + lookahead, lookahead, seqs


def order_of(op: Operation) -> tuple[int, str]:
    """What operations of equal weight are ordered by: their kind, then their arguments."""
    given = arguments(op)
    return _PLACE[type(op)], str([(name, _plain(given[name])) for name in sorted(given)])


def _plain(value: object) -> object:
    return sorted(value.items()) if isinstance(value, dict) else value
