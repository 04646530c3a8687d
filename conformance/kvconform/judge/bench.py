"""Where a law meets a case: the judge's common ground.

Knows the catalogue, what was checked, what was found, and the transition under judgement. It must not know how the
cases of any one area are gathered: that is in the file named after the area.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from kvconform.adapter import Adapter, Group, Seq
from kvconform.demand import Demands
from kvconform.driver import Driver, Outcome
from kvconform.ledger import Ledger, Row
from kvconform.world import World
from kvspec.laws import Law
from kvspec.vocabulary import Capability, Config, Device, Guard, Operation, Verdict

Explanation = tuple[str, str, str]
"""What is wrong, what was expected, what was observed."""

WHOLE_POOL = 64
"""Up to so many blocks, a pool's free set is looked at after each operation; beyond, only at the end of a run."""


@dataclass(frozen=True)
class Violation:
    """One law broken by one operation. error: the class of the exception that showed it, else empty. place: the pool
    that it was seen in, where the law is about one.
    """

    law: Law
    op: str
    message: str
    expected: str
    observed: str
    error: str = ""
    place: str = ""


@dataclass
class Tally:
    """How often each law was checked, how often each guard gave each verdict, and how many operations were run."""

    checks: Counter[str] = field(default_factory=Counter)
    guards: Counter[tuple[Guard, Verdict]] = field(default_factory=Counter)
    operations: int = 0

    def add(self, other: Tally) -> None:
        """Take another tally in."""
        self.checks.update(other.checks)
        self.guards.update(other.guards)
        self.operations += other.operations


@dataclass
class RowChange:
    """A row that differs from what was known. before, after: None where there was, or is, no row."""

    seq: Seq
    before: Row | None
    after: Row | None

    def new_entries(self) -> list[tuple[int, int]]:
        """Entries (index, block) that were not there before."""
        if self.after is None:
            return []
        old = self.before.blocks if self.before and self.before.device is self.after.device else []
        return [(i, b) for i, b in enumerate(self.after.blocks) if i >= len(old) or old[i] != b]


@dataclass
class Transition:
    """One operation with everything that was seen of it.

    demands, distinct, moving, named, request: of the state before (see `Judge.before`). held: distinct blocks owned
    before, by device. counts_before, counts: free blocks before and after. changes: rows that differ.
    """

    op: Operation
    group: Group | None
    demands: Demands | None = None
    moving: list[Seq] = field(default_factory=list)
    distinct: int = 0
    named: frozenset[int] = frozenset()
    request: tuple[object, ...] = ()
    alone: bool = False
    held: dict[Device, int] = field(default_factory=dict)
    lengths: dict[int, int] = field(default_factory=dict)
    counts_before: dict[Device, int] = field(default_factory=dict)
    counts: dict[Device, int] = field(default_factory=dict)
    changes: list[RowChange] = field(default_factory=list)
    outcome: Outcome = field(default_factory=Outcome)


class Bench:
    """The judge's bench for one run."""

    def __init__(self, adapter: Adapter, world: World, ledger: Ledger, driver: Driver, laws: Iterable[Law]) -> None:
        self.adapter = adapter
        self.world = world
        self.ledger = ledger
        self.driver = driver
        self.config: Config = world.config
        self.capabilities = world.capabilities
        self.laws = {law.id: law for law in laws if law.applicable(world.capabilities)}
        self.tally = Tally()
        self.found: list[Violation] = []
        self.op = "start"

    def has(self, capability: Capability) -> bool:
        """Whether the manager has this capability."""
        return capability in self.capabilities

    def check(
        self, law_id: str, case: object, explain: Callable[[], Explanation], error: str = "", place: str = ""
    ) -> None:
        """Judge one case. A case outside the law's premise does not count as checked."""
        law = self.laws.get(law_id)
        if law is None:
            return
        holds = law.judge(case)
        if holds is None:
            return
        self.tally.checks[law_id] += 1
        if not holds:
            self.found.append(Violation(law, self.op, *explain(), error, place))

    def broken(self, law_id: str) -> bool:
        """Whether the operation at hand was found to break this law."""
        return any(violation.law.id == law_id for violation in self.found)


def shown(counts: dict[Device, int] | None) -> str:
    """Free counts in words: gpu 3, cpu 1."""
    return ", ".join(f"{device.value} {count}" for device, count in (counts or {}).items())
