"""Which fault classes a broken law points to: read from the law's own source, where the specification names them."""

from __future__ import annotations

import re

from kvspec.laws import CATALOGUE


def likely_classes(law_id: str) -> list[str]:
    """The fault classes (C01 to C34, see docs/faults.md) that the law's source names."""
    return re.findall(r"\bC\d\d\b", CATALOGUE[law_id].source)
