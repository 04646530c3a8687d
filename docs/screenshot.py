"""Draws docs/images/report.png: `make screenshot`. Needs a Chromium.

A real check of a fault, its page in a headless browser, and of its findings the one whose picture shows most.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from kvconform.check import Check, choose_profile
from kvconform.picture import BlockPicture
from kvconform.report import build, html
from kvconform.report.model import ViolationLine
from kvconform.targets import resolve

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tests" / "page"))
from chromium import Chromium, find  # noqa: E402

TARGET = "fault:evicts-referenced"
IMAGE = HERE / "images" / "report.png"
WIDTH, HEIGHT = 1240, 900


def signs(violation: ViolationLine) -> tuple[int, int]:
    """How much the last picture of a finding shows: different kinds of blocks, then blocks."""
    if not violation.frames or not violation.marked:
        return 0, 0
    drawn = [block for pool in violation.frames[-1].pools.values() for block in pool.blocks]
    return len({kind(block) for block in drawn}), len(drawn)


def kind(block: BlockPicture) -> tuple[object, ...]:
    """What a block looks like but for its colour."""
    return block.state, min(len(block.owners), 2), block.covered > 0, block.written == block.covered, block.listed


def draw(browser: str, image: Path) -> None:
    """Check, render, take the picture."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        check = Check(resolve(TARGET), choose_profile("quick"))
        report = build.build(check.run(), Path(folder), check.start)
        page = Path(folder, "report.html")
        page.write_text(html.render(report), encoding="utf-8")
        shown = max(report.violations, key=signs)
        with Chromium(browser, Path(folder, "browser")) as chromium:
            chromium.size(WIDTH, HEIGHT)
            chromium.prefer(prefers_color_scheme="light")
            chromium.open(page, f"#finding-{shown.fingerprint}")
            chromium.ask("document.activeElement.blur()")
            image.parent.mkdir(exist_ok=True)
            image.write_bytes(chromium.picture())
    print(f"{image.name}: {shown.law}, {len(shown.trace)} steps, {image.stat().st_size:,} bytes")


if __name__ == "__main__":
    found = find()
    if found is None:
        sys.exit("no Chromium is here: install one, or name one in the variable CHROMIUM")
    draw(found, IMAGE)
