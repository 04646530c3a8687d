"""JSON Schemas: what `schema` prints describes what the commands really write, and tells a wrong document from it.

Knows: the commands. Must not know: how a schema is made. The validator is a library that knows nothing of the kit.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from kit_support import Command
from kit_toy import ToyAdapter
from kit_wrong import GROWN

from kvconform import schemas, trace
from kvconform.run import Run
from kvspec.edges import vectors as edges
from kvspec.vocabulary import OPERATIONS, Config


def validator(command: Command, name: str) -> Draft202012Validator:
    """Of the schema that the command prints."""
    ended = command("schema", name)
    assert (ended.code, ended.err) == (0, "")
    schema = json.loads(ended.out)
    Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    return Draft202012Validator(schema)


def written(command: Command, *arguments: str) -> Any:
    """What the command writes with --json."""
    ended = command(*arguments, "--json", "out.json")
    assert ended.code in (0, 1, 3, 4), ended.err
    return json.loads((command.folder / "out.json").read_text())


DOCUMENTS: dict[str, tuple[str, ...]] = {
    "laws": ("laws",),
    "targets": ("targets",),
    "vectors-list": ("vectors", "list"),
    "vectors-run": ("vectors", "run", "fault:swap-in-guard-blind"),
    "proof": ("prove", "--law", "admission.sound-swap-out"),
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_what_a_command_writes_is_as_its_schema_says(command: Command, name: str) -> None:
    document = written(command, *DOCUMENTS[name])
    check = validator(command, name)
    check.validate(document)
    assert document["schema"] == check.schema["$id"]
    for key in check.schema["$defs"][check.schema["$ref"].rsplit("/", 1)[1]]["required"]:
        assert not check.is_valid({other: value for other, value in document.items() if other != key})
    assert not check.is_valid({**document, "schema": "kvconform/other@1"})
    check.validate({**document, "added": "later"})


def test_a_report_its_traces_and_their_replays_are_as_their_schemas_say(command: Command) -> None:
    assert command("check", "fault:unseen-ignored", "--json", "report.json").code == 1
    report = json.loads((command.folder / "report.json").read_text())
    reports, lines, replays = (validator(command, name) for name in ("report", "trace", "replay"))
    reports.validate(report)
    assert not reports.is_valid({**report, "verdict": "fine"})
    assert report["violations"]
    for violation in report["violations"]:
        path = violation["trace_file"]
        for line in Path(command.folder, path).read_text().splitlines():
            lines.validate(json.loads(line))
        for target in ("fault:unseen-ignored", "reference", "no.such:thing"):
            replays.validate(written(command, "replay", path, "--on", target))


def test_every_operation_and_observation_is_as_the_trace_schema_says(command: Command) -> None:
    run = Run(ToyAdapter(), Config(4, 8, 8), record=True)
    for op in GROWN:
        run.apply(op)
    lines = validator(command, "trace")
    assert {kind.__name__ for kind in OPERATIONS.values()} <= set(lines.schema["$defs"])
    for entry in run.entries:
        lines.validate(trace.entry_to_json(entry))
    header = {"schema": trace.SCHEMA, "config": trace.config_to_json(Config(4, 8, 8)), "probe": "finish"}
    lines.validate(header)
    for wrong in (
        {**header, "schema": "kvconform/trace@2"},
        {**header, "config": {"block_size": 4}},
        {**header, "config": {**header["config"], "colour": 1}},  # type: ignore[dict-item]
        {"op": "dance"},
        {"op": "append"},
        {"op": "append", "group": "1"},
        {"op": "append", "group": 1, "colour": 2},
        {"op": "append", "group": 1, "verdict": "maybe"},
        {"op": "step"},
    ):
        assert not lines.is_valid(wrong), wrong


@pytest.mark.usefixtures("every_vector")
def test_the_shipped_vectors_are_as_their_schema_says(command: Command) -> None:
    lines = validator(command, "vectors")
    shipped = Path(edges.__file__).with_name(edges.FILE_NAME).read_text(encoding="utf-8").splitlines()
    for line in (*shipped[:50], *shipped[50::200]):  # the whole file is checked where it belongs
        lines.validate(json.loads(line))


def test_a_check_of_the_vectors_is_as_its_schema_says(command: Command) -> None:
    check = validator(command, "vectors-check")
    document = {"schema": "kvconform/vectors-check@1", "vectors": 2, "same": False, "differing": ["a"]}
    check.validate(document)
    assert not check.is_valid({**document, "same": "no"})


def test_all_schemas_are_listed(command: Command) -> None:
    ended = command("schema")
    assert ended.code == 0
    listed = [line.split()[0] for line in ended.out.splitlines()]
    assert listed == list(schemas.DOCUMENTS)
    for name in listed:
        validator(command, name)


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("reports", "unknown schema 'reports'; known: report, proof, trace"),
        ("", "unknown schema ''; known: report"),
        ("score", "'score' (kvconform/score@1) is not part of this version; known: report"),
    ],
)
def test_a_schema_that_there_is_not_is_a_usage_error(command: Command, name: str, complaint: str) -> None:
    ended = command("schema", name)
    assert (ended.code, ended.out) == (2, "")
    assert ended.complaint.startswith(complaint)
