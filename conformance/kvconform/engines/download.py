"""Getting one archive of one version with the user's own pip, without running any of the package's code.

Knows: pip's command line and what its messages mean. Must not know: which files are kept, or where.
Where packages come from is the user's pip configuration; nothing here names an index.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NoReturn

from .errors import EngineError, FetchFailed, UnknownVersion
from .spec import EngineSpec

Progress = Callable[[str], None]

# pip asks a source distribution's build backend for metadata before it hands over the file. This one
# stands in for setuptools, copies the metadata that the archive already carries, and so no set-up runs.
_STAND_IN_BACKEND = """\
import os, sys

def _field(name):
    with open("PKG-INFO", encoding="utf-8") as lines:
        for line in lines:
            if line.lower().startswith(name + ":"):
                return line.partition(":")[2].strip()
    raise SystemExit("PKG-INFO has no " + name)

def prepare_metadata_for_build_wheel(folder, config_settings=None):
    name, version = _field("name"), _field("version")
    info = name.replace("-", "_") + "-" + version + ".dist-info"
    os.makedirs(os.path.join(folder, info))
    with open(os.path.join(folder, info, "METADATA"), "w", encoding="utf-8") as out:
        out.write("Metadata-Version: 2.1\\nName: " + name + "\\nVersion: " + version + "\\n")
    return info

def build_wheel(*arguments, **options):
    raise SystemExit("this stand-in never builds")

def get_requires_for_build_wheel(config_settings=None):
    return []

__legacy__ = sys.modules[__name__]
"""

# Any wheel will do, whatever it was built for: only its Python sources are read.
_PLATFORMS = ("manylinux1_x86_64", "manylinux2014_x86_64", "manylinux_2_28_x86_64", "manylinux_2_31_x86_64")
_FOREIGN_WHEELS = (
    *(f"--platform={platform}" for platform in _PLATFORMS),
    *("--python-version=3.11", "--implementation=cp", "--abi=cp311", "--abi=abi3", "--abi=none"),
)

_UNREACHABLE = ("after connection broken", "ConnectionError", "NewConnectionError", "Name or service not known",
                "Temporary failure in name resolution", "ProxyError", "ReadTimeoutError", "ConnectTimeoutError",
                "SSLError", "Network is unreachable")  # fmt: skip


class _Unreachable(FetchFailed):
    """No use in asking again for another kind of archive."""


class _NothingOffered(FetchFailed):
    """No archive of this kind at all: there is none, or the index cannot be reached."""


def download(spec: EngineSpec, into: Path, progress: Progress, *, sdist: bool = True) -> Path:
    """The archive of one version: its source distribution, or else a wheel; without `sdist` only a wheel.

    A source distribution is only safe to ask for if its build backend is setuptools, which is stood in for.
    """
    if sdist:
        progress(f"{spec}: asking pip for the source distribution")
        try:
            return _download_sdist(spec, into)
        except _Unreachable:
            raise
        except EngineError:
            progress(f"{spec}: no source distribution could be used")
    progress(f"{spec}: asking pip for a wheel, which can be very large")
    try:
        return _pip_download(spec, into, ["--only-binary", spec.name])
    except (UnknownVersion, _NothingOffered):
        return _pip_download(spec, into, ["--only-binary", spec.name, *_FOREIGN_WHEELS])


def _download_sdist(spec: EngineSpec, into: Path) -> Path:
    with tempfile.TemporaryDirectory(prefix="kvconform-backend-") as scratch:
        backend = Path(scratch) / "setuptools"
        backend.mkdir()
        (backend / "__init__.py").touch()
        (backend / "build_meta.py").write_text(_STAND_IN_BACKEND, encoding="utf-8")
        path = os.pathsep.join(filter(None, (scratch, os.environ.get("PYTHONPATH"))))
        options = ["--no-build-isolation", "--use-pep517", "--no-binary", spec.name]
        return _pip_download(spec, into, options, {"PYTHONPATH": path})


def _pip_download(spec: EngineSpec, into: Path, options: list[str], extra: Mapping[str, str] | None = None) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--ignore-requires-python", "--no-input",
               "--disable-pip-version-check", "--progress-bar", "off", "--dest", str(into),
               *options, str(spec)]  # fmt: skip
    environment = {**os.environ, **(extra or {}), "PYTHONWARNINGS": "ignore", "LC_ALL": "C"}
    done = subprocess.run(
        command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace"
    )
    if done.returncode != 0:
        _explain(spec, done.stdout + done.stderr)
    archives = sorted(path for path in into.iterdir() if path.is_file())
    if len(archives) != 1:
        raise FetchFailed(f"pip said it downloaded {spec} but left {len(archives)} files; try again")
    return archives[0]


def _explain(spec: EngineSpec, output: str) -> NoReturn:
    """Turn pip's words into one exception that says what to do."""
    if "No module named pip" in output:
        raise _Unreachable(f"{spec} cannot be fetched: pip is not in this Python; run: {sys.executable} -m ensurepip")
    offered = re.search(r"\(from versions: ([^)]*)\)", output)
    versions = offered.group(1) if offered else ""
    unreachable = any(sign in output for sign in _UNREACHABLE)
    if unreachable or (offered and versions in ("", "none")):
        raise (_Unreachable if unreachable else _NothingOffered)(
            f"{spec} cannot be fetched: the package index cannot be reached or does not have {spec.name}; "
            "check the network and your pip configuration (python -m pip config list), then run this again"
        )
    if offered:
        raise UnknownVersion(f"{spec.name} has no version {spec.version}; there are: {versions}")
    errors = [line for line in output.splitlines() if line.lstrip().lower().startswith("error")]
    last = errors[0] if errors else (output.strip().splitlines() or ["no message"])[-1]
    raise FetchFailed(f"pip could not download {spec}: {last.strip()}; try: python -m pip download --no-deps {spec}")
