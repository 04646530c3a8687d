"""A device with an index on plain numbers: every state that a few micro-steps reach, with the invariants in each.

The proofs say that they hold after any number of micro-steps of any device. Here they are looked at in all states of a
small one, without a solver; and a rule that is bent is seen.
"""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from kvspec.algebra import INTS
from kvspec.model import index as model
from kvspec.model.cache import CONTENTS, At, Cache
from kvspec.model.columns import Plain
from kvspec.model.index import PUBLISHED, STEPS, Index
from kvspec.model.pool import INVARIANT, Pool

BLOCKS, ENTRIES, CONTENTS_THERE_ARE = range(2), range(3), range(2)


def a_device(block_size):
    """Two free blocks and an empty index. Each whole block has one content in all of its slots."""
    nothing, in_place = Plain({}), Plain({block: block for block in BLOCKS})
    pool = Pool(2, Plain(dict.fromkeys(BLOCKS, 0)), nothing, nothing, nothing, in_place, in_place, 2)
    slots = itertools.product(CONTENTS_THERE_ARE, range(block_size))
    spells = Plain({(content, slot): content for content, slot in slots})
    return Index(Cache(pool, block_size, nothing, nothing, nothing), nothing, nothing, nothing, 0, spells)


def another_device(block_size):
    """The entries 0 and 1 own one block there, of which one slot is computed."""
    index = a_device(block_size)
    for step, at in (("take", At(0)), ("write", At(0, slot=0, content=1)), ("share", At(1, other=0))):
        index = STEPS[step].do(INTS, index, at)
    return index.cache


def places(step, index, there):
    """Everywhere that a micro-step could be tried."""
    pairs = step.name in ("share", "follow", "join")
    contents = CONTENTS_THERE_ARE if step.name in ("write", "publish", "join", "revive") else (None,)
    blocks = BLOCKS if step.name in ("revive", "drop") else (None,)
    slots = range(index.cache.block_size) if step.name == "write" else (None,)
    others = ENTRIES if pairs else (None,)
    source = there if step.name in ("transfer", "follow") else None
    for entry, other, content, block, slot in itertools.product(ENTRIES, others, contents, blocks, slots):
        yield At(entry, other=other, source=source, slot=slot, content=content, block=block)


def possible(step, index, at):
    """Whether it may happen there, its rules included."""
    over = {"entry": ENTRIES, "number": range(index.cache.block_size), "block": BLOCKS}
    return step.can(INTS, index, at) and all(
        rule.holds(INTS, index, at, thing) for rule in step.rules for thing in over[rule.over]
    )


def broken(index):
    """The parts of the invariants that do not hold."""
    for conjuncts, subject in ((INVARIANT, index.cache.pool), (CONTENTS, index.cache), (PUBLISHED, index)):
        for conjunct in conjuncts:
            over = (ENTRIES if kind == "entry" else range(4) for kind in conjunct.over)
            if not all(conjunct.holds(INTS, subject, *things) for things in itertools.product(*over)):
                yield conjunct.name


def key_of(index):
    """All that a state is."""

    def parts(state):
        for value in vars(state).values():
            yield tuple(sorted(value.cells.items())) if isinstance(value, Plain) else value

    pool, cache = index.cache.pool, replace(index.cache, pool=None)
    return (*parts(pool), *parts(cache), *parts(replace(index, cache=None)))


def walk(block_size, depth, most_resets=1):
    """Every state within so many micro-steps, with how often each micro-step happened. Stops where one is broken."""
    there, start = another_device(block_size), a_device(block_size)
    known, frontier, happened = {key_of(start)}, [start], dict.fromkeys(STEPS, 0)
    for _ in range(depth):
        found = []
        for index, step in itertools.product(frontier, STEPS.values()):
            if step.name == "renew" and index.resets >= most_resets:
                continue
            for at in places(step, index, there):
                if possible(step, index, at):
                    happened[step.name] += 1
                    after = step.do(INTS, index, at)
                    if list(broken(after)):
                        return known, happened, (step.name, list(broken(after)))
                    if key_of(after) not in known:
                        known.add(key_of(after))
                        found.append(after)
        frontier = found
    return known, happened, None


@pytest.mark.parametrize(("block_size", "depth"), [(1, 5), (2, 5)])
def test_the_invariants_hold_in_every_state_that_is_reached(block_size, depth):
    known, happened, wrong = walk(block_size, depth)
    assert wrong is None
    assert len(known) > 500
    too_far = {"revive"} if block_size == 2 else set()
    assert {name for name in happened if not happened[name]} <= too_far


BENT = {
    "a take that keeps the entry": (
        "take",
        lambda step: lambda a, index, at: replace(step.do(a, index, at), key=index.key),
    ),
    "a take that does not count anew": (
        "take",
        lambda step: lambda a, index, at: replace(step.do(a, index, at), written=index.written),
    ),
    "a hit that reads more than there is": (
        "join",
        lambda step: (
            lambda a, index, at: replace(
                (right := step.do(a, index, at)),
                cache=replace(right.cache, computed=right.cache.computed.put(at.entry, index.cache.block_size + 1)),
            )
        ),
    ),
    "a revive that does not take the block": (
        "revive",
        lambda step: (
            lambda a, index, at: replace(
                (right := step.do(a, index, at)),
                cache=replace(right.cache, pool=replace(right.cache.pool, free=index.cache.pool.free)),
            )
        ),
    ),
}


@pytest.mark.parametrize("bent", list(BENT))
def test_a_bent_micro_step_is_seen(bent, monkeypatch):
    name, bend = BENT[bent]
    step = STEPS[name]
    monkeypatch.setitem(STEPS, name, replace(step, do=bend(step)))
    _, _, wrong = walk(1, 5)
    assert wrong is not None


@pytest.mark.parametrize(("name", "rule"), [("publish", "own-content"), ("publish", "computed-by-all")])
def test_a_rule_that_is_dropped_is_missed(name, rule, monkeypatch):
    step = STEPS[name]
    kept = tuple(one for one in step.rules if one.name != rule)
    assert len(kept) == len(step.rules) - 1
    monkeypatch.setitem(STEPS, name, replace(step, rules=kept))
    _, _, wrong = walk(1, 5)
    assert wrong is not None
    assert wrong[0] in ("publish", "write")


def test_a_reset_that_leaves_entries_is_seen(monkeypatch):
    monkeypatch.setitem(STEPS, "renew", replace(STEPS["renew"], rules=()))
    _, _, wrong = walk(1, 5)
    assert wrong == ("renew", ["published-fresh"])


# -- one life of a block --------------------------------------------------------------------------------


def test_a_block_is_published_given_up_found_again_and_lost():
    index = a_device(2)

    def do(name, at):
        assert possible(STEPS[name], index, at), name
        return STEPS[name].do(INTS, index, at)

    for name, at in (
        ("take", At(0)),
        ("write", At(0, slot=0, content=1)),
        ("write", At(0, slot=1, content=1)),
        ("publish", At(0, content=1)),
        ("release", At(0)),
    ):
        index = do(name, at)
    block = 1
    assert (index.key[block], index.cache.pool.ref[block], index.cache.pool.free) == (1, 0, 2)
    index = do("revive", At(1, content=1, block=block))
    assert (index.cache.pool.tab[1], index.cache.computed[1], index.cache.pool.free) == (block, 2, 1)
    index = do("join", At(2, other=1, content=1))
    assert index.cache.pool.ref[block] == 2
    assert not possible(STEPS["revive"], index, At(0, content=1, block=block))
    for entry in (1, 2):
        index = do("release", At(entry))
    index = do("take", At(0))
    assert index.cache.pool.tab[0] == block
    assert not model.is_published(index, block)


def test_nothing_of_before_a_reset_is_published_again():
    index = a_device(1)
    for name, at in (("take", At(0)), ("write", At(0, slot=0, content=0)), ("renew", At(0))):
        assert possible(STEPS[name], index, at)
        index = STEPS[name].do(INTS, index, at)
    assert not possible(STEPS["publish"], index, At(0, content=0))
