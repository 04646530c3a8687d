"""The hypothesis tier: a `RuleBasedStateMachine` over the same operations, for breadth.

Knows hypothesis and the shared generator. Three uses: `explore` collects findings for `kvconform check` (which shrinks
them itself); with a database, what is new is raised as well, so that hypothesis keeps it, and `retry` tries it again;
`machine_for(...)` with `collect=None` raises everything, so that hypothesis shrinks, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from typing import Any, ClassVar, TypeVar
from unittest import SkipTest

import hypothesis
from hypothesis import HealthCheck, Phase
from hypothesis import strategies as st
from hypothesis.database import ExampleDatabase
from hypothesis.errors import Flaky
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from kvconform.adapter import Adapter, capabilities_of
from kvconform.finding import Key, Raw, raws_of
from kvconform.propose import Style, candidates, configuration, propose, style
from kvconform.run import Run
from kvconform.steady import steady
from kvspec.vocabulary import OPERATIONS, Capability, Config, Level

T = TypeVar("T")


class Shown(Exception):
    """A violation that is to be kept; hypothesis tells causes apart by the classes of errors."""


class Late(BaseException):
    """The time is up; no error of the manager, so that hypothesis lets it through."""


@cache
def _shown(key: Key) -> type[Shown]:
    return type("Shown", (Shown,), {"__doc__": " ".join(key)})


@dataclass
class Kept:
    """Where examples that show something are kept, and what was shown already."""

    database: ExampleDatabase
    seen: set[Key] = field(default_factory=set)


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
    late: Callable[[], bool] = staticmethod(lambda: False)
    seen: frozenset[Key] | None = None  # where not None, anything else is raised, to be kept
    shown: ClassVar[set[Key]] = set()

    def __init__(self) -> None:
        super().__init__()
        self.run: Run | None = None
        self.manner: Style | None = None
        self._complained = False
        self._possible: tuple[int, dict[str, list[int]]] = (-1, {})

    @initialize(data=st.data())
    def begin(self, data: st.DataObject) -> None:
        """Choose a configuration and start the manager with it. Raises Late where there is no time for that."""
        if type(self).late():
            raise Late
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
            raws = raws_of(self.run, "hypothesis")
            type(self).collect(self.run, raws)  # type: ignore[misc]
            self._keep(raws)
        self._complain()

    def _keep(self, raws: list[Raw]) -> None:
        for raw in raws:
            if self.seen is not None and raw.key not in self.seen:
                self.shown.add(raw.key)
                raise _shown(raw.key)(raw.violation.message)


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
    members["shown"] = set()
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
    seed: int | str,
    late: Callable[[], bool] = lambda: False,
    kept: Kept | None = None,
) -> None:
    """Run so many examples of at most so many steps; findings and tallies go to `collect`. late: asked before each
    example; ends it all. kept: where examples go that show what was not shown before.
    """
    done, calls = 0, 0

    def count(run: Run, raws: list[Raw]) -> None:
        nonlocal done
        done += 1
        collect(run, raws)

    while done < examples and calls < examples and not late():
        machine = machine_for(adapter, start, count, capabilities)
        machine.late, machine.seen = staticmethod(late), None if kept is None else frozenset(kept.seen)
        settings = _settings(examples - done, steps, None if kept is None else kept.database, Phase.generate)
        _run(machine, f"{seed}/{calls}" if calls else seed, settings)
        calls += 1
        if kept is None:
            break  # nothing was raised: they have all been run
        kept.seen |= machine.shown


def retry(
    adapter: Adapter,
    start: Callable[[Config], Run],
    collect: Callable[[Run, list[Raw]], None],
    *,
    capabilities: frozenset[Capability] | None = None,
    steps: int,
    kept: Kept,
) -> None:
    """Run every example that was kept; those that show nothing any more are dropped."""
    machine = machine_for(adapter, start, collect, capabilities)
    machine.seen = frozenset()
    with suppress(SkipTest):  # nothing was kept
        _run(machine, 0, _settings(MOST_KEPT, steps, kept.database, Phase.reuse))


MOST_KEPT = 1_000
"""Examples tried again at most, beside those that hypothesis takes for the smallest of their kind."""


def _run(machine: type[Machine], seed: int | str, settings: hypothesis.settings) -> None:
    try:
        with steady():
            run_state_machine_as_test(hypothesis.seed(seed)(machine), settings=settings)
    except (Shown, Late):
        pass  # it was collected
    except BaseException as error:
        if not _only_shown(error):
            raise


def _only_shown(error: BaseException) -> bool:
    """Whether an error is nothing but what was collected already: several at once, or one that came only once."""
    parts = getattr(error, "exceptions", ())
    return isinstance(error, (Shown, Flaky)) or (bool(parts) and all(map(_only_shown, parts)))


def _settings(examples: int, steps: int, database: ExampleDatabase | None, phase: Phase) -> hypothesis.settings:
    """Everything that a profile of hypothesis's own (it has one for CI) could change is said here."""
    return hypothesis.settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        database=database,
        derandomize=False,
        print_blob=False,
        phases=[phase],
        report_multiple_bugs=True,
        suppress_health_check=list(HealthCheck),
        verbosity=hypothesis.Verbosity.quiet,
    )
