"""What a run looks like at one moment, as data to be drawn: pools block by block, sequences, the last operation.

Knows a run's world and ledger, and asks the adapter anew what it can show. It must not judge: a picture says what is
there, and works where the manager is damaged, as far as the manager still answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Literal, TypeVar

import msgspec

from kvconform.adapter import AdapterMistake, Seq
from kvconform.driver import Driver, Outcome, Unobservable
from kvconform.errors import said
from kvconform.ledger import Ledger, Row, home
from kvconform.rows import NULL, shown
from kvspec.vocabulary import Capability, Device, Status

MOST_DRAWN = 256
"""Blocks of a pool that are drawn one by one; of a larger pool only those that are not simply free."""

T = TypeVar("T")

State = Literal["free", "held", "cached", "null", "missing"]


class BlockPicture(msgspec.Struct, omit_defaults=True):
    """One physical block. state: free; held, by a row; cached, which is free or reclaimable and still has its content;
    null, the block that stands for none; missing, in no row and not in the free set, where that is shown. owners: the
    sequences whose rows name it, and no more: a row is drawn as it is, right or wrong. covered, written: slots (0 to
    block_size) that the owner with most tokens there has tokens, and KV, in; both 0 for blocks that are held for
    lookahead slots alone. listed: it is in the free set although a row names it. refcount: as the manager shows it.
    """

    block: int
    state: State
    owners: list[int] = []
    covered: int = 0
    written: int = 0
    listed: bool = False
    refcount: int | None = None


class PoolPicture(msgspec.Struct):
    """One device's pool. total: its blocks. free: how many the manager counts as free, None where it no longer says.
    blocks: all of them, or in a pool of more than 256 those that are not free.
    """

    total: int
    free: int | None
    blocks: list[BlockPicture]


class SequencePicture(msgspec.Struct):
    """One live sequence. tokens, covered, computed: how many it has, its block table covers, and have their KV. rows:
    its block table, one row for each group of layers; None for an entry that stands for no block.
    """

    id: int
    group: int
    status: str
    tokens: int
    covered: int
    computed: int
    device: str
    rows: list[list[int | None]]


class Picture(msgspec.Struct, omit_defaults=True):
    """One moment of a run. operation: the number (from 1) of the operation that led here, 0 for the start, None for
    what follows the last one. verdict, result, error: what became of it. copies, moves: what it ordered, as [source,
    target] on the GPU and [device, source, device, target].
    """

    operation: int | None
    pools: dict[str, PoolPicture]
    sequences: list[SequencePicture]
    verdict: str | None = None
    result: str = ""
    error: str = ""
    copies: list[list[int]] = []
    moves: list[list[Any]] = []


def draw(operation: int | None, driver: Driver, outcome: Outcome | None = None) -> Picture:
    """The picture of this moment: after the operation of this number."""
    rows = _rows(driver)
    picture = Picture(operation, _pools(driver, rows), [_sequence(driver, seq, row) for seq, row in rows])
    if outcome is not None:
        picture.verdict = outcome.verdict.value if outcome.verdict else None
        picture.result = outcome.result.value
        picture.error = said(outcome.error) if outcome.error is not None else ""
        picture.copies, picture.moves = outcome.copies, outcome.moves
    return picture


def _seen(look: Callable[[], T], otherwise: T) -> T:
    """What is seen; something else where the manager cannot be looked at."""
    try:
        return look()
    except (Unobservable, AdapterMistake):
        return otherwise


def _rows(driver: Driver) -> list[tuple[Seq, Row]]:
    """The rows of the sequences that have one, as the manager has them now; the last known one where it raises."""
    found = []
    for seq in driver.world.seqs.values():
        known = driver.ledger.rows.get(seq.id)
        if seq.status is Status.WAITING and known is None:
            continue
        row = _seen(lambda seq=seq: Row(home(seq), driver.row(seq)), known)  # type: ignore[misc]
        if row is not None:
            found.append((seq, row))
    return found


def _sequence(driver: Driver, seq: Seq, row: Row) -> SequencePicture:
    groups = driver.world.config.kv_groups
    rows = [shown(row.blocks[lane::groups]) for lane in range(groups)]
    extent = len(seq.tokens), seq.upto, seq.computed
    return SequencePicture(seq.id, seq.group.id, seq.status.value, *extent, row.device.value, rows)


def _pools(driver: Driver, rows: list[tuple[Seq, Row]]) -> dict[str, PoolPicture]:
    unseen: dict[Device, int] = {}
    counts = _seen(driver.counts, unseen)
    return {device.value: _pool(driver, device, counts.get(device), rows) for device in driver.devices}


def _pool(driver: Driver, device: Device, free: int | None, rows: list[tuple[Seq, Row]]) -> PoolPicture:
    config = driver.world.config
    numbers = driver.adapter.block_numbers(device, config)
    owners: dict[int, list[tuple[Seq, int]]] = {}
    for seq, row in rows:
        for index, block in enumerate(row.blocks):
            if row.device is device and block != NULL:
                owners.setdefault(block, []).append((seq, index))
    blocks: Iterable[int] = numbers
    if len(numbers) > MOST_DRAWN:
        blocks = sorted({*owners, *_cached(driver.ledger, device)})
    elif any(block not in numbers for block in owners):
        blocks = [*numbers, *sorted(block for block in owners if block not in numbers)]
    listed = _listed(driver, device)
    null = _seen(driver.null_block, None) if device is Device.GPU else None
    drawn = [_block(driver, device, block, owners.get(block, []), listed, null) for block in blocks]
    return PoolPicture(config.total(device), free, drawn)


def _block(
    driver: Driver,
    device: Device,
    block: int,
    owners: list[tuple[Seq, int]],
    listed: set[int] | None,
    null: int | None,
) -> BlockPicture:
    state: State = "free"
    if owners:
        state = "held"
    elif block == null:
        state = "null"
    elif block in _cached(driver.ledger, device):
        state = "cached"
    elif listed is not None and block not in listed:
        state = "missing"
    drawn = BlockPicture(block, state, sorted({seq.id for seq, _ in owners}), refcount=_refcount(driver, device, block))
    layout = driver.ledger.layout
    for seq, index in owners:
        start = layout.start(index)
        drawn.covered = max(drawn.covered, min(layout.size, seq.upto - start))
        drawn.written = max(drawn.written, min(layout.size, seq.computed - start))
    drawn.listed = state == "held" and listed is not None and block in listed
    return drawn


def _cached(ledger: Ledger, device: Device) -> Iterable[int]:
    """Blocks of the device with content that a prefix index may still know."""
    return ledger.cached.ends if ledger.cached is not None and device is Device.GPU else ()


def _listed(driver: Driver, device: Device) -> set[int] | None:
    """The free set, None where it is not shown."""
    if Capability.FREE_SET not in driver.capabilities:
        return None
    return _seen(lambda: set(driver.free_blocks(device)), None)


def _refcount(driver: Driver, device: Device, block: int) -> int | None:
    """The block's refcount, None where it is not shown."""
    seen: dict[int, int] = {}
    if Capability.REFCOUNTS in driver.capabilities:
        _seen(lambda: driver.see_refcounts(device, [block], seen), None)
    return seen.get(block)
