"""Ctrl-C reaches the user: during a question, between two, and where Python itself would lose it."""

from __future__ import annotations

import os
import signal
import threading
import time
from types import SimpleNamespace

import pytest

from kvspec import prover
from kvspec.solving.interrupts import interrupts_noted, raise_if_interrupted, stopped_by
from kvspec.solving.solver import Found, solver_named
from kvspec.theorems.obligation import Area, Claim, Kind

HARD = """
(declare-const x Int)(declare-const y Int)(declare-const z Int)
(assert (and (> x 1) (> y 1) (> z 1) (= (+ (* x x x) (* y y y)) (+ (* z z z) (* 3 x y z (- z 41)) 5))))
(check-sat)
"""


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def interrupt_and_wait() -> None:
    interrupt()
    time.sleep(0.2)


def grows(a, x):
    return Claim([x >= 1], x + 1 > x)


@pytest.fixture
def prove(monkeypatch):
    """Proves one lemma with a solver that does something first, and gives what was discharged until it ended."""

    def run(do) -> list[str]:
        area = Area("test")
        area.add("claim", Kind.LEMMA, "a claim", grows)
        monkeypatch.setattr(prover, "select", lambda law, theorem: list(area.obligations))

        def ask(text, names, timeout, seed):
            do()
            return Found("unsat", 0.0)

        monkeypatch.setattr(prover, "solver_named", lambda name: SimpleNamespace(name=name, ask=ask))
        seen: list[str] = []
        with pytest.raises(KeyboardInterrupt):
            prover.prove(on_result=lambda result: seen.append(result.id))
        return seen

    return run


def test_an_interrupt_during_a_question_ends_the_proving_and_the_question_does_not_count(prove):
    assert prove(interrupt) == []


def test_an_interrupt_that_is_raised_where_python_drops_it_is_not_lost(prove):
    class Ends:
        def __del__(self):
            interrupt()

    assert prove(lambda: Ends() and None) == []


def test_the_second_interrupt_is_raised_at_once(prove):
    def twice():
        interrupt()
        interrupt()
        pytest.fail("the second one was not raised")

    assert prove(twice) == []


@pytest.mark.parametrize(("name", "most"), [("z3", 5.0), ("cvc5", 20.0)])
def test_a_solver_that_works_on_a_hard_question_does_not_keep_an_interrupt(name, most):
    # z3 is stopped at once; cvc5 cannot be, and ends its question: the first share of five seconds.
    pytest.importorskip(name)
    asked, began = solver_named(name), time.monotonic()
    timer = threading.Timer(0.3, interrupt)
    with interrupts_noted():
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            asked.ask(HARD, (), 5.0 if name == "cvc5" else 60.0, 0)
    assert time.monotonic() - began < most


def test_what_works_is_stopped_and_nothing_else():
    stopped: list[str] = []
    with interrupts_noted():
        with stopped_by(lambda: stopped.append("before")):
            pass
        with pytest.raises(KeyboardInterrupt), stopped_by(lambda: stopped.append("now")):
            interrupt_and_wait()
    assert stopped == ["now"]


def test_afterwards_everything_is_as_it_was():
    with interrupts_noted():
        interrupt()
        with pytest.raises(KeyboardInterrupt):
            raise_if_interrupted()
    raise_if_interrupted()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert signal.set_wakeup_fd(-1) == -1


def test_where_interrupts_are_somebody_elses_business_they_stay_so():
    heard: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: heard.append(number))
    try:
        with interrupts_noted():
            interrupt()
            raise_if_interrupted()
    finally:
        signal.signal(signal.SIGINT, before)
    assert heard == [signal.SIGINT]


def test_in_another_thread_proving_works_as_well():
    results: list[str] = []
    thread = threading.Thread(target=lambda: results.append(prover.verdict(prover.prove(theorem="copying"))))
    thread.start()
    thread.join()
    assert results == ["proved"]
