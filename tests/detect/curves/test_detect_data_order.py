"""A loss that follows the order of the data, and all the curves that only look alike."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from make_run import RunMaker

from analyzer.detect.curves.data_order import find_cycle


def descent(count, seed=0, scatter=0.1):
    time = np.arange(count)
    return 2.0 + 2.0 * np.exp(-time / 80) + np.random.default_rng(seed).normal(0, scatter, count)


@pytest.mark.parametrize("period", [37, 60, 100])
def test_a_saw_tooth_is_found_with_its_length(period):
    ramp = 0.8 * (np.arange(600) % period) / period

    found = find_cycle(descent(600) + ramp)

    assert found is not None
    assert abs(found[0] - period) <= 2


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(130, 1500), st.floats(0.01, 0.4))
def test_plain_noise_on_a_descent_has_no_cycle(seed, count, scatter):
    assert find_cycle(np.abs(descent(count, seed, scatter))) is None


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.integers(3, 6))
def test_steps_down_at_each_epoch_are_memorisation_and_no_order(seed, epochs):
    steps = 3.0 * 0.7 ** (np.arange(600) // (600 // epochs))

    assert find_cycle(steps + np.random.default_rng(seed).normal(0, 0.05, 600)) is None


def test_a_schedule_with_restarts_is_told():
    wave = np.tile(np.linspace(1.0, 0.0, 100), 5)
    maker = RunMaker().log({"loss": 2.0 + 0.8 * wave, "learning_rate": 1e-3 * wave + 1e-6})

    facts = maker.plain()

    assert facts["signal.order.periodic"] is True
    assert facts["signal.order.follows_learning_rate"] is True


def test_the_length_is_compared_with_the_epoch():
    wave = np.tile(np.linspace(0.0, 1.0, 100), 6)
    epochs = RunMaker().log({"loss": 2.0 + wave, "epoch": np.arange(600) / 100}).plain()
    shards = RunMaker().log({"loss": 2.0 + wave, "epoch": np.arange(600) / 1000}).plain()

    assert epochs["signal.order.period_is_epoch"] is True
    assert shards["signal.order.period_is_epoch"] is False


def test_a_short_curve_says_nothing():
    assert not any(name.startswith("signal.order") for name in RunMaker().log({"loss": descent(60)}).plain())


@pytest.mark.parametrize(
    ("times", "by_length"),
    [
        ([0.4 + 0.1 * (row // 3) + 0.01 * (row % 2) for row in range(18)], True),
        ([0.4 + 0.001 * (row % 3) for row in range(18)], False),  # a loss that runs away takes no more time
    ],
)
def test_batches_that_take_longer_and_cost_more_from_row_to_row(times, by_length):
    losses = [2.0 + 0.6 * row + (row % 3) * 0.4 for row in range(18)]

    facts = RunMaker().log({"loss": losses, "step_time_s": times}, first=400).plain()

    assert facts["signal.order.by_length"] is by_length
    assert facts["signal.loss.diverged"] is not by_length


def test_of_losses_that_are_never_finite_no_order_is_told():
    facts = RunMaker().log({"loss": [float("nan")] * 18, "step_time_s": [0.4] * 18}).plain()

    assert not any(name.startswith("signal.order") for name in facts)
