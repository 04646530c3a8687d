"""What failed in earlier times, kept to be tried first: the traces of findings, and hypothesis's examples.

Knows folders. A damaged file in them is passed over: they are a cache, and may be deleted at any time.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

from hypothesis.database import DirectoryBasedExampleDatabase

from kvconform.errors import KvconformError, UsageError
from kvconform.files import slug
from kvconform.replay import read_trace
from kvconform.trace import TraceFile

README = """What failed in earlier nightly checks, to be tried first in the next; see docs/profiles.md.
May be deleted at any time.
"""


def open_database(out: Path, spec: str) -> Database:
    """The database of this target below the folder for output. Raises UsageError where there cannot be one."""
    folder = out / "database" / slug(spec)
    try:
        return Database(folder)
    except OSError as error:
        raise UsageError(f"cannot write to {folder}: {error.strerror or error}") from None


class Database:
    """The database of one target. Raises OSError where its folder cannot be made."""

    def __init__(self, folder: Path) -> None:
        self._traces = folder / "traces"
        self._traces.mkdir(parents=True, exist_ok=True)
        (folder / "README").write_text(README, encoding="utf-8")
        self.examples = DirectoryBasedExampleDatabase(folder / "examples")

    def traces(self) -> Iterator[tuple[Path, TraceFile]]:
        """The traces that were kept, in the order of their names."""
        for path in sorted(self._traces.glob("*.jsonl")):
            try:
                yield path, read_trace(path)
            except KvconformError:
                continue  # of another version, perhaps

    def keep(self, traces: Iterable[Path]) -> None:
        """Keep these trace files."""
        for path in traces:
            partial = self._traces / (path.name + ".part")
            shutil.copyfile(path, partial)
            partial.replace(self._traces / path.name)
