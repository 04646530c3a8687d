"""Makes the vectors: searches, chooses, proves what is left, and appends what others found.

Knows search, cover, proofs and the vector format; must not know how any of them works inside. Classes are first looked
for in the life of a plain engine, so that as many adapters as possible can run them; what such an engine's lives do not
show is looked for with fewer restrictions. What none shows must be proved out of reach: no class is ever left over.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from kvspec.edges import catching, contents
from kvspec.edges.atoms import TABLES
from kvspec.edges.cover import Chosen, cover
from kvspec.edges.coverage import coverage
from kvspec.edges.family import Family, families
from kvspec.edges.goals import EdgeClass, Values
from kvspec.edges.proofs import NotProved, excluded, prove_invariant
from kvspec.edges.search import Search, SearchFailed, Shown, Sight
from kvspec.edges.state import Order
from kvspec.edges.vectors import Unreachable, Vector, Vectors
from kvspec.edges.writing import vector_of
from kvspec.vocabulary import Guard

Tell = Callable[[str], None]

PROCESSES = 2


def generate_all(progress: Tell | None = None, searched: Sequence[Family] | None = None) -> Vectors:
    """A vector or a proof for every class.

    Raises SearchFailed where a class has neither.
    """
    tell = progress or (lambda line: None)
    witnessed = choose(families() if searched is None else searched, tell)
    vectors = sorted((vector_of(chosen, orders) for orders, chosen in witnessed), key=lambda vector: vector.id)
    unreachable, further = settle(vectors, tell)
    made = Vectors((*vectors, *further), tuple(unreachable))
    lines = coverage(made)
    return replace(
        made, witnessed=sum(line.witnessed for line in lines), excluded=sum(line.unreachable for line in lines)
    )


# -- witnesses --------------------------------------------------------------------------------------------------------


def choose(searched: Sequence[Family], tell: Tell) -> list[tuple[frozenset[Order], Chosen]]:
    """Lives that witness every class that these families show, with the orders that they obey."""
    chosen: list[tuple[frozenset[Order], Chosen]] = []
    known: set[EdgeClass] = set()
    for orders, found in _tiers(searched, tell):
        for one in cover(found, frozenset(known)):
            chosen.append((orders, one))
        known.update(each for _, one in chosen for each in one.classes)
        tell(f"{len(known)} classes witnessed by {len(chosen)} lives")
    return chosen


def _tiers(searched: Sequence[Family], tell: Tell) -> Iterator[tuple[frozenset[Order], dict[Sight, Shown]]]:
    """The least path to each sight, for each set of orders in turn. Two families are searched at a time: which process
    has which makes no difference to what is found.
    """
    tiers: dict[frozenset[Order], dict[Sight, Shown]] = {family.orders: {} for family in searched}
    heaviest_first = sorted(searched, key=lambda family: family.weight, reverse=True)
    with _processes() as pool:
        for family, found in pool.imap_unordered(_searched, heaviest_first, chunksize=1):
            tell(f"{family.name}, blocks of {family.block}: {len(found)} sights")
            least = tiers[family.orders]
            for sight, shown in found.items():
                if sight not in least or shown.path < least[sight].path:
                    least[sight] = shown
    for orders, least in tiers.items():
        yield orders, least


def _searched(family: Family) -> tuple[Family, dict[Sight, Shown]]:
    return family, Search(family).run()


# -- proofs -----------------------------------------------------------------------------------------------------------


def settle(vectors: Sequence[Vector], tell: Tell) -> tuple[list[Unreachable], Sequence[Vector]]:
    """Why no state meets the classes that these vectors leave; and further vectors, that are not about edge classes, in
    their own order. Raises SearchFailed where a class is not proved out of reach.
    """
    tasks = [(guard, [sight for each in vectors if each.guard is guard for sight in each.shows]) for guard in TABLES]
    with _processes() as pool:
        proved = {}
        answers = pool.imap_unordered(_proved, reversed(tasks), chunksize=1)
        invariant, others = pool.apply_async(prove_invariant), pool.apply_async(catching.vectors)
        for guard, entries in answers:
            tell(f"{guard.value}: {len(entries)} combinations of values proved out of reach")
            proved[guard] = entries
        invariant.get()
        tell("the invariant is proved")
        further = (*others.get(), *contents.vectors())
        tell(f"{len(further)} further vectors")
    return [each for guard in TABLES for each in proved[guard]], further


def _proved(task: tuple[Guard, list[Values]]) -> tuple[Guard, list[Unreachable]]:
    """What no state shows when one guard is asked."""
    guard, shown = task
    try:
        return guard, [Unreachable(guard, values, reason) for values, reason in excluded(guard, shown)]
    except NotProved as problem:
        raise SearchFailed(str(problem)) from None


def _processes() -> Any:
    """Two processes that know nothing of this one: what they find does not depend on which of them has what."""
    return multiprocessing.get_context("spawn").Pool(PROCESSES)
