"""What was found: from a violation inside some run to a finding with a fingerprint.

Knows runs and violations. A fingerprint is the law, the operation at which it broke, the error, and the features of the
trace; it must not depend on the tier that found it, nor on numbers.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from kvconform.judge import Violation
from kvconform.run import Run
from kvconform.workload import Workload
from kvspec.vocabulary import Config, Operation

Key = tuple[str, str, str, str, str]
"""Law, operation, error, place, probe: what a shrink must keep."""


def key_of(violation: Violation, probe: str) -> Key:
    """The key of a violation that was seen by this probe."""
    return violation.law.id, violation.op, violation.error, violation.place, probe


@dataclass
class Raw:
    """One violation as some run met it. probe: what beyond the operations shows it ("finish" for the end of a run)."""

    violation: Violation
    config: Config
    operations: list[Operation]
    features: frozenset[str]
    found_by: str
    probe: str = ""
    workload: Workload | None = None

    @property
    def key(self) -> Key:
        """What a shrink must keep."""
        return key_of(self.violation, self.probe)


@dataclass
class Finding(Raw):
    """A shrunk, re-runnable violation."""

    @property
    def fingerprint(self) -> str:
        """Stable across seeds and tiers, short enough to read."""
        *what, _ = self.key
        words = f"{'|'.join(what)}|{','.join(sorted(self.features))}"
        return hashlib.sha256(words.encode()).hexdigest()[:12]


def raws_of(run: Run, found_by: str) -> list[Raw]:
    """Everything that a run found, the first of each kind."""
    seen: dict[Key, Raw] = {}
    for found in run.found:
        operations = run.operations[: found.at]
        probe = "finish" if found.late else ""
        raw = Raw(found.violation, run.config, operations, found.features, found_by, probe)
        seen.setdefault(raw.key, raw)
    return list(seen.values())
