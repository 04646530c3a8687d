"""The field's words as types: devices, statuses, verdicts, configurations, operations.

This file knows what a block manager is asked and what it can answer. It must not know how any block manager
works inside, how an answer is judged, or how a trace is stored.

The operations are the one alphabet of the model, the vectors, the generators, the trace file and the adapters.
They follow an engine's life: schedule (allocate, append, fork, swap, preempt, free), then a forward pass (step).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import Enum
from typing import ClassVar


class Device(str, Enum):
    """Where a physical block lies: GPU memory (running sequences) or CPU memory (swapped ones)."""

    GPU = "gpu"
    CPU = "cpu"


class Status(str, Enum):
    """The state of a sequence, as the engine's scheduler sees it."""

    WAITING = "waiting"  # not admitted yet, refused, or preempted by recompute: no block table
    RUNNING = "running"  # its block table lies on the GPU
    SWAPPED = "swapped"  # its block table lies on the CPU
    ENDED = "ended"  # finished or aborted: freed


class Verdict(str, Enum):
    """What an admission guard answers. Two-valued guards answer OK or NO."""

    OK = "ok"
    LATER = "later"  # not now, but possible once others have left
    NEVER = "never"  # impossible even in an empty pool
    NO = "no"  # refused, by a guard that does not tell LATER from NEVER


class Result(str, Enum):
    """What became of an operation."""

    OK = "ok"
    REFUSED = "refused"  # the guard said no, and the operation was not tried
    OUT_OF_BLOCKS = "out-of-blocks"  # it was tried and ended in the declared out-of-blocks outcome
    RAISED = "raised"  # it raised something that the adapter does not declare
    SKIPPED = "skipped"  # the manager has no such operation


class Guard(str, Enum):
    """The admission decisions; each is asked inside the operation of the same name.

    FORK is for managers whose fork takes blocks (a tail copied at the fork): the specification has no rule for it.
    """

    ALLOCATE = "allocate"
    APPEND = "append"
    SWAP_OUT = "swap_out"
    SWAP_IN = "swap_in"
    FORK = "fork"


class Level(str, Enum):
    """How binding a law is."""

    MUST = "MUST"  # safety and soundness
    SHOULD = "SHOULD"  # quality that users may rely on; counts with --strict
    MAY = "MAY"  # advice, reported only


class Scope(str, Enum):
    """What a law is judged on: one observed transition, or a whole run."""

    TRANSITION = "transition"
    RUN = "run"


class Capability(str, Enum):
    """What a block manager may or may not offer or show. A law names the capabilities that it needs.

    The first group is about operations, the second about what an observer can see.
    """

    APPEND = "append"
    LOOKAHEAD = "lookahead"
    GROUPS = "groups"
    FORK = "fork"
    SWAP = "swap"
    PREEMPT = "preempt"
    RESET = "reset"
    RESET_INDEX = "reset-index"
    WATERMARK = "watermark"
    WINDOW = "window"
    PREFIX_CACHING = "prefix-caching"
    EXTRA_KEYS = "extra-keys"
    LEAVES_ONE = "leaves-one"
    COLLIDING_HASHES = "colliding-hashes"
    COARSE_CLOCK = "coarse-clock"
    EXTERNAL = "external"
    MATCH = "match"
    EVICT = "evict"
    CHUNKS = "chunks"
    DRAFTS = "drafts"
    KV_GROUPS = "kv-groups"

    TRY_ALLOCATE = "try-allocate"
    TRY_APPEND = "try-append"
    GUARD_ALLOCATE = "guard-allocate"
    GUARD_APPEND = "guard-append"
    GUARD_FORK = "guard-fork"
    GUARD_SWAP_OUT = "guard-swap-out"
    GUARD_SWAP_IN = "guard-swap-in"
    THREE_VALUED = "three-valued"
    REFCOUNTS = "refcounts"
    FREE_SET = "free-set"
    ROW_DEVICE = "row-device"
    NULL_BLOCK = "null-block"
    RECLAIMABLE = "reclaimable"
    ANNOUNCES = "announces"
    ATOMIC_FAILURES = "atomic-failures"


@dataclass(frozen=True)
class Config:
    """The configuration a block manager is started with.

    block_size: slots in one block (>= 1). num_gpu_blocks, num_cpu_blocks: blocks of each pool (>= 0).
    watermark_blocks: blocks that an admission must leave free on the GPU (>= 0).
    max_model_len: the longest sequence, in tokens, that the engine lets grow (>= 1). prefix_caching: whole blocks of
    computed KV are shared by all whose tokens begin alike, and kept after their owners are gone. sliding_window: tokens
    (>= 1) that attention reads, the one that asks included: at position p it reads p - sliding_window + 1 to p; None
    where it reads everything. kv_groups: how many groups of layers have KV of their own (>= 1), each with a row of its
    own over one pool; of several the first reads everything, and the others have the window. colliding_hashes: the
    prefix cache names contents by a hash that many of them share, so that it must compare what it takes for equal.
    passes_per_tick: so many forward passes, each with the operations that schedule it, have one time by the clock by
    which the manager orders uses (>= 1); 0 where each operation has a time of its own.

    Raises ValueError where a number is out of its range.
    """

    block_size: int
    num_gpu_blocks: int
    num_cpu_blocks: int = 0
    watermark_blocks: int = 0
    max_model_len: int = 4096
    prefix_caching: bool = False
    sliding_window: int | None = None
    kv_groups: int = 1
    colliding_hashes: bool = False
    passes_per_tick: int = 0

    def __post_init__(self) -> None:
        for name in ("prefix_caching", "colliding_hashes"):
            if not isinstance(getattr(self, name), bool):
                raise ValueError(f"config.{name} must be true or false, not {getattr(self, name)!r}")
        for name, least in LEAST.items():
            value = getattr(self, name)
            if value is None and name == "sliding_window":
                continue
            if not isinstance(value, int) or isinstance(value, bool) or value < least:
                raise ValueError(f"config.{name} must be a whole number of at least {least}, not {value!r}")

    def total(self, device: Device) -> int:
        """Blocks in the pool of this device."""
        return self.num_gpu_blocks if device is Device.GPU else self.num_cpu_blocks


LEAST = {
    "block_size": 1,
    "num_gpu_blocks": 0,
    "num_cpu_blocks": 0,
    "watermark_blocks": 0,
    "max_model_len": 1,
    "sliding_window": 1,
    "kv_groups": 1,
    "passes_per_tick": 0,
}


@dataclass(frozen=True)
class Allocate:
    """Admit a group whose sequences share the prompt.

    tokens: the prompt's token ids (>= 1); absent (None) for a group that comes back after a refusal or a
    preemption, with the ids it had. lookahead: slots (>= 0) wanted beyond the tokens. extra: keys besides the tokens
    that their KV depends on (adapter, salt), of a new group. chunk: compute at most so many tokens (>= 1) after those
    that are cached or brought; the rest stays unseen (chunked prefill); None for all. external: so many tokens (>= 0)
    after those that are cached need not be computed either, one at least left out: their KV is brought into the blocks
    from elsewhere (a connector) before the step. match: only look up what is cached and hold it; the group waits, and a
    later allocate without tokens admits it, or it is freed. force: go on although the guard refuses (only where
    failures are declared atomic).
    """

    op: ClassVar[str] = "allocate"
    group: int
    seqs: tuple[int, ...]
    tokens: tuple[int, ...] | None = None
    lookahead: int = 0
    force: bool = False
    extra: tuple[str, ...] = ()
    chunk: int | None = None
    external: int = 0
    match: bool = False


@dataclass(frozen=True)
class Append:
    """One guard call, then for each running sequence of the group in order: cover its unseen tokens, the drafts and the
    lookahead slots after them.

    chunk: only the next so many unseen tokens (>= 1), None for all. drafts: speculative tokens (>= 0) that are computed
    beside the last one, and may turn out to be right; only where all unseen tokens are covered.
    """

    op: ClassVar[str] = "append"
    group: int
    lookahead: int = 0
    force: bool = False
    chunk: int | None = None
    drafts: int = 0


@dataclass(frozen=True)
class Step:
    """The forward pass; legal with nothing scheduled too.

    Pending copies and transfers take effect, the scheduled tokens and drafts get their KV written, then each sequence
    named receives its new tokens. The first of them, one less than there are and at most as many as there were drafts,
    are drafts that were right: computed already. The others are not. All of them are unseen. Only scheduled sequences
    all of whose tokens were covered may be named.
    """

    op: ClassVar[str] = "step"
    tokens: Mapping[int, tuple[int, ...]]


@dataclass(frozen=True)
class Fork:
    """The child joins the parent's group and shares its row. tokens: the child's own unseen tokens; absent
    (None) for the parent's.
    """

    op: ClassVar[str] = "fork"
    parent: int
    child: int
    tokens: tuple[int, ...] | None = None


@dataclass(frozen=True)
class SwapOut:
    """Move the blocks of the group's running sequences to the CPU."""

    op: ClassVar[str] = "swap_out"
    group: int
    force: bool = False


@dataclass(frozen=True)
class SwapIn:
    """Guard with the lookahead, move the blocks back to the GPU, status RUNNING, then append for every resumed
    sequence with the same lookahead (the order of vLLM's scheduler; vLLM pull request 8824).
    """

    op: ClassVar[str] = "swap_in"
    group: int
    lookahead: int = 0
    force: bool = False


@dataclass(frozen=True)
class Preempt:
    """Preemption by recompute: the group's running sequences give their blocks up and keep their tokens."""

    op: ClassVar[str] = "preempt"
    group: int


@dataclass(frozen=True)
class Free:
    """The sequence has ended (why: one of WHY), in whatever state it is. Freeing it again is legal."""

    op: ClassVar[str] = "free"
    seq: int
    why: str = "finished"


@dataclass(frozen=True)
class Evict:
    """The engine asks for at least `count` (>= 1) cached blocks that nobody owns to be dropped, or all there are."""

    op: ClassVar[str] = "evict"
    count: int


@dataclass(frozen=True)
class ResetIndex:
    """Drop the prefix index: nothing computed so far may be a hit again. A manager may refuse while blocks are in
    use.
    """

    op: ClassVar[str] = "reset_index"


@dataclass(frozen=True)
class ResetAll:
    """Forget every sequence; all blocks are free."""

    op: ClassVar[str] = "reset_all"


WHY = ("finished", "aborted", "preempted")
"""Why a sequence is freed."""

Operation = Allocate | Append | Step | Fork | SwapOut | SwapIn | Preempt | Free | Evict | ResetIndex | ResetAll

OPERATIONS: dict[str, type[Operation]] = {
    kind.op: kind
    for kind in (Allocate, Append, Step, Fork, SwapOut, SwapIn, Preempt, Free, Evict, ResetIndex, ResetAll)
}

NEEDS: dict[str, tuple[Capability, ...]] = {
    "allocate": (),
    "append": (Capability.APPEND,),
    "step": (),
    "fork": (Capability.FORK,),
    "swap_out": (Capability.SWAP,),
    "swap_in": (Capability.SWAP,),
    "preempt": (Capability.PREEMPT,),
    "free": (),
    "evict": (Capability.EVICT,),
    "reset_index": (Capability.RESET_INDEX,),
    "reset_all": (Capability.RESET,),
}
"""The capabilities without which a manager is never asked for an operation."""

GUARDED: dict[str, Guard] = {guard.value: guard for guard in Guard if guard is not Guard.FORK}
"""The four operations whose admission the specification has a rule for, with their guards."""


def arguments(operation: Operation) -> dict[str, object]:
    """The operation's arguments that differ from their defaults, by name, in declaration order."""
    return {
        field.name: getattr(operation, field.name)
        for field in fields(operation)
        if getattr(operation, field.name) != field.default
    }
