"""What a fault is: a block manager that is wrong on purpose, and the law under which it must be found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import kvref
from kvconform.adapter import Adapter
from kvconform.reference import ReferenceAdapter
from kvconform.reference_try import TryReference


@dataclass(frozen=True)
class Fault:
    """One wrong manager. name: `fault:NAME` on the command line. fault_class: see docs/faults.md. laws: every one of
    them must be reported (others may be). what: what it does wrong. resembles: where the like was seen. manager: the
    wrong manager.
    """

    name: str
    fault_class: str
    laws: tuple[str, ...]
    what: str
    resembles: str
    manager: type[kvref.BlockManager] | type[kvref.RequestManager]

    @property
    def face(self) -> str:
        """The target that it is a wrong version of."""
        return "reference-try" if issubclass(self.manager, kvref.RequestManager) else "reference"

    def adapter(self) -> Callable[[], Adapter]:
        """A factory of adapters that drive the wrong manager, by the face of the reference that it has."""
        face = TryReference if self.face == TryReference.name else ReferenceAdapter
        members = {"manager_class": self.manager, "name": f"fault:{self.name}", "__doc__": self.what}
        return type("FaultAdapter", (face,), members)
