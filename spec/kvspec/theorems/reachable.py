"""Each micro-step can happen: from empty devices, by micro-steps that were possible when they happened.

A theorem about a micro-step that can never happen would say nothing. For each there is a path from the empty state, and
the solver finds the entries, slots and contents to walk it. That each *operation* and each verdict of each guard occurs
is shown by enumeration (`kvspec.explore`).
"""

from __future__ import annotations

from typing import Any

from kvspec.model.cache import At, Cache
from kvspec.model.index import OWN_STEPS, STEPS, UNPUBLISHED, IndexStep
from kvspec.model.pool import PRISTINE
from kvspec.model.steps import FOLLOW, MICRO_STEPS, RELEASE, REPLACE, SHARE, TAKE, TRANSFER, WRITE, MicroStep
from kvspec.theorems import indexing
from kvspec.theorems.happening import possible
from kvspec.theorems.obligation import Area, Claim, Kind
from kvspec.theorems.worlds import ClaimIn, World, in_few, named, names_in_few

AREA = Area("reachable")

HERE, THERE = "here", "there"

PATHS: dict[str, tuple[tuple[str, MicroStep], ...]] = {
    "take": ((HERE, TAKE),),
    "share": ((HERE, TAKE), (HERE, SHARE)),
    "release": ((HERE, TAKE), (HERE, RELEASE)),
    "replace": ((HERE, TAKE), (HERE, SHARE), (HERE, REPLACE)),
    "transfer": ((THERE, TAKE), (THERE, WRITE), (HERE, TRANSFER)),
    "follow": ((THERE, TAKE), (THERE, SHARE), (HERE, TRANSFER), (HERE, FOLLOW)),
    "write": ((HERE, TAKE), (HERE, WRITE)),
}
"""For each micro-step, a path that ends with it: which device, and which micro-step there."""

COMPUTED = ("take", "write", "publish")

PATHS_WITH_INDEX: dict[str, tuple[str, ...]] = {
    "publish": COMPUTED,
    "join": (*COMPUTED, "join"),
    "revive": (*COMPUTED, "release", "revive"),
    "drop": (*COMPUTED, "drop"),
    "renew": (*COMPUTED, "drop", "renew"),
}
"""For each micro-step that there is only with an index, a path that ends with it."""


def _somewhere(world: World, step: MicroStep, other_device: Cache, i: int) -> At:
    """A place for the i-th micro-step of a path, to be found by the solver."""
    return At(
        world.entry(f"entry_{i}"),
        other=world.entry(f"owner_{i}") if step in (SHARE, FOLLOW) else None,
        source=other_device if step in (TRANSFER, FOLLOW) else None,
        slot=world.number(f"slot_{i}") if step is WRITE else None,
        content=world.number(f"content_{i}") if step is WRITE else None,
    )


def walked(path: tuple[tuple[str, MicroStep], ...]) -> ClaimIn:
    """That the path can be walked: each micro-step is possible when it comes to it."""

    def claim(world: World) -> Claim:
        devices = {HERE: world.cache(HERE), THERE: world.cache(THERE)}
        given: list[Any] = [fact for cache in devices.values() for fact in named(world, PRISTINE, cache.pool)]
        for i, (device, step) in enumerate(path):
            cache, elsewhere = devices[device], devices[THERE if device == HERE else HERE]
            at = _somewhere(world, step, elsewhere, i)
            given += possible(world, step, cache, at)
            devices[device] = step.do(world.a, cache, at)
            world.show(f"{step.name} {device}", devices[device], at)
        return Claim(given, world.a.all_of())

    return claim


def _somewhere_in_index(world: World, step: IndexStep, i: int) -> At:
    named = step.name in ("publish", "join", "revive")
    return At(
        world.entry(f"entry_{i}"),
        other=world.entry(f"owner_{i}") if step.name == "join" else None,
        slot=world.number(f"slot_{i}") if step.name == "write" else None,
        content=world.number(f"content_{i}") if named or step.name == "write" else None,
        block=world.number(f"block_{i}") if step.name in ("revive", "drop") else None,
    )


def walked_with_index(path: tuple[str, ...]) -> ClaimIn:
    """The same on a device with an index."""

    def claim(world: World) -> Claim:
        index = world.index(HERE)
        given = [*named(world, PRISTINE, index.cache.pool), *named(world, UNPUBLISHED, index)]
        for i, name in enumerate(path):
            step = STEPS[name]
            at = _somewhere_in_index(world, step, i)
            given += indexing.possible(world, step, index, at)
            index = step.do(world.a, index, at)
        return Claim(given, world.a.all_of())

    return claim


for _name in MICRO_STEPS:
    _claim = walked(PATHS[_name])
    AREA.add(
        _name,
        Kind.VACUITY,
        f"From empty devices, a {_name} can come to happen.",
        in_few(_claim),
        unknowns=names_in_few(_claim),
    )

for _name in OWN_STEPS:
    _claim = walked_with_index(PATHS_WITH_INDEX[_name])
    AREA.add(
        _name,
        Kind.VACUITY,
        f"From an empty device with an empty index, a {_name} can come to happen.",
        in_few(_claim),
        unknowns=names_in_few(_claim),
    )

OBLIGATIONS = AREA.obligations
