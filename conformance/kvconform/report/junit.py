"""JUnit XML, as Jenkins, GitLab and others read it: a test case a law, and one for the run. Knows the report only."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

from kvconform.report import plain
from kvconform.report.model import Report
from kvconform.report.outcomes import Case, cases

ELEMENT = {"failed": "failure", "error": "error", "skipped": "skipped"}


def render(report: Report) -> str:
    """The report as JUnit XML."""
    found = cases(report)
    counts = {outcome: str(sum(case.outcome == outcome for case in found)) for outcome in ELEMENT}
    totals = {"tests": str(len(found)), "failures": counts["failed"], "errors": counts["error"]}
    name, seconds = f"kvconform {plain.printable(plain.name(report))}", f"{report.duration_s:.3f}"
    root = ET.Element("testsuites", {"name": "kvconform", **totals, "time": seconds})
    suite = ET.SubElement(root, "testsuite", {"name": name, **totals, "skipped": counts["skipped"], "time": seconds})
    if report.started:
        suite.set("timestamp", report.started.removesuffix("Z"))
    properties = ET.SubElement(suite, "properties")
    for key, value in _properties(report).items():
        ET.SubElement(properties, "property", {"name": plain.printable(key), "value": plain.printable(value)})
    for case in found:
        suite.append(_case(case, classname(report)))
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def classname(report: Report) -> str:
    """What groups the cases of one target: without its version, so that a history goes on; dots would split it."""
    return f"kvconform.{re.sub(r'[^A-Za-z0-9_-]+', '_', report.target.name) or 'target'}"


def _properties(report: Report) -> dict[str, str]:
    told = {"verdict": report.verdict, "profile": report.profile, "seed": str(report.seed)}
    return {**told, "operations": str(report.operations), "kvconform": report.kvconform, **report.environment}


def _case(case: Case, classname: str) -> ET.Element:
    element = ET.Element("testcase", {"classname": classname, "name": plain.printable(case.id)})
    if case.outcome != "passed":
        message = plain.cut(plain.printable(case.reason))
        kind = f"{case.level} {case.status}".strip()
        why = ET.SubElement(element, ELEMENT[case.outcome], {"message": message, "type": plain.printable(kind)})
        why.text = "\n\n".join(plain.finding(v) for v in case.findings) or plain.printable(case.statement)
    return element
