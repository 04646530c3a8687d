"""NAME==VERSION, and the table of engines."""

from __future__ import annotations

import pytest

from kvconform.engines import BadEngineSpec, UnknownEngine, known_engine, parse_spec
from kvconform.engines.known import VLLM, known_checksum
from kvconform.engines.spec import version_key


@pytest.mark.parametrize("text", ["vllm==0.6.2", " vllm == 0.6.2 ", "VLLM==0.6.2"])
def test_a_spec_is_a_name_and_an_exact_version(text: str) -> None:
    assert parse_spec(text) == ("vllm", "0.6.2")


def test_names_are_spelled_as_the_index_spells_them() -> None:
    assert parse_spec("Aphrodite_Engine==0.5.1").name == "aphrodite-engine"


@pytest.mark.parametrize(
    "text",
    ["", "vllm", "vllm=0.6.2", "==0.6.2", "vllm==", "vllm==0.6.*", "vllm>=0.6", "vllm==../../x", "vllm==0.6.2 -r x",
     "--pre==1", "vllm==latest", "a/b==1.0", "vllm[all]==1.0", "vllm==-1"],
)  # fmt: skip
def test_anything_else_is_a_usage_error_with_an_example(text: str) -> None:
    with pytest.raises(BadEngineSpec, match="NAME==VERSION") as caught:
        parse_spec(text)
    assert caught.value.exit_code == 2


def test_a_target_typed_as_a_spec_is_corrected() -> None:
    with pytest.raises(BadEngineSpec, match=r"example: vllm==0\.6\.2"):
        parse_spec("vllm@0.6.2")


def test_versions_are_ordered_by_number() -> None:
    given = ["0.10.2", "0.6.3.post1", "0.6.3", "0.2.7"]
    assert sorted(given, key=version_key) == ["0.2.7", "0.6.3", "0.6.3.post1", "0.10.2"]


def test_an_adapter_s_name_means_its_package() -> None:
    assert known_engine("vllm-v0-v2") is VLLM


def test_an_unknown_engine_is_named_with_the_known_ones() -> None:
    with pytest.raises(UnknownEngine, match=r"no engine named 'nope'.*vllm"):
        known_engine("nope")


def test_every_known_good_version_has_a_checksum_on_record() -> None:
    for version in VLLM.known_good:
        names = (f"vllm-{version}.tar.gz", f"vllm-{version}-cp311-cp311-manylinux1_x86_64.whl")
        assert any(known_checksum("vllm", version, name) for name in names), version


def test_only_python_sources_below_kept_folders_are_kept() -> None:
    assert VLLM.keeps("vllm/core/block/naive_block.py")
    assert VLLM.keeps("vllm/block.py")
    assert not VLLM.keeps("vllm/core/data.bin")
    assert not VLLM.keeps("vllm/__init__.py")
    assert not VLLM.keeps("tests/core/test_scheduler.py")
