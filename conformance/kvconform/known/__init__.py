"""Known deviations: a ledger of what is broken, why it is let pass, and until when; see docs/known-deviations.md."""

from __future__ import annotations

from kvconform.known.file import Deviation, KnownFile, read, write
from kvconform.known.standing import Standing, stand, today

__all__ = ["Deviation", "KnownFile", "Standing", "read", "stand", "today", "write"]
