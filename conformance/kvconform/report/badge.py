"""A badge, as the endpoint of shields.io reads it: one line and a colour. Knows the report only."""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec

from kvconform.report.model import Report
from kvconform.report.outcomes import cases
from kvconform.report.story import many

COLOURS = {"conforms": "brightgreen", "violates": "red", "inconclusive": "yellow", "error": "lightgrey"}


def render(report: Report) -> str:
    """The report as a badge."""
    badge: dict[str, Any] = {
        "schemaVersion": 1,
        "label": "kvconform",
        "message": _message(report),
        "color": COLOURS[report.verdict],
    }
    if report.verdict in ("violates", "error"):
        badge["isError"] = True  # the address of a badge may not paint it green
    return msgspec.json.encode(badge).decode() + "\n"


def _message(report: Report) -> str:
    if report.verdict == "conforms":
        held = sum(law.verdict == "holds" for law in report.laws)
        known = sum(law.verdict == "known" for law in report.laws)
        return f"{many(held, 'law')} hold{'s' if held == 1 else ''}{f', {known} known' if known else ''}"
    broken = Counter(case.level for case in cases(report) if case.outcome == "failed" and case.level)
    if report.verdict == "violates" and broken:
        return f"{', '.join(f'{count} {level}' for level, count in broken.items())} violated"
    return report.verdict
