"""The errors that end a command, each with its exit code, and how an error is told. Knows nothing else."""

from __future__ import annotations

CONFORMS, VIOLATES, USAGE, INCONCLUSIVE, NO_TARGET = 0, 1, 2, 3, 4
"""Exit codes of every command; where several apply, the precedence is 2, 4, 1, 3, 0."""


class KvconformError(Exception):
    """An error with one clear line for the user."""

    exit_code = USAGE


class UsageError(KvconformError):
    """Bad option, unknown law, capability, fault or profile."""

    exit_code = USAGE


class TargetError(KvconformError):
    """The target cannot be loaded or driven."""

    exit_code = NO_TARGET


class Inconclusive(KvconformError):
    """Nothing was exercised, so that nothing can be said."""

    exit_code = INCONCLUSIVE


def said(error: BaseException | None) -> str:
    """An error in one line that any file and any terminal can show: a manager's own may say anything, or fail to."""
    try:
        message = str(error)
    except Exception:
        message = "(its message cannot be read)"
    shown = (c if c.isprintable() else c.encode("unicode_escape").decode() for c in message)
    return f"{type(error).__name__}: {''.join(shown)}"
