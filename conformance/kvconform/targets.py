"""From what a user names to an adapter: `reference`, `fault:NAME`, `NAME@VERSION`, `package.module:factory` and so on.

Knows how targets are named and loaded. Loading runs the user's code, and whatever goes wrong there is one clear error.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass

from kvconform import __version__, faults
from kvconform.adapter import Adapter, AdapterMistake, capabilities_of
from kvconform.errors import TargetError, UsageError, said
from kvconform.reference import ReferenceAdapter
from kvconform.reference_told import ToldReference
from kvconform.reference_try import TryReference

REFERENCES: dict[str, type[Adapter]] = {face.name: face for face in (ReferenceAdapter, TryReference, ToldReference)}
"""The faces of kvref by name: asked by guards, asked by trying, and for an engine that keeps rows of its own."""


@dataclass
class Target:
    """An adapter ready to be checked, and the name under which it can be asked for again."""

    spec: str
    name: str
    version: str
    adapter: Adapter


def resolve(spec: str) -> Target:
    """The target of this name.

    Raises UsageError for a name that cannot be one (an unknown fault too), TargetError for one that cannot be loaded.
    """
    if spec in REFERENCES:
        return Target(spec, spec, __version__, REFERENCES[spec]())
    if spec.startswith("fault:"):
        return _fault(spec)
    if spec.startswith("exec:"):
        raise TargetError("exec: targets (managers in other languages) are not part of this version")
    if ":" in spec:
        return _factory(spec)
    return _engine(spec)


def _fault(spec: str) -> Target:
    name = spec.removeprefix("fault:")
    fault = faults.CATALOGUE.get(name)
    if fault is None:
        raise UsageError(f"unknown fault {name!r}; known: {', '.join(faults.CATALOGUE)}")
    return Target(spec, spec, __version__, fault.adapter()())


def _engine(spec: str) -> Target:
    from kvconform.engines import EngineError, UnknownEngine, adapter_factory, available

    name, _, version = spec.partition("@")
    try:
        adapter = adapter_factory(name, version or None)()
    except UnknownEngine:
        engines = [f"{target.name}@VERSION" for target in available()]
        known = ", ".join([*REFERENCES, "fault:NAME", *engines, "package.module:factory"])
        raise TargetError(f"unknown target {spec!r}; a target is one of {known} (see: kvconform targets)") from None
    except EngineError as error:
        raise TargetError(str(error)) from None
    return Target(spec, name, adapter.version or version, adapter)


def _factory(spec: str) -> Target:
    module_name, _, attribute = spec.partition(":")
    if not module_name or not attribute:
        raise TargetError(f"{spec!r} names no factory; write package.module:factory")
    here = os.getcwd()
    if here not in sys.path:
        sys.path.insert(0, here)  # as `python -m` would: people check the adapter beside them
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        raise TargetError(f"cannot import {module_name!r}: {error}; is it on PYTHONPATH or in this folder?") from None
    except Exception as error:
        raise TargetError(f"importing {module_name!r} raised {said(error)}") from None
    factory = getattr(module, attribute, None)
    if factory is None:
        raise TargetError(f"module {module_name!r} has no {attribute!r}")
    adapter = _made(spec, factory)
    name = adapter.name or spec
    return Target(spec, name, adapter.version, adapter)


def _made(spec: str, factory: Callable[[], object] | object) -> Adapter:
    try:
        adapter = factory if isinstance(factory, Adapter) else factory() if callable(factory) else factory
    except Exception as error:
        raise TargetError(f"{spec} raised {said(error)}") from None
    if not isinstance(adapter, Adapter):
        raise TargetError(f"{spec} gives {type(adapter).__name__}, not a kvconform.Adapter")
    try:
        capabilities_of(adapter)
    except AdapterMistake as error:
        raise TargetError(str(error)) from None
    return adapter
