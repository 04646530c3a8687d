"""How pip is called and what its answers are turned into. No network: pip itself is replaced."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kvconform.engines import EngineError, EngineSpec, FetchFailed, UnknownVersion, download

SPEC = EngineSpec("vllm", "0.6.2")
NO_VERSION = "ERROR: Could not find a version that satisfies the requirement vllm==0.6.2 (from versions: {})"


@pytest.fixture
def pip(monkeypatch: pytest.MonkeyPatch) -> list[tuple[list[str], dict[str, str]]]:
    """Replace pip; every call is recorded here."""
    calls: list[tuple[list[str], dict[str, str]]] = []
    return calls


def _answer(monkeypatch: pytest.MonkeyPatch, calls: list[Any], *answers: tuple[int, str, str | None]) -> None:
    left = list(answers)

    def run(command: list[str], env: dict[str, str], **options: object) -> subprocess.CompletedProcess[str]:
        calls.append((command, env))
        code, text, file = left.pop(0)
        if file is not None:
            (Path(command[command.index("--dest") + 1]) / file).write_bytes(b"archive")
        return subprocess.CompletedProcess(command, code, "", text)

    monkeypatch.setattr(subprocess, "run", run)


def test_the_source_distribution_is_asked_for_with_a_harmless_backend(
    pip: list[Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    _answer(monkeypatch, pip, (0, "", "vllm-0.6.2.tar.gz"))
    assert download.download(SPEC, tmp_path, print).name == "vllm-0.6.2.tar.gz"
    ((command, environment),) = pip
    assert command[:4] == [sys.executable, "-m", "pip", "download"]
    assert {"--no-deps", "--no-build-isolation", "vllm==0.6.2"} <= set(command)
    assert not any("://" in part or part in ("--index-url", "-i", "--extra-index-url") for part in command)
    assert "kvconform-backend-" in environment["PYTHONPATH"].split(":")[0]


def test_without_a_source_distribution_a_wheel_is_asked_for_then_any_wheel(
    pip: list[Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    refusal = (1, NO_VERSION.format("0.6.1, 0.6.3"), None)
    _answer(monkeypatch, pip, refusal, refusal, (0, "", "vllm-0.6.2-cp38-abi3-manylinux1_x86_64.whl"))
    assert download.download(SPEC, tmp_path, print).suffix == ".whl"
    assert [("--no-binary" in command, "--only-binary" in command) for command, _ in pip] == [
        (True, False), (False, True), (False, True)
    ]  # fmt: skip
    assert any(part.startswith("--platform=") for part in pip[2][0])


def test_a_version_that_does_not_exist_comes_with_those_that_do(
    pip: list[Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    _answer(monkeypatch, pip, *[(1, NO_VERSION.format("0.6.1, 0.6.3"), None)] * 3)
    with pytest.raises(UnknownVersion, match=r"no version 0\.6\.2; there are: 0\.6\.1, 0\.6\.3"):
        download.download(SPEC, tmp_path, print)


@pytest.mark.parametrize(
    "text",
    [
        "WARNING: Retrying after connection broken by 'NewConnectionError'\n" + NO_VERSION.format("none"),
        "ERROR: HTTPSConnectionPool: Max retries exceeded: ReadTimeoutError",
    ],
)
def test_no_network_is_said_once_and_at_once(
    pip: list[Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str
) -> None:
    _answer(monkeypatch, pip, (1, text, None))
    with pytest.raises(FetchFailed, match=r"cannot be reached.*check the network"):
        download.download(SPEC, tmp_path, print)
    assert len(pip) == 1


def test_an_index_that_offers_nothing_is_asked_for_every_kind_of_archive(
    pip: list[Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    _answer(monkeypatch, pip, *[(1, NO_VERSION.format("none"), None)] * 3)
    with pytest.raises(FetchFailed, match=r"cannot be reached or does not have vllm"):
        download.download(SPEC, tmp_path, print)


def test_an_engine_whose_set_up_would_run_is_taken_from_a_wheel(
    pip: list[Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    _answer(monkeypatch, pip, (0, "", "vllm-0.6.2-py3-none-any.whl"))
    assert download.download(SPEC, tmp_path, print, sdist=False).suffix == ".whl"
    assert "--no-binary" not in pip[0][0]


def test_a_python_without_pip_is_told_how_to_get_it(
    pip: list[Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    _answer(monkeypatch, pip, (1, "/usr/bin/python: No module named pip", None))
    with pytest.raises(FetchFailed, match="-m ensurepip"):
        download.download(SPEC, tmp_path, print)


def test_any_other_refusal_is_quoted(pip: list[Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    _answer(monkeypatch, pip, *[(1, "some talk\nERROR: the disk is on fire\n", None)] * 2)
    with pytest.raises(EngineError, match="the disk is on fire"):
        download.download(SPEC, tmp_path, print)


def test_the_stand_in_backend_only_copies_name_and_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "PKG-INFO").write_text("Metadata-Version: 2.4\nName: some-thing\nVersion: 1.2\n", encoding="utf-8")
    (tmp_path / "setup.py").write_text("raise SystemExit('ran')", encoding="utf-8")
    backend: dict[str, Any] = {"__name__": "os"}
    exec(download._STAND_IN_BACKEND, backend)
    assert backend["prepare_metadata_for_build_wheel"](str(tmp_path)) == "some_thing-1.2.dist-info"
    written = (tmp_path / "some_thing-1.2.dist-info" / "METADATA").read_text(encoding="utf-8")
    assert "Name: some-thing\nVersion: 1.2" in written
    with pytest.raises(SystemExit):
        backend["build_wheel"]("here")


def test_no_file_of_the_engines_names_a_package_index() -> None:
    for path in Path(download.__file__).parent.iterdir():
        if path.suffix in (".py", ".json"):
            assert "://" not in path.read_text(encoding="utf-8"), path
