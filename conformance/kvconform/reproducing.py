"""The public way to run a finding's operations again from Python: what the generated pytest files call.

It tells two things apart that a test must not confuse: a law that is broken (`Replay.check` raises LawBroken), and a
target that cannot be loaded or cannot run this (`replay_operations` raises TargetError or UsageError).
What it needs is loaded when it is called: this module is part of `import kvconform`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kvconform.adapter import Adapter
from kvspec.vocabulary import Config, Operation

if TYPE_CHECKING:
    from kvconform.trace import TraceFile


class LawBroken(AssertionError):
    """A block manager broke a law. laws: the ids of all that it broke, the one that was asked about first.

    Its message tells the story: the operations, the first illegal step, what was expected and observed, and who owned
    which block.
    """

    def __init__(self, laws: Sequence[str], message: str) -> None:
        super().__init__(message)
        self.laws = tuple(laws)


@dataclass(frozen=True)
class Replay:
    """What came of running operations again.

    target: the name of what they ran on. law: the law that was asked about. broken: the ids of the laws that were
    broken, this one first; MUST laws only, but for this one. message: what was found, in words; empty where nothing
    was. note: which operations were left out, if any, as the target took another way before them.
    """

    target: str
    law: str
    broken: tuple[str, ...]
    message: str = field(repr=False)
    note: str = ""

    def check(self) -> None:
        """Raises LawBroken where the law that was asked about, or any MUST law, was broken."""
        __tracebackhide__ = True  # pytest shows the caller's line and the message, not this function
        if self.broken:
            raise LawBroken(self.broken, self.message)


def replay_operations(
    target: str | Adapter | type[Adapter],
    config: Config | Mapping[str, Any],
    operations: Iterable[Operation | Mapping[str, Any]] = (),
    *,
    law: str,
    probe: str = "",
    workload: Mapping[str, Any] | None = None,
    without: Sequence[str] = (),
) -> Replay:
    """Start a block manager, run operations on it, and judge every step against all laws.

    target: a name, as the command line takes it (`package.module:factory`, `NAME@VERSION`, `fault:NAME`, ..), or an
    adapter, or its class. config: a Config, or a mapping of its fields. operations: as in a trace file,
    `{"op": "append", "group": 1}`, or Operation values. law: the id of the law that they break, or broke. probe: what
    beyond the operations shows it: "finish" (the end of the run), "repeat" (the same once more), "progress" (the kit's
    scheduler serving `workload`, `{"requests": [[prompt, output], ..], "lookahead": slots}`), "bad-input:NAME".
    without: capabilities that are not to be used.

    An operation that no longer applies, because the manager has refused an earlier one, is left out.

    Raises UsageError for an unknown law, probe, capability or fault, and for a configuration or an operation that is
    none; TargetError where the target cannot be loaded, or cannot run this, so that nothing can be said.
    """
    __tracebackhide__ = True
    from kvconform.errors import KvconformError

    try:
        return _replay(target, _trace(config, operations, law, probe, workload, list(without)))
    except KvconformError as error:
        raise error.with_traceback(None) from None  # its message says it all


def _replay(target: str | Adapter | type[Adapter], file: TraceFile) -> Replay:
    from kvconform import replay as replaying
    from kvconform.report.replayed import told
    from kvconform.targets import Target, resolve

    replaying.validate(file, "replay_operations")
    if isinstance(target, str):
        found = resolve(target)
    else:
        adapter = target() if isinstance(target, type) else target
        name = adapter.name or type(adapter).__name__
        found = Target(name, name, adapter.version, adapter)
    replayed = replaying.rerun(file, found)
    law = file.law or ""
    broken = dict.fromkeys(raw.violation.law.id for raw in replayed.raws)
    message = "\n".join(line.plain for line in told(replayed)) if broken else ""
    return Replay(found.name, law, tuple(broken), message and f"{found.name}\n\n{message}", replayed.note())


def _trace(
    config: Config | Mapping[str, Any],
    operations: Iterable[Operation | Mapping[str, Any]],
    law: str,
    probe: str,
    workload: Mapping[str, Any] | None,
    without: list[str],
) -> TraceFile:
    from kvconform import trace
    from kvconform.errors import UsageError

    header = {"law": law, "probe": probe, "workload": workload, "without": without}
    try:
        known = config if isinstance(config, Config) else trace.config_from_json(dict(config))
        told = [trace.operation_from_json(dict(op)) if isinstance(op, Mapping) else op for op in operations]
    except trace.TraceError as error:
        raise UsageError(f"replay_operations: {error}") from None
    return trace.TraceFile(known, told, law, header)
