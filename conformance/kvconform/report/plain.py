"""Texts without colours, for every view that has no layout of its own. Knows the report only."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence

import msgspec
from rich.text import Text

from kvconform.report import telling
from kvconform.report.model import Report, ViolationLine

LONGEST = 20_000
"""Characters of one text that are shown: a manager's own error may be of any length."""

NO_LINE = re.compile(r"[^\n\t\x20-\uffff\U00010000-\U0010ffff]|[\x7f-\x9f\ud800-\udfff\u2028\u2029\ufffe\uffff]")
"""Characters that are no text: controls, halves of pairs, what XML forbids."""


def printable(text: str) -> str:
    """The text without what terminals obey, XML forbids or no encoding can hold: shown as escapes."""
    return NO_LINE.sub(lambda found: found[0].encode("unicode_escape").decode(), text.replace("\r\n", "\n"))


def cut(text: str, longest: int = LONGEST) -> str:
    """The text, its end left out where it is longer; says so."""
    return text if len(text) <= longest else f"{text[:longest]}... ({len(text) - longest:,} more characters)"


def name(report: Report) -> str:
    """The target with its version."""
    return f"{report.target.name} {report.target.version}".strip()


def finding(v: ViolationLine) -> str:
    """All of a finding: the law, what led there, what was seen, who owned what, and how to see it again."""
    return _text(telling.case([_short(v)], whole=True))


def situation(v: ViolationLine) -> str:
    """The configuration, and the operations that show the finding."""
    return _text(telling.story(_short(v)))


def facts(v: ViolationLine) -> str:
    """What is wrong, what was expected, and what was observed."""
    return _text(telling.verdict(_short(v)))


def _text(lines: Sequence[Text]) -> str:
    return textwrap.dedent("\n".join(printable(line.plain).rstrip() for line in lines))


def _short(v: ViolationLine) -> ViolationLine:
    """The finding without what is longer than anybody reads."""
    texts = {
        name: cut(getattr(v, name)) for name in ("message", "expected", "observed", "statement", "setting", "then")
    }
    return msgspec.structs.replace(v, story=[cut(line) for line in v.story], **texts)
