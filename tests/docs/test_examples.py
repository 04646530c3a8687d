"""The kept examples of breaking each law: they are there, they still break it, and their drawings show it."""

from __future__ import annotations

import shutil
from pathlib import Path
from xml.etree import ElementTree

import pytest

from kvconform import examples, explain
from kvconform.picture import BlockPicture, Picture, PoolPicture, SequencePicture
from kvconform.replay import replay
from kvconform.report.drawing import drawing
from kvconform.targets import Target, resolve
from kvspec.laws import CATALOGUE

SVG = "{http://www.w3.org/2000/svg}"


def test_there_is_one_for_each_law_and_no_other() -> None:
    assert {path.stem for path in examples.FOLDER.iterdir()} == set(CATALOGUE)


@pytest.mark.parametrize("law", CATALOGUE)
def test_an_example_breaks_its_law_on_its_fault_and_not_on_the_reference(law: str) -> None:
    example = examples.load(law)
    shown = examples.show(example)
    assert shown.raw.violation.law.id == law
    assert law in example.fault.laws
    right = Target("right", "right", "", example.fault.right())
    beyond = shown.raw.probe == "finish" or shown.raw.probe.startswith("bad-input:")
    assert len(shown.pictures) == 1 + len(example.file.operations) + beyond
    assert not replay(examples.FOLDER / f"{law}.jsonl", right).failing


@pytest.mark.parametrize("law", CATALOGUE)
def test_its_drawing_marks_what_is_wrong(law: str) -> None:
    drawn = ElementTree.fromstring(explain.law_drawing(law))
    marks = [box for box in drawn.iter(f"{SVG}rect") if box.get("class") == "mark"]
    shown = examples.show(examples.load(law))
    last = shown.pictures[-1].pools
    there = {(device, block.block) for device, pool in last.items() for block in pool.blocks if pool.total}
    assert len(marks) == len(there & {(device.value, block) for device, block in shown.raw.violation.blocks})


def test_an_example_that_is_none_any_more_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    law = "table.tight"
    lines = (examples.FOLDER / f"{law}.jsonl").read_text().splitlines()
    (tmp_path / f"{law}.jsonl").write_text(lines[0] + "\n")
    monkeypatch.setattr(examples, "FOLDER", tmp_path)
    with pytest.raises(examples.NoExample, match=r"does not break table\.tight any more"):
        examples.show(examples.load(law))
    with pytest.raises(examples.NoExample, match=r"no example is kept for table\.frame"):
        examples.load("table.frame")


def test_examples_are_found_again(tmp_path: Path) -> None:
    law = CATALOGUE["table.one-device"]
    found = examples.keep(law, tmp_path)
    assert found is not None
    assert len(found.operations) == len(examples.load(law.id).file.operations)
    shutil.copy(tmp_path / f"{law.id}.jsonl", tmp_path / "again.jsonl")
    assert replay(tmp_path / "again.jsonl", resolve("fault:status-not-updated")).failing


def test_every_state_of_a_block_is_drawn() -> None:
    states = [
        BlockPicture(0, "free"),
        BlockPicture(1, "cached"),
        BlockPicture(2, "null"),
        BlockPicture(3, "missing"),
        BlockPicture(4, "held", [1, 2], covered=4, written=4),
        BlockPicture(5, "held", [1]),
        BlockPicture(6, "held", [2], covered=2, written=1, listed=True),
        *(BlockPicture(number, "free") for number in range(7, 30)),
    ]
    rows = [SequencePicture(n, 1, "running", 6, 6, 5, "gpu", [[4, None, 5 + n]]) for n in (1, 2)]
    picture = Picture(
        1, {"gpu": PoolPicture(30, None, states), "cpu": PoolPicture(0, 0, [])}, rows, "ok", "raised", "E: <x>"
    )
    drawn = ElementTree.fromstring(drawing("a <title>", [("a & b", picture)], 4, [("gpu", 3), ("cpu", 3)]))
    boxes = [box.get("class") for box in drawn.iter(f"{SVG}rect")]
    words = [text.text or "" for text in drawn.iter(f"{SVG}text")]
    assert boxes.count("mark") == 1
    assert {"free", "cached", "null", "missing", "empty"} <= set(boxes)
    assert {"GPU", "lost", "cached", "null", "free!", "1+2", "? free", "a & b"} <= set(words)
    assert "sequence 1: [4 - 6]" in words
    assert "the guard says OK, then raised (E)" in words
    assert "CPU" not in words
