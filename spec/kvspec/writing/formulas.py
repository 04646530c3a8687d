"""Formulas as trees, and their text in Unicode with no more parentheses than it takes.

A tree is equal to another where both are written the same. Knows how mathematics is written; must not know how a
formula came about, nor when two different ones mean the same: see `kvspec.writing.simplify`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

LOOSE, IFF, IMPLIES, OR, AND, NOT, COMPARE, SUM, PRODUCT, ATOM = range(10)
"""How tightly a formula holds together, the loosest first."""

MINUS = "−"


@dataclass(frozen=True)
class Tree:
    """A formula, or the memory that one reads."""

    level: ClassVar[int] = ATOM
    proposition: ClassVar[bool] = False

    @property
    def text(self) -> str:
        """The formula as it is written."""
        raise NotImplementedError

    @property
    def may_be_nothing(self) -> bool:
        """Whether a number below 0 is written as nothing: it names no block."""
        return False

    def inside(self, level: int) -> str:
        """Its text as a part of another formula that takes parts of this level or tighter."""
        return self.text if self.level >= level else f"({self.text})"


def listed(parts: Sequence[Tree]) -> str:
    """The parts one after the other."""
    return ", ".join(part.text for part in parts)


# -- numbers --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Number(Tree):
    """A number that is known."""

    value: int

    @property
    def text(self) -> str:
        """Its digits."""
        return str(self.value).replace("-", MINUS)


@dataclass(frozen=True)
class Nothing(Tree):
    """What an entry names that owns nothing."""

    @property
    def text(self) -> str:
        """The sign of the empty set."""
        return "∅"


@dataclass(frozen=True)
class Name(Tree):
    """Some number or thing, by name."""

    word: str

    @property
    def text(self) -> str:
        """The name."""
        return self.word


@dataclass(frozen=True)
class Sum(Tree):
    """Terms, each so many times, and a number."""

    terms: tuple[tuple[int, Tree], ...]
    constant: int = 0

    level = SUM

    @property
    def text(self) -> str:
        """What is added comes first, what is subtracted after it."""
        written = [(count > 0, _times(abs(count), term)) for count, term in self.terms]
        if self.constant:
            written.append((self.constant > 0, str(abs(self.constant))))
        written.sort(key=lambda signed: not signed[0])
        (positive, first), *rest = written
        start = first if positive else MINUS + first
        return start + "".join(f" {'+' if added else MINUS} {term}" for added, term in rest)


def _times(count: int, term: Tree) -> str:
    return term.inside(PRODUCT) if count == 1 else f"{count} · {term.inside(ATOM)}"


@dataclass(frozen=True)
class Product(Tree):
    """Two numbers multiplied."""

    x: Tree
    y: Tree

    level = PRODUCT

    @property
    def text(self) -> str:
        """With a dot."""
        return f"{self.x.inside(PRODUCT)} · {self.y.inside(PRODUCT)}"


@dataclass(frozen=True)
class Ceiling(Tree):
    """A quotient rounded up."""

    x: Tree
    y: Tree

    @property
    def text(self) -> str:
        """Between ceiling brackets."""
        return f"⌈{self.x.inside(PRODUCT)} / {self.y.inside(ATOM)}⌉"


@dataclass(frozen=True)
class Extreme(Tree):
    """The larger or the smaller of two numbers. which: max or min."""

    which: str
    x: Tree
    y: Tree

    @property
    def text(self) -> str:
        """As a function."""
        return f"{self.which}({self.x.text}, {self.y.text})"


@dataclass(frozen=True)
class One(Tree):
    """1 where the condition holds, else 0."""

    condition: Tree

    @property
    def text(self) -> str:
        """In Iverson's brackets."""
        return f"[{self.condition.text}]"


@dataclass(frozen=True)
class Choice(Tree):
    """One thing where the condition holds, else another."""

    condition: Tree
    then: Tree
    otherwise: Tree

    level = LOOSE

    @property
    def text(self) -> str:
        """As it is said."""
        return f"{self.then.inside(IFF)} if {self.condition.inside(IFF)}, else {self.otherwise.text}"


# -- propositions ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Proposition(Tree):
    """What holds or does not."""

    proposition = True


@dataclass(frozen=True)
class Truth(Proposition):
    """What always holds, or never."""

    value: bool

    @property
    def text(self) -> str:
        """The word."""
        return "true" if self.value else "false"


@dataclass(frozen=True)
class Compare(Proposition):
    """Two numbers compared. sign: one of = ≠ < ≤ > ≥."""

    x: Tree
    sign: str
    y: Tree

    level = COMPARE

    @property
    def text(self) -> str:
        """With its sign."""
        return f"{self.x.inside(SUM)} {self.sign} {self.y.inside(SUM)}"


@dataclass(frozen=True)
class Not(Proposition):
    """That something does not hold."""

    condition: Tree

    level = NOT

    @property
    def text(self) -> str:
        """With the sign of negation."""
        return f"¬{self.condition.inside(ATOM)}"


@dataclass(frozen=True)
class And(Proposition):
    """Several things together."""

    parts: tuple[Tree, ...]

    level = AND

    @property
    def text(self) -> str:
        """A lower and an upper bound of the same number that follow each other are written as one chain."""
        return " ∧ ".join(chained(self.parts))


def chained(parts: Sequence[Tree]) -> list[str]:
    """The texts of parts that hold together, bounds of one number as a chain."""
    texts: list[str] = []
    at = 0
    while at < len(parts):
        chain = _chain(parts[at], parts[at + 1]) if at + 1 < len(parts) else None
        texts.append(chain or parts[at].inside(NOT))
        at += 2 if chain else 1
    return texts


_TURNED = {"≥": "≤", ">": "<"}


def _chain(low: Tree, high: Tree) -> str | None:
    if not (isinstance(low, Compare) and isinstance(high, Compare) and high.sign in _TURNED.values()):
        return None
    if low.x == high.x and low.sign in _TURNED:
        return f"{low.y.inside(SUM)} {_TURNED[low.sign]} {high.text}"
    if low.y == high.x and low.sign in _TURNED.values():
        return f"{low.x.inside(SUM)} {low.sign} {high.text}"
    return None


@dataclass(frozen=True)
class Or(Proposition):
    """At least one of several things."""

    parts: tuple[Tree, ...]

    level = OR

    @property
    def text(self) -> str:
        """Parts that are conjunctions stand in parentheses: few people know by heart which sign binds tighter."""
        return " ∨ ".join(part.inside(NOT) for part in self.parts)


@dataclass(frozen=True)
class Implies(Proposition):
    """One thing wherever another."""

    premise: Tree
    conclusion: Tree

    level = IMPLIES

    @property
    def text(self) -> str:
        """With an arrow."""
        return f"{self.premise.inside(OR)} ⇒ {self.conclusion.inside(OR)}"


@dataclass(frozen=True)
class Iff(Proposition):
    """Two things that hold together or not at all."""

    x: Tree
    y: Tree

    level = IFF

    @property
    def text(self) -> str:
        """With an arrow in both directions."""
        return f"{self.x.inside(OR)} ⇔ {self.y.inside(OR)}"


@dataclass(frozen=True)
class Every(Proposition):
    """A thing that holds of all. names: what stands for any of them."""

    names: tuple[Name, ...]
    holds: Tree

    level = LOOSE

    @property
    def text(self) -> str:
        """As it is said."""
        return f"for every {listed(self.names)}: {self.holds.text}"


# -- memory ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Memory(Tree):
    """A function from an index, or a pair of them."""


@dataclass(frozen=True)
class Function(Memory):
    """A function by name. or_nothing: its numbers below 0 mean nothing."""

    name: str
    or_nothing: bool = False

    @property
    def text(self) -> str:
        """The name."""
        return self.name


@dataclass(frozen=True)
class Put(Memory):
    """The same function with another value at one index."""

    memory: Memory
    index: tuple[Tree, ...]
    value: Tree

    @property
    def text(self) -> str:
        """As an update."""
        return f"{self.memory.text}[{listed(self.index)} ↦ {self.value.text}]"


@dataclass(frozen=True)
class PutRow(Memory):
    """The same function of pairs, with another row at one first index."""

    memory: Memory
    index: Tree
    row: Tree

    @property
    def text(self) -> str:
        """As an update."""
        return f"{self.memory.text}[{self.index.text}, · ↦ {self.row.text}]"


@dataclass(frozen=True)
class Read(Tree):
    """What a memory has at an index."""

    memory: Memory
    index: tuple[Tree, ...]

    @property
    def text(self) -> str:
        """As a function of the index."""
        return f"{self.memory.text}({listed(self.index)})"

    @property
    def may_be_nothing(self) -> bool:
        """As its memory says."""
        root = root_of(self.memory)
        return isinstance(root, Function) and root.or_nothing


@dataclass(frozen=True)
class Row(Tree):
    """All that a memory of pairs has at a first index."""

    memory: Memory
    index: Tree

    @property
    def text(self) -> str:
        """A dot for whatever comes second."""
        return f"{self.memory.text}({self.index.text}, ·)"


def root_of(memory: Memory) -> Memory:
    """The memory before anything was put."""
    while isinstance(memory, (Put, PutRow)):
        memory = memory.memory
    return memory
