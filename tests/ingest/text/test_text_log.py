"""Whole logs: which files are logs, which metrics they hold, and that no input makes the reader fail."""

import math
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from log_reading import PUBLIC, only, points, read_bytes, read_file, read_text

from analyzer.ingest.base import Candidate, Match, SourceWriter
from analyzer.ingest.builder import RunBuilder
from analyzer.ingest.text.text_log import TextLog, read_lines

PASTED = (
    b'Traceback (most recent call last):\n  File "a.py", line 1, in f\nRuntimeError: CUDA out of memory\n'
    b"2026-01-01 00:00:00 INFO exits with return code = 1\nKilling subprocess 12\n"
)


def sniff(name, head):
    return TextLog().sniff(Candidate(Path(name), name, len(head), head))


@pytest.mark.parametrize(
    ("name", "head", "match"),
    [
        ("train.log", b"anything\n", Match.LIKELY),
        ("slurm-123.out", b"anything\n", Match.LIKELY),
        ("job.e4711", b"anything\n", Match.LIKELY),
        ("train.log.gz", b"anything\n", Match.LIKELY),
        ("notes", b"anything\n", Match.MAYBE),
        ("prompt.txt", b"once upon a time\n", Match.MAYBE),
        ("console", b"2026-01-01 00:00:00,000 - INFO - a\n2026-01-01 00:00:01,000 - INFO - b\n", Match.LIKELY),
        ("train.py", b"import torch\nprint('loss', loss)\n", Match.NO),
        ("config.yaml", b"learning_rate: 1e-5\n", Match.NO),
        ("scalars.json", b'{"loss": 2.0, "step": 1}\n{"loss": 2.0, "step": 2}\n', Match.NO),
        ("requirements.txt", b"torch==2.5\n", Match.NO),
        ("wandb/run-1/logs/debug-internal.log", b'{"level":"INFO"}\n', Match.NO),
        ("model.safetensors", bytes(range(32)) * 30, Match.NO),
        ("empty.log", b"", Match.NO),
        ("hole.log", b"start\n" + b"\0" * 5000 + b"Training: loss=2.0 goes on\n" * 9, Match.LIKELY),
        ("error.py", PASTED, Match.LIKELY),
        ("powershell.txt", "\ufeff2026-01-01 00:00:00 INFO a\n2026-01-01 00:00:00 INFO b\n".encode("utf-16-le"), Match.LIKELY),
    ],
)  # fmt: skip
def test_a_log_is_known_by_its_content_and_its_name(name, head, match):
    assert sniff(name, head) == match


STEP_LINES = [
    ("iter 10: loss 4.1234, time 250.00ms, mfu 30.00%", {"loss": [(10, 4.1234)]}),
    ("step 200: train loss 1.6, val loss 1.7", {"eval_loss": [(200, 1.7)], "loss": [(200, 1.6)]}),
    ("[step 200] val loss: 1.6379", {"eval_loss": [(200, 1.6379)]}),
    ("[titan] 2025-05-19 17:00:00,000 - root - INFO - step:  1  loss: 12.3822  grad_norm:  4.9421  memory: 95.20GiB(53.38%)  tps: 1,024  mfu: 30.1%",
     {"loss": [(1, 12.3822)], "grad_norm": [(1, 4.9421)]}),
    ("step    1/19560 | loss 10.9550 (+nanz)| norm 15.3386 (+nanz)| lr 4.29e-07 | 3000.52 ms | 33.0% bf16 MFU | 170k tok/s",
     {"loss": [(1, 10.955)], "grad_norm": [(1, 15.3386)], "learning_rate": [(1, 4.29e-07)]}),
    ("s:100 trl:3.2 lr:0.0006 norm:1.5", {"loss": [(100, 3.2)], "grad_norm": [(100, 1.5)]}),
    ("step:1/1480 train_time:92ms step_avg:nanms", {"loss": []}),
    ("step:1480/1480 val_loss:3.2788 train_time:92611ms step_avg:62.57ms", {"eval_loss": [(1480, 3.2788)]}),
    ("completed step: 10, seconds: 1.2, TFLOP/s/device: 30.1, Tokens/s/device: 9, total_weights: 4096, loss: nan, lm_loss: 2.3, perplexity: 9.9",
     {"loss": [(10, "nan")]}),
    ("Step 7 | loss:2.3 lr:2e-05 grad_norm:inf tokens_per_second_per_gpu:99", {"loss": [(7, 2.3)], "grad_norm": [(7, math.inf)]}),
    ("loss: 2.1, learning_rate: 1e-05, global_step: 10, interval_runtime: 0.5, progress_or_epoch: 0.1", {"loss": [(10, 2.1)]}),
    ("epoch: 1 step: 20, loss is 2.3", {"loss": [(20, 2.3)]}),
    ("epoch: 0|step: 239|ppo_ep: 1|act_loss: 0.22|cri_loss: nan|unsuper_loss: 0.0", {"policy_loss": [(239, 0.22)], "value_loss": [(239, "nan")]}),
    ("steps: 220 loss: 2.9892 iter time (s): 0.595 samples/sec: 861.131", {"loss": [(220, 2.9892)]}),
    ("iteration: 5 / 100 | consumed_tokens: 1.2M | lm_loss: 2.3 | lr: 0.0003 | grad_norm: 1.1", {"loss": [(5, 2.3)], "grad_norm": [(5, 1.1)]}),
    ("2026-11-21 06:40:02,062 INFO train: step 3/80 loss 4.1000 grad_norm 1.5000 lr 1.000e-04 loss_scale 32768",
     {"loss": [(3, 4.1)], "loss_scale": [(3, 32768.0)], "learning_rate": [(3, 1e-4)]}),
    ("Epoch: [2][10/50]  Time 0.5 (0.6)  Loss 6.9128e+00 (6.95e+00)", {"loss": [(110, 6.9128)]}),
    ("Epoch: [1]  [ 10/50]  eta: 0:10:00  lr: 0.000100  loss: nan (nan)  time: 0.5", {"loss": [(60, "nan")]}),
    ("Train Epoch: 1 [640/60000 (1%)]\tLoss: 2.300000", {"loss": [(None, 2.3)]}),
    ('{"step": 3, "loss": NaN, "grad_norm": 1.5, "loss_scale": 65536.0}', {"loss": [(3, "nan")], "loss_scale": [(3, 65536.0)]}),
    ('INFO {"global_step": "4", "train_loss": 2.0, "note": "x"}', {"loss": [(4, 2.0)]}),
    ("Step at 4 with Perplexity: nan", {"perplexity": [(4, "nan")]}),
    ("train/explained_variance nan", {"loss": []}),
    ("step 5 throughput nan samples/s loss is fine", {"loss": []}),
    ("Epoch 3/10 - train loss: 0.51 - val loss: nan", {"loss": [(None, 0.51)], "eval_loss": [(None, "nan")]}),
    ("Epoch: [999999999][1/999999999999] Loss 1.0", {"loss": [(None, 1.0)]}),
    ("Training loss: 2.3456, lr 1e-5:  10%|#    | 10/100 [00:01<00:09,  9.02it/s]", {"loss": [(10, 2.3456)], "learning_rate": [(10, 1e-5)]}),
    ("the loss of step 3 was 5 percent", {"loss": []}),
]  # fmt: skip


@pytest.mark.parametrize(("line", "expected"), STEP_LINES, ids=[str(i) for i in range(len(STEP_LINES))])
def test_step_lines_of_many_loops(line, expected):
    run = read_text(line + "\n")

    assert {name: points(run, name) for name in expected} == expected


def test_the_evaluations_of_deepspeed_chat():
    text = (
        "***** Evaluating perplexity, Epoch 1/2 *****\nppl: 2.125, loss: 0.75\n"
        "***** Evaluating rewards, Epoch 1/1 *****\nsome warning\nchosen: -32.0, rejected: -34.0, loss: 0.625\n"
        "***** Evaluating reward, Epoch 1/1 *****\nchosen_last_scores (higher is better) : 2.25, acc (higher is better) : 0.75\n"
        "epoch: 0|step: 7|ppo_ep: 1|act_loss: 0.5|cri_loss: 0.25|unsuper_loss: 0.0\naverage reward score: -0.75\n"
        "ppl: 9.5 is what the paper states\n"
    )
    run = read_text(text)

    assert points(run, "eval_perplexity") == [(None, 2.125)]
    assert points(run, "eval_loss") == [(None, 0.75), (None, 0.625)]
    assert points(run, "eval_accuracy") == [(None, 0.75)]
    assert points(run, "reward_mean") == [(7, -0.75)]


def test_the_rows_of_mlperf():
    row = ':::MLLOG {"time_ms": 1, "key": "%s", "value": %s, "metadata": {"%s": %d}}\n'
    run = read_text(
        row % ("tracked_stats", '{"throughput": 9.5, "loss_scale": 512.0, "current_lr": 0.5}', "step", 20)
        + row % ("eval_accuracy", "0.25", "epoch_num", 4)
        + row % ("train_loss", "6.5", "step_num", 30)
    )

    assert points(run, "loss_scale") == [(20, 512.0)]
    assert points(run, "learning_rate") == [(20, 0.5)]
    assert points(run, "loss") == [(30, 6.5)]
    assert [value for _, value in points(run, "eval_accuracy")] == [0.25]


@pytest.mark.parametrize(
    ("benchmark", "name"),
    [("rnnt", "eval_wer"), ("ssd", "eval_map"), ("resnet", "eval_accuracy"), ("gpt3", "eval_loss")],
)
def test_what_a_benchmark_of_mlperf_calls_its_accuracy(benchmark, name):
    row = ':::MLLOG {"time_ms": 1, "key": "%s", "value": %s, "metadata": {"epoch_num": 4}}\n'
    run = read_text(row % ("submission_benchmark", f'"{benchmark}"') + row % ("eval_accuracy", "0.0625"))

    assert [value for _, value in points(run, name)] == [0.0625]


def test_a_second_part_of_held_out_data_is_none_of_the_training():
    training = "[Epoch 1 Batch %d/1200] loss=1.5, lr=0.0001, metrics:accuracy:0.5\n"
    evaluation = "[Batch %d/%d] loss=0.5, metrics:accuracy:0.75\n"
    text = "".join(training % at for at in range(100, 1300, 100))
    text += "Evaluating dev_a on device(0).\n" + "".join(evaluation % (at, 310) for at in (100, 200, 300))
    text += "Evaluating dev_b on device(0).\n" + "".join(evaluation % (at, 330) for at in (100, 200, 300))
    run = read_text(text)

    assert {value for _, value in points(run, "loss")} == {1.5}
    assert len(points(run, "eval_loss")) == 6


def test_steps_that_start_again_in_each_epoch_count_on():
    text = "".join(f"Epoch {e}, Step {i}/3 loss: {e}.{i}\n" for e in (1, 2) for i in (1, 2, 3))

    assert [step for step, _ in points(read_text(text), "loss")] == [1, 2, 3, 4, 5, 6]


def test_keras_bars_of_a_first_epoch_that_never_ended_give_their_states():
    rows = [
        f"{at}/469 [=>....] - ETA: 9s - loss: {2.3 - at / 100:.4f} - accuracy: 0.1" for at in (10, 20, 30)
    ]
    cut = read_text("\n".join(["Epoch 1/5", *rows, ""]))
    later = read_text("\n".join([*rows, "Epoch 2/5", "1/469 [>....] - ETA: 9s - loss: 1.5000", ""]))

    assert points(cut, "loss") == [(10, 2.2), (20, 2.1), (30, 2.0)]
    assert points(later, "loss") == [(30, 2.0), (470, 1.5)]


def test_keras_bars_give_one_point_an_epoch():
    text = (
        "Epoch 1/2\n"
        "\r  1/100 [..............................] - ETA: 9s - loss: 2.5\r 50/100 [=======>......] - ETA: 1s - loss: 2.4\r"
        "100/100 [==============================] - 1s 2ms/step - loss: 2.3000 - accuracy: 0.1000\n"
        "Epoch 2/2\n100/100 [==============================] - 1s 2ms/step - loss: nan - accuracy: 0.1000\n"
    )

    assert points(read_text(text), "loss") == [(100, 2.3), (200, "nan")]


@pytest.mark.parametrize(
    "first", ["", "Epoch 1/3\n100/100 [==============================] - 1s 2ms/step - loss: 2.5\n"]
)
def test_keras_bars_tell_the_step_at_which_a_loss_stops_to_be_finite(first):
    bars = [
        f"{at:3d}/100 [=====>........] - ETA: 1s - loss: {loss}"
        for at, loss in ((20, 2.4), (37, 2.3), (38, "nan"), (70, "nan"))
    ]
    heading, base = ("Epoch 2/3\n", 100) if first else ("Epoch 1/3\n", 0)
    text = (
        first
        + heading
        + "\r".join(bars)
        + "\r100/100 [==============] - 1s 2ms/step - loss: nan\nEpoch 3/3\n"
    )

    assert points(read_text(text), "loss")[bool(first) :] == [
        (base + 37, 2.3),
        (base + 38, "nan"),
        (base + 100, "nan"),
    ]


def test_values_behind_a_progress_bar_count_once_a_step():
    text = (
        "\rTraining:   1%|1    | 28/5000 [00:22<54:11,  1.53it/s, loss=10.8620, lr=5.79e-05, step=29]"
        "\rTraining:   1%|1    | 29/5000 [00:22<54:09,  1.53it/s, loss=10.8620, lr=5.79e-05, step=29]"
        "\rTraining:   1%|1    | 29/5000 [00:23<54:09,  1.53it/s, loss=nan, lr=5.99e-05, step=30]\n"
        "\rEpoch 1:  10%|#    | 10/100 [00:01<00:09,  9.02it/s, v_num=0, train_loss_step=2.5]\n"
        "\rValidation:  10%|#    | 10/100 [00:01<00:09,  9.02it/s, loss=7.5]\n"
    )

    assert points(read_text(text), "loss") == [(29, 10.862), (30, "nan"), (110, 2.5)]


def test_the_last_state_of_a_bar_of_held_out_data_is_one_evaluation():
    bar = "\r{title}: {share:3d}%|#####     | {at}/9 [00:01<00:00,  9.2it/s, loss={loss}, dice={dice}]"
    text = "".join(
        f"\rEpoch {epoch}/3: 100%|##########| 50/50 [00:12<00:00,  3.2it/s, loss={2 / epoch:.3f}]\n"
        + bar.format(title="Validation", share=55, at=5, loss=9.0, dice=0.9)
        + bar.format(title="Validation", share=100, at=9, loss=8.0, dice=0.8)
        + bar.format(title="Validation", share=100, at=9, loss=1.5 - 0.1 * epoch, dice=0.25 * epoch)
        + "\n"
        for epoch in (1, 2, 3)
    )
    sanity = bar.format(title="Sanity Checking", share=100, at=9, loss=7.0, dice=0.1) + "\n"

    run = read_text(sanity + text + sanity)

    assert points(run, "loss") == [(50, 2.0), (100, 1.0), (150, 0.667)]
    assert points(run, "eval_loss") == [(50, 1.4), (100, 1.3), (150, 1.2)]
    assert points(run, "val_dice") == [(50, 0.25), (100, 0.5), (150, 0.75)]


def test_scores_behind_a_progress_bar_are_read_like_losses():
    text = "".join(
        f"\rEpoch {epoch}: 100%|##########| 50/50 [00:12<00:00,  3.2it/s, loss={2 / epoch:.2f}, wer=1.0000, n=7]\n"
        for epoch in (1, 2, 3)
    )

    assert points(read_text(text), "wer") == [(50, 1.0), (100, 1.0), (150, 1.0)]
    assert points(read_text(text), "n") == []


def test_means_of_epochs_do_not_mix_with_the_curve_of_steps():
    run = read_text("step 1 loss 3.0\nstep 2 loss 2.0\nEpoch 1 train loss: 2.5\nstep 3 loss 1.0\n")

    assert points(run, "loss") == [(1, 3.0), (2, 2.0), (3, 1.0)]
    assert points(run, "epoch/train_loss") == [(None, 2.5)]


MEGATRON = (
    " iteration {0:8d}/    1000 | consumed samples: 80 | elapsed time per iteration (ms): 1354.9 | learning rate: 3.750E-05 | "
    "global batch size:     4 |{1} loss scale: 32768.0 | grad norm: 1.500 | number of skipped iterations: {2:3d} | number of nan iterations: {3:3d} |\n"
)


def test_megatron_leaves_a_nan_loss_out():
    run = read_text(
        MEGATRON.format(1, " lm loss: 1.2E+01 |", 0, 0)
        + MEGATRON.format(2, "", 0, 0)
        + MEGATRON.format(3, "", 0, 1)
    )

    assert sorted(points(run, "loss")) == [(1, 12.0), (2, "nan"), (3, "nan")]
    assert points(run, "grad_norm") == [(1, 1.5), (2, 1.5), (3, 1.5)]


def test_a_row_of_megatron_that_was_cut_before_its_loss_holds_no_nan():
    cut = MEGATRON.format(1, "", 0, 0).partition("global batch")[0]

    assert not read_text(cut + cut.replace("1/", "2/")).metrics.has("loss")


def test_megatron_says_nothing_about_the_loss_of_skipped_iterations():
    run = read_text(
        MEGATRON.format(1, "", 1, 0)
        + MEGATRON.format(2, "", 1, 0)
        + MEGATRON.format(3, " lm loss: 1.2E+01 |", 0, 0)
    )

    assert points(run, "loss") == [(3, 12.0)]
    assert points(run, "skipped_steps") == [(1, 1.0), (2, 2.0), (3, 2.0)]


def test_placeholders_of_megatron_under_deepspeed_are_no_measurements():
    line = (
        MEGATRON.format(1, " lm loss: 1.2E+01 |", 0, 0)
        .replace("loss scale: 32768.0", "loss scale: -1.0")
        .replace("grad norm: 1.500", "grad norm: 0.000")
    )

    run = read_text(line)

    assert not run.metrics.has("grad_norm")
    assert not run.metrics.has("loss_scale")


def test_fairseq_rows_are_json_of_strings():
    run = read_text(
        '2020-12-10 12:21:56 | INFO | train_inner | {"epoch": 1, "update": 0.002, "loss": "16.464", "ppl": "90380.9", "num_updates": "25", "lr": "1.25e-05", "gnorm": "nan", "loss_scale": "64"}\n'
        '[2022-03-28 20:51:20,567][valid][INFO] - {"epoch": 1, "valid_loss": "9.1", "valid_num_updates": "25"}\n'
        '2020-12-10 12:22:00 | INFO | train | {"epoch": 1, "train_loss": "12.0", "train_num_updates": "25"}\n'
    )

    assert points(run, "loss") == [(25, 16.464)]
    assert points(run, "grad_norm") == [(25, "nan")]
    assert points(run, "eval_loss") == [(25, 9.1)]


def test_a_report_of_hooks_names_the_first_bad_module():
    run = read_text(
        "Detected inf/nan during batch_number=0\nLast 21 forward frames:\nabs min  abs max  metadata\n"
        "                  encoder.block.1.layer.1.DenseReluDense.wi_0 Linear\n2.17e-07 4.50e+00 weight\n1.79e-06 4.65e+00 input[0]\n2.68e-06 3.70e+04 output\n"
        "                  encoder.block.2.layer.1.DenseReluDense.wo Linear\n1.00e+00 3.70e+04 input[0]\n0.00e+00      inf output\n"
        "                  encoder.block.2.layer.1 T5LayerFF\n0.00e+00      inf output\n\n"
    )

    hook = only(run, "nonfinite_hook")
    assert (hook["module"], hook["batch"]) == ("encoder.block.2.layer.1.DenseReluDense.wo", 0)
    assert only(run, "module_absmax")["value"] == 37000.0


def test_torchruns_report_names_rank_host_and_signal():
    run = read_text(
        "train.py FAILED\n------\nFailures:\n  <NO_OTHER_FAILURES>\n------\nRoot Cause (first observed failure):\n[0]:\n"
        "  time      : 2026-05-19_13:33:12\n  host      : node-a\n  rank      : 5 (local_rank: 5)\n  exitcode  : -11 (pid: 2259200)\n"
        "  error_file: <N/A>\n  traceback : Signal 11 (SIGSEGV) received by PID 2259200\n=======\n"
    )

    (event,) = run.events.of("torchrun_failure")
    assert dict(event.fields) == {
        "time": "2026-05-19_13:33:12", "host": "node-a", "rank": 5, "local_rank": 5, "exitcode": -11, "pid": 2259200, "signal": "SIGSEGV",
    }  # fmt: skip
    assert event.rank == 5


def test_generations_that_repeat_one_token():
    run = read_text(
        "sample generation: !!!!!!!!!!!!!!!! [0, 0, 0, 0, 0, 0, 0, 0]\n"
        "generated text: the the the the the the the the the\n"
        "generated text: a fine sentence about the sea\n"
        "sample: ==================== 0, 1, 2\n"
    )

    assert [e.ref.line for e in run.events.of("generation_repeats")] == [1, 2]


def test_a_line_of_two_writers_is_read_for_both():
    line = " 50%|##### | 50/100 [00:01<00:01,  9.0it/s]slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-01-01T00:00:00 DUE TO TIME LIMIT ***{'loss': 2.0, 'epoch': 0.5}\n"

    run = read_text(line)

    assert points(run, "loss") == [(50, 2.0)]
    assert only(run, "slurm_cancelled")["reason"] == "TIME LIMIT"


def test_an_event_without_a_step_gets_the_step_that_the_log_had_reached():
    run = read_text("step 41 loss 2.0\nRuntimeError: CUDA error: device-side assert triggered\n")

    assert run.events.of("device_side_assert")[0].step == 41


def test_the_same_metric_of_several_ranks_does_not_become_one_series():
    text = "".join(f"[rank{r}]: step {s} loss {s}.{r}\n" for s in (1, 2) for r in (0, 1))

    run = read_text(text)

    assert points(run, "loss") == [(1, 1.0), (2, 2.0)]
    assert points(run, "loss@rank1") == [(1, 1.1), (2, 2.1)]


def test_lines_of_a_tracker_keep_their_record_numbers_and_times():
    builder = RunBuilder("run")
    builder.add_source("run.wandb", format_name="wandb", ingestor="wandb", size_bytes=0, sha256_head="")
    read_lines(
        [(11, "step 1 loss 2.0", 100.0), (17, "OSError: No space left on device\n", 101.5)],
        SourceWriter(builder, 0),
    )
    run = builder.finish()

    assert int(run.metrics.series("loss").line[0]) == 11
    assert (run.events.rows[0].ref.line, run.events.rows[0].time_s) == (17, 101.5)


MIXED = (
    "[2023-04-18 01:46:52,554] [INFO] [loss_scaler.py:188:update_scale] [deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 65536, reducing to 32768\n"
    '\x1b[31m[rank0]:\x1b[0m Traceback (most recent call last):\n[rank0]:   File "a.py", line 3, in f\n[rank0]:     x()\n[rank0]: ValueError: y\n'
    "\r 50%|##### | 5/10 [00:01<00:01,  9.0it/s]{'loss': nan, 'grad_norm': tensor(inf), 'epoch': 0.5}\r\n"
    '[..] [config.py:1:print]   json = {\n    "fp16": {\n        "enabled": true\n    }\n}\n'
    + MEGATRON.format(1, " lm loss: nan |", 0, 0)
    + '| train_inner | {"loss": "nan", "num_updates": "5", "lr": "1e-5"}\n'
    "Iter(train) [  10/1000]  lr: 1.0e-04  data_time: 0.01  loss: nan\n"
    "Detected inf/nan during batch_number=0\n                  m.n Linear\n0.00e+00      inf output\n"
    "Root Cause (first observed failure):\n[0]:\n  rank      : 5 (local_rank: 5)\n  exitcode  : -9 (pid: 1)\n"
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 200.00 MiB. GPU 2 has a total capacity of 178.35 GiB\n"
    '{"log":"step 3 loss 2.0\\n","stream":"stdout","time":"2026-01-01T00:00:00Z"}\n'
    "sample generation: !!!!!!!!!!!!!!!!\n"
).encode()


def test_a_log_cut_at_any_byte_is_read():
    for cut in range(0, len(MIXED), 2):
        read_bytes(MIXED[:cut])


def test_a_log_that_begins_at_any_byte_is_read():
    for cut in range(0, len(MIXED), 7):
        read_bytes(MIXED[cut:])


WORDS = [MIXED[i : i + 23] for i in range(0, len(MIXED), 17)]


@settings(max_examples=150, deadline=None)
@given(st.lists(st.one_of(st.binary(max_size=30), st.sampled_from(WORDS)), max_size=40))
def test_no_bytes_make_the_reader_fail(parts):
    read_bytes(b"".join(parts))


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=300))
def test_no_text_of_a_tracker_makes_the_reader_fail(text):
    builder = RunBuilder("run")
    builder.add_source("run.wandb", format_name="wandb", ingestor="wandb", size_bytes=0, sha256_head="")

    read_lines([(1, text, None), (2, "step 1 loss 2.0", 5.0)], SourceWriter(builder, 0))

    assert builder.finish().metrics.has("loss")


def test_hostile_nesting_and_endless_numbers_are_survived():
    deep = '{"step": 1, "loss": ' + "[" * 30_000 + "\n"
    digits = "step " + "9" * 60_000 + " loss " + "9" * 60_000 + "\n"
    braces = "{'loss': " * 5_000 + "\n"

    read_text(deep + digits + braces + '{"log":' * 5_000 + "\n" + "[rank0]: " * 7_000 + "x\n")


@pytest.mark.parametrize(
    "start",
    ["loss step 1 %| ", "{'loss': 'epoch': ", "iteration 1/2 | elapsed time per iteration (ms)", "data_time: Epoch [1][2/3] ",
     '"loss":{"step": 1', "generation: ", "TrainingArguments(", "Detected inf/nan during batch_number=1\n",
     "Traceback (most recent call last):\n", 'num_updates": {"', "Unsloth Max memory: GPU: ", ":print]   key ..... ", "SamplesPerSec= , skipped= step="],
)  # fmt: skip
def test_no_line_takes_long_to_read(start):
    started_s = time.process_time()
    for filler in (
        "a",
        "1",
        " ",
        "a_",
        "1,",
        "10%|#| 1/2 [",
        "loss",
        "'a': 1, ",
        "9/9 ",
        "Epoch: [",
        "0, ",
        "a a a ",
    ):
        read_bytes((start + (filler * 60_000)[:60_000] + "\n").encode())

    assert time.process_time() - started_s < 5.0  # typically 0.1 s; a quadratic expression takes a minute


@pytest.mark.parametrize(
    ("path", "metric", "first", "last"),
    [
        ("torchtitan-log", "loss", None, None),
        ("megatron-slurm-log/bigscience-workshop__bigscience/experiments/gpt2-meg-ds-zero/meg_ds_zero_gpt2_perf_n16-1999616.out", "loss", 12.52, 39.0),
        ("fairseq-log/facebookresearch__fairseq/examples/wav2vec/first_try.out", "loss", 9.427, 3.555),
        ("textlog/karpathy__nanoGPT/lozo_train.log", "loss", 10.862, 10.16),
        ("textlog/karpathy__nanoGPT/finetune_cosine_5e-5.log", "eval_loss", 1.638, 1.465),
        ("gptneox-slurm-log/EleutherAI__gpt-neox/slurm/scaling-0.1/70M_512step_59807359.out", "loss", 11.064, 2.368),
    ],
)  # fmt: skip
def test_curves_of_public_logs_are_what_their_notes_say(path, metric, first, last):
    place = PUBLIC / path
    if not place.exists():
        pytest.skip("the public logs are not on this machine")
    for file in [place] if place.is_file() else sorted(place.rglob("*.log")):
        values = read_file(file).metrics.series(metric)
        if first is not None:
            assert (values.value[0], values.value[-1]) == (
                pytest.approx(first, rel=1e-2),
                pytest.approx(last, rel=1e-2),
            )


@pytest.mark.parametrize(
    ("path", "kind", "count"),
    [
        ("fairseq-log/facebookresearch__fairseq/examples/wav2vec/first_try.out", "loss_scale_overflow", 60),
        ("fairseq-log/facebookresearch__fairseq/fb_sweep/mock_results/big_run.run1/train.log", "nan_detector", 1),
        ("slurm-out/NVIDIA__NeMo/slurm-78559.out", "slurm_cancelled", 1),
        ("gpu-kernel-log/leptonai__gpud/components/accelerator/nvidia/xid/testdata/dmesg-with-xid-119.log", "gpu_xid", 5),
        ("gptneox-slurm-log/EleutherAI__gpt-neox/slurm/llemma-f-0.2/debug_0_62691629.out", "cuda_oom", 1),
    ],
)  # fmt: skip
def test_failures_of_public_logs_are_found(path, kind, count):
    if not (PUBLIC / path).exists():
        pytest.skip("the public logs are not on this machine")

    assert len(read_file(PUBLIC / path).events.of(kind)) == count
