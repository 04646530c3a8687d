"""Where a law meets a case: the judge's common ground.

Knows the catalogue, what was checked, what was found, and the transition under judgement. It must not know how the
cases of any one area are gathered: that is in the file named after the area.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest

from kvconform.adapter import Adapter, Group, Seq
from kvconform.demand import NO_NULL, Demands, NullUse
from kvconform.driver import Driver, Outcome
from kvconform.ledger import Ledger, Row
from kvconform.rows import NULL, Layout
from kvconform.world import World
from kvspec.laws import Law
from kvspec.vocabulary import Capability, Config, Device, Guard, Operation, Verdict

Explanation = tuple[str, str, str]
"""What is wrong, what was expected, what was observed."""

Blocks = tuple[tuple[Device, int], ...]
"""Physical blocks, each with the device of its pool."""

Numbers = tuple[object, ...]
"""A case of a law: the values of its fields, in their order; those with defaults may be missing at the end."""

MOST_REMEMBERED = 4096
"""Cases of a law whose verdicts are remembered."""

WHOLE_POOL = 64
"""Up to so many blocks, a pool's free set is looked at after each operation; beyond, only at the end of a run."""


RESERVED, TO_BE_RESERVED = NullUse(reserved=1), NullUse(first_use=1)


@dataclass(frozen=True)
class Violation:
    """One law broken by one operation. error: the class of the exception that showed it, else empty. place: the pool
    that it was seen in, where the law is about one. blocks: those that are not as they should be, where it is about
    some.
    """

    law: Law
    op: str
    message: str
    expected: str
    observed: str
    error: str = ""
    place: str = ""
    blocks: Blocks = ()


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


@dataclass(slots=True)
class RowChange:
    """A row that differs from what was known. before, after: None where there was, or is, no row. fresh: entries
    (index, block) that were not there before, those that stand for no block left out.
    """

    seq: Seq
    before: Row | None
    after: Row | None
    fresh: list[tuple[int, int]] = field(init=False)

    def __post_init__(self) -> None:
        new = self.after.blocks if self.after else []
        old = self.before.blocks if self.before and self.after and self.before.device is self.after.device else []
        kept = len(old)
        if new[:kept] == old:  # a row that grew, or is new: most are
            self.fresh = list(enumerate(new[kept:], kept))
        else:
            self.fresh = [(i, b) for i, b in enumerate(new) if i >= kept or old[i] != b]
        if NULL in new:
            self.fresh = [(i, b) for i, b in self.fresh if b != NULL]

    def differing(self) -> Blocks:
        """The blocks that only one of the two rows names, or that they name in different places."""
        rows = [[(row.device, block) for block in row.blocks] if row else [] for row in (self.before, self.after)]
        pairs = zip_longest(*rows)
        return tuple(
            dict.fromkeys(one for pair in pairs if pair[0] != pair[1] for one in pair if one and one[1] != NULL)
        )

    def only_gives_up(self, layout: Layout) -> bool:
        """Whether nothing happened but that entries which the window has left behind stand for no block now."""
        if layout.window is None or self.before is None or self.after is None:
            return False
        old, new = self.before.blocks, self.after.blocks
        if len(old) != len(new) or self.before.device is not self.after.device:
            return False
        changed = [i for i, (one, other) in enumerate(zip(old, new, strict=True)) if one != other]
        return all(new[i] == NULL and layout.gone(i, self.seq.computed) for i in changed)


@dataclass(frozen=True)
class Expected:
    """What an admission should find. run: whole blocks from the start on that are in the index. held, cached: those of
    them, a token left out, that somebody owns, and that nobody does.
    """

    run: int
    held: int
    cached: int


@dataclass(slots=True)
class Transition:
    """One operation with everything that was seen of it.

    demands, distinct, named, lengths, request: of the state before (see `Judge.before`). held_before, held: distinct
    blocks owned before and after, by device. null_before, reclaimable_before: the null block, and reclaimable blocks,
    before. counts_before, counts: free blocks before and after. changes: rows that differ. expected: what an admission
    should find in the prefix cache. refcounts, listed: what was seen afterwards of the blocks that these rows name:
    refcounts, and how often the free set lists them (blocks that it does not list are left out), by device. outcome:
    what became of it.
    """

    op: Operation
    group: Group | None
    counts_before: dict[Device, int]
    held_before: dict[Device, int]
    named: frozenset[int]
    lengths: dict[int, int]
    null_before: int | None = None
    reclaimable_before: Mapping[Device, int] = field(default_factory=dict)
    demands: Demands | None = None
    distinct: int = 0
    request: tuple[object, ...] = ()
    alone: bool = False
    expected: Expected | None = None
    changes: list[RowChange] = field(default_factory=list)
    refcounts: dict[Device, dict[int, int]] = field(default_factory=dict)
    listed: dict[Device, Mapping[int, int]] = field(default_factory=dict)
    held: dict[Device, int] = field(init=False)
    counts: dict[Device, int] = field(init=False)
    outcome: Outcome = field(init=False)


class Verdicts(dict[Numbers, bool | None]):
    """What one law says of its cases, by their numbers: it is a function of them, and in small pools few cases occur,
    each of them many times.
    """

    def __init__(self, law: Law) -> None:
        super().__init__()
        self.law = law

    def __missing__(self, numbers: Numbers) -> bool | None:
        if len(self) >= MOST_REMEMBERED:
            self.clear()
        verdict = self[numbers] = self.law.judge(self.law.case(*numbers))
        return verdict


class Bench:
    """The judge's bench for one run."""

    def __init__(self, adapter: Adapter, world: World, ledger: Ledger, driver: Driver, laws: Iterable[Law]) -> None:
        self.adapter = adapter
        self.world = world
        self.ledger = ledger
        self.driver = driver
        self.config: Config = world.config
        self.layout = ledger.layout
        self.null: int | None = None  # the null block, as last observed
        self.reclaimable: dict[Device, int] = {}  # as last observed; none where the manager evicts by itself
        self.capabilities = world.capabilities
        self._verdicts = dict(_applicable(tuple(laws), world.capabilities))
        self.tally = Tally()
        self.found: list[Violation] = []
        self.op = "start"

    def has(self, capability: Capability) -> bool:
        """Whether the manager has this capability."""
        return capability in self.capabilities

    @property
    def null_use(self) -> NullUse:
        """What the guards have to know of the null block."""
        if self.null is not None:
            return RESERVED
        lacking = Capability.NULL_BLOCK in self.capabilities and self.config.sliding_window is not None
        return TO_BE_RESERVED if lacking else NO_NULL

    def total(self, device: Device) -> int:
        """Blocks of the device that sequences can have: all but the null block."""
        return self.config.total(device) - (device is Device.GPU and self.null is not None)

    @property
    def laws(self) -> dict[str, Law]:
        """The laws that are judged here, by id."""
        return {law_id: verdicts.law for law_id, verdicts in self._verdicts.items()}

    def leave_out(self, law_id: str) -> None:
        """Do not judge this law."""
        self._verdicts.pop(law_id, None)

    def holds(self, law_id: str, *numbers: object) -> bool:
        """Judge one case, made of these numbers in the order of its fields. Where it is False, `report` says what is
        wrong: words are only made where they are needed.

        A case outside the law's premise, or of a law that is not judged here, does not count as checked.
        """
        verdicts = self._verdicts.get(law_id)
        verdict = None if verdicts is None else verdicts[numbers]
        if verdict is None:
            return True
        self.tally.checks[law_id] += 1
        return verdict

    def breaches(self, law_id: str, cases: Sequence[Numbers]) -> list[int]:
        """Judge these cases as `holds` does each of them; the places in the list of those that break the law."""
        verdicts = self._verdicts.get(law_id)
        if verdicts is None:
            return []
        answers = [verdicts[numbers] for numbers in cases]
        checked = len(answers) - answers.count(None)
        if checked:
            self.tally.checks[law_id] += checked
        return [at for at, holds in enumerate(answers) if holds is False] if False in answers else []

    def report(
        self, law_id: str, explanation: Explanation, error: str = "", place: str = "", blocks: Blocks = ()
    ) -> None:
        """The operation at hand was found to break this law."""
        self.found.append(Violation(self._verdicts[law_id].law, self.op, *explanation, error, place, blocks))

    def broken(self, law_id: str) -> bool:
        """Whether the operation at hand was found to break this law."""
        return bool(self.found) and any(violation.law.id == law_id for violation in self.found)


_APPLICABLE: dict[tuple[object, ...], tuple[tuple[Law, ...], dict[str, Verdicts]]] = {}
"""By laws and capabilities, the laws that apply: a process has few of either, and begins thousands of runs."""


def _applicable(laws: tuple[Law, ...], capabilities: frozenset[Capability]) -> dict[str, Verdicts]:
    """Those of the laws, by id, that a manager with these capabilities is held to, with what they said before."""
    key = (capabilities, *map(id, laws))  # a law is slow to hash; kept beside the answer, it keeps its id
    if key not in _APPLICABLE:
        _APPLICABLE[key] = laws, {law.id: Verdicts(law) for law in laws if law.applicable(capabilities)}
    return _APPLICABLE[key][1]


def shown(counts: dict[Device, int] | None) -> str:
    """Free counts in words: gpu 3, cpu 1."""
    return ", ".join(f"{device.value} {count}" for device, count in (counts or {}).items())
