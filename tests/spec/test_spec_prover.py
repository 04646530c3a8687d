"""The prover is not fooled: by false lemmas, by vacuous ones, by unknown answers, by examples, by broken builders."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
import z3

from kvspec import prover
from kvspec.prover import Answer, Result, UnknownId, discharge, prove, report, select, verdict
from kvspec.solving.solver import SOLVERS, Found, solver_named
from kvspec.theorems.obligation import Area, Claim, Kind, Obligation, can_fire


def lemma(build, kind=Kind.LEMMA, **more):
    area = Area("test")
    area.add("claim", kind, "a claim", build, **more)
    return area.obligations[0]


def halves(a, x):
    return Claim([x >= 0], a.ceil_div(x, 2) * 2 == x)


def grows(a, x):
    return Claim([x >= 1], x + 1 > x)


def impossible(a, x):
    return Claim([x > 3, x < 2], x == 7)


def hard(a, x, y, z):
    return Claim([x >= 1, y >= 1, z >= 1], x * x * x + y * y * y != z * z * z + 3 * x * y * z * (z - 41) + 5)


def broken(a, x):
    raise RuntimeError("no such rule")


def test_a_true_lemma_is_proved():
    result = discharge(lemma(grows))
    assert (result.status, result.good, result.countermodel) == ("proved", True, None)
    assert result.z3.answer == "unsat"


def test_a_false_lemma_is_refuted_with_numbers_that_can_be_read():
    result = discharge(lemma(halves))
    assert (result.status, result.good) == ("refuted", False)
    assert result.countermodel == {"x": 1}
    assert verdict([result]) == "refuted"


def test_a_wrong_variant_that_nothing_tells_from_the_right_one_is_bad():
    result = discharge(lemma(grows, Kind.REFUTATION, right=grows))
    assert (result.status, result.good) == ("proved", False)
    assert verdict([result]) == "refuted"


def test_a_wrong_variant_is_not_refuted_by_an_example_that_breaks_the_right_one_too():
    result = discharge(lemma(halves, Kind.REFUTATION, right=halves))
    assert (result.status, result.good) == ("disagree", False)
    assert "right rule" in result.reason


def test_vacuous_hypotheses_are_caught():
    vacuous = lemma(impossible)
    assert discharge(vacuous).good
    check = discharge(can_fire(vacuous))
    assert (check.status, check.good) == ("refuted", False)


def test_unknown_is_never_good():
    result = discharge(lemma(hard), timeout=0.001)
    assert (result.status, result.good) == ("unknown", False)
    assert result.reason
    assert verdict([discharge(lemma(grows)), result]) == "inconclusive"


@pytest.mark.parametrize("kind", list(Kind))
@pytest.mark.parametrize("status", ["unknown", "disagree"])
def test_neither_unknown_nor_disagree_is_good(kind, status):
    assert not Result("x", None, "", kind, status).good


def test_an_example_that_plain_numbers_deny_is_not_trusted():
    def two_faced(a, x):
        return Claim([x >= 1], True if isinstance(x, int) else x > 1)

    assert discharge(lemma(two_faced)).status == "disagree"


def test_a_builder_that_fails_stops_nobody():
    result = discharge(lemma(broken))
    assert (result.status, result.good, result.z3) == ("unknown", False, None)
    assert "no such rule" in result.reason


# -- several solvers --------------------------------------------------------------------------------------


class Says:
    """A solver with one answer to every question."""

    def __init__(self, name, answer, values=None):
        self.name, self.answer, self.values = name, answer, values
        self.asked = []

    def ask(self, text, names, timeout, seed):
        self.asked.append((text, tuple(names), timeout, seed))
        reason = f"{self.name} gave up" if self.answer == "unknown" else None
        return Found(self.answer, 0.25, self.values, reason)


@pytest.fixture
def solvers(monkeypatch):
    """Takes the solvers that there are from now on, and gives the names to ask them by."""

    def use(*fakes):
        known = {fake.name: fake for fake in fakes}
        monkeypatch.setattr(prover, "solver_named", known.__getitem__)
        return list(known)

    return use


ONE, TWO = {"x": 1}, {"x": 2}


def test_every_solver_is_asked_the_same_text(solvers):
    first, second = Says("z3", "unsat"), Says("cvc5", "unsat")
    result = discharge(lemma(grows), timeout=3, solvers=solvers(first, second), seed=7)
    assert (result.status, result.z3, result.cvc5) == ("proved", Answer("unsat", 0.25), Answer("unsat", 0.25))
    assert first.asked == second.asked
    assert first.asked[0][1:] == (("x",), 3, 7)


@pytest.mark.parametrize("kind", list(Kind))
@pytest.mark.parametrize(("one", "other"), [("sat", "unsat"), ("unsat", "sat")])
def test_solvers_that_differ_disagree_whatever_is_asked(solvers, kind, one, other):
    names = solvers(Says("z3", one, ONE), Says("cvc5", other, ONE))
    result = discharge(lemma(halves, kind, right=grows if kind is Kind.REFUTATION else None), solvers=names)
    assert (result.status, result.good) == ("disagree", False)
    assert result.reason == f"z3 says {one}, cvc5 says {other}"
    assert verdict([result]) == "disagree"


@pytest.mark.parametrize("kind", list(Kind))
@pytest.mark.parametrize("known", ["sat", "unsat"])
def test_one_solver_that_gives_up_makes_it_unknown(solvers, kind, known):
    names = solvers(Says("z3", known, ONE), Says("cvc5", "unknown"))
    result = discharge(lemma(halves, kind, right=grows if kind is Kind.REFUTATION else None), solvers=names)
    assert (result.status, result.good, result.reason) == ("unknown", False, "cvc5 gave up")
    assert verdict([result]) == "inconclusive"


@pytest.mark.parametrize("liar", SOLVERS)
def test_the_example_of_every_solver_is_evaluated_again(solvers, liar):
    names = solvers(*(Says(name, "sat", TWO if name == liar else ONE) for name in SOLVERS))
    result = discharge(lemma(halves), solvers=names)
    assert (result.status, result.example) == ("disagree", TWO)
    assert result.reason == f"on plain numbers the example does not break the goal ({liar})"


def test_what_one_solver_proves_in_general_and_all_refute_in_a_few_is_a_disagreement(solvers, monkeypatch):
    class Unsure(Says):
        def ask(self, text, names, timeout, seed):
            found = super().ask(text, names, timeout, seed)
            return Found("sat", 0.25, ONE) if len(self.asked) > 1 else found

    names = solvers(Unsure("z3", "unsat"), Unsure("cvc5", "unknown"))
    result = discharge(lemma(halves), solvers=names)
    assert (result.status, result.z3) == ("disagree", Answer("sat", 0.5))


def test_a_general_claim_is_refuted_by_a_few_blocks_where_the_whole_is_too_hard(solvers):
    def general(a):
        x = z3.Int("x")
        return Claim([z3.ForAll([x], x > x - 1)], z3.Int("y") < 5)

    result = discharge(lemma(lambda a, y: Claim([y >= 0], y < 5), general=general))
    assert (result.status, result.countermodel) == ("refuted", {"y": 5})


@pytest.mark.parametrize("name", SOLVERS)
def test_each_solver_alone_finds_the_same_smallest_example(name):
    pytest.importorskip(name)
    result = discharge(lemma(halves), solvers=[name])
    assert (result.status, result.countermodel) == ("refuted", {"x": 1})
    assert {*result.answers} == {name}
    assert result.minimising > 0
    assert result.seconds == result.answers[name].seconds + result.minimising


def test_an_interrupt_during_any_question_stops_everything(solvers):
    class Interrupted(Says):
        def ask(self, text, names, timeout, seed):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        discharge(lemma(grows), solvers=solvers(Says("z3", "unsat"), Interrupted("cvc5", "")))


def test_a_term_that_not_every_solver_reads_is_unknown():
    result = discharge(lemma(lambda a, x: Claim([x >= 0], x % 2 == 0)))
    assert (result.status, result.z3) == ("unknown", None)
    assert "'mod'" in result.reason


def test_there_is_no_solver_of_another_name():
    with pytest.raises(KeyError):
        solver_named("cvc9")


def test_nothing_selected_is_inconclusive():
    assert verdict([]) == "inconclusive"
    assert select(law="robust.no-crash") == []


def test_unknown_ids_are_told():
    with pytest.raises(UnknownId, match=r"no law 'admission\.nonsense'"):
        prove(law="admission.nonsense")
    with pytest.raises(UnknownId, match=r"no theorem 'guards\.nonsense'"):
        prove(theorem="guards.nonsense")
    assert issubclass(UnknownId, ValueError)


def test_a_law_brings_what_its_proof_rests_on():
    ids = [obligation.id for obligation in select(law="admission.sound-swap-in")]
    assert {"guards.swap-in.sound", "guards.swap-in.starts", "guards.course.take", "guards.course.take.can-fire"} <= {
        *ids
    }
    assert "guards.swap-in.wrong.unseen-ignored" in ids
    assert "ownership.take.possible" not in ids


def test_a_theorem_id_may_be_cut_at_a_dot():
    assert {o.id.split(".")[0] for o in select(theorem="copying")} == {"copying"}
    assert len(select(theorem=["copying", "arithmetic.copies"])) > len(select(theorem="copying"))
    assert [o.id for o in select(theorem="arithmetic.append.waste.can-fire")] == ["arithmetic.append.waste.can-fire"]


def test_the_report_is_plain_data():
    seen = []
    results = prove(theorem="copying", on_result=seen.append)
    assert seen == results
    data = json.loads(json.dumps(report(results)))
    assert data["schema"] == "kvconform/proof@1"
    assert data["verdict"] == "proved"
    first = data["obligations"][0]
    assert {"id", "law", "statement", "kind", "z3", "cvc5", "status"} <= set(first)
    assert first["cvc5"] is None
    assert set(first["z3"]) == {"answer", "seconds"}
    assert "minimising" not in first
    wrong = [o for o in data["obligations"] if o["kind"] == "refutation"]
    assert all(o["status"] == "refuted" and o["countermodel"] and o["minimising"] > 0 for o in wrong)


def test_a_refuted_claim_weighs_more_than_a_disagreement_and_that_more_than_an_unknown():
    good = Result("a", None, "", Kind.LEMMA, "proved", Answer("unsat", 0.0))
    unknown = Result("b", None, "", Kind.LEMMA, "unknown")
    disagree = Result("c", None, "", Kind.LEMMA, "disagree")
    refuted = Result("d", None, "", Kind.LEMMA, "refuted")
    assert verdict([good]) == "proved"
    assert verdict([good, unknown]) == "inconclusive"
    assert verdict([good, unknown, disagree]) == "disagree"
    assert verdict([good, unknown, disagree, refuted]) == "refuted"


def test_a_refutation_names_the_right_rule():
    with pytest.raises(ValueError, match="right rule"):
        Obligation("t", Kind.REFUTATION, "s", grows, ("x",))


def test_an_obligation_names_a_law_that_exists():
    with pytest.raises(ValueError, match="no law"):
        Obligation("t", Kind.LEMMA, "s", grows, ("x",), law="admission.nonsense")


def test_the_run_time_check_never_loads_the_solver():
    code = "import sys, kvspec.laws, kvspec.guards, kvspec.arithmetic; sys.exit('z3' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
