"""What is proved about the rules, one file an area, and which laws no proof is about.

`OBLIGATIONS` holds them all, in the order in which they build on each other; `kvspec.prover` discharges them.

- `arithmetic`: counting blocks, for every block size; `chunks`: prompts in parts, and drafts;
- `copying`: copy-on-write of one shared block;
- `guards`: the admission guards against operations performed block by block (`performing`, `requests`);
- `ownership`: who owns which block, for any number of them; `data`: what they read;
- `operations`: an approved operation is never stuck at one of its micro-steps;
- `prefix`: blocks that are found by their content (`indexing`);
- `window`: rows that give up what is read no more, `null_block`: the block that stands in for it, `ring`: rows that
  begin again;
- `atomicity`: failures leave no trace; `refinement`: what a judge sees is enough;
- `wrong_guards`, `wrong_ownership`, `wrong_data`, `wrong_prefix`, `wrong_window`, `wrong_null`,
  `wrong_observing`: wrong variants, each of which breaks a law;
- `reachable`: every micro-step can happen; `needed`: every hypothesis is needed.

Claims about caches and pools are posed in `worlds`: any number of blocks, or a few.
"""

from __future__ import annotations

from kvspec.theorems import (
    arithmetic,
    atomicity,
    chunks,
    copying,
    data,
    guards,
    needed,
    null_block,
    operations,
    ownership,
    prefix,
    reachable,
    refinement,
    ring,
    window,
    wrong_data,
    wrong_guards,
    wrong_null,
    wrong_observing,
    wrong_ownership,
    wrong_prefix,
    wrong_window,
)
from kvspec.theorems.obligation import Obligation

OBLIGATIONS: tuple[Obligation, ...] = tuple(
    obligation
    for area in (
        arithmetic,
        chunks,
        copying,
        guards,
        wrong_guards,
        ownership,
        wrong_ownership,
        data,
        wrong_data,
        operations,
        prefix,
        wrong_prefix,
        window,
        wrong_window,
        null_block,
        wrong_null,
        ring,
        atomicity,
        refinement,
        wrong_observing,
        reachable,
        needed,
    )
    for obligation in area.OBLIGATIONS
)

_CODE = "about what one implementation's code does; there is no rule to prove it of, so it is judged at run time"

UNPROVED: dict[str, str] = {
    "table.announced": f"{_CODE}: the model has no messages to an engine",
    "admission.guard-pure": "the guards here are functions of counts and change nothing; an implementation's can",
    "robust.no-crash": f"{_CODE}; that an approved operation never comes to an impossible micro-step is proved "
    "(operations.*)",
    "robust.bad-input": f"{_CODE}: the model has no illegal operations",
    "robust.deterministic": "the micro-steps here are functions; an implementation's need not be",
    "robust.progress": "about a scheduler over a whole run; that a group which fits alone is admitted when alone is "
    "proved (guards.*.impossible-is-never)",
}
"""The laws without a theorem, each with the reason."""

__all__ = ["OBLIGATIONS", "UNPROVED", "Obligation"]
