"""Tables of searches, lines that list parts of one step, and bars that show several losses for one step."""

import numpy as np
import pytest
from log_reading import points, read_text

EVOLUTION = """    |   Population Average    |           Best Individual         |
---- ------------------------- ---------------------------------- ----------
 Gen   Length          Fitness   Length          Fitness      OOB Fitness  Time Left
   0     7.50 3.884057507196499        4 0.8595262907809801              N/A      2.50m
   1     5.25   2.25        10    0.75    0.5      2.25m
"""
STRATEGY = """Iterat #Fevals   function value  axis ratio  sigma  min&max std  t[m:s]
    1     10 2.142383068136862e+01 1.0e+00 1.86e-01  1e-01  2e-01 0:00.0
    2     20 1.250000000000000e+01 1.1e+00 1.76e-01  1e-01  2e-01 0:00.0
"""


def test_a_head_that_names_a_quantity_twice_keeps_both_columns():
    run = read_text(EVOLUTION)

    assert points(run, "fitness") == [(0, 3.884057507196499), (1, 2.25)]
    assert points(run, "fitness_2") == [(0, 0.8595262907809801), (1, 0.75)]
    assert points(run, "oob_fitness") == [(1, 0.5)]


def test_what_a_search_minimises_is_read_below_names_of_several_words_and_of_two_columns():
    run = read_text(STRATEGY)

    assert points(run, "function_value") == [(1, 21.42383068136862), (2, 12.5)]
    assert points(run, "min_std") == [(1, 0.1), (2, 0.1)]
    assert points(run, "max_std") == [(1, 0.2), (2, 0.2)]


@pytest.mark.parametrize(
    ("head", "rows", "metric", "expected"),
    [
        ("|  iter  | target | depth  |", "|  1  | 0.25 | 5.5 |\n|  2  | 0.5 | 6.5 |\n", "target", [(1, 0.25), (2, 0.5)]),
        ("#iter\tobjf_train\tobjf_valid", "3\t-0.25\t-0.5\n4\t-0.2\t-0.4\n", "objf_valid", [(3, -0.5), (4, -0.4)]),
        ("gen\tnevals\tavg   \tstd\tmax", "0\t50\t[ 0.5 225.5 ]\t[0.25 8.5]\t[0.75 249.]\n1\t50\t[ 0.75 25.5 ]\t[0.5 8.5]\t[1.5 9.]\n", "avg", [(0, 0.5), (1, 0.75)]),
    ],
)  # fmt: skip
def test_searches_head_what_they_improve_in_many_words(head, rows, metric, expected):
    assert points(read_text(f"{head}\n{rows}"), metric) == expected


def test_a_table_of_targets_that_counts_nothing_is_none():
    assert (
        "target"
        not in read_text("| name   | target |\n| first  | 0.25   |\n| second | 0.5    |\n").metrics.names
    )


def test_a_time_without_a_year_before_the_cells_of_a_table_is_no_cell():
    rows = "".join(f"12/0{at}-10:20:30      {at}    {0.5 / at}    0.75\n" for at in range(1, 4))
    run = read_text("  epoch  train_loss  val_loss\n" + rows)

    assert [value for _, value in points(run, "eval_loss")] == [0.75] * 3
    assert [step for step, _ in points(read_text("10/16 00:12:45 loss: 0.5\n" * 3), "loss")] != []


def test_lines_of_nothing_but_names_and_decimals_below_a_step_belong_to_it():
    row = (
        "[epoch: 2/9, batch: 12/90, ite: {0}] train loss: 0.5, tar: 0.25\n\nl0: 0.{0}, l1: 0.5, l2: 0.25\n\n"
    )
    run = read_text("".join(row.format(step) for step in (121, 122, 123)))

    assert [step for step, _ in points(run, "loss")] == [121, 122, 123]
    assert points(run, "l0") == [(121, 0.121), (122, 0.122), (123, 0.123)]


def test_parts_that_a_heading_counts_are_read_though_nobody_knows_their_names():
    parts = "Step {0}:\nbox: 0.{0}\nobjects: 0.5\n"

    assert points(read_text(parts.format(1) + parts.format(2)), "box") == [(1, 0.1), (2, 0.2)]
    assert "box" not in read_text(parts.format(1)).metrics.names


@pytest.mark.parametrize("line", ["support=794, query=720", "Percentage loaded:  {}.5 %", "momentum: 0.9"])
def test_counts_progress_and_settings_below_a_heading_are_no_parts(line):
    text = "".join(f"Step {at}:\n  {line.format(at)}\nloss: 0.{at}\n" for at in range(1, 5))

    assert read_text(text).metrics.names == ("loss",)


def test_names_that_two_rows_of_one_wording_made_sure_are_read_in_another_wording_above():
    row = "batch {0}, epoch 0/8 mean objf: 2.{0} over 900.5 frames (kept), and {1}\n"
    run = read_text(row.format(0, "more") + row.format(10, "others") + row.format(20, "others"))

    assert points(run, "mean_objf") == [(0, 2.0), (10, 2.1), (20, 2.2)]


def _bar(counter, loss):
    return f"Epoch 0:  {counter}0%|#   | {counter}/10 [00:0{counter}<00:09,  1.5it/s, loss={loss}]"


def test_losses_that_change_while_the_counter_of_a_bar_stands_are_those_of_its_batches():
    bars = [_bar(counter, 4 - counter - batch / 4) for counter in range(3) for batch in range(4)]
    run = read_text("\r".join(bars) + "\n")

    assert [value for _, value in points(run, "loss")] == [4 - at / 4 for at in range(12)]


@pytest.mark.parametrize("loss", ["0.5", "nan"])
def test_a_redraw_that_shows_what_the_last_step_left_is_no_loss_of_its_own(loss):
    after = [_bar(0, "2.5"), _bar(1, "2.5"), _bar(1, "1.5"), _bar(2, "1.5"), _bar(2, loss), _bar(2, loss)]
    run = read_text("\r".join(after) + "\n")

    assert points(run, "loss") == [(0, 2.5), (1, 1.5), (2, "nan" if loss == "nan" else 0.5)]


METERS = "Test: [{0}/40]\tTime 0.5 (0.5)\tLoss {1} ({1})\tErr 25.5 (30.5)\n"


def test_passes_of_which_only_the_first_batch_is_printed_are_read_where_none_tells_more():
    train = "Epoch: [{0}][50/90]\tTime 0.5 (0.5)\tLoss 0.5 (0.75)\n"
    text = "".join(train.format(epoch) + METERS.format(0, 2.5 - epoch / 4) for epoch in range(3))

    assert [value for _, value in points(read_text(text), "eval_loss")] == [2.5, 2.25, 2.0]
    assert [value for _, value in points(read_text(text), "val/err")] == [30.5] * 3
    assert points(read_text(train.format(0) + METERS.format(0, 2.5)), "eval_loss") == []  # cut off
    assert len(points(read_text(text + METERS.format(39, 1.5)), "eval_loss")) == 1


@pytest.mark.parametrize(
    ("row", "metric"),
    [
        ("step {0} loss: 2.{0} (this is only of the first batch of the gradients that all of the workers gather)\n", "loss"),
        ("epoch {0} | val acc: 0.{0} | the weights were kept for it is better than all that was seen before\n", "eval_accuracy"),
    ],
)  # fmt: skip
def test_rows_with_prose_behind_their_values_are_read_once_their_wording_repeats(row, metric):
    assert len(points(read_text("".join(map(row.format, range(1, 5)))), metric)) == 4
    assert metric not in read_text("".join(map(row.format, range(1, 3)))).metrics.names


@pytest.mark.parametrize(
    "sentence",
    [
        "Epoch {0}: the counter of patience: {0} out of ten, and then the training goes on with the next epoch\n",
        "At the step {0} we set the learning rate: 0.{0} as the paper says of the second of the stages and keep it\n",
    ],
)
def test_sentences_that_repeat_without_a_known_quantity_or_a_place_ahead_are_no_rows(sentence):
    assert not read_text("".join(map(sentence.format, range(1, 6)))).metrics.names


def test_what_an_unknown_word_calls_beside_the_same_of_held_out_data_is_of_the_training():
    run = read_text("[epoch1] trian_loss=2.5 trian_top=0.25 valid_loss=3.5 valid_top=0.5 bps=231\n" * 2)

    assert [value for _, value in points(run, "loss")] == [2.5, 2.5]
    assert [value for _, value in points(run, "eval_loss")] == [3.5, 3.5]
    half = read_text("[epoch1] trian_loss=2.5 train_top=0.25 valid_loss=3.5 valid_top=0.5\n" * 2)
    assert [value for _, value in points(half, "loss")] == [2.5, 2.5]
    assert "loss" not in read_text("epoch 1 cls_loss=2.5 cls_top=0.25 val_loss=3.5\n" * 2).metrics.names


def test_the_splits_of_an_epoch_after_each_of_which_is_evaluated_are_steps():
    rows = "".join(
        f"| end of split  {n} / 90 | epoch   1 | time: 31.25s | valid loss  {6 - n / 4:.2f} | valid ppl  9.50\n"
        for n in (2, 3, 4)
    )

    assert points(read_text(rows), "eval_loss") == [(2, 5.5), (3, 5.25), (4, 5.0)]


def test_the_generations_of_neat_stand_at_their_numbers_whatever_is_printed_between():
    rows = "".join(
        f"\n ****** Running generation {n} ****** \n\nplayed {n} games\n"
        f"Population's average fitness: {2.5 + n} stdev: 0.25\n"
        f"Best fitness: {4.5 + n} - size: (1, 2) - species 1 - id {9 * n}\n"
        "Average adjusted fitness: 0.5\nMean genetic distance 1.25, standard deviation 0.5\n"
        "Population of 90 members in 1 species:\nTotal extinctions: 0\n"
        for n in range(3)
    )
    run = read_text(rows)

    assert points(run, "average fitness") == [(0, 2.5), (1, 3.5), (2, 4.5)]
    assert points(run, "best fitness") == [(0, 4.5), (1, 5.5), (2, 6.5)]
    assert points(run, "mean genetic distance") == [(0, 1.25), (1, 1.25), (2, 1.25)]


def test_rates_and_rewards_of_sample_factory_stand_at_its_frames_and_a_rate_that_is_none_yet_is_left_out():
    rows = "".join(
        f"[2026-05-14 09:21:{9 + n}.895][1133{n}] Fps is (10 sec: {'nan' if n < 1 else 900.5}, 60 sec: 80.5, 300 sec: nan). "
        f"Total num frames: {4096 * n}. Throughput: 0: 90.5. Samples: {64 * n}. Policy #0 lag: (min: 0.0, avg: 0.5, max: 2.0)\n"
        f"[2026-05-14 09:21:{10 + n}.815][1133{n}] Avg episode reward: [(0, '{7.5 + n}'), (1, '-0.25')]\n"
        for n in range(3)
    )
    run = read_text(rows)

    assert points(run, "reward_mean") == [(0, 7.5), (4096, 8.5), (8192, 9.5)]
    assert points(run, "part/reward_mean_1") == [(0, -0.25), (4096, -0.25), (8192, -0.25)]
    assert points(run, "env_steps_per_second") == [(4096, 900.5), (8192, 900.5)]
    assert not np.isnan(run.metrics.value).any()


def test_the_rates_of_rl_games_stand_at_its_frames():
    row = "fps step: {0} fps step and policy inference: 800 fps total: 70{0} epoch: {0}/500 frames: {0}000\n"
    run = read_text("".join(row.format(n) for n in (1, 2, 3)))

    assert points(run, "env_steps_per_second") == [(1000, 701), (2000, 702), (3000, 703)]


def test_a_block_of_composer_stands_at_its_batch():
    row = "[batch={0}/900]:\n\t Train time/batch: {0}\n\t Train loss/train/total: {0}.25\n\t Train metrics/train/LanguagePerplexity: 9{0}.5\n\t Train lr-Adam/group0: 0\n"
    run = read_text("".join(row.format(n) for n in (1, 2, 3)))

    assert points(run, "loss") == [(1, 1.25), (2, 2.25), (3, 3.25)]
    assert points(run, "metrics/train/languageperplexity") == [(1, 91.5), (2, 92.5), (3, 93.5)]
    assert points(run, "learning_rate") == [(1, 0.0), (2, 0.0), (3, 0.0)]


def test_the_rows_of_a_player_that_learns_and_acts_count_by_their_own_steps():
    learns = "[Learner] Critic Loss = {0}.25 | Learner Steps = {0}0 | Policy Loss = 0.5\n"
    acts = "[Actor] Actor Episodes = {0} | Actor Steps = {0}00 | Episode Return = 9.5\n"
    run = read_text("".join((learns + acts).format(n) for n in (1, 2, 3)))

    assert points(run, "value_loss") == [(10, 1.25), (20, 2.25), (30, 3.25)]
    assert points(run, "reward_mean") == [(100, 9.5), (200, 9.5), (300, 9.5)]


def test_what_stands_below_the_steps_of_a_world_is_not_told_by_its_episodes():
    row = "Recent Stats | t_env:      {0}0012 | Episode:      {0}00\nloss:      0.{0}   return_mean:     {0}.5\n"
    run = read_text("".join(row.format(n) for n in (1, 2, 3)))

    assert points(run, "loss") == [(10012, 0.1), (20012, 0.2), (30012, 0.3)]


def test_the_generations_of_an_evolution_that_names_no_value_are_read_if_their_order_fits():
    row = "('walker', ({0}, {0}2, {1}, -1.5, 9.5, 0.5, 0.25, 80.5, 90))\n"
    fits = read_text("".join(row.format(n, n + 0.5) for n in range(1, 9)))
    misfits = read_text("".join(row.format(n, n + 90.5) for n in range(1, 9)))

    assert points(fits, "reward_mean") == [(n, n + 0.5) for n in range(1, 9)]
    assert points(misfits, "reward_mean") == []
