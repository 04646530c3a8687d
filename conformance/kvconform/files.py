"""Writing what a command or a test run leaves behind: all of it or nothing, and complaints before the work, not after.

Knows files and folders; it must not know what is in them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import msgspec

from kvconform.errors import UsageError

DEFAULT_OUT = Path(".kvconform")


def write_json(path: Path | None, data: Any) -> None:
    """Write JSON, all or nothing. Raises UsageError where the file cannot be written."""
    if path is not None:
        write_files({path: msgspec.json.format(msgspec.json.encode(data), indent=2) + b"\n"})


def write_files(contents: Mapping[Path, bytes]) -> None:
    """Write all these files or, where one cannot be written, none. Raises UsageError then."""
    partials = {path: partial_name(path) for path in contents if path.name and not _is_stream(path)}
    path = Path()
    try:
        for path, partial in partials.items():
            partial.write_bytes(contents[path])
        for path in contents:
            if path not in partials:
                path.write_bytes(contents[path])
        for path, partial in partials.items():
            partial.replace(_target(path))
    except (OSError, ValueError) as error:  # ValueError: a name that no file can have
        for partial in partials.values():
            partial.unlink(missing_ok=True)
        _cannot(path, error)


def partial_name(path: Path) -> Path:
    """Where a file is written before it is renamed: test runs write the same one in several processes."""
    target = _target(path)
    return target.with_name(f"{target.name}.{os.getpid()}.part")


def writable_file(path: Path | None) -> None:
    """See at once, not after the work, whether the file can be written. Raises UsageError where not."""
    if path is None:
        return
    try:
        if path.is_dir() or not path.name:
            raise UsageError(f"cannot write {path}: it is a folder")
        if _is_stream(path):
            if not os.access(path, os.W_OK):
                raise UsageError(f"cannot write {path}: not allowed")
        elif not os.access(_target(path).parent, os.W_OK | os.X_OK) or not _target(path).parent.is_dir():
            raise UsageError(f"cannot write {path}: {path.parent} is not a folder that can be written to")
    except (OSError, ValueError) as error:
        _cannot(path, error)


def writable_files(
    named: Sequence[tuple[str, Path]], kept: Sequence[tuple[str, Path]] = (), made: Path | None = None
) -> None:
    """See at once whether all these files can be written, each its own. named: with the option that names it; kept:
    what none of them may be, with what it is; made: a folder that is made where it is missing. Raises UsageError where
    not.
    """
    taken = {_target(path): what for what, path in kept}
    for option, path in named:
        if made is None or made.exists() or _target(path).parent != _target(made):
            writable_file(path)
        if _is_stream(path):
            continue
        if _target(path) in taken:
            raise UsageError(f"{option} {path} would overwrite {taken[_target(path)]}: give each its own file")
        taken[_target(path)] = f"what {option} writes"


def writable_folder(path: Path) -> Path:
    """The folder, made where it is missing; a `.kvconform` ignores itself in git.

    Raises UsageError where it cannot be made.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
        if path.name == DEFAULT_OUT.name and not (path / ".gitignore").exists():
            (path / ".gitignore").write_text("*\n")
    except OSError as error:
        raise UsageError(f"cannot write to {path}: {error.strerror or error}") from None
    return path


def slug(spec: str) -> str:
    """A target's name as part of a file name: two targets may share a folder."""
    return re.sub(r"[^\w.@-]+", "-", spec)


def _cannot(path: Path, error: Exception) -> NoReturn:
    raise UsageError(f"cannot write {path}: {getattr(error, 'strerror', None) or error}") from None


def _target(path: Path) -> Path:
    """Where the bytes go: a link stays a link."""
    return Path(os.path.realpath(path))


def _is_stream(path: Path) -> bool:
    """Whether this is no file that another could take the place of: /dev/null, /dev/stdout, a pipe."""
    beginning = os.path.abspath(path).startswith(("/dev/", "/proc/"))
    return path.exists() and (beginning or not (path.is_file() or path.is_dir()))
