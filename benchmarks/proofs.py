"""How long the proofs take, in one run on one machine: `make bench`.

Prints, for each solver, seconds by area and the slowest obligations over five seeds, how the time grows with the number
of theorems, and the most memory that a process needs which proves everything with both. `--json FILE` writes the data.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path

from kvspec import prover
from kvspec.solving.solver import Solver, solver_named
from kvspec.theorems import OBLIGATIONS

SEEDS = (0, 1, 2, 3, 4)
SLOWEST = 8
PREFIXES = (100, 200, 300, 400, 500)


def ask_all(solver: Solver, texts: dict[str, str], seed: int) -> dict[str, float]:
    """Seconds of the solver for each question. An answer that is not the expected one stops the measuring."""
    seconds = {}
    for name, text in texts.items():
        found = solver.ask(text, (), 10.0, seed)
        assert f":status {found.answer})" in text, f"{name}: {solver.name} says {found.answer} at seed {seed}"
        seconds[name] = found.seconds
    return seconds


def growth(seconds: dict[str, float]) -> list[tuple[int, float]]:
    """Time against the number of obligations, in the order in which they build on each other."""
    times = list(seconds.values())
    return [(n, sum(times[:n])) for n in (*(n for n in PREFIXES if n < len(times)), len(times))]


def by_area(seconds: dict[str, float]) -> dict[str, tuple[int, float]]:
    """Obligations and seconds of each area."""
    areas: dict[str, list[float]] = defaultdict(list)
    for name, spent in seconds.items():
        areas[name.partition(".")[0]].append(spent)
    return {area: (len(spent), sum(spent)) for area, spent in areas.items()}


def peak_memory() -> float:
    """Megabytes that a process needs at most which proves everything with both solvers."""
    code = "from kvspec import prover; assert prover.verdict(prover.prove(solvers=('z3', 'cvc5'))) == 'proved'"
    subprocess.run([sys.executable, "-c", code], check=True)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024


def measured() -> dict[str, object]:
    """Everything, as plain data."""
    began = time.perf_counter()
    texts = {obligation.id: prover.to_smt2(obligation) for obligation in OBLIGATIONS}
    data: dict[str, object] = {"obligations": len(texts), "writing": time.perf_counter() - began}
    for name in ("z3", "cvc5"):
        runs = [ask_all(solver_named(name), texts, seed) for seed in SEEDS]
        data[name] = {
            "seconds": {seed: sum(run.values()) for seed, run in zip(SEEDS, runs, strict=True)},
            "areas": by_area(runs[0]),
            "growth": growth(runs[0]),
            "slowest": {obligation: max(run[obligation] for run in runs) for obligation in texts},
        }
    data["peak_memory_mb"] = peak_memory()
    return data


def show(data: dict[str, object]) -> None:
    """Print it as markdown."""
    print(f"{data['obligations']} obligations, written as SMT-LIB in {data['writing']:.1f} s\n")
    for name in ("z3", "cvc5"):
        of = data[name]
        assert isinstance(of, dict)
        print(f"## {name}\n\nseconds by seed: " + ", ".join(f"{spent:.2f}" for spent in of["seconds"].values()))
        print("\n| area | obligations | seconds |\n|---|---|---|")
        for area, (count, spent) in of["areas"].items():
            print(f"| {area} | {count} | {spent:.2f} |")
        print("\n| first obligations | seconds |\n|---|---|")
        for count, spent in of["growth"]:
            print(f"| {count} | {spent:.2f} |")
        print("\n| slowest of any seed | seconds |\n|---|---|")
        for obligation, spent in sorted(of["slowest"].items(), key=lambda item: -item[1])[:SLOWEST]:
            print(f"| {obligation} | {spent:.3f} |")
        print()
    print(f"peak memory of a process that proves everything with both: {data['peak_memory_mb']:.0f} MB")


def main() -> None:
    """Measure, print, and write where asked."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--json", type=Path, metavar="FILE")
    wanted = options.parse_args()
    data = measured()
    show(data)
    if wanted.json:
        wanted.json.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
