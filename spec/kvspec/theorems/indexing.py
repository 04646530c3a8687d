"""One micro-step of a device with an index, as claims speak of it: the index before and after, and what is given.

As `happening`, for the micro-steps of `kvspec.model.index`. Must not know what is claimed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kvspec.algebra import Algebra
from kvspec.model.cache import At, Rule
from kvspec.model.index import DROP, JOIN, PUBLISH, REVIVE, Index, IndexStep
from kvspec.model.pool import Conjunct
from kvspec.theorems import happening
from kvspec.theorems.happening import POSSIBLE
from kvspec.theorems.obligation import Named
from kvspec.theorems.worlds import World, sound_cache, sound_index

DoIndex = Callable[[Algebra, Index, At], Index]
"""What a micro-step does, rightly or wrongly."""


@dataclass(frozen=True)
class Indexing:
    """A micro-step. before, after: the index that it changes. at: where. given: that all was sound, and it possible."""

    before: Index
    after: Index
    at: At
    given: list[Any]


def somewhere(world: World, step: IndexStep) -> At:
    """An arbitrary place for the micro-step to happen at."""
    if step.plain is not None:
        return happening.somewhere(world, step.plain)
    return At(
        world.entry("p"),
        other=world.entry("q") if step is JOIN else None,
        content=world.number("content") if step in (PUBLISH, JOIN, REVIVE) else None,
        block=world.number("d") if step in (REVIVE, DROP) else None,
    )


def possible(world: World, step: IndexStep, index: Index, at: At) -> list[Any]:
    """That the micro-step may happen there, its rules included."""
    can = Named(POSSIBLE, step.can(world.a, index, at))
    return [can, *(Named(rule.name, everywhere(world, rule, index, at)) for rule in step.rules)]


def everywhere(world: World, rule: Rule, index: Index, at: At) -> Any:
    """Whether the rule holds of every reader, slot or block."""
    holds = rule.holds
    return world.every(
        Conjunct(rule.name, (rule.over,), lambda a, index, it: holds(a, index, at, it), rule.words), index
    )


def happens(world: World, step: IndexStep) -> Indexing:
    """The micro-step, with all that is known of the device, and of the other where it is about both."""
    before, at = world.index("here"), somewhere(world, step)
    given = sound_index(world, before)
    if at.source is not None:
        given += sound_cache(world, at.source)
    after = step.do(world.a, before, at)
    return Indexing(before, after, at, [*given, *possible(world, step, before, at)])
