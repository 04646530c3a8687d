"""The life of a sequence: which operation takes it from which status to which, and a picture of that.

Data, and one diagram of it. What an operation does to blocks is `kvspec.model.operations`.
"""

from __future__ import annotations

from kvspec.vocabulary import Status

NEW = "[*]"
"""Before there is a sequence, in the language of the diagram."""

LIVE = (Status.WAITING, Status.RUNNING, Status.SWAPPED)

LIFE: tuple[tuple[Status | None, str, Status], ...] = (
    (None, "allocate", Status.RUNNING),
    (None, "fork", Status.RUNNING),
    (None, "allocate", Status.WAITING),
    (Status.WAITING, "allocate", Status.RUNNING),
    (Status.RUNNING, "append", Status.RUNNING),
    (Status.RUNNING, "step", Status.RUNNING),
    (Status.RUNNING, "swap_out", Status.SWAPPED),
    (Status.SWAPPED, "swap_in", Status.RUNNING),
    (Status.RUNNING, "preempt", Status.WAITING),
    *((status, "free", Status.ENDED) for status in LIVE),
    *((status, "evict", status) for status in LIVE),
    *((status, "reset_index", status) for status in LIVE),
    *((status, "reset_all", Status.ENDED) for status in LIVE),
)
"""From where (None: it is new), the operation, to where. An allocate that is refused leaves a new sequence waiting."""


def diagram() -> list[str]:
    """The life of a sequence, for Mermaid."""
    labels: dict[tuple[str, str], list[str]] = {}
    for before, operation, after in LIFE:
        refused = before is None and after is Status.WAITING
        told = f"{operation} (refused)" if refused else operation
        labels.setdefault((_state(before), _state(after)), []).append(told)
    arrows = [f"    {before} --> {after}: {', '.join(told)}" for (before, after), told in labels.items()]
    return ["stateDiagram-v2", "    direction LR", *arrows]


def _state(status: Status | None) -> str:
    return NEW if status is None else status.name
