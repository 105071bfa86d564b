"""How a run ended: by its own words, its counters and its clocks, as text logs of any program show it."""

import json
import os
import re
import time
from datetime import UTC, datetime

import pytest

import analyzer

TRACEBACK = """Traceback (most recent call last):
  File "train.py", line 41, in <module>
    main()
  File "train.py", line 30, in main
    step(batch)
{raised}
"""


def falling(step, count=300):
    return 0.4 + 3.6 * (1 - step / count) ** 2 + 0.01 * (step % 3)


def rows(count, planned=300, form="step {step}/{planned} loss {loss:.4f} grad_norm {norm:.3f}"):
    return "".join(
        form.format(step=step, planned=planned, loss=falling(step), norm=1 + 0.1 * (step % 5)) + "\n"
        for step in range(1, count + 1)
    )


def stamped(count, planned, *, every_s, end_s):
    """Rows with a time, the last of them ``end_s`` seconds ago."""
    lines = rows(count, planned).splitlines()
    now = time.time()
    return "".join(
        f"{datetime.fromtimestamp(now - end_s - (count - 1 - i) * every_s, UTC):%Y-%m-%d %H:%M:%S},120 INFO {line}\n"
        for i, line in enumerate(lines)
    )


def diagnosed(tmp_path, text, *, age_s=0.0, name="train.log"):
    path = tmp_path / name
    path.write_text(text)
    os.utime(path, (time.time() - age_s,) * 2)
    return analyzer.diagnose(path)


KERAS = "".join(
    f"Epoch {epoch:02d}/400\n 32/32 [==============================] - 1s 20ms/step - loss: {4 / epoch:.4f} - val_loss: {5 / epoch:.4f}\n"
    for epoch in range(1, 31)
)
BAR = "".join(
    f"\r {step * 100 // 300:3d}%|###       | {step}/300 [00:10<00:20,  3.10it/s]"
    + (
        f"\n{{'loss': {falling(step):.4f}, 'grad_norm': 1.2, 'learning_rate': 1e-05, 'epoch': {step / 100:.2f}}}\n"
        if step % 5 == 0
        else ""
    )
    for step in range(1, 131)
)


@pytest.mark.parametrize(
    ("text", "progress"),
    [
        (rows(130), "130 of 300 steps"),
        (rows(130) + "step 131/300 lo", "131 of 300 steps"),
        (rows(130, form="Iter [{step}/{planned}] loss: {loss:.4f}"), "130 of 300 steps"),
        (rows(130, form=" iteration {step:8d}/ {planned:8d} | lm loss: {loss:.6E} |"), "130 of 300 steps"),
        (rows(48, 60, form="[Epoch {step} of {planned}] train_loss={loss:.4f}"), "48 of 60 epochs"),
        (KERAS, "30 of 400 epochs"),
        (BAR, "130 of 300 steps"),
    ],
    ids=["counter", "torn", "brackets", "megatron", "epochs", "keras", "bar"],
)  # fmt: skip
def test_a_log_that_stops_short_of_its_plan_is_interrupted_and_gets_restart_advice(tmp_path, text, progress):
    dx = diagnosed(tmp_path, text)
    shown = analyzer.report(dx, "terminal")

    assert (dx.status, dx.ended.state, dx.ended.progress()) == ("interrupted", "interrupted", progress)
    assert shown.startswith("INTERRUPTED")
    assert progress in shown.partition("\n")[0]
    assert re.search(
        r"restart(?:, if it is log-truncated)?: as it is", shown
    )  # by what other logs that stop were worth
    assert dx.to_dict()["ended"]["state"] == "interrupted"


@pytest.mark.parametrize(
    "text",
    [rows(130, 130), rows(130, 130) + "Done.\n", rows(130, 300) + "Training finished.\n",
     rows(98, 100, form="step {step}/{planned} loss {loss:.4f}").replace("step 97/", "# ") + "step 100/100 loss 0.4\n",
     "".join(f"Epoch {epoch}/9 loss {4 / (epoch + 1):.4f}\n" for epoch in range(10))],
    ids=["reached", "done", "said", "sparse", "from-zero"],
)  # fmt: skip
def test_a_run_that_reached_its_plan_or_says_so_is_complete(tmp_path, text):
    dx = diagnosed(tmp_path, text)

    assert (dx.status, dx.ended.state) == ("healthy", "completed")


@pytest.mark.parametrize(
    "text", [rows(12, 300), rows(140, 300).partition("step 120/")[2]], ids=["few lines", "no beginning"]
)
def test_the_end_of_a_part_of_a_log_is_unknown(tmp_path, text):
    dx = diagnosed(tmp_path, text, age_s=90_000)

    assert dx.ended.state == "unknown"
    assert "may be a part of one" in dx.ended.because


def epochs_of_keras(epochs, saved="Epoch {epoch}: val_loss improved, saving model to best.keras\n"):
    return "".join(
        f"Epoch {epoch}/60\n40/40 [==============================] - 2s 50ms/step - loss: {1.2 * 0.7**epoch:.4f} - val_loss: {1.3 * 0.7**epoch:.4f}\n"
        + saved.format(epoch=epoch)
        for epoch in epochs
    )


@pytest.mark.parametrize(
    "text",
    [epochs_of_keras(range(7, 13)), epochs_of_keras(range(1, 9), saved="")],
    ids=["begins late and saves", "few lines"],
)
def test_a_quoted_part_is_judged_by_what_it_shows_and_not_by_where_it_stops(tmp_path, text):
    dx = diagnosed(tmp_path, text)

    assert dx.status == "healthy"
    assert "end unknown" in analyzer.report(dx, "terminal").partition("\n")[0]
    assert not dx.findings


def test_a_quoted_part_without_held_out_data_does_not_tell_how_it_went_on(tmp_path):
    dx = diagnosed(
        tmp_path, "".join(f"Epoch {epoch}/60 loss: {1.2 * 0.7**epoch:.4f}\n" for epoch in range(1, 9))
    )

    assert dx.status == "insufficient"
    assert "may be a part of one" in dx.summary


def test_a_short_log_that_saves_and_begins_with_its_first_epoch_is_one_that_was_cut_off(tmp_path):
    assert diagnosed(tmp_path, epochs_of_keras(range(1, 7))).status == "interrupted"


@pytest.mark.parametrize(("count", "state"), [(12, "unknown"), (40, "interrupted")])
def test_a_dozen_records_with_a_clock_may_be_quoted_and_forty_are_a_log(tmp_path, count, state):
    assert diagnosed(tmp_path, stamped(count, 300, every_s=5, end_s=90_000)).ended.state == state


def test_counters_of_one_epoch_are_not_taken_for_the_plan(tmp_path):
    text = "".join(
        f"Epoch: [{epoch}][{batch:4d}/600] loss {4 / (epoch + 1 + batch / 600):.4f}\n"
        for epoch in range(9)
        for batch in range(50, 601, 50)
    )
    dx = diagnosed(tmp_path, text)

    assert dx.ended.state == "unknown"
    assert dx.status == "healthy"


def test_the_age_of_the_last_line_against_their_usual_distance(tmp_path):
    going = diagnosed(tmp_path, stamped(130, 300, every_s=5, end_s=3))
    silent = diagnosed(tmp_path, stamped(130, 300, every_s=5, end_s=7000), age_s=7000)
    copied = diagnosed(tmp_path, stamped(130, 300, every_s=5, end_s=7000))
    old_file = diagnosed(tmp_path, rows(130), age_s=90_000)

    assert [dx.ended.state for dx in (going, silent, copied, old_file)] == [
        "still running",
        *["interrupted"] * 3,
    ]
    assert going.status == "healthy"
    assert "still running, 130 of 300 steps" in analyzer.report(going, "terminal").partition("\n")[0]
    assert "such signs came every 5 s" in silent.ended.because
    assert old_file.ended.silent_s == 90_000


@pytest.mark.parametrize("prefix", ["", "[rank3]: "])
def test_an_exception_as_the_last_line_is_a_failure_without_its_header(tmp_path, prefix):
    dx = diagnosed(tmp_path, rows(130) + f"{prefix}ValueError: shard 17 holds no samples\n")

    assert (dx.status, dx.ended.state) == ("failed", "crashed")


def test_an_exception_named_in_a_warning_that_rows_follow_is_none(tmp_path):
    text = rows(60) + "ValueError: shard 17 holds no samples\n" + rows(300).partition("step 61/")[2]
    dx = diagnosed(tmp_path, text)

    assert dx.status == "healthy"


def test_one_row_after_a_traceback_is_the_last_flush_of_the_writer_and_no_survival(tmp_path):
    row = "iter: {step}  total_loss: {loss:.4f}  lr: 0.001"
    crash = TRACEBACK.format(raised="RuntimeError: shape mismatch in block 4")
    text = rows(100, form=row) + crash + row.format(step=101, loss=1.0) + "\n"
    caught = crash.replace("in <module>", "in guarded")
    went_on = rows(100, form=row) + caught + rows(140, form=row).partition("iter: 100 ")[2].partition("\n")[2]

    assert diagnosed(tmp_path, text).status == "failed"
    assert diagnosed(tmp_path, went_on).status != "failed"


@pytest.mark.parametrize(
    "last",
    [
        TRACEBACK.format(raised="OSError: [Errno 28] No space left on device: 'out/final.pt'"),
        TRACEBACK.format(raised="RuntimeError: export of block 4 is not supported"),
        "terminate called after throwing an instance of 'c10::Error'\n  what():  invalid device ordinal\nAborted (core dumped)\n",
    ],
    ids=["disk", "exception", "abort"],
)
def test_completion_does_not_excuse_what_failed_afterwards(tmp_path, last):
    dx = diagnosed(tmp_path, rows(130, 130) + "Training completed\n" + last)

    assert (dx.status, dx.ended.state) == ("degraded", "completed")


def test_a_hardware_event_that_no_rule_explains_forbids_health(tmp_path):
    (tmp_path / "dmesg.log").write_text(
        "[Sun Feb 22 16:30:13 2026] NVRM: Xid (PCI:0000:9b:00): 62, pid=1241, name=python, 0a3c 00001\n"
    )
    (tmp_path / "train.log").write_text(rows(130, 130) + "Training completed\n")

    assert analyzer.diagnose(tmp_path).status == "degraded"


def test_the_last_checkpoint_is_named(tmp_path):
    text = rows(130).replace("step 101/", "Saving model checkpoint to out/checkpoint-100\nstep 101/")
    dx = diagnosed(tmp_path, text)

    assert dx.ended.resume_from == "out/checkpoint-100"
    assert json.loads(analyzer.report(dx, "json"))["ended"]["resume_from"] == "out/checkpoint-100"
    assert "out/checkpoint-100" in analyzer.report(dx, "terminal")


def test_training_that_goes_on_within_one_redrawn_line_survived_what_came_before(tmp_path):
    bars = "".join(
        f"\rTraining:   1%|          | {i}/500 [00:{i:02d}<54:11,  1.53it/s, loss={5 - i / 20:.4f}, step={i}]"
        for i in range(1, 40)
    )
    log = tmp_path / "train.log"
    log.write_text(f"bash: prepare.sh: command not found\n{bars}\n")
    found = analyzer.diagnose(log)

    assert found.status != "failed"
    assert found.coverage.last_step == 39


def test_a_bar_that_stands_still_while_rows_go_on_plans_nothing(tmp_path):
    bar = "\r 10%|#         | 1/10 [00:01<00:09,  1.00s/it]\r"
    text = "".join(f"{bar}step {step} loss {falling(step):.4f}\n" for step in range(1, 200))
    (tmp_path / "train.log").write_text(text, encoding="utf-8")

    assert "1 of 10" not in analyzer.diagnose(tmp_path).ended.because


def test_a_line_that_only_reads_like_an_error_is_quoted(tmp_path):
    text = "job 09, attempt 2\nset-up failure: training directory absent from the wrapper's path\ntraining_started=no\n"
    dx = diagnosed(tmp_path, text)

    assert dx.status == "insufficient"
    assert dx.first_failure is not None
    assert dx.first_failure.place.line == 2
    assert "set-up failure: training directory absent" in dx.findings[0].evidence[0].refs[0].text
    assert diagnosed(tmp_path, rows(300), name="sound.log").first_failure is None


def test_what_ended_a_run_goes_before_a_likely_waste_of_the_same_weight(tmp_path):
    settings = "pipeline_model_parallel_size: 4\ngradient_accumulation_steps: 4\n"
    (tmp_path / "config.yaml").write_text(settings)
    diagnosed(tmp_path, rows(200))
    whole = analyzer.diagnose(tmp_path)
    cancelled = "slurmstepd: error: *** JOB 4711 ON node01 CANCELLED AT 2026-03-04T10:00:00 ***\n"
    diagnosed(tmp_path, rows(200) + cancelled)
    ended = analyzer.diagnose(tmp_path)

    assert whole.findings[0].cause.id == "pipeline-bubble-small-batch"
    assert ended.findings[0].cause.id == "user-cancelled"
    assert "pipeline-bubble-small-batch" in {finding.cause.id for finding in ended.findings}


@pytest.mark.parametrize("head", ["Traceback (most recent call last):\n", ""])
def test_a_log_that_ends_inside_a_traceback_is_of_a_crash(tmp_path, head):
    frames = TRACEBACK.partition("\n")[2].partition("{raised}")[0]
    (tmp_path / "train.log").write_text(rows(40) + head + frames)

    answer = analyzer.diagnose(tmp_path)

    assert answer.status == "failed"
    assert answer.ended is not None
    assert answer.ended.state == "crashed"


def test_a_bad_curve_does_not_explain_why_the_host_refused_memory(tmp_path):
    rows_of_a_detector = "".join(
        f"Step: {31 * i}. Epoch: {i}/500. Iteration: 31/31. Cls loss: {90_000 / (i + 1):.3f}. Total loss: {90_001 / (i + 1):.3f}\n"
        for i in range(4)
    )
    refused = TRACEBACK.format(raised="OSError: [Errno 12] Cannot allocate memory")
    (tmp_path / "train.log").write_text(rows_of_a_detector + refused)

    found = analyzer.diagnose(tmp_path).findings

    assert found[0].cause.id == "host-oom-kill"
    assert any(finding.cause.id == "bad-pretrained-or-init" for finding in found)


def test_a_signal_to_the_launcher_is_an_end_from_outside_and_no_failure(tmp_path):
    told = "W0101 10:00:00.000000 7 torch/distributed/elastic/agent/server/api.py:739] Received 15 death signal, shutting down workers\n"
    raised = TRACEBACK.format(raised="torch.distributed.elastic.multiprocessing.api.SignalException: Process 7 got signal: 15")  # fmt: skip
    dx = diagnosed(tmp_path, rows(130) + told + raised)

    assert (dx.status, dx.ended.state) == ("interrupted", "interrupted")
    assert "the launcher got SIGTERM" in dx.ended.because


def test_a_run_that_gave_up_before_its_target_ended_by_itself(tmp_path):
    line = ':::MLLOG {{"namespace": "", "time_ms": {ms}, "event_type": "{kind}", "key": "{key}", "value": {value}, "metadata": {{"epoch_num": {epoch}{more}}}}}\n'
    text = "".join(
        line.format(ms=1000 * epoch, kind="POINT_IN_TIME", key="eval_accuracy", value=0.7 + epoch / 1000, epoch=epoch, more="")
        for epoch in range(1, 9)
    )  # fmt: skip
    end = line.format(
        ms=9000, kind="INTERVAL_END", key="run_stop", value="null", epoch=8, more=', "status": "aborted"'
    )
    dx = diagnosed(tmp_path, text + end)

    assert (dx.status, dx.ended.state) == ("failed", "completed")
    assert dx.ended.because == "it stopped without reaching its target"


def test_the_exception_is_quoted_and_not_the_code_that_it_left(tmp_path):
    crash = TRACEBACK.format(raised="ValueError: shard 17 holds no samples")
    dx = diagnosed(tmp_path, rows(40) + crash + "srun: error: node1: task 0: Exited with exit code 1\n")
    quoted = [line.refs[0].text for line in dx.findings[0].evidence if line.id == "ended-the-run"]

    assert quoted == ["ValueError: shard 17 holds no samples"]


def test_numbers_do_not_explain_a_crash_of_a_run_that_a_person_stopped(tmp_path):
    bad = "".join(f"step {step}/300 loss nan grad_norm nan\n" for step in range(41, 61))
    stopped = TRACEBACK.format(raised="KeyboardInterrupt")
    (tmp_path / "train.log").write_text(rows(40) + bad + stopped)

    dx = analyzer.diagnose(tmp_path)
    shown = analyzer.report(dx, "terminal")

    assert dx.status == "failed"
    assert dx.ended.state == "interrupted"
    assert "also explains the crash" not in shown


def test_a_benchmark_that_reached_its_target_is_not_told_to_have_learned_nothing(tmp_path):
    line = ':::MLLOG {{"namespace": "", "time_ms": {ms}, "event_type": "{kind}", "key": "{key}", "value": {value}, "metadata": {{"epoch_num": {epoch}{more}}}}}\n'
    text = "".join(
        line.format(ms=1000 * at, kind="POINT_IN_TIME", key="eval_accuracy", value=0.896 + 0.003 * (at % 3), epoch=at, more="")
        for at in range(1, 12)
    )  # fmt: skip
    end = line.format(
        ms=13000, kind="INTERVAL_END", key="run_stop", value="null", epoch=12, more=', "status": "success"'
    )
    dx = diagnosed(tmp_path, text + end)

    assert dx.ended.state == "completed"
    assert "got better" not in dx.summary
    assert not dx.findings


def test_a_record_that_cannot_be_decoded_ends_a_run_whatever_its_loss_and_its_loader(tmp_path):
    log = "".join(
        f"2026-03-04 10:00:0{i} - INFO - Epoch [1][{i}/5815] lr: 2.5e-02, time: 0.31, data_time: 0.20, loss: {loss:.4f}\n"
        for i, loss in enumerate((6.5, 32.2, 27.2, 51.4, 89.2, 160.0, 270.0, 439.2), start=1)
    )
    log += (
        "Traceback (most recent call last):\n"
        '  File "train.py", line 178, in <module>\n'
        "    main()\n"
        "cv2.error: Caught error in DataLoader worker process 0.\n"
        "Original Traceback (most recent call last):\n"
        '  File "/opt/venv/lib/python3.11/site-packages/torch/utils/data/_utils/worker.py", line 287, in _worker_loop\n'
        "    data = fetcher.fetch(index)\n"
        "cv2.error: OpenCV(4.5.3) loadsave.cpp:721: error: (-215:Assertion failed) !buf.empty() in function 'imdecode_'\n"
    )
    answer = diagnosed(tmp_path, log)

    assert answer.status == "failed"
    assert answer.findings[0].cause.id == "undecodable-record"


def flower(rounds):
    head = "INFO :      Starting Flower server, config: num_rounds=40, no round_timeout\n"
    fit = "INFO :      aggregate_fit: received 3 results and 0 failures\n"
    return head + "".join(
        f"INFO :      [ROUND {at}]\n{fit}"
        + "".join(f"INFO :      -> loss: {2 / at + 0.01 * each:.4f}\n" for each in range(30))
        for at in range(1, rounds + 1)
    )


@pytest.mark.parametrize(("rounds", "is_short"), [(20, True), (40, False)])
def test_rounds_of_federated_training_are_counted_against_the_plan_in_the_first_lines(
    tmp_path, rounds, is_short
):
    dx = diagnosed(tmp_path, flower(rounds), age_s=90_000)

    assert (dx.ended.reached, dx.ended.planned) == (rounds, 40)
    assert (dx.status == "interrupted") is is_short


def test_a_log_that_ends_within_a_bar_of_one_part_was_cut_off_though_that_of_another_is_full(tmp_path):
    def bar(count, until):
        return "".join(
            f"\r{step * 100 // count:3d}%|##   | {step}/{count} [00:01<00:02,  5.10it/s]"
            for step in range(until + 1)
        )

    text = "".join(
        f"=== round number {epoch} begins ===\n{bar(60, 60)}\n{bar(900, 900)}\n"
        f"round {epoch} | fit_loss: {0.3 + 2 * 0.7**epoch:.5f} | acc: {0.9 - 0.6 * 0.7**epoch:.5f}\n"
        for epoch in range(12)
    )

    dx = diagnosed(tmp_path, f"{text}=== round number 12 begins ===\n{bar(60, 14)}")

    assert dx.ended.state == "interrupted"


def within_epochs(last_batch, *, end=""):
    """Rows that name no number of epochs, up to a batch of the third."""
    return (
        "".join(
            f"2026-03-04 {8 + epoch:02d}:{batch // 50:02d}:00 round [{epoch}][{batch}/600] loss {2.4 / (epoch + 1 + batch / 600):.4f}\n"
            for epoch in range(3)
            for batch in range(50, 601, 50)
            if epoch < 2 or batch <= last_batch
        )
        + end
    )


def test_a_run_that_stops_within_a_count_is_not_called_healthy(tmp_path):
    stopped, whole, told = (
        diagnosed(tmp_path, text)
        for text in (within_epochs(300), within_epochs(600), within_epochs(300, end="Training finished.\n"))
    )

    assert (stopped.status, whole.status, told.status) == ("interrupted", "healthy", "healthy")
    assert stopped.findings[0].cause.id == "log-truncated"


def test_a_quoted_piece_without_rows_shows_where_it_stops(tmp_path):
    dx = diagnosed(
        tmp_path, "loading the tokenizer\nScoring:  0%|    | 0/10 clips\nScoring: 30%|##  | 3/10 clips"
    )

    assert dx.ended.state == "unknown"
    assert dx.findings[0].cause.id == "log-truncated"


def launched_again(rest):
    """A log whose second launch prints its settings and no row."""
    settings = "".join(f"setting {name}: {name}-value\n" for name in "abcdefghijklmnopqrstuvwxyz")
    first = "".join(f"iteration {at} loss {2.2 / (1 + at / 9):.4f}\n" for at in range(1, 40))
    return (
        "console of the trainer begins\n"
        + settings
        + first
        + "console of the trainer begins\n"
        + settings[:rest]
    )


def test_a_last_launch_without_a_row_is_not_healthy_by_the_rows_of_the_one_before(tmp_path):
    again, banner_at_end = (diagnosed(tmp_path, launched_again(rest)) for rest in (494, 38))

    assert (again.status, banner_at_end.status) == ("interrupted", "healthy")
    assert "last launch" in again.summary


@pytest.mark.parametrize(
    ("last", "is_open"),
    [
        ("[Info] Compiling the kernels for 64 columns...", True),
        ("main - INFO - Loading 12 shards …", True),
        ("Saving what was sampled...", False),
        ("Shutting down...", False),
        ("Compiled the kernels.", False),
    ],
)
def test_a_log_without_rows_that_stops_with_what_it_is_about_to_do(tmp_path, last, is_open):
    lines = "[Warning] no cache was found\n" + "".join(f"read part {at}\n" for at in range(40))
    dx = diagnosed(tmp_path, lines + last + "\n")

    assert ("says it is doing" in dx.ended.because) == is_open
