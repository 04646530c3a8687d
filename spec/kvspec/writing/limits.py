"""What is not proved, and why: as data, each with what it rests on or what is done instead.

Which laws have no theorem is `kvspec.theorems.UNPROVED`; here is what no single law is about.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limit:
    """One limit. what: where something ends. why: the reason. instead: what stands in for it, or what it rests on."""

    what: str
    why: str
    instead: str


STANDS_FOR: tuple[Limit, ...] = (
    Limit(
        "owners are not counted",
        "Solvers are bad at counting. The owners of a block correspond one to one to the numbers below its refcount "
        "(`rank`, and `at` as its inverse), and that this means as many owners as the refcount says is left to the "
        "reader.",
        "proved: `ownership.refcount.ranks-differ` and `ownership.refcount.each-rank-owned`; in a pool of a few blocks "
        "they are counted, `ownership.refcount.counted`",
    ),
    Limit(
        "the free list is the beginning of a permutation",
        "It makes *each free block is listed once* a fact about functions. Managers have stacks, queues and sets, and "
        "hand out whichever free block they like.",
        "proved: the list can be reordered so that any free block is next, and nobody can tell "
        "(`refinement.reorder.hands-out`)",
    ),
    Limit(
        "ghosts",
        "`rank`, `at` and `must` are there to state invariants and the rules of micro-steps; `pos` is `perm` "
        "read backwards. A manager need not have any of them.",
        "for whatever a judge who sees no ghosts lets pass there is a state with ghosts: `refinement`",
    ),
    Limit(
        "the sequences after the first are one number",
        "A guard adds up over the sequences of a group. In the theorems about guards the first of them is looked "
        "at, and what the others need is a number, `others` or `rest`.",
        "proved of three sequences: `guards.need.adds-up`, and `guards.course.next`; that it then holds of any group "
        "is induction over its sequences",
    ),
    Limit(
        "how many shared blocks a sequence writes to is a number",
        "The guards are given `shared_writes`. That it is the number of entries which are written and whose refcount "
        "is more than 1 at the sequence's turn is not a theorem.",
        "the enumeration counts them from the tables and finds that exactly as many blocks are taken; the order of "
        "turns is `copying.turns.any-order`",
    ),
    Limit(
        "a refused operation does nothing by definition",
        "In the model the guard is asked first, and what it refuses is not begun: `guards.*.refused-is-nothing` says "
        "no more than that.",
        "that one which fails half way can be taken back is a theorem, `atomicity`; a manager's own refusals are "
        "judged at run time",
    ),
    Limit(
        "induction is not the solver's",
        "Operations and histories have any number of steps. The solver proves that something holds at the start and "
        "that one step keeps it; that it therefore always holds is said here, and by no machine.",
        "every start and every step has an id, and the text of each area says how they are put together",
    ),
    Limit(
        "all blocks are not summed",
        "That free and held blocks are all blocks is a sum over a pool of any size. The solver is asked about the "
        "blocks whose owners a micro-step changes; the held blocks before it are a number.",
        "proved: no other refcount changes, `ownership.*.others-alone`",
    ),
    Limit(
        "a quotient is two inequalities",
        "Dividing by a number that is not known is where solvers give up. ⌈x / y⌉ is posed as a number q with "
        "(q − 1) · y < x ≤ q · y, of which there is exactly one for y ≥ 1.",
        "a test compares it with whole-number division",
    ),
    Limit(
        "examples are small",
        "That a wrong variant breaks a law, and that what a theorem assumes can happen, is shown by one example "
        "with small numbers, in a pool of a few blocks and entries where it is about a pool. Proofs are never of a "
        "few, except `ownership.refcount.counted`.",
        "every example is evaluated again on plain numbers, by the same functions, before it counts",
    ),
    Limit(
        "a content is a number",
        "It stands for the KV of one token after one prefix: equal prefixes have equal contents, and nothing else "
        "does. What a kernel writes into a slot, and whether it does so twice alike, is not spoken of.",
        "the judge's ledger has contents of the same kind",
    ),
    Limit(
        "a key is the content itself",
        "Managers find blocks by hashes of tokens, extra keys and the hash before. Here a block is published under "
        "the content that its last slot ends, and `spells` says what its slots have then, whatever that is. How a key "
        "is made is not spoken of.",
        "what comes of keys that say less are wrong variants: `prefix.find.bent.*`",
    ),
    Limit(
        "the run that is found is a number",
        "How many blocks from the start of a prompt can be found is given, and the walk over them is counted: "
        "`prefix.found.*`. That each of them is found under its own content is not part of that.",
        "proved of one block: whatever is found can be taken over, `prefix.hit.either-way`",
    ),
    Limit(
        "the order of eviction is of two blocks",
        "The model hands out whichever free block it likes; what goes first is said of two arbitrary cached blocks, by "
        "when they were used and where they stand in their row. Where two blocks hold the same prefix, *uses the "
        "prefix too* is about the one that the sequence has.",
        "judged at run time: `prefix.lru`, `prefix.descendants-first`",
    ),
    Limit(
        "where an entry stands is given",
        "Rows under a window say of each entry the position of its first slot, how many tokens of its sequence are "
        "computed and how many its row covers. That these are the same for all entries of one row, and a block apart, "
        "is not part of them: what is said of one entry does not need the others.",
        "the counts of a whole row are numbers: `window.dead-entries.*` and `window.live-entries.*`",
    ),
    Limit(
        "an entry that was given up is empty",
        "Managers leave a null block in its place, or drop it and remember where the row begins. Here it owns nothing, "
        "and what is shown to an engine there is not spoken of.",
        "a row that owns what it shows there is a wrong variant: `null.release.bent.as-if-owned`",
    ),
    Limit(
        "the null block has an owner",
        "Besides sequences an entry that is in no row can own a block, the pin. So whatever is known of owners is "
        "known of a block that is set aside, and `free`, held and reserved blocks are told apart by the pin alone.",
        "proved: it stays apart whatever happens elsewhere, `null.*`; the guard that counts it is of any number of "
        "such blocks",
    ),
    Limit(
        "an entry of a ring is one entry",
        "A row that begins again names a block several times. In the model that is one entry, which owns the block "
        "once; which positions lie in it is counted: `ring.*`.",
        "counting it once for each time it is named is a wrong variant: `ownership.share.bent.once-per-entry`",
    ),
    Limit(
        "copies and transfers happen at once",
        "Engines collect them and execute them in the next forward pass. Executed in the order in which they were "
        "decided, and before anything is written, they come to the same.",
        "judged at run time in the order that the manager declares: `data.copies`, `data.swap-content`",
    ),
)
"""What stands for something else in the theorems."""

NOT_ASKED: tuple[Limit, ...] = (
    Limit(
        "no program is proved",
        "The theorems are about the functions of `spec/kvspec`. The reference manager and the engines are other code.",
        "they are tested against these very functions, operation by operation: `kvconform check`",
    ),
    Limit(
        "the solver is believed",
        "An `unsat` comes without a proof that anything smaller could check.",
        "`kvconform prove --solver both` asks z3 and cvc5, which share no code; `--smt2 DIR` writes every question for "
        "any other solver; `unknown` never counts as proved",
    ),
    Limit(
        "the two sides of the algebra are believed to agree",
        "A rule is one Python function that runs on numbers and on solver terms. That + means the same on both is "
        "not a theorem.",
        "tests compare both sides, and what is proved is tried on plain numbers",
    ),
    Limit(
        "what an engine never does",
        "An engine's scheduler produces few of the orders that are legal. Which ones is an observation about its code.",
        "adapters declare it with a reason; it narrows what the kit tries, and silences no law",
    ),
)
"""What no solver is asked."""

NOT_IN_THE_MODEL: tuple[Limit, ...] = (
    Limit(
        "an index or a window on plain numbers",
        "The manager that the enumeration plays has neither, and no null block, and neither have the vectors: what a "
        "device with one does is proved, and its wrong variants are refuted in a few blocks.",
        "judged at run time, of managers that have one: the laws of `prefix` and of `window`",
    ),
    Limit(
        "an index of what was swapped",
        "A block that was brought from the other device is never published again: when its KV was computed is not "
        "known here. The other device has no index.",
        "it may be published in a manager that knows; the judge's ledger does",
    ),
    Limit(
        "what is computed on top of what is older than a reset",
        "A block is of before a reset if it was taken before it. What is computed after a reset by a sequence whose "
        "first blocks are older counts as new.",
        "the law counts it in the same way: `prefix.reset`",
    ),
    Limit(
        "a preempted group that comes back in several pieces",
        "`allocate` admits sequences that share what they are admitted with. A group that was preempted after its "
        "sequences had parted comes back with several prefixes, and managers differ in what of it they still share.",
        "judged at run time, with a need between what the longest sequence takes and what all take on their own",
    ),
    Limit(
        "a window and a swap or a hit at once",
        "Operations under a window are `append` only. What a swap moves of a row whose first entries were given up, "
        "and what an admission demands that leaves out hits nobody reads, no guard here says.",
        "judged at run time, of managers that have both; that such hits are enough is proved: `window.hits.*`",
    ),
    Limit(
        "a ring that is computed whole",
        "A prompt longer than its ring is put into it, and is right only if what is written over is read from "
        "elsewhere, as kernels for whole prompts do. The theorem about slots is of as many positions at once as the "
        "ring was made for.",
        "chunks that fit keep it: `ring.slots.apart`",
    ),
    Limit(
        "chunks and drafts on plain numbers",
        "What a chunk takes and what drafts leave computed is counted; the manager that the enumeration plays covers "
        "all unseen tokens at once and computes what is covered. A shared block is written by the first chunk that "
        "reaches it, so that copies add up too; that is not a theorem.",
        "proved of the counts: `chunks.*`; judged at run time by the laws of `table` and `data`",
    ),
    Limit(
        "several kinds of blocks",
        "There are two pools, of one block size, and one table a sequence: no cross-attention, and no groups of layers "
        "with rows of their own, some under a window and some not.",
        "each group alone is a row as here; judged at run time, group by group",
    ),
    Limit(
        "pools without a block",
        "Theorems about a pool say that it has at least one block and that a block has at least one slot.",
        "in a pool without blocks no micro-step is possible",
    ),
    Limit(
        "things at the same time",
        "One operation after the other, each as a whole. Workers that hold the same tables are one memory.",
        "nothing",
    ),
    Limit(
        "time, fairness and choice",
        "Which group is admitted, swapped out or preempted, and when, is the scheduler's. Nothing here says that it "
        "does so well.",
        "`robust.progress` is judged under a scheduler of the kit",
    ),
)
"""What the model does not have."""
