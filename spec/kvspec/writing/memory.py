"""Columns as functions, `tab(e)`, and states that are made of them.

A column that was put is an update, `tab[e ↦ b]`. Knows the shape of states, from their dataclasses; must not know what
happens to them.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any, TypeVar, get_type_hints

from kvspec.model.cache import Cache
from kvspec.model.columns import Column
from kvspec.model.index import Index
from kvspec.model.pool import Pool
from kvspec.writing.formulas import Function, Memory, Put, PutRow, Read, Row, Tree
from kvspec.writing.maths import Written, name, tree_of
from kvspec.writing.words import COLUMNS

SHARED = ("block_size",)
"""Numbers that all caches have in common."""

S = TypeVar("S")


def number_called(word: str) -> str:
    """The name of a number that is no part of a state: another one where a part has its name."""
    return f"{word}₀" if word in _PARTS - {*SHARED} else word


class WrittenColumn:
    """A column that is written down as it is read and put."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory

    def __getitem__(self, index: Any) -> Any:
        return Written(Read(self.memory, index_of(index)))

    def put(self, index: Any, value: Any) -> Column:
        """The same memory with another value there. To put back what is there changes nothing."""
        place, there = index_of(index), tree_of(value)
        return self if there == Read(self.memory, place) else WrittenColumn(Put(self.memory, place, there))

    def row(self, index: Any) -> Any:
        """The row of this index."""
        return Row(self.memory, tree_of(index))

    def put_row(self, index: Any, row: Any) -> Column:
        """The same memory with another row there."""
        return WrittenColumn(PutRow(self.memory, tree_of(index), row))


def index_of(index: Any) -> tuple[Tree, ...]:
    """An index, or a pair of them, as formulas."""
    return tuple(map(tree_of, index if isinstance(index, tuple) else (index,)))


def column(word: str, or_nothing: bool = False) -> WrittenColumn:
    """A column by name."""
    return WrittenColumn(Function(word, or_nothing))


def state(kind: type[S], prefix: str = "") -> S:
    """A state of this kind of which nothing is known: every part of it by its name, behind the prefix."""
    return kind(**{part: _part(part, hint, prefix) for part, hint in parts_of(kind).items()})


def parts_of(kind: type[Any]) -> dict[str, Any]:
    """The parts of a state, with their types."""
    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in fields(kind)}


def _part(part: str, hint: Any, prefix: str) -> Any:
    if is_dataclass(hint) and isinstance(hint, type):
        return state(hint, prefix)
    if hint is Column:
        return column(prefix + part, part in COLUMNS and COLUMNS[part].or_nothing)
    return name(part if part in SHARED else prefix + part)


_PARTS = {part for kind in (Pool, Cache, Index) for part in parts_of(kind)}
