"""One log of several trainings, one after another: the one that broke is judged, and which one was judged is said."""

import math

import pytest

import analyzer
from analyzer.render.sentences import others_notes


def epochs(broken, fold):
    def row(epoch):
        loss = math.nan if broken else 2.3 * math.exp(-epoch / 4) + 0.2 + 0.004 * ((7 * epoch + fold) % 5)
        right = 0.1 if broken else 0.4 + 0.05 * epoch
        return (
            f"Epoch {epoch}/10 - train loss: {loss:.4f} - val loss: {1.1 * loss:.4f} - val acc: {right:.3f}\n"
        )

    return "".join(row(epoch) for epoch in range(1, 11))


def steps(broken, fold):
    def row(step):
        loss = (
            math.nan
            if broken and step > 50
            else 2.3 * math.exp(-step / 60) + 0.2 + 0.004 * ((step // 10 + fold) % 5)
        )
        return f"step {step} loss {loss:.4f} lr 0.001\n"

    return "".join(row(step) for step in range(10, 210, 10))


def keras(broken, fold):
    def row(epoch):
        loss = math.nan if broken else 2.3 * math.exp(-epoch / 3) + 0.2 + 0.004 * ((7 * epoch + fold) % 5)
        right = 0.1 if broken else 0.4 + 0.1 * epoch
        ends = f"loss: {loss:.4f} - accuracy: {right:.4f} - val_loss: {1.1 * loss:.4f} - val_accuracy: {right:.4f}"
        return f"Epoch {epoch}/5\n100/100 [==============================] - 2s 20ms/step - {ends}\n"

    return "".join(row(epoch) for epoch in range(1, 6))


def diagnosed(tmp_path, rows, heading, broken):
    text = "".join(heading.format(fold) + rows(fold in broken, fold) for fold in range(1, 6))
    (tmp_path / "train.log").write_text(text)
    return analyzer.diagnose(tmp_path / "train.log")


FORMS = [
    (epochs, "===== Fold {} =====\n"), (epochs, "seed = {}\n"), (epochs, ""), (steps, "===== Fold {} =====\n"),
    (steps, "Training fold {}/5...\n"), (steps, "Seed: {}\n"), (keras, "FOLD: {}\n"),
]  # fmt: skip


@pytest.mark.parametrize(("rows", "heading"), FORMS)
def test_a_training_in_the_middle_that_ends_in_nan_is_the_one_that_is_judged(tmp_path, rows, heading):
    dx = diagnosed(tmp_path, rows, heading, {3})

    assert dx.status == "failed"
    assert dx.findings[0].cause.id == "nonfinite-forward"
    assert dx.judged == "training 3 of 5 in this log, the last whose loss ended in NaN or infinity"
    assert f"judged is {dx.judged}" in others_notes(dx)


@pytest.mark.parametrize(("rows", "heading"), FORMS)
def test_sound_trainings_one_after_another_are_sound(tmp_path, rows, heading):
    dx = diagnosed(tmp_path, rows, heading, set())

    assert dx.status == "healthy"
    assert dx.judged == "the last of 5 trainings in this log"


def test_steps_that_begin_again_without_a_heading_are_those_of_the_next_epoch(tmp_path):
    rows = "".join(
        f"step {step} loss {2.3 * math.exp(-(200 * epoch + step) / 300) + 0.2:.4f} lr 0.001\n"
        for epoch in range(5)
        for step in range(10, 210, 10)
    )
    (tmp_path / "train.log").write_text("seed = 42\n" + rows)
    dx = analyzer.diagnose(tmp_path / "train.log")

    assert dx.status == "healthy"
    assert dx.judged == ""
