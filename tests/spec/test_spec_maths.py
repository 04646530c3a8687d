"""Written mathematics says what the functions say, and reads as mathematics is written."""

from __future__ import annotations

import ast
import inspect
import itertools
import re

import pytest

from kvspec import arithmetic, guards
from kvspec.algebra import INTS, Algebra
from kvspec.arithmetic import SequenceCounts
from kvspec.guards import Demand
from kvspec.laws import CATALOGUE
from kvspec.model import manager
from kvspec.model.cache import At
from kvspec.model.columns import NOTHING, Plain
from kvspec.model.index import OWN_STEPS, STEPS, Index
from kvspec.model.operations import COMPOSED, COMPOSED_WITH_INDEX
from kvspec.model.pool import INVARIANT, Pool
from kvspec.model.steps import MICRO_STEPS
from kvspec.terms import Terms
from kvspec.theorems import OBLIGATIONS
from kvspec.theorems.guards import UNDER_WAY
from kvspec.theorems.obligation import PROOFS
from kvspec.theorems.operations import PARTS
from kvspec.theorems.requests import HITS
from kvspec.theorems.worlds import GeneralWorld, World
from kvspec.vocabulary import GUARDED, OPERATIONS, Status
from kvspec.writing import conjuncts, describing, example, formulas, life, limits, proving, words
from kvspec.writing.claims import WrittenWorld, statement
from kvspec.writing.docstrings import about, field_docs
from kvspec.writing.families import families
from kvspec.writing.maths import Maths, Written, name, tree_of
from kvspec.writing.memory import column, parts_of, state
from kvspec.writing.rewriting import primed, settled
from kvspec.writing.shorthand import AREAS
from kvspec.writing.simplify import MEANS
from kvspec.writing.steps import action, on_index

A = Maths()
X, Y, Z = name("x"), name("y"), name("z")
P, Q, R = name("p"), name("q"), name("r")


# -- how it reads ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "text"),
    [
        (X + Y * Z, "x + y · z"),
        ((X + Y) * Z, "(x + y) · z"),
        (X - (Y - Z), "x + z − y"),
        (2 * X - 1, "2 · x − 1"),
        (1 - X, "1 − x"),
        (A.ceil_div(X + Y, Z), "⌈(x + y) / z⌉"),
        (A.ceil_div(X, Y + 1) - 1, "⌈x / (y + 1)⌉ − 1"),
        (X + Y < Z * 2, "x + y < 2 · z"),
        (A.all_of(P, A.any_of(Q, R)), "p ∧ (q ∨ r)"),
        (A.any_of(A.all_of(P, Q), R), "(p ∧ q) ∨ r"),
        (A.negate(A.all_of(P, Q)), "¬(p ∧ q)"),
        (A.negate(P), "¬p"),
        (A.negate(X < Y), "x ≥ y"),
        (A.implies(A.all_of(P, X == 1), A.any_of(Q, R)), "p ∧ x = 1 ⇒ q ∨ r"),
        (A.implies(P, A.implies(Q, R)), "p ⇒ (q ⇒ r)"),
        (A.negate(A.implies(P, Q)), "p ∧ ¬q"),
        ((X > 0) == (Y > 0), "x > 0 ⇔ y > 0"),
        (A.all_of(P, (X > 0) == (Y > 0)), "p ∧ (x > 0 ⇔ y > 0)"),
        (A.all_of(X >= 0, X < Y), "0 ≤ x < y"),
        (A.all_of(X <= Y, Y < Z), "x ≤ y < z"),
        (A.all_of(X >= 0, Y != X, X < Y), "x ≥ 0 ∧ y ≠ x ∧ x < y"),
        (A.ite(P, X, Y), "x if p, else y"),
        (A.ite(P, X, Y) + 1, "(x if p, else y) + 1"),
        (A.ite(P, X, A.ite(Q, Y, Z)), "x if p, else y if q, else z"),
    ],
)
def test_it_takes_the_parentheses_that_it_needs(written, text):
    assert str(written) == text


@pytest.mark.parametrize(
    ("written", "text"),
    [
        (X + 0, "x"),
        (X - X, "0"),
        (X + 1 - 1, "x"),
        (1 * X, "x"),
        (X - 1 == 0, "x = 1"),
        (1 - X <= 0, "x ≥ 1"),
        (0 <= X, "x ≥ 0"),  # noqa: SIM300 - rules say it either way
        (A.all_of(), "true"),
        (A.any_of(), "false"),
        (A.all_of(True, P, P), "p"),
        (A.any_of(P, True), "true"),
        (A.implies(True, P), "p"),
        (A.implies(P, False), "¬p"),
        (A.negate(A.negate(P)), "p"),
        (A.ite(True, X, Y), "x"),
        (A.ite(P, X, X), "x"),
        (A.ite(X >= Y, X, Y), "max(x, y)"),
        (A.ite(X - Y >= 0, X - Y, 0), "max(x − y, 0)"),
        (A.ite(X <= Y, X, Y), "min(x, y)"),
        (A.ite(P, 1, 0), "[p]"),
        (A.ite(X > 0, 0, 1), "[x ≤ 0]"),
        (A.ite(P, X + 1, X), "x + [p]"),
        (A.ite(P, X - 1, X), "x − [p]"),
        (A.ite(P, 1, 0) == 0, "¬p"),
        (A.ite(P, 1, 0) + 1 == 1, "¬p"),
        (A.ite(P, 1, 0) >= 1, "p"),
        (A.all_of() == P, "p"),
        (A.ceil_div(7, 2), "4"),
        (X == X, "x = x"),  # what is the same on both sides is still read
    ],
)
def test_what_is_trivial_is_left_out(written, text):
    assert str(written) == text


def test_what_is_not_known_has_no_truth():
    with pytest.raises(TypeError, match="x < y"):
        bool(X < Y)
    with pytest.raises(TypeError, match="can not be written"):
        tree_of("x")


def test_what_is_known_decides_between_cases():
    a = Maths([tree_of(X > 1)])
    assert str(a.ite(X - 1 == 0, Y, Z)) == "z"
    assert str(a.ite(X >= 0, Y, Z)) == "y if x ≥ 0, else z"  # implied, but not by itself
    assert str(a.ite(X > 1, Y, Z)) == "y"


# -- that it says the same as the function ---------------------------------------------------------------

PYTHON = {
    "≥": ">=",
    "≤": "<=",
    "≠": "!=",
    "−": "-",
    "·": "*",
    "∧": " and ",
    "∨": " or ",
    "¬": " not ",
    "⌈": "-(-(",
    "⌉": ")",
}


def evaluated(text, values):
    """A formula without quantifiers and arrows, by Python: the text itself, with other signs."""
    text = re.sub(r"⌈([^⌈⌉]*) / (\w+)⌉", r"(-(-(\1) // \2))", text)
    text = re.sub(r"\[([^\[\]]*)\]", r"(1 if \1 else 0)", text)
    text = re.sub(r"([^(]+?) if ([^,]+), else", r"\1 if (\2) else", text)
    text = re.sub(r"(?<![<>≥≤≠=])=(?!=)", "==", text)
    for sign, python in PYTHON.items():
        text = text.replace(sign, python)
    ast.parse(text, mode="eval")
    return eval(text, {"max": max, "min": min}, values)


def counts(values):
    return SequenceCounts(values["tokens"], values["seen"], values["blocks"], values["shared_writes"])


NUMBERS = ("tokens", "seen", "blocks", "shared_writes", "lookahead", "block_size")
FUNCTIONS = {
    "blocks_for": lambda a, v: arithmetic.blocks_for(a, v["tokens"] + v["lookahead"], v["block_size"]),
    "after": lambda a, v: arithmetic.blocks_after_append(a, counts(v), v["lookahead"], v["block_size"]),
    "growth": lambda a, v: arithmetic.growth(a, counts(v), v["lookahead"], v["block_size"]),
    "touched": lambda a, v: arithmetic.blocks_touched(a, v["seen"], v["lookahead"], v["block_size"]),
    "full": lambda a, v: arithmetic.full_blocks(a, v["tokens"], v["block_size"]),
    "copies": lambda a, v: arithmetic.copies_needed(a, v["blocks"], v["shared_writes"]),
    "need": lambda a, v: guards.append_need(a, counts(v), v["lookahead"], v["block_size"]),
    "ok": lambda a, v: guards.is_ok(Demand(v["tokens"], v["seen"], 0), v["blocks"]),
}


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=list(FUNCTIONS))
def test_its_text_comes_to_what_the_function_comes_to(function):
    text = str(function(A, {word: name(word) for word in NUMBERS}))
    for numbers in itertools.product(range(4), range(3), range(3), range(3), range(3), (1, 2, 3)):
        values = dict(zip(NUMBERS, numbers, strict=True))
        assert evaluated(text, values) == function(INTS, values), text


def test_every_method_of_the_algebra_is_there():
    methods = {method for method in vars(Algebra) if not method.startswith("_")}
    assert methods <= {method for method in vars(Maths) if not method.startswith("_")}
    for method in methods:
        asked = inspect.signature(getattr(Algebra, method)).parameters.values()
        given = inspect.signature(getattr(Maths, method)).parameters.values()
        assert [(each.name, each.kind) for each in asked] == [(each.name, each.kind) for each in given]


@pytest.mark.parametrize("operator", ["add", "radd", "sub", "rsub", "mul", "rmul", "lt", "le", "gt", "ge", "eq", "ne"])
def test_every_operator_of_rules_is_there(operator):
    assert isinstance(getattr(X, f"__{operator}__")(2), Written)


# -- formulas of known functions -------------------------------------------------------------------------


def test_arithmetic_reads_as_it_is_meant():
    seq = SequenceCounts(*(name(word) for word in ("tokens", "seen", "blocks", "shared_writes")))
    size, lookahead = name("block_size"), name("lookahead")
    assert str(arithmetic.blocks_for(A, X, size)) == "⌈x / block_size⌉"
    assert str(arithmetic.growth(A, seq, lookahead, size)) == (
        "max(blocks, ⌈(tokens + lookahead) / block_size⌉) − blocks"
    )
    assert str(arithmetic.copies_needed(A, X, Y)) == "x − 1 if y ≥ x, else y"


def test_guards_read_as_they_are_meant():
    demand = describing.demand_written("swap_in")
    assert str(demand.need) == (
        "moved + max(blocks(s), ⌈(tokens(s) + lookahead) / block_size⌉) + shared_writes(s) − blocks(s)"
    )
    assert str(guards.is_ok(demand, name("free"))).endswith("≥ watermark")


@pytest.mark.parametrize("op", ["append", "swap_in"])
def test_a_guard_adds_up_over_sequences(op):
    """The page says `Σₛ need(s)` where a guard was asked of one sequence: of several it is their sum."""
    function = getattr(guards, f"{op}_demand")
    asked = {word: name(word) for word in inspect.signature(function).parameters}
    one, two = (SequenceCounts(*(name(f"{word}{i}") for word in parts_of(SequenceCounts))) for i in (1, 2))

    def need(seqs):
        return function(**{**asked, "a": A, "seqs": seqs}).need

    assert str(need([one, two]) + need([])) == str(need([one]) + need([two]))


def test_invariants_read_as_they_are_meant():
    texts = {conjunct.name: conjuncts.every(conjunct, state(Pool)).text for conjunct in INVARIANT}
    assert texts["free-in-range"] == "0 ≤ free ≤ size"
    assert texts["each-place-one-block"] == "for every i: 0 ≤ i < size ⇒ 0 ≤ perm(i) < size ∧ pos(perm(i)) = i"
    assert {conjunct.name for table in conjuncts.tables() for conjunct in table.conjuncts} >= set(texts)


def test_laws_read_as_they_are_meant():
    assert proving.law_formula(CATALOGUE["accounting.no-leak"]) == "held = 0 ⇒ free + reclaimable + reserved = total"
    assert proving.law_formula(CATALOGUE["admission.sound-append"]) == "ok ⇒ ¬ran_out"


# -- memory ----------------------------------------------------------------------------------------------


def test_an_update_is_written_and_a_read_of_it_found():
    tab = column("tab", or_nothing=True)
    put = tab.put(X, 3)
    assert str(put[Y]) == "tab[x ↦ 3](y)"
    assert settled(tree_of(put[X])).text == "3"
    assert settled(tree_of(put[Y])).text == "tab[x ↦ 3](y)"
    assert str(tab.put(X, tab[X])[Y]) == "tab(y)"
    assert (
        str(column("holds").put_row(X, column("there.holds").row(Y))[X, Z]) == "holds[x, · ↦ there.holds(y, ·)](x, z)"
    )


def test_states_after_steps_have_names_of_their_own():
    tab = column("tab")
    once = tab.put(X, 1)
    twice = once.put(Y, 2)
    before, after, later = primed([tree_of(tab[Z]), tree_of(once[Z]), tree_of(twice[Z])])
    assert [before.text, after.text, later.text] == ["tab(z)", "tab′(z)", "tab″(z)"]


def test_a_number_below_0_is_nothing_where_it_may_be():
    tab, ref = column("tab", or_nothing=True), column("ref")
    assert [str(tab[X] < 0), str(tab[X] >= 0), str(tab[X] == -1)] == ["tab(x) = ∅", "tab(x) ≠ ∅", "tab(x) = ∅"]
    assert str(ref[X] < 0) == "ref(x) < 0"


def test_columns_are_known_by_sort():
    columns = {part for kind in describing.STATES for part, hint in parts_of(kind).items() if "Column" in str(hint)}
    assert columns == set(words.COLUMNS)
    assert {sort for column in words.COLUMNS.values() for sort in (*column.index, column.value)} <= {
        *words.LETTERS,
        *words.SPOKEN,
        "owners",
    }


# -- micro-steps -----------------------------------------------------------------------------------------


def test_a_micro_step_is_written_as_what_it_puts():
    take = action(MICRO_STEPS["take"])
    assert take.parameters == ("p",)
    assert take.requires.text == "free > 0 ∧ tab(p) = ∅"
    assert {letter.text: meant.text for letter, meant in take.where.items()} == {"b": "perm(free − 1)"}
    assert {one.text for one in take.does if not one.ghost} == {
        "ref(b) := 1",
        "tab(p) := b",
        "free := free − 1",
        "computed(p) := 0",
    }


def test_what_happens_under_a_condition_is_told():
    release = action(MICRO_STEPS["release"])
    told = {one.text: one.condition.text for one in release.does}
    assert told["perm(free) := b"] == "n = 1"
    assert told["tab(p) := ∅"] == "true"
    assert told["free := free + [n = 1]"] == "true"


def test_what_is_put_over_is_not_told():
    replace = action(MICRO_STEPS["replace"])
    assert [one.text for one in replace.does if one.text.startswith("tab(p)")] == ["tab(p) := c"]


@pytest.mark.parametrize("step", MICRO_STEPS.values(), ids=list(MICRO_STEPS))
def test_every_micro_step_can_be_written(step):
    done = action(step)
    assert done.does
    assert len(done.rules) == (step.rule is not None)
    assert not [one.text for one in done.does if "↦" in one.text or one.text.count(":=") != 1]


def value_of(tree, names, columns):
    """What a formula comes to on plain numbers and plain columns."""

    def of(part):
        return value_of(part, names, columns)

    match tree:
        case formulas.Number(value) | formulas.Truth(value):
            return value
        case formulas.Nothing():
            return NOTHING
        case formulas.Name(word):
            return names[word] if word in names else columns[word]
        case formulas.Sum(terms, constant):
            return sum(count * of(term) for count, term in terms) + constant
        case formulas.One(condition):
            return int(of(condition))
        case formulas.Compare(x, sign, y):
            return MEANS[sign](of(x), of(y))
        case formulas.And(parts):
            return all(map(of, parts))
        case formulas.Read(formulas.Function(word), index):
            keys = tuple(map(of, index))
            return columns[word][keys if len(keys) > 1 else keys[0]]
        case formulas.Row(formulas.Function(word), index):
            return columns[word].row(of(index))
    raise AssertionError(f"no meaning for {tree.text}")


def columns_of(cache, prefix=""):
    """Every column and number of a cache, by its name."""
    parts = {**vars(cache.pool), **{part: value for part, value in vars(cache).items() if part != "pool"}}
    return {part if part == "block_size" else prefix + part: value for part, value in parts.items()}


def carried_out(done, names, columns):
    """The columns after the assignments of an action, all of which speak of those before."""
    for letter, meant in done.where.items():
        names = {**names, letter.word: value_of(meant, names, columns)}
    after = dict(columns)
    for one in done.does:
        if not value_of(one.condition, names, columns):
            continue
        value = value_of(one.value, names, columns)
        match one.target:
            case formulas.Name(word):
                after[word] = value
            case formulas.Read(formulas.Function(word), index):
                keys = tuple(value_of(part, names, columns) for part in index)
                after[word] = after[word].put(keys if len(keys) > 1 else keys[0], value)
            case formulas.Row(formulas.Function(word), index):
                after[word] = after[word].put_row(value_of(index, names, columns), value)
    return after


def same(one, other):
    """Whether two columns, or two numbers, are the same."""
    if not isinstance(one, Plain):
        return one == other
    return all(one[key] == other[key] for key in {*one.cells, *other.cells})


def states_of_the_example():
    """Every state of the story, with both caches in turn as the one where a step happens."""
    now = manager.empty(example.CONFIG)
    for operation, _ in example.STORY:
        now = manager.perform(now, operation).after
        entries = [entry for seq in now.seqs for entry in seq.table()]
        yield now.gpu, now.cpu, [*entries, (9, 9)]
        yield now.cpu, now.gpu, [*entries, (9, 9)]


@pytest.mark.parametrize("step", MICRO_STEPS.values(), ids=list(MICRO_STEPS))
def test_what_is_written_of_a_micro_step_is_what_it_does(step):
    """Required and carried out on plain numbers as it is written, it comes to what its function does."""
    done, happened = action(step), 0
    for here, there, entries in states_of_the_example():
        columns = {**columns_of(here), **columns_of(there, "there.")}
        for p, q, o in itertools.product(entries, entries, range(2)):
            names, at = {"p": p, "q": q, "o": o, "kv": (1, 2)}, At(p, q, there, o, (1, 2))
            possible = bool(step.can(INTS, here, at))
            assert bool(value_of(done.requires, names, columns)) == possible
            if possible:
                happened += 1
                after, written = columns_of(step.do(INTS, here, at)), carried_out(done, names, columns)
                assert [word for word, value in after.items() if not same(value, written[word])] == []
    assert happened


# -- with an index ---------------------------------------------------------------------------------------


def test_a_micro_step_of_the_index_is_written_as_what_it_puts():
    revive = action(OWN_STEPS["revive"])
    assert revive.parameters == ("p", "kv", "d")
    assert revive.requires.text == "tab(p) = ∅ ∧ 0 ≤ d < size ∧ ref(d) = 0 ∧ kv ≥ 0 ∧ key(d) = kv"
    assert {"tab(p) := d", "computed(p) := block_size"} <= {one.text for one in revive.does if not one.ghost}
    publish = action(OWN_STEPS["publish"])
    assert [rule.text for rule in publish.rules] == [
        "for every o: 0 ≤ o < block_size ⇒ must(p, o) = spells(kv, o)",
        "for every x: tab(x) ≠ ∅ ∧ tab(x) = tab(p) ⇒ computed(x) = block_size",
    ]


def test_what_a_micro_step_means_for_the_index_is_told_apart():
    take, follow = on_index(STEPS["take"]), on_index(STEPS["follow"])
    assert [one.text for one in take.does] == ["key(b) := ∅", "written(b) := 0", "era(b) := resets"]
    assert take.requires.text == "true"
    assert follow.requires.text == "key(tab(q)) = ∅"


@pytest.mark.parametrize("step", [step for step in STEPS.values() if step.plain is None], ids=lambda step: step.name)
def test_what_is_written_of_a_micro_step_of_the_index_is_what_it_does(step):
    done, happened = action(step), 0
    for here, _, entries in states_of_the_example():
        blocks = range(here.pool.size)
        keys = Plain({b: b for b in blocks if b % 2 == 0})
        # Contents are numbers here, and of which block they are is no matter: what is written is what is done.
        one = Index(here, keys, Plain(dict.fromkeys(blocks, 2)), Plain(dict.fromkeys(blocks, 0)), 0, Plain({(0, 0): 7}))
        columns = {**columns_of(here), **{part: value for part, value in vars(one).items() if part != "cache"}}
        for p, q, kv, d in itertools.product(entries, entries, range(3), blocks):
            names, at = {"p": p, "q": q, "kv": kv, "d": d}, At(p, other=q, content=kv, block=d)
            possible = bool(step.can(INTS, one, at))
            assert bool(value_of(done.requires, names, columns)) == possible
            if possible:
                happened += 1
                result, written = step.do(INTS, one, at), carried_out(done, names, columns)
                after = {**columns_of(result.cache), **{k: v for k, v in vars(result).items() if k != "cache"}}
                assert [word for word, value in after.items() if not same(value, written[word])] == []
    assert happened


# -- claims ----------------------------------------------------------------------------------------------


def test_the_written_world_offers_what_a_claim_may_ask_for():
    asked = {word for word in vars(World) if not word.startswith("_")}
    assert asked <= {*dir(WrittenWorld), *vars(WrittenWorld())}


def test_the_written_world_knows_what_the_general_one_knows():
    written, general = WrittenWorld(), GeneralWorld(Terms())
    for world in (written, general):
        world.cache("there")
        world.pool("gpu")
    assert [str(fact) for fact in written.facts] == [str(fact).replace(">=", "≥") for fact in general.facts]


BY_ID = {obligation.id: obligation for obligation in OBLIGATIONS}


@pytest.mark.parametrize(
    ("theorem", "text"),
    [
        ("arithmetic.blocks-for.tight", "block_size ≥ 1 ⇒ (⌈slots / block_size⌉ − 1) · block_size < slots"),
        ("guards.swap-in.sound", "premises ∧ on course ∧ free − need ≥ watermark ⇒ ¬stuck"),
        ("guards.course.take", "block_size ≥ 1 ∧ on course ∧ wanting ∧ now_free > 0 ⇒ on course′"),
        ("ownership.release.once", "Invariant ∧ tab(p) ≠ ∅ ⇒ tab′(p) = ∅"),
        ("ownership.release.frame", "Invariant ∧ tab(p) ≠ ∅ ∧ other ≠ p ⇒ tab′(other) = tab(other)"),
        (
            "prefix.revive.computed",
            "Invariant ∧ Contents ∧ Published ∧ tab(p) = ∅ ∧ 0 ≤ d < size ∧ ref(d) = 0 ∧ kv ≥ 0 ∧ key(d) = kv ∧ "
            "0 ≤ o < block_size ∧ block_size ≥ 1 ⇒ o < written(tab′(p))",
        ),
        (
            "data.reader.reads-back",
            "Invariant ∧ Contents ∧ tab(x) ≠ ∅ ∧ 0 ≤ o < computed(x) ⇒ holds(tab(x), o) = must(x, o)",
        ),
    ],
)
def test_theorems_read_as_they_are_meant(theorem, text):
    obligation = BY_ID[theorem]
    stated = statement(obligation, AREAS.get(theorem.partition(".")[0], lambda o: [])(obligation))
    assert stated is not None
    assert stated.text == text


def test_nearly_every_theorem_has_a_formula():
    proofs = [obligation for obligation in OBLIGATIONS if obligation.kind in PROOFS]
    areas = {
        obligation.id: AREAS.get(obligation.id.partition(".")[0], lambda o: [])(obligation) for obligation in proofs
    }
    stated = [statement(obligation, areas[obligation.id]) for obligation in proofs]
    with_formula = [one for one in stated if one is not None and proving.readable(one)]
    assert len(with_formula) > 0.95 * len(proofs)
    assert all("↦" not in one.text for one in with_formula)


def test_families_lose_nobody():
    shown = proving.shown()
    assert sorted(one.id for family in families(shown) for one in family.members) == sorted(one.id for one in shown)
    assert all(len(family.words) in (0, len(family.members)) for family in families(shown))


# -- the page --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("obligation", proving.shown(), ids=[obligation.id for obligation in proving.shown()])
def test_its_statement_is_a_sentence(obligation):
    assert re.fullmatch(r"[^|<>`\n]*[.!?]", obligation.statement)
    assert len(obligation.statement.split()) > 3


def test_every_obligation_is_in_one_section():
    listed = [one.id for section in proving.sections() for one in section.obligations]
    assert sorted(listed) == sorted(one.id for one in proving.shown())


def test_every_part_of_an_operation_has_a_theorem_to_link_to():
    for op, parts in COMPOSED.items():
        for part in parts:
            assert BY_ID[PARTS[op, part]].kind in PROOFS


def test_every_loop_with_an_index_has_a_theorem_to_link_to():
    page = "\n".join(describing.operations())
    for parts in COMPOSED_WITH_INDEX.values():
        assert all(f"[`{part.step}`](#{part.step})" in page for part in parts)


def test_every_status_and_operation_is_in_the_life_of_a_sequence():
    assert {operation for _, operation, _ in life.LIFE} == set(OPERATIONS)
    assert {status for before, _, after in life.LIFE for status in (before, after)} == {None, *Status}


def test_the_example_shows_a_shared_block_and_both_devices():
    text = "\n".join(example.diagram())
    assert "ref 2" in text
    assert "swapped" in text
    assert len(re.findall("subgraph", text)) == len(re.findall(r"^ +end$", text, flags=re.MULTILINE))
    nodes = set(re.findall(r"^ +(\w+)\[", text, flags=re.MULTILINE))
    assert {end for arrow in re.findall(r"(\w+) --> (\w+)", text) for end in arrow} <= nodes


def test_everything_that_is_spoken_of_has_a_meaning_and_a_unit():
    kinds = (*describing.STATES, At, SequenceCounts, Demand)
    docs = {part: text for kind in kinds for part, text in field_docs(kind).items()}
    numbers = {
        *parts_of(At),
        *parts_of(SequenceCounts),
        *parts_of(Demand),
        *describing.guard_numbers(),
        *HITS,
        "size",
        "window",
    }
    assert {part for part in numbers if part not in {**docs, **words.MEANINGS}} == set()
    assert {part for part in numbers if part not in words.UNITS} == set()


def test_no_meaning_is_kept_for_what_is_no_more():
    parts = {part for kind in (*describing.STATES, At, SequenceCounts, Demand) for part in parts_of(kind)}
    known = {*parts, *describing.guard_numbers(), *UNDER_WAY, *HITS, "others"}
    assert {*words.MEANINGS, *words.UNITS} <= known
    assert set(words.TABLES) == {table.label for table in conjuncts.tables()}


def test_docstrings_are_read():
    assert field_docs(SequenceCounts)["seen"] == "tokens that its block table covers (0 <= seen <= tokens)"
    assert field_docs(Pool)["tab"] == "block that entry e names, or EMPTY"
    assert "tokens:" not in about(OPERATIONS["fork"])
    assert all(about(kind).endswith(".") for kind in OPERATIONS.values())


def test_limits_name_theorems_that_exist():
    text = " ".join(f"{limit.why} {limit.instead}" for limit in (*limits.STANDS_FOR, *limits.NOT_ASKED))
    ids = {*BY_ID, *CATALOGUE, *(one.id.partition(".")[0] for one in OBLIGATIONS)}
    for named in re.findall(r"`([a-z-]+\.[a-z.*-]+)`", text):
        pattern = re.escape(named).replace(r"\*", ".*")
        assert any(re.fullmatch(pattern, known) for known in ids), named


def test_guards_have_rows():
    assert [op for op in GUARDED if f"| `{op}` |" not in "\n".join(describing.operations())] == []
