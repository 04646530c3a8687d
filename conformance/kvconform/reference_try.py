"""The adapter of kvref's second face, which is asked by trying. An example of an adapter in that style.

Knows kvref's interface; the kit treats it like any third party's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import kvref
from kvconform.adapter import Adapter, Capabilities, Group, Seq
from kvconform.reference import colliding, with_nulls
from kvspec.vocabulary import Config, Device


class TryReference(Adapter):
    """kvref's `RequestManager`: requests of one sequence, no swap, no fork."""

    name: ClassVar[str] = "reference-try"
    forkable: ClassVar[bool] = True
    capabilities = Capabilities(
        admission="try",
        prefix_caching=True,
        extra_keys=True,
        window=True,
        colliding_hashes=True,
        lookahead=True,
        allocate_lookahead="provided",
        watermark=True,
        chunks=True,
        drafts=True,
    )
    bad_input = (kvref.UnknownSequence, kvref.DuplicateSequence, kvref.WrongStatus, kvref.InvalidRequest)

    manager_class: ClassVar[type[kvref.RequestManager]] = kvref.RequestManager

    def start(self, config: Config) -> None:
        """A fresh manager."""
        self.manager = self.manager_class(
            config.block_size,
            config.num_gpu_blocks,
            config.watermark_blocks,
            prefix_caching=config.prefix_caching,
            sliding_window=config.sliding_window,
            hash_block=colliding if config.colliding_hashes else None,
        )

    def allocate(self, group: Group) -> bool | int:
        """Admit, or bring back; how many tokens were cached."""
        (seq,) = group.waiting
        known = self.manager.match(seq.tokens, group.extra)
        upto = seq.reach(known)
        if group.admitted_before:
            cached = self.manager.readmit(seq.id, upto, group.lookahead)
        else:
            cached = self.manager.admit(seq.id, seq.tokens, upto, group.lookahead, group.extra)
        return False if cached is None else cached

    def append(self, seq: Seq) -> bool | None:
        """Cover unseen tokens and lookahead; nothing is ever copied."""
        upto = seq.reach(seq.upto)
        return None if self.manager.extend(seq.id, (), upto, seq.lookahead + seq.drafts) else False

    def sync(self, seq: Seq) -> None:
        """Tell kvref of tokens that a step produced; slots for them come with the append."""
        if seq.id in self.manager and len(seq.tokens) > self.manager.num_tokens(seq.id):
            self.manager.extend(seq.id, seq.tokens[self.manager.num_tokens(seq.id) :], upto=seq.upto)

    def step(self, batch: Sequence[tuple[Seq, int]]) -> None:
        """Tell kvref what is computed now."""
        for seq, _ in batch:
            self.manager.computed(seq.id)

    def preempt(self, group: Group) -> None:
        """Give the blocks up."""
        for seq in group.running:
            self.manager.preempt(seq.id)

    def free(self, seq: Seq) -> None:
        """End a request. kvref has never heard of one that was refused and then aborted."""
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

    def block_table(self, seq: Seq) -> Sequence[int | None]:
        """The row."""
        return with_nulls(self.manager.block_table(seq.id))

    def null_block(self) -> int | None:
        """The block that kvref has set aside for what a window leaves behind."""
        return self.manager.null_block

    def num_free_blocks(self, device: Device) -> int:
        """Free blocks, cached ones among them."""
        return self.manager.num_free()

    def refcount(self, device: Device, block: int) -> int:
        """Owners of the block."""
        return self.manager.refcount(block)

    def free_blocks(self, device: Device) -> tuple[int, ...]:
        """The free list."""
        return self.manager.free_blocks()
