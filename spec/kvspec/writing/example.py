"""One state of both caches, made by performing operations on plain numbers, and a picture of it.

Knows how to play and to draw; the state comes from `kvspec.model.manager`.
"""

from __future__ import annotations

from collections.abc import Iterator

from kvspec.model.cache import Cache
from kvspec.model.manager import Manager, Seq, empty, lies_on, perform
from kvspec.vocabulary import Allocate, Append, Config, Device, Fork, Operation, Result, Step, SwapOut

CONFIG = Config(block_size=2, num_gpu_blocks=4, num_cpu_blocks=2)

STORY: tuple[tuple[Operation, str], ...] = (
    (Allocate(1, (1,), (11, 12, 13)), "sequence 1 is admitted with a prompt of three tokens"),
    (Step({1: (14,)}), "their KV is written, and token 14 comes out"),
    (Fork(1, 2, (15,)), "sequence 2 shares the table, and has token 15 instead"),
    (Append(1), "both have a token to write into a block that they share, so the first gets a copy of it"),
    (Step({}), "both tokens are written"),
    (Allocate(2, (3,), (21,)), "sequence 3 is admitted, in a group of its own"),
    (Step({}), "its token is written"),
    (SwapOut(2), "its group is moved to the CPU"),
)
"""What is done, and what it comes to."""


def state() -> Manager:
    """The state after the story."""
    now = empty(CONFIG)
    for operation, _ in STORY:
        done = perform(now, operation)
        assert done.result is Result.OK, f"{operation}: {done.result}"
        now = done.after
    return now


def diagram() -> list[str]:
    """Block tables on the left, the blocks of both devices on the right, for Mermaid."""
    now = state()
    boxes = [line for seq in now.seqs for line in _box(f"table{seq.id}", _title(seq), _entries(seq))]
    pools = [line for device in Device for line in _box(device.value, _pool_title(now, device), _blocks(now, device))]
    return ["flowchart LR", *boxes, *pools, *_arrows(now)]


def _box(name: str, title: str, inside: Iterator[str]) -> list[str]:
    return [f'    subgraph {name}["{title}"]', *(f"        {line}" for line in inside), "    end"]


def _title(seq: Seq) -> str:
    return f"sequence {seq.id}, {seq.status.value}"


def _entries(seq: Seq) -> Iterator[str]:
    return (f'{_entry(entry)}["entry {entry[1]}"]' for entry in seq.table())


def _pool_title(now: Manager, device: Device) -> str:
    pool = now.cache(device).pool
    return f"{device.value.upper()}, {pool.size} blocks of {CONFIG.block_size} slots, {pool.free} free"


def _blocks(now: Manager, device: Device) -> Iterator[str]:
    cache = now.cache(device)
    for block in range(cache.pool.size):
        owners = cache.pool.ref[block]
        told = f"ref {owners} · {_held(cache, block)}" if owners else "free"
        yield f'{device.value}{block}["block {block} · {told}"]'


def _held(cache: Cache, block: int) -> str:
    """The token of each slot; a content is a whole prefix, of which the last token is its own."""
    contents = (cache.holds[block, slot] for slot in range(CONFIG.block_size))
    return " ".join(str(content[-1]) if isinstance(content, tuple) else "-" for content in contents)


def _arrows(now: Manager) -> Iterator[str]:
    for seq in now.seqs:
        device = lies_on(seq)
        if device is not None:
            tab = now.cache(device).pool.tab
            yield from (f"    {_entry(entry)} --> {device.value}{tab[entry]}" for entry in seq.table())


def _entry(entry: tuple[int, int]) -> str:
    return f"entry{entry[0]}_{entry[1]}"
