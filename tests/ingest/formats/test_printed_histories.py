"""Histories that a program prints when its training is over, beside lists that are none."""

import json

import pytest
from log_reading import points, read_text

from analyzer.api import diagnose

LOSS, HELD_OUT = [2.5, 1.5, 0.75, 0.5], [2.25, 1.75, 1.5, 1.25]
COURSE = list(enumerate(LOSS, 1))


@pytest.mark.parametrize(
    "line",
    [
        str({"loss": LOSS, "accuracy": [0.25, 0.5, 0.5, 0.75], "val_loss": HELD_OUT}),
        "2026-01-02 03:04:05 INFO history: " + json.dumps({"loss": LOSS, "val_loss": HELD_OUT}),
        f"defaultdict(<class 'list'>, {{'loss': {[f'np.float64({v})' for v in LOSS]}, 'val_loss': {HELD_OUT}}})".replace("'np.", "np.").replace(")'", ")"),
        str({"config": {"hidden": [64, 64]}, "history": {"loss": LOSS, "val_loss": HELD_OUT}}),
    ],
)  # fmt: skip
def test_a_printed_history_is_read_epoch_by_epoch(line):
    run = read_text(f"built the model\n{line}\ndone\n")

    assert points(run, "loss") == COURSE
    assert points(run, "eval_loss") == list(enumerate(HELD_OUT, 1))


def test_nan_and_json_of_it_are_read():
    run = read_text('{"loss": [2.5, NaN, NaN], "val_loss": [2.25, 1.5, NaN]}\n')

    assert points(run, "loss") == [(1, 2.5), (2, "nan"), (3, "nan")]


@pytest.mark.parametrize(
    "line",
    [
        "{'step': 3, 'loss': [2.5, 1.5, 0.5]}",
        "{'accuracy': [0.25, 0.5, 0.75]}",
        "{'loss': [2.5, 1.5]}",
        "{'loss': ['mse', 'mae', 'huber']}",
        "{'val_loss': [2.5, 1.5, 0.5]}",
    ],
)
def test_lists_of_parts_are_no_course(line):
    run = read_text(f"{line}\n")

    assert len(points(run, "loss")) <= 1


def test_a_history_behind_the_rows_that_it_repeats_adds_nothing():
    rows = "".join(f"Epoch {n} loss: {v}\n" for n, v in COURSE)
    alone = read_text(rows)
    run = read_text(f"{rows}{ {'loss': LOSS} }\n")

    assert points(run, "loss") == points(alone, "loss")


def test_a_history_that_grows_is_one_training_and_another_one_begins_again():
    growing = "".join(f"{ {'loss': LOSS[:n]} }\n" for n in (3, 4, 4))
    run = read_text(growing)
    assert points(run, "loss") == COURSE
    assert not list(run.events.of("training_begins_again"))

    run = read_text(f"{growing}{ {'loss': [2.25, *LOSS[1:]]} }\n")
    assert len(list(run.events.of("training_begins_again"))) == 1


def test_a_history_that_ends_in_nan_is_no_healthy_run(tmp_path):
    losses = [0.75, 0.5, 0.25, *[float("nan")] * 9]
    (tmp_path / "train.log").write_text(f"built the model\n{ {'loss': losses} }\n")

    assert diagnose(tmp_path).status == "failed"
