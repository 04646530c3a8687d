"""Proposes configurations and legal operations that are likely to matter.

Knows where block managers go wrong: at block boundaries, at the edge of the pool and of the watermark, with shared,
over-allocated and moved tables. It must not know any manager or fault, nor where its choices come from: a `Chooser`
makes them, so that the fast walk and hypothesis share one generator.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

from kvconform.adapter import Domain, Group, Order, Seq
from kvconform.clock import STILL
from kvconform.demand import demands_of
from kvconform.run import Run
from kvspec.vocabulary import (
    NEEDS,
    Allocate,
    Append,
    Capability,
    Config,
    Device,
    Evict,
    Fork,
    Free,
    Operation,
    Preempt,
    ResetAll,
    ResetIndex,
    Status,
    Step,
    SwapIn,
    SwapOut,
)

T = TypeVar("T")

MOST_GROUPS = 5
MOST_WAITING = 2
MOST_MEMBERS, MANY_MEMBERS = 4, 7  # every third group may have many
FORCIBLE = (Allocate, Append, SwapOut, SwapIn)
VOCABULARY = (1, 2)  # two tokens: whole blocks repeat by chance, and diverging sequences diverge half of the time


class Chooser(Protocol):
    """Where choices come from."""

    def integer(self, low: int, high: int) -> int:
        """A number from low to high, both included."""
        ...

    def choose(self, options: Sequence[T]) -> T:
        """One of the options."""
        ...

    def chance(self, percent: int) -> bool:
        """True in so many of a hundred cases."""
        ...


@dataclass(frozen=True)
class Style:
    """How one run is biased: runs of one style each find more than runs that are all alike.

    weights: how often each operation is proposed. longest: prompts of at most so many blocks. lookaheads: lookahead
    slots to choose from. bursts: most tokens a step gives to a sequence. chunks, drafts: to choose from, where the
    manager has them.
    """

    weights: dict[str, int]
    longest: int
    lookaheads: tuple[int, ...]
    bursts: int
    chunks: tuple[int | None, ...] = (None,)
    drafts: tuple[int, ...] = (0,)


POOLS = [(0, 2), *[(1, 4), (2, 6), (3, 8), (3, 8), (6, 14), (6, 14), (12, 30)] * 2, (20, 130)]
"""Ranges of GPU blocks: small ones mostly, where every block counts; some faults need room."""

PASSES_PER_TICK = [1, 3, STILL, STILL]
"""Of a coarse clock: it moves with the passes, or once in a few of them, or stands still."""

BASE_WEIGHTS = {
    "allocate": 30,
    "append": 60,
    "step": 60,
    "fork": 20,
    "swap_out": 20,
    "swap_in": 40,
    "preempt": 8,
    "free": 8,
    "evict": 3,
    "reset_index": 2,
    "reset_all": 1,
}


def configuration(domain: Domain, capabilities: frozenset[Capability], pick: Chooser) -> Config:
    """A configuration inside the domain: small pools mostly, empty ones too, room now and then."""
    size = pick.choose(list(domain.block_sizes))
    low, high = pick.choose(POOLS)
    gpu = max(domain.least_gpu_blocks, pick.integer(low, high))
    cpu = 0
    if Capability.SWAP in capabilities:
        cpu = max(domain.least_cpu_blocks, pick.choose([0, 1, 1, 2, 2, 3, 3, 4, 5, gpu // 2, gpu, gpu, gpu + 2]))
    watermark = 0
    if Capability.WATERMARK in capabilities:
        watermark = min(gpu, pick.choose([0, 0, 0, 0, 1, 1, 2, gpu // 2, gpu]))
    caching = Capability.PREFIX_CACHING in capabilities and pick.chance(50)
    window, groups = None, 1
    windows = Capability.WINDOW in capabilities and (domain.windows_with_caching or not caching)
    if windows and pick.chance(35):
        window = _window(size, domain.whole_windows, pick)
        if Capability.KV_GROUPS in capabilities and pick.chance(60):
            groups = pick.choose([2, 2, 3])
    colliding = caching and Capability.COLLIDING_HASHES in capabilities and pick.chance(25)
    coarse = caching and Capability.COARSE_CLOCK in capabilities and pick.chance(50)
    passes = pick.choose(PASSES_PER_TICK) if coarse else 0
    return Config(size, gpu, cpu, watermark, size * (gpu + 2), caching, window, groups, colliding, passes)


def _window(size: int, whole: bool, pick: Chooser) -> int:
    """A short window, so that positions die soon: some blocks long, or a token more or less."""
    blocks = pick.choose([1, 1, 2, 2, 3])
    return blocks * size if whole else max(1, blocks * size + pick.choose([0, 0, 1, -1, -size + 1]))


def style(config: Config, pick: Chooser, *, evicts: bool = False) -> Style:
    """A style for one run. evicts: the engine must evict, or its pool fills up."""
    weights = {kind: weight * pick.choose([0, 1, 3, 3, 9]) // 3 for kind, weight in BASE_WEIGHTS.items()}
    weights = {**weights, "allocate": max(10, weights["allocate"]), "step": max(20, weights["step"])}
    weights["evict"] *= 1 + 5 * evicts
    if config.passes_per_tick:  # what was used at one time can be confused once it is not in use any more
        weights["free"] = max(BASE_WEIGHTS["free"], 4 * weights["free"])
    size = config.block_size
    lookaheads = pick.choose([(0,), (0, 1), (size, 1, 0), (1,), (size + 1, size, size - 1, 0), (2 * size + 1, 0, size)])
    longest, bursts = pick.choose([1, 2, 2, 3, 5]), pick.choose([1, 1, 2, 3, size + 1])
    chunks: list[tuple[int | None, ...]] = [(None,), (None, 1, size), (size, 2 * size), (1, size - 1 or 1, size + 1)]
    return Style(weights, longest, lookaheads, bursts, pick.choose(chunks), pick.choose([(0,), (0, 1, 2), (size, 1)]))


# -- which operations are possible ---------------------------------------------------------------------------


def candidates(run: Run) -> dict[str, list[int]]:
    """For each operation that may be proposed now, the groups or sequences that it may be about."""
    world, found = run.world, {}
    running = [group.id for group in world.groups.values() if group.running]
    waiting = [group.id for group in world.groups.values() if group.waiting]
    swapped = [group.id for group in world.groups.values() if group.swapped]
    roomy = len(world.groups) - len(waiting) < MOST_GROUPS and len(waiting) < MOST_WAITING
    found["allocate"] = [g for g in waiting if g not in run.hopeless] + ([0] if roomy else [])
    found["append"] = [g for g in running if not any(seq.scheduled for seq in world.groups[g].running)]
    scheduled = any(seq.scheduled for seq in world.seqs.values())
    found["step"] = [0] if scheduled or run.ledger.pending or world.swapped_out_since_step else []
    found["fork"] = [
        seq.id
        for seq in world.seqs.values()
        if seq.status is Status.RUNNING
        and seq.computed == seq.upto
        and _members(seq.group) < (MOST_MEMBERS if seq.group.id % 3 else MANY_MEMBERS)
    ]
    found["swap_out"], found["swap_in"], found["preempt"] = [*running], swapped, running
    found["free"] = [
        seq.id
        for seq in world.seqs.values()
        if seq.status is not Status.WAITING or seq.holds or seq.group.id in run.hopeless
    ] + list(world.ended)[-1:]
    found["evict"] = [0] if run.config.prefix_caching else []
    found["reset_index"] = [0] if run.config.prefix_caching else []
    found["reset_all"] = [0]
    for kind, group in run.refused:
        if group in found[kind]:
            found[kind].remove(group)
    return {kind: those for kind, those in found.items() if those and run.capabilities.issuperset(NEEDS[kind])}


def _members(group: Group) -> int:
    return sum(seq.status is not Status.ENDED for seq in group.seqs)


def propose(run: Run, kind: str, subjects: Sequence[int], style: Style, pick: Chooser) -> Operation | None:
    """An operation of this kind about one of the subjects; None where chance hit upon an illegal one."""
    subject = _tightest(run, kind, subjects) if kind in EDGY and pick.chance(50) else pick.choose(subjects)
    op = _MAKERS[kind](run, subject, style, pick)
    if isinstance(op, FORCIBLE) and Capability.ATOMIC_FAILURES in run.capabilities and pick.chance(8):
        op = replace(op, force=True)
    return op if run.why_not(op) is None else None


EDGY: dict[str, Callable[[int], Operation]] = {"append": Append, "swap_out": SwapOut, "swap_in": SwapIn}
"""Operations whose guards are asked about a group as it is."""


def _tightest(run: Run, kind: str, subjects: Sequence[int]) -> int:
    """The group whose request lies nearest to the edge of the pool: there verdicts go wrong."""
    return (
        min(subjects, key=lambda group: _distance(run, EDGY[kind](group), group)) if len(subjects) > 1 else subjects[0]
    )


def _distance(run: Run, op: Operation, group: int) -> int:
    found = demands_of(
        op, run.world.groups[group], run.ledger, run.config, run.adapter.capabilities, run.judge.bench.null_use
    )
    if found is None:
        return 0
    return abs(int(run.judge.counts.get(found.device, 0) - found.most.need - found.most.reserve))


def on_edge(run: Run, possible: dict[str, list[int]], style: Style, pick: Chooser) -> tuple[str, list[int]] | None:
    """An operation whose request lies on the edge of what fits, or just beside it; None where none does."""
    kinds = [kind for kind in EDGY if kind in possible and style.weights[kind]]
    near = [
        (kind, [group]) for kind in kinds for group in possible[kind] if _distance(run, EDGY[kind](group), group) <= 1
    ]
    return pick.choose(near) if near else None


# -- their arguments -----------------------------------------------------------------------------------------


def _tokens(count: int, pick: Chooser) -> tuple[int, ...]:
    if pick.chance(50):
        return (pick.choose(VOCABULARY),) * count
    return tuple(pick.choose(VOCABULARY) for _ in range(count))


def _free(run: Run) -> int:
    return run.judge.counts.get(Device.GPU, 0)


def _prompt_length(run: Run, style: Style, pick: Chooser) -> int:
    """Tokens of a new prompt: mostly short, often at the edge of what fits now or at all."""
    size, watermark, total = run.config.block_size, run.config.watermark_blocks, run.config.num_gpu_blocks
    edge = pick.choose([0, 0, 0, 0, 0, 1, 1, 2])
    if edge == 0:
        blocks = pick.integer(1, style.longest)
    else:
        room = (_free(run) if edge == 1 else total) - watermark
        blocks = room + pick.choose([-1, 0, 0, 1])
    blocks = max(1, blocks)
    length = blocks * size - pick.choose([0, size - 1, size // 2, min(1, size - 1)])
    return max(1, min(length, run.config.max_model_len))


def _next(run: Run, numbers: Sequence[int]) -> int:
    return max(numbers, default=0) + 1


def _allocate(run: Run, subject: int, style: Style, pick: Chooser) -> Operation:
    lookahead = _lookahead(run, style, pick) if run.adapter.capabilities.allocate_lookahead != "none" else 0
    chunk = _chunk(run, style, pick)
    external = pick.choose([0, 0, 0, 1, run.config.block_size]) if Capability.EXTERNAL in run.capabilities else 0
    if subject:
        waiting = tuple(seq.id for seq in run.world.groups[subject].waiting)
        return Allocate(subject, waiting, None, lookahead, chunk=chunk, external=external)
    first = _next(run, [*run.world.seqs, *run.world.ended])
    count = pick.choose([1, 1, 1, 2, 3]) if Capability.GROUPS in run.capabilities else 1
    group = _next(run, [*run.world.groups, *(seq.group.id for seq in run.world.ended.values())])
    length = _prompt_length(run, style, pick)
    seqs = tuple(range(first, first + count))
    if not run.config.prefix_caching:
        return Allocate(group, seqs, _tokens(length, pick), lookahead, chunk=chunk, external=external)
    known, extra = _known_prefix(run, length, pick)
    whole = len(known) // run.config.block_size * run.config.block_size
    # Now and then a prompt that may be cached whole.
    tokens = known[:whole] if whole and pick.chance(15) else known + _tokens(length - len(known), pick)
    if Capability.MATCH in run.capabilities and pick.chance(40):
        return Allocate(group, seqs[:1], tokens, extra=extra, match=True)
    return Allocate(group, seqs, tokens, lookahead, extra=extra, chunk=chunk, external=external)


EXTRA: list[tuple[str, ...]] = [(), (), (), ("a",), ("b",)]
NO_EXTRA: list[tuple[str, ...]] = [()]


def _known_prefix(run: Run, length: int, pick: Chooser) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """The beginning of a prompt that begins like a sequence that is or was there, and its extra keys, mostly."""
    others = [*run.world.seqs.values(), *list(run.world.ended.values())[-RECENT:]]
    keys = EXTRA if Capability.EXTRA_KEYS in run.capabilities else NO_EXTRA
    if not others or pick.chance(25):
        return (), pick.choose(keys)
    other, size = pick.choose(others), run.config.block_size
    # Up to a block boundary, or a token beside one; else everything.
    stop = pick.choose([size, 2 * size, 3 * size, size + 1, 2 * size - 1, len(other.tokens), len(other.tokens)])
    return tuple(other.tokens[: min(stop, length)]), other.group.extra if pick.chance(85) else pick.choose(keys)


RECENT = 6  # sequences that have ended, whose prefixes may still be cached


def _lookahead(run: Run, style: Style, pick: Chooser) -> int:
    if Capability.LOOKAHEAD not in run.capabilities:
        return 0
    if Order.LOOKAHEAD_FIXED in run.world.orders and run.world.lookahead is not None:
        return run.world.lookahead
    return pick.choose(style.lookaheads)


def _chunk(run: Run, style: Style, pick: Chooser) -> int | None:
    return pick.choose(style.chunks) if Capability.CHUNKS in run.capabilities else None


def _append(run: Run, subject: int, style: Style, pick: Chooser) -> Operation:
    lookahead, running = _lookahead(run, style, pick), run.world.groups[subject].running
    if Capability.DRAFTS in run.capabilities and all(len(seq.tokens) - seq.computed == 1 for seq in running):
        return Append(subject, lookahead, drafts=pick.choose(style.drafts))
    return Append(subject, lookahead, chunk=_chunk(run, style, pick))


def _step(run: Run, subject: int, style: Style, pick: Chooser) -> Operation:
    tokens: dict[int, tuple[int, ...]] = {}
    orders = run.world.orders
    for seq in run.world.seqs.values():
        if seq.scheduled and not seq.unseen:
            limit = 1 + seq.scheduled_drafts if Order.ONE_TOKEN in orders else style.bursts
            if Order.WITHIN_LOOKAHEAD in orders:
                limit = min(limit, seq.scheduled_lookahead + 1)
            count = _burst(seq, run.config, limit, Order.TOKENS_EVERY_STEP in orders, pick)
            if count:
                tokens[seq.id] = _tokens(count, pick)
    return Step(tokens)


def _burst(seq: Seq, config: Config, most: int, always: bool, pick: Chooser) -> int:
    count = pick.integer(1, most) if always or not pick.chance(12) else 0
    return min(count, config.max_model_len - len(seq.tokens))


def _fork(run: Run, subject: int, style: Style, pick: Chooser) -> Operation:
    parent = run.world.seqs[subject]
    child = _next(run, [*run.world.seqs, *run.world.ended])
    if parent.unseen and pick.chance(30):
        return Fork(subject, child)
    room = run.config.max_model_len - parent.upto
    most = 1 if Order.ONE_TOKEN in run.world.orders else style.bursts
    if Order.WITHIN_LOOKAHEAD in run.world.orders:
        most = min(most, parent.scheduled_lookahead + 1)
    return Fork(subject, child, _tokens(min(room, max(1, pick.integer(0, most))), pick))


def _swap_out(run: Run, subject: int, style: Style, pick: Chooser) -> Operation:
    return SwapOut(subject)


def _swap_in(run: Run, subject: int, style: Style, pick: Chooser) -> Operation:
    return SwapIn(subject, _lookahead(run, style, pick))


def _preempt(run: Run, subject: int, style: Style, pick: Chooser) -> Operation:
    return Preempt(subject)


def _free_one(run: Run, subject: int, style: Style, pick: Chooser) -> Operation:
    return Free(subject, pick.choose(["finished", "aborted"]))


def _evict(run: Run, subject: int, style: Style, pick: Chooser) -> Operation:
    return Evict(pick.choose([1, 1, 2, run.config.num_gpu_blocks + 1]))


def _reset_index(run: Run, subject: int, style: Style, pick: Chooser) -> Operation:
    return ResetIndex()


def _reset_all(run: Run, subject: int, style: Style, pick: Chooser) -> Operation:
    return ResetAll()


_MAKERS: dict[str, Callable[[Run, int, Style, Chooser], Operation]] = {
    "allocate": _allocate,
    "append": _append,
    "step": _step,
    "fork": _fork,
    "swap_out": _swap_out,
    "swap_in": _swap_in,
    "preempt": _preempt,
    "free": _free_one,
    "evict": _evict,
    "reset_index": _reset_index,
    "reset_all": _reset_all,
}


def make_alone(run: Run, group: int) -> list[Operation]:
    """Operations after which the group is the only one: how a LATER or NEVER is put to the test."""
    ops: list[Operation] = []
    scheduled = [seq for seq in run.world.seqs.values() if seq.scheduled]
    if scheduled or run.world.swapped_out_since_step:
        every = Order.TOKENS_EVERY_STEP in run.world.orders
        ops.append(Step({seq.id: (1,) for seq in scheduled if not seq.unseen} if every else {}))
    ops += [Free(seq.id, "aborted") for seq in run.world.seqs.values() if seq.group.id != group]
    return ops
