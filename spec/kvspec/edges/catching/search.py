"""Breadth first through the lives of the right manager, with a wrong one at its side, until the two can be told apart.

The two do the same operations and are, up to the first difference, alike to whoever looks; so it is the right one whose
states are walked, and a wrong one is performed only from where it was bent. Must not know which variants there are, nor
why they are wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from kvspec.edges.catching.bent import Bent, Told, perform, perform_rightly, reads_of, start, verdict_of
from kvspec.edges.catching.lives import Life, Manners, choices, forced, order_of, scope_of, weight_of
from kvspec.edges.catching.observed import Difference, difference, raw
from kvspec.edges.catching.variant import Variant
from kvspec.exploring.sight import Sight, look
from kvspec.model import manager as model
from kvspec.vocabulary import Config, Operation, Result, Verdict

Weight = tuple[int, ...]
Rank = tuple[Weight, tuple[tuple[int, str], ...]]
"""What is least among paths of one length: their weight (`lives.weight_of`), then their operations in order."""


@dataclass(frozen=True)
class Path:
    """Operations from the empty state."""

    operations: tuple[Operation, ...] = ()
    rank: Rank = ((0, 0, 0), ())

    def then(self, edge: Edge) -> Path:
        """One operation more."""
        weight, order = self.rank
        more = tuple(one + other for one, other in zip(weight, edge.weight, strict=True))
        return Path((*self.operations, edge.op), (more, (*order, edge.order)))


@dataclass(frozen=True)
class Edge:
    """One operation of the right manager. steps: the micro-steps of which it was made. node: the state after it; None
    where a vector does not go on, since it was refused or failed.
    """

    op: Operation
    told: Told
    steps: frozenset[str]
    weight: Weight
    order: tuple[int, str]
    node: Node | None


@dataclass(eq=False)
class Node:
    """A state of the right manager."""

    life: Life
    sight: Sight
    edges: list[Edge] | None = None


Key = Node | tuple[Any, ...]
"""What tells pairs apart: the node, and the state of the wrong manager where it is not the same."""


@dataclass(frozen=True)
class Pair:
    """The right manager and a wrong one that cannot be told apart yet, after the least operations that lead there."""

    node: Node
    wrong: Bent
    path: Path

    @property
    def upright(self) -> bool:
        """The wrong manager has not gone wrong yet, or not so that anything is left of it."""
        return self.wrong.state is self.node.life.state and not self.wrong.late


@dataclass(frozen=True)
class Hit:
    """Where a variant can be told from the right manager: by the last operation of the path."""

    variant: Variant
    config: Config
    path: Path
    right: Told
    wrong: Told
    difference: Difference


class Walk:
    """The states of one configuration, and what leads from one to another, as far as anybody asked."""

    def __init__(self, config: Config, manners: Manners) -> None:
        self.config = config
        self._scope = scope_of(config, manners)
        self._manners = manners
        self._nodes: dict[tuple[Any, ...], Node] = {}
        life = Life(start(config))
        self.first = self._node(life, look(life.state))

    def _node(self, life: Life, sight: Sight) -> Node:
        """The state, as it was first met: states that differ in the numbers of blocks only are one."""
        key = sight.key, life.past(self._manners.orders)
        return self._nodes.setdefault(key, Node(life, sight))

    def edges(self, node: Node) -> list[Edge]:
        """What may be done there."""
        if node.edges is None:
            node.edges = list(self._edges(node))
        return node.edges

    def _edges(self, node: Node) -> Iterator[Edge]:
        for op in choices(node.life, self._scope, self._manners):
            edge = self._edge(node, op)
            yield edge
            other = forced(node.life.state, op) if edge.told.result is Result.REFUSED else None
            if other is not None:
                yield self._edge(node, other)

    def _edge(self, node: Node, op: Operation) -> Edge:
        before = node.life.state
        done = perform_rightly(before, op)
        told = Told(done.verdict, done.result, Bent(done.after), reads_of(before, done.after, op))
        goes_on = done.verdict in (None, Verdict.OK) and done.result is Result.OK
        steps = frozenset(fired.step for fired in done.fired)
        return Edge(op, told, steps, weight_of(op), order_of(op), self._after(node, op, done) if goes_on else None)

    def _after(self, node: Node, op: Operation, done: model.Performed) -> Node:
        return self._node(node.life.then(op, done.after), look(done.after, node.sight))


class Hunt:
    """One variant in one configuration: the pairs that were reached by the last level of operations."""

    def __init__(self, variant: Variant, walk: Walk) -> None:
        first = Pair(walk.first, Bent(walk.first.life.state), Path())
        self.walk = walk
        self._variant = variant
        self._pairs: dict[Key, Pair] = {walk.first: first}
        self._known: set[Key] = {walk.first}

    def hits(self) -> list[Hit]:
        """Where it shows after one operation more than before; it is not followed beyond what shows."""
        pairs, self._pairs = self._pairs.values(), {}
        found = list[Hit]()
        for pair in pairs:
            for edge in self.walk.edges(pair.node):
                if not self._is_bent(pair, edge):
                    self._keep(pair, edge, edge.told.after)
                elif (hit := self._try(pair, edge)) is not None:
                    found.append(hit)
        self._known |= self._pairs.keys()
        return found

    def _is_bent(self, pair: Pair, edge: Edge) -> bool:
        """Whether anything can come of it that the right manager does not do."""
        bend, failed = self._variant.bend, edge.told.result is Result.OUT_OF_BLOCKS
        if pair.upright and not bend.bends(edge.op, edge.steps, failed):
            return False
        return not (bend.only_asks and verdict_of(bend, pair.wrong.state, edge.op) is edge.told.verdict)

    def _try(self, pair: Pair, edge: Edge) -> Hit | None:
        if getattr(edge.op, "force", False) and self._variant.bend.left is None:
            return None  # of a failure there is nothing to be seen but what it leaves
        wrong = perform(self._variant.bend, pair.wrong, edge.op)
        seen = difference(edge.told, wrong)
        if seen is None:
            self._keep(pair, edge, wrong.after)
        elif self._variant.wanted(edge.told, wrong):
            return Hit(self._variant, self.walk.config, pair.path.then(edge), edge.told, wrong, seen)
        return None

    def _keep(self, pair: Pair, edge: Edge, wrong: Bent) -> None:
        """Go on from there, unless as few operations led there already, or as many lesser ones."""
        node = edge.node
        if node is None:
            return
        key: Key = node if is_right(wrong, edge.told.after.state) else (node, raw(wrong.state), wrong.late)
        if key in self._known:
            return
        path = pair.path.then(edge)
        if key not in self._pairs or path.rank < self._pairs[key].path.rank:
            self._pairs[key] = Pair(node, Bent(node.life.state) if key is node else wrong, path)


def is_right(wrong: Bent, right: model.Manager) -> bool:
    """Whether the wrong manager is in the very state of the right one."""
    return not wrong.late and (wrong.state is right or raw(wrong.state) == raw(right))


def hunt(variants: Sequence[Variant], configs: Sequence[Config], manners: Manners, depth: int) -> dict[str, Hit]:
    """The least hit of each variant, of those that have one within so many operations.

    Fewest operations first, then blocks, then weight, then the configuration and the operations in order.
    """
    walks = [Walk(config, manners) for config in sorted(configs, key=size_of)]
    hunts = {v.id: [Hunt(v, walk) for walk in walks] for v in variants}
    found: dict[str, Hit] = {}
    for _ in range(depth):
        for name, each in hunts.items():
            if name not in found and (hit := _least(each)) is not None:
                found[name] = hit
    return found


def _least(hunts: Iterable[Hunt]) -> Hit | None:
    best: Hit | None = None
    for each in hunts:
        if best is not None and _blocks(each.walk.config) > _blocks(best.config):
            return best
        hits = each.hits()
        best = min([*hits, *([best] if best else [])], key=_rank, default=None)
    return best


def _rank(hit: Hit) -> tuple[Any, ...]:
    return _blocks(hit.config), hit.path.rank[0], size_of(hit.config), hit.path.rank[1]


def _blocks(config: Config) -> int:
    return config.num_gpu_blocks + config.num_cpu_blocks


def size_of(config: Config) -> tuple[int, ...]:
    """What configurations are ordered by: blocks first."""
    return (
        _blocks(config),
        config.block_size,
        config.watermark_blocks,
        config.num_cpu_blocks,
        config.num_gpu_blocks,
    )
