"""Rows that name their parts oddly, print meters and lists, or have other signs: one case of each class and its near misses."""

import json

import pytest
from log_reading import points, read_text

from analyzer.api import load
from analyzer.ingest.discover import load_run

ROWS = 24


def rows(form):
    """Rows of a form with falling values."""
    return "".join(form.format(e=i, s=i * 50, a=f"{2 / i + 0.1:.4f}", b=f"{0.9 / i + 0.2:.3f}") + "\n" for i in range(1, ROWS + 1))  # fmt: skip


@pytest.mark.parametrize(
    ("form", "metric", "step"),
    [
        ("Iteration [{s}/9000], loss: {a}, G/loss_id: {b}, avg: 0.{e}5", "g/loss_id", 50),
        ("step {s} | loss: {a} | loss_time_step_weight: {b}", "loss", 50),
        ("step {s}, loss: {a}, smooth: {b}", "smooth", 50),
        ("step {s}, accuracy: {a}, lr: {b}, momentum: 0.{e}5", "momentum", 50),
        ("Epoch: {e}/8 Train steps: 300 Val steps: 40 1m2.5s loss: {a} val_loss: {b}", "loss", None),
        ("(:epoch, {e}, :loss, {a}, :acc, {b})", "loss", None),
        ("Epoch({e}) Loss({a}) Lr({b})", "loss", None),
        ("step<{s}> loss<{a}>", "loss", 50),
        ("step {s} Losses: [{a}, {b}, 0.5]", "losses_1", 50),
        ("Train: [{e}][10/56] Time {a} ({b}) Aux {b} ({a}) Loss {a} ({b})", "aux", 10),
        ("Evaluation over 10 episodes: {a}", "eval_reward", None),
        ("Train loss {s} {a} Grad Norm {b}", "loss", 50),
        ("Train {e}, loss: {a}, train acc: {b}", "loss", 1),
        ("Epoch {e}: loss {a}, mean class IoU: {b}", "mean_class_iou", None),
        ("  Iteration {s}\t time lapse {b}s\t ll change {a}", "ll_change", 50),
        ("0, {s}, {a}, {b}, 0", "unnamed", 50),
        ("{e};{a};{b}", "unnamed_2", 1),
        ("FIT Batch {s}/9000, Loss    {a}, Recon-Loss    {b}, KL-Weight  0.{e}5", "kl-weight", 50),
        ("epoch: {e} |loss {a} | id_loss {b} | time 9.500000 | ", "id_loss", None),
        ("[sgd] ep=  {e}  total={a}  PDE={b} (w=0.5)  IN={a} (w=0.{e}5)", "in", None),
        ("[sgd] ep=  {e}  total={a}  PDE={b} (w=0.5)  WALL={a} (w=0.{e}5)", "wall", None),
        ("[Epoch {e}/90] [loss_h(G): {a}] [loss_h(D): {b}]", "loss_h_d", None),
        ("step={s} | loss={a} LB%={b}%", "lb", 50),
        ("step {s}: loss: {a}, Reward: {b} - 9.5 (ave: {a})", "max_reward", 50),
        ("Region {s} Avg IOU: {a}, Obj: {b}, .5R: {b}, .75R: {a},  count: 5", "r_75", None),
    ],
)
def test_a_row_is_read(form, metric, step):
    run = read_text(rows(form))
    names = {name.lower(): name for name in run.metrics.names}

    assert metric in names
    assert points(run, names[metric])[0][0] == step


def test_what_is_kept_besides_judges_nothing():
    told = rows("step={s} | loss={a} | wall {b} | eta {b} |")
    best = "".join(
        f"Epoch: {at}\nTrain loss: {2 / at:.4f}\nvalid_UA: 0.{at}5\nBest valid_UA: 0.975\n"
        for at in range(1, 9)
    )
    boxes = "".join(
        f"| % time spent exploring  | {99 - at}   |\n| mean 100 episode reward | {at}.5 |\n| steps | {at * 90} |\n---\n"
        for at in range(1, 9)
    )

    assert read_text(told).metrics.names == ("loss",)
    run = read_text(best)
    assert {value for _, value in points(run, "best_valid_ua")} == {0.975}
    assert 0.975 not in {value for _, value in points(run, "valid_ua")}
    assert points(read_text(boxes), "% time spent exploring")[0] == (90, 98.0)


@pytest.mark.parametrize(
    "text",
    [
        rows("settings: loss_weight: {a}, momentum: 0.9"),
        rows("range({e}) of split({s})"),
        rows("[{a} {b}]"),
        "".join(f"{i * i} {i}.5 {i}.25\n" for i in range(1, 25)),
    ],
)
def test_what_is_no_row_stays_unread(text):
    assert read_text(text + "epoch 1 loss: 0.5\n").metrics.names == ("loss",)


@pytest.mark.parametrize(
    ("data", "metric"),
    [
        ({"epochs": [{"epoch": 1, "train_loss": 2.5}, {"epoch": 2, "train_loss": 1.5}]}, "loss"),
        ({"agent": {"meta": {"seed": 1}, "rewards": [2.5, 1.5, 3.5]}}, "agent/rewards"),
        ({"history": {"train": {"loss": [2.5, 1.5, 0.5]}}}, "loss"),
        ({"1": {"loss": 2.5, "val": {"loss": 2.0}}, "2": {"loss": 1.5, "val": {"loss": 1.0}}}, "loss"),
        ({"0": {"val": {"loss": 2.5, "acc": 0.5}}, "1": {"val": {"loss": 2.0, "acc": 0.75}}}, "eval_loss"),
        ({"history": {"1": {"train_loss": 2.5}, "2": {"train_loss": 1.5}}}, "loss"),
    ],
)
def test_a_history_at_any_depth(tmp_path, data, metric):
    (tmp_path / "training_log.json").write_text(json.dumps(data))

    run = load_run(tmp_path, []).run

    assert metric in run.metrics.names
    assert points(run, metric)[0] == (1, 2.5)


@pytest.mark.parametrize("data", [{"1": {"loss": 2.5}}, {"1": {"loss": 2.5}, "7": {"loss": 1.5}}, {"1": {"size": 2.5}, "2": {"size": 1.5}}])  # fmt: skip
def test_numbers_that_count_no_epochs_name_no_rows(tmp_path, data):
    (tmp_path / "training_log.json").write_text(json.dumps(data))
    (tmp_path / "train.log").write_text("step 1 accuracy: 0.5\nstep 2 accuracy: 0.75\n")

    assert load_run(tmp_path, []).run.metrics.names == ("accuracy",)


@pytest.mark.parametrize("size", ["test 3413", "val: 1661", "Validation set: 440", "+++ test 0"])
def test_the_size_of_a_part_of_the_data_heads_no_evaluation(size):
    text = "".join(f"\titers: {i}00, epoch: 1 | loss: {2.5 / i}\n\tspeed: 0.25s/iter; left time: {90 - i}.5s\n" for i in range(1, 9))  # fmt: skip

    assert read_text(f"{size}\n{text}").metrics.names == ("loss", "step_time_s")


def test_json_lines_whose_first_holds_the_settings_are_rows(tmp_path):
    lines = [{"lr": 0.1, "batch_size": 8, "epochs": 9}, *({"lr": 0.1, "epoch": i, "train_loss": 2.5 - i} for i in range(3))]  # fmt: skip
    (tmp_path / "log.txt").write_text("".join(json.dumps(line) + "\n" for line in lines))

    assert [value for _, value in points(load_run(tmp_path, []).run, "loss")] == [2.5, 1.5, 0.5]


def test_a_number_in_names_that_never_come_again_is_an_index():
    run = read_text("".join(f"trainer_{n}_main loss: {2 / n} acc: 0.5\n" for n in range(1, 21)))

    assert points(run, "loss") == [(n, 2 / n) for n in range(1, 21)]


def test_the_losses_of_layers_that_come_again_keep_their_numbers():
    block = "".join(f"layer_{n}_loss: {{}}\n" for n in range(1, 13))
    run = read_text("".join(block.format(*[1 / k + n for n in range(12)]) for k in range(1, 5)))

    assert len(points(run, "layer_3_loss")) == 4
    assert not points(run, "loss")


def test_rows_that_were_not_read_are_told_with_the_first_line():
    rows = "".join(f"step {n}: loss 0.5\n" for n in range(1, 9))
    left = "".join(f"what our little {who} network gave us: loss: 0.25\n" for who in "abcdefgh")
    run = read_text(rows + left)

    told = [(gap.reason, gap.ref.line, gap.evidence) for gap in run.gaps]
    assert told == [("8 lines that look like rows of numbers were not read", 9, True)]


@pytest.mark.parametrize("head", ["PERFORMANCE ON TEST SET: ", "evl set : ", "Results on the dev data: "])
def test_words_that_name_the_data_are_no_prose(head):
    row = "step {n}: loss 2.5\n" + head + "loss = {v}, accuracy = 0.5\n"
    run = read_text("".join(row.format(n=n, v=v) for n, v in enumerate((0.5, 0.25, 0.125), 1)))

    assert [value for _, value in points(run, "eval_loss")] == [0.5, 0.25, 0.125]
    assert {value for _, value in points(run, "loss")} == {2.5}


def test_a_sentence_about_a_test_is_no_row():
    text = "step 1: loss 2.5\nstep 2: loss 2.5\nour colleagues tell that a test by others gave a loss of 0.5 or so\n"

    assert not points(read_text(text), "eval_loss")


def values_of(form, rows=6):
    lines = [
        form.format(n=at, a=f"{2 / at + 0.125:.4f}", b=f"{0.9 - 0.5 / at:.4f}", c=f"{1.5 / at + 0.25:.4f}")
        for at in range(1, rows + 1)
    ]
    run = read_text("\n".join(lines) + "\n")
    return {name: points(run, name)[0][1] for name in run.metrics.names}


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ("Epoch {n} | train_loss: {a}/{b}/{c}", {"loss": 2.125, "train_loss_2": 0.4, "train_loss_3": 1.75}),
        ("Epoch {n}\nval_losses {a} {c}", {"val_losses_2": 1.75}),
        ("Epoch {n} loss {a}\n MAP: {b}\n MAP 0.50: {c}", {"map@50": 1.75}),
        ("Epoch {n} loss {a}\nrecall class 1 = {b}", {"recall_class_1": 0.4}),
        ("Epoch {n} loss {a}\nhits (raw) @ 10: {b}", {"hits_raw@10": 0.4}),
        ("Epoch {n} loss {a}\n * LOSS - {c}, BLEU-4 - {b}", {"eval_loss": 1.75, "val_bleu_4": 0.4}),
        ("Epoch {n} loss {a}\nBest val acc: {b}", {"best_val_acc": 0.4}),
        ("Epoch {n} loss {a}\nbest test score so far {b} (epoch {n})", {"best_test_score_so_far": 0.4}),
        ("Epoch {n}, test error of the best model {b}", {"test_error": 0.4}),
        ("Step {n}\nmean reward {a}\nnoise_scale {b}", {"reward_mean": 2.125, "noise_scale": 0.4}),
        ("Epoch {n} loss {a}\nsurface_score {b} edge_distance {c}", {"edge_distance": 1.75}),
        ("epoch {n} - loss: {a} - S: {b} - L: {c}", {"s": 0.4, "l": 1.75}),
        ("[VAL] Averaged stats: loss: {a}\nEpoch {n} loss {c}", {"loss": 1.75, "eval_loss": 2.125}),
    ],
)
def test_every_number_of_a_row_is_read(form, expected):
    found = values_of(form)
    assert {name: found.get(name) for name in expected} == pytest.approx(expected)


@pytest.mark.parametrize(
    "form",
    [
        "Best val acc: {b}",  # of which rows?
        "Epoch {n} loss {a}\nBest learning rate found: {c}",
        "Epoch {n} loss {a}\nnew best params: {b}",
        "Epoch {n} loss {a}\nBest accuracy {b}, restored the weights of epoch {n}",
        "Epoch {n} loss {a}\nversion {b}",
    ],
)
def test_what_tells_nothing_of_the_rows_is_none(form):
    assert values_of(form).keys() <= {"loss"}


def test_a_best_so_far_is_no_course_of_its_own():
    assert {"best_val_acc", "loss"} == values_of("Epoch {n} loss {a}\nBest val acc: {b}").keys()


TWO = (1, 2)


def of_parts(form):
    return "".join(form.format(n=n, t=3 - n, v=4 - n, w=5 - n) for n in TWO)


@pytest.mark.parametrize(
    ("form", "first", "told", "other"),
    [
        (
            "Epoch {n} - train loss={t}.5\nValidation X2Y - loss={v}.5 ppl=9.5\nValidation Y2X - loss={w}.5 ppl=9.5\n",
            "eval_loss",
            [3.5, 2.5],
            ("part/val_y2x_val_loss", [4.5, 3.5]),
        ),
        (
            "Epoch {n} train loss: {t}.5\nVal loss: {v}.5\nTest loss: {w}.5\n",
            "eval_loss",
            [3.5, 2.5],
            ("part/test_loss", [4.5, 3.5]),
        ),
        (
            "Epoch {n} train loss: {t}.5\nDev: time: 16.5s; acc: 0.{v}5\nTest: time: 9.5s; acc: 0.{w}5\n",
            "eval_accuracy",
            [0.35, 0.25],
            ("part/test_val_acc", [0.45, 0.35]),
        ),
        (
            "iters: 100, epoch: {n} | loss: {t}.5\n---start to validate---\nmse:{v}.5, mae:0.5\n---start to test---\nmse:{w}.5, mae:0.5\n",
            "val_mse",
            [3.5, 2.5],
            ("part/test_val_mse", [4.5, 3.5]),
        ),
        # a set alone is what a training is judged by, whatever it is called
        ("Epoch {n} train loss: {t}.5\nTest loss: {w}.5\n", "eval_loss", [4.5, 3.5], None),
        ("Epoch {n} train loss: {t}.5\nValidation Summary - loss={w}.5\n", "eval_loss", [4.5, 3.5], None),
        ("Epoch {n} train loss: {t}.5\nEval loss: {v}.5\n", "eval_loss", [3.5, 2.5], None),
    ],
)
def test_a_second_set_is_a_series_of_its_own(form, first, told, other):
    run = read_text(of_parts(form))
    assert [value for _, value in points(run, first)] == told
    if other is None:
        assert not any(name.startswith("part/") for name in run.metrics.names)
    else:
        assert [value for _, value in points(run, other[0])] == other[1]


def test_a_list_below_the_heading_of_an_evaluation_ends_where_a_name_comes_again():
    scores = "".join(f"R@{k} : {k}.5\n" for k in (1, 2, 4, 8, 16, 32))
    run = read_text(
        f"Epoch: 1, loss: 4.5\n**Evaluating...**\n{scores}Epoch: 2, loss: 3.5\n**Evaluating...**\n{scores}"
    )
    assert points(run, "val_r@32") == [(None, 32.5), (None, 32.5)]
    assert not points(run, "r@32")


def test_words_for_a_set_that_is_held_out():
    run = read_text("client [1] (trainset) loss: 2.5 -> 0.5\nclient [1] (valset) loss: 3.5 -> 0.75\n" * 3)
    assert [value for _, value in points(run, "loss")] == [0.5] * 3
    assert [value for _, value in points(run, "eval_loss")] == [0.75] * 3
    run = read_text(
        "step 100 loss: 0.5\nMean PSNR on holdout set: 9.5\nstep 200 loss: 0.25\nMean PSNR on holdout set: 9.75\n"
    )
    assert points(run, "holdout_mean_psnr") == [(100, 9.5), (200, 9.75)]


def test_behind_an_arrow_of_any_length_stands_what_a_value_became():
    run = read_text(
        "Train Loss: 2.5 | Valid Loss: inf ===========> 3.5 | saved\nTrain Loss: 1.5 | Valid Loss: 3.5 => 1.75 | saved\n"
        * 2
    )
    assert [value for _, value in points(run, "eval_loss")] == [3.5, 1.75] * 2


def test_what_counts_does_not_change_behind_an_arrow():
    run = read_text("".join(f"fold: {n} => 0.8{n} auc, loss: 0.4\n" for n in range(1, 7)))
    assert "fold" not in run.metrics.names


def test_when_the_best_was_is_not_where_a_row_stands():
    run = read_text("step 100 loss: 0.5\nEvaluation:\n[Set9 x4] PSNR: 25.5 (Best: 26.5 @epoch 1)\n" * 2)
    assert [value for _, value in points(run, "val_psnr")] == [25.5, 25.5]


def test_a_score_of_both_kinds_of_data_is_a_row_of_a_log_without_any():
    run = read_text("train_acc 99.25\nvalid_acc 96.75\n")
    assert points(run, "accuracy") == [(None, 99.25)]
    assert points(run, "eval_accuracy") == [(None, 96.75)]
    assert not read_text("valid_acc 96.75\n").metrics.raw_names


def test_an_evaluation_whose_bar_is_left_when_nearly_full_counts():
    form = "Epoch 7/9, loss=6.5: 100%|####| 24/24 [07:24<00:00,  2.29samples/s]\nValidating, loss={v}:  {p}%|###| {n}/100 [00:40<00:02,  6.63samples/s]\n"
    assert [value for _, value in points(read_text(form.format(v=8.5, p=95, n=95)), "eval_loss")] == [8.5]
    assert not points(read_text(form.format(v=8.5, p=50, n=50)), "eval_loss")


@pytest.mark.parametrize(
    ("name", "metric"), [("eval_miou.log", "eval_miou"), ("notes_on_miou.log", "number")]
)
def test_a_file_that_is_named_for_a_metric_names_its_numbers(tmp_path, name, metric):
    (tmp_path / name).write_text("".join(f"iteration {n}000      0.3{n}\n" for n in range(1, 8)))
    assert list(load(tmp_path).metrics.raw_names) == [metric]


def test_numbers_below_the_headings_of_epochs_that_begin_anew_are_read():
    values = [2.5 - at / 40 for at in range(40)]
    headed = (
        (f"Epoch {1 + at // 5 % 4}/4 Losses\n" if at % 5 == 0 else "", value)
        for at, value in enumerate(values)
    )

    assert [
        value
        for _, value in points(read_text("".join(f"{head}{value}\n" for head, value in headed)), "unnamed")
    ] == values


def test_a_hyphen_parts_a_counter_that_runs_on_from_its_value():
    values = [64.5 / at for at in range(1, 13)]
    rows = "".join(f"{at:04d}-{value:.4f}\n" for at, value in enumerate(values, 1))

    assert points(read_text(rows), "unnamed") == [(at, round(value, 4)) for at, value in enumerate(values, 1)]
    assert not len(read_text(rows.replace("0007-", "0070-")).metrics)  # what does not run on names something
    assert read_text(rows + "epoch 1 loss 0.5\n").metrics.names == ("loss",)


def test_the_share_that_a_tutorial_tells_before_its_loss_is_read_behind_any_prefix():
    rows = [f"0m {at}s ({at}000 {at}%) {2.5 - at / 8}" for at in (1, 2, 3)]

    for form in ("{}\n", "INFO---->fit--->2026-01-01 10:37:30,456--->{}\n", "[fit] {}\n"):
        run = read_text("".join(form.format(row) for row in rows))
        assert points(run, "loss") == [(at * 1000, 2.5 - at / 8) for at in (1, 2, 3)]
    assert not len(read_text("".join(f"it took {row}\n" for row in rows)).metrics)


def test_the_script_of_conll_scores_all_classes_on_one_line_and_each_on_its_own():
    all_classes = "accuracy:  92.25%; precision:  62.50%; recall:  37.50%; FB1:  46.88\n"
    each = "              LOC: precision:  50.00%; recall:  25.00%; FB1:  33.33  8\n"
    run = read_text(
        f"processed 900 tokens with 8 phrases; found: 8 phrases; correct: 3.\n{all_classes}{each}"
    )

    assert points(run, "accuracy") == [(None, 92.25)]
    assert points(run, "fb1") == [(None, 46.88)]


def test_a_row_of_many_evaluators_behind_the_place_of_the_call_is_read():
    many = "".join(f" evaluator={at / 128:.6f}" for at in range(128))
    stamp = "Mon, 05 Jan 2026 16:39:48 train.py[line:227] INFO "
    run = read_text("".join(f"{stamp}Batch={at}000 AvgCost={2.5 - at / 8} Eval:{many}\n" for at in (1, 2, 3)))

    assert len(many) > 2_000
    assert points(run, "avgcost") == [(at * 1000, 2.5 - at / 8) for at in (1, 2, 3)]
