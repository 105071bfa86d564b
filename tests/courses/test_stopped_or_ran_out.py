"""Words of an ordinary end that stand in front of a failure, and words of a failure that an ordinary end writes."""

import pytest

import analyzer

STOPS = [
    ("Early stopping training terminated due to exception at epoch 0, iteration 0", False),
    ("EarlyStopping: no improvement in 10 epochs. Stopping training.", True),
]


@pytest.mark.parametrize(("line", "is_configured"), STOPS, ids=["by an exception", "by its rule"])
def test_an_exception_that_ended_a_training_is_no_configured_stop(tmp_path, line, is_configured):
    rows = "".join(f"epoch {n} loss {2.5 - n / 10:.2f}\n" for n in range(1, 9))
    (tmp_path / "train.log").write_text(f"{rows}{line}\n", encoding="utf-8")
    run = analyzer.load(tmp_path)

    assert bool(list(run.events.of("configured_stop"))) == is_configured


def test_a_queue_that_is_closed_at_the_end_of_its_epochs_is_no_empty_data_set(tmp_path):
    rows = "".join(f"step {n}00 loss {2.5 - n / 10:.2f}\n" for n in range(1, 9))
    end = "Caught OutOfRangeError. Stopping Training. FIFOQueue '_2_q' is closed and has insufficient elements (requested 1, current size 0)\n"
    (tmp_path / "train.log").write_text(f"{rows}INFO:tensorflow:{end}", encoding="utf-8")
    dx = analyzer.diagnose(tmp_path)

    assert dx.status != "failed"
    assert all(found.probability < 0.5 for found in dx.findings)
