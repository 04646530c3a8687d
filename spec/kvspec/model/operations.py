"""Each operation as a composition of micro-steps: which of them it is made of, over what, and on which device.

The alphabet is that of `kvspec.vocabulary`. An operation is a loop over block table entries; what is proved of the
micro-steps holds after any number of rounds, and what an admission guard approves is that no round finds the pool
empty. `kvspec.model.manager` performs these compositions on plain numbers; must not know what is claimed of them.
"""

from __future__ import annotations

from dataclasses import dataclass

from kvspec.vocabulary import Device


@dataclass(frozen=True)
class Part:
    """One loop of an operation: the micro-step of each round, the device it changes, and what the loop runs over."""

    step: str
    device: Device
    over: str


GPU, CPU = Device.GPU, Device.CPU

_APPEND = (
    Part("replace", GPU, "each shared block that the sequence writes to, of each running sequence in turn"),
    Part("take", GPU, "each block that the table lacks for the tokens and the lookahead, of each in turn"),
)

_EVERYWHERE = (
    Part("release", GPU, "each entry of each table that lies on the GPU"),
    Part("release", CPU, "each entry of each table that lies on the CPU"),
)

COMPOSED: dict[str, tuple[Part, ...]] = {
    "allocate": (
        Part("take", GPU, "each block that the prompt and the lookahead need, for the first sequence"),
        Part("share", GPU, "the same blocks, for each further sequence of the group"),
    ),
    "append": _APPEND,
    "step": (Part("write", GPU, "each scheduled token of each scheduled sequence"),),
    "fork": (Part("share", GPU, "each entry of the parent's table"),),
    "swap_out": (
        Part("transfer", CPU, "each block of the group's running sequences, for the first that owns it"),
        Part("follow", CPU, "the new block, for each further owner"),
        Part("release", GPU, "each entry of their tables"),
    ),
    "swap_in": (
        Part("transfer", GPU, "each block of the group's swapped sequences, for the first that owns it"),
        Part("follow", GPU, "the new block, for each further owner"),
        Part("release", CPU, "each entry of their tables"),
        *_APPEND,
    ),
    "preempt": (Part("release", GPU, "each entry of the tables of the group's running sequences"),),
    "free": _EVERYWHERE,
    "evict": (),  # nothing is cached without an index
    "reset_index": (),  # there is nothing to reset without an index
    "reset_all": _EVERYWHERE,
}
"""Of each operation, its loops in the order in which they run."""

COMPOSED_WITH_INDEX: dict[str, tuple[Part, ...]] = {
    "allocate": (
        Part("join", GPU, "each block of the prompt that is found and has an owner, for the first sequence"),
        Part("revive", GPU, "each that is found and has none, before anything else is taken"),
        *COMPOSED["allocate"],
    ),
    "step": (
        *COMPOSED["step"],
        Part("publish", GPU, "each block that all its owners have now computed whole"),
    ),
    "evict": (Part("drop", GPU, "so many of the published blocks that nobody owns, or each there is"),),
    "reset_index": (
        Part("drop", GPU, "each block that is published, be it owned or not"),
        Part("renew", GPU, "nothing, once"),
    ),
}
"""Of each operation that an index makes a difference to, its loops where there is one (`kvspec.model.index`). The
others are composed as without; what their micro-steps take from the free blocks drops out of the index.
"""

COMPOSED_WITH_WINDOW: dict[str, tuple[Part, ...]] = {
    "append": (Part("release", GPU, "each entry all of whose positions are dead, of each in turn"), *_APPEND),
}
"""Of each operation that a sliding window makes a difference to, its loops where there is one (`kvspec.model.window`).
What is given up first is free for the loops that follow.
"""
