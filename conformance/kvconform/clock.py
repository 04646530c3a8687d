"""The engine's clock, by which a manager may order what was used when: as fine, or as coarse, as a configuration says.

Knows operations and passes. Must not know who reads the clock, or what for.
"""

from __future__ import annotations

from typing import NamedTuple

from kvspec.vocabulary import Operation, Step

STILL = 1000
"""Passes to a tick of a clock that stands still for as long as most runs last."""


class Moment(NamedTuple):
    """When something happened. tick: what the clock showed. operation: how many operations there had been, by which
    moments can be told apart that have one tick. Later moments are greater.
    """

    tick: int = 0
    operation: int = 0


class Clock:
    """passes_per_tick: so many passes, each with the operations that schedule it, have one tick; 0 where each operation
    has one of its own.
    """

    def __init__(self, passes_per_tick: int) -> None:
        self.now = Moment()
        self._passes_per_tick = passes_per_tick
        self._passes = 0
        self._stepping = False

    def begin(self, op: Operation) -> None:
        """Another operation begins. What follows a step belongs to the next pass."""
        operation = self.now.operation + 1
        self._passes += self._stepping
        self._stepping = isinstance(op, Step)
        self.now = Moment(1 + self._passes // self._passes_per_tick if self._passes_per_tick else operation, operation)
