"""A picture of a run as a drawing (SVG) that stands for itself: both pools block by block, and the block tables.

Knows pictures. Made for pages that cannot run scripts; light and dark, and in print. The step-through drawing of a
report is the HTML page's.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from kvconform.picture import BlockPicture, Picture, PoolPicture
from kvconform.report.story import many

WIDTH, MARGIN, LABEL = 720, 12, 52
TILE, TALL, GAP, LINE = 52, 44, 6, 18
"""Sizes in pixels: of a block, between blocks, of a line of text."""

OWNERS = ("#4477aa", "#ee8866", "#228833", "#aa3377", "#bbaa33", "#66ccee")
"""A colour for each sequence, told apart by the colour-blind too (Paul Tol's bright scheme, and one of his light)."""

STYLE = """
text{font:12px system-ui,sans-serif;fill:#222}.dim{fill:#667}.strong{font-weight:600}.on{fill:#fff;font-weight:600}
.free{fill:none;stroke:#99a;stroke-dasharray:3 3}.cached{fill:url(#hatch);stroke:#889}.null{fill:#ccd;stroke:#889}
.missing{fill:none;stroke:#cc3311;stroke-dasharray:2 3}.mark{fill:none;stroke:#cc3311;stroke-width:3}
.bad{fill:#cc3311;font-weight:600}.hatch{stroke:#99a}.empty{fill:#fff;fill-opacity:.72}
@media(prefers-color-scheme:dark){text{fill:#dde}.dim{fill:#99a}.empty{fill:#111;fill-opacity:.62}.null{fill:#445}
.bad{fill:#ff7755}.mark,.missing{stroke:#ff7755}}
""".strip().replace("\n", "")

Marked = frozenset[tuple[str, int]]


class Sheet:
    """The lines of a drawing, from top to bottom."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.y = MARGIN

    def text(self, x: float, words: str, kind: str = "", down: float = 13) -> None:
        """Words at this place, so far below the top of the line."""
        named = f' class="{kind}"' if kind else ""
        self.parts.append(f'<text x="{x:g}" y="{self.y + down:g}"{named}>{escape(words)}</text>')

    def box(self, x: float, width: float, height: float, kind: str, *, fill: str = "", down: float = 0) -> None:
        """A rectangle."""
        how = f' style="fill:{fill}"' if fill else f' class="{kind}"'
        place = f'x="{x:g}" y="{self.y + down:g}" width="{width:g}" height="{height:g}"'
        self.parts.append(f'<rect {place} rx="4"{how}/>')

    def whole(self, title: str) -> str:
        """The drawing as a file."""
        hatch = (
            '<defs><pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" '
            'patternTransform="rotate(45)"><path class="hatch" d="M0 0V6"/></pattern></defs>'
        )
        height = self.y + MARGIN
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:g}" width="{WIDTH}" role="img">'
            f"<title>{escape(title)}</title><style>{STYLE}</style>{hatch}{''.join(self.parts)}</svg>\n"
        )


def drawing(
    title: str, scenes: Sequence[tuple[str, Picture]], block_size: int, marked: Iterable[tuple[str, int]]
) -> str:
    """Scenes, one below the other, each with its words. marked: blocks of the last scene that are not as they should
    be. block_size: slots of a block.
    """
    sheet, last = Sheet(), scenes[-1][1]
    numbers = sorted({seq.id for _, picture in scenes for seq in picture.sequences})
    colours = {seq: OWNERS[at % len(OWNERS)] for at, seq in enumerate(numbers)}
    for words, picture in scenes:
        sheet.text(MARGIN, words, "strong")
        sheet.y += LINE
        if picture.verdict or picture.result not in ("", "ok"):
            sheet.text(MARGIN, _outcome(picture), "dim" if picture.result == "ok" else "bad")
            sheet.y += LINE
        sheet.y += 4
        for device, pool in picture.pools.items():
            if pool.total:
                _pool(sheet, device, pool, colours, block_size, frozenset(marked) if picture is last else frozenset())
        _tables(sheet, picture, colours)
        sheet.y += 8
    return sheet.whole(title)


def _pool(
    sheet: Sheet, device: str, pool: PoolPicture, colours: dict[int, str], block_size: int, marked: Marked
) -> None:
    sheet.text(MARGIN, device.upper(), "strong", down=18)
    sheet.text(MARGIN, "? free" if pool.free is None else f"{pool.free} free", "dim", down=34)
    most = (WIDTH - 2 * MARGIN - LABEL) // (TILE + GAP)
    for at, block in enumerate(pool.blocks):
        if at and at % most == 0:
            sheet.y += TALL + GAP
        x = MARGIN + LABEL + at % most * (TILE + GAP)
        _block(sheet, x, block, colours, block_size)
        if (device, block.block) in marked:
            sheet.box(x - 2, TILE + 4, TALL + 4, "mark", down=-2)
    sheet.y += TALL + GAP + 4


def _block(sheet: Sheet, x: float, block: BlockPicture, colours: dict[int, str], block_size: int) -> None:
    if not block.owners:
        sheet.box(x, TILE, TALL, block.state)
        sheet.text(x + 5, str(block.block), "dim", down=15)
        word = {"free": "", "cached": "cached", "null": "null", "missing": "lost"}.get(block.state, "")
        sheet.text(x + 5, word, "bad" if block.state == "missing" else "dim", down=35)
        return
    part = TILE / len(block.owners)
    for at, seq in enumerate(block.owners):
        sheet.box(x + at * part, part, TALL, "", fill=colours[seq])
    empty = TALL / 2 * (1 - block.written / block_size)
    sheet.text(x + 5, str(block.block), "on", down=15)
    sheet.text(x + 5, "+".join(map(str, block.owners)), "on", down=35)
    if not block.covered:
        sheet.box(x + 3, TILE - 6, TALL - 6, "free", down=3)
    elif empty:
        sheet.box(x + TILE - 9, 6, empty, "empty", down=3)
    if block.listed:
        sheet.text(x + 24, "free!", "bad", down=15)


def _outcome(picture: Picture) -> str:
    """What the guard said, and how the operation ended."""
    guard = f"the guard says {picture.verdict.upper()}" if picture.verdict else ""
    ended = picture.result.replace("-", " ") if picture.result != "ok" else ""
    error = f" ({picture.error.partition(':')[0]})" if picture.error else ""
    return ", then ".join(part for part in (guard, ended) if part) + error


def _tables(sheet: Sheet, picture: Picture, colours: dict[int, str]) -> None:
    for seq in picture.sequences:
        rows = " | ".join(" ".join("-" if block is None else str(block) for block in row) for row in seq.rows)
        sheet.box(MARGIN, 10, 10, "", fill=colours[seq.id], down=3)
        extent = f"{many(seq.tokens, 'token')}, {seq.covered} in its table, {seq.computed} computed"
        sheet.text(MARGIN + 16, f"sequence {seq.id}: [{rows}]", down=12)
        sheet.text(MARGIN + 190, f"{seq.status}, {extent}", "dim", down=12)
        sheet.y += LINE
