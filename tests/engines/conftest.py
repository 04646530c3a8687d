"""Fixtures of the tests of engines: an empty cache, a made-up package index, and real fetched releases."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from engines_support import FakeIndex

from kvconform.engines import FetchFailed, LoadedEngine, fetch, list_fetched, load, store


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache of engines."""
    root = tmp_path / "engines"
    monkeypatch.setenv("KVCONFORM_ENGINES", str(root))
    return root


@pytest.fixture
def index(cache: Path, monkeypatch: pytest.MonkeyPatch) -> FakeIndex:
    """A package index that needs no network, and an empty cache."""
    fake = FakeIndex()
    monkeypatch.setattr(store, "download", fake.download)
    return fake


@pytest.fixture(scope="session")
def published() -> Callable[[str], LoadedEngine]:
    """Real vLLM releases, fetched on first use. Without a network: skipped loudly, but a failure in CI."""
    unreachable: list[str] = []

    def get(version: str) -> LoadedEngine:
        if not unreachable or version in {entry.version for entry in list_fetched("vllm")}:
            try:
                fetch("vllm", version)
                return load("vllm", version)
            except FetchFailed as problem:
                if os.environ.get("CI") == "true":
                    raise
                unreachable.append(str(problem))
        pytest.skip(f"NOT CHECKED against real vLLM {version}: {unreachable[0]}")

    return get
