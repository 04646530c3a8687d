"""The invariants of the model: where they stand, and what they say.

Every table of conjuncts in a module of `kvspec.model` is found; none is named here.
"""

from __future__ import annotations

import inspect
import pkgutil
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from kvspec import model
from kvspec.model.cache import Cache
from kvspec.model.index import Index
from kvspec.model.pool import Conjunct, Pool
from kvspec.model.window import Rows
from kvspec.writing.formulas import Every, Name, Tree
from kvspec.writing.maths import Maths, Written, tree_of
from kvspec.writing.memory import state
from kvspec.writing.words import ANY, SPOKEN

KINDS: dict[str, type[Any]] = {"pool": Pool, "cache": Cache, "index": Index, "rows": Rows}
"""What conjuncts are about, by the name that their functions give it."""


@dataclass(frozen=True)
class Table:
    """Conjuncts that belong together. label: how they are called where they are all meant."""

    label: str
    conjuncts: tuple[Conjunct, ...]

    @property
    def about(self) -> type[Any] | None:
        """What they are about. None where it is nothing that can be written."""
        return KINDS.get(_parameters(self.conjuncts[0])[1])


def tables() -> list[Table]:
    """Every table of conjuncts of the model, those about pools before those about caches and their index."""
    order = [*KINDS.values(), None]
    return sorted(_tables(), key=lambda table: order.index(table.about))


def _tables() -> Iterator[Table]:
    # A module that imports a table from another is not where it is from.
    for found in pkgutil.iter_modules(model.__path__):
        module = import_module(f"{model.__name__}.{found.name}")
        for word, value in vars(module).items():
            if _is_table(value) and value[0].holds.__module__ == module.__name__:
                yield Table(word.replace("_", " ").capitalize(), value)


def _is_table(value: Any) -> bool:
    return isinstance(value, tuple) and bool(value) and all(isinstance(part, Conjunct) for part in value)


def every(conjunct: Conjunct, of: Any) -> Tree:
    """The conjunct, of all that it is about."""
    bound = letters(conjunct)
    holds = tree_of(conjunct.holds(Maths(), of, *map(Written, bound)))
    return Every(bound, holds) if bound else holds


def letters(conjunct: Conjunct) -> tuple[Name, ...]:
    """A letter for each thing that it is about, after the parameters of its function."""
    words = _parameters(conjunct)[2:]
    return tuple(Name(_letter(word, kind)) for word, kind in zip(words, conjunct.over, strict=True))


def _letter(word: str, kind: str) -> str:
    # A function that serves whatever it is about calls it nothing in particular.
    return ANY.get(kind, SPOKEN.get(kind, word)) if word == "it" else SPOKEN.get(word, word)


def written(table: Table) -> list[tuple[Conjunct, Tree]]:
    """Its conjuncts, each with its formula."""
    assert table.about is not None
    return [(conjunct, every(conjunct, state(table.about))) for conjunct in table.conjuncts]


def _parameters(conjunct: Conjunct) -> list[str]:
    return list(inspect.signature(conjunct.holds).parameters)
