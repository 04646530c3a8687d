"""Which edge classes no state can meet: proved over every state of an invariant, not by giving up at a depth.

Knows z3, the model and the meaning of classes; must not know the search for paths. The invariant is itself proved: it
holds in the empty state, and every legal and approved operation keeps it. What is proved holds for every sequence of
operations of any length, by engines bound to no order at all, in every configuration within RANGES.

What is proved is which values exclude each other in every state, two of them, three or four, none of which could be
left out; a class that has such values is out of reach.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, product
from typing import Any

import z3

from kvspec.algebra import Algebra
from kvspec.arithmetic import blocks_for, growth
from kvspec.edges.atoms import OUTCOME, TABLES
from kvspec.edges.bits import Bits, variable
from kvspec.edges.goals import Values, is_class, listed, meanings, most_with, parts
from kvspec.edges.meaning import Ask, Asked, Meanings, Pool, asked, outcome, pool_values
from kvspec.edges.model import ARGUMENTS, after, effect, held, legal_move, total, turns
from kvspec.edges.state import MOST_BLOCKS, MOST_POOL, NO_ORDERS, PAIRS, START, Filler, Kind, Member, Move, Sizes, State
from kvspec.guards import Demand, is_ok
from kvspec.terms import truth
from kvspec.vocabulary import Guard

MOST_PROMPT = 41  # tokens: more than what fills the largest pool
MOST_LOOKAHEAD = 10
MOST_NEED = 60
MOST_STEP = 6  # tokens that one step gives to one sequence

RANGES: dict[str, tuple[int, int]] = {
    "gpu": (1, MOST_POOL),
    "cpu": (0, MOST_POOL),
    "block": (1, 3),
    "watermark": (0, 2),
    "lookahead": (0, MOST_LOOKAHEAD),
}


class NotProved(Exception):
    """A class is neither witnessed nor out of reach, or the invariant is none; the message says which."""


def within(term: Any, least: int, most: int) -> Any:
    """Whether a term lies in a range."""
    return z3.And(term >= least, term <= most)


def sizes_in_range(sizes: Sizes) -> Any:
    """Whether a configuration is one of those that are proved about."""
    return z3.And([within(getattr(sizes, name), *bounds) for name, bounds in RANGES.items()])


def _most(kind: Kind) -> int:
    if kind in (Kind.ADMIT, Kind.ADMIT_FILLER):
        return MOST_PROMPT
    return MOST_LOOKAHEAD if kind in (Kind.APPEND, Kind.SWAP_IN, Kind.GROW_FILLER) else MOST_STEP


# -- the invariant ----------------------------------------------------------------------------------------------------


def _member(a: Algebra, sizes: Sizes, state: State, seq: Member) -> Any:
    """What holds of each sequence."""
    unseen = seq.tokens - seq.seen
    absent = a.all_of(seq.tokens == 0, seq.seen == 0, seq.blocks == 0, a.negate(seq.scheduled))
    return a.all_of(
        a.any_of(seq.live, absent),
        a.implies(seq.live, seq.seen >= 1),
        seq.seen >= 0,
        seq.blocks >= blocks_for(a, seq.seen, sizes.block),
        seq.blocks <= MOST_BLOCKS,
        unseen >= 0,
        unseen <= MOST_STEP,
        a.implies(seq.scheduled, a.all_of(unseen == 0, a.negate(state.swapped))),
    )


def _sharing(a: Algebra, state: State) -> Iterator[Any]:
    """What is shared is there, and shared by all who share it."""
    members = state.members
    for (i, j), row in zip(PAIRS, state.shared, strict=True):
        one, other = members[i], members[j]
        for entry, shared in enumerate(row):
            yield a.implies(shared, a.all_of(one.live, other.live, entry < one.blocks, entry < other.blocks))
    for some in zip(*state.shared, strict=True):
        for x, y, z in ((0, 1, 2), (0, 2, 1), (1, 2, 0)):
            yield a.implies(a.all_of(some[x], some[y]), some[z])


def _prompt_only(a: Algebra, sizes: Sizes, state: State) -> Iterator[Any]:
    """Where nothing was forked, only blocks of the prompt are shared, and from the first on."""
    for (i, j), row in zip(PAIRS, state.shared, strict=True):
        for entry, shared in enumerate(row):
            covered = [entry * sizes.block < state.members[at].seen for at in (i, j)]
            sooner = row[entry - 1] if entry else True
            yield a.implies(a.all_of(a.negate(state.forked), shared), a.all_of(*covered, sooner))


def _in_step(a: Algebra, sizes: Sizes, state: State) -> Iterator[Any]:
    """Whoever writes to a shared block leaves it, so those who share a block have got equally far in it: both have
    tokens in it or neither has; where they have, they share what lies before it; where they may yet write to it, they
    share what lies behind it, to the end of both tables.
    """
    for (i, j), row in zip(PAIRS, state.shared, strict=True):
        one, other = state.members[i], state.members[j]
        for entry, shared in enumerate(row):
            reached = one.seen > entry * sizes.block
            open_still = one.seen < (entry + 1) * sizes.block
            sooner = row[entry - 1] if entry else True
            later = row[entry + 1] if entry + 1 < MOST_BLOCKS else False
            last = a.all_of(one.blocks == entry + 1, other.blocks == entry + 1)
            alike = a.all_of(
                a.negate(a.all_of(reached, other.seen <= entry * sizes.block)),
                a.negate(a.all_of(other.seen > entry * sizes.block, a.negate(reached))),
                a.negate(a.all_of(open_still, other.seen >= (entry + 1) * sizes.block)),
                a.negate(a.all_of(other.seen < (entry + 1) * sizes.block, a.negate(open_still))),
            )
            behind = a.implies(open_still, a.any_of(later, last))
            yield a.implies(shared, a.all_of(alike, a.implies(reached, sooner), behind))


def shape(a: Algebra, sizes: Sizes, state: State) -> Any:
    """What holds of tables and of what is where, in every state that an engine can bring about."""
    one, two, three = state.members
    filler = state.filler
    return a.all_of(
        *(_member(a, sizes, state, seq) for seq in state.members),
        a.implies(two.live, one.live),
        a.implies(three.live, two.live),
        a.implies(state.swapped, one.live),
        a.implies(state.forked, two.live),
        *_sharing(a, state),
        *_prompt_only(a, sizes, state),
        *_in_step(a, sizes, state),
        a.implies(filler.blocks > 0, filler.used),
        a.implies(filler.blocks == 0, a.negate(filler.swapped)),
    )


def room(a: Algebra, sizes: Sizes, group: Any, swapped: Any, filler: Filler) -> Any:
    """What holds of the pools where the group holds so many blocks: what lies on the CPU has once lain on the GPU."""
    gpu = a.ite(swapped, 0, group) + a.ite(filler.swapped, 0, filler.blocks)
    cpu = a.ite(swapped, group, 0) + a.ite(filler.swapped, filler.blocks, 0)
    some = a.any_of(group > 0, filler.blocks > 0)
    return a.all_of(
        group >= 0,
        group <= sizes.gpu,
        filler.blocks >= 0,
        filler.blocks <= sizes.gpu,
        gpu <= sizes.gpu,
        cpu <= sizes.cpu,
        a.implies(some, sizes.gpu > sizes.watermark),  # else nobody would have been admitted
    )


def invariant(a: Algebra, sizes: Sizes, state: State) -> Any:
    """What holds in every state that an engine can bring about."""
    return a.all_of(shape(a, sizes, state), room(a, sizes, held(a, state), state.swapped, state.filler))


def any_state() -> State:
    """A state that the solver chooses."""

    def member(name: str) -> Member:
        live, scheduled = z3.Bool(f"{name}.live"), z3.Bool(f"{name}.scheduled")
        return Member(live, scheduled, *(variable(f"{name}.{part}") for part in ("tokens", "seen", "blocks")))

    return State(
        one=member("one"),
        two=member("two"),
        three=member("three"),
        shared=tuple(tuple(z3.Bool(f"shared.{i}.{j}.{entry}") for entry in range(MOST_BLOCKS)) for i, j in PAIRS),
        forked=z3.Bool("forked"),
        swapped=z3.Bool("swapped"),
        swap_out_pending=z3.Bool("swap_out_pending"),
        filler=Filler(
            used=z3.Bool("filler.used"),
            scheduled=z3.Bool("filler.scheduled"),
            swapped=z3.Bool("filler.swapped"),
            blocks=variable("filler.blocks"),
            fed=z3.Bool("filler.fed"),
            grown=z3.Bool("filler.grown"),
        ),
    )


# -- proving ----------------------------------------------------------------------------------------------------------


@dataclass
class States:
    """Every state of the invariant, in every configuration, as one solver's hypothesis."""

    bits: Bits = field(default_factory=Bits)
    sizes: Sizes = field(default_factory=lambda: Sizes(**{name: variable(name) for name in RANGES}))
    state: State = field(default_factory=any_state)

    def __post_init__(self) -> None:
        self.known = [sizes_in_range(self.sizes), truth(invariant(self.bits, self.sizes, self.state))]

    def none(self, *conditions: Any) -> bool:
        """Whether no state meets the conditions."""
        return _none(*self.known, *self.bits.definitions, *conditions)


def prove_invariant() -> None:
    """Raises NotProved where the invariant does not hold at the start or is not kept."""
    states = States()
    start = states.bits.copy()
    at_start = invariant(start, states.sizes, START)
    if not states.none(*start.definitions, z3.Not(truth(at_start))):
        raise NotProved("the invariant does not hold in the empty state")
    for kind in Kind:
        if not _kept(states, kind):
            raise NotProved(f"{kind.name} does not keep the invariant")


GROWING = (Kind.APPEND, Kind.SWAP_IN)
TABLES_STAY = (
    Kind.STEP,
    Kind.ADMIT_FILLER,
    Kind.SWAP_OUT,
    Kind.SWAP_OUT_FILLER,
    Kind.FREE_FILLER,
    Kind.GROW_FILLER,
)


def _kept(states: States, kind: Kind) -> bool:
    """Whether an operation keeps the invariant. Adding up the blocks of three tables is what the solver is slow at, so
    it is spared that wherever the tables stay as they are.
    """
    if kind in GROWING:
        return _kept_growing(states, kind)
    bits = states.bits.copy()
    move, ranges = _any_move(kind)
    allowed, following = after(bits, kind, NO_ORDERS, states.sizes, states.state, move)
    if kind in TABLES_STAY:
        in_order = legal_move(bits, kind, NO_ORDERS, states.sizes, states.state, move)
        same = _tables(following) == _tables(states.state)
        kept = truth(shape(bits, states.sizes, following))
        known = (*bits.definitions, ranges, truth(in_order))
        return same and states.none(*known, z3.Not(kept)) and _room_kept(kind)
    kept = truth(invariant(bits, states.sizes, following))
    known = (*bits.definitions, ranges, truth(allowed), _short(following))
    return states.none(*known, z3.Not(kept))


def _tables(state: State) -> str:
    return str((state.shared, [seq.blocks for seq in state.members]))


def _room_kept(kind: Kind) -> bool:
    """Whether such an operation keeps room. The pools see of a group only how many blocks it holds: a group of one
    sequence, with no more than that known of it, stands for any.
    """
    bits, sizes = Bits(), Sizes(**{name: variable(name) for name in RANGES})
    anything = any_state()
    one = replace(anything.one, live=anything.one.blocks > 0)
    state = State(one=one, swapped=anything.swapped, filler=anything.filler)
    move, ranges = _any_move(kind)
    allowed, following = after(bits, kind, NO_ORDERS, sizes, state, move)
    before = room(bits, sizes, held(bits, state), state.swapped, state.filler)
    kept = room(bits, sizes, held(bits, following), following.swapped, following.filler)
    return _none(sizes_in_range(sizes), *bits.definitions, before, ranges, allowed, z3.Not(truth(kept)))


def _any_move(kind: Kind) -> tuple[Move, Any]:
    values = [variable(name) for name in ("first", "second", "third")]
    move = Move(kind, *(value if at < ARGUMENTS[kind] else 0 for at, value in enumerate(values)))
    return move, z3.And(*(within(value, 0, _most(kind)) for value in values))


def _short(state: State) -> Any:
    """Whether no table is longer than what is proved about."""
    return z3.And([truth(seq.blocks <= MOST_BLOCKS) for seq in state.members])


def _kept_growing(states: States, kind: Kind) -> bool:
    """The same for an operation that makes tables grow, in steps: adding up is what bit-vectors are slow at.

    For each entry, as many blocks of it become distinct as are copied; each table grows as the arithmetic says. Added
    up, the group holds afterwards what it held and what it needed, which is then all that must be known of the pools.
    """
    bits = states.bits.copy()
    move, ranges = _any_move(kind)
    state, sizes = states.state, states.sizes
    in_order = legal_move(bits, kind, NO_ORDERS, sizes, state, move)
    following = effect(bits, kind, sizes, state, move)
    taken, _ = turns(bits, sizes, state, move.first)
    steps = [shape(bits, sizes, following)]
    for entry in range(MOST_BLOCKS):
        copies = total(bits, (turn.copied[entry] for turn in taken))
        steps.append(_repeated(bits, state, entry) == _repeated(bits, following, entry) + copies)
    for before, turn, then in zip(state.members, taken, following.members, strict=True):
        steps.append(then.blocks == before.blocks + growth(bits, turn.counts, move.first, sizes.block))
    known = (*bits.definitions, ranges, truth(in_order), _short(following))
    return all(states.none(*known, z3.Not(truth(step))) for step in steps) and _room_left(kind)


def _repeated(a: Algebra, state: State, entry: int) -> Any:
    """How many sequences have a block in this entry of their table that a sequence before them has too."""
    first_two, first_third, second_third = (row[entry] for row in state.shared)
    return total(a, (first_two, a.any_of(first_third, second_third)))


def _room_left(kind: Kind) -> bool:
    """Whether pools that have room keep it, where the group comes to hold what it held and needed on the GPU."""
    pools = Pools(kind is Kind.SWAP_IN)
    bits, sizes = pools.bits, pools.sizes
    wanted = pools.demand(Guard.SWAP_IN if kind is Kind.SWAP_IN else Guard.APPEND)
    more = wanted.need - (pools.group if kind is Kind.SWAP_IN else 0)
    approved = is_ok(wanted, pools.free(on_cpu=False))
    kept = room(bits, sizes, pools.group + more, False, pools.filler)
    # A sequence that exists has a block.
    return pools.none(pools.group >= 1, approved, z3.Not(truth(kept)))


class Pools:
    """Pools with room for the groups in them, whatever the group is like: what it holds and needs are numbers."""

    def __init__(self, swapped: Any = None) -> None:
        self.bits = Bits()
        self.sizes = Sizes(**{name: variable(name) for name in RANGES})
        self.group, self.need = variable("group"), variable("need")
        self.swapped = z3.Bool("swapped") if swapped is None else swapped
        self.filler = Filler(swapped=z3.Bool("filler.swapped"), blocks=variable("filler.blocks"))
        fits = room(self.bits, self.sizes, self.group, self.swapped, self.filler)
        somewhere = z3.Implies(self.filler.blocks == 0, z3.Not(self.filler.swapped))
        self.known = [sizes_in_range(self.sizes), truth(fits), somewhere, within(self.need, 0, MOST_NEED)]

    def free(self, on_cpu: bool) -> Any:
        """Blocks free on one device."""
        a, filler = self.bits, self.filler
        if on_cpu:
            return self.sizes.cpu - a.ite(self.swapped, self.group, 0) - a.ite(filler.swapped, filler.blocks, 0)
        return self.sizes.gpu - a.ite(self.swapped, 0, self.group) - a.ite(filler.swapped, 0, filler.blocks)

    def demand(self, guard: Guard) -> Demand:
        """What is demanded where the need is any number that the guard may add up."""
        sizes = self.sizes
        if guard is Guard.ALLOCATE:
            return Demand(self.need, sizes.watermark, sizes.gpu)
        if guard is Guard.APPEND:
            return Demand(self.need, 0, sizes.gpu - self.group)
        if guard is Guard.SWAP_OUT:
            return Demand(self.group, 0, sizes.cpu)
        return Demand(self.group + self.need, sizes.watermark, sizes.gpu)

    def none(self, *conditions: Any) -> bool:
        """Whether no pools meet the conditions."""
        return _none(*self.known, *conditions)


STEPS = ("simplify", "propagate-values", "solve-eqs", "elim-uncnstr", "simplify", "bit-blast", "sat")
"""Each question is asked of a new solver, which may then simplify with all that is known: hundreds of times as fast,
for the hard ones, as one solver that keeps what it knows from question to question.
"""


def _none(*conditions: Any) -> bool:
    solver = z3.Then(*STEPS).solver()
    solver.add(*(truth(condition) for condition in conditions))
    answer = solver.check()
    if answer == z3.unknown:
        raise NotProved(f"the solver gave up: {solver.reason_unknown()}")
    return bool(answer == z3.unsat)


# -- classes ----------------------------------------------------------------------------------------------------------

Value = tuple[str, str]
"""An atom's name and the word of a value; outcomes too."""

OF_THE_POOLS = "no pools have room for such groups and show these, whatever the group is like"
OF_ALL = "no state of the invariant shows these"


class Proofs:
    """What no state shows when one guard is asked: of the pools first, whatever the group is, then of all of it."""

    def __init__(self, guard: Guard) -> None:
        self.guard = guard
        self._pools, self._around = _pools_asked(guard)
        self._states: tuple[States, Asked] | None = None

    def reason(self, values: Iterable[Value], needed: bool = True) -> str:
        """Why no state shows all of these values; nothing where a state of the invariant does, or, where a reason is
        needed, raises NotProved.
        """
        chosen = list(values)
        of_pools = [self._around[name][word] for name, word in chosen if name in self._around]
        if self._pools.none(*of_pools):
            return OF_THE_POOLS
        if self._states is None:
            self._states = _states_asked(self.guard)
        states, shown = self._states
        outcomes = tuple(word for name, word in chosen if name == "outcome") or tuple(OUTCOME.values)
        others = tuple(each for each in chosen if each[0] != "outcome")
        if states.none(shown.holds(states.bits, outcomes, others)):
            return OF_ALL
        if not needed:
            return ""
        raise NotProved(f"{self.guard.value}/{listed(tuple(chosen))} is neither witnessed nor proved unreachable")


def excluded(guard: Guard, shown: Sequence[Values]) -> Iterator[tuple[Values, str]]:
    """The least sets of values that no state shows together, fewest first, each with the reason: every class that has
    none of them is shown by one of the sights that are given. Raises NotProved where that is not so.
    """
    proofs, known, most = Proofs(guard), meanings(guard), TABLES[guard].at_once
    found: set[Values] = set()
    sights = [dict(values) for values in shown]
    for number in range(1, most + 2):
        for names in combinations(known, number):
            witnessed = {tuple(values[name] for name in names) for values in sights}
            for words in product(*(known[name] for name in names)):
                values = tuple(zip(names, words, strict=True))
                if words in witnessed or number > most_with(guard, words[0]) or not found.isdisjoint(parts(values)):
                    continue
                if reason := proofs.reason(values, needed=is_class(guard, values)):
                    yield values, reason
                    found.add(values)


def _pools_asked(guard: Guard) -> tuple[Pools, Meanings]:
    running = {Guard.APPEND: False, Guard.SWAP_OUT: False, Guard.SWAP_IN: True}
    pools = Pools(running.get(guard))
    a, sizes = pools.bits, pools.sizes
    none = guard is Guard.ALLOCATE
    pools.known.append(pools.group == 0 if none else pools.group >= 1)
    if none:
        pools.known += [pools.need >= 1, z3.Not(pools.swapped)]
    wanted, free = pools.demand(guard), pools.free(guard is Guard.SWAP_OUT)
    total_blocks = sizes.cpu if guard is Guard.SWAP_OUT else sizes.gpu
    pool = Pool(free, total_blocks, sizes.watermark, pools.filler.blocks > 0, pools.filler.swapped)
    return pools, {"outcome": outcome(a, wanted, free), **pool_values(a, pool, wanted.need)}


def _states_asked(guard: Guard) -> tuple[States, Asked]:
    states = States()
    argument, seqs = variable("argument"), variable("seqs")
    allocate = guard is Guard.ALLOCATE
    shown = asked(states.bits, NO_ORDERS, states.sizes, states.state, Ask(guard, argument, seqs if allocate else 0))
    most = MOST_PROMPT if allocate else MOST_LOOKAHEAD
    states.known += [within(argument, 0, most), within(seqs, 0, 3), truth(shown.legal)]
    return states, shown
