"""What the kit's own ledger sees at the end of a vector is what the vector says that it shows."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest
from edges_support import EDGES

vectors = pytest.importorskip("kvconform.vectors", reason="the kit is not on the path")
reference = pytest.importorskip("kvconform.reference", reason="the kit is not on the path")
adapter = pytest.importorskip("kvconform.adapter", reason="the kit is not on the path")


def _benchmark(name: str) -> ModuleType:
    path = Path(__file__).parents[2] / "benchmarks" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SIGHTS = _benchmark("edge_sights")
MANAGER = reference.ReferenceAdapter()


@pytest.mark.parametrize("edge", EDGES)
def test_the_ledger_sees_what_a_vector_shows(edge: str) -> None:
    for vector in EDGES[edge]:
        played = vectors.play(
            lambda config: SIGHTS.Watched(MANAGER, config), vector, MANAGER, adapter.capabilities_of(MANAGER)
        )
        last = [values for guard, values in played.run.edge if guard is vector.guard]
        assert sorted(last) == sorted(vector.shows), vector.id
