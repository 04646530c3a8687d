"""What an obligation says, as a formula: the claim itself, posed in a world that is written down.

Knows how obligations are built and what a claim may ask of a world (`kvspec.theorems.worlds.World`); must not know any
of them. What holds of all that a world hands out is not repeated in each claim.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kvspec.model.cache import Cache
from kvspec.model.columns import Column
from kvspec.model.index import PUBLISH, Index
from kvspec.model.pool import Conjunct, Pool
from kvspec.model.steps import MICRO_STEPS
from kvspec.model.window import Rows
from kvspec.theorems.obligation import PROOFS, Claim, Obligation
from kvspec.theorems.worlds import rows_of
from kvspec.writing.conjuncts import every, tables
from kvspec.writing.formulas import OR, And, Choice, Implies, Name, Not, Or, Tree, chained
from kvspec.writing.maths import Maths, Written, name, tree_of
from kvspec.writing.memory import column, number_called, state
from kvspec.writing.rewriting import parts_below, primed, rewritten
from kvspec.writing.shorthand import Shorthand, shortened
from kvspec.writing.simplify import choice, conjunction, conjuncts, decided, implication, negation
from kvspec.writing.steps import everywhere, somewhere
from kvspec.writing.words import SPOKEN

HERE = ("here", "pool")
"""The names of a cache and a pool that need no prefix: they are the only ones, or what the claim is about."""


@dataclass(frozen=True)
class Statement:
    """What an obligation says. throughout: what holds of all that it speaks of."""

    given: tuple[Tree, ...]
    goal: Tree
    throughout: tuple[Tree, ...] = ()

    @property
    def text(self) -> str:
        """As one formula."""
        if not self.given:
            return self.goal.text
        return f"{' ∧ '.join(chained(self.given))} ⇒ {self.goal.inside(OR)}"

    @property
    def names(self) -> frozenset[Name]:
        """All names that it uses."""
        trees = (*self.given, self.goal)
        return frozenset(part for tree in trees for part in parts_below(tree) if isinstance(part, Name))


class WrittenWorld:
    """Hands out what is written down by its name."""

    def __init__(self) -> None:
        self.a = Maths()
        self.facts: list[Any] = []
        self._states: list[tuple[str, Any]] = []

    def pool(self, word: str) -> Pool:
        """A pool of any size."""
        return self._pool_of(word, state(Pool, _prefix(word)))

    def cache(self, word: str) -> Cache:
        """A cache of any size, with blocks of any size."""
        cache = state(Cache, _prefix(word))
        self._pool_of(word, cache.pool)
        self.facts.append(cache.block_size >= 1)
        self._states.append((word, cache))
        return cache

    def _pool_of(self, word: str, pool: Pool) -> Pool:
        self.facts.append(pool.size >= 1)
        self._states.append((word, pool))
        return pool

    def index(self, word: str) -> Index:
        """A cache of any size, with an index."""
        index = state(Index, _prefix(word))
        self.cache(word)
        self._states.append((word, index))
        return index

    def rows(self, word: str) -> Rows:
        """A cache of any size, under a window of any size."""
        rows = rows_of(self, self.cache(word))
        self._states.append((word, rows))
        return rows

    def marks(self, word: str) -> Column:
        """A number at each entry."""
        return column(word)

    def labels(self, word: str) -> Column:
        """A number at each content."""
        return column(word)

    def entry(self, word: str) -> Any:
        """Some entry."""
        return name(_called(word))

    def number(self, word: str) -> Any:
        """Some number."""
        return name(number_called(_called(word)))

    def every(self, conjunct: Conjunct, of: Any) -> Any:
        """The conjunct, of all that it is about."""
        return Written(every(conjunct, of))

    def show(self, *story: Any, **more: Any) -> None:
        """Nothing is told of any number of things."""

    def shorthands(self) -> list[Shorthand]:
        """The invariants of what was handed out, by the names of their tables."""
        return [
            Shorthand(
                Name(table.label if word in HERE else f"{table.label}({word})"),
                tuple(part for conjunct in table.conjuncts for part in conjuncts(every(conjunct, of))),
            )
            for table in tables()
            for word, of in self._states
            if table.about is type(of)
        ]


def _prefix(word: str) -> str:
    return "" if word in HERE else f"{word}."


def _called(word: str) -> str:
    """Any entry and any number by a letter, the others by the names that they have."""
    kind, _, number = word.removeprefix("any_").partition("_")
    if not word.startswith("any_") or not number.isdigit():
        return SPOKEN.get(word, word)
    return {"entry": "efgh", "number": "ijkl"}.get(kind, "uvwz")[int(number) % 4]


def may_happen() -> list[Shorthand]:
    """That a micro-step is possible and its rule holds, for those that have one: what is required is long."""
    cache, at = state(Cache), somewhere()
    index = state(Index)
    rules = [everywhere(rule, index, at) for rule in PUBLISH.rules]
    publishing = (*conjuncts(tree_of(PUBLISH.can(Maths(), index, at))), *rules)
    return [
        Shorthand(Name(f"may {PUBLISH.name}"), publishing),
        *(
            Shorthand(
                Name(f"may {step.name}"),
                (*conjuncts(tree_of(step.can(Maths(), cache, at))), everywhere(step.rule, cache, at)),
            )
            for step in MICRO_STEPS.values()
            if step.rule is not None
        ),
    ]


# -- from obligations -----------------------------------------------------------------------------------


def statement(obligation: Obligation, shorthands: Sequence[Shorthand] = ()) -> Statement | None:
    """What the obligation says, for any number of blocks and sequences where that is how it is proved.

    None where it is about a few cells one by one, which is for machines to read, or asks for one example.
    """
    if obligation.kind not in PROOFS or (obligation.posed is None and _of_cells(obligation)):
        return None
    if obligation.posed is None:
        return _stated(obligation.build(Maths(), **{word: name(word) for word in obligation.unknowns}), shorthands)
    world = WrittenWorld()
    claim = obligation.posed(world)
    facts = tuple(tree_of(fact) for fact in world.facts)
    return _stated(claim, [*world.shorthands(), *may_happen(), *shorthands], facts)


def _of_cells(obligation: Obligation) -> bool:
    return any("[" in unknown for unknown in obligation.unknowns)


def _stated(claim: Claim, shorthands: Sequence[Shorthand], facts: tuple[Tree, ...] = ()) -> Statement:
    *given, goal = primed([part for fact in claim.facts for part in conjuncts(tree_of(fact))] + [tree_of(claim.goal)])
    given, goal = _with_premises(given, goal)
    given, (goal,) = shortened(given, shorthands), shortened([goal], shorthands)
    given, goal = _with_premises(given, _plain(_settled(goal, given)))
    return Statement(tuple(dict.fromkeys(given)), goal, facts)


def _with_premises(given: list[Tree], goal: Tree) -> tuple[list[Tree], Tree]:
    """What a goal assumes is given too."""
    if isinstance(goal, Implies):
        return [*given, *conjuncts(goal.premise)], goal.conclusion
    return given, goal


def _plain(goal: Tree) -> Tree:
    """The goal said without a negation of several things: not both is, not the last where the others hold."""
    if isinstance(goal, And):
        return conjunction(map(_plain, goal.parts))
    if isinstance(goal, Not) and isinstance(goal.condition, Or):
        return conjunction(_plain(negation(part)) for part in goal.condition.parts)
    if isinstance(goal, Not) and isinstance(goal.condition, And):
        *others, last = goal.condition.parts
        return implication(conjunction(others), _plain(negation(last)))
    return goal


def _settled(goal: Tree, given: Sequence[Tree]) -> Tree:
    """The goal, without a choice between cases one of which is given."""

    def settle(part: Tree) -> Tree:
        if isinstance(part, Choice):
            return choice(decided(part.condition, given), part.then, part.otherwise)
        return part

    return rewritten(goal, settle)
