"""Markdown for a CI's step summary: the verdict, each finding folded, the laws. Knows the report only.

GitHub refuses a step summary of more than 1 MiB: what does not fit is left out, and the last line says so.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

from kvconform.report import plain
from kvconform.report.model import LawLine, Report, ViolationLine
from kvconform.report.outcomes import Case, cases, counted
from kvconform.report.story import many

MOST = 1_000_000
"""Bytes: a little less than the limit, as a step may have more to say."""

MARKS = {"conforms": "✅", "violates": "❌", "inconclusive": "⚠️", "error": "⚠️"}
LONGEST_CELL = 400


def render(report: Report, most: int = MOST) -> str:
    """The report as markdown of at most so many bytes: findings are left out first, the largest of them."""
    head, findings, tail = list(_head(report)), _findings(report), [_laws(report.laws), _seen(report)]
    left, kept = most - 100, set()  # 100 for the last line
    for part in [*head, *tail, *findings]:
        size = len(part.encode())
        if size <= left:
            left -= size
            kept.add(part)
    parts = [*head, *findings, *tail]
    dropped = sum(part not in kept for part in parts)
    text = "".join(part for part in parts if part in kept)
    if dropped:
        text += f"\n{many(dropped, 'part')} left out: more than fits here. The report has all.\n"
    return text


def _head(report: Report) -> Iterator[str]:
    yield f"## {MARKS[report.verdict]} kvconform: {_cell(plain.name(report))} {report.verdict}\n\n"
    yield f"{_cell(counted(report)).capitalize()}. {_ran(report)}\n"
    if report.notes:
        yield "\n" + "".join(f"- {_cell(note)}\n" for note in report.notes)
    yield from _open(cases(report))
    if report.violations:
        yield "\n### Findings\n\n"


def _findings(report: Report) -> list[str]:
    return [_finding(number, violation) for number, violation in enumerate(report.violations, 1)]


def _ran(report: Report) -> str:
    strict = ", strict" if report.strict else ""
    without = f", without {', '.join(report.without)}" if report.without else ""
    told = f"{report.operations:,} operations in {report.duration_s:.1f} s (profile {report.profile}"
    return _cell(f"{told}, seed {report.seed}{strict}{without}).")


def _open(found: list[Case]) -> Iterator[str]:
    """What keeps the run from a verdict, without its being broken."""
    lines = [f"| {_cell(case.id)} | {_cell(case.level)} | {_cell(case.reason)} |\n" for case in found if _is_open(case)]
    if lines:
        yield "\n### Not shown\n\n| law | level | why |\n|---|---|---|\n" + "".join(lines)


def _is_open(case: Case) -> bool:
    return case.outcome == "error" or (case.outcome == "failed" and not case.level)


def _finding(number: int, v: ViolationLine) -> str:
    title = f"{number}. {v.law} ({v.level}): {plain.cut(v.message, LONGEST_CELL)}"
    text = plain.finding(v)
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    body = f"{fence}text\n{text}\n{fence}"
    return f"<details><summary>{_inline(title)}</summary>\n\n{body}\n\n</details>\n\n"


def _laws(laws: list[LawLine]) -> str:
    rows = "".join(
        f"| {_cell(law.id)} | {_cell(law.level)} | {law.verdict} | {law.checks:,} | {_cell(law.reason)} |\n"
        for law in laws
    )
    head = "| law | level | verdict | checks | |\n|---|---|---|---:|---|\n"
    return f"\n<details><summary>All {many(len(laws), 'law')}</summary>\n\n{head}{rows}\n</details>\n"


def _seen(report: Report) -> str:
    guards = ", ".join(f"{g.guard} {g.outcome} {g.hits:,}" for g in report.coverage.guards) or "none asked"
    edges = report.coverage.edges
    reached = f"{edges.run:,} of {edges.total:,} vectors reached, {edges.unreachable:,} proved unreachable"
    used = {"kvconform": report.kvconform, **report.environment}
    versions = ", ".join(f"{key} {value}" for key, value in used.items())
    return f"\nGuards: {_cell(guards)}. Edges: {reached}.\n\n{_cell(versions)}\n"


def _line(text: str) -> str:
    return " ".join(plain.cut(plain.printable(text), LONGEST_CELL).split())


def _cell(text: str) -> str:
    """The text as it is, on one line, wherever markdown is read: in a table too."""
    return re.sub(r"([\\`*_{}\[\]<>#!|~@&$])", r"\\\1", _line(text))


def _inline(text: str) -> str:
    """The same, within HTML."""
    return html.escape(_line(text), quote=False)
