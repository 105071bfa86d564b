"""Rows that people copy out of their terminals: bars without returns, tables without heads, outputs of Caffe."""

import pytest
from log_reading import points, read_text

BAR = "|####      |"


class TestBars:
    def test_a_title_in_brackets_tells_the_losses(self):
        run = read_text(
            f"[losses/total_loss: 1.25 | losses/policy_loss: 0.5 | losses/value_loss: 2.5]:  10%{BAR} 10/100 [00:10<01:30,  1.0it/s]\n"
        )

        assert points(run, "loss") == [(10, 1.25)]
        assert points(run, "value_loss") == [(10, 2.5)]

    def test_bars_of_epochs_that_stand_behind_the_counter_are_one_after_the_other(self):
        run = read_text(
            "".join(
                f"100%{BAR} 8/8 [00:10<00:00,  1.0it/s, epoch={n}, loss: ={loss}, shape: =torch.Size([80, 3])]\n"
                for n, loss in ((0, 1.5), (1, 1.25))
            )
        )

        assert points(run, "loss") == [(8, 1.5), (16, 1.25)]

    def test_values_behind_colons_count_once_for_a_counter_and_those_of_a_validation_once(self):
        run = read_text(
            "".join(
                f"Epoch 0:  50%{BAR} {at}/4 [00:10<00:10,  1.0it/s, loss:{loss},epoch mean:2.5]\n"
                for at, loss in ((2, 2.0), (3, 2.0), (3, 1.5), (4, 1.5), (4, 1.25))
            )
            + "".join(
                f"validating...:  50%{BAR} {at}/2 [00:01<00:01,  1.0it/s, loss:{loss}]\n"
                for at, loss in ((1, 9.0), (2, 1.75))
            )
        )

        assert points(run, "loss") == [(2, 2.0), (3, 1.5), (4, 1.25)]
        assert points(run, "eval_loss") == [(4, 1.75)]

    @pytest.mark.parametrize(
        ("counts", "steps"),
        [
            ((2, 4, 2, 4), [2, 4, 6, 8]),
            ((2, 3, 2, 4), [2, 3, 2, 4]),
            ((0, 4, 0, 4), [0, 4, 4, 8]),
        ],
        ids=["full bar is an epoch", "bar broken off is a launch", "an empty bar is no redraw of a full one"],
    )
    def test_a_full_bar_that_begins_again_is_the_next_epoch(self, counts, steps):
        run = read_text("".join(f"50%{BAR} {at}/4 [00:10<00:10,  1.0it/s, loss=2.5]\n" for at in counts))

        assert [step for step, _ in points(run, "loss")] == steps

    def test_every_bar_of_a_line_without_returns_is_read(self):
        run = read_text(
            f"[rollout 8 / 8]: 100%{BAR} 8/8 [00:10<00:00,  1.0it/s][losses/total_loss: 1.5]:  11%{BAR} 11/100 [00:10<01:30,  1.0it/s]"
            f"[losses/total_loss: nan]:  12%{BAR} 12/100 [00:11<01:30,  1.0it/s]\n"
        )

        assert points(run, "loss") == [(11, 1.5), (12, "nan")]

    def test_a_bar_of_a_validation_is_no_training(self):
        assert (
            points(read_text(f"[val | loss: 1.5]:  10%{BAR} 10/100 [00:10<01:30,  1.0it/s]\n"), "loss") == []
        )


class TestYolo:
    HEAD = "     Epoch   gpu_mem       box       obj       cls     total    labels  img_size\n"

    def test_the_column_total_is_the_loss(self):
        run = read_text(
            f"{self.HEAD}      2/99     2.05G       nan      0.05      0.02       nan        12       640: 100%{BAR} 8/8 [00:02<00:00,  3.2it/s]\n"
        )

        assert points(run, "loss") == [(16, "nan")]
        assert points(run, "obj_loss") == [(16, 0.05)]

    def test_results_that_were_held_back_until_the_next_head_end_no_table(self):
        bar = f"               Class      Images      Labels           P           R      mAP@.5  mAP@.5:.95: 100%{BAR} 7/7 [00:01<00:00,  3.9it/s]\n"
        result = "                 all         195         882     {}       0.359       0.25       0.125\n"
        row = (
            "     {}/9      2.1G   0.07599    0.0377         0   {}       168       640: 100%"
            f"{BAR} 8/8 [00:03<00:00,  3.9it/s]\n"
        )
        run = read_text(
            f"{self.HEAD}\r  0%|          | 0/8 [00:00<?, ?it/s]\r{row.format(0, 0.75)}{bar}\n"
            f"{self.HEAD}{result.format(0.5)}\r  0%|          | 0/8 [00:00<?, ?it/s]\r{row.format(1, 0.5)}{bar}"
        )

        assert points(run, "loss") == [(8, 0.75), (16, 0.5)]
        assert [value for _, value in points(run, "val/precision")] == [0.5]

    @pytest.mark.parametrize("last", ["mAP50-95)", "mAP50-", "m"])
    @pytest.mark.parametrize("bar", [f": 100%{BAR} 4/4 [00:01<00:00]", ""])
    def test_a_narrow_terminal_cuts_the_head_of_the_results(self, last, bar):
        run = read_text(
            f"{self.HEAD}      2/99     2.05G       0.5      0.05      0.02       0.6        12       640: 100%|#\n"
            f"                 Class     Images  Instances      Box(P          R      mAP50  {last}{bar}\n"
            "                   all        128        929      0.625      0.500      0.550      0.375\n"
        )

        names = ("precision", "recall", "map50", "map50-95")
        assert [value for name in names for _, value in points(run, f"val/{name}")] == [
            0.625,
            0.5,
            0.55,
            0.375,
        ]

    def test_the_results_of_masks_are_not_those_of_boxes(self):
        run = read_text(
            f"{self.HEAD}      2/99     2.05G       0.5      0.05      0.02       0.6        12       640: 100%{BAR} 8/8 [00:02<00:00]\n"
            f"    Class  Images  Instances  Box(P  R  mAP50  mAP50-95)  Mask(P  R  mAP50  mAP50-95): 100%{BAR} 4/4 [00:01<00:00]\n"
            "    all  128  929  0.625  0.500  0.550  0.375  0.5  0.25  0.125  0.0625\n"
        )

        assert [value for _, value in points(run, "val/recall")] == [0.5]
        assert [value for _, value in points(run, "val/mask_recall")] == [0.25]

    def test_a_head_and_a_row_without_their_epoch(self):
        run = read_text(
            "box         obj              cls     total    labels  img_size\nnan       0.05         0       nan        22      1280\n"
        )

        assert points(run, "box_loss") == [(None, "nan")]
        assert points(run, "obj_loss") == [(None, 0.05)]
        assert points(run, "loss") == [(None, "nan")]

    def test_a_row_of_another_length_is_no_row_of_the_table(self):
        run = read_text("box         obj              cls     total    labels  img_size\n1 2 3 4 5\n")

        assert points(run, "loss") == []


class TestTimeSeries:
    @pytest.mark.parametrize("held_out", ["nan", "1.5"])
    def test_the_number_of_steps_in_a_row_of_an_epoch_is_no_step(self, held_out):
        run = read_text(
            f"Epoch: 2, Steps: 30 | Train Loss: 1.2500000 Vali Loss: {held_out} Test Loss: 1.7500000\n"
        )

        assert points(run, "loss") == [(None, 1.25)]
        assert points(run, "eval_loss") == [(None, "nan" if held_out == "nan" else 1.5)]


class TestCaffe:
    ROWS = (
        "I0101 00:00:00.000000 1 solver.cpp:239] Iteration 20 (1.0 iter/s, 20.0s/20 iters), loss = 2.5\n"
        "I0101 00:00:00.000000 1 solver.cpp:258]     Train net output #0: accuracy = 0.25\n"
        "I0101 00:00:00.000000 1 solver.cpp:258]     Train net output #1: loss = 2.75 (* 1 = 2.75 loss)\n"
        "I0101 00:00:00.000000 1 solver.cpp:404]     Test net output #0: accuracy = 0.5\n"
        "I0101 00:00:00.000000 1 solver.cpp:404]     Test net output #1: loss = 3.5 (* 1 = 3.5 loss)\n"
    )

    def test_outputs_belong_to_the_iteration_above_and_the_loss_is_read_once(self):
        run = read_text(self.ROWS)

        assert points(run, "loss") == [(20, 2.5)]
        assert points(run, "output_loss") == [(20, 2.75)]
        assert points(run, "accuracy") == [(20, 0.25)]

    def test_an_output_that_is_a_loss_by_another_name_is_not_the_loss_either(self):
        run = read_text(self.ROWS.replace("loss = 2.75", "cross_entropy_loss = 2.75"))

        assert points(run, "loss") == [(20, 2.5)]
        assert points(run, "output_loss") == [(20, 2.75)]

    def test_outputs_of_the_test_net_are_held_out(self):
        run = read_text(self.ROWS)

        assert points(run, "eval_loss") == [(20, 3.5)]
        assert points(run, "eval_accuracy") == [(20, 0.5)]


def test_a_row_that_is_glued_to_a_bar_is_read():
    run = read_text(
        "".join(
            f"100%{BAR} 50/50 [00:10<00:00,  5.0it/s]Epoch {n}: train loss {loss}, val acc 0.{n}125\n"
            for n, loss in ((1, 1.5), (2, 1.25), (3, 1.125))
        )
    )

    # which loop the bar counted, that of the training or of an evaluation behind it, is not said
    assert points(run, "loss") == [(None, 1.5), (None, 1.25), (None, 1.125)]

    row = (
        "  {0}%|#  | {1}/9000 [00:10<00:00,  5.0it/s]Iteration [{2:5d}/ 9000] | d_loss: {3} | g_loss: 2.{3}\n"
    )
    rows = "".join(row.format(n, 100 * n + n % 2, 100 * n, n / 8) for n in (3, 4, 5))
    assert points(read_text(rows), "d_loss") == [(300, 0.375), (400, 0.5), (500, 0.625)]


def test_columns_of_one_letter_beside_a_loss_are_its_scores():
    rows = "".join(
        f"{loss}   0.{n}250   0.{n}500   0.{n}375\n" for n, loss in ((1, 8.5), (2, 4.25), (3, 2.5))
    )
    run = read_text("LOSS    P       R       F\n" + rows)

    assert [value for _, value in points(run, "loss")] == [8.5, 4.25, 2.5]
    assert [value for _, value in points(run, "f1")] == [0.1375, 0.2375, 0.3375]


def test_letters_without_a_loss_are_no_scores():
    run = read_text("GAIN    P       R       F\n" + "1.5   0.25   0.5   0.375\n" * 4)

    assert points(run, "f1") == []


class TestDeepXde:
    HEAD = "Step      Train loss              Test loss               Test metric   \n"

    def test_the_terms_of_both_losses_are_summed(self):
        run = read_text(
            self.HEAD
            + "0         [1.25e+00, 2.50e-01]    [1.50e+00, 2.50e-01]    [9.00e-01]    \n"
            + "1000      [2.50e-01, 2.50e-01]    [5.00e-01, 2.50e-01]    []    \n"
        )

        assert points(run, "loss") == [(0, 1.5), (1000, 0.5)]
        assert points(run, "eval_loss") == [(0, 1.75), (1000, 0.75)]
        assert points(run, "loss_term_2") == [(0, 0.25), (1000, 0.25)]

    def test_a_term_that_is_not_a_number_is_one_of_the_sum(self):
        run = read_text(self.HEAD + "1000      [nan, 2.50e-01]    [nan, 2.50e-01]    []\n")

        assert points(run, "loss") == [(1000, "nan")]

    def test_other_lists_behind_a_number_are_no_row(self):
        assert points(read_text("3  [1.0, 2.0]    [3.0]\n17    [1, 2]\n"), "loss") == []


def test_memory_in_a_unit_is_read_without_a_sign():
    run = read_text("".join(f"step {n} | loss 2.{9 - n}125 | mem_gb 1{n}.5\n" for n in range(1, 6)))

    assert [value for _, value in points(run, "mem_gb")] == [11.5, 12.5, 13.5, 14.5, 15.5]


@pytest.mark.parametrize("array", ["Array", "DeviceArray", "array", "jnp.array"])
def test_numbers_in_arrays_of_jax_are_read(array):
    rows = (
        f"step={n} metrics={{'loss': {array}({loss}, dtype=float32)}}\n"
        for n, loss in ((1, 2.5), (2, 2.25), (3, 2.125))
    )
    expected = [] if array == "jnp.array" else [(1, 2.5), (2, 2.25), (3, 2.125)]  # code, which no log prints

    assert points(read_text("".join(rows)), "loss") == expected


def test_a_row_behind_a_bar_stands_where_it_says_and_not_where_the_bar_stood():
    row = "\ra2c train:  {0}%|#  | {1}/2000 [00:0{1}<{2}, 3.08s/it]{3}[step={4}] episode={4}.0000 return=-84.{4}788 loss=2527.{4} entropy=1.9459\n"
    run = read_text(
        "".join(row.format(n, n, ("1:42:41", "51:55")[n % 2], "  "[: n % 3], n + 1) for n in range(9))
    )

    assert points(run, "loss") == [(n, 2527 + n / 10) for n in range(1, 10)]
    assert len(points(run, "entropy")) == 9


def test_numbered_rows_that_stand_on_one_line_are_all_read():
    row = "[{0:03d}] train_loss: 0.{0} | dev_loss: 0.7{0} | micro f1 on dev: 0.8{0} "
    run = read_text(
        "".join(row.format(n) + (">>> save models!\n" if n % 3 == 0 else "") for n in range(1, 10))
    )

    assert points(run, "loss") == [(n, n / 10) for n in range(1, 10)]
    assert len(points(run, "eval_loss")) == 9


def test_tabs_that_a_copy_turned_into_spaces_part_the_cells_of_catboost():
    run = read_text(
        "".join(
            f"{at}:     learn: {value}        total: 6m 47s   remaining: 1m 16s\n"
            for at, value in ((58, 0.25), (59, "nan"))
        )
    )

    assert points(run, "learn") == [(58, 0.25), (59, "nan")]


def test_cells_that_are_lists_of_one_number_are_numbers():
    head = "Step      Train loss    Test loss     Test metric\n"
    run = read_text(
        head + "0         [2.5e+00]     [3.0e+00]     []\n1000      [nan]         [nan]         []\n"
    )

    assert points(run, "loss") == [(0, 2.5), (1000, "nan")]
    assert "loss" not in read_text("step  loss\n0     [1,2]\n1000  [2,3]\n").metrics.names


def test_the_table_of_a_coco_evaluation_is_a_row_of_held_out_data():
    table = "".join(
        f" Average Precision  (AP) @[ IoU={overlap} | area={area:>6} | maxDets=100 ] = {value}\n"
        for overlap, area, value in (
            ("0.50:0.95", "all", "0.250"),
            ("0.50     ", "all", "0.500"),
            ("0.75     ", "all", "0.125"),
            ("0.50:0.95", "large", "-1.000"),
        )
    )
    run = read_text("epoch 1 step 10 loss: 0.5\n" + table)

    assert points(run, "val/map50_95") == [(10, 0.25)]
    assert points(run, "val/map50") == [(10, 0.5)]
    assert not [name for name in run.metrics.names if "75" in name]


def test_outputs_of_caffe_without_blanks_are_those_with_them():
    run = read_text(
        "Iteration 40(1.5 iter/s,13.0s/20 iters),loss=2.5\n   Train net output #0:top_accuracy=1\n"
        "   Train net output #1:loss_x=2.25(*1 = 2.25 loss)\n   Test net output #1:loss=2.75(*1 = 2.75 loss)\n"
    )

    assert points(run, "top_accuracy") == [(40, 1.0)]
    assert points(run, "loss_x") == [(40, 2.25)]
    assert points(run, "eval_loss") == [(40, 2.75)]


def test_a_mean_of_nothing_is_no_value_and_one_of_something_that_is_nan_is():
    row = "Region {} Avg IOU: {}, Class: {}, Obj: {}, No Obj: {}, .5R: -nan, .75R: -nan,  count: {}\n"
    found = row.format(9, 0.5, 0.25, 0.125, 0.75, 4).replace("-nan", "0.5")
    none = row.format(8, "-nan", "-nan", "-nan", 0.5, 0)
    for rows in ((found + none) * 3, (found + none) * 90):
        run = read_text(rows)
        assert {value for _, value in points(run, "avg_iou")} == {0.5}
        assert {value for _, value in points(run, "no_obj")} == {0.5, 0.75}

    broken = read_text((found + none) * 40 + row.format(8, "-nan", "-nan", "-nan", 0.5, 2) * 40)
    assert [value for _, value in points(broken, "avg_iou")] == [0.5] * 40 + ["nan"] * 40
