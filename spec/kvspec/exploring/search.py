"""Walks one scope breadth first, has everything checked on the way, and remembers how each state was reached.

Knows in which order states and operations are tried; must not know what is checked of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from kvspec.exploring.choices import legal_operations
from kvspec.exploring.judging import Disagreement, Tally
from kvspec.exploring.requests import Alone, check_asking, check_request, overruled
from kvspec.exploring.scopes import Scope
from kvspec.exploring.sight import Key, Sight, look
from kvspec.exploring.states import check_state
from kvspec.exploring.transitions import check_transition, transition
from kvspec.model.manager import Impossible, Performed, empty, perform
from kvspec.vocabulary import Operation, Result, Verdict


@dataclass(frozen=True)
class Walked:
    """One scope. levels: states first reached by so many operations. whole: no further state was left to reach."""

    scope: Scope
    levels: tuple[int, ...]
    transitions: int
    whole: bool

    @property
    def states(self) -> int:
        """States reached."""
        return sum(self.levels)


@dataclass
class Search:
    """One scope, breadth first. came_from: by key, the key before it and the operation between. frontier: states not
    yet expanded. at: the key and the operation that are tried.
    """

    scope: Scope
    tally: Tally
    came_from: dict[Key, tuple[Key, Operation] | None] = field(default_factory=dict)
    levels: list[int] = field(default_factory=list)
    transitions: int = 0
    frontier: list[Sight] = field(default_factory=list)
    at: tuple[Key | None, Operation | None] = (None, None)

    def start(self) -> Sight:
        """The state before anything happened."""
        sight = look(empty(self.scope.config))
        self._reach(sight, None)
        return sight

    def run(self, depth: int, tell: Callable[[str], None]) -> None:
        """Go level by level. Raises Disagreement; `path` then leads there."""
        self.start()
        for level in range(depth + 1):
            if not self.frontier:
                return
            self.levels.append(len(self.frontier))
            tell(f"{self.scope}: {level} operations, {sum(self.levels)} states, {self.transitions} transitions")
            if level < depth:
                found, self.frontier = self.frontier, []
                for sight in found:
                    self.expand(sight, legal_operations(sight.state, self.scope))

    def walked(self) -> Walked:
        """How far it went."""
        return Walked(self.scope, tuple(self.levels), self.transitions, not self.frontier)

    def path(self) -> tuple[Operation, ...]:
        """The operations from the start to where it is."""
        key, op = self.at
        ops = [op] if op is not None else []
        while key is not None and (step := self.came_from[key]) is not None:
            key, op = step
            ops.append(op)
        return tuple(reversed(ops))

    def expand(self, sight: Sight, ops: Iterable[Operation]) -> None:
        """Try these operations in a state; what a guard refuses is tried against it too. Raises Disagreement."""
        asked, alone = list[tuple[Operation, Verdict]](), Alone(sight.state)
        for op in ops:
            done = self._try(sight, op)
            if done.verdict is not None:
                tried = done if done.result is not Result.REFUSED else self._try(sight, overruled(op))
                self.at = sight.key, op
                check_request(sight.state, op, done, tried, alone, self.tally)
                asked.append((op, done.verdict))
        self.at = sight.key, None
        check_asking(sight, asked, self.tally)

    def _try(self, sight: Sight, op: Operation) -> Performed:
        """Perform an operation, check what it led to, and remember that if it was not known."""
        self.transitions += 1
        self.at = sight.key, op
        try:
            done = perform(sight.state, op)
        except Impossible as error:
            raise Disagreement(f"robust.no-crash is broken: {error}") from None
        seen = sight if done.after is sight.state else look(done.after, sight)
        check_transition(transition(sight, op, done, seen), self.tally)
        if done.result is Result.OK:
            self.tally.note(op, done.fired)
        if seen.key not in self.came_from:
            self._reach(seen, (sight.key, op))
        return done

    def _reach(self, sight: Sight, step: tuple[Key, Operation] | None) -> None:
        """Check a state that was not known before."""
        self.came_from[sight.key] = step
        check_state(sight, self.tally)
        self.frontier.append(sight)
