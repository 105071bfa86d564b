"""How loops lay out names and numbers, each beside lines that look alike and are read in another way, or not at all."""

import pytest
from log_reading import points, read_text


def lines(form, values=(0.625, 0.375, 0.125)):
    return "".join(form.format(n=n, v=v) + "\n" for n, v in enumerate(values, 1))


EPOCHS = [(None, 0.625), (None, 0.375), (None, 0.125)]
STEPS = [(1, 0.625), (2, 0.375), (3, 0.125)]
SET = "Epoch {n} loss: 0.5\n"


@pytest.mark.parametrize(
    ("form", "name", "told"),
    [
        ("Epoch {n}: loss tf.Tensor({v}, shape=(), dtype=float32)", "loss", EPOCHS),
        ("Val loss epoch[{n}] = {v}\nTrain loss epoch[{n}] = 0.5", "eval_loss", EPOCHS),
        ("train loss: {n} {v}\ntrain acc: {n} 0.5", "loss", EPOCHS),
        ("\u8bad\u7ec3\u635f\u5931: {n} {v}\n\u9a8c\u8bc1\u635f\u5931: 0.5", "loss", EPOCHS),
        ("Mean loss in iteration  {n}  is  {v}", "loss", STEPS),
        ("Epoch {n} loss_0: {v}, loss_1: 0.5", "loss_0", EPOCHS),
        ("Epoch {n} loss[0]: 0.5, loss[1]: {v}", "loss_1", EPOCHS),
        ("Epoch: [{n}][5/9] Err 0.5 Top1-%: {v} LR 0.1", "accuracy", [(14, 0.625), (23, 0.375), (32, 0.125)]),
        ("episode {n} finished\nMean return over the last 50 episodes is {v}", "reward_mean", STEPS),
        ("Episode {n}: the player gets {v} reward.", "reward_mean", STEPS),
        ("Episode {n} reward: 0.5 \u03b5={v}", "exploration_rate", STEPS),
        ("\u30a8\u30dd\u30c3\u30af 1/9 \u30b9\u30c6\u30c3\u30d7 {n}/50 G\u640d\u5931: {v}", "g_loss", STEPS),
        ("Epoch {n}, Batch 1, Training Loss Error: {v}", "loss", STEPS),
        ("Loss after iteration:  {n}  :  {v}", "loss", STEPS),
        ("epoch {n} loss: 0.5, last_lr: {v}", "learning_rate", EPOCHS),
        ("Batch loss at step {n} and epoch 1 : {v}", "loss", STEPS),
        ("ep{n} {n}0/90 loss {v}", "loss", [(10, 0.625), (20, 0.375), (30, 0.125)]),
        ("Epoch {n} total=3.5 min | train_loss={v} val_loss=0.5", "loss", EPOCHS),
        ("[a-net] ep00{n} loss={v} val=0.5", "loss", EPOCHS),
        ("[run_b] {n}/9  train 0.5  val {v}  trCorr 0.5", "val", STEPS),
        ("Epoch {n}/9 | train {v} [rs=0.5 ro=0.25] | val 0.75", "train", EPOCHS),
        ("[Ep {n}] TL=0.5 | VL={v} | VA=0.25", "eval_loss", EPOCHS),
        ("Epoch {n}, done in 0.5 accuracy: 0.5 loss: {v}, batches: 120", "loss", EPOCHS),
        ("batches: {n} loss: {v}", "loss", STEPS),
        ("e{n} s{n}0/90 loss={v} lr=0.1", "loss", [(10, 0.625), (20, 0.375), (30, 0.125)]),
        ("E{n}: Train=50.0% | Val=40.0%, Prec={v}, F1=0.5", "val_prec", EPOCHS),
        ("ep {n} tr={v} real=0.5 val_loss=0.25", "tr", EPOCHS),
        ("ep {n} tr=0.5 real={v} val_loss=0.25", "real", EPOCHS),
        ("Ep {n} | Tr=0.5/12.5% | Vl={v}/25.0%", "eval_loss", EPOCHS),
        ("ep {n} | tr=0.5 vl={v} | acc=0.25", "val", EPOCHS),
        ("ep={n};loss=0.5;acc=0.25;vloss={v};vacc=0.75", "eval_loss", EPOCHS),
        (SET + "Train acc, val acc : 0.5 {v}", "eval_accuracy", EPOCHS),
        ("epoch {n} | train loss 0.5 pos {v} m vel 0.25 m/s | val loss 0.75 pos 0.5 m vel 0.25 m/s", "pos", EPOCHS),
        ("epoch {n} | train loss 0.5 pos 0.5 m vel {v} m/s | val loss 0.75 pos 0.5 m vel 0.25 m/s", "vel", EPOCHS),
        ("E{n} s0{n} | real {v} (rc 0.25 con 0.5) | stf 1.5", "real", STEPS),
        (">> [001 - {n}/50]: L_tot {v}, d_loss 0.5", "d_loss", [(1, 0.5), (2, 0.5), (3, 0.5)]),
        ("Epoch {n}: loss <tf.Tensor: shape=(), dtype=float32, numpy={v}>", "loss", EPOCHS),
        ("Fit: Epoch-{n}, Train_loss-{v}, Train_f1-0.2500", "loss", EPOCHS),
        ("epoch_loss{v}\nepoch_val_loss0.7500", "loss", EPOCHS),
        ("epoch {n} train_acc{v}", "accuracy", EPOCHS),
        ("Epoch {n} step {n} ** Loss:0.5 ***Test_accuracy:.{v}", "eval_accuracy", STEPS),
        ("step {n} loss 1.5 (recon {v} smooth 0.25) 3 s", "recon", STEPS),
        ("step {n} val 1.5 (recon {v} smooth 0.25) 3 s", "val_recon", STEPS),
        ("step {n} loss: 0.5 mIoU--Novel: {v}", "miou--novel", STEPS),
        ("Epoch {n} loss: 0.5\nVal result: mIoU/mDice/allAcc {v}/0.75/0.25.", "val_miou", EPOCHS),
        ("step {n} mse_x: {v}", "mse_x", STEPS),
        ("step {n} clip score: {v}", "clip_score", STEPS),
        ("Mean loss in this epoch is: {v}", "loss", EPOCHS),
        (SET + "Dev F1 on epoch {n} is {v}", "dev_f1", EPOCHS),
        ("Epoch {n} with learning rate {v}\nloss: 0.5", "learning_rate", EPOCHS),
        (SET + "Updating learning rate to {v}", "learning_rate", EPOCHS),
        (SET + "Adjusting learning rate of group 0 to {v}.", "learning_rate", EPOCHS),
        (SET + "Valid f1 scores: {v} 0.5 0.25", "valid_f1_scores", EPOCHS),
        (SET + "Valid f1 scores: 0.75 {v} 0.25", "valid_f1_scores_2", EPOCHS),
        (SET + "Valdation Results - Epoch: {n} Avg accuracy: {v}", "eval_accuracy", EPOCHS),
        (SET + "validaton loss: {v}", "eval_loss", EPOCHS),
        ("Эпоха {n}\nТестовая: 0.5; Обучающая: {v}", "train", EPOCHS),  # noqa: RUF001
        ("epoch {n} val: 0.5, {v}", "val_2", EPOCHS),
        ("Epoch - {n} Loss - {v} Acc - 0.5", "loss", EPOCHS),
        ("step {n} loss 0.5\n * Acc - {v}", "eval_accuracy", STEPS),
        ("round-{n}, loss - {v}", "loss", STEPS),
        ("step {n} train/val loss - 0.5/{v}", "eval_loss", STEPS),
        ("Train Loss - 0.5 | Val Loss - {v}", "eval_loss", EPOCHS),
        ("Epoch {n}\n[Train] {v}\n[Val] 0.75", "train", EPOCHS),
        ("Epoch {n}\n  train: 0.5 0.25\n  valid: 0.75 {v}", "valid_2", EPOCHS),
        ("Epoch {n}| Loss 0.5| Val {v}| Test 0.75", "val", EPOCHS),
        ("D loss {v} G loss 0.75", "d_loss", EPOCHS),
        ("step {n} loss[train]={v} loss[val]=0.75", "loss", STEPS),
        ("step {n} loss['train'] = 0.5, loss['val'] = {v}", "eval_loss", STEPS),
        (SET + "BLEU-1: {v} BLEU-4: 0.5", "bleu_1", EPOCHS),
        (SET + "EER: {v} DCF: 0.5", "eer", EPOCHS),
        (SET + "DSC {v} HD95 3.5", "dsc", EPOCHS),
        (SET + "acc, f1, auc: 0.5 {v} 0.25", "f1", EPOCHS),
        (SET + "Error rate on validation: {v}", "validation_error_rate", EPOCHS),
        (SET + "Accuracy of the model on the 80 test images: {v}", "eval_accuracy", EPOCHS),
        ("epoch {n} train 1.5 val 1.25 acc {v}", "eval_accuracy", EPOCHS),
        ("Epoch: {n}, Train: 0.5, Val: 0.75, Test: 0.25, Loss: {v}", "loss", EPOCHS),
        ("step {n} loss 0.5\nLoss: 0.75, MeanIU: {v}, Best_mIoU: 0.75", "val_meaniu", STEPS),
        ("Epoch {n}\nFID: 18{n}.5 | IS: {v} | KID: 0.25", "is", EPOCHS),
        ("Episode {n}, Return -1382, Length 20{n}", "episode_length_mean", [(1, 201), (2, 202), (3, 203)]),
        ("Epoch {n}: disc_loss: 0.5\t target_loss={v}", "target_loss", EPOCHS),
        ("epoch {n} train_loss: 1.5, train_acc: ------>{v}", "accuracy", EPOCHS),
        ("train_loss 1.5 acc 0.5 valid_loss {v} acc 0.25 test_loss 0.75 acc 0.5", "eval_loss", EPOCHS),
        ("train_loss 1.5 acc 0.5 valid_loss 0.75 acc 0.25 test_loss 0.75 acc {v}", "part/val_acc_2", EPOCHS),
    ],
)  # fmt: skip
def test_a_layout_is_read(form, name, told):
    assert points(read_text(lines(form)), name) == told


@pytest.mark.parametrize(
    ("form", "name"),
    [
        ("saved net-0.6{n}, tag-0.5{n}", "net"),
        ("Epoch {n} loss_0: {v}, loss_1: 0.5", "loss"),
        ("epcoh = {n} , loss = 0.5", "epcoh"),
        ("epoch {n} loss 0.5 vloss {v}", "eval_loss"),
        ("epoch {n} train loss 0.5 vel {v} m/s", "m/s"),
        ("step {n} loss: 0.5 sizes[0]: {n} sizes[1]: {n}", "sizes"),
        ("step {n} loss: 0.5\nworkers: {n} 0.5", "workers"),
        ("Epoch {n} loss: 0.5\n\u041e\u0441\u0442\u0430\u043b\u043e\u0441\u044c ~{v} \u0441", "remaining"),
        ("epoch {n} loss: 0.5 from model_loss{v}.pt", "part/loss"),
        ("saved to epoch-{n}.pt with loss: {v}", "epoch"),
        ("step {n} loss 1.5 (from {v} to 0.25)", "from"),
        ("step {n} loss 1.5 clip: {v}", "clip"),
        ("step {n} loss 1.5 clip_coef: {v}", "clip_coef"),
        ("epoch {n} loss 0.5\nHave to go to {v} km", "learning_rate"),
        ("Epoch {n} loss: 0.5\nscores: {v} of 0.5 points", "scores_2"),
        ("Epoch {n} valuation loss: {v}", "eval_loss"),
        ("Epoch {n} loss: 0.5 - {v} s", "loss_2"),
        ("Epoch {n} loss: 0.5\ngpu-1: {v}", "gpu_1"),
        ("Epoch {n} loss: 0.5\nThe accuracy depends on test data of {v} GB", "eval_accuracy"),
        ("Epoch {n} loss: 0.5\nweight_decay: {v}", "weight_decay"),
    ],
)
def test_what_looks_like_such_a_layout_is_none(form, name):
    assert not points(read_text(lines(form)), name)


def test_the_reward_of_the_last_episode_is_read_beside_the_best_of_all():
    values = tuple(n / 8 for n in range(1, 8))
    run = read_text(lines("Episode {n} Best Reward 0.9 Last Reward {v} Epsilon 0.5", values))
    assert points(run, "last_reward") == list(enumerate(values, 1))


def test_a_heading_of_training_ends_the_one_of_an_evaluation():
    epoch = "Epoch {n}, Phase train\nLoss: {v}\nEpoch {n}, Phase val\nLoss: 0.5\n"
    run = read_text(lines(epoch))
    assert points(run, "loss") == EPOCHS
    assert points(run, "eval_loss") == [(None, 0.5)] * 3


def test_a_share_of_right_answers_is_read_whatever_makes_the_accuracy_a_part():
    run = read_text(lines("Epoch {n} loss: 0.5\nTest: Accuracy: 60/80 (75.00%), Robust Accuracy: {n}0/80"))
    assert points(run, "val_robust_accuracy") == [(None, 0.125), (None, 0.25), (None, 0.375)]
    counts = read_text(lines("Epoch {n} loss: 0.5 score: {n}0/80"))
    assert not points(counts, "score")


def test_what_was_measured_before_the_first_epoch_is_read_with_the_rows_that_show_what_it_is():
    before = "Init: train_rmse=0.75, train_mae=1.5 [0.5 s]\n"
    run = read_text(before + lines("Epoch {n} train_rmse={v}, train_mae=1.5 [1.5 s]"))
    assert points(run, "train_rmse") == [(None, 0.75), *EPOCHS]
    other = read_text(before + lines("Epoch {n} train_loss={v} [1.5 s]"))
    assert not points(other, "train_rmse")


def test_a_score_that_nobody_knows_is_a_series_beside_rows_of_a_training():
    run = read_text(
        lines(
            "epoch: {n}/9: 100%|####| 80/80 [00:10<00:00, 2.5it/s, loss=0.{n}]\ntrain blur: {v}\ntotal size: {n}"
        )
    )
    assert points(run, "train_blur") == EPOCHS
    assert not points(run, "total_size")
    assert not points(read_text(lines("train blur: {v}\nsome text")), "train_blur")


def test_the_shares_of_a_split_are_no_course():
    run = read_text("train: 0.8\nval: 0.2\n" + lines("Epoch {n} loss: {v}"))
    assert points(run, "loss") == EPOCHS
    assert not points(run, "train")
    assert not points(run, "val")


def test_how_many_were_right_is_their_share():
    run = read_text(lines("Epoch {n} loss: 0.5\nGot {n}0 / 80 correct ({v})"))
    assert points(run, "accuracy") == [(None, 0.125), (None, 0.25), (None, 0.375)]


@pytest.mark.parametrize(
    ("form", "name"),
    [
        ("Class_0 Result: iou/accuracy {v}/0.5.\nClass_1 Result: iou/accuracy 0.75/0.5.", "iou_class_0"),
        ("class 0 IoU: {v}\nclass 1 IoU: 0.5", "class_0_iou"),
        ("Class 0: dice {v}, iou 0.5\nClass 1: dice 0.5, iou 0.5", "dice_class_0"),
        ("class wall     weight: 0.5, IoU: {v}\nclass door     weight: 0.5, IoU: 0.75", "iou_wall"),
        ("class accuracy: {v}\nclass mean: 0.5", "class_accuracy"),
    ],
)
def test_what_is_measured_of_one_class_has_its_name(form, name):
    run = read_text(lines(SET + form))
    assert points(run, name) == EPOCHS
    assert not points(run, "accuracy")
    assert not points(run, "iou")


def test_the_definition_of_a_class_is_no_row():
    assert not points(read_text(lines(SET + "class Loss: {v}\nclass Acc(Metric): top = {v}")), "top")


def test_many_rows_of_one_score_are_a_course_where_nothing_else_is_read():
    values = (0.125, 0.25, 0.375, 0.5, 0.625, 0.75)
    run = read_text(lines("accuracy: {v}\nsome text", values))
    assert points(run, "accuracy") == [(None, value) for value in values]
    assert not points(read_text(lines("accuracy: {v}\nsome text", values[:5])), "accuracy")
    assert not points(read_text(lines("accuracy: {v}\nsome text", (0.5,) * 9)), "accuracy")
    assert not points(read_text(lines("ELBO: {v}\nsome text", values)), "elbo")


def test_signs_that_stand_where_names_do_name_nothing():
    text = "".join(
        f"step {n} loss: {2 / n:.4f} size: 640 \u00d7 480 scale \u00f7 2.0 (\u00d7: 1.5)\n"
        for n in range(1, 6)
    )

    assert len(points(read_text(text), "loss")) == 5


@pytest.mark.parametrize("strokes", ["|####|", ""])
def test_full_bars_with_other_lines_between_are_those_of_epochs(strokes):
    epoch = "100%{strokes} 24/24 [14:15<00:00,  3.24it/s, train_loss={v}]\n100%{strokes} 7/7 [00:27<00:00, 26.8it/s]\nsaved\n"
    run = read_text("".join(epoch.format(strokes=strokes, v=v) for v in (4.5, 3.5, 2.5)))
    assert points(run, "loss") == [(24, 4.5), (48, 3.5), (72, 2.5)]
    # a redraw, also one that adds what was held out, is none
    again = f"100%{strokes} 24/24 [14:15<00:00,  3.24it/s, train_loss=4.5]\nsaved\n"
    assert {step for step, _ in points(read_text(again * 3), "loss")} == {24}


@pytest.mark.parametrize("strokes", ["|####|", ""])
def test_a_bar_stands_at_the_step_of_its_title(strokes):
    bar = "Step: {n}5. Epoch: {n}/90. Iteration: 8/8. Total loss: {v}: 100%{strokes} 8/8 [01:10<00:00,  8.82s/it]\n"
    run = read_text("".join(bar.format(strokes=strokes, n=n, v=v) for n, v in ((1, 4.5), (2, 3.5))))
    assert points(run, "loss") == [(15, 4.5), (25, 3.5)]
    named = bar.replace("Step: {n}5. ", "steps: {n}5/90 ")
    told = read_text("".join(named.format(strokes=strokes, n=n, v=v) for n, v in ((1, 4.5), (2, 3.5))))
    assert [step for step, _ in points(told, "loss")] == [8, 16]
