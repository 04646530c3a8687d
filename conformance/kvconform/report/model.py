"""The report, schema kvconform/report@1, as typed data. Knows the shape only; views are beside it."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from kvconform.picture import Picture

SCHEMA = "kvconform/report@1"

LawVerdict = Literal["holds", "violated", "known", "not-exercised", "not-applicable"]
Verdict = Literal["conforms", "violates", "inconclusive", "error"]
KnownStatus = Literal["still failing", "stale", "expired", "cannot run", "not selected", "not reached"]


class RestrictionLine(msgspec.Struct):
    """One thing that the manager's engine never does, and why."""

    what: str
    reason: str


class TargetLine(msgspec.Struct):
    """What was checked."""

    name: str
    version: str
    capabilities: dict[str, bool]
    restrictions: list[RestrictionLine]


class LawLine(msgspec.Struct):
    """One law: its verdict, how often it was checked, why where it does not hold, and what it states."""

    id: str
    level: str
    verdict: LawVerdict
    checks: int
    reason: str = ""
    statement: str = ""


class ViolationLine(msgspec.Struct):
    """One finding. step: the number (from 1) of the operation in the trace at which the law broke. probe: what beyond
    the trace shows it, if anything. statement: the law in words; setting, story: the configuration and each operation
    in words. frames: what the pools looked like at the start, after each operation, and, where the end of the run shows
    it, then. marked: the blocks that are not as they should be, as [device, number]. then: what beyond the operations
    shows it, in words. trace_file, test_file: where the trace and the pytest file are that show it again. known:
    whether the ledger of known deviations lets it pass, so that it counts for nothing.
    """

    law: str
    level: str
    message: str
    expected: str
    observed: str
    config: dict[str, Any]
    step: int
    trace: list[dict[str, Any]]
    found_by: str
    fingerprint: str
    reproduce: str
    features: list[str] = []
    fault_class: list[str] = []
    probe: str = ""
    statement: str = ""
    setting: str = ""
    story: list[str] = []
    frames: list[Picture] = []
    marked: list[tuple[str, int]] = []
    trace_file: str = ""
    then: str = ""
    test_file: str = ""
    known: bool = False


class KnownLine(msgspec.Struct):
    """One entry of the ledger of known deviations, and what became of it: still failing (let pass), stale or expired
    (either fails the run), cannot run or not reached (either leaves the run inconclusive), not selected. detail: why it
    is not simply still failing, and what to do. every_shape: whether it covers whatever has its features and more.
    """

    fingerprint: str
    law: str
    status: KnownStatus
    reason: str
    link: str
    expires: str
    detail: str = ""
    every_shape: bool = False


class GuardLine(msgspec.Struct):
    """How often a guard gave an outcome."""

    guard: str
    outcome: str
    hits: int


class EdgesLine(msgspec.Struct):
    """The solver's edge cases: how many there are, how many could be run on this target, how many are proved
    unreachable.
    """

    total: int
    run: int
    unreachable: int


class CoverageLine(msgspec.Struct):
    """What was reached."""

    guards: list[GuardLine]
    edges: EdgesLine


class Report(msgspec.Struct):
    """One run of `kvconform check`. started: when, in UTC, as 2026-01-31T12:00:00.000Z; empty where it is not known.
    known: the entries of the ledger, in its order. rounds: of the tiers that choose by chance.
    """

    kvconform: str
    catalogue: str
    target: TargetLine
    verdict: Verdict
    profile: str
    seed: int
    duration_s: float
    operations: int
    laws: list[LawLine]
    violations: list[ViolationLine]
    coverage: CoverageLine
    environment: dict[str, str]
    schema: str = SCHEMA
    strict: bool = False
    without: list[str] = []
    notes: list[str] = []
    started: str = ""
    known: list[KnownLine] = []
    rounds: int = 1
