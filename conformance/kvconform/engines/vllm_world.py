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
from .isolate import SourceTree, StandIn, World

# Packages whose own `__init__` is not kept, or would import half of the engine.
BARE = ("vllm", "vllm.v1", "vllm.distributed", "vllm.v1.metrics")

# A module of V1's managers since they are made of a coordinator and of one manager for each kind of layer.
LATER_V1 = "vllm.v1.core.block_pool"

_Item = TypeVar("_Item")


def _ceil_div(amount: int, unit: int) -> int:
    return -(-amount // unit)


def _chunks(items: list[_Item], size: int) -> list[list[_Item]]:
    """A list, as to 0.5 it was added to another; later releases only walk through it."""
    return [items[start : start + size] for start in range(0, len(items), size)]


# What managers warn of is part of being tested (a refused reset): it shows only where somebody sets logging up.
logging.getLogger("kvconform.engines").addHandler(logging.NullHandler())


def _quiet_logger(name: str) -> logging.Logger:
    """Warnings of a manager under test go to the usual logging, under the kit's own name."""
    return logging.getLogger(f"kvconform.engines.{name}")


class _NoPlatform:
    """A platform that is none of the special ones: all `is_...()` questions are answered no."""

    def __getattr__(self, name: str) -> Callable[[], bool]:
        if name.startswith("is_"):
            return lambda: False
        raise AttributeError(name)

    def register_custom_kv_cache_specs(self, *arguments: object) -> None:
        """It has no kinds of layers of its own."""


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


class _NamesInside(type):
    """Members of what is only named, such as an enumeration's, are their own names."""

    def __getattr__(cls, name: str) -> str:
        if name.startswith("__"):
            raise AttributeError(name)
        return f"{cls.__name__}.{name}"


class _Unused(metaclass=_NamesInside):
    """Whatever a module only names, in annotations and defaults. Calling it is a mistake that must show."""

    def __init__(self, *arguments: object, **options: object) -> None:
        raise NotImplementedError(f"{type(self).__name__} is only a name here: kvconform has no stand-in for it")


class _Names(ModuleType):
    """A module in which every name is that of an unused class."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        found = type(name, (_Unused,), {})
        setattr(self, name, found)
        return found


def _names(name: str) -> ModuleType:
    module = _Names(name, "A stand-in made by kvconform, of which nothing is used.")
    module.__path__ = []
    return module


_ONLY_NAMED = (
    "torch",
    "vllm.distributed.kv_events",
    "vllm.envs",
    "vllm.model_executor",
    "vllm.multimodal",
    "vllm.multimodal.utils",
    "vllm.utils.hashing",
    "vllm.utils.mem_utils",
    "vllm.utils.torch_utils",
    "vllm.v1.attention",
    "vllm.v1.attention.backends",
    "vllm.v1.attention.backends.registry",
    "vllm.v1.kv_cache_layout",
    "vllm.v1.metrics.stats",
    "vllm.v1.utils",
)

LATER_STAND_INS: dict[str, StandIn] = {
    **{name: stand_in for name, stand_in in STAND_INS.items() if name != "vllm.v1.kv_cache_interface"},
    "vllm.utils": _module(
        {
            "Device": vllm_standins.Device,
            "cdiv": _ceil_div,
            "chunk_list": _chunks,
            "GiB_bytes": 1 << 30,
            "STR_NOT_IMPL_ENC_DEC_SWA": "sliding window with an encoder is not supported",
            "STR_NOT_IMPL_ENC_DEC_PREFIX_CACHE": "prefix caching with an encoder is not supported",
            **dict.fromkeys(("sha256", "sha256_cbor", "get_dtype_size"), _Unused),
        }
    ),
    # Outside an engine there is no current configuration.
    "vllm.config": _module({"VllmConfig": object, "get_current_vllm_config_or_none": lambda: None}),
    **dict.fromkeys(_ONLY_NAMED, _names),
}


def world_of(sources: SourceTree) -> World:
    """The modules of one release of vLLM."""
    later = sources.find(LATER_V1) is not None
    return World(sources, LATER_STAND_INS if later else STAND_INS, BARE)
