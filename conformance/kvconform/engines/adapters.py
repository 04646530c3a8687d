"""The adapters of published engines, by name and version.

Knows: which engine each adapter drives, and which versions of it are on this machine. Must not know: how any of them
is driven, or a command line.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from kvconform.adapter import Adapter, capabilities_of
from kvspec.vocabulary import Capability

from .errors import EngineError, NotInThisVersion, UnknownEngine
from .known import known_engine
from .loader import LoadedEngine, load
from .sources import installed_version
from .store import list_fetched
from .vllm_managers import Generation
from .vllm_v0 import vllm_v0_class
from .vllm_v1 import vllm_v1_class
from .vllm_v1_early import NAME as V1

_CLASSES: dict[str, Callable[[LoadedEngine, str], type[Adapter]]] = {
    **{generation.value: vllm_v0_class for generation in Generation},
    V1: vllm_v1_class,
}


@dataclass(frozen=True)
class Target:
    """One adapter of a published engine, as it can be used here.

    versions: what each version on this machine that has such a manager can do. problems: what is wrong with versions
    that cannot be loaded. hint: what to do for more.
    """

    name: str
    versions: Mapping[str, frozenset[Capability]]
    problems: Mapping[str, str]
    hint: str


def adapter_class(name: str, version: str | None = None) -> type[Adapter]:
    """The adapter of that name for that version of its engine, or for the one installed.

    Raises `UnknownEngine` where there is no such adapter, `EngineUnavailable` where the engine is not here,
    `NotInThisVersion` where it is but has no such manager.
    """
    make = _CLASSES.get(name)
    if make is None:
        raise UnknownEngine(f"no adapter named {name!r}; engine adapters: {', '.join(sorted(_CLASSES))}")
    return make(load(name, version), name)


def adapter_factory(name: str, version: str | None = None) -> Callable[[], Adapter]:
    """The same as something to be called for a fresh adapter."""
    return adapter_class(name, version)


def available() -> list[Target]:
    """Every engine adapter, with the versions that are here."""
    return [_target(name) for name in sorted(_CLASSES)]


def _target(name: str) -> Target:
    engine = known_engine(name)
    versions, problems = {}, {}
    here = [entry.version for entry in list_fetched(engine.name)]
    installed = installed_version(engine.name)
    for version in [*here, *([installed] if installed and installed not in here else [])]:
        try:
            versions[version] = capabilities_of(adapter_class(name, version)())
        except NotInThisVersion:
            continue
        except EngineError as problem:
            problems[version] = str(problem)
    return Target(name, versions, problems, f"kvconform engines fetch {engine.name}==VERSION")
