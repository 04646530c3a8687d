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
    wrong manager. driven_by: the adapter of the reference that drives it, None for the one of its interface.
    """

    name: str
    fault_class: str
    laws: tuple[str, ...]
    what: str
    resembles: str
    manager: type[kvref.BlockManager] | type[kvref.RequestManager]
    driven_by: type[ReferenceAdapter] | None = None

    @property
    def face(self) -> str:
        """The target that it is a wrong version of."""
        return self._face.name

    @property
    def _face(self) -> type[ReferenceAdapter] | type[TryReference]:
        by_interface = TryReference if issubclass(self.manager, kvref.RequestManager) else ReferenceAdapter
        return self.driven_by or by_interface

    def adapter(self) -> Callable[[], Adapter]:
        """A factory of adapters that drive the wrong manager, by the face of the reference that it has."""
        members = {"manager_class": self.manager, "name": f"fault:{self.name}", "__doc__": self.what}
        return type("FaultAdapter", (self._face,), members)
