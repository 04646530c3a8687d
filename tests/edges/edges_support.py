"""Performs a vector on the reference manager, and looks at what it took: no formula of the specification is used here.

Knows kvref's calls and the order of an engine's life; must not know how vectors are found.
"""

from __future__ import annotations

from collections import defaultdict

from kvref import AllocStatus, BlockManager, Device
from kvspec.edges.vectors import Vector, load
from kvspec.vocabulary import (
    Allocate,
    Append,
    Config,
    Fork,
    Free,
    Operation,
    Preempt,
    Step,
    SwapIn,
    SwapOut,
    Verdict,
)

ROOMY = 100


def _by_edge() -> dict[str, list[Vector]]:
    grouped: defaultdict[str, list[Vector]] = defaultdict(list)
    for vector in load().vectors:
        if vector.shows:
            grouped["/".join(vector.id.split("/")[:2])].append(vector)
    return dict(grouped)


EDGES = _by_edge()
"""The vectors about edges, by guard and outcome."""


class Run:
    """One engine's life over one reference manager. room: blocks beyond the configuration's in both pools."""

    def __init__(self, config: Config, orders: frozenset[str] = frozenset(), room: int = 0) -> None:
        self.orders = orders
        self.manager = BlockManager(
            block_size=config.block_size,
            num_gpu_blocks=config.num_gpu_blocks + room,
            num_cpu_blocks=config.num_cpu_blocks + room,
            watermark_blocks=config.watermark_blocks,
        )
        self.scheduled: set[int] = set()
        self.swapped_since_step = False
        self.lookaheads: set[int] = set()

    def verdict(self, op: Operation) -> Verdict | None:
        """What kvref's guard answers; None where the operation has none."""
        answer: AllocStatus
        if isinstance(op, Allocate):
            answer = self.manager.can_allocate(op.group, op.seqs, len(op.tokens or ()))
        elif isinstance(op, Append):
            answer = self.manager.can_append(op.group, op.lookahead)
        elif isinstance(op, SwapOut):
            answer = self.manager.can_swap_out(op.group)
        elif isinstance(op, SwapIn):
            answer = self.manager.can_swap_in(op.group, op.lookahead)
        else:
            return None
        return Verdict(answer.value)

    def why_not(self, op: Operation) -> str | None:
        """Why an engine bound to these orders would not do it; what kvref itself rejects is left to kvref."""
        members = self._members(op)
        busy = self.scheduled.intersection(members)
        calm = "no-release-while-scheduled" in self.orders
        if isinstance(op, Step):
            return self._why_not_step(op)
        if isinstance(op, Append) and busy:
            return "appended twice before a step"
        if isinstance(op, (SwapOut, Preempt, Free)) and busy and calm:
            return "released while scheduled"
        if isinstance(op, SwapIn) and self.swapped_since_step and any("swap-in" in order for order in self.orders):
            return "swapped in between a swap-out and the next step"
        if isinstance(op, Fork):
            return self._why_not_fork(op)
        if isinstance(op, (Append, SwapIn)) and "lookahead-fixed-for-the-run" in self.orders:
            return "another lookahead" if self.lookaheads - {op.lookahead} else None
        return None

    def _why_not_step(self, op: Step) -> str | None:
        if not self.scheduled.issuperset(op.tokens):
            return "tokens for what is not scheduled"
        if "one-unseen-token-per-step" in self.orders and any(len(given) > 1 for given in op.tokens.values()):
            return "several tokens"
        every = "every-scheduled-sequence-receives-tokens" in self.orders
        return "a scheduled sequence without token" if every and set(op.tokens) != self.scheduled else None

    def _why_not_fork(self, op: Fork) -> str | None:
        if op.parent in self.scheduled:
            return "the parent is not computed"
        unseen = self.manager.unseen(op.parent)
        given = unseen if op.tokens is None else len(op.tokens)
        if any("fork-only" in order for order in self.orders) and not (unseen and given):
            return "forked without unseen tokens"
        return "several tokens" if given > 1 and "one-unseen-token-per-step" in self.orders else None

    def _members(self, op: Operation) -> list[int]:
        if isinstance(op, Free):
            return [op.seq]
        if isinstance(op, (Append, SwapOut, SwapIn, Preempt)):
            return [int(seq) for seq in self.manager.members(op.group)]
        return []

    def perform(self, op: Operation) -> None:
        """Carry it out. kvref raises where it cannot."""
        manager = self.manager
        if isinstance(op, Allocate):
            manager.allocate(op.group, op.seqs, len(op.tokens or ()))
            self.scheduled.update(op.seqs)
        elif isinstance(op, (Append, SwapIn)):
            if isinstance(op, SwapIn):
                manager.swap_in(op.group, op.lookahead)
            for seq in manager.members(op.group):
                manager.append(seq, op.lookahead)
            self.scheduled.update(self._members(op))
            self.lookaheads.add(op.lookahead)
        elif isinstance(op, Step):
            for seq, given in op.tokens.items():
                manager.add_tokens(seq, len(given))
            self.scheduled.clear()
            self.swapped_since_step = False
        elif isinstance(op, Fork):
            manager.fork(op.parent, op.child, None if op.tokens is None else len(op.tokens))
        else:
            self.scheduled.difference_update(self._members(op))
            if isinstance(op, SwapOut):
                manager.swap_out(op.group)
                self.swapped_since_step = True
            elif isinstance(op, Preempt):
                manager.preempt(op.group)
            elif isinstance(op, Free):
                manager.free(op.seq)
        manager.check()

    def held(self, group: int) -> int:
        """Distinct blocks of the group."""
        return len({block for seq in self.manager.members(group) for block in self.manager.block_table(seq)})


def device_of(op: Operation) -> Device:
    """The pool that a guarded operation takes from."""
    return Device.CPU if isinstance(op, SwapOut) else Device.GPU


def margins(config: Config, operations: tuple[Operation, ...]) -> tuple[int, int]:
    """Blocks left over once the last operation is done, now and with every other group gone, as found by doing it
    where there is room: below 0 is how far it falls short.
    """
    run = Run(config, room=ROOMY)
    *before, last = operations
    for op in before:
        run.perform(op)
    device = device_of(last)
    own = run.held(last.group) if isinstance(last, Append) else 0
    at_first = run.manager.num_free(device)
    run.perform(last)
    at_last = run.manager.num_free(device)
    reserve = config.watermark_blocks if isinstance(last, (Allocate, SwapIn)) else 0
    total = run.manager.num_total(device)
    return at_last - ROOMY - reserve, total - own - (at_first - at_last) - ROOMY - reserve


def outcome(slack: int, spare: int) -> str:
    """What is left over, in the words of the atoms."""
    near = {0: "0", 1: "1", -1: "1"}
    if slack >= 0:
        return f"ok-{near.get(slack, 'far')}"
    if spare < 0:
        return f"never-{near.get(spare, 'far')}"
    return "later-tight" if spare == 0 else f"later-{near.get(slack, 'far')}"
