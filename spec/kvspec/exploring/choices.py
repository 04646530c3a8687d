"""Which operations an engine may perform in a state, with the few arguments that a scope allows.

Knows the order of an engine's life, as the kit's world does. Sequences get ids in order, and token ids that tell them
apart from where they part: a sequence's own tokens bear its id, so that no two contents are equal by accident. Must
not know what a guard answers, nor what blocks are.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from kvspec.exploring.scopes import Scope
from kvspec.model.manager import Manager, Seq
from kvspec.vocabulary import (
    Allocate,
    Append,
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


def legal_operations(state: Manager, scope: Scope) -> Iterator[Operation]:
    """Everything that may come next."""
    yield from _admissions(state, scope)
    yield from _steps(state, scope)
    for group in dict.fromkeys(seq.group for seq in state.seqs):
        yield from _of_group(state, group, scope)
    for seq in state.seqs:
        yield from _forks(state, seq, scope)
    for seq_id in (*(seq.id for seq in state.seqs), *sorted(state.ended)):
        yield Free(seq_id)
    yield Evict(1)
    yield ResetIndex()
    yield ResetAll()


def _unused(state: Manager, scope: Scope) -> list[int]:
    used = {seq.id for seq in state.seqs} | state.ended
    return [seq_id for seq_id in range(1, scope.seqs + 1) if seq_id not in used]


def _admissions(state: Manager, scope: Scope) -> Iterator[Operation]:
    """A new group of one or of two. Its number is that of its first sequence: no other group can have that."""
    unused = _unused(state, scope)
    for size in range(1, min(2, len(unused)) + 1):
        first, seqs = unused[0], tuple(unused[:size])
        for length, lookahead in itertools.product(scope.prompts, scope.lookaheads):
            if length <= scope.config.max_model_len:
                yield Allocate(first, seqs, (first,) * length, lookahead)


def _steps(state: Manager, scope: Scope) -> Iterator[Operation]:
    """Each scheduled sequence gets a number of tokens of its own; nothing scheduled is legal too."""
    scheduled = [seq for seq in state.seqs if seq.scheduled]
    room = [scope.config.max_model_len - len(seq.tokens) for seq in scheduled]
    for counts in itertools.product(*([n for n in scope.grants if n <= most] for most in room)):
        yield Step({seq.id: (seq.id,) * n for seq, n in zip(scheduled, counts, strict=True) if n})


def _of_group(state: Manager, group: int, scope: Scope) -> Iterator[Operation]:
    """What is asked of a whole group, all of whose live sequences have one status."""
    members = [seq for seq in state.seqs if seq.group == group]
    status = members[0].status
    if status is Status.RUNNING:
        if not any(seq.scheduled for seq in members):
            yield from (Append(group, lookahead) for lookahead in scope.lookaheads)
        yield SwapOut(group)
        yield Preempt(group)
    elif status is Status.SWAPPED:
        yield from (SwapIn(group, lookahead) for lookahead in scope.lookaheads)
    elif len({seq.tokens for seq in members}) == 1:
        # The rules say what a prompt shared by the group demands; for a group whose sequences parted there is no rule.
        seqs = tuple(seq.id for seq in members)
        yield from (Allocate(group, seqs, None, lookahead) for lookahead in scope.lookaheads)


def _forks(state: Manager, parent: Seq, scope: Scope) -> Iterator[Operation]:
    """Of a sequence whose covered tokens are computed: the child has its unseen tokens, or none, or one of its own."""
    unused = _unused(state, scope)
    if not unused or parent.status is not Status.RUNNING or state.computed(parent) < parent.seen:
        return
    child = unused[0]
    yield Fork(parent.id, child)
    if parent.seen < len(parent.tokens):
        yield Fork(parent.id, child, ())
    if parent.seen < scope.config.max_model_len:
        yield Fork(parent.id, child, (child,))
