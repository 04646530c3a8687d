"""Each finding of docs/findings, confirmed against the bare manager: no run, no ledger, no judge of the kit.

Only the published manager is called, in the order of its engine's scheduler, with stand-in sequences.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from kvconform.engines import LoadedEngine
from kvconform.engines.vllm_managers import Generation, ManagerApi, find_manager
from kvconform.engines.vllm_standins import Request, Sequence, SequenceGroup
from kvconform.engines.vllm_standins import SequenceStatus as Status

Published = Callable[[str], LoadedEngine]


def second(engine: LoadedEngine, size: int, gpu: int, cpu: int, watermark: int = 0) -> tuple[Any, ManagerApi]:
    api = find_manager(engine, Generation.SECOND)
    return api.manager(size, gpu, cpu, watermark=(watermark + 0.5) / gpu if watermark else 0.0), api


def admitted(manager: Any, size: int, prompt: int) -> tuple[Sequence, SequenceGroup]:
    seq = Sequence(1, range(prompt), size)
    group = SequenceGroup("a", [seq])
    assert manager.can_allocate(group).name == "OK"
    manager.allocate(group)
    seq.status = Status.RUNNING
    return seq, group


def swapped_out_and_back(manager: Any, size: int) -> str:
    """One sequence of one block, one token generated but not appended, swapped out, and in if the guard says OK."""
    seq, group = admitted(manager, size, size)
    seq.tokens.append(9)
    assert manager.can_swap_out(group)
    manager.swap_out(group)
    seq.status = Status.SWAPPED
    verdict: str = manager.can_swap_in(group, 0).name
    if verdict == "OK":
        manager.swap_in(group)
        seq.status = Status.RUNNING
        manager.append_slots(seq, 0)
    return verdict


def test_unseen_tokens_ignored_by_swap_in(published: Published) -> None:
    """docs/findings/vllm-8824.md"""
    manager, api = second(published("0.6.2"), 1, 1, 1)
    with pytest.raises(api.out_of_blocks):
        swapped_out_and_back(manager, 1)
    manager, _ = second(published("0.6.3"), 1, 1, 2)
    assert swapped_out_and_back(manager, 1) == "NEVER"


def test_unseen_tokens_ignored_where_the_longest_sequence_fits_the_pool(published: Published) -> None:
    """docs/findings/vllm-8824.md, inside the bound that vLLM sets at start-up."""
    for version, fails in (("0.6.2", True), ("0.6.3", False)):
        manager, api = second(published(version), 1, 3, 2)
        other = Sequence(2, (5, 6), 1)
        manager.allocate(SequenceGroup("b", [other]))
        other.status = Status.RUNNING
        if fails:
            with pytest.raises(api.out_of_blocks):
                swapped_out_and_back(manager, 1)
        else:
            assert swapped_out_and_back(manager, 1) == "LATER"


@pytest.mark.parametrize("version", ["0.6.3", "0.10.2"])
def test_empty_lookahead_blocks_forgotten_by_swap_out(published: Published, version: str) -> None:
    """docs/findings/vllm-lookahead-tail.md"""
    manager, api = second(published(version), 1, 4, 3)
    seq, group = admitted(manager, 1, 1)
    seq.tokens.append(1)
    manager.append_slots(seq, 2)
    seq.tokens.append(2)
    row = manager.get_block_table(seq)
    assert len(row) == 4
    assert manager.get_num_free_cpu_blocks() == 3
    assert manager.can_swap_out(group)
    with pytest.raises(api.out_of_blocks):
        manager.swap_out(group)
    assert manager.get_block_table(seq) == row, "the table stays as it was, though its blocks were given back"
    assert manager.get_num_free_gpu_blocks() > 0


def test_forked_group_does_not_fit_where_the_guard_says(published: Published) -> None:
    """docs/findings/vllm-forked-swap.md"""
    for version, expected in (("0.6.2", True), ("0.6.3", False)):
        manager, api = second(published(version), 1, 1, 1)
        seq, group = admitted(manager, 1, 1)
        seq.tokens.append(1)
        child = Sequence(2, [*seq.tokens[:-1], 2], 1, Status.RUNNING)
        group.add(child)
        manager.fork(seq, child)
        assert manager.can_swap_out(group) is expected
        if expected:
            with pytest.raises(api.out_of_blocks):
                manager.swap_out(group)


@pytest.mark.parametrize("version", ["0.2.7", "0.6.2"])
def test_readmission_counts_finished_sequences_as_owners(published: Published, version: str) -> None:
    """docs/findings/vllm-readmission-leak.md"""
    api = find_manager(published(version), Generation.FIRST)
    manager = api.manager(1, 3, 0, watermark=0.0)
    seq, group = admitted(manager, 1, 1)
    seq.tokens.append(1)
    child = Sequence(2, [*seq.tokens[:-1], 2], 1, Status.RUNNING)
    group.add(child)
    manager.fork(seq, child)
    seq.status = Status.FINISHED_STOPPED  # it stays in the group, as candidate output
    manager.free(seq)
    manager.free(child)  # preempted by recompute: it is the only running sequence
    child.status = Status.WAITING
    assert manager.get_num_free_gpu_blocks() == 3
    assert manager.can_allocate(group).name == "OK"
    manager.allocate(group)
    child.status = Status.FINISHED_STOPPED
    manager.free(child)
    assert manager.get_num_free_gpu_blocks() == 1, "two blocks never come back"


@pytest.mark.parametrize(("version", "appended"), [("0.6.2", True), ("0.6.3", False), ("0.10.2", False)])
def test_swap_in_waits_for_ever_below_the_watermark(published: Published, version: str, appended: bool) -> None:
    """docs/findings/vllm-later-for-ever.md"""
    manager, _ = second(published(version), 1, 2, 2, watermark=1)
    seq, group = admitted(manager, 1, 1)
    seq.tokens.append(9)
    if appended:
        manager.append_slots(seq, 0)  # the watermark is there to grow into
    assert manager.can_swap_out(group)
    manager.swap_out(group)
    seq.status = Status.SWAPPED
    assert manager.get_num_free_gpu_blocks() == 2, "nothing else is there, and nothing can change any more"
    assert manager.can_swap_in(group, 0).name == "LATER"


@pytest.mark.parametrize("version", ["0.6.2", "0.6.3", "0.10.2"])
def test_abort_while_swapped_out_gives_a_block_object_to_the_wrong_pool(published: Published, version: str) -> None:
    """docs/findings/vllm-abort-swapped.md"""
    manager, _ = second(published(version), 1, 19, 3)

    def admit(number: int, prompt: int) -> tuple[Sequence, SequenceGroup]:
        seq = Sequence(number, range(prompt), 1)
        group = SequenceGroup(str(number), [seq])
        assert manager.can_allocate(group).name == "OK"
        manager.allocate(group)
        seq.status = Status.RUNNING
        seq.tokens.append(1)
        return seq, group

    long, _ = admit(1, 18)
    manager.free(long)  # finished
    aborted, group = admit(2, 2)
    assert manager.can_swap_out(group)
    manager.swap_out(group)
    aborted.status = Status.SWAPPED
    other, group = admit(3, 1)
    manager.free(aborted)  # while it is swapped out
    assert manager.get_num_free_cpu_blocks() == 3
    assert manager.can_swap_out(group)
    with pytest.raises(IndexError):
        manager.swap_out(group)
    assert other.status is Status.RUNNING


@pytest.mark.parametrize(("version", "left"), [("0.6.6.post1", 2), ("0.7.0", 1)])
def test_a_refused_admission_keeps_its_hits(published: Published, version: str, left: int) -> None:
    """docs/findings/vllm-v1-refused-hits.md"""
    module = published(version).module("vllm.v1.core.kv_cache_manager")
    manager = module.KVCacheManager(block_size=1, num_gpu_blocks=1, max_model_len=8, num_preallocate_tokens=0)
    first, second = Request("1", [7]), Request("2", [7, 8])
    manager.get_computed_blocks(first)
    assert manager.allocate_slots(first, 1, []) is not None
    found = manager.get_computed_blocks(second)
    hits = found[0] if isinstance(found, tuple) else found
    assert [block.block_id for block in hits] == [0]
    assert manager.allocate_slots(second, 1, hits) is None
    assert manager.block_pool[0].ref_cnt == left


def windowed(engine: LoadedEngine, gpu: int, window: int) -> tuple[Any, ManagerApi]:
    api = find_manager(engine, Generation.SECOND)
    return api.manager(1, gpu, 0, watermark=0.0, sliding_window=window), api


def grown(manager: Any, seq: Sequence, group: SequenceGroup) -> None:
    """One more token, appended as the scheduler does it once the guard has said yes."""
    seq.data.set_computed(len(seq.tokens))
    seq.tokens.append(9)
    assert manager.can_append_slots(group, 0)
    manager.append_slots(seq, 0)


@pytest.mark.parametrize("version", ["0.6.2", "0.6.3", "0.10.2"])
def test_the_null_block_is_not_counted(published: Published, version: str) -> None:
    """docs/findings/vllm-window-null-block.md"""
    manager, api = windowed(published(version), 2, 8)
    seq, group = admitted(manager, 1, 1)
    with pytest.raises(api.out_of_blocks):
        grown(manager, seq, group)
    manager, _ = windowed(published(version), 3, 8)
    seq, group = admitted(manager, 1, 1)
    grown(manager, seq, group)
    assert manager.get_num_free_gpu_blocks() == 0  # two of three blocks are the sequence's


@pytest.mark.parametrize("version", ["0.6.2", "0.6.3", "0.10.2"])
def test_the_guard_is_capped_at_the_window_and_the_operation_is_not(published: Published, version: str) -> None:
    """docs/findings/vllm-window-cap.md"""
    manager, api = windowed(published(version), 3, 1)
    with pytest.raises(api.out_of_blocks):
        admitted(manager, 1, 4)


def test_a_fork_under_a_window_follows_block_objects_in_a_circle(published: Published) -> None:
    """docs/findings/vllm-window-fork.md"""
    manager, _ = windowed(published("0.6.3"), 5, 1)
    seq, group = admitted(manager, 1, 4)
    grown(manager, seq, group)
    with pytest.raises(RecursionError):
        manager.fork(seq, Sequence(2, seq.tokens, 1, Status.RUNNING))


@pytest.mark.parametrize(("version", "fails"), [("0.10.2", True), ("0.18.0", False)])
def test_the_null_block_is_put_into_the_index(published: Published, version: str, fails: bool) -> None:
    """docs/findings/vllm-v1-null-block-cached.md"""
    engine = published(version)
    spec, utils = engine.module("vllm.v1.kv_cache_interface"), engine.module("vllm.v1.core.kv_cache_utils")
    utils.init_none_hash(hashed)
    shape = {"block_size": 1, "num_kv_heads": 1, "head_size": 1, "dtype": None}
    shape |= {"use_mla": False} if version == "0.10.2" else {}
    layers = spec.KVCacheGroupSpec(["layer"], spec.SlidingWindowSpec(**shape, sliding_window=1))
    config = spec.KVCacheConfig(num_blocks=8, kv_cache_tensors=[], kv_cache_groups=[layers])
    options = {} if version == "0.10.2" else {"hash_block_size": 1}
    manager = engine.module("vllm.v1.core.kv_cache_manager").KVCacheManager(config, max_model_len=16, **options)
    hashes = utils.get_request_block_hasher(1, hashed)
    request = Request("1", [7])

    def scheduled(computed: int, new: int) -> object:
        request.num_computed_tokens = computed
        request.block_hashes.extend(hashes(request))
        return manager.allocate_slots(request, new)

    assert scheduled(0, 1)  # the prompt
    request.all_token_ids.append(7)
    assert scheduled(1, 3)  # its token and two drafts, which turn out right
    request.all_token_ids.extend((7, 7, 7))
    if fails:
        with pytest.raises(AssertionError):
            scheduled(4, 1)
        assert manager.block_pool.null_block.block_hash is not None
    else:
        assert scheduled(4, 1)
        assert manager.block_pool.null_block.block_hash is None


@pytest.mark.parametrize("version", ["0.5.4", "0.6.2", "0.6.3"])
def test_the_source_of_a_copy_is_handed_out_in_the_same_pass(published: Published, version: str) -> None:
    """docs/findings/vllm-copy-source-reused.md"""
    api = find_manager(published(version), Generation.SECOND)
    manager = api.manager(2, 4, 1, watermark=0.0, enable_caching=True)
    away, parent = Sequence(1, [1], 2), Sequence(2, [1, 1], 2)
    groups = SequenceGroup("a", [away]), SequenceGroup("b", [parent])
    for seq, group in zip((away, parent), groups, strict=True):
        assert manager.can_allocate(group).name == "OK"
        manager.allocate(group)
        seq.status = Status.RUNNING
        seq.tokens.append(1)
    assert manager.can_swap_out(groups[0])
    manager.swap_out(groups[0])
    away.status = Status.SWAPPED
    manager.append_slots(parent, 0)  # the third token begins a block
    parent.tokens.append(1)
    child = Sequence(3, list(parent.tokens), 2, Status.RUNNING)
    groups[1].add(child)
    manager.fork(parent, child)
    # One pass of the scheduler: the running sequences grow, then the swapped one comes back.
    assert manager.can_append_slots(groups[1], 0)
    copies = [tuple(pair) for seq in (parent, child) for pair in manager.append_slots(seq, 0)]
    assert manager.can_swap_in(groups[0], 0).name == "OK"
    moves = manager.swap_in(groups[0])
    (source, _), (_, target) = copies[0], tuple(moves[0])
    assert len(copies) == 1
    assert source == target  # the worker swaps in before it copies: what is copied is not what was there


@pytest.mark.parametrize(
    ("version", "fails"), [("0.6.4.post1", False), ("0.6.6.post1", True), ("0.7.0", True), ("0.10.2", True)]
)
def test_an_evicted_prefix_is_evicted_again_while_the_clock_stands_still(
    published: Published, version: str, fails: bool
) -> None:
    """docs/findings/vllm-equal-times.md"""
    api = find_manager(published(version), Generation.SECOND)

    def last_admission(times: Iterable[float]) -> None:
        manager = api.manager(1, 2, 0, watermark=0.0, enable_caching=True)
        for (number, prompt), now in zip(enumerate(([1, 1], [1, 1], [2], [3])), times, strict=True):
            seq = Sequence(number, prompt, 1)
            group = SequenceGroup(str(number), [seq])
            assert manager.can_allocate(group).name == "OK"
            manager.allocate(group)
            seq.status = Status.RUNNING
            manager.get_common_computed_block_ids([seq])
            manager.access_all_blocks_in_seq(seq, now)
            manager.mark_blocks_as_computed(group, len(prompt))
            seq.tokens.append(9)
            seq.status = Status.FINISHED_STOPPED
            manager.free(seq)

    last_admission((1.0, 2.0, 3.0, 4.0))
    if fails:
        with pytest.raises(AssertionError):
            last_admission((1.0, 1.0, 1.0, 1.0))
    else:
        last_admission((1.0, 1.0, 1.0, 1.0))


def hashed(value: object) -> bytes:
    """A hash of 64 bits."""
    return hash(value).to_bytes(8, "big", signed=True)
