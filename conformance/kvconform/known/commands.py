"""What `kvconform known` does: entries are added, listed, checked, and taken out when they are stale.

Knows ledgers and their entries' standings. It must not know a command line.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Any

from kvconform.errors import CONFORMS, INCONCLUSIVE, VIOLATES, UsageError
from kvconform.known.file import SCHEMA, Deviation, KnownFile, checked, read, write
from kvconform.known.standing import FAILING, UNTOLD, Standing, stand, today
from kvconform.replay import read_trace
from kvconform.targets import Target
from kvspec.laws import CATALOGUE


def parse_day(text: str) -> date:
    """The day of YYYY-MM-DD, today or later. Raises UsageError for anything else."""
    try:
        day = datetime.strptime(text, "%Y-%m-%d").date()
    except ValueError:
        raise UsageError(f"{text!r} is no day; write YYYY-MM-DD") from None
    if day < today():
        raise UsageError(f"{day} is over; say until when the deviation is let pass")
    return day


def entry_of(
    trace: Path, reason: str, link: str, expires: date, targets: Sequence[str], every_shape: bool
) -> Deviation:
    """An entry about the finding in this trace file. Raises UsageError where it is none."""
    file = read_trace(trace)
    fingerprint = file.header.get("fingerprint")
    if file.law is None or not isinstance(fingerprint, str):
        raise UsageError(f"{trace} is no finding: its first line names no law and fingerprint")
    entry = Deviation(file.law, fingerprint, reason, link, expires, file, tuple(targets), every_shape)
    return checked(entry, str(trace))


def target_named(trace: Path) -> str:
    """The target on which the finding in this trace file was made. Raises UsageError where it names none."""
    target = read_trace(trace).header.get("target")
    if not isinstance(target, str) or not target:
        raise UsageError(f"{trace} names no target; say on which it fails: --on TARGET")
    return target


def existing(path: Path) -> KnownFile:
    """The ledger at this place; an empty one where there is none yet. Raises UsageError for a damaged one."""
    return read(path) if path.exists() else KnownFile(path, [])


def add(ledger: KnownFile, entries: Iterable[Deviation]) -> None:
    """Add entries to a ledger, all or none. Raises UsageError where one is there already."""
    for entry in entries:
        if any(other.fingerprint == entry.fingerprint for other in ledger.deviations):
            raise UsageError(f"{entry.fingerprint} ({entry.law}) is in {ledger.path} already")
        ledger.deviations.append(entry)
    write(ledger)


def verify(entry: Deviation, target: Target) -> None:
    """See that an entry's trace shows what it says. Raises UsageError where it does not."""
    (standing,) = standings([entry], target)
    if standing.status != "still failing":
        raise UsageError(
            f"{entry.fingerprint} ({entry.law}) does not fail on {target.spec}: {standing.detail}; nothing was added "
            "(--no-verify adds it all the same, --on TARGET names another target)"
        )


def standings(entries: Iterable[Deviation], target: Target) -> list[Standing]:
    """What became of each entry on a target."""
    return [stand(entry, target, list(CATALOGUE.values()), frozenset(), today()) for entry in entries]


def prune(ledger: KnownFile, target: Target) -> tuple[list[Standing], list[Standing]]:
    """Take out what is stale on a target; what was taken out, and what was kept. Nothing is written if nothing is."""
    all_of_them = standings(ledger.deviations, target)
    stale = [standing for standing in all_of_them if standing.status == "stale"]
    kept = [standing for standing in all_of_them if standing.status != "stale"]
    if stale:
        ledger.deviations = [standing.deviation for standing in kept]
        write(ledger)
    return stale, kept


def exit_code(found: Iterable[Standing]) -> int:
    """1 where one is stale or expired, 3 where one could not be played or there is none to play, else 0."""
    statuses = {standing.status for standing in found} - {"not selected"}
    if not statuses.isdisjoint(FAILING):
        return VIOLATES
    return CONFORMS if statuses and statuses.isdisjoint(UNTOLD) else INCONCLUSIVE


def as_json(path: Path, lines: Sequence[dict[str, Any]], **more: Any) -> dict[str, Any]:
    """Entries as JSON values, for `--json`."""
    return {"schema": SCHEMA.replace("known", "known-list"), "ledger": str(path), **more, "known": list(lines)}


def entry_line(entry: Deviation) -> dict[str, Any]:
    """An entry without its trace."""
    return {
        "law": entry.law,
        "fingerprint": entry.fingerprint,
        "reason": entry.reason,
        "link": entry.link,
        "expires": entry.expires.isoformat(),
        "targets": list(entry.targets),
        "every_shape": entry.every_shape,
        "operations": len(entry.file.operations),
    }


def standing_line(standing: Standing) -> dict[str, Any]:
    """An entry without its trace, with what became of it."""
    return {**entry_line(standing.deviation), "status": standing.status, "detail": standing.detail}
