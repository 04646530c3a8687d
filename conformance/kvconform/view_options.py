"""Gives a command the options of all views of a report, and writes what was asked for.

Knows the registry of views and the command line's types; must not know any view.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from typing import IO, Annotated, Any, Optional

import typer

from kvconform.files import writable_files, write_files
from kvconform.report.model import Report
from kvconform.report.views import ALL, View


class Wanted:
    """The views that the user asked for: files by view, and what is to be printed."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        chosen = [view for view in ALL if given[view.name]]
        self.files: list[tuple[View, Path]] = [(view, given[view.name]) for view in chosen if view.file is not None]
        self.printed: list[View] = [view for view in chosen if view.file is None]

    def __bool__(self) -> bool:
        return bool(self.files or self.printed)

    def see(self, *, folder: Path | None = None, source: Path | None = None) -> None:
        """See at once whether all files can be written, each its own. folder: where a check keeps its report; source:
        the file that a report is read from. Raises UsageError where not.
        """
        own = _own(folder)
        named = [(f"--{view.name}", path) for view, path in self.files if not _same(path, own.get(view))]
        taken = [("the report", path) for path in (*own.values(), source) if path is not None]
        writable_files(named, taken, folder)

    def write(self, document: Report, folder: Path | None = None) -> None:
        """Write all files or none. folder: where a check keeps its report. Raises UsageError."""
        own = _own(folder)
        texts = {view: view.render(document).encode() for view in {*own, *(view for view, _ in self.files)}}
        write_files({path: texts[view] for view, path in [*own.items(), *self.files]})

    def print(self, document: Report, out: IO[str]) -> None:
        """Print what was asked for, as it is: nothing may break its lines."""
        for view in self.printed:
            encoding = getattr(out, "encoding", None) or "utf-8"
            out.write(view.render(document).encode(encoding, "backslashreplace").decode(encoding))
        out.flush()


def _own(folder: Path | None) -> dict[View, Path]:
    """What every check leaves in this folder."""
    return {view: folder / view.file for view in ALL if folder is not None and view.kept and view.file is not None}


def _same(path: Path, other: Path | None) -> bool:
    return other is not None and path.resolve() == other.resolve()


def with_views(command: Callable[..., None]) -> Callable[..., None]:
    """The command with an option for each view; it gets what was asked for as its argument `views`."""

    @wraps(command)
    def wrapped(**given: Any) -> None:
        views = Wanted({view.name: given.pop(view.name) for view in ALL})
        command(**given, views=views)

    signature = inspect.signature(command, eval_str=True)
    own = [parameter for name, parameter in signature.parameters.items() if name != "views"]
    wrapped.__signature__ = signature.replace(parameters=[*own, *map(_option, ALL)])  # type: ignore[attr-defined]
    wrapped.__annotations__ = {parameter.name: parameter.annotation for parameter in [*own, *map(_option, ALL)]}
    return wrapped


def _option(view: View) -> inspect.Parameter:
    kind = inspect.Parameter.KEYWORD_ONLY
    if view.file is None:
        flag = Annotated[bool, typer.Option(f"--{view.name}", help=view.help)]
        return inspect.Parameter(view.name, kind, default=False, annotation=flag)
    file = Annotated[Optional[Path], typer.Option(f"--{view.name}", metavar="FILE", help=view.help)]  # noqa: UP045
    return inspect.Parameter(view.name, kind, default=None, annotation=file)
