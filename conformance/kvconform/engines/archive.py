"""Taking a few Python files out of a source distribution or a wheel, and nothing else.

Knows: archive formats and what an archive may not do. Must not know: where archives come from.
Members are read one by one; nothing is ever unpacked by the archive's own rules.
"""

from __future__ import annotations

import tarfile
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO

from .errors import ArchiveRejected

# A source file or licence is far smaller; anything above this is not one.
LARGEST_FILE = 8 << 20
LARGEST_TOTAL = 64 << 20

_LICENCES = ("LICENSE", "LICENSE.txt", "LICENSE.md", "LICENCE", "COPYING", "NOTICE")
_METADATA = ("PKG-INFO", "METADATA")


def kept_files(archive: Path, keeps: Callable[[str], bool]) -> dict[str, bytes]:
    """The files to keep by their path inside the package, with licence and metadata at the top."""
    kept: dict[str, bytes] = {}
    total = 0
    for name, read in _members(archive):
        path = _wanted_path(name, keeps)
        if path is None or path in kept:
            continue
        kept[path] = content = read()
        total += len(content)
        if total > LARGEST_TOTAL:
            raise ArchiveRejected(f"{archive.name} holds more than {LARGEST_TOTAL} bytes of files to keep; refused")
    return kept


def archive_kind(archive: Path) -> str:
    """Whether it is a "wheel" or an "sdist"."""
    return "wheel" if archive.suffix == ".whl" else "sdist"


def _members(archive: Path) -> Iterator[tuple[str, Callable[[], bytes]]]:
    """Every regular file's name, seen from the package's root, with a way to read it."""
    try:
        if archive.name.endswith((".whl", ".zip")):
            yield from _zip_members(archive)
        else:
            yield from _tar_members(archive)
    except (tarfile.TarError, zipfile.BadZipFile, EOFError, OSError) as problem:
        raise ArchiveRejected(f"{archive.name} cannot be read as an archive ({problem}); fetch again") from problem


def _zip_members(archive: Path) -> Iterator[tuple[str, Callable[[], bytes]]]:
    with zipfile.ZipFile(archive) as opened:
        for entry in opened.infolist():
            _refuse_escapes(archive, entry.filename)
            if not entry.is_dir():
                name = entry.filename if archive.suffix == ".whl" else _below_top(entry.filename)
                yield name, partial(_read_zip, archive, opened, entry)


def _tar_members(archive: Path) -> Iterator[tuple[str, Callable[[], bytes]]]:
    with tarfile.open(archive) as opened:
        for entry in opened:
            _refuse_escapes(archive, entry.name)
            # Links are never followed: a kept file is a plain file.
            if entry.isreg():
                yield _below_top(entry.name), partial(_read_tar, archive, opened, entry)


def _read_zip(archive: Path, opened: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    return _read(archive, entry.filename, opened.open(entry))


def _read_tar(archive: Path, opened: tarfile.TarFile, entry: tarfile.TarInfo) -> bytes:
    stream = opened.extractfile(entry)
    if stream is None:
        raise ArchiveRejected(f"{archive.name} lists {entry.name!r} but does not hold it; refused")
    return _read(archive, entry.name, stream)


def _read(archive: Path, name: str, stream: IO[bytes]) -> bytes:
    with stream:
        content = stream.read(LARGEST_FILE + 1)
    if len(content) > LARGEST_FILE:
        raise ArchiveRejected(f"{archive.name}: {name!r} is larger than {LARGEST_FILE} bytes; refused")
    return content


def _refuse_escapes(archive: Path, name: str) -> None:
    """An archive that tries to write outside its folder is not read any further."""
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\\" in name or ":" in name.split("/")[0] or "\0" in name:
        raise ArchiveRejected(f"{archive.name} holds the unsafe path {name!r}; refused, nothing was kept")


def _below_top(name: str) -> str:
    """A source distribution has everything in one folder NAME-VERSION."""
    return "/".join(PurePosixPath(name).parts[1:])


def _wanted_path(name: str, keeps: Callable[[str], bool]) -> str | None:
    if keeps(name):
        return name
    parts = name.split("/")
    # At the root of a source distribution; inside NAME-VERSION.dist-info of a wheel.
    about = len(parts) == 1 or parts[0].endswith(".dist-info")
    return parts[-1] if about and parts[-1] in _LICENCES + _METADATA else None
