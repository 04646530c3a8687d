"""How fast the kit judges, in one run on one machine: ratios are what to compare, `make bench`.

Prints operations a second of the bare reference manager, of the walk over it, and of the hypothesis machine over it,
for small and for larger pools; the same operations in pools of all sizes, which must not cost more in larger ones; and
shipped vectors a second. Medians of five.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence

from kvconform import vectors
from kvconform.adapter import capabilities_of
from kvconform.machine import explore
from kvconform.reference import ReferenceAdapter
from kvconform.run import Run
from kvconform.walk import Walk
from kvspec.edges import vectors as edges
from kvspec.vocabulary import Allocate, Append, Config, Free, Operation, Step, SwapIn, SwapOut

TIMES = 5
POOLS = (8, 1_000, 100_000)
LIVES = 100


def timed(work: Callable[[], int]) -> float:
    """Operations a second, median of five."""
    rates = []
    for _ in range(TIMES):
        began = time.perf_counter()
        operations = work()
        rates.append(operations / (time.perf_counter() - began))
    return statistics.median(rates)


def life(group: int) -> list[Operation]:
    """A group that is admitted, grows twice, and goes out and back."""
    ops: list[Operation] = [Allocate(group, (group,), (1,) * 7), Step({group: (1,)}), Append(group)]
    ops += [Step({group: (1, 2)}), Append(group, 4), Step({}), SwapOut(group), Step({}), SwapIn(group, 2), Step({})]
    return ops


def cycle(groups: int) -> list[Operation]:
    """Groups that all stay."""
    return [op for group in range(1, groups + 1) for op in life(group)]


def one_by_one(groups: int) -> list[Operation]:
    """Groups of which each is gone before the next one comes."""
    return [op for group in range(1, groups + 1) for op in (*life(group), Free(group))]


def judged(config: Config, ops: list[Operation]) -> int:
    """Carry the operations out under judgement."""
    return carried_out(Run(ReferenceAdapter(), config), ops)


def carried_out(run: Run, ops: list[Operation]) -> int:
    """The same on a run that has begun: how long that takes is the manager's affair."""
    for op in ops:
        run.apply(op)
    assert not run.found
    return len(ops)


def in_a_pool(blocks: int) -> float:
    """Judged operations a second in a pool of so many blocks."""
    runs = iter([Run(ReferenceAdapter(), Config(4, blocks, blocks, 1)) for _ in range(TIMES)])
    return timed(lambda: carried_out(next(runs), one_by_one(LIVES)))


def played(shipped: Sequence[edges.Vector]) -> int:
    """Every shipped vector, played once."""
    adapter = ReferenceAdapter()
    capabilities = capabilities_of(adapter)
    for vector in shipped:
        assert not vectors.raws(vectors.play(lambda config: Run(adapter, config), vector, adapter, capabilities))
    return len(shipped)


def bare(config: Config, groups: int) -> int:
    """The same calls on the bare manager."""
    adapter = ReferenceAdapter()
    adapter.start(config)
    manager = adapter.manager
    for group in range(1, groups + 1):
        manager.can_allocate(group, [group], 7)
        manager.allocate(group, [group], 7)
        for count, lookahead in ((1, 0), (2, 4)):
            manager.add_tokens(group, count)
            manager.can_append(group, lookahead)
            manager.append(group, lookahead)
        manager.can_swap_out(group)
        manager.swap_out(group)
        manager.can_swap_in(group, 2)
        manager.swap_in(group, 2)
        manager.append(group, 2)
    return 10 * groups


def walked() -> int:
    """A stretch of the fast walk."""
    adapter = ReferenceAdapter()
    walk = Walk(adapter, lambda config: Run(adapter, config), capabilities_of(adapter), seed=0)
    return sum(walk.one(number)[0].tally.operations for number in range(60))


def explored() -> int:
    """A stretch of the hypothesis machine."""
    adapter, total = ReferenceAdapter(), [0]

    def collect(run: Run, raws: object) -> None:
        total[0] += run.tally.operations

    explore(adapter, lambda config: Run(adapter, config), collect, examples=20, steps=25, seed=0)
    return total[0]


def main() -> None:
    """Measure and print."""
    for groups in (4, 32):
        config = Config(4, 8 * groups, 8 * groups, 1)
        alone, under = (
            timed(lambda c=config, g=groups: bare(c, g)),
            timed(lambda c=config, g=groups: judged(c, cycle(g))),
        )
        print(f"{groups:3} groups: bare {alone:10,.0f}/s   judged {under:8,.0f}/s   ratio {alone / under:5.1f}")
    for blocks in POOLS:
        print(f"{blocks:7,} blocks in each pool: judged {in_a_pool(blocks):8,.0f}/s")
    shipped = edges.load().vectors
    print(f"vectors       {timed(lambda: played(shipped)):8,.0f} played/s")
    print(f"walk          {timed(walked):8,.0f} judged operations/s")
    print(f"hypothesis    {timed(explored):8,.0f} judged operations/s")


if __name__ == "__main__":
    main()
