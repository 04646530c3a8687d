"""How a report reads to those who know only passed, failed, error and skipped. Knows the report only.

The rule: nothing failed and no error exactly where the verdict is `conforms`. So a law that binds and was not exercised
is an error, as a skipped test is green to everybody; what does not bind (SHOULD without --strict, MAY) is skipped where
it is broken or not exercised, with what is to be said of it; and the run is a case of its own, for what no single law
shows: an interrupted run, nothing exercised at all, a known deviation that is none any more.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from kvconform.report.model import LawLine, Report, ViolationLine
from kvconform.report.story import many

Outcome = Literal["passed", "failed", "error", "skipped"]

RUN = "run.verdict"
"""The case that stands for the run."""

NOT_GREEN: tuple[Outcome, ...] = ("failed", "error")


@dataclass(frozen=True)
class Case:
    """One law, or the run. status: the report's own word. reason: one line on why it did not pass."""

    id: str
    level: str
    status: str
    outcome: Outcome
    reason: str = ""
    statement: str = ""
    checks: int = 0
    findings: list[ViolationLine] = field(default_factory=list)


def binds(level: str, strict: bool) -> bool:
    """Whether a law of this level decides the verdict."""
    return level == "MUST" or (strict and level == "SHOULD")


def cases(report: Report) -> list[Case]:
    """Every law's case, in the report's order, and the run's, which is the last."""
    laws = [_case(law, report) for law in report.laws]
    return [*laws, _run(report, laws)]


def binding(case: Case, report: Report) -> bool:
    """Whether this case decides the verdict."""
    return case.id == RUN or binds(case.level, report.strict)


def counted(report: Report) -> str:
    """How many laws have which verdict, in words: 46 holds, 2 violated."""
    verdicts = [law.verdict for law in report.laws]
    words = ("holds", "violated", "known", "not-exercised", "not-applicable")
    told = ", ".join(f"{verdicts.count(word)} {word}" for word in words if word in verdicts)
    return f"of {many(len(verdicts), 'law')}: {told or 'none judged'}"


def _case(law: LawLine, report: Report) -> Case:
    findings = [v for v in report.violations if v.law == law.id] if law.verdict in ("violated", "known") else []
    outcome, reason = _outcome(law, findings, binds(law.level, report.strict))
    return Case(law.id, law.level, law.verdict, outcome, reason, law.statement, law.checks, findings)


def _outcome(law: LawLine, findings: list[ViolationLine], binding: bool) -> tuple[Outcome, str]:
    if law.verdict == "holds":
        return "passed", ""
    if law.verdict == "violated":
        what = findings[0].message if findings else law.reason
        return ("failed", what) if binding else ("skipped", f"broken; a {law.level} law does not count here: {what}")
    if law.verdict == "not-exercised":
        why = f"not exercised: {law.reason}"
        return ("error" if binding else "skipped"), why
    return "skipped", f"{law.verdict.replace('-', ' ')}: {law.reason}".removesuffix(": ")


def _run(report: Report, laws: list[Case]) -> Case:
    told = "; ".join(report.notes) or counted(report)
    outcome: Outcome = "passed"
    if report.verdict == "violates":
        outcome = "passed" if any(case.outcome == "failed" for case in laws) else "failed"
    elif report.verdict != "conforms":
        outcome = "error"
    reason = "" if outcome == "passed" else f"{report.verdict}: {told}"
    return Case(RUN, "", report.verdict, outcome, reason, "The run comes to a verdict.", report.operations)
