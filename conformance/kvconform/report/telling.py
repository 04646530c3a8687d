"""One finding as a person reads it: the law, the story, what was expected, who owned what, and how to see it again.

Knows the report's findings only. A finding takes about a screen; findings on one trace are told once.
"""

from __future__ import annotations

import shlex
import textwrap
from collections import Counter
from collections.abc import Sequence

from rich.text import Text

from kvconform.faults.classes import CLASSES
from kvconform.report import ownership
from kvconform.report.model import ViolationLine

FIRST, LAST = 3, 11
"""Operations of a long story that are told: so many of its beginning, so many of its end."""

CLASSES_TOLD = 3
"""Fault classes that are told, those that most of the broken laws point to."""

WIDTH = 116

Lines = list[Text]


def case(findings: Sequence[ViolationLine], *, whole: bool = False) -> Lines:
    """Findings on one trace, line by line. whole: every operation of a long story."""
    first = findings[0]
    laws = {finding.law: finding for finding in findings}
    lines = [*([] if len(laws) > 1 else [*law(first), Text()]), *story(first, whole=whole)]
    for name, stated in laws.items():
        if len(laws) > 1:
            lines += [Text(), Text(f"  {name} ({stated.level})", style="red"), *law(stated, "  ")]
        for finding in findings:
            if finding.law == name:
                lines += [*([] if len(laws) > 1 else [Text()]), *verdict(finding)]
    drawn = owners(findings)
    if drawn:
        lines += [Text(), *drawn]
    return [*lines, Text(), *_last(findings)]


def law(finding: ViolationLine, head: str = "") -> Lines:
    """What is broken, in words."""
    return _wrapped(finding.statement, head, style="italic")


def story(finding: ViolationLine, *, whole: bool = True) -> Lines:
    """The configuration and the operations; an arrow points at the first illegal step."""
    total = len(finding.story)
    lines = [Text(f"  with {finding.setting}:")]
    for at, told in enumerate(finding.story, 1):
        if not whole and total > FIRST + LAST + 1 and FIRST < at <= total - LAST:
            if at == FIRST + 1:
                lines.append(Text(f"     .. {total - FIRST - LAST} more (the trace file has them all)", style="dim"))
            continue
        here = at == finding.step and not finding.probe
        lines += _wrapped(told, f"  {'->' if here else '  '} {at}. ", style="bold red" if here else "")
    if finding.then:
        lines += _wrapped(f"then {finding.then}", "  -> ", style="bold red")
    if not finding.story and not finding.then:
        lines += _wrapped("the manager is started, and nothing else", "  -> ", style="bold red")
    return lines


def verdict(finding: ViolationLine) -> Lines:
    """What is wrong, what was expected, and what was observed."""
    lines = _wrapped(finding.message, "  ", style="bold")
    lines += _wrapped(finding.expected, "  expected  ")
    return lines + _wrapped(finding.observed, "  observed  ")


def owners(findings: Sequence[ViolationLine]) -> Lines:
    """Who owns which block, before and after."""
    first = findings[0]
    shown = ownership.moments(first.frames, first.step, first.probe)
    marked = {block for finding in findings for block in finding.marked}
    return [] if shown is None else ownership.draw(shown, marked)


def _last(findings: Sequence[ViolationLine]) -> Lines:
    first = findings[0]
    named = Counter(name for finding in findings for name in finding.fault_class)
    classes = [name for name, _ in named.most_common(CLASSES_TOLD)]
    lines = (
        _wrapped(
            "; ".join(f"{CLASSES.get(name, 'a class that this version does not know')} ({name})" for name in classes),
            "  likely    ",
        )
        if classes
        else []
    )
    prints = ", ".join(finding.fingerprint for finding in findings if finding.fingerprint)
    if prints:
        lines.append(Text(f"  found by  {first.found_by}, fingerprint {prints}"))
    if first.reproduce:
        lines.append(Text(f"  reproduce {first.reproduce}"))
    if first.test_file:
        lines.append(Text(f"  test      pytest {shlex.quote(first.test_file)}"))
    return lines


def _wrapped(words: str, head: str, style: str = "") -> Lines:
    """Words after a head, further lines below the first."""
    told = [line for part in words.splitlines() or [""] for line in textwrap.wrap(part, WIDTH - len(head)) or [""]]
    return [Text.assemble(head if number == 0 else " " * len(head), (line, style)) for number, line in enumerate(told)]
