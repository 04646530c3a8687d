"""Judges cases by the laws of the catalogue, and keeps count of what was checked.

Knows laws and tallies; must not know how cases are gathered from states. One `Tally` belongs to one exploration.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from kvspec.laws import CATALOGUE
from kvspec.model.manager import Fired
from kvspec.vocabulary import Guard, Operation, Verdict

_NO_INDEX = "about a prefix index, which the manager that is enumerated does not have; proved of any size (prefix.*)"

_NO_WINDOW = "about a sliding window, which the manager that is enumerated does not have; proved of any size ("

NOT_STATED: dict[str, str] = {
    "table.announced": "the model announces nothing: an engine that follows it reads its tables",
    "robust.bad-input": "only legal operations are tried; what a manager answers to others is no part of the model",
    "robust.deterministic": "every operation is a pure function of a frozen state",
    "robust.progress": "about a scheduler over a whole run; that what fits alone is admitted alone is checked at each "
    "refusal (admission.impossible-is-never)",
    **{law: _NO_INDEX for law in CATALOGUE if law.startswith("prefix.")},
    "admission.hits-counted-once": _NO_INDEX,
    "window.live": f"{_NO_WINDOW}window.*)",
    "window.null": f"{_NO_WINDOW}null.*)",
}
"""The laws that are not judged here, each with the reason."""

CHECKED = tuple(law for law in CATALOGUE if law not in NOT_STATED)
"""The laws that are."""


class Disagreement(Exception):
    """The model does something that was proved, or is required, never to happen."""


def require(holds: bool, what: str) -> None:
    """Raise Disagreement unless it holds."""
    if not holds:
        raise Disagreement(what)


class Tally:
    """What was exercised. performed: operations by name that were carried out. fired: micro-steps by the operation that
    they were part of, and device. guards: verdicts. laws: cases judged whose premise was met.
    """

    def __init__(self) -> None:
        self.performed: Counter[str] = Counter()
        self.fired: Counter[tuple[str, str, str]] = Counter()
        self.guards: Counter[tuple[Guard, Verdict]] = Counter()
        self.laws: Counter[str] = Counter()
        self._judged: dict[tuple[Any, ...], bool | None] = {}

    def judge(self, law: str, *numbers: Any) -> None:
        """Judge the case that these numbers make. Raises Disagreement where the law does not hold."""
        asked = (law, *numbers)
        if asked not in self._judged:  # laws are functions of the numbers, and few numbers occur
            found = CATALOGUE[law]
            self._judged[asked] = found.judge(found.case(*numbers))
        held = self._judged[asked]
        if held is None:
            return
        if not held:
            raise Disagreement(f"{law} is broken: {CATALOGUE[law].case(*numbers)}")
        self.laws[law] += 1

    def note(self, op: Operation, fired: tuple[Fired, ...]) -> None:
        """Remember an operation that was carried out, and the micro-steps of which it was made."""
        self.performed[op.op] += 1
        for one in fired:
            self.fired[op.op, one.step, one.device.value] += 1
