"""The features of a trace: what it used that may be the cause, as words for fingerprints and fault classes.

Knows operations and the shape of the group that an operation is about. It must not depend on numbers, so that the same
cause has the same features in any configuration.
"""

from __future__ import annotations

from collections.abc import Sequence

from kvconform.ledger import Ledger
from kvconform.rows import NULL
from kvconform.world import World
from kvspec.vocabulary import (
    Allocate,
    Append,
    Config,
    Evict,
    Fork,
    Free,
    Operation,
    Preempt,
    Status,
    SwapIn,
    SwapOut,
)

_BY_KIND: dict[type[Operation], str] = {Fork: "fork", SwapOut: "swap", Preempt: "preempt"}


def used(operations: Sequence[Operation], config: Config) -> frozenset[str]:
    """What the operations have used that may matter; the last one is the one under judgement."""
    found = {_BY_KIND[type(op)] for op in operations if type(op) in _BY_KIND}
    if any(isinstance(op, Allocate) and len(op.seqs) > 1 for op in operations):
        found.add("group")
    if any(getattr(op, "lookahead", 0) for op in operations):
        found.add("lookahead")
    if config.watermark_blocks:
        found.add("watermark")
    if config.prefix_caching:
        found.add("prefix-caching")
    if config.sliding_window is not None:
        found.add("window")
    if config.kv_groups > 1:
        found.add("kv-groups")
    if any(getattr(op, "chunk", None) is not None for op in operations):
        found.add("chunk")
    if config.colliding_hashes:
        found.add("colliding-hashes")
    if config.passes_per_tick:
        found.add("coarse-clock")
    if any(getattr(op, "match", False) for op in operations):
        found.add("match")
    if any(getattr(op, "external", 0) for op in operations):
        found.add("external")
    if any(getattr(op, "drafts", 0) for op in operations):
        found.add("drafts")
    if any(isinstance(op, Evict) for op in operations):
        found.add("evict")
    last = operations[-1] if operations else None
    if getattr(last, "force", False):
        found.add("forced")
    if isinstance(last, Free) and any(op == last for op in operations[:-1]):
        found.add("ended")
    return frozenset(found)


def shape(op: Operation, world: World, ledger: Ledger) -> frozenset[str]:
    """The shape of the group that an operation is about, before it is carried out."""
    if not isinstance(op, (Append, SwapOut, SwapIn)) or op.group not in world.groups:
        return frozenset()
    group, found = world.groups[op.group], set()
    for seq in group.seqs:
        row = ledger.rows.get(seq.id)
        if row is None or seq.status is Status.ENDED:
            continue
        if seq.unseen:
            found.add("unseen")
        if len(row.blocks) > ledger.layout.length(seq.upto):
            found.add("lookahead-tail")
        if any(len(ledger.owners[row.device][block]) > 1 for block in row.blocks if block != NULL):
            found.add("shared")
    return frozenset(found)
