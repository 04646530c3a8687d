"""Which modules of vLLM's world are its own sources, and which are stand-ins.

Knows: what the managers' modules import, release by release. Must not know: how sequences are driven.
Everything below `vllm.core`, and `vllm.block`, is vLLM's own; only its surroundings are stand-ins.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from types import ModuleType
from typing import Any, TypeVar

from . import vllm_standins
from .isolate import StandIn

# Packages whose own `__init__` is not kept, or would import half of the engine.
BARE = ("vllm", "vllm.v1", "vllm.distributed", "vllm.v1.metrics")

_Item = TypeVar("_Item")


def _ceil_div(amount: int, unit: int) -> int:
    return -(-amount // unit)


def _chunks(items: list[_Item], size: int) -> list[list[_Item]]:
    """A list, as to 0.5 it was added to another; later releases only walk through it."""
    return [items[start : start + size] for start in range(0, len(items), size)]


def _quiet_logger(name: str) -> logging.Logger:
    """Warnings of a manager under test go to the usual logging, under the kit's own name."""
    return logging.getLogger(f"kvconform.engines.{name}")


class _NoPlatform:
    """A platform that is none of the special ones: all `is_...()` questions are answered no."""

    def __getattr__(self, name: str) -> Callable[[], bool]:
        if name.startswith("is_"):
            return lambda: False
        raise AttributeError(name)


def _module(attributes: Mapping[str, Any]) -> StandIn:
    def make(name: str) -> ModuleType:
        module = ModuleType(name, "A stand-in made by kvconform.")
        module.__path__ = []  # so that the sources' own submodules can be imported below it
        vars(module).update(attributes)
        return module

    return make


def _named(holder: object, names: Iterable[str]) -> dict[str, Any]:
    return {name: getattr(holder, name) for name in names}


STAND_INS: dict[str, StandIn] = {
    "vllm.sequence": _module(_named(vllm_standins, ("Sequence", "SequenceData", "SequenceGroup", "SequenceStatus"))),
    "vllm.utils": _module(
        {
            "Device": vllm_standins.Device,
            "cdiv": _ceil_div,
            "chunk_list": _chunks,
            "STR_NOT_IMPL_ENC_DEC_SWA": "sliding window with an encoder is not supported",
            "STR_NOT_IMPL_ENC_DEC_PREFIX_CACHE": "prefix caching with an encoder is not supported",
        }
    ),
    "vllm.config": _module({"VllmConfig": object}),
    # What the first managers of V1 import of these they only name in annotations.
    "vllm.v1.request": _module(_named(vllm_standins, ("Request", "RequestStatus"))),
    "vllm.v1.kv_cache_interface": _module(
        dict.fromkeys(("KVCacheConfig", "KVCacheSpec", "KVCacheTensor", "KVCacheSpecBase"), object)
    ),
    "vllm.logger": _module({"init_logger": _quiet_logger}),
    "vllm.platforms": _module({"current_platform": _NoPlatform()}),
}
