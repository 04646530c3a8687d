"""Writes the pages of docs/ that come from data: `make docs`. A test compares them."""

from pathlib import Path

from kvconform import explain
from kvspec.writing.page import model_markdown

HERE = Path(__file__).parent
PAGES = {"laws.md": explain.laws_markdown, "faults.md": explain.faults_markdown, "model.md": model_markdown}

if __name__ == "__main__":
    for name, page in PAGES.items():
        (HERE / name).write_text(page(), encoding="utf-8")
        print(f"docs/{name}")
