"""The index of published content: which block holds which token ids after which prefix.

Knows: chains of nodes, one a block of tokens, and how to find one by its hash without believing the hash.
Must not know: who owns a block, which blocks are free, sequences, or when content is published or dropped.
"""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import TypeAlias

BlockTokens: TypeAlias = tuple[int, ...]

BlockHash: TypeAlias = Callable[[int, BlockTokens], int]
"""From the parent's hash and a block's token ids to the block's hash. Any function is right, if slow."""


def chain_hash(parent: int, tokens: BlockTokens) -> int:
    """The usual `BlockHash`: depends on every token of the prefix, by way of the parent's hash."""
    return hash((parent, tokens))


@dataclass(slots=True, eq=False)
class Node:
    """One content: the token ids of a whole block after the content of `parent`.

    A root has no parent and no block; it stands for the empty prefix under its `extra` keys. `block` is
    the physical block that holds the content, None if it has been evicted. `uses` counts the child
    nodes and the rows that end at this node: while there are any, the node stays.
    """

    key: int
    parent: "Node | None" = field(repr=False)
    tokens: BlockTokens = ()
    extra: Hashable = None
    block: int | None = None
    uses: int = 0


class PrefixIndex:
    """A forest of nodes, looked up by hash.

    Naming a block by its own tokens and its parent is vLLM's automatic prefix caching; keeping it as a
    tree of prefixes is RadixAttention's (Zheng et al., "SGLang: Efficient Execution of Structured
    Language Model Programs", 2024). A hash only picks the candidates: token ids and parent are compared,
    so two contents with one hash are never taken for each other. All operations are O(1) in the number
    of nodes as long as hashes differ, apart from comparing one block's tokens.

    Extra keys are told apart as Python does it: 1, 1.0 and True are the same key.

    Memory: a node for each published block, and for each entry of a live row. Nodes beyond these are
    prefixes that were evicted while something below them stays cached: under a sliding window, which
    gives a prefix up before what follows it, or where two rows computed the same prefix at the same
    time and the copy outlived the indexed one. They go with what is below them, and there are at most
    a row's length of them for each cached block.
    """

    def __init__(self, hash_block: BlockHash) -> None:
        self._hash_block = hash_block
        self._roots: dict[Hashable, Node] = {}
        self._buckets: dict[int, list[Node]] = {}

    def emptied(self) -> "PrefixIndex":
        """A new index of the same kind, that hashes as this one does."""
        return type(self)(self._hash_block)

    def nodes(self) -> list[Node]:
        """All nodes, roots first. O(nodes)."""
        return [*self._roots.values(), *(node for bucket in self._buckets.values() for node in bucket)]

    def find_root(self, extra: Hashable) -> Node | None:
        """The root of these extra keys, if anything is below it."""
        return self._roots.get(extra)

    def obtain_root(self, extra: Hashable) -> Node:
        """The root of these extra keys, made if need be. Whoever makes it puts a child below it."""
        root = self._roots.get(extra)
        if root is None:
            root = self._roots[extra] = Node(hash(extra), None, extra=extra)
        return root

    def find(self, parent: Node, tokens: BlockTokens) -> Node | None:
        """The child of `parent` with exactly these token ids, with or without a block."""
        for node in self._buckets.get(self._hash_block(parent.key, tokens), ()):
            if node.parent is parent and node.tokens == tokens:
                return node
        return None

    def obtain(self, parent: Node, tokens: BlockTokens) -> Node:
        """The same, made if need be, without a block then. Whoever makes it gives it one."""
        node = self.find(parent, tokens)
        if node is None:
            node = Node(self._hash_block(parent.key, tokens), parent, tokens)
            self._buckets.setdefault(node.key, []).append(node)
            parent.uses += 1
        return node

    def prune(self, node: Node) -> None:
        """Drop a node that nothing needs, and each ancestor that was there for its sake only.

        A node without a block stays while it has uses: when its content is computed again, whatever is
        below it can be reached again. O(nodes dropped), so O(1) for each node ever made.
        """
        while node.block is None and not node.uses:
            parent = node.parent
            if parent is None:
                del self._roots[node.extra]
                return
            self._unlink(node)
            parent.uses -= 1
            node = parent

    def _unlink(self, node: Node) -> None:
        bucket = self._buckets[node.key]
        bucket.remove(node)
        if not bucket:
            del self._buckets[node.key]
