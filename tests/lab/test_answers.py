"""The lab's judgement of whole diagnoses: what it writes is what loggers write, and it counts what matters."""

import json

from samples.lab.answers import Answer, files_of, per_epoch, table

ROW = {
    "loss.step": [0, 10, 20, 30], "loss.value": [2.0, 1.0, 0.5, 0.25],
    "eval_loss.step": [30], "eval_loss.value": [0.5],
    "grad_norm.step": [], "grad_norm.value": [], "learning_rate.step": None, "learning_rate.value": None,
    "step_time_s.step": [], "step_time_s.value": [], "data_time_s.step": [], "data_time_s.value": [],
    "settings": [{"key": "max_grad_norm", "value": 1.0}], "optimizer": "adamw", "schedule": "linear",
    "batch_size": "16", "steps": "40", "precision": "fp32",
}  # fmt: skip


def test_three_loggers_write_the_same_curves():
    by_form = {
        form: files_of(ROW, form, configured=True)
        for form in ("csv per step", "json per step", "console per epoch")
    }
    written = by_form["csv per step"]["metrics.csv"].splitlines()

    assert written[0] == "step,loss,val_loss"
    assert written[-1] == "30,0.25,0.5"
    assert json.loads(by_form["json per step"]["metrics.jsonl"].splitlines()[0]) == {"step": 0, "loss": 2.0}
    assert "Epoch 8/8: loss 0.25, val_loss 0.5" in by_form["console per epoch"]["train.log"]
    assert json.loads(by_form["csv per step"]["config.json"])["optimizer"] == "adamw"


def test_an_epoch_holds_the_mean_of_its_losses():
    assert per_epoch({"loss": {0: 4.0, 1: 2.0, 15: 1.0}})["loss"] == {1: 3.0, 8: 1.0}


def test_the_table_counts_a_faulty_run_that_is_called_healthy():
    said = [
        Answer("lr-too-high", ("learning-rate-too-high",), "csv", "healthy", (), 0.0),
        Answer("lr-too-high", ("learning-rate-too-high",), "csv", "failed", ("loss-divergence",), 0.7),
        Answer("lr-too-high", ("learning-rate-too-high",), "csv", "failed", ("overfitting",), 0.9),
        Answer("none", (), "csv", "degraded", ("overfitting",), 0.9),
    ]
    lines = " ".join(table(said)).split()

    assert "33%" in lines  # the class above the label counts as right
    assert "33.3%" in lines  # wrong and sure
    assert "100.0%" in lines  # accused


def test_of_several_labels_each_is_right():
    said = Answer("sorted", ("poor-shuffling", "overfitting"), "csv", "degraded", ("overfitting",), 0.7)

    assert said.right_in(1)
    assert not Answer("sorted", ("poor-shuffling",), "csv", "degraded", ("overfitting",), 0.7).right_in(3)
