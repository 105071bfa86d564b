"""The feature vector: documented, bounded, indifferent to what says nothing about how a run went."""

import math
import string

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from synthetic_curves import INDEX, Curves, vector_of

from analyzer.detect.base import RunView
from analyzer.detect.shapes.feature_list import ASINH, LOG2, LOG10, PLAIN
from analyzer.detect.shapes.features import FEATURES, curves_seen, features, refs_of

BLOCKS = {"loss", "gradient", "rate", "evaluation", "time", "chance"}
NEEDS = {"loss", "grad_norm", "learning_rate", "eval_loss", "step_time_s", "data_time_s", "classes"}
COLUMNS = ("loss", "grad_norm", "learning_rate", "eval_loss", "step_time_s", "data_time_s")
VALUES = st.one_of(
    st.sampled_from([math.nan, math.inf, -math.inf, 0.0, -0.0, -1.0, 1e300, -1e300, 1e308, 5e-324, 1.0, 2.5]),
    st.floats(min_value=-10, max_value=10, allow_nan=False),
)
TABLE = st.dictionaries(st.sampled_from(COLUMNS), st.lists(VALUES, min_size=1, max_size=70), min_size=1)


def same(first, second, tolerance=1e-6):
    return np.allclose(first, second, rtol=0, atol=tolerance, equal_nan=True)


def moved(first, second, tolerance):
    """Names of features that differ by more than a share of their range or that only one vector knows."""
    span = np.array([feature.high - feature.low for feature in FEATURES])
    far = (np.abs(first - second) > tolerance * span) | (np.isnan(first) != np.isnan(second))
    return {feature.name for feature, differs in zip(FEATURES, far, strict=True) if differs}


@pytest.mark.parametrize("feature", FEATURES, ids=lambda feature: feature.name)
def test_every_feature_is_documented_and_can_be_said(feature):
    assert feature.block in BLOCKS
    assert feature.needs
    assert set(feature.needs) <= NEEDS
    assert feature.stored in {PLAIN, ASINH, LOG2, LOG10}
    assert feature.low < feature.high
    assert feature.unit
    assert feature.formula
    assert feature.source
    for part in feature.words.split("|"):
        assert "value" in {name for _, name, _, _ in string.Formatter().parse(part)}
    # A value of either sign has a sentence of its own if the range has both.
    assert ("|" in feature.words) == (feature.low < 0 and feature.stored != LOG10)
    for value in (feature.low, feature.high, math.nan):
        assert feature.sentence(value)


def test_names_are_unique():
    assert len(INDEX) == len(FEATURES)


def test_a_full_run_knows_every_feature():
    maker = Curves().maker().config(framework="hf-trainer", max_grad_norm=1.0, vocab_size=512)
    values = vector_of(maker)

    assert not np.isnan(values).any(), [f.name for f, v in zip(FEATURES, values, strict=True) if np.isnan(v)]


@pytest.mark.parametrize("factor", [1e-3, 7.0, 1e6])
def test_the_scale_of_the_loss_says_nothing(factor):
    plain = vector_of(Curves().maker().config(vocab_size=512))
    scaled = vector_of(Curves().maker(factor=factor).config(vocab_size=512))

    assert moved(plain, scaled, 1e-6) == {f.name for f in FEATURES if f.block == "chance"}


def test_losses_below_zero_are_compared_by_differences():
    curves = Curves()
    curves.loss = curves.loss - 10.0
    found = curves.features()

    assert found["loss_drop"] > 0
    assert found["loss_drop_noise"] == pytest.approx(Curves().features()["loss_drop_noise"], abs=0.05)


@pytest.mark.parametrize("every", [2, 5])
@pytest.mark.parametrize("seed", range(4))
def test_the_logging_interval_moves_no_feature_far(every, seed):
    # One in five or ten points of a noisy curve tells less: a tenth of each range is what its noise costs. The rank
    # correlations and the wave measure noise alone on a healthy curve and scatter by one over the root of the points.
    noisy = {
        "gradient_jolt_with_loss",
        "loss_memory",
        "loss_wave",
        "loss_wave_period",
        "time_trend",
        "gradient_level_with_loss",
    }
    curves = Curves(seed, points=1000)

    assert moved(curves.vector(), curves.vector(every=every), 0.12) <= noisy


def test_names_of_metrics_and_strangers_say_nothing():
    names = {
        "loss": "train/loss",
        "grad_norm": "gradient_norm",
        "learning_rate": "LR",
        "eval_loss": "val_loss",
    }
    plain = Curves().vector()
    other = (
        Curves().maker(names=names).log({"reward": [1.0] * 50, "weight_norm": [3.0] * 50}, path="other.log")
    )

    assert same(plain, vector_of(other))


@pytest.mark.parametrize(("first", "stretch"), [(0, 1), (100_000, 1), (10, 10), (5000, 37)])
def test_the_counting_of_steps_says_nothing(first, stretch):
    assert same(Curves().vector(), Curves().vector(first=first, stretch=stretch), 1e-3)


def test_what_betrays_the_making_of_a_run_is_not_seen():
    """Batch size, interval in the config, weight norm, absolute rate, gradient and time, tags, clock."""
    plain, other = Curves(), Curves()
    other.grad_norm = other.grad_norm * 50.0
    other.learning_rate = other.learning_rate * 300.0
    other.step_time_s, other.data_time_s = other.step_time_s * 40.0, other.data_time_s * 40.0
    first = plain.maker().config(per_device_train_batch_size=2, logging_steps=1)
    first.log({"weight_norm": [1.4] * 30}, path="weights.log")
    second = other.maker(names={"loss": "Loss/train"}, frameworks=("lightning",))
    second.config(per_device_train_batch_size=64, logging_steps=25, seed=3, learning_rate=0.3)
    second.log({"weight_norm": [774.0] * 30}, path="weights.log")

    assert same(vector_of(first), vector_of(second))


def test_the_clock_is_read_by_differences():
    def stamped(offset_s):
        curves = Curves()
        out = curves.maker(drop=("loss", "step_time_s", "data_time_s", "eval_loss"))
        out.file().metrics(
            "loss",
            steps=list(range(1, curves.points + 1)),
            values=curves.loss,
            lines=list(range(10, 10 * curves.points + 10, 10)),
            times_s=offset_s + np.cumsum(curves.step_time_s + np.linspace(0, 0.4, curves.points)),
        )
        return vector_of(out)

    early, late = stamped(1000.0), stamped(1.7e9)

    assert early[INDEX["time_growth"]] > 1.0
    assert same(early, late, 1e-2)


@pytest.mark.parametrize("missing", COLUMNS)
def test_a_missing_metric_is_unknown_only_where_it_is_needed(missing):
    full = Curves().maker().config(max_grad_norm=1.0, vocab_size=512)
    less = Curves().maker(drop=(missing,)).config(max_grad_norm=1.0, vocab_size=512)
    before, after = vector_of(full), vector_of(less)
    lost = {
        f.name for f, a, b in zip(FEATURES, before, after, strict=True) if np.isnan(b) and not np.isnan(a)
    }

    assert lost == {feature.name for feature in FEATURES if missing in feature.needs}


@settings(max_examples=60, deadline=None)
@given(TABLE, st.booleans(), st.sampled_from([None, 2, 0, -5, "auto"]))
def test_hostile_curves_give_bounded_values(table, steps, classes):
    from make_run import RunMaker

    out = RunMaker("deepspeed")
    for name, values in table.items():
        out.log({name: values}, steps=steps, path=f"{name}.log")
    found = vector_of(out.config(vocab_size=classes, max_grad_norm=classes))

    assert found.shape == (len(FEATURES),)
    for feature, value in zip(FEATURES, found, strict=True):
        assert math.isnan(value) or feature.low <= value <= feature.high, feature.name
        assert feature.sentence(value)


@settings(max_examples=20, deadline=None)
@given(st.lists(VALUES, min_size=8, max_size=60), st.integers(0, 5))
def test_any_loss_times_a_power_of_two_is_the_same_loss(values, power):
    from make_run import RunMaker

    values = [
        v if abs(v) < 1e3 else 0.5 for v in values
    ]  # at the ends of a float's range a factor is not harmless
    values = [v if v == 0 or abs(v) > 1e-3 else 0.5 for v in values]
    first, second = (vector_of(RunMaker().log({"loss": np.array(values) * f})) for f in (1.0, 2.0**power))

    assert same(first, second)


@pytest.mark.parametrize("values", [[math.nan] * 30, [2.3] * 30, [0.0] * 30, [1.0, 2.0], [5.0]])
def test_curves_without_shape_give_no_number_out_of_nothing(values):
    from make_run import RunMaker

    found = vector_of(RunMaker().log({"loss": values}))

    assert found[INDEX["loss_bad_share"]] == (1.0 if math.isnan(values[0]) else 0.0)
    assert np.isnan(found[INDEX["eval_drop"]])
    if len(values) == 30 and values[0] == values[0]:
        assert found[INDEX["loss_drop"]] == found[INDEX["loss_excursion"]] == 0.0
        assert found[INDEX["loss_frozen"]] == 1.0


def test_every_feature_of_a_seen_curve_has_a_place():
    view = RunView(Curves().maker().config(max_grad_norm=1.0, vocab_size=512).run())
    features(view)

    assert set(curves_seen(view)) == BLOCKS
    for feature in FEATURES:
        assert refs_of(view, feature)[0].line


def test_ends_of_the_range_of_a_float_are_only_far_away():
    from make_run import RunMaker

    rates = vector_of(RunMaker().log({"learning_rate": [math.inf, 0.0, 0.0, 0.0]}))
    times = vector_of(RunMaker().log({"step_time_s": [1e300] * 8 + [5e-324] * 8}))

    assert rates[INDEX["rate_zero_share"]] == 1.0
    assert times[INDEX["time_growth"]] == FEATURES[INDEX["time_growth"]].low
