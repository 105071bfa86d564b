"""How much rules, words and numbers count: fitted weights against those that made the data, and folds that part no repository."""

from __future__ import annotations

import numpy as np
import pytest

from analyzer.casebook.record import CaseRecord
from analyzer.classifier.messages import Corpus
from analyzer.classifier.pool import ENOUGH, Named, fit_pool, fold_of, train_pool
from analyzer.errors import InputError
from analyzer.rules.candidates.pooled import NUMBERS, WORDING, Weights, asked, shipped_weights
from analyzer.rules.load import load_rules

TRUE = np.array([-1.0, 0.3, 0.5, 6.0, 2.0])


def drawn(runs, seed=7):
    """Runs of four named causes each, of which at most one is right, drawn by the weights."""
    generator = np.random.default_rng(seed)
    rows = 4 * runs
    marks = np.column_stack(
        [
            np.ones(rows),
            generator.normal(0.0, 4.0, rows),
            generator.integers(0, 2, rows),
            generator.uniform(0.0, 1.0, rows),
            generator.uniform(0.0, 1.0, rows),
        ]
    )
    odds = np.exp(marks @ TRUE).reshape(runs, 4)
    chances = np.column_stack([odds, np.ones(runs)]) / (1.0 + odds.sum(axis=1, keepdims=True))
    chosen = np.array([generator.choice(5, p=row) for row in chances])
    right = np.arange(4)[None, :] == chosen[:, None]
    return Named(marks, right.ravel(), np.repeat(np.arange(runs), 4), np.ones(runs))


def test_the_fit_finds_the_weights_that_the_runs_were_drawn_by():
    found = np.array(fit_pool(drawn(4000)))

    assert found == pytest.approx(TRUE, abs=0.35)


def test_a_run_that_counts_twice_is_the_run_written_twice():
    named = drawn(600)
    trust = np.where(np.arange(600) < 300, 2.0, 1.0)
    twice = named.run < 300
    written = Named(
        np.vstack([named.marks, named.marks[twice]]),
        np.concatenate([named.right, named.right[twice]]),
        np.concatenate([named.run, named.run[twice] + 600]),
        np.ones(900),
    )

    heavier = np.array(fit_pool(named._replace(trust=trust)))
    assert heavier == pytest.approx(np.array(fit_pool(written)), abs=0.1)
    assert heavier != pytest.approx(np.array(fit_pool(named)), abs=0.01)


def test_runs_of_one_repository_share_a_fold_and_others_are_spread():
    threads = [f"https://github.com/someone/Project/issues/{n}" for n in range(20)]
    others = [f"https://forum.example.org/t/{n}" for n in range(40)]

    assert {fold_of(thread) for thread in threads} == {fold_of("https://github.com/someone/project")}
    assert len({fold_of(other) for other in others}) > 1


def test_words_are_asked_of_a_failure_and_numbers_of_a_course():
    numbers = {"likeness.first": "overfitting"}

    assert asked("crash", {**numbers, "failure.seen": True}) is WORDING
    assert asked("plateau", {**numbers, "failure.seen": True}) is NUMBERS
    assert asked(None, numbers) is NUMBERS
    assert asked(None, {}) is WORDING


def test_of_the_shipped_weights_none_speaks_against_what_it_is_for():
    for by in (WORDING, NUMBERS):
        weights = shipped_weights(by.facts)
        assert isinstance(weights, Weights)
        assert weights.rules > 0
        assert max(weights.words, weights.numbers) > 1


def test_too_few_runs_are_refused_in_words():
    facts = {f"signal.loss.fact{n}": True for n in range(8)}
    records = [
        CaseRecord(id=str(n), label="overfitting", source=f"own/{n}", group=str(n), facts=facts)
        for n in range(60)
    ]
    corpus = Corpus(tuple({n % 3, 9} for n in range(12)), (("disk-full",),) * 12, ("",) * 12)

    with pytest.raises(InputError, match=f"{ENOUGH} are needed"):
        train_pool(records, corpus, load_rules(()))
