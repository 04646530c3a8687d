"""The ledger: what slots hold, who owns blocks, what copies and moves bring, whom a write spoils.

Knows: the ledger's public face. Must not know: managers and laws.
"""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from kvconform.adapter import Group, Seq
from kvconform.ledger import GARBAGE, Ledger, Transfer, home
from kvconform.world import Prefixes
from kvspec.vocabulary import Config, Device, Status

GPU, CPU = Device.GPU, Device.CPU


class Desk:
    """A ledger with four slots a block, and sequences on it."""

    def __init__(self) -> None:
        self.ledger = Ledger(Config(4, 8, 8))
        self.prefixes = Prefixes()
        self.seqs: dict[int, Seq] = {}

    def seq(
        self, number: int, tokens: Sequence[int], row: list[int], device: Device = GPU, upto: int | None = None
    ) -> Seq:
        status = Status.RUNNING if device is GPU else Status.SWAPPED
        seq = Seq(number, Group(number), list(tokens), upto=len(tokens) if upto is None else upto, status=status)
        self.prefixes.extend(seq.prefixes, tokens)
        self.ledger.set_row(seq, device, row)
        self.seqs[number] = seq
        return seq

    def grow(self, seq: Seq, *tokens: int) -> None:
        seq.tokens += tokens
        self.prefixes.extend(seq.prefixes, tokens)
        seq.upto = len(seq.tokens)

    def send(self, source: int, target: int, *, copy: bool, out: bool = True) -> None:
        ends = (GPU, GPU) if copy else (GPU, CPU) if out else (CPU, GPU)
        self.ledger.pending.append(Transfer(ends[0], source, ends[1], target, copy))


# -- prefixes -------------------------------------------------------------------------------------------------------


@given(st.lists(st.integers(0, 2), max_size=8), st.lists(st.integers(0, 2), max_size=8), st.integers(0, 8))
def test_equal_prefixes_and_only_they_have_equal_numbers(one: list[int], other: list[int], at: int) -> None:
    prefixes = Prefixes()
    first: list[int] = []
    second: list[int] = []
    prefixes.extend(first, one[:at])
    prefixes.extend(second, other)
    prefixes.extend(first, one[at:])  # in two parts or at once: no difference
    assert len(first) == len(one)
    assert GARBAGE not in first + second
    for i in range(len(one)):
        for j in range(len(other)):
            assert (first[i] == second[j]) == (one[: i + 1] == other[: j + 1])
    assert len(set(first)) == len(first)


# -- contents -------------------------------------------------------------------------------------------------------


def test_a_step_writes_what_is_covered_and_not_yet_computed() -> None:
    desk = Desk()
    seq = desk.seq(1, [7, 7, 8, 9, 7], [3, 5], upto=4)
    assert not desk.ledger.write(seq).sharing
    assert seq.computed == 4
    assert desk.ledger.content(GPU, 3) == seq.prefixes[:4]
    assert desk.ledger.content(GPU, 5) == [GARBAGE] * 4
    assert desk.ledger.content(CPU, 3) == [GARBAGE] * 4
    seq.upto = 5
    desk.ledger.write(seq)
    assert desk.ledger.content(GPU, 5) == [seq.prefixes[4], GARBAGE, GARBAGE, GARBAGE]
    assert desk.ledger.wrong_slots(seq) == []


def test_wrong_slots_are_those_of_computed_positions_that_hold_something_else() -> None:
    desk = Desk()
    seq = desk.seq(1, [1, 2, 3, 4, 5, 6, 9], [0, 1], upto=6)
    assert desk.ledger.wrong_slots(seq) == []  # nothing computed, nothing to read
    desk.ledger.write(seq)
    assert desk.ledger.wrong_slots(seq) == []
    desk.ledger.content(GPU, 0)[2] = 99
    assert desk.ledger.wrong_slots(seq) == [2]
    desk.ledger.content(GPU, 1)[2] = 99  # beyond what is computed
    assert desk.ledger.wrong_slots(seq) == [2]
    desk.ledger.set_row(seq, GPU, [1, 0])
    assert desk.ledger.wrong_slots(seq) == [0, 1, 2, 3, 4, 5]
    desk.ledger.set_row(seq, GPU, [0])
    assert desk.ledger.wrong_slots(seq) == [2, 4, 5]
    desk.ledger.set_row(seq, CPU, [0, 1])
    assert desk.ledger.wrong_slots(seq) == [0, 1, 2, 3, 4, 5]
    desk.ledger.drop_row(seq)
    assert desk.ledger.wrong_slots(seq) == []


def test_a_row_without_a_slot_for_a_position_is_not_written_there() -> None:
    desk = Desk()
    seq = desk.seq(1, [1, 2, 3, 4, 5], [2])
    desk.ledger.write(seq)
    assert desk.ledger.wrong_slots(seq) == [4]


def test_an_old_life_of_a_block_is_garbage_to_its_next_owner() -> None:
    desk = Desk()
    first = desk.seq(1, [1, 2, 3], [0])
    desk.ledger.write(first)
    desk.ledger.drop_row(first)
    second = desk.seq(2, [1, 2, 4], [0])
    second.computed = 3  # it claims to have been computed
    assert desk.ledger.wrong_slots(second) == [2]  # its first two tokens are the same prefix


# -- copies and moves -----------------------------------------------------------------------------------------------


def filled(desk: Desk, *blocks: int) -> None:
    for block in blocks:
        desk.ledger.content(GPU, block)[:] = [100 + block] * 4


def test_copies_and_moves_take_effect_as_issued() -> None:
    desk = Desk()
    filled(desk, 0, 1)
    desk.send(0, 1, copy=True)
    desk.send(1, 6, copy=False)
    desk.ledger.execute(transfers_first=False)
    assert desk.ledger.content(CPU, 6) == [100] * 4
    assert desk.ledger.pending == []


def test_transfers_first_lets_moves_overtake_copies() -> None:
    desk = Desk()
    filled(desk, 0, 1)
    desk.send(0, 1, copy=True)
    desk.send(1, 6, copy=False)
    desk.ledger.execute(transfers_first=True)
    assert desk.ledger.content(CPU, 6) == [101] * 4
    assert desk.ledger.content(GPU, 1) == [100] * 4


def test_within_a_kind_the_order_stays_as_issued() -> None:
    for transfers_first in (False, True):
        desk = Desk()
        filled(desk, 0, 1, 2)
        desk.send(0, 1, copy=True)
        desk.send(1, 2, copy=True)
        desk.send(3, 0, copy=False)
        desk.send(0, 4, copy=False, out=False)
        desk.ledger.execute(transfers_first)
        assert desk.ledger.content(GPU, 2) == [100] * 4
        assert desk.ledger.content(GPU, 4) == [GARBAGE] * 4


def test_a_copy_copies_and_does_not_alias() -> None:
    desk = Desk()
    filled(desk, 0)
    desk.send(0, 1, copy=True)
    desk.ledger.execute(transfers_first=False)
    desk.ledger.content(GPU, 0)[0] = 5
    assert desk.ledger.content(GPU, 1) == [100] * 4


def test_whoever_reads_the_target_of_a_copy_says_what_is_wrong_there() -> None:
    desk = Desk()
    writer = desk.seq(1, [1, 2, 3, 4, 5, 6], [0, 1])
    desk.ledger.write(writer)
    desk.ledger.set_row(writer, GPU, [0, 2])
    desk.send(1, 2, copy=True)
    (right,) = desk.ledger.execute(transfers_first=False)
    assert (right.seq, right.copy, right.wrong) == (writer, True, 0)
    desk.send(3, 2, copy=True)
    (wrong,) = desk.ledger.execute(transfers_first=False)
    assert (wrong.seq, wrong.copy, wrong.wrong) == (writer, True, 2)  # two computed slots in that block
    assert desk.ledger.execute(transfers_first=False) == []


def test_whoever_was_swapped_says_at_the_next_step_whether_all_arrived() -> None:
    desk = Desk()
    seq = desk.seq(1, [1, 2, 3, 4, 5], [0, 1])
    never_computed = desk.seq(2, [1], [3])
    desk.ledger.write(seq)
    desk.ledger.set_row(seq, CPU, [7, 6])
    desk.ledger.swapped |= {seq.id, never_computed.id}
    desk.send(0, 7, copy=False)
    (arrival,) = desk.ledger.execute(transfers_first=False)
    assert (arrival.seq, arrival.copy, arrival.wrong) == (seq, False, 1)
    assert desk.ledger.execute(transfers_first=False) == []


def test_a_swapped_sequence_that_has_ended_does_not_arrive() -> None:
    desk = Desk()
    seq = desk.seq(1, [1], [0])
    desk.ledger.write(seq)
    desk.ledger.swapped.add(1)
    desk.ledger.drop_row(seq)
    assert desk.ledger.execute(transfers_first=False) == []


# -- who is spoiled -------------------------------------------------------------------------------------------------


def pair(mine: int, theirs: int, *, computed: bool = True) -> tuple[Desk, Seq, Seq]:
    """Two sequences that share a block with two common tokens in it, each with one more of its own."""
    desk = Desk()
    writer, reader = desk.seq(1, [1, 2], [0]), desk.seq(2, [1, 2], [0])
    desk.ledger.write(writer)
    desk.ledger.write(reader)
    desk.grow(reader, theirs)
    if computed:
        desk.ledger.write(reader)
    desk.grow(writer, mine)
    return desk, writer, reader


def test_a_write_of_something_else_spoils_a_reader() -> None:
    desk, writer, reader = pair(8, 9)
    writing = desk.ledger.write(writer)
    assert writing.sharing
    assert writing.spoiled == [(0, 2, reader)]
    assert writing.strangers == {0: [reader]}
    assert desk.ledger.wrong_slots(reader) == [2]


def test_a_write_of_the_same_spoils_nobody() -> None:
    desk, writer, reader = pair(9, 9)
    writing = desk.ledger.write(writer)
    assert writing.sharing
    assert (writing.spoiled, writing.strangers) == ([], {})
    assert desk.ledger.wrong_slots(reader) == []


def test_who_has_not_computed_the_slot_is_a_stranger_but_not_spoiled() -> None:
    desk, writer, reader = pair(8, 9, computed=False)
    writing = desk.ledger.write(writer)
    assert writing.spoiled == []
    assert writing.strangers == {0: [reader]}


def test_who_does_not_cover_the_slot_is_no_stranger() -> None:
    desk = Desk()
    writer = desk.seq(1, [1, 2], [0])
    desk.seq(2, [1], [0])
    writing = desk.ledger.write(writer)
    assert writing.sharing
    assert (writing.spoiled, writing.strangers) == ([], {})


def test_the_same_block_number_on_the_other_device_is_another_block() -> None:
    desk = Desk()
    away = desk.seq(2, [9, 9], [0], device=CPU)
    writer = desk.seq(1, [1, 2], [0])
    assert not desk.ledger.write(writer).sharing
    assert desk.ledger.content(CPU, 0) == [GARBAGE] * 4
    assert home(away) is CPU
    assert home(writer) is GPU


# -- owners ---------------------------------------------------------------------------------------------------------


def test_owners_follow_rows() -> None:
    desk = Desk()
    one, two = desk.seq(1, [1] * 8, [0, 1]), desk.seq(2, [1] * 8, [0, 2])
    assert (desk.ledger.held(GPU), desk.ledger.held(CPU)) == (3, 0)
    assert desk.ledger.distinct([one, two]) == 3
    assert desk.ledger.entries([one, two]) == 4
    assert desk.ledger.readers(GPU, 0) == [(one, 0), (two, 0)]
    assert desk.ledger.readers(GPU, 2) == [(two, 1)]
    desk.ledger.set_row(two, CPU, [0])
    assert (desk.ledger.held(GPU), desk.ledger.held(CPU)) == (2, 1)
    assert desk.ledger.readers(GPU, 0) == [(one, 0)]
    desk.ledger.drop_row(one)
    desk.ledger.drop_row(one)  # it may be gone already
    assert (desk.ledger.held(GPU), desk.ledger.held(CPU)) == (0, 1)
    assert desk.ledger.distinct([one]) == desk.ledger.entries([one]) == 0


def test_a_row_that_repeats_a_block_owns_it_once() -> None:
    desk = Desk()
    seq = desk.seq(1, [1] * 8, [0, 0])
    assert desk.ledger.held(GPU) == 1
    assert len(desk.ledger.owners[GPU][0]) == 1
    assert desk.ledger.entries([seq]) == 2
    desk.ledger.drop_row(seq)
    assert desk.ledger.held(GPU) == 0
