"""The kit's own small scheduler: does every workload finish that ought to?

First come, first served. It preempts the last comer, by swap where possible, else by recompute, and resumes before it
admits. Knows the engine's order of operations; it must not know the manager. Every operation is judged as usual.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from kvconform.adapter import ANY_DOMAIN, Adapter, Domain
from kvconform.driver import Outcome
from kvconform.finding import Finding, Raw, raws_of
from kvconform.judge import Violation
from kvconform.propose import Chooser, configuration
from kvconform.run import Run
from kvconform.workload import SPARE, Request, Workload, fits_alone
from kvspec.laws.robust import Progress
from kvspec.vocabulary import (
    Allocate,
    Append,
    Capability,
    Config,
    Device,
    Evict,
    Free,
    Operation,
    Preempt,
    Result,
    Status,
    Step,
    SwapIn,
    SwapOut,
    Verdict,
)

LAW, PROBE = "robust.progress", "progress"
VERDICT_LAWS = frozenset(("admission.impossible-is-never", "admission.never-is-final"))
"""Laws about what a guard says, not left to end a workload: what comes of waiting for ever is the question here."""

BUDGET = 20_000
LONGEST_OUTPUT = 200  # tokens to generate, each of which takes a step: with large blocks the rest is prompt
SHOWN = 40  # operations of a stuck workload that a report shows


def workload(adapter: Adapter, capabilities: frozenset[Capability], pick: Chooser) -> Workload | None:
    """A workload each of whose requests fits alone; None where the configuration has no room for any."""
    config = configuration(adapter.domain, capabilities, pick)
    lookahead = pick.choose([0, 0, 1, config.block_size]) if Capability.LOOKAHEAD in capabilities else 0
    null = int(Capability.NULL_BLOCK in capabilities)
    most = (config.num_gpu_blocks - config.watermark_blocks - SPARE - null) // config.kv_groups
    room = most * config.block_size - lookahead
    if room < 2:
        return None
    tiny = Request(1, min(config.block_size, room) - 1) if config.block_size > 1 else Request(1, 1)
    requests = [tiny] if pick.chance(20) else []
    for _ in range(pick.integer(1, 6)):
        total = pick.choose([room, pick.integer(2, room), pick.integer(2, room)])
        prompt = pick.integer(max(1, total - LONGEST_OUTPUT), total - 1)
        requests.append(Request(prompt, total - prompt))
    return Workload(config, tuple(requests), lookahead, null)


class Scheduler:
    """Drives one run through one workload."""

    def __init__(self, run: Run, work: Workload) -> None:
        self.run = run
        self.lookahead = work.lookahead
        self.left = {number: request.output for number, request in enumerate(work.requests, 1)}  # tokens to generate
        self.tokens = {number: (1,) * request.prompt for number, request in enumerate(work.requests, 1)}
        self.group = {number: number for number in self.left}  # of the current attempt
        self._names = len(self.left)
        self.declined: list[int] = []  # requests that the manager said NEVER to
        self._patience = 60 + 20 * sum(r.prompt + r.output for r in work.requests)

    def go(self) -> bool | None:
        """True where every request finished, False where not, None where the run ended before that could be seen."""
        for _ in range(self._patience):
            if not self.left:
                return True
            moved = self._round()
            if self.run.over:
                return None
            if not moved:
                return False
        return False

    def _do(self, op: Operation) -> Result | None:
        if self.run.why_not(op) is not None:
            return None
        return self.run.apply(op).result

    def _status(self, number: int) -> Status:
        group = self.run.world.groups.get(self.group[number])
        return group.seqs[0].status if group and group.seqs else Status.WAITING

    def _having(self, status: Status) -> list[int]:
        return [number for number in self.left if self._status(number) is status]

    def _round(self) -> bool:
        """One scheduling round and one step; False where nothing can ever move again."""
        declined = len(self.declined)
        preempted = self._grow()
        if not preempted and not self.run.over:
            self._resume()
        if self.run.over:
            return True
        scheduled = [seq.id for seq in self.run.world.seqs.values() if seq.scheduled]
        self._do(Step(dict.fromkeys(scheduled, (1,))))
        self._collect(scheduled)
        return bool(scheduled) or preempted or len(self.declined) > declined

    def _grow(self) -> bool:
        """Append to every running request in order, preempting from the end; whether anything was preempted."""
        preempted = False
        waiting = self._having(Status.RUNNING)
        while waiting and not self.run.over:
            number = waiting[0]
            if self._try(self._growth, number).result is Result.OK:
                waiting.pop(0)
            else:
                preempted = True
                self._preempt(waiting.pop())
        return preempted

    def _growth(self, number: int) -> Operation:
        return Append(self.group[number], self.lookahead)

    def _return(self, number: int) -> Operation:
        return SwapIn(self.group[number], self.lookahead)

    def _try(self, make: Callable[[int], Operation], number: int) -> Outcome:
        """Carry an operation out; where eviction is the engine's, evict and try again if it cannot be."""
        outcome = self.run.apply(make(number))
        kept = self.run.judge.bench.reclaimable.get(Device.GPU, 0)
        if outcome.result is Result.OK or not kept or self._do(Evict(kept)) is not Result.OK:
            return outcome
        return self.run.apply(make(number))

    def _preempt(self, number: int) -> None:
        group = self.group[number]
        for op in (SwapOut(group), Preempt(group)):
            if self._do(op) is Result.OK or self.run.over:
                return
        self._restart(number)

    def _restart(self, number: int) -> None:
        """Recompute by hand, for managers that cannot preempt: end the sequence, come back with its tokens."""
        seq = self.run.world.groups[self.group[number]].seqs[0]
        self.tokens[number] = tuple(seq.tokens)
        self._do(Free(seq.id, "preempted"))
        self._names += 1
        self.group[number] = self._names

    def _resume(self) -> None:
        swapped = self._having(Status.SWAPPED)
        for number in swapped:
            if self._try(self._return, number).result is not Result.OK:
                return
        for number in self._having(Status.WAITING):
            if self.run.over:
                return
            outcome = self._try(self._admission, number)
            if outcome.verdict is Verdict.NEVER:
                self._decline(number)
            elif outcome.result is not Result.OK:
                return

    def _decline(self, number: int) -> None:
        """Drop a request that can never be admitted, as an engine does."""
        self.declined.append(number)
        del self.left[number]
        for seq in list(self.run.world.groups[self.group[number]].seqs):
            self._do(Free(seq.id, "aborted"))

    def _admission(self, number: int) -> Operation:
        name = self.group[number]
        group = self.run.world.groups.get(name)
        if group is None:
            return Allocate(name, (name,), self.tokens[number])
        return Allocate(name, tuple(seq.id for seq in group.waiting))

    def _collect(self, scheduled: list[int]) -> None:
        by_group = {group: number for number, group in self.group.items()}
        for seq in scheduled:
            number = by_group[seq]  # every attempt's group and sequence have the same number
            self.left[number] -= 1
            if not self.left[number]:
                del self.left[number]
                self._do(Free(seq))


def attempt(start: Callable[..., Run], work: Workload) -> tuple[Run, list[Raw]]:
    """Run a workload; the run and what it found."""
    run = start(work.config)
    run.leave_out(VERDICT_LAWS)
    law = run.judge.bench.laws.get(LAW)
    if law is None:
        return run, []
    scheduler = Scheduler(run, work)
    finished = scheduler.go()
    if finished is None:
        return run, raws_of(run, "walk")
    run.tally.checks[LAW] += 1
    total = len(work.requests)
    refused = [n for n in scheduler.declined if _tiny(work.requests[n - 1], work.config)]
    done = total - len(scheduler.left) - len(refused)
    if law.judge(Progress(done, total)):
        run.finish()
        return run, raws_of(run, "walk")
    last = run.operations[-1].op if run.operations else "start"
    violation = Violation(
        law,
        "end",
        f"a workload of {total} requests, each of which fits alone, does not finish",
        f"all {total} finish",
        f"{done} finish; stuck after {len(run.operations)} operations, the last of them {last}",
    )
    raw = Raw(violation, work.config, run.operations[-SHOWN:], frozenset(), "walk", PROBE, workload=work)
    return run, [*raws_of(run, "walk"), raw]


def _tiny(request: Request, config: Config) -> bool:
    """Whether no manager's own limit can be the reason to decline it: it fits one block."""
    return request.prompt + request.output <= max(2, config.block_size)


def shrink(start: Callable[..., Run], raw: Raw, domain: Domain = ANY_DOMAIN) -> Finding:
    """The smallest workload found, inside the domain, that is still stuck."""
    best, improved, spent = raw, True, 0
    while improved and spent < BUDGET:
        improved = False
        assert best.workload is not None
        for smaller in _smaller(best.workload):
            if domain.excludes(smaller.config):
                continue
            run, raws = attempt(start, smaller)
            spent += run.tally.operations
            stuck = [r for r in raws if r.violation.law.id == LAW]
            if stuck:
                best, improved = stuck[0], True
                break
    return Finding(
        best.violation, best.config, best.operations, best.features, raw.found_by, best.probe, workload=best.workload
    )


def _smaller(work: Workload) -> list[Workload]:
    found = []
    requests, config = work.requests, work.config
    for at in range(len(requests)):
        if len(requests) > 1:
            found.append(replace(work, requests=requests[:at] + requests[at + 1 :]))
    if work.lookahead:
        found.append(replace(work, lookahead=0))
    for name, least in (("num_gpu_blocks", 1), ("num_cpu_blocks", 0), ("watermark_blocks", 0), ("block_size", 1)):
        value = getattr(config, name)
        if value > least:
            found.append(replace(work, config=replace(config, **{name: value - 1})))
    for at, request in enumerate(requests):
        for less in (replace(request, prompt=request.prompt - 1), replace(request, output=request.output - 1)):
            if less.prompt and less.output:
                found.append(replace(work, requests=(*requests[:at], less, *requests[at + 1 :])))
    return [w for w in found if all(fits_alone(w.config, r, w.lookahead, w.null) for r in w.requests)]
