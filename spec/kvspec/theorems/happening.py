"""One micro-step of a sound cache, as claims speak of it: the cache before and after, and what is given of both.

Knows the micro-steps and the worlds; must not know what is claimed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kvspec.algebra import Algebra
from kvspec.model.cache import At, Cache, Rule
from kvspec.model.pool import Conjunct
from kvspec.model.steps import FOLLOW, SHARE, TRANSFER, WRITE, MicroStep
from kvspec.theorems.obligation import Area, Kind, Named
from kvspec.theorems.worlds import FEW, ClaimIn, Few, World, in_any, in_few, invariant, names_in_few, sound_cache

POSSIBLE = "possible"
"""The name of the hypothesis that a micro-step may happen where it does."""

Do = Callable[[Algebra, Cache, At], Cache]
"""What a micro-step does, rightly or wrongly."""


@dataclass(frozen=True)
class Happening:
    """A micro-step. before, after: the cache that it changes. at: where. given: that all was sound, and it possible."""

    before: Cache
    after: Cache
    at: At
    given: list[Any]


def somewhere(world: World, step: MicroStep) -> At:
    """An arbitrary place for the micro-step to happen at."""
    return At(
        world.entry("p"),
        other=world.entry("q") if step in (SHARE, FOLLOW) else None,
        source=world.cache("there") if step in (TRANSFER, FOLLOW) else None,
        slot=world.number("slot") if step is WRITE else None,
        content=world.number("content") if step is WRITE else None,
    )


def possible(world: World, step: MicroStep, cache: Cache, at: At) -> list[Any]:
    """That the micro-step may happen there, its rule included."""
    given = [Named(POSSIBLE, step.can(world.a, cache, at))]
    return given if step.rule is None else [*given, Named(step.rule.name, everywhere(world, step.rule, cache, at))]


def everywhere(world: World, rule: Rule, cache: Cache, at: At) -> Any:
    """Whether the rule holds of every reader, or of every slot."""
    holds = rule.holds
    return world.every(
        Conjunct(rule.name, (rule.over,), lambda a, cache, it: holds(a, cache, at, it), rule.words), cache
    )


def owners_of(world: World, step: MicroStep, do: Do | None = None) -> Happening:
    """The micro-step, done rightly or as given, with all that is known of who owns what."""
    before, at = world.cache("here"), somewhere(world, step)
    return _happening(world, step, do, before, at, invariant(world, before.pool))


def contents_of(world: World, step: MicroStep, do: Do | None = None) -> Happening:
    """The same with all that is known of contents too."""
    before, at = world.cache("here"), somewhere(world, step)
    given = sound_cache(world, before)
    if at.source is not None:
        given += sound_cache(world, at.source)
    return _happening(world, step, do, before, at, given)


def _happening(world: World, step: MicroStep, do: Do | None, before: Cache, at: At, given: list[Any]) -> Happening:
    after = (do or step.do)(world.a, before, at)
    world.show("before", before, at)
    world.show(f"after the {step.name}", after, at)
    return Happening(before, after, at, [*given, *possible(world, step, before, at)])


def add_general(area: Area, name: str, kind: Kind, statement: str, claim: ClaimIn, few: Few = FEW, **more: Any) -> None:
    """Add an obligation that is proved for any number, with examples among a few."""
    names = names_in_few(claim, few)
    area.add(name, kind, statement, in_few(claim, few), unknowns=names, general=in_any(claim), posed=claim, **more)
