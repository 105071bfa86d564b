"""Tables of scores that an evaluation prints whole: a head and one row, again and again."""

import pytest
from log_reading import points, read_text

BOXES = (
    "[01/01 00:00:00 d2.evaluation]: Evaluation results for {}: \n"
    "|  AP   |  AP50  |  AP75  |  APs  |\n|:-----:|:------:|:------:|:-----:|\n| {} | 40.125 | 22.000 |  nan  |\n"
)
PIXELS = (
    "Iter [{}/900]\tlr: 9.9e-03, eta: 0:10:00, time: 0.5, data_time: 0.01, memory: 9000, loss: 0.7\nSummary:\n"
    "+-------+-------+\n|  aAcc |  mIoU |\n+-------+-------+\n| 80.25 | {} |\n+-------+-------+\n"
)
DEPTHS = "Epoch: 00{} - 025\n=======\n     d1    abs_rel     rmse   rmse_log \n=======\n  0.250     0.5     {}   0.750 \n"


def test_the_rows_of_one_head_are_those_of_one_kind_of_result():
    run = read_text(
        "".join(BOXES.format(*row) for row in (("bbox", 1.5), ("segm", 2.5), ("bbox", 3.5), ("segm", 4.5)))
    )

    assert [value for _, value in points(run, "val_bbox_ap")] == [1.5, 3.5]
    assert [value for _, value in points(run, "val_segm_ap")] == [2.5, 4.5]
    assert points(run, "val_bbox_aps") == []  # no such object was there


def test_an_evaluation_stands_at_the_step_that_the_training_has_reached():
    run = read_text("".join(PIXELS.format(at, 40.0 + at / 100) for at in (100, 200)))

    assert points(run, "val_miou") == [(100, 41.0), (200, 42.0)]


def test_columns_of_which_some_are_known_scores():
    run = read_text("".join(DEPTHS.format(at, 2.5) for at in (1, 2, 3)))

    assert [value for _, value in points(run, "val_rmse")] == [2.5, 2.5, 2.5]
    assert [value for _, value in points(run, "val_d1")] == [0.25, 0.25, 0.25]


@pytest.mark.parametrize(
    "text",
    [
        BOXES.format("bbox", 1.5),
        "precision  recall  f1-score  support\n0  0.5  0.5  0.5  10\n" * 2,
        "the mAP  and the recall\nof both\n" * 2,
    ],
)
def test_a_single_result_and_a_report_of_classes_are_no_course(text):
    assert read_text(text).metrics.names == ()


@pytest.mark.parametrize("mark", ["", "**"])
def test_between_strokes_a_comma_parts_thousands(mark):
    rows = "".join(
        f"| {step} | {mark}{loss}{mark} | 80.25% |\n" for step, loss in (("500", 4.5), ("1,500", 4.25))
    )
    run = read_text(f"| Step | Validation loss | WER |\n|---:|---:|---:|\n{rows}")

    assert points(run, "eval_loss") == [(500, 4.5), (1500, 4.25)]


def again(head, row, count=5):
    """A head and one row below it, again and again, in a frame of strokes."""
    return "".join(
        f"+---+---+\n{head}\n+---+---+\n{row.format(e=e, a=0.9 - e / 10, b=0.95 - e / 10)}\n+---+---+\n"
        for e in range(1, count + 1)
    )


@pytest.mark.parametrize(
    ("text", "metric"),
    [
        (again("| Epoch | Fresh | Kept@9 |", "|  {e}  | {a:.2f} | {b:.2f} |"), "fresh"),
        (again("┃ Part ┃ Train Loss ┃ Valid Loss ┃", "│ {e} │ {a:.2f} │ {b:.2f} │"), "loss"),
        (
            "| epoch | train loss | left        |\n"
            + "".join(f"|     {e} |       0.{9 - e}0 |  1h {e:2d}m  5s |\n" for e in range(1, 6)),
            "loss",
        ),
    ],
)
def test_a_framed_table_is_read_whatever_its_columns_are_called(text, metric):
    assert [value for _, value in points(read_text(text), metric)] == pytest.approx([0.8, 0.7, 0.6, 0.5, 0.4])


@pytest.mark.parametrize(
    "text",
    [
        again("| Epoch | Owner | Size |", "| {e} | x{a} | {e} |"),
        again("| Epoch | Kept | Size |", "| {e} | {a} | {b} |", 2),
        again("| Part | Train Loss | Valid Loss |", "| size-{e} | {a} | {b} |"),
    ],
)
def test_a_framed_table_without_a_course_is_left(text):
    assert read_text(text).metrics.names == ()


ROW_OF_CARD = "| {} | {} | {} | {} |\n"


def card(*rows):
    head = ROW_OF_CARD.format("Training Loss", "Epoch", "Step", "Validation Loss")
    return head + ROW_OF_CARD.format(*[":---:"] * 4) + "".join(ROW_OF_CARD.format(*row) for row in rows)


def test_decimal_commas_of_a_table_are_points():
    run = read_text(card(("2,4710", "0,125", "500", "2,310"), ("1,512", "0,250", "1000", "1,407")))

    assert points(run, "loss") == [(500, 2.471), (1000, 1.512)]
    assert points(run, "eval_loss") == [(500, 2.31), (1000, 1.407)]


def test_decimal_commas_between_spaces_are_points():
    run = read_text("epoch  loss  val_loss\n" + "".join(f"{n}  {3 - n},25  {4 - n},5\n" for n in (1, 2)))

    assert [value for _, value in points(run, "loss")] == [2.25, 1.25]
    assert [value for _, value in points(run, "eval_loss")] == [3.5, 2.5]


def test_commas_that_part_cells_are_no_decimal_commas():
    run = read_text("epoch,loss,val_loss\n1,4,05\n2,3,04\n3,2,03\n")

    assert [value for _, value in points(run, "loss")] == [4, 3, 2]


REPORT = """              precision    recall  f1-score   support

       plane       0.50      0.25      0.50        40
           1       0.75      0.50      0.25        30

    accuracy                           0.{n}5        70
   macro avg       0.5{n}      0.25      0.50        70
weighted avg       0.75      0.6{n}      0.50        70
"""


def test_of_a_report_by_classes_the_rows_of_all_classes_are_read():
    run = read_text("".join(f"Epoch {n} loss: 0.5\n{REPORT.format(n=n)}\n" for n in (1, 2)))
    assert points(run, "eval_accuracy") == [(None, 0.15), (None, 0.25)]
    assert points(run, "val_macro_precision") == [(None, 0.51), (None, 0.52)]
    assert points(run, "val_weighted_recall") == [(None, 0.61), (None, 0.62)]
    assert not points(run, "val_precision")


def test_a_single_report_by_classes_is_the_result_of_a_model():
    run = read_text(f"Epoch 1 loss: 0.5\n{REPORT.format(n=1)}")
    assert not points(run, "eval_accuracy")


OF_CLASSES = "+-------+-------+-------+\n| Class |  IoU  |  Acc  |\n+-------+-------+-------+\n| road  | 92.25 | 95.5  |\n| train |  0.0  |  0.0  |\n|  cow  |  nan  |  nan  |\n+-------+-------+-------+\n"
SIDE_BY_SIDE = "| category   | AP     | category   | AP    |\n|:-----------|:-------|:-----------|:------|\n| cup        | 12.500 | fork       | 0.000 |\n| knife      | 25.000 | spoon      | nan   |\n\n"
WITH_COUNTS = "| class | gts | dets | recall | ap    |\n+-------+-----+------+--------+-------+\n| cat   | 12  | 40   | 0.750  | 0.500 |\n| dog   | 19  | 31   | 0.000  | 0.000 |\n| owl   | 0   | 2    | 0.000  | 0.000 |\n+-------+-----+------+--------+-------+\n| mAP   |     |      |        | 0.250 |\n"
ONE_REPORT = "              precision    recall  f1-score   support\n\n        ship       0.81      0.77      0.79        41\n         car       0.00      0.00      0.00        29\n\n    accuracy                           0.76        70\n"
NAMED_REPORT = "                type    precision       recall     f1-score      support\n               NAME        81.00        80.00        81.00         41.0\n               TOWN         0.00         0.00         0.00         29.0\n\n              micro        60.00        50.00        55.00         70.0\n              macro        40.50        40.00        40.50         70.0\n\n"


@pytest.mark.parametrize(
    ("text", "classes", "names", "best"),
    [
        (OF_CLASSES, 2, "train", 0.9225),
        (SIDE_BY_SIDE, 3, "fork", 0.25),
        (WITH_COUNTS, 2, "dog", 0.5),
        (ONE_REPORT, 2, "car", 0.79),
        (NAMED_REPORT, 2, "TOWN", 0.81),
        ("Class       IoU    Acc\nroad       0.92   0.95\npole       0.00   0.00\n\n", 2, "pole", 0.92),
    ],
    ids=["strokes", "side by side", "counts", "report", "a name for the classes", "blanks"],
)
def test_a_table_of_classes_tells_which_are_never_found(text, classes, names, best):
    run = read_text(text)

    (event,) = run.events.of("class_scores")
    told = event.fields
    assert (told["classes"], told["at_zero"], told["names"]) == (classes, 1, names)
    assert told["best"] == pytest.approx(best)
    assert run.metrics.names == ()  # also of the class that is called "train"


@pytest.mark.parametrize(
    "text",
    [
        "| category | #instances |\n|:---------|:-----------|\n| cup      | 12         |\n| fork     | 0          |\n",
        "| class | ap |\nand so on\n",
        "Class 3: IoU 0.0, Acc 0.0\n",
        "| label | score |\n|---|---|\n| owl | 0.91 |\n| bat | 0.00 |\n",
        "| class | probability |\n|---|---|\n| owl | 0.91 |\n| bat | 0.00 |\n",
        "| label | confidence | score (%) |\n|---|---|---|\n| owl | 0.91 | 91 |\n| bat | 0.00 | 0 |\n",
    ],
)
def test_counts_of_classes_and_guesses_about_one_sample_are_no_scores(text):
    assert not read_text(text).events.of("class_scores")


def of_two(columns, *rows):
    """A table of classes with the columns and rows that are named, and its event."""
    table = "\n".join(f"| {' | '.join(row)} |" for row in (columns, ["---"] * len(columns), *rows))
    (event,) = read_text(table + "\n\n").events.of("class_scores")
    return event.fields


@pytest.mark.parametrize(
    "column",
    ["Images", "samples", "#pixels", "num_objects", "boxes", "Total", "positives", "Number of images"],
)
@pytest.mark.parametrize(("count", "at_zero"), [("0", 0), ("9", 0), ("10", 1), ("1,200", 1), ("-", 1)])
def test_a_class_counts_from_ten_samples(column, count, at_zero):
    told = of_two(
        ["Class", column, "AP"], ["cup", count, "0.0"], ["fork", "31", "0.75"], ["pan", "29", "0.5"]
    )

    assert (told["classes"], told["at_zero"]) == (2 + at_zero, at_zero)


@pytest.mark.parametrize("count", [1, 9, 10, 24])
def test_a_class_of_a_report_counts_from_ten_samples(count):
    row = f"{'bus':>12}       0.00      0.00      0.00        {count}"
    run = read_text(ONE_REPORT.replace("\n\n    acc", f"\n{row}\n\n    acc"))

    (event,) = run.events.of("class_scores")
    assert event.fields["at_zero"] == (2 if count >= 10 else 1)


@pytest.mark.parametrize(
    ("columns", "row", "best", "right"),
    [
        (["Class", "IoU", "Acc"], ["road", "0.75", "98.5"], 0.0075, 0),
        (["Class", "IoU", "Acc"], ["road", "0.75", "0.985"], 0.75, 0),
        (["Class", "IoU", "Acc"], ["road", "1.0", "12.5"], 0.01, 0),
        (["Class", "IoU", "Acc"], ["road", "1.0", "1.0"], 1.0, 1),
        (["Class", "IoU", "Acc"], ["road", "100.0", "100.0"], 1.0, 1),
        (["Class", "images", "IoU"], ["road", "120", "0.75"], 0.75, 0),
        (["Class", "IoU", "loss"], ["road", "0.75", "2.5"], 0.75, 0),
    ],
)
def test_all_scores_of_a_table_tell_whether_they_are_percent(columns, row, best, right):
    told = of_two(columns, row, ["pole", "0.0" if columns[1] == "IoU" else "40", "0.0"])

    assert told["best"] == pytest.approx(best)
    assert told["without_error"] == right


def test_a_long_name_of_a_class_is_cut():
    assert of_two(["Class", "IoU"], ["a" * 300, "0.0"], ["pole", "0.5"])["names"] == "a" * 40


@pytest.mark.parametrize(
    ("text", "name", "told"),
    [
        (
            "[------------] Epoch      Train log_loss       Test log_loss     Time cost (sec)\n[   10%      ]     1                0.75                -nan              11.25\n[   20%      ]     2                 0.5                 nan              11.25\n",
            "loss",
            [(None, 0.75), (None, 0.5)],
        ),
        (
            "".join(
                f"Epoch: {n} | took 57s\n*****train_loss,train_acc,valid_loss,valid_ac*****\n{v}\t2.5\t4.5\t3.5\n"
                for n, v in enumerate((0.75, 0.5, 0.25), 1)
            ),
            "loss",
            [(None, 0.75), (None, 0.5), (None, 0.25)],
        ),
        (
            "Step | Training Loss | rewards / agrees_with_the_references_of_its_answer\n-- | -- | --\n1 | 0.75 | -1.5\n2 | 0.5 | -0.5\n",
            "loss",
            [(1, 0.75), (2, 0.5)],
        ),
    ],
)
def test_frames_bars_and_long_names_of_a_head_are_seen_through(text, name, told):
    assert points(read_text(text), name) == told


@pytest.mark.parametrize(
    ("head", "row", "name"),
    [
        ("epoch | valid_loss/acc | train_loss/acc | time", "{n} | {v}  0.5 | 0.75  0.25 | 9 s", "eval_loss"),
        ("epoch | valid_loss/acc | train_loss/acc | time", "{n} | 0.5  {v} | 0.75  0.25 | 9 s", "eval_accuracy"),
        ("Epoch  LR      loss_t  loss_v  mse_t / mse_v", "{n}      1E-03   0.5     {v}   0.5 / 0.25", "eval_loss"),
        ("Epoch  LR      loss_t  loss_v  mse_t / mse_v", "{n}      1E-03   0.5     0.5   0.75 / {v}", "val_mse"),
        ("Ep |  LR | TrLoss  TrAcc | VaLoss  VaAcc", "{n} | 0.1 | {v} 0.5 | 0.75 0.25 *", "loss"),
        ("Ep |  LR | TrLoss  TrAcc | VaLoss  VaAcc", "{n} | 0.1 | 0.5 0.5 | {v} 0.25 (3/20)", "eval_loss"),
        ("ep   loss    bin   macro_f1", "{n} {v} 0.5  0.25 \u2190", "loss"),
        ("epoch | train_loss | val_psnr | time", "{n} | 0.5 | {v} dB | 9s", "val_psnr"),
    ],
)  # fmt: skip
def test_cells_of_two_values_marks_and_units_are_seen_through(head, row, name):
    values = (0.625, 0.375, 0.125)
    rows = "".join(row.format(n=n, v=v) + "\n" for n, v in enumerate(values, 1))
    assert points(read_text(f"{head}\n{rows}"), name) == [(None, value) for value in values]


def test_a_fraction_is_no_cell_of_two_values():
    rows = "".join(f"{n}/9 | 0.{n}5 | 3/20\n" for n in range(1, 5))
    run = read_text(f"epoch | train_loss | patience\n{rows}")
    assert points(run, "loss") == [(None, 0.15), (None, 0.25), (None, 0.35), (None, 0.45)]
    assert not points(run, "patience")


@pytest.mark.parametrize(
    "text",
    [
        "[ ACTION     ] train_loss,val_loss\n0.5 0.75\n0.25 0.5\n0.125 0.5\n",
        "***** train_loss and valid_loss of the run *****\n0.5 0.25 0.75 3\n0.25 0.25 0.75 3\n0.125 0.25 0.5 3\n",
    ],
)
def test_a_frame_around_a_sentence_makes_no_head(text):
    assert not read_text(text).metrics.raw_names


@pytest.mark.parametrize("margin", ["", "   "], ids=["copied", "as printed"])
def test_a_frame_of_one_row_printed_after_each_epoch_is_a_course_also_without_the_blanks_above_its_index(
    margin,
):
    frames = "".join(
        f"{margin}epoch  acc_web  acc_photo\n\n0      {n}      0.9   0.{n}50000\n\n" for n in (3, 4, 5)
    )

    assert [value for _, value in points(read_text(frames), "acc_photo")] == [0.35, 0.45, 0.55]


def test_a_row_that_is_marked_as_held_out_is_an_evaluation():
    head = "average  since    example  example  current  current  current\nloss     last     counter  weight   label    predict  features\n"
    rows = "".join(
        f"{loss:.6f} {loss:.6f}       {at:2}     {at:2}.0   1.0000   0.4000        3{mark}\n"
        for at, loss, mark in ((1, 0.9, ""), (2, 0.8, ""), (4, 0.7, ""), (8, 0.3, " h"), (16, 0.2, " h"))
    )
    run = read_text(head + rows)

    assert points(run, "loss") == [(1, 0.9), (2, 0.8), (4, 0.7)]
    assert points(run, "eval_loss") == [(8, 0.3), (16, 0.2)]


GROUPED = (
    "               |------- VALID --------|------- TRAIN --------|---------|\n"
    "{}  | loss   top-1         | loss   top-1         | time    |\n-------------------------\n"
    "2.0     1.0    | 0.500  50.25         | 0.750  70.25         |  0 hr 28 min\n"
    "4.0     2.0    | 0.250  60.25         | 0.500  80.25         |  0 hr 56 min\n"
)


@pytest.mark.parametrize("counters", ["iter    epoch", "lr    epoch"])
def test_columns_of_the_same_names_are_called_by_the_group_above_them(counters):
    run = read_text(GROUPED.format(counters) * 2)
    at = (2, 4) if counters.startswith("iter") else (None, None)

    assert points(run, "eval_loss") == list(zip(at, (0.5, 0.25), strict=True)) * 2
    assert points(run, "loss") == list(zip(at, (0.75, 0.5), strict=True)) * 2
    assert points(run, "accuracy") == list(zip(at, (70.25, 80.25), strict=True)) * 2


def test_groups_that_are_no_phases_tell_no_training():
    run = read_text(GROUPED.format("iter    epoch").replace("VALID", "LEFT-").replace("TRAIN", "RIGHT"))

    assert not {"eval_loss"} & set(run.metrics.raw_names)


def test_a_head_of_names_of_code_may_be_followed_by_a_remark():
    head = "step rmse_val rmse_trn rmse_x_val rmse_x_trn rmse_y_val lr\n"
    rows = "".join(f"{at}00 0.5 {at}e-01 0.5 0.5 0.25 1.0e-03\n" for at in (3, 2, 1)[::-1])
    run = read_text(head + "columns without data print nan\n...\n" + rows)
    prose = read_text("step train_loss of the step 3 and val_loss\nhe said\n100 2 3 4 5 6 7 8\n")

    assert points(run, "rmse_trn") == [(100, 0.1), (200, 0.2), (300, 0.3)]
    assert not prose.metrics.raw_names


def test_a_framed_table_of_episodes_without_a_counter_is_a_course():
    row = "| {0}.5 | 49.25 | 24000 |\n"
    text = "| episode_reward_mean | episode_len_mean | timesteps_this_iter |\n|-----|-----|-----|\n"
    three, two = ("".join(row.format(at) for at in range(n)) for n in (3, 2))

    assert points(read_text(text + three), "reward_mean") == [(None, 0.5), (None, 1.5), (None, 2.5)]
    assert not read_text(text + two).metrics.raw_names


def test_the_tables_of_nerfstudio_are_read_with_their_units():
    head = "Step (% Done)       Train Iter (time)    ETA (time)           Train Rays / Sec     Test PSNR\n------------\n"
    row = (
        "{0}0 (0.{0}0%)          5{0}.5 ms              3{0} m, 1 s           9{0}.25 K              2{0}.5\n"
    )
    ends = "40 (0.40%)          55.5 ms              3 s, 206.125 ms      94.25 K              24.5\n"
    run = read_text(head + "".join(row.format(n) for n in (1, 2, 3)) + ends)

    assert points(run, "test_psnr") == [(10, 21.5), (20, 22.5), (30, 23.5), (40, 24.5)]
    assert points(run, "step_time_s") == [(10, 0.0515), (20, 0.0525), (30, 0.0535), (40, 0.0555)]
    assert points(run, "train_rays_/_sec") == [(10, 91250), (20, 92250), (30, 93250), (40, 94250)]
    assert not [name for name in run.metrics.names if name.startswith("eta")]


def test_rows_in_a_log_with_commas_and_names_of_several_words_are_a_table_if_both_phases_have_a_loss():
    head = "INFO:root:begin\nTime,Learning rate,Train loss,Validation loss,MAE_u,RMSE_u\n"
    rows = "".join(f"16000000{n}1.5,0.5,{n}.5,{n}.25,0.5,0.75\n" for n in range(1, 5))
    run = read_text(head + rows)

    assert [value for _, value in points(run, "loss")] == [1.5, 2.5, 3.5, 4.5]
    assert [value for _, value in points(run, "eval_loss")] == [1.25, 2.25, 3.25, 4.25]
    assert points(read_text("The time, the train loss, the validation loss\n" + rows), "loss") == []


@pytest.mark.parametrize("title", ["Test metric", "Validate metric", "Name of it"])
def test_what_lightning_shows_of_an_evaluation_is_a_result_of_no_step(title):
    head = f"Testing DataLoader 0: 100%|██████████| 79/79 [00:01<00:00, 61.20it/s]\n┏━━━┳━━━┓\n┃   {title}   ┃   DataLoader 0   ┃\n┡━━━╇━━━┩\n"
    run = read_text(head + "│   test/acc   │   0.9712   │\n│   test/loss   │   0.1023   │\n└───┴───┘\ndone\n")

    told = title != "Name of it"
    assert points(run, "eval_accuracy") == ([(None, 0.9712)] if told else [])
    assert points(run, "eval_loss") == ([(None, 0.1023)] if told else [])


def test_boxes_of_two_pairs_a_line_stand_at_the_step_above_them():
    box = "Step {n}00 | loss: 0.5\n╭──────┬─────╮\n│ a/task_reward/avg │ {v} │ a/task_reward/min │ 0.0000e+00 │\n│ update/grad_norm  │ 1.9e-01 │ update/lr │ 7.0e-06 │\n╰──────┴─────╯\n"
    run = read_text("".join(box.format(n=n, v=n / 4) for n in (1, 2, 3)))

    assert [value for _, value in points(run, "a/task_reward/avg")] == [0.25, 0.5, 0.75]
    assert points(run, "update/grad_norm") == [(100, 0.19), (200, 0.19), (300, 0.19)]
    classes = "| road | 0.5 | 0.25 | 0.75 |\n| sky | 0.25 | 0.5 | 0.75 |\n"
    assert not read_text(classes * 3).metrics.names


def test_a_box_of_one_column_holds_names_and_values_at_its_ends():
    box = "╭────╮\n│ Trial PPO_a_00000 result        │\n├────┤\n│ num_env_steps_sampled    {n}000 │\n│ episode_reward_mean      {n}1.5 │\n│ episode_reward_max           70 │\n╰────╯\n"
    run = read_text("".join(box.format(n=n) for n in (1, 2, 3)))

    assert points(run, "reward_mean") == [(1000, 11.5), (2000, 21.5), (3000, 31.5)]
    machine = "│ memory      9.5 │\n│ workers       4 │\n"
    assert not read_text(machine * 3).metrics.names


def test_columns_of_decimals_below_a_loss_that_stands_first_need_no_counter():
    head = "           Loss       Lv       Lp     Lreg\n"
    rows = "".join(f"       0.{n}000   0.4000   0.3000   0.0{n}00\n" for n in (9, 8, 7, 6))
    run = read_text(head + rows)

    assert [value for _, value in points(run, "loss")] == [0.9, 0.8, 0.7, 0.6]
    assert [value for _, value in points(run, "lreg")] == [0.09, 0.08, 0.07, 0.06]
    assert not read_text(head + rows.replace("0.4000", "many")).metrics.names
    assert not read_text(head + rows[: rows.index("\n") + 1]).metrics.names


def test_what_a_search_for_several_aims_measures_is_read_whatever_it_is():
    head = "==========\nn_gen  |  n_eval  | n_nds  |      igd      |  indicator\n==========\n"
    rows = "".join(f"     {n} |      {n}00 |     18 |  0.{9 - n}500000000 |      ideal\n" for n in (1, 2, 3))
    run = read_text(head + rows)

    assert points(run, "igd") == [(1, 0.85), (2, 0.75), (3, 0.65)]
    assert set(run.metrics.names) == {"igd"}


def test_the_scores_of_an_evaluation_harness_are_those_of_tasks_and_none_of_the_model():
    head = "|  Tasks  |Version|Filter|n-shot| Metric |   |Value |   |Stderr|\n|---------|------:|------|-----:|--------|---|-----:|---|-----:|\n"
    rows = "|arc_easy |      1|none  |     0|acc     |↑  |0.{n}000|±  |0.0102|\n|         |       |strict|     0|acc_norm|↑  |0.5000|±  |0.0103|\n"
    run = read_text("".join(f"step {n}, loss: 0.5\n{head}{rows.format(n=n)}\n" for n in (1, 2)))

    assert points(run, "part/val_arc_easy_acc") == [(1, 0.1), (2, 0.2)]
    assert points(run, "part/val_arc_easy_acc_norm_strict") == [(1, 0.5), (2, 0.5)]
    other = head.replace("Tasks", "Hosts")
    assert not [name for name in read_text(other + rows.format(n=1)).metrics.names if "acc" in name]


def test_precisions_at_several_overlaps_are_scores_of_boxes_and_of_masks():
    table = "[1]   {n}00 || B: 0.5 | T: 0.75 || ETA: 1:00:00\n\n       |  all  |  .50  |  .75  |  .95  |\n-------+-------+-------+-------+-------+\n   {of} | {n}1.50 | 52.25 | 33.00 |  0.25 |\n-------+-------+\n"
    run = read_text("".join(table.format(n=n, of="box") for n in (1, 2)))

    assert [value for _, value in points(run, "val_box_map")] == [11.5, 21.5]
    assert [value for _, value in points(run, "val_box_map50")] == [52.25, 52.25]
    other = read_text(table.format(n=1, of="files"))
    assert not [name for name in other.metrics.names if "map" in name]


def test_a_counter_may_have_a_colon_in_the_head_and_in_the_rows():
    head = "ITER:       LOSS               SUM(GRADNORM)\n"
    run = read_text(head + "".join(f"188{n}:\t1.{n}5\t3.{n}5\n" for n in (1, 2, 3)))

    assert points(run, "loss") == [(1881, 1.15), (1882, 1.25), (1883, 1.35)]
    hosts = "HOST:       LOSS               SUM(GRADNORM)\nfirst:\t1.5\t3.5\n"
    assert not points(read_text(hosts), "loss")
