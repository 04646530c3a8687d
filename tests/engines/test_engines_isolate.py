"""Private worlds of modules, on made-up packages."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from kvconform.engines.isolate import SourceFile, World


class Texts:
    """Sources held in a dictionary; a name ending in "/" is a package."""

    def __init__(self, **texts: str) -> None:
        self.texts = {name.replace("__", "."): text for name, text in texts.items()}

    def find(self, module: str) -> SourceFile | None:
        """The source of a module."""
        text = self.texts.get(module)
        if text is None:
            return None
        package = any(other.startswith(module + ".") for other in self.texts)
        return SourceFile(Path(f"/nowhere/{module}.py"), text.encode(), package)


def _world(stand_ins: dict[str, Any] | None = None, **texts: str) -> World:
    return World(Texts(**texts), stand_ins or {}, ("pkg",))


def test_two_worlds_hold_the_same_package_side_by_side() -> None:
    one, two = _world(pkg__a="VALUE = 1"), _world(pkg__a="VALUE = 2")
    assert (one.import_module("pkg.a").VALUE, two.import_module("pkg.a").VALUE) == (1, 2)


def test_sys_modules_is_left_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    theirs = ModuleType("pkg.a")
    monkeypatch.setitem(sys.modules, "pkg.a", theirs)
    before = dict(sys.modules)
    world = _world(pkg__a="import pkg.b\nfrom pkg.b import X", pkg__b="X = 3")
    assert world.import_module("pkg.a").X == 3
    assert sys.modules == before
    assert sys.modules["pkg.a"] is theirs


def test_a_body_that_fails_leaves_nothing_behind() -> None:
    before = dict(sys.modules)
    world = _world(pkg__a="1 / 0")
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            world.import_module("pkg.a")
    assert sys.modules == before
    assert "pkg.a" not in world.modules


def test_imports_inside_functions_stay_in_their_world_for_ever() -> None:
    text = "def late():\n    from pkg.b import X\n    import pkg.c as c\n    return X, c.Y"
    one = _world(pkg__a=text, pkg__b="X = 1", pkg__c="Y = 1")
    two = _world(pkg__a=text, pkg__b="X = 2", pkg__c="Y = 2")
    late_one, late_two = one.import_module("pkg.a").late, two.import_module("pkg.a").late
    assert (late_one(), late_two()) == ((1, 1), (2, 2))
    assert "pkg.b" not in sys.modules


@pytest.mark.parametrize(
    "statement",
    ["import pkg.sub.x\nV = pkg.sub.x.V", "from pkg.sub import x\nV = x.V", "from pkg.sub.x import V",
     "from .sub import x\nV = x.V", "from .sub.x import V", "from . import sub\nfrom .sub import x\nV = x.V",
     "import pkg.sub.x as y\nV = y.V"],
)  # fmt: skip
def test_every_form_of_import_works(statement: str) -> None:
    world = _world(pkg__a=statement, pkg__sub="", pkg__sub__x="V = 7")
    assert world.import_module("pkg.a").V == 7


def test_the_bare_package_never_runs_its_init() -> None:
    world = World(Texts(pkg="raise SystemExit", pkg__a="A = 1"), {}, ("pkg",))
    assert world.import_module("pkg.a").A == 1


def test_a_stand_in_replaces_a_source() -> None:
    def make(name: str) -> ModuleType:
        module = ModuleType(name)
        module.__dict__["X"] = "ours"
        return module

    world = _world({"pkg.b": make}, pkg__a="from pkg.b import X", pkg__b="X = 'theirs'")
    assert world.import_module("pkg.a").X == "ours"


def test_circular_imports_work_as_usual() -> None:
    world = _world(pkg__a="import pkg.b\nA = 1", pkg__b="from pkg import a\nB = 2")
    assert world.import_module("pkg.a").A == 1
    assert world.import_module("pkg.b").a.A == 1


def test_a_module_that_is_not_there_is_an_import_error_with_its_name() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"pkg\.gone") as caught:
        _world(pkg__a="import pkg.gone").import_module("pkg.a")
    assert caught.value.name == "pkg.gone"


def test_an_optional_import_can_be_caught_inside() -> None:
    world = _world(pkg__a="try:\n    import pkg.gone\nexcept ImportError:\n    HERE = False")
    assert world.import_module("pkg.a").HERE is False


def test_dataclasses_with_text_annotations_work() -> None:
    text = (
        "from __future__ import annotations\nfrom dataclasses import dataclass\nfrom typing import ClassVar\n"
        "@dataclass\nclass D:\n    x: int\n    y: ClassVar[int] = 3\n"
    )
    made = _world(pkg__a=text).import_module("pkg.a").D(1)
    assert (made.x, made.y) == (1, 3)


def test_ordinary_modules_are_the_ordinary_ones() -> None:
    import json

    assert _world(pkg__a="import json\nJ = json").import_module("pkg.a").J is json


def test_a_world_is_filled_once_by_several_threads() -> None:
    world = _world(pkg__a="import time\ntime.sleep(0.02)\nX = object()")
    seen: list[object] = []
    threads = [threading.Thread(target=lambda: seen.append(world.import_module("pkg.a").X)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 4
    assert len(set(map(id, seen))) == 1


def test_an_old_source_that_makes_the_compiler_warn_is_loaded_quietly() -> None:
    assert _world(pkg__a="X = '\\d'").import_module("pkg.a").X == "\\d"
