"""Reports made by hand, with all that a page must be able to show.

Knows the report's shape. Must not know how the page shows it.
"""

from __future__ import annotations

import random
from typing import Any
from zlib import crc32

from kvconform.picture import BlockPicture, Picture, PoolPicture, SequencePicture
from kvconform.report.model import (
    CoverageLine,
    EdgesLine,
    GuardLine,
    LawLine,
    Report,
    RestrictionLine,
    TargetLine,
    ViolationLine,
)

HOSTILE = (
    "</script><script>window.harm = 1</script><img src=x onerror='window.harm = 2'><!--\u2028\u2029&amp;\"'{{data}}"
)
"""What a name or an error may say: none of it may become part of the page."""


def config(**given: Any) -> dict[str, Any]:
    """A configuration as the report has it."""
    plain = {"block_size": 4, "num_gpu_blocks": 8, "num_cpu_blocks": 4, "watermark_blocks": 0, "kv_groups": 1}
    return {**plain, **given}


def pool(total: int, free: int | None, *blocks: BlockPicture) -> PoolPicture:
    """A pool; blocks that are not given are free."""
    given = {block.block: block for block in blocks}
    return PoolPicture(total, free, [given.get(number, BlockPicture(number, "free")) for number in range(total)])


def sequence(number: int, *rows: list[int | None], device: str = "gpu", tokens: int = 5) -> SequencePicture:
    """A running sequence."""
    return SequencePicture(number, 1, "running", tokens, tokens, tokens - 1, device, list(rows))


EVERY_STATE = (
    BlockPicture(0, "held", [1], 4, 4, refcount=1),
    BlockPicture(1, "held", [1, 2, 3], 4, 2, refcount=3),
    BlockPicture(2, "cached", refcount=0),
    BlockPicture(3, "null"),
    BlockPicture(4, "missing", refcount=1),
    BlockPicture(5, "held", [2], 0, 0, refcount=1),
    BlockPicture(6, "held", [3], 1, 0, listed=True, refcount=0),
)


def frames() -> list[Picture]:
    """Three pictures: nothing, all states of a block, and a copy and a move."""
    cpu = pool(4, 3, BlockPicture(2, "held", [4], 3, 3))
    rows = [sequence(1, [0, 1], [None, 3]), sequence(2, [1, 5]), sequence(3, [1, 6]), sequence(4, [2], device="cpu")]
    return [
        Picture(0, {"gpu": pool(8, 8), "cpu": pool(4, 4)}, []),
        Picture(1, {"gpu": pool(8, 3, *EVERY_STATE), "cpu": cpu}, rows, "ok", "ok"),
        Picture(
            2,
            {"gpu": pool(8, None, *EVERY_STATE[:-1]), "cpu": cpu},
            rows[:-1],
            "later",
            "raised",
            f"KeyError: {HOSTILE}",
            [[0, 1]],
            [["gpu", 6, "cpu", 2]],
        ),
    ]


def finding(law: str = "accounting.refcount", number: int = 0, **given: Any) -> ViolationLine:
    """A finding of two steps."""
    plain: dict[str, Any] = {
        "law": law,
        "level": "MUST",
        "message": f"block 4 of the pool is lost {HOSTILE}",
        "expected": f"refcount 0 {HOSTILE}",
        "observed": f"refcount 1 {HOSTILE}",
        "config": config(),
        "step": 2,
        "trace": [{"op": "allocate", "group": 1, "seqs": [1], "tokens": [number]}, {"op": "free", "seq": 1}],
        "found_by": "walk",
        "fingerprint": f"{number:04x}{crc32(law.encode()) % 65536:04x}",
        "reproduce": "kvconform replay 'a b.jsonl' --on test:target",
        "features": ["fork", "swap"],
        "fault_class": ["C06", "C99"],
        "statement": f"A refcount is the number of owners. {HOSTILE}",
        "setting": "4 slots a block, 8 GPU blocks, 4 CPU blocks, watermark 0",
        "story": [f"admit group 1 {HOSTILE}", "free sequence 1 (finished)"],
        "frames": frames(),
        "marked": [("gpu", 4), ("gpu", 6)],
    }
    return ViolationLine(**{**plain, **given})


def report(*violations: ViolationLine, **given: Any) -> Report:
    """A report with these findings."""
    broken = {violation.law for violation in violations}
    laws = [
        LawLine(name, "MUST", "violated" if name in broken else "holds", 100, "", f"What {name} says.")
        for name in sorted({"table.covers", "data.read-back", *broken})
    ]
    laws += [
        LawLine("window.null", "MUST", "not-applicable", 0, "needs null-block", "The null block stands for none."),
        LawLine("admission.sound-fork", "SHOULD", "not-exercised", 0, "no case met its premise", "OK is kept."),
    ]
    plain: dict[str, Any] = {
        "kvconform": "0.1.0",
        "catalogue": "1",
        "target": TargetLine(
            f"mine {HOSTILE}",
            "1.0",
            {"guard-allocate": True, "guard-swap-in": True, "three-valued": True, "swap": True, "fork": False},
            [RestrictionLine("domain", HOSTILE)],
        ),
        "verdict": "violates" if broken else "conforms",
        "profile": "quick",
        "seed": 0,
        "duration_s": 1.5,
        "operations": 1234,
        "laws": laws,
        "violations": list(violations),
        "coverage": CoverageLine([GuardLine("allocate", "ok", 7), GuardLine("append", "no", 3)], EdgesLine(10, 4, 2)),
        "environment": {"python": "3.12"},
        "notes": [HOSTILE],
    }
    return Report(**{**plain, **given})


def crowd(blocks: int, steps: int, sequences: int = 12, seed: int = 0) -> ViolationLine:
    """A long trace in large pools: each step gives a block to somebody. Another seed is another trace."""
    dice = random.Random(seed)
    rows: dict[int, list[int | None]] = {number: [] for number in range(1, sequences + 1)}
    free = list(range(blocks))
    drawn = []
    for step in range(steps + 1):
        if step and free:
            rows[dice.randint(1, sequences)].append(free.pop(dice.randrange(len(free))))
        held = {block: number for number, row in rows.items() for block in row if block is not None}
        gpu = pool(blocks, len(free), *(BlockPicture(block, "held", [number], 4, 4) for block, number in held.items()))
        drawn.append(
            Picture(step, {"gpu": gpu, "cpu": pool(blocks, blocks)}, [sequence(n, row) for n, row in rows.items()])
        )
    return finding(
        "accounting.conservation",
        seed + 1000,
        step=steps,
        trace=[{"op": "step", "tokens": {"1": [seed]}}] * steps,
        story=[f"step: nothing new, number {number}" for number in range(1, steps + 1)],
        frames=drawn,
        marked=[("gpu", 3)],
        config=config(num_gpu_blocks=blocks, num_cpu_blocks=blocks),
    )
