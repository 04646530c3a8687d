"""What an operation under judgement shows of the edge classes, found from the kit's own ledger.

Knows the kit's view of a run and the words of the atoms. Counts rows and owners as they are: none of the formulas by
which the vectors were found is used for a sequence's part, so that it can also say whether a vector shows what it
claims to.
"""

from __future__ import annotations

from collections import Counter

from kvconform.adapter import Group, Seq
from kvconform.demand import demands_of
from kvconform.driver import Outcome
from kvconform.run import Run
from kvspec.algebra import INTS
from kvspec.edges.goals import Values, atom_sets, meanings
from kvspec.edges.meaning import Pool, outcome, pool_values, shown
from kvspec.guards import Demand
from kvspec.vocabulary import GUARDED, Allocate, Device, Fork, Guard, Operation, SwapOut

MOST_SEQS = 3

Class = tuple[Guard, tuple[str, ...], tuple[str, ...]]
"""A guard, names of atoms, and their values, the outcome first."""


class Watched(Run):
    """A run that notes, for each guarded operation, what it shows. edge: what the last one showed. children: sequences
    that were forked.
    """

    seen: list[tuple[Guard, Values]]
    edge: list[tuple[Guard, Values]]
    children: set[int]

    def apply(self, op: Operation) -> Outcome:
        """Carry one operation out, as `Run` does."""
        if not self.operations:
            self.seen, self.children = [], set()
        if op.op in GUARDED and self.why_not(op) is None:
            self.edge = [(Guard(op.op), values) for values in sights(self, op, self.children)]
            self.seen += self.edge
        if isinstance(op, Fork):
            self.children.add(op.child)
        return super().apply(op)


def sights(run: Run, op: Operation, children: set[int]) -> list[Values]:
    """What asking the guard of this operation shows now, once for each different sequence; nothing where the group is
    none that the classes are about.
    """
    guard = Guard(op.op)
    if isinstance(op, Allocate):
        parts = [_prompt(run, op)] if op.tokens is not None and len(op.seqs) <= MOST_SEQS else []
        group, members = None, list[Seq]()
    else:
        group = run.world.groups[op.group]  # type: ignore[attr-defined]
        members = [seq for seq in group.seqs if seq.id in run.ledger.rows]
        parts = _parts(run, op, members, children) if 1 <= len(members) <= MOST_SEQS else []
    around = _around(run, op, group)
    return list(dict.fromkeys(tuple((name, (around | part)[name]) for name in meanings(guard)) for part in parts))


def _around(run: Run, op: Operation, group: Group | None) -> dict[str, str]:
    config, rows = run.config, run.ledger.rows
    if isinstance(op, Allocate):
        need = -(-len(op.tokens or ()) // config.block_size)
        demand, device = Demand(need, config.watermark_blocks, config.num_gpu_blocks), Device.GPU
    else:
        assert group is not None
        group.lookahead = getattr(op, "lookahead", 0)
        demands = demands_of(op, group, run.ledger, config, run.adapter.capabilities)
        assert demands is not None
        demand, device = demands.most, demands.device
    others = [rows[seq.id].device for seq in run.world.seqs.values() if seq.group is not group and seq.id in rows]
    free = run.judge.counts[device]
    pool = Pool(free, config.total(device), config.watermark_blocks, bool(others), Device.GPU not in others)
    return shown({"outcome": outcome(INTS, demand, free), **pool_values(INTS, pool, demand.need)})


def _prompt(run: Run, op: Allocate) -> dict[str, str]:
    tokens, size = len(op.tokens or ()), run.config.block_size
    return {
        "prompt": "partial" if tokens % size else "full",
        "blocks": "one" if tokens <= size else "several",
        "group": ("one", "two", "three")[len(op.seqs) - 1],
    }


def _parts(run: Run, op: Operation, members: list[Seq], children: set[int]) -> list[dict[str, str]]:
    forked = any(seq.id in children for seq in members)
    group = "three" if len(members) == 3 else "one" if len(members) == 1 else "forked" if forked else "siblings"
    owners = Counter(block for seq in members for block in run.ledger.rows[seq.id].blocks)
    left = owners.copy()
    parts = []
    for seq in members:
        part = {"group": group, **_covered(seq, run.config.block_size), "sharing": _sharing(run, seq, owners)}
        blocks, size = run.ledger.rows[seq.id].blocks, run.config.block_size
        empty = len(blocks) - -(-seq.upto // size)
        if isinstance(op, SwapOut):
            part["tail"] = "none" if empty == 0 else "one" if empty == 1 else "several"
        else:
            slots: int = op.lookahead  # type: ignore[attr-defined]
            part |= {"ahead": _ahead(seq, slots, size), "tail": _tail(seq, slots, len(blocks), empty, size)}
            part["copy"] = _copy(run, seq, slots, owners, left)
        parts.append(part)
    return parts


def _covered(seq: Seq, size: int) -> dict[str, str]:
    tokens, seen = len(seq.tokens), seq.upto
    across = -(-tokens // size) > -(-seen // size)
    unseen = "none" if tokens == seen else "across" if across else "within"
    return {"fill": "partial" if seen % size else "full", "unseen": unseen}


def _ahead(seq: Seq, slots: int, size: int) -> str:
    tokens = len(seq.tokens)
    if slots == 0:
        return "none"
    if -(-(tokens + slots) // size) == -(-tokens // size):
        return "within"
    return "across" if slots <= size else "more"


def _tail(seq: Seq, slots: int, blocks: int, empty: int, size: int) -> str:
    left = blocks - -(-(len(seq.tokens) + slots) // size)
    if not empty:
        return "none"
    return "outgrown" if left < 0 else ("filled", "one-left")[left] if left < 2 else "several-left"


def _sharing(run: Run, seq: Seq, owners: Counter[int]) -> str:
    common = [owners[block] > 1 for block in run.ledger.rows[seq.id].blocks]
    if not any(common):
        return "none"
    return "whole" if all(common) else "prefix" if common == sorted(common, reverse=True) else "scattered"


def _copy(run: Run, seq: Seq, slots: int, owners: Counter[int], left: Counter[int]) -> str:
    """What writing to shared blocks costs it in its turn. left: owners still there; a copy means to leave."""
    wanted, size = len(seq.tokens) + slots, run.config.block_size
    if wanted <= seq.upto:
        return "none"
    written = run.ledger.rows[seq.id].blocks[seq.upto // size : -(-wanted // size)]
    copied = [block for block in written if left[block] > 1]
    left.subtract(copied)
    return "copied" if copied else "last" if any(owners[block] > 1 for block in written) else "none"


def classes(seen: list[tuple[Guard, Values]]) -> set[Class]:
    """The edge classes that these show."""
    found: set[Class] = set()
    for guard, values in dict.fromkeys(seen):
        known = dict(values)
        for names, outcomes in atom_sets(guard).items():
            if known["outcome"] in outcomes:
                found.add((guard, names, tuple(known[name] for name in ("outcome", *names))))
    return found
