"""The vectors as data: what one is, and how they are read from and written to the file that is shipped.

Loading needs the standard library only. It must not know the solver: `generate` and `check`, which need it, are the
only ones to import the search, and only when called.

The file is JSON Lines: a header, then one vector a line, then what is out of reach, a combination of values a line. A
vector is a sequence of operations from the empty state; `vectors.schema.json` describes the lines.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kvspec.edges.goals import Values, listed, sentences
from kvspec.vocabulary import OPERATIONS, Capability, Config, Guard, Operation, Step, Verdict, arguments

if TYPE_CHECKING:
    from kvspec.edges.family import Family

SCHEMA = "kvconform/vectors@1"
FILE_NAME = "vectors.jsonl"
MADE = "breadth-first enumeration of lives, proofs by z3: kvconform vectors generate"


@dataclass(frozen=True)
class Vector:
    """Operations that lead to an edge of an admission guard; the last one asks the guard.

    id: that of a class that it is there for. goal: the same in words. laws: ids of the laws that it serves. needs: the
    capabilities without which it cannot be run. orders: the restrictions of engines (in the words of the kit's
    adapters) that it obeys. expects: for each operation the verdict by the specification, None where there is no guard.
    why: the numbers behind the last verdict. accepts: the answers to the last operation that the laws leave open, where
    it is guarded; a guard with two answers says `no` where `later` or `never` is expected. shows: the outcome and the
    value of each atom that decides the guard, for each sequence of the group; none where it is not about edges. cached:
    how many tokens the last operation, an admission, must and may take over from the prefix cache; None where it is
    about something else.
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
    shows: tuple[Values, ...] = ()
    cached: tuple[int, int] | None = None

    @property
    def guard(self) -> Guard:
        """The guard that the last operation asks."""
        return Guard(self.operations[-1].op)


@dataclass(frozen=True)
class Unreachable:
    """Values that no state shows together when the guard is asked: so no state meets a class that has all of them, and
    none of them can be left out. reason: what was proved.
    """

    guard: Guard
    values: Values
    reason: str

    @property
    def id(self) -> str:
        """`guard/atom=value,...`, the outcome first if it is one of them."""
        return f"{self.guard.value}/{listed(self.values)}"

    @property
    def words(self) -> str:
        """The values in words."""
        return f"when {self.guard.value} is asked: {'; '.join(sentences(self.guard, self.values))}"


@dataclass(frozen=True)
class Vectors:
    """Every edge class is either shown by a vector or has values that are unreachable together. witnessed, excluded:
    how many classes of either kind there are.
    """

    vectors: tuple[Vector, ...]
    unreachable: tuple[Unreachable, ...]
    witnessed: int = 0
    excluded: int = 0


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
        tuple(_unreachable(entry) for entry in entries if "unreachable" in entry),
        header["witnessed"],
        header["unreachable"],
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
        accepts=(expects[-1] or ()) if entry["shows"] else (),
        shows=tuple(tuple(each.items()) for each in entry["shows"]),
        cached=tuple(entry["cached"]) if "cached" in entry else None,
    )


def _unreachable(entry: Mapping[str, Any]) -> Unreachable:
    return Unreachable(Guard(entry["unreachable"]), tuple(entry["values"].items()), entry["reason"])


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
        "classes": vectors.witnessed + vectors.excluded,
        "witnessed": vectors.witnessed,
        "unreachable": vectors.excluded,
        "vectors": len(vectors.vectors),
    }
    lines = [header, *map(_entry, vectors.vectors), *map(_unreachable_entry, vectors.unreachable)]
    return "".join(json.dumps(line, ensure_ascii=True, separators=(",", ":")) + "\n" for line in lines)


def _entry(vector: Vector) -> dict[str, Any]:
    expects: list[Sequence[Verdict] | None] = [None if each is None else (each,) for each in vector.expects]
    if vector.accepts:
        expects[-1] = vector.accepts
    return {
        "id": vector.id,
        "goal": vector.goal,
        "shows": [dict(values) for values in vector.shows],
        "laws": vector.laws,
        "needs": vector.needs,
        "orders": vector.orders,
        "config": _config_entry(vector.config),
        "operations": [_operation_entry(operation) for operation in vector.operations],
        "expects": expects,
        "why": vector.why,
        **({} if vector.cached is None else {"cached": vector.cached}),
    }


def _config_entry(config: Config) -> dict[str, Any]:
    """What was not always there is left out where it is at its default."""
    return {
        field.name: getattr(config, field.name)
        for field in fields(config)
        if field.name in ALWAYS or getattr(config, field.name) != field.default
    }


ALWAYS = ("block_size", "num_gpu_blocks", "num_cpu_blocks", "watermark_blocks", "max_model_len")


def _unreachable_entry(each: Unreachable) -> dict[str, Any]:
    return {"unreachable": each.guard.value, "values": dict(each.values), "reason": each.reason}


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
