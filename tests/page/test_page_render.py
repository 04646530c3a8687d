"""The HTML page as text: complete, closed to the network, and safe whatever the report says. Needs no browser."""

from __future__ import annotations

import base64
import hashlib
import json
import random
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, get_args

import msgspec
import page_support as support
import pytest

from kvconform.picture import BlockPicture, Picture, State
from kvconform.report import html
from kvconform.report.compact import MOST_DRAWN, changes, compact
from kvconform.report.model import LawVerdict, Report, Verdict

PARTS = ("page.html", "page.css", *html.SCRIPTS)
MEBIBYTE = 1 << 20


class Page(HTMLParser):
    """What a browser makes of a page: its elements with their attributes, and the text of each style and script."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, str] = {}
        self.open: list[str] = []
        self._raw = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.elements.append((tag, given))
        if tag not in {"meta", "link", "br", "path", "img"}:
            self.open.append(tag)
        if tag in {"script", "style", "title"}:
            self._raw = given.get("id") or tag
            self.texts[self._raw] = ""

    def handle_endtag(self, tag: str) -> None:
        if tag != "path":
            assert self.open.pop() == tag
        self._raw = ""

    def handle_data(self, data: str) -> None:
        if self._raw:
            self.texts[self._raw] += data

    def attribute(self, tag: str, **given: str) -> dict[str, str | None]:
        """The attributes of the only element of this tag with these."""
        found = [attrs for name, attrs in self.elements if name == tag and given.items() <= attrs.items()]
        assert len(found) == 1
        return found[0]


@pytest.fixture(scope="module")
def hostile() -> Report:
    return support.report(support.finding(), support.finding("data.read-back"), support.finding("table.live", 1))


def test_the_page_is_well_formed_and_has_the_report_in_it(hostile: Report) -> None:
    page = Page(html.render(hostile))
    assert page.open == []
    assert sorted(page.texts) == ["report", "script", "style", "title"]
    assert json.loads(page.texts["report"]) == json.loads(msgspec.json.encode(compact(hostile)))
    assert page.texts["title"].startswith("mine ")
    assert page.texts["title"].endswith("1.0 violates · kvconform")


def test_nothing_that_was_said_becomes_part_of_the_page(hostile: Report) -> None:
    quiet = support.report(*(msgspec.structs.replace(violation) for violation in hostile.violations))
    quiet.target.name, quiet.notes = "mine", []
    for violation in quiet.violations:
        violation.message = violation.expected = violation.observed = violation.statement = "plain"
        violation.story = ["plain", "plain"]
    as_hostile, as_quiet = Page(html.render(hostile)), Page(html.render(quiet))
    assert as_hostile.elements == as_quiet.elements
    assert not any(tag == "img" or name.startswith("on") for tag, given in as_hostile.elements for name in given)


def test_embedded_data_cannot_end_its_element() -> None:
    said = "<!-- <script> </script> ]]> &lt; \u2028 \u2029 \\u003c \0 é 漢 🙂"
    text = html.embedded({"said": said})
    assert not set(text) & set("<>&\u2028\u2029")
    assert json.loads(text) == {"said": said}


def test_the_policy_lets_only_the_page_s_own_script_and_style_be(hostile: Report) -> None:
    page = Page(html.render(hostile))
    content = page.attribute("meta", **{"http-equiv": "Content-Security-Policy"})["content"]
    assert content is not None
    policy = dict(part.strip().split(" ", 1) for part in content.split(";"))
    assert policy["default-src"] == "'none'"
    assert "unsafe" not in content
    assert "http" not in content
    for directive, element in (("script-src", "script"), ("style-src", "style")):
        digest = base64.b64encode(hashlib.sha256(page.texts[element].encode()).digest()).decode()
        assert policy[directive] == f"'sha256-{digest}'"


@pytest.mark.parametrize("name", PARTS)
def test_no_part_names_anything_on_the_network(name: str) -> None:
    assert not re.search(r"https?:/|//[a-z]|@import|url\(|\bfetch\(|XMLHttpRequest|WebSocket|import\(", html.part(name))


def test_a_page_without_links_in_its_report_names_no_address(hostile: Report) -> None:
    assert not re.search(r"https?://", html.render(hostile))
    page = Page(html.render(hostile))
    named = [given[name] for _, given in page.elements for name in ("href", "src") if given.get(name)]
    assert all(name is not None and name.startswith(("#", "data:")) for name in named)


def test_no_text_becomes_markup_in_the_script() -> None:
    script = "".join(html.part(name) for name in html.SCRIPTS)
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function", script)


def test_every_colour_and_size_that_is_used_is_defined() -> None:
    style, script = html.part("page.css"), "".join(html.part(name) for name in html.SCRIPTS)
    defined = set(re.findall(r"(--[\w-]+):", style)) | set(re.findall(r'"(--[\w-]+)":', script))
    assert set(re.findall(r"var\((--[\w-]+)", style)) - defined == set()
    owners = re.findall(r"--owner-(\d+):", style)
    assert f"const COLOURS = {len(owners)};" in script


WORDS = (*get_args(LawVerdict), *get_args(State), *get_args(Verdict), "lookahead", "listed", "changed", "marked")


@pytest.mark.parametrize("word", WORDS)
def test_what_a_report_says_is_styled_only_together_with_what_it_is_said_of(word: str) -> None:
    """A law that is `known` and a block that is `free` share their classes with whatever else is so."""
    assert not re.search(rf"(^|[\s,>])\.{word}(?![\w-])", html.part("page.css"), re.MULTILINE)


def test_every_icon_that_is_used_is_drawn() -> None:
    script = "".join(html.part(name) for name in html.SCRIPTS)
    drawn = set(re.findall(r'<symbol id="i-([\w-]+)"', html.part("page.html")))
    named = set(re.findall(r'\bicon\("([\w-]+)"\)', script)) | set(re.findall(r'\[?"(\w+)", "[\w ]+"', script)) & drawn
    assert named <= drawn
    assert set(re.findall(r'jump\("(\w+)"', script)) <= drawn


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not here to read the script; the browser's test does")
def test_the_script_is_javascript(tmp_path: Path) -> None:
    file = tmp_path / "page.js"
    file.write_text("\n".join(html.part(name) for name in html.SCRIPTS), encoding="utf-8")
    ended = subprocess.run(["node", "--check", str(file)], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr


# -- what is embedded -----------------------------------------------------------------------------------------------


def test_findings_on_one_trace_are_told_together_in_the_order_of_the_report() -> None:
    report = support.report(
        support.finding("table.live", 1),
        support.finding("data.read-back", 2),
        support.finding("accounting.refcount", 1),
        support.finding("accounting.refcount", 1, probe="finish"),
    )
    told = compact(report)
    laws = [[finding["law"] for finding in story["findings"]] for story in told["stories"]]
    assert laws == [["table.live", "accounting.refcount"], ["data.read-back"], ["accounting.refcount"]]
    assert "violations" not in told
    assert all("frames" not in finding for story in told["stories"] for finding in story["findings"])
    assert [story["beyond"] for story in told["stories"]] == ["", "", "finish"]


def test_a_finding_without_words_is_told_by_the_names_of_its_operations() -> None:
    told = compact(support.report(support.finding(story=[])))
    assert [step["words"] for step in told["stories"][0]["steps"]] == ["allocate", "free"]


def unfolded(told: list[dict[str, Any]]) -> list[Any]:
    """The pictures again, from what changes between them."""
    pools: dict[str, dict[int, Any]] = {}
    sequences: dict[int, Any] = {}
    frames = []
    for frame in told:
        drawn = {}
        for name, pool in frame["pools"].items():
            blocks = pools.setdefault(name, {})
            for number in pool["gone"]:
                del blocks[number]
            blocks.update((block["block"], block) for block in pool["set"])
            drawn[name] = {**pool, "blocks": [blocks[number] for number in sorted(blocks)]}
        sequences.update((sequence["id"], sequence) for sequence in frame["sequences"])
        frames.append({**frame, "pools": drawn, "sequences": [sequences[number] for number in frame["order"]]})
    return [msgspec.convert(frame, Picture) for frame in frames]


@pytest.mark.parametrize("seed", range(20))
def test_pictures_are_the_same_when_only_changes_are_kept(seed: int) -> None:
    dice = random.Random(seed)
    states = ("free", "held", "cached", "missing")
    drawn = []
    for number in range(30):
        blocks = [
            BlockPicture(block, dice.choice(states), [dice.randint(1, 3)], dice.randint(0, 2))
            for block in range(6)
            if dice.random() < 0.8
        ]
        rows = [support.sequence(n, [dice.randint(0, 5)], tokens=dice.randint(1, 3)) for n in dice.sample(range(5), 3)]
        pool = support.PoolPicture(6, dice.choice((None, 3)), blocks)
        drawn.append(Picture(number, {"gpu": pool, "cpu": support.pool(2, 2)}, rows, result="ok"))
    assert unfolded(changes(drawn)) == drawn


def test_pictures_that_hardly_change_hardly_take_room() -> None:
    crowd = support.crowd(256, 200)
    assert len(msgspec.json.encode(changes(crowd.frames))) < len(msgspec.json.encode(crowd.frames)) / 20


def test_a_page_with_as_many_findings_as_there_are_is_small() -> None:
    typical = support.report(*(support.crowd(24, 12, seed=seed) for seed in range(30)))
    assert len(html.render(typical).encode()) < MEBIBYTE / 2


def test_the_page_of_long_traces_in_large_pools_is_small() -> None:
    large = support.report(*(support.crowd(256, 60, seed=seed) for seed in range(10)))
    assert len(html.render(large).encode()) < MEBIBYTE


def test_the_page_of_a_report_without_findings_is_small() -> None:
    assert len(html.render(support.report()).encode()) < MEBIBYTE / 8


def test_drawings_beyond_a_bound_are_left_out_and_said_to_be() -> None:
    report = support.report(*(support.crowd(64, 20, seed=seed) for seed in range(4)))
    whole = compact(report)["stories"]
    assert not any(story["undrawn"] for story in whole)
    two = sum(len(msgspec.json.encode(story["frames"])) for story in whole[:2])
    assert two < MOST_DRAWN
    told = compact(report, most=two)["stories"]
    assert [story["undrawn"] for story in told] == [False, False, True, True]
    assert [bool(story["frames"]) for story in told] == [True, True, False, False]
    assert all(len(story["steps"]) == 20 for story in told)
