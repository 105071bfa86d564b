"""Rows of loops that have no format of their own, and the prose and settings that are no rows."""

import pytest
from log_reading import only, points, read_text

ROWS = [
    ("epoch=3 step=120 loss=1.25 lr=1e-4 grad_norm=0.5 tok/s=1,024 mfu=50%",
     {"loss": [(120, 1.25)], "learning_rate": [(120, 1e-4)], "tokens_per_second": [(120, 1024.0)], "mfu": [(120, 0.5)]}),
    ("[120] loss 1.25", {"loss": [(120, 1.25)]}),
    ("[1,  2000] loss: 2.125", {"loss": [(2000, 2.125)]}),
    ("Epoch 1 Batch 100 Loss 1.25", {"loss": [(100, 1.25)]}),
    ("Epoch 3, Loss: 1.25, Acc: 85.5%, Val Loss: 1.5, Val Acc: 80.5%",
     {"loss": [(None, 1.25)], "accuracy": [(None, 85.5)], "eval_loss": [(None, 1.5)], "eval_accuracy": [(None, 80.5)]}),
    ("[0/5][100/1583]\tLoss_D: 0.5\tLoss_G: 2.25\tD(x): 0.9", {"loss_d": [(100, 0.5)], "loss_g": [(100, 2.25)]}),
    ("Epoch: [2/10] Iter:[20/100], Time: 0.32, lr: [0.5], Loss: 1.5, Acc:0.75, Semantic loss: 0.5", {"loss": [(20, 1.5)], "semantic_loss": [(20, 0.5)]}),
    ("Valid | Epoch 3 | step 20 | Loss 0.25 | acc 0.5", {"loss": [], "eval_loss": [(20, 0.25)], "eval_accuracy": [(20, 0.5)]}),
    ("Training Epoch: 0 Training Iteration: 1785  average_loss : 1.5  step_loss : nan  learning_rate : 0.5", {"loss": [(1785, "nan")]}),
    ("epoch: 1, batch_id: 500, ACC:0.5, loss:0.25, avg_reader_cost: 0.125 sec, avg_batch_cost: 0.5 sec, ips: 1024.5 ins/s",
     {"loss": [(500, 0.25)], "step_time_s": [(500, 0.5)], "data_time_s": [(500, 0.125)], "samples_per_second": [(500, 1024.5)]}),
    ("step 20 loss 0.5 data wait 91% lr 0.25", {"loss": [(20, 0.5)], "data_wait_share": [(20, 0.91)], "data_time_s": []}),
    ("Episode 10/100, reward: 21.5, loss: 0.5", {"reward_mean": [(10, 21.5)], "loss": [(10, 0.5)]}),
    ("step 20 loss 0.5 l2_reg nan lr 0.25", {"loss": [(20, 0.5)], "l2_reg": [(20, "nan")], "learning_rate": [(20, 0.25)]}),
    ("step 20 loss 0.5 and penalty 0.25 of all", {"loss": [(20, 0.5)], "penalty": []}),
    ("Epoch 2/50 box_loss 0.5 obj_loss 0.25 mAP@.5 0.125 mAP@.5:.95 0.0",
     {"box_loss": [(None, 0.5)], "map50": [(None, 0.125)], "map50_95": [(None, 0.0)]}),
    ("Epoch 9: train loss 0.25, best loss 0.125", {"loss": [(None, 0.25)]}),
    ("Epoch 3 @ 10:27 PM : 0.5 C.E. Loss, 75.5% Accuracy", {"loss": [(None, 0.5)], "accuracy": [(None, 75.5)], "pm": []}),
    ("[000500/50000] night | loss 0.5 | GPU 75% | 3.25 it/s | batch 16", {"loss": [(500, 0.5)]}),
    ("Epoch 3 | loss 0.5 | batch 16", {"loss": [(16, 0.5)]}),
    ("[2,   150/ 2500] - train_losses - Decoder Loss (total): 2.5 - Code Loss: [0.5][lr: 2.5e-04] (12.5 ms)", {"decoder_loss": [(150, 2.5)], "code_loss": [(150, 0.5)]}),
    ("epoch3; batch20; g_loss:2.5; d_loss: 0.5; ", {"g_loss": [(20, 2.5)], "d_loss": [(20, 0.5)]}),
    ("Snapshot 2000 saved, average loss: 2.5, average time: 1.25", {"loss": [(2000, 2.5)]}),
]  # fmt: skip


@pytest.mark.parametrize(("line", "expected"), ROWS, ids=[str(i) for i in range(len(ROWS))])
def test_a_row_of_a_home_made_loop(line, expected):
    run = read_text(line + "\n")

    assert {name: points(run, name) for name in expected} == expected


@pytest.mark.parametrize("name", ["val_wer", "val_f1", "val_mAP", "test_map50", "val_mae", "val_dice"])
def test_a_score_on_a_line_of_its_own_is_read_whatever_its_phase(name):
    run = read_text(
        "".join(f"Epoch {n}\n    loss: {3 / n:.4f}\n    {name}: {1 / n:.5f}\n" for n in (1, 2, 3, 4))
    )

    assert points(run, name.lower()) == [(None, 1.0), (None, 0.5), (None, 0.33333), (None, 0.25)]


def test_the_pixel_loss_of_a_restoration_toolbox_is_its_loss():
    row = "2023-05-01 10:00:01,123 INFO: [SRx4..][epoch:  0, iter: {0:7,d}, lr:(2.000e-04,)] [eta: 2:00:00, time (data): 0.211 (0.003)] l_pix: {1:.4e} \n"
    run = read_text("".join(row.format(1000 * n, 0.08 / n) for n in (1, 2, 4)))

    assert points(run, "loss") == [(1000, 0.08), (2000, 0.04), (4000, 0.02)]


def test_a_word_that_holds_the_name_of_a_score_is_none():
    run = read_text(
        "".join(f"Epoch {n}\n    loss: {3 / n:.4f}\n    lower_power: {1 / n:.5f}\n" for n in (1, 2, 3))
    )

    assert not {"wer", "lower_power"} & set(run.metrics.names)


def test_a_length_in_the_row_of_an_episode_is_that_of_the_episode():
    rows = [f"Episode {n}\tLast length:  {9 + n}\tAverage length: {n + 0.5}" for n in (10, 20, 30)]
    texts = [f"Batch {n}: average length: {n + 0.5}" for n in (10, 20, 30)]

    assert points(read_text("\n".join([*rows, ""])), "episode_length_mean") == [
        (10, 10.5),
        (20, 20.5),
        (30, 30.5),
    ]
    assert not points(read_text("\n".join(["step 1 loss: 2.0", *texts, ""])), "episode_length_mean")


NO_ROWS = [
    "At step 500 the loss is 3 times higher than it was before the learning rate change, see the plot.",
    "Best model saved at epoch 10 with val_loss: 0.5",
    "Saved checkpoint at step 100 (loss=0.5)",
    "Early stopping at step 100, loss 0.5",
    "Epoch 5: val_loss improved from 0.5 to 0.25, saving model to model.keras",
    "Epoch 00005: ReduceLROnPlateau reducing learning rate to 0.0005.",
    "/lib/site.py:10: UserWarning: step 10 loss 5",
    "    ax.plot(iterations[20:], loss[20:])",
    "    print(f'step {step}: loss {loss:.4f}')",
    "epoch 3: loss2: see below",
    "step 3: loss nanms",
    "  loss_weight: 1.0",
    "step:0/1480 val_loss_bound:inf_norm",
    "30/30 [=======] - 9ms/step\n    accuracy                           0.83       503",
    "epoch 3\n              LOC: precision:  40.00%; recall:  50.00%; FB1:  44.44  5",
]


@pytest.mark.parametrize("line", NO_ROWS)
def test_prose_and_settings_are_no_rows(line):
    assert read_text(line + "\n").metrics.names == ()


def test_how_much_was_read_by_name_alone_is_told_once():
    run = read_text("hello\nstep 10 loss 2.5\nstep 20 loss 2.25 acc 0.5\n")

    assert only(run, "rows_read_by_name") == {"rows": 2, "form": "pairs", "names": "acc, loss"}
    (event,) = run.events.of("rows_read_by_name")
    assert (event.ref.line, event.step, event.role) == (2, 10, "info")


def test_rows_of_a_known_trainer_are_not_told():
    assert not read_text("steps: 10 loss: 8.125 iter time (s): 0.25 samples/sec: 32.0\n").events.of(
        "rows_read_by_name"
    )


def test_a_heading_places_the_rows_below_it():
    run = read_text("Epoch 0/24\n----------\ntrain Loss: 0.5000 Acc: 0.7500\nval Loss: 0.2500 Acc: 0.8750\n")

    assert (points(run, "loss"), points(run, "accuracy")) == ([(None, 0.5)], [(None, 0.75)])
    assert (points(run, "eval_loss"), points(run, "eval_accuracy")) == ([(None, 0.25)], [(None, 0.875)])


def test_steps_that_start_again_at_each_heading_run_on():
    run = read_text(
        "Training epoch: 0\nIter 0 | loss: 2.5\nIter 100 | loss: 2.0\nTraining epoch: 1\nIter 0 | loss: 1.5\n"
    )

    assert [step for step, _ in points(run, "loss")] == [0, 100, 101]


@pytest.mark.parametrize(
    "speed",
    [
        "",
        ", 4.5 seconds/step, 0.75 examples/second",
        ", 0.75 examples/sec, 4.5 sec/batch",
        " (4.5 s/it; 0.75 it/s)",
    ],
)
def test_units_of_speeds_are_no_words_of_a_sentence(speed):
    run = read_text(f"Step 000100, model loss 0.0100, total loss 0.0125{speed}\n")

    assert points(run, "loss") == [(100, 0.0125)]


TABLES = [
    ("epoch     train_loss  valid_loss  accuracy  time    \n0         2.250000    2.125000    0.250000  00:10     \n1         nan         nan         0.125000  00:10     \n",
     {"loss": [(None, 2.25), (None, "nan")], "eval_loss": [(None, 2.125), (None, "nan")], "eval_accuracy": [(None, 0.25), (None, 0.125)]}),
    ("Step\tTraining Loss\tValidation Loss\n100\t2.250000\tNo log\n200\t2.000000\t1.750000\n", {"loss": [(100, 2.25), (200, 2.0)], "eval_loss": [(200, 1.75)]}),
    ("epoch,step,loss,lr\n0,10,2.25,0.5\n0,20,2.125,0.25\n", {"loss": [(10, 2.25), (20, 2.125)], "learning_rate": [(10, 0.5), (20, 0.25)]}),
    ("  epoch    train_loss    valid_acc    valid_loss     dur\n-------  ------------  -----------  ------------  ------\n      1        2.2500       0.5000        2.1250  0.0500\n",
     {"loss": [(None, 2.25)], "eval_loss": [(None, 2.125)], "eval_accuracy": [(None, 0.5)]}),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), TABLES, ids=["fastai", "notebook", "csv", "skorch"])
def test_a_table_that_grows(text, expected):
    run = read_text(text)

    assert {name: points(run, name) for name in expected} == expected


def test_a_sentence_with_names_is_no_head_of_a_table():
    assert read_text("the train_loss and valid_loss of each step\n1 2 3 4 5 6 7 8\n").metrics.names == ()


def test_scores_of_an_example_script():
    run = read_text("INFO - __main__ - epoch 3: {'accuracy': 0.5, 'f1': 0.25}\n")

    assert (points(run, "eval_accuracy"), points(run, "eval_f1")) == ([(None, 0.5)], [(None, 0.25)])


def test_rows_of_pyslowfast():
    run = read_text(
        'json_stats: {"_type": "train_iter", "epoch": "2/200", "iter": "10/100", "dt": 0.5, "loss": 2.5, "lr": 0.1}\n'
        'json_stats: {"_type": "val_epoch", "epoch": "2/200", "top1_acc": 75.0}\n'
    )

    assert (points(run, "loss"), points(run, "step_time_s")) == ([(110, 2.5)], [(110, 0.5)])
    assert points(run, "eval_accuracy") == [(110, 75.0)]


def test_epochs_of_pyslowfast_are_the_curve_where_no_steps_are_logged():
    run = read_text('json_stats: {"_type": "train_epoch", "epoch": "2/200", "dt": 0.5, "loss": 2.5}\n')

    assert (points(run, "loss"), points(run, "step_time_s")) == ([(None, 2.5)], [])


def test_a_learning_rate_of_three_decimals_says_nothing():
    run = read_text(
        "step:5 - actor/lr:0.000 - actor/pg_loss:0.125\nstep:6 - actor/lr:1e-06 - actor/pg_loss:0.125\n"
    )

    assert points(run, "learning_rate") == [(6, 1e-06)]


STOPS = [
    ("nan_stop", {"metric": "train_loss", "value": "nan"}, "Monitored metric train_loss = nan is not finite. Previous best value was 0.5. Signaling Trainer to stop."),
    ("nan_stop", {"value": "nan"}, "ValueError: LossNan. Loss contains inf or nan values, its value is nan"),
    ("nan_stop", {}, "RuntimeError: Train loss contains a NaN."),
    ("nan_stop", {"where": "jit(train_step)"}, "FloatingPointError: invalid value (nan) encountered in jit(train_step)"),
    ("nan_stop", {"rank": 3, "where": "grad norm"}, "AssertionError: Rank 3: found NaN in local grad norm in backward pass before data-parallel communication collective."),
    ("nonfinite_parameters", {"module": "encoder.weight"}, "ValueError: Detected nan and/or inf values in `encoder.weight`. Check your forward pass."),
    ("gradient_skipped", {"value": "nan"}, "WARNING: The grad norm is nan. Skipping updating the model."),
    ("gradient_skipped", {"rank": 2, "norm": "inf"}, "WARN: rank 2 grad_norm is not finite: inf"),
    ("invalid_distribution_parameter", {"parameter": "loc", "distribution": "Normal"},
     "ValueError: Expected parameter loc (Tensor of shape (64, 6)) of distribution Normal(loc: torch.Size([64, 6]), scale: torch.Size([64, 6])) to satisfy the constraint Real(), but found invalid values:"),
    ("loss_scale_minimum", {"minimum": 4.5e-06}, "RuntimeError: grad_scale is too small, exiting: 4.5e-06"),
    ("loss_scale_small", {"scale": 0.005}, "WARNING [train.py:900] Grad scale is small: 0.005"),
    ("loss_scale_overflow", {"reducing_to": 1024.0, "step": 10}, "{ Epoch:[  1/  2], step:[   10/ 1000], loss: 8.125, overflow cond: True, loss_scale: 1024.0 }"),
    ("nan_detector", {"module": "matmul", "nans": 1}, "[PRECISION] [ERROR] There are NAN or INF (num_nan=1, num_inf=0, num_zero=0) in [device=gpu:0, op=matmul, tensor=x]"),
    ("training_completed", {"epochs": 100}, "100 epochs completed in 1.25 hours."),
    ("training_completed", {}, "Training time 0:10:00"),
    ("training_completed", {}, "2026-01-01 00:00:00,000 INFO [train.py:1000] (0/4) Done!"),
    ("checkpoint_saved", {"step": 2000}, "  successfully saved checkpoint from iteration    2000 to /data/run"),
    ("checkpoint_saved", {"seconds": 3.5}, "Finished saving the checkpoint (or staging if async is enabled) in 3.50 seconds."),
    ("resume_from_checkpoint", {"step": 5000}, "[01/01 00:00:00 d2.engine.train_loop]: Starting training from iteration 5000"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "fields", "line"), STOPS, ids=[f"{i}-{kind}" for i, (kind, _, _) in enumerate(STOPS)]
)
def test_sentences_of_trainers(kind, fields, line):
    (event,) = read_text(line + "\n").events.of(kind)

    assert fields.items() <= dict(event.fields).items()


@pytest.mark.parametrize(
    ("kind", "line"),
    [
        ("nan_stop", "    raise RuntimeError('Train loss contains a NaN.')"),
        ("nan_stop", "    assert not np.isnan(loss_value), 'Model diverged with loss = NaN'"),
        ("training_completed", "Estimated Training time 0:10:00"),
        (
            "resume_from_checkpoint",
            "[01/01 00:00:00 d2.engine.train_loop]: Starting training from iteration 0",
        ),
    ],
)
def test_a_sentence_that_is_only_quoted_is_no_event(kind, line):
    assert not read_text(line + "\n").events.of(kind)


@pytest.mark.parametrize("name", ["CrossEntropyLossWithLogSoftmax", "WeightedCategoryCrossEntropy"])
def test_rows_that_begin_with_train_and_with_eval_are_two_curves_whatever_the_loss_is_called(name):
    rows = "".join(
        f"\nStep {n:6}: train {name} | {9 - n / 100:11.8f}\nStep {n:6}: eval  {name} | {9.5 - n / 100:11.8f}\n"
        f"Step {n:6}: eval        WeightedCategoryAccuracy | {n / 1000:11.8f}\n"
        for n in range(100, 600, 100)
    )
    run = read_text(rows)

    assert set(run.metrics.names) == {"loss", "eval_loss", "eval_accuracy"}
    assert points(run, "loss")[0][:2] == (100, 8.0)
    assert points(run, "eval_loss")[-1][:2] == (500, 4.5)


def test_a_loss_of_an_unknown_kind_in_a_row_of_evaluation_is_held_out():
    rows = "".join(
        f"Step {n}: train OddLossTerm | {9 - n}.5\nStep {n}: eval OddLossTerm | {9 - n}.75\n"
        for n in range(1, 7)
    )

    assert set(read_text(rows).metrics.names) == {"train_oddlossterm", "eval_oddlossterm"}


def test_a_box_that_counts_epochs_and_holds_a_rate_of_success_is_a_row():
    rows = "".join(
        f"{'-' * 32}\n| epoch              | {n}       |\n| test/mean_Q        | -{n}.5    |\n"
        f"| test/success_rate  | 0.{n}     |\n| train/success_rate | 0.{n}5    |\n{'-' * 32}\n"
        for n in range(1, 4)
    )
    series = read_text(rows).metrics.series("test/success_rate")

    assert series.value.tolist() == [0.1, 0.2, 0.3]


@pytest.mark.parametrize(
    "rows",
    [
        "| epoch  | 3  |\n| seed   | 7  |\n",  # settings
        "| epoch  | loss |\n|--------|------|\n",  # a heading
        "| success_rate | 0.5 |\n",  # a result, alone
    ],
)
def test_other_boxes_are_no_rows(rows):
    assert not read_text(rows).metrics.names


def test_a_level_behind_the_number_of_the_process_is_no_part_of_a_name():
    rows = "".join(f"2026-01-0{n} 10:00:00,001 P4711 INFO Train loss: 0.{9 - n}\n" for n in range(1, 7))

    assert set(read_text(rows).metrics.names) == {"loss"}


def test_the_average_loss_of_one_player_is_not_that_of_the_run():
    rows = "".join(
        f"At global_step {n}99: generator average loss 0.{5 + n}, discriminator average loss -0.0{n}\n"
        for n in range(1, 5)
    )

    assert set(read_text(rows).metrics.names) == {"generator_average_loss", "discriminator_average_loss"}


def test_scores_of_held_out_data_are_rows_though_no_loss_is_printed():
    rows = "".join(f"Epoch {n} out of 6\nDev: UAS 8{n}.25% LAS 7{n}.5% 300 sents/s\n" for n in range(1, 7))
    run = read_text(rows)

    assert run.metrics.series("val_uas").value.tolist() == [0.8125, 0.8225, 0.8325, 0.8425, 0.8525, 0.8625]
    assert not read_text("The model has UAS 95.5 in the paper.\nOurs has LAS 94.1.\n").metrics.names


def test_memory_in_a_row_is_kept_whatever_its_unit():
    rows = "".join(
        f"step: {n}, loss: {3 - n / 9:.2f}, mem: {5000 + n}, cuda_max_memory_gb: {6 + n}\n" for n in (1, 2, 3)
    )
    run = read_text(rows)

    assert points(run, "mem") == [(1, 5001), (2, 5002), (3, 5003)]
    assert points(run, "gpu_memory_peak_gib") == [(1, 7), (2, 8), (3, 9)]
    assert points(read_text("step 1 loss 0.5, best max loss: 0.25\n"), "max_loss") == []


@pytest.mark.parametrize(
    "listed",
    ["[0.5, 0.25]", "[0.5 0.25]", "[np.float32(0.5), np.float32(0.25)]"],
    ids=["list", "array", "numpy2"],
)
def test_each_score_of_a_list_is_that_of_a_class(listed):
    run = read_text(
        "".join(f"Epoch {n}\ntrain_loss -0.5\nPseudo dice {listed}\nEpoch time: 12.1 s\n" for n in range(3))
    )
    assert [[value for _, value in points(run, f"dice_{place}")] for place in (0, 1)] == [
        [0.5] * 3,
        [0.25] * 3,
    ]


@pytest.mark.parametrize(
    "title",
    ["Map:", "Map (num_proc=6):", "Filter:", "Generating train split:", "Running tokenizer on dataset:"],
)
def test_bars_of_a_dataset_that_is_prepared_tell_no_speed_of_the_training(title):
    bars = "\r".join(
        f"{title}  {n}%|#   | {n}/60 [00:00<00:05,  {9 - n / 9:.2f} examples/s]" for n in range(1, 40, 3)
    )
    rows = "".join(f"step {n} loss {2.5 - n / 20:.3f}\n" for n in range(12))

    assert set(read_text(bars + "\n" + rows).metrics.names) == {"loss"}


def test_a_dash_before_a_name_is_none_of_its_letters():
    run = read_text(
        "".join(
            f"  Epoch {n} \u2014 mean Dice: {dice}  |  HD95: 0.5 mm\n" for n, dice in ((20, 0.5), (40, 0.75))
        )
    )
    assert [value for _, value in points(run, "mean_dice")] == [0.5, 0.75]


def test_time_and_memory_beside_a_loss_are_read_and_make_no_row_alone():
    rows = "".join(f"Epoch {n}/9 - loss: 0.5 - time: {60 + n}s - gpu_mem: {1024 * n}MB\n" for n in (1, 2, 3))
    run = read_text(rows + "time: 12s - gpu_mem: 512MB\n")
    assert [value for _, value in points(run, "time")] == [61.0, 62.0, 63.0]
    assert [value for _, value in points(run, "gpu_mem")] == [1.0, 2.0, 3.0]


def test_numbers_below_a_heading_of_training_or_test_errors_are_of_those_data():
    train, held_out = ((60.0, 1.5), (70.0, 1.0), (80.0, 0.5)), ((40.0, 2.0), (42.0, 2.25), (41.0, 2.5))
    run = read_text(
        "".join(
            f"Epoch {n + 1}\n---------\nloss: {loss:.6f}  [   64/  640]\n"
            f"Train Error:\n Accuracy: {right}%, Avg loss: {loss:.6f}\n\n"
            f"Test Error: \n Accuracy: {known}%, Avg loss: {cost:.6f}\n\n"
            for n, ((right, loss), (known, cost)) in enumerate(zip(train, held_out, strict=True))
        )
    )

    assert [value for _, value in points(run, "accuracy")] == [right for right, _ in train]
    assert [value for _, value in points(run, "eval_accuracy")] == [known for known, _ in held_out]
    assert [value for _, value in points(run, "eval_loss")] == [cost for _, cost in held_out]


def test_a_log_whose_first_counter_of_epochs_is_printed_alone_says_where_it_begins():
    rows = "Epoch {}\n-------\nloss: 0.5\nEpoch {}\n-------\nloss: 0.4\n"

    assert [end.first_epoch for end in read_text(rows.format(13, 14)).log_ends] == [13]
    assert [end.first_epoch for end in read_text("Epoch time: 3.2 s\n" + rows.format(1, 2)).log_ends] == [1]
    assert [end.first_epoch for end in read_text("epoch 0.25: loss 0.5\n").log_ends] == [None]
    assert [end.first_epoch for end in read_text("Starting Epoch 7:\nloss: 0.5\n").log_ends] == [7]


def test_the_last_epoch_is_known_though_its_counter_does_not_say_where_it_goes_to():
    row = "Epoch: [{}][{}/30] Loss {}\n"
    rows = "".join(
        row.format(epoch, step, 3 - 0.01 * step - epoch) for epoch in (0, 1) for step in range(0, 30, 10)
    )

    assert [(end.first_epoch, end.last_epoch) for end in read_text(rows).log_ends] == [(0, 1)]
    assert [(end.first_epoch, end.last_epoch) for end in read_text(rows[: len(rows) // 2]).log_ends] == [
        (0, 0)
    ]
    assert [(end.first_epoch, end.last_epoch) for end in read_text("step 3: loss 0.5\n").log_ends] == [
        (None, None)
    ]


def _nequip(head):
    rows = "".join(
        f"{phase}\n{head}\n{epoch:>7} {batch:>5} {3 / (epoch + 1):12.3g} {2 / (epoch + 1):12.3g}   0.5\n\n"
        for epoch in range(1, 6)
        for phase, batch in (("training", 8), ("training", 16), ("validation", 1))
    )
    return read_text(f"! Starting training ...\n\n{rows}")


def test_a_table_of_epochs_and_batches_goes_on_below_each_head_and_its_phase():
    run = _nequip("# Epoch batch         loss       loss_f  Si_f_mae")

    assert [step for step, _ in points(run, "loss")] == [8, 16, 24, 32, 40, 48, 56, 64, 72, 80]
    assert [step for step, _ in points(run, "eval_loss")] == [16, 32, 48, 64, 80]


def test_a_sentence_that_begins_with_epoch_and_batch_is_no_head():
    assert not points(_nequip("# Epoch batch of the training, its loss, and more"), "loss")


def test_batches_of_an_evaluation_that_name_its_phase_stand_at_the_step_that_training_reached():
    train = "| TRAIN SET | Epoch [{0:02d}/50], Step[{1:04d}/0220], Loss: {2:.4f}, Top 1 Acc: {3:.4f}, Top 5 Acc: 0.9000\n"
    held_out = "| VALID SET | Epoch [{0:02d}/50], Step[{1:04d}/0031], Loss: {2:.4f}, Top 1 Acc: {3:.4f}, Top 5 Acc: 0.9500\n"
    run = read_text(
        "".join(
            "".join(train.format(n, at, 2 / n, 0.25) for at in range(0, 220, 10))
            + "".join(held_out.format(n, at, 3 / n, 0.125) for at in range(0, 31, 10))
            for n in range(1, 7)
        )
    )

    reached = [220 * n - 10 for n in range(1, 7) for _ in range(4)]
    assert [step for step, _ in points(run, "eval_loss")] == reached
    assert {value for _, value in points(run, "accuracy")} == {0.25}
    assert {value for _, value in points(run, "eval_accuracy")} == {0.125}


def test_a_part_without_a_sign_is_no_second_loss():
    row = "Epoch: {0}, Step: 100, Average Loss: 1.7{0}, Average Regression Loss 0.7{0}, Average Class Loss: 0.9{0}\n"
    run = read_text("".join(row.format(at) for at in range(3)))

    assert [value for _, value in points(run, "loss")] == [1.7, 1.71, 1.72]
    assert [value for _, value in points(run, "average_regression_loss")] == [0.7, 0.71, 0.72]


def test_a_row_that_was_cut_off_is_read_by_the_names_that_stood_together_before():
    row = "epoch 1, iter {}, side_a: {}.25, side_b: 0.5, cycle_a: 0.25\n"
    cut = "epoch 1, iter 30, side_a: 61.75, side_b: 108.\n"
    run = read_text(row.format(10, 1) + row.format(20, 2) + cut)

    assert points(run, "side_a") == [(10, 1.25), (20, 2.25), (30, 61.75)]
    assert "side_a" not in read_text(cut).metrics.names


def test_the_size_of_a_frame_of_pandas_is_no_memory_of_the_process():
    rows = "".join(
        f"step {n} loss {2.5 - n / 20:.3f}\ndtypes: float64(9), object(1)\nmemory usage: {n + 9.5}{unit}\n"
        for n in range(12)
        for unit in ("+ KB", " KB", "+ MB")
    )

    assert set(read_text(rows).metrics.names) == {"loss"}


def test_the_memory_of_a_process_is_one():
    rows = "".join(f"step {n} loss 0.5\nmemory usage: {n + 900.5} MB\n" for n in range(12))

    assert {"loss", "memory_usage"} == set(read_text(rows).metrics.names)


def test_what_a_tracker_sums_up_at_its_end_is_no_row_of_a_course():
    rows = "".join(f"step {n} loss {2.5 - n / 20:.3f}\n" for n in range(12))
    summary = "wandb: Run summary:\nwandb: train/loss 0.25\nwandb:   val/loss 0.5\nwandb: lr 0.01\n"

    metrics = read_text(rows + summary).metrics
    assert set(metrics.names) == {"loss"}
    assert len(metrics) == 12
