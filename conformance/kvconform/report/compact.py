"""The report as its page wants it: findings on one trace together, pictures as what changes between them.

Knows the report's shape only. A picture repeats the one before it but for a few blocks, and a pool may have hundreds:
what did not change is not written again, and where a report would grow beyond what a browser opens with ease, the
later drawings are left out and the page says so. It must not change what is told in words.
"""

from __future__ import annotations

from typing import Any

import msgspec

from kvconform.faults.classes import CLASSES
from kvconform.picture import Picture, PoolPicture
from kvconform.report.grouping import cases
from kvconform.report.model import Report, ViolationLine

MOST_DRAWN = 3_000_000
"""Bytes of drawings in one page."""

SHARED = ("config", "trace", "story", "setting", "frames", "probe", "then")
"""What findings on one trace have in common: told once."""


def compact(report: Report, most: int = MOST_DRAWN) -> dict[str, Any]:
    """The report as plain data: all but `violations`, and `stories` in their place, one for each trace, in the order of
    the document. most: bytes of drawings; a story beyond it has none and says `undrawn`.
    """
    told: dict[str, Any] = msgspec.to_builtins(report)
    del told["violations"]
    told["stories"] = stories = [_story(case.findings) for case in cases(report.violations)]
    for story in stories:
        most -= len(msgspec.json.encode(story["frames"]))
        if most < 0:
            story.update(frames=[], undrawn=True)
    named = {name for violation in report.violations for name in violation.fault_class}
    told["classes"] = {name: CLASSES[name] for name in sorted(named & CLASSES.keys())}
    return told


def _story(violations: list[ViolationLine]) -> dict[str, Any]:
    first = violations[0]
    findings: list[dict[str, Any]] = [msgspec.to_builtins(violation) for violation in violations]
    for finding in findings:
        for name in SHARED:
            del finding[name]
    words = first.story or [str(op.get("op", "?")) for op in first.trace]
    return {
        "setting": first.setting,
        "config": first.config,
        "steps": [{"words": told, "op": op} for told, op in zip(words, first.trace, strict=False)],
        "beyond": first.then or first.probe,
        "frames": changes(first.frames),
        "undrawn": False,
        "findings": findings,
    }


def changes(frames: list[Picture]) -> list[dict[str, Any]]:
    """The pictures, each as what differs from the one before: in a pool `set` is the blocks that are new or changed and
    `gone` the numbers of those that are not drawn any more; `order` is all live sequences, `sequences` those that are
    new or changed.
    """
    pools: dict[str, dict[int, Any]] = {}
    rows: dict[int, Any] = {}
    found = []
    for frame in frames:
        told: dict[str, Any] = msgspec.to_builtins(frame)
        told["pools"] = {name: _pool(pool, pools.setdefault(name, {})) for name, pool in frame.pools.items()}
        told["order"] = [sequence.id for sequence in frame.sequences]
        told["sequences"] = [sequence for sequence in told["sequences"] if rows.get(sequence["id"]) != sequence]
        rows.update((sequence["id"], sequence) for sequence in told["sequences"])
        found.append(told)
    return found


def _pool(pool: PoolPicture, known: dict[int, Any]) -> dict[str, Any]:
    """What differs from the blocks that are known so far, which are brought up to date."""
    blocks = {block.block: msgspec.to_builtins(block) for block in pool.blocks}
    changed = [block for number, block in blocks.items() if known.get(number) != block]
    gone = [number for number in known if number not in blocks]
    known.clear()
    known.update(blocks)
    return {"total": pool.total, "free": pool.free, "set": changed, "gone": gone}
