"""The finite family of lives that is searched: block sizes, orders, and the arguments that operations are tried with.

Knows which arguments matter: each side of a block boundary. Must not know what operations do.

What is left out because it is the same by symmetry or cannot be in a least life: sequences of one group get as many
tokens as one another, or all but one do, or only one; a fork's parent is the first sequence; a step where nothing is
scheduled and nothing was swapped out; the end of the other group.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from kvspec.edges.meaning import Ask
from kvspec.edges.state import (
    CALM_ORDERS,
    ENGINE_ORDERS,
    MOST_POOL,
    NO_ORDERS,
    Kind,
    Move,
    Order,
    Sizes,
    State,
)
from kvspec.vocabulary import Guard

MOST_SEQS = 3


@dataclass(frozen=True)
class Family:
    """Lives over one block size, of an engine bound to these orders.

    depth: the most operations, the guarded one included. prompts: tokens of the group's prompt. seqs: sequences that
    are admitted together. lookaheads: slots; just one where the orders fix it. grants: tokens that a step gives to one
    sequence. late: the most operations between the admission of the other group and the guarded one; -1: it has no part
    in what is gone through. weight: seconds that it takes, about: the heavy ones are searched first. endings:
    operations of the other group that each life is tried with too, all in a row before the guarded one.
    """

    name: str
    block: int
    orders: frozenset[Order]
    depth: int
    prompts: tuple[int, ...]
    seqs: tuple[int, ...]
    lookaheads: tuple[int, ...]
    grants: tuple[int, ...]
    late: int = 3
    weight: int = 1
    endings: tuple[tuple[Move, ...], ...] = ()

    @cached_property
    def sizes(self) -> Sizes:
        """The configuration without the pools: they are chosen at the end."""
        lookahead = self.lookaheads[0] if Order.LOOKAHEAD_FIXED in self.orders else 0
        return Sizes(0, 0, self.block, 0, lookahead)

    @cached_property
    def asks(self) -> dict[Guard, list[Ask]]:
        """What each guard is asked at the end of a life; whether it is in order does not depend on the argument."""
        groups = range(1, MOST_SEQS + 1)
        slots = self.lookaheads
        return {
            Guard.ALLOCATE: [Ask(Guard.ALLOCATE, tokens, seqs) for seqs in groups for tokens in self._long_prompts()],
            Guard.APPEND: [Ask(Guard.APPEND, each) for each in slots],
            Guard.SWAP_OUT: [Ask(Guard.SWAP_OUT, 0)],
            Guard.SWAP_IN: [Ask(Guard.SWAP_IN, each) for each in slots],
        }

    def _long_prompts(self) -> list[int]:
        """A partly filled and a full last block, for any number of blocks that may matter."""
        ends = range(0, (MOST_POOL + 2) * self.block, self.block)
        return sorted({end + 1 for end in ends} | {end + self.block for end in ends})

    def moves(self, state: State) -> Iterator[Move]:
        """What may be tried next, least first; not all of it is legal."""
        if any(seq.scheduled for seq in state.members) or state.filler.scheduled or state.swap_out_pending:
            yield from self._steps(state)
        if not state.one.live:
            for tokens in self.prompts:
                yield from (Move(Kind.ADMIT, tokens, seqs) for seqs in self.seqs)
        if not state.filler.used:
            yield Move(Kind.ADMIT_FILLER, 1)
        if state.one.live and not state.swapped:
            yield from (Move(Kind.APPEND, slots) for slots in self.lookaheads)
            least = 1 if Order.FORK_AFTER_TOKENS in self.orders else 0
            yield from (Move(Kind.FORK, tokens) for tokens in (0, 1) if tokens >= least)
            yield Move(Kind.SWAP_OUT)
        if state.filler.blocks and not state.filler.swapped:
            yield Move(Kind.SWAP_OUT_FILLER)
            if state.filler.fed and not state.filler.grown:
                yield Move(Kind.GROW_FILLER, self.sizes.lookahead)
        if state.swapped:
            yield from (Move(Kind.SWAP_IN, slots) for slots in self.lookaheads)

    def _steps(self, state: State) -> Iterator[Move]:
        there = [bool(seq.scheduled) for seq in state.members]
        if Order.TOKENS_EVERY_STEP in self.orders:
            yield Move(Kind.STEP, *(int(scheduled) for scheduled in there))
            return
        yield Move(Kind.STEP)
        seen = set()
        for tokens in self.grants:
            for chosen in self._patterns(sum(there)) if any(there) else ():
                given = iter(chosen)
                pattern = tuple(tokens * next(given) if scheduled else 0 for scheduled in there)
                if any(pattern) and pattern not in seen:
                    seen.add(pattern)
                    yield Move(Kind.STEP, *pattern)

    def _patterns(self, seqs: int) -> list[tuple[int, ...]]:
        """Which of so many sequences get tokens: all, the first, the last."""
        first = (1, *(0 for _ in range(seqs - 1)))
        return [(1,) * seqs, first, first[::-1]]


def _engine(block: int, lookahead: int) -> Family:
    prompts = tuple(sorted({1, block, block + 1, 2 * block}))
    return Family("engine", block, ENGINE_ORDERS, 11, prompts, (1, 2, 3), (lookahead,), (1,))


def _wide(name: str, orders: frozenset[Order], depth: int, seqs: tuple[int, ...], weight: int) -> Family:
    """Tokens and lookahead within and across blocks."""
    return Family(name, 3, orders, depth, (1, 3, 4), seqs, (0, 1, 3, 7), (1, 5), weight=weight)


def _tails(name: str, orders: frozenset[Order], depth: int, slots: tuple[int, ...], weight: int) -> Family:
    """Tables that hold more than is asked for next."""
    return Family(name, 3, orders, depth, (1, 3), (1, 2), slots, (1, 5), 2, weight)


def _forks(
    name: str,
    orders: frozenset[Order],
    depth: int,
    slots: tuple[int, ...],
    grants: tuple[int, ...],
    late: int,
    weight: int,
    endings: tuple[tuple[Move, ...], ...] = (),
) -> Family:
    """Tables with empty blocks are forked, and written to in the middle."""
    return Family(name, 3, orders, depth, (1, 3), (1,), slots, grants, late, weight, endings)


COMES = Move(Kind.ADMIT_FILLER, 1)
GOES = (COMES, Move(Kind.SWAP_OUT_FILLER))
LAST = ((COMES,), GOES)
"""Another group is admitted last of all, or admitted and swapped out."""


def _grows(slots: int) -> tuple[Move, ...]:
    return (COMES, Move(Kind.STEP), Move(Kind.GROW_FILLER, slots))


def _any_tails(block: int, slots: tuple[int, ...], depth: int) -> Family:
    """Tables with empty blocks, beside another group that comes last."""
    prompts = tuple(sorted({1, block}))
    endings = (*LAST, _grows(block))
    return Family("any, tails", block, NO_ORDERS, depth, prompts, (1, 2), slots, (1, 5), -1, 22, endings)


def families() -> list[Family]:
    """What is searched, the plainest engines first: a class is looked for in a tier only where those before have none.

    With blocks of three slots a sequence can have seen tokens, unseen tokens and lookahead all within one block.
    """
    slots = {block: sorted({0, 1, block, block + 1, 2 * block + 1}) for block in (1, 2, 3)}
    return [
        *(_engine(block, lookahead) for block in (1, 2, 3) for lookahead in slots[block]),
        _wide("calm, groups of one", CALM_ORDERS, 7, (1,), 11),
        _wide("calm, groups of two", CALM_ORDERS, 7, (2,), 50),
        _wide("calm, groups of three", CALM_ORDERS, 7, (3,), 40),
        _tails("calm, tails", CALM_ORDERS, 8, (0, 4, 7), 60),
        _tails("calm, long tails", CALM_ORDERS, 8, (0, 3, 10), 60),
        _forks("calm, forks", CALM_ORDERS, 12, (0, 1, 7), (1,), 2, 60),
        _wide("any, groups", NO_ORDERS, 5, (1, 2, 3), 6),
        _any_tails(1, (0, 1, 2, 3), 8),
        _any_tails(3, (0, 1, 4, 10), 7),
        _forks("any, forks", NO_ORDERS, 9, (0, 1, 3, 7), (1, 5), 2, 90, LAST),
        _forks("any, forks with long tails", NO_ORDERS, 9, (0, 4, 10), (1, 5), 2, 80, LAST),
        _forks("any, forks with other tails", NO_ORDERS, 9, (0, 3, 10), (1, 5), -1, 40, LAST),
    ]
