"""Fixtures of the kit's tests."""

from __future__ import annotations

from pathlib import Path

import pytest
from kit_support import FEW, SHIPPED, Command

from kvspec.edges import vectors as edges


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Command:
    """The command line, called inside this process."""
    return Command(monkeypatch, capsys, tmp_path)


@pytest.fixture(autouse=True)
def _fewer_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Checks play some of the vectors only: all of them take half a second. `every_vector` brings the rest back."""
    monkeypatch.setattr(edges, "load", lambda: FEW)


@pytest.fixture
def every_vector(_fewer_vectors: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """All shipped vectors."""
    monkeypatch.setattr(edges, "load", lambda: SHIPPED)
