"""The sections about what is proved: theorems by area, wrong variants, laws, and what is not proved.

Goes over `kvspec.theorems.OBLIGATIONS` and the modules that they are from; must not know any area, so that a new one
comes out without a change here.
"""

from __future__ import annotations

import pkgutil
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from importlib import import_module
from itertools import zip_longest
from types import ModuleType
from typing import Any

from kvspec import theorems
from kvspec.laws import CATALOGUE, Law
from kvspec.laws.base import always
from kvspec.theorems import OBLIGATIONS, UNPROVED
from kvspec.theorems.needed import UNNEEDED
from kvspec.theorems.obligation import PROOFS, Kind, Obligation
from kvspec.writing.claims import Statement, may_happen, statement
from kvspec.writing.conjuncts import tables
from kvspec.writing.docstrings import paragraphs, summary
from kvspec.writing.families import ANY, Family, families
from kvspec.writing.limits import NOT_ASKED, NOT_IN_THE_MODEL, STANDS_FOR, Limit
from kvspec.writing.markdown import anchor, code, link, prose, sentence, slug, table, words
from kvspec.writing.maths import Maths, name, tree_of
from kvspec.writing.shorthand import AREAS, Shorthand
from kvspec.writing.simplify import implication

NOT_PROVED = "What is not proved, and why"
"""The heading of the last section."""

CAN_FIRE = ".can-fire"
"""What the ids of checks end with that say of another obligation that it says something."""

READABLE = 600
"""Characters from which on a formula is not written: nobody would read it."""


def shown() -> list[Obligation]:
    """The obligations that have a row of their own."""
    return [obligation for obligation in OBLIGATIONS if not obligation.id.endswith(CAN_FIRE)]


@dataclass(frozen=True)
class Section:
    """The obligations of one module. area: what their ids begin with."""

    module: ModuleType
    obligations: tuple[Obligation, ...]

    @property
    def area(self) -> str:
        """What their ids begin with."""
        return self.obligations[0].id.partition(".")[0]

    @property
    def title(self) -> str:
        """Its heading: the area, or the module where an area has several."""
        return self.module.__name__.rpartition(".")[2].replace("_", " ").capitalize()


def sections() -> list[Section]:
    """The modules of theorems, in the order in which their obligations are proved."""
    place = {obligation.id: number for number, obligation in enumerate(OBLIGATIONS)}
    found: list[Section] = []
    for info in pkgutil.iter_modules(theorems.__path__):
        module = import_module(f"{theorems.__name__}.{info.name}")
        own = getattr(module, "OBLIGATIONS", ())
        listed = tuple(one for one in own if one.id in place and not one.id.endswith(CAN_FIRE))
        if listed:
            found.append(Section(module, listed))
    return sorted(found, key=lambda section: place[section.obligations[0].id])


# -- theorems -------------------------------------------------------------------------------------------


def proved() -> Iterator[str]:
    """What is claimed for all numbers, one table an area."""
    yield from ("## Theorems", "")
    counts = Counter(obligation.kind for obligation in OBLIGATIONS)
    checks = sum(obligation.id.endswith(CAN_FIRE) for obligation in OBLIGATIONS)
    yield from prose(
        f"{sum(counts[kind] for kind in PROOFS)} theorems, for all numbers: *lemmas* about the rules, starts and",
        "steps of *inductions*, and *soundness*, which is that a law follows. Of each it is shown by an example that",
        f"what it assumes can happen, so that it says something: {checks} obligations whose ids end with",
        f"`{CAN_FIRE}`, not listed here. Where theorems differ in one word only, they share a row with *{ANY}* for",
        "the word.",
    )
    for section in sections():
        listed = [one for one in section.obligations if one.kind is not Kind.REFUTATION]
        if listed:
            yield from ("", *_area(section, listed))
    yield ""


def _area(section: Section, obligations: Sequence[Obligation]) -> Iterator[str]:
    yield from (f"### {section.title}", "", sentence(summary(section.module)), "")
    for paragraph in paragraphs(section.module):
        yield from (words(paragraph), "")
    shorthands = {one.id: AREAS.get(section.area, _none)(one) for one in obligations}
    stated = {one.id: statement(one, shorthands[one.id]) for one in obligations}
    yield from _legend(stated.values(), [short for one in obligations for short in shorthands[one.id]])
    heads = ("theorem", "kind", "what it says", "law")
    yield from table(heads, (_row(family, stated) for family in families(obligations)))


def _none(obligation: Obligation) -> list[Shorthand]:
    return []


def _legend(stated: Iterable[Statement | None], shorthands: Sequence[Shorthand]) -> Iterator[str]:
    """What holds throughout, and what the names stand for that are used."""
    written = [one for one in stated if one is not None and readable(one)]
    used = {called for one in written for called in one.names}
    throughout = dict.fromkeys(fact.text for one in written for fact in one.throughout)
    meant = {short.name: short for short in reversed(shorthands)}
    also = {part for called in used if called in meant for part in _names_in(meant[called])}
    lines = [f"- {code(short.name.text)}: {short.meaning or code(short.text)}" for short in _in_use(meant, used | also)]
    if throughout:
        lines.insert(0, f"- throughout: {', '.join(map(code, throughout))}")
    if lines:
        yield from (*lines, "")


def _in_use(meant: dict[Any, Shorthand], used: set[Any]) -> list[Shorthand]:
    return [short for called, short in reversed(meant.items()) if called in used]


def _names_in(short: Shorthand) -> frozenset[Any]:
    return Statement(short.parts, tree_of(True)).names


def _row(family: Family, stated: Mapping[str, Statement | None]) -> tuple[str, ...]:
    formulas = [_formula(word, stated[one.id]) for one, word in zip_longest(family.members, family.words)]
    said = "<br>".join((sentence(family.statement), *filter(None, formulas)))
    laws = dict.fromkeys(_law(one) for one in family.members)
    return "<br>".join(map(_called, family.members)), family.members[0].kind.value, said, ", ".join(laws)


def _formula(word: str | None, stated: Statement | None) -> str:
    if stated is None or not readable(stated):
        return ""
    return f"{word}: {code(stated.text)}" if word else code(stated.text)


def readable(stated: Statement) -> bool:
    """Whether anybody would read it."""
    return len(stated.text) <= READABLE


def _called(obligation: Obligation) -> str:
    return f"{anchor(obligation.id)}{code(obligation.id)}"


def _law(obligation: Obligation) -> str:
    return law_link(obligation.law) if obligation.law else ""


def law_link(law: str) -> str:
    """A link to the law on its page."""
    return link(law, f"laws.md#{slug(law)}")


# -- wrong variants -------------------------------------------------------------------------------------


def refuted() -> Iterator[str]:
    """Rules that are bent, each of which breaks a law that the right rule keeps."""
    wrong = [obligation for obligation in OBLIGATIONS if obligation.kind is Kind.REFUTATION]
    yield from ("## Wrong variants", "")
    yield from prose(
        f"A proof that nothing could fail proves nothing. These {len(wrong)} variants are wrong: rules that are bent",
        "the way some manager had them, or easily could, and theorems without one of their hypotheses. Of each the",
        "solver finds a small example in which it fails, and the right rule or the whole theorem does not.",
    )
    for section in sections():
        listed = [one for one in section.obligations if one.kind is Kind.REFUTATION]
        if listed:
            yield from ("", *_variants(section, listed))
    yield ""


def _variants(section: Section, obligations: Sequence[Obligation]) -> Iterator[str]:
    if _mixed(section):
        yield from (f"### Wrong {section.area}", "")
    else:
        yield from (f"### {section.title}", "", sentence(summary(section.module)), "")
        for paragraph in paragraphs(section.module):
            yield from (words(paragraph), "")
    rows = ((_called(one), sentence(one.statement), _law(one)) for one in obligations)
    yield from table(("variant", "what is wrong with it", "law it breaks"), rows)


def _mixed(section: Section) -> bool:
    """Whether the module has theorems too, so that its name is a heading already."""
    return any(one.kind is not Kind.REFUTATION for one in section.obligations)


# -- laws -----------------------------------------------------------------------------------------------


def laws() -> Iterator[str]:
    """Each law of the catalogue, with the theorems about it or why there is none."""
    yield from ("## Laws", "")
    with_theorem = sum(bool(_about(law)) for law in CATALOGUE.values())
    yield from prose(
        f"What is asked of a block manager and judged at run time: {len(CATALOGUE)} laws, {with_theorem} of which have",
        "theorems. A law speaks of one case, and its formula uses the parts of the case by name.",
    )
    heads = ("law", "level", "formula", "theorems, or why there is none")
    yield from ("", *table(heads, map(_law_row, CATALOGUE.values())), "")


def _about(law: Law) -> list[Obligation]:
    return [one for one in OBLIGATIONS if one.law == law.id and one.kind in PROOFS]


def _law_row(law: Law) -> tuple[str, ...]:
    proofs = ", ".join(link(code(family.name), family.members[0].id) for family in families(_about(law)))
    reason = words(UNPROVED.get(law.id, ""))
    if reason and not proofs:
        reason = f"none: {reason}"
    return law_link(law.id), law.level.value, code(law_formula(law)), "; ".join(filter(None, (proofs, reason)))


def law_formula(law: Law) -> str:
    """What the law says of a case, under its premise."""
    a, case = Maths(), law.case(**{field.name: name(field.name) for field in fields(law.case)})
    holds = tree_of(law.holds(a, case))
    return holds.text if law.applies is always else implication(tree_of(law.applies(a, case)), holds).text


# -- what is not proved ---------------------------------------------------------------------------------


def not_proved() -> Iterator[str]:
    """Every limit, with its reason."""
    yield from (f"## {NOT_PROVED}", "")
    yield "Laws without a theorem have their reason above. This is what no single law is about."
    parts = (
        ("What stands for something else", STANDS_FOR),
        ("What no solver is asked", NOT_ASKED),
        ("What the model does not have", NOT_IN_THE_MODEL),
    )
    for heading, limits in parts:
        yield from ("", f"### {heading}", "", *table(("what", "why", "instead"), map(_limit_row, limits)))
    yield from ("", "### What is assumed although nothing needs it", "")
    yield from prose(
        "Each hypothesis that has a name is needed by some proof, see [Needed](#needed), but for these.",
    )
    rows = ((code(name_of), words(reason)) for name_of, reason in UNNEEDED.items())
    yield from ("", *table(("hypothesis", "why it is there"), rows))


def _limit_row(limit: Limit) -> tuple[str, ...]:
    return words(limit.what), words(limit.why), words(limit.instead)


def names_of_tables() -> str:
    """What invariants are called in formulas."""
    return ", ".join(code(found.label) for found in tables() if found.about is not None)


def names_of_steps() -> str:
    """What the requirements of micro-steps are called in formulas."""
    return ", ".join(code(short.name.text) for short in may_happen())
