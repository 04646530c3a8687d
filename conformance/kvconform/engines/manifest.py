"""The record beside a fetched engine: where its files came from, and what each of them must be.

Knows: the manifest file and checksums. Must not know: archives, networks, or how modules are imported.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path

from .errors import EngineDamaged

SCHEMA = "kvconform/engine@1"
FILE_NAME = "manifest.json"


@dataclass(frozen=True)
class Archive:
    """The downloaded file that the sources were taken from."""

    name: str
    sha256: str
    kind: str  # "sdist" or "wheel"
    pinned: bool  # whether its checksum was on record and compared


@dataclass(frozen=True)
class Manifest:
    """One fetched engine."""

    name: str
    version: str
    archive: Archive
    files: dict[str, str]  # path below the folder -> SHA-256
    keep: tuple[str, ...]  # what the table of engines asked for when it was fetched
    kvconform: str

    def write(self, folder: Path) -> None:
        """Put it beside the files that it lists."""
        text = json.dumps({"schema": SCHEMA, **asdict(self)}, indent=2, sort_keys=True)
        (folder / FILE_NAME).write_text(text + "\n", encoding="utf-8")

    def verify(self, folder: Path) -> None:
        """Read every listed file again and compare; `EngineDamaged` names the first that differs."""
        for path in self.files:
            self.read(folder, path)

    def read(self, folder: Path, path: str) -> bytes:
        """One listed file's content, which is given out only if it is what was fetched."""
        try:
            content = (folder / path).read_bytes()
        except OSError as problem:
            raise self._damaged(folder, f"{path} cannot be read ({problem.strerror})") from problem
        if sha256(content) != self.files[path]:
            raise self._damaged(folder, f"{path} is not what was fetched")
        return content

    def _damaged(self, folder: Path, what: str) -> EngineDamaged:
        return EngineDamaged(
            f"{self.name} {self.version} in {folder} is damaged: {what}; "
            f"run: kvconform engines fetch {self.name}=={self.version}"
        )


def read_manifest(folder: Path) -> Manifest:
    """The manifest in a folder; `EngineDamaged` if there is none that can be trusted."""
    try:
        raw = json.loads((folder / FILE_NAME).read_text(encoding="utf-8"))
        if raw["schema"] != SCHEMA:
            raise ValueError(f"schema {raw['schema']!r}")
        manifest = Manifest(
            name=str(raw["name"]),
            version=str(raw["version"]),
            archive=Archive(**raw["archive"]),
            files={str(path): str(digest) for path, digest in raw["files"].items()},
            keep=tuple(str(entry) for entry in raw["keep"]),
            kvconform=str(raw["kvconform"]),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as problem:
        raise EngineDamaged(f"{folder} holds no usable manifest ({problem}); fetch this engine again") from problem
    return manifest


def sha256(content: bytes) -> str:
    """The checksum as it is written in manifests."""
    return hashlib.sha256(content).hexdigest()


def sha256_of_file(path: Path) -> str:
    """The same of a file too large to hold in memory."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while chunk := stream.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


def kvconform_version() -> str:
    """The version of this kit that fetches."""
    try:
        return metadata.version("kvconform")
    except metadata.PackageNotFoundError:
        return "unknown"  # run from a checkout that is not installed
