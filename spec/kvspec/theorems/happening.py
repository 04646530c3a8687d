"""One micro-step of a sound cache, as claims speak of it: the cache before and after, and what is given of both.

Knows the micro-steps and the worlds; must not know what is claimed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kvspec.algebra import Algebra
from kvspec.model.cache import At, Cache, spoils_nothing
from kvspec.model.pool import Conjunct
from kvspec.model.steps import SHARE, TRANSFER, WRITE, MicroStep
from kvspec.theorems.obligation import Area, Kind, Named
from kvspec.theorems.worlds import ClaimIn, World, in_any, in_few, invariant, names_in_few, sound_cache

POSSIBLE, EXCLUSIVE_WRITER = "possible", "exclusive-writer"
"""The names of the hypotheses that a micro-step is possible, and that it spoils nobody's slots."""

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
        other=world.entry("q") if step in (SHARE, TRANSFER) else None,
        source=world.cache("there") if step is TRANSFER else None,
        slot=world.number("slot") if step is WRITE else None,
        content=world.number("content") if step is WRITE else None,
    )


def nobody_spoiled(at: At) -> Conjunct:
    """The exclusive-writer rule, of every reader."""
    return Conjunct(
        EXCLUSIVE_WRITER,
        ("entry",),
        lambda a, cache, reader: spoils_nothing(a, cache, at, reader),
        "nobody who reads the slot finds another content there",
    )


def possible(world: World, step: MicroStep, cache: Cache, at: At) -> list[Any]:
    """That the micro-step may happen there."""
    given = [Named(POSSIBLE, step.can(world.a, cache, at))]
    if step.spoils_nothing:
        given.append(Named(EXCLUSIVE_WRITER, world.every(nobody_spoiled(at), cache)))
    return given


def owners_of(world: World, step: MicroStep) -> Happening:
    """The micro-step, with all that is known of who owns what."""
    before, at = world.cache("here"), somewhere(world, step)
    given = [*invariant(world, before.pool), *possible(world, step, before, at)]
    return Happening(before, step.do(world.a, before, at), at, given)


def contents_of(world: World, step: MicroStep, do: Do | None = None) -> Happening:
    """The micro-step, done rightly or as given, with all that is known of owners and contents too."""
    before, at = world.cache("here"), somewhere(world, step)
    given = [*sound_cache(world, before), *possible(world, step, before, at)]
    if at.source is not None:
        given += sound_cache(world, at.source)
    return Happening(before, (do or step.do)(world.a, before, at), at, given)


def add_general(area: Area, name: str, kind: Kind, statement: str, claim: ClaimIn, **more: Any) -> None:
    """Add an obligation that is proved for any number, with examples among a few."""
    area.add(name, kind, statement, in_few(claim), unknowns=names_in_few(claim), general=in_any(claim), **more)
