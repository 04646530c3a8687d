"""Reading what a person types for an engine: NAME==VERSION.

Knows: the grammar of names and versions. Must not know: which engines or versions exist.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from .errors import BadEngineSpec

_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")
# A version becomes part of a folder's name and of a command line: nothing but this may pass.
_VERSION = re.compile(r"[0-9]+(\.[0-9]+)*((a|b|rc)[0-9]+)?(\.post[0-9]+)?(\.dev[0-9]+)?(\+[a-z0-9]+(\.[a-z0-9]+)*)?")


class EngineSpec(NamedTuple):
    """One version of one engine."""

    name: str
    version: str

    def __str__(self) -> str:
        return f"{self.name}=={self.version}"


def parse_spec(text: str) -> EngineSpec:
    """NAME==VERSION as a pair; `BadEngineSpec` says what is wrong with anything else."""
    name, mark, version = text.strip().partition("==")
    if not mark:
        hint = text.strip().replace("@", "==") if "@" in text else f"{text.strip() or 'vllm'}==0.6.2"
        raise BadEngineSpec(f"{text!r} names no version; write NAME==VERSION, for example: {hint}")
    return EngineSpec(check_name(name.strip()), check_version(version.strip()))


def check_name(name: str) -> str:
    """The name as the package index spells it: lower case, single dashes."""
    if not _NAME.fullmatch(name):
        raise BadEngineSpec(f"{name!r} is not a package name; write NAME==VERSION, for example: vllm==0.6.2")
    return re.sub(r"[-_.]+", "-", name).lower()


def check_version(version: str) -> str:
    """The version, if it is an exact one."""
    if not _VERSION.fullmatch(version):
        raise BadEngineSpec(f"{version!r} is not an exact version; write NAME==VERSION, for example: vllm==0.6.3.post1")
    return version


def version_key(version: str) -> tuple[tuple[int, ...], str]:
    """For putting versions in order: by their release numbers, then by what follows."""
    release = re.match(r"[0-9]+(\.[0-9]+)*", version)
    numbers = release.group() if release else ""
    return tuple(int(part) for part in numbers.split(".") if part), version[len(numbers) :]
