"""The vectors as data: what one is, and how they are read from and written to the file that is shipped.

Loading needs the standard library only. It must not know the solver: `generate` and `check`, which need it, are the
only ones to import the search, and only when called.

A vector is a sequence of operations from the empty state. `expects` has the verdict of each guarded operation by the
specification: `ok` for all but the last; a guard with two answers says `no` where `later` or `never` is expected.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kvspec.vocabulary import OPERATIONS, Capability, Config, Operation, Step, Verdict, arguments

if TYPE_CHECKING:
    from kvspec.edges.goals import Goal

SCHEMA = "kvconform/vectors@1"
FILE_NAME = "vectors.json"


@dataclass(frozen=True)
class Vector:
    """One edge of an admission guard, and the operations that lead there; the last one asks the guard.

    id: the goal's. goal: the goal in words. laws: ids of the laws that it serves. needs: the capabilities without
    which it cannot be run. orders: the restrictions of engines (in the words of the kit's adapters) that it obeys.
    expects: for each operation the verdict, None where there is no guard. why: the numbers behind the last verdict.
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


@dataclass(frozen=True)
class Unreachable:
    """An edge that no state can meet. reason: why, as proved."""

    id: str
    goal: str
    reason: str


@dataclass(frozen=True)
class Vectors:
    """Every goal, either witnessed by a vector or proved unreachable; both sorted by id."""

    vectors: tuple[Vector, ...]
    unreachable: tuple[Unreachable, ...]


# -- reading -----------------------------------------------------------------------------------------------------------


def load() -> Vectors:
    """The vectors that are shipped."""
    return parse(resources.files(__package__).joinpath(FILE_NAME).read_text(encoding="utf-8"))


def parse(text: str) -> Vectors:
    """Vectors from the text of a file.

    Raises ValueError where it is not of this schema.
    """
    data = json.loads(text)
    if data.get("schema") != SCHEMA:
        raise ValueError(f"the schema is {data.get('schema')!r}; this reads {SCHEMA}")
    return Vectors(
        tuple(_vector(entry) for entry in data["vectors"]),
        tuple(Unreachable(**entry) for entry in data["unreachable"]),
    )


def _vector(entry: Mapping[str, Any]) -> Vector:
    return Vector(
        id=entry["id"],
        goal=entry["goal"],
        laws=tuple(entry["laws"]),
        needs=tuple(Capability(need) for need in entry["needs"]),
        orders=tuple(entry["orders"]),
        config=Config(**entry["config"]),
        operations=tuple(_operation(each) for each in entry["operations"]),
        expects=tuple(None if each is None else Verdict(each) for each in entry["expects"]),
        why=entry["why"],
    )


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
    lines = [_line(_entry(vector)) for vector in vectors.vectors]
    out_of_reach = [_line(asdict(entry)) for entry in vectors.unreachable]
    return f'{{"schema": "{SCHEMA}",\n"vectors": [\n{_joined(lines)}],\n"unreachable": [\n{_joined(out_of_reach)}]}}\n'


def _joined(lines: Iterable[str]) -> str:
    text = ",\n".join(lines)
    return text + "\n" if text else ""


def _line(entry: Mapping[str, Any]) -> str:
    return json.dumps(entry, ensure_ascii=True)


def _entry(vector: Vector) -> dict[str, Any]:
    entry = {field.name: getattr(vector, field.name) for field in fields(vector)}
    entry["config"] = asdict(vector.config)
    entry["operations"] = [_operation_entry(operation) for operation in vector.operations]
    return entry


def _operation_entry(operation: Operation) -> dict[str, Any]:
    entry: dict[str, Any] = {"op": operation.op, **arguments(operation)}
    if isinstance(operation, Step):
        entry["tokens"] = {str(seq): list(tokens) for seq, tokens in sorted(operation.tokens.items())}
    return entry


# -- making ------------------------------------------------------------------------------------------------------------


def generate(progress: Callable[[str], None] | None = None, goals: Iterable[Goal] | None = None) -> Vectors:
    """Find the vectors anew, for all goals or for these; needs the solver, and for all goals a minute or two.

    Raises SearchFailed where a goal is neither reached nor proved unreachable, or where the solver's answer does not
    stand up to plain numbers.
    """
    from kvspec.edges.generate import generate_all
    from kvspec.edges.goals import GOALS

    return generate_all(GOALS if goals is None else tuple(goals), progress)


def check(progress: Callable[[str], None] | None = None) -> bool:
    """Whether generating anew gives the very bytes that are shipped."""
    shipped = resources.files(__package__).joinpath(FILE_NAME).read_text(encoding="utf-8")
    return dump(generate(progress)) == shipped


def write(path: Path, progress: Callable[[str], None] | None = None) -> Vectors:
    """Generate anew and write the file."""
    vectors = generate(progress)
    path.write_text(dump(vectors), encoding="utf-8")
    return vectors
