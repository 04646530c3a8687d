"""Every view of a report: what all of them promise, and each one's own format as its consumers read it.

Knows: the formats. Must not know: how a report comes about.
"""

from __future__ import annotations

import io
import json
import re
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from junitparser import Error, Failure, JUnitXml, Skipped
from markdown_it import MarkdownIt
from report_support import NASTY, law, nasty, report, reports, violated, violation
from rich.console import Console

from kvconform.report import annotations, badge, ctrf, junit, markdown, plain, terminal
from kvconform.report.model import Report, TargetLine
from kvconform.report.outcomes import NOT_GREEN, RUN, cases
from kvconform.report.views import ALL

FEW = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)

CONFORMS = report(law(), law("table.tight", "not-applicable", reason="needs tables"))
UNSEEN = report(law(), law("table.tight", "not-exercised", reason="no case met its premise"), verdict="inconclusive")
SHOULD_BROKEN = report(law(), law("a.b", "violated", "SHOULD"), violations=[violation("a.b", "SHOULD")])
KNOWN = report(law(), law("a.b", "known", reason="see issue 7"), violations=[violation("a.b")])
INTERRUPTED = report(law(), verdict="inconclusive", notes=["interrupted: what was not reached is not judged"])
STALE = report(law(), verdict="violates", notes=["a known deviation is fixed"])
UNDRIVEN = report(verdict="error", notes=["importing 'x' raised ImportError"], operations=0, duration_s=0.0, started="")
SAMPLES = [CONFORMS, UNSEEN, SHOULD_BROKEN, KNOWN, INTERRUPTED, STALE, UNDRIVEN, violated(), nasty()]


def outcomes(found: Report) -> dict[str, str]:
    return {case.id: case.outcome for case in cases(found)}


# -- all of them ----------------------------------------------------------------------------------------------------


def test_each_verdict_of_a_law_reads_as_it_must() -> None:
    assert outcomes(CONFORMS) == {"table.covers": "passed", "table.tight": "skipped", RUN: "passed"}
    assert outcomes(UNSEEN) == {"table.covers": "passed", "table.tight": "error", RUN: "error"}
    assert outcomes(violated()) == {"table.covers": "passed", "table.tight": "failed", RUN: "passed"}
    assert outcomes(SHOULD_BROKEN) == {"table.covers": "passed", "a.b": "skipped", RUN: "passed"}
    assert outcomes(KNOWN) == {"table.covers": "passed", "a.b": "skipped", RUN: "passed"}
    assert outcomes(INTERRUPTED) == {"table.covers": "passed", RUN: "error"}
    assert outcomes(STALE) == {"table.covers": "passed", RUN: "failed"}
    assert outcomes(UNDRIVEN) == {RUN: "error"}


def test_strict_makes_should_count() -> None:
    laws = [
        law(),
        law("a.b", "violated", "SHOULD"),
        law("a.c", "not-exercised", "SHOULD"),
        law("a.d", "violated", "MAY"),
    ]
    strict = report(*laws, verdict="violates", violations=[violation("a.b"), violation("a.d")], strict=True)
    assert outcomes(strict) == {
        "table.covers": "passed",
        "a.b": "failed",
        "a.c": "error",
        "a.d": "skipped",
        RUN: "passed",
    }


@given(reports())
@FEW
def test_nobody_sees_green_but_where_the_verdict_is_conforms(found: Report) -> None:
    green = found.verdict == "conforms"
    assert green == all(case.outcome not in NOT_GREEN for case in cases(found))
    suite = JUnitXml.fromstring(junit.render(found).encode())
    assert green == (suite.failures == 0 and suite.errors == 0)
    results = json.loads(ctrf.render(found))["results"]
    assert green == (results["summary"]["failed"] == 0 and results["summary"]["other"] == 0)
    assert green == results["environment"]["healthy"]
    assert green == (json.loads(badge.render(found))["color"] == "brightgreen")
    assert green == ("::error" not in annotations.render(found))
    assert green == ("✅" in markdown.render(found))


@pytest.mark.parametrize("view", ALL, ids=lambda view: view.name)
@given(found=reports())
@FEW
def test_a_view_is_text_that_can_be_written_and_the_same_each_time(view: Any, found: Report) -> None:
    if view.name not in ("json", "html"):  # which hold the document; what an error says is made fit where it comes in
        text = view.render(found)
        assert text.encode() == view.render(found).encode()
        assert not set(re.findall(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", text))


@given(reports())
@FEW
def test_the_terminal_shows_any_report_as_it_is(found: Report) -> None:
    out = io.StringIO()
    terminal.show(found, Console(file=out, width=200))
    assert f": {found.verdict} (of " in out.getvalue()
    assert [line.id for line in found.laws if line.id not in out.getvalue()] == []


def test_options_are_told_apart() -> None:
    assert len({view.name for view in ALL}) == len({view.file for view in ALL}) == len(ALL)


# -- JUnit XML ------------------------------------------------------------------------------------------------------


def test_junit_says_what_failed_and_how_to_see_it_again() -> None:
    suite = next(iter(JUnitXml.fromstring(junit.render(violated()).encode())))
    assert (suite.name, suite.tests, suite.failures, suite.errors, suite.skipped) == (
        "kvconform my:Manager 2.0",
        3,
        1,
        0,
        0,
    )
    assert suite.timestamp == "2026-01-31T12:00:00.250"
    (failed,) = [case for case in suite if case.result]
    assert (failed.classname, failed.name) == ("kvconform.my_Manager", "table.tight")
    (failure,) = failed.result
    assert isinstance(failure, Failure)
    assert (failure.message, failure.type) == ("a row is short", "MUST violated")
    story = ("with 1 slot a block:", "-> 2. append group 1's", "expected  2 blocks", "observed  1 block")
    for told in ("Rows cover.", *story, "reproduce kvconform replay x.jsonl --on my:Manager"):
        assert told in failure.text


@pytest.mark.parametrize(
    ("found", "kind", "message"),
    [
        (UNSEEN, Error, "not exercised: no case met its premise"),
        (CONFORMS, Skipped, "not applicable: needs tables"),
        (KNOWN, Skipped, "known: see issue 7"),
        (SHOULD_BROKEN, Skipped, "broken; a SHOULD law does not count here: a row is short"),
    ],
)
def test_junit_says_why_a_law_did_not_pass(found: Report, kind: type, message: str) -> None:
    suite = next(iter(JUnitXml.fromstring(junit.render(found).encode())))
    results = [result for case in suite if case.name != RUN for result in case.result]
    assert [(type(result), result.message) for result in results] == [(kind, message)]


@pytest.mark.parametrize("found", SAMPLES)
def test_junit_is_valid_for_jenkins(junit_schema: Any, found: Report) -> None:
    junit_schema.validate(junit.render(found))


@given(reports())
@FEW
def test_no_text_makes_junit_invalid(junit_schema: Any, found: Report) -> None:
    junit_schema.validate(junit.render(found))


def test_the_schema_of_junit_can_say_no(junit_schema: Any) -> None:
    assert not junit_schema.is_valid(junit.render(CONFORMS).replace(' name="table.covers"', ""))


def test_junit_has_what_newer_readers_insist_on() -> None:
    root = ET.fromstring(junit.render(CONFORMS).encode())
    assert all({"name", "tests", "failures", "errors"} <= set(suite.attrib) for suite in root)
    assert re.fullmatch(r"\d+\.\d{3}", root.attrib["time"])
    assert {key for case in root.iter("testcase") for key in case.attrib} == {"classname", "name"}


def test_classes_have_no_dots_of_the_target() -> None:
    assert junit.classname(report(target=TargetLine("a.b.c:D@1.2", "", {}, []))) == "kvconform.a_b_c_D_1_2"


# -- CTRF -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("found", SAMPLES)
def test_ctrf_is_valid(ctrf_schema: Any, found: Report) -> None:
    ctrf_schema.validate(json.loads(ctrf.render(found)))


@given(reports())
@FEW
def test_no_text_makes_ctrf_invalid(ctrf_schema: Any, found: Report) -> None:
    ctrf_schema.validate(json.loads(ctrf.render(found)))


def test_the_schema_of_ctrf_can_say_no(ctrf_schema: Any) -> None:
    document = json.loads(ctrf.render(CONFORMS))
    document["results"]["tests"][0]["status"] = "holds"
    assert not ctrf_schema.is_valid(document)


def test_ctrf_says_what_failed_and_when() -> None:
    results = json.loads(ctrf.render(violated()))["results"]
    summary = results["summary"]
    assert [summary[key] for key in ("tests", "passed", "failed", "skipped", "other", "duration")] == [
        3,
        2,
        1,
        0,
        0,
        1250,
    ]
    assert summary["stop"] - summary["start"] == 1250
    assert summary["start"] == 1769860800250
    failed = results["tests"][1]
    assert (failed["name"], failed["status"], failed["message"]) == ("table.tight", "failed", "a row is short")
    assert (failed["rawStatus"], failed["tags"]) == ("violated", ["MUST"])
    assert "reproduce kvconform replay x.jsonl" in failed["trace"]
    assert [test["status"] for test in json.loads(ctrf.render(UNSEEN))["results"]["tests"]] == [
        "passed",
        "other",
        "failed",
    ]


# -- markdown -------------------------------------------------------------------------------------------------------


def html(found: Report, **options: Any) -> str:
    return MarkdownIt("commonmark", {"html": True}).enable("table").render(markdown.render(found, **options))


def test_markdown_folds_each_finding_and_has_all_laws() -> None:
    page = html(violated())
    assert "<h2>❌ kvconform: my:Manager 2.0 violates</h2>" in page
    assert page.count("<details>") == page.count("</details>") == 2
    assert "<summary>1. table.tight (MUST): a row is short</summary>" in page
    assert "-&gt; 2. append group 1's unseen tokens" in page
    assert "<td>table.covers</td>" in page


def test_markdown_says_first_what_keeps_a_run_from_a_verdict() -> None:
    page = html(UNSEEN)
    assert page.index("<h3>Not shown</h3>") < page.index("All 2 laws")
    assert "not exercised: no case met its premise" in page
    assert "<li>interrupted: what was not reached is not judged</li>" in html(INTERRUPTED)


def test_no_text_of_the_target_is_markup_in_markdown() -> None:
    page = html(nasty())
    kept = r"</?(?:h2|h3|p|ul|li|table|thead|tbody|tr|td|th|pre|details|summary|code)\b[^<>]*>"
    assert "<" not in re.sub(kept, "", page)
    assert "<script" not in page
    assert page.count("<details>") == page.count("</details>") == 2
    assert page.count("<pre>") == page.count("</pre>") == 1
    assert "<em>" not in page
    assert "<a " not in page
    rows = re.findall(r"<tr>(.*?)</tr>", page, flags=re.DOTALL)
    assert {row.count("<t") for row in rows} <= {3, 5}


@given(reports())
@FEW
def test_markdown_of_anything_has_its_own_parts_only(found: Report) -> None:
    page = html(found)
    assert page.count("<details>") == page.count("</details>") == 1 + len(found.violations)
    assert page.count("<pre>") == len(found.violations)
    assert page.count("<tr>") >= 1 + len(found.laws)


def test_markdown_that_does_not_fit_is_cut_between_its_parts_and_says_so() -> None:
    found = report(
        law(), law("a.b", "violated"), verdict="violates",
        violations=[violation("a.b", observed="ä" * 5_000, fingerprint=str(at)) for at in range(300)],
    )  # fmt: skip
    text = markdown.render(found)
    assert len(text.encode()) <= markdown.MOST < 1 << 20
    dropped = int(re.search(r"(\d+) parts left out: more than fits here", text)[1])  # type: ignore[index]
    assert text.count("<details>") == text.count("</details>") == 301 - dropped
    assert "All 2 laws" in text
    assert "left out" not in markdown.render(violated())


def test_one_endless_text_does_not_hide_the_finding() -> None:
    found = violated(observed="x" * 3_000_000, message="y" * 3_000_000)
    assert "(2,980,000 more characters)" in markdown.render(found)
    assert len(markdown.render(found).encode()) < 100_000
    assert "reproduce kvconform replay" in markdown.render(found)


# -- annotations ----------------------------------------------------------------------------------------------------

COMMAND = re.compile(r"::(error|warning|notice) title=([^:,\r\n]*)::([^\r\n]*)")


def commands(found: Report) -> list[tuple[str, str, str]]:
    """Kind, title and message, as GitHub's runner reads them."""
    told = []
    for line in annotations.render(found).splitlines():
        matched = COMMAND.fullmatch(line)
        assert matched, line
        kind, title, message = matched.groups()
        for escape, char in (("%3A", ":"), ("%2C", ","), ("%0A", "\n"), ("%25", "%")):
            title, message = title.replace(escape, char), message.replace(escape, char)
        told.append((kind, title, message))
    return told


def test_annotations_say_what_is_broken() -> None:
    ((kind, title, message),) = commands(violated("100% short: a, b"))
    assert (kind, title) == ("error", "table.tight (MUST)")
    assert message.startswith("100% short: a, b\nexpected  2 blocks\nobserved  1 block\n")
    assert "-> 2. append group 1's unseen tokens" in message
    assert [(kind, title) for kind, title, _ in commands(SHOULD_BROKEN)] == [
        ("warning", "a.b (SHOULD)"), ("notice", "kvconform: my:Manager 2.0 conforms"),
    ]  # fmt: skip
    assert [title for _, title, _ in commands(UNSEEN)] == ["kvconform: my:Manager 2.0", "table.tight (MUST)"]
    assert [kind for kind, _, _ in commands(KNOWN)] == ["notice"]
    assert "a known deviation is fixed" in commands(STALE)[0][2]


def test_no_text_ends_an_annotation_or_begins_another() -> None:
    told = commands(nasty())
    assert [kind for kind, _, _ in told] == ["error", "error"]
    assert all(line.startswith("::error title=") for line in annotations.render(nasty()).split("\n")[:-1])
    assert "alert(1)" in told[0][2]


def test_the_most_important_annotations_come_first_and_the_last_says_how_many_more() -> None:
    laws = [law(f"a.not-{at}", "not-exercised") for at in range(9)] + [
        law(f"a.bad-{at}", "violated") for at in range(8)
    ]
    laws += [law(f"a.may-{at}", "violated", "MAY") for at in range(3)]
    found = [violation(line.id, line.level) for line in laws if line.verdict == "violated"]
    told = commands(report(*laws, verdict="violates", violations=found))
    kinds = [kind for kind, _, _ in told]
    assert (kinds.count("error"), kinds.count("warning")) == (10, 3)
    assert [title for _, title, _ in told[:8]] == [f"a.bad-{at} (MUST)" for at in range(8)]
    assert told[9][1] == "kvconform: 8 more"
    assert "a.not-8 (MUST)" in told[9][2]


# -- badge ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("found", "message", "colour"),
    [
        (CONFORMS, "1 law holds", "brightgreen"),
        (report(law(), law("a.b")), "2 laws hold", "brightgreen"),
        (KNOWN, "1 law holds, 1 known", "brightgreen"),
        (violated(), "1 MUST violated", "red"),
        (STALE, "violates", "red"),
        (UNSEEN, "inconclusive", "yellow"),
        (UNDRIVEN, "error", "lightgrey"),
        (
            report(law(), law("a.b", "violated", "SHOULD"), law("a.c", "violated"), strict=True, verdict="violates"),
            "1 SHOULD, 1 MUST violated",
            "red",
        ),
    ],
)
def test_a_badge_says_it_in_a_word(found: Report, message: str, colour: str) -> None:
    told = json.loads(badge.render(found))
    assert (told["schemaVersion"], told["label"], told["message"], told["color"]) == (1, "kvconform", message, colour)
    assert told.get("isError", False) == (found.verdict in ("violates", "error"))


# -- texts ----------------------------------------------------------------------------------------------------------


@given(st.text(st.characters(), max_size=60))
@FEW
def test_what_is_printable_can_be_parsed_as_xml_and_stays_what_it_was(text: str) -> None:
    shown = plain.printable(text)
    element = ET.Element("a", {"b": shown})
    element.text = shown
    again = ET.fromstring(ET.tostring(element))
    assert (again.text or "", again.attrib["b"]) == (shown, shown)
    if text.isprintable():
        assert shown == text


def test_controls_are_shown_not_obeyed() -> None:
    assert plain.printable("a\r\nb\x1b[0m\r\ud800") == "a\nb\\x1b[0m\\r\\ud800"
    assert "\x1b" not in plain.printable(NASTY)
