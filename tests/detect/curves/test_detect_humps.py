"""A loss that rises over its first rows and comes back, against one that goes on to fall and one odd first row."""

from __future__ import annotations

import numpy as np
from make_run import RunMaker

from analyzer.detect.curves.trend import trend

RISE = (2.29, 2.53, 2.83, 2.96)
BACK = (*RISE, 2.78, 2.65, 2.44, 2.31, 2.24, 2.21, 2.18, 2.19, 2.19, 2.20, 2.22, 2.24, 2.24)


def test_a_loss_that_only_takes_back_what_its_first_rows_rose_by_learned_nothing():
    beyond = (*BACK[:10], 2.0, 1.9, 1.8, 1.7, 1.65, 1.6, 1.55)

    assert RunMaker().log({"loss": BACK}).plain()["signal.progress.learned"] is False
    assert RunMaker().log({"loss": beyond}).plain()["signal.progress.learned"] is True


def test_a_score_that_rose_beside_it_tells_that_something_was_learned():
    score = [0.1 + 0.04 * row for row in range(len(BACK))]
    facts = RunMaker().log({"loss": BACK, "accuracy": score}).plain()

    assert facts["signal.progress.learned"] is True


def test_one_low_first_row_is_no_rise():
    odd = trend(np.array([2.29, 3.0, 2.96, *BACK[4:]]))
    hump = trend(np.array(BACK))

    assert odd is not None
    assert hump is not None
    assert odd.only_back is False
    assert hump.only_back is True
