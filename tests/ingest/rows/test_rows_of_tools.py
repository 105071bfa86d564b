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


FALLING = (2.5, 1.5, 0.5)


def lines(form, values=FALLING):
    return "".join(form.format(n=n, v=v) + "\n" for n, v in enumerate(values, 1))


def values_of(text, name):
    return [value for _, value in points(read_text(text), name)]


@pytest.mark.parametrize(
    ("form", "name", "steps"),
    [
        ("2026-01-01 00:00:0{n},125 fit.py[line:33] DEBUG: Train step_{n}0: loss : {v},loss xy : 9.5", "loss", [10, 20, 30]),
        ("Epoch: [1][{n}/9]\tEach Item Total Time 0.25\tEach Item Read Time 0.125\tTrain Loss {v}\t", "loss", [10, 11, 12]),
        ("iter {n}\ttrain critic cost\t9.5\ttime\t0.25\tdev critic cost\t{v}", "dev_critic_cost", [1, 2, 3]),
        ("> epoch [ 1] iter [  {n}/90] train loss[{v}] remaining[0:20:00]", "loss", [1, 2, 3]),
        ("iter  {n} act 1.5e+04 pre 2.5e+04 delta 1.5e+00 f {v}e+04 |g| 1.5e+05 CG  10", "grad_norm", [1, 2, 3]),
        ("2026-01-01 00:00:0{n}.125 INFO : T: 01s | E: 0.0/0.1 | B: {n}/60 | L: {v}[-]", "loss", [1, 2, 3]),
        ("#Iter=  {n}\tTrain={v}\tTest=1.25", "train", [1, 2, 3]),
        ("[2026-01-01T00:00:0{n}] T = {n}00 / 900 | Avg. reward: {v} | Avg. Q: -0.5", "reward_mean", [100, 200, 300]),
        ("Iter 000{n} | Time 2.5(2.0) | Bit/dim {v}(9.5) | Steps 215(212.25) | Grad Norm 21.5(20.5)", "bit/dim", [1, 2, 3]),
        ("[INFO] num-trees:{n} train-loss:{v} valid-loss:0.75", "loss", [1, 2, 3]),
    ],
)  # fmt: skip
def test_rows_stand_where_they_say_under_the_names_that_they_have(form, name, steps):
    run = read_text(lines(form))

    assert [step for step, _ in points(run, name)] == steps
    if "f {v}" not in form:
        assert [value for _, value in points(run, name)] == list(FALLING)


@pytest.mark.parametrize(
    ("form", "name"),
    [
        ("[{n}] time 14.5 lr 0.001 3d_train {v} 3d_eval 70.5", "train_3d"),
        ("Eval: 16_h1={v}, 32_h1=0.75\n[{n}] time=9.5, avg_loss=0.75", "val_h1_16"),
        ("step {n} loss: 0.5\nValidation (clean) EPE: {v}, 1px: 0.75", "validation_clean_epe"),
        ("step {n} loss: 0.5\nValidation metric (iou): {v}", "validation_iou"),
        ("Epoch [{n}/9] Test Accuracy on the 900 test images: A {v} % B 84.5 %", "test_accuracy_a"),
        ("Epoch {n}: loss 0.5\nEpoch {n}: Val inference rmsd_lt2 {v} rmsd_lt5 9.5", "val_rmsd_lt2"),
        ("INFO Epoch {n} CV info cv_loss {v} cv_acc 32.5", "eval_loss"),
        ("[Epoch 3 90/900][Iteration {n}0] m_0 Top1Accuracy is Accuracy(correct: 9, count: 12, accuracy: {v})", "eval_accuracy"),
        ("[2026-01-01 00:00:0{n},125 INFO fit.py line 356 31012] Train loss: 9.5\n[2026-01-01 00:00:0{n},125 INFO fit.py line 356 31012] Val result: mIoU/mAcc {v}/0.75.", "val_miou"),
        ("steps {n}00, episodic_return_test {v}(3.75)", "episodic_return_test"),
        ("(epoch) {n} (batch) 20 (loss) {v}", "loss"),
        ("***** Iteration #{n} *****\nLoss: 9.5\nError norm: {v}", "error_norm"),
        ("Iteration {n}\ntraining/train_loss_mean: 0.75\nevaluation/target_900_return_mean: {v}", "evaluation/target_900_return_mean"),
        ("Step {n}00:    loss 0.5\n    {v} examples per second", "samples_per_second"),
        ("  [  {n}] obj=   19.5 act=81 err= {v}%/13.5% time=0.25s/0.5s", "err"),
    ],
)  # fmt: skip
def test_what_an_evaluation_or_a_row_tells_is_read_whatever_stands_between(form, name):
    found = values_of(lines(form), name)

    assert found in (list(FALLING), [pytest.approx(value / 100) for value in FALLING])


@pytest.mark.parametrize(
    "text",
    [
        lines("wrote\tshard 0{n}\tof size 9"),  # a number that belongs to a word, and a count
        lines("copied epoch_{n}: done"),
        lines("T = 300 K in cell {n}"),
        lines("Global rounds: {n}00"),
        lines("see issue (a/b/c): {n}/2"),
        lines("moved 16_tiles to node {n}"),
        lines("num-trees is {n} of 9"),
    ],
)
def test_lines_that_look_alike_tell_nothing(text):
    assert not len(read_text(text).metrics)


def test_how_many_images_were_tested_is_no_accuracy():
    run = read_text(lines("Epoch [{n}/9] Test Accuracy on the 9000 test images: A {v} % B 84.5 %"))

    assert 9000.0 not in {float(value) for value in run.metrics.value}


def test_a_round_that_is_numbered_in_words_heads_its_rows_and_how_many_there_are_does_not():
    text = "Global rounds: 900\n" + lines("-----Round number: {n}-----\nAveraged Train Loss: {v}")

    assert points(read_text(text), "loss") == [(1, 2.5), (2, 1.5), (3, 0.5)]


def test_rows_below_a_heading_behind_the_name_of_a_thread():
    ahead = "2026-01-01 00:00:00,125 [MainThread] INFO Trainer - "
    text = lines(
        f"{ahead}Training iteration [{{n}}00/900]. Epoch [0/9]\n{ahead}Training stats. Loss: {{v}}. Evaluation score: 0.5"
    )

    assert points(read_text(text), "loss") == [(100, 2.5), (200, 1.5), (300, 0.5)]


ODD_TABLES = {
    "tabs behind a time": (
        "[2026/01/01 00:00:00] - Epoch \t Seconds \t LR \t \t Train Loss \t Train Acc\n",
        "[2026/01/01 00:00:0{n}] - {n} \t \t 19.5 \t \t 0.125 \t {v} \t 0.75",
        "loss",
        [None] * 3,
    ),
    "marks behind the loss": (
        "Duration   |Iters| Ep|  Minib| Loss\n",
        "0.00:00:01 |   {n} | 1 |  {n}/12 | {v}e+00 -",
        "loss",
        [1, 2, 3],
    ),
    "groups that are called by their data": (
        (
            "                      |------ VALID ------|-- TRAIN/BATCH --|\n"
            "rate      iter  epoch | loss   dice  kaggle | loss           | time\n------------------\n"
        ),
        "0.0100000    {n}.5*   0.8 | {v}  0.375  0.125 | 9.5  |  0 hr 00 min",
        "eval_loss",
        [None] * 3,
    ),
    "norms between strokes": (
        "",
        (
            "    Iter      log prob        ||dx||      ||grad||       alpha      alpha0  # evals  Notes \n"
            "     {n}9      -905.5      0.125      {v}      1      1  25   "
        ),
        "grad_norm",
        [19, 29, 39],
    ),
    "letters for rewards": (
        "ID     Step    maxR |    avgR   stdR   avgS  stdS |    expR   objC   etc.\n",
        "0  {n}.05e+03    21.5 |   {v}   40.5     14    38 |    1.25   9.5   0.5",
        "reward_mean",
        [1050, 2050, 3050],
    ),
    "words that were glued": (
        "Iter   TrainDeviance   ValidDeviance   StepSize   Improve\n",
        "     {n}        {v}          nan     0.1250    0.0625",
        "train_deviance",
        [1, 2, 3],
    ),
}


@pytest.mark.parametrize("kind", ODD_TABLES)
def test_tables_are_read(kind):
    head, form, name, steps = ODD_TABLES[kind]

    assert points(read_text(head + lines(form)), name) == list(zip(steps, FALLING, strict=True))


def test_what_gbm_never_held_out_is_no_nan():
    head, form, *_ = ODD_TABLES["words that were glued"]

    assert points(read_text(head + lines(form)), "valid_deviance") == []
    assert values_of(head.replace("Deviance", "Loss") + lines(form), "eval_loss") == ["nan"] * 3


def test_errors_of_depths_are_those_of_one_evaluation_each():
    row = "[epoch][s/all]: [0][{n}/900], loss: 9.5\n  silog, abs_rel,   log10,     rms,      d1\n {v},   0.125,   0.064,   0.527,   0.807"

    assert values_of(lines(row), "val_silog") == list(FALLING)
    assert (
        values_of(lines(row.replace("silog, abs_rel", "depth, abs_row").replace("log10", "logos")), "val_rms")
        == []
    )


def test_a_bar_below_the_heading_of_an_evaluation_is_of_held_out_data():
    bar = "loss={}: : 100% {}/{} [00:02<00:00, 41.1it/s]\n"
    text = (
        f"==> Start Training Epoch 1\n{bar.format(2.5, 100, 100)}"
        f"++> Evaluate at epoch 1 ...\n{bar.format(0.75, 8, 8)}"
        f"==> Start Training Epoch 2\n{bar.format(1.5, 100, 100)}"
    )
    run = read_text(text)

    assert [value for _, value in points(run, "loss")] == [2.5, 1.5]
    assert points(run, "eval_loss") == [(100, 0.75)]
    # another length alone makes no evaluation
    assert points(read_text(text.replace("Evaluate at", "Epilogue of")), "eval_loss") == []


def test_an_evaluation_that_draws_its_batches_stands_at_the_step_of_the_training():
    text = lines(
        "[INFO]\t[TRAIN] epoch: 1, iter: {n}00/900, loss: 0.5\n[INFO]\tStart evaluating (total_samples: 7, total_iters: 7)...\n"
        "7/7 [====================] - 4s 5\n[INFO]\t[EVAL] #Images: 7 mIoU: {v} Acc: 0.75"
    )

    assert points(read_text(text), "val_miou") == [(100, 2.5), (200, 1.5), (300, 0.5)]
    # without such a heading nothing says whose batches they are
    other = text.replace(
        "Start evaluating (total_samples: 7, total_iters: 7)...", "Cache holds (total_samples: 7)"
    )
    assert [value for _, value in points(read_text(other), "val_miou")] == list(FALLING)


def test_what_counts_far_from_the_epoch_above_counts_steps():
    ahead = "2026-01-01 00:00:00,125 (Elapsed: 00:00:11) "
    text = (
        f"{ahead}epoch 0\n{ahead}train 100 2.5\n{ahead}train 200 1.5\n{ahead}epoch 1\n{ahead}train 300 0.5\n"
    )

    assert points(read_text(text), "train") == [(100, 2.5), (200, 1.5), (300, 0.5)]
    # an epoch of its own number, as it begins
    assert points(read_text(lines("epoch {n}\ntrain {n} {v}")), "train") == [
        (None, value) for value in FALLING
    ]


def test_the_batches_of_an_evaluation_are_no_steps_of_the_training():
    text = "".join(
        f"Training iteration [{n}00/900]. Epoch [0/9]\nTraining stats. Loss: 2.5\nValidating...\nValidation iteration 0\n"
        f"Validation iteration 1\nValidation finished. Loss: {value}. Evaluation score: 0.5\n"
        for n, value in enumerate(FALLING, 1)
    )

    assert points(read_text(text), "eval_loss") == [(100, 2.5), (200, 1.5), (300, 0.5)]


def test_the_test_that_a_script_ends_with_is_a_table_of_one_row():
    head, form, *_ = ODD_TABLES["tabs behind a time"]
    tested = "[2026/01/01 00:10:00] - Test Loss \t Test Acc \t PGD Loss\n[2026/01/01 00:10:00] - 0.75 \t \t 0.875 \t 1.25\n"

    assert values_of(head + lines(form) + tested, "eval_loss") == [0.75]
    assert values_of(tested, "eval_loss") == []  # without a training it is the result of anything
