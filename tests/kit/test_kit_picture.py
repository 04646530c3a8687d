"""Pictures of a run: every state of a block, managers that no longer answer, large pools, and a frame for every moment.

Knows: the toy. Must not know: how a picture is shown.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from kit_toy import CPU, GPU, Full, ToyAdapter, Twice
from kit_wrong import WRONG, Wrong, prompt, run_of, step

from kvconform.adapter import Adapter, Group, Seq
from kvconform.picture import MOST_DRAWN, BlockPicture, Picture
from kvconform.run import Run, replay
from kvspec.vocabulary import Allocate, Append, Config, Device, Fork, Free, Operation, Step, SwapOut

ROOMY = Config(4, 6, 4)


def drawn(adapter: Adapter, operations: Sequence[Operation], config: Config = ROOMY) -> Picture:
    """The picture after the last of these operations."""
    run = Run(adapter, config)
    run.keep_pictures()
    for op in operations:
        run.apply(op)
    return run.pictures[-1]


def block(picture: Picture, number: int, device: Device = GPU) -> BlockPicture:
    (found,) = [each for each in picture.pools[device.value].blocks if each.block == number]
    return found


def states(picture: Picture, device: Device = GPU) -> list[str]:
    return [each.state for each in picture.pools[device.value].blocks]


# -- states ---------------------------------------------------------------------------------------------------------


def test_blocks_are_free_at_the_start() -> None:
    picture = drawn(ToyAdapter(), ())
    assert picture.operation == 0
    assert (states(picture), states(picture, CPU)) == (["free"] * 6, ["free"] * 4)
    assert (picture.pools["gpu"].total, picture.pools["gpu"].free) == (6, 6)
    assert picture.sequences == []
    assert block(picture, 0) == BlockPicture(0, "free", refcount=0)


def test_a_held_block_says_whose_it_is_and_what_is_in_it() -> None:
    picture = drawn(ToyAdapter(), (Allocate(1, (7,), prompt(6)),))
    assert block(picture, 0) == BlockPicture(0, "held", [7], covered=4, written=0, refcount=1)
    assert block(picture, 1) == BlockPicture(1, "held", [7], covered=2, written=0, refcount=1)
    assert picture.pools["gpu"].free == 4
    written = drawn(ToyAdapter(), (Allocate(1, (7,), prompt(6)), step(7)))
    assert (block(written, 1).covered, block(written, 1).written) == (2, 2)
    (seq,) = written.sequences
    assert (seq.id, seq.group, seq.status, seq.device) == (7, 1, "running", "gpu")
    assert (seq.tokens, seq.covered, seq.computed, seq.rows) == (7, 6, 6, [[0, 1]])


def test_a_block_for_lookahead_slots_alone_covers_nothing() -> None:
    picture = drawn(ToyAdapter(), (Allocate(1, (1,), prompt(4)), step(1), Append(1, lookahead=4)))
    assert [(each.covered, each.written) for each in picture.pools["gpu"].blocks[:3]] == [(4, 4), (1, 0), (0, 0)]
    assert states(picture) == ["held"] * 3 + ["free"] * 3


def test_a_shared_block_names_all_its_owners() -> None:
    picture = drawn(ToyAdapter(), (Allocate(1, (1,), prompt(6)), step(1), Fork(1, 2, (9,))))
    assert (block(picture, 0).owners, block(picture, 0).refcount) == ([1, 2], 2)
    assert [seq.rows for seq in picture.sequences] == [[[0, 1]], [[0, 1]]]


def test_a_swapped_block_is_held_on_the_cpu() -> None:
    picture = drawn(ToyAdapter(), (Allocate(1, (1,), prompt(6)), step(1), SwapOut(1)))
    assert states(picture) == ["free"] * 6
    assert states(picture, CPU) == ["held"] * 2 + ["free"] * 2
    assert picture.moves == [["gpu", 0, "cpu", 0], ["gpu", 1, "cpu", 1]]
    assert (picture.verdict, picture.result, picture.error) == ("ok", "ok", "")


def test_a_copy_is_shown_as_it_was_ordered() -> None:
    picture = drawn(ToyAdapter(), (Allocate(1, (1,), prompt(6)), step(1), Fork(1, 2, (9,)), Append(1)))
    assert picture.copies == [[1, 2]]


def test_a_free_block_with_content_that_may_be_a_hit_is_cached() -> None:
    caching = Config(4, 6, prefix_caching=True)
    picture = drawn(ToyAdapter(), (Allocate(1, (1,), prompt(6)), Step({}), Free(1)), caching)
    assert states(picture) == ["cached", *["free"] * 5]
    assert picture.pools["gpu"].free == 6


def test_the_null_block_is_nobodys_and_entries_that_stand_for_none_are_empty() -> None:
    window = Config(4, 6, sliding_window=2)
    picture = drawn(ToyAdapter(), (Allocate(1, (1,), prompt(8)), Step({})), window)
    assert states(picture) == ["free", "held", "free", "free", "free", "null"]
    assert picture.sequences[0].rows == [[None, 1]]


def test_a_lost_block_is_missing() -> None:
    (wrong,) = [each for each in WRONG if each.adapter.__name__ == "FreeSetForgetsTheLast"]
    picture = drawn(wrong.adapter(), wrong.operations, wrong.config)
    assert states(picture)[:4] == ["free", "free", "missing", "free"]


def test_a_held_block_that_the_free_set_lists_too_says_so() -> None:
    (wrong,) = [each for each in WRONG if each.adapter.__name__ == "ListsHeldBlocksAsFree"]
    picture = drawn(wrong.adapter(), wrong.operations[:1], wrong.config)
    assert block(picture, 0).listed
    assert block(picture, 0).state == "held"
    assert not block(picture, 5).listed


def test_a_block_that_the_pool_does_not_have_is_drawn_beside_it() -> None:
    (wrong,) = [each for each in WRONG if each.adapter.__name__ == "NumbersFromAThousand"]
    picture = drawn(wrong.adapter(), wrong.operations[:1], wrong.config)
    assert [each.block for each in picture.pools["gpu"].blocks[-2:]] == [1000, 1001]
    assert block(picture, 1000).owners == [1]


class TwoGroups(ToyAdapter):
    """Two groups of layers, each with blocks of its own for every row."""

    def block_tables(self, seq: Seq) -> list[list[int | None]]:
        row = self.block_table(seq)
        return [row[0::2], row[1::2]]


def test_groups_of_layers_have_a_row_each() -> None:
    picture = drawn(TwoGroups(), (Allocate(1, (1,), prompt(16)),), Config(4, 6, kv_groups=2))
    assert picture.sequences[0].rows == [[0, 2], [1, 3]]
    assert [each.owners for each in picture.pools["gpu"].blocks] == [[1]] * 4 + [[]] * 2
    assert block(picture, 1).covered == 4  # both are of the first four tokens


# -- managers that are damaged --------------------------------------------------------------------------------------


class Deaf(ToyAdapter):
    """Raises whenever it is looked at, once a sequence has been admitted."""

    def check(self) -> None:
        if self.toy.rows:
            raise KeyError("damaged")

    def block_table(self, seq: Seq) -> list[int | None]:
        self.check()
        return super().block_table(seq)

    def num_free_blocks(self, device: Device) -> int:
        self.check()
        return super().num_free_blocks(device)

    def free_blocks(self, device: Device) -> list[int]:
        self.check()
        return super().free_blocks(device)

    def refcount(self, device: Device, block: int) -> int:
        self.check()
        return super().refcount(device, block)

    def null_block(self) -> int | None:
        self.check()
        return super().null_block()


class DeafLater(Deaf):
    """The same, once there are two sequences."""

    def check(self) -> None:
        if len(self.toy.rows) > 1:
            raise KeyError("damaged")


def test_a_manager_that_answers_nothing_is_still_drawn() -> None:
    picture = drawn(Deaf(), (Allocate(1, (1,), prompt(6)),))
    assert picture.pools["gpu"].free is None
    assert states(picture) == ["free"] * 6  # what is not known is not made up
    assert {each.refcount for each in picture.pools["gpu"].blocks} == {None}


def test_of_a_manager_that_stops_answering_the_last_known_rows_are_drawn() -> None:
    picture = drawn(DeafLater(), (Allocate(1, (1,), prompt(6)), step(1), Allocate(2, (2,), prompt(3))))
    assert picture.pools["gpu"].free is None
    assert block(picture, 0).owners == block(picture, 1).owners == [1]


def test_an_error_is_part_of_the_picture() -> None:
    (wrong,) = [each for each in WRONG if each.law == "robust.no-crash"]
    picture = drawn(wrong.adapter(), wrong.operations, wrong.config)
    assert (picture.result, picture.error) == ("raised", "KeyError: 'sequence'")


# -- large pools ----------------------------------------------------------------------------------------------------


def test_of_a_large_pool_only_what_is_not_free_is_drawn() -> None:
    large = Config(4, MOST_DRAWN + 1, 2, prefix_caching=True)
    picture = drawn(ToyAdapter(), (Allocate(1, (1,), prompt(6)), Step({}), Free(1), Allocate(2, (2,), (9,))), large)
    assert picture.pools["gpu"].total == MOST_DRAWN + 1
    assert [(each.block, each.state) for each in picture.pools["gpu"].blocks] == [(0, "cached"), (2, "held")]
    assert len(picture.pools["cpu"].blocks) == 2
    whole = drawn(ToyAdapter(), (Allocate(1, (1,), prompt(6)),), Config(4, MOST_DRAWN))
    assert len(whole.pools["gpu"].blocks) == MOST_DRAWN


# -- moments --------------------------------------------------------------------------------------------------------

LIFE = (Allocate(1, (1,), prompt(6)), step(1), Append(1), Step({}), Free(1))


def test_there_is_a_picture_of_the_start_and_after_each_operation_and_of_the_end() -> None:
    run = Run(ToyAdapter(), ROOMY)
    run.keep_pictures()
    for op in LIFE:
        run.apply(op)
    assert [picture.operation for picture in run.pictures] == [0, 1, 2, 3, 4, 5]
    run.finish()
    assert [picture.operation for picture in run.pictures] == [0, 1, 2, 3, 4, 5, None]


def test_no_picture_is_drawn_where_none_is_wanted() -> None:
    run = Run(ToyAdapter(), ROOMY, record=True)
    replay(run, LIFE)
    assert run.pictures == []


def test_drawing_does_not_change_what_is_judged() -> None:
    for record in (False, True):
        run = Run(ToyAdapter(), ROOMY, record=record)
        replay(run, LIFE)
        assert not run.found
        assert run.tally.operations > len(LIFE)


# -- marked blocks --------------------------------------------------------------------------------------------------

MARKS: dict[tuple[str, str], set[tuple[str, int]]] = {
    ("accounting.free-exact", "FreeSetForgetsTheLast"): {("gpu", 2)},
    ("accounting.free-exact", "FreeSetListsTwice"): {("gpu", 1)},
    ("accounting.refcount", "RefcountsAreOne"): {("gpu", 0), ("gpu", 1)},
    ("accounting.no-double-free", "HandsOutAHeldBlock"): {("gpu", 0)},
    ("accounting.valid-ids", "NumbersFromAThousand"): {("gpu", 1000), ("gpu", 1001)},
    ("accounting.valid-ids", "OneNumberForTwo"): {("gpu", 0)},
    ("table.live", "ListsHeldBlocksAsFree"): {("gpu", 0), ("gpu", 1)},
    ("table.live", "NoRefcountForTheTail"): {("gpu", 1)},
    ("table.no-alias", "WritesInPlace"): {("gpu", 1)},
    ("table.frame", "AppendTurnsAnotherRow"): {("gpu", 0), ("gpu", 1)},
    ("data.read-back", "AppendTurnsItsRow"): {("gpu", 0), ("gpu", 1)},
    ("data.read-back", "ForgetsToCopy"): {("gpu", 2)},
    ("data.exclusive-write", "WritesInPlace"): {("gpu", 1)},
    ("data.copies", "CopiesTheWrongWay"): {("gpu", 1)},
    ("data.swap-content", "SwapsCrosswise"): {("cpu", 0), ("cpu", 1)},
    ("prefix.hit-computed", "PublishesAtAdmission"): {("gpu", 0)},
    ("prefix.hit-exact", "KeysWithoutPrefix"): {("gpu", 1)},
    ("prefix.hit-exact", "KeysWithoutExtra"): {("gpu", 0)},
    ("prefix.hit-exact", "KeepsStaleEntries"): {("gpu", 0)},
    ("prefix.evict-unreferenced", "HandsOutAHit"): {("gpu", 0)},
    ("prefix.lru", "LastReleasedFirst"): {("gpu", 1)},
    ("prefix.descendants-first", "PrefixFirst"): {("gpu", 0), *(("gpu", number) for number in range(2, 7))},
    ("prefix.reset", "ResetsNothing"): {("gpu", 0)},
    ("window.null", "HandsOutTheNullBlock"): {("gpu", 7)},
    ("window.null", "FreesTheNullBlock"): {("gpu", 7)},
}
"""The blocks that each wrong toy treats wrongly, worked out by hand from what it does wrong. A law that is about rows
as a whole, counts, or guards marks none.
"""


@pytest.mark.parametrize("wrong", [each for each in WRONG if each.way is run_of], ids=lambda wrong: wrong.id)
def test_the_blocks_that_a_violation_is_about_are_marked(wrong: Wrong) -> None:
    run = Run(wrong.adapter(), wrong.config, without=wrong.without)
    replay(run, wrong.operations)
    mine = [found.violation for found in run.found if found.violation.law.id == wrong.law]
    marked = {(device.value, number) for violation in mine for device, number in violation.blocks}
    assert marked == MARKS.get((wrong.law, wrong.adapter.__name__), set())


def test_every_mark_is_of_a_wrong_toy_that_there_is() -> None:
    assert set(MARKS) <= {(wrong.law, wrong.adapter.__name__) for wrong in WRONG}


class KeepsItsHits(ToyAdapter):
    """An admission that fails leaves the hits that it has found referenced."""

    def allocate(self, group: Group) -> bool | int | dict[int, int] | None:
        try:
            return super().allocate(group)
        except Full:
            for number in self.hits(group):
                self.toy.refs[GPU][number] += 1
            raise


def test_a_hit_that_a_refused_admission_keeps_is_marked() -> None:
    run = Run(KeepsItsHits(), Config(4, 8, prefix_caching=True))
    for op in (Allocate(1, (1,), prompt(5)), Step({}), Free(1), Allocate(2, (2,), prompt(40), force=True)):
        run.apply(op)
    (found,) = [each.violation for each in run.found]
    assert (found.law.id, found.blocks) == ("robust.atomic-failure", ((GPU, 0),))


def test_what_the_manager_itself_complains_of_is_told_once() -> None:
    (wrong,) = [each for each in WRONG if each.adapter.__name__ == "PreemptComplains"]
    run = Run(wrong.adapter(), wrong.config)
    replay(run, wrong.operations)
    assert [found.violation.message for found in run.found] == ["preempt reported a double free"]
    again = Run(ComplainsWhenFreedAgain(), ROOMY)
    replay(again, (Allocate(1, (1,), prompt(3)), Free(1), Free(1)))
    told = [each.violation.message for each in again.found if each.violation.law.id == "accounting.no-double-free"]
    assert told == ["free reported a double free"]


class ComplainsWhenFreedAgain(ToyAdapter):
    """Calls the end of a sequence that has ended a double free."""

    def free(self, seq: Seq) -> None:
        if seq.id not in self.toy.rows:
            raise Twice(f"sequence {seq.id}")
        super().free(seq)
