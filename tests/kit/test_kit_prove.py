"""`kvconform prove`: what it shows, writes and ends with. Must not know how anything is proved."""

from __future__ import annotations

import json
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from kit_support import Command, in_a_process

from kvconform import cli
from kvconform.report import proofs
from kvspec import prover
from kvspec.theorems.obligation import Kind

COPYING = ("prove", "--theorem", "copying")


def test_it_ends_well_and_says_how_to_cross_check(command: Command) -> None:
    ended = command(*COPYING)
    assert ended.code == 0
    assert "specification: proved" in ended.out
    assert "--solver both cross-checks" in ended.out
    assert re.search(r"\d+\.\d s in z3, .*slowest: copying\.", ended.out)
    good = re.search(r"(\d+) of (\d+) end as they must", ended.out)
    assert good
    assert good[1] == good[2]


def test_every_theorem_has_a_row_and_its_vacuity_check_is_in_it(command: Command) -> None:
    ended = command(*COPYING)
    rows = {line.split()[0] for line in ended.out.splitlines() if line.strip()}
    for obligation in prover.select(theorem="copying"):
        assert (obligation.id in rows) == (obligation.kind is not Kind.VACUITY)
    row = next(line for line in ended.out.splitlines() if "copying.turns.start" in line)
    assert row.split()[:4] == ["copying.turns.start", "proved", "unsat", "yes"]
    verbose = command(*COPYING, "--verbose").out
    assert "copying.turns.start.can-fire" in verbose
    assert "with owners 1, writers 1, all else 0" in verbose


def test_both_solvers_are_shown(command: Command) -> None:
    pytest.importorskip("cvc5")
    ended = command(*COPYING, "--solver", "both", "--seed", "3", "--timeout", "20", "--json", "proof.json")
    assert ended.code == 0
    assert "cross-checks" not in ended.out
    row = next(line for line in ended.out.splitlines() if "copying.turns.start" in line)
    assert row.split()[1:5] == ["proved", "unsat", "unsat", "yes"]
    for told in json.loads((command.folder / "proof.json").read_text())["obligations"]:
        assert told["z3"]["answer"] == told["cvc5"]["answer"]


@pytest.mark.parametrize(("solver", "asked", "other"), [("z3", "z3", "cvc5"), ("cvc5", "cvc5", "z3")])
def test_a_solver_that_was_not_asked_is_null(command: Command, solver: str, asked: str, other: str) -> None:
    pytest.importorskip(solver)
    assert command(*COPYING, "--solver", solver, "--json", "proof.json").code == 0
    for told in json.loads((command.folder / "proof.json").read_text())["obligations"]:
        assert told[other] is None
        assert told[asked]["seconds"] >= 0


def test_a_missing_solver_is_a_usage_error(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cvc5", None)  # as if it were not installed
    monkeypatch.delitem(sys.modules, "kvspec.solving.cvc5_solver", raising=False)
    ended = command(*COPYING, "--solver", "both")
    assert (ended.code, ended.out) == (2, "")
    assert "pip install 'kvconform[crosscheck]'" in ended.complaint


@pytest.mark.parametrize("arguments", [("--seed", "-1"), ("--timeout", "0"), ("--theorem", "no-such")], ids=" ".join)
def test_what_makes_no_sense_is_a_usage_error(command: Command, arguments: tuple[str, str]) -> None:
    assert command("prove", *arguments).code == 2


def test_exports_are_named_after_theorem_and_law_and_are_the_same_each_time(command: Command) -> None:
    def exported(folder: str) -> dict[str, bytes]:
        assert command("prove", "--law", "admission.watermark", "--smt2", folder).code == 0
        return {file.name: file.read_bytes() for file in (command.folder / folder).iterdir()}

    files = exported("one")
    assert {prover.file_name(obligation) for obligation in prover.select(law="admission.watermark")} == {*files}
    assert "guards.allocate.watermark--admission.watermark.smt2" in files
    assert exported("two") == files


def result(status: str, kind: Kind = Kind.LEMMA, **more: Any) -> prover.Result:
    return prover.Result("some.thing", None, "Something holds.", kind, status, prover.Answer("sat", 0.5), **more)


ENDS = [
    ([result("proved")], 0, "proved"),
    ([result("proved"), result("unknown", reason="z3 gave up: timeout")], 3, "inconclusive"),
    ([result("unknown"), result("disagree", reason="z3 says sat, cvc5 says unsat")], 3, "disagree"),
    ([result("disagree"), result("refuted", example={"x": 1})], 1, "refuted"),
    ([result("proved", Kind.REFUTATION)], 1, "refuted"),
    ([result("refuted", Kind.VACUITY)], 1, "refuted"),
]


@pytest.mark.parametrize(("results", "code", "verdict"), ENDS, ids=[str(number) for number in range(len(ENDS))])
def test_each_verdict_has_its_exit_code(
    command: Command, monkeypatch: pytest.MonkeyPatch, results: list[prover.Result], code: int, verdict: str
) -> None:
    known = [obligation.id for obligation in prover.select(theorem="copying")]
    results = [replace(one, id=name) for one, name in zip(results, known, strict=False)]

    def prove(law: object, theorem: object, on_result: Any, *more: object) -> list[prover.Result]:
        for one in results:
            on_result(one)
        return results

    monkeypatch.setattr(prover, "prove", prove)
    ended = command(*COPYING, "--json", "proof.json")
    assert ended.code == code
    assert f"specification: {verdict}" in ended.out
    assert json.loads((command.folder / "proof.json").read_text())["verdict"] == verdict
    for one in results:
        assert one.reason is None or one.reason in ended.out


def test_an_interrupt_shows_what_there_is_and_is_3(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    first = prover.discharge(prover.select(theorem="copying")[0])

    def prove(law: object, theorem: object, on_result: Any, *more: object) -> None:
        on_result(first)
        raise KeyboardInterrupt

    monkeypatch.setattr(prover, "prove", prove)
    ended = command(*COPYING)
    assert ended.code == 3
    assert "interrupted after 1 of" in ended.out
    assert first.id in ended.out


def test_without_a_terminal_it_is_plain_text_without_a_cut(tmp_path: Path) -> None:
    ended = in_a_process(tmp_path, "prove", "--theorem", "guards.append.wrong", "--solver", "z3")
    assert ended.code == 0
    assert "\x1b" not in ended.out
    assert "…" not in ended.out
    assert all(obligation.id in ended.out for obligation in prover.select(theorem="guards.append.wrong"))


def test_every_status_can_be_shown() -> None:
    for kind in Kind:
        for status in prover.STATUSES:
            one = result(status, kind)
            assert (one.good, status) in proofs.STATUS


def test_ctrl_c_before_a_command_begins_is_3(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cli, "app", lambda standalone_mode: cli.INTERRUPTED)
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 3
    assert "interrupted" in capsys.readouterr().err
