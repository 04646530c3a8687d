"""The check: all tiers over one target, shrinking, and the verdict.

Knows which tiers there are, what each may spend, and when a law counts as exercised. Budgets are counted in operations,
so that the same seed gives the same report. It must not know any manager or fault.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date
from importlib import metadata

from kvconform import machine, probes, progress, vectors
from kvconform.adapter import Adapter, AdapterMistake, capabilities_of
from kvconform.choices import needs
from kvconform.database import Database
from kvconform.errors import TargetError
from kvconform.finding import Finding, Raw
from kvconform.gather import Gathered, order
from kvconform.judge import Tally
from kvconform.known.file import Deviation
from kvconform.known.standing import FAILING, UNTOLD, Standing, stand, today
from kvconform.moment import Moment, Report, silent
from kvconform.profiles import Profile
from kvconform.replay import Replayed, raws_again
from kvconform.run import Run
from kvconform.targets import Target
from kvconform.trace import TraceFile
from kvconform.walk import Dice, Walk
from kvspec.edges import vectors as edges
from kvspec.laws import CATALOGUE, Law
from kvspec.vocabulary import Capability, Config, Guard, Level, Verdict

OK_WORDS = (Verdict.OK,)
REFUSALS = (Verdict.LATER, Verdict.NEVER, Verdict.NO)


GUARD_CAPABILITIES = {
    Guard.ALLOCATE: Capability.GUARD_ALLOCATE,
    Guard.APPEND: Capability.GUARD_APPEND,
    Guard.SWAP_OUT: Capability.GUARD_SWAP_OUT,
    Guard.SWAP_IN: Capability.GUARD_SWAP_IN,
    Guard.FORK: Capability.GUARD_FORK,
}


@dataclass
class Result:
    """What a check came to, before it is written as a report."""

    target: Target
    profile: Profile
    seed: int
    capabilities: frozenset[Capability]
    without: frozenset[Capability]
    laws: list[Law]
    strict: bool
    tally: Tally = field(default_factory=Tally)
    findings: list[Finding] = field(default_factory=list)
    known: list[Standing] = field(default_factory=list)
    rounds: int = 0
    edges_total: int = 0
    edges_run: int = 0
    edges_unreachable: int = 0
    seconds: float = 0.0
    notes: list[str] = field(default_factory=list)
    interrupted: bool = False
    lost: int = 0  # violations that did not show again
    started: float = 0.0  # seconds since 1970

    def is_known(self, finding: Finding) -> bool:
        """Whether a finding is let pass."""
        return any(standing.lets_pass(finding) for standing in self.known)


class Check:
    """One check of one target. known: deviations that are let pass. day: the one that their expiry is measured by,
    None for today. database: where what fails is kept, if the profile keeps it.
    """

    def __init__(
        self,
        target: Target,
        profile: Profile,
        *,
        seed: int = 0,
        laws: list[Law] | None = None,
        without: frozenset[Capability] = frozenset(),
        strict: bool = False,
        report: Report = silent,
        known: Sequence[Deviation] = (),
        day: date | None = None,
        database: Database | None = None,
    ) -> None:
        self.target = target
        self.adapter: Adapter = target.adapter
        self.profile = profile
        self.laws = laws or list(CATALOGUE.values())
        self.without = without
        self._report = report
        self.known = known
        self.day = day or today()
        self.database = database if profile.keeps else None
        capabilities = capabilities_of(self.adapter) - without
        self.result = Result(target, profile, seed, capabilities, without, self.laws, strict)
        self._run: Run | None = None  # the latest
        self._gathered = Gathered(self.start, self.adapter.domain, profile.shrink)
        self._walk = Walk(self.adapter, self.start, capabilities, seed)
        self._walks = self._workloads = 0  # done so far, in all rounds
        self._kept: machine.Kept | None = None
        self._deadline: float | None = None

    def start(self, config: Config, *, record: bool = False) -> Run:
        """Start a run of this check."""
        self._run = Run(self.adapter, config, without=self.without, laws=self.laws, record=record)
        return self._run

    def run(self) -> Result:
        """Run every tier, shrink what was found. Raises TargetError where the adapter cannot be driven."""
        self.result.started, began = time.time(), time.perf_counter()
        try:
            self._try_known()
            self._try_kept()
            self._try_vectors()
            self._try_probes()
            self._go_round()
            self._shrink()
        except KeyboardInterrupt as stop:
            self.result.interrupted = True
            calling = self._run.driver.calling if self._run else ""
            within = f" in {type(self.adapter).__name__}.{calling}" if calling else ""
            self.result.notes.append(f"{str(stop) or 'interrupted'}{within}: what was not reached is not judged")
            self._settle(self._gathered.as_they_are())
        except AdapterMistake as error:
            raise TargetError(f"the adapter, not the manager, is at fault: {error}") from None
        self.result.seconds = time.perf_counter() - began
        return self.result

    def report(self, tier: str, done: int, of: int, doing: str = "") -> None:
        """Tell how far a tier is. doing: what is at work now."""
        broken = {law for law, *_ in self._gathered.keys}
        self._report(Moment(tier, done, of, doing, self.result.tally.operations, len(broken)))

    def _collect(self, run: Run, raws: Iterable[Raw]) -> None:
        self.result.tally.add(run.tally)
        for raw in raws:
            self._gathered.keep(raw)

    def _late(self) -> bool:
        return self._deadline is not None and time.monotonic() > self._deadline

    # -- what is tried first ---------------------------------------------------------------------------------

    def _try_known(self) -> None:
        """Play the known deviations. What one shows beside what it is about is gathered like anything else."""
        self.result.known = [Standing(deviation, "not reached") for deviation in self.known]
        for at, deviation in enumerate(self.known):
            self.report("known", at, len(self.known), deviation.law)
            standing = stand(deviation, self.target, self.laws, self.without, self.day)
            self.result.known[at] = standing
            self.result.tally.add(standing.tally)
        self._gathered.passes = lambda raw: any(standing.lets_pass(raw) for standing in self.result.known)
        self._gathered.known = [one.finding for one in self.result.known if one.finding is not None]
        for standing in self.result.known:
            for raw in standing.others:
                self._gathered.keep(raw)

    def _try_kept(self) -> None:
        """Try what the database has kept from earlier times; what shows nothing any more is dropped from it."""
        if self.database is None:
            return
        kept = list(self.database.traces())
        for at, (path, file) in enumerate(kept):
            self.report("kept", at, len(kept), file.law or "")
            if not self._try_trace(file):
                path.unlink(missing_ok=True)
        self._kept = machine.Kept(self.database.examples)
        machine.retry(
            self.adapter,
            self.start,
            self._collect,
            capabilities=self.result.capabilities,
            steps=self.profile.steps,
            kept=self._kept,
        )
        self._kept.seen |= {finding.key for finding in self._gathered.known}

    def _try_trace(self, file: TraceFile) -> bool:
        """Play a trace that was kept; whether it is to be kept on: it shows something, or nothing could be seen."""
        try:
            raws = raws_again(Replayed(file, self.start), str(file.header.get("found_by", "walk")))
        except TargetError:
            return True
        for raw in raws:
            self._gathered.keep(raw)
        return bool(raws) or CATALOGUE.get(file.law or "") not in self.laws

    def _try_vectors(self) -> None:
        shipped = edges.load()
        self.result.edges_total = len(shipped.vectors)
        self.result.edges_unreachable = shipped.excluded
        for done, vector in enumerate(shipped.vectors):
            self.report("vectors", done, len(shipped.vectors), vector.id)
            played = vectors.play(self.start, vector, self.adapter, self.result.capabilities)
            if played.run is not None:
                self.result.edges_run += not played.skipped
                self._collect(played.run, vectors.raws(played))

    def _try_probes(self) -> None:
        config = probes.configuration(self.adapter.domain, self.result.capabilities)
        for done, probe in enumerate(probes.PROBES):
            self.report("probes", done, len(probes.PROBES), probe.words)
            run, raw = probes.bad_input(self.start, probe, config)
            self._collect(run, [raw] if raw else [])

    # -- rounds ----------------------------------------------------------------------------------------------

    def _go_round(self) -> None:
        """One round of the tiers that choose by chance; as many as there is time for, where there is a box of time."""
        if self.profile.seconds is not None:
            self._deadline = time.monotonic() + self.profile.seconds
        while True:
            self._go_walking()
            self._go_scheduling()
            self._go_exploring()
            self.result.rounds += 1
            if self._deadline is None or self._late():
                return

    def _go_walking(self) -> None:
        spent, first = 0, self._walks
        while spent < self.profile.walk and not self._late():
            self.report("walk", spent, self.profile.walk)
            run, raws = self._walk.one(self._walks)
            spent += max(1, run.tally.operations)
            self._collect(run, raws)
            if self._walks - first < self.profile.repeats:
                for raw in probes.repeated(self.start, run.config, run.operations):
                    self._gathered.keep(raw)
                if probes.DETERMINISTIC in run.judge.bench.laws:
                    self.result.tally.checks[probes.DETERMINISTIC] += 1
            self._walks += 1

    def _go_scheduling(self) -> None:
        done, first = 0, self._workloads
        most = 20 * self.profile.workloads
        while done < self.profile.workloads and self._workloads - first < most and not self._late():
            self.report("workloads", done, self.profile.workloads)
            pick = Dice(f"{self.result.seed}/workload/{self._workloads}")
            self._workloads += 1
            work = progress.workload(self.adapter, self.result.capabilities, pick)
            if work is not None:
                done += 1
                run, raws = progress.attempt(self.start, work)
                self._collect(run, raws)

    def _go_exploring(self) -> None:
        done = 0

        def collect(run: Run, raws: list[Raw]) -> None:
            nonlocal done
            done += 1
            self.report("hypothesis", min(done, self.profile.examples), self.profile.examples)
            self._collect(run, raws)

        machine.explore(
            self.adapter,
            self.start,
            collect,
            capabilities=self.result.capabilities,
            examples=self.profile.examples,
            steps=self.profile.steps,
            seed=f"{self.result.seed}/{self.result.rounds}" if self.result.rounds else self.result.seed,
            late=self._late,
            kept=self._kept,
        )

    # -- from violations to findings -------------------------------------------------------------------------

    def _shrink(self) -> None:
        limit = self.profile.shrink_seconds
        if limit is not None:
            until = time.monotonic() + limit
            self._gathered.late = lambda: time.monotonic() > until
        self._settle(self._gathered.findings(self.report))
        self.result.lost = self._gathered.lost
        if self.result.lost:
            self.result.notes.append(
                f"{self.result.lost} violations did not show again on a fresh start: the adapter's start() must forget "
                "everything, or the manager does not do the same twice"
            )
        if self._gathered.unshrunk:
            self.result.notes.append(
                f"the {limit:,.0f} seconds for shrinking were over: {self._gathered.unshrunk} violations are told as "
                "they were met"
            )

    def _settle(self, found: list[Finding]) -> None:
        """Take findings in: what the ledger's own traces show is told from there."""
        told = list(self._gathered.known)
        shown = {finding.fingerprint for finding in told}
        told += [finding for finding in found if finding.fingerprint not in shown]
        self.result.findings = sorted(told, key=order)


# -- the verdict ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Judged:
    """One law's verdict and the reason for it."""

    law: Law
    verdict: str
    checks: int
    reason: str


def judged(result: Result) -> list[Judged]:
    """Every selected law's verdict."""
    return [_judged(law, result, [f for f in result.findings if f.violation.law is law]) for law in result.laws]


def _judged(law: Law, result: Result, findings: list[Finding]) -> Judged:
    checks = result.tally.checks[law.id]
    if findings and all(map(result.is_known, findings)):
        links = ", ".join(one.deviation.link for one in result.known if one.covers and one.deviation.law == law.id)
        return Judged(law, "known", checks, links)
    if findings:
        return Judged(law, "violated", checks, "")
    if law.id == probes.DETERMINISTIC and result.lost:
        return Judged(law, "not-exercised", checks, f"{result.lost} violations did not show again on a fresh start")
    if not law.applicable(result.capabilities):
        return Judged(law, "not-applicable", checks, f"needs {needs(law, result.capabilities)}")
    if not checks:
        return Judged(law, "not-exercised", 0, "no case met its premise")
    for guard in law.guards:
        if GUARD_CAPABILITIES[guard] in result.capabilities:
            seen = {verdict for (g, verdict), hits in result.tally.guards.items() if g is guard and hits}
            if seen.isdisjoint(OK_WORDS) or seen.isdisjoint(REFUSALS):
                missing = "an OK" if seen.isdisjoint(OK_WORDS) else "a refusal"
                return Judged(law, "not-exercised", checks, f"{missing} of can_{guard.value} was never seen")
    return Judged(law, "holds", checks, "")


def overall(result: Result, laws: list[Judged]) -> str:
    """conforms, violates or inconclusive. A violation counts if MUST, with --strict if SHOULD; so does a gap. An entry
    of the ledger that is stale or expired counts whatever its law; one that cannot be played says nothing.
    """
    binding = (Level.MUST, Level.SHOULD) if result.strict else (Level.MUST,)
    bound = [judged for judged in laws if judged.law.level in binding]
    standings = {standing.status for standing in result.known}
    if any(judged.verdict == "violated" for judged in bound) or not standings.isdisjoint(FAILING):
        return "violates"
    if result.interrupted or result.lost or not standings.isdisjoint(UNTOLD):
        return "inconclusive"
    if not any(judged.verdict in ("holds", "known") for judged in bound):
        return "inconclusive"
    if any(judged.verdict == "not-exercised" for judged in bound):
        return "inconclusive"
    return "conforms"


def environment() -> dict[str, str]:
    """What a reader needs to run it again."""
    names = ("z3-solver", "hypothesis", "msgspec")
    found = {name: metadata.version(name) for name in names}
    return {"python": platform.python_version(), "platform": platform.system().lower(), **found}
