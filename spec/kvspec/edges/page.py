"""The tables of docs/vectors.md, from the data: `python -m kvspec.edges.page docs/vectors.md` fills them in anew.

Knows the atoms and the counts; the words around the tables are the page's own.
"""

from __future__ import annotations

import sys
from pathlib import Path

from kvspec.edges.atoms import OUTCOME, TABLES
from kvspec.edges.coverage import coverage, percent
from kvspec.edges.vectors import load


def coverage_table() -> str:
    """How many classes each guard has, and what becomes of them."""
    lines = coverage(load())
    rows: list[list[object]] = [
        [f"`{line.guard.value}`", *(getattr(line, name) for name in COUNTS), line.settled, line.vectors]
        for line in lines
    ]
    sums = [sum(getattr(line, name) for line in lines) for name in (*COUNTS, "vectors")]
    rows.append(["all", *sums[:-1], percent(lines), sums[-1]])
    head = ["guard", "edge classes", "witnessed", "proved unreachable", "by exclusions", "settled", "vectors"]
    return _table(head, rows)


COUNTS = ("classes", "witnessed", "unreachable", "exclusions")


def atoms_tables() -> str:
    """Every atom with its values, and which guards it decides."""
    rows: list[list[object]] = [["outcome", f"`{word}`", sentence, "all"] for word, sentence in OUTCOME.values.items()]
    known: dict[tuple[str, str], list[str]] = {}
    for guard, table in TABLES.items():
        for atom in table.atoms:
            for word, sentence in atom.values.items():
                known.setdefault((f"{atom.name}={word}", sentence), []).append(guard.value)
    for (name, sentence), where in known.items():
        atom_name, word = name.split("=")
        rows.append([atom_name, f"`{word}`", sentence, ", ".join(where)])
    left_out: list[list[object]] = [
        [f"`{guard.value}`", name, why] for guard, table in TABLES.items() for name, why in table.left_out.items()
    ]
    tables = [_table(["atom", "value", "it means", "guards"], rows), "What is left out, and why:"]
    return "\n\n".join([*tables, _table(["guard", "left out", "because"], left_out)])


def _table(head: list[str], rows: list[list[object]]) -> str:
    lines: list[list[object]] = [[*head], ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def filled(text: str) -> str:
    """The page with its tables written anew."""
    for name, table in (("coverage", coverage_table()), ("atoms", atoms_tables())):
        before, rest = text.split(f"<!-- {name} -->")
        _, after = rest.split(f"<!-- /{name} -->")
        text = f"{before}<!-- {name} -->\n\n{table}\n\n<!-- /{name} -->{after}"
    return text


if __name__ == "__main__":
    page = Path(sys.argv[1])
    page.write_text(filled(page.read_text(encoding="utf-8")), encoding="utf-8")
