"""The state of the model and the operations that change it: what the solver chooses, and what plain numbers fill in.

Knows what there is to know of two groups, in counts; must not know any rule. The *filler* is a group of one sequence
whose only part is to hold blocks. No goal needs the group under test to end or be recomputed, so there is no operation
for that; what recompute would free, the end of the filler frees too.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import Any

MOST_BLOCKS = 6
"""Blocks of the largest pool, hence entries of the longest table."""


class Order(str, Enum):
    """What an engine may be bound to, in the words of the kit's adapters."""

    NO_RELEASE_WHILE_SCHEDULED = "no-release-while-scheduled"
    SWAP_IN_AFTER_STEP = "no-swap-in-between-a-swap-out-and-the-next-step"
    FORK_AFTER_TOKENS = "fork-only-of-a-sequence-with-unseen-tokens"
    ONE_TOKEN = "one-unseen-token-per-step"
    TOKENS_EVERY_STEP = "every-scheduled-sequence-receives-tokens"
    LOOKAHEAD_FIXED = "lookahead-fixed-for-the-run"


ENGINE_ORDERS = frozenset(Order)
"""The life that a plain engine leads: allocate or append, then a step that gives one token to each."""

CALM_ORDERS = frozenset((Order.NO_RELEASE_WHILE_SCHEDULED, Order.SWAP_IN_AFTER_STEP, Order.FORK_AFTER_TOKENS))
"""Any number of tokens a step, and a lookahead that varies from call to call."""

NO_ORDERS: frozenset[Order] = frozenset()


class Kind(IntEnum):
    """The operations of the model. Their order is the order of preference among equally short vectors."""

    STEP = 0  # first, second: tokens for the first and the second sequence
    ADMIT_ONE = 1  # first: tokens of the prompt
    ADMIT_TWO = 2  # first: tokens of the prompt
    ADMIT_FILLER = 3  # first: tokens of the prompt
    APPEND = 4  # first: lookahead
    FORK = 5  # first: the child's unseen tokens
    SWAP_OUT = 6
    SWAP_OUT_FILLER = 7
    SWAP_IN = 8  # first: lookahead
    FREE_FILLER = 9


@dataclass(frozen=True)
class Move:
    """One operation: its kind and its arguments, 0 where it has none."""

    kind: Any
    first: Any = 0
    second: Any = 0


@dataclass(frozen=True)
class Sizes:
    """The configuration, and the lookahead of the run where an engine has only one."""

    gpu: Any
    cpu: Any
    block: Any
    watermark: Any
    lookahead: Any


@dataclass(frozen=True)
class Member:
    """One sequence of the group under test; all 0 and False before it exists."""

    live: Any = False
    scheduled: Any = False
    tokens: Any = 0
    seen: Any = 0
    blocks: Any = 0


@dataclass(frozen=True)
class Filler:
    """The group that is in the way. used: it has been admitted; its id is not used again."""

    used: Any = False
    scheduled: Any = False
    swapped: Any = False
    blocks: Any = 0


@dataclass(frozen=True)
class State:
    """Everything that decides what may come next. shared: for each table entry, whether both sequences have the same
    block there. forked: the second sequence is the first one's child. swapped: the group lies on the CPU.
    swap_out_pending: there has been a swap-out since the last step.
    """

    one: Member = Member()
    two: Member = Member()
    shared: tuple[Any, ...] = (False,) * MOST_BLOCKS
    forked: Any = False
    swapped: Any = False
    swap_out_pending: Any = False
    filler: Filler = Filler()

    @property
    def members(self) -> tuple[Member, Member]:
        """Both sequences of the group under test, in the order they joined."""
        return self.one, self.two


START = State()
