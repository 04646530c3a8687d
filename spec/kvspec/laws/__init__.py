"""The catalogue of laws, one file an area. `CATALOGUE` holds them all by id, in the order they are documented."""

from __future__ import annotations

from kvspec.laws import accounting, admission, data, prefix, robust, table, window
from kvspec.laws.base import CATALOGUE_VERSION, Law

CATALOGUE: dict[str, Law] = {
    law.id: law for area in (accounting, table, admission, data, prefix, window, robust) for law in area.LAWS
}

__all__ = ["CATALOGUE", "CATALOGUE_VERSION", "Law"]
