"""Theorems that differ in one word only, put together: of each micro-step the same, of each guard the same.

Knows the words that theorems go over; must not know what any of them says.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from kvspec.model.index import STEPS
from kvspec.theorems.obligation import Obligation
from kvspec.theorems.requests import ASKED

OVER = (*STEPS, *ASKED)

ANY = "X"
"""What stands for the word."""


@dataclass(frozen=True)
class Family:
    """Obligations that say the same. words: of each, the word that is its own; empty where there is only one."""

    members: tuple[Obligation, ...]
    words: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The id, with X for the word."""
        return _with_any(self.members[0].id, self.words[0]) if self.words else self.members[0].id

    @property
    def statement(self) -> str:
        """The statement, with an X for the word."""
        first = self.members[0].statement
        return _with_any(first, self.words[0], f"*{ANY}*") if self.words else first


def families(obligations: Iterable[Obligation]) -> list[Family]:
    """The obligations in families, each where its first member stands."""
    found: dict[tuple[str, ...], list[tuple[Obligation, str]]] = {}
    for one in obligations:
        word = next((part for part in one.id.split(".") if part in OVER), "")
        said = (one.id, one.statement, one.law or "", one.kind.value)
        found.setdefault(tuple(_with_any(text, word) for text in said), []).append((one, word))
    return [_family(members) for members in found.values()]


def _family(members: list[tuple[Obligation, str]]) -> Family:
    obligations, words = zip(*members, strict=True)
    return Family(obligations, words if len(words) > 1 else ())


def _with_any(text: str, word: str, any_word: str = ANY) -> str:
    """The text with X for the word, be it written with a hyphen or, as operations are, with an underscore."""
    if not word:
        return text
    spelt = re.escape(word).replace(r"\-", "[-_]")
    return re.sub(rf"\b{spelt}\b", any_word, text)
