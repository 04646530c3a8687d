"""All that a report can be written as: a new view is one entry here. Knows the views; must not know the command line.

A view is a function from the report alone, so that it can be drawn again from a report on disk.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from kvconform.report import annotations as github
from kvconform.report import badge, ctrf, html, junit, markdown
from kvconform.report.model import Report


@dataclass(frozen=True)
class View:
    """One way to show a report. name: of its option. help: what the option writes. file: what it is called where nobody
    names it; None for what is printed on standard output, whose option is a flag. kept: whether every check leaves it
    in its `--out`.
    """

    name: str
    help: str
    render: Callable[[Report], str]
    file: str | None
    kept: bool = False


def as_json(report: Report) -> str:
    """The report itself."""
    return msgspec.json.format(msgspec.json.encode(report), indent=2).decode() + "\n"


ALL = (
    View("json", "Write the result as JSON.", as_json, "report.json", kept=True),
    View(
        "html",
        "Write the report as one HTML file, with drawings; no network needed.",
        html.render,
        "report.html",
        kept=True,
    ),
    View("junit", "Write JUnit XML: a test case a law.", junit.render, "junit.xml"),
    View("ctrf", "Write CTRF JSON: a test a law.", ctrf.render, "ctrf.json"),
    View("markdown", "Write markdown, as for a CI's step summary.", markdown.render, "summary.md"),
    View("badge", "Write a badge's JSON, for an endpoint badge of shields.io.", badge.render, "badge.json"),
    View("annotations", "Print GitHub annotations.", github.render, None),
)
