"""The page and the example that go with the data."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from kvspec.edges.page import filled
from kvspec.edges.vectors import FILE_NAME, load
from kvspec.edges.vectors import __file__ as code

DOCS = Path(__file__).parents[2] / "docs"


def test_the_tables_of_the_page_are_those_of_the_data() -> None:
    text = (DOCS / "vectors.md").read_text(encoding="utf-8")
    assert filled(text) == text, "write it anew: python -m kvspec.edges.page docs/vectors.md"


def test_the_example_runs_every_vector_without_kvconform() -> None:
    example, data = DOCS / "examples" / "read_vectors.py", Path(code).with_name(FILE_NAME)
    told = subprocess.run([sys.executable, "-I", example, data], capture_output=True, text=True, check=True).stdout
    number = sum(bool(vector.shows) for vector in load().vectors)
    assert told == f"kvconform/vectors@1: {number} vectors, 0 wrong verdicts\n"
    assert len(example.read_text(encoding="utf-8").splitlines()) <= 60
