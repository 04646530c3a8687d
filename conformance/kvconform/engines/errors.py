"""What can go wrong with a published engine, each as one exception that says what to do next.

Knows: messages and exit codes. Must not know: how engines are fetched, loaded or driven.
"""

from __future__ import annotations

from typing import ClassVar


class EngineError(Exception):
    """Any trouble with a published engine. The message is for a person and says what to do next."""

    #: The exit code that the command line uses for it.
    exit_code: ClassVar[int] = 4


class BadEngineSpec(EngineError):
    """What was typed is not NAME==VERSION."""

    exit_code = 2


class UnknownEngine(EngineError):
    """No engine of this name is in the table of engines."""


class UnknownVersion(EngineError):
    """The package exists, this version of it does not."""


class FetchFailed(EngineError):
    """The archive could not be downloaded: no network, no pip, or pip refused."""


class ArchiveRejected(EngineError):
    """The archive is not the one that was expected, or it is not safe to unpack."""


class EngineDamaged(EngineError):
    """A fetched engine's files are not those that its manifest lists."""


class EngineUnavailable(EngineError):
    """The engine is not on this machine, or not in the version asked for."""


class NotInThisVersion(EngineError):
    """The engine is here, but this version of it has no such module or manager."""
