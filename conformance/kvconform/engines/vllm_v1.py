"""The managers of vLLM's V1 since they are made of a coordinator and of one manager for each kind of layer.

Knows: `KVCacheManager` from 0.10 on, with groups of layers that read everything or a sliding window, and in which order
V1's scheduler calls it. Must not know: how anything is judged. The first managers of V1 are in `vllm_v1_early`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any, ClassVar

from kvconform.adapter import Adapter, Capabilities, Domain, Group, Order, Restriction, Seq
from kvspec.vocabulary import Config, Device

from .errors import NotInThisVersion
from .isolate import World
from .loader import LoadedEngine
from .vllm_standins import Request, RequestStatus
from .vllm_v1_early import MODULE, NAME, VllmV1Early, early_class
from .vllm_world import LATER_V1

COORDINATOR = "vllm.v1.core.kv_cache_coordinator"
EXTERNAL = "num_external_computed_tokens"

DOMAIN = Domain(
    least_gpu_blocks=2,
    reason="one block of the pool is the null block, and vLLM does not start without another; its command line offers "
    "block sizes such as 16 and 32 only, but the manager takes any: shrunk",
)

RESTRICTIONS = (
    Restriction(
        Order.NO_RELEASE_WHILE_SCHEDULED,
        "V1's scheduler frees and preempts before a pass or after it, never what it has just admitted to it",
    ),
    Restriction(Order.TOKENS_EVERY_STEP, "V1's engine samples for every request whose tokens are all computed"),
    Restriction(Order.ONE_TOKEN, "V1's engine keeps one sampled token, and the drafts before it that it confirms"),
    Restriction(Order.LOOKAHEAD_FIXED, "V1's scheduler takes the number of lookahead slots from its configuration"),
)


class VllmV1(Adapter):
    """What these releases have in common. Layers form one group, or the first of several reads everything."""

    api: ClassVar[Any]
    spec: ClassVar[Any]  # the module of configurations and kinds of layers
    hasher: ClassVar[Callable[[int], Callable[[Request], list[object]]]]
    options: ClassVar[frozenset[str]]  # what allocate_slots can be told
    forkable: ClassVar[bool] = True
    name = NAME
    domain = DOMAIN
    restrictions = RESTRICTIONS

    def start(self, config: Config) -> None:
        """A fresh manager, with the fraction that it rounds down to the watermark wanted."""
        sizes = {"hash_block_size": config.block_size, "scheduler_block_size": config.block_size}
        if self.capabilities.watermark:
            share = (config.watermark_blocks + 0.5) / config.num_gpu_blocks if config.watermark_blocks else 0.0
            sizes["watermark"] = share  # type: ignore[assignment]
        known = inspect.signature(self.api.__init__).parameters
        self.manager = self.api(
            self._layers(config),
            max_model_len=config.max_model_len,
            enable_caching=config.prefix_caching,
            **{name: value for name, value in sizes.items() if name in known},
        )
        self.pool = self.manager.block_pool
        self._hash = type(self).hasher(config.block_size)
        self._requests: dict[int, Request] = {}
        self._running: set[int] = set()

    def _layers(self, config: Config) -> Any:
        """The groups of layers, one layer each."""
        shape = {"block_size": config.block_size, "num_kv_heads": 1, "head_size": 1, "dtype": None}
        if "use_mla" in inspect.signature(self.spec.FullAttentionSpec).parameters:
            shape["use_mla"] = False
        full = self.spec.FullAttentionSpec(**shape)
        kinds = [full] * config.kv_groups
        if config.sliding_window is not None:
            slides = self.spec.SlidingWindowSpec(**shape, sliding_window=config.sliding_window)
            kinds = [full] * (config.kv_groups > 1) + [slides] * max(1, config.kv_groups - 1)
        groups = [self.spec.KVCacheGroupSpec([f"layer {number}"], kind) for number, kind in enumerate(kinds)]
        return self.spec.KVCacheConfig(num_blocks=config.num_gpu_blocks, kv_cache_tensors=[], kv_cache_groups=groups)

    # -- the kit's views, as the manager sees them -----------------------------------------------------------

    def _request(self, seq: Seq) -> Request:
        request = self._requests.get(seq.id)
        if request is None:
            salt = "/".join(seq.group.extra) or None
            request = self._requests[seq.id] = Request(str(seq.id), seq.tokens, salt)
            request.status = RequestStatus.WAITING
        request.block_hashes.extend(self._hash(request))
        request.num_computed_tokens = seq.computed
        return request

    # -- operations ------------------------------------------------------------------------------------------

    def allocate(self, group: Group) -> bool | int:
        """As the scheduler does: look the hits up, then ask for the slots of what is to be computed."""
        (seq,) = group.waiting
        request = self._request(seq)
        hits, cached = self.manager.get_computed_blocks(request)[:2]
        brought = seq.brought(cached)
        known = cached + brought
        options = {
            "num_lookahead_tokens": seq.lookahead,
            "has_scheduled_reqs": bool(self._running),
            EXTERNAL: brought,
        }
        slots = self.manager.allocate_slots(
            request,
            seq.reach(known) - known,
            num_new_computed_tokens=cached,
            new_computed_blocks=hits,
            **{name: value for name, value in options.items() if name in self.options},
        )
        if slots is None:
            return False
        request.status = RequestStatus.RUNNING
        self._running.add(seq.id)
        return int(cached)

    def append(self, seq: Seq) -> bool | None:
        """Slots for what is not computed yet, drafts among it, and for the lookahead."""
        request = self._request(seq)
        count = seq.reach(seq.upto) - seq.computed + seq.drafts
        slots = self.manager.allocate_slots(request, count, num_lookahead_tokens=seq.lookahead)
        return None if slots is not None else False

    def preempt(self, group: Group) -> None:
        """The scheduler frees the request and lets it wait with nothing computed."""
        for seq in group.running:
            self.free(seq)
            request = self._requests[seq.id]
            request.status = RequestStatus.PREEMPTED
            request.num_preemptions += 1

    def free(self, seq: Seq) -> None:
        """For requests that were never admitted too."""
        self.manager.free(self._request(seq))
        self._running.discard(seq.id)

    def reset_index(self) -> bool:
        """Refused while a block is in use."""
        done: bool = self.manager.reset_prefix_cache()
        return done

    # -- what can be shown -----------------------------------------------------------------------------------

    def block_table(self, seq: Seq) -> Sequence[int | None]:
        """The blocks of the request; the null block stands for none."""
        return self.block_tables(seq)[0]

    def block_tables(self, seq: Seq) -> Sequence[Sequence[int | None]]:
        """One row for each group of layers."""
        groups = self.manager.coordinator.get_blocks(str(seq.id))
        return [[None if block.is_null else block.block_id for block in blocks] for blocks in groups]

    def num_free_blocks(self, device: Device) -> int:
        """Blocks in the queue, cached ones among them."""
        count: int = self.pool.get_num_free_blocks()
        return count

    def null_block(self) -> int:
        """Taken from the pool when it is made."""
        block: int = self.pool.null_block.block_id
        return block

    def refcount(self, device: Device, block: int) -> int:
        """As the block object has it."""
        count: int = self.pool.blocks[block].ref_cnt
        return count

    def free_blocks(self, device: Device) -> Iterable[int]:
        """The queue, from its front on."""
        return [block.block_id for block in self.pool.free_block_queue.get_all_free_blocks()]


def vllm_v1_class(engine: LoadedEngine, name: str) -> type[VllmV1 | VllmV1Early]:
    """The adapter class of one release; `NotInThisVersion` where its manager is of a kind between the two."""
    return _class_of(engine.world, engine)


@cache
def _class_of(world: World, engine: LoadedEngine) -> type[VllmV1 | VllmV1Early]:
    """Once for each world that an engine was loaded into: one that is fetched anew is another."""
    if engine.has(COORDINATOR):
        return _coordinated(engine)
    if engine.has(LATER_V1):
        raise NotInThisVersion(
            f"the manager of V1 in {engine.name} {engine.version} is of a kind between the first and those from 0.9.1 "
            "on, and has no adapter"
        )
    return early_class(engine)


def _coordinated(engine: LoadedEngine) -> type[VllmV1]:
    manager = engine.module(MODULE).KVCacheManager
    values = {
        "__doc__": f"The block manager KVCacheManager of vLLM {engine.version}, V1.",
        "version": engine.version,
        "api": manager,
        "spec": engine.module("vllm.v1.kv_cache_interface"),
        "hasher": staticmethod(_hasher(engine.module("vllm.v1.core.kv_cache_utils"))),
        "options": frozenset(inspect.signature(manager.allocate_slots).parameters),
        "capabilities": Capabilities(
            admission="try",
            prefix_caching=True,
            extra_keys=True,
            window=True,
            external=EXTERNAL in inspect.signature(manager.allocate_slots).parameters,
            chunks=True,
            drafts=True,
            lookahead=True,
            allocate_lookahead="provided",
            watermark="watermark" in inspect.signature(manager.__init__).parameters,
            watermark_waived="idle",
        ),
    }
    return type("KVCacheManagerAdapter", (VllmV1,), values)


def _hasher(utils: Any) -> Callable[[int], Callable[[Request], list[object]]]:
    """The engine's own chain of block hashes, over a hash of the standard library."""
    utils.init_none_hash(_hash)

    def make(block_size: int) -> Callable[[Request], list[object]]:
        made: Callable[[Request], list[object]] = utils.get_request_block_hasher(block_size, _hash)
        return made

    return make


def _hash(value: object) -> bytes:
    """64 bits, which are enough for a run."""
    return hash(value).to_bytes(8, "big", signed=True)
