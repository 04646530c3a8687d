"""Names for what would be read again and again: invariants, needs, what an operation is about to do.

A name stands for a formula that was made by the same functions, so it is put in wherever that formula occurs. Which
names there are says the area (`AREAS`); an area that is not listed has none, and is written out in full.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from kvspec.arithmetic import blocks_after_append, blocks_touched, copies_needed, dead_entries, first_live, growth
from kvspec.guards import append_need
from kvspec.theorems import guards, requests
from kvspec.theorems.arithmetic import counted
from kvspec.theorems.obligation import Claim, Obligation
from kvspec.theorems.performing import Performing, is_stuck, take_one, turn_to, wants_a_block
from kvspec.writing.formulas import And, Name, Sum, Tree, chained, listed
from kvspec.writing.maths import Maths, name, tree_of
from kvspec.writing.memory import number_called
from kvspec.writing.rewriting import rewritten
from kvspec.writing.simplify import conjunction, conjuncts, linear, plus


@dataclass(frozen=True)
class Shorthand:
    """A name for things that hold together, or for one number or condition. meaning: in words, instead of a formula."""

    name: Name
    parts: tuple[Tree, ...]
    meaning: str = ""

    @property
    def text(self) -> str:
        """What it stands for, as a formula."""
        return " ∧ ".join(chained(self.parts)) if len(self.parts) > 1 else listed(self.parts)


def shortened(trees: Sequence[Tree], shorthands: Sequence[Shorthand]) -> list[Tree]:
    """Things that hold together, said by names where there are any."""
    held = list(trees)
    for short in shorthands:
        held = _together([rewritten(tree, partial(_named, short)) for tree in held], short)
    return held


def _together(held: list[Tree], short: Shorthand) -> list[Tree]:
    """Where all of its parts are among what holds, the name takes the place of the first."""
    if not short.parts or not set(short.parts) <= set(held):
        return held
    at = min(held.index(part) for part in short.parts)
    return [*held[:at], short.name, *(part for part in held[at:] if part not in short.parts)]


def _named(short: Shorthand, part: Tree) -> Tree:
    if isinstance(part, And):
        return conjunction(_together(list(part.parts), short))
    if len(short.parts) != 1:
        return part
    (meant,) = short.parts
    if part == meant:
        return short.name
    return _in_sum(part, meant, short.name) if isinstance(part, Sum) and isinstance(meant, Sum) else part


def _in_sum(whole: Sum, meant: Sum, called: Name) -> Tree:
    """A sum of several things that is added or subtracted as a whole is said by its name."""
    counts, (terms, _) = dict(linear(whole)[0]), linear(meant)
    for sign in (1, -1):
        if len(terms) > 1 and all(counts.get(term) == sign * count for term, count in terms.items()):
            return plus(plus(whole, meant, -sign), called, sign)
    return whole


MANY = 4
"""Facts from which on it is worth a name that they are given together."""


class Shorthands:
    """Collects names, each said by those before it."""

    def __init__(self) -> None:
        self.known: list[Shorthand] = []

    def add(self, word: str, formula: Any, meaning: str = "") -> None:
        """A name for a number or a condition, unless it has a name already."""
        parts = tuple(shortened(conjuncts(tree_of(formula)), self.known))
        if not (len(parts) == 1 and isinstance(parts[0], Name)):
            self.known.append(Shorthand(Name(word), parts, meaning))

    def together(self, word: str, facts: Sequence[Any]) -> None:
        """A name for facts that are given together, be they named or not, unless it is as easy to say them."""
        parts = conjuncts(Maths().all_of(*Claim(facts, True).facts).tree)
        if len(parts) >= MANY:
            self.known.append(Shorthand(Name(word), tuple(shortened(parts, self.known))))


# -- the areas ------------------------------------------------------------------------------------------


def _of_arithmetic(obligation: Obligation) -> list[Shorthand]:
    a, u, found = Maths(), _numbers(), Shorthands()
    seq = requests.first_sequence(u)
    plain = type(seq)(seq.tokens, seq.seen, seq.blocks)
    found.together("counted", counted(a, plain, u.block_size))
    for seen, slots in ((u.seen, u.tokens + u.lookahead - u.seen), (u.seen, u.slots)):
        found.add(f"touched({seen}, {slots})", blocks_touched(a, seen, slots, u.block_size))
    for lookahead in (u.lookahead, name("earlier")):
        found.add(f"after({lookahead})", blocks_after_append(a, plain, lookahead, u.block_size))
    found.add("growth", growth(a, plain, u.lookahead, u.block_size))
    return [*found.known, *_of_copying(obligation)]


def _of_copying(obligation: Obligation) -> list[Shorthand]:
    a, found = Maths(), Shorthands()
    owners, writers = name("owners"), name("writers")
    for there, wrote in ((owners, writers), (owners, writers + 1), (owners, 0)):
        found.add(f"needed({there}, {wrote})", copies_needed(a, there, wrote))
    return found.known


def _of_guards(obligation: Obligation) -> list[Shorthand]:
    return _about_guards(obligation, _numbers())


def _of_operations(obligation: Obligation) -> list[Shorthand]:
    # Here a cache has free blocks too, so those that the guard was told of have another name.
    numbers = {word: name(number_called(word)) for word in vars(_numbers())}
    return _about_guards(obligation, requests.Numbers(**numbers))


def _of_prefix(obligation: Obligation) -> list[Shorthand]:
    return _of_operations(obligation) if obligation.id.startswith("prefix.allocate.") else []


def _of_window(obligation: Obligation) -> list[Shorthand]:
    if obligation.id.startswith("window.append."):
        return (_of_guards if obligation.posed is None else _of_operations)(obligation)
    a, found = Maths(), Shorthands()
    window, size = name("window"), name("block_size")
    for at, mark in ((name("computed"), ""), (name("known"), ""), (name("later"), "′")):
        when = f"once `{at}` tokens are computed" if mark else "once `computed` tokens are (of a hit: `known`)"
        found.add(f"live from{mark}", first_live(a, at, window), f"the first live position, {when}")
        found.add(f"dead{mark}", dead_entries(a, at, window, size), f"how many entries are dead, {when}")
    return found.known


def _about_guards(obligation: Obligation, u: requests.Numbers) -> list[Shorthand]:
    a, found = Maths(), Shorthands()
    now, size = guards.under_way(u), u.block_size
    found.together("premises", requests.premises(a, u))
    found.together("counted", counted(a, requests.first_sequence(u), size))
    for moment, mark in ((now, ""), (take_one(a, now, size), "′")):
        after = " after one more block is taken" if mark else ""
        found.add(f"outstanding{mark}", guards.outstanding(a, moment, size), after and f"`outstanding`{after}")
        found.add(f"wanting{mark}", wants_a_block(a, moment, size), after and f"`wanting`{after}")
        found.add(f"stuck{mark}", is_stuck(a, moment, size), after and f"`stuck`{after}")
    found.add("at end", guards.at_end(a, now, size, u.rest))
    need, alone = _asked(a, u, obligation)
    found.add("need", need, "what the guard counts")

    def course(word: str, moment: Performing, rest: Any, free: Any, meaning: str = "") -> None:
        found.add(word, guards.on_course(a, moment, size, rest, free, need), meaning)

    course("on course", now, u.rest, u.free)
    course("on course′", take_one(a, now, size), u.rest, u.free, "`on course` after one more block is taken")
    course("on course alone", now, u.rest, alone, "`on course`, when `free` is what is free alone")
    seq, later = requests.first_sequence(u), name("later")
    turn, to_come = turn_to(now, seq, u.lookahead), append_need(a, seq, u.lookahead, size) + later
    course(
        "on course before",
        now,
        to_come,
        u.free,
        "`on course`, when `rest` is the need of the next sequence and `later`",
    )
    course("on course after", turn, later, u.free, "`on course` at the beginning of its turn, when `rest` is `later`")
    return found.known


def _asked(a: Maths, u: requests.Numbers, obligation: Obligation) -> tuple[Any, Any]:
    """The need that the guard counts which the obligation is about, and what is free with every other group gone."""
    area, guard = obligation.id.split(".")[:2]
    guard = {"prefix": requests.WITH_HITS, "window": requests.WITH_NULL}.get(area, guard)
    if guard not in requests.ASKED:
        return name("need"), u.total
    request = requests.ASKED[guard](a, u)
    return request.demand.need, request.alone


def _numbers() -> requests.Numbers:
    more = (word for words in requests.MORE.values() for word in words)
    return requests.Numbers(**{word: name(word) for word in (*requests.UNKNOWNS, *more, *guards.UNDER_WAY)})


AREAS: dict[str, Callable[[Obligation], list[Shorthand]]] = {
    "arithmetic": _of_arithmetic,
    "copying": _of_copying,
    "guards": _of_guards,
    "operations": _of_operations,
    "prefix": _of_prefix,
    "ring": _of_window,
    "window": _of_window,
}
"""The names that make the claims of an area short."""
