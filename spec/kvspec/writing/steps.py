"""What a micro-step requires and what it does, found by letting it happen to a state that is written down.

Its function is called with columns that record; what was put is then listed as assignments. Knows the shape of a
micro-step; must not know any of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

from kvspec.model.cache import At, Cache, Rule
from kvspec.model.index import Index, IndexStep
from kvspec.model.steps import MicroStep
from kvspec.writing.formulas import Choice, Every, Memory, Name, Number, Put, PutRow, Read, Row, Tree, root_of
from kvspec.writing.maths import Maths, name, tree_of
from kvspec.writing.memory import WrittenColumn, parts_of, state
from kvspec.writing.rewriting import names_for, parts_below, settled
from kvspec.writing.simplify import NOTHING, TRUE, conjunction, conjuncts
from kvspec.writing.words import ANY, ANY_OTHER, COLUMNS, LETTERS, SPOKEN, WHERE

THERE = "there"
"""How the other device is called."""


@dataclass(frozen=True)
class Assignment:
    """What a step puts where. condition: TRUE where it always does."""

    target: Tree
    value: Tree
    condition: Tree = TRUE

    @property
    def text(self) -> str:
        """The assignment, without its condition."""
        return f"{self.target.text} := {self.value.text}"

    @property
    def ghost(self) -> bool:
        """Whether only the model has what is assigned."""
        part = self.target.memory.text if isinstance(self.target, (Read, Row)) else ""
        return part in COLUMNS and COLUMNS[part].ghost

    @property
    def trees(self) -> tuple[Tree, Tree, Tree]:
        """All that it is made of."""
        return self.target, self.value, self.condition


@dataclass(frozen=True)
class Action:
    """A micro-step, written out. parameters: where it happens. rules: what it also requires. where: names it uses."""

    parameters: tuple[str, ...]
    requires: Tree
    rules: tuple[Every, ...]
    where: dict[Name, Tree]
    does: tuple[Assignment, ...]


def action(step: MicroStep | IndexStep) -> Action:
    """What the step requires and does. It is written as it is where it is possible."""
    if isinstance(step, IndexStep):
        return _written_out(step, state(Index), step.rules)
    return _written_out(step, state(Cache), () if step.rule is None else (step.rule,))


def _written_out(step: Any, before: Any, asks: Sequence[Rule]) -> Action:
    at = somewhere()
    requires = tree_of(step.can(Maths(), before, at))
    after = step.do(Maths(conjuncts(requires)), before, at)
    rules = tuple(everywhere(rule, before, at) for rule in asks)
    where, does = _with_names([_plain(assignment) for assignment in assignments(before, after)])
    used = [requires, *rules, *where.values(), *(tree for one in does for tree in one.trees)]
    return Action(_parameters(used), requires, rules, where, tuple(does))


OF_INDEX = ("key", "written", "era")
"""The columns of an index that micro-steps put something into."""


def on_index(step: IndexStep) -> Action:
    """What a micro-step of the cache requires of the index besides, and does to it."""
    assert step.plain is not None
    index, at = state(Index), somewhere()
    known = conjuncts(tree_of(step.can(Maths(), index, at)))
    plain = conjuncts(tree_of(step.plain.can(Maths(), index.cache, at)))
    done = [_plain(one) for one in assignments(index, step.do(Maths(known), index, at))]
    own = [one for one in done if isinstance(one.target, Read) and one.target.memory.text in OF_INDEX]
    where, does = _with_names(own)
    return Action((), conjunction(fact for fact in known if fact not in plain), (), where, tuple(does))


def somewhere() -> At:
    """The place where a step happens: each part of it by its letter."""
    letters = {part: name(WHERE.get(part, part)) for part in parts_of(At) if part != "source"}
    return At(**letters, source=state(Cache, f"{THERE}."))


def everywhere(rule: Rule, state: Any, at: At) -> Every:
    """A rule, of every reader or every slot of a cache or an index."""
    letter = name(ANY.get(rule.over, SPOKEN.get(rule.over, rule.over)))
    holds = rule.holds(Maths(), state, at, letter)
    assert isinstance(letter.tree, Name)
    return Every((letter.tree,), tree_of(holds))


def _parameters(used: list[Tree]) -> tuple[str, ...]:
    parts = {part for tree in used for part in parts_below(tree)}
    bound = {letter for part in parts if isinstance(part, Every) for letter in part.names}
    letters = [WHERE.get(part, part) for part in parts_of(At) if part != "source"]
    return tuple(letter for letter in letters if Name(letter) in parts - bound)


# -- from states to assignments -------------------------------------------------------------------------


def assignments(before: Any, after: Any) -> list[Assignment]:
    """What has to be assigned to make the one state the other. Where two say the same place, the later one counts."""
    found: list[Assignment] = []
    for field in fields(before):
        was, is_now = getattr(before, field.name), getattr(after, field.name)
        if is_dataclass(was):
            found += assignments(was, is_now)
        elif isinstance(was, WrittenColumn):
            found += _without_lost(list(_puts(is_now.memory)))
        elif tree_of(was) != tree_of(is_now):
            found.append(Assignment(tree_of(was), tree_of(is_now)))
    return found


def _puts(memory: Memory) -> Iterator[Assignment]:
    if isinstance(memory, PutRow):
        yield from _puts(memory.memory)
        yield Assignment(Row(root_of(memory), memory.index), memory.row)
    elif isinstance(memory, Put):
        yield from _puts(memory.memory)
        yield _put(memory)


def _put(memory: Put) -> Assignment:
    target, value = Read(root_of(memory), memory.index), memory.value
    if isinstance(value, Choice) and value.otherwise == Read(memory.memory, memory.index):
        return Assignment(target, value.then, value.condition)
    return Assignment(target, value)


def _without_lost(puts: list[Assignment]) -> list[Assignment]:
    """Without what is put over later on, whatever else happens."""
    return [
        one
        for number, one in enumerate(puts)
        if not any(later.target == one.target and later.condition == TRUE for later in puts[number + 1 :])
    ]


def _plain(one: Assignment) -> Assignment:
    """With what it puts said by the state before the step, and a number that names no block as nothing."""
    target, value, condition = map(settled, one.trees)
    if target.may_be_nothing and isinstance(value, Number) and value.value < 0:
        value = NOTHING
    return Assignment(target, value, condition)


# -- names ----------------------------------------------------------------------------------------------


def _with_names(does: list[Assignment]) -> tuple[dict[Name, Tree], list[Assignment]]:
    """Names for what is read again and again. The place that is assigned to stays as it is."""
    trees = [tree for one in does for tree in (*_places(one.target), one.value, one.condition)]
    taken = {*WHERE.values(), *ANY.values()}
    where, written = names_for(trees, _fresh(taken))
    renamed = iter(written)
    return where, [_renamed(one, renamed) for one in does]


def _places(target: Tree) -> tuple[Tree, ...]:
    if isinstance(target, Read):
        return target.index
    return (target.index,) if isinstance(target, Row) else ()


def _renamed(one: Assignment, written: Iterator[Tree]) -> Assignment:
    target = one.target
    if isinstance(target, Read):
        target = replace(target, index=tuple(next(written) for _ in target.index))
    elif isinstance(target, Row):
        target = replace(target, index=next(written))
    return Assignment(target, next(written), next(written))


def _fresh(taken: set[str]) -> Callable[[Read], str]:
    """Hands out letters, by the sort of what is to be named."""
    free = {**{sort: list(letters) for sort, letters in LETTERS.items()}, "": list(ANY_OTHER)}

    def letter(read: Read) -> str:
        part = read.memory.text.rpartition(".")[2]
        letters = free[COLUMNS[part].value if part in COLUMNS and COLUMNS[part].value in free else ""]
        while letters and letters[0] in taken:
            letters.pop(0)
        found = letters[0] if letters else f"x{len(taken)}"
        taken.add(found)
        return found

    return letter
