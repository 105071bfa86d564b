"""Names, steps and values with other signs between them than those of ``name: value``, each beside what looks like it."""

import pytest
from log_reading import points, read_text


def lines(form, values=(0.5, 0.25, 0.125)):
    return "".join(form.format(n=n, v=v) + "\n" for n, v in enumerate(values, 1))


ALONE = [(None, 0.5), (None, 0.25), (None, 0.125)]
AT_STEPS = [(1, 0.5), (2, 0.25), (3, 0.125)]
AT_HUNDREDS = [(100, 0.5), (200, 0.25), (300, 0.125)]


@pytest.mark.parametrize(
    ("form", "name", "told"),
    [
        ("train, step: {n}, (loss_avg: {v}), (lr: 1e-05), {{'speed': '0.5'}}", "loss", AT_STEPS),
        ("step {n} | Loss 2.5(2.5) | MAE e {v}(0.5)  f 0.25(0.5)", "mae_e", AT_STEPS),
        ("[train] ==> #{n}00      Total Loss: {v}   [Policy Loss: 1.5 ] Replay Episode: 3", "loss", AT_HUNDREDS),
        (" train   E: 3{n}   I: 1,{n}00    R: {v}    T: 0:00:20", "reward_mean", [(1100, 0.5), (1200, 0.25), (1300, 0.125)]),
        (" eval    I: {n}00    R: {v}    S: 0.75    T: 0:00:20", "val_success", [(100, 0.75), (200, 0.75), (300, 0.75)]),
        ("It   {n}00 [TRAIN] [total_loss   ]: {v}", "loss", AT_HUNDREDS),
        ("train epoch 1, step {n}, cost:ctc {v}, error:ctc 0.5, loss 2.5", "cost_ctc", AT_STEPS),
        ("[   {n}00,  0.0000080]     {v:.4f},     0.7500,     0.8750,    15.5000, ", "within_1px", AT_HUNDREDS),
        ("[   {n}00,  0.0000080]     0.2500,     0.7500,     0.8750,    {v}, ", "train_epe", AT_HUNDREDS),
        ("step {n} loss 0.5\nValidation KITTI: {v}, 31.5", "validation_kitti_epe", AT_STEPS),
        ("Step... ({n}00 | Loss: {v}, Learning Rate: 0.001)", "loss", AT_HUNDREDS),
        ("[{n} | 11.25] loss={v} avg=0.75", "loss", AT_STEPS),
        ("#metric: host=a, epoch={n}, train cross_entropy_objective <loss>={v}", "train_cross_entropy_objective", ALONE),
        ("step {n}, loss: 2.5\n| Validation results@{n}: {{'total_loss': {v}, 'mel': 0.5}}", "eval_loss", AT_STEPS),
        ("The train loss of epoch3-batch-{n}:{v}", "loss", AT_STEPS),
        ("The average loss of val loss:{v}", "eval_loss", ALONE),
        ("IoU of change for epoch {n} is {v}", "iou_of_change", ALONE),
        ("core: report_training_metrics(steps_completed={n}00, metrics={{'loss': {v}}})", "loss", AT_HUNDREDS),
        ("step {n}00: {{'loss': {v}, 'lr': 0.001}}", "loss", AT_HUNDREDS),
        ("[{n}00, 9.9e-05]\nloss_disc={v}, loss_gen=2.5, loss_fm=0.75", "loss_disc", AT_HUNDREDS),
        ("superbatch {n} | time 62.5s | running loss {v} | 9000 pos/sec", "loss", AT_STEPS),
        ("[12:00:0{n}] [#00{n}00] face_a: {v}, face_b: 0.5", "face_a", AT_HUNDREDS),
        ("step {n}, loss 0.5\nPixel Auroc:0.5, Sample Auroc{v:.3f}, Pixel Aupro0.875", "auroc", AT_STEPS),
        ("step {n} loss 0.5\nmain.py[line:231] INFO Validate some mAP: {v}", "validate_some_map", AT_STEPS),
    ],
)  # fmt: skip
def test_a_row_with_odd_signs_is_read_at_its_step(form, name, told):
    run = read_text(lines(form))
    assert points(run, name) == told, [(each, points(run, each)) for each in run.metrics.names]


@pytest.mark.parametrize(
    "text",
    [
        lines("It   {n}00 [TRAIN] [workers   ]: 4", (1, 2, 3)),
        lines("Step... ({n}00 | of 900)"),
        lines("[{n}00, 9.5]"),  # a range, not a rate
        lines("[{n} | 11.25] files were copied"),
        lines("==> #{n}00 is the number of the request"),
        lines("I: {n} T: 0.5 are the letters of a legend"),
        lines("call(width: {n}), (height: {v})"),
        lines("cost:benefit {n} to 3"),
    ],
)
def test_what_looks_like_such_a_row_is_none(text):
    run = read_text(text)
    assert not run.metrics.names, [(name, points(run, name)) for name in run.metrics.names]


def test_the_share_of_tasks_that_an_answer_solves_is_a_score():
    run = read_text(
        lines("step {n} loss 2.5\nEvaluated some in 31.5s (Pass@1={v}, Completion Length: 850.5)")
    )
    assert points(run, "val_pass@1") == AT_STEPS
    words = read_text(
        lines("step {n} loss 2.5\nEvaluated some in 31.5s (pass={n}, Completion Length: 850.5)")
    )
    assert not [name for name in words.metrics.names if "pass" in name]


def test_shares_of_pixels_that_fall_have_no_names():
    """Nothing says what the columns of another program are."""
    run = read_text(lines("[   {n}00,  0.0000080]     0.9000,     0.2500,     {v:.4f},    15.5000, "))
    assert "within_1px" not in run.metrics.names
