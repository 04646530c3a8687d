"""Shortest lives that show each way in which a prompt finds its beginning cached, and a window leaves blocks behind.

Knows what any correct manager must have in its index, and may have; must not know how one keeps it. So that all must
answer alike, a life never makes a manager choose what to evict: what it takes are blocks that hold nothing to be found.
Lives are enumerated breadth first: the first to show a class is a shortest one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from kvspec.algebra import INTS
from kvspec.arithmetic import blocks_for, dead_entries
from kvspec.edges.vectors import Vector
from kvspec.vocabulary import (
    GUARDED,
    NEEDS,
    Allocate,
    Append,
    Capability,
    Config,
    Evict,
    Fork,
    Free,
    Operation,
    Preempt,
    ResetIndex,
    Step,
    SwapIn,
    SwapOut,
    Verdict,
)

SIZE, POOL = 2, 6
"""Slots of a block, and blocks of either pool: room for two prompts of two blocks and a token, and no more."""

PROMPTS = ((1, 1), (1, 1, 1), (1, 1, 1, 1), (1, 1, 1, 1, 1), (1, 1, 2), (2, 1, 1))
"""Beginnings of one another, with a token more or less, and with another token at a block's end or beginning."""

TOKEN = 1
"""What a step gives to each sequence."""

KEYS: tuple[tuple[str, ...], ...] = ((), ("a",))
DEEPEST = 6

Prefix = tuple[tuple[str, ...], tuple[int, ...]]
"""Extra keys, and the tokens up to the end of a whole block."""


@dataclass(frozen=True)
class Live:
    """One sequence, alone in its group of the same number. status: running, swapped or waiting."""

    name: int
    extra: tuple[str, ...]
    tokens: tuple[int, ...]
    covered: int = 0
    computed: int = 0
    status: str = "running"
    since_reset: bool = True  # everything that it has computed was computed after the last reset
    went_on: bool = False  # it was not, and it has computed more since

    def prefixes(self, upto: int) -> list[Prefix]:
        """What its whole blocks hold, of the first so many tokens."""
        return [(self.extra, self.tokens[:stop]) for stop in range(SIZE, upto + 1, SIZE)]


@dataclass(frozen=True)
class State:
    """live: the sequences. known: what must be found. lost: what was computed once, or was about to be, and must not be
    found, with the reason. blocks: free blocks that hold nothing to be found. names: sequences so far.
    """

    live: tuple[Live, ...] = ()
    known: frozenset[Prefix] = frozenset()
    lost: frozenset[tuple[Prefix, str]] = frozenset()
    names: int = 0

    def with_live(self, seq: Live) -> State:
        """The same with one sequence as it is now, or new."""
        others = tuple(other for other in self.live if other.name != seq.name)
        return replace(self, live=tuple(sorted((*others, seq), key=lambda each: each.name)))

    def without(self, name: int) -> State:
        """The same without a sequence."""
        return replace(self, live=tuple(each for each in self.live if each.name != name))

    def held(self) -> int:
        """GPU blocks that running sequences have, shared ones once."""
        shared = {prefix for seq in self.live if seq.status == "running" for prefix in seq.prefixes(seq.covered)}
        tails = sum(seq.covered % SIZE > 0 for seq in self.live if seq.status == "running")
        return len(shared) + tails

    def cached(self) -> int:
        """GPU blocks that nobody owns and that hold something to be found."""
        owned = {prefix for seq in self.live if seq.status == "running" for prefix in seq.prefixes(seq.covered)}
        return len(self.known - owned)


@dataclass(frozen=True)
class Shown:
    """What an admission shows. least, most: tokens that it must, and may, find."""

    name: str
    words: str
    least: int
    most: int


Following = tuple[Operation, State, Shown | None]


# -- what may happen next ----------------------------------------------------------------------------------------------


def moves(state: State) -> Iterator[Following]:
    """Every operation that leaves managers no choice, with the state after it, and what it shows."""
    yield from _admissions(state)
    if any(seq.status == "running" and seq.computed < seq.covered for seq in state.live):
        yield _step(state)
    for seq in state.live:
        yield from _about(state, seq)
    if state.known and not any(seq.computed < seq.covered for seq in state.live):
        dropped = frozenset((prefix, "reset") for prefix in state.known)
        older = tuple(replace(seq, since_reset=not seq.computed) for seq in state.live)
        yield ResetIndex(), replace(state, live=older, known=frozenset(), lost=state.lost | dropped), None
    if state.cached():
        owned = {p for seq in state.live if seq.status == "running" for p in seq.prefixes(seq.covered)}
        gone = state.known - owned
        lost = state.lost | frozenset((prefix, "evicted") for prefix in gone)
        yield Evict(POOL), replace(state, known=state.known - gone, lost=lost), None


def _admissions(state: State) -> Iterator[Following]:
    if len(state.live) < 2:
        for extra in KEYS:
            for tokens in PROMPTS if state.names < 3 else ():
                yield from _admit(state, Live(state.names + 1, extra, tokens), new=True)
    for seq in state.live:
        if seq.status == "waiting":
            yield from _admit(state, seq, new=False)


def _admit(state: State, seq: Live, *, new: bool) -> Iterator[Following]:
    shown = shown_by(state, seq)
    fresh = blocks_for(INTS, len(seq.tokens), SIZE)
    if fresh > POOL - state.held() - state.cached():
        return
    after = replace(
        seq, covered=len(seq.tokens), computed=shown.least, status="running", since_reset=True, went_on=False
    )
    op = Allocate(seq.name, (seq.name,), seq.tokens if new else None, extra=seq.extra if new else ())
    yield op, replace(state, names=max(state.names, seq.name)).with_live(after), shown


def _step(state: State) -> Following:
    """Every scheduled sequence is computed, and gets a token that has no slot yet."""
    known, lost = set(state.known), dict(state.lost)
    live, given = [], {}
    for seq in state.live:
        if seq.status == "running" and seq.computed < seq.covered:
            for prefix in seq.prefixes(seq.covered) if seq.since_reset else ():
                known.add(prefix)
                lost.pop(prefix, None)
            went_on = not seq.since_reset
            live.append(replace(seq, tokens=(*seq.tokens, TOKEN), computed=seq.covered, went_on=went_on))
            given[seq.name] = (TOKEN,)
        else:
            live.append(seq)
    return Step(given), replace(state, live=tuple(live), known=frozenset(known), lost=frozenset(lost.items())), None


def _about(state: State, seq: Live) -> Iterator[Following]:
    promised = frozenset((p, "abandoned") for p in seq.prefixes(seq.covered) if p not in state.known)
    unwritten = seq.status == "running" and seq.computed < seq.covered
    left = replace(state, lost=state.lost | promised) if unwritten else state
    yield Free(seq.name), left.without(seq.name), None
    if seq.status == "running":
        yield Preempt(seq.name), left.with_live(replace(seq, covered=0, computed=0, status="waiting")), None
        grown = len(seq.tokens) - seq.covered
        fresh = blocks_for(INTS, len(seq.tokens), SIZE) - blocks_for(INTS, seq.covered, SIZE)
        # A shared last block would be copied, or not: a manager may have shared it by content.
        if grown and not unwritten and seq.covered % SIZE == 0 and fresh <= POOL - state.held() - state.cached():
            yield Append(seq.name), state.with_live(replace(seq, covered=len(seq.tokens))), None
        if not unwritten:
            yield SwapOut(seq.name), state.with_live(replace(seq, status="swapped")), None


# -- what an admission shows -------------------------------------------------------------------------------------------


def shown_by(state: State, seq: Live) -> Shown:
    """What the sequence's prompt finds now."""
    wanted = seq.prefixes(len(seq.tokens))
    promised = {p for each in state.live if each.status == "running" for p in each.prefixes(each.covered)}
    owned = {p for each in state.live if each.status == "running" for p in each.prefixes(each.covered)}
    least = _run(wanted, state.known)
    most = _run(wanted, state.known | promised)
    usable = [min(run, (len(seq.tokens) - 1) // SIZE) for run in (least, most)]
    values = {
        "found": ("none", "one-block", "more-blocks")[min(least, 2)],
        "left": "whole"
        if least * SIZE == len(seq.tokens)
        else "one"
        if len(seq.tokens) - least * SIZE == 1
        else "more",
        "from": _origin([p in owned for p in wanted[:least]]),
        "promised": "some" if most > least else "none",
        "past": _past(state, seq, wanted[least:]),
        "way": "readmitted" if any(each.name == seq.name for each in state.live) else "new",
    }
    listed = ",".join(f"{name}={value}" for name, value in values.items())
    words = "; ".join(WORDS[name][value] for name, value in values.items() if WORDS[name][value])
    # A prompt that is found whole may be taken over less a block, or less a token.
    whole = len(seq.tokens) - 1 if most * SIZE == len(seq.tokens) else usable[1] * SIZE
    return Shown(f"content/{listed}", f"a prompt is admitted: {words}", usable[0] * SIZE, whole)


def _run(wanted: list[Prefix], there: frozenset[Prefix] | set[Prefix]) -> int:
    for number, prefix in enumerate(wanted):
        if prefix not in there:
            return number
    return len(wanted)


def _origin(owned: list[bool]) -> str:
    if not owned:
        return "nowhere"
    return "owners" if all(owned) else "cache" if not any(owned) else "both"


def _past(state: State, seq: Live, missed: list[Prefix]) -> str:
    """Why the first block that is not found is not."""
    if not missed:
        return "fresh"
    for prefix, reason in sorted(state.lost):
        if prefix == missed[0]:
            goes_on = reason == "reset" and any(
                each.went_on and prefix in each.prefixes(each.covered) for each in state.live
            )
            return "reset-goes-on" if goes_on else reason
    tokens = missed[0][1]
    if any(known[1] == tokens for known in state.known):
        return "other-keys"
    if any(known[1][-SIZE:] == tokens[-SIZE:] and known[0] == seq.extra for known in state.known):
        return "elsewhere"
    return "fresh"


WORDS = {
    "found": {
        "none": "nothing of it is found",
        "one-block": "its first block is found",
        "more-blocks": "its first blocks are found",
    },
    "left": {
        "whole": "which is all of it, so that a token must be left to compute",
        "one": "one token is left",
        "more": "",
    },
    "from": {"nowhere": "", "owners": "somebody owns them", "cache": "nobody owns them", "both": "some are owned"},
    "promised": {"some": "a sequence of the same step is about to compute more of it", "none": ""},
    "past": {
        "fresh": "",
        "reset": "the next block was computed before the index was reset",
        "reset-goes-on": "the next block was computed before the index was reset, by somebody who has gone on since",
        "evicted": "the next block was evicted",
        "abandoned": "the next block was promised, and never written",
        "other-keys": "the next block is there under other keys",
        "elsewhere": "the tokens of the next block are there behind another prefix",
    },
    "way": {"readmitted": "it comes back after a preemption", "new": ""},
}
"""What the values of a class mean; what goes without saying is left out."""


# -- windows -----------------------------------------------------------------------------------------------------------


def _windowed(window: int, prompt: int, given: tuple[int, ...], course: str) -> tuple[Operation, ...]:
    """A prompt, and steps that give so many tokens each, appended in turn; course: what happens before the last."""
    operations: list[Operation] = [Allocate(1, (1,), (1,) * prompt)]
    for at, count in enumerate(given):
        operations.append(Step({1: (1,) * count}))
        if at + 1 == len(given):
            operations += COURSES[course]
        operations += [] if course in ("swapped", "preempted") and at + 1 == len(given) else [Append(1)]
    last = {1: (1,), 2: (1,)} if course == "forked" else {1: (1,)}
    return (*operations, Step(last))


COURSES: dict[str, tuple[Operation, ...]] = {
    "plain": (),
    "forked": (Fork(1, 2),),
    "swapped": (SwapOut(1), Step({}), SwapIn(1)),
    "preempted": (Preempt(1), Allocate(1, (1,))),
}
"""What may happen to a sequence under a window, by name."""


def windows() -> list[tuple[str, str, Config, tuple[Operation, ...]]]:
    """For each window, place of its edge in a block, and course, a shortest life that gives a block up or does not."""
    found: dict[str, tuple[str, str, Config, tuple[Operation, ...]]] = {}
    for window in (1, 2, 3, 4):
        for course in COURSES:
            for prompt in range(1, 7):
                for given in ((1,), (2,), (1, 1), (1, 2)):
                    length = prompt + sum(given[:-1])  # computed when the course begins
                    dead = max(0, length - window + 1)
                    edge = ("whole", "inside")[dead % SIZE > 0] if dead else "before"
                    gone = min(2, dead_entries(INTS, length, window, SIZE))
                    name = f"window/size={window},edge={edge},given-up={gone},course={course}"
                    words = (
                        f"under a window of {window}, {dead} positions are dead, {gone} blocks of a row of "
                        f"{blocks_for(INTS, length, SIZE)} hold nothing else; then the sequence is {course}"
                    )
                    config = Config(SIZE, 12, 12, 0, 64, sliding_window=window)
                    life = _windowed(window, prompt, given, course)
                    if name not in found or len(life) < len(found[name][3]):
                        found[name] = name, words, config, life
    return [found[name] for name in sorted(found)]


def hits_under_windows() -> Iterator[Vector]:
    """A prompt of which three blocks are cached, and only some of them are read."""
    for window in (1, 2, 3, 4, 5, 6, 7):
        prompt = (1, 2, 1, 2, 2, 1)  # three blocks of different tokens
        gone = dead_entries(INTS, len(prompt), window, SIZE)
        yield _vector(
            f"window/size={window},hits=three-blocks,given-up={gone}",
            f"under a window of {window}, a prompt is admitted of which three blocks are cached, {gone} of them are "
            "read by nobody",
            Config(SIZE, 12, 0, 0, 64, prefix_caching=True, sliding_window=window),
            (
                Allocate(1, (1,), prompt),
                Step({1: (TOKEN,)}),
                Free(1),
                Allocate(2, (2,), (*prompt, 3)),
                Step({2: (TOKEN,)}),
            ),
            None,
        )


def other_keys_under_windows() -> Iterator[Vector]:
    """A prompt whose blocks are all cached, under other keys: the window reads some of them, and none is its own."""
    for window in (2, 3, 5):
        prompt = (1, 2, 1, 2, 2, 1)
        yield _vector(
            f"window/size={window},hits=none,past=other-keys",
            f"under a window of {window}, a prompt is admitted of which three blocks are cached under other keys",
            Config(SIZE, 12, 0, 0, 64, prefix_caching=True, sliding_window=window),
            (Allocate(1, (1,), prompt), Step({1: (TOKEN,)}), Allocate(2, (2,), (*prompt, 3), extra=("a",))),
            (0, 0),
        )


def tight() -> Iterator[Vector]:
    """Pools that are one block too small, because of the null block or of the prompt itself."""
    for window in (1, 2, 3, 4):
        for blocks in (1, 2, 3):
            tokens = blocks * SIZE
            prompt = Allocate(1, (1,), (1,) * tokens)
            gone = dead_entries(INTS, tokens, window, SIZE)
            verdict = Verdict.OK if gone else Verdict.NEVER
            yield _vector(
                f"window/size={window},pool=null-block,blocks={blocks}",
                f"under a window of {window}, a row of {blocks} full blocks grows, {min(gone, 1)} of which nobody "
                "reads any more, in a pool that has one block more, for the null block",
                Config(SIZE, blocks + 1, 0, 0, 64, sliding_window=window),
                (prompt, Step({1: (1,)}), Append(1)),
                None,
                verdict,
            )
            yield _vector(
                f"window/size={window},pool=prompt,blocks={blocks}",
                f"under a window of {window}, a prompt of {blocks} blocks is admitted to a pool of {blocks - 1} and "
                "the null block",
                Config(SIZE, blocks, 0, 0, 64, sliding_window=window),
                (prompt,),
                None,
                Verdict.NEVER,
            )


# -- as vectors --------------------------------------------------------------------------------------------------------


def vectors() -> tuple[Vector, ...]:
    """One vector for each class of admissions, then those about windows."""
    return (
        *_contents(),
        *(_vector(*each, None) for each in windows()),
        *hits_under_windows(),
        *other_keys_under_windows(),
        *tight(),
    )


def _contents() -> Iterator[Vector]:
    config = Config(SIZE, POOL, POOL, 0, 64, prefix_caching=True)
    for name, (shown, life) in sorted(found().items()):
        yield _vector(name, shown.words, config, life, (shown.least, shown.most))


def found() -> dict[str, tuple[Shown, tuple[Operation, ...]]]:
    """The shortest life that shows each class."""
    shortest: dict[str, tuple[Shown, tuple[Operation, ...]]] = {}
    seen = {State()}
    lives: list[tuple[State, tuple[Operation, ...]]] = [(State(), ())]
    for _ in range(DEEPEST):
        following = []
        for state, life in lives:
            for op, after, shown in moves(state):
                if shown is not None and shown.name not in shortest:
                    shortest[shown.name] = shown, (*life, op)
                if after not in seen:
                    seen.add(after)
                    following.append((after, (*life, op)))
        lives = following
    return shortest


def _vector(
    name: str,
    words: str,
    config: Config,
    operations: tuple[Operation, ...],
    cached: tuple[int, int] | None,
    last: Verdict = Verdict.OK,
) -> Vector:
    """last: the verdict on the last operation that is guarded; all before it are granted."""
    expects = [Verdict.OK if op.op in GUARDED else None for op in operations]
    if last is not Verdict.OK:
        expects[-1] = last
    told = "" if cached is None else f"at least {cached[0]} and at most {cached[1]} tokens are taken over"
    return Vector(
        id=name,
        goal=words,
        laws=CONTENT_LAWS if cached is not None else WINDOW_LAWS,
        needs=tuple(sorted(_needs(config, operations), key=lambda need: need.value)),
        orders=tuple(sorted(_orders(operations))),
        config=config,
        operations=operations,
        expects=tuple(expects),
        why=told or "what the window still reads keeps its block, and nothing is freed twice or lost",
        cached=cached,
    )


CONTENT_LAWS = ("prefix.hit-computed", "prefix.hit-exact", "prefix.hit-maximal", "prefix.leave-one", "prefix.reset")
WINDOW_LAWS = ("accounting.no-double-free", "data.read-back", "window.live", "window.null")


def _orders(operations: tuple[Operation, ...]) -> Iterator[str]:
    yield "every-scheduled-sequence-receives-tokens"
    if not any(_abandons(operations)):
        yield "no-release-while-scheduled"
    if all(len(given) < 2 for op in operations if isinstance(op, Step) for given in op.tokens.values()):
        yield "one-unseen-token-per-step"


def _abandons(operations: tuple[Operation, ...]) -> Iterator[bool]:
    """Whether each release gives up what is scheduled."""
    scheduled = False
    for op in operations:
        if isinstance(op, (Allocate, Append, SwapIn)):
            scheduled = True
        elif isinstance(op, Step):
            scheduled = False
        elif isinstance(op, (Free, Preempt, SwapOut)):
            yield scheduled


def _needs(config: Config, operations: tuple[Operation, ...]) -> set[Capability]:
    needs = {need for op in operations for need in NEEDS[op.op]}
    if config.sliding_window is not None:
        needs.add(Capability.WINDOW)
    if config.prefix_caching:
        needs.add(Capability.PREFIX_CACHING)
    if any(isinstance(op, Allocate) and op.extra for op in operations):
        needs.add(Capability.EXTRA_KEYS)
    if any(isinstance(op, SwapIn) for op in operations):
        needs.add(Capability.APPEND)
    return needs
