"""Real, unmodified vLLM releases run a small life of a request through their own block managers."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import pytest

from kvconform.engines import LoadedEngine, NotInThisVersion
from kvconform.engines.vllm_managers import Generation, ManagerApi, find_manager
from kvconform.engines.vllm_reading import Pool, read_pool
from kvconform.engines.vllm_standins import Sequence, SequenceGroup, SequenceStatus

GetEngine = Callable[[str], LoadedEngine]

FIRST, SECOND = Generation.FIRST, Generation.SECOND
MANAGERS = [
    ("0.2.7", FIRST, False),
    ("0.6.2", FIRST, False),
    ("0.6.2", FIRST, True),
    ("0.6.2", SECOND, False),
    ("0.6.2", SECOND, True),
    ("0.6.3", FIRST, False),
    ("0.6.3", SECOND, False),
    ("0.10.2", SECOND, False),
    ("0.10.2", SECOND, True),
]


class Driver:
    """Calls a manager as its release wants to be called."""

    def __init__(self, api: ManagerApi, generation: Generation, caching: bool) -> None:
        options = {"enable_caching": True} if caching else {}
        self.api, self.generation = api, generation
        self.manager: Any = api.manager(4, 8, 8, watermark=0.0, **options)
        self._append_options = {"num_lookahead_slots": 0} if api.append_lookahead else {}
        self._swap_options = {"num_lookahead_slots": 0} if api.swap_in_lookahead else {}

    def can_append(self, group: SequenceGroup) -> bool:
        return bool(getattr(self.manager, f"can_{self.api.append_name}")(group, **self._append_options))

    def append(self, seq: Sequence) -> Any:
        return getattr(self.manager, self.api.append_name)(seq, **self._append_options)

    def can_swap_in(self, group: SequenceGroup) -> bool:
        answer = self.manager.can_swap_in(group, **self._swap_options)
        return answer is True or answer is self.api.alloc_status.OK

    def free(self, seq: Sequence) -> None:
        if self.api.cached_tokens:
            self.manager.get_num_cached_tokens(seq)
        self.manager.free(seq)

    def row(self, seq: Sequence) -> list[int]:
        return list(self.manager.get_block_table(seq))

    def pool(self, device: str) -> Pool:
        return read_pool(self.manager, self.generation, device)


@pytest.fixture(params=MANAGERS, ids=lambda param: f"{param[0]}-{param[1].value}{'-caching' if param[2] else ''}")
def driver(request: pytest.FixtureRequest, published: GetEngine) -> Driver:
    """One manager of one release."""
    version, generation, caching = request.param
    return Driver(find_manager(published(version), generation), generation, caching)


def _set(group: SequenceGroup, status: SequenceStatus) -> None:
    for seq in group.get_unfinished_seqs():
        seq.status = status


def _admit(driver: Driver, tokens: list[int]) -> tuple[Sequence, SequenceGroup]:
    seq = Sequence(1, tokens, 4)
    group = SequenceGroup("request", [seq])
    assert driver.manager.can_allocate(group) is driver.api.alloc_status.OK
    driver.manager.allocate(group)
    _set(group, SequenceStatus.RUNNING)
    seq.data.set_computed(len(tokens))
    return seq, group


def _fork(driver: Driver, parent: Sequence, group: SequenceGroup) -> Sequence:
    child = Sequence(2, parent.tokens, 4, SequenceStatus.RUNNING, parent.get_prompt_len())
    driver.manager.fork(parent, child)
    group.add(child)
    return child


def test_a_prompt_takes_its_blocks_and_gives_them_back(driver: Driver) -> None:
    assert len(driver.pool("gpu").free) == len(driver.pool("cpu").free) == 8
    seq, _ = _admit(driver, [1, 2, 3, 4, 5])
    pool = driver.pool("gpu")
    assert {block: count for block, count in pool.refcounts.items() if count} == dict.fromkeys(driver.row(seq), 1)
    assert pool.free == frozenset(range(8)) - frozenset(driver.row(seq))
    driver.free(seq)
    pool = driver.pool("gpu")
    assert len(pool.free | pool.reclaimable) == driver.manager.get_num_free_gpu_blocks() == 8
    assert not any(pool.refcounts.values())


def test_tokens_are_appended_into_a_new_block_when_the_last_is_full(driver: Driver) -> None:
    seq, group = _admit(driver, [1, 2, 3, 4])
    seq.tokens.append(5)
    assert driver.can_append(group)
    assert not driver.append(seq)
    assert len(set(driver.row(seq))) == 2


def test_a_fork_shares_blocks_and_the_first_write_copies(driver: Driver) -> None:
    parent, group = _admit(driver, [1, 2, 3, 4, 5])
    child = _fork(driver, parent, group)
    assert sorted(driver.pool("gpu").refcounts.values())[-2:] == [2, 2]
    parent.tokens.append(6)
    child.tokens.append(7)
    assert driver.can_append(group)
    assert driver.append(parent)
    assert not driver.append(child)
    (first, tail), (other_first, other_tail) = driver.row(parent), driver.row(child)
    assert first == other_first
    assert tail != other_tail


def test_a_group_goes_to_the_cpu_and_comes_back(driver: Driver) -> None:
    seq, group = _admit(driver, [1, 2, 3, 4, 5])
    seq.tokens.append(6)
    driver.append(seq)
    assert driver.manager.can_swap_out(group)
    driver.manager.swap_out(group)
    _set(group, SequenceStatus.SWAPPED)
    offset = 8 if driver.api.cpu_ids_follow_gpu else 0
    cpu = driver.pool("cpu")
    assert {block - offset for block in driver.row(seq)} == {block for block, count in cpu.refcounts.items() if count}
    assert driver.manager.get_num_free_gpu_blocks() == 8
    assert driver.can_swap_in(group)
    driver.manager.swap_in(group)
    _set(group, SequenceStatus.RUNNING)
    assert all(driver.pool("gpu").refcounts[block] == 1 for block in driver.row(seq))
    assert driver.manager.get_num_free_cpu_blocks() == 8


def test_finished_sequences_are_ignored_when_their_group_moves(driver: Driver) -> None:
    parent, group = _admit(driver, [1, 2, 3, 4, 5])
    child = _fork(driver, parent, group)
    child.status = SequenceStatus.FINISHED_STOPPED
    driver.free(child)
    assert driver.manager.can_swap_out(group)
    driver.manager.swap_out(group)
    assert driver.manager.get_num_free_gpu_blocks() == 8


def test_what_can_never_fit_is_never_and_raises_when_forced(driver: Driver) -> None:
    group = SequenceGroup("huge", [Sequence(1, range(40), 4)])
    assert driver.manager.can_allocate(group) is driver.api.alloc_status.NEVER
    with pytest.raises(driver.api.out_of_blocks):
        driver.manager.allocate(group)


def test_releases_live_side_by_side_in_milliseconds(published: GetEngine) -> None:
    for version in ("0.6.2", "0.6.3", "0.10.2"):
        published(version)
    before = set(sys.modules)
    start = time.perf_counter()
    classes = [find_manager(published(version), SECOND).manager for version in ("0.6.2", "0.6.3", "0.10.2")]
    assert time.perf_counter() - start < 5
    assert len(set(classes)) == 3
    assert not any(name.split(".")[0] in ("vllm", "torch") for name in set(sys.modules) - before)


def test_the_managers_are_the_fetched_files_themselves(published: GetEngine) -> None:
    engine = published("0.6.2")
    api = find_manager(engine, SECOND)
    assert api.manager.__init__.__code__.co_filename == str(engine.path / "vllm/core/block_manager_v2.py")


def test_an_import_inside_a_function_of_vllm_stays_in_its_release(published: GetEngine) -> None:
    for version, name in (("0.6.2", "v2"), ("0.10.2", "selfattn")):
        engine = published(version)
        interface = engine.module("vllm.core.interfaces").BlockSpaceManager
        assert interface.get_block_space_manager_class(name) is find_manager(engine, SECOND).manager


def test_a_release_without_a_generation_says_so(published: GetEngine) -> None:
    with pytest.raises(NotInThisVersion, match=r"0\.10\.2 has no block manager of the vllm-v0-v1 kind"):
        find_manager(published("0.10.2"), FIRST)
    with pytest.raises(NotInThisVersion, match=r"0\.2\.7 has no block manager of the vllm-v0-v2 kind"):
        find_manager(published("0.2.7"), SECOND)


def test_what_callers_must_know_is_found_out(published: GetEngine) -> None:
    old, new = find_manager(published("0.2.7"), FIRST), find_manager(published("0.10.2"), SECOND)
    assert (old.append_name, old.append_lookahead, old.caching, old.swap, old.window) == (
        "append_slot", False, False, True, True
    )  # fmt: skip
    assert (new.append_name, new.append_lookahead, new.allocate_lookahead, new.cached_tokens) == (
        "append_slots", True, True, True
    )  # fmt: skip
    assert not find_manager(published("0.6.2"), SECOND).allocate_lookahead


def test_the_bug_of_pull_request_8824_is_there_before_its_fix_and_gone_after(published: GetEngine) -> None:
    answers = {}
    for version, cpu in (("0.6.2", 1), ("0.6.3", 2)):
        api = find_manager(published(version), SECOND)
        manager = api.manager(1, 1, cpu, watermark=0.0)
        seq = Sequence(1, [5], 1)
        group = SequenceGroup("request", [seq])
        manager.allocate(group)
        seq.status = SequenceStatus.RUNNING
        seq.tokens.append(6)
        assert manager.can_swap_out(group)
        manager.swap_out(group)
        seq.status = SequenceStatus.SWAPPED
        answers[version] = manager.can_swap_in(group, 0).name
    assert answers == {"0.6.2": "OK", "0.6.3": "NEVER"}
