"""Loading one version of a published engine, unmodified and in isolation.

Knows: where a version may be found and how its world is put together. Must not know: the network (a check
never fetches), or how an engine is driven.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import ModuleType

from . import vllm_world
from .errors import EngineUnavailable, NotInThisVersion
from .isolate import SourceTree, World
from .known import VLLM, KnownEngine, known_engine
from .manifest import FILE_NAME, read_manifest
from .sources import FetchedSources, InstalledSources, installed_folder, installed_version
from .spec import check_version
from .store import folder_of, list_fetched


@dataclass(frozen=True)
class LoadedEngine:
    """One version of an engine, ready to be imported from."""

    name: str
    version: str
    origin: str  # "fetched" or "installed"
    path: Path
    world: World = field(repr=False, compare=False)

    def has(self, module: str) -> bool:
        """Whether this version has that module."""
        return self.world.has(module)

    def module(self, name: str) -> ModuleType:
        """One of its modules, imported when first asked for."""
        if not self.has(name):
            raise NotInThisVersion(
                f"{self.name} {self.version} has no {name}; if it should, run: "
                f"kvconform engines fetch {self.name}=={self.version}"
            )
        return self.world.import_module(name)


def load(name: str, version: str | None = None) -> LoadedEngine:
    """The engine in that version, or whatever is installed; `EngineUnavailable` if it is not here."""
    engine = known_engine(name)
    if version is None:
        return _load_installed(engine)
    wanted = check_version(version)
    folder = folder_of(engine.name, wanted)
    if folder.is_dir():
        read_manifest(folder)  # says what to do if there is none
        return _fetched(engine, folder, (folder / FILE_NAME).read_bytes())
    if installed_version(engine.name) == wanted:
        return _load_installed(engine)
    raise EngineUnavailable(f"{engine.name} {wanted} is not here; run: kvconform engines fetch {engine.name}=={wanted}")


@cache
def _fetched(engine: KnownEngine, folder: Path, manifest_text: bytes) -> LoadedEngine:
    """A world per content of the manifest: what is fetched anew is loaded anew."""
    manifest = read_manifest(folder)
    return LoadedEngine(
        engine.name, manifest.version, "fetched", folder, _world(engine, FetchedSources(folder, manifest))
    )


def _load_installed(engine: KnownEngine) -> LoadedEngine:
    version = installed_version(engine.name)
    folder = installed_folder(engine.package) if version else None
    if version is None or folder is None:
        here = [entry.version for entry in list_fetched(engine.name)]
        example = f"kvconform engines fetch {engine.name}=={engine.known_good[-1]}"
        advice = (
            f"name a fetched version behind an @: {', '.join(here)}"
            if here
            else f"none is fetched either; run: {example}"
        )
        raise EngineUnavailable(f"{engine.name} is not installed in this Python; {advice}")
    return _installed(engine, version, folder)


@cache
def _installed(engine: KnownEngine, version: str, folder: Path) -> LoadedEngine:
    world = _world(engine, InstalledSources(folder))
    return LoadedEngine(engine.name, version, "installed", folder / engine.package, world)


def _world(engine: KnownEngine, sources: SourceTree) -> World:
    if engine is VLLM:
        return vllm_world.world_of(sources)
    # An engine that needs no stand-ins still never runs its own top-level `__init__`.
    return World(sources, {}, (engine.package,))
