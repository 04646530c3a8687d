"""Which findings are told together, so that one fault is read once. Knows the report only.

Findings on one trace are one case: one story that breaks several laws. Cases that share a law, or a trace with one
that does, are a group: most likely one fault. The smallest case of a group stands for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec

from kvconform.report.model import ViolationLine


@dataclass
class Case:
    """Findings on one trace, in the order of the report. numbers: their places in the report, from 1."""

    numbers: list[int] = field(default_factory=list)
    findings: list[ViolationLine] = field(default_factory=list)

    @property
    def laws(self) -> set[str]:
        """The laws that it breaks."""
        return {finding.law for finding in self.findings}


def cases(violations: Sequence[ViolationLine]) -> list[Case]:
    """The findings, those on one trace together, in the order of the report."""
    found: dict[bytes, Case] = {}
    for number, violation in enumerate(violations, 1):
        trace = msgspec.json.encode((violation.config, violation.trace, violation.probe), order="sorted")
        case = found.setdefault(trace, Case())
        case.numbers.append(number)
        case.findings.append(violation)
    return list(found.values())


def groups(violations: Sequence[ViolationLine]) -> list[list[Case]]:
    """The cases that belong together, each group in the order of the report: its first case is its smallest."""
    found: list[list[Case]] = []
    for case in cases(violations):
        akin = [group for group in found if any(case.laws & other.laws for other in group)]
        found = [group for group in found if group not in akin]
        found.append([*(other for group in akin for other in group), case])
    for group in found:
        group.sort(key=lambda case: case.numbers)
    return sorted(found, key=lambda group: group[0].numbers)
