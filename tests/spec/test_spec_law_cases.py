"""What each law means, by cases: what keeps it, what breaks it one part at a time, and what it does not speak of.

A predicate that forgets a part, or a premise that leaves cases out, is seen here.
"""

from __future__ import annotations

import pytest

from kvspec.laws import CATALOGUE
from kvspec.laws.accounting import Block, BlockNumber, Pool, Release, Spending
from kvspec.laws.admission import Admitted, Approval, Asking, Counting, Precision, Refusal
from kvspec.laws.data import Moved, Read, Sharing, Write
from kvspec.laws.prefix import Hit, Prompt, Reuse
from kvspec.laws.robust import BadInput, Call, Ending, Failure, Progress, Repetition
from kvspec.laws.table import Announcement, Entry, Frame, Place, Row, Tenancy
from kvspec.laws.window import NullBlock, Window

KEPT, BROKEN, SILENT = True, False, None
"""What a law says of a case; nothing where its premise is not met."""

OK, RAN_OUT = Approval(ok=True, ran_out=False), Approval(ok=True, ran_out=True)
REFUSED = Approval(ok=False, ran_out=True)

APPROVALS = [(OK, KEPT), (RAN_OUT, BROKEN), (REFUSED, SILENT)]
PRECISIONS = [
    (Precision(refused=True, free=3, need=3, reserve=1), KEPT),
    (Precision(refused=True, free=3, need=4, reserve=0), KEPT),
    (Precision(refused=True, free=3, need=2, reserve=1), BROKEN),
    (Precision(refused=True, free=900, need=800, reserve=100), BROKEN),
    (Precision(refused=False, free=3, need=2, reserve=1), SILENT),
]
MOVES = [(Moved(wrong=0), KEPT), (Moved(wrong=1), BROKEN), (Moved(wrong=900), BROKEN)]

CASES = {
    "accounting.conservation": [
        (Pool(free=1, held=2, total=15, reclaimable=3, reserved=4, pending=5), KEPT),
        *((Pool(**{"free": 1, "held": 1, "total": 3, "reserved": 1, name: 2}), BROKEN) for name in ("free", "held")),
        *((Pool(free=1, held=1, total=2, **{name: 1}), BROKEN) for name in ("reclaimable", "reserved", "pending")),
        (Pool(free=1, held=2, total=4), BROKEN),
    ],
    "accounting.free-exact": [
        (Block(times_free=1, classified=0), KEPT),
        (Block(times_free=0, classified=1), KEPT),
        (Block(times_free=1, classified=1), BROKEN),
        (Block(times_free=2, classified=0), BROKEN),
        (Block(times_free=0, classified=0), BROKEN),
    ],
    "accounting.refcount": [
        (Block(refcount=900, owners=900), KEPT),
        (Block(refcount=1, owners=2), BROKEN),
        (Block(refcount=1, owners=0), BROKEN),
    ],
    "accounting.no-double-free": [
        (Release(growth=2, ended=2), KEPT),
        (Release(growth=1, ended=2), KEPT),
        (Release(growth=900, ended=899), BROKEN),
        (Release(growth=1, ended=1, error=True), BROKEN),
        (Release(handed_out_while_held=1), BROKEN),
    ],
    "accounting.valid-ids": [
        (BlockNumber(3, first=3, last=3), KEPT),
        (BlockNumber(2, first=3, last=5), BROKEN),
        (BlockNumber(6, first=3, last=5), BROKEN),
        (BlockNumber(4, first=3, last=5, times_in_row=2), BROKEN),
    ],
    "accounting.no-leak": [
        (Pool(free=1, held=0, total=6, reclaimable=2, reserved=3), KEPT),
        (Pool(free=3, held=0, total=4), BROKEN),
        (Pool(free=3, held=1, total=5), SILENT),
    ],
    "accounting.spendable": [
        (Spending(handed_out=3, distinct=3, left=1, total=4, kept=1), KEPT),
        (Spending(handed_out=3, distinct=3, left=0, total=4, kept=0), BROKEN),
        (Spending(handed_out=4, distinct=3, left=0, total=4, kept=0), BROKEN),
        (Spending(handed_out=3, distinct=3, left=1, total=4, kept=0), BROKEN),
    ],
    "table.covers": [
        (Row(blocks=2, slots=8, block_size=4), KEPT),
        (Row(blocks=2, slots=9, block_size=4), BROKEN),
        (Row(blocks=900, slots=3601, block_size=4), BROKEN),
    ],
    "table.tight": [
        (Row(blocks=2, slots=5, block_size=4), KEPT),
        (Row(blocks=3, slots=5, block_size=4, blocks_before=3), KEPT),
        (Row(blocks=3, slots=5, block_size=4, blocks_before=2), BROKEN),
    ],
    "table.one-device": [
        (Place(shown_on_gpu=True, running=True), KEPT),
        (Place(shown_on_gpu=False, running=False), KEPT),
        (Place(shown_on_gpu=True, running=False), BROKEN),
        (Place(shown_on_gpu=False, running=True), BROKEN),
    ],
    "table.live": [
        (Entry(times_free=0, refcount=1), KEPT),
        (Entry(times_free=1, refcount=1), BROKEN),
        (Entry(times_free=0, refcount=0), BROKEN),
    ],
    "table.no-alias": [(Tenancy(0), KEPT), (Tenancy(1), BROKEN), (Tenancy(900), BROKEN)],
    "table.announced": [(Announcement(0), KEPT), (Announcement(1), BROKEN)],
    "table.frame": [
        (Frame(named=False, changed=False), KEPT),
        (Frame(named=False, changed=True), BROKEN),
        (Frame(named=True, changed=True), SILENT),
    ],
    **{f"admission.sound-{guard}": APPROVALS for guard in ("allocate", "append", "fork", "swap-in", "swap-out")},
    "admission.watermark": [
        (Admitted(admitted=True, free=2, watermark=2), KEPT),
        (Admitted(admitted=True, free=0, watermark=0), KEPT),
        (Admitted(admitted=True, free=1, watermark=2), BROKEN),
        (Admitted(admitted=True, free=-1, watermark=0), BROKEN),
        (Admitted(admitted=False, free=0, watermark=2), SILENT),
    ],
    "admission.never-is-final": [
        (Refusal(never=True, later=False, ok_when_alone=False), KEPT),
        (Refusal(never=True, later=False, ok_when_alone=True), BROKEN),
        (Refusal(never=False, later=True, ok_when_alone=True), SILENT),
    ],
    "admission.impossible-is-never": [
        (Refusal(never=False, later=True, alone=False, fits_when_alone=True), KEPT),
        (Refusal(never=False, later=True, alone=True, fits_when_alone=True), BROKEN),
        (Refusal(never=False, later=True, alone=False, fits_when_alone=False), BROKEN),
        (Refusal(never=True, later=False, alone=True, fits_when_alone=False), SILENT),
    ],
    **{f"admission.precise-{guard}": PRECISIONS for guard in ("allocate", "append", "swap-out", "swap-in")},
    "admission.guard-pure": [
        (Asking(), KEPT),
        *((Asking(**{part: True}), BROKEN) for part in ("counts", "rows", "refcounts", "verdict")),
    ],
    "data.read-back": [
        (Read(wrong=0, slots=1), KEPT),
        (Read(wrong=1, slots=9), BROKEN),
        (Read(wrong=9, slots=9), BROKEN),
        (Read(wrong=0, slots=0), SILENT),
    ],
    "data.exclusive-write": [
        (Write(sharing=True, spoiled=0), KEPT),
        (Write(sharing=True, spoiled=1), BROKEN),
        (Write(sharing=True, spoiled=9), BROKEN),
        (Write(sharing=False, spoiled=0), SILENT),
    ],
    "data.copies": MOVES,
    "data.swap-content": MOVES,
    "data.swap-keeps-sharing": [
        (Sharing(before=2, after=2), KEPT),
        (Sharing(before=2, after=1), KEPT),
        (Sharing(before=2, after=3), BROKEN),
    ],
    "robust.no-crash": [(Call(raised=False), KEPT), (Call(raised=True), BROKEN)],
    "robust.atomic-failure": [(Failure(changed=False), KEPT), (Failure(changed=True), BROKEN)],
    "robust.free-any-state": [
        (Ending(again=False, raised=False, changed=True), KEPT),
        (Ending(again=True, raised=False, changed=False), KEPT),
        (Ending(again=False, raised=True, changed=False), BROKEN),
        (Ending(again=True, raised=True, changed=False), BROKEN),
        (Ending(again=True, raised=False, changed=True), BROKEN),
    ],
    "robust.bad-input": [
        (BadInput(accepted=False, changed=False), KEPT),
        (BadInput(accepted=True, changed=False), BROKEN),
        (BadInput(accepted=False, changed=True), BROKEN),
    ],
    "robust.deterministic": [(Repetition(0), KEPT), (Repetition(1), BROKEN)],
    "admission.hits-counted-once": [
        (Counting(approved=True, free=4, blocks=5, held=1, cached=2), KEPT),
        (Counting(approved=True, free=4, blocks=5, held=0, cached=1), BROKEN),
        (Counting(approved=True, free=4, blocks=900, held=895, cached=1), BROKEN),
        (Counting(approved=False, free=4, blocks=5, held=0, cached=2), SILENT),
        (Counting(approved=True, free=4, blocks=5, held=0, cached=0), SILENT),
    ],
    "prefix.hit-exact": [
        (Hit(slots=4), KEPT),
        (Hit(slots=4, unwritten=4, stale=4), KEPT),
        (Hit(slots=4, strange=1), BROKEN),
        (Hit(slots=0, strange=1), SILENT),
    ],
    "prefix.hit-computed": [
        (Hit(slots=4, strange=4, stale=4), KEPT),
        (Hit(slots=4, unwritten=1), BROKEN),
        (Hit(slots=0, unwritten=1), SILENT),
    ],
    "prefix.reset": [
        (Hit(slots=4, strange=4, unwritten=4), KEPT),
        (Hit(slots=4, stale=1), BROKEN),
        (Hit(slots=0, stale=1), SILENT),
    ],
    "prefix.leave-one": [
        (Prompt(tokens=4, cached=3, known=4), KEPT),
        (Prompt(tokens=4, cached=4, known=4), BROKEN),
        (Prompt(tokens=4, cached=5, known=8), BROKEN),
        (Prompt(tokens=4, cached=4, known=3), SILENT),
    ],
    "prefix.hit-maximal": [
        (Prompt(tokens=9, cached=8, known=8), KEPT),
        (Prompt(tokens=9, cached=9, known=8), KEPT),
        (Prompt(tokens=9, cached=4, known=8), BROKEN),
        (Prompt(tokens=9, cached=0, known=1), BROKEN),
        (Prompt(tokens=8, cached=0, known=8), SILENT),
        (Prompt(tokens=9, cached=0, known=0), SILENT),
    ],
    "prefix.evict-unreferenced": [(Reuse(older=1, stranded=1), KEPT), (Reuse(owners=1), BROKEN)],
    "prefix.lru": [(Reuse(owners=1, stranded=1), KEPT), (Reuse(older=1), BROKEN)],
    "prefix.descendants-first": [(Reuse(owners=1, older=1), KEPT), (Reuse(stranded=1), BROKEN)],
    "window.live": [
        (Window(dead=1, missing=0), KEPT),
        (Window(dead=1, missing=1), BROKEN),
        (Window(dead=900, missing=900), BROKEN),
        (Window(dead=0, missing=1), SILENT),
    ],
    "window.null": [
        (NullBlock(free=3, total=4), KEPT),
        (NullBlock(free=3, total=4, reserved=1, reserved_before=0), KEPT),
        *((NullBlock(**{name: 1}), BROKEN) for name in ("times_free", "named", "written")),
        (NullBlock(free=4, total=4), BROKEN),
        (NullBlock(reserved=0, reserved_before=1), BROKEN),
        (NullBlock(reserved=0, reserved_before=0, times_free=1), SILENT),
    ],
    "robust.progress": [(Progress(2, 2), KEPT), (Progress(0, 0), KEPT), (Progress(1, 2), BROKEN)],
}


def test_every_law_has_cases_of_its_own():
    assert set(CASES) == set(CATALOGUE)
    assert all({said for _, said in cases} >= {KEPT, BROKEN} for cases in CASES.values())


def test_every_law_with_a_premise_has_a_case_that_it_does_not_speak_of():
    from kvspec.laws.base import always

    assert {law for law, cases in CASES.items() if any(said is SILENT for _, said in cases)} == {
        law.id for law in CATALOGUE.values() if law.applies is not always
    }


@pytest.mark.parametrize(
    ("law", "case", "said"),
    [(law, case, said) for law, cases in CASES.items() for case, said in cases],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_it_says_so(law, case, said):
    assert CATALOGUE[law].judge(case) is said
