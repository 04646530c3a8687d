"""The cache: whole or not at all, verified, repaired by fetching again, safe with several fetches at once."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest
from engines_support import FakeIndex

from kvconform.engines import (
    ArchiveRejected,
    EngineDamaged,
    FetchFailed,
    UnknownEngine,
    cache_root,
    fetch,
    list_fetched,
    load,
    store,
)
from kvconform.engines.manifest import read_manifest, sha256


def _visible(root: Path) -> list[str]:
    return sorted(path.name for path in root.iterdir())


def test_a_fetch_keeps_sources_licence_metadata_and_a_manifest(index: FakeIndex, cache: Path) -> None:
    lines: list[str] = []
    folder = fetch("vllm", "9.9.9", progress=lines.append)
    assert folder == cache / "vllm-9.9.9"
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["schema"] == "kvconform/engine@1"
    assert (manifest["name"], manifest["version"]) == ("vllm", "9.9.9")
    assert manifest["archive"]["name"] == "vllm-9.9.9.tar.gz"
    assert len(manifest["archive"]["sha256"]) == 64
    assert manifest["archive"]["pinned"] is False
    assert set(manifest["files"]) == {
        "LICENSE", "PKG-INFO", "vllm/block.py", "vllm/core/__init__.py", "vllm/core/thing.py"
    }  # fmt: skip
    for path, digest in manifest["files"].items():
        assert sha256((folder / path).read_bytes()) == digest
    assert manifest["kvconform"]
    assert _visible(cache) == ["vllm-9.9.9"]
    assert lines[-1].endswith(str(folder))


def test_a_second_fetch_asks_nobody(index: FakeIndex) -> None:
    first = fetch("vllm", "9.9.9")
    assert fetch("vllm", "9.9.9") == first
    assert index.asked == 1


def test_a_damaged_engine_is_refused_by_load_and_repaired_by_fetch(index: FakeIndex) -> None:
    folder = fetch("vllm", "9.9.9")
    (folder / "vllm/core/thing.py").write_text("ANSWER = 41\n", encoding="utf-8")
    with pytest.raises(EngineDamaged, match=r"thing\.py is not what was fetched; run: kvconform engines fetch"):
        load("vllm", "9.9.9").module("vllm.core.thing")
    lines: list[str] = []
    assert fetch("vllm", "9.9.9", progress=lines.append) == folder
    assert any("damaged" in line and "again" in line for line in lines)
    assert load("vllm", "9.9.9").module("vllm.core.thing").ANSWER == 42


@pytest.mark.parametrize("content", ["", "{}", "[]", '{"schema": "kvconform/engine@99"}', "not json"])
def test_a_folder_without_a_usable_manifest_is_not_an_engine(index: FakeIndex, content: str) -> None:
    folder = fetch("vllm", "9.9.9")
    (folder / "manifest.json").write_text(content, encoding="utf-8")
    assert list_fetched() == []
    with pytest.raises(EngineDamaged, match="no usable manifest"):
        load("vllm", "9.9.9")
    fetch("vllm", "9.9.9")
    assert read_manifest(folder).version == "9.9.9"


def test_a_missing_file_is_damage_too(index: FakeIndex) -> None:
    folder = fetch("vllm", "9.9.9")
    (folder / "vllm/block.py").unlink()
    with pytest.raises(EngineDamaged, match=r"block\.py cannot be read"):
        read_manifest(folder).verify(folder)
    fetch("vllm", "9.9.9")
    assert index.asked == 2


def test_an_engine_fetched_for_another_table_is_fetched_again(index: FakeIndex) -> None:
    folder = fetch("vllm", "9.9.9")
    raw = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    raw["keep"] = ["vllm/other/"]
    (folder / "manifest.json").write_text(json.dumps(raw), encoding="utf-8")
    fetch("vllm", "9.9.9")
    assert index.asked == 2


def test_a_fetch_that_fails_half_way_leaves_nothing(
    index: FakeIndex, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: Path, content: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(FetchFailed, match="No space"):
        fetch("vllm", "9.9.9")
    assert _visible(cache) == []
    assert list_fetched() == []


def test_an_interrupted_fetch_leaves_nothing(index: FakeIndex, cache: Path) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    index.before = interrupt
    with pytest.raises(KeyboardInterrupt):
        fetch("vllm", "9.9.9")
    assert _visible(cache) == []


def test_fetches_of_the_same_version_at_once_all_succeed(index: FakeIndex, cache: Path) -> None:
    together = threading.Barrier(4)
    index.before = together.wait  # all four are past the first look before any has written
    done: list[Path] = []
    threads = [threading.Thread(target=lambda: done.append(fetch("vllm", "9.9.9"))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert done == [cache / "vllm-9.9.9"] * 4
    assert index.asked == 4
    assert _visible(cache) == ["vllm-9.9.9"]
    read_manifest(cache / "vllm-9.9.9").verify(cache / "vllm-9.9.9")


def test_repairs_at_once_all_succeed(index: FakeIndex, cache: Path) -> None:
    folder = fetch("vllm", "9.9.9")
    (folder / "vllm/block.py").write_bytes(b"tampered")
    together = threading.Barrier(3)
    index.before = together.wait
    done: list[Path] = []
    threads = [threading.Thread(target=lambda: done.append(fetch("vllm", "9.9.9"))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert done == [folder] * 3
    read_manifest(folder).verify(folder)


def test_an_archive_whose_checksum_is_on_record_must_have_it(
    index: FakeIndex, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "known_checksum", lambda name, version, archive: "0" * 64)
    with pytest.raises(ArchiveRejected, match=r"on record; it was not kept"):
        fetch("vllm", "9.9.9")
    assert _visible(cache) == []


def test_an_archive_of_another_version_is_refused(index: FakeIndex) -> None:
    with pytest.raises(ArchiveRejected, match=r"does not say in its metadata that it is vllm==9\.9\.8"):
        fetch("vllm", "9.9.8")


def test_an_archive_with_nothing_to_keep_is_refused(index: FakeIndex) -> None:
    index.files = {"PKG-INFO": index.files["PKG-INFO"], "vllm/other.py": b""}
    with pytest.raises(ArchiveRejected, match=r"none of the files.*0\.6\.2"):
        fetch("vllm", "9.9.9")


def test_an_unknown_engine_is_not_asked_for(index: FakeIndex) -> None:
    with pytest.raises(UnknownEngine):
        fetch("nope", "1.0")
    assert index.asked == 0


def test_the_list_is_in_order_of_version(index: FakeIndex) -> None:
    for version in ("9.10.0", "9.9.0"):
        index.files["PKG-INFO"] = f"Name: vllm\nVersion: {version}\n\n".encode()
        fetch("vllm", version)
    assert [entry.version for entry in list_fetched("vllm")] == ["9.9.0", "9.10.0"]
    assert list_fetched("lmdeploy") == []


def test_the_cache_is_where_the_user_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KVCONFORM_ENGINES", str(tmp_path / "mine"))
    assert cache_root() == tmp_path / "mine"
    monkeypatch.delenv("KVCONFORM_ENGINES")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_root() == tmp_path / "xdg" / "kvconform" / "engines"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_root() == Path.home() / ".cache" / "kvconform" / "engines"


def test_a_cache_that_cannot_be_made_is_explained(
    index: FakeIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("KVCONFORM_ENGINES", str(tmp_path / "file" / "engines"))
    with pytest.raises(FetchFailed, match="KVCONFORM_ENGINES"):
        fetch("vllm", "9.9.9")
