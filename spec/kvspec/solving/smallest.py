"""The smallest example of an answer: the fewest blocks, then the fewest owners, tokens and published blocks, then each
number in turn.

Knows what the numbers of examples are called, and z3, which finds the minima. Each is exact, among numbers in the range
of examples, so that the example does not depend on what a solver happened to find first. Must not know obligations.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import z3

from kvspec.algebra import INTS, Algebra
from kvspec.arithmetic import larger
from kvspec.solving.z3_solver import check, value_of
from kvspec.terms import Terms

Measure = Callable[[Algebra, Mapping[str, Any]], Any]
"""How large an example is in some respect, a number that is never negative: of numbers, or of terms, by name."""

Example = Mapping[str, int]


@dataclass(frozen=True)
class Smallest:
    """The smallest example. exact: whether nothing smaller exists for certain. seconds: what the search took."""

    example: Example
    exact: bool
    seconds: float


def smallest(text: str, start: Example, timeout: float) -> Smallest:
    """Make an example small. text: the question that it answers.

    Within the timeout in seconds; what was found by then is returned.
    """
    began = time.perf_counter()
    descent = _Descent(text, start, began + timeout)
    for measure in measures(list(start)):
        descent.lower(measure)
    for name in _in_turn(list(start)):
        descent.settle(name)
    return Smallest(descent.example, descent.exact, time.perf_counter() - began)


# -- what small means -----------------------------------------------------------------------------------


def measures(names: Sequence[str]) -> list[Measure]:
    """What to make small first, by what the numbers are called: blocks, and then owners of blocks, and tokens."""
    tables = _tables(names)
    if tables:
        computed = [name for name in names if ".computed[" in name]
        published = [name for name in names if ".key[" in name]
        more = [*([_sum(computed)] if computed else []), *([_named(published)] if published else [])]
        return [_blocks_held(tables), _owners(tables), *more]
    blocks = [name for name in ("total", "moved") if name in names] or [name for name in ("blocks",) if name in names]
    tokens = [name for name in ("tokens",) if name in names]
    return [_sum(named) for named in (blocks, tokens) if named]


def _tables(names: Sequence[str]) -> dict[str, list[str]]:
    """Of each pool, the names of what its entries name."""
    tables: dict[str, list[str]] = {}
    for name in names:
        found = re.fullmatch(r"(\w+)\.tab\[\d+\]", name)
        if found:
            tables.setdefault(found[1], []).append(name)
    return tables


def _blocks_held(tables: Mapping[str, Sequence[str]]) -> Measure:
    """Blocks that an entry names, in all pools. An entry names a block anew if none before it does."""

    def measure(a: Algebra, numbers: Mapping[str, Any]) -> Any:
        held: Any = 0
        for entries in tables.values():
            for at, entry in enumerate(entries):
                block = numbers[entry]
                anew = [a.negate(numbers[earlier] == block) for earlier in entries[:at]]
                held = held + a.ite(a.all_of(block >= 0, *anew), 1, 0)
        return held

    return measure


def _owners(tables: Mapping[str, Sequence[str]]) -> Measure:
    """Entries that name a block, in all pools."""

    def measure(a: Algebra, numbers: Mapping[str, Any]) -> Any:
        return sum(a.ite(numbers[entry] >= 0, 1, 0) for entries in tables.values() for entry in entries)

    return measure


def _named(names: Sequence[str]) -> Measure:
    """How many of these numbers are not below 0, where they stand for nothing."""

    def measure(a: Algebra, numbers: Mapping[str, Any]) -> Any:
        return sum(a.ite(numbers[name] >= 0, 1, 0) for name in names)

    return measure


def _sum(names: Sequence[str]) -> Measure:
    """These numbers together; one below 0 stands for nothing."""

    def measure(a: Algebra, numbers: Mapping[str, Any]) -> Any:
        return sum(larger(a, numbers[name], 0) for name in names)

    return measure


def _in_turn(names: Sequence[str]) -> list[str]:
    """The numbers in the order in which they are made small: tables first, as all else in a pool follows them."""
    return sorted(names, key=lambda name: ".tab[" not in name)


# -- the search -----------------------------------------------------------------------------------------


class _Descent:
    """Goes from one example to a smaller one, as long as the solver knows one. What is settled stays as it is."""

    def __init__(self, text: str, start: Example, deadline: float) -> None:
        self.example = dict(start)
        self.exact = True
        self._deadline = deadline
        self._terms = {name: z3.Int(name) for name in start}
        self._open = dict(self._terms)
        self._wishes = 0
        self._solver = z3.SimpleSolver()
        self._solver.from_string(text)

    def lower(self, measure: Measure) -> None:
        """Settle a measure on the least that it can be."""
        term, size = measure(Terms(), self._terms), measure(INTS, self.example)
        for least in range(size):
            if self._grant(term <= least):
                break
        self._solver.add(term == measure(INTS, self.example))

    def settle(self, name: str) -> None:
        """Settle a number on the least that it can be, and best not below 0, which is hardest to read."""
        term, value = self._terms[name], self.example[name]
        # Mostly nothing is smaller, which is asked first.
        if value != 0 and self._grant(z3.And(term >= 0, term < value) if value > 0 else term >= 0):
            for least in range(self.example[name]):
                if self._grant(z3.And(term >= 0, term <= least)):
                    break
        self._solver.add(term == self.example[name])
        del self._open[name]

    def _grant(self, wish: Any) -> bool:
        """Whether an example grants the wish; then it is the example from now on."""
        if not self.exact:
            return False
        self._wishes += 1
        assumed = z3.Bool(f"wish.{self._wishes}")
        self._solver.add(z3.Implies(assumed, wish))
        answer, _ = check(self._solver, self._deadline - time.perf_counter(), assumed)
        self.exact = answer != "unknown"
        if answer != "sat":
            return False
        model = self._solver.model()
        for name, term in self._open.items():
            self.example[name] = value_of(model, term)
        return True
