"""What holds in every state: the proved invariant by its own functions, and the same again by counting.

The two must agree: what is inductive says that these states cannot be otherwise, and what is counted that the invariant
says enough. Must not know how a state was reached.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from kvspec.algebra import INTS
from kvspec.exploring.judging import Disagreement, Tally, require
from kvspec.exploring.sight import DeviceSight, Sight, cells, wrong_slots
from kvspec.model.cache import CONTENTS, Cache
from kvspec.model.manager import Manager, Seq, lies_on
from kvspec.model.pool import INVARIANT, Conjunct
from kvspec.vocabulary import Device, Status

NEVER_USED = (0, 0)
"""An entry of no sequence."""


def check_state(sight: Sight, tally: Tally) -> None:
    """Everything that must hold of it. Raises Disagreement where something does not."""
    state = sight.state
    live = {seq.id for seq in state.seqs}
    for device, seen in sight.devices.items():
        cache = state.cache(device)
        require(live.issuperset(seen.tables), f"a sequence that is over has a table on the {device.value}")
        check_invariant(cache, device)
        _count_blocks(cache, seen, tally)
        _meet_strangers(state, cache, seen, tally)
    for seq in state.seqs:
        _check_table(state, seq, sight, tally)
        _check_extent(seq, sight)
        tally.judge("data.read-back", wrong_slots(sight, seq), len(sight.read[seq.id]))


# -- what is proved -------------------------------------------------------------------------------------


def check_invariant(cache: Cache, device: Device) -> None:
    """Each conjunct of the two invariants, of every entry that was ever used and one that was not, of every number that
    there is and one beyond.
    """
    entries = [*cells(cache.pool.tab), NEVER_USED]
    most_owners = max(cells(cache.pool.ref).values(), default=0)
    numbers = range(-1, max(cache.pool.size, most_owners, cache.block_size) + 1)
    for conjunct in INVARIANT:
        _check_conjunct(conjunct, cache.pool, entries, numbers, device)
    for conjunct in CONTENTS:
        _check_conjunct(conjunct, cache, entries, numbers, device)


def _check_conjunct(
    conjunct: Conjunct, subject: object, entries: Sequence[object], numbers: Sequence[object], device: Device
) -> None:
    for things in itertools.product(*(entries if kind == "entry" else numbers for kind in conjunct.over)):
        if not conjunct.holds(INTS, subject, *things):
            where = f"on the {device.value}, of {things}"
            raise Disagreement(f"the invariant {conjunct.name} is broken {where}: {conjunct.words}")


# -- what is counted ------------------------------------------------------------------------------------


def _count_blocks(cache: Cache, seen: DeviceSight, tally: Tally) -> None:
    held, free, total = len(seen.owners), cache.pool.free, cache.pool.size
    tally.judge("accounting.conservation", free, held, total)
    tally.judge("accounting.no-leak", free, held, total)
    for block in range(total):
        owners, listed = len(seen.owners.get(block, ())), seen.free.count(block)
        for law in ("accounting.refcount", "accounting.free-exact"):
            tally.judge(law, cache.pool.ref[block], owners, listed, int(owners > 0))
    for row in seen.rows.values():
        for block in row:
            tally.judge("accounting.valid-ids", block, 0, total - 1, row.count(block))


def _meet_strangers(state: Manager, cache: Cache, seen: DeviceSight, tally: Tally) -> None:
    """Who else names a slot that one of them has written, and must read something else there."""
    size, seqs = cache.block_size, {seq.id: seq for seq in state.seqs}
    for entries in seen.owners.values():
        if len(entries) < 2:
            continue
        for slot in range(size):
            written = any(slot < cache.computed[entry] for entry in entries)
            places = [(seqs[seq], index * size + slot) for seq, index in entries]
            prefixes = {seq.tokens[: place + 1] for seq, place in places if place < seq.seen}
            tally.judge("table.no-alias", len(prefixes) - 1 if written and prefixes else 0)


def _check_table(state: Manager, seq: Seq, sight: Sight, tally: Tally) -> None:
    """It lies where the status says, and names held blocks wherever a position is live."""
    home = lies_on(seq)
    for device, seen in sight.devices.items():
        cache, entries = state.cache(device), seen.tables.get(seq.id, [])
        expected = seq.table() if device is home else []
        require(entries == expected, f"sequence {seq.id} has the table {entries} on the {device.value}, not {expected}")
        for entry in entries:
            tally.judge("table.one-device", device is Device.GPU, seq.status is Status.RUNNING)
            if entry[1] * cache.block_size < seq.seen:
                block = cache.pool.tab[entry]
                tally.judge("table.live", seen.free.count(block), cache.pool.ref[block])


def _check_extent(seq: Seq, sight: Sight) -> None:
    """What is computed is no more than what is covered; and all of it, of a running sequence between two steps."""
    computed = len(sight.read[seq.id])
    require(computed <= seq.seen <= len(seq.tokens), f"sequence {seq.id} reads {computed} of {seq.seen} covered tokens")
    require(seq.seen == 0 or lies_on(seq) is not None, f"sequence {seq.id} has covered tokens and no table")
    settled = seq.status is not Status.RUNNING or seq.scheduled or computed == seq.seen
    require(settled, f"the KV of sequence {seq.id} is lost: it reads {computed} of {seq.seen} covered tokens")
