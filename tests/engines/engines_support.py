"""Made-up archives and a made-up package index, for tests of engines without a network."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Callable
from pathlib import Path

from kvconform.engines import EngineSpec

#: What a made-up package of this test suite holds.
FILES = {
    "PKG-INFO": b"Metadata-Version: 2.1\nName: vllm\nVersion: 9.9.9\n\nSome text\n",
    "LICENSE": b"a licence\n",
    "setup.py": b"raise SystemExit('set-up code must never run')\n",
    "vllm/__init__.py": b"raise SystemExit('package code must never run')\n",
    "vllm/block.py": b"class PhysicalTokenBlock:\n    pass\n",
    "vllm/core/__init__.py": b"",
    "vllm/core/thing.py": b"ANSWER = 42\n",
    "vllm/core/notes.txt": b"not Python\n",
    "vllm/worker.py": b"import torch\n",
}


def make_sdist(path: Path, files: dict[str, bytes], top: str = "vllm-9.9.9/") -> Path:
    """A source distribution with these files."""
    with tarfile.open(path, "w:gz") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(top + name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return path


class FakeIndex:
    """Stands in for pip: hands out one made-up archive and counts how often it was asked."""

    def __init__(self) -> None:
        self.files = dict(FILES)
        self.asked = 0
        self.before: Callable[[], object] = lambda: None

    def download(self, spec: EngineSpec, into: Path, progress: object, *, sdist: bool) -> Path:
        """What `kvconform.engines.download.download` does."""
        self.asked += 1
        self.before()
        return make_sdist(into / f"{spec.name}-{spec.version}.tar.gz", self.files)
