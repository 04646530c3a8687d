"""What the docs say is so: generated pages, numbers, names, links."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

from kvconform import faults
from kvconform.adapter import BY_METHOD, Adapter, Order
from kvspec.explore import explore
from kvspec.laws import CATALOGUE
from kvspec.model.steps import MICRO_STEPS
from kvspec.theorems import OBLIGATIONS
from kvspec.vocabulary import OPERATIONS

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


def page(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def generated() -> dict[str, str]:
    spec = importlib.util.spec_from_file_location("docs_generate", ROOT / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return {name: make() for name, make in module.PAGES.items()}


def test_pages_that_come_from_data_are_up_to_date() -> None:
    pages = generated()
    assert pages
    assert [name for name, text in pages.items() if page(f"docs/{name}") != text] == [], "out of date: make docs"


def test_numbers_in_the_readme_and_the_changelog() -> None:
    for name in ("README.md", "CHANGELOG.md"):
        text = page(name)
        laws = re.findall(r"(\d+) (?:\[?laws)", text)
        obligations = re.findall(r"(\d+) (?:proof\s+obligations|of \d+ end)", text)
        assert laws, name
        assert obligations, name
        assert set(laws) == {str(len(CATALOGUE))}, name
        assert set(obligations) == {str(len(OBLIGATIONS))}, name
        wrong = re.findall(r"(\d+) wrong\s+variants", text)
        assert set(wrong) == {str(sum(".wrong." in obligation.id for obligation in OBLIGATIONS))}, name


def test_what_the_readme_says_of_the_enumeration() -> None:
    told = re.findall(r"small scope: (\d+) operations in (\d+) states", page("README.md"))
    explored = explore()
    assert told == [(str(explored.transitions), str(explored.states))]


def test_every_operation_order_and_hook_is_documented() -> None:
    operations, adapters = page("docs/operations.md"), page("docs/adapters.md")
    assert [op for op in OPERATIONS if f"`{op}`" not in operations] == []
    assert [order.name for order in Order if f"`{order.name}`" not in adapters] == []
    assert [method for method in BY_METHOD if method not in adapters] == []
    assert [name for name in vars(Adapter.capabilities) if f"{name}=" not in adapters] == []


def test_the_page_of_the_model_names_all_that_there_is() -> None:
    text = page("docs/model.md")
    assert [law for law in CATALOGUE if f"[{law}](laws.md#" not in text] == []
    assert [op for op in OPERATIONS if f"| `{op}` |" not in text] == []
    assert [step for step in MICRO_STEPS if f"\n### {step}\n" not in text] == []
    shown = [obligation.id for obligation in OBLIGATIONS if not obligation.id.endswith(".can-fire")]
    assert [name for name in shown if text.count(f'<a id="{name}"></a>`{name}`') != 1] == []


def test_tables_have_as_many_cells_as_heads() -> None:
    for path in PAGES:
        text = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
        heads = 0
        for line in text.split("\n"):
            cells = len(re.findall(r"(?<!\\)\|", line)) if line.startswith("|") else 0
            assert not (heads and cells) or cells == heads, f"{path.name}: {line}"
            heads = cells


def test_every_fault_is_on_its_page() -> None:
    text = page("docs/faults.md")
    assert [name for name in faults.CATALOGUE if f"`{name}`" not in text] == []


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(path: Path) -> None:
    for target in re.findall(r"\]\(([^)]+)\)", path.read_text(encoding="utf-8")):
        if target.startswith("http"):
            continue
        name, _, anchor = target.partition("#")
        file = path.parent / name if name else path
        assert file.exists(), f"{path.name}: {target}"
        if anchor:
            text = file.read_text(encoding="utf-8")
            headings = re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)
            anchors = {re.sub(r"[^\w\- ]", "", h).replace(" ", "-").lower() for h in headings}
            assert anchor in anchors | set(re.findall(r'<a id="([^"]+)">', text)), target


def test_every_finding_page_is_listed_and_has_a_bare_confirmation() -> None:
    pages = {path.name for path in (ROOT / "docs" / "findings").glob("*.md")} - {"README.md"}
    assert pages
    listed, tests = page("docs/findings/README.md"), page("tests/engines/test_bare_findings.py")
    assert [name for name in pages if f"({name})" not in listed] == []
    assert [name for name in pages if name not in tests] == []
