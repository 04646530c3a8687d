"""The HTML page in a real browser: drawn without a complaint, stepped through by keys, readable at any width.

Needs a Chromium on this machine, which is driven over its own debugging pipe.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import page_support as support
import pytest
from chromium import Chromium, find

from kvconform.report import html
from kvconform.report.model import Report

pytestmark = pytest.mark.skipif(
    find() is None, reason="no Chromium is here: install one, or name one in the variable CHROMIUM"
)

FIRST, SECOND, THIRD = (
    support.finding(),
    support.finding("data.read-back"),
    support.finding("table.live", 1, probe="finish", then="the run ends"),
)
REPORT = support.report(FIRST, SECOND, THIRD, support.finding("table.covers", 2, found_by="known", known=True))
OPEN = ".card:has(.head[aria-expanded=true])"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    with Chromium(str(find()), tmp_path_factory.mktemp("browser")) as browser:
        yield browser


class Shown:
    """A report's page in the browser."""

    def __init__(self, browser: Chromium, folder: Path) -> None:
        self.browser, self.file = browser, folder / "report.html"

    def report(self, report: Report, hash: str = "") -> None:
        self.file.write_text(html.render(report), encoding="utf-8")
        self.browser.open(self.file, hash)

    def ask(self, expression: str) -> Any:
        return self.browser.ask(expression)

    def texts(self, selector: str) -> list[str]:
        found: list[str] = self.ask(f"[...document.querySelectorAll({selector!r})].map((e) => e.textContent)")
        return found

    def press(self, *keys: str) -> None:
        for key in keys:
            self.browser.press(key)

    @property
    def place(self) -> str:
        """Which step the open finding shows."""
        (place,) = self.texts(f"{OPEN} .place")
        return place

    @property
    def laws(self) -> str:
        """The laws of the open finding."""
        (laws,) = self.texts(f"{OPEN} .head .laws")
        return laws


@pytest.fixture
def shown(browser: Chromium, tmp_path: Path) -> Iterator[Shown]:
    browser.size(1280, 900)
    browser.prefer(prefers_color_scheme="light")
    browser.complaints.clear()
    yield Shown(browser, tmp_path)
    assert browser.complaints == []


def test_what_was_said_is_shown_and_does_nothing(shown: Shown) -> None:
    shown.report(REPORT)
    assert shown.ask("window.harm") is None
    assert shown.ask("document.images.length + document.scripts.length") == 2
    assert support.HOSTILE in shown.texts("h1")[0]
    assert support.HOSTILE in shown.texts(".observed dd")[0]


def test_a_script_that_got_in_would_not_run(shown: Shown) -> None:
    shown.report(REPORT)
    shown.ask("document.body.append(Object.assign(document.createElement('script'), {text: 'window.harm = 3'}))")
    assert shown.ask("window.harm") is None
    assert shown.ask("fetch('data:,x').then(() => 'fetched', () => 'refused')") == "refused"
    assert len(shown.browser.complaints) >= 2
    assert all("Content Security Policy" in complaint for complaint in shown.browser.complaints)
    shown.browser.complaints.clear()


def test_the_script_unfolds_the_pictures_as_they_were(shown: Shown) -> None:
    report = support.report(FIRST, support.crowd(40, 30))
    shown.report(report)
    plain = "JSON.parse(document.getElementById('report').textContent).stories.map((told) => unfolded(told.frames))"
    stories = shown.ask(f"{plain}.map((frames) => frames.map(({{pools, ...rest}}) => ({{...rest, pools}})))")
    for story, violation in zip(stories, report.violations, strict=True):
        assert [msgspec.convert(frame, support.Picture) for frame in story] == violation.frames


def test_the_first_finding_is_open_at_the_step_that_breaks_the_law(shown: Shown) -> None:
    shown.report(REPORT)
    assert "accounting.refcount" in shown.laws
    assert "data.read-back" in shown.laws
    assert shown.place == "2 of 2"
    assert shown.texts(f"{OPEN} .steps .breaks .told")[0].startswith("free sequence 1")
    assert len(shown.texts(f"{OPEN} .finding")) == 2
    assert shown.ask("location.hash") == ""


def test_every_state_of_a_block_can_be_told_apart(shown: Shown) -> None:
    shown.report(REPORT)
    shown.press("ArrowLeft")
    sight = "(tile) => [tile.className, tile.ariaLabel, tile.querySelectorAll('.bands i').length]"
    tiles = shown.ask(f"[...document.querySelectorAll('.card .pool:first-child .tile')].map({sight})")
    held, shared, cached, null, missing, lookahead, both, free = tiles
    assert "held by sequence 1, 4 of 4 slots with tokens, 4 with KV, refcount 1" in held[1]
    assert "held by sequences 1, 2 and 3" in shared[1]
    assert "cached" in cached[0]
    assert "null" in null[0]
    assert "missing" in missing[0]
    assert "MISSING" in missing[1]
    assert "lookahead" in lookahead[0]
    assert "lookahead slots only" in lookahead[1]
    assert "listed" in both[0]
    assert "IN THE FREE SET TOO" in both[1]
    assert free[0] == "tile free"
    assert [bands for _, _, bands in tiles] == [1, 3, 0, 0, 0, 1, 1, 0]
    assert len({(name, bands) for name, _, bands in tiles}) == len(tiles)


def test_the_blocks_that_are_wrong_are_marked_where_the_law_breaks(shown: Shown) -> None:
    shown.report(REPORT)
    marked = "[...document.querySelectorAll('.card .tile.marked')].map((e) => e.dataset.block)"
    assert shown.ask(marked) == ["gpu 4", "gpu 6"]
    shown.press("ArrowLeft")
    assert shown.ask(marked) == []
    assert shown.ask("document.querySelectorAll('.card .tile.to-be-marked').length") == 2


def test_keys_step_through_the_finding_and_from_finding_to_finding(shown: Shown) -> None:
    shown.report(REPORT)
    shown.press("ArrowLeft")
    assert shown.place == "1 of 2"
    shown.press("ArrowLeft", "ArrowLeft", "ArrowLeft")
    assert shown.place == "0 of 2"
    shown.press("ArrowRight")
    assert shown.place == "1 of 2"
    assert shown.ask("location.hash") == f"#finding-{FIRST.fingerprint}/1"
    shown.press("j")
    assert "table.live" in shown.laws
    assert shown.place == "3 of 3"
    assert shown.ask("document.activeElement.className") == "head"
    shown.press("Home")
    assert shown.place == "0 of 3"
    shown.press("End")
    assert shown.place == "3 of 3"
    shown.press("k")
    assert "accounting.refcount" in shown.laws
    assert shown.place == "1 of 2", "each finding keeps its step"
    shown.press("ArrowDown", "ArrowDown", "ArrowDown", "ArrowDown")
    assert "table.covers" in shown.laws
    shown.press("ArrowUp")
    assert "table.live" in shown.laws


def test_keys_in_a_field_are_the_field_s(shown: Shown) -> None:
    shown.report(REPORT)
    shown.ask("document.querySelector('input[type=search]').focus()")
    shown.press("j", "ArrowLeft", "?")
    assert shown.ask("document.querySelector('input[type=search]').value") == "?j"
    assert shown.place == "2 of 2"
    shown.ask("document.querySelector('.card input[type=range]').focus()")
    shown.press("ArrowLeft")
    assert shown.place == "1 of 2"


def test_buttons_and_the_list_of_steps_do_the_same(shown: Shown) -> None:
    shown.report(REPORT)
    shown.browser.click(".card button[aria-label='First step']")
    assert shown.place == "0 of 2"
    shown.browser.click(".card button[aria-label='Next step']")
    assert shown.place == "1 of 2"
    shown.browser.click(".card .steps li:last-child button")
    assert shown.place == "2 of 2"
    shown.browser.click(".card:nth-child(2) .head")
    assert "table.live" in shown.laws


def test_what_changed_and_how_the_step_ended_is_said_in_words(shown: Shown) -> None:
    shown.report(REPORT)
    (changes,) = shown.texts(".card .changes")
    assert "copy GPU block 0 → GPU block 1" in changes
    assert "move GPU block 6 → CPU block 2" in changes
    assert "GPU block 6: s3 and free → free" in changes
    assert "sequence 4: gone" in changes
    (outcome,) = shown.texts(".card .outcome")
    assert "guard said LATER" in outcome
    assert "raised an error" in outcome
    assert "KeyError" in outcome
    assert "breaks 2 laws" in outcome
    assert shown.ask("document.querySelectorAll('.card .arrows circle').length") == 2


def test_a_sequence_that_has_the_focus_shows_its_blocks_and_keeps_it(shown: Shown) -> None:
    shown.report(REPORT)
    shown.ask("document.querySelector('.card [data-sequence=\"2\"]').focus()")
    on = "[...document.querySelectorAll('.card .tile.on')].map((e) => e.dataset.block)"
    assert shown.ask(on) == ["gpu 1", "gpu 5"]
    shown.press("ArrowLeft")
    assert shown.ask("document.activeElement.dataset.sequence") == "2"
    assert shown.ask(on) == ["gpu 1", "gpu 5"]


def test_an_address_names_a_finding_and_a_step(shown: Shown) -> None:
    shown.report(REPORT, f"#finding-{SECOND.fingerprint}/1")
    assert "data.read-back" in shown.laws
    assert shown.place == "1 of 2"
    shown.report(REPORT, f"#finding-{THIRD.fingerprint}")
    assert shown.place == "3 of 3"
    shown.ask(f"location.hash = '#finding-{FIRST.fingerprint}/0'")
    shown.browser.wait(f"document.querySelector('{OPEN} .place').textContent === '0 of 2'")
    for wrong in ("#finding-none/7", "#finding-%", "#law-", "#law-none", f"#finding-{THIRD.fingerprint}/999"):
        shown.report(REPORT, wrong)
    assert shown.place == "3 of 3"


def test_laws_are_filtered_searched_and_opened(shown: Shown) -> None:
    shown.report(REPORT)
    rows = "[...document.querySelectorAll('.law-row')].filter((e) => !e.hidden).map((e) => e.id)"
    assert len(shown.ask(rows)) == len(REPORT.laws)
    shown.browser.click(".filter[data-verdict='not-exercised']")
    assert shown.ask(rows) == ["law-admission.sound-fork"]
    assert "no case met its premise" in shown.texts(".law-row:not([hidden])")[0]
    shown.browser.click(".filter[data-verdict='']")
    shown.ask("document.querySelector('input[type=search]').focus()")
    shown.press(*"null")
    assert shown.ask(rows) == ["law-window.null"]
    shown.press(*"xyz")
    assert shown.ask(rows) == []
    assert shown.ask("document.querySelector('.none').hidden") is False
    shown.report(REPORT, "#law-table.live")
    assert shown.ask("document.getElementById('law-table.live').open") is True


def test_an_outcome_that_was_never_seen_is_a_visible_zero(shown: Shown) -> None:
    shown.report(REPORT)
    rows = "[...document.querySelectorAll('.guards tbody tr')]"
    cells = shown.ask(f"{rows}.map((row) => [...row.cells].map((cell) => cell.className))")
    assert cells[0] == ["", "", "unseen", "unseen", "absent"]
    assert cells[1] == ["", "unseen", "unseen", "unseen", "absent"]
    assert cells[2] == ["", "unseen", "absent", "absent", ""]
    assert shown.texts(".guards .unseen")[0].startswith("0")


def test_a_known_deviation_is_muted_and_says_so(shown: Shown) -> None:
    shown.report(REPORT)
    assert shown.texts(".card.is-known .known-badge") == ["known deviation"]
    assert len(shown.texts(".card:not(.is-known)")) == 2


def test_the_ledger_is_shown_entry_by_entry_and_only_web_addresses_are_links(shown: Shown) -> None:
    shown.report(REPORT)
    entries = [
        {"law": "table.live", "fingerprint": "ab12", "status": status, "reason": support.HOSTILE, "link": link,
         "expires": "2027-03-31", "detail": "remove it"}
        for status, link in (("still failing", "https://example.org/12"), ("stale", "javascript:harm()"), ("?", "#12"))
    ]  # fmt: skip
    shown.ask(f"document.getElementById('main').append(knownElement({msgspec.json.encode(entries).decode()}))")
    assert shown.ask("[...document.querySelectorAll('.entry a')].map((a) => a.href)") == ["https://example.org/12"]
    assert [text.split("ab12")[0] for text in shown.texts(".entry")] == [
        "table.livestill failing", "table.livestale", "table.live?",
    ]  # fmt: skip
    assert all("until 2027-03-31" in text and support.HOSTILE in text for text in shown.texts(".entry"))


def test_colours_follow_the_system_and_the_button(shown: Shown) -> None:
    shown.report(REPORT)
    page = "getComputedStyle(document.body).backgroundColor"
    light = shown.ask(page)
    shown.browser.prefer(prefers_color_scheme="dark")
    dark = shown.ask(page)
    assert light != dark
    shown.press("t")
    assert shown.ask(page) == light
    shown.press("t")
    assert shown.ask(page) == dark
    shown.press("t")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_stand_out_from_what_is_behind_them(shown: Shown, scheme: str) -> None:
    """A contrast of 4.5, as WCAG asks for text."""
    shown.browser.prefer(prefers_color_scheme=scheme)
    shown.report(REPORT)
    pairs = (
        ("ink", "page"), ("ink", "card"), ("ink", "sunk"), ("muted", "page"), ("muted", "card"), ("muted", "sunk"),
        ("accent", "card"), ("ink", "accent-soft"), ("good", "good-soft"), ("bad", "bad-soft"), ("hold", "hold-soft"),
        ("ink", "good-soft"), ("ink", "bad-soft"), ("card", "bad"), ("card", "good"), ("card", "hold"),
        *(("owner-ink", f"owner-{number}") for number in range(7)),
    )  # fmt: skip
    for ink, ground in pairs:
        assert contrast(colour(shown, ink), colour(shown, ground)) >= 4.5, (scheme, ink, ground)


def colour(shown: Shown, name: str) -> tuple[float, ...]:
    """A colour of the page as red, green and blue, 0 to 1."""
    told: list[float] = shown.ask(
        "(() => { const probe = document.body.appendChild(document.createElement('i'));"
        f" probe.style.setProperty('color', 'var(--{name})'); const told = getComputedStyle(probe).color;"
        " probe.remove(); return told.match(/[0-9.]+/g).slice(0, 3).map((part) => part / 255); })()"
    )
    return tuple(told)


def contrast(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    """The contrast of two colours as WCAG 2 defines it, 1 to 21."""

    def light(parts: tuple[float, ...]) -> float:
        red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    low, high = sorted((light(one), light(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("width", [360, 400, 768, 1280, 1600])
def test_nothing_is_wider_than_the_window(shown: Shown, width: int) -> None:
    shown.browser.size(width, 900)
    shown.report(support.report(FIRST, THIRD, support.crowd(256, 5)))
    for _ in range(3):
        assert shown.ask("document.documentElement.scrollWidth") <= width
        shown.press("j")


def test_help_opens_and_closes(shown: Shown) -> None:
    shown.report(REPORT)
    shown.press("?")
    assert shown.ask("document.getElementById('help').open") is True
    shown.press("ArrowLeft")
    assert shown.place == "2 of 2"
    shown.press("Escape")
    shown.browser.wait("!document.getElementById('help').open")


def test_buttons_copy_the_command(shown: Shown) -> None:
    shown.report(REPORT)
    shown.ask("window.kept = []; navigator.clipboard.writeText = async (text) => { window.kept.push(text); }")
    shown.browser.click(".card .copyable button")
    shown.browser.wait("document.querySelector('.card .copyable .said').textContent === 'copied'")
    assert shown.ask("window.kept") == [FIRST.reproduce]


def test_a_command_that_cannot_be_copied_is_selected(shown: Shown) -> None:
    shown.report(REPORT)
    shown.ask("navigator.clipboard.writeText = async () => { throw new Error('not here'); }")
    shown.ask("document.execCommand = () => false")
    shown.browser.click(".card .copyable button")
    shown.browser.wait("document.querySelector('.card .copyable .said').textContent.includes('by hand')")
    assert shown.ask("getSelection().toString()") == FIRST.reproduce


def test_on_paper_every_finding_is_open(shown: Shown) -> None:
    shown.report(REPORT)
    shown.press("ArrowLeft")
    count = "document.querySelectorAll('.body:not([hidden])').length"
    shown.ask(f"window.opened = 0; addEventListener('beforeprint', () => {{ window.opened = {count}; }})")
    assert shown.browser.printed().startswith(b"%PDF")
    assert shown.ask("window.opened") == 3


def test_a_report_without_findings_says_so(shown: Shown) -> None:
    shown.report(support.report())
    assert "Conforms" in shown.texts(".verdict .said")[0]
    assert "Nothing was found." in shown.texts("#findings")[0]
    assert "1 more were never exercised" in shown.texts("#findings")[0]
    shown.press("j", "k", "ArrowLeft", "ArrowRight", "Home", "End")


def test_a_finding_without_pictures_is_told_in_words(shown: Shown) -> None:
    shown.report(support.report(support.finding(frames=[], marked=[])))
    assert "no pictures" in shown.texts(".card .stage")[0]
    shown.press("ArrowLeft")
    assert shown.place == "1 of 2"


def test_hundreds_of_blocks_and_steps_are_shown(shown: Shown) -> None:
    shown.report(support.report(support.crowd(256, 100), *(support.crowd(256, 5, seed=seed) for seed in range(1, 20))))
    assert shown.place == "100 of 100"
    assert len(shown.texts(f"{OPEN} .pool:first-child .tile")) == 256
    assert shown.ask("document.querySelector('.card .pool:last-of-type details').open") is False, "all free: folded"
    shown.press(*["ArrowLeft"] * 5, *"jjj")
    assert shown.ask("document.querySelectorAll('.pictures').length") == 4, "only what was opened is drawn"
