"""Writes what of docs/ comes from data: `make docs`. A test compares it."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from kvconform import explain
from kvspec.laws import CATALOGUE
from kvspec.writing.page import model_markdown

HERE = Path(__file__).parent
PAGES: dict[str, Callable[[], str]] = {
    "laws.md": explain.laws_markdown,
    "faults.md": explain.faults_markdown,
    "model.md": model_markdown,
    **{explain.drawing_path(law): partial(explain.law_drawing, law) for law in CATALOGUE},
}

if __name__ == "__main__":
    for name, page in PAGES.items():
        path = HERE / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page(), encoding="utf-8")
        print(f"docs/{name}")
