"""The errors that end a command, each with its exit code. Knows nothing else."""

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
