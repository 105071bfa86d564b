"""Rows of OpenMMLab runners and of XTuner."""

from log_reading import only, points, read_text

STAMP = "2026/01/01 00:00:{:02d} - mmengine - INFO - "


def test_rows_by_iteration():
    rows = "".join(
        STAMP.format(i)
        + f"Iter(train) [{10 * i:4d}/1000]  base_lr: 2.0000e-04 lr: 1.0000e-04  eta: 1 day, 0:10:00  time: 0.5000  data_time: 0.0100  memory: 12345  "
        f"grad_norm: {'nan' if i > 2 else 1.5}  loss: {'nan' if i > 1 else 1.8250}\n"
        for i in range(1, 5)
    )

    run = read_text(rows)

    assert points(run, "loss") == [(10, 1.825), (20, "nan"), (30, "nan"), (40, "nan")]
    assert [value for _, value in points(run, "grad_norm")] == [1.5, 1.5, "nan", "nan"]
    assert [value for _, value in points(run, "learning_rate")] == [1e-4] * 4
    assert (run.step_window, "mmengine" in run.frameworks) == ({0: 10}, True)
    assert set(run.metrics.names) == {
        "loss", "grad_norm", "learning_rate", "step_time_s", "data_time_s", "gpu_memory_peak_gib",
    }  # fmt: skip


def test_rows_by_epoch_count_through_the_epochs():
    text = "".join(
        STAMP.format(e) + f"Epoch(train)  [{e}][{i}/50]  lr: 1.0e-02  eta: 0:00:01  loss: {e}.{i}\n"
        for e in (1, 2)
        for i in (25, 50)
    )

    assert [step for step, _ in points(read_text(text), "loss")] == [25, 50, 75, 100]


def test_rows_of_mmcv():
    text = "2020-01-01 00:00:00,123 - mmcv - INFO - Epoch [2][50/1000]\tlr: 1.000e-03, eta: 0:10:00, time: 0.5, data_time: 0.1, memory: 9, loss_cls: 0.5, loss: 2.1\n"

    run = read_text(text)

    assert (points(run, "loss"), points(run, "loss_cls")) == ([(1050, 2.1)], [(1050, 0.5)])


def test_validation_is_no_training_point():
    text = (
        STAMP.format(1)
        + "Iter(train) [ 100/1000]  lr: 1e-3  loss: 2.0\n"
        + STAMP.format(2)
        + "Iter(val) [50/50]  coco/bbox_mAP: 0.3700  loss: 1.9\n"
    )

    run = read_text(text)

    assert points(run, "eval_loss") == [(100, 1.9)]
    assert points(run, "val/coco/bbox_map") == [(100, 0.37)]
    assert points(run, "loss") == [(100, 2.0)]


def test_rows_of_xtuner_1():
    text = (
        "[XTuner][RANK 0][2026-01-01 00:00:00][INFO] Epoch 1 Step 20/500 data_time: 0.1000 lr: 1.000000e-05 time: 0.9 text_tokens: 4096.0 "
        "reduced_llm_loss: nan grad_norm: nan max_memory: 10.00 GB reserved_memory: 12.00 GB tgs: 900.0 eta: 1:00:00\n"
        "WARNING Gradient norm nan is invalid, skipping optimizer step.\n"
    )

    run = read_text(text)

    assert points(run, "loss") == [(20, "nan")]
    assert points(run, "grad_norm") == [(20, "nan")]
    assert only(run, "gradient_skipped") == {"value": "nan"}
