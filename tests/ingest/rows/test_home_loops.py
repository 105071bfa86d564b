"""Rows of loops that name things in their own way: what repeats beside a rising counter is a row, what only looks like one is none."""

import pytest
from log_reading import points, read_text

ROWS = 12


def rows(form, count=ROWS):
    """Rows of a form with falling values."""
    return "".join(form.format(e=i, s=i * 50, a=f"{2 / i + 0.1:.4f}", b=f"{0.9 / i + 0.2:.3f}", n=9000 + 70 * i - i * i) + "\n" for i in range(1, count + 1))  # fmt: skip


def read(form, count=ROWS):
    run = read_text(rows(form, count))
    return {name.lower(): points(run, name) for name in run.metrics.names}


@pytest.mark.parametrize(
    ("form", "metrics"),
    [
        # a quantity, and behind it its phases
        ("Epoch: {e} ----\nMAE: train:  {a} , validation:  {b}", {"train_mae": 2.1, "validation_mae": 1.1}),
        ("Perplexity\tTrain:{a}\t\tValidation:{b}", {"perplexity": 2.1, "eval_perplexity": 1.1}),
        ("epoch {e}, train {a}|0.{e}5, val {b}|0.{e}25", {"train": 2.1, "val_2": 0.125}),
        # values before their names
        ("E{e} trn  {a} loss, {b} precision, 0.{e}5 recall", {"loss": 2.1, "precision": 1.1}),
        ("E{e} val_all  {a} loss, {b}% tp", {"eval_loss": 2.1, "val_tp": 1.1}),
        # phases are all that names tell
        ("epoch {e}  train {a}", {"train": 2.1}),
        ("epoch {e}  train {a}  held {b}  (5.{e}% below)", {"train": 2.1, "heldout": 1.1}),
        ("Epoch: {e} out of 9; Test performance: {a}; Train performance: {b}", {"test_performance": 2.1}),
        # what was best so far, where nothing else is told
        ("Epoch {e}: Best score so far: {a}", {"best_score_so_far": 2.1}),
        ("Epoch {e}/9 - Loss: {a}, MaxSlope: {b}", {"loss": 2.1, "maxslope": 1.1}),
        # pairs, lists and numbers of another spelling
        ("[{e}/9] Loss_D: {a} D(G(z)): {b} / 0.{e}5", {"d(g(z))": 1.1, "d(g(z))_2": 0.15}),
        ("epoch: {e}, val_dice: {a}({a}), 0: {b}, 1: 0.{e}5, 2: 0.5{e}", {"val_dice": 2.1, "val_dice_0": 1.1}),
        ("Epoch: {e} loss= {a} losses= tensor([{a}, {b}, 0.{e}5])", {"losses_1": 1.1}),
        ("Train Epoch: {e} [14/64 (2%)]\t[side-2: {a}, side-3: {b}]", {"side_2": 2.1, "side_3": 1.1}),
        ("Epoch {e}:\n  loss_a = {a}f0\n  loss_b = {b}f-1", {"loss_a": 2.1, "loss_b": 0.11}),
        ("Epoch: 000{e} D loss: {a} G loss: {b}", {"d_loss": 2.1, "g_loss": 1.1}),
        ("epoch: {e}, lr: {b}, sup_loss1: {a}, con_weight: 0.{e}5", {"sup_loss1": 2.1, "con_weight": 0.15}),
        ("  epoch {e} : loss {a} · agreement {b} %", {"loss": 2.1, "agreement": 0.011}),
        # words of other languages
        ("Época -> {e}/9 Error={a}", {"error": 2.1}),
        ("Época  {e} : Erro total  {a}", {"error_total": 2.1}),
        ("Epoche {e}: Fehler {a}", {"error": 2.1}),
        ("第{e}轮训练\n整体测试上的loss{a}", {"eval_loss": 2.1}),
        # blocks, and lines that tell a course only beside others
        ("Epoch #0.{e}25 - iter #{s}:\n-----\n\tError:\t\t{a}\n-----", {"error": 2.1}),
        ("Train loss: {a}\nCurrent learning rate: {b}", {"loss": 2.1, "learning_rate": 1.1}),
        ("epoch loss: {a}\nepoch accuracy: 0.{e}5", {"loss": 2.1, "accuracy": 0.15}),
        ("Step: {s}, Loss: {a}\nMean Rank: {s}.5, Mean Reciprocal Rank: {b}", {"mean_reciprocal_rank": 1.1}),
        ("Training Loss: {a} (Shape Regression: {b}, Dice: 0.{e}5)", {"shape_regression": 1.1}),
        # phases and their values in other orders
        ("epoch {e} :: train {a} :: valid {b} :: f1 0.{e}5", {"train": 2.1, "valid": 1.1}),
        ("** pass {e} ** tr {a} va {b} **", {"tr": 2.1, "va": 1.1}),
        ("Epoch {e}: {a} train, {b} valid", {"train": 2.1, "valid": 1.1}),
        ("Epoch {e}/20 | Train: {a} / {b} | Val: {b} / {a}", {"train": 2.1, "val_2": 2.1}),
        ("epoch {e} train {a} {b} test {b} {a}", {"train_2": 1.1, "test": 1.1}),
        # players, parts of one name, and what stands beside a mean
        (">{e}, d1={a}, d2={b} g={a}", {"d1": 2.1, "d2": 1.1, "g": 2.1}),
        (">d1={a}, d2={b} | g={a}  |  t=0.{e}", {"d1": 2.1, "g": 2.1}),
        ("{s} [D loss: {a}, kind: {b}%] [G loss: {b},kind: {a}%]", {"kind": 0.011, "kind_2": 0.021}),
        ("Generation {e}: best fitness {a}, mean fitness {b}", {"best_fitness": 2.1, "mean_fitness": 1.1}),
        ("Epoch {e}: disc {a} gen {b} cycle {a} same {b}", {"disc": 2.1, "same": 1.1}),
        ("INFO:maker:reward_mean: -{a}, reward_max: {b}, reward_min: 0.{e}5", {"reward_mean": -2.1, "reward_max": 1.1, "reward_min": 0.15}),
        ("Epoch {e}, TokenPPL: {a}, TagPPL: 9.5, PPL: {b}", {"perplexity": 1.1, "part/tokenppl": 2.1}),
        # a share beside a loss, of how many a mean is, and in what something is measured
        ("epoch {e}/20  train {a} / 4{e}.5%   val {b} / 3{e}.5%", {"loss": 2.1, "train_2": 0.415, "eval_loss": 1.1, "val_2": 0.315}),
        ("epoch {e} train {a} (4{e}.5%) val {b} (3{e}.5%)", {"loss": 2.1, "val_2": 0.315}),
        ("epoch {e}, train loss {a} (4{e}.5%), val loss {b} (3{e}.5%)", {"train_loss_2": 0.415, "val_loss_2": 0.315}),
        ("epoch {e}: train {a} / {b}, val {b} / {a}", {"train_2": 1.1, "val_2": 2.1}),
        ("Step {s}\nmean reward (100 episodes) {a}", {"reward_mean": 2.1}),
        ("Epoch {e} | val MAE {a} m, Shift +{b} m, d2 0.{e}5", {"val_mae": 2.1, "val_shift": 1.1, "val_d2": 0.15}),
        # statistics of a generation, and phases on lines of their own
        ("gen={e} best={a} mean={b}", {"best_fitness": 2.1, "mean_fitness": 1.1}),
        ("Epoch {e}:\n - train: {a}\n - val: {b}", {"train": 2.1, "val": 1.1}),
        # behind both losses a score is of held-out data
        ("epoch {e}  train {a}  val {b}  acc 4{e}.5%", {"eval_accuracy": 41.5}),
        ("epoch {e} train_loss={a} val_loss={b} f1=0.{e}5 lr=0.{e}1", {"val_f1": 0.15, "learning_rate": 0.11}),
        ("epoch {e} train_loss={a} val_loss={b} acc=0.{e}5 val_acc=0.{e}1", {"accuracy": 0.15, "eval_accuracy": 0.11}),
        # names of which nothing is known
        ("Iter {e}: Shift={a} EpsAlias={b} Bins=4096", {"shift": 2.1, "epsalias": 1.1}),
        ("epoch {s}: total squared error = {a}", {"total_squared_error": 2.1}),
        # counters and numbers
        ("Epoche {e}: {a}", {"unnamed": 2.1}),
        ("Adam iter {s}: {a}", {"unnamed": 2.1}),
        ("Epoch {e}: -0.{s}", {"unnamed": -0.5}),
        ("{e}: {a}", {"unnamed": 2.1}),
        ("Epoch {e} | {a} | {b}", {"unnamed": 2.1, "unnamed_2": 1.1}),
        ("Epoch {e}: {n} / 10000", {"accuracy": 0.9069}),
        ("##### epoch {e} finished, average mse {a} #####", {"average_mse": 2.1}),
        ("Timestep {s}: avg return over last 10 episodes = {a}", {"reward_mean": 2.1}),
        ("Sweep {e}: log-likelihood -{a}, ELBO -{b}", {"elbo": -1.1}),
        ("第{e}个epoch的训练损失为{a}\uff0c准确率为{b}", {"loss": 2.1, "accuracy": 1.1}),
        ("bits/dim {a} at step {s}", {"bits/dim": 2.1}),
        # names before all values, functions of what is measured, norms at the end of a sentence
        ("test, round, loss, acc, auc ===> 00{e}, {a}, {b}, 0.{e}5,", {"eval_loss": 2.1, "val_auc": 0.15}),
        ("end of cycle={e} avg(gain)={a} avg(num_goals)=0.{e}5", {"avg_gain": 2.1, "avg_num_goals": 0.15}),
        ("Step {e} done. ||Rest||: {a}. Ratio: {b}.", {"norm_of_rest": 2.1}),
        ("Iteration:{e}\nf(x)={a}    size:{b}    h(x)={a}", {"f(x)": 2.1, "h(x)": 2.1}),
        ("[Ep {e:02}/50] LR: {a} | Val loss: {b} (Top-1: %4{e}.5)", {"eval_accuracy": 41.5}),
        # held-out rows of which nothing but scores are told
        ("[2026-01-01T00:00:00Z INFO  maker::loop] Epoch {e}/20: loss={a}\n[2026-01-01T00:00:01Z INFO  maker::loop]  VAL: same=1{e}.5% loss={b}", {"eval_loss": 1.1, "val_same": 0.115}),
        ("Train ssim: 0.{e}5, psnr: {a} at t=20", {"train_ssim": 0.15, "psnr": 2.1}),
        ("Epoch   {e}/20 | val=1{e}.5% | best=1{e}.5% @1", {"val": 0.115}),
        ("*** Test [@Epoch 0{e}] Avg L: {a}  mIoU: 4{e}.5 ***", {"val_avg_l": 2.1, "val_miou": 41.5}),
        ("{e} epoch, the best one was kept! valid_loss: {a}", {"eval_loss": 2.1}),
        ("Epoch: {e} max score: 4{e}6, high: 476", {"max_score": 416}),
        # a line of its own tells the data of the dict below it; errors of several quantities; longer names
        ("Epoch {e}\nTRAIN res:\n{{'loss': {a}, 'acc': 0.{e}5}}\nVAL res:\n{{'loss': {b}, 'acc': 0.{e}4}}", {"loss": 2.1, "eval_loss": 1.1, "eval_accuracy": 0.14}),
        ("train_Torque_MAE: {a}, train_Stress_MAE: {b}\nval_Torque_MAE: {b}, val_Stress_MAE: {a}", {"train_torque_mae": 2.1, "val_stress_mae": 2.1}),
        ("Loss vector drawn images {a}, Loss vector images drawn images {b}\nEpoch 000{e} | Time 1{e}.5 | Loss 0.{e}5", {"loss_vector_drawn_images": 2.1}),
    ],
)  # fmt: skip
def test_a_row_is_read(form, metrics):
    found = read(form)

    assert {name: found[name][0][1] for name in metrics if name in found} == pytest.approx(metrics)
    assert all(len(found[name]) == ROWS for name in metrics)


@pytest.mark.parametrize(
    ("form", "metric", "steps"),
    [
        ("[step_i {s}/90000] [D loss: {a}] [G loss: {b}]", "d_loss", [50, 100]),
        ("Episode {e}: return={a} updates=3", "reward_mean", [1, 2]),
        ("episode {e}, reward {a}, steps 25", "reward_mean", [1, 2]),
        ("Episode {e}: steps {s}, return={a}", "reward_mean", [50, 100]),
        ("{s}: loss = {a}", "loss", [50, 100]),
        (">{e}, d1={a}, d2={b} g={a}", "d1", [1, 2]),
        ("episodes: {e}, total_steps: {s}, rewards: -{a}", "reward_mean", [50, 100]),
        ("Episode: {e}/20, total steps: {s}, reward: -{a}", "reward_mean", [1, 2]),
        ("Ep: {s} | Q_Loss: {a} | Mean of last 10 rewards: -{b}", "reward_mean", [50, 100]),
        ("Training (900 steps):  {e}% [step={s}] [loss={a}]", "loss", [50, 100]),
        ("┌ Info: fit\n│   i = {e}\n└   loss = {a}", "loss", [1, 2]),
        ("Image No. {s}\nTraining accuracy: {b}", "accuracy", [50, 100]),
    ],
)
def test_a_row_stands_at_its_own_counter(form, metric, steps):
    assert [step for step, _ in read(form)[metric][:2]] == steps


def test_rows_of_a_trainer_hold_their_epoch_whatever_stands_above_them():
    text = "".join(f"dataset: test\n{{'loss': {2 / row:.2f}, 'epoch': 0.{row}}}\n" for row in range(1, 6))

    assert "eval_loss" not in read_text(text).metrics.names


def test_numbers_that_come_again_are_ranks():
    text = "".join(f"{rank}: loss = {2 / row + rank:.2f}\n" for row in range(1, 5) for rank in range(4))

    assert set(read_text(text).metrics.names) == {"loss", "loss@rank1", "loss@rank2", "loss@rank3"}


def test_what_rises_beside_an_epoch_is_no_loss():
    text = "".join(f"Epoch {epoch}: 0.{epoch}5\n" for epoch in range(1, 9))

    assert read_text(text).metrics.names == ("number",)


def test_the_last_line_is_read_once():
    text = rows("| epoch {e} | {s}/900 batches | loss {a} | ppl {b}") + "=====\n| End of training | test loss 0.75 | test ppl 2.5\n"  # fmt: skip

    assert points(read_text(text), "eval_loss")[-1][1] == 0.75


@pytest.mark.parametrize(
    "text",
    [
        rows("Results: train: {s}, val: {e}"),
        rows("layer-{e}: {a}", 4),
        "max_grad: 0.5\nmin_lr: 0.1\n" * 4,
        rows("Best score so far: {a} at {s} in file_{e}.txt"),
        "Current learning rate: 0.001\n" * 6,
        "learning accuracy: 0.5\n",
        "bins: 0.5, 10: 9.5, 40: 0.5\n" * 4,
        rows("{a} kg apples, {b} kg pears"),
        "d: 0.5, g: 0.25\n",
        "pass: 5 fail: 3 skip: 2\n" * 4,
        "".join(f"Epoch 0: {i * 100}/10000\n" for i in range(1, 12)),
        "".join(f"Epoch {i}: 100/100\n" for i in range(1, 12)),
        "".join(f"conv{i}: mean=0.{i}1, std=0.{i}2, max=1.{i}\n" for i in range(1, 9)),
        "".join(f"pred: 0.{i}, goal: 1.{i}\n" for i in range(1, 9)),
        "".join(f"threshold 0.{i}: kept {i}00\n" for i in range(1, 9)),
        "".join(f"batch {2**i}: latency 1.{i} ms, rate 10{i}.5\n" for i in range(1, 6)),
        "Split 1: train 800 val 100\nSplit 2: train 700 val 200\nSplit 3: train 600 val 300\n",
        "train 0.8 0.1 test 0.1 0.5\n",
        "Namespace(lr=0.001, loss='mse', decay=0.0005, train=0.8, val=0.1)\n",
        "batch_size: 32\nmomentum: 0.9\nloss_weight: 0.5\nbest_score: 0.0\n",
        "| N/A   35C    P0    38W / 300W |   1024MiB / 16160MiB |      0%      Default |\n" * 4,
        "-rw-r--r-- 1 a b 1234 Jan  1 12:00 loss_0.5.txt\n" * 4,
        "| Allocated memory      |   10240 KB |   20480 KB |   3072 KB |   1024 KB |\n" * 4,
        "load average: 0.50, 0.75, 1.20\ncpu: 12.5%\n" * 4,
        "numpy==1.26.4\naccelerate 0.25.0\ntorch 2.1\n",
        "anchors: [1.25, 1.625], [2.0, 3.75]\ntrain: ../data/train.txt\n",
        "train/val ratio: 0.8/0.2\n",
        "".join(f"Stage {i}: width 0.{i}, depth 1.{i}\n" for i in range(1, 4)),
        "color #1.0f0 and 0x3f2\n" * 4,
        rows("Epoch {e}: train: 3{e}.5%"),
        rows("Epoch {e} max length: 47{e}"),
        "alpha, beta = 0.5, 0.75\n",
        "Loss of the run before 0.5, Loss did not fall below 0.25\n" * 4,
        rows("layer {e} (3 runs) done, see train {e}.5 / 10%"),
        rows("│   n = {e}"),
        rows("train: {a}\nval: {b}"),
        rows("Generic {e} best {a} mean {b}"),
        rows("gc(free)={a} max(rss)={b}"),
    ],
)
def test_what_is_no_row_stays_unread(text):
    assert read_text(text).metrics.names == ()


def values_of(lines):
    metrics = read_text("\n".join(lines) + "\n").metrics
    return {name: [float(value) for value in metrics.series(name).value] for name in set(metrics.names)}


def test_a_sentence_that_comes_again_with_other_numbers_is_a_series():
    lines = []
    for at in range(8):
        lines.append(
            f"[2025-02-03 10:{at:02d}:00,100][fit][INFO] - [Net] val pass over => avg_loss={9 - at}.25"
        )
        lines.append(
            f"[2025-02-03 10:{at:02d}:30,100][fit][INFO] - [Net] train pass over => avg_loss={8 - at}.5"
        )
    found = values_of(lines)
    assert found["loss"] == [8.5 - at for at in range(8)]
    assert found["eval_loss"] == [9.25 - at for at in range(8)]


def test_a_sentence_that_repeats_the_same_number_or_comes_a_few_times_is_none():
    settled = ["the optimizer was told to hold loss = 0.25 for good"] * 9
    remarks = [f"what others saw here before was loss = 0.{at}5" for at in range(3)]
    assert "loss" not in values_of(settled + remarks)


def test_over_how_many_batches_a_value_is_the_mean_is_no_part_of_its_name():
    lines = [f"Test error last 500 batches: 0.{90 - at}" for at in range(9)]
    assert values_of(lines)["test_error"] == [float(f"0.{90 - at}") for at in range(9)]


def test_an_array_of_one_value_is_that_value_and_one_of_several_agents_are_parts():
    lines = [f"train --- batch:{at}/900  loss:[ 0.{at}5]" for at in range(100, 900, 100)]
    lines += [f"Episode {at} | Rewards: [ -{at}.5 -{2 * at}.5]" for at in range(1, 6)]
    found = values_of(lines)
    assert found["loss"] == [float(f"0.{at}5") for at in range(100, 900, 100)]
    assert found["rewards_1"] == [-2 * at - 0.5 for at in range(1, 6)]
    assert "reward_mean" not in found


def test_a_logger_that_writes_behind_a_bar_is_read():
    lines = [
        f"Fitting:  {at}%|##   | {at}/900 [01:23<4:47:24,  1.62s/it]2025-04-05 06:{at // 60:02d}:09,9 - fit - INFO - Step {at}, Loss: {at / 1000}"
        for at in range(100, 900, 100)
    ]
    assert values_of(lines)["loss"] == [at / 1000 for at in range(100, 900, 100)]
