"""Gathers the cases of the admission laws: what a guard said, what it promised, what asking it did."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress

from kvconform.errors import said
from kvconform.judge.bench import Bench, Explanation, Transition, shown
from kvspec.guards import is_never
from kvspec.vocabulary import Allocate, Device, Guard, Result, Status, SwapIn, Verdict

GUARDS = {guard.value: guard for guard in Guard}
SOUND, PRECISE = (
    {guard.value: f"admission.{claim}-{guard.value.replace('_', '-')}" for guard in Guard}
    for claim in ("sound", "precise")
)
"""The laws about what a guard said, by the operation that it guards."""


class Admission:
    """Judges guards; remembers requests that were answered NEVER, and requests that were granted."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self._never: set[tuple[object, ...]] = set()
        self._granted: set[tuple[object, ...]] = set()

    def asked(self, t: Transition) -> None:
        """What asking did, and whether the verdict can be right. Judged before the rows are read again."""
        verdict = t.outcome.verdict
        if verdict is None:
            return
        self.bench.tally.guards[GUARDS[t.op.op], verdict] += 1
        self._pure(t)
        self._refusal(t, verdict)
        self._precise(t)

    def _pure(self, t: Transition) -> None:
        known, outcome = self.bench.ledger.rows, t.outcome
        rows = outcome.rows_asked or {}
        changes = (
            outcome.counts_asked is not None and outcome.counts_asked != t.counts_before,
            rows != {seq: known[seq].blocks for seq in rows},
            outcome.refcounts_moved,
            outcome.asked_again is not outcome.verdict,
        )
        if not self.bench.holds("admission.guard-pure", *changes):
            self.bench.report("admission.guard-pure", self._impure(t, changes))

    def _impure(self, t: Transition, changes: Sequence[bool]) -> Explanation:
        changed = compress(("counts", "rows", "refcounts", "verdict"), changes)
        before, after = t.counts_before, t.outcome.counts_asked
        return (
            f"asking can_{t.op.op} changed {', '.join(changed)}",
            f"free blocks {shown(before)}, verdict {_word(t.outcome.verdict)} both times",
            f"free blocks {shown(after)}, verdict {_word(t.outcome.verdict)} then {_word(t.outcome.asked_again)}",
        )

    def _refusal(self, t: Transition, verdict: Verdict) -> None:
        if t.demands is None:
            return
        if verdict is Verdict.OK:
            if self._without_hits(t):
                self._granted.add(t.request)
        elif verdict is Verdict.NEVER and not t.alone:
            self._never.add(t.request)
        contradicted = t.request in self._granted and (verdict is Verdict.NEVER or t.request in self._never)
        never = contradicted or (verdict is Verdict.NEVER and t.alone)
        fits = not is_never(t.demands.least)
        case = never, verdict is Verdict.LATER, t.alone, contradicted, fits
        if not self.bench.holds("admission.never-is-final", *case):
            self.bench.report("admission.never-is-final", self._not_final(t))
        if not self.bench.holds("admission.impossible-is-never", *case):
            self.bench.report("admission.impossible-is-never", self._for_ever(t))

    def _without_hits(self, t: Transition) -> bool:
        """Whether the cache did nothing for this request: NEVER is about an empty one."""
        done = t.outcome.result is Result.OK
        return self.bench.ledger.cached is None or (done and not any(t.outcome.cached.values()))

    def _not_final(self, t: Transition) -> Explanation:
        return (
            f"can_{t.op.op} said NEVER to a request that it also says OK to",
            "NEVER only where the guard would refuse with every other sequence gone",
            f"NEVER and OK for the same group, tokens and lookahead; free blocks now {shown(t.counts_before)}",
        )

    def _for_ever(self, t: Transition) -> Explanation:
        assert t.demands is not None
        demand = t.demands.least
        gone = "every other sequence is gone already" if t.alone else "even with every other sequence gone"
        return (
            f"can_{t.op.op} said LATER to a request that it can never grant",
            f"NEVER: {gone}; it takes at least {demand.need} blocks and must leave {demand.reserve}",
            f"LATER with {demand.attainable} blocks to be had at most",
        )

    def _precise(self, t: Transition) -> None:
        if t.demands is None:
            return
        demand, free = t.demands.most, t.counts_before.get(t.demands.device, 0)
        law = PRECISE[t.op.op]
        if not self.bench.holds(law, t.outcome.refused, free, demand.need, demand.reserve):
            expected = f"OK: {free} free, {demand.need} needed, {demand.reserve} to stay free"
            explanation = f"can_{t.op.op} refused although there is room", expected, _word(t.outcome.verdict)
            self.bench.report(law, explanation)

    def promised(self, t: Transition) -> None:
        """Whether an OK was kept."""
        outcome, law = t.outcome, SOUND.get(t.op.op)
        if law is None:
            return
        ran_out = outcome.result is Result.OUT_OF_BLOCKS and not outcome.where.startswith("can_")
        if not self.bench.holds(law, outcome.approved, ran_out):
            self.bench.report(law, self._ran_out(t), type(outcome.error).__name__ if outcome.error else "")

    def _ran_out(self, t: Transition) -> Explanation:
        outcome, demands = t.outcome, t.demands
        where = outcome.where if outcome.failed is None else f"append of sequence {outcome.failed.id}"
        need = f"; it takes {demands.most.need} blocks" if demands else ""
        free = t.counts_before.get(demands.device, 0) if demands else 0
        return (
            f"can_{t.op.op} said OK, then {where} ran out of blocks",
            f"no out-of-blocks after an OK ({free} free on the {demands.device.value if demands else 'gpu'}{need})",
            said(outcome.error) if outcome.error else "False",
        )

    def watermark(self, t: Transition) -> None:
        """Whether an admission left the watermark free."""
        if not isinstance(t.op, (Allocate, SwapIn)) or self._waived(t):
            return
        admitted = t.outcome.approved and t.outcome.result is Result.OK
        free, watermark = t.counts[Device.GPU], self.bench.config.watermark_blocks
        if not self.bench.holds("admission.watermark", admitted, free, watermark):
            what = f"{t.op.op} was admitted below the watermark"
            self.bench.report("admission.watermark", (what, f"at least {watermark} blocks free", f"{free} free"))

    def _waived(self, t: Transition) -> bool:
        """Whether the manager's policy asks for no watermark now: nothing but what was admitted runs."""
        if self.bench.adapter.capabilities.watermark_waived != "idle":
            return False
        return all(seq.group is t.group for seq in self.bench.world.seqs.values() if seq.status is Status.RUNNING)


def _word(verdict: Verdict | None) -> str:
    return verdict.value.upper() if verdict else "none"
