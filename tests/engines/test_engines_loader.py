"""Loading: what is here, what is not, and what a person is told."""

from __future__ import annotations

import sys
from importlib import metadata
from pathlib import Path

import pytest
from engines_support import FILES, FakeIndex

from kvconform.engines import EngineUnavailable, NotInThisVersion, UnknownEngine, fetch, load, loader


@pytest.fixture
def not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if vLLM were not installed, wherever the tests run."""
    monkeypatch.setattr(loader, "installed_version", lambda name: None)


@pytest.mark.usefixtures("not_installed", "cache")
def test_what_is_not_fetched_is_named_with_the_command_that_fetches_it() -> None:
    with pytest.raises(EngineUnavailable) as caught:
        load("vllm", "0.6.2")
    assert str(caught.value) == "vllm 0.6.2 is not here; run: kvconform engines fetch vllm==0.6.2"
    assert caught.value.exit_code == 4


@pytest.mark.usefixtures("not_installed")
def test_without_a_version_the_fetched_ones_are_listed_and_none_is_guessed(index: FakeIndex) -> None:
    fetch("vllm", "9.9.9")
    with pytest.raises(EngineUnavailable, match=r"not installed.*name a fetched version behind an @: 9\.9\.9"):
        load("vllm")


@pytest.mark.usefixtures("not_installed", "cache")
def test_with_nothing_at_all_there_is_a_command_to_run() -> None:
    with pytest.raises(EngineUnavailable, match=r"none is fetched either; run: kvconform engines fetch vllm=="):
        load("vllm")


def test_an_unknown_engine_is_not_looked_for(cache: Path) -> None:
    with pytest.raises(UnknownEngine):
        load("nope", "1.0")


@pytest.mark.usefixtures("not_installed")
def test_loading_never_fetches(index: FakeIndex) -> None:
    with pytest.raises(EngineUnavailable):
        load("vllm", "9.9.9")
    assert index.asked == 0


def test_a_fetched_engine_is_loaded_from_its_folder(index: FakeIndex) -> None:
    folder = fetch("vllm", "9.9.9")
    engine = load("vllm", "9.9.9")
    assert (engine.name, engine.version, engine.origin, engine.path) == ("vllm", "9.9.9", "fetched", folder)
    assert engine.has("vllm.core.thing")
    assert engine.module("vllm.core.thing").ANSWER == 42
    assert engine.module("vllm.core.thing").__file__ == str(folder / "vllm/core/thing.py")
    assert "vllm" not in sys.modules


def test_a_module_that_was_not_fetched_is_named(index: FakeIndex) -> None:
    fetch("vllm", "9.9.9")
    engine = load("vllm", "9.9.9")
    assert not engine.has("vllm.worker")
    with pytest.raises(NotInThisVersion, match=r"vllm 9\.9\.9 has no vllm\.worker"):
        engine.module("vllm.worker")


def test_a_file_that_nobody_fetched_is_never_read(index: FakeIndex) -> None:
    folder = fetch("vllm", "9.9.9")
    (folder / "vllm/core/extra.py").write_text("raise SystemExit", encoding="utf-8")
    assert not load("vllm", "9.9.9").has("vllm.core.extra")


def test_loading_again_gives_the_same_engine(index: FakeIndex) -> None:
    fetch("vllm", "9.9.9")
    assert load("vllm", "9.9.9") is load("vllm", "9.9.9")


def test_an_installed_engine_is_loaded_the_same_isolated_way(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path / "site"
    for name, content in {**FILES, "vllm-9.9.9.dist-info/METADATA": FILES["PKG-INFO"]}.items():
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).write_bytes(content)
    monkeypatch.syspath_prepend(str(site))
    assert metadata.version("vllm") == "9.9.9"
    engine = load("vllm")
    assert (engine.version, engine.origin, engine.path) == ("9.9.9", "installed", site / "vllm")
    assert engine.module("vllm.core.thing").ANSWER == 42
    assert load("vllm", "9.9.9") is engine
    assert "vllm" not in sys.modules
