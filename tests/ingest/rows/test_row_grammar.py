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
    "Epoch 1[{0}/90]:": 1, "E1 B{0}/90": 1, "t={0}": 1, "n_updates={0}": 1, "batch i:{0},": 1,
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
    "loss is: {0}",
    "Loss ..... {0}",
    "<loss> {0}",
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
        {"loss": [(None, 1.5), (None, 1.25)], "eval_loss": [(None, "nan"), (None, 1.75)], "val_f2": [(None, 0.25), (None, 0.5)]},
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
    "a head of names that a single space parts": (
        "#  step      rmse_val    rmse_trn   rmse_ab_val rmse_ab_trn         lr\n      0      2.50e+01    0.00e+00           nan    1.25e+00    1.0e-03\n    100      2.00e+01    1.75e+01           nan    1.00e+00    1.0e-03\n",
        {"rmse_trn": [(0, 0.0), (100, 17.5)], "rmse_ab_trn": [(0, 1.25), (100, 1.0)]},
    ),
    "a head in two lines": (
        "average    since         example\nloss       last          counter\n0.625000   0.625000            3\n0.500000   0.375000            6\n",
        {"loss": [(3, 0.625), (6, 0.5)]},
    ),
    "a head in two lines with strokes": (
        "|  Epoch  |  Iteration  |  Time Elapsed  |  Mini-batch  |  Mini-batch  |  Base Learning  |\n|         |             |   (hh:mm:ss)   |   Accuracy   |     Loss     |      Rate       |\n|=====|\n|       1 |           1 |       00:00:01 |       10.50% |         2.25 |          0.5000 |\n|       2 |          50 |       00:00:09 |       75.00% |         1.75 |          0.2500 |\n",
        {"accuracy": [(1, 10.5), (50, 75.0)], "loss": [(1, 2.25), (50, 1.75)], "learning_rate": [(1, 0.5), (50, 0.25)]},
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
    "a phase that is said once for the names behind it": (
        "step 1 train loss 0.5 acc 0.25 | val loss 0.75 acc 0.125\nstep 2 train loss 0.25 acc 0.5 | val loss 0.5 acc 0.25\n",
        {"eval_loss": [(1, 0.75), (2, 0.5)], "accuracy": [(1, 0.25), (2, 0.5)], "eval_accuracy": [(1, 0.125), (2, 0.25)]},
    ),
    "a test whose second score does not say so": (
        "Epoch 1: testing psnr = 30.5, ssim = 0.75\nEpoch 2: testing psnr = 31.5, ssim = 0.875\n",
        {"testing_psnr": [(None, 30.5), (None, 31.5)], "val_ssim": [(None, 0.75), (None, 0.875)], "ssim": []},
    ),
    "names with v_ beside the same without": (
        "Epoch 1: v_rec 0.5  rec 0.25  v_latent 1.5  latent 1.25  v_loss 2.5  loss 2.25\n",
        {"loss": [(None, 2.25)], "eval_loss": [(None, 2.5)]},
    ),
    "a row behind a bar of unknown length": (
        "Validation: |          | 0/? [00:00<?, ?it/s]Epoch 1: val loss 0.75  train loss 0.5\n",
        {"eval_loss": [(None, 0.75)], "loss": [(None, 0.5)]},
    ),
    "batches below the heading of an evaluation": (
        "Epoch 1/2\nstep 10/20 - loss: 2.5\nstep 20/20 - loss: 2.25\nEval begin...\nstep 4/8 - loss: 3.5\nstep 8/8 - loss: 3.25\nEpoch 2/2\nstep 10/20 - loss: 2.0\n",
        {"loss": [(10, 2.5), (20, 2.25), (30, 2.0)], "eval_loss": [(20, 3.5), (20, 3.25)]},
    ),
    "batches below a heading that says what is being done and where": (
        "[Epoch 1 Batch 10/20] loss=2.5\n[Epoch 1 Batch 20/20] loss=2.25\nNow we are doing evaluation on dev with [gpu(0), gpu(1)].\n[Batch 4/8] loss=3.5\n[Batch 8/8] loss=3.25\n[Epoch 2 Batch 10/20] loss=2.0\n",
        {"loss": [(10, 2.5), (20, 2.25), (30, 2.0)], "eval_loss": [(20, 3.5), (20, 3.25)]},
    ),
    "batches without an epoch between rows that name theirs": (
        "[Epoch 1 Batch 10/20] loss=2.5\n[Epoch 1 Batch 20/20] loss=2.25\n[Batch 4/8] loss=3.5\n[Batch 8/8] loss=3.25\n[Epoch 2 Batch 10/20] loss=2.0\n",
        {"loss": [(10, 2.5), (20, 2.25), (30, 2.0)], "eval_loss": [(20, 3.5), (20, 3.25)]},
    ),
    "an epoch with one batch more than the next": (
        "epoch 1, iter 10/11, loss 2.5\nepoch 1, iter 11/11, loss 2.25\nepoch 2, iter 0/10, loss 2.0\nepoch 2, iter 10/10, loss 1.5\n",
        {"loss": [(10, 2.5), (11, 2.25), (11, 2.0), (21, 1.5)]},
    ),
    "the epoch of an evaluation below its heading": (
        "epoch: 0, loss is: 2.5\ntesting in eval mode...\nepoch: 0, loss is: 3.5\nepoch: 1, loss is: 2.0\nepoch: 2, loss is: 1.5\n",
        {"loss": [(None, 2.5), (None, 2.0), (None, 1.5)], "eval_loss": [(None, 3.5)]},
    ),
    "evaluations that are counted on their own": (
        "epoch 1, iter 1000, avg. loss 2.5\nepoch 1, iter 2000, avg. loss 2.25\nvalidation: iter 1, dev. ppl 12.5\nepoch 2, iter 1000, avg. loss 2.0\n",
        {"loss": [(1000, 2.5), (2000, 2.25), (3000, 2.0)], "eval_perplexity": [(2000, 12.5)]},
    ),
    "a score below the heading of an evaluation at a step": (
        "Step:100/900. loss: 2.5\nEvaluation on dev at Epoch 1/10. Step:200/900:\nAccuracyMetric: acc=0.5\nStep:300/900. loss: 2.0\n",
        {"loss": [(100, 2.5), (300, 2.0)], "eval_accuracy": [(200, 0.5)], "accuracy": []},
    ),
    "the loss of an epoch that is printed after its validation": (
        "Validating...\nEpoch 1: loss 2.5\nValidating...\nEpoch 2: loss 2.0\n",
        {"loss": [(None, 2.5), (None, 2.0)], "eval_loss": []},
    ),
    "two parts of the data below headings": (
        "evaluate:dev\naccuracy: 50.00%; precision: 25.00%; FB1: 12.50\nevaluate:test\naccuracy: 40.00%; precision: 20.00%; FB1: 10.00\n" * 2,
        {"eval_accuracy": [(None, 50.0), (None, 50.0)]},
    ),
    "the steps of an episode behind its reward": (
        "Episode 7/90 | Score: 3 | Reward: 12.5 | Steps: 103\nEpisode 8/90 | Score: 4 | Reward: 13.5 | Steps: 34\n",
        {"reward_mean": [(7, 12.5), (8, 13.5)], "episode_length_mean": [(7, 103.0), (8, 34.0)]},
    ),
    "how many batches an epoch has": (
        "Epoch 0/9\nbatch = 405\ntrain Loss: 0.5 Reg: 0.25\nEpoch 1/9\nbatch = 405\ntrain Loss: 0.25 Reg: 0.125\n",
        {"loss": [(None, 0.5), (None, 0.25)], "reg": [(None, 0.25), (None, 0.125)]},
    ),
    "a total of parts none of which is called a loss": (
        "step 100: Rec=0.5, KL=12.5, Total=13.0\nstep 200: Rec=0.25, KL=10.5, Total=10.75\n",
        {"loss": [(100, 13.0), (200, 10.75)], "kl": [(100, 12.5), (200, 10.5)]},
    ),
    "numbers that are called by their phases only": (
        "7:  learn: 0.5  test: 0.75  best: 0.75 (1)  total: 17.5s\n8:  learn: 0.25  test: 0.5  best: 0.5 (2)  total: 18s\n",
        {"learn": [(7, 0.5), (8, 0.25)], "test": [(7, 0.75), (8, 0.5)]},
    ),
    "the unit of a rate before a name": (
        "Epoch[0] Batch [50]  Speed: 12.5 samples/sec 6.25 updates/sec perplexity=3.5\n",
        {"perplexity": [(50, 3.5)], "steps_per_second": [(50, 6.25)]},
    ),
    "columns of epoch and batch with a total": (
        "[INFO]:  Epoch   Batch    box   conf   total\n[INFO]:  0/9   0/50   0.5   2.5   3.0\n[INFO]:  0/9   40/50   0.25   2.25   2.5\n[INFO]:  1/9   0/50   0.125   2.0   2.125\n",
        {"loss": [(0, 3.0), (40, 2.5), (50, 2.125)], "box": [(0, 0.5), (40, 0.25), (50, 0.125)]},
    ),
    "names that begin with a dimension": (
        "2d_loss\t3d_loss\tadv_loss\n6.5\t7.5\t1.5\n6.25\t7.25\t1.25\n6.0\t7.0\t1.0\n",
        {"2d_loss": [(None, 6.5), (None, 6.25), (None, 6.0)], "adv_loss": [(None, 1.5), (None, 1.25), (None, 1.0)]},
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
        "batch = 405\nseed: 43\n",
        "wrote 12.5/s of logs: 3 files\n",
        "see chapter 3/4 of the loss function guide, version 2.5\n",
    ],
)
def test_what_only_looks_like_a_row_is_none(text):
    assert read_text(text).metrics.names == ()
