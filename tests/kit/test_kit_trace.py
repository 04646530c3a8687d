"""Trace files: what is written is read again, and what is no trace is one clear error with its line.

Knows: the format as interfaces fix it. Must not know: how operations are carried out.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit_toy import ToyAdapter
from kit_wrong import AppendRaises

from kvconform import trace
from kvconform.run import Run
from kvconform.trace import TraceError, config_from_json, config_to_json, operation_from_json, operation_to_json, read
from kvspec.vocabulary import (
    OPERATIONS,
    Allocate,
    Append,
    Config,
    Evict,
    Fork,
    Free,
    Operation,
    Preempt,
    ResetAll,
    ResetIndex,
    Step,
    SwapIn,
    SwapOut,
)

IDS = st.integers(0, 2**40)
TOKENS = st.lists(st.integers(0, 2**31), max_size=5).map(tuple)
SLOTS = st.integers(0, 64)

STRATEGIES: dict[str, st.SearchStrategy[Operation]] = {
    "allocate": st.builds(
        Allocate,
        IDS,
        st.lists(IDS, max_size=4).map(tuple),
        st.none() | TOKENS,
        SLOTS,
        st.booleans(),
        st.lists(st.text(max_size=3), max_size=2).map(tuple),
        st.none() | SLOTS,
        SLOTS,
        st.booleans(),
    ),
    "append": st.builds(Append, IDS, SLOTS, st.booleans(), st.none() | SLOTS, SLOTS),
    "step": st.builds(Step, st.dictionaries(IDS, TOKENS, max_size=4)),
    "fork": st.builds(Fork, IDS, IDS, st.none() | TOKENS),
    "swap_out": st.builds(SwapOut, IDS, st.booleans()),
    "swap_in": st.builds(SwapIn, IDS, SLOTS, st.booleans()),
    "preempt": st.builds(Preempt, IDS),
    "free": st.builds(Free, IDS, st.sampled_from(["finished", "aborted", "preempted"])),
    "evict": st.builds(Evict, SLOTS),
    "reset_index": st.builds(ResetIndex),
    "reset_all": st.builds(ResetAll),
}

HEADER = {"schema": trace.SCHEMA, "config": {"block_size": 4, "num_gpu_blocks": 6}}


def test_there_is_a_strategy_for_every_operation() -> None:
    assert set(STRATEGIES) == set(OPERATIONS)


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_survives_the_round_trip(name: str) -> None:
    @given(STRATEGIES[name])
    def survives(op: Operation) -> None:
        line = json.loads(json.dumps(operation_to_json(op)))
        assert line["op"] == name
        assert operation_from_json(line) == op

    survives()


@given(
    st.builds(
        Config,
        st.integers(1, 99),
        st.integers(0, 99),
        st.integers(0, 99),
        st.integers(0, 99),
        st.integers(1, 9999),
        st.booleans(),
        st.none() | st.integers(1, 99),
        st.integers(1, 9),
        st.booleans(),
    )
)
def test_a_configuration_survives_the_round_trip(config: Config) -> None:
    assert config_from_json(json.loads(json.dumps(config_to_json(config)))) == config


def test_arguments_at_their_defaults_are_left_out() -> None:
    assert operation_to_json(Allocate(1, (2,))) == {"op": "allocate", "group": 1, "seqs": [2]}
    assert operation_to_json(Append(1, 2)) == {"op": "append", "group": 1, "lookahead": 2}
    assert operation_to_json(Step({3: (4,)})) == {"op": "step", "tokens": {"3": [4]}}
    assert operation_to_json(Free(1)) == {"op": "free", "seq": 1}
    assert operation_to_json(ResetAll()) == {"op": "reset_all"}


# -- files ----------------------------------------------------------------------------------------------------------


def recorded(config: Config, operations: list[Operation]) -> Run:
    run = Run(ToyAdapter(), config, record=True)
    for op in operations:
        run.apply(op)
    assert not run.found
    return run


def test_a_file_holds_a_run_with_what_was_observed(tmp_path: Path) -> None:
    config = Config(4, 3, 2)
    operations: list[Operation] = [
        Allocate(1, (1,), (5, 5, 7)),
        Step({1: (9,)}),
        Fork(1, 2, (8,)),
        Append(1),
        Step({}),
        SwapOut(1),
        Allocate(2, (3,), (1,) * 12),
        Free(1),
        Free(2),
    ]
    run = recorded(config, operations)
    path = tmp_path / "deep" / "one.jsonl"
    trace.write(path, {"law": "table.tight", "target": "toy"}, config, map(trace.entry_to_json, run.entries))
    found = read(path)
    assert (found.config, found.operations, found.law) == (config, operations, "table.tight")
    assert found.header["target"] == "toy"
    assert not list(path.parent.glob("*.part"))
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert lines[0] == {
        "schema": "kvconform/trace@1",
        "law": "table.tight",
        "target": "toy",
        "config": {
            "block_size": 4,
            "num_gpu_blocks": 3,
            "num_cpu_blocks": 2,
            "watermark_blocks": 0,
            "max_model_len": 4096,
            "prefix_caching": False,
            "sliding_window": None,
            "kv_groups": 1,
            "colliding_hashes": False,
            "passes_per_tick": 0,
        },
    }
    pools = {
        device: {"free": n, "reclaimable": 0, "reserved": 0, "pending": 0} for device, n in (("gpu", 2), ("cpu", 2))
    }
    assert lines[1] == {
        "op": "allocate",
        "group": 1,
        "seqs": [1],
        "tokens": [5, 5, 7],
        "verdict": "ok",
        "result": "ok",
        "tables": {"1": {"device": "gpu", "rows": [{"first": 0, "blocks": [0]}]}},
        "pools": pools,
    }
    assert lines[4]["copies"] == [[0, 1]]
    assert lines[4]["tables"]["1"]["rows"][0]["blocks"] == [1]
    assert sorted(lines[6]["transfers"]) == [["gpu", 0, "cpu", 1], ["gpu", 1, "cpu", 0]]
    assert lines[6]["tables"]["2"]["device"] == "cpu"
    assert lines[7]["verdict"] == "ok"
    assert [line["verdict"] for line in lines[8:]] == [None, None]
    assert "copies" not in lines[1]
    assert "transfers" not in lines[1]


def test_a_file_tells_refusals_and_errors(tmp_path: Path) -> None:
    run = Run(AppendRaises(), Config(4, 3), record=True)
    for op in (Allocate(1, (1,), (1,)), Allocate(2, (2,), (1,) * 13), Step({1: (1,)}), Append(1)):
        run.apply(op)
    lines = [trace.entry_to_json(entry) for entry in run.entries]
    assert (lines[1]["verdict"], lines[1]["result"]) == ("never", "refused")
    assert (lines[3]["verdict"], lines[3]["result"], lines[3]["error"]) == ("ok", "raised", "KeyError: 'sequence'")


def test_writing_is_all_or_nothing(tmp_path: Path) -> None:
    path = tmp_path / "one.jsonl"
    path.write_text("as it was")

    def lines() -> Any:
        yield {"op": "reset_all"}
        raise RuntimeError("half-way")

    with pytest.raises(RuntimeError, match="half-way"):
        trace.write(path, {}, Config(1, 1), lines())
    assert path.read_text() == "as it was"


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "one.jsonl"
    path.write_text("as it was")

    def full(self: Path, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match="No space"):
        trace.write(path, {}, Config(1, 1), [])
    assert path.read_text() == "as it was"


def test_blank_lines_and_observations_are_not_operations(tmp_path: Path) -> None:
    path = tmp_path / "one.jsonl"
    observed = dict.fromkeys(trace.OBSERVED)
    lines = [json.dumps(HEADER), "", json.dumps({"op": "preempt", "group": 3, **observed}), "  ", ""]
    path.write_text("\n".join(lines))
    assert read(path).operations == [Preempt(3)]
    path.write_text("\r\n".join(lines))
    assert read(path).operations == [Preempt(3)]


LINES: list[tuple[object, str]] = [
    ("{", "not JSON"),
    ("nonsense", "not JSON"),
    (b'{"op": "\xff"}', "not JSON"),
    ([1], "an operation is an object with an 'op'"),
    ({}, "an operation is an object with an 'op'"),
    ({"op": ["append"]}, "an operation is an object with an 'op'"),
    ({"op": "dispatch"}, "unknown operation 'dispatch'; known: allocate, append"),
    ({"op": "config"}, "unknown operation 'config'"),
    ({"op": "append", "group": 1, "colour": 2}, "append has no colour; it has chunk, drafts, force, group, lookahead"),
    ({"op": "append", "group": 1, "seqs": [1]}, "append has no seqs"),
    ({"op": "append"}, "append: Object missing required field `group`"),
    ({"op": "append", "group": "1"}, "append: Expected `int`, got `str`"),
    ({"op": "append", "group": True}, "append: Expected `int`, got `bool`"),
    ({"op": "append", "group": 1.5}, "append: Expected `int`, got `float`"),
    ({"op": "append", "group": 1, "force": 1}, "append: Expected `bool`"),
    ({"op": "allocate", "group": 1, "seqs": 1}, "allocate: Expected `array`"),
    ({"op": "allocate", "group": 1, "seqs": [1], "tokens": "abc"}, "allocate: Expected `array | null`"),
    ({"op": "step"}, "step: Object missing required field `tokens`"),
    ({"op": "step", "tokens": [1]}, "step: Expected `object`"),
    ({"op": "step", "tokens": {"x": [1]}}, "step: Expected `int`, got `str`"),
    ({"op": "step", "tokens": {"1": 2}}, "step: Expected `array`"),
    ({"op": "reset_all", "group": 1}, "reset_all has no group"),
]


@pytest.mark.parametrize(("line", "problem"), LINES, ids=str)
def test_a_line_that_is_no_operation_is_told_with_its_number(line: object, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "one.jsonl"
    text = line if isinstance(line, bytes) else line.encode() if isinstance(line, str) else json.dumps(line).encode()
    for before in (b"", b'{"op": "reset_all"}\n\n'):
        path.write_bytes(json.dumps(HEADER).encode() + b"\n" + before + text + b"\n")
        number = 4 if before else 2
        with pytest.raises(TraceError) as told:
            read(path)
        assert str(told.value).startswith(f"{path}, line {number}: ")
        assert problem in str(told.value)
        assert "\n" not in str(told.value)


HEADERS: list[tuple[object, str]] = [
    ([], "not a kvconform/trace@1 header"),
    ({}, "not a kvconform/trace@1 header"),
    ({**HEADER, "schema": "kvconform/trace@2"}, "not a kvconform/trace@1 header"),
    ({**HEADER, "schema": "kvconform/report@1"}, "not a kvconform/trace@1 header"),
    ({"schema": trace.SCHEMA}, "config is an object"),
    ({"schema": trace.SCHEMA, "config": [4, 6]}, "config is an object"),
    ({"schema": trace.SCHEMA, "config": {"block_size": 4}}, "config: Object missing required field `num_gpu_blocks`"),
    ({"schema": trace.SCHEMA, "config": {"block_size": 0, "num_gpu_blocks": 1}}, "block_size must be a whole number"),
    ({"schema": trace.SCHEMA, "config": {"block_size": 4, "num_gpu_blocks": -1}}, "num_gpu_blocks must be a whole"),
    ({"schema": trace.SCHEMA, "config": {"block_size": True, "num_gpu_blocks": 1}}, "Expected `int`, got `bool`"),
    ({"schema": trace.SCHEMA, "config": {"block_size": "4", "num_gpu_blocks": 1}}, "Expected `int`, got `str`"),
    ({"schema": trace.SCHEMA, "config": {**HEADER["config"], "colour": 1}}, "config.colour = 1 is not supported"),
]


@pytest.mark.parametrize(("header", "problem"), HEADERS, ids=str)
def test_a_header_that_is_none_is_told(header: object, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "one.jsonl"
    path.write_text(json.dumps(header) + '\n{"op": "reset_all"}\n')
    with pytest.raises(TraceError) as told:
        read(path)
    assert str(told.value).startswith(f"{path}, line 1: ")
    assert problem in str(told.value)


@pytest.mark.parametrize("text", ["", "\n", " \n\n"])
def test_an_empty_file_is_told(text: str, tmp_path: Path) -> None:
    path = tmp_path / "one.jsonl"
    path.write_text(text)
    with pytest.raises(TraceError, match=r"empty; a trace begins with a line that has schema and config"):
        read(path)


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match=r"nowhere\.jsonl: No such file or directory"):
        read(tmp_path / "nowhere.jsonl")
    with pytest.raises(TraceError, match="directory"):
        read(tmp_path)


@pytest.mark.parametrize(
    ("key", "wrong"),
    [("sliding_window", 0), ("kv_groups", 0), ("kv_groups", 65), ("passes_per_tick", -1), ("passes_per_tick", 10**10)],
)
def test_a_window_or_a_group_that_cannot_be_is_told(key: str, wrong: int) -> None:
    plain = {"block_size": 4, "num_gpu_blocks": 6}
    assert config_from_json({**plain, key: 2}) == replace(Config(4, 6), **{key: 2})
    with pytest.raises(TraceError, match=f"config.{key}"):
        config_from_json({**plain, key: wrong})


def test_a_window_and_groups_show_in_what_was_observed() -> None:
    run = Run(ToyAdapter(), Config(1, 6, sliding_window=2), record=True)
    for op in (Allocate(1, (1,), (5, 5, 7)), Step({1: (9,)})):
        run.apply(op)
    before, after = map(trace.entry_to_json, run.entries)
    assert before["tables"]["1"]["rows"] == [{"first": 0, "blocks": [0, 1, 2]}]
    assert after["tables"]["1"]["rows"] == [{"first": 0, "blocks": [None, None, 2]}]
    assert after["pools"]["gpu"] == {"free": 4, "reclaimable": 0, "reserved": 1, "pending": 0}
    assert not run.found


@pytest.mark.parametrize("name", ["dispatch", "complete", "pin", "unpin", "load", "loaded", "truncate"])
def test_operations_of_later_versions_are_unknown(name: str) -> None:
    with pytest.raises(TraceError, match=f"unknown operation '{name}'"):
        operation_from_json({"op": name})


def test_observed_keys_are_not_arguments_of_any_operation() -> None:
    """Else a reader could not tell what was done from what was seen."""
    for kind in OPERATIONS.values():
        assert not trace.OBSERVED & set(kind.__dataclass_fields__)
