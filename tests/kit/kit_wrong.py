"""The toy broken in one way for each law, each with operations that bring it out.

Knows: one wrong decision a class. Must not know: how the judge looks at it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kit_toy import CPU, GPU, NULL, Bad, Full, Toy, ToyAdapter

from kvconform import probes, progress
from kvconform.adapter import Adapter, Capabilities, Group, Seq
from kvconform.judge import Tally
from kvconform.run import Run, replay
from kvconform.workload import Request, Workload
from kvspec.vocabulary import (
    Allocate,
    Append,
    Capability,
    Config,
    Device,
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

ROOMY = Config(4, 8, 8)
CACHING = Config(4, 8, 8, prefix_caching=True)
WINDOW = Config(4, 8, 8, sliding_window=2)
GUARDS = frozenset(c for c in Capability if c.name.startswith("GUARD"))
NOTHING: frozenset[Capability] = frozenset()
SEEN = frozenset((Capability.REFCOUNTS, Capability.FREE_SET, Capability.ANNOUNCES))

Seen = tuple[set[str], Tally]
"""The laws found broken, and what was checked."""


# -- ways of running ------------------------------------------------------------------------------------------------


def run_of(wrong: Wrong, adapter: Adapter) -> Seen:
    """One run, to its end."""
    run = Run(adapter, wrong.config, without=wrong.without)
    replay(run, wrong.operations)
    return {found.violation.law.id for found in run.found}, run.tally


def twice(wrong: Wrong, adapter: Adapter) -> Seen:
    """The same run twice."""

    def start(config: Config, *, record: bool = False) -> Run:
        return Run(adapter, config, record=record)

    raws = list(probes.repeated(start, wrong.config, wrong.operations))
    found, tally = run_of(wrong, adapter)
    tally.checks[probes.DETERMINISTIC] += 1
    return found | {raw.violation.law.id for raw in raws}, tally


def bad_inputs(wrong: Wrong, adapter: Adapter) -> Seen:
    """Every probe of bad input."""
    found, tally = set(), Tally()
    for probe in probes.PROBES:
        run, raw = probes.bad_input(lambda config: Run(adapter, config), probe, wrong.config)
        found |= {raw.violation.law.id} if raw else set()
        found |= {other.violation.law.id for other in run.found}
        tally.add(run.tally)
    return found, tally


def scheduled(wrong: Wrong, adapter: Adapter) -> Seen:
    """Two requests under the kit's scheduler, each of which fits alone."""
    work = Workload(wrong.config, (Request(3, 6), Request(5, 4)))
    run, raws = progress.attempt(lambda config: Run(adapter, config, without=wrong.without), work)
    return {raw.violation.law.id for raw in raws}, run.tally


# -- what is wrong -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Wrong:
    """A wrong toy. law: that must be reported. operations: on which. also: laws that the same mistake cannot but break
    as well. way: how the operations are run. without: capabilities not to be used.
    """

    law: str
    adapter: type[ToyAdapter]
    operations: Sequence[Operation] = ()
    config: Config = ROOMY
    also: frozenset[str] = frozenset()
    without: frozenset[Capability] = NOTHING
    way: Callable[[Wrong, Adapter], Seen] = run_of

    @property
    def id(self) -> str:
        """A name for the test."""
        return f"{self.law}-{self.adapter.__name__}"


# -- window -------------------------------------------------------------------------------------------------------


class SlidesTooFar(ToyAdapter):
    """Gives up the block in which the window begins."""

    def step(self, batch: Sequence[tuple[Seq, int]]) -> None:
        for seq, upto in batch:
            self.toy.slide(seq.id, -(-max(0, upto - 1) // self.config.block_size))


class SlidesBeforeItsChunk(ToyAdapter):
    """Gives up at the append what the window leaves behind after the step."""

    def append(self, seq: Seq) -> list[tuple[int, int]] | bool | None:
        copies = super().append(seq)
        self.toy.slide(seq.id, max(0, len(seq.tokens) - 1) // self.config.block_size)
        return copies


class HandsOutTheNullBlock(ToyAdapter):
    """The last block to be had is the null block."""

    def start(self, config: Config) -> None:
        super().start(config)
        if self.toy.null is not None:
            self.toy.free[GPU].append(self.toy.null)

    def num_free_blocks(self, device: Device) -> int:
        return len([block for block in self.toy.free[device] if device is CPU or block != self.toy.null])

    def free_blocks(self, device: Device) -> list[int]:
        return [block for block in self.toy.free[device] if device is CPU or block != self.toy.null]


class FreesTheNullBlock(ToyAdapter):
    """Frees what stands in for the blocks that a window has left behind."""

    def free(self, seq: Seq) -> None:
        slid = NULL in self.toy.rows.get(seq.id, [])
        super().free(seq)
        if slid and self.toy.null is not None:
            self.toy.free[GPU].append(self.toy.null)


# -- prefix -------------------------------------------------------------------------------------------------------


class PublishesAtAdmission(ToyAdapter):
    """What is about to be computed can be hit, even if it never is."""

    def allocate(self, group: Group) -> bool | int | dict[int, int] | None:
        seqs = group.waiting
        answer = super().allocate(group)
        for seq in seqs:
            self.toy.publish(seq.id, group.extra, seq.tokens)
        return answer


class KeysWithoutPrefix(ToyAdapter):
    """A block's key is its own tokens only."""

    class make(Toy):
        def key(self, extra: object, tokens: Sequence[int]) -> object:
            return extra, tuple(tokens[-self.size :])


class KeysWithoutExtra(ToyAdapter):
    """Adapters and salts do not matter."""

    class make(Toy):
        def key(self, extra: object, tokens: Sequence[int]) -> object:
            return tuple(tokens)


class KeepsStaleEntries(ToyAdapter):
    """A block that is handed out for something else can still be hit."""

    class make(Toy):
        def evict(self, block: int) -> None:
            self.keys.pop(block, None)


class HandsOutAHit(ToyAdapter):
    """A hit that somebody owns is in the free set all the same."""

    class make(Toy):
        def admit(self, seqs: Sequence[int], count: int, hits: Sequence[int] = ()) -> None:
            super().admit(seqs, count, hits)
            self.free[GPU] = [*hits, *self.free[GPU][: len(self.free[GPU]) - len(hits)]]


class TakesItAll(ToyAdapter):
    """A prompt that is cached whole leaves nothing to compute."""

    class make(Toy):
        def hits(self, extra: object, tokens: Sequence[int]) -> list[int]:
            return super().hits(extra, [*tokens, 0])


class FindsTheFirstOnly(ToyAdapter):
    """The longest run that it finds is one block."""

    class make(Toy):
        def hits(self, extra: object, tokens: Sequence[int]) -> list[int]:
            return super().hits(extra, tokens)[:1]


class LastReleasedFirst(ToyAdapter):
    """The most recently used block is evicted first."""

    class make(Toy):
        def give(self, device: Device, block: int) -> None:
            super().give(device, block)
            if not self.refs[device][block]:
                self.free[device].insert(0, self.free[device].pop())


class PrefixFirst(ToyAdapter):
    """A row is given back from its beginning on."""

    class make(Toy):
        def given_back(self, row: list[int]) -> list[int]:
            return row


class ResetsNothing(ToyAdapter):
    """The index stays when it is reset."""

    def reset_index(self) -> bool | None:
        return None


class CountsHitsAsFree(ToyAdapter):
    """The guard takes cached hits off the need, and off the free blocks it does not."""

    def can_allocate(self, group: Group) -> Verdict | bool:
        need = sum(self.prompt_blocks(group)) - len(self.hits(group))
        return self.answer(GPU, need, self.config.num_gpu_blocks, self.config.watermark_blocks)


# -- accounting -----------------------------------------------------------------------------------------------------


class FreeKeepsTheFirstBlock(ToyAdapter):
    """Leaks when a sequence ends."""

    class make(Toy):
        def drop(self, seq: int) -> None:
            self.rows[seq] = self.rows[seq][1:]
            super().drop(seq)

    def refcount(self, device: Device, block: int) -> int:
        owners = [row for seq, row in self.toy.rows.items() if self.toy.where[seq] is device and block in row]
        return len(owners)

    def free_blocks(self, device: Device) -> list[int]:
        return [block for block in range(self.config.total(device)) if not self.refcount(device, block)]


class CountsOneTooFew(ToyAdapter):
    """The free count forgets a block while any sequence runs."""

    def num_free_blocks(self, device: Device) -> int:
        return super().num_free_blocks(device) - bool(self.toy.rows and device is GPU)


class FreeSetForgetsTheLast(ToyAdapter):
    """A block that came back is not listed."""

    def free_blocks(self, device: Device) -> list[int]:
        return self.toy.free[device][: self.config.total(device) - 1]


class FreeSetListsTwice(ToyAdapter):
    """A block that came back is listed twice."""

    def free_blocks(self, device: Device) -> list[int]:
        listed = self.toy.free[device]
        return [*listed, *listed[-1:]]


class RefcountsAreOne(ToyAdapter):
    """Sharing is not counted."""

    def refcount(self, device: Device, block: int) -> int:
        return min(1, super().refcount(device, block))


class PreemptComplains(ToyAdapter):
    """Gives every block back, then once more."""

    def preempt(self, group: Group) -> None:
        row = list(self.toy.rows[group.running[0].id])
        super().preempt(group)
        self.toy.give(GPU, row[0])


class HandsOutAHeldBlock(ToyAdapter):
    """A new row begins with a block of somebody else's."""

    def allocate(self, group: Group) -> None:
        held = next((row[0] for row in self.toy.rows.values()), None)
        super().allocate(group)
        if held is not None:
            row = self.toy.rows[group.waiting[0].id]
            self.toy.give(GPU, row[0])
            row[0] = held
            self.toy.refs[GPU][held] += 1


class FreesASharedBlock(ToyAdapter):
    """The free count counts a shared block as soon as one of its owners leaves."""

    def num_free_blocks(self, device: Device) -> int:
        return super().num_free_blocks(device) + getattr(self, "too_many", 0) * (device is GPU)

    def start(self, config: Config) -> None:
        super().start(config)
        self.too_many = 0

    def free(self, seq: Seq) -> None:
        self.too_many += any(self.toy.refs[GPU][block] > 1 for block in self.toy.rows.get(seq.id, ()))
        super().free(seq)


class NumbersFromAThousand(ToyAdapter):
    """Rows name blocks that the pool does not have."""

    def block_table(self, seq: Seq) -> list[int]:
        return [block + 1000 for block in super().block_table(seq)]


class OneNumberForTwo(ToyAdapter):
    """Two blocks of a row have one number (and the counts go along)."""

    def block_table(self, seq: Seq) -> list[int]:
        row = super().block_table(seq)
        return [row[0]] * len(row)


class LastBlockIsNotThere(ToyAdapter):
    """One block is counted as free but cannot be had."""

    class make(Toy):
        def take(self, device: Device, count: int, owners: int = 1) -> list[int]:
            if count and count >= len(self.free[device]):
                raise Full("the last one stays")
            return super().take(device, count, owners)


# -- table ----------------------------------------------------------------------------------------------------------


class AppendForgetsLookahead(ToyAdapter):
    """Covers the tokens only."""

    def append(self, seq: Seq) -> list[tuple[int, int]]:
        return self.toy.extend(seq.id, seq.upto, len(seq.tokens))


class AllocateForgetsTheTail(ToyAdapter):
    """Counts whole blocks only."""

    def prompt_blocks(self, group: Group) -> list[int]:
        return [(len(seq.tokens) + group.lookahead) // self.config.block_size for seq in group.waiting][:1]


class AppendTakesOneMore(ToyAdapter):
    """A spare block at each append."""

    def append(self, seq: Seq) -> list[tuple[int, int]]:
        copies = super().append(seq)
        self.toy.rows[seq.id] += self.toy.take(GPU, 1)
        self.toy.told[seq.id] = list(self.toy.rows[seq.id])
        return copies


class AlwaysOnTheGpu(ToyAdapter):
    """Where a row lies is never updated."""

    def row_device(self, seq: Seq) -> Device:
        return GPU


class ListsHeldBlocksAsFree(ToyAdapter):
    """What is held stays in the free set."""

    def free_blocks(self, device: Device) -> list[int]:
        return list(range(self.config.total(device)))


class NoRefcountForTheTail(ToyAdapter):
    """The last block of a row shows no owner."""

    def refcount(self, device: Device, block: int) -> int:
        last = any(row and row[-1] == block for row in self.toy.rows.values())
        return 0 if last else super().refcount(device, block)


class WritesInPlace(ToyAdapter):
    """No copy-on-write."""

    class make(Toy):
        def written(self, seq: int, upto: int, slots: int) -> list[int]:
            return []


class AnnouncesWithoutTheTail(ToyAdapter):
    """New blocks of an append are not told."""

    def append(self, seq: Seq) -> list[tuple[int, int]]:
        told = list(self.toy.told[seq.id])
        copies = super().append(seq)
        self.toy.told[seq.id] = told
        return copies


class AppendTurnsAnotherRow(ToyAdapter):
    """An append reverses the row of the first sequence."""

    def append(self, seq: Seq) -> list[tuple[int, int]]:
        first = min(self.toy.rows)
        if seq.id != first:
            self.toy.rows[first].reverse()
        return super().append(seq)


# -- admission ------------------------------------------------------------------------------------------------------


class AllocateAlwaysOk(ToyAdapter):
    """Promises whatever is asked."""

    def can_allocate(self, group: Group) -> Verdict:
        return Verdict.OK


class AppendAlwaysOk(ToyAdapter):
    """Promises whatever is asked."""

    def can_append(self, group: Group) -> Verdict:
        return Verdict.OK


class ForkRunsOut(ToyAdapter):
    """Its fork takes what its guard does not count."""

    def fork(self, parent: Seq, child: Seq) -> bool:
        return False


class SwapOutAlwaysOk(ToyAdapter):
    """Promises whatever is asked."""

    def can_swap_out(self, group: Group) -> Verdict:
        return Verdict.OK


class SwapInCountsTheRowsOnly(ToyAdapter):
    """Forgets what the appends will take."""

    def can_swap_in(self, group: Group) -> Verdict:
        return self.answer(GPU, self.distinct(group.swapped), self.config.num_gpu_blocks, 0)


class NoWatermark(ToyAdapter):
    """Admission to the last block."""

    def can_allocate(self, group: Group) -> Verdict:
        return self.answer(GPU, sum(self.prompt_blocks(group)), self.config.num_gpu_blocks, 0)


class NoWatermarkAtSwapIn(ToyAdapter):
    """Swap-in to the last block."""

    def can_swap_in(self, group: Group) -> Verdict:
        need = self.distinct(group.swapped) + self.growth(group.swapped, group.lookahead)
        return self.answer(GPU, need, self.config.num_gpu_blocks, 0)


class NeverForLater(ToyAdapter):
    """Takes a pool that is full now for one that is too small."""

    def can_allocate(self, group: Group) -> Verdict:
        return {Verdict.LATER: Verdict.NEVER}.get(verdict := super().can_allocate(group), verdict)


class LaterForNever(ToyAdapter):
    """Lets the impossible wait."""

    def can_allocate(self, group: Group) -> Verdict:
        return {Verdict.NEVER: Verdict.LATER}.get(verdict := super().can_allocate(group), verdict)


class AllocateWantsOneMore(ToyAdapter):
    """Refuses what would just fit."""

    def can_allocate(self, group: Group) -> Verdict:
        need = sum(self.prompt_blocks(group))
        if self.config.num_gpu_blocks == need:
            return Verdict.OK
        return self.answer(GPU, need + 1, self.config.num_gpu_blocks + 1, self.config.watermark_blocks)


class AppendWantsOneMore(ToyAdapter):
    """Refuses what would just fit."""

    def can_append(self, group: Group) -> Verdict:
        attainable = self.config.num_gpu_blocks - self.distinct(group.running)
        return self.answer(GPU, self.growth(group.running, group.lookahead) + 1, attainable + 1, 0)


class SwapOutWantsOneMore(ToyAdapter):
    """Refuses what would just fit."""

    def can_swap_out(self, group: Group) -> Verdict:
        return self.answer(CPU, self.distinct(group.running) + 1, self.config.num_cpu_blocks + 1, 0)


class SwapInWantsOneMore(ToyAdapter):
    """Refuses what would just fit."""

    def can_swap_in(self, group: Group) -> Verdict:
        need = self.distinct(group.swapped) + self.growth(group.swapped, group.lookahead)
        return self.answer(GPU, need + 1, self.config.num_gpu_blocks + 1, self.config.watermark_blocks)


class AskingTakesABlock(ToyAdapter):
    """A reservation that nobody asked for."""

    def can_append(self, group: Group) -> Verdict:
        verdict = super().can_append(group)
        self.toy.take(GPU, 1)
        return verdict


class AskingTurnsTheRow(ToyAdapter):
    """The guard works on the row itself."""

    def can_append(self, group: Group) -> Verdict:
        row = self.toy.rows[group.running[0].id]
        row.append(row.pop(0))
        return super().can_append(group)


class AskingTwiceDiffers(ToyAdapter):
    """The second answer is another one."""

    asked = 0

    def can_append(self, group: Group) -> Verdict:
        self.asked += 1
        return Verdict.OK if self.asked % 2 else Verdict.LATER


# -- data -----------------------------------------------------------------------------------------------------------


class AppendTurnsItsRow(ToyAdapter):
    """Reverses the row that it extends."""

    def append(self, seq: Seq) -> list[tuple[int, int]]:
        copies = super().append(seq)
        self.toy.rows[seq.id].reverse()
        self.toy.told[seq.id].reverse()
        return copies


class CopiesTheWrongWay(ToyAdapter):
    """Source and destination of a copy are exchanged."""

    def append(self, seq: Seq) -> list[tuple[int, int]]:
        return [(new, old) for old, new in super().append(seq)]


class ForgetsToCopy(ToyAdapter):
    """A new block for the writer, and nothing copied."""

    def append(self, seq: Seq) -> list[tuple[int, int]]:
        super().append(seq)
        return []


class SwapsCrosswise(ToyAdapter):
    """Moves the contents of the last two blocks to each other's place."""

    def swap_out(self, group: Group) -> dict[int, int]:
        moves = super().swap_out(group)
        return dict(zip(moves, reversed(list(moves.values())), strict=True))


class SwapsEntries(ToyAdapter):
    """A block of its own for each entry of each row."""

    capabilities = Capabilities(
        lookahead=True, allocate_lookahead="provided", groups=True, outcomes="three", failures="atomic",
        swap_unit="entry",
    )  # fmt: skip

    def can_swap_out(self, group: Group) -> Verdict:
        entries = sum(len(self.toy.rows[seq.id]) for seq in group.running)
        return self.answer(CPU, entries, self.config.num_cpu_blocks, 0)

    def swap_out(self, group: Group) -> list[tuple[int, int]]:
        moves = []
        for seq in group.running:
            old = list(self.toy.rows[seq.id])
            new = self.toy.take(CPU, len(old))
            for block in old:
                self.toy.give(GPU, block)
            self.toy.place(seq.id, CPU, new)
            moves += zip(old, new, strict=True)
        return moves


# -- robustness -----------------------------------------------------------------------------------------------------


class AppendRaises(ToyAdapter):
    """A wrong name."""

    def append(self, seq: Seq) -> list[tuple[int, int]]:
        raise KeyError("sequence")


class FailedAppendKeepsABlock(ToyAdapter):
    """An append that runs out leaves its row longer."""

    def append(self, seq: Seq) -> list[tuple[int, int]]:
        try:
            return super().append(seq)
        except Full:
            if self.toy.free[GPU]:
                self.toy.rows[seq.id] += self.toy.take(GPU, 1)
                self.toy.told[seq.id] = list(self.toy.rows[seq.id])
            raise


class RefusingAdmissionTakesABlock(ToyAdapter):
    """A forced admission that fails keeps what it had taken."""

    def allocate(self, group: Group) -> None:
        try:
            super().allocate(group)
        except Full:
            self.toy.take(GPU, 1)
            raise


class FreeAgainRaises(ToyAdapter):
    """The second end of a sequence is an error that nobody declared."""

    def free(self, seq: Seq) -> None:
        self.toy.drop(seq.id)


class FreeAgainChanges(ToyAdapter):
    """The second end of a sequence turns another's row."""

    def start(self, config: Config) -> None:
        super().start(config)
        self.gone: set[int] = set()

    def free(self, seq: Seq) -> None:
        if seq.id in self.gone:
            for row in self.toy.rows.values():
                row.reverse()
        super().free(seq)
        self.gone.add(seq.id)


class TakesAnyInput(ToyAdapter):
    """Admits a sequence over another of the same number."""

    class make(Toy):
        def admit(self, seqs: Sequence[int], count: int, hits: Sequence[int] = ()) -> None:
            for seq in seqs:
                if seq in self.rows:
                    self.drop(seq)
            super().admit(seqs, count, hits)


class DamagedByBadInput(ToyAdapter):
    """Complains of bad input after it has acted on it."""

    def swap_in(self, group: Group) -> dict[int, int]:
        try:
            return super().swap_in(group)
        except Bad:
            self.toy.free[GPU].pop()
            raise


class EveryOtherLifeIsDifferent(ToyAdapter):
    """The order of the free list depends on how often the manager was started."""

    lives = 0

    def start(self, config: Config) -> None:
        super().start(config)
        EveryOtherLifeIsDifferent.lives += 1
        if EveryOtherLifeIsDifferent.lives % 2:
            self.toy.free[GPU].reverse()


class NeverComesBack(ToyAdapter):
    """What was preempted is refused for ever."""

    def can_allocate(self, group: Group) -> Verdict | bool:
        return False if group.admitted_before else super().can_allocate(group)


def step(*seqs: int, tokens: int = 1) -> Step:
    """Each of the sequences gets so many tokens, different ones."""
    return Step({seq: (seq + 1,) * tokens for seq in seqs})


def prompt(count: int) -> tuple[int, ...]:
    """So many tokens, all different."""
    return tuple(range(1, count + 1))


ONE = (Allocate(1, (1,), prompt(7)), step(1))
FORKED = (Allocate(1, (1,), prompt(6)), step(1), Fork(1, 2, (9,)))
GROWN = (*ONE, Append(1), step(1), Append(1))
AWAY = (*ONE, SwapOut(1), Step({}))
TIGHT = Config(4, 4, 4)
SPENT = (Allocate(1, (1,), prompt(5)), Step({}), Free(1), Allocate(2, (2,), (9,) * 32), Step({}))
USED = (
    Allocate(1, (1,), (1,) * 4),
    Step({}),
    Allocate(2, (2,), (2,) * 4),
    Step({}),
    Free(1),
    Free(2),
    Allocate(3, (3,), (9,)),
)

WRONG = (
    Wrong("accounting.conservation", CountsOneTooFew, ONE),
    Wrong("accounting.conservation", FreeKeepsTheFirstBlock, (*ONE, Allocate(2, (2,), prompt(2)), Free(1))),
    Wrong("accounting.free-exact", FreeSetForgetsTheLast, (*ONE, Allocate(2, (2,), prompt(2)), Free(1), Free(2))),
    Wrong("accounting.free-exact", FreeSetListsTwice, (*ONE, Allocate(2, (2,), prompt(2)), Free(1))),
    Wrong("accounting.refcount", RefcountsAreOne, FORKED),
    Wrong("accounting.no-double-free", PreemptComplains, (*ONE, Preempt(1))),
    Wrong(
        "accounting.no-double-free",
        HandsOutAHeldBlock,
        (*ONE, Allocate(2, (2,), (9,) * 3)),
        also=frozenset(("table.announced", "table.no-alias")),
    ),
    Wrong(
        "accounting.no-double-free",
        FreesASharedBlock,
        (*FORKED, Free(2)),
        also=frozenset(("accounting.conservation",)),
    ),
    Wrong("accounting.valid-ids", NumbersFromAThousand, ONE, also=frozenset(("table.announced",))),
    Wrong(
        "accounting.valid-ids",
        OneNumberForTwo,
        ONE,
        also=frozenset(("table.announced", "accounting.conservation")),
    ),
    Wrong("accounting.no-leak", FreeKeepsTheFirstBlock, (*ONE, Free(1)), also=frozenset(("accounting.conservation",))),
    Wrong("accounting.spendable", LastBlockIsNotThere, ONE, without=GUARDS),
    Wrong("table.covers", AppendForgetsLookahead, (*ONE, Append(1, lookahead=3))),
    Wrong("table.covers", AllocateForgetsTheTail, ONE),
    Wrong("table.tight", AppendTakesOneMore, (*ONE, Append(1))),
    Wrong("table.one-device", AlwaysOnTheGpu, AWAY),
    Wrong("table.live", ListsHeldBlocksAsFree, ONE, also=frozenset(("accounting.free-exact",))),
    Wrong("table.live", NoRefcountForTheTail, ONE, also=frozenset(("accounting.refcount",))),
    Wrong(
        "table.no-alias",
        WritesInPlace,
        (*FORKED, Append(1), step(1, 2)),
        also=frozenset(("data.exclusive-write", "data.read-back")),
    ),
    Wrong("table.announced", AnnouncesWithoutTheTail, (*ONE, Append(1, lookahead=3))),
    Wrong("table.frame", AppendTurnsAnotherRow, (*ONE, Allocate(2, (2,), prompt(3)), step(2), Append(2)),
          also=frozenset(("table.announced",))),
    Wrong("admission.sound-allocate", AllocateAlwaysOk, (Allocate(1, (1,), prompt(33)),)),
    Wrong("admission.sound-append", AppendAlwaysOk, (Allocate(1, (1,), prompt(16)), step(1), Append(1)), TIGHT),
    Wrong("admission.sound-append", AppendAlwaysOk,
          (Allocate(1, (1, 2), prompt(15)), step(1, 2), Append(1)), TIGHT),
    Wrong("admission.sound-fork", ForkRunsOut, FORKED),
    Wrong("admission.sound-swap-out", SwapOutAlwaysOk, (*ONE, SwapOut(1)), Config(4, 8, 1)),
    Wrong("admission.sound-swap-in", SwapInCountsTheRowsOnly,
          (Allocate(1, (1,), prompt(8)), step(1), SwapOut(1), Step({}), SwapIn(1)), Config(4, 2, 4)),
    Wrong("admission.watermark", NoWatermark, (Allocate(1, (1,), prompt(12)),), Config(4, 4, 0, 2)),
    Wrong("admission.watermark", NoWatermarkAtSwapIn,
          (*AWAY, Allocate(2, (2,), prompt(4)), Step({}), SwapIn(1)), Config(4, 4, 4, 2)),
    Wrong("admission.never-is-final", NeverForLater,
          (*ONE, Allocate(2, (2,), prompt(12)), Free(1), Allocate(2, (2,))), TIGHT),
    Wrong("admission.impossible-is-never", LaterForNever, (Allocate(1, (1,), prompt(17)),), TIGHT),
    Wrong("admission.precise-allocate", AllocateWantsOneMore,
          (*ONE, Allocate(2, (2,), prompt(8))), TIGHT),
    Wrong("admission.precise-allocate", AllocateWantsOneMore,
          (Allocate(1, (1, 2), prompt(4)), step(1, 2), Preempt(1), Allocate(2, (3,), (9,)), Allocate(1, (1, 2))),
          Config(4, 5)),
    Wrong("admission.precise-append", AppendWantsOneMore,
          (Allocate(1, (1,), prompt(8)), Allocate(2, (2,), prompt(4)), step(1, 2), Append(1)), TIGHT),
    Wrong("admission.precise-swap-out", SwapOutWantsOneMore,
          (*ONE, Allocate(2, (2,), prompt(4)), step(2), SwapOut(2), Step({}), SwapOut(1)), Config(4, 8, 3)),
    Wrong("admission.precise-swap-in", SwapInWantsOneMore, (*AWAY, Allocate(2, (2,), prompt(8)), Step({}), SwapIn(1)),
          TIGHT),
    Wrong("admission.guard-pure", AskingTakesABlock, (*ONE, Append(1))),
    Wrong("admission.guard-pure", AskingTurnsTheRow, (Allocate(1, (1,), prompt(12)), step(1), Append(1))),
    Wrong("admission.guard-pure", AskingTwiceDiffers, (*ONE, Append(1))),
    Wrong("data.read-back", AppendTurnsItsRow, (*GROWN, Step({}))),
    Wrong(
        "data.exclusive-write",
        WritesInPlace,
        (*FORKED, Append(1), Step({})),
        also=frozenset(("table.no-alias", "data.read-back")),
    ),
    Wrong("data.copies", CopiesTheWrongWay, (*FORKED, Append(1), Step({})), also=frozenset(("data.read-back",))),
    Wrong("data.read-back", ForgetsToCopy, (*FORKED, Append(1), Step({}))),
    Wrong("data.swap-content", SwapsCrosswise, AWAY),
    Wrong("data.swap-keeps-sharing", SwapsEntries, (*FORKED, SwapOut(1))),
    Wrong("prefix.hit-computed", PublishesAtAdmission,
          (Allocate(1, (1,), prompt(5)), Free(1), Allocate(2, (2,), prompt(5))), CACHING),
    Wrong("prefix.hit-exact", KeysWithoutPrefix,
          (Allocate(1, (1,), (1, 1, 1, 1, 2, 2, 2, 2)), Step({}), Allocate(2, (2,), (2,) * 5)), CACHING,
          also=frozenset(("table.no-alias",))),
    Wrong("prefix.hit-exact", KeysWithoutExtra,
          (Allocate(1, (1,), prompt(5)), Step({}), Allocate(2, (2,), prompt(5), extra=("a",))), CACHING,
          also=frozenset(("table.no-alias",))),
    Wrong("prefix.hit-exact", KeepsStaleEntries,
          (*SPENT, Free(2), Allocate(3, (3,), prompt(5))), CACHING),
    Wrong("prefix.evict-unreferenced", HandsOutAHit,
          (Allocate(1, (1,), prompt(5)), Step({}), Allocate(2, (2,), prompt(5)), Allocate(3, (3,), (2,))), CACHING,
          also=frozenset(("accounting.conservation", "accounting.no-double-free", "table.no-alias")), without=SEEN),
    Wrong("prefix.leave-one", TakesItAll, (Allocate(1, (1,), prompt(4)), Step({}), Allocate(2, (2,), prompt(4))),
          CACHING),
    Wrong("prefix.hit-maximal", FindsTheFirstOnly,
          (Allocate(1, (1,), prompt(8)), Step({}), Allocate(2, (2,), prompt(9))), CACHING),
    Wrong("prefix.lru", LastReleasedFirst, USED, CACHING),
    Wrong("prefix.descendants-first", PrefixFirst,
          (Allocate(1, (1,), prompt(8)), Step({}), Free(1), Allocate(2, (2,), (2,) * 24), Allocate(3, (3,), (2,))),
          CACHING),
    Wrong("prefix.reset", ResetsNothing,
          (Allocate(1, (1,), prompt(5)), Step({}), ResetIndex(), Allocate(2, (2,), prompt(5))), CACHING),
    Wrong("window.live", SlidesTooFar, (Allocate(1, (1,), prompt(8)), Step({})), WINDOW,
          also=frozenset(("table.frame", "data.read-back"))),
    Wrong("window.live", SlidesBeforeItsChunk, (Allocate(1, (1,), prompt(8)), step(1, tokens=4), Append(1)), WINDOW),
    Wrong("window.null", HandsOutTheNullBlock, (Allocate(1, (1,), prompt(4)), Step({}), Allocate(2, (2,), prompt(28))),
          WINDOW, also=frozenset(("accounting.conservation", "accounting.no-double-free"))),
    Wrong("window.null", FreesTheNullBlock, (Allocate(1, (1,), prompt(8)), Step({}), Free(1)), WINDOW,
          also=frozenset(("accounting.conservation", "accounting.no-double-free", "accounting.no-leak"))),
    Wrong("admission.hits-counted-once", CountsHitsAsFree,
          (Allocate(1, (1,), prompt(8)), Step({}), Free(1), Allocate(2, (2,), (2,) * 16),
           Allocate(3, (3,), prompt(20))),
          CACHING, also=frozenset(("admission.sound-allocate",))),
    Wrong("robust.no-crash", AppendRaises, (*ONE, Append(1))),
    Wrong("robust.atomic-failure", FailedAppendKeepsABlock,
          (Allocate(1, (1,), prompt(12)), step(1, tokens=5), Append(1, force=True)), TIGHT),
    Wrong("robust.atomic-failure", RefusingAdmissionTakesABlock, (Allocate(1, (1,), prompt(17), force=True),), TIGHT,
          also=frozenset(("accounting.conservation",))),
    Wrong("robust.free-any-state", FreeAgainRaises, (*ONE, Free(1), Free(1)), also=frozenset(("robust.no-crash",))),
    Wrong("robust.free-any-state", FreeAgainChanges, (*ONE, Allocate(2, (2,), prompt(3)), Free(2), Free(2)),
          also=frozenset(("table.frame", "table.announced"))),
    Wrong("robust.bad-input", TakesAnyInput, way=bad_inputs),
    Wrong("robust.bad-input", DamagedByBadInput, way=bad_inputs),
    Wrong("robust.deterministic", EveryOtherLifeIsDifferent, GROWN, way=twice),
    Wrong("robust.progress", NeverComesBack, config=Config(4, 3, 0), way=scheduled,
          also=frozenset(("admission.precise-allocate",))),
)  # fmt: skip
