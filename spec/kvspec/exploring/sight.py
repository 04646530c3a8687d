"""A state as it can be seen from outside, counted by brute force: who names which block, what is free, what is read.

Looks at block tables, free lists and slots, never at what the model says of them: not at ranks, and at refcounts only
to compare. The canonical key of a state tells states apart up to the numbers of blocks. Must not know the invariant,
any guard, or how operations are performed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from kvspec.model.cache import Cache
from kvspec.model.columns import Column, Plain
from kvspec.model.manager import Entry, Manager, Seq, lies_on
from kvspec.vocabulary import Device

Key = tuple[Any, ...]


def cells(column: Column) -> Mapping[Any, Any]:
    """All that a column of plain numbers was ever given."""
    assert isinstance(column, Plain)
    return column.cells


class DeviceSight(NamedTuple):
    """One device. tables: by sequence, its entries there that name a block, in order; rows: the blocks they name.
    owners: by block, the entries that name it. free: the free list. key: all that but the numbers of blocks.
    """

    tables: Mapping[int, list[Entry]]
    rows: Mapping[int, list[int]]
    owners: Mapping[int, list[Entry]]
    free: list[int]
    key: Key


class Sight(NamedTuple):
    """One state. read: by sequence, what it finds in the slots that it reads, in order, on the device it lies on."""

    state: Manager
    devices: Mapping[Device, DeviceSight]
    read: Mapping[int, list[Any]]
    key: Key


def look(state: Manager, before: Sight | None = None) -> Sight:
    """See a state; where a device is as it was before, it need not be looked at again."""
    devices = {}
    for device in Device:
        cache = state.cache(device)
        known = before if before is not None and before.state.cache(device) is cache else None
        devices[device] = known.devices[device] if known is not None else _look_at(cache)
    read = {seq.id: _read(state, seq) for seq in state.seqs}
    return Sight(state, devices, read, _key(state, devices, read))


def _look_at(cache: Cache) -> DeviceSight:
    tables: dict[int, list[Entry]] = {}
    rows: dict[int, list[int]] = {}
    owners: dict[int, list[Entry]] = {}
    for entry, block in sorted(cells(cache.pool.tab).items()):
        if block >= 0:
            tables.setdefault(entry[0], []).append(entry)
            rows.setdefault(entry[0], []).append(block)
            owners.setdefault(block, []).append(entry)
    free = [cache.pool.perm[place] for place in range(cache.pool.free)]
    return DeviceSight(tables, rows, owners, free, _device_key(cache, owners, free))


def _read(state: Manager, seq: Seq) -> list[Any]:
    device = lies_on(seq)
    if device is None:
        return []
    cache = state.cache(device)
    return [cache.holds[cache.pool.tab[entry], slot] for entry in seq.table() for slot in range(cache.computed[entry])]


def wrong_slots(sight: Sight, seq: Seq) -> int:
    """Slots that the sequence reads and that hold another content than its own prefix there."""
    return sum(found != seq.tokens[: position + 1] for position, found in enumerate(sight.read[seq.id]))


def _key(state: Manager, devices: Mapping[Device, DeviceSight], read: Mapping[int, list[Any]]) -> Key:
    """What a state is, with its blocks numbered in the order in which the tables name them.

    Ranks, and the order of the free list, are ghosts: they decide which block is taken, never whether one is. Counts
    are part of it although tables decide them, so that a state in which they are wrong is no other state's double.
    """
    seqs = tuple((s.id, s.group, s.tokens, s.seen, s.status, s.scheduled, s.entries, *read[s.id]) for s in state.seqs)
    return seqs, state.ended, *(seen.key for seen in devices.values())


def _device_key(cache: Cache, owners: Mapping[int, list[Entry]], free: list[int]) -> Key:
    """Blocks in the order in which tables name them, each by its owners."""
    refs, computed = cache.pool.ref, cache.computed
    blocks = tuple((refs[block], *((*entry, computed[entry]) for entry in owners[block])) for block in owners)
    unnamed = sorted(ref for block, ref in cells(refs).items() if ref and block not in owners)
    return blocks, tuple(unnamed), len(free), len(owners.keys() & free)
