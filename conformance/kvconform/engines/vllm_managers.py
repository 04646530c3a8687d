"""Finding vLLM's block managers of the first two generations, whatever a release calls them.

Knows: class and module names by release, and how releases differ in their methods. Must not know: the kit
that drives a manager. V1's managers are another family and not found here.
"""

from __future__ import annotations

import enum
import inspect
from dataclasses import dataclass
from typing import Any

from .errors import NotInThisVersion
from .loader import LoadedEngine
from .vllm_standins import SequenceGroup


class Generation(enum.Enum):
    """vLLM's designs before V1, by the names of their adapters."""

    FIRST = "vllm-v0-v1"
    SECOND = "vllm-v0-v2"


# Where each generation's manager has been, newest place first.
_PLACES = {
    Generation.FIRST: (
        ("vllm.core.block_manager_v1", "BlockSpaceManagerV1"),
        ("vllm.core.block_manager", "BlockSpaceManager"),
    ),
    Generation.SECOND: (
        ("vllm.core.block_manager", "SelfAttnBlockSpaceManager"),
        ("vllm.core.block_manager_v2", "BlockSpaceManagerV2"),
    ),
}


@dataclass(frozen=True)
class ManagerApi:
    """One release's manager of one generation, and what its callers must know about it."""

    manager: Any  # the class; its constructor takes the same keywords in every release
    alloc_status: Any  # the enum with OK, LATER, NEVER that its guards answer with
    out_of_blocks: type[Exception]  # what it raises when there are no blocks left
    append_name: str  # "append_slots", or "append_slot" to 0.3
    caching: bool  # it can be made with enable_caching
    window: bool  # it can be made with sliding_window
    swap: bool  # it can swap at all (the second generation not before 0.5)
    append_lookahead: bool  # append and its guard take num_lookahead_slots
    allocate_lookahead: bool  # can_allocate takes it
    swap_in_lookahead: bool  # can_swap_in takes it
    swap_call_lookahead: bool  # swap_in itself takes it (0.4 only)
    cached_tokens: bool  # get_num_cached_tokens exists, and must be asked before free
    extra_hash: bool  # what besides tokens tells contents apart goes into the hash of a block
    chunk_marks: bool  # mark_blocks_as_computed is told how many tokens the step computes
    resets: bool  # it can drop its prefix index
    cpu_ids_follow_gpu: bool  # a CPU block i is num_gpu_blocks + i in a block table


def find_manager(engine: LoadedEngine, generation: Generation) -> ManagerApi:
    """The manager of that generation in this release; `NotInThisVersion` if it has none."""
    for module, name in _PLACES[generation]:
        found = getattr(engine.module(module), name, None) if engine.has(module) else None
        # From 0.4 to 0.6 the interface, which is abstract, has the name of the first manager.
        if found is not None and not inspect.isabstract(found):
            return _describe(engine, generation, module, found)
    raise NotInThisVersion(f"{engine.name} {engine.version} has no block manager of the {generation.value} kind")


def _describe(engine: LoadedEngine, generation: Generation, module: str, manager: Any) -> ManagerApi:
    append = "append_slots" if hasattr(manager, "append_slots") else "append_slot"
    return ManagerApi(
        manager=manager,
        alloc_status=engine.module(module).AllocStatus,
        out_of_blocks=_out_of_blocks(engine, generation),
        append_name=append,
        caching=_takes(manager.__init__, "enable_caching") and _can_be_made(manager, enable_caching=True),
        window=_can_be_made(manager, sliding_window=1),
        swap=_swaps(manager),
        append_lookahead=_takes(getattr(manager, append), "num_lookahead_slots"),
        allocate_lookahead=_takes(manager.can_allocate, "num_lookahead_slots"),
        swap_in_lookahead=_takes(manager.can_swap_in, "num_lookahead_slots"),
        swap_call_lookahead=_takes(manager.swap_in, "num_lookahead_slots"),
        cached_tokens=hasattr(manager, "get_num_cached_tokens"),
        extra_hash=generation is Generation.SECOND and _hashes_extra(engine),
        chunk_marks=_takes(getattr(manager, "mark_blocks_as_computed", manager), "token_chunk_size"),
        resets=hasattr(manager, "reset_prefix_cache"),
        cpu_ids_follow_gpu=generation is Generation.SECOND,
    )


def _out_of_blocks(engine: LoadedEngine, generation: Generation) -> type[Exception]:
    if generation is Generation.FIRST:
        return ValueError  # it says so in words only, for a double free too
    allocator = engine.module("vllm.core.block.interfaces").BlockAllocator
    error: type[Exception] = allocator.NoFreeBlocksError
    return error


def _can_be_made(manager: Any, **options: object) -> bool:
    """Early releases take an option and then refuse it with an assertion."""
    try:
        manager(block_size=1, num_gpu_blocks=1, num_cpu_blocks=1, **options)
    except AssertionError:
        return False
    return True


def _swaps(manager: Any) -> bool:
    """Where swapping is not written yet, even swapping nothing says so."""
    try:
        manager(block_size=1, num_gpu_blocks=1, num_cpu_blocks=1).swap_out(SequenceGroup("nothing", []))
    except NotImplementedError:
        return False
    return True


def _hashes_extra(engine: LoadedEngine) -> bool:
    module = "vllm.core.block.block_table"
    return engine.has(module) and _takes(engine.module(module).BlockTable.allocate, "extra_hash")


def _takes(function: Any, parameter: str) -> bool:
    return parameter in inspect.signature(function).parameters
