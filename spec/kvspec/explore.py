"""The small-scope cross-check: every state of the whole model that a few operations reach, one by one.

Breadth first from the empty manager, with all operations, in plain Python and without a solver. What is proved for any
size by induction, and what the laws say, is checked in each state and of each operation; the proofs and this must
agree. States that differ only in the numbers of blocks are one. What disagrees is shown with a shortest way to it, and
an exploration that did not exercise everything is not good either.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from kvspec.exploring.coverage import gaps
from kvspec.exploring.judging import NOT_STATED, Disagreement, Tally
from kvspec.exploring.scopes import DEPTH, SCOPES, Scope
from kvspec.exploring.search import Search, Walked
from kvspec.exploring.sight import look
from kvspec.model.manager import perform
from kvspec.vocabulary import Operation, arguments


@dataclass(frozen=True)
class Exploration:
    """What came of it.

    walked: each scope, as far as it went. tally: what was exercised. reason: why it is not good, or empty. path, scope:
    the operations that lead to a disagreement, the last of them included, and where.
    """

    walked: tuple[Walked, ...]
    tally: Tally
    reason: str = ""
    path: tuple[Operation, ...] = ()
    scope: Scope | None = None

    @property
    def good(self) -> bool:
        """Nothing disagrees, and everything was exercised."""
        return not self.reason

    @property
    def states(self) -> int:
        """States reached, in all scopes."""
        return sum(walked.states for walked in self.walked)

    @property
    def transitions(self) -> int:
        """Operations tried, in all scopes."""
        return sum(walked.transitions for walked in self.walked)

    @property
    def deepest(self) -> int:
        """The most operations in a row to a state that was not known before."""
        return max((len(walked.levels) - 1 for walked in self.walked), default=0)

    def as_data(self) -> dict[str, object]:
        """The same in plain values, for JSON."""
        tally = self.tally
        return {
            "good": self.good,
            "reason": self.reason,
            "states": self.states,
            "transitions": self.transitions,
            "deepest": self.deepest,
            "scopes": [_walked_data(walked) for walked in self.walked],
            "operations": dict(sorted(tally.performed.items())),
            "micro_steps": {".".join(part): n for part, n in sorted(tally.fired.items())},
            "guards": {f"{guard.value}.{verdict.value}": n for (guard, verdict), n in sorted(tally.guards.items())},
            "laws": dict(sorted(tally.laws.items())),
            "laws_not_stated": NOT_STATED,
            "path": [{"op": op.op, **_plain(arguments(op))} for op in self.path],
            "path_scope": str(self.scope) if self.scope else None,
        }


def _walked_data(walked: Walked) -> dict[str, object]:
    return {
        "scope": str(walked.scope),
        "states": walked.states,
        "transitions": walked.transitions,
        "levels": list(walked.levels),
        "whole": walked.whole,
    }


def _plain(values: dict[str, object]) -> dict[str, object]:
    def plain(value: object) -> object:
        if isinstance(value, tuple):
            return list(value)
        return {str(key): plain(one) for key, one in value.items()} if isinstance(value, dict) else value

    return {name: plain(value) for name, value in values.items()}


def explore(
    on_progress: Callable[[str], None] | None = None, depth: int = DEPTH, scopes: Iterable[Scope] = SCOPES
) -> Exploration:
    """Enumerate each scope to this depth. `on_progress` is told of each level of each scope."""
    tally, walked = Tally(), list[Walked]()
    for scope in scopes:
        search = Search(scope, tally)
        try:
            search.run(depth, on_progress or (lambda line: None))
        except Exception as error:  # a model that is wrong enough cannot even be looked at
            walked.append(search.walked())
            return Exploration(tuple(walked), tally, _in_words(error), search.path(), scope)
        walked.append(search.walked())
    return Exploration(tuple(walked), tally, "; ".join(gaps(tally)))


def retrace(scope: Scope, path: Iterable[Operation]) -> str:
    """Perform these operations one after the other with all checks: what disagrees, or nothing."""
    search = Search(scope, Tally())
    try:
        sight = search.start()
        for op in path:
            search.expand(sight, [op])
            sight = look(perform(sight.state, op).after)
    except Exception as error:
        return _in_words(error)
    return ""


def _in_words(error: Exception) -> str:
    return str(error) if isinstance(error, Disagreement) else f"{type(error).__name__}: {error}"
