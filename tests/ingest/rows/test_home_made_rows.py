"""Rows of home-made loops: Python dicts, lines that only name a perplexity, and Lightning's banner."""

import pytest
from log_reading import points, read_text


@pytest.mark.parametrize(
    ("row", "value"),
    [
        ("{'train/loss': Infinity, 'step': 21}", float("inf")),
        ("{'train/loss': -Infinity, 'global_step': 21}", float("-inf")),
        ("{'step': 21, 'loss': NaN}", "nan"),
        ("[rank0]: {'train/loss': 1.5, 'iter': 21}", 1.5),
        ('{"train/loss": Infinity, "step": 21}', float("inf")),
        ("{'loss': 1.5, 'global_step/max_steps': '21/100'}", 1.5),
        ('{"loss": 1.5, "global_step/max_steps": "21/100"}', 1.5),
    ],
)
def test_a_printed_dict_with_a_step_is_a_row(row, value):
    assert points(read_text(row + "\n"), "loss") == [(21, value)]


def test_a_printed_dict_of_settings_is_none():
    assert read_text("{'step': 10, 'learning_rate': 0.1, 'batch': 4}\n").metrics.names == ()


def test_a_perplexity_alone_makes_a_row_of_an_epoch():
    assert points(read_text("epoch 7 ppl nan\n"), "perplexity") == [(None, "nan")]


@pytest.mark.parametrize(
    ("banner", "precision"),
    [
        ("Using 16bit Automatic Mixed Precision (AMP)", "16-mixed"),
        ("Using 16-bit Automatic Mixed Precision", "16-mixed"),
        ("Using 16bit native Automatic Mixed Precision (AMP)", "16-mixed"),
        ("INFO: Using bfloat16 Automatic Mixed Precision (AMP)", "bf16-mixed"),
    ],
)
def test_lightning_announces_its_precision(banner, precision):
    run = read_text(banner + "\n")

    assert run.config.value("mixed_precision") == precision
    assert run.frameworks == {"pytorch-lightning"}


def test_nanogpt_repeats_what_the_command_line_changes():
    run = read_text("Overriding: dtype = float16\nOverriding: learning_rate = 0.0006\n")

    assert run.config.value("mixed_precision") == "float16"
    assert run.config.value("train.learning_rate") == 0.0006


@pytest.mark.parametrize(
    ("line", "read"),
    [
        ("Final test accuracy: 0.523", True),
        ("**** Final test accuracy: 52.3. ****", True),
        ("Accuracy on the test set: 52.3 %", True),
        ("Best test accuracy: 0.523", False),
        ("Final accuracy: 0.523", False),
    ],
)
def test_a_score_measured_at_the_end_is_one_of_held_out_data(line, read):
    rows = "".join(f"Epoch [{n}/9] loss: {2 / n:.4f} acc: {90 + n}%\n" for n in range(1, 10))

    assert ("eval_accuracy" in read_text(rows + line + "\n").metrics.names) is read


@pytest.mark.parametrize(
    ("row", "metric"),
    [
        ("Episode {n}\tAverage Score: {v}", "reward_mean"),
        ("episode: {n}/1000, score: {v}, e: 0.05", "reward_mean"),
        ("Epoch {n}, average score: {v}", "average_score"),
        ("Episode  {n}00   Avg: {v}   BestAvg: 9.5   eps: 0.05", "reward_mean"),
        ("Epoch {n}   Avg: {v}", None),
        ("Episode {n}/90 | Reward moyen (100 ep): {v}", "reward_mean"),
    ],
)
def test_the_score_of_an_episode_is_its_reward(row, metric):
    run = read_text("".join(row.format(n=n, v=n / 2) + "\n" for n in range(1, 9)))

    assert metric in run.metrics.names if metric else "reward_mean" not in run.metrics.names
    if metric:
        assert [value for _, value in points(run, metric)] == [n / 2 for n in range(1, 9)]


@pytest.mark.parametrize(
    ("row", "name"),
    [
        ("[01.02.24|09:58:13] \tTop5: {v:.2f}%", "top5"),
        ("eval region avg class acc: {v:.4f}", "eval_region_avg_class_acc"),
        ("INFO - Evaluation result (beam) loss: 3.50, ppl: {v:.2f}, acc: 0.25, generation: 12.5[sec]", "eval_perplexity"),
        ("(epoch: {n}, iters: 100, time: 0.250) G_GAN: 1.5 D_real+fake: {v:.3f}", "d_real+fake"),
        ("the class acc of a region: {v:.4f} of all that were looked at", None),
    ],
)  # fmt: skip
def test_results_between_the_rows_of_a_training_are_read(row, name):
    text = "".join(
        f"Epoch: {n} loss: {2 / n:.4f}\nEval epoch: {n}\n{row.format(n=n, v=10 + n / 8)}\n"
        for n in range(1, 9)
    )
    values = {
        one: [value for _, value in points(read_text(text), one)] for one in read_text(text).metrics.names
    }
    found = [
        one
        for one, several in values.items()
        if len(several) == 8 and 10 < several[-1] * (100 if several[-1] < 1 else 1) < 12
    ]

    assert any(name in one for one in found) if name else not found


def test_a_part_of_the_loss_keeps_the_word_that_says_which():
    text = "".join(
        f"Epoch: [{n}][9/9]\tCluster Loss {2 / n:.4f}\tRead mse loss {n / 8:.4f}\n" for n in range(1, 9)
    )

    assert "read_mse_loss" in read_text(text).metrics.names


def test_error_rates_between_words_that_only_say_how_they_were_averaged():
    text = "".join(
        f"Epoch: [{n}][9/9]\tTime 0.5 (0.5)\tLoss {9 / n:.4f} ({9 / n:.4f})\n"
        f"Validation Summary Epoch: [{n}]\tAverage WER {90 / n:.3f}\tAverage CER {60 / n:.3f}\n"
        for n in range(1, 5)
    )
    run = read_text(text + "WARNING: received an inf loss\nSkipping grad update\n")

    assert [value for _, value in points(run, "val_wer")] == [90.0, 45.0, 30.0, 22.5]
    assert len(points(run, "loss")) == 4
    assert "eval_loss" not in run.metrics.names
    assert any(event.kind == "nonfinite_loss_message" for event in run.events)


def test_held_out_losses_of_bars_that_are_called_val_with_a_full_stop():
    bars = "".join(
        f"Epoch {n}\n9/9 [====] - 2s - loss: {8 / n:.4f} - val. loss: {9 / n:.4f}\n" for n in (1, 2, 3)
    )

    assert [value for _, value in points(read_text(bars), "eval_loss")] == [9.0, 4.5, 3.0]


def test_two_columns_without_strokes():
    block = "replay_buffer/size             {0}000\ntrainer/QF1 Loss               0.25\ntrainer/Policy Loss           -3.5\nexploration/num steps total    {0}000\nEpoch                          {0}\n-----------------------------  -----\n"
    run = read_text("".join(block.format(n) for n in (1, 2, 3)))

    assert points(run, "policy_loss") == [(1000, -3.5), (2000, -3.5), (3000, -3.5)]
    assert read_text("trainer/__init__.py    12\nEvaluation/  done\n").metrics.names == ()


def test_parts_of_a_reward_whose_names_end_in_a_digit():
    block = "  Learning iteration {0}/9\n\n     Mean reward: {0}.5\nEpisode_Reward/joint_acc_l2: -0.25\n-----------------\n"
    run = read_text("".join(block.format(n) for n in (1, 2, 3)))

    assert points(run, "episode_reward/joint_acc_l2") == [(1, -0.25), (2, -0.25), (3, -0.25)]


@pytest.mark.parametrize("before", ["INFO:tensorflow:", "03/11/2019 12:00:01 - INFO - __main__ - "])
@pytest.mark.parametrize(
    ("rows", "loss"),
    [
        (["eval_loss = 1.25", "global_step = 90", "loss = 0.5"], 1.25),
        (["global_step = 90", "loss = 0.5"], 0.5),
    ],
)
def test_results_of_an_evaluation_row_by_row(before, rows, loss):
    text = "\n".join(
        f"{before}{row}"
        for row in ["***** Eval results *****", "  eval_recall = 0.0", *(f"  {r}" for r in rows)]
    )
    run = read_text(f"{text}\n")

    assert points(run, "eval_loss") == [(90, loss)]
    assert points(run, "val/recall") == [(90, 0.0)]
    assert "loss" not in run.metrics.names


def test_rows_of_two_tutorials():
    names = "5000 5% (0m 12s) 2.5000 Acme / Dutch ✗ (French)\n10000 10% (0m 21s) nan Acme / Dutch ✓\n"
    means = "1m 3s (- 14m 20s) (5000 6%) 2.8500\n2m 3s (- 13m 20s) (10000 12%) 2.7500\n"

    assert [step for step, _ in points(read_text(names), "loss")] == [5000, 10000]
    assert points(read_text(means), "loss") == [(5000, 2.85), (10000, 2.75)]


@pytest.mark.parametrize(
    ("row", "found"),
    [
        (
            "Epoch 00{0} | Train 0.{0}1 (acc 9{0}.5%) | Valid 0.{0}2 (acc 8{0}.5%)  *\n",
            {"loss": 0.31, "accuracy": 0.935, "eval_loss": 0.32, "eval_accuracy": 0.835},
        ),
        ("Epoch 00{0} | Train 0.{0}1 | Valid 0.{0}2\n", {"train": 0.31, "valid": 0.32}),
        (
            "Epoch {0} | Loss 0.{0}1 | Train 0.9{0} | Test 0.8{0}\n",
            {"loss": 0.31, "train": 0.93, "test": 0.83},
        ),
    ],
)
def test_numbers_between_strokes_that_are_called_by_their_phase(row, found):
    run = read_text("".join(row.format(epoch) for epoch in range(1, 4)))

    last = {name: points(run, name)[-1][1] for name in run.metrics.names}
    assert {name: pytest.approx(last[name]) for name in found} == last


def glued(form, values=(0.53125, 0.26512, 0.12543)):
    return "".join(form.format(n=n, v=v) + "\n" for n, v in enumerate(values, 1))


BY_EPOCH = [(None, 0.53125), (None, 0.26512), (None, 0.12543)]
BY_STEP = [(1, 0.53125), (2, 0.26512), (3, 0.12543)]


@pytest.mark.parametrize(
    ("text", "name", "told"),
    [
        ("\n".join(["mae0.53125", "mae0.26512", "mae0.12543"] * 2) + "\n", "mae", BY_EPOCH * 2),
        (glued("epoch{n}:the PSNR is21.531254the SSIM is{v}"), "ssim", BY_EPOCH),
        (glued("{n}step: current averaged_loss is ---------- {v}"), "loss", BY_STEP),
        (glued("epoch {n} accuracy :-------: {v}"), "accuracy", BY_EPOCH),
        (glued("ep{n}, MSE_05: {v};   MSE_10: 2.5;"), "mse_05", BY_EPOCH),
        (glued("[ 0.29 mins] After {n} epochs, the mean training loss is  {v}"), "loss", BY_EPOCH),
        (glued("Epoch {n}: Train_rf {v}   Memory 10.0%"), "train_rf", BY_EPOCH),
        (glued("Wed Apr  8 21:25:58 2026 [{n}] loss: {v}, time elapsed: 9.5"), "loss", BY_STEP),
        (glued("Training  [  {n}/5000]  eta: 3 days, 20:36:05  loss: {v} (0.75)"), "loss", BY_STEP),
        (glued("Epoch:[0  ][{n}  /90] Loss: {v}      lr 1e-05"), "loss", BY_STEP),
        (glued("Progress:  {n}% {n}/90 [05:51<01:03, 15.91it/s, Loss={v}]"), "loss", BY_STEP),
    ],
)  # fmt: skip
def test_what_no_sign_parts_is_read(text, name, told):
    run = read_text(text)
    assert points(run, name) == told


def test_the_place_of_a_call_is_no_quantity():
    run = read_text(glued("2026-01-01 10:00:0{n},000 (gan_trainer:202) INFO: {{'d_loss': tensor([{v}], device='cuda:0')}}"))  # fmt: skip
    assert list(run.metrics.raw_names) == ["d_loss"]


@pytest.mark.parametrize(
    "text",
    [
        glued("mAP50.{n} is a threshold", (1, 2, 3)),
        glued("---------- {n} ----------", (1, 2, 3)),
        glued("Epoch ---------- {n} ----------", (1, 2, 3)),
        glued("loss ---------- {n} ----------", (1, 2, 3)),
        glued("{v}% {n}/90 files", (1, 2, 3)),
        glued("no gain after {n} epochs, patience {v}", (1, 2, 3)),
    ],
)
def test_what_only_looks_alike_is_not(text):
    assert not read_text(text).metrics.raw_names


@pytest.mark.parametrize(
    ("text", "name", "told"),
    [
        (glued("[train]: 41%|##  | {n}/90 [18:39<23:39, 3.4it/s]2026-01-01 10:00:00,341 (gan:333) INFO: (Steps: {n}) train/loss = {v}"), "loss", BY_STEP),
        (glued("epoch 6 lr 4.5e-01\ntrain 10{n} {v}e+00 0.250000 0.750000"), "top1", [(101, 0.25), (202, 0.25), (303, 0.25)]),
        (glued("step: {n} fraction_of_correct_next_step_preds:{v} log_pplx:4.5 loss:4.5"), "fraction_of_correct_next_step_preds", BY_STEP),
        (glued("val, rank: 0, epoch: 4/50, slice: 0/1, step_in_slice: 7/8, in_epoch: 7, total step: {n}, (loss_avg_rank: 25.5), (loss_avg_slice: 32.5), (ppl_avg_slice: 1.5e+14), (acc_avg: 0.5), (lr: 1e-4), [('loss_ctc', 25.5), ('loss', {v})], {{'load': '0.5', 'forward_time': '0.5'}}, GPU memory usage: 2.5 GB"), "eval_loss", BY_EPOCH),
    ],
)  # fmt: skip
def test_rows_in_company_of_much_else_are_read(text, name, told):
    run = read_text(text)
    found = points(run, name) or points(run, "accuracy")
    assert [value for _, value in found] == [value for _, value in told]


def test_a_search_whose_shares_stand_the_other_way_is_none():
    assert not read_text(glued("train 10{n} {v}e+00 0.750000 0.250000")).metrics.raw_names


def test_redraws_of_a_bar_that_are_one_line_are_rows_of_their_own():
    bar = "mot/dla |###      | train: [0][{n}/90]|Tot: 0:17:09 |ETA: 0:44:08 |loss {v} |hm_loss 1.5 |Data 0.024s(0.5s)"
    run = read_text("".join(bar.format(n=n, v=v) for n, v in ((4, 2.5), (5, 2.25), (6, 2.0))) + "\n")
    assert points(run, "loss") == [(4, 2.5), (5, 2.25), (6, 2.0)]


def test_a_group_in_brackets_names_what_stands_behind_it():
    text = glued("iter {n}: [D] real {v} fake 0.5  [G] fake 1.5 reg 0.25")
    run = read_text(text)
    assert points(run, "d_real") == BY_STEP
    assert points(run, "g_fake") == [(1, 1.5), (2, 1.5), (3, 1.5)]
    assert points(read_text(glued("[info] loss {v} acc 0.25")), "loss") == BY_EPOCH  # one may be a level


def test_what_an_epoch_tells_beside_its_batches_is_a_mean():
    form = "Train Epoch: {n} [0/400 (0%)]\tLoss: {v}\n====> Epoch: {n} Average loss: 2.5\n====> Test set loss: 4.5\n"
    run = read_text("".join(form.format(n=n, v=v) for n, v in ((1, 3.5), (2, 1.5))))
    assert points(run, "loss") == [(None, 3.5), (None, 1.5)]
    assert points(run, "epoch/average_loss") == [(None, 2.5), (None, 2.5)]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("step 1 loss: 0.5\nstep 2 loss: 0.25\nChange of loss [8.5e-06] < tolerance [1e-05]\n", ["loss"]),
        (glued("Worker:2 Train Epoch: {n}, data size 12000, worker avg loss: {v}"), ["worker_avg_loss"]),
        (glued("Epoch: {n}/90\n Learning rate is set as: {v}\n loss: 0.5; acc: 5.0/9.0=0.5"), ["lr", "loss", "acc"]),
        (glued("{{'PG_loss': array({v}, dtype=float32), 'total_loss': array(2.5, dtype=float32), 'weight_norm': array(2.5, dtype=float32)}}"), ["PG_loss", "total_loss", "weight_norm"]),
    ],
)  # fmt: skip
def test_only_what_was_measured_is_a_series(text, names):
    assert sorted(read_text(text).metrics.raw_names) == sorted(names)


@pytest.mark.parametrize(
    "spelling", ["Change of loss [{v}]", "change in loss: {v}", "difference of loss [{v}] below"]
)
def test_what_a_loss_differs_by_is_no_loss(spelling):
    text = "".join(
        f"Epoch[{n}] Training: loss = {2 - n / 8}\n{spelling.format(v=0.001 * n + 0.0005)}\n"
        for n in range(1, 6)
    )

    assert [value for _, value in points(read_text(text), "loss")] == [2 - n / 8 for n in range(1, 6)]


@pytest.mark.parametrize(
    ("row", "kinds"),
    [
        # the part found of no boxes is 0/0, also where the row was cut off ahead of their number
        (
            "Region 94 Avg IOU: -nan, Class: -nan, Obj: -nan, No Obj: 0.5, .5R: -nan, .75R: -nan,",
            ["labelled_objects_none"],
        ),
        ("Region 94 Avg IOU: nan, Class: nan, Obj: nan, No Obj: nan, .5R: 0.000000, .75R: 0.000000,", []),
    ],
)
def test_a_row_of_darknet_that_was_cut_off_tells_that_it_held_no_object(row, kinds):
    told = [event.kind for event in read_text(row + "\n").events]

    assert [kind for kind in told if kind.startswith("labelled")] == kinds


def test_the_objectness_of_darknet_is_no_loss_of_objects():
    rows = (
        "Region 94 Avg IOU: 0.25, Class: 0.5, Obj: 0.125, No Obj: 0.5, .5R: 0.25, .75R: 0.0,  count: 4\n" * 3
    )

    assert points(read_text(rows), "obj") == []
    assert [value for _, value in points(read_text(rows), "obj_confidence")] == [0.125] * 3
