"""Slots, row entries and the verdict rule, against their definitions by enumeration."""

import pytest

from kvref import AllocStatus
from kvref.table import blocks_for, entries_touched, holds_slot_below
from kvref.verdict import verdict


@pytest.mark.parametrize("block_size", [1, 2, 3, 4, 16])
def test_table_arithmetic_by_enumeration(block_size: int) -> None:
    for stop in range(40):
        assert blocks_for(stop, block_size) == len({slot // block_size for slot in range(stop)})
        for start in range(40):
            touched = {slot // block_size for slot in range(start, stop)}
            assert set(entries_touched(start, stop, block_size)) == touched
        for entry in range(6):
            slots = range(entry * block_size, (entry + 1) * block_size)
            assert holds_slot_below(entry, stop, block_size) == any(slot < stop for slot in slots)


def test_verdict_by_its_definition() -> None:
    for reachable in range(6):
        for free in range(reachable + 1):
            for need in range(8):
                for reserve in range(4):
                    answer = verdict(need, free, reachable, reserve)
                    assert (answer is AllocStatus.OK) == (free - need >= reserve)
                    assert (answer is AllocStatus.NEVER) == (reachable - need < reserve)


def test_only_ok_is_true_in_a_condition() -> None:
    assert [bool(answer) for answer in AllocStatus] == [True, False, False]
