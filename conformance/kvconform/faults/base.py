"""What a fault is: a block manager that is wrong on purpose, and the law under which it must be found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import kvref
from kvconform.adapter import Adapter
from kvconform.faults.clocked import ClockedReference
from kvconform.reference import ReferenceAdapter
from kvconform.reference_try import TryReference

RightAdapter = ReferenceAdapter | TryReference
RIGHT: tuple[type[RightAdapter], ...] = (ClockedReference, ReferenceAdapter, TryReference)
"""The adapters of managers that faults are wrong versions of; of a class and what it is derived from, the class."""


@dataclass(frozen=True)
class Fault:
    """One wrong manager. name: `fault:NAME` on the command line. fault_class: see docs/faults.md. laws: every one of
    them must be reported (others may be). what: what it does wrong. resembles: where the like was seen. manager: the
    wrong manager. driven_by: the adapter of the right one, None for the usual one of its class.
    """

    name: str
    fault_class: str
    laws: tuple[str, ...]
    what: str
    resembles: str
    manager: type[kvref.BlockManager] | type[kvref.RequestManager]
    driven_by: type[ReferenceAdapter] | None = None

    @property
    def right(self) -> type[RightAdapter]:
        """The adapter of what it is a wrong version of."""
        return self.driven_by or next(right for right in RIGHT if issubclass(self.manager, right.manager_class))

    def adapter(self) -> Callable[[], Adapter]:
        """A factory of adapters that drive the wrong manager as the right one is driven."""
        members = {"manager_class": self.manager, "name": f"fault:{self.name}", "__doc__": self.what}
        return type("FaultAdapter", (self.right,), members)
