"""Who owns which block, drawn as text: the pools before and after the step that a finding is about.

Knows pictures only. It must not judge: the finding says which blocks are not as they should be. Signs carry the
meaning and colours repeat it, so that nothing is lost without them.
"""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest

from rich.text import Text

from kvconform.picture import BlockPicture, Picture, PoolPicture, SequencePicture
from kvconform.report.story import many

WHOLE = 12
"""A pool of so many blocks is drawn whole; of a larger one, what is not free."""

MOST = 24
"""Blocks of one pool that are drawn at most: those that are marked or changed first."""

WIDTH = 112
"""Columns that a line may take."""

OWNERS = 3
"""Owners that are named in one block."""

ENTRIES = 12
"""Entries of a block table that are written out."""

TABLES = 6
"""Block tables that are told."""

COLOURS = ("cyan", "magenta", "green", "blue", "bright_cyan", "bright_magenta", "bright_green", "bright_blue")
MARKED = "bold red reverse"

SIGNS = {
    "empty": "empty: free",
    "+": "+: shared",
    "~": "~: lookahead slots only",
    "!": "!: listed as free as well",
    "c": "c: free, with cached content",
    "null": "null: the null block",
    "?": "?: in no block table and not free: lost",
    "#": "#: the refcount, where it is not the number of owners",
    ">": "> <: not as it should be",
}


@dataclass(frozen=True)
class Moments:
    """The pictures to be compared, with a word for each; `before` is None where there is nothing to compare with."""

    before: Picture | None
    after: Picture
    words: tuple[str, str] = ("before", "after")


def moments(frames: Sequence[Picture], step: int, probe: str) -> Moments | None:
    """Before and after the step of this number; of a probe, before and after what is done beyond the operations. None
    where there is no picture of it.
    """
    if not frames:
        return None
    counted = [frame for frame in frames if frame.operation is not None]
    if probe == "finish" or probe.startswith("bad-input:"):
        if frames[-1].operation is None and counted:
            return Moments(counted[-1], frames[-1])
        return Moments(None, frames[-1])
    if probe:  # the operations themselves are not at fault: how things stand in the end is all there is to show
        return Moments(None, counted[-1], ("", "in the end"))
    after = next((frame for frame in counted if frame.operation == step), counted[-1])
    before = [frame for frame in counted if frame.operation is not None and frame.operation < (after.operation or 0)]
    return Moments(before[-1] if before else None, after, ("before", "after" if before else "at the start"))


def draw(shown: Moments, marked: Collection[tuple[str, int]]) -> list[Text]:
    """The drawing, line by line: pools, block tables that changed, copies and moves, and what the signs mean."""
    drawing = _Drawing(shown, frozenset(marked))
    lines: list[Text] = []
    for device in shown.after.pools:
        lines += drawing.pool(device)
    if lines:
        lines += [Text(f"  {line}", style="dim") for line in textwrap.wrap(drawing.legend(), WIDTH)]
    return lines + drawing.tables() + _orders(shown.after)


@dataclass(frozen=True)
class Cell:
    """The box of one block: what is written into it, its style, and whether the block is marked."""

    words: str
    style: str
    marked: bool = False


@dataclass
class _Drawing:
    shown: Moments
    marked: frozenset[tuple[str, int]]
    used: set[str] = field(default_factory=set)  # signs to be explained

    def pool(self, device: str) -> list[Text]:
        """One device's pool: block numbers, and a line for each moment. Nothing where nothing is there to be seen."""
        pools = self._pools(device)
        blocks = [{picture.block: picture for picture in pool.blocks} for _, pool in pools]
        numbers = sorted({number for each in blocks for number in each})
        busy = [n for n in numbers if self._busy(device, [each.get(n) for each in blocks])]
        if not busy:
            return []
        drawn = numbers if len(numbers) <= WHOLE else busy
        chosen = self._most_telling(device, drawn, blocks)
        cells = [[self._cell(each.get(number)) for number in chosen] for each in blocks]
        words, free = [word for word, _ in pools], [_free(pool) for _, pool in pools]
        if len(pools) > 1 and cells[0] == cells[1] and free[0] == free[1]:
            words, cells, free = [", ".join(words)], cells[:1], free[:1]
        # What is wrong is wrong in the end: before the step all was well.
        cells[-1] = [
            self._marked(device, blocks[-1].get(number), number, cell)
            for number, cell in zip(chosen, cells[-1], strict=True)
        ]
        lines = _columns(device, chosen, words, cells, free)
        total = max(pool.total for _, pool in pools)
        if len(chosen) < total:
            lines.append(Text(f"    {_left_out(total, chosen, busy)}", style="dim"))
        return lines

    def _pools(self, device: str) -> list[tuple[str, PoolPicture]]:
        before, after = self.shown.before, self.shown.after
        found = [] if before is None else [(self.shown.words[0], before.pools[device])]
        return [*found, (self.shown.words[1], after.pools[device])]

    def _busy(self, device: str, moments: Iterable[BlockPicture | None]) -> bool:
        """Whether there is more to say of the block than that it is free."""
        plain = all(block is None or block.state == "free" for block in moments)
        return not plain or any(block is not None and (device, block.block) in self.marked for block in moments)

    def _most_telling(
        self, device: str, numbers: Sequence[int], blocks: Sequence[dict[int, BlockPicture]]
    ) -> list[int]:
        if len(numbers) <= MOST:
            return list(numbers)

        def dull(number: int) -> tuple[bool, bool]:
            seen = [each.get(number) for each in blocks]
            return (device, number) not in self.marked, all(one == seen[0] for one in seen)

        return sorted(sorted(numbers, key=dull)[:MOST])

    def _cell(self, block: BlockPicture | None) -> Cell:
        """What is written into the block's box, and how it looks."""
        if block is None or block.state == "free":
            self.used.add("empty")
            return Cell("", "dim")
        if block.state != "held":
            sign, style = {"cached": ("c", "yellow"), "null": ("null", "dim")}.get(block.state, ("?", "bold yellow"))
            self.used.add(sign)
            return Cell(sign, style)
        words = "+".join(map(str, block.owners[:OWNERS])) + ("+.." if len(block.owners) > OWNERS else "")
        for sign, so in (("+", len(block.owners) > 1), ("~", not block.covered), ("!", block.listed)):
            if so:
                self.used.add(sign)
                words += "" if sign == "+" else sign
        return Cell(words, f"bold {COLOURS[block.owners[0] % len(COLOURS)]}")

    def _marked(self, device: str, block: BlockPicture | None, number: int, cell: Cell) -> Cell:
        """The cell, marked if the block is; with the refcount, where that is another than the owners are."""
        if (device, number) not in self.marked:
            return cell
        self.used.add(">")
        count = ""
        if block is not None and block.refcount not in (None, len(block.owners)):
            self.used.add("#")
            count = f"#{block.refcount}"
        return Cell(cell.words + count, MARKED, True)

    def legend(self) -> str:
        """What the numbers and signs in the boxes mean, as far as they occur."""
        told = [words for sign, words in SIGNS.items() if sign in self.used]
        return "; ".join(["in a box: the sequences whose block tables name the block", *told])

    # -- block tables ----------------------------------------------------------------------------------------

    def tables(self) -> list[Text]:
        """The block tables that changed or name a marked block."""
        before = {seq.id: seq for seq in self.shown.before.sequences} if self.shown.before else {}
        after = {seq.id: seq for seq in self.shown.after.sequences}
        told = [self._table(before.get(seq), after.get(seq)) for seq in sorted({*before, *after})]
        lines = [line for line in told if line is not None]
        more = [Text(f"  and {len(lines) - TABLES} more", style="dim")] if len(lines) > TABLES else []
        return lines[:TABLES] + more

    def _table(self, before: SequencePicture | None, after: SequencePicture | None) -> Text | None:
        old, new = _entries(before), _entries(after)
        seq = after or before
        if seq is None or (old == new and not self._names_marked(seq)):
            return None
        told = new if old == new or self.shown.before is None else f"{old} -> {new}"
        extent = f"   ({many(after.tokens, 'token')}, {after.computed} with KV)" if after else ""
        return Text(f"  sequence {seq.id}: {told}{extent}")

    def _names_marked(self, seq: SequencePicture) -> bool:
        return any((seq.device, block) in self.marked for row in seq.rows for block in row if block is not None)


def _entries(seq: SequencePicture | None) -> str:
    """A block table in one line: each group of layers has a row, and an entry of no block is a dash."""
    if seq is None:
        return "no block table"
    rows = [["-" if block is None else str(block) for block in row] for row in seq.rows]
    told = [
        " ".join(row if len(row) <= ENTRIES else [*row[: ENTRIES // 2], "..", *row[-ENTRIES // 2 :]]) for row in rows
    ]
    return f"{seq.device.upper()} [{' | '.join(told)}]"


def _orders(after: Picture) -> list[Text]:
    """Copies and moves that the manager ordered at this step."""
    told = []
    if after.copies:
        told.append(Text("  copies ordered: " + ", ".join(f"block {s} to {t}" for s, t in after.copies)))
    if after.moves:
        moves = ", ".join(f"{sd.upper()} {s} to {td.upper()} {t}" for sd, s, td, t in after.moves[:MOST])
        told.append(Text(f"  moves ordered: {moves}{', ..' if len(after.moves) > MOST else ''}"))
    return told


def _free(pool: PoolPicture) -> str:
    return "the free count cannot be had any more" if pool.free is None else f"{pool.free} free"


def _left_out(total: int, chosen: Sequence[int], busy: Sequence[int]) -> str:
    more = len(set(busy) - set(chosen))
    told = [f"{more} more, unchanged"] if more else []
    free = total - len({*chosen, *busy})
    told += [f"{many(free, 'block')} free all along"] if free > 0 else []
    return "not drawn: " + " and ".join(told or ["nothing"])


def _columns(
    device: str,
    numbers: Sequence[int],
    words: Sequence[str],
    cells: Sequence[Sequence[Cell]],
    free: Sequence[str],
) -> list[Text]:
    """Numbers above boxes, as many in a line as it has room for."""
    wide = max([len(cell.words) for row in cells for cell in row] + [len(str(number)) for number in numbers])
    head = max(len("    ") + max(map(len, words)), len(f"  {device.upper()} block")) + 2
    room = max(1, (WIDTH - head) // (wide + 3))
    lines: list[Text] = []
    for start in range(0, len(numbers), room):
        last = start + room >= len(numbers)
        line = Text(f"  {device.upper()} block".ljust(head), style="bold")
        line.append(" ".join(str(number).center(wide + 2) for number in numbers[start : start + room]), style="dim")
        lines.append(_stripped(line))
        for word, row, count in zip_longest(words, cells, free):
            line = Text(f"    {word}".ljust(head))
            for cell in row[start : start + room]:
                inside = cell.words.center(wide)
                line.append(f">{inside}<" if cell.marked else f"[{inside}]", style=cell.style)
                line.append(" ")
            line.append(f"  {count}" if last else "")
            lines.append(_stripped(line))
    return lines


def _stripped(line: Text) -> Text:
    line.rstrip()
    return line
