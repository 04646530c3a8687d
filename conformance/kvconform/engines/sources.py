"""Where a version's source text is read: from the verified cache, or from an installed package.

Knows: folders, manifests, installed distributions. Must not know: how modules are run.
"""

from __future__ import annotations

import importlib.util
from importlib import metadata
from pathlib import Path

from .isolate import SourceFile
from .manifest import Manifest


class FetchedSources:
    """Only files that the manifest lists, and only if they still are what was fetched."""

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self._folder = folder
        self._manifest = manifest

    def find(self, module: str) -> SourceFile | None:
        """The verified source of a module."""
        for path, is_package in _candidates(module):
            if path in self._manifest.files:
                return SourceFile(self._folder / path, self._manifest.read(self._folder, path), is_package)
        return None


class InstalledSources:
    """The files of a package as they are installed. The package itself is never imported."""

    def __init__(self, parent: Path) -> None:
        self._parent = parent

    def find(self, module: str) -> SourceFile | None:
        """The source of a module."""
        for path, is_package in _candidates(module):
            file = self._parent / path
            if file.is_file():
                return SourceFile(file, file.read_bytes(), is_package)
        return None


def installed_version(distribution: str) -> str | None:
    """The version that is installed, if any."""
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def installed_folder(package: str) -> Path | None:
    """The folder that holds the installed package's folder. Finding it runs nothing of the package."""
    found = importlib.util.find_spec(package)
    if found is None or not found.submodule_search_locations:
        return None
    return Path(next(iter(found.submodule_search_locations))).parent


def _candidates(module: str) -> tuple[tuple[str, bool], tuple[str, bool]]:
    stem = module.replace(".", "/")
    return (f"{stem}/__init__.py", True), (f"{stem}.py", False)
