"""What must hold for any run: no NaN in a fact, no influence of strangers, no influence of file order."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st
from make_run import INF, NAN, RunMaker

from analyzer.detect import run_detectors
from analyzer.detect.base import MAX_REFS
from analyzer.facts.build import build_facts

VALUES = st.one_of(
    st.sampled_from([NAN, INF, -INF, 0.0, -0.0, -1.0, 1e308, -1e308, 5e-324, 1.0, 2.5]),
    st.floats(min_value=-10, max_value=10, allow_nan=False),
)
METRICS = ("loss", "grad_norm", "learning_rate", "loss_scale", "skipped", "eval_loss")
TRAINING = frozenset(METRICS) - {"eval_loss"}
COLUMN = st.lists(VALUES, min_size=1, max_size=40)
TABLE = st.dictionaries(st.sampled_from(METRICS), COLUMN, min_size=1)
FRAMEWORKS = st.sets(st.sampled_from(["hf-trainer", "deepspeed", "megatron"]))
CONFIG = st.dictionaries(
    st.sampled_from(
        [
            "fp16",
            "bf16",
            "learning_rate",
            "warmup_steps",
            "max_steps",
            "logging_nan_inf_filter",
            "min_loss_scale",
            "init_scale",
        ]
    ),
    st.sampled_from([True, False, None, 0, 1, -1, 1e-4, "auto", "1e-5", "nonsense", NAN, INF]),
)
SETTINGS = settings(max_examples=40, deadline=None)


def draw_run(frameworks, table, config, *, steps=True):
    maker = RunMaker(*sorted(frameworks))
    for name, values in table.items():
        maker.log({name: values}, steps=steps)
    return maker.config(**config)


@SETTINGS
@given(FRAMEWORKS, TABLE, CONFIG, st.booleans())
def test_no_fact_is_nan_and_every_fact_is_declared(frameworks, table, config, steps):
    facts = draw_run(frameworks, table, config, steps=steps).facts()

    for name, fact in facts.items():
        assert not isinstance(fact.value, float) or math.isfinite(fact.value), name
        assert isinstance(fact.value, bool | int | float | str), name
        assert len(fact.refs) <= MAX_REFS, name
        assert not isinstance(fact.value, np.generic), name


@SETTINGS
@given(FRAMEWORKS, TABLE, CONFIG, st.dictionaries(st.sampled_from(["tokens", "mfu", "pad_ratio"]), COLUMN))
def test_unrelated_metrics_change_nothing(frameworks, table, config, others):
    before = draw_run(frameworks, table, config).plain()
    maker = draw_run(frameworks, table, config)
    for name, values in others.items():
        maker.log({name: values}, first=1000, path="other.csv", ingestor="csv-metrics")
    after = maker.plain()

    if not (TRAINING - {"eval_loss"}) & set(
        table
    ):  # without any training metric the last step is that of whatever was logged
        for name in ("run.last_step", "ended.reached"):
            before.pop(name, None)
            after.pop(name, None)
    # That a series is not finite is told of every series, also of one that nothing else looks at; likeness follows from it.
    before, after = (
        {name: value for name, value in facts.items() if not name.startswith(("signal.exact.", "likeness."))}
        for facts in (before, after)
    )
    assert after == before


def several_files(order, tables):
    """The same files, registered in another order."""
    maker = RunMaker("hf-trainer")
    files = [
        ("train.log", "text-log", "", 1),
        ("trainer_state.json", "trainer-state", "", 1),
        ("events.out.tfevents.1", "tensorboard", "train/", 1),
        ("wandb/files/output.log", "text-log", "", 5),
    ]
    for index in order:
        path, ingestor, prefix, first = files[index]
        maker.log(
            {prefix + name: values for name, values in tables[index].items()},
            path=path,
            ingestor=ingestor,
            first=first,
        )
    for index in order:
        maker.event("loss_scale_overflow", path=files[index][0], line=15, attempted=64.0, reducing_to=32.0)
    return maker


@SETTINGS
@example([{}, {}, {}, {"loss": [0.0, 1e308, 1e308, *[0.0] * 17]}], [0, 1, 2, 3])
@given(
    st.lists(
        st.dictionaries(st.sampled_from(["loss", "grad_norm", "learning_rate"]), COLUMN),
        min_size=4,
        max_size=4,
    ),
    st.permutations(range(4)),
)
def test_order_of_files_changes_nothing(tables, order):
    plain = several_files(range(4), tables).plain()

    assert several_files(order, tables).plain() == plain


@SETTINGS
@example({"loss": [1e308, 1e308], "eval_loss": [5e-324, 1e308]}, {"loss": [NAN]})
@given(TABLE, TABLE)
def test_baselines_of_any_shape_compare(table, other):
    baseline = draw_run(set(), other, {}).run()

    facts = build_facts(run_detectors(draw_run(set(), table, {}).run(), baseline))
    assert facts.plain["compare.baseline.given"] is True


@SETTINGS
@given(st.integers(1, 60), st.integers(1, 10), st.integers(0, 2**16))
def test_a_persistent_nan_is_always_found_where_it_begins(healthy, every, seed):
    rng = np.random.default_rng(seed)
    losses = [float(v) for v in 2.0 + 0.1 * rng.standard_normal(healthy)] + [NAN] * 5
    facts = RunMaker().log({"loss": losses}, first=every, every=every, window=every).plain()

    first = (healthy + 1) * every
    assert facts["signal.nonfinite_loss.first_step"] == first
    assert facts["signal.nonfinite_loss.earliest_step"] == first - every + 1
    assert facts["signal.nonfinite_loss.healthy_steps_before"] == healthy * every
    assert facts["signal.onset.step"] == first
