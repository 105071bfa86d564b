"""Rows of many shapes, made from a grammar: whatever way a place and its quantities are written, they are read alike.

A line is a place, a separator and pairs; each is written in the ways that programs write it. Near misses stand below:
prose, settings, results and benchmarks say the same words and are no rows.
"""

from itertools import product

import pytest
from log_reading import points, read_text

PLACES = {
    "step {0}": 1, "Step: {0}": 1, "iter {0}:": 1, "Iteration: {0},": 1, "[Train step : {0}]": 1, "iterations {0}": 1, "it {0} |": 1, "steps={0};": 1,
    "Epoch 1, Batch: {0}/90,": 1, "[epoch_index: 1/5][batch_index:{0}/90]": 1, "epoch 001  {0} / 90": 1, "| epoch   1 | batch {0}/90 |": 1, "<epoch:  1, iter:   {1},000>": 1000,
    "Epoch[ 1 of 25]-Minibatch[   1-  {0}]:": 1, "Process {0}/90(2.5%)": 1, "tick {0} ": 1, "{0}/90: episode: 3,": 1, "global step {0}": 1, "#{0} ": 1,
}  # fmt: skip
"""Ways to say the step, and what its number stands for; ``{1}`` is a number whose thousands are parted by commas."""

PAIRS = (
    "loss {0}",
    "loss: {0}",
    "loss={0}",
    "Loss = {0}",
    "loss: <{0}>",
    "'loss': '{0}'",
    "Loss   {0} ( 9.9900)",
    "loss : {0};",
)
"""Ways to write a loss."""

JOINS = (" ", " | ", ", ", "\t", "  ")
"""What stands between a place and its pairs."""


@pytest.mark.parametrize("place", PLACES)
def test_the_step_and_the_loss_of_a_row_are_read_however_they_are_written(place):
    """One log for each way to write a place, with every way to write a pair: each line is one point."""
    lines, expected = [], []
    for number, (pair, join) in enumerate(product(PAIRS, JOINS), start=1):
        value = round(4 - number / 20, 3)
        lines.append(place.format(number, number) + join + pair.format(value) + join + "lr 0.001")
        expected.append((number * PLACES[place], value))

    assert sorted(points(read_text("\n".join(lines) + "\n"), "loss")) == expected


SHAPES = {
    "cells of a head with spaces in its names": (
        "epoch train loss valid loss f2\n0 1.5 nan 0.25\n1 1.25 1.75 0.5\n",
        {"loss": [(None, 1.5), (None, 1.25)], "eval_loss": [(None, "nan"), (None, 1.75)], "f2": [(None, 0.25), (None, 0.5)]},
    ),
    "cells that are left out": (
        "epoch       iteration   main/loss   validation/main/loss  lr\n1           100         2.5                               0.1\n1           200         2.25        2.125                 0.1\n",
        {"loss": [(100, 2.5), (200, 2.25)], "eval_loss": [(200, 2.125)], "learning_rate": [(100, 0.1), (200, 0.1)]},
    ),
    "a Markdown table whose step is not first": (
        "| Training Loss | Epoch | Step | Validation Loss |\n|:---:|:---:|:---:|:---:|\n| No log | 0.5 | 10 | 0.75 |\n| 0.625 | 1.0 | 20 | 0.5 |\n",
        {"loss": [(20, 0.625)], "eval_loss": [(10, 0.75), (20, 0.5)]},
    ),
    "a head with a hash": (
        "#  step      rmse_val    rmse_trn         lr\n# no data, no value\n      0      2.50e+01    2.25e+01    1.0e-03\n    100      2.00e+01    1.75e+01    1.0e-03\n",
        {"rmse_trn": [(0, 22.5), (100, 17.5)], "rmse_val": [(0, 25.0), (100, 20.0)]},
    ),
    "a head in two lines": (
        "average    since         example\nloss       last          counter\n0.625000   0.625000            3\n0.500000   0.375000            6\n",
        {"loss": [(3, 0.625), (6, 0.5)]},
    ),
    "a table without a counter": (
        "D_loss  acc  G_loss\n0.5 | 75 | 4.5 | 0:04:16\n0.25 | 80 | 5.5 | 0:04:35\n0.125 | 85 | 6.5 | 0:04:53\n",
        {"d_loss": [(None, 0.5), (None, 0.25), (None, 0.125)], "g_loss": [(None, 4.5), (None, 5.5), (None, 6.5)]},
    ),
    "rows that are parts of the data": (
        "\u2502 rating \u2502 loss \u2502 accuracy \u2502\n\u255e\u2550\u2550\u256a\u2550\u2550\u256a\u2550\u2550\u2561\n\u2502 train \u2502 1.5 \u2502 0.25 \u2502\n\u2502 vali \u2502 1.75 \u2502 0.5 \u2502\n\u2502 test \u2502 1.625 \u2502 0.75 \u2502\n",
        {"loss": [(None, 1.5)], "eval_loss": [(None, 1.75)], "eval_accuracy": [(None, 0.5)]},
    ),
    "a box of a program that nobody declared": (
        "-----------------\n| TimestepsSoFar | 256 |\n| loss_kl | 0.5 |\n| EpRewMean | 12.5 |\n-----------------\n",
        {"loss_kl": [(256, 0.5)], "reward_mean": [(256, 12.5)]},
    ),
    "a row that is wrapped after a name": (
        "Epoch [2][100/450] lr:\n  9.9e-02 top-1: 94.5 loss: 0.75\n",
        {"learning_rate": [(550, 0.099)], "loss": [(550, 0.75)]},
    ),
    "pairs and tuples in the postfix of a bar": (
        "Epoch 1/9: 100%|###| 40/40 [01:00<00:00, 1.61 batches/s, Loss 6.25, Raw Acc (0.5, 2.5), Crop Acc (0.25, 2.5), Val Loss 6.5, Val Acc (0.75, 2.5)]\n",
        {"loss": [(40, 6.25)], "eval_loss": [(40, 6.5)], "crop_acc": [(40, 0.25)], "eval_accuracy": [(40, 0.75)]},
    ),
    "scores of an evaluation at a step": (
        "[ITER 7000] Evaluating test: L1 0.5 PSNR 25.5\n[ITER 9000] Evaluating test: L1 0.25 PSNR 26.5\n",
        {"val_psnr": [(7000, 25.5), (9000, 26.5)], "val_l1": [(7000, 0.5), (9000, 0.25)]},
    ),
    "scores below a heading": (
        "epoch 1 train loss: 0.5\nvalid result:\nrecall@5 : 0.5    ndcg@5 : 0.25\n",
        {"val_recall@5": [(None, 0.5)], "val_ndcg@5": [(None, 0.25)]},
    ),
    "a step that only the heading of an evaluation says": (
        "I0101 00:00:00.000001 7 solver.cpp:347] Iteration 500, Testing net (#0)\nI0101 00:00:00.000001 7 solver.cpp:414]     Test net output #0: accuracy = 0.5\n",
        {"eval_accuracy": [(500, 0.5)]},
    ),
    "a share with its quotient": (
        "step 5 loss: 2.5; acc: 45.0/60.0=0.75\n",
        {"loss": [(5, 2.5)], "accuracy": [(5, 0.75)]},
    ),
    "a total of losses": (
        "step 100, policy=6.5 mse=0.25 reg=0.5 total=7.25 (4083.5 pos/s)\nstep 200, policy=5.5 mse=0.125 reg=0.5 total=6.25 (4083.5 pos/s)\n",
        {"loss": [(100, 7.25), (200, 6.25)]},
    ),
    "rewards without a step": (
        "Total reward: -200.0\nTotal reward: -190.5\nTotal reward: -200.0\n",
        {"reward_mean": [(None, -200.0), (None, -190.5), (None, -200.0)]},
    ),
    "losses of both kinds without a step": (
        "Before tuning: loss: 0.5 - acc: 0.25 - val_loss: 0.75 - val_acc: 0.5\n",
        {"loss": [(None, 0.5)], "eval_loss": [(None, 0.75)]},
    ),
    "a part of the loss with a row of its own": (
        "loss = 2.5, step = 0\ncross_entropy = 2.25, learning_rate = 0.1\nloss = 2.0, step = 100\n",
        {"loss": [(0, 2.5), (100, 2.0)]},
    ),
}  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
def test_shapes_of_rows(shape):
    text, expected = SHAPES[shape]
    run = read_text(text)

    assert {name: points(run, name) for name in expected} == expected


@pytest.mark.parametrize(
    "text",
    [
        "the model has a train loss and a valid loss that we print at each epoch\n0 1 2\n",
        "model  accuracy  loss\nsmall | 0.5 | 1.5\nlarge | 0.75 | 1.25\n",
        "accuracy  precision  recall\n0.5 0.25 0.75\n",
        "| learning_rate | 0.1 |\n| batch_size | 32 |\n| loss_weight | 0.5 |\n",
        "| accuracy | 0.75 |\n| loss | 0.5 |\n",
        "| layer | params | loss |\n| conv | 64 | 0.5 |\n",
        "loss weights:\n0.5 0.25\n",
        "we got error 404 at step 3 of the setup, see https://a.org/loss/1.5\n",
        "step 3: copy 2.5 GiB to /data/loss/1.5/run\n",
        "round 3 of 5: benchmark took 2.5 s, 12.5 GB/s\n",
        "expected loss: see the table of the paper, where it is 2.5 for the small and 1.5 for the large model\n",
        "Epoch 3 of the survey mission ended on day 2.5\n",
        "if loss == 2.5: stop at step 100\n",
    ],
)
def test_what_only_looks_like_a_row_is_none(text):
    assert read_text(text).metrics.names == ()
