"""Published engines: fetching their sources, loading them in isolation, and (one file each) driving them.

Knows: what the rest of the kit may use from here. Must not know: laws, ledgers or reports.
"""

from __future__ import annotations

from .adapters import Target, adapter_class, adapter_factory, available
from .errors import (
    ArchiveRejected,
    BadEngineSpec,
    EngineDamaged,
    EngineError,
    EngineUnavailable,
    FetchFailed,
    NotInThisVersion,
    UnknownEngine,
    UnknownVersion,
)
from .known import ENGINES, KnownEngine, known_engine
from .loader import LoadedEngine, load
from .spec import EngineSpec, parse_spec
from .store import Fetched, cache_root, fetch, folder_of, list_fetched

__all__ = [
    "ENGINES",
    "ArchiveRejected",
    "BadEngineSpec",
    "EngineDamaged",
    "EngineError",
    "EngineSpec",
    "EngineUnavailable",
    "FetchFailed",
    "Fetched",
    "KnownEngine",
    "LoadedEngine",
    "NotInThisVersion",
    "Target",
    "UnknownEngine",
    "UnknownVersion",
    "adapter_class",
    "adapter_factory",
    "available",
    "cache_root",
    "fetch",
    "folder_of",
    "known_engine",
    "list_fetched",
    "load",
    "parse_spec",
]
