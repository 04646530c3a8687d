"""Small stand-ins for what vLLM's block managers ask of a sequence, a group and their surroundings.

Knows: which questions the managers of releases 0.2 to 0.10 put to these objects, and the meaning of the
answers. Must not know: any manager, or the kit that drives it. Standard library only; written here from
the managers' point of view, and not taken from vLLM.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable


class Device(enum.Enum):
    """The two places where blocks live."""

    GPU = enum.auto()
    CPU = enum.auto()


class SequenceStatus(enum.Enum):
    """Where a sequence is in its life. The scheduler sets it, never the manager."""

    WAITING = enum.auto()
    RUNNING = enum.auto()
    SWAPPED = enum.auto()
    FINISHED_STOPPED = enum.auto()
    FINISHED_LENGTH_CAPPED = enum.auto()
    FINISHED_ABORTED = enum.auto()
    FINISHED_IGNORED = enum.auto()

    @staticmethod
    def is_finished(status: SequenceStatus) -> bool:
        """Whether a sequence of this status is over."""
        return status.name.startswith("FINISHED_")


class SequenceData:
    """A sequence's tokens and how many of them are computed."""

    __slots__ = ("_computed", "_prefill", "prompt_length", "tokens")

    def __init__(self, tokens: list[int], prompt_length: int) -> None:
        self.tokens = tokens
        self.prompt_length = prompt_length
        self._computed = 0
        self._prefill = True

    def get_len(self) -> int:
        """How many tokens there are."""
        return len(self.tokens)

    def get_prompt_len(self) -> int:
        """How many of them are the prompt."""
        return self.prompt_length

    def get_output_len(self) -> int:
        """How many of them were generated."""
        return len(self.tokens) - self.prompt_length

    def get_token_ids(self) -> list[int]:
        """All tokens, prompt first."""
        return self.tokens

    def get_prefix_token_ids(self, count: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The first so many tokens, those of the prompt and those generated."""
        cut = min(count, self.prompt_length)
        return tuple(self.tokens[:cut]), tuple(self.tokens[self.prompt_length : max(count, self.prompt_length)])

    def get_num_computed_tokens(self) -> int:
        """How many tokens have their KV written."""
        return self._computed

    def get_num_uncomputed_tokens(self) -> int:
        """How many tokens still need it."""
        return len(self.tokens) - self._computed

    def set_computed(self, computed: int) -> None:
        """State how many tokens are computed. Once all are, the sequence decodes until it is restarted."""
        self._computed = computed
        if computed >= len(self.tokens):
            self._prefill = False

    def restart(self) -> None:
        """The blocks were given up: everything must be computed again."""
        self._computed = 0
        self._prefill = True

    @property
    def is_prefill(self) -> bool:
        """Whether the sequence has not been computed to its end since it was (re)started."""
        return self._prefill


class Sequence:
    """One sequence as a manager sees it. `tokens` is a live list: whoever drives it appends."""

    def __init__(
        self,
        seq_id: int,
        tokens: Iterable[int],
        block_size: int,
        status: SequenceStatus = SequenceStatus.WAITING,
        prompt_length: int | None = None,
        lora_int_id: int = 0,
    ) -> None:
        self.seq_id = seq_id
        self.block_size = block_size
        self.status = status
        self.lora_int_id = lora_int_id
        self.prompt_adapter_id = 0
        held = list(tokens)
        self.data = SequenceData(held, len(held) if prompt_length is None else prompt_length)

    @property
    def tokens(self) -> list[int]:
        """The live list of tokens."""
        return self.data.tokens

    @property
    def n_blocks(self) -> int:
        """How many blocks the tokens fill, the last perhaps in part."""
        return -(-len(self.data.tokens) // self.block_size)

    @property
    def logical_token_blocks(self) -> range:
        """Early managers ask only how many there are."""
        return range(self.n_blocks)

    def get_len(self) -> int:
        """How many tokens there are."""
        return len(self.data.tokens)

    def get_prompt_len(self) -> int:
        """How many of them are the prompt."""
        return self.data.prompt_length

    def get_token_ids(self) -> list[int]:
        """All tokens, prompt first."""
        return self.data.tokens

    def get_num_new_tokens(self) -> int:
        """How many tokens the next step computes: one when decoding, all that is left in prefill."""
        return self.data.get_num_uncomputed_tokens() if self.data.is_prefill else 1

    def get_num_computed_tokens(self) -> int:
        """How many tokens have their KV written."""
        return self.data.get_num_computed_tokens()

    def is_prefill(self) -> bool:
        """Whether the sequence has not been computed to its end yet."""
        return self.data.is_prefill

    def is_finished(self) -> bool:
        """Whether the sequence is over. It stays in its group all the same."""
        return SequenceStatus.is_finished(self.status)

    def num_hashed_tokens_of_block(self, index: int) -> int:
        """How many tokens there are up to the end of that block, were it full."""
        return (index + 1) * self.block_size

    def hash_of_block(self, index: int) -> int:
        """Names the content of a block with all before it (first generation's prefix caching)."""
        return hash((self.data.get_prefix_token_ids(self.num_hashed_tokens_of_block(index)), self.lora_int_id))

    def extra_hash(self) -> int | None:
        """What besides tokens tells contents apart (second generation's prefix caching)."""
        return hash(self.lora_int_id) if self.lora_int_id else None

    def __repr__(self) -> str:
        return f"Sequence({self.seq_id}, {self.status.name}, {len(self.tokens)} tokens)"


class SequenceGroup:
    """The sequences of one request. Finished ones stay in their group, as in vLLM."""

    # An object that shares a prompt prefix between requests, in 0.3 only; none is ever set.
    prefix = None

    def __init__(self, request_id: str, seqs: Iterable[Sequence], encoder_seq: Sequence | None = None) -> None:
        self.request_id = request_id
        self.seqs = list(seqs)
        self.encoder_seq = encoder_seq

    @property
    def seqs_dict(self) -> dict[int, Sequence]:
        """The sequences by their ids."""
        return {seq.seq_id: seq for seq in self.seqs}

    @property
    def first_seq(self) -> Sequence:
        """The sequence that was there first."""
        return self.seqs[0]

    def add(self, seq: Sequence) -> None:
        """A fork joins its parent's group."""
        self.seqs.append(seq)

    def get_seqs(self, status: SequenceStatus | None = None) -> list[Sequence]:
        """The sequences, or those of one status."""
        return self.seqs if status is None else [seq for seq in self.seqs if seq.status is status]

    def num_seqs(self, status: SequenceStatus | None = None) -> int:
        """How many these are."""
        return len(self.get_seqs(status))

    def get_unfinished_seqs(self) -> list[Sequence]:
        """The sequences that are not over."""
        return [seq for seq in self.seqs if not seq.is_finished()]

    def get_finished_seqs(self) -> list[Sequence]:
        """The sequences that are over."""
        return [seq for seq in self.seqs if seq.is_finished()]

    def num_unfinished_seqs(self) -> int:
        """How many are not over."""
        return len(self.get_unfinished_seqs())

    def num_finished_seqs(self) -> int:
        """How many are over."""
        return len(self.get_finished_seqs())

    def get_max_num_running_seqs(self) -> int:
        """How many may run at once from here on."""
        return self.num_unfinished_seqs()

    def is_finished(self) -> bool:
        """Whether all are over."""
        return all(seq.is_finished() for seq in self.seqs)

    def is_prefill(self) -> bool:
        """Whether the first sequence has not been computed to its end yet."""
        return self.first_seq.is_prefill()

    def is_encoder_decoder(self) -> bool:
        """Whether the request has an encoder's prompt too."""
        return self.encoder_seq is not None

    def get_encoder_seq(self) -> Sequence | None:
        """The encoder's sequence, if there is one."""
        return self.encoder_seq

    def __repr__(self) -> str:
        return f"SequenceGroup({self.request_id!r}, {self.seqs})"


class RequestStatus(enum.Enum):
    """Where a request of V1 is in its life. The scheduler sets it; the managers only ask whether it runs."""

    WAITING = enum.auto()
    RUNNING = enum.auto()
    PREEMPTED = enum.auto()
    FINISHED_STOPPED = enum.auto()


class Request:
    """A request of V1: its tokens, how many are computed, and the hashes of its whole blocks, which the manager keeps
    with it (first releases) or the request itself (`block_hashes`). all_token_ids: the kit's own list, so that it grows
    with the sequence. What would come from pictures, adapters, connectors or logs is absent.
    """

    lora_request = None
    prompt_embeds = None
    sampling_params = None
    pooling_params = None
    session_id = None
    skip_reading_prefix_cache = False
    shared_prefix_boundary = 0
    num_in_flight_tokens = 0
    num_preemptions = 0

    def __init__(self, request_id: str, all_token_ids: list[int], cache_salt: str | None = None) -> None:
        self.request_id = request_id
        self.all_token_ids = all_token_ids
        self.num_prompt_tokens = len(all_token_ids)
        self.num_computed_tokens = 0
        self.cache_salt = cache_salt
        self.status = RequestStatus.RUNNING
        self.block_hashes: list[object] = []
        self.mm_features: list[object] = []
        self.mm_positions: list[object] = []
        self.mm_hashes: list[str] = []
        self._hashes: list[object] = []

    @property
    def num_tokens(self) -> int:
        """How many tokens there are."""
        return len(self.all_token_ids)

    @property
    def kv_block_hashes(self) -> tuple[object, ...]:
        """The hashes of the whole blocks so far."""
        return tuple(self._hashes)

    def set_kv_block_hashes(self, hashes: Iterable[object]) -> None:
        """All of them at once."""
        self._hashes = list(hashes)

    def append_kv_block_hashes(self, block_hash: object) -> None:
        """One more."""
        self._hashes.append(block_hash)
