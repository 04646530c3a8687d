"""Columns: memory at an index or at a pair of them, that is read and put, never changed in place.

The state of the model is made of columns, so that one text of it serves solver arrays (`kvspec.theorems.worlds`), a
few cells of terms or numbers (`Cells`), and plain numbers (`Plain`). Must not know what a column stands for.
"""

from __future__ import annotations

from collections.abc import Mapping
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
    """A few cells, by index, whose index may be a term. A read elsewhere gives NOTHING, a put elsewhere changes nothing."""

    def __init__(self, a: Algebra, cells: Mapping[Any, Any]) -> None:
        self._a = a
        self._cells = cells

    def __getitem__(self, index: Any) -> Any:
        value: Any = NOTHING
        for key, cell in self._cells.items():
            value = self._a.ite(self._is(index, key), cell, value)
        return value

    def put(self, index: Any, value: Any) -> Column:
        """The same memory with another value there."""
        return Cells(self._a, {key: self._a.ite(self._is(index, key), value, cell) for key, cell in self._cells.items()})

    def row(self, index: Any) -> Any:
        """What is at each second index."""
        return {second: self[index, second] for second in dict.fromkeys(key[1] for key in self._cells)}

    def put_row(self, index: Any, row: Any) -> Column:
        """The same memory with another row there."""
        cells = {key: self._a.ite(index == key[0], row[key[1]], cell) for key, cell in self._cells.items()}
        return Cells(self._a, cells)

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
