"""All wrong variants, each with its vector or with the reason why there is none.

Knows in which lives to look, and how far. The plainest life comes first, so that as many managers as possible can be
asked; a variant that does not show there is looked for with fewer restrictions. Nothing is dropped: what shows in no
life is named, with what was exhausted.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from kvspec.edges.catching import counting, failing, guarding, stepping
from kvspec.edges.catching.lives import Manners
from kvspec.edges.catching.search import Hit, hunt
from kvspec.edges.catching.variant import REFUTATIONS, Variant
from kvspec.edges.catching.writing import vector_of
from kvspec.edges.state import CALM_ORDERS, ENGINE_ORDERS, NO_ORDERS
from kvspec.edges.vectors import Vector
from kvspec.vocabulary import Config

MAX_MODEL_LEN = 64
"""Longer than anything here: no vector is about the longest sequence."""

MOST_BLOCKS = 5
"""Of both pools together."""

CONFIGS = tuple(
    Config(block_size, gpu, cpu, watermark, MAX_MODEL_LEN)
    for block_size in (1, 2)
    for gpu in (1, 2, 3, 4)
    for cpu in (0, 1, 2, 3)
    for watermark in (0, 1)
    if gpu + cpu <= MOST_BLOCKS
)


@dataclass(frozen=True)
class Tier:
    """A kind of life, and how many operations of it are tried."""

    manners: Manners
    depth: int


PLAIN = Manners(ENGINE_ORDERS, seqs=2, admits_with_lookahead=False)

TIERS = (
    Tier(PLAIN, 5),
    Tier(Manners(ENGINE_ORDERS), 4),
    Tier(PLAIN, 7),
    Tier(Manners(ENGINE_ORDERS), 5),
    Tier(Manners(CALM_ORDERS), 5),
    Tier(Manners(NO_ORDERS), 4),
)
"""From the life that a plain engine leads to any that is legal at all. What takes three sequences, or an admission with
lookahead, is looked for before long lives are: it would be looked for there in vain.
"""


class Undecided(Exception):
    """The variants are not those of the formal model."""


@dataclass(frozen=True)
class OutOfReach:
    """A variant that nothing tells from the right manager, as far as was looked. reason: how far that is."""

    id: str
    reason: str


def variants() -> tuple[Variant, ...]:
    """Every wrong variant as a manager, sorted by id. Raises Undecided where one is missing, or is not the model's."""
    found = sorted(_all(), key=lambda variant: variant.id)
    if [variant.id for variant in found] != sorted(REFUTATIONS):
        differing = {variant.id for variant in found} ^ REFUTATIONS.keys()
        raise Undecided(f"these are not both refuted and a manager here, or twice: {sorted(differing)}")
    return tuple(found)


def _all() -> Iterator[Variant]:
    yield from guarding.variants()
    yield from counting.variants()
    yield from stepping.variants()
    yield from failing.variants()


def hits(those: Sequence[Variant], tiers: Sequence[Tier] = TIERS) -> dict[str, Hit]:
    """The least life that tells each variant, of the plainest kind that does."""
    found: dict[str, Hit] = {}
    for tier in tiers:
        left = [variant for variant in those if variant.id not in found]
        if left:
            with _no_garbage():
                found.update(hunt(left, CONFIGS, tier.manners, tier.depth))
    return found


@contextmanager
def _no_garbage() -> Iterator[None]:
    """Whatever a hunt makes it keeps to its end: looking for garbage would take half of the time, and find none."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def vectors() -> tuple[Vector, ...]:
    """A vector for every wrong variant that can be told from the right manager, sorted by id; the same each time."""
    return tuple(vector_of(hit) for _, hit in sorted(hits(variants()).items()))


def out_of_reach(given: Sequence[Vector]) -> tuple[OutOfReach, ...]:
    """The variants that are told by none of these, which must be all there are: as far as was looked, nothing does."""
    told = {vector.id.partition("/")[2] for vector in given}
    most, last = max(tier.depth for tier in TIERS), TIERS[-1].depth
    reason = f"every life of up to {most} operations of a plain engine, and of up to {last} of any, was tried"
    return tuple(OutOfReach(v.id, reason) for v in variants() if v.id not in told)
