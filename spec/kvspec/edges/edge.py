"""What a goal means in the model: when its edge holds, and when its features are there or absent.

Written over the algebra, so that search, proof and check use one meaning. It must not know how states come about.
"""

from __future__ import annotations

from typing import Any

from kvspec.algebra import Algebra
from kvspec.arithmetic import blocks_for
from kvspec.edges.goals import Edge, Feature, Goal
from kvspec.edges.model import demand, legal
from kvspec.edges.state import Member, Order, Sizes, State
from kvspec.guards import Demand
from kvspec.vocabulary import Guard

OFFSET = {Edge.SHORT: -1, Edge.EXACT: 0, Edge.SPARE: 1, Edge.NEVER: -1, Edge.LATER: 0}
"""By how much the request fits: now for a slack, with every other group gone for a verdict class."""


def edge_holds(a: Algebra, edge: Edge, wanted: Demand, free: Any) -> Any:
    """Whether a demand lies on the edge."""
    slack = free - wanted.need - wanted.reserve
    possible = wanted.attainable - wanted.need - wanted.reserve
    if edge is Edge.NEVER:
        return possible == OFFSET[edge]
    if edge is Edge.LATER:
        return a.all_of(possible == OFFSET[edge], slack < 0)
    return slack == OFFSET[edge]


def _partial(a: Algebra, tokens: Any, size: Any) -> Any:
    return blocks_for(a, tokens, size) * size != tokens


def _shows(a: Algebra, feature: Feature, sizes: Sizes, seq: Member) -> Any:
    """Whether one sequence shows the feature."""
    if feature is Feature.UNSEEN:
        return seq.tokens > seq.seen
    if feature is Feature.PARTIAL:
        return _partial(a, seq.seen, sizes.block)
    return seq.blocks > blocks_for(a, seq.seen, sizes.block)


def _has(a: Algebra, feature: Feature, wanted: bool, sizes: Sizes, state: State, lookahead: Any) -> Any:
    """Whether the feature is fully there (wanted) or fully absent (not wanted)."""
    if feature is Feature.LOOKAHEAD:
        return lookahead > 0 if wanted else lookahead == 0
    if feature is Feature.WATERMARK:
        return sizes.watermark > 0 if wanted else sizes.watermark == 0
    if feature in (Feature.SIBLINGS, Feature.FORK):
        came_so = state.forked if feature is Feature.FORK else a.negate(state.forked)
        pair = a.all_of(state.two.live, came_so)
        return a.all_of(pair, a.any_of(*state.shared)) if wanted else a.negate(pair)
    shown = [(seq.live, _shows(a, feature, sizes, seq)) for seq in state.members]
    return a.all_of(*(a.implies(live, shows if wanted else a.negate(shows)) for live, shows in shown))


def _entering(a: Algebra, feature: Feature, wanted: bool, sizes: Sizes, tokens: Any) -> Any:
    """The same for a group that is about to be admitted; whether it is a pair is for the admission to say."""
    if feature is Feature.WATERMARK:
        return sizes.watermark > 0 if wanted else sizes.watermark == 0
    if feature is Feature.PARTIAL:
        partial = _partial(a, tokens, sizes.block)
        return partial if wanted else a.negate(partial)
    return True


def asked(a: Algebra, goal: Goal, orders: frozenset[Order], sizes: Sizes, state: State, argument: Any) -> Any:
    """Whether asking the goal's guard with this argument is legal in this state and shows the goal's features."""
    conditions = [legal(a, goal.guard, orders, sizes, state, argument)]
    for feature in Feature:
        wanted = feature in goal.features
        if goal.guard is Guard.ALLOCATE:
            conditions.append(_entering(a, feature, wanted, sizes, argument))
        else:
            conditions.append(_has(a, feature, wanted, sizes, state, argument))
    return a.all_of(*conditions)


def reached(a: Algebra, goal: Goal, orders: frozenset[Order], sizes: Sizes, state: State, argument: Any) -> Any:
    """Whether asking the goal's guard with this argument, in this state, is what the goal wants."""
    return a.all_of(
        asked(a, goal, orders, sizes, state, argument),
        edge_holds(a, goal.edge, *demand(a, goal.guard, sizes, state, argument)),
    )
