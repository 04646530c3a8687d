"""Which edges of the admission guards are wanted: a table of guard x edge x features.

Pure data, in the words of the specification. It must not know how a goal is reached, or whether it can be.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from kvspec.vocabulary import Guard


class Feature(str, Enum):
    """What makes a guard's count hard. A goal has exactly the features it names: every live sequence of the group
    shows them, and none shows any other.
    """

    UNSEEN = "unseen"
    LOOKAHEAD = "lookahead"
    SIBLINGS = "siblings"
    FORK = "fork"
    PARTIAL = "partial"
    TAIL = "tail"
    WATERMARK = "watermark"


class Edge(str, Enum):
    """Where a request lies. The slack is free - need - reserve; the verdict is OK where it is at least 0."""

    SHORT = "slack-1"
    EXACT = "slack-0"
    SPARE = "slack+1"
    NEVER = "never-by-1"
    LATER = "later-by-0"


F = Feature

FEATURE_WORDS: dict[Feature, str] = {
    F.UNSEEN: "tokens that no table covers yet",
    F.LOOKAHEAD: "lookahead slots asked for",
    F.SIBLINGS: "two sequences that share the blocks of their prompt",
    F.FORK: "a forked child that shares blocks with its parent",
    F.PARTIAL: "a partly filled last block",
    F.TAIL: "empty lookahead blocks of an earlier append in the table",
    F.WATERMARK: "a watermark",
}

EDGE_WORDS: dict[Edge, str] = {
    Edge.SHORT: "one block too few is free",
    Edge.EXACT: "just enough blocks are free",
    Edge.SPARE: "one block more than needed is free",
    Edge.NEVER: "one block too few even with every other group gone",
    Edge.LATER: "too few blocks now, just enough with every other group gone",
}

SLACKS = (Edge.SHORT, Edge.EXACT, Edge.SPARE)
CLASSES = (Edge.NEVER, Edge.LATER)

ALONE = ((), (F.UNSEEN,), (F.LOOKAHEAD,), (F.SIBLINGS,), (F.FORK,), (F.PARTIAL,), (F.TAIL,), (F.WATERMARK,))

GROWING = (
    *ALONE,
    (F.UNSEEN, F.LOOKAHEAD),
    (F.UNSEEN, F.SIBLINGS),
    (F.UNSEEN, F.FORK),
    (F.UNSEEN, F.PARTIAL),
    (F.UNSEEN, F.TAIL),
    (F.UNSEEN, F.WATERMARK),
    (F.LOOKAHEAD, F.SIBLINGS),
    (F.LOOKAHEAD, F.FORK),
    (F.LOOKAHEAD, F.PARTIAL),
    (F.LOOKAHEAD, F.TAIL),
    (F.LOOKAHEAD, F.WATERMARK),
    (F.SIBLINGS, F.PARTIAL),
    (F.SIBLINGS, F.TAIL),
    (F.FORK, F.PARTIAL),
    (F.FORK, F.TAIL),
    (F.PARTIAL, F.TAIL),
    # Three at a time where two alone cost nothing extra: a shared block is copied only where it is partly filled or
    # empty *and* written to; a partly filled block or a tail saves a block only where something is written.
    (F.UNSEEN, F.LOOKAHEAD, F.PARTIAL),
    (F.UNSEEN, F.LOOKAHEAD, F.TAIL),
    (F.UNSEEN, F.LOOKAHEAD, F.SIBLINGS),
    (F.UNSEEN, F.LOOKAHEAD, F.FORK),
    (F.UNSEEN, F.SIBLINGS, F.PARTIAL),
    (F.UNSEEN, F.SIBLINGS, F.TAIL),
    (F.UNSEEN, F.FORK, F.PARTIAL),
    (F.UNSEEN, F.FORK, F.TAIL),
    (F.LOOKAHEAD, F.SIBLINGS, F.PARTIAL),
    (F.LOOKAHEAD, F.FORK, F.PARTIAL),
    (F.LOOKAHEAD, F.FORK, F.TAIL),
    (F.UNSEEN, F.LOOKAHEAD, F.SIBLINGS, F.TAIL),
    (F.UNSEEN, F.LOOKAHEAD, F.FORK, F.TAIL),
)
"""For the guards that count what an append takes."""

MOVING = (
    (),
    (F.UNSEEN,),
    (F.SIBLINGS,),
    (F.FORK,),
    (F.PARTIAL,),
    (F.TAIL,),
    (F.WATERMARK,),
    (F.UNSEEN, F.SIBLINGS),
    (F.UNSEEN, F.FORK),
    (F.UNSEEN, F.PARTIAL),
    (F.UNSEEN, F.TAIL),
    (F.SIBLINGS, F.TAIL),
    (F.UNSEEN, F.FORK, F.TAIL),
    (F.UNSEEN, F.WATERMARK),
)
"""For swap-out, which asks for no lookahead and counts whole tables."""

ENTERING = (
    (),
    (F.SIBLINGS,),
    (F.PARTIAL,),
    (F.WATERMARK,),
    (F.SIBLINGS, F.PARTIAL),
    (F.SIBLINGS, F.WATERMARK),
    (F.PARTIAL, F.WATERMARK),
)
"""For allocate: nothing is unseen, over-allocated or forked yet, and not every manager grants lookahead there."""

COMBINATIONS: dict[Guard, tuple[tuple[Feature, ...], ...]] = {
    Guard.ALLOCATE: ENTERING,
    Guard.APPEND: GROWING,
    Guard.SWAP_OUT: MOVING,
    Guard.SWAP_IN: (*GROWING, (F.SIBLINGS, F.WATERMARK), (F.UNSEEN, F.LOOKAHEAD, F.WATERMARK)),
}


@dataclass(frozen=True)
class Goal:
    """One edge to be reached: a guard asked where the edge holds, with exactly these features."""

    guard: Guard
    edge: Edge
    features: tuple[Feature, ...]

    @property
    def id(self) -> str:
        """`guard/edge/features`, stable for ever."""
        return f"{self.guard.value}/{self.edge.value}/{'+'.join(feature.value for feature in self.features) or 'plain'}"

    @property
    def words(self) -> str:
        """The goal in words."""
        with_these = ", ".join(FEATURE_WORDS[feature] for feature in self.features) or "nothing special"
        return f"{self.guard.value} is asked where {EDGE_WORDS[self.edge]}; with {with_these}"


def _edges(features: tuple[Feature, ...]) -> tuple[Edge, ...]:
    """The verdict classes are asked of single features, and of pairs with unseen tokens: a plain engine, which gives
    every sequence a token each step, can bring about only those.
    """
    simple = len(features) < 2 or (len(features) == 2 and Feature.UNSEEN in features)
    return SLACKS + CLASSES if simple else SLACKS


def _table() -> Iterator[Goal]:
    for guard, combinations in COMBINATIONS.items():
        for features in combinations:
            for edge in _edges(features):
                yield Goal(guard, edge, tuple(sorted(features, key=list(Feature).index)))


GOALS: tuple[Goal, ...] = tuple(sorted(_table(), key=lambda goal: goal.id))
