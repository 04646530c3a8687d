"""What was replayed already: operations that come to the same run are carried out once.

Knows how a trace is replayed: what is not legal any more is left out. All replays over one way of starting runs make a
tree, one node for each beginning that was carried out. A manager that is asked the same after the same start is taken
to do the same; whether it does is for `robust.deterministic` to say. It must not know what a replay is wanted for.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace

from kvconform.adapter import AdapterMistake
from kvconform.run import Found, IllegalOperation, Run
from kvspec.vocabulary import Allocate, Config, Operation, Step

Start = Callable[..., Run]

MOST = 100_000
"""Beginnings remembered; beyond, all are forgotten."""


@dataclass(frozen=True)
class Played:
    """What came of a replay. operations: those that were legal. found: all that was found. cost: operations that it
    takes, those of the end of a run included.
    """

    operations: tuple[Operation, ...]
    found: tuple[Found, ...]
    cost: int


@dataclass(slots=True)
class _Beginning:
    """The state after some operations. after: what each operation leads to, None where it is not legal. ended: what was
    found once the run was finished here, and the operations that this took.
    """

    found: tuple[Found, ...]
    over: bool
    after: dict[Hashable, tuple[Operation, _Beginning] | None] = field(default_factory=dict)
    ended: tuple[tuple[Found, ...], int] | None = None


class Replays:
    """Replays traces over one way of starting runs, and remembers them."""

    def __init__(self, start: Start) -> None:
        self._start = start
        self._starts: dict[Config, _Beginning | None] = {}
        self._kept = 0

    def play(self, config: Config, operations: Sequence[Operation], *, finish: bool) -> Played | None:
        """Replay what is legal of the operations, and the end of the run where it is to finish; None where the manager
        does not start with this configuration.
        """
        if self._kept > MOST:
            self._forget()
        try:
            return self._played(_Replay(self._start, config), operations, finish)
        except IllegalOperation:  # what was legal is not any more: the manager does not do the same twice
            self._forget()
            return self._played(_Replay(self._start, config), operations, finish)

    def _forget(self) -> None:
        self._starts, self._kept = {}, 0

    def _played(self, replay: _Replay, operations: Sequence[Operation], finish: bool) -> Played | None:
        if replay.config not in self._starts:
            self._starts[replay.config] = replay.begun()
        here = self._starts[replay.config]
        if here is None:
            return None
        for op in operations:
            if here.over:
                break
            name = _name(op)
            if name not in here.after:
                here.after[name] = replay.tried(op)
                self._kept += 1
            led = here.after[name]
            if led is not None:
                done, here = led
                replay.done.append(done)
        found, cost = here.found, len(replay.done)
        if finish and not here.over:
            here.ended = here.ended or replay.ended()
            found, cost = here.ended
        return Played(tuple(replay.done), found, cost)


class _Replay:
    """One replay; a run is started for it only where something was not tried before. done: what was legal so far."""

    def __init__(self, start: Start, config: Config) -> None:
        self.config = config
        self.done: list[Operation] = []
        self._start = start
        self._run: Run | None = None

    def _caught_up(self) -> Run:
        """A run in which all that is done was done."""
        if self._run is None:
            self._run = self._start(self.config)
        for op in self.done[len(self._run.operations) :]:
            self._run.apply(op)
        return self._run

    def begun(self) -> _Beginning | None:
        """The state right after start; None where the manager does not start."""
        try:
            return _beginning(self._caught_up())
        except AdapterMistake:
            return None

    def tried(self, op: Operation) -> tuple[Operation, _Beginning] | None:
        """What the operation leads to from here; None where it is not legal."""
        run = self._caught_up()
        fit = fitting(op, run)
        if run.why_not(fit) is not None:
            return None
        run.apply(fit)
        return fit, _beginning(run)

    def ended(self) -> tuple[tuple[Found, ...], int]:
        """What is found by finishing the run here, and the operations from the start to its end."""
        run = self._caught_up()
        run.finish()
        return tuple(run.found), run.tally.operations


def _beginning(run: Run) -> _Beginning:
    return _Beginning(tuple(run.found), run.over)


def _name(op: Operation) -> Hashable:
    """The operation as a key."""
    return tuple(op.tokens.items()) if isinstance(op, Step) else op


def fitting(op: Operation, run: Run) -> Operation:
    """The operation for those that there still are: a step for the sequences that are scheduled, an admission of a
    group that comes back for those of it that wait; any other operation as it is.
    """
    if isinstance(op, Step):
        seqs = run.world.seqs
        return Step({seq: tokens for seq, tokens in op.tokens.items() if seq in seqs and seqs[seq].scheduled})
    if isinstance(op, Allocate) and op.tokens is None and op.group in run.world.groups:
        return replace(op, seqs=tuple(seq.id for seq in run.world.groups[op.group].waiting))
    return op
