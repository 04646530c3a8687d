"""Makes the vectors: searches, chooses, proves what is left, and appends what others found.

Knows search, cover, proofs and the vector format; must not know how any of them works inside. Classes are first looked
for in the life of a plain engine, so that as many adapters as possible can run them; what such an engine's lives do not
show is looked for with fewer restrictions. What none shows must be proved out of reach: no class is ever left over.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations
from typing import Any

from kvspec.edges import catching
from kvspec.edges.atoms import TABLES
from kvspec.edges.cover import Chosen, cover
from kvspec.edges.family import Family, families
from kvspec.edges.goals import EdgeClass, classes_of
from kvspec.edges.proofs import NotProved, Proofs, Value, prove_invariant, values_of
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
    vectors = [vector_of(chosen, orders) for orders, chosen in witnessed]
    known = frozenset(each for _, chosen in witnessed for each in chosen.classes)
    left = [each for guard in TABLES for each in classes_of(guard) if each not in known]
    tell(f"{len(known)} classes witnessed by {len(vectors)} vectors; proving {len(left)} out of reach")
    entries = prove(left, known, tell)
    return Vectors((*sorted(vectors, key=lambda v: v.id), *further(tell)), tuple(entries))


def further(tell: Tell) -> tuple[Vector, ...]:
    """Vectors that are not about edge classes: they come after the others, in their own order."""
    found = catching.vectors()
    tell(f"{len(found)} further vectors")
    return found


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


def prove(left: Sequence[EdgeClass], witnessed: Iterable[EdgeClass], tell: Tell) -> list[Unreachable]:
    """Every class that is left, with the reason why no state meets it. Raises SearchFailed where one is not proved."""
    met: dict[Guard, set[frozenset[Value]]] = {guard: set() for guard in TABLES}
    for each in witnessed:
        met[each.guard].update(frozenset(pair) for pair in combinations(values_of(each), 2))
    tasks = [(guard, [each for each in left if each.guard is guard], met[guard]) for guard in TABLES]
    with _processes() as pool:
        invariant = pool.apply_async(prove_invariant)
        proved = {}
        for guard, entries in pool.imap_unordered(_proved, reversed(tasks), chunksize=1):
            tell(f"{guard.value}: {len(entries)} classes proved out of reach")
            proved[guard] = entries
        invariant.get()
        tell("the invariant is proved")
    failed = [name for entries in proved.values() for name, reason in entries if not reason]
    if failed:
        raise SearchFailed(f"neither witnessed nor proved unreachable: {', '.join(sorted(failed))}")
    return [Unreachable(name, reason) for guard in TABLES for name, reason in proved[guard]]


Task = tuple[Guard, list[EdgeClass], set[frozenset[Value]]]


def _proved(task: Task) -> tuple[Guard, list[tuple[str, str]]]:
    """The classes of one guard with the reasons; no reason where a state of the invariant meets the class."""
    guard, left, met = task
    proofs = Proofs(guard)
    entries = []
    for each in left:
        try:
            reason = proofs.reason(each, lambda one, other: frozenset((one, other)) in met)
        except NotProved:
            reason = ""
        entries.append((each.id, reason))
    return guard, entries


def _processes() -> Any:
    """Two processes that know nothing of this one: what they find does not depend on which of them has what."""
    return multiprocessing.get_context("spawn").Pool(PROCESSES)
