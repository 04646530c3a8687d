"""The exploration is good, covers what it must, catches a wrong model, and knows which states are one."""

from __future__ import annotations

import itertools
import json
import re
import subprocess
import sys
from dataclasses import replace

import pytest

from kvspec import guards
from kvspec.explore import explore, retrace
from kvspec.exploring.choices import legal_operations
from kvspec.exploring.coverage import OUTCOMES, PARTS, gaps
from kvspec.exploring.judging import CHECKED, NOT_STATED, Tally
from kvspec.exploring.scopes import DEEP, SCOPES, Scope
from kvspec.exploring.sight import look
from kvspec.laws import CATALOGUE
from kvspec.model import cache as caches
from kvspec.model import manager
from kvspec.model import pool as pools
from kvspec.model.columns import Plain
from kvspec.model.manager import Impossible, carry_out, empty, perform
from kvspec.model.operations import COMPOSED
from kvspec.model.steps import MICRO_STEPS
from kvspec.vocabulary import (
    OPERATIONS,
    Allocate,
    Append,
    Config,
    Device,
    Fork,
    Free,
    Preempt,
    ResetAll,
    Result,
    Status,
    Step,
    SwapIn,
    SwapOut,
    Verdict,
)

GPU, CPU = Device.GPU, Device.CPU


@pytest.fixture(scope="module")
def explored():
    return explore()


# -- the right model ------------------------------------------------------------------------------------


def test_the_model_agrees_with_its_proofs(explored):
    assert explored.good, f"{explored.reason} after {explored.path}"
    assert not explored.path


def test_every_scope_is_enumerated_whole(explored):
    assert [walked.scope for walked in explored.walked] == list(SCOPES)
    assert all(walked.whole for walked in explored.walked)
    assert explored.states > 2_000
    assert explored.transitions > 20_000
    assert explored.deepest >= 8


def test_operations_are_composed_as_the_table_says(explored):
    assert set(explored.tally.fired) == set(PARTS)
    assert set(explored.tally.performed) == set(OPERATIONS) == set(COMPOSED)


def test_every_guard_answers_everything(explored):
    assert set(explored.tally.guards) == set(OUTCOMES)
    assert len(OUTCOMES) == 12


def test_every_law_is_judged_or_has_a_reason_why_not(explored):
    assert set(CHECKED) | set(NOT_STATED) == set(CATALOGUE)
    assert set(explored.tally.laws) == set(CHECKED)
    assert all(len(reason) > 30 for reason in NOT_STATED.values())


def test_it_reports_in_plain_values(explored):
    data = json.loads(json.dumps(explored.as_data()))
    assert data["good"]
    assert data["states"] == explored.states
    assert data["guards"]["swap_in.later"] > 0
    assert data["micro_steps"]["swap_in.replace.gpu"] > 0


def test_progress_is_told_level_by_level():
    told = []
    explore(told.append, 2, SCOPES[:1])
    assert len(told) == 3


def test_the_scopes_are_small():
    for scope in DEEP:
        assert scope.config.block_size <= 2
        assert 1 <= scope.config.num_cpu_blocks <= scope.config.num_gpu_blocks <= 3
    assert {scope.config.watermark_blocks for scope in SCOPES} == {0, 1}
    assert {scope.config.block_size for scope in SCOPES} == {1, 2}


def test_it_runs_without_the_solver():
    code = "import sys, kvspec.explore; sys.exit('z3' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# -- what was not exercised is not good -----------------------------------------------------------------


def test_too_few_operations_are_not_enough():
    short = explore(depth=2)
    assert not short.good
    assert "swap_in.replace.gpu never happened" in short.reason
    assert not any(walked.whole for walked in short.walked)


def test_a_scope_that_cannot_reach_everything_is_not_enough():
    no_lookahead = explore(scopes=[replace(SCOPES[0], lookaheads=(0,), grants=(0,))])
    assert not no_lookahead.good
    assert "append never answered later" in no_lookahead.reason
    assert "admission.precise-append was never judged with its premise met" in no_lookahead.reason


def test_nothing_at_all_is_missed_everywhere():
    missing = list(gaps(Tally()))
    assert len(missing) == len(OPERATIONS) + len(PARTS) + len(OUTCOMES) + len(CHECKED)


def test_a_part_that_no_operation_does_is_missed(explored, monkeypatch):
    monkeypatch.setattr("kvspec.exploring.coverage.PARTS", (*PARTS, ("fork", "take", "gpu")))
    assert list(gaps(explored.tally)) == ["fork.take.gpu never happened"]


def test_a_part_that_the_table_lacks_disagrees(monkeypatch):
    monkeypatch.setitem(COMPOSED, "fork", ())
    wrong = explore(scopes=SCOPES[:1])
    assert wrong.reason == "share on the gpu is no part of fork"
    assert isinstance(wrong.path[-1], Fork)


# -- wrong models ---------------------------------------------------------------------------------------


def _do(monkeypatch, name, wrong):
    """Let a micro-step do something else: `wrong` gets the cache before, the one right after, and where."""
    step = MICRO_STEPS[name]
    monkeypatch.setitem(
        MICRO_STEPS, name, replace(step, do=lambda a, cache, at: wrong(cache, step.do(a, cache, at), at))
    )


def release_never_frees(monkeypatch):
    _do(monkeypatch, "release", lambda was, now, at: replace(now, pool=replace(now.pool, free=was.pool.free)))


def release_frees_what_is_shared(monkeypatch):
    right = pools.return_block
    monkeypatch.setattr(pools, "return_block", lambda a, pool, block, gone: right(a, pool, block, True))


def release_leaves_the_rank(monkeypatch):
    _do(monkeypatch, "release", lambda was, now, at: replace(now, pool=replace(now.pool, at=was.pool.at)))


def share_forgets_the_refcount(monkeypatch):
    _do(monkeypatch, "share", lambda was, now, at: replace(now, pool=replace(now.pool, ref=was.pool.ref)))


def share_reads_nothing(monkeypatch):
    _do(monkeypatch, "share", lambda was, now, at: replace(now, computed=now.computed.put(at.entry, 0)))


def take_hands_out_what_is_held(monkeypatch):
    monkeypatch.setattr(pools, "next_block", lambda pool: 0)


def take_believes_what_was_there(monkeypatch):
    _do(
        monkeypatch,
        "take",
        lambda was, now, at: replace(now, computed=now.computed.put(at.entry, max(0, was.computed[at.entry]))),
    )


def copy_copies_nothing(monkeypatch):
    _do(monkeypatch, "replace", lambda was, now, at: replace(now, holds=was.holds))


def transfer_carries_nothing(monkeypatch):
    _do(monkeypatch, "transfer", lambda was, now, at: replace(now, holds=was.holds))


def follower_loses_its_kv(monkeypatch):
    _do(monkeypatch, "follow", lambda was, now, at: replace(now, computed=now.computed.put(at.entry, 0)))


def write_misses_the_slot(monkeypatch):
    _do(monkeypatch, "write", lambda was, now, at: replace(now, holds=was.holds))


def writers_share(monkeypatch):
    monkeypatch.setattr(manager, "_entries_of", lambda seq, slots, block_size: [])


def writers_share_and_nobody_minds(monkeypatch):
    writers_share(monkeypatch)
    monkeypatch.setitem(MICRO_STEPS, "write", replace(MICRO_STEPS["write"], rule=None))


def swap_in_ignores_unseen_tokens(monkeypatch):
    right = guards.swap_in_demand

    def wrong(a, moved, seqs, *more):
        return right(a, moved, [replace(seq, tokens=seq.seen) for seq in seqs], *more)

    monkeypatch.setattr(guards, "swap_in_demand", wrong)


def append_ignores_lookahead(monkeypatch):
    right = guards.append_demand
    monkeypatch.setattr(guards, "append_demand", lambda a, seqs, lookahead, *more: right(a, seqs, 0, *more))


def append_forgets_its_own_blocks(monkeypatch):
    right = guards.append_demand
    monkeypatch.setattr(guards, "append_demand", lambda *args: right(*args[:-1], 0))


def allocate_ignores_the_watermark(monkeypatch):
    right = guards.allocate_demand
    monkeypatch.setattr(guards, "allocate_demand", lambda *args: right(*args[:-1], 0))


def swap_in_ignores_the_watermark(monkeypatch):
    right = guards.swap_in_demand
    monkeypatch.setattr(guards, "swap_in_demand", lambda *args: right(*args[:-1], 0))


def never_ignores_the_watermark(monkeypatch):
    monkeypatch.setattr(guards, "is_never", lambda demand: demand.attainable < demand.need)


def never_too_early(monkeypatch):
    monkeypatch.setattr(guards, "is_never", lambda demand: demand.attainable - demand.need <= demand.reserve)


def ok_one_block_late(monkeypatch):
    monkeypatch.setattr(guards, "is_ok", lambda demand, free: free - demand.need > demand.reserve)


def everybody_copies(monkeypatch):
    right = manager.append_counts

    def wrong(seqs, lookahead, cache):
        return [count for seq in seqs for count in right([seq], lookahead, cache)]

    monkeypatch.setattr(manager, "append_counts", wrong)


def swaps_count_entries(monkeypatch):
    monkeypatch.setattr(manager, "distinct", lambda seqs, cache: sum(seq.entries for seq in seqs))


def free_forgets_the_cpu(monkeypatch):
    right = manager._release_table
    monkeypatch.setattr(
        manager, "_release_table", lambda work, seq: None if seq.status is Status.SWAPPED else right(work, seq)
    )


def failure_leaves_a_trace(monkeypatch):
    right = manager.carry_out

    def wrong(before, op):
        done = right(before, op)
        ran_out = done.result is Result.OUT_OF_BLOCKS
        return replace(done, after=replace(before, ended=before.ended | {99})) if ran_out else done

    monkeypatch.setattr(manager, "carry_out", wrong)


def columns_change_in_place(monkeypatch):
    def put(self, index, value):
        self.cells[index] = value
        return self

    monkeypatch.setattr(Plain, "put", put)


WRONG = {
    release_never_frees: r"free-iff-unowned|admission\.impossible-is-never",
    release_frees_what_is_shared: r"accounting\.no-double-free",
    release_leaves_the_rank: r"owner-has-rank|rank-has-owner",
    share_forgets_the_refcount: r"owner-has-rank|rank-has-owner",
    share_reads_nothing: r"the KV of sequence \d is lost",
    take_hands_out_what_is_held: r"free-iff-unowned",
    take_believes_what_was_there: r"read-back|covered tokens",
    copy_copies_nothing: r"data\.copies",
    transfer_carries_nothing: r"data\.swap-content|same-content",
    follower_loses_its_kv: r"data\.swap-content",
    write_misses_the_slot: r"read-back",
    writers_share: r"robust\.no-crash is broken: exclusive-writer",
    writers_share_and_nobody_minds: r"data\.exclusive-write",
    swap_in_ignores_unseen_tokens: r"swap_in took 2 blocks and demanded 1",
    append_ignores_lookahead: r"append took 1 blocks and demanded 0",
    append_forgets_its_own_blocks: r"admission\.impossible-is-never",
    allocate_ignores_the_watermark: r"admission\.watermark",
    swap_in_ignores_the_watermark: r"admission\.watermark",
    never_ignores_the_watermark: r"admission\.impossible-is-never",
    never_too_early: r"admission\.never-is-final|was answered never",
    ok_one_block_late: r"admission\.precise-",
    everybody_copies: r"admission\.precise-append",
    swaps_count_entries: r"admission\.precise-swap-out",
    free_forgets_the_cpu: r"a sequence that is over has a table on the cpu",
    failure_leaves_a_trace: r"robust\.atomic-failure",
    columns_change_in_place: r"",
}


@pytest.mark.parametrize("mutate", WRONG, ids=lambda mutate: mutate.__name__)
def test_a_wrong_model_is_caught_and_the_way_to_it_leads_there(mutate, monkeypatch):
    mutate(monkeypatch)
    wrong = explore()
    assert not wrong.good
    assert re.search(WRONG[mutate], wrong.reason), wrong.reason
    assert wrong.path
    assert wrong.scope is not None
    assert retrace(wrong.scope, wrong.path) == wrong.reason
    assert json.loads(json.dumps(wrong.as_data()))["path"][-1]["op"] == wrong.path[-1].op


LAWS_ALONE = {
    swap_in_ignores_unseen_tokens: "admission.sound-swap-in",
    append_ignores_lookahead: "admission.sound-append",
    never_too_early: "admission.never-is-final",
}


@pytest.mark.parametrize("mutate", LAWS_ALONE, ids=lambda mutate: mutate.__name__)
def test_laws_alone_would_catch_it(mutate, monkeypatch):
    mutate(monkeypatch)
    monkeypatch.setattr("kvspec.exploring.requests.require", lambda holds, what: None)
    assert explore().reason.startswith(f"{LAWS_ALONE[mutate]} is broken")


def test_no_shorter_way_leads_there(monkeypatch):
    swap_in_ignores_unseen_tokens(monkeypatch)
    wrong = explore(scopes=SCOPES[:1])
    assert explore(depth=len(wrong.path) - 1, scopes=SCOPES[:1]).path == ()


def test_the_same_way_is_quiet_in_the_right_model(monkeypatch):
    with monkeypatch.context() as patch:
        swap_in_ignores_unseen_tokens(patch)
        wrong = explore(scopes=SCOPES[:1])
    assert [op.op for op in wrong.path] == ["allocate", "step", "swap_out", "swap_in"]
    assert retrace(wrong.scope, wrong.path) == ""


# -- which states are one -------------------------------------------------------------------------------


def _renamed(cache, new):
    """The same cache with other block numbers, and another order of what is free."""
    pool = cache.pool

    def name(block):
        return new.get(block, block)

    free = [name(pool.perm[place]) for place in range(pool.free)]
    held = [name(pool.perm[place]) for place in range(pool.free, pool.size)]
    order = [*reversed(free), *held]
    return replace(
        cache,
        pool=replace(
            pool,
            ref=Plain({name(block): ref for block, ref in pool.ref.cells.items()}),
            tab=Plain({entry: name(block) for entry, block in pool.tab.cells.items()}),
            at=Plain({(name(block), rank): entry for (block, rank), entry in pool.at.cells.items()}),
            perm=Plain(dict(enumerate(order))),
            pos=Plain({block: place for place, block in enumerate(order)}),
        ),
        holds=Plain({(name(block), slot): content for (block, slot), content in cache.holds.cells.items()}),
    )


def _renamings(state):
    for blocks in itertools.permutations(range(state.config.num_gpu_blocks)):
        new = dict(enumerate(blocks))
        yield replace(state, gpu=_renamed(state.gpu, new))
    yield replace(state, cpu=_renamed(state.cpu, {0: 1, 1: 0}))


def _some_states(scope, most):
    frontier = [empty(scope.config)]
    known = {look(frontier[0]).key}
    for state in frontier:
        for op in legal_operations(state, scope):
            after = perform(state, op).after
            if look(after).key not in known:
                known.add(look(after).key)
                frontier.append(after)
        if len(frontier) > most:
            return frontier
    return frontier


RENAMED = Scope(Config(2, 3, 2, 0, max_model_len=3), lookaheads=(0, 2))


def test_states_that_differ_in_block_numbers_are_one():
    for state in _some_states(RENAMED, 150):
        assert {look(other).key for other in _renamings(state)} == {look(state).key}


def test_states_that_are_one_go_on_alike():
    for state in _some_states(RENAMED, 60)[::4]:
        for op in legal_operations(state, RENAMED):
            done = perform(state, op)
            for other in _renamings(state):
                again = perform(other, op)
                assert (again.result, again.verdict, again.fired) == (done.result, done.verdict, done.fired)
                assert look(again.after).key == look(done.after).key


def _run(*ops):
    state = empty(Config(2, 3, 2, 0))
    for op in ops:
        done = perform(state, op)
        assert done.result is Result.OK
        state = done.after
    return state


PAIR = (Allocate(1, (1, 2), (1,)), Step({}))
DIFFERENT = {
    "nothing": _run(),
    "a freed sequence": _run(Allocate(1, (1,), (1,)), Free(1)),
    "one sequence": _run(Allocate(1, (1,), (1,))),
    "another sequence": _run(Allocate(2, (2,), (2,))),
    "a computed one": _run(Allocate(1, (1,), (1,)), Step({})),
    "an unseen token": _run(Allocate(1, (1,), (1,)), Step({1: (1,)})),
    "a longer prompt": _run(Allocate(1, (1,), (1, 1))),
    "lookahead": _run(Allocate(1, (1,), (1,), 2)),
    "two that share": _run(Allocate(1, (1, 2), (1,))),
    "two groups": _run(Allocate(1, (1,), (1,)), Allocate(2, (2,), (1,))),
    "two that share, computed": _run(*PAIR),
    "two that parted": _run(*PAIR, Append(1, 1)),
    "a waiting group": _run(*PAIR, Preempt(1)),
    "a swapped group": _run(*PAIR, SwapOut(1)),
    "a resumed group": _run(*PAIR, SwapOut(1), SwapIn(1)),
}


@pytest.mark.parametrize(("one", "other"), list(itertools.combinations(DIFFERENT, 2)))
def test_states_that_differ_otherwise_are_two(one, other):
    assert look(DIFFERENT[one]).key != look(DIFFERENT[other]).key


@pytest.mark.parametrize("column", ["ref", "free", "computed", "holds"])
def test_a_state_that_is_damaged_is_no_other_state(column):
    state = DIFFERENT["two that share, computed"]
    gpu, pool, block = state.gpu, state.gpu.pool, state.gpu.pool.tab[1, 0]
    damaged = {
        "ref": replace(gpu, pool=replace(pool, ref=pool.ref.put(block, 1))),
        "free": replace(gpu, pool=replace(pool, free=pool.free - 1)),
        "computed": replace(gpu, computed=gpu.computed.put((1, 0), 0)),
        "holds": replace(gpu, holds=gpu.holds.put((block, 0), (7,))),
    }[column]
    assert look(replace(state, gpu=damaged)).key != look(state).key


def test_a_reset_leads_back_to_the_start():
    assert look(_run(*PAIR, SwapOut(1), ResetAll())).key == look(_run()).key


# -- operations -----------------------------------------------------------------------------------------


def test_a_refused_operation_changes_nothing():
    state = DIFFERENT["lookahead"]
    done = perform(state, Allocate(2, (2,), (2,) * 3))
    assert (done.result, done.verdict) == (Result.REFUSED, Verdict.LATER)
    assert done.after is state
    assert done.fired == ()


def test_a_forced_operation_runs_out_and_changes_nothing():
    state = DIFFERENT["lookahead"]
    done = perform(state, Allocate(2, (2,), (2,) * 3, force=True))
    assert (done.result, done.verdict) == (Result.OUT_OF_BLOCKS, Verdict.LATER)
    assert done.after is state
    assert [fired.step for fired in done.fired] == ["take"]


def test_a_forced_operation_crosses_the_watermark():
    done = perform(empty(Config(2, 1, 0, 1)), Allocate(1, (1,), (1,), force=True))
    assert (done.result, done.verdict) == (Result.OK, Verdict.NEVER)


def test_the_last_owner_writes_in_place():
    state = _run(*PAIR, Append(1, 1))
    done = perform(_run(*PAIR), Append(1, 1))
    assert [(fired.step, fired.entry) for fired in done.fired] == [("replace", (1, 0))]
    assert done.demand.need == 1
    assert state.gpu.pool.tab[1, 0] != state.gpu.pool.tab[2, 0]


def test_a_group_that_parted_cannot_share_a_prompt_again():
    """Why `legal_operations` does not readmit one: the rules know only prompts that the whole group shares."""
    parted = _run(*PAIR, Append(1), Step({1: (1,), 2: (2,)}), Preempt(1))
    scope = Scope(parted.config)
    assert not any(isinstance(op, Allocate) and op.tokens is None for op in legal_operations(parted, scope))
    together = carry_out(parted, Allocate(1, (1, 2), None)).after
    with pytest.raises(Impossible, match="exclusive-writer"):
        carry_out(together, Step({}))


def test_nothing_is_appended_or_forked_before_it_is_computed():
    scope = Scope(Config(2, 3, 2), seqs=3)
    scheduled, settled = _run(Allocate(1, (1,), (1,))), _run(Allocate(1, (1,), (1,)), Step({}))
    kinds = [{type(op) for op in legal_operations(state, scope)} for state in (scheduled, settled)]
    assert not kinds[0] & {Append, Fork}
    assert kinds[1] >= {Append, Fork}


def test_ids_are_used_once_until_a_reset():
    scope = Scope(Config(2, 3, 2))
    freed = _run(Allocate(1, (1,), (1,)), Free(1))
    assert {op.seqs for op in legal_operations(freed, scope) if isinstance(op, Allocate)} == {(2,)}
    assert Free(1) in list(legal_operations(freed, scope))
    assert perform(freed, Free(1)).after == freed


def test_rules_are_kept_at_every_reader():
    assert MICRO_STEPS["write"].rule is caches.EXCLUSIVE_WRITER
    assert MICRO_STEPS["follow"].rule is caches.SAME_CONTENT
