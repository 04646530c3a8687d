"""The engine's side of a run: which sequences there are, in what state, and which operations are legal now.

Knows the order of an engine's life and the restrictions that an adapter declares. It must not know the manager's
answers beyond what became of each operation, nor what slots hold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from kvconform.adapter import Group, Order, Seq
from kvspec.vocabulary import (
    NEEDS,
    WHY,
    Allocate,
    Append,
    Capability,
    Config,
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

MOST_LOOKAHEAD = 4096


class Prefixes:
    """Interns token prefixes: equal prefixes have equal numbers, 0 is never one (it stands for garbage)."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[object, object], int] = {}

    def root(self, extra: tuple[str, ...]) -> int:
        """The number of the empty prefix under these keys."""
        return self._numbers.setdefault(("", extra), len(self._numbers) + 1) if extra else 0

    def extend(self, prefixes: list[int], tokens: Iterable[int], root: int = 0) -> None:
        """Append the numbers of the prefixes that end in each of the tokens."""
        numbers = self._numbers
        last = prefixes[-1] if prefixes else root
        for token in tokens:
            last = numbers.setdefault((last, token), len(numbers) + 1)
            prefixes.append(last)


class World:
    """All groups and sequences of one run, and the engine-order state that legality depends on."""

    def __init__(self, config: Config, capabilities: frozenset[Capability], orders: frozenset[Order]) -> None:
        self.config = config
        self.capabilities = capabilities
        self.orders = orders
        self.groups: dict[int, Group] = {}
        self.seqs: dict[int, Seq] = {}  # live ones
        self.ended: dict[int, Seq] = {}
        self._forgotten: dict[int, Seq] = {}
        self.prefixes = Prefixes()
        self.swapped_out_since_step: set[int] = set()
        self.admitted_since_step = False
        self.lookahead: int | None = None  # the run's, where it is fixed

    # -- legality --------------------------------------------------------------------------------------------

    def why_not(self, op: Operation) -> str | None:
        """None where the operation is legal now, else the reason why an engine would not do it."""
        for needed in NEEDS[op.op]:
            if needed not in self.capabilities:
                return f"the manager has no {needed.value}"
        reason = _CHECKS[type(op)](self, op)
        if reason is None and getattr(op, "force", False) and Capability.ATOMIC_FAILURES not in self.capabilities:
            return "going on past a refusing guard needs failures that are declared atomic"
        return reason

    def _lookahead(self, lookahead: int) -> str | None:
        reason = self._slots(lookahead)
        if reason is not None:
            return reason
        if Order.LOOKAHEAD_FIXED in self.orders and self.lookahead not in (None, lookahead):
            return "the engine's lookahead is fixed for the run"
        return None

    def _slots(self, lookahead: int) -> str | None:
        if not 0 <= lookahead <= MOST_LOOKAHEAD:
            return f"lookahead must be between 0 and {MOST_LOOKAHEAD} slots"
        if lookahead and Capability.LOOKAHEAD not in self.capabilities:
            return "the manager has no lookahead"
        return None

    def _allocate(self, op: Allocate) -> str | None:
        group = self.groups.get(op.group)
        if op.tokens is None:
            if group is None:
                return f"group {op.group} is unknown: a new group needs tokens"
            if [seq.id for seq in group.waiting] != list(op.seqs) or not op.seqs:
                return f"group {op.group} does not wait with just these sequences"
            if op.extra:
                return "a group that comes back has its extra keys already"
        else:
            if group is not None:
                return f"group {op.group} exists already"
            if not op.tokens or len(op.tokens) > self.config.max_model_len:
                return "a prompt has between 1 and max_model_len tokens"
            if not op.seqs or len(set(op.seqs)) != len(op.seqs) or any(self.known(seq) for seq in op.seqs):
                return "a new group needs at least one sequence, with ids of their own"
            if len(op.seqs) > 1 and Capability.GROUPS not in self.capabilities:
                return "the manager admits no groups of several sequences"
            if op.extra and not (self.config.prefix_caching and Capability.EXTRA_KEYS in self.capabilities):
                return "extra keys mean something with prefix caching only, where the manager has them"
        if op.match:
            reason = self._match(op)
            if reason is not None:
                return reason
        if op.external and Capability.EXTERNAL not in self.capabilities:
            return "the manager is brought no KV from elsewhere"
        if op.external < 0:
            return "no fewer than no token is brought from elsewhere"
        return self._chunk(op.chunk) or self._slots(op.lookahead)

    def _match(self, op: Allocate) -> str | None:
        if Capability.MATCH not in self.capabilities:
            return "the manager looks nothing up before it admits"
        if not self.config.prefix_caching or op.tokens is None or len(op.seqs) != 1:
            return "one new sequence is looked up, with prefix caching"
        return None

    def _chunk(self, chunk: int | None) -> str | None:
        if chunk is None:
            return None
        if Capability.CHUNKS not in self.capabilities:
            return "the manager admits prompts whole"
        return None if chunk >= 1 else "a chunk has at least one token"

    def _append(self, op: Append) -> str | None:
        group = self.groups.get(op.group)
        running = group.running if group else []
        if not running:
            return f"group {op.group} does not run"
        if any(seq.scheduled for seq in running):
            return f"group {op.group} is scheduled already"
        if op.drafts:
            reason = self._drafts(op, running)
            if reason is not None:
                return reason
        return self._chunk(op.chunk) or self._lookahead(op.lookahead)

    def _drafts(self, op: Append, running: list[Seq]) -> str | None:
        if Capability.DRAFTS not in self.capabilities:
            return "the manager knows no drafts"
        if not 0 <= op.drafts <= MOST_LOOKAHEAD:
            return f"drafts must be between 0 and {MOST_LOOKAHEAD} tokens"
        if any(len(seq.tokens) - seq.computed != 1 for seq in running) or op.chunk is not None:
            return "drafts follow the one token that is not computed yet"
        if any(len(seq.tokens) + op.drafts > self.config.max_model_len for seq in running):
            return "the drafts would be longer than max_model_len"
        return None

    def _step(self, op: Step) -> str | None:
        for seq_id, tokens in op.tokens.items():
            seq = self.seqs.get(seq_id)
            if seq is None or not seq.scheduled:
                return f"sequence {seq_id} is not scheduled"
            if tokens and seq.unseen:
                return f"sequence {seq_id} has tokens that are not computed yet: it gets no new ones"
            if Order.ONE_TOKEN in self.orders and len(tokens) > 1 + seq.scheduled_drafts:
                return "the engine gives one token a step, and the drafts that were right"
            if Order.WITHIN_LOOKAHEAD in self.orders and len(tokens) > seq.scheduled_lookahead + 1:
                return "the engine gives at most one token more than the lookahead"
            if len(seq.tokens) + len(tokens) > self.config.max_model_len:
                return f"sequence {seq_id} would be longer than max_model_len"
        if Order.TOKENS_EVERY_STEP in self.orders:
            for seq in self.seqs.values():
                if seq.scheduled and not seq.unseen and not op.tokens.get(seq.id):
                    return f"the engine gives every scheduled sequence a token, {seq.id} too"
        return None

    def _fork(self, op: Fork) -> str | None:
        parent = self.seqs.get(op.parent)
        if parent is None or parent.status is not Status.RUNNING:
            return f"sequence {op.parent} does not run"
        if parent.computed != parent.upto:
            return f"sequence {op.parent} is scheduled: its tokens are not computed yet"
        if self.known(op.child):
            return f"sequence {op.child} exists already"
        if Order.NO_FORK_WITH_WINDOW in self.orders and self.config.sliding_window is not None:
            return "the engine forks nothing under a sliding window"
        unseen = parent.unseen if op.tokens is None else len(op.tokens)
        if parent.upto + unseen > self.config.max_model_len:
            return "the child would be longer than max_model_len"
        if Order.FORK_AFTER_TOKENS in self.orders and not (unseen and parent.unseen):
            return "the engine forks only right after a step that gave tokens"
        if Order.ONE_TOKEN in self.orders and unseen > 1:
            return "the engine gives one token a step"
        if Order.WITHIN_LOOKAHEAD in self.orders and unseen > parent.scheduled_lookahead + 1:
            return "the engine gives at most one token more than the lookahead"
        return None

    def _swap_out(self, op: SwapOut) -> str | None:
        group = self.groups.get(op.group)
        if group is None or not group.running:
            return f"group {op.group} does not run"
        if Order.SWAP_SEVERAL in self.orders and len(group.running) < 2:
            return "the engine swaps only groups of several running sequences"
        return self._release(group.running)

    def _swap_in(self, op: SwapIn) -> str | None:
        group = self.groups.get(op.group)
        if group is None or not group.swapped:
            return f"group {op.group} is not swapped out"
        if Order.SWAP_IN_AFTER_STEP in self.orders and self.swapped_out_since_step:
            return "the engine swaps nothing in between a swap-out and the next step"
        if Order.SWAP_IN_BEFORE_ADMISSION in self.orders and self.config.prefix_caching and self.admitted_since_step:
            return "the engine swaps nothing in between an admission and the next step"
        return self._lookahead(op.lookahead)

    def _preempt(self, op: Preempt) -> str | None:
        group = self.groups.get(op.group)
        if group is None or not group.running:
            return f"group {op.group} does not run"
        if Order.PREEMPT_SINGLE in self.orders and len(group.running) > 1:
            return "the engine recomputes only groups of one running sequence"
        if Capability.GROUPS not in self.capabilities and len(group.running) > 1:
            return "the manager admits no groups of several sequences: they could not come back"
        return self._release(group.running)

    def _free(self, op: Free) -> str | None:
        if op.why not in WHY:
            return f"why is one of {', '.join(WHY)}"
        if op.seq in self.ended:
            return None
        seq = self.seqs.get(op.seq)
        if seq is None:
            return f"sequence {op.seq} is unknown"
        return self._release([seq])

    def _release(self, seqs: Iterable[Seq]) -> str | None:
        if Order.NO_RELEASE_WHILE_SCHEDULED in self.orders and any(seq.scheduled for seq in seqs):
            return "the engine releases nothing that is scheduled"
        return None

    def _evict(self, op: Evict) -> str | None:
        if not self.config.prefix_caching:
            return "there is no index without prefix caching"
        return None if op.count >= 1 else "at least one block is to be evicted"

    def _reset_index(self, op: ResetIndex) -> str | None:
        if any(seq.holds for seq in self.seqs.values()):
            return "the engine resets nothing between a match and the admission"
        return None if self.config.prefix_caching else "there is no index without prefix caching"

    def _reset_all(self, op: ResetAll) -> str | None:
        return self._release(self.seqs.values())

    def known(self, seq_id: int) -> bool:
        """Whether the id is or was in use."""
        return seq_id in self.seqs or seq_id in self.ended

    # -- what the views show before the manager is asked -----------------------------------------------------

    def prepare(self, op: Operation) -> Group | None:
        """Bring the views into the state that the operation's call sees; its group, where it has one."""
        group = self._group_of(op)
        if group is not None:
            group.lookahead = getattr(op, "lookahead", 0)
            group.chunk, group.drafts = getattr(op, "chunk", None), getattr(op, "drafts", 0)
            group.external = getattr(op, "external", 0)
        return group

    def _group_of(self, op: Operation) -> Group | None:
        if isinstance(op, Allocate) and op.tokens is not None:
            group = self.groups[op.group] = Group(op.group, extra=op.extra)
            for seq_id in op.seqs:
                self._join(group, seq_id, op.tokens)
            return group
        if isinstance(op, (Allocate, Append, SwapOut, SwapIn, Preempt)):
            return self.groups[op.group]
        if isinstance(op, Fork):
            return self.seqs[op.parent].group
        if isinstance(op, Free):
            seq = self.seqs.get(op.seq) or self.ended[op.seq]
            return seq.group
        return None

    def _join(self, group: Group, seq_id: int, tokens: Iterable[int]) -> Seq:
        seq = Seq(seq_id, group, list(tokens))
        self.prefixes.extend(seq.prefixes, seq.tokens, self.prefixes.root(group.extra))
        self.seqs[seq_id] = seq
        group.seqs.append(seq)
        return seq

    def child_of(self, op: Fork) -> Seq:
        """The child that a fork is about to create, in its parent's group."""
        parent = self.seqs[op.parent]
        unseen = parent.tokens[parent.upto :] if op.tokens is None else op.tokens
        child = self._join(parent.group, op.child, [*parent.tokens[: parent.upto], *unseen])
        child.upto, child.computed, child.noted = parent.upto, parent.computed, parent.noted
        return child

    # -- what has become of it -------------------------------------------------------------------------------

    def forget(self, seq: Seq) -> None:
        """Take back a sequence whose operation failed before it came to be."""
        del self.seqs[seq.id]
        seq.group.seqs.remove(seq)

    def hold(self, seqs: Iterable[Seq], cached: Mapping[int, int]) -> None:
        """The sequences wait with what was found of them: so many tokens, by id."""
        for seq in seqs:
            seq.holds = True
            seq.upto = seq.computed = seq.noted = cached.get(seq.id, 0)

    def admit(self, seqs: Iterable[Seq], cached: Mapping[int, int]) -> None:
        """The sequences have a block table for all their tokens, or for the chunk that was asked for. cached: tokens
        that are computed already, by id; what is brought from elsewhere is too.
        """
        for seq in seqs:
            hits, seq.holds = cached.get(seq.id, 0), False
            seq.computed = seq.noted = hits + seq.brought(hits)
            seq.status, seq.upto, seq.scheduled = Status.RUNNING, seq.reach(seq.computed), True
            seq.scheduled_lookahead = seq.scheduled_drafts = 0
            seq.group.admitted_before = True
        self.admitted_since_step = True

    def cover(self, seq: Seq) -> None:
        """The sequence's unseen tokens, or the chunk of them that was asked for, have slots."""
        seq.upto, seq.scheduled = seq.reach(seq.upto), True
        seq.scheduled_lookahead, seq.scheduled_drafts = seq.lookahead, seq.drafts

    def give_up(self, seqs: Iterable[Seq]) -> None:
        """The sequences keep their tokens only."""
        for seq in seqs:
            seq.status, seq.scheduled = Status.WAITING, False
            seq.upto = seq.computed = seq.noted = 0

    def end(self, seq: Seq) -> None:
        """The sequence is over."""
        seq.status, seq.scheduled, seq.holds = Status.ENDED, False, False
        self.ended[seq.id] = self.seqs.pop(seq.id)
        if Order.FINISHED_STAY not in self.orders:
            seq.group.seqs.remove(seq)
        if all(other.status is Status.ENDED for other in seq.group.seqs):
            self.groups.pop(seq.group.id, None)

    def end_all(self) -> None:
        """Every sequence is over and forgotten: its id may be used again."""
        for seq in list(self.seqs.values()):
            self.end(seq)
        self._forgotten.update(self.ended)
        self.ended.clear()

    def gone(self, seq_id: int) -> Seq:
        """A sequence that is over, or was forgotten by a reset."""
        return self.ended.get(seq_id) or self._forgotten[seq_id]

    def receive(self, op: Step) -> list[Seq]:
        """The step is over: nothing is scheduled, and the sequences named have their new tokens."""
        for seq in self.seqs.values():
            seq.scheduled = False
        self.swapped_out_since_step.clear()
        self.admitted_since_step = False
        grown = []
        for seq_id, tokens in op.tokens.items():
            if tokens:
                seq = self.seqs[seq_id]
                seq.tokens.extend(tokens)
                self.prefixes.extend(seq.prefixes, tokens)
                grown.append(seq)
        return grown

    def note_lookahead(self, op: Operation) -> None:
        """Remember the run's lookahead where an engine has only one."""
        if self.lookahead is None and isinstance(op, (Append, SwapIn)):
            self.lookahead = op.lookahead

    def has_tables(self) -> bool:
        """Whether any live sequence has a block table."""
        return any(seq.status is not Status.WAITING or seq.holds for seq in self.seqs.values())

    def with_tables(self) -> list[Seq]:
        """The live sequences that have a block table."""
        return [seq for seq in self.seqs.values() if seq.status is not Status.WAITING or seq.holds]


_CHECKS: dict[type[Operation], Callable[[World, Any], str | None]] = {
    Allocate: World._allocate,
    Append: World._append,
    Step: World._step,
    Fork: World._fork,
    SwapOut: World._swap_out,
    SwapIn: World._swap_in,
    Preempt: World._preempt,
    Free: World._free,
    Evict: World._evict,
    ResetIndex: World._reset_index,
    ResetAll: World._reset_all,
}
