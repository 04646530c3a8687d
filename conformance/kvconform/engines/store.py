"""The cache of fetched engines: putting an engine's Python sources there, whole or not at all.

Knows: the cache folder, downloading, verifying, atomic replacement. Must not know: how engines are
imported or driven. Nothing of a fetched package is ever run here.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from .archive import archive_kind, kept_files
from .download import Progress, download
from .errors import ArchiveRejected, EngineDamaged, FetchFailed
from .known import KnownEngine, known_checksum, known_engine
from .manifest import Archive, Manifest, kvconform_version, read_manifest, sha256, sha256_of_file
from .spec import EngineSpec, check_name, check_version, version_key


@dataclass(frozen=True)
class Fetched:
    """One engine in the cache."""

    name: str
    version: str
    path: Path


def cache_root() -> Path:
    """Where engines are kept: $KVCONFORM_ENGINES, else a folder in the user's cache."""
    chosen = os.environ.get("KVCONFORM_ENGINES")
    if chosen:
        return Path(chosen).expanduser().absolute()
    cache = os.environ.get("XDG_CACHE_HOME")
    base = Path(cache) if cache else Path.home() / ".cache"
    return base / "kvconform" / "engines"


def folder_of(name: str, version: str) -> Path:
    """Where this version of this engine is, or would be."""
    return cache_root() / f"{check_name(name)}-{check_version(version)}"


def list_fetched(name: str | None = None) -> list[Fetched]:
    """What is in the cache, in order of name and version. Files are not verified; loading does that."""
    found = []
    for folder in cache_root().glob("[!.]*/"):
        try:
            manifest = read_manifest(folder)
        except EngineDamaged:
            continue
        if name is None or manifest.name == check_name(name):
            found.append(Fetched(manifest.name, manifest.version, folder))
    return sorted(found, key=lambda entry: (entry.name, version_key(entry.version)))


def fetch(name: str, version: str, *, progress: Progress | None = None) -> Path:
    """Put one version's Python sources into the cache and return its folder.

    If they are there and intact, nothing is downloaded; if they are damaged, they are fetched again.
    """
    say = progress or (lambda line: None)
    engine = known_engine(name)
    spec = EngineSpec(engine.name, check_version(version))
    folder = folder_of(*spec)
    problem = _why_not_usable(folder, engine, spec)
    if problem is None:
        say(f"{spec}: already in {folder}")
        return folder
    if folder.exists():
        say(f"{spec}: {problem}; fetching again")
    root = _make_root(folder.parent)
    try:
        # In the same folder as the result, so that the last step is one rename.
        with tempfile.TemporaryDirectory(prefix=".fetching-", dir=root, ignore_cleanup_errors=True) as scratch:
            fresh = _fetch_into(Path(scratch), engine, spec, say)
            _move_into_place(fresh, folder, Path(scratch), lambda: _why_not_usable(folder, engine, spec))
    except OSError as error:
        raise FetchFailed(
            f"{spec} cannot be kept in {root} ({error.strerror}); make room, or set KVCONFORM_ENGINES"
        ) from error
    say(f"{spec}: now in {folder}")
    return folder


def _why_not_usable(folder: Path, engine: KnownEngine, spec: EngineSpec) -> str | None:
    """None if the folder holds all that the table asks for, intact; else what is wrong with it."""
    try:
        manifest = read_manifest(folder)
        manifest.verify(folder)
    except EngineDamaged as damage:
        return str(damage)
    if (manifest.name, manifest.version) != spec:
        return f"{folder} holds {manifest.name} {manifest.version}"
    if manifest.keep != engine.keep:
        return f"{folder} was fetched by a kvconform that kept other files"
    return None


def _make_root(root: Path) -> Path:
    try:
        root.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise FetchFailed(
            f"cannot make the folder {root} ({problem.strerror}); set KVCONFORM_ENGINES to one that can be written"
        ) from problem
    return root


def _fetch_into(scratch: Path, engine: KnownEngine, spec: EngineSpec, say: Progress) -> Path:
    """Download, compare, pick the kept files, and write them with their manifest into the scratch folder."""
    downloads = scratch / "download"
    downloads.mkdir()
    path = download(spec, downloads, say, sdist=engine.sdist)
    archive = _checked_archive(path, spec)
    say(f"{spec}: {archive.name}, sha256 {archive.sha256}{'' if archive.pinned else ' (not on record)'}")
    files = kept_files(path, engine.keeps)
    _check_is(files, archive, engine, spec)
    fresh = scratch / "fresh"
    for name, content in files.items():
        target = fresh / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    digests = {name: sha256(content) for name, content in sorted(files.items())}
    Manifest(spec.name, spec.version, archive, digests, engine.keep, kvconform_version()).write(fresh)
    say(f"{spec}: kept {len(files)} files")
    return fresh


def _checked_archive(path: Path, spec: EngineSpec) -> Archive:
    digest = sha256_of_file(path)
    expected = known_checksum(spec.name, spec.version, path.name)
    if expected is not None and digest != expected:
        raise ArchiveRejected(
            f"{path.name} has sha256 {digest}, but {expected} is on record; it was not kept. "
            "Look at which index your pip is configured to use (python -m pip config list)"
        )
    return Archive(path.name, digest, archive_kind(path), pinned=expected is not None)


def _check_is(files: dict[str, bytes], archive: Archive, engine: KnownEngine, spec: EngineSpec) -> None:
    """The archive must say that it is what was asked for, and hold something to keep."""
    about = files.get("PKG-INFO", files.get("METADATA", b"")).decode("utf-8", "replace")
    fields = dict(line.split(": ", 1) for line in about.split("\n\n", 1)[0].splitlines() if ": " in line)
    if check_name(fields.get("Name", "none").strip()) != spec.name or fields.get("Version", "").strip() != spec.version:
        raise ArchiveRejected(f"{archive.name} does not say in its metadata that it is {spec}; it was not kept")
    if not any(engine.keeps(name) for name in files):
        raise ArchiveRejected(
            f"{spec} holds none of the files that a check needs; versions known to work: {', '.join(engine.known_good)}"
        )


def _move_into_place(fresh: Path, folder: Path, scratch: Path, problem: Callable[[], str | None]) -> None:
    """One rename, which another fetch of the same version may win: then its result is ours too."""
    for attempt in range(10):
        try:
            fresh.rename(folder)
            return
        except OSError as error:
            if not folder.exists():
                raise FetchFailed(f"cannot write {folder} ({error.strerror}); free some space or look at it") from error
        if problem() is None:
            shutil.rmtree(fresh)
            return
        # What is there is damaged or outdated: out of the way, whole, so that nobody sees a part of it.
        try:
            folder.rename(scratch / f"old-{attempt}")
        except FileNotFoundError:
            continue  # another fetch was quicker to move it away
        except OSError as error:
            raise FetchFailed(f"cannot replace {folder} ({error.strerror}); remove it and fetch again") from error
    raise FetchFailed(f"{folder} keeps changing while it is fetched; try again when no other fetch runs")
