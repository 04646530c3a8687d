"""A private world of modules: a package's own sources, imported unmodified and unseen by the rest of Python.

Knows: Python's import protocol. Must not know: any engine.

Every module of a world gets its own `__import__`, so its import statements, those inside functions too and
whenever they run, look into the world first. `sys.modules` is lent one entry while a module's body runs,
because the standard library (dataclasses with text annotations) looks modules up there, and gets it back.
Several worlds with packages of the same name live side by side.
"""

from __future__ import annotations

import builtins
import importlib.util
import sys
import threading
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, NamedTuple, Protocol


class SourceFile(NamedTuple):
    """One module's source text."""

    path: Path
    content: bytes
    is_package: bool


class SourceTree(Protocol):
    """Where the sources of a world's package are read."""

    def find(self, module: str) -> SourceFile | None:
        """The source of this module, or None if there is none."""


#: Makes a stand-in for a module that a world does not take from its sources.
StandIn = Callable[[str], ModuleType]

# Bodies of modules run one at a time, because of the entry that each lends from sys.modules.
_lock = threading.RLock()


class World:
    """The modules of one version of one package."""

    def __init__(self, sources: SourceTree, stand_ins: Mapping[str, StandIn], bare: Collection[str] = ()) -> None:
        """`stand_ins` are used instead of sources; `bare` packages exist but their `__init__` never runs."""
        self._sources = sources
        self._stand_ins = dict(stand_ins)
        self._bare = frozenset(bare)
        self._mine = {name.partition(".")[0] for name in (*self._stand_ins, *self._bare)}
        self._builtins = {**vars(builtins), "__import__": self._import}
        self.modules: dict[str, ModuleType] = {}

    def has(self, name: str) -> bool:
        """Whether the world can give this module, without running it."""
        here = (self.modules, self._stand_ins, self._bare)
        return any(name in names for names in here) or self._sources.find(name) is not None

    def import_module(self, name: str) -> ModuleType:
        """The module of this name in this world; its body runs the first time."""
        with _lock:
            return self._load(name)

    def _load(self, name: str) -> ModuleType:
        if name in self.modules:
            return self.modules[name]
        parent, _, leaf = name.rpartition(".")
        holder = self._load(parent) if parent else None
        # Importing the parent may have imported this one.
        if name not in self.modules:
            self._create(name)
        if holder is not None:
            setattr(holder, leaf, self.modules[name])
        return self.modules[name]

    def _create(self, name: str) -> None:
        if name in self._stand_ins:
            self.modules[name] = self._stand_ins[name](name)
        elif name in self._bare:
            self.modules[name] = _empty_package(name)
        else:
            source = self._sources.find(name)
            if source is None:
                raise ModuleNotFoundError(f"no module {name!r} among the sources kept for this engine", name=name)
            self._run(name, source)

    def _run(self, name: str, source: SourceFile) -> None:
        module = ModuleType(name)
        module.__file__ = str(source.path)
        module.__package__ = name if source.is_package else name.rpartition(".")[0]
        if source.is_package:
            module.__path__ = [str(source.path.parent)]
        vars(module)["__builtins__"] = self._builtins
        # The file's path is its own, so that tracebacks show the line; no bytecode is read or written.
        code = _compile(source)
        self.modules[name] = module
        try:
            with _lent(name, module):
                exec(code, vars(module))
        except BaseException:
            del self.modules[name]
            raise

    def _import(
        self,
        name: str,
        globals: Mapping[str, Any] | None = None,
        locals: Mapping[str, Any] | None = None,
        fromlist: Sequence[str] | None = (),
        level: int = 0,
    ) -> ModuleType:
        """What an import statement in one of this world's modules calls."""
        if level:
            package = str((globals or {}).get("__package__", ""))
            name = importlib.util.resolve_name("." * level + name, package)
        top = name.partition(".")[0]
        if top not in self._mine:
            return builtins.__import__(name, globals, locals, fromlist or (), 0)
        module = self.import_module(name)
        if not fromlist:
            return self.modules[top]
        for wanted in fromlist:
            self._give(module, wanted)
        return module

    def _give(self, module: ModuleType, wanted: str) -> None:
        """`from package import submodule` imports the submodule if the package has no such attribute."""
        if wanted == "*" or hasattr(module, wanted):
            return
        full = f"{module.__name__}.{wanted}"
        if hasattr(module, "__path__") and self.has(full):
            self.import_module(full)


def _compile(source: SourceFile) -> CodeType:
    """Old sources read by a newer Python may warn, which is nobody's business who only loads them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return compile(source.content, str(source.path), "exec", dont_inherit=True)


def _empty_package(name: str) -> ModuleType:
    package = ModuleType(name)
    package.__package__ = name
    package.__path__ = []
    return package


@contextmanager
def _lent(name: str, module: ModuleType) -> Iterator[None]:
    """Show one module in `sys.modules`, and afterwards what was there before."""
    absent = object()
    before: Any = sys.modules.get(name, absent)
    sys.modules[name] = module
    try:
        yield
    finally:
        if before is absent:
            sys.modules.pop(name, None)
        else:
            sys.modules[name] = before
