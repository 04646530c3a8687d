"""The vectors as data: what one is, and how they are read from and written to the file that is shipped.

Loading needs the standard library only. It must not know the solver: `generate` and `check`, which need it, are the
only ones to import the search, and only when called.

The file is JSON Lines: a header, then one vector a line, then the classes that are out of reach, a combination of
values a line. A vector is a sequence of operations from the empty state; `vectors.schema.json` describes the lines.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import resources
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kvspec.vocabulary import OPERATIONS, Capability, Config, Operation, Step, Verdict, arguments

if TYPE_CHECKING:
    from kvspec.edges.family import Family

SCHEMA = "kvconform/vectors@1"
FILE_NAME = "vectors.jsonl"
MADE = "breadth-first enumeration of lives, proofs by z3: kvconform vectors generate"


@dataclass(frozen=True)
class Vector:
    """Operations that lead to an edge of an admission guard; the last one asks the guard.

    id: that of the first of its classes. goal: the same in words. laws: ids of the laws that it serves. needs: the
    capabilities without which it cannot be run. orders: the restrictions of engines (in the words of the kit's
    adapters) that it obeys. expects: for each operation the verdict by the specification, None where there is no guard.
    why: the numbers behind the last verdict. accepts: the answers to the last operation that the laws leave open, where
    it is guarded; a guard with two answers says `no` where `later` or `never` is expected. classes: ids of the edge
    classes that it is there for.
    """

    id: str
    goal: str
    laws: tuple[str, ...]
    needs: tuple[Capability, ...]
    orders: tuple[str, ...]
    config: Config
    operations: tuple[Operation, ...]
    expects: tuple[Verdict | None, ...]
    why: str
    accepts: tuple[Verdict, ...] = ()
    classes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Unreachable:
    """An edge class that no state can meet. reason: why, as proved."""

    id: str
    reason: str

    @property
    def goal(self) -> str:
        """The class in words."""
        from kvspec.edges.goals import parse_class

        return parse_class(self.id).words


@dataclass(frozen=True)
class Vectors:
    """Every edge class, either witnessed by a vector or proved unreachable."""

    vectors: tuple[Vector, ...]
    unreachable: tuple[Unreachable, ...]

    @property
    def witnessed(self) -> int:
        """How many classes the vectors witness."""
        return sum(len(vector.classes) for vector in self.vectors)


# -- reading -----------------------------------------------------------------------------------------------------------


def load() -> Vectors:
    """The vectors that are shipped."""
    return parse(resources.files(__package__).joinpath(FILE_NAME).read_text(encoding="utf-8"))


def parse(text: str) -> Vectors:
    """Vectors from the text of a file.

    Raises ValueError where it is not of this schema.
    """
    header, *entries = (json.loads(line) for line in text.splitlines())
    if header.get("schema") != SCHEMA:
        raise ValueError(f"the schema is {header.get('schema')!r}; this reads {SCHEMA}")
    return Vectors(
        tuple(_vector(entry) for entry in entries if "operations" in entry),
        tuple(each for entry in entries if "unreachable" in entry for each in _unreachable(entry)),
    )


def _vector(entry: Mapping[str, Any]) -> Vector:
    expects = [None if each is None else tuple(Verdict(word) for word in each) for each in entry["expects"]]
    return Vector(
        id=entry["id"],
        goal=entry["goal"],
        laws=tuple(entry["laws"]),
        needs=tuple(Capability(need) for need in entry["needs"]),
        orders=tuple(entry["orders"]),
        config=Config(**entry["config"]),
        operations=tuple(_operation(each) for each in entry["operations"]),
        expects=tuple(None if each is None else each[0] for each in expects),
        why=entry["why"],
        accepts=(expects[-1] or ()) if entry["classes"] else (),
        classes=tuple(entry["classes"]),
    )


def _unreachable(entry: Mapping[str, Any]) -> Iterable[Unreachable]:
    guard, combination = entry["unreachable"].split("/")
    return (Unreachable(f"{guard}/{outcome}/{combination}", entry["reason"]) for outcome in entry["outcomes"])


def _operation(entry: Mapping[str, Any]) -> Operation:
    kind = OPERATIONS[entry["op"]]
    given = {name: _argument(value) for name, value in entry.items() if name != "op"}
    return kind(**given)


def _argument(value: Any) -> Any:
    if isinstance(value, dict):
        return {int(key): _argument(each) for key, each in value.items()}
    return tuple(value) if isinstance(value, list) else value


# -- writing -----------------------------------------------------------------------------------------------------------


def dump(vectors: Vectors) -> str:
    """The text of the file: the same bytes for the same vectors, one vector a line."""
    header = {
        "schema": SCHEMA,
        "made": MADE,
        "classes": vectors.witnessed + len(vectors.unreachable),
        "witnessed": vectors.witnessed,
        "unreachable": len(vectors.unreachable),
        "vectors": len(vectors.vectors),
    }
    lines = [header, *map(_entry, vectors.vectors), *_unreachable_entries(vectors.unreachable)]
    return "".join(json.dumps(line, ensure_ascii=True, separators=(",", ":")) + "\n" for line in lines)


def _entry(vector: Vector) -> dict[str, Any]:
    expects: list[Sequence[Verdict] | None] = [None if each is None else (each,) for each in vector.expects]
    if vector.accepts:
        expects[-1] = vector.accepts
    return {
        "id": vector.id,
        "goal": vector.goal,
        "classes": vector.classes,
        "laws": vector.laws,
        "needs": vector.needs,
        "orders": vector.orders,
        "config": asdict(vector.config),
        "operations": [_operation_entry(operation) for operation in vector.operations],
        "expects": expects,
        "why": vector.why,
    }


def _unreachable_entries(unreachable: Iterable[Unreachable]) -> Iterable[dict[str, Any]]:
    """One combination of values a line, with the outcomes that it cannot have for the same reason."""

    def combination(each: Unreachable) -> tuple[str, str]:
        guard, _, values = each.id.split("/")
        return f"{guard}/{values}", each.reason

    for (name, reason), those in groupby(unreachable, combination):
        yield {"unreachable": name, "outcomes": [each.id.split("/")[1] for each in those], "reason": reason}


def _operation_entry(operation: Operation) -> dict[str, Any]:
    entry: dict[str, Any] = {"op": operation.op, **arguments(operation)}
    if isinstance(operation, Step):
        entry["tokens"] = {str(seq): list(tokens) for seq, tokens in sorted(operation.tokens.items())}
    return entry


# -- making ------------------------------------------------------------------------------------------------------------


def generate(progress: Callable[[str], None] | None = None, searched: Sequence[Family] | None = None) -> Vectors:
    """Find the vectors anew, in all families of lives or in these; needs the solver, and for all some minutes.

    Raises SearchFailed where a class is neither reached nor proved unreachable, or where what the search found does not
    stand up to plain numbers.
    """
    from kvspec.edges.generate import generate_all

    return generate_all(progress, searched)


def check(progress: Callable[[str], None] | None = None) -> bool:
    """Whether generating anew gives the very bytes that are shipped."""
    shipped = resources.files(__package__).joinpath(FILE_NAME).read_text(encoding="utf-8")
    return dump(generate(progress)) == shipped


def write(path: Path, progress: Callable[[str], None] | None = None) -> Vectors:
    """Generate anew and write the file."""
    vectors = generate(progress)
    path.write_text(dump(vectors), encoding="utf-8")
    return vectors
