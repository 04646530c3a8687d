"""The stand-ins for sequences and groups answer as the managers' authors meant the questions."""

from __future__ import annotations

import pytest

from kvconform.engines.vllm_standins import Sequence, SequenceGroup, SequenceStatus


def test_blocks_are_counted_from_live_tokens() -> None:
    seq = Sequence(1, [1, 2, 3, 4], 4)
    assert (seq.n_blocks, len(seq.logical_token_blocks)) == (1, 1)
    seq.tokens.append(5)
    assert (seq.n_blocks, seq.get_len(), seq.data.get_output_len()) == (2, 5, 1)
    assert Sequence(2, [], 4).n_blocks == 0


@pytest.mark.parametrize("status", list(SequenceStatus))
def test_finished_is_what_the_status_says(status: SequenceStatus) -> None:
    assert Sequence(1, [1], 4, status).is_finished() == status.name.startswith("FINISHED")


def test_finished_sequences_stay_in_their_group() -> None:
    one, two = Sequence(1, [1], 4, SequenceStatus.FINISHED_ABORTED), Sequence(2, [1], 4, SequenceStatus.RUNNING)
    group = SequenceGroup("r", [one, two])
    assert group.get_seqs() == [one, two]
    assert group.get_seqs(status=SequenceStatus.RUNNING) == [two]
    assert (group.num_seqs(), group.num_seqs(status=SequenceStatus.WAITING), group.num_unfinished_seqs()) == (2, 0, 1)
    assert not group.is_finished()


def test_hashes_tell_prefixes_apart_and_join_equal_ones() -> None:
    one, two = Sequence(1, [1, 2, 3, 4, 5], 2), Sequence(2, [1, 2, 3, 4, 9], 2)
    assert one.hash_of_block(1) == two.hash_of_block(1)
    assert one.hash_of_block(0) != one.hash_of_block(1)
    assert one.hash_of_block(2) != two.hash_of_block(2)
    adapted = Sequence(3, [1, 2], 2, lora_int_id=1)
    assert adapted.hash_of_block(0) != one.hash_of_block(0)
    assert (one.extra_hash(), adapted.extra_hash() is None) == (None, False)


def test_a_sequence_decodes_once_all_is_computed_until_it_restarts() -> None:
    seq = Sequence(1, [1, 2, 3], 2)
    seq.data.set_computed(2)
    assert (seq.is_prefill(), seq.get_num_new_tokens()) == (True, 1)
    seq.data.set_computed(3)
    seq.tokens.append(4)
    assert (seq.is_prefill(), seq.get_num_new_tokens(), seq.get_num_computed_tokens()) == (False, 1, 3)
    seq.data.restart()
    assert (seq.is_prefill(), seq.get_num_new_tokens()) == (True, 4)
