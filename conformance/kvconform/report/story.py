"""Operations in words: a trace as a short story that needs no knowledge of the kit."""

from __future__ import annotations

from kvspec.vocabulary import (
    Allocate,
    Append,
    Config,
    Fork,
    Free,
    Operation,
    Preempt,
    ResetIndex,
    Step,
    SwapIn,
    SwapOut,
)


def many(count: int, word: str) -> str:
    """A count with its word: 1 block, 2 blocks."""
    return f"{count} {word}{'' if count == 1 else 's'}"


def setting(config: Config) -> str:
    """The configuration in one line."""
    return (
        f"{many(config.block_size, 'slot')} a block, {many(config.num_gpu_blocks, 'GPU block')}, "
        f"{many(config.num_cpu_blocks, 'CPU block')}, watermark {config.watermark_blocks}"
        f"{', prefix caching' if config.prefix_caching else ''}"
    )


def tell(op: Operation) -> str:
    """One operation in words."""
    lookahead: int = getattr(op, "lookahead", 0)
    looking = f" with {many(lookahead, 'lookahead slot')}" if lookahead else ""
    forced = ", going on although the guard refuses" if getattr(op, "force", False) else ""
    if isinstance(op, Allocate):
        who = "sequence " + str(op.seqs[0]) if len(op.seqs) == 1 else "sequences " + ", ".join(map(str, op.seqs))
        what = f"a prompt of {many(len(op.tokens), 'token')}" if op.tokens is not None else "its tokens again"
        keyed = f" under the keys {', '.join(op.extra)}" if op.extra else ""
        return f"admit group {op.group} ({who}) with {what}{keyed}{looking}{forced}"
    if isinstance(op, Append):
        return f"append group {op.group}'s unseen tokens{looking}{forced}"
    if isinstance(op, SwapOut):
        return f"swap group {op.group} out{forced}"
    if isinstance(op, SwapIn):
        return f"swap group {op.group} in and append its unseen tokens{looking}{forced}"
    if isinstance(op, Preempt):
        return f"preempt group {op.group} by recompute"
    if isinstance(op, Fork):
        own = "the parent's unseen tokens" if op.tokens is None else f"{many(len(op.tokens), 'token')} of its own"
        return f"fork sequence {op.parent} to {op.child}, with {own}"
    if isinstance(op, Free):
        return f"free sequence {op.seq} ({op.why})"
    if isinstance(op, Step):
        return _step(op)
    return "drop the prefix index" if isinstance(op, ResetIndex) else "reset everything"


def _step(op: Step) -> str:
    if not op.tokens:
        return "step: nothing new"
    return "step: " + ", ".join(f"sequence {seq} gets {many(len(ts), 'token')}" for seq, ts in op.tokens.items())
