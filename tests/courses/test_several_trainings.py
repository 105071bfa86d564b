"""One log of several trainings, one after another: the one that broke is judged, and which one was judged is said."""

import math

import pytest

import analyzer
from analyzer.ingest.discover import load_run
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


SETTING = "and now when I use `batch_size = {}` I get:\n\n"

FORMS = [
    (epochs, "===== Fold {} =====\n"), (epochs, "seed = {}\n"), (epochs, ""), (steps, "===== Fold {} =====\n"),
    (steps, "Training fold {}/5...\n"), (steps, "Seed: {}\n"), (keras, "FOLD: {}\n"), (steps, "Experiment {}/5\n"),
    (steps, ""), (keras, ""), (epochs, "=== Run {}/5 ===\n"), (steps, SETTING),
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

    assert dx.status == (
        "insufficient" if heading == SETTING else "healthy"
    )  # settings are compared for a reason
    assert dx.judged == "the last of 5 trainings in this log"


@pytest.mark.parametrize(
    "settings", ["batch size: 64\n", "seed = 21\nlearning_rate: 0.002\nbatch_size: 64\n"]
)
def test_settings_that_a_program_prints_compare_nothing(tmp_path, settings):
    (tmp_path / "train.log").write_text(settings + steps(broken=False, fold=1))

    assert analyzer.diagnose(tmp_path / "train.log").status == "healthy"


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


def test_rows_that_are_read_in_blocks_tell_every_short_training(tmp_path):
    rows = "".join(
        f"epoch:{epoch} loss:{2.3 * math.exp(-epoch / 4) + 0.2 + 0.004 * ((7 * epoch + number) % 5):.6f}\n"
        for number in range(30)
        for epoch in range(7)
    )
    (tmp_path / "train.log").write_text(rows)

    assert analyzer.diagnose(tmp_path / "train.log").judged == "the last of 30 trainings in this log"


def test_a_stage_whose_rows_stand_far_apart_is_a_training_of_its_own(tmp_path):
    first = "".join(f"Epoch {at}: train_loss={5 * math.exp(-at / 40) + 1.7:.5f}\n" for at in range(200))
    second = "".join(
        f"Epoch {at}/100: train_loss={0.3 * math.exp(-at / 30):.5f}\n" for at in range(10, 110, 10)
    )
    (tmp_path / "train.log").write_text(first + "Training the head\n" + second)

    assert analyzer.diagnose(tmp_path / "train.log").judged == "the last of 2 trainings in this log"


@pytest.mark.parametrize("flat", [{2}, {1, 3}])
def test_no_log_is_healthy_of_which_another_training_learned_nothing(tmp_path, flat):
    def rows(number):
        def loss(epoch):
            noise = 0.004 * ((7 * epoch + number) % 5)
            return 2.3 + noise if number in flat else 2.3 * math.exp(-epoch / 4) + 0.2 + noise

        return "".join(f"Epoch {epoch}/10 - train loss: {loss(epoch):.4f}\n" for epoch in range(1, 11))

    (tmp_path / "train.log").write_text("".join(rows(number) for number in range(1, 5)))
    dx = analyzer.diagnose(tmp_path / "train.log")

    assert dx.status == "insufficient"
    assert dx.judged == (
        f"the last of 4 trainings in this log; {len(flat)} of the others ended no better than begun"
    )


def test_epochs_within_each_update_of_a_policy_are_no_trainings(tmp_path):
    rows = "".join(
        f"Epoch {epoch}/6 - train loss: {2.3 * math.exp(-(6 * update + epoch) / 40) + 0.2:.4f}\n"
        for update in range(12)
        for epoch in range(1, 7)
    )
    (tmp_path / "train.log").write_text(rows)

    assert analyzer.diagnose(tmp_path / "train.log").judged == ""


def test_steps_that_begin_again_below_a_failure_are_those_of_a_restart(tmp_path):
    crash = 'Traceback (most recent call last):\n  File "train.py", line 3, in <module>\nRuntimeError: lost\n'
    saved = "Saving model checkpoint to out/checkpoint-200\n"
    (tmp_path / "train.log").write_text(steps(False, 0) + saved + crash + steps(False, 1))

    assert analyzer.diagnose(tmp_path / "train.log").judged == ""


def test_one_result_of_each_trial_is_no_course(tmp_path):
    rows = "".join(
        f"Trial {number}/10\n  Config: [0.1 0.9]\n  Reward: {2 * math.exp(-number / 4):.4f}\n"
        for number in range(1, 11)
    )
    (tmp_path / "search.log").write_text(rows)
    dx = analyzer.diagnose(tmp_path / "search.log")

    assert dx.status == "insufficient"
    assert dx.judged.endswith("of 10 trainings in this log")


def test_three_epochs_are_a_training_too(tmp_path):
    rows = "".join(epochs(False, number).partition("Epoch 4/10")[0] for number in range(4))
    (tmp_path / "train.log").write_text(rows)

    assert analyzer.diagnose(tmp_path / "train.log").judged == "the last of 4 trainings in this log"


@pytest.mark.parametrize("name", ["metrics.json", "log.csv"])
def test_runs_that_went_on_writing_to_one_file_of_metrics_are_parted(tmp_path, name):
    def course(first, rows):
        return [(first + 20 * row, 1.5 * math.exp(-(first + 20 * row) / 100) + 0.06) for row in range(rows)]

    points = [*course(19, 50), *course(14, 4), *course(19, 6), *course(17, 50)]
    if name.endswith("json"):
        text = "".join(f'{{"iteration": {step}, "total_loss": {loss:.5f}}}\n' for step, loss in points)
    else:
        text = "step,loss\n" + "".join(f"{step},{loss:.5f}\n" for step, loss in points)
    (tmp_path / name).write_text(text)
    dx = analyzer.diagnose(tmp_path / name)

    assert dx.judged == "the last of 4 trainings in this log"
    assert dx.status not in {"failed", "degraded"}


def test_a_loss_that_breaks_out_is_no_further_training_of_a_file(tmp_path):
    losses = [*(2 * 0.98**row for row in range(80)), *([9.0] * 20)]
    (tmp_path / "log.csv").write_text(
        "step,loss\n" + "".join(f"{10 * row},{loss:.5f}\n" for row, loss in enumerate(losses))
    )

    assert not analyzer.diagnose(tmp_path / "log.csv").judged


@pytest.mark.parametrize(("rows", "parted"), [(8, True), (1, False)])
def test_epochs_of_a_table_that_are_counted_from_the_first_again_are_of_another_launch(
    tmp_path, rows, parted
):
    course = [f"{epoch},{20 * 0.5**epoch + 4:.4f},{20 * 0.5**epoch + 5:.4f}\n" for epoch in range(8)]
    (tmp_path / "training.csv").write_text(
        "epoch,loss,val_loss\n" + "".join([*course[:rows], *course, *course])
    )
    dx = analyzer.diagnose(tmp_path / "training.csv")

    assert dx.judged == (
        "the last of 3 trainings in this log" if parted else "the last of 2 trainings in this log"
    )
    assert dx.status not in {"failed", "degraded"}


def test_each_of_many_short_trainings_is_one(tmp_path):
    def training(number):
        rows = "".join(
            f"Training epoch {epoch} | loss: {0.4 / (1 + 3 * epoch) + number / 1e4:.5f} - accuracy: {0.8 + epoch / 20:.5f}\n"
            for epoch in range(4)
        )
        return f"the model is net, its seed is {number}\n{rows}Validating epoch 3 | loss: 0.51{number:03} - accuracy: 0.86\n"

    (tmp_path / "train.log").write_text("".join(map(training, range(24))))
    run = load_run(tmp_path).run

    assert len(run.events.of("training_begins_again")) == 23
