"""Numbers out of all proportion: one row that leaves the loss higher, and an overlap beyond all there is."""

import pytest
from log_reading import points, read_text
from make_run import RunMaker

QUIET = [-5.5 + 0.1 * (i % 3) for i in range(19)]


@pytest.mark.parametrize(
    ("behind", "expected"),
    [([-2.5, -1.5] + [-1.25, -1.5] * 6, True), (QUIET[:14], False), ([-2.5, *QUIET[:13]], False)],
)
def test_one_row_that_leaves_the_loss_higher(behind, expected):
    maker = RunMaker().log({"loss": [*QUIET, 40000.0, *behind]})

    assert maker.plain()["signal.spike.left_higher"] is expected


@pytest.mark.parametrize(
    ("loss", "overlap", "expected"),
    [
        ([2.0, -20.0, -90.0], [0.75, 2.5, 7.0], True),
        ([2.0, -20.0, -90.0], [0.25, 0.5, 0.75], False),
        ([2.0, 0.5, -0.9], [0.75, 2.5, 7.0], None),
        ([2.0, -20.0, -90.0], [20.5, 45.0, 75.0], False),  # percentages
    ],
)
def test_an_overlap_beyond_all_there_is(loss, overlap, expected):
    facts = RunMaker().log({"loss": loss, "val_iou": overlap}).plain()

    assert facts.get("signal.metric.overlap_beyond_one") is expected


def test_numbers_beside_a_counter_that_leap_once_are_a_loss_though_they_end_higher():
    values = [*QUIET, 40000.0, *([-1.5] * 12)]
    run = read_text("".join(f"{at}: {value}\n" for at, value in enumerate(values, 500)))

    assert [value for _, value in points(run, "unnamed")] == values
