"""Rows in which a word, a list, a counter, a mean or a best stands where others have none, each beside a line that looks alike."""

import pytest
from log_reading import points, read_text

from analyzer.api import diagnose, load
from analyzer.errors import AnalyzerError


def lines(form, values=(0.5, 0.25, 0.125)):
    return "".join(form.format(n=n, v=v) + "\n" for n, v in enumerate(values, 1))


IN_EPOCHS = [(None, 0.5), (None, 0.25), (None, 0.125)]
AT_STEPS = [(1, 0.5), (2, 0.25), (3, 0.125)]


@pytest.mark.parametrize(
    ("text", "name", "told"),
    [
        (lines("[Epoch {n}] Train-acc: 0.5, loss: 1.5 | Val-acc: 0.25, loss: {v} | time: 1.5"), "eval_loss", IN_EPOCHS),
        (lines("Epoch {n} train_acc 0.5 loss {v}, val_acc 0.25 loss 1.5"), "loss", IN_EPOCHS),
        (lines("{n}  MSError={v}, MSTestError=2.5, |G|=38.25"), "mserror", AT_STEPS),
        (lines("{n} loss: {v}, acc: 0.5"), "loss", AT_STEPS),
        (lines("[Origin=PictureSorter; PictureSorter, Level=Trace] Phase: Training, Part read: Train, Chunks Done Count: 90, Epoch: {n}, Accuracy: 0,8125, Loss: {v}, Rate: 0,0625").replace("Loss: 0.", "Loss: 0,"), "loss", IN_EPOCHS),
        (lines("[00:01:0{n}] main [epoch {n}] task mixed speech masked units, loss {v}, near_loss 0.25, far_loss 0.5"), "loss", IN_EPOCHS),
        ("".join(f"== EPOCH:  {n} / 5  ==\nError:  {v}\n" for n, v in ((1, 0.5), (2, 0.25), (3, 0.125))), "error", IN_EPOCHS),
        (lines("iteration {n} Error: {v}, time 3"), "error", AT_STEPS),
        (lines("[DQN] Episode {n} - Truncated at step 1000. Reward: {v}"), "reward_mean", AT_STEPS),
        (lines(" 2026-01-02 03:04:0{n}.%f fit.py:12[77] INFO Train epoch: {n}\tAccuracy: 50.5%\tLoss: {v}"), "loss", IN_EPOCHS),
        (lines("[WARNING] (Step: {n}) train_loss = {v}."), "loss", AT_STEPS),
        (lines("Epoch {n}: 100%|##| 9/9 [00:03<00:00, 2.5it/s, train_loss_epoch={v}, train_acc=0"), "accuracy", []),
        (lines("{n} | measure{n}     | MulticlassAccuracy     | 0      | train\n{n} | criterion    | CrossEntropyLoss   | 0  | train"), "accuracy", []),
        (lines("Total: 400, Correct: 30{n}, Accuracy: {v}, Group-Accuracy: 0.5"), "total_loss", []),
        (lines("VmRSS:\t {v} kB\nloaded a batch"), "vmrss", IN_EPOCHS),
        (lines("fitted Current memory usage: {v} GB"), "fitted_current_memory_usage", IN_EPOCHS),
        (lines("Round {n}/9\nRAM Used (GB): {v}"), "ram_used", AT_STEPS),
        (lines("[fit]:   0%|    | {n}/4000 [11:45<53:42,  2.06it/s][WARNING] (Step: {n}) train_loss = {v}."), "loss", AT_STEPS),
        (lines("-----Epoch {n} / 3\n Training loss: {v} - Other training metrics: {{'accuracy_score': 0.5}}"), "loss", IN_EPOCHS),
        (lines("EPOCH ::: {n}\nFit Net: 100%|##| 9/9 [00:14<00:00,  8.2it/s, Loss_pi={v}, Loss_v=0.5]"), "policy_loss", [(9, 0.5), (18, 0.25), (27, 0.125)]),
        (lines("INFO  | line 292  : NLL Loss @ epoch 0001 iteration 000{n} = {v}"), "nll_loss", AT_STEPS),
        (lines("Frame {n}\nRe-rendering loss: 2308.13->{v} camera tensor error: 0.5->0.25"), "re-rendering_loss", IN_EPOCHS),
        (lines("[acme.automl: 03-25 19:52:2{n}] {{2951}} INFO - iteration {n}, current learner trees"), "acme.automl", []),
        (lines('{{"metric": "loss", "value": {v}, "step": {n}}}'), "loss", AT_STEPS),
        (lines("The time elapse of epoch 00{n} is: 00: 00: 40\nHR: {v}\tNDCG: 0.25"), "hitrate", IN_EPOCHS),
        (lines("('Round #', {n}, '\\tended with reward', {v}, '\\tnoise', 0.75)"), "reward_mean", AT_STEPS),
        (lines("INFO [check.py:88] global average objf for validation set: {v} over 900.0 frames, epoch {n}"), "validation_global_average_objf", IN_EPOCHS),
        (lines("it went {v} over 90{n} frames of the set"), "went", []),
        (lines("step: {n}, loss: 1.5\n('near_loss :    ', {v})"), "near_loss", AT_STEPS),
        (lines("2026-01-02 03:04:05: target/other_loss: 0.75    target/train_loss: {v}    target/BLEU-4: 0.08"), "target/train_loss", IN_EPOCHS),
        (lines("Episode {n} finished after 200 steps, reward: {v}"), "reward_mean", AT_STEPS),
        (lines("Saved model at epoch {n} with loss: {v}"), "loss", IN_EPOCHS),
        (lines("Saving checkpoint at step {n}00, val_loss={v}"), "eval_loss", [(100, 0.5), (200, 0.25), (300, 0.125)]),
        (lines("reward_avg=1.5 tiles_avg={v} win_perc=0.5 global_t={n}"), "tiles_avg", AT_STEPS),
        (lines("Epoch {n}/9 : 0h 1m\ntrain Loss: 2.5 Epoch Acc: 0.5 Epoch Prob: {v}"), "epoch_prob", IN_EPOCHS),
        ("train_loss, train_accuracy, test_loss\n" + lines("   0.75,    0.5,    {v}"), "eval_loss", IN_EPOCHS),
        ("Loss, Train, Val, Test\n" + lines("{v}, 0.75, 0.5, 0.25"), "loss", IN_EPOCHS),
        (lines("step {n} loss {v} tok/s 9000 dt 84.5ms"), "loss", AT_STEPS),
        (lines("step {n} loss 2.5 lr 0.5 tok/s {v} dt 84.5ms"), "tokens_per_second", AT_STEPS),
        (lines("step {n} loss 2.5 {v} tok/s 9 it/s"), "tokens_per_second", AT_STEPS),
        (lines("step {n} speed {v} tok/s 12"), "tokens_per_second", AT_STEPS),
        (lines("Epoch {n} loss -0.75 std {v} acc 0.25"), "std", IN_EPOCHS),
        (lines("Epoch {n}:\ttime 0.25\tloss -0.75\tspread {v}\tacc 0.25"), "spread", IN_EPOCHS),
        (lines("Epoch {n} loss 0.75 (std {v})"), "std", []),
        ("round 4\n" + lines("{{'accuracy': [({n}, {v}), (2, 0.5), (3, 0.75)]}}"), "accuracy", []),
        (lines("Avg : g {v} d 0.5 ad 0.25| step {n}00: 100%|####| 5/5 [00:10<00:00,  2.7it/s]"), "g", [(100, 0.5), (200, 0.25), (300, 0.125)]),
    ],
)  # fmt: skip
def test_rows_of_odd_forms_are_read_at_their_place(text, name, told):
    run = read_text(text)
    assert points(run, name) == told


def test_an_array_beside_an_epoch_is_a_row_of_columns():
    values = [0.9 - n / 20 for n in range(12)]
    run = read_text("".join(f"Epoch {n} [{v:.2f} 0.25]\n" for n, v in enumerate(values, 1)))
    assert points(run, "unnamed") == [(n, round(v, 2)) for n, v in enumerate(values, 1)]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (lines("Train Loss: 0.5 Val Loss: 0.75 Total Loss: {v}"), "eval_total_loss"),
        (lines("error: 40{n}"), "error"),
        (lines("error: {v} GB were asked for"), "error"),
        (lines("step {n} loss: 0.75\nSaved model at step {n} with loss: {v}"), "part/loss"),
        (
            "A loss, train, val, test split was made of 5 files\n" + lines("{v} is what the {n} weighs"),
            "loss",
        ),
    ],
)
def test_lines_that_look_alike_are_no_rows(text, name):
    assert not points(read_text(text), name)


def test_a_step_that_an_episode_names_without_an_end_stays_one():
    run = read_text(lines("Episode 7, step {n}00, reward: {v}"))
    assert [step for step, _ in points(run, "reward_mean")] == [100, 200, 300]


def test_a_table_without_a_head_is_read_where_its_file_is_named_for_a_course_or_asked_for(tmp_path):
    rows = "".join(f"{n},{1 - n / 20:.2f},0.5\n" for n in range(12))
    (tmp_path / "loss_log.csv").write_text(rows, encoding="utf-8")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "samples.csv").write_text(rows, encoding="utf-8")
    (tmp_path / "names.csv").write_text(rows.replace(",0.5", ",a rose"), encoding="utf-8")

    for asked in (tmp_path / "loss_log.csv", tmp_path / "data" / "samples.csv"):
        assert [step for step, _ in points(load(asked), "unnamed")] == list(range(12))
    for asked in (tmp_path / "data", tmp_path / "names.csv"):
        with pytest.raises(AnalyzerError):
            load(asked)


def test_rows_of_json_that_measure_the_same_are_read_where_their_file_is_asked_for(tmp_path):
    rows = "".join(f'{{"results": {{"fid": {60 - n}}}, "took": "8m"}}\n' for n in range(6))
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "scores_of_all.jsonl").write_text(rows, encoding="utf-8")
    (tmp_path / "texts.jsonl").write_text('{"text": "it was killed", "label": 1}\n' * 6, encoding="utf-8")

    assert [value for _, value in points(load(tmp_path / "data" / "scores_of_all.jsonl"), "results/fid")] == [
        60, 59, 58, 57, 56, 55
    ]  # fmt: skip
    for asked in (tmp_path / "data", tmp_path / "texts.jsonl"):
        with pytest.raises(AnalyzerError):
            load(asked)


def test_a_log_that_is_named_as_a_table_is_read_and_a_table_of_sentences_is_not(tmp_path):
    rows = "".join(f"Epoch:{n}, box loss is {1 - n / 20:.2f}\n" for n in range(6))
    (tmp_path / "train_log.csv").write_text(rows, encoding="utf-8")
    (tmp_path / "remarks.csv").write_text("id,remark\n" + rows.replace("Epoch", "1,Epoch"), encoding="utf-8")

    assert len(points(load(tmp_path / "train_log.csv"), "box_loss")) == 6
    parts = "".join(
        f"Epoch:{n}\n" + "".join(f"{part}: 0.5\n" for part in range(7)) + f"miou: 0.{n}5\n" for n in range(6)
    )
    (tmp_path / "val_log.csv").write_text(parts, encoding="utf-8")
    assert len(load(tmp_path / "val_log.csv").metrics.value) >= 6
    with pytest.raises(AnalyzerError):
        load(tmp_path / "remarks.csv")


@pytest.mark.parametrize(
    "row",
    [
        'run_{} loss=0.5,"lost node 3, killed"\n',
        "try_{} loss=0.5, later killed\n",
        'epoch {},"it was killed"\n',
    ],
)
def test_a_table_of_remarks_on_runs_without_a_head_is_no_log(tmp_path, row):
    (tmp_path / "notes.csv").write_text("".join(row.format(n) for n in range(6)), encoding="utf-8")
    with pytest.raises(AnalyzerError):
        load(tmp_path / "notes.csv")


def falling(form):
    """Four rows of a form with falling values."""
    return "".join(form.format(n=n, a=2 / n, b=4 / n) + "\n" for n in (1, 2, 4, 8))


@pytest.mark.parametrize(
    ("form", "name", "beside"),
    [
        ("step {n}: Loss {a:.3f} ({b:.3f})", "loss", "epoch/loss_avg"),
        ("step {n}: Loss {a:.3f}({b:.3f})", "loss", "epoch/loss_avg"),
        ("step {n} [Train] Loss {a:.3e} ( {b:.3e}) lr 0.5 (0.5)", "loss", "epoch/loss_avg"),
        ("step {n} loss: {a:.3f} (avg: {b:.3f})", "loss", "epoch/loss_avg"),
        ("step {n} loss {a:.3f}, mean {b:.3f}", "loss", "epoch/loss_avg"),
        ("step {n} val acc: {a:.3f} | best: {b:.3f}", "eval_accuracy", "best_val_acc"),
        ("step {n} val acc: {a:.3f} (best so far {b:.3f} at step 3)", "eval_accuracy", "best_val_acc"),
        ("step {n}\tBest valid accuracy: {b:.3f} valid accu: {a:.3f}", "eval_accuracy", "best_valid_accuracy"),
        ("step {n}, train_loss: [{a:.3f}], min_loss: [{b:.3f}]", "loss", "min_loss"),
    ],
)  # fmt: skip
def test_what_is_told_beside_a_value_is_a_series_of_its_own(form, name, beside):
    run = read_text(falling(form))

    assert [value for _, value in points(run, name)] == pytest.approx([2.0, 1.0, 0.5, 0.25])
    assert points(run, beside) == [(n, pytest.approx(4 / n)) for n in (1, 2, 4, 8)]


def test_means_of_held_out_rows_are_of_held_out_data():
    run = read_text(falling("step {n} train loss 0.5 | val loss {a:.3f} ({b:.3f})"))

    assert [value for _, value in points(run, "epoch/val_loss_avg")] == pytest.approx([4.0, 2.0, 1.0, 0.5])


@pytest.mark.parametrize(
    "form",
    [
        "step {n}: loss 0.5 | Time {a:.3f} ({b:.3f}) | lr {a:.3f} ({b:.3f})",
        "step {n}: loss 0.5, 3 s ({b:.3f})",
        "step {n}: loss 0.5 best_epoch: 3, max_grad_norm: {b:.3f}",
    ],
)
def test_means_of_times_and_settings_are_left_out(form):
    names = read_text(falling(form)).metrics.names

    assert not [name for name in names if name.startswith(("epoch/", "best", "max"))]


def test_a_mean_that_lags_is_not_what_is_judged(tmp_path):
    text = "".join(
        f"step {n * 10}: loss {2.0 / n**0.5 + 0.01 * (n % 3):.4f} (9.0000)\n" for n in range(1, 61)
    )
    (tmp_path / "train.log").write_text(text)
    plain = tmp_path / "plain"
    plain.mkdir()
    (plain / "train.log").write_text(text.replace(" (9.0000)", ""))

    both = [diagnose(path) for path in (tmp_path / "train.log", plain / "train.log")]

    assert both[0].status == both[1].status
    assert [f.rule_id for f in both[0].findings] == [f.rule_id for f in both[1].findings]


@pytest.mark.parametrize(
    ("form", "told"),
    [
        ("step {n} loss {a:.3f} P 0.5 | grad A1 {a:.3f} A2 {b:.3f} A3 0.5", {"grad_a1": 2.0, "a2": 4.0, "a3": 0.5}),
        ("idx: {n}loss: {a:.3f}acc: 0.25", {"loss": 2.0, "accuracy": 0.25}),
        ("step {n} conv2d_loss: {a:.3f}, l1loss: {b:.3f}", {"conv2d_loss": 2.0, "l1loss": 4.0}),
        ("step {n} WER: {a:.3f} (corpus: {b:.3f}) | CER: 0.5 (corpus: 0.25)", {"wer_corpus": 4.0, "cer_corpus": 0.25}),
        ("step {n}\nTr_loss: {a:.3f}%", {"loss": 0.02}),
        ("step {n} loss: 0.5\nlr: {a:.3f}. Time taken for epoch: 22.5 seconds.", {"learning_rate": 2.0}),
        ("step {n} loss: 0.5\nHR@10: {a:.3f}, NDCG@10: 0.5, At K 8 of the whole set", {"hr@10": 2.0}),
        ("Epoch {n}/9\n训练损失: {a:.3f}\n验证结果:\n损失: {b:.3f}", {"loss": 2.0, "eval_loss": 4.0}),
        ("Epoch {n}/9\n训练和验证结果:\n损失: {b:.3f}", {"loss": 4.0}),
    ],
)  # fmt: skip
def test_the_first_row_of_an_odd_form(form, told):
    run = read_text(falling(form))

    assert {name: points(run, name)[0][1] for name in told} == pytest.approx(told)


@pytest.mark.parametrize("sign", ["\x01", "\x02", "\x03"])
def test_signs_of_the_mask_in_a_line_of_another_script_are_no_numbers(sign):
    text = "Epoch 1/9\n验证" + sign + "结果:\nloss: 0.5\n验证" + sign + "3:\nloss: 0.25\n"

    assert {"loss", "eval_loss"} & set(read_text(text).metrics.names)


def test_workers_write_their_episodes_as_they_end(tmp_path):
    rows = [(1, 50), (2, 50), (3, 6), (2, 40), (3, 30), (4, 50)]
    (tmp_path / "training_log.csv").write_text(
        "episode,steps,total_reward\n" + "".join(f"{at},{steps},{at * 2.5}\n" for at, steps in rows)
    )

    assert points(load(tmp_path), "steps") == [(at, float(steps)) for at, steps in rows]


@pytest.mark.parametrize(
    ("text", "name", "told"),
    [
        (lines("Fold {n}: train_loss={v} val_loss=0.75 val_acc=0.5"), "loss", IN_EPOCHS[:1]),
        (lines("Fold {n}: train_loss={v} val_loss=0.75 val_acc=0.5"), "part/train_loss", IN_EPOCHS[1:]),
        (lines("Fold {n}/5 | Train Loss: {v} | Val AUC: 0.75"), "part/train_loss", IN_EPOCHS[1:]),
        (lines("Fold 2: train_loss={v} val_loss=0.75"), "loss", IN_EPOCHS),
        (lines("Fold 1 Epoch {n}: train_loss={v} val_loss=0.75"), "loss", IN_EPOCHS),
        (lines("Fold {n} Epoch 1: train_loss={v} val_loss=0.75"), "loss", IN_EPOCHS),
        (lines("Stage {n}: train_loss={v} val_loss=0.75"), "loss", IN_EPOCHS),
    ],
)
def test_what_each_fold_ended_with_is_no_course_of_a_loss(text, name, told):
    assert points(read_text(text), name) == told


@pytest.mark.parametrize(
    ("heading", "told"), [("Fold 3", [9]), ("Fold 2", []), ("Epoch of the next pass", [])]
)
def test_a_log_that_begins_within_a_fold_goes_on_with_the_next_one(heading, told):
    row = "{}, Epoch {}, train loss: {}, valid loss: 0.25\n"
    text = "".join(row.format("Fold 2", at, 0.5 / at) + "saved\n" for at in range(11, 15))

    run = read_text(text + row.format(heading, 1, 0.75))

    assert [event.ref.line for event in run.events.of("training_begins_again")] == told


def test_training_beside_an_evaluation_is_its_course_where_no_steps_are_told():
    epochs = lines(
        "(trainer:90) INFO: {n}epoch results: [train] iter_time=0.25, loss={v}, [valid] loss_ctc=8.5, loss=1.5, time=2 seconds"
    )
    steps = "(trainer:91) INFO: 1epoch:train:1-9batch: iter_time=0.25, loss=2.5, train_time=0.5\n"

    assert points(read_text(epochs), "loss") == IN_EPOCHS
    assert points(read_text(epochs), "eval_loss") == [(None, 1.5)] * 3
    assert points(read_text(steps + epochs), "loss") == [(9, 2.5)]


@pytest.mark.parametrize(
    ("text", "name", "told"),
    [
        (lines("[INFO:7 train:90 2026-01-02 03:04:0{n},000] After {n}00 frames: @ 9.5 fps Stats:\n{{'loss_0': {v}, 'loss_1': 0.75}}"), "loss_0", [(100, 0.5), (200, 0.25), (300, 0.125)]),
        (lines("After {n} days the loss is far away"), "loss", []),
        (lines("  Fit:   0%|          | 0/9 [00:00<?, ?batch/s]Epoch {n} done in 9.5s - Train Loss: {v} | Val Loss: 0.75"), "loss", IN_EPOCHS),
        (lines("Fit:   0%|          | 0/9 [00:00<?, ?it/s]Loading weights of step {n}"), "loss", []),
        (lines("step {n} loss 0.75\nnear_det -{v}, far_det -9.5, ll -2.5"), "near_det", [(1, -0.5), (2, -0.25), (3, -0.125)]),
        (lines("step {n} loss 0.75\nwe saw -{v}, and then -9.5, too -2.5 days"), "we_saw", []),
        (lines("[Step {n}/90] Train {v} | Val~25% 0.75"), "val", [(1, 0.75), (2, 0.75), (3, 0.75)]),
        (lines("Epoch {n} -- Training Accuracy -1234567{n}.00%"), "accuracy", [(None, -12345671.0), (None, -12345672.0), (None, -12345673.0)]),
        (lines("Epoch {n} -- Training Accuracy -1.00%"), "accuracy", []),
    ],
)  # fmt: skip
def test_rows_behind_other_writers_and_of_odd_numbers(text, name, told):
    assert points(read_text(text), name) == told
