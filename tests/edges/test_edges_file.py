"""The shipped file: complete, in its format, loadable without the solver."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import resources

import pytest
from edges_schema import conforms

from kvspec.edges.goals import meanings, parse_class
from kvspec.edges.vectors import FILE_NAME, dump, load, parse
from kvspec.laws import CATALOGUE
from kvspec.vocabulary import GUARDED, NEEDS, Allocate, Capability, Verdict

VECTORS = load()
EDGES = [vector for vector in VECTORS.vectors if vector.shows]


def test_loading_does_not_import_the_solver() -> None:
    code = "import sys; from kvspec.edges.vectors import load; load(); sys.exit('z3' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def _lines() -> list[str]:
    return resources.files("kvspec.edges").joinpath(FILE_NAME).read_text(encoding="utf-8").splitlines()


def test_the_header_counts() -> None:
    header = json.loads(_lines()[0])
    assert header["vectors"] == len(VECTORS.vectors)
    assert header["witnessed"] + header["unreachable"] == header["classes"]
    assert (header["witnessed"], header["unreachable"]) == (VECTORS.witnessed, VECTORS.excluded)


def test_a_vector_is_called_by_a_class_that_it_shows() -> None:
    assert len({vector.id for vector in VECTORS.vectors}) == len(VECTORS.vectors)
    for vector in EDGES:
        each = parse_class(vector.id)
        assert any(set(each.all_values) <= set(values) for values in vector.shows)
        assert vector.goal == each.words
    assert all(each.words and each.reason for each in VECTORS.unreachable)


def test_a_vector_shows_a_value_of_every_atom() -> None:
    for vector in EDGES:
        for values in vector.shows:
            assert [name for name, _ in values] == list(meanings(vector.guard))
            assert all(word in meanings(vector.guard)[name] for name, word in values)


def test_the_file_is_what_dump_writes() -> None:
    assert dump(VECTORS).splitlines() == _lines()
    assert sum(len(line) + 1 for line in _lines()) < 6_000_000


def test_every_line_is_as_the_schema_says() -> None:
    schema = json.loads(resources.files("kvspec.edges").joinpath("vectors.schema.json").read_text(encoding="utf-8"))
    lines = [json.loads(line) for line in _lines()]
    assert all(conforms(line, schema, schema) for line in lines)
    vector = lines[1]
    for wrong in ({**vector, "id": 1}, {**vector, "more": 1}, {**vector, "operations": [{"op": "swap"}]}):
        assert not conforms(wrong, schema, schema)


def test_the_exact_answer_is_the_first_of_those_accepted() -> None:
    for vector in EDGES:
        assert vector.accepts[0] is vector.expects[-1]
        assert (Verdict.OK in vector.accepts) == (vector.expects[-1] is Verdict.OK)


def test_another_schema_is_refused() -> None:
    with pytest.raises(ValueError, match="kvconform/vectors@1"):
        parse('{"schema": "kvconform/vectors@0"}')


def test_laws_and_capabilities_are_named_rightly() -> None:
    for vector in EDGES:
        assert vector.laws
        assert set(vector.laws) <= set(CATALOGUE)
        needed = {need for op in vector.operations for need in NEEDS[op.op]}
        assert needed <= set(vector.needs)
        siblings = any(isinstance(op, Allocate) and len(op.seqs) > 1 for op in vector.operations)
        assert siblings == (Capability.GROUPS in vector.needs)
        assert any(getattr(op, "lookahead", 0) for op in vector.operations) == (Capability.LOOKAHEAD in vector.needs)


def test_every_guarded_operation_has_an_expected_verdict() -> None:
    for vector in EDGES:
        assert [each is not None for each in vector.expects] == [op.op in GUARDED for op in vector.operations]


def test_diverging_sequences_diverge() -> None:
    for vector in EDGES:
        for op in vector.operations:
            if op.op == "step":
                first = {seq: tokens[0] for seq, tokens in op.tokens.items() if seq in (1, 2, 3)}  # type: ignore[union-attr]
                assert len(set(first.values())) == len(first)
