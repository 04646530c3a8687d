"""Writes a finding as a pytest file that stands alone: its operations inside, its story in words around them.

Knows a finding's line in the report. What is written must be read by someone who has never seen the kit, fails while
the target has the fault, passes once it is fixed, and is an error, neither of the two, where the target cannot run it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from kvconform.files import write_files
from kvconform.report import telling
from kvconform.report.model import ViolationLine
from kvconform.trace import workload_to_json
from kvconform.workload import Workload
from kvspec.vocabulary import Config

PLAIN = 12
"""Equal tokens in a row that are written out; more are written as a product."""

PAGE = '''{quotes}{law} ({level}), broken by {target}.

{told}

Written by kvconform, which it needs to run, and nothing beside it. In the folder that the target is imported from:

    pytest {file}

fails while the target breaks the law, and passes once it does not. An ERROR, unlike a failure, says that the target
cannot be loaded or cannot run this. Another target is named in the environment:

    KVCONFORM_TARGET=my_adapter:MyAdapter pytest {file}
{quotes}

import os

import pytest

import kvconform

TARGET = os.environ.get("KVCONFORM_TARGET") or {spec}

CONFIG = kvconform.Config({config})
{data}

@pytest.fixture
def replay() -> kvconform.Replay:
    """Start the target, run it, and judge every step. What goes wrong in here is an error, not the finding."""
    return kvconform.replay_operations({call})


def {test}(replay: kvconform.Replay) -> None:
    """Fails with all that is broken, and passes where the law is kept."""
    replay.check()
'''


def name(law: str, fingerprint: str, spec: str) -> str:
    """The name of a finding's file: one that Python can import."""
    return f"test_{_word(law)}_{fingerprint}_{_word(spec)}.py"


def write(path: Path, line: ViolationLine, spec: str, workload: Workload | None, without: Sequence[str]) -> None:
    """Write the file, all or nothing. Raises UsageError where it cannot be written."""
    write_files({path: text(path.name, line, spec, workload, without).encode("utf-8", "backslashreplace")})


def text(file: str, line: ViolationLine, spec: str, workload: Workload | None, without: Sequence[str]) -> str:
    """The file's text."""
    given = ["TARGET", "CONFIG"]
    data = ""
    if workload is not None:
        data = (
            "\n# What the scheduler is to serve: of each request the tokens of its prompt, and how many it generates.\n"
        )
        data += f"WORKLOAD = {_literal(workload_to_json(workload))}\n"
    elif not line.probe.startswith("bad-input:"):
        data = f"\nOPERATIONS = [\n{_operations(line)}]\n"
        given.append("OPERATIONS")
    given.append(f"law={_literal(line.law)}")
    given += [f"probe={_literal(line.probe)}"] if line.probe else []
    given += ["workload=WORKLOAD"] if workload is not None else []
    given += [f"without={_literal(list(without))}"] if without else []
    return PAGE.format(
        quotes='"""',
        law=line.law,
        level=line.level,
        target=_plain(spec),
        told=_told(line),
        file=file,
        spec=_literal(spec),
        config=_config(line.config),
        data=data,
        call=", ".join(given),
        test=f"test_{_word(line.law)}",
    )


def _told(line: ViolationLine) -> str:
    """The finding in words, as the terminal tells it, without where its files are."""
    parts = telling.law(line), telling.story(line), telling.verdict(line), telling.owners([line])
    return "\n\n".join("\n".join(_plain(each.plain.rstrip()) for each in part) for part in parts if part)


def _operations(line: ViolationLine) -> str:
    """The operations, each with its story as a comment."""
    return "".join(
        f"    # {number}. {_plain(told)}\n    {_literal(op)},\n"
        for number, (op, told) in enumerate(zip(line.trace, line.story, strict=True), 1)
    )


def _config(config: dict[str, Any]) -> str:
    """The arguments that differ from their defaults."""
    return ", ".join(f"{f.name}={config[f.name]!r}" for f in fields(Config) if config[f.name] != f.default)


def _literal(value: Any) -> str:
    """The value as Python, in double quotes, and long runs of one token as a product."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_literal(key)}: {_literal(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list):
        if len(value) > PLAIN and all(each == value[0] for each in value):
            return f"[{_literal(value[0])}] * {len(value)}"
        return "[" + ", ".join(map(_literal, value)) + "]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    return repr(value)


def _plain(words: str) -> str:
    """Words inside a docstring or a comment: nothing there may end it or be read as something else."""
    shown = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in words)
    return shown.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')


def _word(words: str) -> str:
    return re.sub(r"\W+", "_", words, flags=re.ASCII).strip("_")
