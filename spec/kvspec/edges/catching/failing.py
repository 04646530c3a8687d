"""The failures that leave a trace, as managers that take back wrongly what an operation did before it ran out.

Only the last operation of a vector can fail: it is one that the guard refused, gone on with all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from kvspec.algebra import INTS
from kvspec.edges.catching.bent import Bend, Told, Work
from kvspec.edges.catching.variant import Variant
from kvspec.exploring.sight import cells
from kvspec.model import manager as model
from kvspec.model.cache import At, Cache
from kvspec.model.manager import CPU, GPU, Entry, Fired, Manager, Seq
from kvspec.model.steps import RELEASE
from kvspec.theorems import wrong_observing
from kvspec.vocabulary import Allocate, Result


def variants() -> Iterator[Variant]:
    """Every wrong way to take a failure back."""
    ways = {
        "keeps-what-it-took": Bend(left=_keeps_blocks),
        "keeps-the-table": Bend(left=_keeps_table),
        "forgets-the-refcount": Bend(left=_forgets_refcount, operations={Allocate: _allocate_in_turn}),
        "points-back": Bend(left=_points_back),
    }
    for name, bend in ways.items():
        wanted = _table_kept if name == "keeps-the-table" else _failed
        yield Variant(f"atomicity.failure.wrong.{name}", bend, wanted)


def _failed(right: Told, wrong: Told) -> bool:
    return right.result is Result.OUT_OF_BLOCKS


def _table_kept(right: Told, wrong: Told) -> bool:
    """That it failed, and a table shows what it had come to."""
    lengths = [[seq.entries for seq in told.after.state.seqs] for told in (right, wrong)]
    return _failed(right, wrong) and lengths[0] != lengths[1]


def _with(before: Manager, work: Work) -> Manager:
    return replace(before, gpu=work.caches[GPU], cpu=work.caches[CPU])


def _keeps_blocks(before: Manager, work: Work) -> Manager:
    """Takes nothing back; only the tables that are shown are the old ones."""
    return _with(before, work)


def _keeps_table(before: Manager, work: Work) -> Manager:
    """Takes nothing back, in the tables neither."""
    after = _with(before, work)
    return replace(after, seqs=tuple(_as_it_stands(seq, after) for seq in before.seqs))


def _as_it_stands(seq: Seq, state: Manager) -> Seq:
    device = model.lies_on(seq)
    if device is None:
        return seq
    named = cells(state.cache(device).pool.tab)
    return replace(seq, entries=sum(entry[0] == seq.id and block >= 0 for entry, block in named.items()))


Undo = Callable[[Cache, Cache, Fired], Cache]
"""Takes one micro-step back: of the cache as it was before the operation, and as it is."""


def _undone(before: Manager, work: Work, undo: dict[str, Undo]) -> Manager:
    """Take back what was done, in reverse: by these ways where there is one, else by a release."""
    caches = dict(work.caches)
    for fired in reversed(work.fired):
        was, now = before.cache(fired.device), caches[fired.device]
        caches[fired.device] = undo.get(fired.step, _released)(was, now, fired)
    return replace(before, gpu=caches[GPU], cpu=caches[CPU])


def _released(before: Cache, now: Cache, fired: Fired) -> Cache:
    return RELEASE.do(INTS, now, At(fired.entry))


def _points_back(before: Manager, work: Work) -> Manager:
    return _undone(before, work, {"replace": _pointed_back})


def _pointed_back(before: Cache, now: Cache, fired: Fired) -> Cache:
    return wrong_observing._points_back(INTS, now, At(fired.entry, source=before))


def _forgets_refcount(before: Manager, work: Work) -> Manager:
    return _undone(before, work, {"share": _refcount_forgotten})


def _refcount_forgotten(before: Cache, now: Cache, fired: Fired) -> Cache:
    return wrong_observing._forgets_the_refcount(INTS, now, At(fired.entry))


def _allocate_in_turn(work: Work, op: Allocate) -> None:
    """Admits a group block by block, each shared as soon as it is there: a share can then have to be taken back.

    Where it does not fail it comes to the same as taking all blocks first, and no operation of the model shares before
    it takes.
    """
    if op.tokens is None:
        model._allocate(work, op)
        return
    first, *others = (model._admitted(Seq(seq, op.group, op.tokens)) for seq in op.seqs)
    size, entries = work.config.block_size, 0
    while entries * size < first.seen + op.lookahead:
        owner: Entry = (first.id, entries)
        work.do("take", GPU, At(owner))
        for other in others:
            work.do("share", GPU, At((other.id, entries), other=owner))
        entries += 1
    for seq in (first, *others):
        work.put(replace(seq, entries=entries))
