"""The report as one HTML file that needs no network, no server and nothing beside it.

Knows the report's document, and the page's parts in `page/`, which are put into it here: template, styles, script. The
script draws everything from the document, which is embedded as data. It must not know how a check is run.

What an adapter or an engine has said may be in the document and is not to be trusted: it is embedded so that it cannot
end the element that holds it, the script shows it as text only, and the page's policy lets nothing run but this script
and nothing be fetched.
"""

from __future__ import annotations

import base64
import hashlib
import re
from html import escape
from importlib.resources import files

import msgspec

from kvconform.report.compact import compact
from kvconform.report.model import Report

SCRIPTS = ("dom.js", "story.js", "drawing.js", "findings.js", "tables.js", "main.js")
"""The script's parts, in the order in which they are joined."""

UNSAFE = {ord(char): f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"}
"""What could end a script element, begin a comment in it, or end a line: as escapes that JSON knows."""

WORDS = {
    "conforms": "conforms",
    "violates": "violates",
    "inconclusive": "inconclusive",
    "error": "could not be driven",
}


def render(report: Report) -> str:
    """The page."""
    style, script = part("page.css"), "\n".join(part(name) for name in SCRIPTS)
    target = f"{report.target.name} {report.target.version}".strip()
    policy = (
        f"default-src 'none'; script-src {_digest(script)}; style-src {_digest(style)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    pieces = {
        "policy": policy,
        "title": escape(f"{target} {WORDS[report.verdict]} · kvconform"),
        "style": style,
        "plain": _plain(report, target),
        "data": embedded(compact(report)),
        "script": script,
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda found: pieces[found[1]], part("page.html"))


def part(name: str) -> str:
    """One of the page's parts."""
    return (files("kvconform.report") / "page" / name).read_text(encoding="utf-8")


def embedded(data: object) -> str:
    """Data as JSON that is safe inside a script element."""
    return msgspec.json.encode(data).decode().translate(UNSAFE)


def _digest(text: str) -> str:
    """What a policy calls an inline element with this text."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _plain(report: Report, target: str) -> str:
    """For a reader whose browser runs no script: the verdict and the findings in words."""
    lines = [f"<h1>{escape(target)}: {escape(WORDS[report.verdict])}</h1>"]
    lines += ["<p>The drawings, the law table and the coverage need JavaScript, which is off here.</p>"]
    for violation in report.violations:
        steps = "".join(f"<li>{escape(told)}</li>" for told in violation.story)
        lines += [
            f"<h2>{escape(violation.law)} ({escape(violation.level)})</h2>",
            f"<p>{escape(violation.statement)}</p>",
            f"<p>With {escape(violation.setting)}:</p><ol>{steps}</ol>",
            f"<p><strong>{escape(violation.message)}</strong></p>",
            f"<p>Expected: {escape(violation.expected)}<br>Observed: {escape(violation.observed)}</p>",
            f"<pre>{escape(violation.reproduce)}</pre>",
        ]
    return "\n".join(lines)
