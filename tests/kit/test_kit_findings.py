"""A finding as it is told: grouped, in words, with who owns which block, and as a pytest file of its own.

Knows: the wrong toys, and reports made of them. Must not know: how anything is judged.
"""

from __future__ import annotations

import io
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kit_support import Command
from kit_toy import ToyAdapter
from kit_wrong import ONE, WRONG, Wrong, prompt, run_of, step
from rich.console import Console

import kvconform
from kvconform import probes, progress
from kvconform.adapter import Adapter
from kvconform.errors import TargetError, UsageError
from kvconform.finding import Raw, raws_of
from kvconform.picture import BlockPicture, Picture, PoolPicture
from kvconform.recording import record
from kvconform.report import grouping, ownership, pytest_file, telling, terminal
from kvconform.report.build import violation_line
from kvconform.report.model import CoverageLine, EdgesLine, Report, TargetLine, ViolationLine
from kvconform.report.story import beyond
from kvconform.run import Run, replay
from kvconform.trace import config_to_json, operation_to_json
from kvconform.workload import Request, Workload
from kvspec.vocabulary import Allocate, Append, Capability, Config, Free, Step


def wrong(law: str, name: str) -> Wrong:
    (found,) = [each for each in WRONG if each.law == law and each.adapter.__name__ == name]
    return found


def starting(one: Wrong) -> Any:
    adapter = one.adapter()
    return lambda config, record=False: Run(adapter, config, without=one.without, record=record)


def raw_of(one: Wrong) -> Raw:
    """What shows the wrong toy's law broken, by whatever probe it takes."""
    start = starting(one)
    if one.law == "robust.bad-input":
        config = probes.configuration(one.adapter.domain, frozenset(Capability))
        raws = [raw for probe in probes.PROBES if (raw := probes.bad_input(start, probe, config)[1])]
    elif one.law == "robust.deterministic":
        raws = list(probes.repeated(start, one.config, one.operations))
    elif one.law == "robust.progress":
        roomier = replace(one.config, num_gpu_blocks=4)  # each fits alone, with a block to spare
        raws = progress.attempt(start, Workload(roomier, (Request(3, 8), Request(5, 6))))[1]
    else:
        assert one.way is run_of
        run = start(one.config)
        replay(run, one.operations)
        raws = raws_of(run, "walk")
    return next(raw for raw in raws if raw.violation.law.id == one.law)


def line_of(one: Wrong) -> ViolationLine:
    raw = raw_of(one)
    return violation_line(raw, record(raw, starting(one)))


def told(*lines: ViolationLine) -> str:
    return "\n".join(line.plain for line in telling.case(lines))


# -- in words -------------------------------------------------------------------------------------------------------


def test_a_finding_tells_law_story_step_expectation_owners_and_cause() -> None:
    line = line_of(wrong("data.exclusive-write", "WritesInPlace"))
    line.fingerprint, line.reproduce, line.test_file = "abc", "kvconform replay X", "a dir/test_x.py"
    assert told(line).splitlines() == [
        "No write changes the content of a slot that another live sequence reads.",
        "",
        "  with 4 slots a block, 8 GPU blocks, 8 CPU blocks, watermark 0:",
        "     1. admit group 1 (sequence 1) with a prompt of 6 tokens",
        "     2. step: sequence 1 gets 1 token",
        "     3. fork sequence 1 to 2, with 1 token of its own",
        "     4. append group 1's unseen tokens",
        "  -> 5. step: nothing new",
        "",
        "  sequence 2 wrote over a slot that sequence 1 reads",
        "  expected  a copy-on-write before writing to a shared block",
        "  observed  slot 2 of gpu block 1 changed",
        "",
        "  GPU block          0     1     2     3     4     5     6     7",
        "    before, after  [1+2] >1+2< [   ] [   ] [   ] [   ] [   ] [   ]   6 free",
        "  in a box: the sequences whose block tables name the block; empty: free; +: shared; > <: not as it should be",
        "  sequence 1: GPU [0 1]   (7 tokens, 7 with KV)",
        "  sequence 2: GPU [0 1]   (7 tokens, 7 with KV)",
        "",
        "  likely    copy-on-write missing or wrong (C31)",
        "  found by  walk, fingerprint abc",
        "  reproduce kvconform replay X",
        "  test      pytest 'a dir/test_x.py'",
    ]


def test_findings_on_one_trace_are_told_in_one_story() -> None:
    first, second = (
        line_of(wrong("data.exclusive-write", "WritesInPlace")),
        line_of(wrong("table.no-alias", "WritesInPlace")),
    )
    second = replace_trace(second, first)
    text = told(first, second)
    assert text.count("1. admit group 1") == text.count("  GPU block ") == 1
    for finding in (first, second):
        assert f"{finding.law} (MUST)\n  {finding.statement[:60]}" in text
        assert finding.message in text


def replace_trace(line: ViolationLine, other: ViolationLine) -> ViolationLine:
    return ViolationLine(**{**fields(line), "trace": other.trace, "config": other.config, "story": other.story})


def fields(line: ViolationLine) -> dict[str, Any]:
    return {name: getattr(line, name) for name in line.__struct_fields__}


def test_a_long_story_is_told_from_its_ends() -> None:
    line = line_of(wrong("data.exclusive-write", "WritesInPlace"))
    line.story, line.step = [f"part {number}" for number in range(1, 41)], 40
    text = told(line)
    assert "part 3\n     .. 26 more" in text
    assert "part 30\n" in text
    assert "part 29\n" not in text
    assert "-> 40. part 40" in text
    whole = "\n".join(each.plain for each in telling.case([line], whole=True))
    assert all(f"part {number}\n" in whole for number in range(1, 41))


def test_words_with_markup_and_line_breaks_are_shown_as_they_are() -> None:
    line = line_of(wrong("robust.no-crash", "AppendRaises"))
    line.observed = "KeyError: [red]x[/]\n[bold"
    console = Console(file=io.StringIO(), width=120)
    for text in telling.case([line]):
        console.print(text, soft_wrap=True)
    assert "  observed  KeyError: [red]x[/]\n            [bold\n" in console.file.getvalue()  # type: ignore[attr-defined]


PROBED = [
    wrong("accounting.spendable", "LastBlockIsNotThere"),
    wrong("robust.deterministic", "EveryOtherLifeIsDifferent"),
    wrong("robust.progress", "NeverComesBack"),
    wrong("robust.bad-input", "TakesAnyInput"),
    wrong("robust.bad-input", "DamagedByBadInput"),
]


@pytest.mark.parametrize("one", PROBED, ids=lambda one: one.id)
def test_what_beyond_the_operations_shows_it_is_the_first_illegal_step(one: Wrong) -> None:
    line = line_of(one)
    assert line.then
    assert f"  -> then {line.then[:40]}" in told(line)
    assert [each.startswith("  -> ") for each in told(line).splitlines()].count(True) == 1


def test_each_probe_has_words() -> None:
    work = Workload(Config(1, 3), (Request(1, 2), Request(3, 4)), 2)
    assert "bad input" in beyond("bad-input:append-unknown")
    assert "append to a sequence that was never admitted" in beyond("bad-input:append-unknown")
    assert "1 + 2, 3 + 4, each append with 2 lookahead slots" in beyond("progress", work)
    assert "once more" in beyond("repeat")
    assert "every sequence is freed" in beyond("finish")
    assert beyond("") == ""


@pytest.mark.parametrize("one", [each for each in WRONG if each not in PROBED], ids=lambda one: one.id)
def test_every_wrong_toy_can_be_told(one: Wrong) -> None:
    """A frame for every operation, the start, and what lies beyond; and a drawing that is not too wide."""
    raw = raw_of(one)
    run = record(raw, starting(one))
    line = violation_line(raw, run)
    assert len(line.frames) == len(line.trace) + 1 + bool(line.probe)
    assert [frame.operation for frame in line.frames[: len(line.trace) + 1]] == list(range(len(line.trace) + 1))
    assert all(len(each) <= 120 for each in told(line).splitlines())
    for device, number in line.marked:
        assert any(block.block == number for block in line.frames[-1].pools[device].blocks)
        assert ">" in told(line)


# -- who owns which block -------------------------------------------------------------------------------------------


def picture(*blocks: BlockPicture, total: int = 0, free: int | None = 0, operation: int | None = 0) -> Picture:
    return Picture(operation, {"gpu": PoolPicture(total or len(blocks), free, list(blocks))}, [])


def drawing(before: Picture, after: Picture, *marked: int) -> list[str]:
    shown = ownership.Moments(before, after)
    return [line.plain for line in ownership.draw(shown, [("gpu", number) for number in marked])]


def test_every_state_has_a_sign_and_its_meaning() -> None:
    after = picture(
        BlockPicture(0, "held", [1], covered=2),
        BlockPicture(1, "held", [1, 2], covered=2),
        BlockPicture(2, "held", [1]),
        BlockPicture(3, "held", [2], covered=1, listed=True),
        BlockPicture(4, "cached"),
        BlockPicture(5, "null"),
        BlockPicture(6, "missing"),
        BlockPicture(7, "held", [1, 2, 3, 4, 5], covered=1),
        BlockPicture(8, "held", [1], covered=1, refcount=3),
        BlockPicture(9, "free"),
    )
    before = picture(*(BlockPicture(number, "free") for number in range(10)), free=10)
    lines = drawing(before, after, 8)
    boxes, empty = lines[2].split("after")[1], lines[1].split("before")[1]
    assert f"[{' ' * 8}]" in empty
    for words in ("1", "1+2", "1~", "2!", "c", "null", "?", "1+2+3+.."):
        assert f"[{words.center(8)}]" in boxes
    assert f">{'1#3'.center(8)}<" in boxes
    assert any(line.endswith("  0 free") for line in lines)
    assert "#" not in lines[1]
    legend = " ".join(line.strip() for line in lines[3:])
    for words in ownership.SIGNS.values():
        assert words in legend


def test_only_signs_that_occur_are_explained_and_nothing_else_is_drawn() -> None:
    one = picture(BlockPicture(0, "held", [1], covered=1), free=0)
    assert drawing(one, one) == [
        "  GPU block         0",
        "    before, after  [1]   0 free",
        "  in a box: the sequences whose block tables name the block",
    ]
    empty = picture(BlockPicture(0, "free"), free=1)
    assert drawing(empty, empty) == []
    assert drawing(empty, empty, 0)[1] == "    before, after  > <   1 free"


def test_a_free_count_that_cannot_be_had_is_told() -> None:
    before, after = picture(BlockPicture(0, "held", [1]), free=0), picture(BlockPicture(0, "held", [1]), free=None)
    assert drawing(before, after)[2].endswith("the free count cannot be had any more")


def test_of_a_large_pool_the_marked_and_changed_blocks_are_drawn() -> None:
    same = [BlockPicture(number, "held", [1], covered=1) for number in range(100)]
    before = picture(*same, total=1000, free=900)
    after = picture(*same, BlockPicture(500, "held", [2], covered=1), total=1000, free=899)
    lines = drawing(before, after, 70)
    text = "\n".join(lines)
    assert " 70 " in text
    assert " 500" in text
    assert ">" in text
    assert "not drawn: 77 more, unchanged and 899 blocks free all along" in text
    assert all(len(line) <= 120 for line in lines)
    assert len(lines) < 12


def test_pools_of_some_size_leave_out_what_is_free_all_along() -> None:
    before = picture(*(BlockPicture(number, "free") for number in range(40)), free=40)
    after = picture(BlockPicture(0, "held", [1], covered=1), *before.pools["gpu"].blocks[1:], free=39)
    assert drawing(before, after)[:4] == [
        "  GPU block   0",
        "    before   [ ]  40 free"[:13] + "[ ]   40 free",
        "    after    [1]   39 free",
        "    not drawn: 39 blocks free all along",
    ]


def test_moments_are_those_around_the_step_or_the_probe() -> None:
    frames = [picture(operation=number) for number in (0, 1, 2, 3, None)]

    def numbers(step: int, probe: str) -> tuple[int | None, int | None, str]:
        found = ownership.moments(frames, step, probe)
        assert found is not None
        return found.before.operation if found.before else -1, found.after.operation, found.words[1]

    assert numbers(2, "") == (1, 2, "after")
    assert numbers(0, "") == (-1, 0, "at the start")
    assert numbers(3, "finish") == (3, None, "after")
    assert numbers(3, "bad-input:x") == (3, None, "after")
    assert numbers(3, "repeat") == (-1, 3, "in the end")
    assert ownership.moments([], 1, "") is None


# -- grouping -------------------------------------------------------------------------------------------------------


def finding(law: str, trace: str, level: str = "MUST") -> ViolationLine:
    return ViolationLine(
        law=law, level=level, message=f"{law} on {trace}", expected="e", observed="o", config={}, step=1,
        trace=[{"op": trace}], found_by="walk", fingerprint=f"{law}/{trace}", reproduce="", story=[trace],
    )  # fmt: skip


def grouped(*findings: ViolationLine) -> list[list[list[int]]]:
    return [[case.numbers for case in group] for group in grouping.groups(findings)]


def test_findings_on_one_trace_are_one_case_and_a_shared_law_makes_a_group() -> None:
    assert grouped(finding("a", "1"), finding("b", "1")) == [[[1, 2]]]
    assert grouped(finding("a", "1"), finding("b", "2")) == [[[1]], [[2]]]
    assert grouped(finding("a", "1"), finding("b", "2"), finding("a", "3")) == [[[1], [3]], [[2]]]
    assert grouped(finding("a", "1"), finding("b", "2"), finding("a", "3"), finding("b", "3")) == [[[1], [2], [3, 4]]]
    assert grouped() == []


def shown(*findings: ViolationLine, verbose: bool = False) -> str:
    report = Report(
        "0", "1", TargetLine("t", "", {}, []), "violates", "quick", 0, 0.0, 1, [], list(findings),
        CoverageLine([], EdgesLine(0, 0, 0)), {},
    )  # fmt: skip
    console = Console(file=io.StringIO(), width=120)
    terminal.show(report, console, verbose=verbose)
    text: str = console.file.getvalue()  # type: ignore[attr-defined]
    return text


def test_the_smallest_of_a_group_is_told_and_the_others_are_a_line_each() -> None:
    many = [finding("a", str(number)) for number in range(30)]
    text = shown(*many)
    assert "30 findings on 30 traces, in 1 group" in text
    assert text.count("expected") == 1
    assert "a on 0" in text
    assert "a/12  a, 1 operation: a on 12" in text
    assert "and 17 more" in text
    assert "--verbose" in text
    assert shown(*many, verbose=True).count("expected") == 30
    assert len(text.splitlines()) < 40


def test_so_many_groups_are_told_in_full_and_none_is_left_out() -> None:
    many = [finding(f"law{number}", str(number)) for number in range(12)]
    text = shown(*many)
    assert text.count("expected") == terminal.MOST_TOLD
    assert all(f"law{number} on {number}" in text for number in range(12))


def test_a_heading_names_each_law_once() -> None:
    text = shown(finding("a", "1"), finding("a", "1"), finding("b", "1"), finding("c", "1", "SHOULD"))
    assert "findings 1, 2, 3, 4: a (MUST), b (MUST) and 1 more" in text


# -- as a pytest file -----------------------------------------------------------------------------------------------

FILED = [
    wrong("admission.sound-swap-in", "SwapInCountsTheRowsOnly"),
    wrong("table.tight", "AppendTakesOneMore"),
    *PROBED,
]
"""One of each probe, one that leaves capabilities out, and a SHOULD law."""


def write_files(folder: Path) -> dict[str, Wrong]:
    """The files of all these, by test name; where each is on its own target."""
    found = {}
    for one in FILED:
        raw = raw_of(one)
        line = violation_line(raw, record(raw, starting(one)))
        spec = f"kit_wrong:{one.adapter.__name__}"
        path = folder / pytest_file.name(one.law, one.adapter.__name__, spec)
        pytest_file.write(path, line, spec, raw.workload, sorted(each.value for each in one.without))
        found[path.stem] = one
    return found


def ended(folder: Path, target: str = "") -> dict[str, str]:
    """How plain pytest ends on all files there: by file `passed`, `failure` or `error`."""
    path = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    # Another folder, an empty configuration: nothing of this project's may be needed.
    (folder / "pytest.ini").write_text("[pytest]\n")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--junitxml", "seen.xml", "."],
        cwd=folder, env={**os.environ, "PYTHONPATH": path, "KVCONFORM_TARGET": target},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (folder / "seen.xml").exists(), done.stdout + done.stderr
    cases = ElementTree.parse(folder / "seen.xml").getroot().iter("testcase")
    return {case.attrib["classname"]: case[0].tag if len(case) else "passed" for case in cases}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Wrong]]:
    folder = tmp_path_factory.mktemp("files")
    return folder, write_files(folder)


def test_the_files_fail_for_what_is_wrong(files: tuple[Path, dict[str, Wrong]]) -> None:
    folder, known = files
    assert ended(folder) == dict.fromkeys(known, "failure")


def test_the_files_pass_once_it_is_fixed(files: tuple[Path, dict[str, Wrong]]) -> None:
    folder, known = files
    assert ended(folder, "kit_toy:ToyAdapter") == dict.fromkeys(known, "passed")


@pytest.mark.parametrize(
    "target", ["no.such:thing", "fault:none", "kit_targets:StartRaises", "kit_targets:CannotBeMade"]
)
def test_the_files_are_errors_where_the_target_cannot_be_loaded(
    files: tuple[Path, dict[str, Wrong]], target: str
) -> None:
    folder, known = files
    assert ended(folder, target) == dict.fromkeys(known, "error")


def test_a_file_reads_as_python_and_stands_alone(files: tuple[Path, dict[str, Wrong]]) -> None:
    folder, known = files
    for stem, one in known.items():
        text = (folder / f"{stem}.py").read_text()
        assert one.law in text
        assert "KVCONFORM_TARGET=my_adapter:MyAdapter pytest" in text
        assert ".jsonl" not in text
        compile(text, stem, "exec")


TEXT = st.text(st.characters(), max_size=20) | st.sampled_from(
    ['"""', "\\", '\\"""', "'''", "\r\n", "\0", "\ud800", "}", "{x}"]
)


@settings(max_examples=200)
@given(TEXT, TEXT, TEXT, st.lists(st.integers(0, 3), min_size=1, max_size=20))
def test_whatever_the_words_a_file_is_python_and_holds_the_operations(
    words: str, key: str, spec: str, tokens: list[int]
) -> None:
    line = finding("a.b", "1")
    line.message, line.observed, line.expected = words, spec, key
    line.config = config_to_json(Config(4, 8, watermark_blocks=2))
    line.trace = [{"op": "allocate", "group": 1, "seqs": [1], "tokens": tokens, "extra": [key]}]
    line.story = [words]
    text = pytest_file.text("x.py", line, spec, None, ["swap"])
    source = text.encode("utf-8", "backslashreplace")
    found: dict[str, Any] = {}
    exec(compile(source, "x.py", "exec"), found)
    assert found["OPERATIONS"] == line.trace
    assert found["CONFIG"] == Config(4, 8, watermark_blocks=2)
    assert os.environ.get("KVCONFORM_TARGET") or found["TARGET"] == spec


def test_a_check_writes_a_file_for_each_finding_that_runs(command: Command) -> None:
    assert command("check", "fault:unseen-ignored", "--law", "admission.sound-swap-in", "--out", "found").code == 1
    folder = command.folder / "found"
    names = {path.stem for path in folder.glob("test_*.py")}
    assert len(names) == len(list(folder.glob("*.jsonl")))
    assert not list(folder.glob("*.part"))
    assert ended(folder) == dict.fromkeys(names, "failure")
    assert ended(folder, "reference") == dict.fromkeys(names, "passed")
    assert ended(folder, "kit_targets:Bare") == dict.fromkeys(names, "error")


# -- the function that the files call -------------------------------------------------------------------------------

TIGHT = wrong("table.tight", "AppendTakesOneMore")


def replayed(adapter: str | Adapter | type[Adapter], **options: Any) -> kvconform.Replay:
    return kvconform.replay_operations(adapter, TIGHT.config, TIGHT.operations, law=TIGHT.law, **options)


def test_a_broken_law_is_an_assertion_error_that_tells_the_story() -> None:
    found = replayed(TIGHT.adapter)
    with pytest.raises(AssertionError) as raised:
        found.check()
    assert isinstance(raised.value, kvconform.LawBroken)
    assert raised.value.laws == found.broken == ("table.tight",)
    for words in ("-> 3. append group 1's unseen tokens", "expected", "GPU block", "toy"):
        assert words in str(raised.value)


def test_what_is_fixed_raises_nothing() -> None:
    for right in (ToyAdapter, ToyAdapter(), "kit_toy:ToyAdapter"):
        found = replayed(right)
        found.check()
        assert (found.broken, found.message, found.law) == ((), "", "table.tight")


def test_operations_and_configurations_are_taken_as_json_too() -> None:
    found = kvconform.replay_operations(
        TIGHT.adapter, config_to_json(TIGHT.config), [operation_to_json(op) for op in TIGHT.operations], law=TIGHT.law
    )
    assert found.broken == ("table.tight",)


def test_another_must_law_counts_too() -> None:
    other = wrong("robust.no-crash", "AppendRaises")
    found = kvconform.replay_operations(other.adapter, other.config, other.operations, law="table.tight")
    assert found.broken == ("robust.no-crash",)
    lesser = kvconform.replay_operations(TIGHT.adapter, TIGHT.config, TIGHT.operations, law="table.covers")
    assert lesser.broken == ()  # a SHOULD law that nobody asked about


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"law": "no.law"}, "replay_operations: unknown law 'no.law'"),
        ({"probe": "none"}, "unknown probe 'none'"),
        ({"probe": "progress"}, "no usable workload"),
        ({"without": ["wings"]}, "unknown capability 'wings'"),
        ({"config": {"block_size": 0, "num_gpu_blocks": 1}}, "config.block_size"),
        ({"operations": [{"op": "dance"}]}, "unknown operation 'dance'"),
        ({"target": "fault:none"}, "unknown fault"),
    ],
)
def test_what_cannot_be_meant_is_a_usage_error(options: dict[str, Any], complaint: str) -> None:
    given_ = {"target": ToyAdapter, "config": TIGHT.config, "operations": TIGHT.operations, "law": TIGHT.law, **options}
    with pytest.raises(UsageError, match=complaint):
        kvconform.replay_operations(given_.pop("target"), given_.pop("config"), given_.pop("operations"), **given_)


class Fussy(ToyAdapter):
    """Refuses everybody."""

    def can_allocate(self, group: Any) -> bool:
        return False


@pytest.mark.parametrize(
    ("target", "options", "complaint"),
    [
        ("no.such:thing", {}, "cannot import"),
        ("kit_targets:Bare", {"law": "accounting.refcount"}, "accounting.refcount cannot be judged .* needs refcounts"),
        ("kit_targets:StartRaises", {}, "no GPU here"),
        (Fussy, {"law": "robust.bad-input", "probe": "bad-input:append-unknown"}, "cannot be tried on the target"),
        (ToyAdapter, {"operations": [Append(1)]}, "cannot be run: group 1 does not run"),
        (ToyAdapter, {"without": ["append"]}, "the target has no append"),
    ],
)
def test_what_says_nothing_of_the_law_is_a_target_error(target: Any, options: dict[str, Any], complaint: str) -> None:
    given_ = {"operations": TIGHT.operations, "law": TIGHT.law, **options}
    with pytest.raises(TargetError, match=complaint):
        kvconform.replay_operations(target, TIGHT.config, given_.pop("operations"), **given_)


def test_what_was_left_out_is_noted() -> None:
    operations = (Allocate(1, (1,), prompt(33)), Step({}), Append(1), Free(1))
    found = kvconform.replay_operations(ToyAdapter, Config(4, 8), operations, law="admission.sound-allocate")
    assert found.broken == ()
    assert found.note == (
        "operation 1 (allocate) ended otherwise: never; so these were left out, as no engine would go on with them: 3"
    )
    assert kvconform.replay_operations(ToyAdapter, Config(4, 8), ONE, law="table.tight").note == ""
    assert step(1)
