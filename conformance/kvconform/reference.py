"""The adapter of kvref, the reference block manager. An example of an adapter with everything.

Knows kvref's interface; the kit treats it like any third party's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import kvref
from kvconform.adapter import Adapter, Capabilities, Group, Seq
from kvref import Tokens
from kvspec.vocabulary import Config, Device, Verdict

DEVICES = {Device.GPU: kvref.Device.GPU, Device.CPU: kvref.Device.CPU}
VERDICTS = {
    kvref.AllocStatus.OK: Verdict.OK,
    kvref.AllocStatus.LATER: Verdict.LATER,
    kvref.AllocStatus.NEVER: Verdict.NEVER,
}


def colliding(parent: int, tokens: tuple[int, ...]) -> int:
    """A hash that sees nothing but whether a block's first token is odd."""
    return tokens[0] % 2


def with_nulls(row: list[int]) -> list[int | None]:
    """A row of kvref's as the kit reads it."""
    return [None if block == kvref.NULL else block for block in row]


class ReferenceAdapter(Adapter):
    """kvref, with all that it offers."""

    name: ClassVar[str] = "reference"
    forkable: ClassVar[bool] = True
    capabilities = Capabilities(
        prefix_caching=True,
        extra_keys=True,
        window=True,
        colliding_hashes=True,
        lookahead=True,
        allocate_lookahead="provided",
        groups=True,
        watermark=True,
        outcomes="three",
        failures="atomic",
    )
    out_of_blocks = (kvref.OutOfBlocks,)
    double_free = (kvref.DoubleFree,)
    bad_input = (
        kvref.UnknownSequence,
        kvref.UnknownGroup,
        kvref.DuplicateSequence,
        kvref.DuplicateGroup,
        kvref.WrongStatus,
        kvref.InvalidRequest,
    )
    manager_class: ClassVar[type[kvref.BlockManager]] = kvref.BlockManager

    def start(self, config: Config) -> None:
        """A fresh manager."""
        self.manager = self.manager_class(
            block_size=config.block_size,
            num_gpu_blocks=config.num_gpu_blocks,
            num_cpu_blocks=config.num_cpu_blocks,
            watermark_blocks=config.watermark_blocks,
            prefix_caching=config.prefix_caching,
            sliding_window=config.sliding_window,
            hash_block=colliding if config.colliding_hashes else None,
        )
        self._caching = config.prefix_caching
        self._told = config.prefix_caching or config.sliding_window is not None

    def can_allocate(self, group: Group) -> Verdict:
        """Ask for admission, or for the way back after a preemption."""
        if self._returns(group):
            return VERDICTS[self.manager.can_readmit(group.id, group.lookahead)]
        return VERDICTS[self.manager.can_allocate(*self._request(group))]

    def allocate(self, group: Group) -> int | dict[int, int]:
        """Admit, or bring back; how many tokens were cached."""
        if self._returns(group):
            cached = self.manager.readmit(group.id, group.lookahead)
            return dict(zip([seq.id for seq in group.waiting], cached, strict=True)) if self._caching else 0
        return self.manager.allocate(*self._request(group))

    def _request(self, group: Group) -> tuple[int, list[int], Tokens, int, tuple[str, ...]]:
        seqs = group.waiting
        tokens = self._tokens(seqs[0].tokens)
        return group.id, [seq.id for seq in seqs], tokens, group.lookahead, group.extra

    def _tokens(self, ids: list[int]) -> Tokens:
        """With prefix caching the ids, else how many: kvref looks no further."""
        return list(ids) if self._caching else len(ids)

    def _returns(self, group: Group) -> bool:
        return any(seq.id in self.manager for seq in group.waiting) and group.admitted_before

    def can_append(self, group: Group) -> Verdict:
        """Ask for all running sequences of the group."""
        return VERDICTS[self.manager.can_append(group.id, group.lookahead)]

    def append(self, seq: Seq) -> list[tuple[int, int]]:
        """Cover unseen tokens and lookahead."""
        return self.manager.append(seq.id, seq.lookahead)

    def fork(self, parent: Seq, child: Seq) -> None:
        """Share the row; the child's own tokens follow."""
        if not self._caching:
            self.manager.fork(parent.id, child.id, child.unseen)
            return
        self.manager.fork(parent.id, child.id, 0)
        if child.unseen:
            self.manager.add_tokens(child.id, child.tokens[child.upto :])

    def can_swap_out(self, group: Group) -> Verdict:
        """Ask for the CPU pool."""
        return VERDICTS[self.manager.can_swap_out(group.id)]

    def swap_out(self, group: Group) -> list[tuple[int, int]]:
        """GPU to CPU."""
        return self.manager.swap_out(group.id)

    def can_swap_in(self, group: Group) -> Verdict:
        """Ask for the GPU pool, appends included."""
        return VERDICTS[self.manager.can_swap_in(group.id, group.lookahead)]

    def swap_in(self, group: Group) -> list[tuple[int, int]]:
        """CPU to GPU."""
        return self.manager.swap_in(group.id, group.lookahead)

    def preempt(self, group: Group) -> None:
        """Give the blocks up."""
        self.manager.preempt(group.id)

    def free(self, seq: Seq) -> None:
        """End a sequence. kvref has never heard of one that was refused and then aborted."""
        if seq.group.admitted_before or seq.id in self.manager:
            self.manager.free(seq.id)

    def evict(self, count: int) -> None:
        """Drop cached content."""
        self.manager.evict(count)

    def reset_index(self) -> None:
        """Forget what is cached."""
        self.manager.reset_index()

    def reset_all(self) -> None:
        """Forget everything."""
        self.manager.reset()

    def sync(self, seq: Seq) -> None:
        """Tell kvref of tokens that a step produced."""
        grown = len(seq.tokens) - self.manager.num_tokens(seq.id) if seq.id in self.manager else 0
        if grown > 0:
            self.manager.add_tokens(seq.id, self._tokens(seq.tokens[-grown:]))

    def step(self, batch: Sequence[tuple[Seq, int]]) -> None:
        """Tell kvref what is computed now, where it makes use of it."""
        if self._told:
            for seq, _ in batch:
                self.manager.computed(seq.id)

    def block_table(self, seq: Seq) -> Sequence[int | None]:
        """The row."""
        row = self.manager.block_table(seq.id)
        return with_nulls(row) if kvref.NULL in row else row

    def null_block(self) -> int | None:
        """The block that kvref has set aside for what a window leaves behind."""
        return self.manager.null_block

    def num_free_blocks(self, device: Device) -> int:
        """Free blocks of the device."""
        return self.manager.num_free(DEVICES[device])

    def refcount(self, device: Device, block: int) -> int:
        """Owners of the block."""
        return self.manager.refcount(DEVICES[device], block)

    def free_blocks(self, device: Device) -> tuple[int, ...]:
        """The free list."""
        return self.manager.free_blocks(DEVICES[device])

    def row_device(self, seq: Seq) -> Device:
        """Where kvref has the sequence."""
        swapped = self.manager.status(seq.id) is kvref.Status.SWAPPED
        return Device.CPU if swapped else Device.GPU
