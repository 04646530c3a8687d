"""Runs what shows a violation once more, with a picture of every moment: for reports, replays and trace files.

Knows runs and probes. It must not judge anew, nor know how a picture is drawn.
"""

from __future__ import annotations

from collections.abc import Callable

from kvconform import probes, progress
from kvconform.finding import Raw
from kvconform.picture import draw
from kvconform.run import Run
from kvspec.vocabulary import Config


def record(raw: Raw, start: Callable[..., Run]) -> Run:
    """The run that shows the violation, with its entries and pictures: of the start, after each operation, and, where
    more than the operations shows it (the end of a run, bad input), one after that.

    Of a workload only the operations that the violation names are kept.
    """

    def recording(config: Config) -> Run:
        run = start(config, record=True)
        run.keep_pictures()
        return run

    if raw.workload is not None:
        return _workload(raw, recording)
    if raw.probe.startswith(probes.PREFIX):
        run, _ = probes.bad_input(recording, probes.named(raw.probe), raw.config)
        run.pictures.append(draw(None, run.driver))
        return run
    run = recording(raw.config)
    for op in raw.operations:
        if run.over or run.why_not(op) is not None:
            break
        run.apply(op)
    if raw.probe == "finish" and not run.over:
        run.finish()
    return run


def _workload(raw: Raw, recording: Callable[..., Run]) -> Run:
    assert raw.workload is not None
    run, _ = progress.attempt(recording, raw.workload)
    kept = len(raw.operations)
    run.entries = run.entries[len(run.entries) - kept :]
    run.pictures = run.pictures[max(0, len(run.pictures) - kept - 1) :]
    return run
