"""The atoms that decide an admission: what a request, a table and a pool can be like, each value with its sentence.

Pure data, in the words of the specification. It must not know how a value is recognised in a state (`meaning`), how it
is brought about, or whether it can be. Each atom's values exclude each other, and one of them always holds.

An *outcome* is the verdict together with how far the request is from another verdict. Slack is free - need - reserve.
The atoms of a *sequence* are those of one sequence of the group; the others are those of the group, or of the pool that
the guard is about.
"""

from __future__ import annotations

from dataclasses import dataclass

from kvspec.vocabulary import Guard


@dataclass(frozen=True)
class Atom:
    """One thing that a guard's answer may depend on. values: the sentence for each word."""

    name: str
    words: str
    values: dict[str, str]

    def __hash__(self) -> int:
        return hash(self.name)


OUTCOME = Atom(
    "outcome",
    "the verdict, and how near it is to another one",
    {
        "ok-0": "OK, with no block to spare",
        "ok-1": "OK, with one block to spare",
        "ok-far": "OK, with two or more blocks to spare",
        "later-1": "LATER, one block short",
        "later-far": "LATER, two or more blocks short",
        "later-tight": "LATER, where with every other group gone there is no block to spare",
        "never-1": "NEVER, where even with every other group gone one block is short",
        "never-far": "NEVER, where even with every other group gone two or more blocks are short",
    },
)

FAR = ("ok-far", "later-far", "never-far")
"""The outcomes that lie on no edge: values are combined with them two at a time, not three."""

PROMPT = Atom(
    "prompt",
    "the last block of the prompt",
    {"partial": "the prompt ends within a block", "full": "the prompt fills its last block"},
)

BLOCKS = Atom(
    "blocks",
    "blocks of the prompt",
    {"one": "the prompt takes one block", "several": "the prompt takes several blocks"},
)

MEMBERS = Atom(
    "group",
    "sequences that are admitted together",
    {"one": "a group of one", "two": "a group of two", "three": "a group of three"},
)

FILL = Atom(
    "fill",
    "the last block that holds tokens of the sequence",
    {"partial": "the sequence's last block with tokens is partly filled", "full": "its last block with tokens is full"},
)

UNSEEN = Atom(
    "unseen",
    "tokens of the sequence that no table covers yet",
    {
        "none": "the sequence has no unseen tokens",
        "within": "its unseen tokens end within the block that its seen ones end in",
        "across": "its unseen tokens go beyond the block that its seen ones end in",
    },
)

AHEAD = Atom(
    "ahead",
    "lookahead slots asked for",
    {
        "none": "no lookahead is asked for",
        "within": "the lookahead ends within the block that the tokens end in",
        "across": "the lookahead, of at most a block, goes beyond the block that the tokens end in",
        "more": "the lookahead is larger than a block",
    },
)

TAIL = Atom(
    "tail",
    "empty lookahead blocks that the sequence's table holds beyond its seen tokens, against what is now asked for",
    {
        "none": "the table has no empty blocks",
        "outgrown": "the table has empty blocks, and more are wanted",
        "filled": "the table has empty blocks, just as many as are wanted",
        "one-left": "the table has one empty block more than is wanted",
        "several-left": "the table has several empty blocks more than are wanted",
    },
)

HELD = Atom(
    "tail",
    "empty lookahead blocks that the sequence's table holds beyond its seen tokens",
    {
        "none": "the table has no empty blocks",
        "one": "the table has one empty block",
        "several": "the table has several empty blocks",
    },
)

SHARING = Atom(
    "sharing",
    "which blocks of the sequence's table another sequence has too",
    {
        "none": "the sequence shares no block",
        "whole": "it shares its whole table",
        "prefix": "it shares the first blocks of its table, not the rest",
        "scattered": "it shares some blocks behind others that it does not share",
    },
)

GROUP = Atom(
    "group",
    "the group under test, and how its sequences came about",
    {
        "one": "a group of one",
        "siblings": "a group of two, admitted together",
        "forked": "a group of two, one forked from the other",
        "three": "a group of three",
    },
)

COPY = Atom(
    "copy",
    "what writing to shared blocks costs",
    {
        "none": "the sequence writes to no block that was shared",
        "copied": "it writes to a block that is still shared: copy-on-write",
        "last": "it writes to a block that all others have left in this append: in place, as its last owner",
    },
)

WATERMARK = Atom(
    "watermark",
    "the watermark",
    {
        "none": "there is no watermark",
        "left": "the watermark is left free",
        "crossed": "there are blocks enough, but less than the watermark would be left free",
        "short": "there is a watermark, and there are not blocks enough anyway",
    },
)

DEVICE = Atom(
    "device",
    "the pool that blocks are asked of",
    {
        "full": "no block of the pool is free",
        "part": "some blocks are free",
        "empty": "all blocks of the pool are free",
    },
)

OTHER = Atom(
    "other",
    "a second group",
    {"none": "there is no other group", "running": "another group runs", "swapped": "another group is swapped out"},
)

FAILURE = Atom(
    "failure",
    "where the pool would run out, were it done",
    {
        "nowhere": "the pool does not run out",
        "only": "the pool runs out at the only block that is taken",
        "first": "the pool runs out at the first of the blocks taken",
        "middle": "the pool runs out at neither the first nor the last of the blocks taken",
        "last": "the pool runs out at the last of the blocks taken",
    },
)


@dataclass(frozen=True)
class Table:
    """What decides one guard. Classes are the outcomes with each pair of values of different atoms; where `at_once` is
    3, with each triple, but for the FAR ones. left_out: atoms of other guards, and why they are not this one's.
    """

    atoms: tuple[Atom, ...]
    at_once: int
    left_out: dict[str, str]


AROUND = (WATERMARK, DEVICE, OTHER, FAILURE)
GROWING = (FILL, UNSEEN, AHEAD, TAIL, SHARING, GROUP, COPY, *AROUND)

TABLES: dict[Guard, Table] = {
    Guard.ALLOCATE: Table(
        (PROMPT, BLOCKS, MEMBERS, *AROUND),
        2,
        {
            "fill": "`prompt` says it of the sequences to come",
            "unseen": "a group that is admitted has none: its table covers the whole prompt",
            "ahead": "managers differ in what allocate does with it; the laws bind each to its own declaration",
            "tail": "there is no table yet",
            "sharing": "the sequences of a new group share everything",
            "copy": "nothing is written to before the step",
        },
    ),
    Guard.APPEND: Table(GROWING, 2, {}),
    Guard.SWAP_OUT: Table(
        (FILL, UNSEEN, HELD, SHARING, GROUP, DEVICE, OTHER, FAILURE),
        2,
        {
            "ahead": "blocks are moved as they are; nothing is asked for beyond them",
            "copy": "nothing is written",
            "watermark": "the CPU pool has none",
        },
    ),
    Guard.SWAP_IN: Table(GROWING, 3, {}),
}
