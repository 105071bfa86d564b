"""The block of HF Trainer's ``log_metrics``: the mean loss of the run and its end."""

from log_reading import points, read_text

BLOCK = """***** train metrics *****
  epoch                    =     2.9268
  train_loss               =        0.0
  train_runtime            = 0:02:59.80
  train_samples_per_second =     16.367
"""


def test_the_mean_loss_is_read_and_is_no_point_of_the_curve():
    run = read_text(BLOCK)

    assert points(run, "train_loss_mean") == [(None, 0.0)]
    assert points(run, "loss") == []
    assert len(run.events.of("training_completed")) == 1


def test_a_line_of_a_home_made_table_is_left_alone():
    assert points(read_text("best train_loss = 0.5 so far\n"), "train_loss_mean") == []


def test_the_end_is_told_behind_the_prefix_of_a_logger_too():
    row = (
        "[INFO|trainer_pt_utils.py:900] 2026-01-01 00:00:00,000 >>   train_runtime            = 0:15:00.25\n"
    )

    assert len(read_text(row).events.of("training_completed")) == 1
