"""The command line. Knows commands, options and exit codes; what they do is elsewhere.

Exit codes: 0 conforms, 1 a law is violated, 2 usage error, 3 inconclusive, 4 the target could not be loaded or driven.
"""

from __future__ import annotations

import errno
import os
import sys
import traceback
from pathlib import Path
from typing import Annotated, Any, Optional

import typer
from rich.console import Console

from kvconform import __version__
from kvconform.errors import (
    CONFORMS,
    INCONCLUSIVE,
    NO_TARGET,
    USAGE,
    VIOLATES,
    KvconformError,
)
from kvconform.files import DEFAULT_OUT, writable_file, writable_folder, write_json
from kvconform.view_options import Wanted, with_views

app = typer.Typer(
    name="kvconform",
    help="Prove and test the KV-cache block managers of LLM inference engines.",
    epilog="Exit codes: 0 conforms, 1 a law is violated, 2 usage error, 3 inconclusive, 4 target cannot be loaded.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
vectors_app = typer.Typer(help="The edge cases of the guards: list, generate, run.", no_args_is_help=True)
engines_app = typer.Typer(help="Published engines: fetch their Python sources.", no_args_is_help=True)
app.add_typer(vectors_app, name="vectors")
known_app = typer.Typer(
    help="Known deviations: a ledger of what is let pass, why, and until when.", no_args_is_help=True
)
app.add_typer(engines_app, name="engines")
app.add_typer(known_app, name="known")

EXIT = {"conforms": CONFORMS, "violates": VIOLATES, "inconclusive": INCONCLUSIVE, "error": NO_TARGET}
INTERRUPTED = 130  # what the parser leaves with on Ctrl-C

TargetArgument = Annotated[
    str,
    typer.Argument(
        metavar="TARGET",
        help="reference, fault:NAME, NAME@VERSION of a shipped engine adapter, or package.module:factory.",
    ),
]
JsonOption = Annotated[Optional[Path], typer.Option("--json", metavar="FILE", help="Write the result as JSON.")]  # noqa: UP045


def console() -> Console:
    """Where results go; nowhere, where standard output is closed."""
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115 - it stays open as long as the process
    return Console(highlight=False, width=None if sys.stdout.isatty() else 120)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"kvconform {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Prove and test the KV-cache block managers of LLM inference engines."""


@app.command()
@with_views
def check(
    target: TargetArgument,
    profile: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="quick (about 10 s) and ci (about 60 s) count operations: the same seed, the same report. nightly is "
            "random, fills a box of time, and keeps what fails below --out.",
        ),
    ] = "quick",
    seed: Annotated[
        Optional[int],  # noqa: UP045
        typer.Option(metavar="N", help="What is random follows from it; 0, or for nightly a random one that is told."),
    ] = None,
    time: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(metavar="T", help="How long nightly searches: 90s, 30m (as without this), 8h."),
    ] = None,
    law: Annotated[list[str], typer.Option(metavar="ID", help="Judge only this law; may be repeated.")] = [],  # noqa: B006
    without: Annotated[
        list[str], typer.Option(metavar="CAPABILITY", help="Do not use this capability; may be repeated.")
    ] = [],  # noqa: B006
    strict: Annotated[bool, typer.Option("--strict", help="SHOULD laws count as MUST laws do.")] = False,
    known: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(metavar="FILE", help="Known deviations, let pass while they last; see: kvconform known --help."),
    ] = None,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where findings and the report go.")] = DEFAULT_OUT,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Tell every finding in full.")] = False,
    *,
    views: Wanted,
) -> None:
    """Check a block manager against the specification."""
    from kvconform import check as checking
    from kvconform import choices, profiles
    from kvconform import known as deviations
    from kvconform.database import open_database
    from kvconform.guard import time_guard
    from kvconform.report import build, terminal
    from kvconform.report.progress import bar
    from kvconform.targets import resolve

    laws = choices.choose_laws(law)
    capabilities = choices.choose_capabilities(without)
    chosen = profiles.choose_profile(profile, time)
    start = profiles.choose_seed(chosen, seed)
    ledger = deviations.read(known).deviations if known else []
    views.see(folder=out)
    folder = writable_folder(out)
    found = resolve(target)
    database = open_database(folder, found.spec) if chosen.keeps else None
    if chosen.seconds is not None:
        typer.echo(f"kvconform: {profile} with --seed {start}, for {chosen.seconds:,.0f} seconds", err=True)
    with bar() as report:
        one = checking.Check(
            found, chosen, seed=start, laws=laws, without=capabilities, strict=strict, report=report, known=ledger,
            database=database,
        )  # fmt: skip
        with time_guard(chosen.guard):
            result = one.run()
    document = build.build(result, folder, one.start)
    views.write(document, folder)
    if database is not None:
        database.keep(Path(violation.trace_file) for violation in document.violations if not violation.known)
    shown = console()
    terminal.show(document, shown, verbose=verbose)
    views.print(document, shown.file)
    raise typer.Exit(EXIT[document.verdict])


@app.command()
@with_views
def report(
    file: Annotated[Path, typer.Argument(metavar="REPORT", help="A report, as check --json and --out write it.")],
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Tell every finding in full.")] = False,
    *,
    views: Wanted,
) -> None:
    """Show a report again, or write it in other forms; the exit code is that of its verdict."""
    from kvconform.report import reading, terminal

    views.see(source=file)
    document = reading.read(file)
    views.write(document)
    shown = console()
    if not views:
        terminal.show(document, shown, verbose=verbose)
    views.print(document, shown.file)
    raise typer.Exit(EXIT[document.verdict])


@app.command()
def replay(
    trace: Annotated[Path, typer.Argument(metavar="FINDING", help="A finding's trace file, as the report names it.")],
    on: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option("--on", metavar="TARGET", help="Run it on this; without, on the target that the finding names."),
    ] = None,
    json: JsonOption = None,
) -> None:
    """Run a finding's operations again: fixed (exit 0), still failing (1), or an error: it cannot be run (4).

    The finding's file names the target that it was made on; with --on it is run on another one.
    """
    from kvconform import replaying
    from kvconform.replay import read_trace

    writable_file(json)
    file = read_trace(trace)
    raise typer.Exit(replaying.run(console(), trace, file, on, lambda data: write_json(json, data)))


@app.command()
def schema(
    name: Annotated[Optional[str], typer.Argument(metavar="NAME", help="Which; without, all are listed.")] = None,  # noqa: UP045
) -> None:
    """The JSON Schema (draft 2020-12) of what is written: report, proof, trace, vectors and so on."""
    from kvconform import schemas

    # To be read by programs: no line is wrapped.
    typer.echo(schemas.text(name) if name is not None else schemas.listing())


@app.command()
def prove(
    law: Annotated[
        list[str],
        typer.Option(metavar="ID", help="What is proved of this law, and all that it rests on; may be repeated."),
    ] = [],  # noqa: B006
    theorem: Annotated[
        list[str],
        typer.Option(
            metavar="ID",
            help="This theorem, or all below a part of its id (guards, guards.swap-in), and what they rest on; may be "
            "repeated, and adds to --law.",
        ),
    ] = [],  # noqa: B006
    solver: Annotated[
        str, typer.Option(metavar="z3|cvc5|both", help="Who answers. Both: the same questions, cross-checked.")
    ] = "z3",
    seed: Annotated[
        int, typer.Option(metavar="N", min=0, max=2**31 - 1, help="For whatever the solvers choose at random.")
    ] = 0,
    timeout: Annotated[
        float,
        typer.Option(metavar="S", min=0.001, max=86_400, help="Seconds that one question to one solver may take."),
    ] = 10.0,
    json: JsonOption = None,
    smt2: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(metavar="DIR", help="Also write each obligation as SMT-LIB, to be asked of any solver."),
    ] = None,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Show vacuity checks and examples too.")] = False,
) -> None:
    """Prove the specification: every theorem, refutation and vacuity check, and the small-scope enumeration.

    With --law or --theorem only that is proved, nothing is enumerated, and the stories of wrong variants are told. Exit
    codes: 0 proved, 1 refuted, 2 usage error, 3 inconclusive (a solver does not know, the solvers disagree, nothing is
    proved of a law).
    """
    from kvconform.proving import Wanted, run_proofs, solvers_named

    solvers = solvers_named(solver)
    writable_file(json)
    folder = writable_folder(smt2) if smt2 else None
    wanted = Wanted(law, theorem, solvers, timeout, seed, folder)
    raise typer.Exit(run_proofs(console(), wanted, verbose, lambda data: write_json(json, data)))


@app.command()
def laws(
    law: Annotated[Optional[str], typer.Argument(metavar="[ID]", help="One law, explained.")] = None,  # noqa: UP045
    json: JsonOption = None,
) -> None:
    """The catalogue of laws; one law explained, with a smallest example of breaking it."""
    from kvconform import explain

    writable_file(json)
    write_json(json, explain.catalogue_json())
    if law is None:
        explain.catalogue(console())
    else:
        explain.one(law, console())


@app.command()
def targets(json: JsonOption = None) -> None:
    """Every shipped adapter and fault: version, capabilities, available or not."""
    from kvconform import listing

    writable_file(json)
    rows = listing.targets()
    write_json(json, {"schema": "kvconform/targets@1", "targets": rows})
    listing.show(rows, console())


@vectors_app.command("list")
def vectors_list(
    classes: Annotated[bool, typer.Option("--classes", help="Every edge class too, and what becomes of it.")] = False,
    json: JsonOption = None,
) -> None:
    """The edge cases that ship with the kit, and what they cover."""
    from kvconform import vector_commands

    vector_commands.vectors_list(console(), lambda data: write_json(json, data), classes)


@vectors_app.command("generate")
def vectors_generate(
    check_only: Annotated[bool, typer.Option("--check", help="Compare with the shipped file; write nothing.")] = False,
    json: JsonOption = None,
) -> None:
    """Generate the edge cases again from the model (minutes); --check compares them with the shipped file."""
    from kvconform import vector_commands

    writable_file(json)
    raise typer.Exit(vector_commands.generate(console(), check_only, lambda data: write_json(json, data)))


@vectors_app.command("run")
def vectors_run(
    target: TargetArgument,
    vector: Annotated[
        list[str], typer.Option("--vector", metavar="ID", help="Only this one, or all that begin so.")
    ] = [],  # noqa: B006
    without: Annotated[list[str], typer.Option(metavar="CAPABILITY", help="Do not use this capability.")] = [],  # noqa: B006
    json: JsonOption = None,
) -> None:
    """Run the edge cases on a target."""
    from kvconform import vector_commands
    from kvconform.choices import choose_capabilities
    from kvconform.targets import resolve

    writable_file(json)
    capabilities = choose_capabilities(without)
    chosen = vector_commands.choose_vectors(vector)
    raise typer.Exit(
        vector_commands.run_vectors(
            console(), resolve(target), chosen, capabilities, lambda data: write_json(json, data)
        )
    )


LedgerArgument = Annotated[Path, typer.Argument(metavar="FILE", help="The ledger.")]
OnOption = Annotated[str, typer.Option("--on", metavar="TARGET", help="Where to play the entries' traces.")]


@known_app.command("add")
def known_add(
    findings: Annotated[list[Path], typer.Argument(metavar="FINDING...", help="Trace files, as findings name them.")],
    to: Annotated[Path, typer.Option("--to", metavar="FILE", help="The ledger; made where there is none.")],
    reason: Annotated[str, typer.Option(metavar="TEXT", help="Why it is let pass.")],
    link: Annotated[
        str, typer.Option(metavar="LINK", help="Where it is followed up: https://..., #12, owner/name#12.")
    ],
    expires: Annotated[str, typer.Option(metavar="YYYY-MM-DD", help="The last day on which it is let pass.")],
    target: Annotated[
        list[str], typer.Option("--target", metavar="TARGET", help="About this target only; may be repeated.")
    ] = [],  # noqa: B006
    every_shape: Annotated[
        bool,
        typer.Option(
            "--every-shape",
            help="Let pass whatever has its law, operation and error, and all its features, with others beside them: "
            "what is new among that is hidden.",
        ),
    ] = False,
    on: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option("--on", metavar="TARGET", help="Where it fails; as the finding says, if not said here."),
    ] = None,
    verify: Annotated[
        bool, typer.Option("--verify/--no-verify", help="Whether to see first that it still fails.")
    ] = True,
    json: JsonOption = None,
) -> None:
    """Add findings to a ledger: all of them, or none where one is no finding, no longer fails, or is there already."""
    from kvconform.known import commands
    from kvconform.targets import resolve

    day = commands.parse_day(expires)
    ledger = commands.existing(to)
    writable_file(to)
    writable_file(json)
    entries = [commands.entry_of(trace, reason, link, day, target, every_shape) for trace in findings]
    for trace, entry in zip(findings, entries, strict=True) if verify else ():
        commands.verify(entry, resolve(on or commands.target_named(trace)))
    commands.add(ledger, entries)
    for entry in entries:
        console().print(f"{to}: {entry.law} {entry.fingerprint} is known until {entry.expires}", markup=False)
    write_json(json, commands.as_json(to, [commands.entry_line(entry) for entry in entries]))


@known_app.command("list")
def known_list(file: LedgerArgument, json: JsonOption = None) -> None:
    """List a ledger. Exit code 0; whether its entries still hold: kvconform known check."""
    from kvconform.known import commands, read, today

    entries = read(file).deviations
    writable_file(json)
    out = console()
    for entry in entries:
        wide = ", every shape" if entry.every_shape else ""
        only = f", only {', '.join(entry.targets)}" if entry.targets else ""
        over = ": EXPIRED" if entry.expires < today() else ""
        out.print(f"{entry.law} {entry.fingerprint}, until {entry.expires}{over}{only}{wide}", markup=False)
        out.print(f"  {entry.reason}\n  {entry.link}", markup=False, soft_wrap=True)
    out.print(f"{file}: {len(entries)} known", markup=False)
    write_json(json, commands.as_json(file, [commands.entry_line(entry) for entry in entries]))


@known_app.command("check")
def known_check(file: LedgerArgument, on: OnOption, json: JsonOption = None) -> None:
    """Play the entries' traces: exit 0 if all still fail, 1 if one is stale or expired, 3 if one cannot be played."""
    from kvconform.known import commands, read
    from kvconform.targets import resolve

    entries = read(file).deviations
    writable_file(json)
    found = commands.standings(entries, resolve(on))
    _show_standings(found)
    code = commands.exit_code(found)
    lines = [commands.standing_line(standing) for standing in found]
    write_json(json, commands.as_json(file, lines, target=on))
    raise typer.Exit(code)


@known_app.command("prune")
def known_prune(file: LedgerArgument, on: OnOption, json: JsonOption = None) -> None:
    """Take out the entries whose traces no longer show on a target what they are about. Everything else is kept."""
    from kvconform.known import commands, read
    from kvconform.targets import resolve

    ledger = read(file)
    writable_file(file)
    writable_file(json)
    stale, kept = commands.prune(ledger, resolve(on))
    _show_standings(stale)
    console().print(f"{file}: {len(stale)} taken out, {len(kept)} kept", markup=False)
    lines = [commands.standing_line(standing) for standing in stale]
    write_json(json, commands.as_json(file, lines, target=on, kept=len(kept)))


def _show_standings(found: list[Any]) -> None:
    out = console()
    for standing in found:
        entry, detail = standing.deviation, f": {standing.detail}" if standing.detail else ""
        out.print(f"{entry.law} {entry.fingerprint}: {standing.status}{detail}", markup=False, soft_wrap=True)


@engines_app.command("fetch")
def engines_fetch(
    specs: Annotated[list[str], typer.Argument(metavar="NAME==VERSION...", help="What to fetch.")],
) -> None:
    """Put a published engine's Python sources where its adapter finds them."""
    from kvconform import listing

    listing.fetch(console(), specs)


def main() -> None:
    """The entry point: one clear line for every error, never a traceback for a user's mistake."""
    try:
        code = app(standalone_mode=False)
    except KvconformError as error:
        _fail(str(error), error.exit_code)
    except (typer.Abort, KeyboardInterrupt):
        _fail("interrupted", INCONCLUSIVE)
    except (BrokenPipeError, SystemExit) as error:
        # standalone_mode is off: nobody but rich and the parser, where the reader has gone or has interrupted, or the
        # target leaves so.
        if getattr(error, "code", None) == INTERRUPTED:
            _fail("interrupted", INCONCLUSIVE)
        if not isinstance(error, BrokenPipeError) and not isinstance(error.__context__, BrokenPipeError):
            _fail(f"the target ended the process (sys.exit({error.code!r})) instead of raising an error", NO_TARGET)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # be quiet about it
        sys.exit(INCONCLUSIVE)
    except Exception as error:
        # The parser's own errors; typer ships its own copy of click's classes, so they are known by what they offer.
        message = getattr(error, "format_message", None)
        if message is not None:
            _fail_usage(message())
        if isinstance(error, OSError) and error.errno == errno.ENOSPC:
            _fail(f"cannot write the result: {error.strerror}", USAGE)
        traceback.print_exc()
        _fail("this is an error of kvconform itself; please report it with the lines above", NO_TARGET)
    if code == INTERRUPTED:  # Ctrl-C before a command could handle it: typer has swallowed it
        _fail("interrupted", INCONCLUSIVE)
    sys.exit(code or 0)


def _fail_usage(message: str) -> None:
    if message.startswith("Usage:"):  # no arguments: the message is the help text
        print(message)
        sys.exit(USAGE)
    _fail(f"{message} (see: kvconform --help)", USAGE)


def _fail(message: str, code: int) -> None:
    print(f"kvconform: {message}", file=sys.stderr)
    sys.exit(code)
