"""Changing a formula all over: reads of what was just put, states after a step, names for what occurs again.

Knows trees; must not know what anything stands for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, replace
from typing import Any

from kvspec.writing import simplify
from kvspec.writing.formulas import (
    And,
    Compare,
    Function,
    Memory,
    Name,
    Not,
    Number,
    Or,
    Put,
    PutRow,
    Read,
    Sum,
    Tree,
    root_of,
)

Change = Callable[[Tree], Tree]


def parts_below(tree: Tree) -> Iterator[Tree]:
    """The tree, and all that it is made of."""
    yield tree
    for value in _values(tree):
        for part in _trees(value):
            yield from parts_below(part)


def rewritten(tree: Tree, change: Change) -> Tree:
    """The tree with every part changed, the smallest first."""
    new = {field.name: _changed(getattr(tree, field.name), change) for field in fields(tree)}
    return change(_rebuilt(tree, new))


def replaced(tree: Tree, by: Mapping[Tree, Tree]) -> Tree:
    """The tree with some of its parts replaced by others."""
    return rewritten(tree, lambda part: by.get(part, part))


def _values(tree: Tree) -> Iterable[Any]:
    return [getattr(tree, field.name) for field in fields(tree)]


def _trees(value: Any) -> Iterator[Tree]:
    if isinstance(value, Tree):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from _trees(item)


def _changed(value: Any, change: Change) -> Any:
    if isinstance(value, Tree):
        return rewritten(value, change)
    return tuple(_changed(item, change) for item in value) if isinstance(value, tuple) else value


def _rebuilt(tree: Tree, new: Mapping[str, Any]) -> Tree:
    """The same kind of tree with new parts, in its shortest form again."""
    if isinstance(tree, Sum):
        whole: Tree = Number(tree.constant)
        for count, term in new["terms"]:
            whole = simplify.plus(whole, term, count)
        return whole
    if isinstance(tree, Compare):
        return simplify.compare(new["x"], tree.sign, new["y"])
    if isinstance(tree, (And, Or)):
        return (simplify.conjunction if isinstance(tree, And) else simplify.disjunction)(new["parts"])
    return simplify.negation(new["condition"]) if isinstance(tree, Not) else replace(tree, **new)


# -- memory ---------------------------------------------------------------------------------------------


def settled(tree: Tree) -> Tree:
    """The tree with every read of what was put there replaced by what was put."""
    return rewritten(tree, _settle)


def _settle(tree: Tree) -> Tree:
    if isinstance(tree, Read) and isinstance(tree.memory, Put) and tree.memory.index == tree.index:
        return tree.memory.value
    return tree


PRIMES = ("′", "″", "‴")


def primed(trees: Iterable[Tree]) -> list[Tree]:
    """The trees with every updated function under a name of its own: f′ after its first change, f″ after the next."""
    written = list(trees)
    by: dict[Tree, Tree] = {}
    for function, states in _states(written).items():
        for number, memory in enumerate(states):
            mark = PRIMES[number] if number < len(PRIMES) else f"({number + 1})"
            by[memory] = replace(function, name=function.name + mark)
    return [_outermost(tree, by) for tree in written]


def _states(trees: Iterable[Tree]) -> dict[Function, list[Memory]]:
    """Of each function, its updates that are read as a whole, the one with the fewest puts first."""
    found: dict[Function, dict[Memory, None]] = {}
    for tree in trees:
        for memory in _memories(tree):
            root = root_of(memory)
            if memory is not root and isinstance(root, Function):
                found.setdefault(root, {})[memory] = None
    return {function: sorted(states, key=_puts) for function, states in found.items()}


def _memories(tree: Tree) -> Iterator[Memory]:
    """The memories that are read, without those that they were made from."""
    if isinstance(tree, Memory):
        yield tree
        return
    for value in _values(tree):
        for part in _trees(value):
            yield from _memories(part)


def _puts(memory: Memory) -> int:
    return 1 + _puts(memory.memory) if isinstance(memory, (Put, PutRow)) else 0


def _outermost(tree: Tree, by: Mapping[Tree, Tree]) -> Tree:
    """The tree with parts replaced from the outside in: what is replaced is not looked into."""
    if tree in by:
        return by[tree]
    new = {field.name: _below(getattr(tree, field.name), by) for field in fields(tree)}
    return _rebuilt(tree, new)


def _below(value: Any, by: Mapping[Tree, Tree]) -> Any:
    if isinstance(value, Tree):
        return _outermost(value, by)
    return tuple(_below(item, by) for item in value) if isinstance(value, tuple) else value


# -- names ----------------------------------------------------------------------------------------------


def names_for(trees: Iterable[Tree], fresh: Callable[[Read], str]) -> tuple[dict[Name, Tree], list[Tree]]:
    """Give whatever is read more than once a name: what each name stands for, in order, and the trees with them."""
    written, known = list(trees), dict[Name, Tree]()
    while (again := _read_again(written)) is not None:
        called = Name(fresh(again))
        known[called] = again
        written = [replaced(tree, {again: called}) for tree in written]
    return known, written


def _read_again(trees: Iterable[Tree]) -> Read | None:
    """The first of the simplest things that are read more than once."""
    counts = Counter(part for tree in trees for part in parts_below(tree) if isinstance(part, Read))
    often = [read for read, count in counts.items() if count > 1]
    return min(often, key=lambda read: sum(1 for _ in parts_below(read)), default=None)
