"""What a third party implements to have a block manager checked.

This file knows what the kit asks of a manager and what a manager may declare about itself. It must not know how
answers are judged, nor any particular manager.

An adapter gets *views*: `Group` and `Seq` objects that the kit owns, so that it always finds the tokens, the status and
the extents as the engine's scheduler would know them. Only `start`, `allocate`, `append`, `free`, `block_table` and
`num_free_blocks` are required. What is not overridden is not a capability, and is neither asked for nor held against
the manager.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from enum import Enum
from typing import ClassVar, Literal

from kvspec.vocabulary import Capability, Config, Device, Status, Verdict

Copies = Iterable[tuple[int, int]]
"""Copy-on-write pairs (source block, destination block), both on the GPU."""

Cached = int | Mapping[int, int]
"""Tokens that an admission found in the prefix cache: for all its sequences, or by sequence id."""

Moves = Iterable[tuple[int, int]] | Mapping[int, int]
"""Blocks moved by a swap: (source block on the one device, destination block on the other)."""


@dataclass
class Group:
    """A group of sequences that came from one request. The kit owns it; an adapter only reads it.

    id: the group's number. seqs: its sequences in the order they joined; ended ones stay in the list only where the
    adapter declares `Order.FINISHED_STAY`. lookahead: slots (>= 0) that the operation at hand asks for beyond the
    tokens. chunk: tokens that it computes at most (None: all). drafts: speculative tokens (>= 0) that it computes
    beside them. external: tokens (>= 0) that an admission is brought from elsewhere at most (see `Seq.brought`).
    admitted_before: it held blocks before, and comes back after a preemption. extra: keys besides the tokens that their
    KV depends on (adapter, salt).
    """

    id: int
    seqs: list[Seq] = field(default_factory=list)
    lookahead: int = 0
    admitted_before: bool = False
    extra: tuple[str, ...] = ()
    chunk: int | None = None
    drafts: int = 0
    external: int = 0

    def having(self, status: Status) -> list[Seq]:
        """The group's sequences of this status, in the order they joined."""
        return [seq for seq in self.seqs if seq.status is status]

    @property
    def running(self) -> list[Seq]:
        """The group's running sequences."""
        return self.having(Status.RUNNING)

    @property
    def swapped(self) -> list[Seq]:
        """The group's swapped-out sequences."""
        return self.having(Status.SWAPPED)

    @property
    def waiting(self) -> list[Seq]:
        """The group's sequences that hold no blocks: refused, or preempted."""
        return self.having(Status.WAITING)


@dataclass(eq=False)
class Seq:
    """One sequence. The kit owns it; an adapter only reads it.

    id: its number. group: the group it belongs to. tokens: all its token ids, unseen ones included. upto: tokens that
    its block table covers (tokens beyond are *unseen*). computed: tokens whose KV is written; more than upto only by
    drafts that were right.
    status: as the scheduler has it while the operation is under way: it changes afterwards (a sequence is still
    SWAPPED inside `swap_in`, and RUNNING inside the `append` that follows).
    """

    id: int
    group: Group
    tokens: list[int]
    upto: int = 0
    computed: int = 0
    status: Status = Status.WAITING
    scheduled: bool = False  # the next step computes it
    scheduled_lookahead: int = 0  # lookahead slots that it was scheduled with
    scheduled_drafts: int = 0  # drafts that it was scheduled with
    holds: bool = False  # it waits, with what a match has found held for it
    noted: int = 0  # the kit's: tokens whose whole blocks it has looked at since they were computed
    prefixes: list[int] = field(default_factory=list, repr=False)  # the kit's: interned prefix per position

    @property
    def lookahead(self) -> int:
        """Lookahead slots that the operation at hand asks for."""
        return self.group.lookahead

    @property
    def drafts(self) -> int:
        """Speculative tokens that the operation at hand computes beside its own."""
        return self.group.drafts

    @property
    def unseen(self) -> int:
        """Tokens that the block table does not cover yet."""
        return len(self.tokens) - self.upto

    def brought(self, cached: int) -> int:
        """How many tokens after the cached ones the admission is brought from elsewhere; one at least is left."""
        return max(0, min(self.group.external, len(self.tokens) - 1 - cached))

    def reach(self, start: int) -> int:
        """The tokens that the operation at hand is to cover in all, if it goes on after the first `start`: all there
        are, or as many as its chunk has.
        """
        chunk = self.group.chunk
        return len(self.tokens) if chunk is None else min(len(self.tokens), start + chunk)


class Order(str, Enum):
    """What an engine never (or always) does to its manager. A restriction narrows what the kit generates; it never
    silences a law.
    """

    NO_RELEASE_WHILE_SCHEDULED = "no-release-while-scheduled"  # no swap-out, preemption or free before its step
    SWAP_IN_AFTER_STEP = "no-swap-in-between-a-swap-out-and-the-next-step"
    SWAP_IN_BEFORE_ADMISSION = "with-prefix-caching-no-swap-in-between-an-admission-and-the-next-step"
    PREEMPT_SINGLE = "only-groups-of-one-running-sequence-are-preempted-by-recompute"
    SWAP_SEVERAL = "only-groups-of-several-running-sequences-are-swapped"
    ONE_TOKEN = "one-unseen-token-per-step"
    WITHIN_LOOKAHEAD = "at-most-one-token-more-than-the-lookahead-per-step"
    TOKENS_EVERY_STEP = "every-scheduled-sequence-receives-tokens"
    LOOKAHEAD_FIXED = "lookahead-fixed-for-the-run"
    FORK_AFTER_TOKENS = "fork-only-of-a-sequence-with-unseen-tokens"
    NO_FORK_WITH_WINDOW = "no-fork-with-a-sliding-window"
    FINISHED_STAY = "finished-sequences-stay-in-their-group"


@dataclass(frozen=True)
class Restriction:
    """One thing that the manager's engine never does, with a one-line reason that the report prints."""

    what: Order
    reason: str


@dataclass(frozen=True)
class Domain:
    """The configurations that the kit may start the manager with.

    block_sizes: allowed block sizes in slots (at most 8 are worth it; prefer small ones: where a block size is only an
    engine limit, shrink it at the manager and say so). least_gpu_blocks, least_cpu_blocks: smallest pools in blocks
    (0 where the manager allows an empty one). whole_windows: a sliding window is a multiple of the block size.
    windows_with_caching: a window and prefix caching go together. reason: why it is narrower than the default, for the
    report.
    """

    block_sizes: Sequence[int] = (1, 2, 3, 4, 5, 8)
    least_gpu_blocks: int = 0
    least_cpu_blocks: int = 0
    whole_windows: bool = False
    windows_with_caching: bool = True
    reason: str = ""

    def excludes(self, config: Config) -> str:
        """Why the configuration is outside the domain; empty where it is inside."""
        if config.block_size not in self.block_sizes:
            return f"block size {config.block_size} is outside the target's domain"
        if config.num_gpu_blocks < self.least_gpu_blocks or config.num_cpu_blocks < self.least_cpu_blocks:
            return "the pools are smaller than the target's domain allows"
        if self.whole_windows and (config.sliding_window or 0) % config.block_size:
            return "the target's windows are multiples of the block size"
        if not self.windows_with_caching and config.prefix_caching and config.sliding_window is not None:
            return "the target has no prefix caching under a sliding window"
        return ""


ANY_DOMAIN = Domain(block_sizes=range(1, 1 << 20))
"""Excludes nothing."""


@dataclass(frozen=True)
class Capabilities:
    """What cannot be seen from the methods that an adapter overrides.

    admission: whether guards are asked first, or allocate and append themselves refuse ("try": they answer False, or
    raise what is declared as out of blocks, and have changed nothing). prefix_caching: where `config.prefix_caching` is
    set, whole blocks of computed KV are shared by all whose tokens begin alike, and allocate answers how many tokens it
    took over. extra_keys: `group.extra` is heeded then. full_hits: who sees to it that a prompt which is cached whole
    leaves a token to compute. window: `config.sliding_window` is honoured: blocks that attention reads no more may be
    given up, and are None in the row then. colliding_hashes: `config.colliding_hashes` is honoured:
    the adapter gives the manager a hash by which contents collide. coarse_clock: the manager orders uses by a clock,
    and the adapter sees to it that it reads `now` as that clock. external: allocate heeds `seq.brought(cached)`; a
    chunk begins after it. chunks: allocate and append heed `group.chunk` (see `Seq.reach`). drafts:
    append computes `seq.drafts` speculative tokens too. lookahead: append (and the guards) heed `lookahead`.
    allocate_lookahead: what allocate does with it: "none" (it is never asked), "reserved" (the guard counts it, the
    table does not hold it), "provided" (the table holds it).
    groups: allocate admits groups of several sequences that share a prompt. watermark: `config.watermark_blocks` is
    honoured; watermark_waived: "idle" where not while nothing else runs. outcomes: whether guards answer "two" verdicts
    (a bool, or OK and NO) or "three" (OK, LATER, NEVER; guards that answer a bool may still be among them). failures:
    "atomic" where an operation that fails, even past a refusing guard, leaves everything as it was; then the kit tries
    that too. swap_unit: whether a swap moves each distinct "block" once, or each table "entry" (sharing is lost).
    step_order: when copies and transfers take effect: at the
    step, "as-issued", or with "transfers-first".
    """

    admission: Literal["predicate", "try"] = "predicate"
    prefix_caching: bool = False
    extra_keys: bool = False
    full_hits: Literal["manager", "caller"] = "manager"
    window: bool = False
    colliding_hashes: bool = False
    coarse_clock: bool = False
    external: bool = False
    chunks: bool = False
    drafts: bool = False
    lookahead: bool = False
    allocate_lookahead: Literal["none", "reserved", "provided"] = "none"
    groups: bool = False
    watermark: bool = False
    watermark_waived: Literal["never", "idle"] = "never"
    outcomes: Literal["two", "three"] = "two"
    failures: Literal["unspecified", "atomic"] = "unspecified"
    swap_unit: Literal["block", "entry"] = "block"
    step_order: Literal["as-issued", "transfers-first"] = "as-issued"


class ErrorKind(str, Enum):
    """What an exception from a manager means."""

    OUT_OF_BLOCKS = "out-of-blocks"
    DOUBLE_FREE = "double-free"
    BAD_INPUT = "bad-input"
    UNDECLARED = "undeclared"


def unsupported(config: Config, capabilities: frozenset[Capability]) -> str:
    """What the configuration asks for and the manager does not have; empty where there is nothing."""
    asked = {
        Capability.PREFIX_CACHING: config.prefix_caching,
        Capability.WINDOW: config.sliding_window is not None,
        Capability.KV_GROUPS: config.kv_groups > 1,
        Capability.COLLIDING_HASHES: config.colliding_hashes,
        Capability.COARSE_CLOCK: config.passes_per_tick > 0,
    }
    return ", ".join(need.value for need, wanted in asked.items() if wanted and need not in capabilities)


class AdapterMistake(Exception):
    """The adapter answered something that the kit cannot use: the adapter's fault, not the manager's."""


class Adapter:
    """Base class of all adapters: override what the manager can do.

    name, version: shown in reports. capabilities, domain, restrictions: what the manager and its engine declare.
    out_of_blocks, double_free, bad_input: the exception classes by which the manager says so (override `classify` where
    classes do not tell).

    forkable: the manager is plain Python without threads, devices or open connections, so that the kit may try it in
    several processes, forked from one another, at once.

    now: where a `coarse_clock` is declared, what the clock shows during the operation under way: whole numbers that
    never fall, as coarse as `config.passes_per_tick` says. Set by the kit.

    Operations that can run out of blocks may also answer False instead of raising.
    """

    name: ClassVar[str] = ""
    version: ClassVar[str] = ""
    forkable: ClassVar[bool] = False
    capabilities: ClassVar[Capabilities] = Capabilities()
    domain: ClassVar[Domain] = Domain()
    restrictions: ClassVar[Sequence[Restriction]] = ()
    out_of_blocks: ClassVar[tuple[type[BaseException], ...]] = ()
    double_free: ClassVar[tuple[type[BaseException], ...]] = ()
    bad_input: ClassVar[tuple[type[BaseException], ...]] = ()
    now: int = 0

    # -- required --------------------------------------------------------------------------------------------

    def start(self, config: Config) -> None:
        """Forget everything and begin with a fresh manager of this configuration. Called many times: be quick."""
        raise NotImplementedError

    def allocate(self, group: Group) -> bool | Cached | None:
        """Give each waiting sequence of the group a block table for all its tokens (with chunks: for
        `seq.reach(cached)` of them).

        With prefix caching it answers how many tokens, from the first on, are cached already and need not be computed:
        one number for all sequences, or one for each by its id. False says out of blocks.
        """
        raise NotImplementedError

    def match(self, group: Group) -> Cached:
        """Look up what is cached of the waiting sequence's tokens, and hold it until the sequence is admitted or freed;
        answers how many tokens that are. Its `block_table` is what is held. For managers whose engine admits in two
        phases, with other operations in between.
        """
        raise NotImplementedError

    def append(self, seq: Seq) -> Copies | bool | None:
        """Cover the sequence's unseen tokens and `seq.lookahead` slots after them; with chunks its first
        `seq.reach(seq.upto)` tokens, with drafts `seq.drafts` slots before those of the lookahead.

        Returns the copy-on-write pairs in the order they must be executed; None lets the kit find them by comparing
        rows; False says out of blocks.
        """
        raise NotImplementedError

    def free(self, seq: Seq) -> None:
        """The sequence has ended, in whatever state it is; it may have ended before."""
        raise NotImplementedError

    def block_table(self, seq: Seq) -> Sequence[int | None]:
        """The row that attention would read: physical block numbers on the device where the sequence lies; None for an
        entry that stands for no block (dead positions of a sliding window: the null block).
        """
        raise NotImplementedError

    def num_free_blocks(self, device: Device) -> int:
        """Blocks of the device that can be handed out now."""
        raise NotImplementedError

    # -- admission guards: a bool, or a Verdict --------------------------------------------------------------

    def can_allocate(self, group: Group) -> bool | Verdict:
        """May the group's waiting sequences be admitted?"""
        raise NotImplementedError

    def can_append(self, group: Group) -> bool | Verdict:
        """May every running sequence of the group be appended to (unseen tokens and `group.lookahead` slots)?"""
        raise NotImplementedError

    def can_fork(self, parent: Seq) -> bool | Verdict:
        """May the sequence be forked? Only for managers whose fork takes blocks."""
        raise NotImplementedError

    def can_swap_out(self, group: Group) -> bool | Verdict:
        """May the group's running sequences be moved to the CPU?"""
        raise NotImplementedError

    def can_swap_in(self, group: Group) -> bool | Verdict:
        """May the group's swapped sequences be moved back, and each then be appended to with `group.lookahead`?"""
        raise NotImplementedError

    # -- operations ------------------------------------------------------------------------------------------

    def fork(self, parent: Seq, child: Seq) -> Copies | bool | None:
        """The child, already in the parent's group, shares the parent's row (copy-on-write).

        A manager that copies the tail at the fork answers the copies, or None: they are found by comparing rows.
        """
        raise NotImplementedError

    def swap_out(self, group: Group) -> Moves | bool | None:
        """Move the blocks of the group's running sequences to the CPU; None lets the kit find the moves by rows."""
        raise NotImplementedError

    def swap_in(self, group: Group) -> Moves | bool | None:
        """Move the blocks of the group's swapped sequences to the GPU; the kit then appends to each."""
        raise NotImplementedError

    def preempt(self, group: Group) -> None:
        """Preemption by recompute: the running sequences give their blocks back and will be allocated again."""
        raise NotImplementedError

    def evict(self, count: int) -> None:
        """Drop at least so many cached blocks that nobody owns, or all there are."""
        raise NotImplementedError

    def reset_index(self) -> bool | None:
        """Drop the prefix index: nothing that was computed before may be a hit again. False says: not now."""
        raise NotImplementedError

    def reset_all(self) -> None:
        """Forget every sequence and, with prefix caching, the index, without a new start."""
        raise NotImplementedError

    # -- hooks -----------------------------------------------------------------------------------------------

    def sync(self, seq: Seq) -> None:
        """The sequence's tokens or status have changed (after a step, an admission, a swap, a preemption)."""

    def step(self, batch: Sequence[tuple[Seq, int]]) -> None:
        """The forward pass has computed these sequences up to so many tokens; their new tokens come afterwards."""

    # -- what can be shown -----------------------------------------------------------------------------------

    def block_tables(self, seq: Seq) -> Sequence[Sequence[int | None]]:
        """One row for each group of layers, as `block_table`, where `config.kv_groups` may be more than 1."""
        raise NotImplementedError

    def num_reclaimable_blocks(self, device: Device) -> int:
        """Cached blocks of the device that nobody owns, and that must be evicted before they can be handed out: where
        the caller evicts, or an index (a radix tree) owns blocks itself. They are not counted as free.
        """
        raise NotImplementedError

    def null_block(self) -> int | None:
        """The number of the GPU block that stands in for what rows have given up; None where none is set aside yet."""
        raise NotImplementedError

    def block_numbers(self, device: Device, config: Config) -> range:
        """The numbers that blocks of this device have."""
        return range(config.total(device))

    def refcount(self, device: Device, block: int) -> int:
        """The block's refcount (0 when free)."""
        raise NotImplementedError

    def free_blocks(self, device: Device) -> Iterable[int]:
        """The numbers in the device's free set, as often as it lists them."""
        raise NotImplementedError

    def row_device(self, seq: Seq) -> Device:
        """The device on which the manager has the sequence's blocks, read from the manager, not from the status."""
        raise NotImplementedError

    def announced_row(self, seq: Seq) -> Sequence[int]:
        """The row that an engine would have that never re-reads a table: built from announcements alone."""
        raise NotImplementedError

    # -- errors ----------------------------------------------------------------------------------------------

    def classify(self, error: BaseException) -> ErrorKind:
        """What an exception from the manager means; by class, unless overridden."""
        if isinstance(error, self.out_of_blocks):
            return ErrorKind.OUT_OF_BLOCKS
        if isinstance(error, self.double_free):
            return ErrorKind.DOUBLE_FREE
        if isinstance(error, self.bad_input):
            return ErrorKind.BAD_INPUT
        return ErrorKind.UNDECLARED


REQUIRED = ("start", "allocate", "append", "free", "block_table", "num_free_blocks")

BY_METHOD: dict[str, Capability] = {
    "append": Capability.APPEND,
    "match": Capability.MATCH,
    "fork": Capability.FORK,
    "preempt": Capability.PREEMPT,
    "evict": Capability.EVICT,
    "reset_index": Capability.RESET_INDEX,
    "reset_all": Capability.RESET,
    "can_allocate": Capability.GUARD_ALLOCATE,
    "can_append": Capability.GUARD_APPEND,
    "can_fork": Capability.GUARD_FORK,
    "can_swap_out": Capability.GUARD_SWAP_OUT,
    "can_swap_in": Capability.GUARD_SWAP_IN,
    "refcount": Capability.REFCOUNTS,
    "free_blocks": Capability.FREE_SET,
    "row_device": Capability.ROW_DEVICE,
    "block_tables": Capability.KV_GROUPS,
    "null_block": Capability.NULL_BLOCK,
    "num_reclaimable_blocks": Capability.RECLAIMABLE,
    "announced_row": Capability.ANNOUNCES,
}
"""The capability that overriding a method declares."""


_BASE = {method: getattr(Adapter, method) for method in (*BY_METHOD, *REQUIRED, "swap_out", "swap_in")}


def overrides(adapter: Adapter, method: str) -> bool:
    """Whether the adapter's class defines the method itself."""
    return getattr(type(adapter), method, None) is not _BASE[method]


CHOICES = {
    "admission": ("predicate", "try"),
    "full_hits": ("manager", "caller"),
    "allocate_lookahead": ("none", "reserved", "provided"),
    "watermark_waived": ("never", "idle"),
    "outcomes": ("two", "three"),
    "failures": ("unspecified", "atomic"),
    "swap_unit": ("block", "entry"),
    "step_order": ("as-issued", "transfers-first"),
}

ARGUMENTS = {
    "start": ("config",),
    "allocate": ("group",),
    "match": ("group",),
    "append": ("seq",),
    "free": ("seq",),
    "block_table": ("seq",),
    "num_free_blocks": ("device",),
    "can_allocate": ("group",),
    "can_append": ("group",),
    "can_fork": ("parent",),
    "can_swap_out": ("group",),
    "can_swap_in": ("group",),
    "fork": ("parent", "child"),
    "swap_out": ("group",),
    "swap_in": ("group",),
    "preempt": ("group",),
    "evict": ("count",),
    "reset_index": (),
    "reset_all": (),
    "sync": ("seq",),
    "step": ("batch",),
    "block_numbers": ("device", "config"),
    "refcount": ("device", "block"),
    "free_blocks": ("device",),
    "row_device": ("seq",),
    "block_tables": ("seq",),
    "null_block": (),
    "num_reclaimable_blocks": ("device",),
    "announced_row": ("seq",),
    "classify": ("error",),
}
"""What each method is called with."""


def _reject_declarations(adapter: Adapter) -> None:
    """Declarations of the wrong type or with unknown words would silently declare something else."""
    name = type(adapter).__name__
    for attribute in ("out_of_blocks", "double_free", "bad_input"):
        kinds = getattr(adapter, attribute)
        kinds = kinds if isinstance(kinds, tuple) else (kinds,)
        if not all(isinstance(kind, type) and issubclass(kind, BaseException) for kind in kinds):
            raise AdapterMistake(f"{name}.{attribute} is {kinds!r}; it must be exception classes: (MyError,)")
    if not isinstance(adapter.forkable, bool):
        raise AdapterMistake(f"{name}.forkable is {adapter.forkable!r}; it must be True or False")
    if not isinstance(adapter.capabilities, Capabilities):
        raise AdapterMistake(f"{name}.capabilities is {adapter.capabilities!r}; it must be a Capabilities(...)")
    for field_name, allowed in CHOICES.items():
        value = getattr(adapter.capabilities, field_name)
        if value not in allowed:
            raise AdapterMistake(f"{name}.capabilities.{field_name} is {value!r}; it is one of {', '.join(allowed)}")
    if not isinstance(adapter.domain, Domain):
        raise AdapterMistake(f"{name}.domain is {adapter.domain!r}; it must be a Domain(...)")
    for flag in fields(Capabilities):
        value = getattr(adapter.capabilities, flag.name)
        if flag.name not in CHOICES and not isinstance(value, bool):
            raise AdapterMistake(f"{name}.capabilities.{flag.name} is {value!r}; it must be True or False")
    for least in ("least_gpu_blocks", "least_cpu_blocks"):
        value = getattr(adapter.domain, least)
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise AdapterMistake(f"{name}.domain.{least} is {value!r}; it must be a whole number of blocks")
    for flag_name in ("whole_windows", "windows_with_caching"):
        value = getattr(adapter.domain, flag_name)
        if not isinstance(value, bool):
            raise AdapterMistake(f"{name}.domain.{flag_name} is {value!r}; it must be True or False")
    sizes = list(adapter.domain.block_sizes)
    if not sizes or not all(isinstance(size, int) and size >= 1 for size in sizes):
        raise AdapterMistake(f"{name}.domain.block_sizes is {sizes!r}; it must be whole numbers of slots, at least one")
    for restriction in adapter.restrictions:
        if not isinstance(restriction, Restriction):
            raise AdapterMistake(f"{name}.restrictions has {restriction!r}; it must have Restriction(Order.X, reason)")


def _reject_signatures(kind: type[Adapter]) -> None:
    """A method that cannot be called as the kit calls it is the adapter's mistake, not a crash of the manager."""
    for method, arguments in ARGUMENTS.items():
        if getattr(kind, method) is getattr(Adapter, method):
            continue
        wanted = f"{kind.__name__}.{method} must be a method ({', '.join(('self', *arguments))})"
        try:
            bound = isinstance(inspect.getattr_static(kind, method), (staticmethod, classmethod))
            inspect.signature(getattr(kind, method)).bind(*(() if bound else ("self",)), *arguments)
        except TypeError as error:
            raise AdapterMistake(f"{wanted}: {error}") from None
        except ValueError:
            continue  # written in C: no signature to be had


def _reject_typos(kind: type[Adapter]) -> None:
    """A name that is almost one of the base class's would silently declare nothing."""
    known = [name for name in vars(Adapter) if not name.startswith("_") and name not in ("name", "version")]
    for owner in kind.__mro__[: kind.__mro__.index(Adapter)]:
        for name in vars(owner):
            close = [] if name.startswith("_") or name in known else get_close_matches(name, known, n=1, cutoff=0.85)
            if close:
                raise AdapterMistake(f"{kind.__name__} defines {name!r}, which means nothing; {close[0]!r} was meant?")


_SOUND: set[type] = set()
"""Classes that were looked at: a run begins with this, and there are thousands of runs."""


def _reject_class(kind: type[Adapter]) -> None:
    """What can be wrong with a class, looked at once."""
    if kind not in _SOUND:
        _reject_typos(kind)
        _reject_signatures(kind)
        _SOUND.add(kind)


def capabilities_of(adapter: Adapter) -> frozenset[Capability]:
    """Everything that the adapter offers: by methods overridden, and by declaration.

    Raises AdapterMistake where a required method is missing, swap is half there, or a name looks misspelt,
    a declaration is none, or a method cannot be called as the kit calls it.
    """
    missing = [name for name in REQUIRED if not overrides(adapter, name)]
    if missing:
        raise AdapterMistake(f"{type(adapter).__name__} must define {', '.join(missing)}")
    _reject_class(type(adapter))
    _reject_declarations(adapter)
    found = {capability for method, capability in BY_METHOD.items() if overrides(adapter, method)}
    if overrides(adapter, "swap_out") != overrides(adapter, "swap_in"):
        raise AdapterMistake(f"{type(adapter).__name__} must define both swap_out and swap_in, or neither")
    if overrides(adapter, "swap_out"):
        found.add(Capability.SWAP)
    declared = adapter.capabilities
    asked = [name for name in ("can_allocate", "can_append") if overrides(adapter, name)]
    if declared.admission == "try" and asked:
        raise AdapterMistake(f'{type(adapter).__name__} defines {asked[0]}, but declares admission="try"')
    flags = {
        Capability.PREFIX_CACHING: declared.prefix_caching,
        Capability.EXTRA_KEYS: declared.prefix_caching and declared.extra_keys,
        Capability.LEAVES_ONE: declared.prefix_caching and declared.full_hits == "manager",
        Capability.TRY_ALLOCATE: declared.admission == "try",
        Capability.TRY_APPEND: declared.admission == "try" and Capability.APPEND in found,
        Capability.WINDOW: declared.window,
        Capability.COLLIDING_HASHES: declared.prefix_caching and declared.colliding_hashes,
        Capability.COARSE_CLOCK: declared.prefix_caching and declared.coarse_clock,
        Capability.EXTERNAL: declared.external,
        Capability.CHUNKS: declared.chunks,
        Capability.DRAFTS: declared.drafts and Capability.APPEND in found,
        Capability.LOOKAHEAD: declared.lookahead,
        Capability.GROUPS: declared.groups,
        Capability.WATERMARK: declared.watermark,
        Capability.THREE_VALUED: declared.outcomes == "three",
        Capability.ATOMIC_FAILURES: declared.failures == "atomic",
    }
    return frozenset(found | {capability for capability, on in flags.items() if on})
