"""The model is whole: every operation, micro-step, invariant and law has its theorems, and nothing is redundant."""

from __future__ import annotations

import functools

import pytest

from kvspec.laws import CATALOGUE
from kvspec.model.cache import CONTENTS
from kvspec.model.columns import Cells, Plain
from kvspec.model.index import HITS, OWN_STEPS, PUBLISHED, STEPS, Index
from kvspec.model.operations import COMPOSED, COMPOSED_WITH_INDEX, COMPOSED_WITH_WINDOW
from kvspec.model.pool import INVARIANT
from kvspec.model.steps import MICRO_STEPS
from kvspec.prover import discharge
from kvspec.theorems import OBLIGATIONS, UNPROVED
from kvspec.theorems.needed import GUARD_TERMS, UNNEEDED, WITNESSES, without
from kvspec.theorems.obligation import PROOFS, Kind, Obligation, is_variant
from kvspec.theorems.operations import PARTS
from kvspec.theorems.prefix import PARTS_WITH_INDEX
from kvspec.theorems.reachable import PATHS, PATHS_WITH_INDEX
from kvspec.theorems.requests import ASKED
from kvspec.theorems.window import LIVE_HELD, PARTS_WITH_WINDOW
from kvspec.vocabulary import GUARDED, OPERATIONS

z3 = pytest.importorskip("z3")

BY_ID = {obligation.id: obligation for obligation in OBLIGATIONS}
PROOFS_OF = {law: [o for o in OBLIGATIONS if o.law == law and o.kind in PROOFS] for law in CATALOGUE}
PROVED = [law for law in CATALOGUE if PROOFS_OF[law]]


@functools.cache
def hypotheses(obligation: Obligation) -> tuple[str, ...]:
    from kvspec.terms import Terms

    claim = obligation.build(Terms(), **{name: z3.Int(name) for name in obligation.unknowns})
    return tuple(dict.fromkeys(claim.names))


NAMED = {name for o in OBLIGATIONS if o.kind in PROOFS for name in hypotheses(o)}


# -- operations and micro-steps -------------------------------------------------------------------------


def test_every_operation_is_composed():
    assert set(COMPOSED) == set(OPERATIONS)


@pytest.mark.parametrize("op", list(COMPOSED))
def test_every_part_of_it_is_a_micro_step_that_is_proved_to_be_possible(op):
    for part in COMPOSED[op]:
        assert part.step in MICRO_STEPS
        assert BY_ID[PARTS[op, part]].kind in PROOFS


def test_every_micro_step_is_part_of_some_operation():
    assert {part.step for parts in COMPOSED.values() for part in parts} == set(MICRO_STEPS)


def test_what_takes_blocks_is_guarded():
    for op, parts in COMPOSED.items():
        if any(MICRO_STEPS[part.step].takes for part in parts):
            assert op in GUARDED
            assert op.replace("_", "-") in ASKED


@pytest.mark.parametrize("step", list(MICRO_STEPS))
def test_every_micro_step_keeps_every_part_of_the_invariants_and_can_happen(step):
    kept = {f"ownership.{step}.keeps.{conjunct.name}" for conjunct in INVARIANT}
    kept |= {f"data.{step}.keeps.{conjunct.name}" for conjunct in CONTENTS}
    for name in ("others-alone", "conserves", "takes", "no-double-free", "frame"):
        kept.add(f"ownership.{step}.{name}")
    assert all(BY_ID[name].kind in PROOFS for name in kept)
    assert PATHS[step][-1][1] is MICRO_STEPS[step]
    assert discharge(BY_ID[f"reachable.{step}"]).good


@pytest.mark.parametrize("conjunct", [*INVARIANT, *CONTENTS], ids=lambda conjunct: conjunct.name)
def test_every_part_of_the_invariants_holds_at_the_start(conjunct):
    area = "ownership" if conjunct in INVARIANT else "data"
    assert f"{area}.start.{conjunct.name}" in BY_ID


# -- with an index --------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", list(STEPS))
def test_every_micro_step_keeps_every_part_of_the_index(step):
    assert all(BY_ID[f"prefix.{step}.keeps.{conjunct.name}"].kind in PROOFS for conjunct in PUBLISHED)


@pytest.mark.parametrize("conjunct", PUBLISHED, ids=lambda conjunct: conjunct.name)
def test_every_part_of_the_index_holds_at_the_start(conjunct):
    assert f"prefix.start.{conjunct.name}" in BY_ID


def an_index(cache=None) -> Index:
    """Of nothing but a cache; the numbers are 0."""
    empty = Plain({(0, 0): 0, 0: 0})
    return Index(cache, empty, empty, empty, 0, empty)


@pytest.mark.parametrize("name", list(OWN_STEPS))
def test_what_is_new_with_an_index_keeps_the_invariants_of_the_cache_or_leaves_it_alone(name):
    from kvspec.algebra import INTS
    from kvspec.model.cache import At, Cache
    from kvspec.model.pool import Pool

    if OWN_STEPS[name] in HITS:
        kept = {f"prefix.{name}.keeps.{conjunct.name}" for conjunct in (*INVARIANT, *CONTENTS)}
        assert all(BY_ID[each].kind in PROOFS for each in kept)
        return
    cells = Plain({0: 0})
    cache = Cache(Pool(1, cells, cells, cells, cells, cells, cells, 0), 1, cells, cells, cells)
    after = OWN_STEPS[name].do(INTS, an_index(cache), At(0, content=1, block=0))
    assert after.cache is cache


@pytest.mark.parametrize("name", list(OWN_STEPS))
def test_what_is_new_with_an_index_can_happen(name):
    assert PATHS_WITH_INDEX[name][-1] == name
    assert discharge(BY_ID[f"reachable.{name}"]).good


def test_every_loop_of_an_operation_with_an_index_has_a_theorem():
    parts = {(op, part.step) for op, parts in COMPOSED_WITH_INDEX.items() for part in parts}
    assert parts == set(PARTS_WITH_INDEX)
    assert all(BY_ID[name].kind in PROOFS for name in PARTS_WITH_INDEX.values())
    assert {step for _, step in parts} <= set(STEPS)
    assert set(OWN_STEPS) <= {step for _, step in parts}
    assert set(COMPOSED_WITH_INDEX) <= set(COMPOSED)


# -- under a window -------------------------------------------------------------------------------------


def test_every_micro_step_keeps_what_a_window_reads_and_leaves_the_null_block_apart():
    assert {f"window.{step}.keeps.live-held" for step in MICRO_STEPS} < set(LIVE_HELD)
    apart = {f"null.{step}.stays-apart" for step in (*MICRO_STEPS, *(hit.name for hit in HITS))}
    assert all(BY_ID[name].kind in PROOFS for name in (*LIVE_HELD, *apart))


def test_every_loop_of_an_operation_under_a_window_has_a_theorem():
    parts = {(op, part.step) for op, parts in COMPOSED_WITH_WINDOW.items() for part in parts}
    assert parts == set(PARTS_WITH_WINDOW)
    assert all(BY_ID[name].kind in PROOFS for name in PARTS_WITH_WINDOW.values())
    assert all(parts[-len(COMPOSED[op]) :] == COMPOSED[op] for op, parts in COMPOSED_WITH_WINDOW.items())


# -- nothing vacuous, nothing redundant -----------------------------------------------------------------


def test_every_named_hypothesis_is_needed_or_has_a_reason():
    assert set(WITNESSES) | set(UNNEEDED) == NAMED
    assert not set(WITNESSES) & set(UNNEEDED)
    assert all(len(reason) > 30 for reason in UNNEEDED.values())


def test_no_part_of_an_invariant_is_needed_by_itself_alone():
    for name, witness in WITNESSES.items():
        assert not witness.endswith(f"keeps.{name}")


@pytest.mark.parametrize("name", list(UNNEEDED))
def test_what_is_said_to_be_needed_by_nothing_is_not(name):
    """Dropped, each proof of a few that names it still has no small counterexample."""
    tried = [o for o in OBLIGATIONS if o.kind in PROOFS and name in hypotheses(o) and not o.id.endswith(name)]
    for obligation in tried[::8]:
        weaker = Obligation("t", Kind.VACUITY, "s", _negated(without(obligation, name)), obligation.unknowns)
        assert discharge(weaker).status == "refuted", obligation.id


def _negated(build):
    from kvspec.theorems.obligation import Claim

    def negated(a, **numbers):
        claim = build(a, **numbers)
        return Claim([*claim.given, a.negate(claim.goal)], a.all_of())

    return negated


# -- for any size -----------------------------------------------------------------------------------------

LARGE = 1_000_000


def held_by_hypotheses(obligation: Obligation) -> list[str]:
    """The numbers that the hypotheses of a proof keep from being large."""
    from kvspec.terms import Terms, truth

    a, numbers = Terms(), {name: z3.Int(name) for name in obligation.unknowns}
    claim = obligation.general(a) if obligation.general else obligation.build(a, **numbers)
    solver = z3.SimpleSolver()
    facts = [truth(fact) for fact in (*claim.facts, *a.definitions)]
    solver.add(*(fact for fact in facts if not z3.is_quantifier(fact)))
    names = obligation.unknowns if obligation.general is None else ("here.size", "pool.size", "block_size")
    held = []
    for name in names:
        solver.push()
        solver.add(z3.Int(name) >= LARGE)
        if solver.check() != z3.sat:
            held.append(name)
        solver.pop()
    return held


NOTHING_OUTSTANDING, NOTHING_FREE = ["moves", "copies"], ["now_free"]
HELD = {
    "copying.turns.last-in-place": ["still"],
    "guards.course.next": NOTHING_OUTSTANDING,
    "guards.table.covers": NOTHING_OUTSTANDING,
    "guards.allocate.watermark": [*NOTHING_OUTSTANDING, "rest"],
    "guards.swap-in.watermark": [*NOTHING_OUTSTANDING, "rest"],
    "guards.allocate-with-hits.watermark": [*NOTHING_OUTSTANDING, "rest"],
    "guards.allocate-in-ring.watermark": [*NOTHING_OUTSTANDING, "rest"],
    "guards.append-with-null.precise": NOTHING_FREE,
    "guards.append-with-null.never-fails-alone": NOTHING_FREE,
    "guards.append.precise": NOTHING_FREE,
    "guards.swap-out.precise": NOTHING_FREE,
    "guards.append.never-fails-alone": NOTHING_FREE,
    "guards.swap-out.never-fails-alone": NOTHING_FREE,
    "prefix.order.strands-nothing": ["is_cached"],
}
"""What is rightly small: of owners the last, of an ended operation what is outstanding, of a stuck one what is free, of
what goes on from a prefix that is evicted whether it is cached.
"""


@pytest.mark.parametrize(
    "obligation",
    [o for o in OBLIGATIONS if o.kind in PROOFS and o.id != "ownership.refcount.counted"],
    ids=lambda obligation: obligation.id,
)
def test_no_hypothesis_hides_a_bound(obligation):
    """A proof for any number of blocks must not assume, in whatever words, that there are few."""
    assert held_by_hypotheses(obligation) == HELD.get(obligation.id, [])


COURSE_OF_A_GUARD = {"course.take", "course.ends", "course.next", "need.adds-up"}


@pytest.mark.parametrize("guard", list(ASKED))
@pytest.mark.parametrize("claim", ["sound", "precise", "impossible-is-never", "never-fails-alone"])
def test_what_a_guard_is_proved_by_rests_on_the_whole_induction(guard, claim):
    rests_on = set(BY_ID[f"guards.{guard}.{claim}"].rests_on)
    assert rests_on >= {f"guards.{guard}.starts", *(f"guards.{name}" for name in COURSE_OF_A_GUARD)}


def says_nothing_new(obligation: Obligation) -> bool:
    """Whether its goal is true by the definitions alone, or is one of its hypotheses."""
    from kvspec.terms import Terms, truth

    a = Terms()
    numbers = {name: z3.Int(name) for name in obligation.unknowns}
    claim = obligation.general(a) if obligation.general else obligation.build(a, **numbers)
    goal = z3.simplify(truth(claim.goal))
    return z3.is_true(goal) or any(z3.simplify(truth(fact)).eq(goal) for fact in claim.facts)


TRUE_BY_DEFINITION = {
    "guards.need.adds-up",
    "guards.table.tight",
    "ownership.share.keeps.free-in-range",
    "ownership.follow.keeps.free-in-range",
    "ownership.write.keeps.free-in-range",
    "ownership.release.once",
    *(f"ownership.write.{name}" for name in ("others-alone", "conserves", "no-double-free", "frame")),
    *(f"ownership.{step}.takes" for step in ("take", "share", "transfer", "follow", "write")),
    "ownership.share.takes-nothing",
    *(f"atomicity.{step}.taken-back.contents" for step in ("take", "share", "follow")),
    "atomicity.free.again",
    "refinement.reorder.keeps.free-in-range",
    "refinement.filled.share",
    "prefix.join.keeps.free-in-range",
    *(f"prefix.{step}.takes" for step in ("join", "revive")),
    "prefix.found.leaves-one",
}
"""Theorems that a definition settles, mostly that a micro-step leaves alone what it does not touch. They are kept so
that each table of theorems is whole; no other theorem may become one of them unnoticed.
"""


def test_the_theorems_that_say_nothing_new_are_these():
    assert {o.id for o in OBLIGATIONS if o.kind in PROOFS and says_nothing_new(o)} == TRUE_BY_DEFINITION


GUARD_NAMES = {op.replace("_", "-") for op in GUARDED}


@pytest.mark.parametrize("guard", list(ASKED))
def test_every_term_of_the_guard_has_a_variant_that_leaves_it_out(guard):
    for name in GUARD_TERMS[guard].values():
        infix = "wrong" if guard in GUARD_NAMES else "bent"
        assert BY_ID[f"guards.{guard}.{infix}.{name}"].kind is Kind.REFUTATION


RESTS_ON_THE_ACTION_ALONE = {
    "admission.sound-fork": "ownership.share.wrong.copies-instead",
    "data.swap-keeps-sharing": "data.follow.wrong.one-of-its-own",
}
"""Laws that hold by what the micro-step does, whatever is known before: it is the action that has to be weakened."""


@pytest.mark.parametrize("law", PROVED)
def test_without_its_key_hypothesis_a_proof_of_the_law_fails(law):
    if law in RESTS_ON_THE_ACTION_ALONE:
        result = discharge(BY_ID[RESTS_ON_THE_ACTION_ALONE[law]])
        assert result.good
        assert BY_ID[result.id].law == law
        return
    for obligation in PROOFS_OF[law]:
        for name in hypotheses(obligation):
            build = without(obligation, name)
            weaker = Obligation("t", Kind.REFUTATION, "s", build, obligation.unknowns, right=obligation.build)
            if discharge(weaker).good:
                return
    pytest.fail("no hypothesis of any of its proofs is needed")


@pytest.mark.parametrize("law", PROVED)
def test_some_wrong_variant_breaks_the_law(law):
    assert any(o.law == law and is_variant(o.id) for o in OBLIGATIONS if o.kind is Kind.REFUTATION)


def test_there_are_many_wrong_variants():
    assert sum(map(is_variant, BY_ID)) >= 100


def test_only_laws_about_code_and_schedulers_are_unproved():
    assert {CATALOGUE[law].area for law in UNPROVED} <= {"table", "admission", "robust"}
    assert len(UNPROVED) <= 6


# -- columns --------------------------------------------------------------------------------------------


def test_both_kinds_of_columns_agree_on_numbers():
    from kvspec.algebra import INTS

    start = {(i, j): 10 * i + j for i in range(3) for j in range(2)}
    cells, plain = Cells(INTS, lambda: start), Plain(start)
    for column in (cells, plain):
        changed = column.put((1, 1), 7).put_row(2, column.row(0))
        assert [changed[i, j] for i in range(3) for j in range(2)] == [0, 1, 10, 7, 0, 1]
        assert [column[i, j] for i in range(3) for j in range(2)] == [0, 1, 10, 11, 20, 21]
        assert column[5, 5] == -1


def test_cells_that_nobody_reads_are_never_made():
    from kvspec.algebra import INTS

    def make():
        raise AssertionError("read")

    column = Cells(INTS, make).put(0, 1).put_row(1, Cells(INTS, make).row(0))
    with pytest.raises(AssertionError, match="read"):
        column[0]
