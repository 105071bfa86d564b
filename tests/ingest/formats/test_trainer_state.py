import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from structured_reading import PUBLIC, claimed_by, read_every_prefix, read_files

from analyzer.ingest.formats.metrics.trainer_state import TrainerState

NAN, INF = math.nan, math.inf
HISTORY = [
    {"epoch": 0.1, "grad_norm": NAN, "learning_rate": 0.0, "loss": 0.0, "step": 10},
    {"epoch": 0.2, "grad_norm": -1.0, "learning_rate": 1e-05, "loss": 2.5, "step": 20},
    {"epoch": 0.2, "eval_loss": INF, "eval_runtime": 3.0, "step": 20},
    {"epoch": 0.3, "grad_norm": 1.5, "learning_rate": 2e-05, "loss": 2.25, "step": 30},
]
FINAL = {"epoch": 0.3, "total_flos": 1e15, "train_loss": 1.58, "train_runtime": 61.5, "step": 30}


def state(history, **extra):
    content = {"best_metric": None, "global_step": 30, "log_history": history, "max_steps": 30}
    return json.dumps({**content, **extra}, indent=2, sort_keys=True)


def test_rows_become_metrics_with_nan_infinity_and_the_sentinel_as_logged():
    run = read_files(
        {"trainer_state.json": state(HISTORY, logging_steps=10, num_train_epochs=1, train_batch_size=4)}
    )

    assert list(run.metrics.series("loss").step) == [10, 20, 30]
    assert list(run.metrics.series("loss").value) == [0.0, 2.5, 2.25]
    assert np.array_equal(run.metrics.series("grad_norm").value, [NAN, -1.0, 1.5], equal_nan=True)
    assert list(run.metrics.series("eval_loss").value) == [INF]
    assert run.frameworks == {"hf-trainer"}
    assert run.step_window == {0: 10}


def test_each_point_cites_the_line_of_its_own_key():
    text = state(HISTORY)
    run = read_files({"trainer_state.json": text})
    lines = text.split("\n")
    cited = [lines[n - 1].strip().rstrip(",") for n in run.metrics.series("grad_norm").line]

    assert cited == ['"grad_norm": NaN', '"grad_norm": -1.0', '"grad_norm": 1.5']


@pytest.mark.parametrize(
    "layout", [{}, {"indent": None, "separators": (",", ":")}], ids=["one-line", "compact"]
)
def test_other_layouts_cite_the_line_of_the_row(layout):
    text = (
        '{"global_step": 30,\n"log_history": [\n'
        + ",\n".join(json.dumps(r, **layout) for r in HISTORY)
        + "\n]}"
    )
    run = read_files({"trainer_state.json": text})

    assert list(run.metrics.series("loss").line) == [3, 4, 6]


def test_the_state_echoes_the_arguments_of_the_run():
    run = read_files({"s.json": state(HISTORY, logging_steps=10, num_train_epochs=3, train_batch_size=4)})

    assert run.config.value("train.max_steps") == 30
    assert run.config.value("train.micro_batch_size") == 4
    assert run.config["train.epochs"].layer == "runtime_echo"
    assert ("hf.global_step", 30) in [(e.key_in_source, e.value) for e in run.config.entries]


def test_the_final_row_is_a_mean_over_the_run_and_no_point_of_the_loss_curve():
    run = read_files({"trainer_state.json": state([*HISTORY, FINAL])})

    assert list(run.metrics.series("train_loss_mean").value) == [1.58]
    assert len(run.metrics.series("loss")) == 3
    (event,) = run.events.of("training_completed")
    assert (event.step, event.role, event.fields["train_runtime_s"]) == (30, "info", 61.5)


def test_without_a_final_row_nothing_says_that_the_run_completed():
    assert not len(read_files({"trainer_state.json": state(HISTORY)}).events)


def test_results_files_say_that_training_ended_but_their_eval_twin_is_not_claimed():
    run = read_files({"all_results.json": json.dumps(FINAL, indent=4)})

    assert run.events.of("training_completed")
    assert list(run.metrics.series("train_loss_mean").value) == [1.58]
    assert claimed_by("eval_results.json", '{"eval_loss": 1.0, "eval_runtime": 2.0}') is None


def test_a_state_is_known_by_its_content_whatever_its_name():
    assert claimed_by("error.py", state(HISTORY)) == "trainer-state"
    assert claimed_by("trainer_state.json", '{"weights": [1, 2]}') is None


def test_the_window_of_a_printed_loss_comes_from_the_rows_if_logging_goes_by_epoch():
    rows = [{"loss": 1.0, "step": step} for step in (1, 250, 500, 750)]

    assert read_files({"trainer_state.json": state(rows, logging_steps=500)}).step_window == {0: 250}


def test_a_cut_file_keeps_the_rows_before_the_cut_and_says_so():
    text = state([*HISTORY, FINAL])
    cut = text[: text.index('"eval_loss"')]
    run = read_files({"trainer_state.json": cut})

    assert list(run.metrics.series("loss").value) == [0.0, 2.5]
    (gap,) = run.gaps
    assert gap.ref.line == cut.count("\n") + 1


def test_odd_rows_cost_only_themselves():
    rows = [*HISTORY, 7, {"step": 1e300, "loss": "nan"}, {"step": 40.0, "loss": True, "x": [1], "kl": "0.5"}]
    run = read_files({"trainer_state.json": state(rows)})

    assert run.metrics.series("loss").step_at(3) is None
    assert math.isnan(run.metrics.series("loss").value[3])
    assert list(run.metrics.series("kl").step) == [40]
    assert [gap.rows_lost for gap in run.gaps] == [1]


def test_a_state_cut_at_any_byte_never_raises_and_never_invents_a_number():
    full = read_files({"trainer_state.json": state([*HISTORY, FINAL])})
    known = {name: set(full.metrics.series(name).value.tolist()) for name in full.metrics.names}
    for run in read_every_prefix("trainer_state.json", state([*HISTORY, FINAL]).encode(), TrainerState()):
        for name in run.metrics.names:
            values = run.metrics.series(name).value.tolist()
            assert all(math.isnan(v) or v in known[name] for v in values)
        assert run.config.value("train.max_steps") in {None, 30}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@given(history=JSON, step=JSON)
@settings(max_examples=60, deadline=None)
def test_any_json_in_the_places_of_the_state_is_survived(history, step):
    read_files(
        {"t.json": json.dumps({"global_step": step, "log_history": history, "logging_steps": step})},
        TrainerState(),
    )
    read_files(
        {"t.json": json.dumps({"global_step": 1, "log_history": [history, {"step": step, "loss": history}]})},
        TrainerState(),
    )


def test_deep_nesting_becomes_a_gap():
    run = read_files({"t.json": '{"global_step": 1, "log_history": ' + "[" * 200_000})

    assert run.gaps


def flat(rows, name):
    return [(r.get("step"), r[name]) for r in rows if name in r and "train_runtime" not in r]


@pytest.mark.skipif(not PUBLIC.is_dir(), reason="the public corpus is not beside this repository")
def test_real_states_agree_with_the_standard_json_reader():
    paths = sorted((PUBLIC / "hf-trainer_state").rglob("trainer_state.json"))
    for path in paths:
        content = path.read_text()
        rows = json.loads(content)["log_history"]
        run = read_files({"trainer_state.json": content})
        for name in ("loss", "grad_norm", "learning_rate", "eval_loss"):
            series = run.metrics.series(name)
            found = (
                [] if series is None else list(zip(series.step.tolist(), series.value.tolist(), strict=True))
            )
            assert found == flat(rows, name)
        assert bool(run.events.of("training_completed")) == ("train_runtime" in rows[-1])
        assert not run.gaps

    assert paths
