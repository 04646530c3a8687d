"""docs/model.md: the state, the actions and the theorems in ordinary mathematics, and what is not proved.

Puts the sections together. What they say comes from the specification; a test compares the page with what this makes.
"""

from __future__ import annotations

from collections.abc import Iterator

from kvspec.laws import CATALOGUE
from kvspec.theorems import OBLIGATIONS, UNPROVED
from kvspec.theorems.obligation import PROOFS, Kind, is_variant
from kvspec.writing import describing, proving
from kvspec.writing.markdown import block, contents, prose, slug


def model_markdown() -> str:
    """The page."""
    body = [
        *_how_to_read(),
        *describing.words_and_state(),
        *describing.operations(),
        *describing.micro_steps(),
        *describing.invariants(),
        *proving.proved(),
        *proving.refuted(),
        *proving.laws(),
        *proving.not_proved(),
    ]
    return "\n".join([*_title(), *contents(body), "", *body]) + "\n"


def _title() -> Iterator[str]:
    proofs = sum(obligation.kind in PROOFS for obligation in OBLIGATIONS)
    refuted = [obligation.id for obligation in OBLIGATIONS if obligation.kind is Kind.REFUTATION]
    wrong = sum(map(is_variant, refuted))
    yield from ("# The model, and what is proved of it", "")
    yield "Written by `make docs` from `spec/kvspec`; do not edit. Formulas come from the functions that are proved."
    yield ""
    yield from prose(
        "This is what kvconform takes a KV cache with sharing, copy-on-write, swap, prefix index and sliding window to",
        "be, and what follows from it. Five things are claimed, for any number of blocks, slots, sequences and steps:",
    )
    yield ""
    yield "1. No block is freed twice or lost, and every sequence reads back what was written for it."
    yield "2. An operation that its guard approved never runs out of blocks, and no guard refuses without a reason."
    yield "3. Whoever takes a block over by its content finds in it just that prefix, computed, and of now."
    yield "4. Under a window a row gives up only what nobody reads, and the null block is nobody's."
    others = ", ".join(f"`{law}`" for law in UNPROVED)
    yield from prose(
        f"5. Of the {len(CATALOGUE)} laws by which managers are judged, {len(_proved_laws())} follow from the model.",
        f"The others are about what code or a scheduler does: {others}.",
    )
    yield ""
    yield from prose(
        f"{proofs} theorems say so; {wrong} wrong variants are told apart from the right ones, and for",
        f"{len(refuted) - wrong} hypotheses there is a proof that fails without it.",
        f"[{proving.NOT_PROVED}](#{slug(proving.NOT_PROVED)}) is the last section. To prove all of it again:",
    )
    yield from ("", *block(_commands(), "console"), "")


def _proved_laws() -> set[str | None]:
    return {obligation.law for obligation in OBLIGATIONS if obligation.kind in PROOFS} - {None}


def _commands() -> Iterator[str]:
    yield f"$ kvconform prove                      # all {len(OBLIGATIONS)} obligations, with z3"
    yield "$ kvconform prove --theorem ownership  # one area, or one theorem by its id, with all that it rests on"
    yield "$ kvconform prove --solver both        # with z3 and with cvc5"
    yield "$ kvconform prove --smt2 DIR           # every question as a file, for any solver"


def _how_to_read() -> Iterator[str]:
    yield from ("## How to read the formulas", "")
    yield from prose(
        "Numbers are whole numbers. ∧ is *and*, ∨ *or*, ¬ *not*, ⇒ *implies*, ⇔ *exactly if*; ⌈x / y⌉ is x / y",
        "rounded up; \\[c\\] is 1 where c holds, else 0. `tab(e) = ∅` says that the entry e owns nothing. A theorem",
        "says what it assumes, then ⇒, then what follows, and holds of whatever its letters stand for. `tab′` is",
        "`tab` after what the theorem is about; where it speaks of two moments, `tab″` is of the later one.",
    )
    yield ""
    tables, steps = proving.names_of_tables(), proving.names_of_steps()
    yield from prose(
        f"Names stand for what is long: {tables} for all that stands under [that heading](#{slug('Invariants')}), and",
        f"{steps} for all that [the micro-step](#{slug('Micro-steps')}) requires, with the device behind it where it",
        "is not the one that the theorem is about. Formulas are shortened by what is true of all numbers (x + 0 is",
        "x), so that both sides of an equation can come out the same, or nothing is left but *true*: then nothing",
        "more was to be shown.",
    )
    yield ""
