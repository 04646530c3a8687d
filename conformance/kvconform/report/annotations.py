"""GitHub annotations: workflow commands, one a line, on standard output. Knows the report only.

GitHub shows ten of a kind a step and drops the rest in silence: the most important come first, and the last one says
how many more there are.
"""

from __future__ import annotations

from typing import Literal

from kvconform.report import plain
from kvconform.report.model import Report
from kvconform.report.outcomes import Case, binding, cases, counted

Kind = Literal["error", "warning", "notice"]

SHOWN = 10
"""Annotations of one kind that GitHub shows of a step."""

LONGEST = 4_000
"""Characters of one annotation: more is cut off by GitHub."""


def render(report: Report) -> str:
    """Errors for what decides the verdict, warnings for what else is broken, a notice where the target conforms."""
    found = cases(report)
    told: dict[Kind, list[tuple[str, str]]] = {"error": [], "warning": [], "notice": []}
    for case in sorted(found, key=lambda case: _rank(case, report)):
        if case.outcome in ("failed", "error") or case.status == "violated":
            told["error" if binding(case, report) else "warning"] += _annotations(case, report)
    if report.verdict == "conforms":
        told["notice"].append((f"kvconform: {plain.name(report)} conforms", counted(report)))
    return "".join(command(kind, *line) for kind, lines in told.items() for line in _shown(lines))


def _rank(case: Case, report: Report) -> int:
    """What is broken before what was not exercised; the rest as in the report."""
    return 0 if case.status == "violated" else 1 if not case.level else 2


def _annotations(case: Case, report: Report) -> list[tuple[str, str]]:
    title = f"{case.id} ({case.level})" if case.level else f"kvconform: {plain.name(report)}"
    return [(title, f"{plain.facts(v)}\n\n{plain.situation(v)}\n\nreproduce {v.reproduce}") for v in case.findings] or [
        (title, case.reason)
    ]


def _shown(lines: list[tuple[str, str]]) -> list[tuple[str, str]]:
    if len(lines) <= SHOWN:
        return lines
    rest = lines[SHOWN - 1 :]
    titles = ", ".join(dict.fromkeys(title for title, _ in rest))
    return [*lines[: SHOWN - 1], (f"kvconform: {len(rest)} more", f"see the report: {titles}")]


def command(kind: Kind, title: str, message: str) -> str:
    """One annotation as a workflow command, with its line end."""
    return f"::{kind} title={_property(title)}::{_data(plain.cut(message, LONGEST))}\n"


def _data(text: str) -> str:
    return plain.printable(text).replace("%", "%25").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
