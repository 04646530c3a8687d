"""What an exploration must have exercised before its agreement means anything."""

from __future__ import annotations

from collections.abc import Iterator

from kvspec.exploring.judging import CHECKED, Tally
from kvspec.model.operations import COMPOSED
from kvspec.vocabulary import GUARDED, OPERATIONS, Verdict

OUTCOMES = tuple(
    (guard, verdict) for guard in GUARDED.values() for verdict in (Verdict.OK, Verdict.LATER, Verdict.NEVER)
)
"""What a guard can answer. Each of these is possible within the scopes."""

PARTS = tuple((name, part.step, part.device.value) for name, parts in COMPOSED.items() for part in parts)
"""Every part of every operation."""


def gaps(tally: Tally) -> Iterator[str]:
    """What was never exercised."""
    yield from (f"operation {name} was never carried out" for name in OPERATIONS if not tally.performed[name])
    yield from (f"{'.'.join(part)} never happened" for part in PARTS if not tally.fired[part])
    yield from (
        f"{guard.value} never answered {verdict.value}"
        for guard, verdict in OUTCOMES
        if not tally.guards[guard, verdict]
    )
    yield from (f"{law} was never judged with its premise met" for law in CHECKED if not tally.laws[law])
