"""What a replay shows, as a report tells it. Knows replays and how findings are told."""

from __future__ import annotations

from rich.text import Text

from kvconform.recording import record
from kvconform.replay import Replayed
from kvconform.report import telling
from kvconform.report.build import violation_line
from kvconform.report.grouping import cases
from kvconform.report.model import ViolationLine


def lines(replayed: Replayed) -> list[ViolationLine]:
    """What is broken, as a report has it."""
    return [violation_line(raw, record(raw, replayed.start)) for raw in replayed.raws]


def told(replayed: Replayed) -> list[Text]:
    """What is broken, as a person reads it, line by line."""
    found: list[Text] = []
    for case in cases(lines(replayed)):
        found += [*([Text()] if found else []), *telling.case(case.findings, whole=True)]
    return found
