"""Writing Markdown as GitHub reads it: tables, code, anchors, contents. Knows the syntax, not what is said."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence

WIDTH = 120
"""Characters in a line of prose."""

_KEPT = re.compile(r"(`[^`]*`|(?<!\w)\*\w[\w -]*\*(?!\w))")
"""Code between backticks, and a word or a few between stars."""


_SIGNS = {">=": "≥", "<=": "≤", " * ": " · "}


def words(text: str) -> str:
    """Text as it is meant: nothing in it is markup but code and emphasis."""
    for sign, written in _SIGNS.items():
        text = text.replace(sign, written)
    pieces = _KEPT.split(text)
    return "".join(piece if number % 2 else _escaped(piece) for number, piece in enumerate(pieces))


def _escaped(text: str) -> str:
    return re.sub(r"([*<\[\]])", r"\\\1", text)


def code(text: str) -> str:
    """A formula or a name, in a line of text."""
    return f"`{text}`"


def sentence(text: str) -> str:
    """Text that begins with a capital letter and ends with a full stop."""
    ended = text if text.endswith((".", "!", "?")) else f"{text}."
    first = ended.partition(" ")[0]
    # A name that has capitals of its own, as vLLM has, is written as it is.
    return words(ended if first != first.lower() else ended[:1].upper() + ended[1:])


def prose(*sentences: str) -> list[str]:
    """A paragraph, broken into lines."""
    return textwrap.wrap(" ".join(sentences), WIDTH, break_long_words=False, break_on_hyphens=False)


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """A table, one line a row."""
    return [_row(heads), "|" + "---|" * len(heads), *(_row(row) for row in rows)]


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(re.sub(r"(?<!\\)\|", r"\\|", cell.replace("\n", " ")) for cell in cells) + " |"


def block(text: Iterable[str], language: str = "text") -> list[str]:
    """Lines as they are."""
    return [f"```{language}", *text, "```"]


def anchor(name: str) -> str:
    """A place to link to, that shows nothing."""
    return f'<a id="{name}"></a>'


def link(text: str, to: str) -> str:
    """A link to a place on this page, or on another where `to` says so."""
    return f"[{text}]({to if '#' in to else '#' + to})"


def slug(heading: str) -> str:
    """The anchor that GitHub gives a heading."""
    return re.sub(r"[^\w\- ]", "", heading).replace(" ", "-").lower()


def contents(lines: Iterable[str]) -> list[str]:
    """A list of the headings of the second level, with links."""
    found = [line.removeprefix("## ") for line in lines if line.startswith("## ")]
    return [f"- {link(heading, slug(heading))}" for heading in found]
