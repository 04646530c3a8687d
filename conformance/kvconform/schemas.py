"""`schema`: the JSON Schemas (draft 2020-12) of what the kit writes, made of the types that write and read it.

Knows where each document's type is. Where a file is JSON Lines (trace, vectors) its schema is that of one line.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources
from typing import Any

import msgspec

from kvconform import documents, trace
from kvconform.errors import UsageError
from kvconform.report import model
from kvspec.vocabulary import OPERATIONS, Config

DRAFT = "https://json-schema.org/draft/2020-12/schema"


@dataclass(frozen=True)
class Document:
    """One kind of document. id: its value of `schema`. kind: its type, None where it has a schema of its own."""

    id: str
    kind: type[msgspec.Struct] | None
    words: str


DOCUMENTS = {
    "report": Document(model.SCHEMA, model.Report, "check --json, and report.json below --out"),
    "proof": Document("kvconform/proof@1", documents.Proof, "prove --json"),
    "trace": Document(trace.SCHEMA, None, "a finding's trace, one line"),
    "vectors": Document("kvconform/vectors@1", None, "the edge cases that ship with the kit, one line"),
    "replay": Document("kvconform/replay@1", documents.ReplayDocument, "replay --json"),
    "laws": Document("kvconform/laws@1", documents.Laws, "laws --json"),
    "targets": Document("kvconform/targets@1", documents.Targets, "targets --json"),
    "vectors-list": Document("kvconform/vectors-list@1", documents.VectorsList, "vectors list --json"),
    "vectors-run": Document("kvconform/vectors-run@1", documents.VectorsRun, "vectors run --json"),
    "vectors-check": Document("kvconform/vectors-check@1", documents.VectorsCheck, "vectors generate --check --json"),
}

LATER = {"score": "kvconform/score@1"}
"""Documents that have a name already, and are written by later versions only."""


def schema(name: str) -> dict[str, Any]:
    """The schema of this name. Raises UsageError for a name that there is not."""
    known = ", ".join(DOCUMENTS)
    if name in LATER:
        raise UsageError(f"{name!r} ({LATER[name]}) is not part of this version; known: {known}")
    if name not in DOCUMENTS:
        raise UsageError(f"unknown schema {name!r}; known: {known}")
    if name == "vectors":
        shipped = resources.files("kvspec.edges").joinpath("vectors.schema.json").read_bytes()
        found: dict[str, Any] = msgspec.json.decode(shipped)
        return found
    document = DOCUMENTS[name]
    made = _trace() if document.kind is None else _of(document.kind, document.id)
    return {"$schema": DRAFT, "$id": document.id, **made}


def text(name: str) -> str:
    """The schema of this name, to be printed. Raises UsageError for a name that there is not."""
    return msgspec.json.format(msgspec.json.encode(schema(name)), indent=2).decode()


def listing() -> str:
    """All names, with what is written so."""
    wide = max(map(len, DOCUMENTS))
    return "\n".join(f"{name.ljust(wide)}  {one.id.ljust(28)}  {one.words}" for name, one in DOCUMENTS.items())


def _of(kind: type[msgspec.Struct], id_: str) -> dict[str, Any]:
    """A type's schema, in which `schema` is required and says what the document is."""
    made = msgspec.json.schema(kind)
    top = made["$defs"][kind.__name__]
    top["properties"]["schema"] = {"const": id_}
    top["required"] = sorted({*top["required"], "schema"})
    return made


def _trace() -> dict[str, Any]:
    """A trace's line: its header, or an operation with what was observed."""
    kinds = (Config, documents.WorkloadLine, documents.Observed, *OPERATIONS.values())
    _, defs = msgspec.json.schema_components(kinds, ref_template="#/$defs/{name}")
    observed = defs.pop("Observed")
    header = {
        "title": "Header",
        "description": "The first line. law: that a finding breaks. at: the operation at which. probe: what beyond the "
        "operations shows it. without: capabilities that were not used. workload: what the scheduler served.",
        "type": "object",
        "properties": {
            "schema": {"const": trace.SCHEMA},
            "config": {"$ref": "#/$defs/Config"},
            "target": {"type": "string"},
            "law": {"type": ["string", "null"]},
            "at": {"type": "string"},
            "fingerprint": {"type": "string"},
            "message": {"type": "string"},
            "probe": {"type": "string"},
            "without": {"type": "array", "items": {"type": "string"}},
            "workload": {"$ref": "#/$defs/WorkloadLine"},
        },
        "required": ["schema", "config"],
    }
    defs["Config"]["additionalProperties"] = False
    for name, kind in OPERATIONS.items():
        line = defs[kind.__name__]
        line["properties"] = {"op": {"const": name}, **line["properties"], **observed["properties"]}
        line["required"] = ["op", *line.get("required", [])]
        line["additionalProperties"] = False
    lines = [{"$ref": f"#/$defs/{kind.__name__}"} for kind in OPERATIONS.values()]
    return {
        "title": "One line of a trace",
        "oneOf": [{"$ref": "#/$defs/Header"}, *lines],
        "$defs": {"Header": header, **defs},
    }
