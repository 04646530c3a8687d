"""Columns: memory at an index or at a pair of them, that is read and put, never changed in place.

The state of the model is made of columns, so that one text of it serves solver arrays (`kvspec.theorems.worlds`), a
few cells of terms or numbers (`Cells`), and plain numbers (`Plain`). Must not know what a column stands for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, Protocol

from kvspec.algebra import Algebra

NOTHING = -1
"""What a finite column holds where it has no cell."""


class Column(Protocol):
    """Memory at an index, or at a pair of them. The *row* of an index is all that is at pairs that begin with it."""

    def __getitem__(self, index: Any) -> Any:
        """What is there."""
        ...

    def put(self, index: Any, value: Any) -> Column:
        """The same memory with another value there."""
        ...

    def row(self, index: Any) -> Any:
        """The row of this index, to be given to `put_row`."""
        ...

    def put_row(self, index: Any, row: Any) -> Column:
        """The same memory with another row there."""
        ...


class Cells:
    """A few cells, by index, whose index may be a term. A read elsewhere gives NOTHING, a put elsewhere changes
    nothing.

    The cells are made when they are first read: a claim that never reads a column has no unknowns for it.
    """

    def __init__(self, a: Algebra, make: Callable[[], Mapping[Any, Any]]) -> None:
        self._a = a
        self._make = make

    @cached_property
    def cells(self) -> Mapping[Any, Any]:
        """What is in each cell."""
        return self._make()

    def __getitem__(self, index: Any) -> Any:
        value: Any = NOTHING
        for key, cell in self.cells.items():
            value = self._a.ite(self._is(index, key), cell, value)
        return value

    def put(self, index: Any, value: Any) -> Column:
        """The same memory with another value there."""
        a, cells = self._a, self
        return Cells(a, lambda: {key: a.ite(cells._is(index, key), value, cell) for key, cell in cells.cells.items()})

    def row(self, index: Any) -> Any:
        """What is at each second index, read when it is put somewhere."""
        return lambda second: self[index, second]

    def put_row(self, index: Any, row: Any) -> Column:
        """The same memory with another row there."""
        a, cells = self._a, self
        return Cells(a, lambda: {k: a.ite(index == k[0], row(k[1]), cell) for k, cell in cells.cells.items()})

    def _is(self, index: Any, key: Any) -> Any:
        if isinstance(key, tuple):
            return self._a.all_of(*(i == k for i, k in zip(index, key, strict=True)))
        return index == key


class Plain:
    """Cells of plain values at plain indices; it grows by what is put."""

    def __init__(self, cells: Mapping[Any, Any]) -> None:
        self.cells = cells

    def __getitem__(self, index: Any) -> Any:
        return self.cells.get(index, NOTHING)

    def put(self, index: Any, value: Any) -> Column:
        """The same memory with another value there."""
        return Plain({**self.cells, index: value})

    def row(self, index: Any) -> Any:
        """What is at each second index that has a value."""
        return {key[1]: value for key, value in self.cells.items() if key[0] == index}

    def put_row(self, index: Any, row: Any) -> Column:
        """The same memory with another row there."""
        kept = {key: value for key, value in self.cells.items() if key[0] != index}
        return Plain({**kept, **{(index, second): value for second, value in row.items()}})
