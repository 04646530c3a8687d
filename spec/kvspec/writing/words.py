"""What no function of the model can say: what its columns go from and to, and the letters for them.

Data only. The meaning of a part of a state stands in the docstring of its dataclass, and here only where it has none;
a test finds what is in neither place.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Sort:
    """A column. index: what it is read at. value: what it has there. or_nothing: its numbers below 0 mean nothing.

    ghost: only the model has it; a block manager need not.
    """

    index: tuple[str, ...]
    value: str
    or_nothing: bool = False
    ghost: bool = False


COLUMNS: dict[str, Sort] = {
    "ref": Sort(("block",), "owners"),
    "tab": Sort(("entry",), "block", or_nothing=True),
    "rank": Sort(("entry",), "rank", ghost=True),
    "at": Sort(("block", "rank"), "entry", ghost=True),
    "perm": Sort(("place",), "block"),
    "pos": Sort(("block",), "place", ghost=True),
    "holds": Sort(("block", "slot"), "content"),
    "must": Sort(("entry", "slot"), "content", ghost=True),
    "computed": Sort(("entry",), "slots"),
    "key": Sort(("block",), "content", or_nothing=True),
    "written": Sort(("block",), "slots", ghost=True),
    "era": Sort(("block",), "era"),
    "start": Sort(("entry",), "position"),
    "done": Sort(("entry",), "tokens"),
    "covered": Sort(("entry",), "positions"),
    "spells": Sort(("content", "slot"), "content", ghost=True),
}
"""The columns of a cache, of an index and of rows under a window, by name. One that is not listed is
written all the same.
"""

LETTERS: dict[str, str] = {
    "block": "bcd",
    "entry": "fgh",
    "rank": "rst",
    "place": "ijk",
    "owners": "nmk",
    "content": "uvw",
    "slots": "lmn",
    "era": "yz",
    "position": "ijk",
    "positions": "ijk",
    "tokens": "lmn",
}
"""Letters for something of a sort that has no name of its own."""

ANY_OTHER = "xyz"

SPOKEN: dict[str, str] = {
    "entry": "e",
    "reader": "x",
    "block": "b",
    "rank": "r",
    "place": "i",
    "slot": "o",
    "content": "kv",
}
"""The letter of what a rule, an invariant or a claim speaks of, by its name in the code. Others keep their names."""

WHERE: dict[str, str] = {"entry": "p", "other": "q", "slot": "o", "content": "kv", "block": "d"}
"""The letters of the place where a micro-step happens, which are those that claims have for it."""

ANY: dict[str, str] = {"entry": "x", "number": "o"}
"""The letter of what a rule is about, by its kind, where the code has no name for it."""

MEANINGS: dict[str, str] = {
    "size": "blocks of the device",
    "free": "blocks that can be handed out",
    "pos": "where block b stands in `perm`",
    "lookahead": "slots wanted beyond the tokens",
    "watermark": "blocks that an admission must leave free on the GPU",
    "total": "blocks of the pool that is asked",
    "held": "distinct blocks of that pool that the group itself holds",
    "moved": "blocks that the swap moves",
    "slot": "the slot that is written, counted from 0 in its block",
    "content": "what is written; of a publish and a hit, what the last slot of the block ends",
    "block": "of a revive and a drop, the block that it is about",
    "key": "content under which block b is published, and is found by",
    "ring": "blocks after which a row begins again with its first one",
    "reserved": "blocks that are set aside, for nobody",
    "first_use": "blocks that the operation sets aside, as it is the first to use them",
    "held_hits": "blocks of the prompt that are found and that somebody owns",
    "cached_hits": "blocks of the prompt that are found and that are among the free ones",
    "now_free": "blocks that the pool can still give",
    "moves": "blocks that are still to be moved here",
    "table": "entries of the block table of the sequence whose turn it is",
    "slots": "slots that this table must come to cover",
    "copies": "shared blocks that this sequence has still to write to",
    "rest": "what the sequences after it need",
    "others": "what the sequences after the first need",
}
"""The meaning of a part or a number that has none in a docstring, or one that needs its neighbours to be understood."""

UNITS: dict[str, str] = {
    "size": "blocks",
    "free": "blocks",
    "block_size": "slots",
    "lookahead": "slots",
    "watermark": "blocks",
    "total": "blocks",
    "held": "blocks",
    "moved": "blocks",
    "tokens": "tokens",
    "seen": "tokens",
    "blocks": "blocks",
    "shared_writes": "blocks",
    "need": "blocks",
    "reserve": "blocks",
    "attainable": "blocks",
    "entry": "entry",
    "other": "entry",
    "source": "device",
    "slot": "slot",
    "content": "content",
    "block": "block",
    "resets": "resets",
    "window": "positions",
    "ring": "blocks",
    "reserved": "blocks",
    "first_use": "blocks",
    "held_hits": "blocks",
    "cached_hits": "blocks",
    "now_free": "blocks",
    "taken": "blocks",
    "moves": "blocks",
    "table": "blocks",
    "slots": "slots",
    "copies": "blocks",
    "rest": "blocks",
    "others": "blocks",
}
"""What is counted. Tokens and slots are one to one."""

TABLES: dict[str, str] = {
    "Invariant": "Of every pool, always: who owns what.",
    "Contents": "Of every device, always: what is read.",
    "Published": "Of every device with an index, always: what is found.",
    "Live": "Of rows under a window, always: what is kept.",
    "Uncovered": "Of rows before anything happened.",
    "Unpublished": "Of an index before anything happened.",
    "Pristine": "Of a pool before anything happened: where each induction starts.",
}
"""What a table of conjuncts is about, by its label."""
