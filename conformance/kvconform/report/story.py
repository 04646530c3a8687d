"""Operations in words: a trace as a short story that needs no knowledge of the kit."""

from __future__ import annotations

from kvconform import probes
from kvconform.workload import Workload
from kvspec.vocabulary import (
    Allocate,
    Append,
    Config,
    Evict,
    Fork,
    Free,
    Operation,
    Preempt,
    ResetIndex,
    Step,
    SwapIn,
    SwapOut,
)


def many(count: int, word: str, words: str = "") -> str:
    """A count with its word: 1 block, 2 blocks. words: the plural, where it is another."""
    return f"{count} {word if count == 1 else words or word + 's'}"


def setting(config: Config) -> str:
    """The configuration in one line."""
    return (
        f"{many(config.block_size, 'slot')} a block, {many(config.num_gpu_blocks, 'GPU block')}, "
        f"{many(config.num_cpu_blocks, 'CPU block')}, watermark {config.watermark_blocks}"
        f"{', prefix caching' if config.prefix_caching else ''}"
        f"{', colliding hashes' if config.colliding_hashes else ''}{_windowed(config)}"
        f"{f', {config.kv_groups} groups of layers' if config.kv_groups > 1 else ''}{_timed(config)}"
    )


def _windowed(config: Config) -> str:
    return "" if config.sliding_window is None else f", a window of {many(config.sliding_window, 'token')}"


def _timed(config: Config) -> str:
    passes = config.passes_per_tick
    return f", a clock that stands still for {many(passes, 'pass', 'passes')}" if passes else ""


def beyond(probe: str, work: Workload | None = None) -> str:
    """What beyond the operations shows a violation, in words; empty where they do."""
    if probe == "finish":
        return "the run ends: a step, every sequence is freed, every block is asked for once"
    if probe == "repeat":
        return "the same operations once more, after a new start"
    if work is not None:
        requests = ", ".join(f"{request.prompt} + {request.output}" for request in work.requests)
        looking = f", each append with {many(work.lookahead, 'lookahead slot')}" if work.lookahead else ""
        return (
            f"nothing can move any more, for a first come, first served scheduler with "
            f"{many(len(work.requests), 'request')} of so many prompt + output tokens: {requests}{looking}"
        )
    return f"as bad input, on purpose: {probes.named(probe).words}" if probe else ""


def tell(op: Operation) -> str:
    """One operation in words."""
    lookahead: int = getattr(op, "lookahead", 0)
    looking = f" with {many(lookahead, 'lookahead slot')}" if lookahead else ""
    chunk: int | None = getattr(op, "chunk", None)
    chunked = f", {many(chunk, 'token')} of it now" if chunk is not None else ""
    forced = ", going on although the guard refuses" if getattr(op, "force", False) else ""
    if isinstance(op, Allocate):
        who = "sequence " + str(op.seqs[0]) if len(op.seqs) == 1 else "sequences " + ", ".join(map(str, op.seqs))
        what = f"a prompt of {many(len(op.tokens), 'token')}" if op.tokens is not None else "its tokens again"
        keyed = f" under the keys {', '.join(op.extra)}" if op.extra else ""
        if op.match:
            return f"look up what is cached of group {op.group} ({who}), {what}{keyed}, and hold it"
        brought = f", {many(op.external, 'token')} of it brought from elsewhere" if op.external else ""
        return f"admit group {op.group} ({who}) with {what}{keyed}{brought}{chunked}{looking}{forced}"
    if isinstance(op, Append):
        what = "unseen tokens" if chunk is None else f"next {many(chunk, 'unseen token')}"
        drafted = f" and {many(op.drafts, 'draft')}" if op.drafts else ""
        return f"append group {op.group}'s {what}{drafted}{looking}{forced}"
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
    if isinstance(op, Evict):
        return f"evict at least {many(op.count, 'cached block')}"
    return "drop the prefix index" if isinstance(op, ResetIndex) else "reset everything"


def _step(op: Step) -> str:
    if not op.tokens:
        return "step: nothing new"
    return "step: " + ", ".join(f"sequence {seq} gets {many(len(ts), 'token')}" for seq, ts in op.tokens.items())
