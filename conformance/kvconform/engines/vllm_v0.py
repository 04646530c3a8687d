"""vLLM's block managers of the first two generations, driven as vLLM's own scheduler drives them.

Knows: the order of the scheduler's calls release by release, and the managers' answers. Must not know: laws, ledgers,
or how an engine gets here. The managers are the published ones, unmodified; what they are asked about are stand-ins
whose tokens are the kit's own lists and whose status is the kit's.

One class a release and generation: what a release lacks is a method that its class does not have.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, ClassVar

from kvconform.adapter import Adapter, Capabilities, Domain, ErrorKind, Group, Order, Restriction, Seq
from kvspec.vocabulary import Config, Device, Status, Verdict

from . import vllm_standins
from .isolate import World
from .loader import LoadedEngine
from .spec import version_key
from .vllm_managers import Generation, ManagerApi, find_manager
from .vllm_reading import FirstPool, SecondPool
from .vllm_standins import SequenceGroup, SequenceStatus

STATUS = {
    Status.WAITING: SequenceStatus.WAITING,
    Status.RUNNING: SequenceStatus.RUNNING,
    Status.SWAPPED: SequenceStatus.SWAPPED,
    Status.ENDED: SequenceStatus.FINISHED_STOPPED,
}

DOMAIN = Domain(
    least_gpu_blocks=1,
    windows_with_caching=False,
    reason="vLLM refuses to start without GPU blocks, and with prefix caching under a sliding window; its command line "
    "offers block sizes such as 8, 16 and 32 only, but the managers take any: shrunk",
)


class VllmV0(Adapter):
    """What all releases have in common."""

    api: ClassVar[ManagerApi]
    forkable: ClassVar[bool] = True
    domain = DOMAIN

    def start(self, config: Config) -> None:
        """A fresh manager, with the fraction that it rounds down to the watermark wanted."""
        self.config = config
        self.manager = self.api.manager(
            config.block_size,
            config.num_gpu_blocks,
            config.num_cpu_blocks,
            watermark=(config.watermark_blocks + 0.5) / config.num_gpu_blocks if config.watermark_blocks else 0.0,
            **self._options(config),
        )
        self._seqs: dict[int, vllm_standins.Sequence] = {}
        self._can_append = getattr(self.manager, f"can_{self.api.append_name}")
        self._append = getattr(self.manager, self.api.append_name)
        self._free_count = {
            Device.GPU: self.manager.get_num_free_gpu_blocks,
            Device.CPU: self.manager.get_num_free_cpu_blocks,
        }

    def _options(self, config: Config) -> dict[str, object]:
        """What else the manager is to be made with."""
        return {}

    # -- the kit's views, as the manager sees them -----------------------------------------------------------

    def _seq(self, view: Seq) -> vllm_standins.Sequence:
        seq = self._seqs.get(view.id)
        if seq is None:
            seq = self._seqs[view.id] = vllm_standins.Sequence(view.id, (), self.config.block_size)
            seq.data.tokens, seq.data.prompt_length = view.tokens, len(view.tokens)
        seq.status = STATUS[view.status]
        return seq

    def _group(self, view: Group) -> SequenceGroup:
        return SequenceGroup(str(view.id), [self._seq(seq) for seq in view.seqs])

    def _verdict(self, answer: Any) -> Verdict | bool:
        return answer if isinstance(answer, bool) else Verdict(answer.name.lower())

    # -- operations ------------------------------------------------------------------------------------------

    def can_allocate(self, group: Group) -> Verdict | bool:
        """The guard counts lookahead slots in the releases that let it."""
        options = {"num_lookahead_slots": group.lookahead} if self.api.allocate_lookahead else {}
        return self._verdict(self.manager.can_allocate(self._group(group), **options))

    def allocate(self, group: Group) -> int | None:
        """Admit, first or again."""
        self.manager.allocate(self._group(group))
        return None

    def can_append(self, group: Group) -> Verdict | bool:
        """Asked once for all running sequences of the group."""
        options = {"num_lookahead_slots": group.lookahead} if self.api.append_lookahead else {}
        return self._verdict(self._can_append(self._group(group), **options))

    def append(self, seq: Seq) -> list[tuple[int, int]]:
        """A pair, a list of pairs, or lists of targets by source, as the release has it."""
        mine = self._seq(seq)
        mine.data.set_computed(seq.computed)
        options = {"num_lookahead_slots": seq.lookahead} if self.api.append_lookahead else {}
        return list(_copies(self._append(mine, **options)))

    def preempt(self, group: Group) -> None:
        """By recompute: the scheduler sets each running sequence waiting, then frees it."""
        for seq in group.running:
            self.free(seq)

    def free(self, seq: Seq) -> None:
        """The scheduler calls it for sequences that never were admitted too."""
        self.manager.free(self._seq(seq))

    def num_free_blocks(self, device: Device) -> int:
        """What the manager says."""
        count: int = self._free_count[device]()
        return count


class Forks(VllmV0):
    """Releases whose engine forks: parallel sampling and beam search."""

    def fork(self, parent: Seq, child: Seq) -> None:
        """The child is in the parent's group already."""
        self.manager.fork(self._seq(parent), self._seq(child))


class Swaps(VllmV0):
    """Releases that can swap."""

    def can_swap_out(self, group: Group) -> Verdict | bool:
        """Asked right before."""
        return self._verdict(self.manager.can_swap_out(self._group(group)))

    def swap_out(self, group: Group) -> Any:
        """Numbers are each device's own, from 0."""
        return self.manager.swap_out(self._group(group))

    def can_swap_in(self, group: Group) -> Verdict | bool:
        """The lookahead is that of the appends to follow."""
        options = {"num_lookahead_slots": group.lookahead} if self.api.swap_in_lookahead else {}
        return self._verdict(self.manager.can_swap_in(self._group(group), **options))

    def swap_in(self, group: Group) -> Any:
        """The appends that follow are calls of their own."""
        options = {"num_lookahead_slots": group.lookahead} if self.api.swap_call_lookahead else {}
        return self.manager.swap_in(self._group(group), **options)


class First(VllmV0):
    """The first generation: blocks are objects that carry their device and their refcount."""

    def start(self, config: Config) -> None:
        """With a way to look at each pool."""
        super().start(config)
        self._pools = {
            Device.GPU: FirstPool(self.manager, self.manager.gpu_allocator),
            Device.CPU: FirstPool(self.manager, self.manager.cpu_allocator),
        }

    def block_table(self, seq: Seq) -> Sequence[int]:
        """Numbers are each device's own."""
        row: list[int] = self.manager.get_block_table(self._seqs[seq.id])
        return row

    def row_device(self, seq: Seq) -> Device:
        """Where the row's blocks say that they are."""
        return Device(self.manager.block_tables[seq.id][0].device.name.lower())

    def refcount(self, device: Device, block: int) -> int:
        """As the block object has it."""
        return self._pools[device].refcount(block)

    def free_blocks(self, device: Device) -> Iterable[int]:
        """The free list."""
        return self._pools[device].free()

    def classify(self, error: BaseException) -> ErrorKind:
        """A ValueError says in words what it is."""
        if isinstance(error, ValueError):
            if str(error).startswith(("Out of memory!", "No usable cache memory")):
                return ErrorKind.OUT_OF_BLOCKS
            if str(error).startswith("Double free!"):
                return ErrorKind.DOUBLE_FREE
        return ErrorKind.UNDECLARED


class Second(VllmV0):
    """The second generation: block i of the CPU has the number num_gpu_blocks + i in tables and pools."""

    def start(self, config: Config) -> None:
        """With a way to look at each pool."""
        super().start(config)
        self._pools = {device: SecondPool(self.manager, device.value) for device in Device}

    def block_table(self, seq: Seq) -> Sequence[int | None]:
        """Each device's own numbers, as the moves of a swap have them."""
        first_cpu = self.config.num_gpu_blocks
        row = self.manager.get_block_table(self._seqs[seq.id])
        return [block - first_cpu if block >= first_cpu else block for block in row]

    def row_device(self, seq: Seq) -> Device:
        """Where the row's numbers are."""
        row = self.manager.get_block_table(self._seqs[seq.id])
        return Device.CPU if max(row) >= self.config.num_gpu_blocks else Device.GPU

    def refcount(self, device: Device, block: int) -> int:
        """As the pool's counter has it."""
        return self._pools[device].refcount(block)

    def free_blocks(self, device: Device) -> Iterable[int]:
        """The free list."""
        return self._pools[device].free()

    def classify(self, error: BaseException) -> ErrorKind:
        """A block given back twice fails an assertion of the refcounter, which has no words."""
        if isinstance(error, self.out_of_blocks):
            return ErrorKind.OUT_OF_BLOCKS
        if isinstance(error, AssertionError) and _raised_in(error) in ("decr", "_free_block_id"):
            return ErrorKind.DOUBLE_FREE
        return ErrorKind.UNDECLARED


class Slides(VllmV0):
    """Second-generation managers under a sliding window. They set their null block aside when first a row is appended
    to, and put it where the window has left a row's blocks behind.
    """

    def _options(self, config: Config) -> dict[str, object]:
        return {**super()._options(config), "sliding_window": config.sliding_window}

    def null_block(self) -> int | None:
        """Of the GPU pool, in the pool's own numbers as the tables have them."""
        null = self.manager.block_allocator._null_block
        return None if null is None else null.block_id

    def block_table(self, seq: Seq) -> Sequence[int | None]:
        """The null block stands for none."""
        null = self.null_block()
        row = super().block_table(seq)
        return row if null is None or seq.status is Status.SWAPPED else [b if b != null else None for b in row]


class Caches(VllmV0):
    """Second-generation managers with prefix caching. The scheduler looks hits up when it has admitted a prompt, and at
    the end of a pass states when its sequences were used, and that their blocks will be computed.
    """

    def start(self, config: Config) -> None:
        """With adapters and salts as vLLM numbers them."""
        super().start(config)
        self._keys: dict[tuple[str, ...], int] = {}

    def _options(self, config: Config) -> dict[str, object]:
        return {**super()._options(config), "enable_caching": config.prefix_caching}

    def _seq(self, view: Seq) -> vllm_standins.Sequence:
        seq = super()._seq(view)
        if view.group.extra:
            seq.lora_int_id = self._keys.setdefault(view.group.extra, len(self._keys) + 1)
        return seq

    def allocate(self, group: Group) -> int | None:
        """Of a prompt that is cached whole the runner computes the last token."""
        (view,) = group.waiting
        self._seq(view).data.restart()
        super().allocate(group)
        return min(self._hits(view), len(view.tokens) - 1) if self.config.prefix_caching else None

    def _hits(self, view: Seq) -> int:
        return len(self.manager.get_common_computed_block_ids([self._seqs[view.id]])) * self.config.block_size

    def append(self, seq: Seq) -> list[tuple[int, int]]:
        """The scheduler looks hits up for those too that it has only appended to."""
        copies = super().append(seq)
        if self.config.prefix_caching:
            self._hits(seq)
        return copies

    def step(self, batch: Sequence[tuple[Seq, int]]) -> None:
        """Nothing comes between the end of a pass and its computation. The scheduler reads the clock once a pass."""
        if not self.config.prefix_caching:
            return
        for view, _ in batch:
            self.manager.access_all_blocks_in_seq(self._seqs[view.id], float(self.now))
        for view, covered in batch:
            chunk = (covered - view.computed,) if self.api.chunk_marks else ()
            self.manager.mark_blocks_as_computed(self._group(view.group), *chunk)


class Resets(Caches):
    """Releases that can drop their index; they refuse while a block is in use."""

    def reset_index(self) -> bool:
        """As vLLM says."""
        done: bool = self.manager.reset_prefix_cache()
        return done


def _copies(answer: Any) -> Iterator[tuple[int, int]]:
    if isinstance(answer, Mapping):
        for source, targets in answer.items():
            yield from ((source, target) for target in targets)
    elif isinstance(answer, tuple):
        yield answer
    else:
        yield from answer or ()


def _raised_in(error: BaseException) -> str:
    """The function that an exception comes from."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace.tb_frame.f_code.co_name if trace is not None else ""


# -- what each release is ------------------------------------------------------------------------------------


def vllm_v0_class(engine: LoadedEngine, name: str) -> type[VllmV0]:
    """The adapter class of one release and generation; `NotInThisVersion` where the release has none."""
    return _class_of(engine.world, engine, Generation(name))


@cache
def _class_of(world: World, engine: LoadedEngine, generation: Generation) -> type[VllmV0]:
    """Once for each world that an engine was loaded into: one that is fetched anew is another."""
    api = find_manager(engine, generation)
    forks = _before(engine.version, "0.6.4")
    parts: dict[type[VllmV0], bool] = {
        First if generation is Generation.FIRST else Second: True,
        Forks: forks,
        Swaps: api.swap,
    }
    if generation is Generation.SECOND:
        ways: dict[type[VllmV0], bool] = {Resets: api.caching and api.resets, Caches: api.caching and not api.resets}
        parts = {**ways, Slides: api.window, **parts}
    values = {
        "__doc__": f"The block manager {api.manager.__name__} of vLLM {engine.version}.",
        "name": generation.value,
        "version": engine.version,
        "api": api,
        "out_of_blocks": () if generation is Generation.FIRST else (api.out_of_blocks,),
        "capabilities": _capabilities(engine, generation, api),
        "restrictions": tuple(_restrictions(engine.version, generation, api, forks)),
    }
    bases = tuple(part for part, present in parts.items() if present)
    return type(f"{api.manager.__name__}Adapter", bases, values)


def _before(version: str, other: str) -> bool:
    return version_key(version) < version_key(other)


def _capabilities(engine: LoadedEngine, generation: Generation, api: ManagerApi) -> Capabilities:
    # Asked with lookahead only for multi-step decoding with chunked prefill, which was taken out again; the appends
    # that follow in the same pass take the slots.
    asked = api.allocate_lookahead and _before(engine.version, "0.10.1")
    second = generation is Generation.SECOND
    return Capabilities(
        prefix_caching=second and api.caching,
        extra_keys=second and api.caching and api.extra_hash,
        full_hits="caller",
        coarse_clock=second and api.caching,
        window=second and api.window,
        lookahead=second,
        allocate_lookahead="reserved" if second and asked else "none",
        groups=False,  # every release asserts that a waiting group has one sequence
        watermark=True,
        outcomes="three",
        failures="unspecified",
        swap_unit="entry" if second else "block",
        step_order="transfers-first",  # the worker swaps in, swaps out, then copies
    )


def _restrictions(version: str, generation: Generation, api: ManagerApi, forks: bool) -> Iterator[Restriction]:
    def declare(what: Order, reason: str) -> Restriction:
        return Restriction(what, f"vLLM's {reason}")

    yield declare(
        Order.NO_RELEASE_WHILE_SCHEDULED,
        "scheduler runs between passes, and picks victims among groups that it has not scheduled in this one",
    )
    yield declare(
        Order.TOKENS_EVERY_STEP,
        "engine samples for every scheduled sequence and ends those that get no token (chunked prefill apart)",
    )
    if generation is Generation.FIRST:
        yield declare(Order.ONE_TOKEN, "first generation refuses the lookahead that several tokens a pass need")
    else:
        yield declare(Order.LOOKAHEAD_FIXED, "scheduler takes the number of lookahead slots from its configuration")
        yield declare(Order.WITHIN_LOOKAHEAD, "workers return at most the speculated tokens and one more")
    if api.swap:
        yield declare(
            Order.SWAP_IN_AFTER_STEP, "scheduler swaps nothing in when it has preempted something in the same pass"
        )
        yield declare(
            Order.SWAP_IN_BEFORE_ADMISSION,
            "scheduler admits in passes of their own; with chunked prefill it swaps in first",
        )
        if _before(version, "0.5"):
            yield declare(
                Order.SWAP_SEVERAL, "scheduler recomputes a single sequence: there is no preemption_mode before 0.5.0"
            )
    if forks:
        yield declare(Order.PREEMPT_SINGLE, "scheduler asserts that a group to recompute has one running sequence")
        yield declare(Order.FORK_AFTER_TOKENS, "engine forks when it hands out the tokens of a pass")
        yield declare(Order.FINISHED_STAY, "engine keeps finished sequences in their group as candidate output")
