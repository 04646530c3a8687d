"""`python -m kvspec.edges [--check]`: writes the vectors anew beside this file, or compares them with what is there.

Knows only the two calls; exit code 1 where they differ.
"""

from __future__ import annotations

import sys
from pathlib import Path

from kvspec.edges.vectors import FILE_NAME, check, write


def main(arguments: list[str]) -> int:
    """Write or check; progress goes to the terminal's error stream."""

    def tell(line: str) -> None:
        print(line, file=sys.stderr)

    if arguments == ["--check"]:
        same = check(tell)
        print("same bytes" if same else "the shipped vectors are not what is generated now")
        return 0 if same else 1
    if arguments:
        print("usage: python -m kvspec.edges [--check]", file=sys.stderr)
        return 2
    made = write(Path(__file__).with_name(FILE_NAME), tell)
    print(f"{len(made.vectors)} vectors witness {made.witnessed} classes, {made.excluded} unreachable")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
