"""Rows of tools that name their quantities in a way of their own, each beside lines that look alike and are no row."""

import pytest
from log_reading import points, read_text

BLOCKS = (
    "Training status:\n\t epochs_done: {n}\n\t iterations_done: {n}00\nLog records from the iteration {n}00:\n"
    "\t test_error_rate: {v}\n\t time_train_total: 9.5\n\n---------\n"
)
PYLEARN2 = (
    "Monitoring step:\n\tEpochs seen: {n}\n\tBatches seen: {n}00\n\tExamples seen: {n}0000\n"
    "\tobjective: {v}\n\ty_misclass: 0.5\nTime this epoch: 5.5 seconds\n"
)
SEGMENTATION = (
    "\nEpoch: {n}\n"
    "train: 100%|██████████| 46/46 [00:50<00:00,  1.14s/it, dice_loss - {v}, iou_score - 0.375]\n"
    "valid: 100%|██████████| 9/9 [00:10<00:00, 11.20it/s, dice_loss - 0.625, iou_score - 0.5]\n"
)
CLASSIFIER = (
    "      Epoch    GPU_mem       loss  Instances       Size\n"
    "        {n}/3      1.51G     2.125         16        224: 100%|██████████| 40/40 [00:03<00:00, 11.2it/s]\n"
    "               classes   top1_acc   top5_acc: 100%|██████████| 8/8 [00:00<00:00, 14.1it/s]\n"
    "                   all      {v}      0.875\n\n"
)
TABLES = (
    "10:11:22 | time:10s total_exs:1600 total_steps:{n}00 epochs:0.01\n"
    "    clip  exs  gnorm  loss  lr  ppl  token_acc  total_train_updates  ups\n"
    "       1 1600  8.500 {v} 1e-05 48.50  0.2500      {n}00  1.5\n\n"
    "10:11:30 | valid:\n    exs  loss   ppl  token_acc  total_train_updates\n"
    "   7800 2.750 15.50  0.5000                  {n}00\n\n"
)
READING = "At iteration {n}5/{n}00/{n}02, mean rms=4.5%, delta=9.5%, BCER train={v}%, BWER train=60.5%, skip ratio=0%,\n"
VALUES = (0.5, 0.25, 0.125)


def blocks(form):
    return "".join(form.format(n=n, v=v) for n, v in enumerate(VALUES, 1))


@pytest.mark.parametrize(
    ("form", "name", "steps", "values"),
    [
        (BLOCKS, "test_error_rate", (100, 200, 300), VALUES),
        (PYLEARN2, "train_objective", (100, 200, 300), VALUES),
        (PYLEARN2, "y_misclass", (100, 200, 300), (0.5, 0.5, 0.5)),
        (SEGMENTATION, "dice_loss", (46, 92, 138), VALUES),
        (SEGMENTATION, "val_dice_loss", (46, 92, 138), (0.625, 0.625, 0.625)),
        (CLASSIFIER, "eval_accuracy", (40, 80, 120), VALUES),
        (TABLES, "loss", (100, 200, 300), VALUES),
        (TABLES, "eval_loss", (100, 200, 300), (2.75, 2.75, 2.75)),
        ("┌ Info: iter {n}0\n└   metric = {v}\n", "eval_metric", (10, 20, 30), VALUES),
        ("┌ Info: iter {n}0\n│   rate = 0.5\n└   metric = {v}\n", "rate", (10, 20, 30), (0.5, 0.5, 0.5)),
        (READING, "train_cer", (100, 200, 300), (0.005, 0.0025, 0.00125)),
    ],
)
def test_rows_of_a_tool_are_read_at_their_steps(form, name, steps, values):
    assert points(read_text(blocks(form)), name) == list(zip(steps, values, strict=True))


@pytest.mark.parametrize(
    ("line", "name", "value"),
    [
        ("iter  10 value 56.25", "train_objective", 56.25),
        ("Alpha: 0.025000  Progress: 9.50%  Words/thread/sec: 215.25k  ", "learning_rate", 0.025),
        ("[lr=0.1 clips=12 updates=500] 2.25", "loss", 2.25),
        (
            "-8.500 per-word bound, 362.0 perplexity estimate based on a held-out corpus of 9 documents",
            "eval_perplexity",
            362.0,
        ),
        ("Checkpoint [1]\tValidation-perplexity=92.250000", "eval_perplexity", 92.25),
        ("[Tune-y] 3: mmce.test.mean=0.250; time: 0.0 min", "trial_value", 0.25),
        ("Generation 3 - Current best internal CV score: -0.250", "best_cv_score", -0.25),
    ],
)
def test_a_row_of_a_tool_is_read_by_its_form(line, name, value):
    assert [told for _, told in points(read_text(line + "\n"), name)] == [value]


@pytest.mark.parametrize(
    "text",
    [
        "the iter 10 value 56.25 was too high\n",
        "Alpha: 0.05 is the level of this test\n",
        "┌ Info: iteration over files\n└   metric = 2.5\n",
        "Best internal CV score of generation 3: unknown\n",
        "    clip  exs  loss  ppl  updates\nno row follows\n",
    ],
)
def test_sentences_with_the_words_of_a_tool_are_no_rows(text):
    run = read_text(text)
    assert run.metrics is None or not len(run.metrics)


HISTORY = (
    "Scoring History: \n"
    "    timestamp            duration    training_speed    iterations    training_rmse    training_auc    validation_rmse\n"
    "--  -------------------  ----------  ----------------  ------------  ---------------  --------------  -----------------\n"
    "    2026-01-01 10:10:10  0.000 sec                     0             nan              nan             nan\n"
    "    2026-01-01 10:10:11  1.250 sec   8750 obs/sec      10            0.5              0.75            0.625\n"
    "    2026-01-01 10:10:12  2.250 sec                     20            0.25             0.875           {last}\n"
    "\nVariable Importances:\n"
)


def test_a_scoring_history_is_read_by_the_strokes_below_its_names():
    run = read_text(HISTORY.format(last="0.5"))

    assert points(run, "training_rmse") == [(10, 0.5), (20, 0.25)]
    assert points(run, "validation_rmse") == [(10, 0.625), (20, 0.5)]
    assert not {"training_speed", "duration", "iterations"} & set(run.metrics.names)


def test_what_a_scoring_history_no_longer_knows_is_told():
    assert points(read_text(HISTORY.format(last="nan")), "validation_rmse") == [(10, 0.625), (20, "nan")]


def test_of_tracked_sequences_the_means_over_all_are_read():
    row = "{0}   68.5% 71.0% 65.0% 80.5% 94.0% 221  81  71 12 1210 12011 211 512 69.5% 0.125\n"
    head = "          IDF1   IDP   IDR  Rcll  Prcn  GT  MT  PT ML   FP    FN IDs   FM  MOTA  MOTP\n"
    run = read_text(head + row.format("SEQ-02 ") + row.format("OVERALL"))

    assert [value for _, value in points(run, "val_mota")] == [pytest.approx(0.695)]
    assert points(read_text("OVERALL 68.5% of 71.0% were 9 right\n"), "val_idf1") == []


def test_tuples_of_julia_hold_several_values_under_one_symbol():
    run = read_text(blocks("(:epoch, {n}, :trn, ({v}, 0.75), :tst, (0.5, 0.625))" + "\n"))

    assert [value for _, value in points(run, "trn_1")] == list(VALUES)
