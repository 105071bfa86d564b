"""Rows that name no step, names in brackets, accuracies alone, and tables and rows of single programs."""

import pytest
from log_reading import points, read_text


def test_rows_without_a_place_are_a_series_once_three_have_come():
    rows = [
        f"2024-01-01 00:0{i}:00,000:INFO: train loss:{value}" for i, value in enumerate((1.5, 1.25, "nan"))
    ]

    assert points(read_text(rows[0] + "\n"), "loss") == []
    assert points(read_text("\n".join(rows) + "\n"), "loss") == [(None, 1.5), (None, 1.25), (None, "nan")]


def test_a_lone_row_is_read_where_nothing_else_was_if_it_tells_of_a_nan_or_names_three_quantities():
    assert points(read_text("box_loss: 0.5 | cls_loss: nan\n"), "cls_loss") == [(None, "nan")]
    several = read_text("mean loss: 0.5\naccuracy: 0.75\n----\neval mean loss: 2.5\neval accuracy: 0.25\n")
    assert points(several, "eval_loss") == [(None, 2.5)]
    assert points(several, "eval_accuracy") == [(None, 0.25)]
    assert "loss" not in read_text("mean loss: 0.5\n").metrics.names
    others = "".join(f"epoch {at} loss {2.5 - at / 4}\n" for at in range(4))
    assert (
        "cls_loss"
        not in read_text(others + "it is done\n" * 20 + "box_loss: 0.5 | cls_loss: nan\n").metrics.names
    )


@pytest.mark.parametrize(
    ("row", "metric"),
    [
        ("ppl 171.25 bleu {}.5\n", "perplexity"),
        ("{{'actor_loss': 0.5, 'critic_loss': {}.5}}\n", "policy_loss"),
        ("INFO:my-train:loss={}.5, acc=0.125\n", "loss"),
    ],
)
def test_two_rows_of_one_form_are_a_series_where_nothing_else_was_read(row, metric):
    others = "".join(f"epoch {at} accuracy {0.5 + at / 8}\n" for at in range(4)) + "it is done\n" * 20

    assert len(points(read_text(row.format(3) + row.format(4)), metric)) == 2
    assert len(points(read_text(row.format(3)), metric)) == 1  # two names of one row
    assert metric not in read_text(others + row.format(3)).metrics.names


def test_the_perplexities_of_both_sorts_of_data_on_one_line_are_a_row():
    run = read_text("train_ppl: 12.5 val_ppl: 320.5\n")

    assert (points(run, "perplexity"), points(run, "eval_perplexity")) == ([(None, 12.5)], [(None, 320.5)])


def test_a_nan_is_read_beside_more_words_where_nothing_else_is():
    row = "head of small parts, loss: {}, cls_loss: 0.5, box_loss: 0.25\n"
    others = "".join(f"epoch {at} loss {2.5 - at / 4}\n" for at in range(4))

    assert points(read_text(row.format("nan") * 2), "loss") == [(None, "nan")] * 2
    assert "loss" not in read_text(row.format(2.5) * 4).metrics.names
    assert "cls_loss" not in read_text(others + "it is done\n" * 20 + row.format("nan")).metrics.names


def test_an_error_of_the_training_makes_a_row_as_a_loss_does_and_so_does_one_that_is_none():
    rows = "".join(f"Average Train mse :  {value}\n" for value in (2.5, 2.25, 2.0))

    assert [value for _, value in points(read_text(rows), "average_train_mse")] == [2.5, 2.25, 2.0]
    assert points(read_text("val mse: nan\n"), "val_mse") == [(None, "nan")]
    assert not read_text("test mse: 0.5\n" * 3).metrics.names


def test_a_list_of_classes_beside_the_quantities_makes_no_sentence_of_a_row():
    row = "head : ['small', 'large', 'far'], loss: {}, cls_loss: 0.5, box_loss: 0.25\n"

    run = read_text("".join(row.format(value) for value in (2.5, 2.25, 2.0)))

    assert [value for _, value in points(run, "loss")] == [2.5, 2.25, 2.0]


def test_parts_below_the_word_loss_are_read_and_so_is_their_total():
    row = "boxes 9, found 0, loss: x 0.5, h {0}, conf 2.5, total {0}\n"

    assert points(read_text(row.format("nan")), "loss") == [(None, "nan")]
    run = read_text("".join(row.format(value) for value in (8.5, 6.5, 4.5)))
    assert [value for _, value in points(run, "loss_h")] == [8.5, 6.5, 4.5]


def test_rows_of_nothing_but_counters_and_nan_are_what_broke():
    rows = "".join(
        f"   0/99     {n}/800       nan       nan       nan        16     0.25\n" for n in range(18, 24)
    )

    assert points(read_text(rows), "unnamed") == [(n, "nan") for n in range(18, 24)]
    assert "unnamed" not in read_text(rows.replace("nan", "3.5")).metrics.names


def test_what_a_nan_becomes_as_an_integer_is_no_loss():
    rows = "".join(f"epoch {at} loss: {value}.000\n" for at, value in enumerate((2, 2**63, -(2**63))))

    assert points(read_text(rows), "loss") == [(None, 2.0), (None, "nan"), (None, "nan")]


def test_a_score_of_an_epoch_that_no_row_of_a_step_shows_is_no_mean_of_them():
    rows = "".join(f"step {at} train_loss: {2.5 - at / 8}\n" for at in range(1, 4))
    run = read_text(
        rows
        + "epoch 1 average loss: 2.25\ncurrent epoch: 1 current mean dice: 0.25 best mean dice: 0.5 at epoch 1\n"
    )

    assert [value for _, value in points(run, "mean_dice")] == [0.25]
    assert len(points(run, "loss")) == 3


def test_the_shape_of_an_array_is_no_place():
    run = read_text("step 4 loss 2.5\n(900, 512)\nval loss: 2.25\nstep 6 loss 2.0\n")

    assert points(run, "eval_loss") == [(4, 2.25)]


@pytest.mark.parametrize("form", ["{}", "tensor({})", "tensor({}, device='cuda:0')", "tensor([{}])"])
def test_numbers_alone_that_end_in_nan_are_a_series_unless_other_rows_are_there(form):
    alone = "".join(form.format(value) + "\n" for value in ("3.25", *["nan"] * 5))
    others = "".join(f"epoch {at} loss {2.5 - at / 4}\n" for at in range(4))

    assert points(read_text(alone), "unnamed") == [(None, 3.25), *[(None, "nan")] * 5]
    assert (
        points(
            read_text("".join(form.format(value) + "\n" for value in (3.25, 3.5, 3.0, 3.25, 3.5))), "unnamed"
        )
        == []
    )
    assert "unnamed" not in read_text(others + alone).metrics.names


@pytest.mark.parametrize(
    "line",
    [
        "the training loss is 2.5 and that is what we want to see here",
        "loss_weight: 1.0",
        "saved the best model with loss: 0.5",
    ],
)
def test_prose_and_settings_that_repeat_are_no_series(line):
    assert "loss" not in read_text((line + "\n") * 5).metrics.names


def test_a_dictionary_whose_quotes_a_forum_has_turned():
    rows = "".join(
        f"{{\u2018loss\u2019: {loss}, \u2018grad_norm\u2019: 2.5, \u2018epoch\u2019: 0.{at}}}\n"
        for at, loss in enumerate((1.5, 1.25, 1.125))
    )
    run = read_text(rows)

    assert points(run, "loss") == [(None, 1.5), (None, 1.25), (None, 1.125)]
    assert points(run, "grad_norm") == [(None, 2.5)] * 3


@pytest.mark.parametrize(
    ("row", "metric", "point"),
    [
        ("[epoch]: 3, [batch]: 200, [loss]: 4.5", "loss", (200, 4.5)),
        ("E5 | [Loss] 2.25 | [step]    89 | [url] none", "loss", (89, 2.25)),
        ("Step: 200; Accuracy: 0.0625; Time (200 Steps): 37.5", "accuracy", (200, 0.0625)),
        ("\tEpoch: 0003 cost= 21.5", "loss", (None, 21.5)),
        ("Epoch 2 train Loc Loss: 0.5 Cls Loss: 0.25 Tot Loss: 0.75 Accu :0.125", "loss", (None, 0.75)),
        ("epoch 7 best test acc: 0.75, train loss: 1.5; train acc: 0.5 val acc: 0.25", "loss", (None, 1.5)),
        ("[  1]    1000 || B: 4.5 | C: 6.5 | T: inf || ETA: 1 day, 0:00:00 || timer: 0.250", "loss", (1000, float("inf"))),
        (
            "epoch:        8 | nupdates:        2000 | lr: 0.400000 | lrcriterion: 0.000000 | loss:   30.50000 | train-WER: 100.00",
            "loss",
            (2000, 30.5),
        ),
        (
            "Epoch  1,    50/1000; acc:   0.25; ppl: 26881171418161356094253400435962903554686976.00; 10 src tok/s",
            "perplexity",
            (50, 2.6881171418161356e43),
        ),
    ],
)  # fmt: skip
def test_further_forms_of_a_row(row, metric, point):
    assert points(read_text(row + "\n"), metric) == [point]


def test_yolov6_prints_its_table_without_memory():
    run = read_text(
        "     Epoch  iou_loss  dfl_loss  cls_loss\n     43/99         0     0.125   0.03125: 100%|##| 106/106 [00:16<00:00,\n"
    )

    assert [value for _, value in points(run, "iou_loss")] == [0.0]
    assert [value for _, value in points(run, "cls_loss")] == [0.03125]


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("InvalidArgumentError'>, LossTensor is inf or nan. : Tensor had NaN values", "nan_stop"),
        ("RuntimeError:  [!] NaN loss with decoder_loss.", "nan_stop"),
        ("WARNING | Skipping batch at iter 10 (epoch 2, batch 3): non-finite loss", "nonfinite_loss_message"),
    ],
)
def test_lines_that_tell_of_a_failure(line, kind):
    assert kind in {event.kind for event in read_text(line + "\n").events}


@pytest.mark.parametrize(
    "line",
    ['    raise RuntimeError(f" [!] NaN loss with {key}.")', "| aAcc  | mIoU  |", "|  100.0 | 100.0 |"],
)
def test_lines_that_tell_of_none(line):
    assert not {event.kind for event in read_text(line + "\n").events}


@pytest.mark.parametrize(
    "heading",
    [
        "Evaluation Results:",
        "***** Validation *****",
        "Evaluating...",
        "dev results ---",
        "### validation on valid data ###",
    ],
)
def test_a_bare_row_below_a_heading_of_an_evaluation_is_no_training_loss(heading):
    rows = "".join(
        f"Loss: {3 - i / 10}\nLoss: {3 - i / 10 - 0.05}\n{heading}\nLoss: 9.{i}\n\n\n\n\n" for i in range(4)
    )
    run = read_text(rows)

    assert max(value for _, value in points(run, "loss")) <= 3.0
    assert [value for _, value in points(run, "eval_loss")] == [9.0, 9.1, 9.2, 9.3]


@pytest.mark.parametrize(
    "row", ["{n} {loss}", "Epoch {n}/12: {loss}", "[Epoch {n}/12] {loss}", "step {n}: {loss}"]
)
def test_a_counter_and_a_number_that_does_not_rise_are_a_curve(row):
    losses = [0.75 - 0.03125 * n for n in range(12)]
    run = read_text("".join(row.format(n=n + 1, loss=loss) + "\n" for n, loss in enumerate(losses)))

    assert [value for _, value in points(run, "unnamed")] == losses
    rising = read_text("".join(row.format(n=n + 1, loss=0.5 + n / 8) + "\n" for n in range(12)))
    assert rising.metrics.names == (() if row.startswith("{n}") else ("number",))


def test_what_a_logger_and_a_tensor_print_around_numbers_are_no_words_of_a_row():
    rows = "".join(
        f"2024-01-01 00:00:0{i},000 - train - INFO - rl_loss: {value}, reward: {i}.5, extra: {{'clamped': tensor(0.25, device='cuda:0')}}\n"
        for i, value in enumerate((0.5, 0.25, 0.125))
    )

    assert [value for _, value in points(read_text(rows), "reward_mean")] == [0.5, 1.5, 2.5]
    assert points(read_text("12:00 Actor INFO episodic returns: 26.0, episode: 4\n"), "reward_mean") == [
        (4, 26.0)
    ]


def test_an_evaluation_below_a_bar_stands_where_the_bar_ended_not_where_it_began():
    rows = ""
    for epoch, loss in ((1, 1.5), (2, 1.25), (3, 1.0)):
        title = f"\rEpoch {epoch}/3:"
        rows += f"{title}   0%|          | 0/20 [00:00<?, ?it/s]"
        rows += f"{title}  50%|█████     | 10/20 [00:01<00:01, 9.00it/s, acc=0.250, loss={loss + 0.5}]"
        rows += f"{title} 100%|██████████| 20/20 [00:02<00:00, 9.00it/s, acc=0.500, loss={loss + 0.25}]"
        rows += f"\nValidation: loss={loss}, accuracy=0.75\n"

    assert points(read_text(rows), "eval_loss") == [(20, 1.5), (40, 1.25), (60, 1.0)]


@pytest.mark.parametrize(
    ("title", "metric"),
    [
        ("Training loss per epoch:", "loss"),
        ("- For the training we have the following accuracy:", "accuracy"),
        ("Test accuracy:", "eval_accuracy"),
    ],
)
def test_counters_with_a_number_below_a_line_that_names_it_are_its_rows(title, metric):
    rows = "".join(f"epoch {at}: {at / 8}\n" for at in range(0, 20, 5))

    assert points(read_text(f"{title}\n{rows}"), metric) == [(0, 0.0), (5, 0.625), (10, 1.25), (15, 1.875)]


@pytest.mark.parametrize(
    "text",
    [
        "Test accuracy:\nfold 1: 0.9\nfold 2: 0.8\nfold 3: 0.875\n",
        "Training loss:\nepoch 1: 0.5\nepoch 7: 0.5\nepoch 9: 0.25\n",
        "Settings:\nepoch 1: 0.1\nepoch 2: 0.2\nepoch 3: 0.3\n",
    ],
)
def test_below_other_lines_few_of_them_are_no_rows(text):
    assert list(read_text(text).metrics.names) == []


def test_numbers_beside_a_counter_that_comes_back_to_its_first_are_rows_of_several_launches():
    rows = [f"{at}, {9 - 0.5 * at}, {20 + at}.5\n" for at in range(8)]
    jumps = [
        f"{at}, {9 - 0.5 * number}, 20.5\n" for number, at in enumerate([3, 9, 4, 80, 3, 5, 7, 1, 2, 6, 3])
    ]

    steps = [step for step, _ in points(read_text("".join(rows * 2)), "unnamed")]
    assert steps == [*range(8), *range(8)]
    assert list(read_text("".join(jumps)).metrics.names) == []


def test_rows_of_an_epoch_that_go_on_and_on_are_all_read():
    batches = "".join(
        f"----{at}-----\nmean loss: {1 - at / 100}\naccuracy: {at / 100}\nsum: 0.0\n" for at in range(9)
    )
    run = read_text("".join(f"**** EPOCH {n} ****\n{batches}" for n in range(3)))

    assert len(points(run, "loss")) == len(points(run, "accuracy")) == 27


def test_a_list_of_results_is_read_to_its_end():
    names = [
        f"eval_{score}_{of}" for score in ("f1", "precision", "recall") for of in ("cat", "dog", "owl", "all")
    ]
    run = read_text("Fold 1 Results:\n" + "".join(f"  {name:24}: 0.75\n" for name in names))

    assert sorted(run.metrics.raw_names) == sorted(names)


def test_rows_at_parts_of_an_epoch_are_read_and_have_no_step():
    rows = "Training (epoch 0): loss = 2.5, lr = 0.01\nTraining (epoch 0.25): loss = 2.25, lr = 0.01\n"

    assert points(read_text(rows), "loss") == [(None, 2.5), (None, 2.25)]


def test_how_many_were_right_may_stand_behind_the_epochs_that_were_planned():
    rows = "".join(f"Running epoch\t{n} /\t90 | {8000 + 99 * n * n} / 10000\n" for n in range(1, 5))

    assert points(read_text(rows), "accuracy")[0] == (1, 0.8099)


def test_two_losses_in_brackets_behind_each_network_are_read():
    rows = "".join(f">{n}, dA[{1 / n},0.75] dB[0.5,0.25] g[9.5,{9 + n / 4}]\n" for n in (1, 2, 4))

    assert points(read_text(rows), "da_1") == [(1, 1.0), (2, 0.5), (4, 0.25)]


@pytest.mark.parametrize(
    ("row", "read"),
    [("mAP:  nan", True), ("mean dice: nan", True), ("mAP:  0.5", False), ("size: nan", False)],
)
def test_a_lone_score_that_is_no_number_is_told_where_nothing_else_was_read(row, read):
    assert bool(len(read_text(f"Evaluating\n{row}\n").metrics)) == read


def test_scores_of_two_evaluations_are_read_in_the_block_that_tells_their_loss():
    block = "eval_loss = {}\neval_precision = 0.0\neval_f1 = 0.0\n\n"
    run = read_text(block.format(0.625) + block.format(0.75) + "epoch = 2.0\n")
    assert [value for _, value in points(run, "eval_f1")] == [0.0, 0.0]
    assert [value for _, value in points(run, "eval_precision")] == [0.0, 0.0]

    run = read_text(
        "eval_loss = 0.625\n"
        + "\n" * 9
        + "eval_f1 = 0.0\n"
        + "\n" * 9
        + "eval_loss = 0.75\n"
        + "\n" * 9
        + "eval_f1 = 0.0\n"
    )
    assert not points(run, "eval_f1")


def test_a_score_behind_the_last_row_is_of_held_out_data_and_one_ahead_of_it_may_be_anything():
    rows = "".join(f"Epoch {n}/9 loss: {3 / n}\n" for n in range(1, 10))
    answers = "Prediction: 0, True: 0\n" * 90

    assert points(read_text(f"{rows}{answers}Accuracy:  0.75\n"), "eval_accuracy") == [(None, 0.75)]
    assert "eval_accuracy" not in read_text(f"Accuracy:  0.75\n{answers}{rows}").metrics.names


@pytest.mark.parametrize("values", ["flat", "rising"])
def test_a_column_of_numbers_that_does_not_fall_is_read_and_stands_for_no_loss(values):
    rise = 0.01 if values == "rising" else 0.0
    text = "".join(f"{0.5 + rise * at + (at * 7 % 5) / 100:.12f}\n" for at in range(40))
    run = read_text(text)

    assert len(points(run, "number")) == 40
    assert "unnamed" not in run.metrics.names


def test_a_number_of_many_digits_behind_a_counter_and_a_comma_is_no_part_of_it():
    text = "".join(f"{50 * at},{300.125 / at:.14f},-{1134.25:.12f}\n" for at in range(1, 12))

    assert points(read_text(text), "unnamed")[:2] == [(50, 300.125), (100, 150.0625)]


def test_a_number_in_brackets_between_a_score_and_its_value_is_its_step():
    text = "Iteration: 0 Loss: 0.5\nAccuracy (499): 0.875\nAccuracy (999): 0.9375\n"

    assert points(read_text(text), "accuracy") == [(499, 0.875), (999, 0.9375)]


def test_a_bar_titled_with_both_losses_is_one_of_training():
    bar = "train loss: {} | test loss: {} | reg: 2.5 : 100%|██████| 50/50 [00:12<00:00,  3.98it/s]\n"
    run = read_text("".join(bar.format(*losses) for losses in [(2.5, 2.75), (1.5, 1.75), (1.5, 2.75)]))

    assert points(run, "loss") == [(50, 2.5), (100, 1.5), (150, 1.5)]
    assert [value for _, value in points(run, "eval_loss")] == [2.75, 1.75, 2.75]


def test_an_optimiser_that_ends_at_no_number_is_told():
    run = read_text(
        "Optimization terminated with:\n  Objective function value: nan\n  Number of iterations: 9\n"
    )

    assert points(run, "train_objective") == [(None, "nan")]


def test_a_whole_number_beside_a_step_in_the_first_row_may_be_no_epoch():
    rows = "".join(f"episode: {n}/90, score: {20 * n}, e: {1 - (n - 1) / 16:.4g}\n" for n in range(1, 6))

    assert points(read_text(rows), "reward_mean") == [(n, 20 * n) for n in range(1, 6)]


def test_dicts_of_both_phases_within_one_are_read_by_their_phases():
    row = "epoch {}: {{'train': {{'loss': {}, 'dice': 0.25}}, 'val': {{'loss': {}, 'dice': 0.125}}}}\n"
    run = read_text("".join(row.format(n, 2 / n, 3 / n) for n in range(1, 5)))

    assert [value for _, value in points(run, "loss")][:2] == [2.0, 1.0]
    assert [value for _, value in points(run, "eval_loss")][:2] == [3.0, 1.5]


@pytest.mark.parametrize(
    "row",
    [
        "epoch-{n}-loss-{value}-acc-0.25",
        "{value} (loss) 3.25 (gn) 1.0e-06 (lr) @ step {n}",
        "{n} [['loss', {value}], ['mae', 9.5]]",
        '<epoch n="{n}"><loss>{value}</loss><acc>0.25</acc></epoch>',
        "At iterate    {n}    f=  {value}D+00    |proj g|=  2.25D+00",
        "[{n}] model_loss {value} / actor_ent 1.5 / fps 9.5",
        "trn   {n} {value}",
    ],
)
def test_names_and_values_in_another_order_are_read(row):
    run = read_text("".join(row.format(n=n, value=2.5 / n) + "\n" for n in range(1, 6)))
    read = {name: [value for _, value in points(run, name)] for name in run.metrics.names}

    assert [2.5, 1.25] in [values[:2] for values in read.values()], read


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("INFO:root:Mean Average Precision on VALID Set: 0.000000", "mean_valid_average_precision"),
        ("Test accuracy: 0.0", "eval_accuracy"),
        ("Test F1: 0.0", "test_f1"),
    ],
)
def test_a_result_of_nothing_right_is_told_where_a_log_tells_nothing_else(line, name):
    assert points(read_text(f"loading\n{line}\n"), name) == [(None, 0.0)]
    assert points(read_text("loading\n" + line.replace("0.0", "0.5") + "\n"), name) == []
