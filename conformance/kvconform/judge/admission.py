"""Gathers the cases of the admission laws: what a guard said, what it promised, what asking it did."""

from __future__ import annotations

from kvconform.judge.bench import Bench, Explanation, Transition, shown
from kvspec.guards import is_never
from kvspec.laws.admission import Admitted, Approval, Asking, Precision, Refusal
from kvspec.vocabulary import Allocate, Device, Guard, Result, SwapIn, Verdict


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
        self.bench.tally.guards[Guard(t.op.op), verdict] += 1
        self._pure(t)
        self._refusal(t, verdict)
        self._precise(t)

    def _pure(self, t: Transition) -> None:
        ledger, outcome = self.bench.ledger, t.outcome
        rows = outcome.rows_asked or {}
        case = Asking(
            counts=outcome.counts_asked is not None and outcome.counts_asked != t.counts_before,
            rows=any(row != ledger.rows[seq].blocks for seq, row in rows.items()),
            refcounts=outcome.refcounts_moved,
            verdict=outcome.asked_again is not outcome.verdict,
        )
        self.bench.check("admission.guard-pure", case, lambda: self._impure(t, case))

    def _impure(self, t: Transition, case: Asking) -> Explanation:
        changed = [name for name in ("counts", "rows", "refcounts", "verdict") if getattr(case, name)]
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
            self._granted.add(t.request)
        elif verdict is Verdict.NEVER and not t.alone:
            self._never.add(t.request)
        contradicted = t.request in self._granted and (verdict is Verdict.NEVER or t.request in self._never)
        never = contradicted or (verdict is Verdict.NEVER and t.alone)
        fits = not is_never(t.demands.least)
        case = Refusal(
            never=never,
            later=verdict is Verdict.LATER,
            alone=t.alone,
            ok_when_alone=contradicted,
            fits_when_alone=fits,
        )
        self.bench.check("admission.never-is-final", case, lambda: self._not_final(t))
        self.bench.check("admission.impossible-is-never", case, lambda: self._for_ever(t))

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
        case = Precision(refused=t.outcome.refused, free=free, need=demand.need, reserve=demand.reserve)
        name = t.op.op.replace("_", "-")
        self.bench.check(
            f"admission.precise-{name}",
            case,
            lambda: (
                f"can_{t.op.op} refused although there is room",
                f"OK: {free} free, {demand.need} needed, {demand.reserve} to stay free",
                f"{_word(t.outcome.verdict)}",
            ),
        )

    def promised(self, t: Transition) -> None:
        """Whether an OK was kept."""
        outcome = t.outcome
        ran_out = outcome.result is Result.OUT_OF_BLOCKS and not outcome.where.startswith("can_")
        name = t.op.op.replace("_", "-")
        error = type(outcome.error).__name__ if outcome.error else ""
        self.bench.check(
            f"admission.sound-{name}", Approval(outcome.approved, ran_out), lambda: self._ran_out(t), error
        )

    def _ran_out(self, t: Transition) -> Explanation:
        outcome, demands = t.outcome, t.demands
        where = outcome.where if outcome.failed is None else f"append of sequence {outcome.failed.id}"
        need = f"; it takes {demands.most.need} blocks" if demands else ""
        free = t.counts_before.get(demands.device, 0) if demands else 0
        said = f": {outcome.error}" if outcome.error else ""
        return (
            f"can_{t.op.op} said OK, then {where} ran out of blocks",
            f"no out-of-blocks after an OK ({free} free on the {demands.device.value if demands else 'gpu'}{need})",
            f"{type(outcome.error).__name__ if outcome.error else 'False'}{said}",
        )

    def watermark(self, t: Transition) -> None:
        """Whether an admission left the watermark free."""
        if not isinstance(t.op, (Allocate, SwapIn)):
            return
        admitted = t.outcome.approved and t.outcome.result is Result.OK
        free, watermark = t.counts[Device.GPU], self.bench.config.watermark_blocks
        self.bench.check(
            "admission.watermark",
            Admitted(admitted, free, watermark),
            lambda: (
                f"{t.op.op} was admitted below the watermark",
                f"at least {watermark} blocks free",
                f"{free} free",
            ),
        )


def _word(verdict: Verdict | None) -> str:
    return verdict.value.upper() if verdict else "none"
