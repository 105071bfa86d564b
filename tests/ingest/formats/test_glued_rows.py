"""Logs of one line that hold many rows."""

import pytest
from log_reading import points, read_file

from analyzer.ingest.text.glued_rows import parted


def read(tmp_path, text):
    (tmp_path / "train.log").write_bytes(text.encode())
    return read_file(tmp_path / "train.log")


@pytest.mark.parametrize(
    ("form", "name"), [("Round {n}, TestAcc={v:.4f}, ", "eval_accuracy"), ("epoch {n}: loss {v:.4f} | ", "loss")]
)  # fmt: skip
@pytest.mark.parametrize("count", [8, 3000])  # more than a piece of an endless line
def test_rows_that_no_line_break_parts_are_read_one_by_one(tmp_path, form, name, count):
    values = [round(0.9 - n / 4000, 4) for n in range(count)]
    text = "".join(form.format(n=n, v=value) for n, value in enumerate(values))

    assert [value for _, value in points(read(tmp_path, text), name)] == values
    torn = read(tmp_path, text + form.format(n=count, v=0.25)[: -len("25, ") - form.endswith("| ")])
    assert [value for _, value in points(torn, name)] == values  # its number may be a piece


@pytest.mark.parametrize(
    "text",
    [
        "epoch 3 and epoch 4 and epoch 5 cost more than epoch 6 or epoch 7 with a loss of 0.5\n",
        # to which bare numbers are glued
        "".join(f"step {n} / 90:  loss_mean = {n}.25e-012.50.753.25" + "1.75" * n for n in range(1, 9)),
    ],
)
def test_a_line_that_is_no_row_of_rows_is_left_as_it_is(text):
    assert parted(text) is None


def test_the_redraws_of_one_line_are_no_rows_without_a_break(tmp_path):
    bar = "".join(f"\repoch {n}:  50%|##  | {n}/9 [00:01<00:02, 2.5it/s, loss=0.{n}]" for n in range(1, 9))
    assert len(read(tmp_path, bar).metrics.series("loss").value) == 8
