"""Each shape of trouble moves the feature that is meant for it, and the healthy shape leaves it quiet."""

import numpy as np
import pytest
from synthetic_curves import Curves

HEALTHY = [Curves(seed).features() for seed in range(5)]


def grow_explosively(c):
    c.loss[300:] = c.loss[300:] + np.exp(np.linspace(0, 12, 100))


def rise_slowly(c):
    c.loss = c.loss + 2.0 * np.maximum(c.share - 0.3, 0)
    c.learning_rate[:] = 1e-3


def stay_flat(c):
    c.loss = 2.3 * (1 + 0.02 * c.random.standard_normal(c.points))


def freeze(c):
    c.loss = np.full(c.points, np.log(10.0))
    c.grad_norm = np.zeros(c.points)


def explode_and_break(c):
    c.loss[280:300] = c.loss[280:300] * np.exp(np.linspace(0, 8, 20))
    c.grad_norm[280:300] = c.grad_norm[280:300] * np.exp(np.linspace(0, 10, 20))
    c.loss[300:] = c.grad_norm[300:] = np.nan


def break_at_once(c):
    c.loss[300:] = c.grad_norm[300:] = np.nan


def vanish(c):
    c.grad_norm = c.grad_norm * np.exp(-12 * c.share)


def end_the_schedule(c):
    c.learning_rate = 1e-3 * np.maximum(1 - c.share / 0.3, 0)
    c.loss = (4.0 - 5.0 * np.minimum(c.share, 0.3)) * (1 + 0.02 * c.random.standard_normal(c.points))


def restart_the_rate(c):
    c.learning_rate = 1e-3 * (1 - (5 * c.share) % 1.0)


def overfit(c):
    c.loss = 2.0 * np.exp(-4 * c.share) * (1 + 0.03 * c.random.standard_normal(c.points))
    c.eval_loss = 2.0 - 1.2 * np.minimum(np.linspace(0, 3, 20), 1) + 1.5 * np.linspace(0, 1, 20) ** 2


def repeat_a_batch(c):
    c.loss = 2.3 * np.exp(-12 * c.share) + 1e-5


def sort_the_classes(c):
    c.loss = c.loss + 0.8 * np.sin(2 * np.pi * 8 * c.share)


def spike_and_recover(c):
    c.loss[200:203] += 4.0


def spike_and_stay(c):
    c.loss[200:] += 2.0


def pass_a_pocket(c):
    c.loss[180:240] += 1.2


def leak_time(c):
    c.step_time_s = c.step_time_s * (1 + 2 * c.share)


def stall_regularly(c):
    c.step_time_s[::25] *= 8.0


def wait_for_data(c):
    c.data_time_s = 0.9 * c.step_time_s


def evaluate_nan(c):
    c.eval_loss[10:] = np.nan


def evaluate_on_train(c):
    c.eval_loss = np.interp(np.linspace(0.05, 1, 20), c.share, 1.5 + 1.5 * np.exp(-5 * c.share)) * 0.9


def clip_a_tiny_batch(c):
    c.grad_norm = c.grad_norm * np.exp(1.5 * c.random.standard_normal(c.points))
    c.eval_loss = c.eval_loss * np.exp(0.5 * c.random.standard_normal(20))


def resume_badly(c):
    c.loss[250:] += 1.5 * np.exp(-np.linspace(0, 4, 150))
    c.learning_rate[250:] *= 20


SHAPES = [
    (grow_explosively, {"loss_rise_noise": (3, 11), "loss_noise_growth": (1, 11), "loss_recovery": (0, 0.3)}),
    (rise_slowly, {"loss_lost_share": (0.5, 7), "rate_while_rising": (2, 11), "loss_best_at": (0, 0.6)}),
    (stay_flat, {"loss_drop_noise": (-1, 1), "loss_half_at": (0.99, 1.01), "loss_up_share": (0.3, 1)}),
    (freeze, {"loss_frozen": (0.9, 1.1), "gradient_zero_share": (0.9, 1.1), "loss_range_noise": (0, 0.1)}),
    (explode_and_break, {"loss_growth_before_bad": (0.5, 1), "gradient_growth_before_bad": (3, 25), "loss_bad_end": (0.9, 2)}),
    (vanish, {"gradient_trend": (-17, -6), "gradient_last_trend": (-17, -1.5)}),
    (end_the_schedule, {"rate_zero_at": (0.2, 0.4), "rate_zero_share": (0.5, 1), "rate_unfinished": (0.1, 1)}),
    (restart_the_rate, {"rate_restarts": (1.5, 5), "rate_jump": (2, 11)}),
    (overfit, {"eval_rise": (0.1, 1), "eval_parting": (0.1, 1), "eval_with_train": (-1, 0.5), "eval_best_at": (0, 0.6)}),
    (repeat_a_batch, {"loss_orders": (-7, -2), "loss_noise_late": (-7, -2.5)}),
    (sort_the_classes, {"loss_wave": (0.4, 1.1), "loss_wave_period": (0.1, 0.15), "loss_pocket_share": (0.1, 1)}),
    (spike_and_recover, {"loss_spike_noise": (3.5, 13), "loss_excursion_at": (0.45, 0.55), "loss_spikes": (0.3, 2)}),
    (spike_and_stay, {"loss_shift": (3, 13), "loss_shift_at": (0.45, 0.55), "loss_shift_sudden": (0.7, 1.1), "loss_recovery": (0, 0.5)}),
    (pass_a_pocket, {"loss_pocket": (2.5, 13), "loss_pocket_share": (0.1, 0.3), "loss_recovery_time": (0.05, 0.3)}),
    (leak_time, {"time_growth": (0.8, 2), "time_trend": (0.9, 1.1)}),
    (stall_regularly, {"time_regular": (0.9, 1.1), "time_slow_share": (0.02, 0.06), "time_tail": (2, 4)}),
    (wait_for_data, {"time_wait": (0.85, 0.95)}),
    (evaluate_nan, {"eval_bad_share": (0.4, 0.6), "eval_bad_alone": (0.4, 0.6)}),
    (evaluate_on_train, {"eval_gap_end": (-1, -0.02), "eval_gap_noise": (-10, -1)}),
    (clip_a_tiny_batch, {"gradient_noise": (1.2, 6), "eval_scatter": (1, 11)}),
    (resume_badly, {"loss_shift_sudden": (0.4, 1.1), "loss_excursion": (3, 13), "rate_jump": (3, 11)}),
]  # fmt: skip


@pytest.mark.parametrize(("change", "expected"), SHAPES, ids=lambda item: getattr(item, "__name__", ""))
@pytest.mark.parametrize("seed", range(3))
def test_a_shape_moves_its_features(change, expected, seed):
    curves = Curves(seed)
    change(curves)
    found = curves.features()

    for name, (low, high) in expected.items():
        assert low <= found[name] <= high, (name, found[name])
        assert not any(low <= healthy[name] <= high for healthy in HEALTHY), (
            name,
            [h[name] for h in HEALTHY],
        )


@pytest.mark.parametrize("seed", range(3))
def test_a_sudden_break_has_no_growth_before_it(seed):
    curves = Curves(seed)
    break_at_once(curves)
    found = curves.features()

    assert found["loss_bad_at"] == pytest.approx(0.75, abs=0.01)
    assert found["loss_growth_before_bad"] < 0.1
    assert found["gradient_growth_before_bad"] < 1.5


def test_a_start_far_above_chance_shows_against_the_number_of_classes():
    from synthetic_curves import INDEX, vector_of

    wild, usual = Curves(), Curves()
    wild.loss, usual.loss = wild.loss * 30.0, usual.loss * np.log(512) / 3.0
    first, second = (
        vector_of(c.maker().config(vocab_size=512))[INDEX["chance_start"]] for c in (wild, usual)
    )

    assert first > 3.0
    assert abs(second) < 0.2


def test_the_words_say_what_the_curve_did():
    from analyzer.detect.shapes.features import FEATURES

    curves = Curves()
    rise_slowly(curves)
    found = curves.features()
    said = {f.name: f.sentence(found[f.name]) for f in FEATURES}

    assert said["loss_rise_noise"].startswith("the loss after its lowest point rose by ")
    assert said["rate_while_rising"].endswith("while the learning rate stayed")
    assert said["loss_last_trend"].startswith("over the last third the loss rose")


@pytest.mark.parametrize("seed", range(5))
def test_healthy_curves_of_other_kinds_stay_quiet(seed):
    """Fine-tuning that hardly falls, epochs as stairs, a policy loss around zero, a short log."""
    tuned, stairs, policy, short = Curves(seed), Curves(seed), Curves(seed), Curves(seed, points=30)
    tuned.loss = (0.9 + 0.2 * np.exp(-4 * tuned.share)) * (1 + 0.05 * tuned.random.standard_normal(400))
    stairs.loss = (2.0 - 0.4 * np.floor(3 * stairs.share * 0.999)) * (
        1 + 0.02 * stairs.random.standard_normal(400)
    )
    policy.loss = 0.01 * policy.random.standard_normal(400)
    short.eval_loss = short.eval_loss[:3]
    for curves in (tuned, stairs, policy, short):
        found = curves.features()
        assert found["loss_spikes"] == 0
        assert found["loss_recovery"] >= 0.6
        assert not found["loss_pocket"] > 1.5
        assert found["loss_bad_share"] == 0
        assert not found["time_slow_share"] > 0
