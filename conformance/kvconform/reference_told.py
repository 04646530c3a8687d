"""The adapter of kvref for an engine that keeps its own block tables from what it is told, and asks before it forks.

Knows kvref's interface. Entries that hold tokens are never read again: copies and moves renumber them. Only what comes
after them is read, when an operation has extended the row.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import ClassVar

import kvref
from kvconform.adapter import Adapter, Group, Seq
from kvconform.reference import ReferenceAdapter
from kvspec.vocabulary import Config

Pairs = list[tuple[int, int]]


class ToldReference(ReferenceAdapter):
    """kvref, with rows kept on the engine's side. Without a window: what it leaves behind is not announced."""

    name: ClassVar[str] = "reference-told"
    capabilities = replace(ReferenceAdapter.capabilities, window=False)
    null_block = Adapter.null_block  # not a capability without a window

    def start(self, config: Config) -> None:
        """A fresh manager, and no rows."""
        super().start(config)
        self._size = config.block_size
        self._rows: dict[int, list[int]] = {}

    def can_fork(self, parent: Seq) -> bool:
        """A fork takes no block, but the first append after it may: this engine does not fork into a full pool."""
        return self.manager.num_free(kvref.Device.GPU) > 0

    def allocate(self, group: Group) -> int | dict[int, int]:
        """Admit; the whole row is told."""
        cached = super().allocate(group)
        for seq in group.waiting:
            self._rows[seq.id] = self.manager.block_table(seq.id)
        return cached

    def append(self, seq: Seq) -> Pairs:
        """Copies replace entries that hold tokens; what comes after those is told."""
        copies = super().append(seq)
        held = -(-seq.upto // self._size)
        self._renumber([seq], copies)
        self._rows[seq.id][held:] = self.manager.block_table(seq.id)[held:]
        return copies

    def fork(self, parent: Seq, child: Seq) -> None:
        """The child begins with what its parent has."""
        super().fork(parent, child)
        self._rows[child.id] = list(self._rows[parent.id])

    def swap_out(self, group: Group) -> Pairs:
        """Moves renumber every entry."""
        moves = super().swap_out(group)
        self._renumber(group.running, moves)
        return moves

    def swap_in(self, group: Group) -> Pairs:
        """Moves renumber every entry."""
        moves = super().swap_in(group)
        self._renumber(group.swapped, moves)
        return moves

    def announced_row(self, seq: Seq) -> Sequence[int]:
        """The row that the engine has."""
        return self._rows[seq.id]

    def _renumber(self, seqs: Iterable[Seq], pairs: Pairs) -> None:
        new = dict(pairs)
        for seq in seqs:
            self._rows[seq.id] = [new.get(block, block) for block in self._rows[seq.id]]
