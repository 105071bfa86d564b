"""Rows as programs leave them in files that people commit: results of YOLO, logs of one quantity a line, sweeps in one log."""

import pytest
from event_files import event, opening, write
from log_reading import points, read_text

from analyzer.ingest.discover import load_run
from analyzer.ingest.text.rows.forms.row_forms import EpochCounter

YOLO = "     {epoch}/9     2.05G    {box}     0.125   0.03125    0.2188        12       640     0.625       0.5      0.55     0.375   0.05625    0.0875   0.01875\n"


class TestYoloResults:
    def test_a_row_without_a_head_holds_training_and_results(self):
        run = read_text(YOLO.format(epoch=0, box="0.0625") + YOLO.format(epoch=1, box="0.06125"))

        assert points(run, "box_loss") == [(None, 0.0625), (None, 0.06125)]
        assert points(run, "loss") == [(None, 0.2188)] * 2
        assert points(run, "val/obj_loss") == [(None, 0.0875)] * 2
        assert points(run, "val/map50-95") == [(None, 0.375)] * 2
        assert points(run, "epoch") == [(None, 0.0), (None, 1.0)]

    def test_version_3_prints_f1_and_three_digits(self):
        rows = "       {epoch}/9    0.255G      4.25      6.75      31.5      42.5        30       416     0.125     0.375    0.0875    {last}      4.25      11.5      5.25\n"
        run = read_text(rows.format(epoch=0, last="0.1875") + rows.format(epoch=1, last=" 0.188"))

        assert points(run, "loss") == [(None, 42.5)] * 2
        assert points(run, "val/f1") == [(None, 0.1875), (None, 0.188)]
        assert not any("50-95" in name for name in run.metrics.names)

    def test_a_row_of_another_width_is_left_unread(self):
        run = read_text("     0/9     2.05G    0.0625     0.125   0.03125    0.2188        12       640\n")

        assert not run.metrics.names

    def test_the_column_that_is_not_a_number(self):
        run = read_text(YOLO.format(epoch=3, box="0.0625").replace("0.2188", "   nan"))

        assert points(run, "loss") == [(None, "nan")]


def test_one_quantity_a_line():
    run = read_text("0 val 10.9375\n0 hella 0.2500\n0 train 10.875000\n1 train 9.500000\n")

    assert points(run, "loss") == [(0, 10.875), (1, 9.5)]
    assert points(run, "eval_loss") == [(0, 10.9375)]


@pytest.mark.parametrize("text", ["9 train 4.5 tons\n", "take 9 train 4.5\n", "the 0 val 1.5 of it\n"])
def test_prose_with_those_words_is_no_row(text):
    assert not read_text(text).metrics.names


def test_two_sets_of_held_out_data_are_two_series():
    rows = "".join(
        f"01:00:00,000 {name} : loss {loss} - f1-score (micro avg)  {loss / 2}\n"
        for name, loss in (("DEV", 0.5), ("TEST", 0.75)) * 2
    )
    run = read_text(rows)
    series = {name: [value for _, value in points(run, name)] for name in run.metrics.names}

    assert series == {
        "eval_loss": [0.5, 0.5],
        "val_f1-score": [0.25, 0.25],
        "part/test_val_loss": [0.75, 0.75],
        "part/test_val_f1-score": [0.375, 0.375],
    }


def test_a_table_with_a_column_for_each_set():
    run = read_text(
        "2024-01-01 00:00:00,000 - INFO - allennlp.training.tensorboard_writer - loss          |     0.500  |     0.625\n"
    )

    assert points(run, "loss") == [(None, 0.5)]
    assert points(run, "eval_loss") == [(None, 0.625)]


def test_a_step_in_round_brackets():
    run = read_text(
        "Epoch:[1/2](100/1000), loss: 2.5000, aux_loss: 0.0000, learning_rate: 0.00050000, epoch_time: 10.0min\n"
        "Epoch:[2/2](100/1000), loss: nan, aux_loss: 0.0000, learning_rate: 0.00025000, epoch_time: 10.0min\n"
    )

    assert points(run, "loss") == [(100, 2.5), (1100, "nan")]
    assert points(run, "learning_rate") == [(100, 0.0005), (1100, 0.00025)]


def test_two_accuracies_of_one_epoch():
    run = read_text(
        "Train 3, loss: 1.500000, train acc: 0.750000, train avg acc: 0.500000\n"
        "Test 3, loss: 1.750000, test acc: 0.625000, test avg acc: 0.375000\n"
    )

    assert points(run, "loss") == [(3, 1.5)]
    assert points(run, "eval_loss") == [(3, 1.75)]
    assert points(run, "accuracy") == [(3, 0.75)]
    assert points(run, "eval_accuracy") == [(3, 0.625)]


def test_rewards_of_such_a_row():
    run = read_text(
        "Epoch:[1/1](5/10), Reward: -1.5, KL_ref: 0.25, Actor Loss: 0.5, Learning Rate: 0.00000100\n"
    )

    assert points(run, "reward_mean") == [(5, -1.5)]
    assert points(run, "policy_loss") == [(5, 0.5)]


def test_an_epoch_that_falls_back_counts_from_the_start():
    counter = EpochCounter()
    first = [counter.running(step, epoch, 40) for epoch in (1, 2, 3) for step in (20, 40)]
    again = [counter.running(step, epoch, 40) for epoch in (1, 2) for step in (20, 40)]
    resumed = counter.running(20, 4, 40)

    assert first == [20, 40, 60, 80, 100, 120]
    assert again == [20, 40, 60, 80]
    assert resumed == 100  # an epoch that is left out is not made up


def sweep(*lengths):
    return "".join(
        f"Epoch: {epoch}, Training Loss: {2.0 / epoch:.4f}, Validation Loss: {2.5 / epoch:.4f}\n"
        for length in lengths
        for epoch in range(1, length + 1)
    )


def test_a_log_of_several_trainings_says_where_each_begins():
    run = read_text(sweep(6, 8, 7))

    assert [event.ref.line for event in run.events.of("training_begins_again")] == [7, 15]


@pytest.mark.parametrize("lengths", [(9,), (2, 2, 2)])
def test_one_training_begins_once(lengths):
    assert not read_text(sweep(*lengths)).events.of("training_begins_again")


class TestDirectoriesOfEventFiles:
    NAME = "events.out.tfevents.170000000{}.node.4242.{}"

    def run(self, tmp_path, first, second, tag="epoch_loss"):
        for number, (folder, value) in enumerate(((first, 0.5), (second, 0.75))):
            events = [opening(), *(event(tag, step, value) for step in (1, 2, 3))]
            write(tmp_path / folder, events, self.NAME.format(number, number))
        return load_run(tmp_path).run

    @pytest.mark.parametrize(
        ("first", "second"), [("train", "validation"), ("Loss_train", "Loss_val"), (".", "eval")]
    )
    def test_held_out_results_have_a_directory_of_their_own(self, tmp_path, first, second):
        run = self.run(tmp_path, first, second)

        assert {value for _, value in points(run, "eval_loss")} == {0.75}
        assert {value for _, value in points(run, "loss")} == {0.5}

    def test_a_run_that_is_called_test_trains(self, tmp_path):
        run = self.run(tmp_path, "exp_test", "exp_test")

        assert {value for _, value in points(run, "loss")} == {0.5, 0.75}


def test_a_scalar_that_is_not_finite_need_not_be_the_loss():
    run = read_text("WARNING:root:NaN or Inf found in input tensor.\n")

    assert run.events.of("nonfinite_scalar_message")
    assert not run.events.of("nonfinite_loss_message")


def test_a_device_query_that_failed_is_no_launcher():
    query = "Command '['nvidia-smi', '--query-gpu=memory.used']' returned non-zero exit status 9."

    assert not read_text(f"subprocess.CalledProcessError: {query}\n").events.of("launcher_exit_code")


@pytest.mark.parametrize(
    ("kind", "line"),
    [
        ("no_kernel_image", "nvrtc: error: invalid value for --gpu-architecture (-arch)"),
        ("checkpoint_write_failed", "RuntimeError: ios_base::badbit set: iostream stream error"),
        (
            "training_completed",
            "yolox.core.trainer:after_train:184 - Training of experiment is done and the best AP is 50.00",
        ),
    ],
)
def test_further_words_of_known_events(kind, line):
    assert read_text(line + "\n").events.of(kind)


@pytest.mark.parametrize(
    ("limit", "completed"), [("max_epochs=3", 1), ("max_epochs=0", 0), ("max_steps=10", 1)]
)
def test_a_fit_of_no_epochs_completed_nothing(limit, completed):
    run = read_text(f"`Trainer.fit` stopped: `{limit}` reached.\n")

    assert len(run.events.of("training_completed")) == completed
