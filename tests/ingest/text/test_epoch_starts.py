"""Where epochs begin whose rows state their length: one that is a batch longer is no restart, a fall back to earlier epochs is."""

import numpy as np
import pytest
from log_reading import read_text

from analyzer.detect.curve import launch_of

LENGTHS = (20, 21, 20, 20, 21, 20)
BAR = "Epoch {epoch}, training loss {loss:.3f}:  50%|#####     | {at}/{of} [00:19<00:20,  1.50it/s]\n"
ROW = "Epoch: [{epoch}][{at}/{of}]\tLoss {loss:.4f}\n"


def log_of(row, epochs):
    return "".join(
        row.format(epoch=epoch, at=at, of=LENGTHS[epoch], loss=3 / (1 + epoch * 20 + at))
        for epoch in epochs
        for at in range(LENGTHS[epoch] + 1)
    )


def launches(text):
    series = read_text(text).metrics.series("loss")
    return series, np.unique(launch_of(series)).size


@pytest.mark.parametrize("row", [BAR, ROW])
def test_an_epoch_that_is_a_batch_longer_is_followed_by_no_restart(row):
    series, count = launches(log_of(row, range(6)))

    assert count == 1
    assert series.step[-1] == sum(LENGTHS)


@pytest.mark.parametrize("row", [BAR, ROW])
def test_epochs_that_come_again_are_those_of_a_restart(row):
    assert launches(log_of(row, [0, 1, 2, 3, 4, 2, 3, 4, 5]))[1] == 2


def test_a_log_that_begins_at_a_later_epoch_counts_those_before_it():
    series, _ = launches(log_of(ROW, [3, 4, 5]))

    assert series.step[0] == 3 * LENGTHS[3]


@pytest.mark.parametrize(("between", "told"), [(12, 1), (2, 0)])
def test_the_next_stage_of_a_log_without_its_beginning_stands_behind_what_prepares_it(between, told):
    prepares = "".join(f"cluster {at} holds its samples\n" for at in range(between))
    run = read_text(
        log_of(ROW, [3, 4, 5]).replace("[3]", "[13]").replace("[4]", "[14]").replace("[5]", "[15]")
        + prepares
        + log_of(ROW, [0, 1])
    )

    assert len(run.events.of("training_begins_again")) == told
