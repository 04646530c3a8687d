"""A smallest example of breaking each law: a trace that a fault of the catalogue fails, kept as a file.

Knows the catalogue of faults, and how examples are found, kept and shown. The files are ordinary traces, so that
`kvconform replay` runs them too; `make examples` finds them again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path

from kvconform import faults, vectors
from kvconform.adapter import Adapter, capabilities_of
from kvconform.check import Check
from kvconform.errors import KvconformError
from kvconform.faults import Fault
from kvconform.finding import Finding, Raw
from kvconform.picture import Picture
from kvconform.profiles import PROFILES
from kvconform.recording import record
from kvconform.replay import read_trace, rerun
from kvconform.report.build import save
from kvconform.run import Run
from kvconform.shrink import Shrinker
from kvconform.targets import Target, resolve
from kvconform.trace import TraceFile
from kvconform.walk import Walk
from kvspec.edges import vectors as edges
from kvspec.laws import Law
from kvspec.vocabulary import Capability, Config

SEARCH = 400
"""Runs of the walk in which an example must show."""

FOLDER = Path(str(files("kvconform"))) / "examples"


@dataclass(frozen=True)
class Example:
    """What was kept for one law. fault: the wrong manager that breaks it. file: the trace."""

    law: str
    fault: Fault
    file: TraceFile


@dataclass(frozen=True)
class Shown:
    """The example, run now. raw: the violation that it shows. pictures: of the start, after each operation, and of what
    is beyond them.
    """

    example: Example
    raw: Raw
    pictures: list[Picture]


class NoExample(KvconformError):
    """An example is missing, or is none any more. Only a change of the kit without `make examples` can do that."""


def load(law_id: str) -> Example:
    """The example of this law. Raises NoExample where none is kept."""
    path = FOLDER / f"{law_id}.jsonl"
    if not path.exists():
        raise NoExample(f"no example is kept for {law_id}; find one: make examples")
    file = read_trace(path)
    name = str(file.header["target"]).removeprefix("fault:")
    return Example(law_id, faults.CATALOGUE[name], file)


def show(example: Example) -> Shown:
    """Run the example. Raises NoExample where it does not break its law any more."""
    target = resolve(f"fault:{example.fault.name}")
    replayed = rerun(example.file, target)
    raw = replayed.shows
    if raw is None:
        raise NoExample(
            f"fault:{example.fault.name} does not break {example.law} any more; find another: make examples"
        )
    return Shown(example, raw, record(raw, replayed.start).pictures)


# -- finding them ------------------------------------------------------------------------------------------------------


def keep(law: Law, folder: Path) -> Finding | None:
    """Find the smallest example of breaking the law among its faults, and keep it in the folder."""
    found = [(finding, fault) for fault in faults.CATALOGUE.values() if law.id in fault.laws
             for finding in [smallest(law, fault)] if finding is not None]  # fmt: skip
    if not found:
        return None
    finding, fault = min(found, key=lambda pair: _size(pair[0]))
    target = resolve(f"fault:{fault.name}")
    run = record(finding, _starting(target.adapter))
    save(finding, folder / f"{law.id}.jsonl", run, target.spec)
    return finding


def smallest(law: Law, fault: Fault) -> Finding | None:
    """A smallest trace on which the fault breaks the law: by the vectors, else by the walk, else by a whole check."""
    target = resolve(f"fault:{fault.name}")
    start = _starting(target.adapter)
    shrinker = Shrinker(start, target.adapter.domain)
    found = _among_vectors(law, target.adapter, start, shrinker) or _walking(law, target.adapter, start, shrinker)
    return min(found or _checking(law, target), key=_size, default=None)


def _size(finding: Finding) -> tuple[int, ...]:
    """Small is good; but there should be something to see."""
    config, count = finding.config, len(finding.operations)
    return not count, count, config.num_gpu_blocks, config.num_cpu_blocks, config.block_size


def _starting(adapter: Adapter) -> Callable[..., Run]:
    def start(config: Config, *, record: bool = False) -> Run:
        return Run(adapter, config, record=record)

    return start


def _among_vectors(law: Law, adapter: Adapter, start: Callable[..., Run], shrinker: Shrinker) -> list[Finding]:
    found: list[Finding] = []
    capabilities: frozenset[Capability] = capabilities_of(adapter)
    for vector in edges.load().vectors:
        raws = vectors.raws(vectors.play(start, vector, adapter, capabilities))
        found += [small for raw in raws if raw.violation.law is law and (small := shrinker.shrink(raw))]
        if len(found) > 2:
            break
    return found


def _walking(law: Law, adapter: Adapter, start: Callable[..., Run], shrinker: Shrinker) -> list[Finding]:
    walk = Walk(adapter, start, capabilities_of(adapter), seed=0)
    for number in range(SEARCH):
        _, raws = walk.one(number)
        found = [small for raw in raws if raw.violation.law is law and (small := shrinker.shrink(raw))]
        if found:
            return found
    return []


def _checking(law: Law, target: Target) -> list[Finding]:
    """What is not shown by one run: bad input, repetition, workloads."""
    result = Check(target, replace(PROFILES["quick"], walk=2_000, examples=1)).run()
    return [finding for finding in result.findings if finding.violation.law is law]
