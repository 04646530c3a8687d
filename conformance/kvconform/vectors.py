"""Runs the shipped edge cases on a target.

Knows how a vector is played, and when it cannot be: a capability or configuration that the target does not have, an
order that its engine never produces, an earlier operation refused. Such a vector is skipped, and never counted as
passed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kvconform.adapter import Adapter
from kvconform.finding import Raw, raws_of
from kvconform.run import IllegalOperation, Run
from kvspec.edges.vectors import Vector
from kvspec.vocabulary import Capability, Config, Operation, Verdict


@dataclass
class Played:
    """What became of one vector. run: None where it was not begun. skipped: why the target could not be brought to the
    edge; empty where it was. verdict: the guard's at the edge.
    """

    vector: Vector
    run: Run | None = None
    skipped: str = ""
    refused: bool = False
    verdict: Verdict | None = None


def play(
    start: Callable[[Config], Run], vector: Vector, adapter: Adapter, capabilities: frozenset[Capability]
) -> Played:
    """Play one vector."""
    missing = sorted(need.value for need in vector.needs if need not in capabilities)
    if missing:
        return Played(vector, skipped=f"needs {', '.join(missing)}")
    outside = adapter.domain.excludes(vector.config)
    if outside:
        return Played(vector, skipped=outside)
    played = Played(vector, start(vector.config))
    _operate(played, vector.operations)
    return played


def _operate(played: Played, ops: Sequence[Operation]) -> None:
    run = played.run
    assert run is not None
    for at, op in enumerate(ops):
        if run.over:
            played.skipped = "the run was over before the edge"
            return
        try:
            outcome = run.apply(op)
        except IllegalOperation as illegal:
            played.skipped = f"operation {at + 1} ({op.op}): {illegal.reason}"
            return
        if at + 1 < len(ops) and outcome.refused:
            played.skipped, played.refused = f"operation {at + 1} ({op.op}) was refused before the edge", True
            return
        played.verdict = outcome.verdict
    if not run.over:
        run.finish(spend=False)  # spending all blocks costs more than the vector itself


def raws(played: Played) -> list[Raw]:
    """What a vector's run found."""
    return [] if played.run is None else raws_of(played.run, "vector")
