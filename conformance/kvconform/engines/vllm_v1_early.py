"""The first managers of vLLM's V1: prefix caching in try style.

Knows: `KVCacheManager` of the releases that tell `allocate_slots` (a new request) from `append_slots` (a running one),
and in which order V1's scheduler calls them. Must not know: how anything is judged.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from kvconform.adapter import Adapter, Capabilities, Domain, Group, Order, Restriction, Seq
from kvspec.vocabulary import Config, Device

from .loader import LoadedEngine
from .vllm_standins import Request

NAME = "vllm-v1"
MODULE = "vllm.v1.core.kv_cache_manager"

DOMAIN = Domain(
    least_gpu_blocks=1,
    reason="vLLM refuses to start without GPU blocks; its command line offers block sizes such as 8, 16 and 32 only, "
    "but the manager takes any: shrunk",
)

RESTRICTIONS = (
    Restriction(
        Order.NO_RELEASE_WHILE_SCHEDULED,
        "V1's scheduler frees and preempts before a pass or after it, never what it has just admitted to it",
    ),
    Restriction(Order.TOKENS_EVERY_STEP, "V1's engine samples for every request whose prompt is computed"),
    Restriction(Order.ONE_TOKEN, "these releases of V1 do not speculate"),
)


class VllmV1Early(Adapter):
    """What these releases have in common."""

    api: ClassVar[Any]
    forkable: ClassVar[bool] = True
    name = NAME
    domain = DOMAIN
    restrictions = RESTRICTIONS
    capabilities = Capabilities(admission="try", prefix_caching=True, full_hits="caller")

    def start(self, config: Config) -> None:
        """A fresh manager that takes no blocks in advance: how many is an option of it."""
        self.config = config
        self.manager = self.api(
            block_size=config.block_size,
            num_gpu_blocks=config.num_gpu_blocks,
            max_model_len=config.max_model_len,
            enable_caching=config.prefix_caching,
            num_preallocate_tokens=0,
        )
        self._requests: dict[int, Request] = {}

    def _request(self, seq: Seq) -> Request:
        request = self._requests.get(seq.id)
        if request is None:
            request = self._requests[seq.id] = Request(str(seq.id), seq.tokens)
        request.num_computed_tokens = seq.computed
        return request

    def allocate(self, group: Group) -> bool | int:
        """As the scheduler does: look the hits up, leave a token to compute, then ask for the slots of the others."""
        (seq,) = group.waiting
        request = self._request(seq)
        answer = self.manager.get_computed_blocks(request)
        hits = list(answer[0] if isinstance(answer, tuple) else answer)
        if len(hits) * self.config.block_size >= len(seq.tokens):
            hits.pop()
        cached = len(hits) * self.config.block_size
        if self.manager.allocate_slots(request, len(seq.tokens) - cached, hits) is None:
            return False
        return cached

    def append(self, seq: Seq) -> bool | None:
        """Slots for what is not computed yet."""
        return None if self.manager.append_slots(self._request(seq), seq.unseen) is not None else False

    def preempt(self, group: Group) -> None:
        """The scheduler frees the request and lets it wait with nothing computed."""
        for seq in group.running:
            self.manager.free(self._request(seq))

    def free(self, seq: Seq) -> None:
        """For requests that were never admitted too."""
        self.manager.free(self._request(seq))

    def block_table(self, seq: Seq) -> Sequence[int]:
        """The blocks of the request."""
        return [block.block_id for block in self.manager.req_to_blocks[str(seq.id)]]

    def num_free_blocks(self, device: Device) -> int:
        """Blocks in the queue, cached ones among them."""
        count: int = self.manager.free_block_queue.num_free_blocks
        return count

    def refcount(self, device: Device, block: int) -> int:
        """As the block object has it."""
        count: int = self.manager.block_pool[block].ref_cnt
        return count

    def free_blocks(self, device: Device) -> Iterable[int]:
        """The queue, from its front on."""
        return [block.block_id for block in self.manager.free_block_queue.get_all_free_blocks()]


class Resets(VllmV1Early):
    """Releases that can drop their index; they refuse while a block is in use."""

    def reset_index(self) -> bool:
        """As vLLM says."""
        done: bool = self.manager.reset_prefix_cache()
        return done


def early_class(engine: LoadedEngine) -> type[VllmV1Early]:
    """The adapter class of one of these releases."""
    manager = engine.module(MODULE).KVCacheManager
    base = Resets if hasattr(manager, "reset_prefix_cache") else VllmV1Early
    doc = f"The block manager KVCacheManager of vLLM {engine.version}, V1."
    return type("KVCacheManagerAdapter", (base,), {"__doc__": doc, "version": engine.version, "api": manager})
