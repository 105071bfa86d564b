"""Outcome tests of the fault lab: they see what happened to a run beside its twins, and nothing else."""

import numpy as np
import pytest

from samples.lab.outcome import TESTS, Case, as_logged, twin_is_healthy
from samples.lab.truth import Truth

STEPS = 120


def truth(loss=None, evaluation=None, shown=None, times=None, norms=None, memory=None, seed=0):
    rng = np.random.default_rng(seed)
    curve = 0.4 + 2.0 * np.exp(-np.arange(STEPS) / 25) if loss is None else np.asarray(loss, float)
    noisy = curve + 0.02 * rng.standard_normal(len(curve))
    points = [*range(0, len(curve), 10), len(curve) - 1]
    clean = [(step, float(curve[step])) for step in points]
    return Truth(
        loss=noisy.tolist(),
        clean_eval=clean if evaluation is None else evaluation,
        shown_eval=clean if shown is None else shown,
        step_time_s=(np.full(len(curve), 0.01) if times is None else np.asarray(times)).tolist(),
        grad_norm=[1.0] * len(curve) if norms is None else norms,
        memory_mb=[100.0] * 12 if memory is None else memory,
    )


def judge(name, run, onset=40):
    return TESTS[name](Case(run, truth(), truth(seed=1), onset))


@pytest.mark.parametrize("name", sorted(TESTS))
def test_a_run_that_equals_its_twin_is_never_bitten(name):
    assert not judge(name, truth()).bit


@pytest.mark.parametrize("name", sorted(TESTS))
def test_every_verdict_tells_what_it_saw(name):
    assert judge(name, truth(loss=np.linspace(2.4, 2.3, STEPS))).because


def test_a_run_that_learned_less_is_worse_and_says_how_its_loss_went():
    slower, flat = np.linspace(2.4, 1.4, STEPS), np.linspace(2.4, 2.3, STEPS)
    rises = np.r_[np.linspace(2.4, 1.0, 40), np.linspace(1.0, 2.2, STEPS - 40)]

    for course, curve in {"slower": slower, "flat": flat, "rises": rises}.items():
        verdict = judge("worse", truth(loss=curve))
        assert verdict.bit
        assert verdict.course == course


def test_a_short_spike_between_two_logged_steps_is_not_seen():
    spiked = truth().loss
    spiked[43] = 9.0
    case = Case(Truth(**{**vars(truth()), "loss": spiked}), truth(), truth(seed=1), 42)

    assert TESTS["spike"](case).bit
    assert not TESTS["spike"](as_logged(case, 5, means=False)).bit
    assert TESTS["spike"](as_logged(case, 5, means=True)).bit


def test_a_small_loss_of_quality_does_not_count():
    assert not judge("worse", truth(loss=0.5 + 1.9 * np.exp(-np.arange(STEPS) / 25))).bit


def test_a_difference_that_two_healthy_seeds_show_too_does_not_count():
    other = truth(loss=1.0 + 1.4 * np.exp(-np.arange(STEPS) / 25))
    run = truth(loss=1.2 + 1.2 * np.exp(-np.arange(STEPS) / 25))

    assert not TESTS["worse"](Case(run, truth(), other, 0)).bit


def test_a_spike_that_is_forgotten_and_one_that_stays_are_different_causes():
    short = truth().loss
    short[40:43] = [6.0, 5.0, 3.0]
    lasting = truth().loss
    lasting[40:] = list(np.linspace(6.0, 3.0, STEPS - 40))
    evaluation = [*truth().clean_eval[:4], *((step, 3.0) for step, _ in truth().clean_eval[4:])]

    assert judge("spike", Truth(**{**vars(truth()), "loss": short})).label == "recovered-loss-spike"
    slow = Truth(**{**vars(truth()), "loss": lasting, "clean_eval": evaluation})
    assert judge("spike", slow).label == "loss-spike-slow-recovery"


def test_not_a_number_to_the_end_is_nonfinite_and_one_that_passes_is_not():
    ends = truth().loss
    ends[60:] = [float("nan")] * (STEPS - 60)
    passes = truth().loss
    passes[60] = float("nan")

    assert judge("nonfinite", Truth(**{**vars(truth()), "loss": ends})).bit
    assert not judge("nonfinite", Truth(**{**vars(truth()), "loss": passes})).bit


def test_overfitting_needs_an_evaluation_that_rises_while_training_falls():
    falling = np.geomspace(2.4, 0.01, STEPS)
    rising = [
        (step, 2.4 - 0.02 * step if step < 60 else 1.2 + 0.02 * (step - 60)) for step in range(0, STEPS, 10)
    ]

    assert judge("overfit", truth(loss=falling, evaluation=rising)).bit
    assert not judge("overfit", truth(loss=falling)).bit


def test_steps_that_become_slow_and_single_slow_steps_are_told_apart():
    slow = np.r_[np.full(60, 0.01), np.full(60, 0.03)]
    single = np.full(STEPS, 0.01)
    single[10::12] = 0.2

    assert judge("slower", truth(times=slow)).bit
    assert not judge("stalls", truth(times=slow)).bit
    assert judge("stalls", truth(times=single)).bit
    assert not judge("slower", truth(times=single)).bit


def test_an_evaluation_that_is_too_good_is_a_leak_and_one_that_is_too_bad_a_mismatch():
    points = range(0, STEPS, 10)

    assert judge(
        "leak", truth(shown=[(step, 0.01) for step in points], evaluation=[(s, 1.0) for s in points])
    ).bit
    assert judge("shown-gap", truth(shown=[(step, 2.4) for step in points])).bit


def test_a_twin_must_learn_and_stay_where_it_got():
    flat = truth(loss=np.full(STEPS, 2.4))
    back = truth(loss=2.4 - 2 * np.sin(np.linspace(0, 3, STEPS)))

    assert twin_is_healthy(truth(), truth(seed=1), "scratch").bit
    assert not twin_is_healthy(flat, truth(), "scratch").bit
    assert not twin_is_healthy(truth(), back, "scratch").bit
