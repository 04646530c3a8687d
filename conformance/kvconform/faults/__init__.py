"""The fault catalogue: block managers that are wrong on purpose, by which the kit itself is tested.

Each is kvref with one decision changed. The kit does not know them: it finds them like anybody's faults.
"""

from __future__ import annotations

from kvconform.faults import blocks, cache, clocks, counting, guards, prefix, showing, window
from kvconform.faults.base import Fault

AREAS = guards, counting, blocks, showing, prefix, cache, clocks, window

CATALOGUE: dict[str, Fault] = {fault.name: fault for area in AREAS for fault in area.FAULTS}

__all__ = ["CATALOGUE", "Fault"]
