"""`kvconform vectors`: list the shipped edge cases and what they cover, generate them again, run them on a target."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape

from kvconform import forked, vectors
from kvconform.adapter import AdapterMistake, capabilities_of
from kvconform.errors import CONFORMS, INCONCLUSIVE, VIOLATES, Inconclusive, TargetError, UsageError
from kvconform.listing import plain_table
from kvconform.run import Run
from kvconform.targets import Target
from kvspec.edges import coverage
from kvspec.edges import vectors as edges
from kvspec.edges.atoms import TABLES
from kvspec.edges.vectors import Vector
from kvspec.vocabulary import Capability, Config, Level

Write = Callable[[Any], None]

SHIPPED = Path(edges.__file__).with_name(edges.FILE_NAME)


def vectors_json(those: Sequence[Vector]) -> list[dict[str, Any]]:
    """Vectors as rows."""
    return [
        {
            "id": v.id,
            "goal": v.goal,
            "laws": list(v.laws),
            "needs": [need.value for need in v.needs],
            "operations": len(v.operations),
        }
        for v in those
    ]


def vectors_list(console: Console, write: Write, classes: bool = False) -> None:
    """Print the shipped vectors and what they cover; with classes, every edge class too."""
    shipped = edges.load()
    lines = coverage.coverage(shipped)
    gone = [{"id": u.id, "goal": u.words, "reason": u.reason} for u in shipped.unreachable]
    rows = [
        {"guard": line.guard.value, **{name: getattr(line, name) for name in COUNTS}, "settled": line.settled}
        for line in lines
    ]
    write(
        {
            "schema": "kvconform/vectors-list@1",
            "coverage": rows,
            "vectors": vectors_json(shipped.vectors),
            "unreachable": gone,
        }
    )
    table = plain_table("vector", "operations", "goal")
    for vector in shipped.vectors:
        table.add_row(escape(vector.id), str(len(vector.operations)), escape(vector.goal))
    console.print(table)
    if classes:
        _list_classes(console, shipped)
    _show_coverage(console, lines)
    console.print(f"\n{_coverage(shipped, lines)}")


COUNTS = ("classes", "witnessed", "unreachable", "exclusions", "vectors")


def _coverage(of: edges.Vectors, lines: Sequence[coverage.Line]) -> str:
    told = f"{len(of.vectors)} vectors witness {of.witnessed} edge classes, {of.excluded} are proved unreachable"
    return f"{told}: coverage {coverage.percent(lines)}"


def _list_classes(console: Console, shipped: edges.Vectors) -> None:
    for guard in TABLES:
        for each, fate in coverage.fates(shipped, guard):
            how = "NOT SETTLED" if fate is None else f"witnessed by {fate.id}"
            if isinstance(fate, edges.Unreachable):
                how = f"unreachable, {fate.id}: {fate.reason}"
            console.print(f"{each.id}: {how}", markup=False, soft_wrap=True)


def _show_coverage(console: Console, lines: Sequence[coverage.Line]) -> None:
    table = plain_table("guard", "edge classes", "witnessed", "unreachable", "by exclusions", "settled", "vectors")
    for line in lines:
        counts = (line.classes, line.witnessed, line.unreachable, line.exclusions, line.settled, line.vectors)
        table.add_row(line.guard.value, *map(str, counts))
    console.print(table)


def generate(console: Console, check_only: bool, write: Write) -> int:
    """Generate the vectors again; with check_only compare them with the shipped bytes and write nothing."""
    try:
        fresh = edges.generate(progress=lambda line: print(f"kvconform: {line}", file=sys.stderr, flush=True))
    except Exception as error:
        if "interrupted" in str(error):  # the solver takes Ctrl-C for itself, and says so
            raise KeyboardInterrupt from None
        raise
    shipped, text = SHIPPED.read_text(encoding="utf-8"), edges.dump(fresh)
    old = {vector.id: vector for vector in edges.parse(shipped).vectors}
    new = {vector.id: vector for vector in fresh.vectors}
    differing = sorted(name for name in {**old, **new} if old.get(name) != new.get(name))
    write({"schema": "kvconform/vectors-check@1", "vectors": len(new), "same": text == shipped, "differing": differing})
    lines = coverage.coverage(fresh)
    _show_coverage(console, lines)
    console.print(_coverage(fresh, lines))
    if text == shipped:
        console.print("the shipped file has the same bytes")
        return CONFORMS
    console.print(f"differing: {', '.join(differing) or 'what is unreachable'}", markup=False)
    if check_only:
        console.print("the shipped file DIFFERS; write it anew with: kvconform vectors generate")
        return VIOLATES
    SHIPPED.write_text(text, encoding="utf-8")
    console.print(f"written: {SHIPPED}", markup=False)
    return CONFORMS


def choose_vectors(ids: Sequence[str]) -> list[Vector]:
    """The vectors whose ids are, or begin with, these; all for none. Raises UsageError where one names nothing."""
    shipped = edges.load().vectors
    for wanted in ids:
        if not any(_named(vector, wanted) for vector in shipped):
            raise UsageError(f"no vector is called {wanted!r}; see: kvconform vectors list")
    return [v for v in shipped if not ids or any(_named(v, wanted) for wanted in ids)]


def _named(vector: Vector, wanted: str) -> bool:
    return vector.id == wanted or vector.id.startswith(wanted.rstrip("/") + "/")


def player(target: Target, chosen: Sequence[Vector], without: frozenset[Capability]) -> Callable[[int], dict[str, Any]]:
    """Plays the vector at one place of these, and says what became of it."""
    capabilities = capabilities_of(target.adapter) - without

    def start(config: Config) -> Run:
        return Run(target.adapter, config, without=without)

    return lambda number: _played(vectors.play(start, chosen[number], target.adapter, capabilities))


def run_vectors(
    console: Console, target: Target, chosen: Sequence[Vector], without: frozenset[Capability], write: Write
) -> int:
    """Play the vectors on a target and print what became of each; the exit code."""
    play = player(target, chosen, without)
    rows: list[dict[str, Any]] = []
    interrupted = False
    try:
        for row in forked.answers(play, len(chosen), target.adapter.forkable):
            rows.append(row)
    except AdapterMistake as error:
        raise TargetError(f"the adapter, not the manager, is at fault: {error}") from None
    except KeyboardInterrupt:
        interrupted = True
    count = Counter(row["result"] for row in rows)
    code = VIOLATES if count["failed"] else CONFORMS
    if code == CONFORMS and (interrupted or count["unreached"] or not count["passed"]):
        code = INCONCLUSIVE
    verdict = {VIOLATES: "violates", CONFORMS: "conforms", INCONCLUSIVE: "inconclusive"}[code]
    write({"schema": "kvconform/vectors-run@1", "target": target.spec, "verdict": verdict, "vectors": rows})
    table = plain_table("vector", "result", "")
    for row in (row for row in rows if row["result"] != "passed"):
        colour = {"passed": "green", "failed": "red", "skipped": "dim", "unreached": "yellow"}[row["result"]]
        table.add_row(row["id"], f"[{colour}]{row['result']}[/]", escape(row["why"]))
    if table.row_count:
        console.print(table)
    told = ", ".join(f"{count[word]} {word}" for word in ("passed", "failed", "unreached", "skipped"))
    console.print(f"\n{told}: {verdict}")
    if interrupted:
        raise Inconclusive(f"interrupted after {len(rows)} of {len(chosen)} vectors")
    if code == INCONCLUSIVE and not count["passed"]:
        raise Inconclusive(f"no vector reached its edge on {target.spec}: all {len(rows)} were skipped or unreached")
    return code


def _played(one: vectors.Played) -> dict[str, Any]:
    """A vector fails where a MUST law breaks; an unexpected verdict that breaks none is a matter of precision. It is
    unreached where the target itself refused an operation on the way, and skipped where it was never asked.
    """
    broken = [raw.violation for raw in vectors.raws(one)]
    must = [violation for violation in broken if violation.law.level is Level.MUST]
    word = one.verdict.value if one.verdict else None
    missed = "unreached" if one.refused else "skipped"
    result = "failed" if must else missed if one.skipped else "passed"
    why = f"{must[0].law.id}: {must[0].message}" if must else one.skipped
    if not why and broken:
        why = f"{broken[0].law.id} ({broken[0].law.level.value}): {broken[0].message}"
    return {
        "id": one.vector.id,
        "result": result,
        "verdict": word,
        "expected": expected.value if (expected := one.vector.expects[-1]) else None,
        "violated": sorted({violation.law.id for violation in broken}),
        "why": why,
    }
