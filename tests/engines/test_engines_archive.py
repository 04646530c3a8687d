"""Only wanted plain files leave an archive, and an archive that reaches outside is refused whole."""

from __future__ import annotations

import tarfile
import zipfile
from pathlib import Path

import pytest
from engines_support import FILES, make_sdist

from kvconform.engines import ArchiveRejected, archive
from kvconform.engines.known import VLLM

KEPT = {"PKG-INFO", "LICENSE", "vllm/block.py", "vllm/core/__init__.py", "vllm/core/thing.py"}


def test_a_source_distribution_gives_up_its_kept_files_only(tmp_path: Path) -> None:
    path = make_sdist(tmp_path / "vllm-9.9.9.tar.gz", FILES)
    kept = archive.kept_files(path, VLLM.keeps)
    assert set(kept) == KEPT
    assert kept["vllm/core/thing.py"] == b"ANSWER = 42\n"
    assert archive.archive_kind(path) == "sdist"


def test_a_wheel_gives_up_the_same(tmp_path: Path) -> None:
    path = tmp_path / "vllm-9.9.9-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr("vllm/core/thing.py", "ANSWER = 42\n")
        wheel.writestr("vllm/core/kernel.so", "binary")
        wheel.writestr("vllm-9.9.9.dist-info/METADATA", FILES["PKG-INFO"])
        wheel.writestr("vllm-9.9.9.dist-info/licenses/LICENSE", "a licence")
    assert set(archive.kept_files(path, VLLM.keeps)) == {"vllm/core/thing.py", "METADATA", "LICENSE"}
    assert archive.archive_kind(path) == "wheel"


@pytest.mark.parametrize(
    "name", ["../../evil.py", "/etc/evil.py", "vllm/core/../../../evil.py", "vllm\\..\\evil.py", "C:/evil.py"]
)
def test_a_tar_that_reaches_outside_is_refused(tmp_path: Path, name: str) -> None:
    path = make_sdist(tmp_path / "vllm-9.9.9.tar.gz", {**FILES}, top="vllm-9.9.9/")
    path = make_sdist(path, {name: b"evil"}, top="")
    with pytest.raises(ArchiveRejected, match="unsafe path"):
        archive.kept_files(path, VLLM.keeps)


@pytest.mark.parametrize("name", ["../evil.py", "/evil.py", "vllm/core/../../evil.py"])
def test_a_zip_that_reaches_outside_is_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / "vllm-9.9.9-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr(name, "evil")
    with pytest.raises(ArchiveRejected, match="unsafe path"):
        archive.kept_files(path, VLLM.keeps)


def test_links_are_never_followed(tmp_path: Path) -> None:
    path = tmp_path / "vllm-9.9.9.tar.gz"
    with tarfile.open(path, "w:gz") as made:
        link = tarfile.TarInfo("vllm-9.9.9/vllm/core/link.py")
        link.type = tarfile.SYMTYPE
        link.linkname = "/etc/passwd"
        made.addfile(link)
    assert archive.kept_files(path, VLLM.keeps) == {}


def test_a_file_far_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "LARGEST_FILE", 10)
    path = make_sdist(tmp_path / "vllm-9.9.9.tar.gz", FILES)
    with pytest.raises(ArchiveRejected, match="larger than 10 bytes"):
        archive.kept_files(path, VLLM.keeps)


def test_too_much_in_all_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "LARGEST_TOTAL", 60)
    path = make_sdist(tmp_path / "vllm-9.9.9.tar.gz", FILES)
    with pytest.raises(ArchiveRejected, match="more than 60 bytes"):
        archive.kept_files(path, VLLM.keeps)


def test_what_is_no_archive_is_said_to_be_none(tmp_path: Path) -> None:
    for name in ("vllm-9.9.9.tar.gz", "vllm-9.9.9-py3-none-any.whl"):
        path = tmp_path / name
        path.write_bytes(b"not an archive")
        with pytest.raises(ArchiveRejected, match="cannot be read as an archive"):
            archive.kept_files(path, VLLM.keeps)
