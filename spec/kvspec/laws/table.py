"""Laws of block tables: every live position has a slot of its own, where it should be, and nothing else moves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kvspec.algebra import Algebra
from kvspec.arithmetic import blocks_for, larger
from kvspec.laws.base import Law
from kvspec.vocabulary import Capability, Level


@dataclass(frozen=True)
class Row:
    """One row after an admission or an append. blocks, blocks_before: its entries after and before. slots: how many
    slots it must offer (tokens, and lookahead where provided).
    """

    blocks: Any
    slots: Any
    block_size: Any
    blocks_before: Any = 0


@dataclass(frozen=True)
class Place:
    """One row: whether the manager shows it on the GPU, and whether the sequence's status says so."""

    shown_on_gpu: Any
    running: Any


@dataclass(frozen=True)
class Entry:
    """One entry of a live position. times_free: how often the free set lists its block (0 where not observed).
    refcount: as shown (1 where not observed).
    """

    times_free: Any = 0
    refcount: Any = 1


@dataclass(frozen=True)
class Tenancy:
    """One entry of one row, or one slot that was just written. strangers: other live positions that name one of its
    written slots and must read another prefix there.
    """

    strangers: Any


@dataclass(frozen=True)
class Frame:
    """One row across an operation. named: the operation is about it. changed: it differs from before in an entry that
    no announced copy or equal content explains.
    """

    named: Any
    changed: Any


@dataclass(frozen=True)
class Announcement:
    """One row: entries in which it differs from what the manager's announcements add up to."""

    differences: Any


def covers(a: Algebra, row: Row) -> Any:
    """Enough slots."""
    return row.blocks * row.block_size >= row.slots


def tight(a: Algebra, row: Row) -> Any:
    """No more blocks than that needs, beyond what was there."""
    return row.blocks <= larger(a, row.blocks_before, blocks_for(a, row.slots, row.block_size))


def on_its_device(a: Algebra, place: Place) -> Any:
    """Running on the GPU, swapped on the CPU."""
    return place.shown_on_gpu == place.running


def names_a_held_block(a: Algebra, entry: Entry) -> Any:
    """Not free, and somebody's."""
    return a.all_of(entry.times_free == 0, entry.refcount >= 1)


def no_strangers(a: Algebra, tenancy: Tenancy) -> Any:
    """Whoever else names the slot must read the same KV there."""
    return tenancy.strangers == 0


def untouched(a: Algebra, frame: Frame) -> Any:
    """Not changed."""
    return a.negate(frame.changed)


def not_named(a: Algebra, frame: Frame) -> Any:
    """The operation is about other rows."""
    return a.negate(frame.named)


def reconstructed(a: Algebra, announcement: Announcement) -> Any:
    """No difference."""
    return announcement.differences == 0


LAWS = (
    Law(
        "table.covers",
        Level.MUST,
        "Every live position has a slot: after allocate the tokens admitted, after append the tokens and the lookahead "
        "slots asked for (up to the longest sequence).",
        Row,
        covers,
        breaking=Row(blocks=1, slots=5, block_size=4),
        source="PagedAttention section 4.2; a missing slot is a write outside the sequence's memory.",
    ),
    Law(
        "table.tight",
        Level.SHOULD,
        "A block table holds no more blocks than its slots need, beyond what it held before.",
        Row,
        tight,
        breaking=Row(blocks=3, slots=5, block_size=4),
        source="PagedAttention section 4.2: waste is limited to one block per sequence.",
    ),
    Law(
        "table.one-device",
        Level.MUST,
        "A running sequence's row lies on the GPU, a swapped one's on the CPU.",
        Place,
        on_its_device,
        breaking=Place(shown_on_gpu=True, running=False),
        needs=(Capability.SWAP, Capability.ROW_DEVICE),
        source="Fault class C20: a half-moved table mixes the numbers of two pools.",
    ),
    Law(
        "table.live",
        Level.MUST,
        "The entries of live positions name held blocks.",
        Entry,
        names_a_held_block,
        breaking=Entry(times_free=1, refcount=0),
        needs_any=(Capability.FREE_SET, Capability.REFCOUNTS),
        source="Fault class C04: a live table that names a freed block reads the next owner's KV.",
    ),
    Law(
        "table.no-alias",
        Level.MUST,
        "Two live positions share a written slot only where they must read the same KV there.",
        Tenancy,
        no_strangers,
        breaking=Tenancy(strangers=1),
        source="Silent wrong output; empty lookahead slots may be shared until one is written.",
    ),
    Law(
        "table.announced",
        Level.MUST,
        "What the manager told the engine (new blocks, copies, replacements) is enough to reconstruct each row.",
        Announcement,
        reconstructed,
        breaking=Announcement(differences=1),
        needs=(Capability.ANNOUNCES,),
        source="Engines that keep their own copy of the block table never read the manager's again.",
    ),
    Law(
        "table.frame",
        Level.MUST,
        "An operation changes only the rows it names, unless it announces a copy or an equal-content replacement.",
        Frame,
        untouched,
        applies=not_named,
        breaking=Frame(named=False, changed=True),
        source="Fault classes C03, C11: a row that changes behind the engine's back.",
    ),
)
