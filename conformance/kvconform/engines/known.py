"""The table of published engines: which of their files are kept, and which versions are known to work.

Knows: names, paths inside packages, versions, checksums. Must not know: how anything is fetched or loaded.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib import resources

from .errors import UnknownEngine
from .spec import check_name


@dataclass(frozen=True)
class KnownEngine:
    """One published package and the part of it that a check needs."""

    name: str
    package: str
    #: Kept files: a path inside the archive, or a folder (ending in "/") with all Python files below it.
    keep: tuple[str, ...]
    #: Versions whose managers the tests of this project run.
    known_good: tuple[str, ...]
    #: Names of adapters that use this package, so that a person may type either.
    adapters: tuple[str, ...] = ()
    #: Whether source distributions may be asked for: only if their build backend is setuptools (see download).
    sdist: bool = True

    def keeps(self, path: str) -> bool:
        """Whether a file of the archive, named from the archive's root, is one to keep."""
        return path in self.keep or (
            path.endswith(".py") and any(path.startswith(entry) for entry in self.keep if entry.endswith("/"))
        )


VLLM = KnownEngine(
    name="vllm",
    package="vllm",
    keep=(
        # The managers of all three generations.
        "vllm/core/",
        "vllm/v1/core/",
        # The first generation's own block and block table.
        "vllm/block.py",
        # What the third generation's managers are made of.
        "vllm/v1/kv_cache_interface.py",
        "vllm/v1/kv_cache_spec_registry.py",
        "vllm/v1/hisparse/",
        "vllm/v1/metrics/stats.py",
        "vllm/v1/request.py",
        "vllm/v1/utils.py",
        "vllm/distributed/kv_events.py",
        "vllm/utils/hashing.py",
        "vllm/utils/math_utils.py",
    ),
    known_good=(
        "0.2.7",
        "0.3.0",
        "0.3.3",
        "0.4.0.post1",  # a wheel only: it has no source distribution
        "0.4.1",
        "0.4.2",
        "0.5.0",
        "0.5.3.post1",
        "0.5.4",
        "0.5.5",
        "0.6.0",
        "0.6.1.post2",
        "0.6.2",
        "0.6.3",
        "0.6.3.post1",
        "0.6.4.post1",
        "0.6.6.post1",
        "0.7.0",
        "0.8.0",
        "0.8.5.post1",
        "0.9.0",
        "0.10.2",
        "0.18.0",
        "0.33.0",
    ),
    adapters=("vllm-v0-v1", "vllm-v0-v2", "vllm-v1"),
)

ENGINES: dict[str, KnownEngine] = {engine.name: engine for engine in (VLLM,)}


def known_engine(name: str) -> KnownEngine:
    """The engine of that name, or of the adapter of that name."""
    wanted = check_name(name)
    for engine in ENGINES.values():
        if wanted == engine.name or wanted in engine.adapters:
            return engine
    raise UnknownEngine(f"no engine named {name!r} is known; known engines: {', '.join(sorted(ENGINES))}")


def known_checksum(name: str, version: str, archive: str) -> str | None:
    """The SHA-256 that this archive of this version must have, if it is on record."""
    text = resources.files("kvconform.engines").joinpath("checksums.json").read_text(encoding="utf-8")
    listed = json.loads(text).get(name, {}).get(version, {}).get(archive)
    return None if listed is None else str(listed)
