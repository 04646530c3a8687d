"""The state of the model and the operations that change it: what the solver chooses, and what plain numbers fill in.

Knows what there is to know of two groups, in counts; must not know any rule. The group under test has up to three
sequences; the *filler* is a group of one sequence whose only part is to hold blocks. No edge needs the group under test
to end or be recomputed, so there is no operation for that: what is left of a group some of whose sequences have ended
is a smaller group, and what recompute would free, the end of the filler frees too.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import Any

MOST_BLOCKS = 6
"""Entries of the longest table."""

MOST_POOL = 12
"""Blocks of the largest pool."""

PAIRS = ((0, 1), (0, 2), (1, 2))
"""Two of the three sequences of the group under test, by position."""


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

    STEP = 0  # first, second, third: tokens for each sequence of the group
    ADMIT = 1  # first: tokens of the prompt; second: sequences of the group
    ADMIT_FILLER = 2  # first: tokens of the prompt
    APPEND = 3  # first: lookahead
    FORK = 4  # first: the child's unseen tokens; second: the parent's position
    SWAP_OUT = 5
    SWAP_OUT_FILLER = 6
    SWAP_IN = 7  # first: lookahead
    FREE_FILLER = 8
    GROW_FILLER = 9  # first: lookahead


@dataclass(frozen=True)
class Move:
    """One operation: its kind and its arguments, 0 where it has none."""

    kind: Any
    first: Any = 0
    second: Any = 0
    third: Any = 0


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
    """The group that is in the way: its prompt fills whole blocks, and it gets one token in each step that computes it.

    used: it has been admitted; its id is not used again. fed: it has that token, and no slot for it. grown: it has been
    appended to, which it is once at most.
    """

    used: Any = False
    scheduled: Any = False
    swapped: Any = False
    blocks: Any = 0
    fed: Any = False
    grown: Any = False


UNSHARED = (False,) * MOST_BLOCKS


@dataclass(frozen=True)
class State:
    """Everything that decides what may come next. shared: for each of PAIRS and each table entry, whether both have the
    same block there. forked: a sequence is another one's child. swapped: the group lies on the CPU.
    swap_out_pending: there has been a swap-out since the last step.
    """

    one: Member = Member()
    two: Member = Member()
    three: Member = Member()
    shared: tuple[tuple[Any, ...], ...] = (UNSHARED, UNSHARED, UNSHARED)
    forked: Any = False
    swapped: Any = False
    swap_out_pending: Any = False
    filler: Filler = Filler()

    @property
    def members(self) -> tuple[Member, Member, Member]:
        """The sequences of the group under test, in the order they joined."""
        return self.one, self.two, self.three


START = State()
