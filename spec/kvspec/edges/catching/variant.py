"""What a wrong variant is here: an obligation of the formal model, as a manager that is wrong in that way.

Knows the refutations by their ids and laws. Must not know how a variant is bent, or found.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kvspec.edges.catching.bent import Bend, Told
from kvspec.theorems import OBLIGATIONS
from kvspec.theorems.obligation import Kind, Obligation
from kvspec.vocabulary import Result, Verdict

REFUTATIONS: dict[str, Obligation] = {o.id: o for o in OBLIGATIONS if o.kind is Kind.REFUTATION and ".wrong." in o.id}
"""Every wrong variant of the formal model, by id."""

Wanted = Callable[[Told, Told], bool]
"""Whether the difference between right and wrong, in what became of an operation, is the one that is looked for."""


@dataclass(frozen=True)
class Variant:
    """One wrong manager. id: the obligation's. wanted: which difference shows what the obligation says."""

    id: str
    bend: Bend
    wanted: Wanted = lambda right, wrong: True

    @property
    def obligation(self) -> Obligation:
        """What the formal model says of it."""
        return REFUTATIONS[self.id]


def breaks(law: str) -> Wanted:
    """That this law of admission breaks at the operation itself."""
    if law.startswith("admission.sound-"):
        return lambda right, wrong: wrong.verdict is Verdict.OK and wrong.result is Result.OUT_OF_BLOCKS
    if law.startswith("admission.precise-"):
        return lambda right, wrong: right.verdict is Verdict.OK and wrong.verdict is not Verdict.OK
    if law == "admission.watermark":
        return lambda right, wrong: right.verdict is not Verdict.OK and wrong.result is Result.OK
    if law == "admission.never-is-final":
        return lambda right, wrong: right.verdict is Verdict.LATER and wrong.verdict is Verdict.NEVER
    if law == "admission.impossible-is-never":
        return lambda right, wrong: right.verdict is Verdict.NEVER and wrong.verdict is Verdict.LATER
    raise KeyError(law)


def either(*laws: str) -> Wanted:
    """That one of these laws breaks."""
    each = [breaks(law) for law in laws]
    return lambda right, wrong: any(wanted(right, wrong) for wanted in each)
