"""Reading docstrings: what a dataclass says of its fields, what a module says it shows.

The habits of this code are relied on: `name: meaning.`, paragraphs between empty lines. Knows text only.
"""

from __future__ import annotations

import inspect
import re
from dataclasses import fields
from types import ModuleType
from typing import Any

_SENTENCE_END = re.compile(r"(?<=[.!?]) (?=[A-Z`*])")
_ABOUT_FILES = re.compile(r"^(Knows|Wrong variants|The wrong variants|Written over)\b|^`[A-Z_]+`|must not know")
"""Sentences that speak of files and not of what is in them: nobody needs them who does not read the code."""


def field_docs(kind: type[Any]) -> dict[str, str]:
    """What the docstring of a dataclass says of its fields, by name. Fields that it does not speak of are left out."""
    _, *parts = _by_field(kind)
    found: dict[str, str] = {}
    for heads, meaning in zip(parts[::2], parts[1::2], strict=True):
        for head in re.findall(r"\w+(?=[\[,:]|$)", re.sub(r"\[[^\]]*\]", "", heads)):
            found[head] = _ended(meaning)
    return found


def about(kind: type[Any]) -> str:
    """What the docstring of a dataclass says before it comes to its fields."""
    return _by_field(kind)[0].strip()


def _by_field(kind: type[Any]) -> list[str]:
    """The docstring, cut where it comes to a field or several: what was before, then heads and meanings in turn."""
    text = " ".join((inspect.getdoc(kind) or "").split())
    if not fields(kind):
        return [text]
    named = rf"(?:{'|'.join(field.name for field in fields(kind))})(?:\[[^\]]*\])?"
    return re.split(rf"(?:^|(?<=[.)] ))({named}(?:, {named})*): ", text)


def _ended(meaning: str) -> str:
    """The meaning without its full stop, and without what follows that is about all of them."""
    return _SENTENCE_END.split(meaning.strip())[0].rstrip(".")


def summary(thing: Any) -> str:
    """The first paragraph of a docstring, on one line."""
    return " ".join((inspect.getdoc(thing) or "").partition("\n\n")[0].split())


def paragraphs(module: ModuleType) -> list[str]:
    """What a module says, without its first line and without sentences that speak of files."""
    _, *rest = re.split(r"\n\s*\n", inspect.getdoc(module) or "")
    kept = (" ".join(_about_things(" ".join(paragraph.split()))) for paragraph in rest if not _is_list(paragraph))
    return [paragraph for paragraph in kept if paragraph]


def _about_things(paragraph: str) -> list[str]:
    return [sentence for sentence in _SENTENCE_END.split(paragraph) if not _ABOUT_FILES.search(sentence)]


def _is_list(paragraph: str) -> bool:
    return paragraph.lstrip().startswith("- ")
