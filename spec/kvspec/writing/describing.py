"""The sections about the model: its words and state, micro-steps, operations with their guards, invariants.

Knows where these are in the code and what a reader wants to see of them; formulas come from the functions themselves.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields

from kvspec import guards
from kvspec.arithmetic import SequenceCounts
from kvspec.guards import Demand, append_need, is_never, is_ok
from kvspec.model.cache import At, Cache
from kvspec.model.index import OWN_STEPS, STEPS, Index, IndexStep
from kvspec.model.operations import COMPOSED, COMPOSED_WITH_INDEX, COMPOSED_WITH_WINDOW, Part
from kvspec.model.pool import Pool
from kvspec.model.steps import MICRO_STEPS, MicroStep
from kvspec.model.window import Rows
from kvspec.theorems.guards import UNDER_WAY
from kvspec.theorems.operations import PARTS
from kvspec.theorems.performing import Performing
from kvspec.theorems.prefix import PARTS_WITH_INDEX
from kvspec.theorems.requests import MORE
from kvspec.theorems.window import PARTS_WITH_WINDOW
from kvspec.vocabulary import GUARDED, OPERATIONS
from kvspec.writing import conjuncts, example, life
from kvspec.writing.docstrings import about, field_docs
from kvspec.writing.formulas import Name, Tree, chained
from kvspec.writing.markdown import block, code, link, prose, sentence, table, words
from kvspec.writing.maths import Maths, Written, name, tree_of
from kvspec.writing.memory import column, parts_of
from kvspec.writing.shorthand import Shorthand, shortened
from kvspec.writing.simplify import conjuncts as parts_of_all
from kvspec.writing.steps import Assignment, action, on_index
from kvspec.writing.words import COLUMNS, MEANINGS, SPOKEN, TABLES, UNITS, WHERE

# -- words and state ------------------------------------------------------------------------------------


def words_and_state() -> Iterator[str]:
    """What there is, what it is called, and what it is counted in."""
    yield from ("## Words and state", "")
    yield from ("### The life of a sequence", "", *block(life.diagram(), "mermaid"), "")
    yield from ("### Two devices", "")
    yield from prose(
        "Each device has a *pool* of blocks of `block_size` slots. The *block table* of a sequence lies on one",
        "device; each of its *entries* owns a block and reads the slots of it that are computed. This is how it",
        "looks after a few operations, with the token of each slot:",
    )
    yield from ("", *(f"{number}. {code(op.op)}: {told};" for number, (op, told) in enumerate(example.STORY, 1)))
    yield from ("", *block(example.diagram(), "mermaid"), "")
    yield from ("### The state of a device", "")
    yield from prose(
        "Functions, because there are any number of blocks and entries. *Ghosts* are there to be reasoned with: a",
        "block manager need not have them. A *content* stands for the KV of one token after one prefix.",
    )
    yield from ("", *table(("symbol", "meaning", "from, to", ""), _state_rows()), "")
    yield from ("### Numbers that rules speak of", "")
    yield from table(("symbol", "of", "meaning", "unit"), _number_rows())
    yield ""


STATES = (Pool, Cache, Index, Rows)
"""What the state of a device is made of."""


def _state_rows() -> Iterator[tuple[str, ...]]:
    docs = {part: text for kind in STATES for part, text in field_docs(kind).items()}
    for part in (part for kind in STATES for part in parts_of(kind)):
        if part in COLUMNS:
            sort = COLUMNS[part]
            symbol = f"{part}({', '.join(SPOKEN.get(kind, kind) for kind in sort.index)})"
            value = f"{sort.value}, or ∅ for none" if sort.or_nothing else sort.value
            way = f"{', '.join(sort.index)} → {value}"
            yield code(symbol), words(_meaning(part, docs)), way, "ghost" if sort.ghost else ""
        elif part not in ("pool", "cache"):
            yield code(part), words(_meaning(part, docs)), UNITS.get(part, ""), ""


def _number_rows() -> Iterator[tuple[str, ...]]:
    """Where a micro-step happens, what guards are asked with, what they state, and an operation under way."""
    for part in parts_of(At):
        symbol = "there" if part == "source" else WHERE.get(part, part)
        yield _number(symbol, "a micro-step", part, field_docs(At))
    for part in parts_of(SequenceCounts):
        yield _number(part, "a sequence", part, field_docs(SequenceCounts))
    for part in guard_numbers():
        yield _number(part, "a question to a guard", part, field_docs(Cache))
    more = dict.fromkeys(part for parts in MORE.values() for part in parts if part not in guard_numbers())
    yield from (_number(part, "an allocate with hits", part, {}) for part in more)
    for part in parts_of(Demand):
        yield _number(part, "a guard's answer", part, field_docs(Demand))
    for part in ("others", *UNDER_WAY):
        yield _number(part, "an operation under way", part, field_docs(Performing))


def _number(symbol: str, of: str, part: str, docs: dict[str, str]) -> tuple[str, ...]:
    return code(symbol), of, words(_meaning(part, docs)), UNITS.get(part, "")


CALLED = {
    "allocate_with_hits": "`allocate`, with hits",
    "allocate_in_ring": "`allocate`, into a row that begins again",
    "append_with_null": "`append`, beside a null block",
}
"""Guards of an operation that know of an index or a window, by what their functions are called."""

WRITTEN_GUARDS = tuple(each for op in GUARDED for each in (op, *(more for more in CALLED if more.startswith(op))))
"""Every operation with a guard, and after it those that know more."""


def guard_numbers() -> tuple[str, ...]:
    """The numbers that guards are asked with, beside the counts of sequences."""
    asked = [word for op in WRITTEN_GUARDS for word in inspect.signature(_demand_of(op)).parameters]
    stated = {"a", "seqs", *field_docs(SequenceCounts)}
    return (*dict.fromkeys(word for word in asked if word not in stated), "free")


def _meaning(part: str, docs: dict[str, str]) -> str:
    return MEANINGS.get(part) or docs[part]


# -- micro-steps ----------------------------------------------------------------------------------------


def micro_steps() -> Iterator[str]:
    """What each of them requires and does."""
    yield from ("## Micro-steps", "")
    yield from prose(
        f"All that ever happens to the cache of a device is one of these {len(MICRO_STEPS)}. Each happens at an entry",
        "`p`; `q` is another entry, `there` the other device. `tab(p) := b` puts `b` where `tab(p)` was, and a dot",
        "stands for all slots. Everything on the right, and every index, is of the state before; where two lines put",
        "something in the same place, the later one counts.",
    )
    for step in MICRO_STEPS.values():
        yield from ("", f"### {step.name}", "", sentence(step.words), "", *block(_written(step)))
    yield from ("", "### With an index", "")
    yield from prose(
        f"A device that can be asked for what it holds has {len(OWN_STEPS)} micro-steps besides; `d` is a block. A",
        "published block that is free is *cached*. It is found no more once it is taken for something else, which is",
        "all that eviction is. This is what the others mean for the index:",
    )
    yield from ("", *table(("micro-step", "requires besides", "does besides"), _on_index_rows()))
    for own in OWN_STEPS.values():
        yield from ("", f"### {own.name}", "", sentence(own.words), "", *block(_written(own)))
    yield ""


def _on_index_rows() -> Iterator[tuple[str, ...]]:
    for step in STEPS.values():
        if step.plain is not None:
            done = on_index(step)
            told = "<br>".join(code(one.text) for one in done.does) or "nothing"
            meant = ", ".join(code(f"{letter.text} = {meaning.text}") for letter, meaning in done.where.items())
            asked = "<br>".join(code(fact) for fact in chained(parts_of_all(done.requires)))
            yield link(code(step.name), step.name), asked, f"{told}, where {meant}" if meant else told


def _written(step: MicroStep | IndexStep) -> Iterator[str]:
    done = action(step)
    yield f"{step.name}({', '.join(done.parameters)})"
    yield from _labelled("requires", [*chained(parts_of_all(done.requires)), *(rule.text for rule in done.rules)])
    yield from _labelled("where", [f"{letter.text} = {meant.text}" for letter, meant in done.where.items()], ", ")
    yield from _labelled("does", _grouped(one for one in done.does if not one.ghost))
    yield from _labelled("ghosts", _grouped(one for one in done.does if one.ghost))


WIDTH = 96


def _labelled(label: str, lines: Iterable[str], between: str = "") -> Iterator[str]:
    """Lines behind a label: each on its own, or with something between them as many as there is room for."""
    written = _filled(list(lines), between) if between else list(lines)
    for number, line in enumerate(written):
        yield f"  {label if number == 0 else '':10}{line}"


def _filled(parts: list[str], between: str) -> list[str]:
    lines: list[str] = []
    for part in parts:
        if lines and len(lines[-1]) + len(between) + len(part) <= WIDTH:
            lines[-1] += between + part
        else:
            lines.append(part)
    return lines


def _grouped(does: Iterable[Assignment]) -> list[str]:
    """Assignments under the same condition on one line."""
    always: list[str] = []
    under: dict[Tree, list[str]] = {}
    for one in does:
        if one.condition.text == "true":
            always.append(one.text)
        else:
            under.setdefault(one.condition, []).append(one.text)
    return [*always, *(f"if {condition.text}:  {',  '.join(texts)}" for condition, texts in under.items())]


# -- operations -----------------------------------------------------------------------------------------


def operations() -> Iterator[str]:
    """Each operation as loops of micro-steps, and what its guard counts."""
    yield from ("## Operations and their guards", "")
    yield from prose(
        "An operation is one loop after another, of one micro-step each. Behind each loop stands the theorem that",
        "says why its micro-step is possible.",
    )
    yield from ("", *table(("operation", "what it means", "its loops"), _operation_rows()), "")
    yield from prose(
        "Where there is a [prefix index](#with-an-index), the guard of an allocate is told what was found, and these",
        "operations have other loops. A found block is held before anything else is taken, so that it is not taken",
        "itself.",
    )
    yield from (
        "",
        *table(("operation", "its loops, with an index"), _more_rows(COMPOSED_WITH_INDEX, PARTS_WITH_INDEX)),
        "",
    )
    yield from prose(
        "Under a sliding window a row gives up, before it grows, the entries that no later token reads.",
    )
    under_window = _more_rows(COMPOSED_WITH_WINDOW, PARTS_WITH_WINDOW)
    yield from ("", *table(("operation", "its loops, under a window"), under_window), "")
    yield from prose(
        f"{len(GUARDED)} operations are admitted by a guard. It counts the blocks that the operation will take, the",
        "*need*, and compares. One sequence `s` of a group takes for an append",
    )
    yield from ("", *block([f"need(s) = {_need_of_one()}"]), "")
    yield f"and several of them take the sum of it ({_theorem('guards.need.adds-up')})."
    yield from ("", *table(("guard of", "need", "reserve", "attainable"), _guard_rows()), "")
    yield from (*table(("verdict", "where"), _verdict_rows()), "")


def _operation_rows() -> Iterator[tuple[str, ...]]:
    for op, parts in COMPOSED.items():
        told = words(about(OPERATIONS[op]))
        yield code(op), told, "<br>".join(f"{number}. {_part(op, part)}" for number, part in enumerate(parts, 1))


def _more_rows(
    composed: Mapping[str, tuple[Part, ...]], theorems: Mapping[tuple[str, str], str]
) -> Iterator[tuple[str, ...]]:
    for op, parts in composed.items():
        loops = (f"{_loop(part)} ({_theorem(theorems[op, part.step])})" for part in parts)
        yield code(op), "<br>".join(f"{number}. {loop}" for number, loop in enumerate(loops, 1))


def _part(op: str, part: Part) -> str:
    said = _loop(part)
    return f"{said} ({_theorem(PARTS[op, part])})" if (op, part) in PARTS else said


def _loop(part: Part) -> str:
    return f"{link(code(part.step), part.step)} on the {part.device.value.upper()}: {words(part.over)}"


def _theorem(obligation: str) -> str:
    return link(code(obligation), obligation)


SEQUENCE = Name("s")


def _one_of_several() -> SequenceCounts:
    counts = (field.name for field in fields(SequenceCounts))
    return SequenceCounts(**{word: column(word)[Written(SEQUENCE)] for word in counts})


def _need_of_one() -> str:
    return str(append_need(Maths(), _one_of_several(), name("lookahead"), name("block_size")))


def _guard_rows() -> Iterator[tuple[str, ...]]:
    each = tree_of(append_need(Maths(), _one_of_several(), name("lookahead"), name("block_size")))
    together = Shorthand(Name(f"Σₛ need({SEQUENCE.text})"), (each,))
    for op in WRITTEN_GUARDS:
        demand = demand_written(op)
        parts = [tree_of(getattr(demand, field.name)) for field in fields(Demand)]
        yield CALLED.get(op, code(op)), *(code(part.text) for part in shortened(parts, [together]))


def demand_written(op: str) -> Demand:
    """What the guard of this operation demands, of one sequence where it is asked about several."""
    function = _demand_of(op)
    asked = {word: name(word) for word in inspect.signature(function).parameters}
    given = {"a": Maths(), "seqs": [_one_of_several()]}
    demand: Demand = function(**{word: given.get(word, value) for word, value in asked.items()})
    return demand


def _demand_of(op: str) -> Callable[..., Demand]:
    found: Callable[..., Demand] = getattr(guards, f"{op}_demand")
    return found


def _verdict_rows() -> Iterator[tuple[str, str]]:
    demand = Demand(*(name(field.name) for field in fields(Demand)))
    yield "OK", code(str(is_ok(demand, name("free"))))
    yield "NEVER", code(str(is_never(demand)))
    yield "LATER", "neither; a guard with two verdicts answers NO for both"


# -- invariants -----------------------------------------------------------------------------------------


def invariants() -> Iterator[str]:
    """Every table of conjuncts."""
    yield from ("## Invariants", "")
    yield from prose(
        "What is kept by every micro-step, and what the start is like. A theorem that assumes all of a table says so",
        "by its name.",
    )
    for found in conjuncts.tables():
        if found.about is not None:
            about = TABLES.get(found.label, f"Of a {found.about.__name__.lower()}.")
            yield from ("", f"### {found.label}", "", about, "")
            yield from table(("name", "in words", "formula"), _conjunct_rows(found))
    yield ""


def _conjunct_rows(found: conjuncts.Table) -> Iterator[tuple[str, str, str]]:
    for conjunct, formula in conjuncts.written(found):
        yield conjunct.name, words(conjunct.words), code(formula.text)
