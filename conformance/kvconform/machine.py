"""The hypothesis tier: a `RuleBasedStateMachine` over the same operations, for breadth.

Knows hypothesis and the shared generator. Two uses: `explore` collects findings for `kvconform check` (which shrinks
them itself); `machine_for(...)` with `collect=None` raises instead, so that hypothesis shrinks and keeps its database.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import hypothesis
from hypothesis import HealthCheck, Phase
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from kvconform.adapter import Adapter, capabilities_of
from kvconform.finding import Raw, raws_of
from kvconform.propose import Style, candidates, configuration, propose, style
from kvconform.run import Run
from kvspec.vocabulary import OPERATIONS, Capability, Config, Level

T = TypeVar("T")


class Drawn:
    """A chooser over hypothesis's choices."""

    def __init__(self, data: st.DataObject) -> None:
        self._data = data

    def integer(self, low: int, high: int) -> int:
        """A number from low to high, both included."""
        return self._data.draw(st.integers(low, high))

    def choose(self, options: Sequence[T]) -> T:
        """One of the options; the first is the simplest."""
        return options[self._data.draw(st.integers(0, len(options) - 1))]

    def chance(self, percent: int) -> bool:
        """True in so many of a hundred cases; False is simpler."""
        return self._data.draw(st.integers(0, 99)) >= 100 - percent


class Machine(RuleBasedStateMachine):
    """One run of legal operations; subclasses made by `machine_for` know which manager."""

    start: Callable[[Config], Run]
    adapter: Adapter
    capabilities: frozenset[Capability]
    collect: Callable[[Run, list[Raw]], None] | None = None

    def __init__(self) -> None:
        super().__init__()
        self.run: Run | None = None
        self.manner: Style | None = None
        self._complained = False
        self._possible: tuple[int, dict[str, list[int]]] = (-1, {})

    @initialize(data=st.data())
    def begin(self, data: st.DataObject) -> None:
        """Choose a configuration and start the manager with it."""
        pick = Drawn(data)
        config = configuration(self.adapter.domain, self.capabilities, pick)
        self.run = type(self).start(config)
        self.manner = style(config, pick, evicts=Capability.RECLAIMABLE in self.capabilities)

    def possible(self, kind: str) -> list[int]:
        """What an operation of this kind may be about now."""
        run = self.run
        if run is None or run.over:
            return []
        done = len(run.operations)
        if self._possible[0] != done:
            self._possible = (done, candidates(run))
        return self._possible[1].get(kind, [])

    @precondition(lambda self: self.run is not None and (self.run.over or not candidates(self.run)))
    @rule()
    def idle(self) -> None:
        """The run is over: hypothesis wants a rule that it can use all the same."""

    def perform(self, kind: str, data: st.DataObject) -> None:
        """Propose an operation of this kind and carry it out."""
        assert self.run is not None
        assert self.manner is not None
        op = propose(self.run, kind, self.possible(kind), self.manner, Drawn(data))
        if op is not None:
            self.run.apply(op)
            self._complain()

    def _complain(self) -> None:
        if self.collect is None and self.run is not None and not self._complained:
            for found in self.run.found:
                if found.violation.law.level is Level.MUST:
                    self._complained = True
                    raise AssertionError(f"{found.violation.law.id}: {found.violation.message}")

    def teardown(self) -> None:
        """End the run as an engine would."""
        if self.run is None:
            return
        if not self.run.over:
            self.run.finish()
        if self.collect is not None:
            type(self).collect(self.run, raws_of(self.run, "hypothesis"))  # type: ignore[misc]
        self._complain()


def _rule(kind: str) -> Any:
    def perform(self: Machine, data: st.DataObject) -> None:
        self.perform(kind, data)

    perform.__name__ = kind
    return precondition(lambda self: bool(self.possible(kind)))(rule(data=st.data())(perform))


def machine_for(
    adapter: Adapter,
    start: Callable[[Config], Run] | None = None,
    collect: Callable[[Run, list[Raw]], None] | None = None,
    capabilities: frozenset[Capability] | None = None,
) -> type[Machine]:
    """A state machine for one manager. `machine_for(MyAdapter()).TestCase` is a unittest for pytest."""
    members: dict[str, Any] = {kind: _rule(kind) for kind in OPERATIONS}
    members["adapter"] = adapter
    members["capabilities"] = capabilities_of(adapter) if capabilities is None else capabilities
    members["start"] = staticmethod(start or (lambda config: Run(adapter, config)))
    members["collect"] = staticmethod(collect) if collect else None
    return type(f"{type(adapter).__name__}Machine", (Machine,), members)


def explore(
    adapter: Adapter,
    start: Callable[[Config], Run],
    collect: Callable[[Run, list[Raw]], None],
    *,
    capabilities: frozenset[Capability] | None = None,
    examples: int,
    steps: int,
    seed: int,
    database: Any = None,
) -> None:
    """Run so many examples of at most so many steps; findings and tallies go to `collect`."""
    machine = hypothesis.seed(seed)(machine_for(adapter, start, collect, capabilities))
    settings = hypothesis.settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        database=database,
        derandomize=False,
        print_blob=False,
        phases=[Phase.reuse, Phase.generate],
        suppress_health_check=list(HealthCheck),
        verbosity=hypothesis.Verbosity.quiet,
    )
    run_state_machine_as_test(machine, settings=settings)
