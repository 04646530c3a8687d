"""The wrong micro-steps as managers that do them so.

The wrong ways themselves are those that the theorems refute. Some speak of what no manager has (what an entry *must*
read), or of what happens around a micro-step; for these it is said here what a manager does that is wrong in that way.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from kvspec.algebra import Algebra
from kvspec.edges.catching.bent import Bend, Work
from kvspec.edges.catching.variant import Variant
from kvspec.exploring.sight import cells
from kvspec.model import manager as model
from kvspec.model.cache import At, Cache
from kvspec.model.steps import FOLLOW, RELEASE, REPLACE, SHARE, TAKE, TRANSFER
from kvspec.theorems import wrong_data, wrong_observing, wrong_ownership
from kvspec.theorems.happening import Do
from kvspec.vocabulary import Device, Fork, Free, Operation, SwapIn, SwapOut


def variants() -> Iterator[Variant]:
    """Every wrong micro-step."""
    bends = {**_ownership(), **_data(), **_judges()}
    yield from (Variant(name, bend) for name, bend in bends.items())


def _bent(step: str, do: Do, *within: type[Operation], takes: bool = False) -> Bend:
    return Bend(steps={step: do}, within=within, takes=frozenset((step,)) if takes else frozenset())


def _ownership() -> dict[str, Bend]:
    keep, in_pool = wrong_ownership._keep, wrong_ownership._in_pool
    kept_entry = Bend(steps={"release": keep(RELEASE, "tab")}, operations={Free: _free_again})
    never_freed = _bent("release", keep(RELEASE, "perm", "pos", "free"))
    listed = _bent("take", keep(TAKE, "free"))
    ways = {
        "release.wrong.forgets-decrement": _bent("release", keep(RELEASE, "ref")),
        "release.wrong.keeps-the-entry": kept_entry,
        "release.wrong.ends-again": kept_entry,
        "release.wrong.frees-at-once": _bent("release", wrong_ownership._frees_at_once),
        "release.wrong.never-frees": never_freed,
        "release.wrong.leaks-the-last": never_freed,
        "release.wrong.all-owners": _bent("release", in_pool(wrong_ownership._releases_two_owners, RELEASE)),
        "share.wrong.forgets-increment": _bent("share", keep(SHARE, "ref"), Fork),
        "share.wrong.copies-instead": _bent("share", wrong_ownership._copies_instead, Fork, takes=True),
        "take.wrong.leaves-it-listed": listed,
        "take.wrong.same-block-twice": listed,
        "take.wrong.always-the-first": _bent("take", in_pool(wrong_ownership._takes_the_first, TAKE)),
        "take.wrong.counts-two": _bent("take", in_pool(wrong_ownership._counts_two, TAKE)),
        "take.wrong.off-by-one": _bent("take", in_pool(wrong_ownership._off_by_one, TAKE)),
        "replace.wrong.writes-in-place": _bent("replace", wrong_ownership._nothing),
        "replace.wrong.only-beyond-two": _bent("replace", wrong_ownership._copies_only_beyond_two),
        "replace.wrong.keeps-the-old-one": _bent(
            "replace", in_pool(wrong_ownership._keeps_the_old_one_counted, REPLACE)
        ),
        "transfer.wrong.stays-behind": _bent("release", wrong_ownership._nothing, SwapOut, SwapIn),
    }
    return {f"ownership.{name}": bend for name, bend in ways.items()}


def _data() -> dict[str, Bend]:
    asks_nobody = _bent("replace", wrong_ownership._nothing)
    ways = {
        # Whoever writes without asking has asked for no copy before.
        "write.wrong.no-rule": asks_nobody,
        "write.wrong.misleads": asks_nobody,
        "replace.wrong.no-copy": _bent("replace", wrong_data.without_holds(REPLACE)),
        "replace.wrong.copies-backwards": _bent("replace", wrong_data._copies_backwards),
        "replace.wrong.copies-late": Bend(late=frozenset(("replace",))),
        "take.wrong.trusts-leftovers": _bent("take", wrong_data._trusts_leftovers),
        "take.wrong.a-held-one": _bent("take", _if_anothers(wrong_data._takes_a_held_one)),
        "share.wrong.reads-ahead": _bent("share", wrong_data._reads_ahead, Fork),
        "share.wrong.another-prefix": _bent("share", _shares_a_strangers, Fork),
        "transfer.wrong.no-content": _bent("transfer", wrong_data.without_holds(TRANSFER)),
        "transfer.wrong.to-its-number": _bent("transfer", wrong_data._by_its_number_here),
        "transfer.wrong.from-its-number": _bent("transfer", wrong_data._from_its_number_there),
        "transfer.wrong.moves-late": Bend(late=frozenset(("transfer",))),
        "follow.wrong.any-block": _bent("follow", _follows_to_any),
        "follow.wrong.one-of-its-own": _bent("follow", TRANSFER.do, takes=True),
    }
    return {f"data.{name}": bend for name, bend in ways.items()}


def _judges() -> dict[str, Bend]:
    """What the managers do that a judge which sees too little takes for right."""
    moves_nothing = wrong_data.without_holds
    ways = {
        "sees-counts-only": _bent("take", _if_anothers(wrong_observing._takes_a_held_one)),
        "sees-tables-only": _bent("take", wrong_observing._loses_another),
        "sees-no-copies": _bent("replace", moves_nothing(REPLACE)),
        "sees-no-transfers": _bent("transfer", moves_nothing(TRANSFER)),
        "checks-the-writer-only": _bent("replace", wrong_ownership._nothing),
    }
    return {f"refinement.judge.wrong.{name}": bend for name, bend in ways.items()}


# -- what a manager does that is wrong in that way ------------------------------------------------------


def _free_again(work: Work, op: Free) -> None:
    """Frees what is freed, and of a sequence that is over whatever its table still names: rightly, nothing."""
    if op.seq not in work.ended:
        model._free(work, op)
        return
    for device in Device:
        for entry, block in sorted(cells(work.caches[device].pool.tab).items()):
            if entry[0] == op.seq and block >= 0:
                work.do("release", device, At(entry))


def _if_anothers(do: Do) -> Do:
    """Takes what is held only where another sequence holds it, and else rightly."""

    def take(a: Algebra, cache: Cache, at: At) -> Cache:
        wrong = do(a, cache, at)
        owners = {entry[0] for entry, block in cells(cache.pool.tab).items() if block == wrong.pool.tab[at.entry]}
        return wrong if owners - {at.entry[0]} else TAKE.do(a, cache, at)

    return take


def _shares_a_strangers(a: Algebra, cache: Cache, at: At) -> Cache:
    """What an entry must read is no manager's to say; what it can do is to share another sequence's block."""
    return SHARE.do(a, cache, replace(at, other=_of_another(cache, at.other) or at.other))


def _of_another(cache: Cache, owner: Any) -> Any:
    """The entry of the first other sequence that owns a block at the same place of its table."""
    owners = (e for e, block in sorted(cells(cache.pool.tab).items()) if block >= 0)
    return next((e for e in owners if e[0] != owner[0] and e[1] == owner[1]), None)


def _follows_to_any(a: Algebra, cache: Cache, at: At) -> Cache:
    """The theorem lets the further owner follow to whatever block is here: this follows to the table's first."""
    return FOLLOW.do(a, cache, replace(at, other=(at.other[0], 0)))
