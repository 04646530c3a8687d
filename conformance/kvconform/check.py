"""The check: all tiers over one target, shrinking, and the verdict.

Knows which tiers there are, what each may spend, and when a law counts as exercised. Budgets are counted in operations,
so that the same seed gives the same report. It must not know any manager or fault.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from importlib import metadata
from typing import Any

from kvconform import machine, probes, progress, vectors
from kvconform.adapter import Adapter, AdapterMistake, capabilities_of
from kvconform.errors import TargetError, UsageError
from kvconform.finding import Finding, Key, Raw
from kvconform.judge import Tally
from kvconform.moment import Moment, Report, silent
from kvconform.run import Run
from kvconform.shrink import Shrinker, Trace
from kvconform.targets import Target
from kvconform.walk import Dice, Walk
from kvspec.edges import vectors as edges
from kvspec.laws import CATALOGUE, Law
from kvspec.vocabulary import Capability, Config, Guard, Level, Verdict

OK_WORDS = (Verdict.OK,)
REFUSALS = (Verdict.LATER, Verdict.NEVER, Verdict.NO)


@dataclass(frozen=True)
class Profile:
    """What a check may spend. walk: operations of the fast walk. examples, steps: of the hypothesis machine. workloads:
    for the scheduler. repeats: runs done twice. shrink: operations for making findings small. guard: seconds after
    which a check is taken to hang. seconds: None, or the time after which no new run is begun.
    """

    name: str
    walk: int
    examples: int
    steps: int
    workloads: int
    repeats: int
    shrink: int
    guard: float = 300.0
    seconds: float | None = None


PROFILES = {
    "quick": Profile("quick", 20_000, 30, 25, 12, 4, 40_000),
    "ci": Profile("ci", 200_000, 300, 40, 60, 20, 200_000, guard=3_600),
    "nightly": Profile("nightly", 100_000_000, 2_000, 60, 400, 100, 1_000_000, guard=7_200, seconds=1_800),
}

GUARD_CAPABILITIES = {
    Guard.ALLOCATE: Capability.GUARD_ALLOCATE,
    Guard.APPEND: Capability.GUARD_APPEND,
    Guard.SWAP_OUT: Capability.GUARD_SWAP_OUT,
    Guard.SWAP_IN: Capability.GUARD_SWAP_IN,
    Guard.FORK: Capability.GUARD_FORK,
}

KEPT = 3  # raw violations kept of each key: they may have different causes


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
    edges_total: int = 0
    edges_run: int = 0
    edges_unreachable: int = 0
    seconds: float = 0.0
    notes: list[str] = field(default_factory=list)
    interrupted: bool = False
    lost: int = 0  # violations that did not show again
    started: float = 0.0  # seconds since 1970


def choose_profile(name: str) -> Profile:
    """The profile of this name. Raises UsageError for an unknown one."""
    if name not in PROFILES:
        raise UsageError(f"unknown profile {name!r}; known: {', '.join(PROFILES)}")
    return PROFILES[name]


class Check:
    """One check of one target."""

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
    ) -> None:
        self.target = target
        self.adapter: Adapter = target.adapter
        self.profile = profile
        self.laws = laws or list(CATALOGUE.values())
        self.without = without
        self._report = report
        capabilities = capabilities_of(self.adapter) - without
        self.result = Result(target, profile, seed, capabilities, without, self.laws, strict)
        self._raws: dict[Key, list[Raw]] = {}
        self._run: Run | None = None  # the latest
        self._deadline = None if profile.seconds is None else time.monotonic() + profile.seconds

    def start(self, config: Config, *, record: bool = False) -> Run:
        """Start a run of this check."""
        self._run = Run(self.adapter, config, without=self.without, laws=self.laws, record=record)
        return self._run

    def run(self) -> Result:
        """Run every tier, shrink what was found. Raises TargetError where the adapter cannot be driven."""
        self.result.started, began = time.time(), time.perf_counter()
        try:
            for tier in (self._vectors, self._walk, self._progress, self._probes, self._hypothesis):
                tier()
            self._shrink()
        except KeyboardInterrupt as stop:
            self.result.interrupted = True
            calling = self._run.driver.calling if self._run else ""
            within = f" in {type(self.adapter).__name__}.{calling}" if calling else ""
            self.result.notes.append(f"{str(stop) or 'interrupted'}{within}: what was not reached is not judged")
            self._keep_unshrunk()
        except AdapterMistake as error:
            raise TargetError(f"the adapter, not the manager, is at fault: {error}") from None
        self.result.findings.sort(key=_order)
        self.result.seconds = time.perf_counter() - began
        return self.result

    def report(self, tier: str, done: int, of: int, doing: str = "") -> None:
        """Tell how far a tier is. doing: what is at work now."""
        broken = {law for law, *_ in self._raws}
        self._report(Moment(tier, done, of, doing, self.result.tally.operations, len(broken)))

    def _collect(self, run: Run, raws: Iterable[Raw]) -> None:
        self.result.tally.add(run.tally)
        for raw in raws:
            self._keep(raw)

    def _keep(self, raw: Raw) -> None:
        """Keep the shortest raw violation of each shape, a few shapes of each key."""
        kept = self._raws.setdefault(raw.key, [])
        for at, other in enumerate(kept):
            if other.features == raw.features:
                if len(raw.operations) < len(other.operations):
                    kept[at] = raw
                return
        kept.append(raw)
        kept.sort(key=lambda r: (len(r.operations), len(r.features)))
        del kept[KEPT:]

    def _late(self) -> bool:
        return self._deadline is not None and time.monotonic() > self._deadline

    # -- the tiers -------------------------------------------------------------------------------------------

    def _vectors(self) -> None:
        shipped = edges.load()
        self.result.edges_total = len(shipped.vectors)
        self.result.edges_unreachable = shipped.excluded
        for done, vector in enumerate(shipped.vectors):
            self.report("vectors", done, len(shipped.vectors), vector.id)
            played = vectors.play(self.start, vector, self.adapter, self.result.capabilities)
            if played.run is not None:
                self.result.edges_run += not played.skipped
                self._collect(played.run, vectors.raws(played))

    def _walk(self) -> None:
        walk = Walk(self.adapter, self.start, self.result.capabilities, self.result.seed)
        spent, number = 0, 0
        while spent < self.profile.walk and not self._late():
            self.report("walk", spent, self.profile.walk)
            run, raws = walk.one(number)
            spent += max(1, run.tally.operations)
            self._collect(run, raws)
            if number < self.profile.repeats:
                for raw in probes.repeated(self.start, run.config, run.operations):
                    self._keep(raw)
                if probes.DETERMINISTIC in run.judge.bench.laws:
                    self.result.tally.checks[probes.DETERMINISTIC] += 1
            number += 1

    def _progress(self) -> None:
        done = tried = 0
        while done < self.profile.workloads and tried < 20 * self.profile.workloads and not self._late():
            self.report("workloads", done, self.profile.workloads)
            pick = Dice(f"{self.result.seed}/workload/{tried}")
            tried += 1
            work = progress.workload(self.adapter, self.result.capabilities, pick)
            if work is not None:
                done += 1
                run, raws = progress.attempt(self.start, work)
                self._collect(run, raws)

    def _probes(self) -> None:
        config = probes.configuration(self.adapter.domain, self.result.capabilities)
        for done, probe in enumerate(probes.PROBES):
            self.report("probes", done, len(probes.PROBES), probe.words)
            run, raw = probes.bad_input(self.start, probe, config)
            self._collect(run, [raw] if raw else [])

    def _hypothesis(self) -> None:
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
            seed=self.result.seed,
        )

    # -- from violations to findings -------------------------------------------------------------------------

    def _shrink(self) -> None:
        """Shrink the shortest violations first: one of each key, then the further shapes while the budget lasts."""
        shrinker = Shrinker(self.start, self.adapter.domain)
        found: dict[str, Finding] = {}
        queue = sorted(
            ((rank, raw) for kept in self._raws.values() for rank, raw in enumerate(kept) if not self._sooner(raw)),
            key=lambda ranked: (ranked[0], _raw_order(ranked[1])),
        )
        for done, (rank, raw) in enumerate(queue):
            self.report("shrinking", done, len(queue), raw.violation.law.id)
            if rank and self._enough(raw, found.values(), shrinker.total):
                continue
            finding = self._small(shrinker, raw, list(found.values()))
            if finding is None:
                continue
            known = found.get(finding.fingerprint)
            if known is None or _order(finding) < _order(known):
                found[finding.fingerprint] = finding
        self.result.findings = _simplest(found.values())
        if self.result.lost:
            self.result.notes.append(
                f"{self.result.lost} violations did not show again on a fresh start: the adapter's start() must forget "
                "everything, or the manager does not do the same twice"
            )

    def _sooner(self, raw: Raw) -> bool:
        """Whether what the end of some run shows was shown by an operation of another."""
        return raw.probe == "finish" and (*raw.key[:-1], "") in self._raws

    def _enough(self, raw: Raw, found: Iterable[Finding], spent: int) -> bool:
        """Whether a further shape of a violation is not worth its price: nothing is left to spend, or a good part is
        gone and a simpler finding most likely has its cause.
        """
        simpler = any(f.key == raw.key and f.features <= raw.features for f in found)
        return spent > self.profile.shrink or (simpler and 4 * spent > self.profile.shrink)

    def _small(self, shrinker: Shrinker, raw: Raw, found: list[Finding]) -> Finding | None:
        """The violation, small; a small trace that shows it already is where its shrinking begins."""
        if raw.workload is not None:
            return progress.shrink(self.start, raw, self.adapter.domain)
        if raw.probe == probes.REPEAT:
            return shrinker.shrink_repetition(raw)
        if raw.probe not in ("", "finish"):
            return _as_it_is(raw)
        for finding in found:
            alike = finding.features == raw.features and finding.probe == raw.probe
            if alike and finding.violation.op == raw.violation.op:
                shown = shrinker.show(raw, Trace(finding.config, tuple(finding.operations)))
                if shown is not None:
                    raw = replace(raw, config=shown.config, operations=shown.operations)
                    break
        small = shrinker.shrink(raw)
        if small is None:
            self.result.lost += 1  # nobody could run it again: no finding, and no success either
        return small

    def _keep_unshrunk(self) -> None:
        self.result.findings = [_as_it_is(kept[0]) for kept in self._raws.values()]


def _as_it_is(raw: Raw) -> Finding:
    return Finding(**vars(raw))


def _raw_order(raw: Raw) -> tuple[Any, ...]:
    return len(raw.operations), len(raw.features), _level(raw.violation.law), raw.key


def _order(finding: Finding) -> tuple[Any, ...]:
    size = Trace(finding.config, tuple(finding.operations)).size()
    return _level(finding.violation.law), bool(finding.probe), size, finding.violation.law.id, finding.violation.op


def _simplest(findings: Iterable[Finding]) -> list[Finding]:
    """Without those that have all the features of a simpler one, and more: most likely they have its cause."""
    kept: list[Finding] = []
    for finding in sorted(findings, key=lambda f: (bool(f.probe), len(f.features), _order(f))):
        if not any(other.key[:-1] == finding.key[:-1] and other.features <= finding.features for other in kept):
            kept.append(finding)
    return kept


def _level(law: Law) -> int:
    return list(Level).index(law.level)


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
    violated = {finding.violation.law.id for finding in result.findings}
    return [_judged(law, result, law.id in violated) for law in result.laws]


def _judged(law: Law, result: Result, violated: bool) -> Judged:
    checks = result.tally.checks[law.id]
    if violated:
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


def needs(law: Law, capabilities: frozenset[Capability]) -> str:
    """What the law needs and the manager does not have, in words."""
    missing = [c.value for c in law.needs if c not in capabilities]
    if law.needs_any and capabilities.isdisjoint(law.needs_any):
        missing.append(" or ".join(c.value for c in law.needs_any))
    return ", ".join(missing)


def overall(result: Result, laws: list[Judged]) -> str:
    """conforms, violates or inconclusive. A violation counts if MUST, with --strict if SHOULD; so does a gap."""
    binding = (Level.MUST, Level.SHOULD) if result.strict else (Level.MUST,)
    bound = [judged for judged in laws if judged.law.level in binding]
    if any(judged.verdict == "violated" for judged in bound):
        return "violates"
    if result.interrupted or result.lost or not any(judged.verdict == "holds" for judged in bound):
        return "inconclusive"
    if any(judged.verdict == "not-exercised" for judged in bound):
        return "inconclusive"
    return "conforms"


def environment() -> dict[str, str]:
    """What a reader needs to run it again."""
    names = ("z3-solver", "hypothesis", "msgspec")
    found = {name: metadata.version(name) for name in names}
    return {"python": platform.python_version(), "platform": platform.system().lower(), **found}
