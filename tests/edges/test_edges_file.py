"""The shipped file: complete, in its format, loadable without the solver."""

from __future__ import annotations

import subprocess
import sys
from importlib import resources

import pytest

from kvspec.edges.goals import GOALS
from kvspec.edges.vectors import dump, load, parse
from kvspec.laws import CATALOGUE
from kvspec.vocabulary import GUARDED, NEEDS, Allocate, Capability

VECTORS = load()


def test_loading_does_not_import_the_solver() -> None:
    code = "import sys; from kvspec.edges.vectors import load; load(); sys.exit('z3' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_each_goal_is_witnessed_or_proved_unreachable() -> None:
    found = {entry.id: entry.goal for entry in VECTORS.vectors}
    out_of_reach = {entry.id: entry.goal for entry in VECTORS.unreachable}
    assert not found.keys() & out_of_reach.keys()
    assert found | out_of_reach == {goal.id: goal.words for goal in GOALS}
    assert all(entry.reason for entry in VECTORS.unreachable)


def test_the_file_is_what_dump_writes() -> None:
    text = resources.files("kvspec.edges").joinpath("vectors.json").read_text(encoding="utf-8")
    assert dump(VECTORS) == text
    assert text.count("\n") == len(VECTORS.vectors) + len(VECTORS.unreachable) + 5


def test_another_schema_is_refused() -> None:
    with pytest.raises(ValueError, match="kvconform/vectors@1"):
        parse('{"schema": "kvconform/vectors@0"}')


def test_laws_and_capabilities_are_named_rightly() -> None:
    for vector in VECTORS.vectors:
        assert vector.laws
        assert set(vector.laws) <= set(CATALOGUE)
        needed = {need for op in vector.operations for need in NEEDS[op.op]}
        assert needed <= set(vector.needs)
        siblings = any(isinstance(op, Allocate) and len(op.seqs) > 1 for op in vector.operations)
        assert siblings == (Capability.GROUPS in vector.needs)
        assert any(getattr(op, "lookahead", 0) for op in vector.operations) == (Capability.LOOKAHEAD in vector.needs)


def test_every_guarded_operation_has_an_expected_verdict() -> None:
    for vector in VECTORS.vectors:
        assert [each is not None for each in vector.expects] == [op.op in GUARDED for op in vector.operations]


def test_diverging_sequences_diverge() -> None:
    for vector in VECTORS.vectors:
        for op in vector.operations:
            if op.op == "step":
                first = {seq: tokens[0] for seq, tokens in op.tokens.items() if seq in (1, 2)}  # type: ignore[union-attr]
                assert len(set(first.values())) == len(first)
