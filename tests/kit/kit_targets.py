"""Adapters to be named on the command line: wrong in ways that are the adapter's, or the engine's, or nobody's.

Knows: the toy. Must not know: the command line.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

from kit_toy import GPU, BareAdapter, ToyAdapter

from kvconform.adapter import Adapter, Group, Seq
from kvspec.vocabulary import Config, Device


class Toy(ToyAdapter):
    """Right."""

    version = "1.2"


class Bare(BareAdapter):
    """Right, and bare."""


class Lazy(ToyAdapter):
    """Admits nobody, and is not asked to go on all the same."""

    capabilities = replace(ToyAdapter.capabilities, failures="unspecified")

    def can_allocate(self, group: Group) -> bool:
        return False


class OnlyForkRaises(ToyAdapter):
    """Everything but fork works."""

    def fork(self, parent: Seq, child: Seq) -> None:
        raise NameError("name 'src_block_tabel' is not defined")


class TwoFaults(ToyAdapter):
    """A crash in one operation, and another law broken in another one."""

    def fork(self, parent: Seq, child: Seq) -> None:
        raise NameError("name 'src_block_tabel' is not defined")

    def can_swap_out(self, group: Group) -> bool:
        return True


class TakesAnyInput(ToyAdapter):
    """Breaks one SHOULD law, robust.bad-input."""

    def allocate(self, group: Group) -> bool | int | dict[int, int] | None:
        for seq in group.waiting:
            self.free(seq)
        return super().allocate(group)


class KeepsOneBack(ToyAdapter):
    """Breaks one MAY law, admission.precise-append."""

    def can_append(self, group: Group) -> Any:
        growth = self.growth(group.running, group.lookahead)
        others = len(self.toy.rows) > len(group.running)
        return False if others and growth == len(self.toy.free[GPU]) > 0 else super().can_append(group)


# -- the adapter's mistakes: each names the method and what it answered ---------------------------------------------


class GuardAnswersNone(ToyAdapter):
    def can_swap_in(self, group: Group) -> Any:
        return None


class TableIsNone(ToyAdapter):
    def block_table(self, seq: Seq) -> Any:
        return None


class TableOfStrings(ToyAdapter):
    def block_table(self, seq: Seq) -> Any:
        return ["0"]


class CountIsAString(ToyAdapter):
    def num_free_blocks(self, device: Device) -> Any:
        return "4"


class CountIsABool(ToyAdapter):
    def num_free_blocks(self, device: Device) -> Any:
        return True


class CopiesAreANumber(ToyAdapter):
    def append(self, seq: Seq) -> Any:
        super().append(seq)
        return 7


class MovesAreTriples(ToyAdapter):
    def swap_out(self, group: Group) -> Any:
        super().swap_out(group)
        return [(1, 2, 3)]


class RefcountIsNone(ToyAdapter):
    def refcount(self, device: Device, block: int) -> Any:
        return None


class FreeSetIsNone(ToyAdapter):
    def free_blocks(self, device: Device) -> Any:
        return None


class AnnouncedIsNone(ToyAdapter):
    def announced_row(self, seq: Seq) -> Any:
        return None


class RowDeviceIsNone(ToyAdapter):
    def row_device(self, seq: Seq) -> Any:
        return None


class StartRaises(ToyAdapter):
    def start(self, config: Config) -> None:
        raise ValueError("no GPU here")


class StartRaisesForNothing(ToyAdapter):
    """An empty pool is more than it can take."""

    def start(self, config: Config) -> None:
        if not config.num_gpu_blocks:
            raise ValueError("at least one block")
        super().start(config)


class CannotBeMade(ToyAdapter):
    def __init__(self) -> None:
        raise RuntimeError("no licence")


class HalfASwap(BareAdapter):
    def swap_out(self, group: Group) -> None:
        return None


class NoTable(Adapter):
    """Most of what is required is missing."""

    def start(self, config: Config) -> None:
        return None

    def allocate(self, group: Group) -> None:
        return None


class ExitsInAnOperation(ToyAdapter):
    def fork(self, parent: Seq, child: Seq) -> None:
        raise SystemExit(0)


# -- observations that raise: the manager's crash, not the kit's ----------------------------------------------------


class RefcountRaises(ToyAdapter):
    def refcount(self, device: Device, block: int) -> int:
        if super().refcount(device, block) > 1:
            raise KeyError(block)
        return super().refcount(device, block)


class FreeSetRaises(ToyAdapter):
    def free_blocks(self, device: Device) -> list[int]:
        if self.toy.rows:
            raise KeyError("free list")
        return super().free_blocks(device)


class RowDeviceRaises(ToyAdapter):
    def row_device(self, seq: Seq) -> Device:
        raise KeyError(seq.id)


class AnnouncedRowRaises(ToyAdapter):
    def announced_row(self, seq: Seq) -> list[int]:
        raise KeyError(seq.id)


class TableRaises(ToyAdapter):
    def block_table(self, seq: Seq) -> list[int]:
        if len(seq.tokens) > 3:
            raise KeyError(seq.id)
        return super().block_table(seq)


class CountRaises(ToyAdapter):
    def num_free_blocks(self, device: Device) -> int:
        if len(self.toy.rows) > 1:
            raise KeyError(device)
        return super().num_free_blocks(device)


class Interrupted(ToyAdapter):
    """Somebody presses Ctrl-C when it is started for the fifth time."""

    lives = 0

    def start(self, config: Config) -> None:
        type(self).lives += 1
        if type(self).lives == 5:
            raise KeyboardInterrupt
        super().start(config)


class WrongAndInterrupted(Lazy):
    """A MUST law is broken (can_allocate takes blocks) before somebody presses Ctrl-C."""

    lives = 0

    def start(self, config: Config) -> None:
        type(self).lives += 1
        if type(self).lives == 40:
            raise KeyboardInterrupt
        super().start(config)

    def can_allocate(self, group: Group) -> bool:
        if self.toy.free[GPU]:
            self.toy.take(GPU, 1)
        return False


def number() -> int:
    """No adapter."""
    return 3


def leaves() -> None:
    """Ends the process."""
    raise SystemExit(0)


made = Toy()


class Hangs(ToyAdapter):
    """Never comes back from a guard."""

    def can_allocate(self, group: Group) -> bool:
        while True:
            time.sleep(0.01)


class Unspeakable(Exception):
    """An error that cannot be told."""

    def __str__(self) -> str:
        raise RuntimeError("no message")


class ForkSaysAnything(ToyAdapter):
    """Fork raises an error whose message no file can hold, no terminal should show, and a CI would obey."""

    def fork(self, parent: Seq, child: Seq) -> None:
        raise ValueError("\udcff \x00 \x1b[31m ]]> </failure> ``` | \r\n::stop-commands::x")


class ForkRaisesTheUnspeakable(ToyAdapter):
    """Fork raises an error without a message."""

    def fork(self, parent: Seq, child: Seq) -> None:
        raise Unspeakable
