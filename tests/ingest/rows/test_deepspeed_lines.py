"""DeepSpeed: overflows of every version, progress, configuration, launcher."""

import pytest
from log_reading import PUBLIC, only, points, read_file, read_text

FRAME = "[2023-04-18 01:46:52,554] [INFO] [loss_scaler.py:188:update_scale] "


@pytest.mark.parametrize(
    ("line", "fields"),
    [
        ("[deepspeed] OVERFLOW! Skipping step. Attempted loss scale: 4294967296.0, reducing to 2147483648.0",
         {"attempted": 4294967296.0, "reducing_to": 2147483648.0}),
        ("[deepscale] OVERFLOW! Rank 3 Skipping step. Attempted loss scale: 65536.0, reducing to 32768.0",
         {"rank": 3, "attempted": 65536.0, "reducing_to": 32768.0}),
        ("[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 65536, reducing to 32768",
         {"rank": 0, "attempted": 65536.0, "reducing_to": 32768.0}),
        ("[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 65536, but hysteresis is 2. Reducing hysteresis to 1",
         {"rank": 0, "attempted": 65536.0, "hysteresis": 2}),
        ("[deepspeed] OVERFLOW! Rank 0 Skipping step.", {"rank": 0}),
        ("[deepspeed] fp16 dynamic loss scale overflow! Skipping step. Attempted loss scale: 1.0, reducing to 1",
         {"attempted": 1.0, "reducing_to": 1.0}),
        ("[Rank 0] Overflow detected. Skipping step. Attempted loss scale: 2048.0, reducing to 1024.0",
         {"attempted": 2048.0, "reducing_to": 1024.0}),
    ],
)  # fmt: skip
def test_every_form_of_an_overflow_is_one_event(line, fields):
    run = read_text(FRAME + line + "\n")

    assert only(run, "loss_scale_overflow") == fields
    assert run.events.rows[0].time_s == pytest.approx(1681782412.554)


def test_the_end_of_the_scale_is_told_apart_from_the_line_of_code_that_raises():
    run = read_text(
        "Traceback (most recent call last):\n"
        '  File "/opt/venv/lib/python3.11/site-packages/deepspeed/loss_scaler.py", line 258, in update_scale\n'
        "    raise Exception('Current loss scale already at minimum - cannot decrease scale anymore. Exiting run.')\n"
        "Exception: Current loss scale already at minimum - cannot decrease scale anymore. Exiting run.\n"
    )

    (event,) = run.events.of("loss_scale_minimum")
    assert (event.ref.line, event.role) == (4, "root_candidate")


def test_hysteresis_that_is_restored_is_no_overflow():
    run = read_text(FRAME + "Consecutive hysteresis is enabled. Restoring hysteresis to 2\n")

    assert only(run, "loss_scale_hysteresis") == {"hysteresis": 2}
    assert not run.events.of("loss_scale_overflow")


def test_the_fused_optimizer_names_the_iteration_of_its_overflow():
    run = read_text(
        "[2023-04-18 03:36:00,501] [INFO] [fused_optimizer.py:362:_update_scale] \nGrad overflow on iteration 557\n"
        "[..] Reducing dynamic loss scale from 2048.0 to 1024.0\n"
        "Overflow detected. Skipping step. Attempted loss scale: 2048.0, reducing to 1024.0\n"
        "No Grad overflow for 500 iterations\n"
    )

    assert run.events.of("loss_scale_overflow")[0].step == 557
    assert len(run.events.of("grad_overflow_iteration")) == 1


def test_progress_lines_give_the_learning_rate_and_the_skipped_steps():
    run = read_text(
        FRAME + "[Rank 0] step=10, skipped=6, lr=[9.6e-06, 9.6e-06], mom=[(0.9, 0.95), (0.9, 0.95)]\n"
    )

    assert points(run, "skipped_steps") == [(10, 6.0)]
    assert points(run, "learning_rate") == [(10, 9.6e-06)]
    assert "deepspeed" in run.frameworks


def test_two_engines_of_one_run_do_not_share_a_series():
    line = "step={0}, skipped={1}, lr=[1e-05], mom=[(0.9, 0.95)]\n"

    run = read_text(line.format(10, 4) + line.format(10, 3) + line.format(20, 5) + line.format(20, 3))

    assert points(run, "skipped_steps") == [(10, 4.0), (20, 5.0)]
    assert points(run, "skipped_steps@engine1") == [(10, 3.0), (20, 3.0)]


@pytest.mark.parametrize(
    ("line", "point"),
    [
        ("epoch=0/micro_step=10/global_step=20, RunningAvgSamplesPerSec=173.4, CurrSamplesPerSec=171.9, MemAllocated=3.96GB", (20, 171.9)),
        ("0/224, RunningAvgSamplesPerSec=51.1, CurrSamplesPerSec=42.8, MemAllocated=2.3GB", (None, 42.8)),
        ("0/100, SamplesPerSec=12.5", (None, 12.5)),
    ],
)  # fmt: skip
def test_throughput_of_old_and_new_timers(line, point):
    assert points(read_text(FRAME + line + "\n"), "samples_per_second") == [point]


def test_the_printed_configuration_is_what_was_in_effect():
    run = read_text(
        FRAME + "DeepSpeedEngine configuration:\n"
        "[2023-04-18 01:46:52,554] [INFO] [config.py:678:print]   dynamic_loss_scale_args ...... {'init_scale': 65536, 'scale_window': 1000, 'delayed_shift': 2, 'min_scale': 1}\n"
        "[2023-04-18 01:46:52,554] [INFO] [config.py:678:print]   fp16_enabled ................. True\n"
        "[2023-04-18 01:46:52,554] [INFO] [config.py:678:print]   world_size ................... 8\n"
        "[2023-04-18 01:46:52,554] [INFO] [config.py:678:print]   zero_config .................. stage=2 contiguous_gradients=True overlap_comm=True reduce_bucket_size=500000000 x=1\n"
        "[2023-04-18 01:46:52,554] [INFO] [config.py:664:print_user_config]   json = {\n"
        '    "train_batch_size": 64, \n'
        '    "fp16": {\n        "enabled": true, \n        "initial_scale_power": 32\n    }, \n'
        '    "gradient_clipping": 1.0\n'
        "}\n"
        "[2023-04-18 01:46:53,000] [INFO] [engine.py:1:f] step=1, skipped=0, lr=[1e-05], mom=[0.9]\n"
    )

    assert run.config.value("zero.overlap_comm") is True
    assert run.config.value("zero.stage") == 2
    assert run.config.value("fp16.hysteresis") == 2
    assert run.config.value("train.global_batch_size") == 64
    assert run.config.value("train.max_grad_norm") == 1.0
    assert {str(c.value) for c in run.config["fp16.initial_scale_power"].conflicts} | {
        str(run.config.value("fp16.initial_scale_power"))
    } == {"16", "32"}
    assert run.layout.world_size == 8
    assert points(run, "skipped_steps") == [(1, 0.0)]


def test_a_configuration_that_is_cut_off_is_told():
    run = read_text('[..] [config.py:664:print_user_config]   json = {\n    "train_batch_size": 64, \n')

    assert "cut off" in run.gaps[0].reason


def test_the_launchers_lines_and_their_roles():
    run = read_text(
        "[..] [launch.py:314:sigkill_handler] Killing subprocess 111997\n"
        "[..] [ERROR] [launch.py:320:sigkill_handler] ['/usr/bin/python', '-u', 'train.py'] exits with return code = -9\n"
        "[..] [launch.py:460:main] Process 73591 exits successfully.\n"
        "[..] [launch.py:295:sigkill_handler] Main process received SIGTERM, exiting\n"
        "pdsh@head: worker-1: ssh exited with exit code 1\n"
    )

    assert [(e.kind, e.role) for e in run.events] == [
        ("launcher_kill", "teardown"),
        ("launcher_exit_code", "cascade"),
        ("process_exit_ok", "info"),
        ("launcher_signalled", "teardown"),
        ("launcher_exit_code", "cascade"),
    ]
    assert [e.fields.get("code") for e in run.events.of("launcher_exit_code")] == [-9, 1]


def test_a_public_run_has_exactly_its_139_overflows():
    path = (
        PUBLIC / "deepspeed-log" / "microsoft__DeepSpeedExamples" / "applications" / "DeepSpeed-Chat" / "training"
        / "step1_supervised_finetuning" / "training_log_output" / "opt-1.3b-globalBatchSize128.log"
    )  # fmt: skip
    if not path.exists():
        pytest.skip("the public logs are not on this machine")
    run = read_file(path)

    assert len(run.events.of("loss_scale_overflow")) == 139
    assert points(run, "skipped_steps")[-1] == (7360, 139.0)
