"""How small is small: the configurations that are enumerated, and which arguments operations get there.

Knows numbers only; must not know the model, nor what is checked in any state.
"""

from __future__ import annotations

from dataclasses import dataclass

from kvspec.vocabulary import Config


@dataclass(frozen=True)
class Scope:
    """One configuration with bounds on what is asked of it.

    seqs: ids there are for sequences (1 .. seqs); one that has ended is used again only after a reset. prompts: lengths
    of prompts. lookaheads: slots asked for beyond the tokens. grants: how many tokens a step may give a sequence. The
    longest sequence is the configuration's `max_model_len`.
    """

    config: Config
    seqs: int = 2
    prompts: tuple[int, ...] = (1, 2, 3)
    lookaheads: tuple[int, ...] = (0, 1, 2)
    grants: tuple[int, ...] = (0, 1, 2)

    def __str__(self) -> str:
        c = self.config
        blocks = f"{c.num_gpu_blocks}+{c.num_cpu_blocks} blocks of {c.block_size}, watermark {c.watermark_blocks}"
        seqs = f"{self.seqs} sequences of at most {c.max_model_len} tokens"
        return f"{blocks}, {seqs}, lookahead up to {max(self.lookaheads)}"


DEPTH = 20
"""Operations in a row, unless told otherwise: more than lead to any new state in the scopes below."""

SCOPES = (
    Scope(Config(2, 2, 1, 0, max_model_len=3)),
    Scope(Config(2, 3, 1, 1, max_model_len=2), lookaheads=(0, 2)),
    Scope(Config(1, 3, 2, 1, max_model_len=2), lookaheads=(0, 1)),
)
"""What is enumerated unless told otherwise; small enough to be enumerated whole in a few seconds."""

DEEP = (
    *SCOPES,
    Scope(Config(1, 2, 2, 0, max_model_len=3)),
    Scope(Config(1, 3, 2, 1, max_model_len=3)),
    Scope(Config(2, 2, 1, 0, max_model_len=4)),
    Scope(Config(2, 3, 3, 1, max_model_len=4)),
    Scope(Config(1, 2, 1, 0, max_model_len=2), seqs=3, lookaheads=(0, 1)),
    Scope(Config(1, 3, 2, 1, max_model_len=2), seqs=3, lookaheads=(0, 1)),
    Scope(Config(2, 2, 1, 0, max_model_len=2), seqs=3),
)
"""The same and more, whole as well; that takes a minute or two."""
