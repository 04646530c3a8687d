"""Fixtures of the kit's tests."""

from __future__ import annotations

from pathlib import Path

import pytest
from kit_support import Command


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Command:
    """The command line, called inside this process."""
    return Command(monkeypatch, capsys, tmp_path)
