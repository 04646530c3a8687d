"""How a wrong micro-step is refuted: a claim about any way to do it, one way that breaks the claim and one that keeps
it.

The claim is posed in the finite world, of a cache of a few blocks that is as it should be. It is stated by counting
owners, entries of the free list and slots, not by the invariant. Knows how to pose and to tell it; must not know any
law.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kvspec.story import Scene, draw_cache, entry_name, wrong_reads
from kvspec.theorems.happening import Do
from kvspec.theorems.obligation import Area, Kind
from kvspec.theorems.worlds import ClaimIn, Moment, in_few, moments, names_in_few

ClaimOf = Callable[[Do], ClaimIn]
"""A claim about one way to do a micro-step."""


End = Callable[[Mapping[str, int]], str]
"""What there is to say of an example besides."""


def refute(
    area: Area, name: str, law: str, statement: str, claim: ClaimOf, wrong: Do, right: Do, end: End | None = None
) -> None:
    """Add a wrong way to do a micro-step, that breaks the law where the right way keeps it."""
    broken, kept = claim(wrong), claim(right)
    unknowns = tuple(dict.fromkeys((*names_in_few(broken), *names_in_few(kept))))

    def tell(example: Mapping[str, int]) -> list[Scene]:
        ending = [] if end is None else [Scene(end(example))]
        return [*(_scene(moment) for moment in moments(broken, example)), *ending]

    area.add(
        name, Kind.REFUTATION, statement, in_few(broken), unknowns=unknowns, law=law, right=in_few(kept), tell=tell
    )


def _scene(moment: Moment) -> Scene:
    drawings = [("here", draw_cache(moment.cache))]
    if moment.at.source is not None:
        drawings.append(("there", draw_cache(moment.at.source)))
    said = "; ".join([f"{moment.words}, at {entry_name(moment.at.entry)}", *wrong_reads(moment.cache)])
    return Scene(said, tuple(drawings))
