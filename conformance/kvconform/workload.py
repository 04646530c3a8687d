"""What the kit's scheduler is asked to do: requests by their lengths. Knows no manager and no scheduler."""

from __future__ import annotations

from dataclasses import dataclass

from kvspec.algebra import INTS
from kvspec.arithmetic import blocks_for
from kvspec.vocabulary import Config

SPARE = 1


@dataclass(frozen=True)
class Request:
    """One request: prompt tokens (>= 1) and tokens to generate (>= 1)."""

    prompt: int
    output: int


@dataclass(frozen=True)
class Workload:
    """Requests in the order they come, all at once; lookahead: slots asked for at each append; null: 1 where a null
    block may take a block of the pool.
    """

    config: Config
    requests: tuple[Request, ...]
    lookahead: int = 0
    null: int = 0


def fits_alone(config: Config, request: Request, lookahead: int, null: int = 0) -> bool:
    """Whether the request, grown to its end, fits a pool of its own beside the watermark, with `SPARE` blocks left, and
    as many as a null block takes.

    Guards may be conservative by design (the precision laws are SHOULD and MAY): by so much it must not matter.
    """
    slots = request.prompt + request.output + lookahead
    rows = blocks_for(INTS, slots, config.block_size) * config.kv_groups
    return bool(rows + config.watermark_blocks + SPARE + null <= config.num_gpu_blocks)
