"""What became of a known deviation on a target: its trace is played, and covers what it shows and nothing else.

Knows how an entry is played and when it cannot be. It must not know tiers, verdicts or any manager.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date, datetime, timezone
from typing import Literal

from kvconform.adapter import AdapterMistake, capabilities_of, unsupported
from kvconform.choices import choose_capabilities
from kvconform.errors import TargetError
from kvconform.finding import Finding, Raw
from kvconform.judge import Tally
from kvconform.known.file import Deviation
from kvconform.replay import Replayed, raws_again
from kvconform.run import Run
from kvconform.targets import Target
from kvspec.laws import CATALOGUE, Law
from kvspec.vocabulary import NEEDS, Capability, Config

Status = Literal["still failing", "stale", "expired", "cannot run", "not selected", "not reached"]

FAILING: tuple[Status, ...] = ("stale", "expired")
"""What fails a run by itself."""

UNTOLD: tuple[Status, ...] = ("cannot run", "not reached")
"""What leaves open whether the deviation is still there."""


@dataclass
class Standing:
    """What became of one entry. detail: why it is not simply still failing. finding: what its trace shows, where it is
    about that. others: what its trace shows beside it. tally: what playing it checked.
    """

    deviation: Deviation
    status: Status
    detail: str = ""
    finding: Finding | None = None
    others: list[Raw] = field(default_factory=list)
    tally: Tally = field(default_factory=Tally)

    @property
    def covers(self) -> bool:
        """Whether what its trace shows is let pass."""
        return self.status == "still failing"

    def lets_pass(self, raw: Raw) -> bool:
        """Whether this violation, as it is, is let pass."""
        if not self.covers or self.finding is None:
            return False
        wider = self.deviation.every_shape and self.finding.features <= raw.features
        return (wider and self.finding.key[:-1] == raw.key[:-1]) or _print(raw) == self.deviation.fingerprint


class _CannotStart(Exception):
    """The manager does not start with the entry's configuration."""


def today() -> date:
    """The day that expiry is measured by: in UTC, so that it ends for everybody at once."""
    return datetime.now(timezone.utc).date()


def stand(
    deviation: Deviation, target: Target, laws: list[Law], without: frozenset[Capability], today: date
) -> Standing:
    """Play an entry's trace on a target, with these laws judged and without these capabilities.

    Raises TargetError where the adapter is at fault.
    """
    law = CATALOGUE[deviation.law]
    unused = without | choose_capabilities(deviation.without)
    left_out = _left_out(deviation, target, law, laws, without)
    if left_out:
        return Standing(deviation, "not selected", left_out)
    lacking = _lacking(deviation, law, capabilities_of(target.adapter) - unused) or target.adapter.domain.excludes(
        deviation.file.config
    )
    if lacking:
        return Standing(deviation, "cannot run", lacking)
    try:
        return _played(deviation, target, laws, unused, today)
    except (_CannotStart, TargetError) as error:
        return Standing(deviation, "cannot run", str(error))
    except AdapterMistake as error:
        raise TargetError(f"the adapter, not the manager, is at fault: {error}") from None


def _left_out(
    deviation: Deviation, target: Target, law: Law, laws: list[Law], without: frozenset[Capability]
) -> str | None:
    """Why the entry is not asked for in this run, if it is not."""
    if not deviation.about(target.spec):
        return f"it is about {', '.join(deviation.targets)}"
    if law not in laws:
        return "its law is not selected"
    offered = capabilities_of(target.adapter)
    if not _lacking(deviation, law, offered) and (lacking := _lacking(deviation, law, offered - without)):
        return f"{lacking}, which this run goes without"
    return None


def _lacking(deviation: Deviation, law: Law, offered: frozenset[Capability]) -> str | None:
    """What the entry needs and is not offered, if anything."""
    needed = {need for op in deviation.file.operations for need in NEEDS[op.op]}
    missing = sorted(need.value for need in needed - offered)
    if missing:
        return f"its trace needs {', '.join(missing)}"
    asked = unsupported(deviation.file.config, offered)
    if asked:
        return f"its configuration asks for {asked}"
    return None if law.applicable(offered) else "what its law is judged by is not offered"


def _played(
    deviation: Deviation, target: Target, laws: list[Law], without: frozenset[Capability], today: date
) -> Standing:
    standing = Standing(deviation, "stale")
    raws = _raws(deviation, target, laws, without, standing.tally)
    # Another law may end the run before this one is broken; what then counts is this one alone.
    alone = [raw for raw in raws if _same(raw, deviation)] or [
        raw
        for raw in _raws(deviation, target, [CATALOGUE[deviation.law]], without, standing.tally)
        if _same(raw, deviation)
    ]
    standing.others = [raw for raw in raws if not _same(raw, deviation)]
    if alone:
        standing.finding = Finding(**{**vars(alone[0]), "found_by": "known"})
        over = today > deviation.expires
        standing.status = "expired" if over else "still failing"
        standing.detail = f"it was let pass until {deviation.expires}" if over else ""
    elif standing.others:
        shown = ", ".join(dict.fromkeys(f"{raw.violation.law.id} {_print(raw)}" for raw in standing.others))
        standing.detail = f"its trace now shows something else: {shown}"
    else:
        standing.detail = "its trace passes"
    return standing


def _raws(
    deviation: Deviation, target: Target, laws: list[Law], without: frozenset[Capability], tally: Tally
) -> list[Raw]:
    runs: list[Run] = []

    def start(config: Config, *, record: bool = False) -> Run:
        try:
            run = Run(target.adapter, config, without=without, laws=laws, record=record)
        except AdapterMistake as error:
            raise _CannotStart(str(error)) from None
        runs.append(run)
        return run

    raws = raws_again(Replayed(deviation.file, start), "known")
    for run in runs:
        tally.add(run.tally)
    return raws


def _same(raw: Raw, deviation: Deviation) -> bool:
    return raw.violation.law.id == deviation.law and _print(raw) == deviation.fingerprint


def _print(raw: Raw) -> str:
    return Finding(**vars(raw)).fingerprint
