"""From the violations that runs met to findings: which are kept, in which order they are shrunk, and what is enough.

Knows raw violations and the shrinker, and of known deviations what they are called: what is known need not be shrunk.
It must not know tiers or verdicts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from kvconform import probes, progress
from kvconform.adapter import Domain
from kvconform.finding import Finding, Key, Raw
from kvconform.run import Run
from kvconform.shrink import Shrinker, Trace
from kvspec.laws import Law
from kvspec.vocabulary import Level

KEPT = 3  # raw violations kept of each key: they may have different causes


@dataclass
class Gathered:
    """Raw violations, and the findings that come of them.

    start, domain: as for the shrinker. budget: operations for shrinking. known: findings that are told already: what
    has the fingerprint of one is not gathered again, and shrinking stops where it arrives at one. passes: whether a
    violation is let pass, so that nobody asks for it. late: whether the time for shrinking is over.
    """

    start: Callable[..., Run]
    domain: Domain
    budget: int
    known: Sequence[Finding] = ()
    passes: Callable[[Raw], bool] = lambda raw: False
    late: Callable[[], bool] = lambda: False
    lost: int = 0  # violations that did not show again
    unshrunk: int = 0  # for want of time
    _raws: dict[Key, list[Raw]] = field(default_factory=dict)

    @property
    def keys(self) -> set[Key]:
        """The keys of all that was gathered."""
        return set(self._raws)

    def _settled(self) -> frozenset[str]:
        return frozenset(finding.fingerprint for finding in self.known)

    def keep(self, raw: Raw) -> None:
        """Keep the shortest raw violation of each shape, a few shapes of each key."""
        if self.known and (self.passes(raw) or as_it_is(raw).fingerprint in self._settled()):
            return
        kept = self._raws.setdefault(raw.key, [])
        for at, other in enumerate(kept):
            if other.features == raw.features:
                if len(raw.operations) < len(other.operations):
                    kept[at] = raw
                return
        kept.append(raw)
        kept.sort(key=lambda r: (len(r.operations), len(r.features)))
        del kept[KEPT * (1 + len(self._like(raw))) :]

    def _like(self, raw: Raw) -> list[Finding]:
        """Known deviations that this may be another shape of."""
        return [finding for finding in self.known if finding.key == raw.key]

    # -- shrinking -------------------------------------------------------------------------------------------

    def findings(self, report: Callable[[str, int, int, str], None]) -> list[Finding]:
        """Shrink the shortest violations first: one of each key, then the further shapes while the budget lasts. What
        may be known comes last, and has a budget of its own.
        """
        shrinker = Shrinker(self.start, self.domain, self._settled())
        found: dict[str, Finding] = {}
        spent = {False: 0, True: 0}  # on what is new, and on what may be known
        queue = sorted(
            ((rank, raw) for kept in self._raws.values() for rank, raw in enumerate(kept) if not self._sooner(raw)),
            key=lambda ranked: (ranked[0], bool(self._like(ranked[1])), _raw_order(ranked[1])),
        )
        for done, (rank, raw) in enumerate(queue):
            report("shrinking", done, len(queue), raw.violation.law.id)
            like = bool(self._like(raw))
            if rank and self._enough(raw, found.values(), spent[like]):
                continue
            before = shrinker.total
            finding = self._small(shrinker, raw, list(found.values()))
            spent[like] += shrinker.total - before
            if finding is None or self.passes(finding) or finding.fingerprint in self._settled():
                continue
            other = found.get(finding.fingerprint)
            if other is None or order(finding) < order(other):
                found[finding.fingerprint] = finding
        return self._told(found.values())

    def _told(self, found: Iterable[Finding]) -> list[Finding]:
        """What is worth telling. Beside a known deviation every other shape is told, so that they can be agreed on at
        once: nothing new may hide behind what is let pass.
        """
        beside = [finding for finding in found if self._like(finding)]
        return [*simplest(finding for finding in found if finding not in beside), *beside]

    def _sooner(self, raw: Raw) -> bool:
        """Whether what the end of some run shows was shown by an operation of another."""
        return raw.probe == "finish" and (*raw.key[:-1], "") in self._raws

    def _enough(self, raw: Raw, found: Iterable[Finding], spent: int) -> bool:
        """Whether a further shape of a violation is not worth its price: nothing is left to spend, or a good part is
        gone and a simpler finding most likely has its cause.
        """
        simpler = any(f.key == raw.key and f.features <= raw.features for f in found)
        return self.late() or spent > self.budget or (simpler and 4 * spent > self.budget)

    def _small(self, shrinker: Shrinker, raw: Raw, found: list[Finding]) -> Finding | None:
        """The violation, small; a small trace that shows it already is where its shrinking begins."""
        if self.late():
            return self._unshrunk(raw)
        if raw.workload is not None:
            return progress.shrink(self.start, raw, self.domain)
        if raw.probe == probes.REPEAT:
            return shrinker.shrink_repetition(raw)
        if raw.probe not in ("", "finish"):
            return as_it_is(raw)
        for finding in found:
            alike = finding.features == raw.features and finding.probe == raw.probe
            if alike and finding.violation.op == raw.violation.op:
                shown = shrinker.show(raw, Trace(finding.config, tuple(finding.operations)))
                if shown is not None:
                    raw = replace(raw, config=shown.config, operations=shown.operations)
                    break
        small = shrinker.shrink(raw)
        if small is None:
            self.lost += 1  # nobody could run it again: no finding, and no success either
        return small

    def _unshrunk(self, raw: Raw) -> Finding | None:
        """As it is; None for what is most likely a known deviation with something around it."""
        self.unshrunk += 1
        return None if any(finding.features <= raw.features for finding in self._like(raw)) else as_it_is(raw)

    def as_they_are(self) -> list[Finding]:
        """A finding of each key without shrinking, for what was interrupted."""
        found = [self._unshrunk(kept[0]) for kept in self._raws.values() if kept]
        return [finding for finding in found if finding is not None]


def as_it_is(raw: Raw) -> Finding:
    """A finding with the trace in which the violation was met."""
    return Finding(**vars(raw))


def _raw_order(raw: Raw) -> tuple[Any, ...]:
    return len(raw.operations), len(raw.features), _level(raw.violation.law), raw.key


def order(finding: Finding) -> tuple[Any, ...]:
    """MUST first, then the smallest."""
    size = Trace(finding.config, tuple(finding.operations)).size()
    return _level(finding.violation.law), bool(finding.probe), size, finding.violation.law.id, finding.violation.op


def simplest(findings: Iterable[Finding]) -> list[Finding]:
    """Without those that have all the features of a simpler one, and more: most likely they have its cause."""
    kept: list[Finding] = []
    for finding in sorted(findings, key=lambda f: (bool(f.probe), len(f.features), order(f))):
        if not any(other.key[:-1] == finding.key[:-1] and other.features <= finding.features for other in kept):
            kept.append(finding)
    return kept


def _level(law: Law) -> int:
    return list(Level).index(law.level)
