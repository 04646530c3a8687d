"""Checks that are not one run of legal operations: bad input, and the same run twice.

Bad input is tried on an instance of its own that is then thrown away, so that its damage is blamed on nothing else.
Knows adapters and runs; it must not know any manager.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from kvconform.adapter import AdapterMistake, Domain, Group, Seq
from kvconform.errors import said
from kvconform.finding import Raw
from kvconform.judge import Violation
from kvconform.run import Run
from kvconform.trace import entry_to_json
from kvspec.laws.robust import BadInput, Repetition
from kvspec.vocabulary import Allocate, Capability, Config, Operation, Status, Step, SwapOut

BAD_INPUT, DETERMINISTIC = "robust.bad-input", "robust.deterministic"
REPEAT = "repeat"
PREFIX = "bad-input:"


@dataclass(frozen=True)
class Probe:
    """One kind of bad input. needs: capabilities without which it cannot be tried. setup: operations before it.
    attempt: the bad call.
    """

    name: str
    words: str
    needs: tuple[Capability, ...]
    setup: tuple[Operation, ...]
    attempt: Callable[[Run], object]


def _stranger(status: Status) -> Seq:
    group = Group(99, admitted_before=True)
    seq = Seq(99, group, [1, 1], upto=1, computed=1, status=status, prefixes=[1, 2])
    group.seqs.append(seq)
    return seq


def _twice(run: Run) -> object:
    group = Group(98)
    group.seqs.append(Seq(1, group, [1, 1], prefixes=[1, 2]))
    return run.adapter.allocate(group)


def _fork_stranger(run: Run) -> object:
    parent = _stranger(Status.RUNNING)
    child = Seq(97, parent.group, [1, 1], upto=1, computed=1, prefixes=[1, 2])
    parent.group.seqs.append(child)
    return run.adapter.fork(parent, child)


ONE = (Allocate(1, (1,), (1, 1, 1)), Step({1: (1,)}))
AWAY = (*ONE, SwapOut(1), Step({}))

PROBES = (
    Probe("append-unknown", "append to a sequence that was never admitted", (Capability.APPEND,), ONE,
          lambda run: run.adapter.append(_stranger(Status.RUNNING))),
    Probe("allocate-twice", "admit a sequence under an id that is live", (), ONE, _twice),
    Probe("fork-unknown", "fork of a parent that was never admitted", (Capability.FORK,), ONE, _fork_stranger),
    Probe("swap-out-unknown", "swap out a group that was never admitted", (Capability.SWAP,), ONE,
          lambda run: run.adapter.swap_out(_stranger(Status.RUNNING).group)),
    Probe("swap-in-running", "swap in a group that runs", (Capability.SWAP,), ONE,
          lambda run: run.adapter.swap_in(run.world.groups[1])),
    Probe("append-swapped", "append to a sequence that is swapped out", (Capability.SWAP, Capability.APPEND), AWAY,
          lambda run: run.adapter.append(run.world.seqs[1])),
    Probe("swap-out-twice", "swap out a group that is swapped out", (Capability.SWAP,), AWAY,
          lambda run: run.adapter.swap_out(run.world.groups[1])),
)  # fmt: skip


def named(probe: str) -> Probe:
    """The bad input that a violation's probe names, as `bad-input:NAME`. Raises KeyError where there is none."""
    return {PREFIX + known.name: known for known in PROBES}[probe]


def configuration(domain: Domain, capabilities: frozenset[Capability]) -> Config:
    """A roomy configuration inside the domain, so that nothing but the bad input can fail."""
    size = min(domain.block_sizes, key=lambda s: abs(s - 2))
    cpu = max(8, domain.least_cpu_blocks) if Capability.SWAP in capabilities else 0
    return Config(size, max(8, domain.least_gpu_blocks), cpu, 0, max_model_len=8 * size)


def bad_input(start: Callable[[Config], Run], probe: Probe, config: Config) -> tuple[Run, Raw | None]:
    """Try one kind of bad input; no Raw where it does not apply here, or is told off as it should be."""
    run = start(config)
    law = run.judge.bench.laws.get(BAD_INPUT)
    if law is None or not run.capabilities.issuperset(probe.needs):
        return run, None
    for op in probe.setup:
        if run.over or run.why_not(op) is not None or run.apply(op).refused:
            return run, None
    if run.over:
        return run, None
    counts = run.judge.counts
    rows = {seq: row.blocks for seq, row in run.ledger.rows.items()}
    accepted, answer = True, ""
    try:
        given = probe.attempt(run)
        accepted, answer = given is not False, f"answered {given!r}"
    except AdapterMistake:
        raise
    except Exception as error:
        accepted, answer = False, f"raised {said(error)}"
    changed = _changed(run, counts, rows)
    run.tally.checks[BAD_INPUT] += 1
    if law.judge(BadInput(accepted, changed)):
        return run, None
    violation = Violation(
        law,
        probe.name,
        f"bad input goes through: {probe.words}" if accepted else f"bad input leaves damage: {probe.words}",
        "a clear error, and nothing changed",
        answer + (", and counts or rows changed" if changed else ""),
    )
    return run, Raw(violation, config, list(probe.setup), frozenset(), "walk", PREFIX + probe.name)


def _changed(run: Run, counts: object, rows: dict[int, list[int]]) -> bool:
    try:
        now = {seq.id: run.driver.row(seq) for seq in run.world.with_tables()}
        return run.driver.counts() != counts or now != rows
    except AdapterMistake:
        raise
    except Exception:
        return True  # what could be observed before cannot be any more


def repeated(start: Callable[..., Run], config: Config, operations: Sequence[Operation]) -> Iterator[Raw]:
    """Run the same operations twice; a Raw where an observation differs."""
    run, first = _observed(start, config, operations)
    law = run.judge.bench.laws.get(DETERMINISTIC)
    if law is None:
        return
    _, second = _observed(start, config, operations)
    differing = [at for at, (one, other) in enumerate(zip(first, second, strict=True)) if one != other]
    if law.judge(Repetition(len(differing))):
        return
    at = differing[0]
    violation = Violation(
        law,
        operations[at].op,
        f"the same operations give other observations at the second run, first at operation {at + 1}",
        "equal observations",
        f"{_differing(first[at], second[at])} differ",
    )
    yield Raw(violation, config, list(operations[: at + 1]), frozenset(), "walk", REPEAT)


def _differing(one: object, other: object) -> str:
    if not isinstance(one, dict) or not isinstance(other, dict):
        return "the operations that were possible"
    return ", ".join(key for key in {**one, **other} if one.get(key) != other.get(key))


def _observed(start: Callable[..., Run], config: Config, operations: Sequence[Operation]) -> tuple[Run, list[object]]:
    run = start(config, record=True)
    for op in operations:
        if run.over or run.why_not(op) is not None:
            break
        run.apply(op)
    lines: list[object] = [entry_to_json(entry) for entry in run.entries]
    return run, lines + [None] * (len(operations) - len(lines))
