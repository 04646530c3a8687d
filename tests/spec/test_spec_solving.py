"""Every question is one text, which every solver reads and answers alike; and the examples shown are the smallest."""

from __future__ import annotations

import functools
import itertools
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest
import z3

from kvspec.algebra import INTS
from kvspec.prover import file_name, to_smt2
from kvspec.solving import cvc5_solver, solver, z3_solver
from kvspec.solving.formulas import Reader
from kvspec.solving.layout import WIDTH, Unwritable, flat, lines, symbol
from kvspec.solving.plain import doubt_about
from kvspec.solving.questions import LEAST, MOST, finite, main_question, whole
from kvspec.solving.smallest import measures, smallest
from kvspec.solving.smtlib import text_of
from kvspec.solving.solver import SOLVERS, Found, SolverMissing, in_turn, solver_named
from kvspec.solving.writing import Writer
from kvspec.theorems import OBLIGATIONS
from kvspec.theorems.obligation import PROOFS, Area, Claim, Kind, Named, Obligation

# -- the writing of terms -------------------------------------------------------------------------------

INT = z3.IntSort()
X, Y, Z = z3.Ints("x y z")
P, Q = z3.Bools("p q")
ENTRY = z3.DeclareSort("Entry")
E, F = z3.Consts("e f", ENTRY)
ARRAY = z3.Array("memory", INT, INT)
ROWS = z3.Array("rows", ENTRY, z3.ArraySort(INT, ENTRY))
PLACE = z3.Int("pool.at[0][1]")
BOUND = z3.Int("x")  # a variable that has the name of a constant


def many(start: z3.ArithRef) -> z3.BoolRef:
    """A formula that is long enough to be given a name."""
    return z3.And([start + i > 0 for i in range(20)])


def written(*terms: z3.ExprRef) -> str:
    """What stands of these terms in a text, the definitions first, each on its line."""
    reader = Reader()
    formulas = [reader.read(term) for term in terms]
    writer = Writer(formulas)
    told = []
    for formula in formulas:
        told += [flat(definition) for definition in writer.definitions_for(formula)]
        told.append(flat(writer.expression(formula)))
    return "\n".join(told)


WRITTEN = [
    (z3.And(P, Q), "(and p q)"),
    (z3.Or(P, Q, X > 1), "(or p q (> x 1))"),
    (z3.Not(P), "(not p)"),
    (z3.Implies(P, Q), "(=> p q)"),
    (z3.If(P, X, Y), "(ite p x y)"),
    (X == Y, "(= x y)"),
    (P == Q, "(= p q)"),
    (X != Y, "(distinct x y)"),
    (X + Y + 1, "(+ (+ x y) 1)"),
    (X - Y, "(- x y)"),
    (-X, "(- x)"),
    (X * 3, "(* x 3)"),
    (X < Y, "(< x y)"),
    (X <= Y, "(<= x y)"),
    (X > Y, "(> x y)"),
    (X >= -12, "(>= x (- 12))"),
    (z3.BoolVal(True), "true"),
    (z3.BoolVal(False), "false"),
    (ARRAY[X], "(select memory x)"),
    (z3.Store(ARRAY, X, -1), "(store memory x (- 1))"),
    (ROWS[E][X] == F, "(= (select (select rows e) x) f)"),
    (z3.Store(ROWS, E, z3.Store(ROWS[E], X, F)), "(store rows e (store (select rows e) x f))"),
    (PLACE == 0, "(= |pool.at[0][1]| 0)"),
    (z3.ForAll([E], ROWS[E][0] == E), "(forall ((e Entry)) (= (select (select rows e) 0) e))"),
    (z3.ForAll([Y, Z], Y < Z + X), "(forall ((y Int) (z Int)) (< y (+ z x)))"),
    (
        z3.ForAll([Y], z3.Implies(Y > 0, z3.ForAll([Z], Z * Y > Z))),
        "(forall ((y Int)) (=> (> y 0) (forall ((z Int)) (> (* z y) z))))",
    ),
    (
        z3.And(X > 0, z3.ForAll([BOUND], z3.ForAll([BOUND], BOUND > 0))),
        "(and (> x 0) (forall ((x.2 Int)) (forall ((x.3 Int)) (> x.3 0))))",
    ),
]


@pytest.mark.parametrize(("term", "expected"), WRITTEN, ids=[expected for _, expected in WRITTEN])
def test_each_operator_is_written_as_smt_lib_has_it(term, expected):
    # A bound variable has another name wherever its own is taken; elsewhere it keeps it.
    assert written(term) == expected
    assert means_the_same(term)


def means_the_same(term: z3.ExprRef) -> bool:
    """Whether what is written is, for a solver that reads it, what z3 itself would write."""
    reader = Reader()
    formula = reader.read(term)
    writer = Writer([formula])
    text = [f"(declare-sort {sort} 0)" for sort in reader.sorts]
    text += [f"(declare-const {symbol(name)} {sort})" for name, sort in writer.constants.items()]
    text += [flat(definition) for definition in writer.definitions_for(formula)]
    text.append(f"(assert (not (= {flat(writer.expression(formula))} {term.sexpr()})))")
    asked = z3.Solver()
    asked.from_string("\n".join(text))
    return asked.check() == z3.unsat


UNWRITABLE = [
    (X / Y > 0, "div"),
    (X % 2 == 0, "mod"),
    (z3.Real("r") > 0, "Real"),
    (z3.K(INT, z3.IntVal(0)) == ARRAY, "const"),
    (z3.Exists([X], X > Y), "not forall"),
    (z3.ForAll([X], ARRAY[X] > 0, patterns=[ARRAY[X]]), "patterns"),
    (z3.Function("f", INT, INT)(X) > 0, "'f'"),
    (z3.BitVec("b", 4) == 1, "bv"),
    (z3.Int("and") > 0, "'and'"),
    (z3.Int("forall") > 0, "'forall'"),
    (z3.Int("a|b") > 0, "a|b"),
    (z3.Int("@x") > 0, "@x"),
]


@pytest.mark.parametrize(("term", "named"), UNWRITABLE, ids=[named for _, named in UNWRITABLE])
def test_whatever_some_solver_lacks_is_refused(term, named):
    with pytest.raises(Unwritable, match=re.escape(named)):
        written(term)


@pytest.mark.parametrize("name", ["pool.tab[0]", "two words", "1st", "a;b"])
def test_a_name_is_quoted_where_it_has_to_be(name):
    assert symbol(name) == f"|{name}|"
    text = f"(declare-const {symbol(name)} Int)(assert (= {symbol(name)} 7))(check-sat)"
    for name_of_solver in SOLVERS:
        assert solver_named(name_of_solver).ask(text, [name], 10, 0).values == {name: 7}


@pytest.mark.parametrize("name", ["tokens", "pool.size", "quotient.0", "p!1"])
def test_a_plain_name_is_left_as_it_is(name):
    assert symbol(name) == name


def test_what_occurs_again_is_written_once():
    long = many(X)
    told = written(z3.Or(P, long), z3.Or(Q, long)).splitlines()
    assert [line.partition(" ")[0] for line in told] == ["(define-fun", "(or", "(or"]
    assert told[1:] == ["(or p part.1)", "(or q part.1)"]
    assert means_the_same(z3.And(z3.Or(P, long), z3.Or(Q, long)))


def test_a_text_grows_with_the_term_and_not_with_all_the_ways_through_it():
    term = X
    for _ in range(60):
        term = z3.If(term > Y, term - Y, term + 1)
    assert len(written(term)) < 60 * 200


def test_what_is_about_a_bound_variable_is_named_where_it_is_bound():
    long = many(Y - X)
    term = z3.ForAll([Y], z3.Or(z3.And(P, long), z3.And(Q, long)))
    told = written(term)
    assert told.startswith("(forall ((y Int)) (let ((local.1 (and ")
    assert told.endswith("(or (and p local.1) (and q local.1))))")
    assert means_the_same(term)


def test_a_name_that_a_part_would_get_may_be_taken():
    long = many(z3.Int("part.1"))
    assert "(or p part.1.2)" in written(z3.Or(P, long), z3.Or(Q, long))


def test_long_formulas_are_broken_over_lines():
    term = z3.Implies(many(X), many(Y))
    reader = Reader()
    formula = reader.read(term)
    told = lines(Writer([formula]).expression(formula))
    assert len(told) > 20
    assert max(map(len, told)) <= WIDTH
    assert " ".join(line.strip() for line in told).replace(" )", ")") == written(term)


# -- a question as one text -----------------------------------------------------------------------------


def claim_of(build, kind=Kind.LEMMA, **more) -> Obligation:
    area = Area("test")
    area.add("claim", kind, "a claim", build, **more)
    return area.obligations[0]


def halves(a, x, y):
    return Claim([x >= 0, Named("y-is-there", y >= 0)], a.ceil_div(x, 2) * 2 == x)


def test_a_text_says_what_it_is_about():
    text = to_smt2(claim_of(halves, law="table.tight"))
    assert text.splitlines()[:2] == ["; test.claim (lemma)", "; a claim"]
    for told in (
        "; Law table.tight: ",
        "(set-info :smt-lib-version 2.6)",
        "(set-info :status unsat)",
        "(declare-const x Int)\n(declare-const y Int)\n",
        "; given, 2: y-is-there\n(assert (>= y 0))",
        "; not the goal\n(assert (not (= (* quotient.0 2) x)))",
    ):
        assert told in text
    assert text.endswith("(check-sat)\n")


def test_a_search_for_an_example_has_a_range_and_asks_for_the_values():
    text = text_of(finite(claim_of(halves, Kind.VACUITY)))
    assert f"(assert (<= (- {-LEAST}) x {MOST}))" in text
    assert "(set-info :status sat)" in text
    assert text.endswith("(check-sat)\n(get-value\n  (x y))\n")
    assert "not the goal" not in text


def test_the_file_is_named_after_theorem_and_law():
    assert file_name(claim_of(halves)) == "test.claim.smt2"
    assert file_name(claim_of(halves, law="table.tight")) == "test.claim--table.tight.smt2"
    assert len({file_name(obligation) for obligation in OBLIGATIONS}) == len(OBLIGATIONS)


SOME = [obligation.id for obligation in OBLIGATIONS[::25]]

SHOW = """
import hashlib, sys
from kvspec.prover import to_smt2
from kvspec.theorems import OBLIGATIONS
some = {o.id: o for o in OBLIGATIONS}
for name in sys.argv[1:]:
    print(hashlib.sha256(to_smt2(some[name]).encode()).hexdigest())
"""


def test_the_same_question_is_the_same_text_in_any_process_and_any_order():
    def hashes(order: Sequence[str], seed: str) -> dict[str, str]:
        ran = subprocess.run(
            [sys.executable, "-c", SHOW, *order],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONPATH": ":".join(sys.path), "PYTHONHASHSEED": seed},
        )
        return dict(zip(order, ran.stdout.split(), strict=True))

    assert hashes(SOME, "1") == hashes(SOME[::-1], "2")


# -- every obligation, by every solver ------------------------------------------------------------------


@functools.cache
def text_and_names(number: int) -> tuple[str, tuple[str, ...]]:
    question = main_question(OBLIGATIONS[number])
    return text_of(question), question.names


def expected(number: int) -> str:
    return "unsat" if OBLIGATIONS[number].kind in PROOFS else "sat"


def answers(name: str, numbers: Iterable[int], seed: int = 0) -> list[str]:
    """The ids of those that a solver answers in another way than it must."""
    asked = solver_named(name)
    return [
        OBLIGATIONS[number].id
        for number in numbers
        if asked.ask(*text_and_names(number), timeout=60, seed=seed).answer != expected(number)
    ]


BATCHES = 5
ALL = range(len(OBLIGATIONS))


@pytest.fixture(scope="module", params=range(BATCHES))
def batch(request):
    """The number of a batch, every fifth obligation: pytest runs the tests about one batch after each other, so that
    its texts, which take longer to write than to answer, are written once.
    """
    return request.param


def wrong_in(said: dict[int, str]) -> list[str]:
    """Those of the obligations whose file was not taken, or not answered as it must be with the values asked for."""
    wrong = []
    for number, told in said.items():
        word, _, values = told.partition("\n")
        names = OBLIGATIONS[number].unknowns if expected(number) == "sat" else ()
        if word != expected(number) or "error" in values or not all(symbol(name) in values for name in names):
            wrong.append(f"{OBLIGATIONS[number].id}: {told[:200]}")
    return wrong


def test_the_z3_command_takes_exports(batch, tmp_path):
    # Every other one: as texts z3 has taken them all. One file after the other in one process: starting it would take
    # longer than answering.
    command = shutil.which("z3", path=str(Path(sys.executable).parent)) or shutil.which("z3")
    assert command, "the z3 command is missing, though z3-solver brings it"
    numbers, file = ALL[batch :: 2 * BATCHES], tmp_path / "batch.smt2"
    texts = [text_and_names(number)[0] for number in numbers]
    told = [f"(set-info :status {expected(number)})" in text for number, text in zip(numbers, texts, strict=True)]
    assert all(told)
    file.write_text("".join(f'{text}(reset)\n(echo "next")\n' for text in texts))
    keeps_memory = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "1000000000", "MALLOC_TRIM_THRESHOLD_": "1000000000"}
    ran = subprocess.run([command, "-T:300", str(file)], capture_output=True, text=True, check=False, env=keeps_memory)
    *said, rest = ran.stdout.split("next\n")
    assert not rest, rest
    assert not wrong_in(dict(zip(numbers, said, strict=True)))


def test_cvc5_takes_exports_from_files(batch, tmp_path):
    # Every third: the others it has taken as texts, above, and what differs is who opens the file.
    cvc5 = pytest.importorskip("cvc5")

    def says(number: int) -> str:
        file = tmp_path / file_name(OBLIGATIONS[number])
        file.write_text(text_and_names(number)[0])
        terms = cvc5.TermManager()
        asked, symbols = cvc5.Solver(terms), cvc5.SymbolManager(terms)
        for option, value in {**cvc5_solver.OPTIONS, **cvc5_solver.FEWER_REWRITES, "tlimit-per": "60000"}.items():
            asked.setOption(option, value)
        parser = cvc5.InputParser(asked, symbols)
        parser.setFileInput(cvc5.InputLanguage.SMT_LIB_2_6, str(file))
        said = []
        while not (command := parser.nextCommand()).isNull():
            said.append(command.invoke(asked, symbols))
        return "".join(said)

    assert not wrong_in({number: says(number) for number in ALL[batch :: 3 * BATCHES]})


@pytest.mark.parametrize("name", SOLVERS)
def test_no_seed_changes_an_answer(name, batch):
    # Each obligation with one of the five seeds; benchmarks/proofs.py, which takes minutes, asks each with all of them.
    assert not answers(name, ALL[batch::BATCHES], seed=batch + 1)


# -- solvers ---------------------------------------------------------------------------------------------

SIMPLE = "(declare-const x Int)(assert (and (> x 41) (< x 43)))(check-sat)(get-value (x))"
HARD = """
(declare-const x Int)(declare-const y Int)(declare-const z Int)
(assert (and (> x 1) (> y 1) (> z 1) (= (+ (* x x x) (* y y y)) (+ (* z z z) (* 3 x y z (- z 41)) 5))))
(check-sat)
"""


@pytest.mark.parametrize("name", SOLVERS)
def test_a_solver_gives_the_values(name):
    found = solver_named(name).ask(SIMPLE, ["x"], 10, 0)
    assert (found.answer, found.values, found.reason) == ("sat", {"x": 42}, None)
    assert 0 <= found.seconds < 10


@pytest.mark.parametrize("name", SOLVERS)
def test_a_solver_gives_up_when_its_time_is_over(name):
    found = solver_named(name).ask(HARD, ["x"], 0.2, 0)
    assert (found.answer, found.values) == ("unknown", None)
    assert f"{name} gave up" in found.reason
    assert found.seconds < 5


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize("status", ["sat", "unsat"])
def test_the_answer_that_a_text_expects_is_not_the_answer(name, status):
    text = f"(set-info :status {status})(declare-const x Int)(assert (< x 3))(check-sat)"
    assert solver_named(name).ask(text, ["x"], 10, 0).answer == "sat"


@pytest.mark.parametrize("name", SOLVERS)
def test_what_a_solver_cannot_read_is_an_error(name):
    with pytest.raises(Exception, match="nonsense"):
        solver_named(name).ask("(assert (nonsense 1))(check-sat)", [], 10, 0)


def test_another_way_is_tried_where_the_usual_one_gives_up():
    found = in_turn(lambda s: Found("unknown", 1.0, reason="lost"), lambda s: Found("unsat", s), 10)
    assert (found.answer, found.seconds, found.reason) == ("unsat", 10.0, None)
    assert in_turn(lambda s: Found("sat", s), lambda s: pytest.fail("asked in vain"), 10).seconds == 2


def test_z3_keeps_no_seed():
    z3_solver.SOLVER.ask(SIMPLE, ["x"], 10, 7)
    assert z3.get_param("smt.random_seed") == "0"


def test_a_solver_that_is_missing_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "cvc5", None)
    monkeypatch.delitem(sys.modules, "kvspec.solving.cvc5_solver")
    with pytest.raises(SolverMissing, match=re.escape("pip install 'kvconform[crosscheck]'")):
        solver_named("cvc5")


def test_cvc5_is_loaded_only_where_it_is_asked_for():
    code = "import sys, kvspec.prover as p; p.prove(theorem='copying'); sys.exit('cvc5' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_solvers_are_those_that_can_be_loaded():
    assert [solver_named(name).name for name in solver.SOLVERS] == ["z3", "cvc5"]


# -- the smallest example -------------------------------------------------------------------------------


def short(a, block_size, lookahead, total, free, moved, tokens):
    """A pool that runs out, or so it is claimed that it does not."""
    given = [block_size >= 1, lookahead >= 0, free >= 0, free <= total, moved >= 0, tokens >= 1, moved + free != 3]
    return Claim(given, a.ceil_div(tokens + lookahead, block_size) + moved <= free + lookahead * block_size)


def size_of(numbers: dict[str, int]) -> list[int]:
    """What is compared first of an example, and then each number in turn, the least first and those below 0 last."""
    each = [value if value >= 0 else MOST - value for value in numbers.values()]
    return [measure(INTS, numbers) for measure in measures(list(numbers))] + each


@pytest.mark.parametrize("least_total", [0, 1, 2])
def test_the_example_is_the_smallest_of_all(least_total):
    def build(a, block_size, lookahead, total, free, moved, tokens):
        claim = short(a, block_size, lookahead, total, free, moved, tokens)
        return Claim([*claim.given, total + moved >= least_total + moved * 2], claim.goal)

    obligation = claim_of(build)
    names = obligation.unknowns
    small = (dict(zip(names, values, strict=True)) for values in itertools.product(range(4), repeat=len(names)))
    examples = [numbers for numbers in small if numbers["block_size"] and doubt_about(obligation, numbers) is None]
    best = min(examples, key=size_of)
    for start in (examples[0], examples[-1], best):
        found = smallest(text_of(finite(obligation)), start, 60)
        assert (found.example, found.exact) == (best, True)


def test_blocks_count_more_than_tokens_and_those_more_than_the_rest():
    names = ("block_size", "total", "moved", "tokens")
    blocks, tokens = measures(names)
    numbers = {"block_size": 9, "total": 2, "moved": 3, "tokens": 7}
    assert (blocks(INTS, numbers), tokens(INTS, numbers)) == (5, 7)
    assert [measure(INTS, {"blocks": 4, "moves": 1}) for measure in measures(["blocks", "moves"])] == [4]
    assert measures(["owners", "writers"]) == []


def test_of_pools_the_blocks_held_count_then_the_owners_then_what_is_computed():
    numbers = {
        "here.tab[0]": 1,
        "here.tab[1]": 1,
        "here.tab[2]": -1,
        "here.computed[0]": 2,
        "here.computed[2]": -1,
        "there.tab[0]": 1,
        "there.ref[0]": 5,
    }
    assert [measure(INTS, numbers) for measure in measures(list(numbers))] == [2, 3, 2]


def test_an_example_from_outside_the_range_is_made_small_too():
    obligation = claim_of(lambda a, tokens, x: Claim([tokens >= 0], tokens + x < 3))
    found = smallest(text_of(finite(obligation)), {"tokens": 900, "x": 17}, 60)
    assert found.example == {"tokens": 0, "x": 3}


def test_where_the_time_is_over_the_example_is_what_it_was():
    obligation = claim_of(lambda a, tokens, x: Claim([tokens >= 0], tokens * x * x * x != 8 * tokens * tokens))
    start = {"tokens": 1, "x": 2}
    found = smallest(text_of(finite(obligation)), start, -1)
    assert found.exact or found.example == start


def test_a_general_claim_asks_nothing_back():
    general = next(obligation for obligation in OBLIGATIONS if obligation.general is not None)
    assert whole(general).names == ()
    assert "get-value" not in to_smt2(general)
