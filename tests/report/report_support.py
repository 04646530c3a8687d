"""Reports made by hand, and texts that a manager could say to harm whoever shows them.

Knows: the report's types. Must not know: how a report comes about.
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from kvconform.report.model import (
    CoverageLine,
    EdgesLine,
    GuardLine,
    LawLine,
    Report,
    RestrictionLine,
    TargetLine,
    ViolationLine,
)

NASTY = (
    "</details></pre>]]> <script>alert(1)</script> &amp; | `` ``` ```` $x$ *b* _i_ [a](b) <!-- "
    "% %0A \r\n::error title=a,b::c\n::stop-commands::t\r\x00\x1b[31m\x85\u2028\ufffe\U0001f600 \\ \" ' @who #1"
)


def law(id: str = "table.covers", verdict: str = "holds", level: str = "MUST", **more: Any) -> LawLine:
    """One law's line."""
    return LawLine(id, level, verdict, **{"checks": 5, "statement": "Rows cover.", **more})  # type: ignore[arg-type]


def violation(law: str = "table.covers", level: str = "MUST", **more: Any) -> ViolationLine:
    """One finding."""
    given: dict[str, Any] = {
        "message": "a row is short",
        "expected": "2 blocks",
        "observed": "1 block",
        "config": {"block_size": 1, "num_gpu_blocks": 2},
        "step": 2,
        "trace": [{"op": "allocate", "group": 1}, {"op": "append", "group": 1}],
        "found_by": "walk",
        "fingerprint": "0123456789ab",
        "reproduce": "kvconform replay x.jsonl --on my:Manager",
        "statement": "Rows cover.",
        "setting": "1 slot a block",
        "story": ["admit group 1", "append group 1's unseen tokens"],
    }
    return ViolationLine(law=law, level=level, **{**given, **more})


def report(*laws: LawLine, verdict: str = "conforms", violations: Any = (), **more: Any) -> Report:
    """A report of these laws."""
    given: dict[str, Any] = {
        "kvconform": "0.1.0",
        "catalogue": "1",
        "target": TargetLine("my:Manager", "2.0", {"swap": True}, [RestrictionLine("FORK", "never forks")]),
        "profile": "quick",
        "seed": 0,
        "duration_s": 1.25,
        "operations": 4321,
        "coverage": CoverageLine([GuardLine("allocate", "ok", 7)], EdgesLine(10, 9, 8)),
        "environment": {"python": "3.12.0", "platform": "linux"},
        "started": "2026-01-31T12:00:00.250Z",
    }
    return Report(laws=list(laws), verdict=verdict, violations=list(violations), **{**given, **more})  # type: ignore[arg-type]


def violated(message: str = "a row is short", **more: Any) -> Report:
    """A report with one broken MUST law."""
    found = violation(message=message, **more)
    return report(
        law(), law("table.tight", "violated"), verdict="violates", violations=[replaced(found, "table.tight")]
    )


def replaced(found: ViolationLine, law: str) -> ViolationLine:
    """The finding, about another law."""
    found.law = law
    return found


def nasty() -> Report:
    """A report in which every text that the target has a say in would do harm."""
    found = violation(
        "table.tight", message=NASTY, expected=NASTY, observed=NASTY, setting=NASTY, story=[NASTY, NASTY],
        reproduce=NASTY, fingerprint=NASTY, statement=NASTY, probe="finish",
    )  # fmt: skip
    laws = [law(reason=NASTY), law("table.tight", "violated", reason=NASTY), law("x.y", "not-exercised", reason=NASTY)]
    return report(
        *laws, verdict="violates", violations=[found], notes=[NASTY], environment={NASTY: NASTY}, without=[NASTY],
        target=TargetLine(NASTY, NASTY, {}, []),
    )  # fmt: skip


TEXTS = st.text(st.characters(), max_size=30) | st.sampled_from(["[/red]", "[bold", "<b>", "```", NASTY])
"""Surrogates and controls too, and what is markup to somebody."""
VERDICTS = st.sampled_from(["holds", "violated", "known", "not-exercised", "not-applicable"])
LEVELS = st.sampled_from(["MUST", "SHOULD", "MAY"])


@st.composite
def reports(draw: st.DrawFn) -> Report:
    """Reports whose verdict follows from their laws, or was interrupted, or has a reason that no law shows."""
    strict = draw(st.booleans())
    laws, found = [], []
    for number in range(draw(st.integers(0, 5))):
        id, level, verdict = f"area.law-{number}", draw(LEVELS), draw(VERDICTS)
        laws.append(law(id, verdict, level, reason=draw(TEXTS), statement=draw(TEXTS)))
        if verdict in ("violated", "known"):
            texts = {name: draw(TEXTS) for name in ("message", "expected", "observed", "setting", "reproduce")}
            found += [
                violation(id, level, story=[draw(TEXTS), draw(TEXTS)], **texts) for _ in range(draw(st.integers(1, 2)))
            ]
    binding = [line.verdict for line in laws if line.level == "MUST" or (strict and line.level == "SHOULD")]
    verdict = "conforms"
    if "violated" in binding or draw(st.booleans()):
        verdict = "violates"  # also for what no law shows, such as a stale entry of a ledger
    elif "not-exercised" in binding or "holds" not in binding or draw(st.booleans()):
        verdict = draw(st.sampled_from(["inconclusive", "error"]))
    target = TargetLine(draw(TEXTS), draw(TEXTS), {}, [])
    return report(
        *laws, verdict=verdict, violations=found, strict=strict, target=target, notes=draw(st.lists(TEXTS, max_size=2))
    )
