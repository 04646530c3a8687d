"""The JSON documents that commands write beside the report, as types: what others may rely on.

Knows their shape only. Keys may be added, in a new version of the kit; none is renamed or taken away without a new
number in its schema's name.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

Verdict = Literal["conforms", "violates", "inconclusive", "error"]
GuardVerdict = Literal["ok", "later", "never", "no"]


# -- proof: prove --json -----------------------------------------------------------------------------------------------


class AnswerLine(msgspec.Struct):
    """What a solver said, and how long it took. answer: sat, unsat, or unknown."""

    answer: str
    seconds: float


class ObligationLine(msgspec.Struct):
    """One thing to be proved. law: which it is about, null for none. z3, cvc5: null for a solver that was not asked.
    status: `refuted` is the good end of kind `refutation` and of no other. countermodel: numbers of an example. story:
    the same in words.
    """

    id: str
    law: str | None
    statement: str
    kind: Literal["lemma", "induction", "soundness", "refutation", "vacuity"]
    z3: AnswerLine | None
    cvc5: AnswerLine | None
    status: Literal["proved", "refuted", "unknown", "disagree"]
    countermodel: dict[str, Any] | msgspec.UnsetType = msgspec.UNSET
    minimising: float | msgspec.UnsetType = msgspec.UNSET
    reason: str | msgspec.UnsetType = msgspec.UNSET
    story: list[str] | msgspec.UnsetType = msgspec.UNSET


class Proof(msgspec.Struct):
    """`kvconform prove`. exploration: what the small-scope enumeration came to; missing where only a selection was
    proved. selected: how many obligations that was.
    """

    schema: Literal["kvconform/proof@1"]
    verdict: Literal["proved", "refuted", "disagree", "inconclusive"]
    obligations: list[ObligationLine]
    selected: int
    interrupted: bool
    exploration: dict[str, Any] | msgspec.UnsetType = msgspec.UNSET


# -- replay --json -----------------------------------------------------------------------------------------------------


class BrokenLine(msgspec.Struct):
    """One law that the replay broke."""

    law: str
    level: str
    message: str
    expected: str
    observed: str


class ReplayDocument(msgspec.Struct):
    """`kvconform replay`. answer: `fixed`, `still failing` or `error`; of a trace that is about no law `conforms` or
    `violates` in place of the first two. law: which the finding is about. violations: that one first, if it still
    shows, then other MUST laws. skipped: numbers (from 1) of operations that no longer applied. note: why not, in
    words. error: why it could not be run.
    """

    trace: str
    target: str
    answer: Literal["fixed", "still failing", "error", "conforms", "violates"]
    verdict: Verdict
    law: str | None
    violations: list[BrokenLine]
    skipped: list[int]
    note: str = ""
    error: str = ""
    schema: Literal["kvconform/replay@1"] = "kvconform/replay@1"


# -- laws --json, targets --json ---------------------------------------------------------------------------------------


class LawDescription(msgspec.Struct):
    """One law of the catalogue. needs: capabilities without which it does not apply; needs_any: one of these, if there
    are any. breaking: the numbers of a smallest case that breaks it. faults: what of the fault catalogue breaks it.
    """

    id: str
    level: Literal["MUST", "SHOULD", "MAY"]
    scope: Literal["transition", "run"]
    since: str
    statement: str
    needs: list[str]
    needs_any: list[str]
    source: str
    breaking: dict[str, Any]
    faults: list[str]


class Laws(msgspec.Struct):
    """`kvconform laws`."""

    schema: Literal["kvconform/laws@1"]
    catalogue: str
    laws: list[LawDescription]


class TargetDescription(msgspec.Struct):
    """One target that ships with the kit. laws, resembles: of a fault, under which laws it must be reported, and what
    it is like.
    """

    name: str
    version: str
    available: bool
    capabilities: list[str]
    note: str
    laws: list[str] | msgspec.UnsetType = msgspec.UNSET
    resembles: str | msgspec.UnsetType = msgspec.UNSET


class Targets(msgspec.Struct):
    """`kvconform targets`."""

    schema: Literal["kvconform/targets@1"]
    targets: list[TargetDescription]


# -- vectors list, run, generate --json --------------------------------------------------------------------------------


class VectorRow(msgspec.Struct):
    """One vector. operations: how many it has."""

    id: str
    goal: str
    laws: list[str]
    needs: list[str]
    operations: int


class CoverageRow(msgspec.Struct):
    """One guard's edge classes: all, those that a vector reaches, those proved unreachable and by how many exclusions,
    its vectors, and how many classes are settled, in per cent.
    """

    guard: str
    classes: int
    witnessed: int
    unreachable: int
    exclusions: int
    vectors: int
    settled: str


class UnreachableRow(msgspec.Struct):
    """Values that no state has together, and why."""

    id: str
    goal: str
    reason: str


class VectorsList(msgspec.Struct):
    """`kvconform vectors list`."""

    schema: Literal["kvconform/vectors-list@1"]
    coverage: list[CoverageRow]
    vectors: list[VectorRow]
    unreachable: list[UnreachableRow]


class PlayedRow(msgspec.Struct):
    """What became of one vector on a target. verdict: the guard's answer at its last operation; expected: what is
    right; both null where there is none. violated: the laws that were broken. why: in words.
    """

    id: str
    result: Literal["passed", "failed", "unreached", "skipped"]
    verdict: GuardVerdict | None
    expected: GuardVerdict | None
    violated: list[str]
    why: str


class VectorsRun(msgspec.Struct):
    """`kvconform vectors run`."""

    schema: Literal["kvconform/vectors-run@1"]
    target: str
    verdict: Literal["conforms", "violates", "inconclusive"]
    vectors: list[PlayedRow]


class VectorsCheck(msgspec.Struct):
    """`kvconform vectors generate --check`. differing: ids of vectors that are not the shipped ones."""

    schema: Literal["kvconform/vectors-check@1"]
    vectors: int
    same: bool
    differing: list[str]


# -- a trace's lines ---------------------------------------------------------------------------------------------------


class WorkloadLine(msgspec.Struct, forbid_unknown_fields=True):
    """What the kit's scheduler serves: [prompt, output] tokens of each request (>= 1), lookahead slots (>= 0)."""

    requests: list[tuple[int, int]]
    lookahead: int = 0


class RowLine(msgspec.Struct):
    """The row of one group of layers. first: the entry that `blocks` begins with. null: an entry of no block."""

    first: int
    blocks: list[int | None]


class TableLine(msgspec.Struct):
    """The block table of one sequence: a row for each group of layers."""

    device: Literal["gpu", "cpu"]
    rows: list[RowLine]


class PoolLine(msgspec.Struct):
    """Blocks of one pool: free, kept until evicted, set aside, and not yet given back."""

    free: int
    reclaimable: int = 0
    reserved: int = 0
    pending: int = 0


class Observed(msgspec.Struct, omit_defaults=True):
    """What was seen after an operation. verdict: null where no guard was asked. copies: [source, target] on the GPU.
    transfers: [device, source, device, target].
    """

    verdict: GuardVerdict | None = None
    result: Literal["ok", "refused", "partial", "out-of-blocks", "raised", "skipped"] = "ok"
    cached_tokens: int = 0
    tables: dict[str, TableLine] = {}
    pools: dict[str, PoolLine] = {}
    copies: list[tuple[int, int]] = []
    transfers: list[tuple[str, int, str, int]] = []
    refcounts: dict[str, dict[str, int]] = {}
    free_blocks: dict[str, list[int]] = {}
    cached: Any = None
    error: str = ""
