"""The known deviations of a report as a person reads them in a terminal. Knows the report only."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape

from kvconform.report.model import KnownLine
from kvconform.report.story import many

COLOURS = {
    "still failing": "yellow",
    "stale": "red",
    "expired": "red",
    "cannot run": "yellow",
    "not selected": "dim",
    "not reached": "yellow",
}


def show_known(known: Sequence[KnownLine], console: Console) -> None:
    """Print each entry of the ledger with what became of it."""
    if known:
        console.rule("[bold]known deviations", align="left")
    for line in known:
        colour, wide = COLOURS[line.status], ", in every shape" if line.every_shape else ""
        console.print(f"[bold]{line.law}[/] {line.fingerprint}: [{colour}]{line.status}[/], until {line.expires}{wide}")
        console.print(f"  {escape(line.reason)}")
        console.print(f"  {escape(line.link)}", soft_wrap=True)
        if line.detail:
            console.print(f"  [{colour}]{escape(line.detail)}[/]")
    if known:
        console.print()


def beside(known: Sequence[KnownLine]) -> str:
    """What to say beside a verdict, so that nobody takes it for more than it is; empty where nothing is let pass."""
    count = sum(line.status == "still failing" for line in known)
    return f", with {many(count, 'known deviation')}" if count else ""
