"""Laws of robustness: legal operations do not crash, failures leave no trace, bad input is told, work gets done."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kvspec.algebra import Algebra
from kvspec.laws.base import Law
from kvspec.vocabulary import Capability, Level, Scope


@dataclass(frozen=True)
class Call:
    """One legal operation. raised: it raised something that is not declared."""

    raised: Any


@dataclass(frozen=True)
class Failure:
    """One operation that was refused, or that failed although it was tried. changed: it left counts, rows or refcounts
    other than they were.
    """

    changed: Any


@dataclass(frozen=True)
class Ending:
    """One free. again: the sequence had ended before. raised: an undeclared error. changed: anything differs although
    it had ended before.
    """

    again: Any
    raised: Any
    changed: Any


@dataclass(frozen=True)
class BadInput:
    """One call with bad input, on an instance of its own. accepted: it went through without an error. changed: counts
    or rows differ afterwards.
    """

    accepted: Any
    changed: Any


@dataclass(frozen=True)
class Repetition:
    """One trace run twice. differences: operations whose observations differ."""

    differences: Any


@dataclass(frozen=True)
class Progress:
    """One workload under the kit's scheduler. finished: sequences that finished; total: all of them (each of which
    fits alone).
    """

    finished: Any
    total: Any


def raises_nothing(a: Algebra, call: Call) -> Any:
    """No undeclared error."""
    return a.negate(call.raised)


def left_no_trace(a: Algebra, failure: Failure) -> Any:
    """Nothing changed."""
    return a.negate(failure.changed)


def ends_cleanly(a: Algebra, ending: Ending) -> Any:
    """No undeclared error, and nothing changed where it had ended before."""
    return a.all_of(a.negate(ending.raised), a.implies(ending.again, a.negate(ending.changed)))


def told_and_unchanged(a: Algebra, bad: BadInput) -> Any:
    """An error, and nothing changed."""
    return a.all_of(a.negate(bad.accepted), a.negate(bad.changed))


def the_same_again(a: Algebra, repetition: Repetition) -> Any:
    """No difference."""
    return repetition.differences == 0


def all_finished(a: Algebra, progress: Progress) -> Any:
    """Every sequence finished."""
    return progress.finished == progress.total


LAWS = (
    Law(
        "robust.no-crash",
        Level.MUST,
        "Legal operations raise nothing but the declared out-of-blocks outcome.",
        Call,
        raises_nothing,
        breaking=Call(raised=True),
        source="Fault classes C08, C20: an engine that crashes loses every request it holds.",
    ),
    Law(
        "robust.atomic-failure",
        Level.MUST,
        "A refused operation, and where failures are declared atomic a failed one, leaves everything as it was.",
        Failure,
        left_no_trace,
        breaking=Failure(changed=True),
        needs_any=(
            Capability.TRY_ALLOCATE,
            Capability.GUARD_ALLOCATE,
            Capability.GUARD_APPEND,
            Capability.GUARD_SWAP_OUT,
            Capability.GUARD_SWAP_IN,
            Capability.ATOMIC_FAILURES,
        ),
        source="Fault class C10: a half-done operation left behind.",
    ),
    Law(
        "robust.free-any-state",
        Level.MUST,
        "A sequence can be freed in any state; freeing it again raises nothing undeclared and changes nothing.",
        Ending,
        ends_cleanly,
        breaking=Ending(again=True, raised=False, changed=True),
        source="Fault class C08: abort in a state other than running.",
    ),
    Law(
        "robust.bad-input",
        Level.SHOULD,
        "An unknown sequence, an id used twice, a fork of an unknown parent, a wrong status: a clear error, and "
        "nothing changed.",
        BadInput,
        told_and_unchanged,
        breaking=BadInput(accepted=True, changed=False),
        source="Fault class C11: an owner record overwritten in silence.",
    ),
    Law(
        "robust.deterministic",
        Level.SHOULD,
        "The same operations give the same observations.",
        Repetition,
        the_same_again,
        breaking=Repetition(differences=1),
        scope=Scope.RUN,
        source="Tensor-parallel workers and replayed traces rely on it; fault class C28.",
    ),
    Law(
        "robust.progress",
        Level.MUST,
        "Under a first-come-first-served scheduler that preempts, every workload finishes each of whose sequences fits "
        "alone with a block to spare; NEVER to one that is longer than a block is the manager's own limit.",
        Progress,
        all_finished,
        breaking=Progress(finished=1, total=2),
        needs=(Capability.APPEND,),
        scope=Scope.RUN,
        source="Fault classes C18, C19: waiting for ever.",
    ),
)
