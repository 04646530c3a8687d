"""The face that tries: admission by chunks, refusals that change nothing, growth, preemption."""

from collections.abc import Callable

import pytest
from kvref_support import request_snapshot

from kvref import (
    BlockManagerError,
    BrokenInvariant,
    DuplicateSequence,
    InvalidConfig,
    InvalidRequest,
    RequestManager,
    Status,
    UnknownSequence,
    WrongStatus,
)

LONG = list(range(10))


def ran(manager: RequestManager, request: str, tokens: list[int]) -> None:
    """Admit and run the step."""
    assert manager.admit(request, tokens) is not None
    manager.computed(request)


def test_admit_says_how_much_is_cached() -> None:
    manager = RequestManager(4, 8)
    assert manager.admit("a", LONG) == 0
    manager.computed("a")
    assert manager.match(LONG) == 8
    assert manager.match(LONG[:8]) == 4
    assert manager.match(LONG, extra="salt") == 0
    assert manager.admit("b", LONG) == 8
    assert manager.block_table("b") == [0, 1, 3]
    assert (manager.refcount(0), manager.num_free(), manager.requests()) == (2, 4, ["a", "b"])
    manager.check()


def test_a_prompt_is_covered_chunk_by_chunk() -> None:
    manager = RequestManager(4, 8)
    assert manager.admit("a", LONG, upto=3) == 0
    assert (manager.block_table("a"), manager.unseen("a")) == ([0], 7)
    manager.computed("a")
    assert manager.match(LONG) == 0
    assert manager.extend("a", [], upto=9)
    assert manager.block_table("a") == [0, 1, 2]
    assert manager.match(LONG) == 0
    manager.computed("a")
    assert manager.match(LONG) == 8
    assert manager.extend("a", [10, 11], lookahead=1)
    assert (manager.num_tokens("a"), manager.unseen("a"), len(manager.block_table("a"))) == (12, 0, 4)
    manager.check()


def test_a_chunk_goes_beyond_the_hits() -> None:
    manager = RequestManager(4, 8)
    ran(manager, "a", LONG)
    before = request_snapshot(manager)
    for upto in (0, 7, 8, 11):
        with pytest.raises(InvalidRequest, match="ask for 9 to 10"):
            manager.admit("b", LONG, upto=upto)
    assert request_snapshot(manager) == before
    assert manager.admit("b", LONG, upto=9) == 8


def test_a_refused_admission_changes_nothing_and_leaves_the_watermark() -> None:
    manager = RequestManager(2, 5, watermark_blocks=1)
    ran(manager, "a", [1, 2, 3])
    ran(manager, "b", [4, 5, 6])
    manager.free("a")
    before = request_snapshot(manager)
    assert manager.admit("c", [1, 2, 3, 4, 5]) is None
    assert manager.admit("c", [1, 2, 3], lookahead=2) is None
    assert request_snapshot(manager) == before
    assert "c" not in manager
    assert manager.admit("c", [1, 2, 3]) == 2
    assert manager.num_free() == 1


def test_free_hits_are_counted_once() -> None:
    manager = RequestManager(1, 4)
    ran(manager, "a", [1, 2])
    manager.free("a")
    before = request_snapshot(manager)
    assert manager.admit("b", [1, 2, 3, 4, 5]) is None
    assert request_snapshot(manager) == before
    assert manager.admit("b", [1, 2, 3, 4]) == 2
    assert manager.num_free() == 0


def test_a_refused_extension_knows_the_tokens_and_nothing_else() -> None:
    manager = RequestManager(2, 3)
    ran(manager, "a", [1, 2, 3])
    ran(manager, "b", [9])
    before = (manager.block_table("a"), manager.free_blocks(), manager.cached_blocks())
    assert manager.extend("a", [4, 5]) is False
    assert (manager.block_table("a"), manager.free_blocks(), manager.cached_blocks()) == before
    assert (manager.num_tokens("a"), manager.unseen("a")) == (5, 2)
    manager.check()
    manager.preempt("b")
    assert manager.extend("a", [])
    assert (manager.unseen("a"), manager.block_table("a")) == (0, [0, 1, 2])


def test_extension_ignores_the_watermark_and_uses_the_tail_again() -> None:
    manager = RequestManager(2, 3, watermark_blocks=1)
    assert manager.admit("a", [1], lookahead=3) == 0
    assert manager.extend("a", [2, 3])
    assert manager.block_table("a") == [0, 1]
    assert manager.extend("a", [4, 5])
    assert (manager.block_table("a"), manager.num_free()) == ([0, 1, 2], 0)


def test_preempted_requests_come_back_with_their_hits_and_their_tokens() -> None:
    manager = RequestManager(2, 4)
    ran(manager, "a", [1, 2, 3])
    assert manager.extend("a", [4, 5])
    manager.preempt("a")
    assert (manager.status("a"), manager.block_table("a"), manager.num_free()) == (Status.WAITING, [], 4)
    assert manager.cached_blocks() == (0,)
    assert manager.readmit("a", upto=4) == 2
    manager.computed("a")
    manager.preempt("a")
    assert manager.readmit("a", lookahead=2) == 4
    assert (manager.status("a"), manager.unseen("a"), len(manager.block_table("a"))) == (Status.RUNNING, 0, 4)
    manager.check()


def test_a_refused_readmission_changes_nothing() -> None:
    manager = RequestManager(2, 4, watermark_blocks=1)
    ran(manager, "a", [1, 2, 3])
    manager.preempt("a")
    ran(manager, "b", [7, 8, 9])
    before = request_snapshot(manager)
    assert manager.readmit("a") is None
    assert request_snapshot(manager) == before
    manager.free("b")
    assert manager.readmit("a") == 2


def test_free_twice_and_an_id_used_again() -> None:
    manager = RequestManager(2, 4)
    ran(manager, "a", [1, 2, 3])
    manager.free("a")
    manager.free("a")
    assert manager.num_free() == manager.num_total() == 4
    assert manager.admit("a", [1, 2]) == 0
    assert manager.admit("b", [1, 2, 3]) == 2


def test_eviction_and_forgetting() -> None:
    manager = RequestManager(1, 4)
    ran(manager, "a", [1, 2, 3])
    manager.free("a")
    assert manager.evict(2) == 2
    assert (manager.cached_blocks(), manager.match([1, 2, 3])) == ((0,), 1)
    manager.reset_index()
    assert (manager.cached_blocks(), manager.match([1, 2, 3]), manager.num_free()) == ((), 0, 4)
    manager.check()
    ran(manager, "b", [1])
    manager.reset()
    assert request_snapshot(manager) == request_snapshot(RequestManager(1, 4))


def test_with_caching_off_nothing_is_ever_cached() -> None:
    manager = RequestManager(1, 4, prefix_caching=False)
    ran(manager, "a", [1, 2, 3])
    manager.free("a")
    assert (manager.cached_blocks(), manager.match([1, 2, 3]), manager.admit("a", [1, 2])) == ((), 0, 0)
    manager.check()


ILLEGAL: list[tuple[type[BlockManagerError], Callable[[RequestManager], object]]] = [
    (InvalidRequest, lambda m: m.admit("x", [])),
    (InvalidRequest, lambda m: m.match([])),
    (InvalidRequest, lambda m: m.match([1], extra=[])),
    (InvalidRequest, lambda m: m.admit("x", [1], lookahead=-1)),
    (InvalidRequest, lambda m: m.admit("x", [1], upto=2)),
    (InvalidRequest, lambda m: m.admit("x", [1], extra=[])),
    (InvalidRequest, lambda m: m.extend("run", [], upto=2)),
    (InvalidRequest, lambda m: m.extend("run", [7], upto=5)),
    (InvalidRequest, lambda m: m.extend("run", [7], lookahead=-1)),
    (InvalidRequest, lambda m: m.readmit("wait", lookahead=-1)),
    (InvalidRequest, lambda m: m.readmit("wait", upto=0)),
    (InvalidRequest, lambda m: m.evict(-1)),
    (InvalidRequest, lambda m: m.refcount(9)),
    (DuplicateSequence, lambda m: m.admit("run", [1])),
    (DuplicateSequence, lambda m: m.admit("wait", [1])),
    (WrongStatus, lambda m: m.readmit("run")),
    *[
        (WrongStatus, lambda m, use=use: use(m, "wait"))
        for use in (RequestManager.preempt, RequestManager.computed, lambda m, r: m.extend(r, []))
    ],
    *[
        (UnknownSequence, lambda m, use=use, name=name: use(m, name))
        for name in ("never", "gone")
        for use in (
            RequestManager.preempt,
            RequestManager.readmit,
            RequestManager.computed,
            RequestManager.block_table,
            RequestManager.unseen,
            lambda m, r: m.extend(r, []),
        )
    ],
    (UnknownSequence, lambda m: m.free("never")),
]


@pytest.mark.parametrize("caching", [True, False])
@pytest.mark.parametrize(("error", "call"), ILLEGAL)
def test_illegal_calls(error: type[BlockManagerError], call: Callable[[RequestManager], object], caching: bool) -> None:
    manager = RequestManager(2, 9, prefix_caching=caching)
    for request in ("run", "wait", "gone"):
        ran(manager, request, [1, 2, 3])
    manager.preempt("wait")
    manager.free("gone")
    before = request_snapshot(manager)
    with pytest.raises(BlockManagerError) as caught:
        call(manager)
    assert type(caught.value) is error
    assert request_snapshot(manager) == before


@pytest.mark.parametrize("sizes", [(0, 1, 0), (1, -1, 0), (1, 1, -1)])
def test_sizes_out_of_range(sizes: tuple[int, int, int]) -> None:
    with pytest.raises(InvalidConfig):
        RequestManager(*sizes)


DAMAGE: list[Callable[[RequestManager], object]] = [
    lambda m: m._gpu._nodes.__setitem__(0, None),
    lambda m: m._gpu._cached.clear(),
    lambda m: m._gpu._cached.extend([0]),
    lambda m: m._gpu._free.append(m._gpu._cached.pop()),
    lambda m: setattr(m._gpu._nodes[0], "block", 1),
    lambda m: setattr(m._gpu._nodes[0], "block", None),
    lambda m: setattr(m._gpu._nodes[0], "tokens", (8, 8)),
    lambda m: setattr(m._gpu._nodes[0], "uses", 9),
    lambda m: setattr(m._gpu._nodes[0], "parent", None),
    lambda m: m._gpu._index._buckets.popitem(),
    lambda m: m._gpu._index._roots.clear(),
    lambda m: m._gpu._index.obtain_root("idle"),
    lambda m: m._gpu._nodes.__setitem__(4, m._gpu._nodes[0]),
    lambda m: m._contents.pop("a"),
    lambda m: m._contents["a"].ids.append(1),
    lambda m: m._contents["a"].ids.__setitem__(0, 8),
    lambda m: setattr(m._contents["a"], "computed", 6),
    lambda m: setattr(m._contents["a"], "computed", 3),
    lambda m: setattr(m._contents["a"], "whole", 1),
    lambda m: setattr(m._contents["a"], "whole", 3),
    lambda m: setattr(m._contents["a"], "extra", "other"),
    lambda m: setattr(m._contents["a"], "tip", None),
    lambda m: setattr(m._contents["w"], "computed", 1),
    lambda m: m._gpu.publish(m.block_table("late")[0], m._gpu.root(None), (3, 3)),
]


@pytest.mark.parametrize("damage", DAMAGE)
def test_check_notices(damage: Callable[[RequestManager], object]) -> None:
    manager = RequestManager(2, 12)
    ran(manager, "a", [1, 2, 3, 4, 5])
    ran(manager, "w", [6, 7, 8])
    manager.preempt("w")
    manager.admit("late", [4, 4, 4])
    manager.check()
    damage(manager)
    with pytest.raises(BrokenInvariant):
        manager.check()
