"""What is proved about the rules, one file an area, and which laws no proof is about.

`OBLIGATIONS` holds them all, in the order in which they build on each other; `kvspec.prover` discharges them.

- `arithmetic`: counting blocks, for every block size;
- `copying`: copy-on-write of one shared block;
- `guards`, `wrong_guards`: the admission guards against operations performed block by block (`performing`, `requests`);
- `ownership`, `wrong_ownership`: who owns which block (`kernel`), for any number of them (`worlds`).
"""

from __future__ import annotations

from kvspec.theorems import arithmetic, atomicity, copying, data, guards, needed, operations, ownership, reachable, refinement, wrong_data, wrong_guards, wrong_observing, wrong_ownership
from kvspec.theorems.obligation import Obligation

OBLIGATIONS: tuple[Obligation, ...] = tuple(
    obligation
    for area in (arithmetic, copying, guards, wrong_guards, ownership, wrong_ownership, data, wrong_data, operations, atomicity, refinement, wrong_observing, reachable, needed)
    for obligation in area.OBLIGATIONS
)

_CONTENT = "about what a block holds, and the rules here know counts and owners only; the judge's ledger knows contents"
_CODE = "about what one implementation's code does; there is no rule to prove it of, so it is judged at run time"

UNPROVED: dict[str, str] = {
    "accounting.spendable": "about a whole run seen from outside; that a free block can be taken, once, is proved "
    "(ownership.take.possible, ownership.take.no-double-free)",
    "table.no-alias": f"{_CONTENT}; that a taken or copied block is nobody else's is proved "
    "(ownership.take.own-number, ownership.replace.written-alone)",
    "table.announced": _CODE,
    "admission.guard-pure": "the guards here are functions of counts and change nothing; an implementation's can",
    "data.read-back": _CONTENT,
    "data.copies": _CONTENT,
    "data.swap-content": _CONTENT,
    "data.swap-keeps-sharing": "a choice of the manager that moves the blocks; the guards are proved for either, with "
    "the blocks counted as they are moved",
    "robust.no-crash": _CODE,
    "robust.atomic-failure": _CODE,
    "robust.free-any-state": _CODE,
    "robust.bad-input": _CODE,
    "robust.deterministic": _CODE,
    "robust.progress": "about a scheduler over a whole run; that a group which fits alone is admitted when alone is "
    "proved (guards.*.impossible-is-never)",
}
"""The laws without a theorem, each with the reason."""

__all__ = ["OBLIGATIONS", "UNPROVED", "Obligation"]
