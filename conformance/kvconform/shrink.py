"""Makes a violation small: fewer operations, fewer sequences, lower numbers, the same cause.

Knows how to replay what is left of a trace, leaving out what is no longer legal, and what "the same" means: the law,
the operation at which it broke, and the error. It must not know laws or managers. Deterministic; it costs at most
`BUDGET` operations a finding.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product

from kvconform.adapter import ANY_DOMAIN, Domain
from kvconform.clock import STILL
from kvconform.finding import Finding, Raw, key_of
from kvconform.played import Replays, Start, fitting
from kvconform.probes import repeated
from kvconform.run import Found
from kvspec.vocabulary import (
    Allocate,
    Append,
    Config,
    Evict,
    Fork,
    Free,
    Operation,
    Preempt,
    Step,
    SwapIn,
    SwapOut,
)

BUDGET = 12_000
REPETITIONS = 200
"""Candidates tried for one finding of a run that does not repeat."""


@dataclass(frozen=True)
class Trace:
    """A configuration and operations."""

    config: Config
    operations: tuple[Operation, ...]

    def size(self) -> tuple[int, ...]:
        """What smaller means: fewer operations first, then lower numbers."""
        numbers = sum(_weight(op) for op in self.operations)
        c = self.config
        pools = c.num_gpu_blocks + c.num_cpu_blocks
        # No window is smaller than any.
        window = 0 if c.sliding_window is None else 2 + c.sliding_window
        flags = c.colliding_hashes + c.prefix_caching + _clock_weight(c.passes_per_tick)
        settings = pools + c.block_size + c.watermark_blocks + window + 2 * c.kv_groups + flags
        return len(self.operations), numbers + settings, _letters(self.operations)


def _clock_weight(passes: int) -> int:
    """A fine clock is the simplest, then one that stands still: with any other it matters where its ticks fall."""
    return 1 + passes if passes not in (0, STILL) else passes // STILL


def _weight(op: Operation) -> int:
    if isinstance(op, Allocate):
        return (
            2 * len(op.seqs)
            + len(op.tokens or ())
            + op.lookahead
            + 3 * op.force
            + _partial(op)
            + op.external
            + op.match
            + len(op.extra)
        )
    if isinstance(op, Step):
        return sum(1 + len(tokens) for tokens in op.tokens.values())
    if isinstance(op, Fork):
        return 2 + len(op.tokens or ())
    if isinstance(op, Append):
        return op.lookahead + 3 * op.force + op.drafts + _partial(op)
    return getattr(op, "lookahead", 0) + 3 * getattr(op, "force", False) + getattr(op, "count", 0)


def _partial(op: Allocate | Append) -> int:
    """What a chunk weighs: more than none, and the more the longer it is."""
    return 0 if op.chunk is None else 1 + op.chunk


def _letters(operations: tuple[Operation, ...]) -> int:
    """Tokens other than 1: plain ones read better."""
    texts = [op.tokens or () for op in operations if isinstance(op, (Allocate, Fork))]
    texts += [tokens for op in operations if isinstance(op, Step) for tokens in op.tokens.values()]
    return sum(token != 1 for text in texts for token in text)


class Shrinker:
    """Shrinks one violation after another over one way of starting runs. settled: fingerprints at which it stops, as
    nobody asks for anything smaller.
    """

    def __init__(self, start: Start, domain: Domain = ANY_DOMAIN, settled: frozenset[str] = frozenset()) -> None:
        self._start = start
        self._domain = domain
        self._replays = Replays(start)
        self._settled = settled
        self._spent = 0
        self.total = 0  # operations spent on all findings so far

    def shrink(self, raw: Raw) -> Finding | None:
        """The smallest trace found that still shows the violation; None where it does not show again."""
        self._spent = 0
        best = self._attempt(Trace(raw.config, tuple(raw.operations)), raw)
        if best is None:
            return None
        best, improved = self._thinned(best, raw), True
        while improved and self._spent < BUDGET and not self._arrived(best, raw):
            improved = False
            for candidate in _smaller(best[0]):
                if self._spent >= BUDGET:
                    break
                if candidate.size() >= best[0].size():
                    continue
                found = self._attempt(candidate, raw)
                if found is not None and found[0].size() < best[0].size():
                    best, improved = found, True
                    break
        return self._finding(best, raw)

    def _thinned(self, best: tuple[Trace, Found], raw: Raw) -> tuple[Trace, Found]:
        """Stretches of operations dropped, from long to short and from the end, each tried once: for long traces, where
        starting over after each success would cost too much.
        """
        length = len(best[0].operations) // 2
        while length and self._spent < BUDGET and not self._arrived(best, raw):
            start = len(best[0].operations) - length
            while start >= 0 and self._spent < BUDGET:
                ops = best[0].operations
                found = self._attempt(replace(best[0], operations=ops[:start] + ops[start + length :]), raw)
                if found is not None and len(found[0].operations) < len(ops):
                    best = found
                start = min(start - length, len(best[0].operations) - length)
            length //= 2
        return best

    def _arrived(self, best: tuple[Trace, Found], raw: Raw) -> bool:
        """Whether it is one of the settled ones by now."""
        return bool(self._settled) and _finding_of(best, raw).fingerprint in self._settled

    def shrink_repetition(self, raw: Raw) -> Finding:
        """The fewest operations found whose observations still differ from one run to the next. What differs by chance
        may not differ when tried again, so this only ever drops operations, and keeps what did differ.
        """
        best, improved, spent = raw, True, 0
        while improved and spent < REPETITIONS:
            improved = False
            for candidate in _fewer_operations(Trace(best.config, tuple(best.operations))):
                spent += 1
                differing = list(repeated(self._start, candidate.config, self._legal(candidate)))
                if differing:
                    best, improved = differing[0], True
                    break
        return Finding(best.violation, best.config, best.operations, raw.features, raw.found_by, raw.probe)

    def _legal(self, trace: Trace) -> list[Operation]:
        run = self._start(trace.config)
        for op in trace.operations:
            if not run.over and run.why_not(fit := fitting(op, run)) is None:
                run.apply(fit)
        self.total += 3 * run.tally.operations
        return run.operations

    def show(self, finding: Finding | Raw, trace: Trace) -> Finding | None:
        """The finding that replaying the trace shows for the violation's key, if any."""
        raw = Raw(finding.violation, finding.config, [], frozenset(), finding.found_by, finding.probe)
        found = self._attempt(trace, raw)
        return None if found is None else self._finding(found, raw)

    def _finding(self, best: tuple[Trace, Found], raw: Raw) -> Finding:
        renumbered = _renumbered(best[0])
        return _finding_of(self._attempt(renumbered, raw) or best, raw)  # so that the message names the new numbers

    def _attempt(self, trace: Trace, raw: Raw) -> tuple[Trace, Found] | None:
        """Replay what is legal of the trace; the part up to the violation, if it shows."""
        if self._domain.excludes(trace.config):
            return None
        played = self._replays.play(trace.config, trace.operations, finish=raw.probe == "finish")
        if played is None:
            return None  # a configuration that the manager does not start with, and that no domain excludes
        self._spent += played.cost + 1
        self.total += played.cost + 1
        for found in played.found:
            if key_of(found.violation, "finish" if found.late else "") == raw.key:
                return Trace(trace.config, played.operations[: found.at]), found
        return None


def _finding_of(best: tuple[Trace, Found], raw: Raw) -> Finding:
    trace, found = best
    operations = list(trace.operations)
    return Finding(found.violation, trace.config, operations, found.features, raw.found_by, raw.probe)


# -- what might be smaller -----------------------------------------------------------------------------------


def _smaller(trace: Trace) -> Iterator[Trace]:
    """Candidates, the boldest first."""
    yield from _fewer_operations(trace)
    yield from _later_admissions(trace)
    yield from _fewer_groups(trace)
    yield from _longer_prompts(trace)
    yield from _smaller_blocks(trace)
    yield from _smaller_config(trace)
    yield from _plainer(trace)
    yield from _lower_lookaheads(trace)
    yield from _simpler_operations(trace)
    yield from _paired(trace)


def _fewer_operations(trace: Trace) -> Iterator[Trace]:
    ops = trace.operations
    length = len(ops) // 2
    while length:
        for start in range(len(ops) - length, -1, -1):
            yield replace(trace, operations=ops[:start] + ops[start + length :])
        length //= 2


def _later_admissions(trace: Trace) -> Iterator[Trace]:
    """Without an admission that was refused: the later one of the same group brings the prompt."""
    for at, op in enumerate(trace.operations):
        if not isinstance(op, Allocate) or op.tokens is None:
            continue
        for later in range(at + 1, len(trace.operations)):
            other = trace.operations[later]
            if isinstance(other, Allocate) and other.group == op.group and other.tokens is None:
                ops = list(trace.operations)
                ops[later] = replace(other, tokens=op.tokens)
                del ops[at]
                yield replace(trace, operations=tuple(ops))
                break


def _group_of(op: Operation) -> int | None:
    return op.group if isinstance(op, (Allocate, Append, SwapOut, SwapIn, Preempt)) else None


def _fewer_groups(trace: Trace) -> Iterator[Trace]:
    """Without one group, with a pool that is smaller by about what it held."""
    size = trace.config.block_size
    for group in dict.fromkeys(g for op in trace.operations if (g := _group_of(op)) is not None):
        rest = tuple(op for op in trace.operations if _group_of(op) != group)
        tokens = max(
            (len(op.tokens or ()) for op in trace.operations if _group_of(op) == group and isinstance(op, Allocate)),
            default=0,
        )
        held = -(-tokens // size)
        for less in {0, held, held + 1}:
            if trace.config.num_gpu_blocks >= less:
                config = replace(trace.config, num_gpu_blocks=trace.config.num_gpu_blocks - less)
                yield Trace(config, rest)


def _longer_prompts(trace: Trace) -> Iterator[Trace]:
    """Without a step and the append of what it gave: the prompt is as much longer."""
    for at, op in enumerate(trace.operations):
        if not isinstance(op, Append):
            continue
        admitted = [i for i, o in enumerate(trace.operations[:at]) if isinstance(o, Allocate) and o.group == op.group]
        steps = [i for i, o in enumerate(trace.operations[:at]) if isinstance(o, Step) and o.tokens]
        if not admitted or not steps:
            continue
        first, step = trace.operations[admitted[0]], trace.operations[steps[-1]]
        assert isinstance(first, Allocate) and isinstance(step, Step)  # noqa: PT018
        given = max((len(step.tokens.get(seq, ())) for seq in first.seqs), default=0)
        if first.tokens is None or not given:
            continue
        ops = list(trace.operations)
        ops[admitted[0]] = replace(first, tokens=(*first.tokens, *(1,) * given))
        for index in sorted({steps[-1], at}, reverse=True):
            del ops[index]
        yield replace(trace, operations=tuple(ops))


def _smaller_blocks(trace: Trace) -> Iterator[Trace]:
    """A smaller block size, with all token and lookahead counts scaled to fill as many blocks."""
    size = trace.config.block_size
    for smaller in range(1, size):
        scaled = tuple(_scaled(op, size, smaller) for op in trace.operations)
        for operations in (trace.operations, scaled):
            for gpu, cpu in product((0, -1, 1), repeat=2):
                pools = trace.config.num_gpu_blocks + gpu, trace.config.num_cpu_blocks + cpu
                if min(pools) >= 0:
                    config = replace(trace.config, block_size=smaller, num_gpu_blocks=pools[0], num_cpu_blocks=pools[1])
                    yield Trace(config, operations)


def _scaled(op: Operation, size: int, smaller: int) -> Operation:
    if isinstance(op, Allocate) and op.tokens:
        count = max(1, -(-len(op.tokens) * smaller // size))
        return replace(op, tokens=op.tokens[:count], lookahead=-(-op.lookahead * smaller // size))
    if isinstance(op, Step):
        return replace(op, tokens={s: t[: max(1, -(-len(t) * smaller // size))] for s, t in op.tokens.items()})
    if isinstance(op, (Append, SwapIn)):
        return replace(op, lookahead=-(-op.lookahead * smaller // size))
    return op


def _smaller_config(trace: Trace) -> Iterator[Trace]:
    for name in ("num_gpu_blocks", "num_cpu_blocks", "watermark_blocks"):
        value = getattr(trace.config, name)
        for smaller in dict.fromkeys((0, value // 2, value - 1)):
            if 0 <= smaller < value:
                yield replace(trace, config=replace(trace.config, **{name: smaller}))
    if trace.config.prefix_caching:
        yield replace(trace, config=replace(trace.config, prefix_caching=False))
    if trace.config.colliding_hashes:
        yield replace(trace, config=replace(trace.config, colliding_hashes=False))
    passes = trace.config.passes_per_tick
    for other in dict.fromkeys((0, STILL, 1, passes // 2, passes - 1)) if passes else ():
        yield replace(trace, config=replace(trace.config, passes_per_tick=other))
    window = trace.config.sliding_window
    if window is not None:
        for shorter in dict.fromkeys((None, 1, window // 2, window - 1)):
            if shorter is None or 1 <= shorter < window:
                yield replace(trace, config=replace(trace.config, sliding_window=shorter))
    if trace.config.kv_groups > 1:
        yield replace(trace, config=replace(trace.config, kv_groups=trace.config.kv_groups - 1))


def _plainer(trace: Trace) -> Iterator[Trace]:
    """Without prefix caching, or without a window, with all that goes with it: a null block takes one of the pool."""
    config, plain = trace.config, []
    if config.prefix_caching:
        plain.append(replace(config, prefix_caching=False, colliding_hashes=False))
    if config.sliding_window is not None or config.kv_groups > 1:
        plain.append(replace(config, sliding_window=None, kv_groups=1))
        plain.append(replace(plain[0], sliding_window=None, kv_groups=1))
    for other in plain:
        operations = trace.operations if other.prefix_caching else tuple(map(_keyless, trace.operations))
        for less in range(min(3, other.num_gpu_blocks + 1)):
            yield Trace(replace(other, num_gpu_blocks=other.num_gpu_blocks - less), operations)


def _keyless(op: Operation) -> Operation:
    return replace(op, extra=(), external=0, match=False) if isinstance(op, Allocate) else op


def _lower_lookaheads(trace: Trace) -> Iterator[Trace]:
    """Every lookahead lowered at once: an engine may have only one."""
    most = max((getattr(op, "lookahead", 0) for op in trace.operations), default=0)
    for less in dict.fromkeys((0, 1, most // 2, most - 1)):
        if 0 <= less < most:
            lowered = [
                replace(op, lookahead=min(op.lookahead, less)) if isinstance(op, (Allocate, Append, SwapIn)) else op
                for op in trace.operations
            ]
            yield replace(trace, operations=tuple(lowered))


def _simpler_operations(trace: Trace) -> Iterator[Trace]:
    for at, op in enumerate(trace.operations):
        for simpler in _simpler(op):
            yield replace(trace, operations=(*trace.operations[:at], simpler, *trace.operations[at + 1 :]))


def _simpler(op: Operation) -> Iterator[Operation]:
    if isinstance(op, (Allocate, Append, SwapIn, SwapOut)) and op.force:
        yield replace(op, force=False)
    if isinstance(op, (Allocate, Append, SwapIn)):
        for less in dict.fromkeys((0, op.lookahead // 2, op.lookahead - 1)):
            if 0 <= less < op.lookahead:
                yield replace(op, lookahead=less)
    if isinstance(op, (Allocate, Append)) and op.chunk is not None:
        for chunk in dict.fromkeys((None, 1, op.chunk // 2, op.chunk - 1)):
            if chunk is None or 1 <= chunk < op.chunk:
                yield replace(op, chunk=chunk)
    if isinstance(op, Append):
        for less in dict.fromkeys((0, op.drafts // 2, op.drafts - 1)):
            if 0 <= less < op.drafts:
                yield replace(op, drafts=less)
    if isinstance(op, Evict) and op.count > 1:
        yield replace(op, count=1)
    if isinstance(op, Allocate):
        for less in dict.fromkeys((0, op.external // 2, op.external - 1)):
            if 0 <= less < op.external:
                yield replace(op, external=less)
        if op.extra:
            yield replace(op, extra=())
        if op.match:
            yield replace(op, match=False)
        if len(op.seqs) > 1:
            yield replace(op, seqs=op.seqs[:1])
            for left_out in reversed(op.seqs):
                yield replace(op, seqs=tuple(seq for seq in op.seqs if seq != left_out))
        if op.tokens:
            for text in _shorter(op.tokens, least=1):
                yield replace(op, tokens=text)
    if isinstance(op, Fork) and op.tokens is not None:
        yield replace(op, tokens=None)
        for text in _shorter(op.tokens, least=0):
            yield replace(op, tokens=text)
    if isinstance(op, Step):
        for seq, tokens in op.tokens.items():
            yield replace(op, tokens={s: t for s, t in op.tokens.items() if s != seq})
            for text in _shorter(tokens, least=1):
                yield replace(op, tokens={**op.tokens, seq: text})


def _shorter(tokens: tuple[int, ...], least: int) -> Iterator[tuple[int, ...]]:
    for count in dict.fromkeys((least, len(tokens) // 2, len(tokens) - 1)):
        if least <= count < len(tokens):
            yield tokens[:count]
    plain = (1,) * len(tokens)
    if tokens != plain:
        yield plain


def _paired(trace: Trace) -> Iterator[Trace]:
    """A pool smaller by one or two together with one number lowered: what slides along an edge."""
    pools = (("num_gpu_blocks", 1), ("num_cpu_blocks", 1), ("watermark_blocks", 1), ("num_gpu_blocks", 2))
    for name, by in pools:
        value = getattr(trace.config, name)
        if value >= by:
            less = replace(trace, config=replace(trace.config, **{name: value - by}))
            yield from _simpler_operations(less)
            yield from _fewer_operations(less)
            for other in ("num_gpu_blocks", "num_cpu_blocks"):
                also = getattr(less.config, other)
                if other != name and also:
                    yield replace(less, config=replace(less.config, **{other: also - 1}))


# -- numbers that read well ----------------------------------------------------------------------------------


def _renumbered(trace: Trace) -> Trace:
    """The same trace with groups and sequences numbered 1, 2, 3 in the order they appear, and a lean configuration."""
    groups: dict[int, int] = {}
    seqs: dict[int, int] = {}

    def group(number: int) -> int:
        return groups.setdefault(number, len(groups) + 1)

    def seq(number: int) -> int:
        return seqs.setdefault(number, len(seqs) + 1)

    renamed: list[Operation] = []
    for op in trace.operations:
        if isinstance(op, Allocate):
            renamed.append(replace(op, group=group(op.group), seqs=tuple(seq(s) for s in op.seqs)))
        elif isinstance(op, (Append, SwapOut, SwapIn, Preempt)):
            renamed.append(replace(op, group=group(op.group)))
        elif isinstance(op, Fork):
            renamed.append(replace(op, parent=seq(op.parent), child=seq(op.child)))
        elif isinstance(op, Free):
            renamed.append(replace(op, seq=seq(op.seq)))
        elif isinstance(op, Step):
            renamed.append(replace(op, tokens={seq(s): t for s, t in op.tokens.items()}))
        else:
            renamed.append(op)
    return Trace(trace.config, tuple(renamed))
