"""Several launches in one log: the last one is the run, the earlier ones are told in a line each."""

import pytest

import analyzer
from analyzer.detect.base import RunView
from analyzer.ingest.discover import load_run

BANNER = "==== the job begins on its node ====\nNamespace(lr=0.0001, steps=300)\n"
DONE = "Training completed\n"
CRASH = """Traceback (most recent call last):
  File "train.py", line 41, in <module>
    main()
  File "train.py", line 30, in main
    step(batch)
RuntimeError: shape mismatch in block 4
"""


def rows(last, *, first=1, planned=300, nan_from=10**9, rate=None):
    lines = []
    for step in range(first, last + 1):
        loss = "nan" if step >= nan_from else f"{0.4 + 3.6 * (1 - step / planned) ** 2:.4f}"
        lines.append(f"step {step}/{planned} loss {loss} lr {rate or 1e-4 * (1 - step / planned):.3e}\n")
    return "".join(lines)


def diagnosed(tmp_path, text):
    (tmp_path / "train.log").write_text(text, encoding="utf-8")
    return analyzer.diagnose(tmp_path / "train.log")


@pytest.mark.parametrize(
    ("text", "status", "ended", "points"),
    [
        (BANNER + rows(100) + CRASH + BANNER + rows(300) + DONE, "healthy", "completed", 300),
        (BANNER + rows(200, nan_from=80) + BANNER + rows(300) + DONE, "healthy", "completed", 300),
        (rows(200, nan_from=80) + rows(300) + DONE, "healthy", "completed", 300),
        (BANNER + rows(300) + DONE + BANNER + rows(100) + CRASH, "failed", "crashed", 100),
        (BANNER + rows(300) + DONE + BANNER + CRASH, "failed", "crashed", 0),
        (BANNER + rows(300) + DONE + BANNER + rows(130), "interrupted", "interrupted", 130),
        (BANNER + rows(300) + DONE + BANNER + rows(200, nan_from=80), "failed", "interrupted", 200),
    ],
    ids=["crash-then-done", "nan-then-done", "rate-begins-again", "done-then-crash", "crash-at-start", "cut", "nan"],
)  # fmt: skip
def test_the_last_launch_decides_status_end_and_curves(tmp_path, text, status, ended, points):
    dx = diagnosed(tmp_path, text)

    assert (dx.status, dx.ended.state) == (status, ended)
    assert dx.coverage.metrics.get("loss", 0) == points
    assert len(dx.earlier) == 1


def test_a_launch_that_failed_before_its_first_row_is_an_earlier_one(tmp_path):
    dx = diagnosed(tmp_path, BANNER + CRASH + BANNER + rows(300) + DONE)

    assert (dx.status, len(dx.earlier)) == ("healthy", 1)


def test_a_launch_behind_one_that_was_stopped_is_judged_though_no_row_counts_steps(tmp_path):
    table = " Epoch |  Train Loss |    Val Loss\n" + "".join(
        f"   {at:3} |  {2 / at:.4f} |  {2.2 / at:.4f} |  151.8s | ETA 9.0m *\n" for at in range(1, 9)
    )
    stopped = (
        'Traceback (most recent call last):\n  File "train.py", line 9, in <module>\nKeyboardInterrupt\n'
    )
    dx = diagnosed(tmp_path, BANNER + table + stopped + BANNER + table + CRASH)

    assert (dx.status, dx.ended.state, len(dx.earlier)) == ("failed", "crashed", 1)
    assert dx.coverage.metrics["loss"] == 8


def test_earlier_launches_are_told_in_a_line_each(tmp_path):
    dx = diagnosed(
        tmp_path, BANNER + rows(100) + CRASH + BANNER + rows(80, nan_from=60) + BANNER + rows(300) + DONE
    )

    assert dx.earlier == (
        "launch 1 (train.log, lines 1 to 108): reached step 100, failed (RuntimeError)",
        "launch 2 (train.log, lines 109 to 190): reached step 80, no word about its end",
    )
    assert "the last of 3 launches in this log" in analyzer.report(dx, "terminal")


@pytest.mark.parametrize(
    "text",
    [
        BANNER + rows(150) + CRASH + BANNER + "Resuming from checkpoint out/checkpoint-100\n" + rows(300, first=101) + DONE,
        BANNER + rows(150).replace("step 101/", "Saving model checkpoint to out/checkpoint-100\nstep 101/") + CRASH + BANNER + rows(300),
        "".join(f"Epoch {e} starts, a line that comes again\n" + rows(100, planned=100, rate=1e-4) for e in range(4)),
        "".join(f"epoch {e} step {s} loss {4 / (e + s / 50):.4f} lr 1e-4\n" for e in range(1, 6) for s in range(1, 51)),
    ],
    ids=["resumed", "should-have-resumed", "epochs-with-a-heading", "epochs"],
)  # fmt: skip
def test_what_goes_on_is_one_run(tmp_path, text):
    (tmp_path / "train.log").write_text(text, encoding="utf-8")
    loaded = load_run(tmp_path)

    assert loaded.earlier == ()


def stamped(steps, minute, checkpoint="Saving model checkpoint to out/checkpoint-20\n"):
    lines = [
        f"2026-11-22 10:{minute}:{step:02d} INFO step {step} loss {3 / (step + 1):.4f}\n" for step in steps
    ]
    return "".join([*lines[:20], checkpoint, *lines[20:]])


def test_a_log_that_was_appended_to_itself_holds_one_launch_twice(tmp_path):
    """A checkpoint was saved, so rows that begin again would be a restart that found none."""
    once = stamped(range(1, 50), 10)
    dx = diagnosed(tmp_path, once + once)

    assert len(dx.earlier) == 1
    assert dx.coverage.metrics["loss"] == 49
    assert not [found for found in dx.findings if found.cause.id == "resume-not-configured"]


def test_the_same_rows_at_another_time_are_another_launch(tmp_path):
    dx = diagnosed(tmp_path, stamped(range(1, 50), 10) + stamped(range(1, 50), 20))

    assert dx.earlier == ()  # it should have gone on from its checkpoint


def test_epochs_of_weights_that_never_change_are_no_copies(tmp_path):
    epochs = "".join(f"step {step} loss {2 + step / 7 % 1:.4f}\n" for step in range(30)) * 3
    dx = diagnosed(tmp_path, epochs)

    assert dx.earlier == ()
    assert dx.coverage.metrics["loss"] == 90


def test_of_launches_that_failed_without_a_row_the_last_one_counts(tmp_path):
    first = BANNER + CRASH.replace(
        "RuntimeError: shape mismatch in block 4", "ImportError: cannot import name 'a' from 'pkg.b'"
    )

    answer = diagnosed(tmp_path, first + first + BANNER + CRASH)

    assert len(answer.earlier) == 2
    assert answer.first_failure is not None
    assert not [finding for finding in answer.findings if finding.cause.id == "library-abi-mismatch"]


def test_a_launch_that_completed_behind_failed_ones_is_the_run_though_none_logged_a_row(tmp_path):
    completed = diagnosed(tmp_path, BANNER + CRASH + BANNER + CRASH + BANNER + DONE)
    printed_at_the_end = diagnosed(tmp_path, BANNER + CRASH + BANNER)

    assert completed.status not in {"failed", "degraded"}
    assert len(completed.earlier) == 2
    assert printed_at_the_end.status == "failed"


@pytest.mark.parametrize(("printed", "earlier"), [(30, 1), (9, 0)])
def test_a_launch_is_under_way_when_it_printed_nearly_as_much_as_the_one_that_failed(
    tmp_path, printed, earlier
):
    told = "".join(f"reading part {chr(97 + part)} of the set\n" for part in range(26))
    again = "".join(f"scoring shard {number} of the set\n" for number in range(printed - 2))

    assert len(diagnosed(tmp_path, BANNER + told + CRASH + BANNER + again).earlier) == earlier


LOADS = "module acme/7.2 is loaded\n" + "".join(f"reading part {name} of the set\n" for name in "abcdefgh")
FULL = CRASH.replace(
    "RuntimeError: shape mismatch in block 4", "torch.cuda.OutOfMemoryError: CUDA out of memory."
)
STOPPED = CRASH.replace("RuntimeError: shape mismatch in block 4", "KeyboardInterrupt")


@pytest.mark.parametrize(
    ("text", "earlier", "cause"),
    [
        (rows(100) + STOPPED + LOADS + STOPPED + LOADS + FULL, 2, "gpu-out-of-memory"),
        (rows(100) + STOPPED + LOADS + rows(200, first=101) + STOPPED + LOADS + FULL, 1, "gpu-out-of-memory"),
        (
            "==== the job begins ====\n" + (LOADS + "seed: 3\n" + FULL) * 2 + LOADS + "seed: 3\n" + STOPPED,
            2,
            "user-cancelled",
        ),
    ],
    ids=["stopped-then-full", "rows-go-on", "a-heading-comes-again"],
)
def test_what_stands_below_each_program_that_ended_parts_the_launches_of_a_log_without_its_head(
    tmp_path, text, earlier, cause
):
    answer = diagnosed(tmp_path, text.partition("\n")[2])

    assert len(answer.earlier) == earlier
    assert answer.findings[0].cause.id == cause


EXPORTS = "".join(f"writing the graph, part {name}\n" for name in "abcdef")
LEAPS = "".join(
    f"step {10 * n} loss {2.3 - 0.04 * n if n < 16 else 30 * 1.25 ** (n - 15):.4f}\n" for n in range(1, 31)
)


@pytest.mark.parametrize("below", ["leaving this format out\n", "skipping this format\n"])
def test_a_script_that_prints_what_it_caught_and_goes_on_is_one_launch(tmp_path, below):
    caught = EXPORTS + CRASH.replace("RuntimeError", "ValueError") + below
    dx = diagnosed(tmp_path, "python fit.py\n" + LEAPS + caught * 4 + "bye\n")

    assert dx.earlier == ()
    assert dx.coverage.metrics["loss"] == 30
    assert "loss-divergence" in {found.cause.id for found in dx.findings[:2]}


def test_hundreds_of_launches_are_no_launches(tmp_path):
    (tmp_path / "train.log").write_text((STOPPED + LOADS) * 250, encoding="utf-8")

    assert load_run(tmp_path).earlier == ()


@pytest.mark.parametrize(
    "text",
    [
        rows(100) + FULL + LOADS + STOPPED,
        rows(100) + FULL + LOADS + FULL + LOADS + STOPPED,
        rows(100) + "[rank1]: ".join(["", *(FULL + LOADS + FULL + LOADS + STOPPED).splitlines(keepends=True)]),
        rows(100) + FULL + LOADS + FULL + LOADS + FULL.replace("torch.cuda.OutOfMemoryError", "subprocess.CalledProcessError"),
        rows(100) + (FULL + "module acme/7.2 is loaded\n") * 3,
    ],
    ids=["once", "no-word-of-a-start", "ranks", "launcher", "nothing-between"],
)  # fmt: skip
def test_exceptions_of_several_processes_part_no_launches(tmp_path, text):
    assert diagnosed(tmp_path, text).earlier == ()


def test_arguments_refused_behind_a_training_that_completed_are_a_launch_of_their_own(tmp_path):
    usage = "usage: train.py [-h] --out OUT\n"
    refused = usage + "train.py: error: the following arguments are required: --out\n"

    answer = diagnosed(tmp_path, BANNER + rows(300) + DONE + refused + refused)

    assert answer.status == "failed"
    assert answer.findings[0].cause.id == "invalid-config-argument"
    assert len(answer.earlier) == 1
    assert diagnosed(tmp_path, BANNER + refused + BANNER + rows(300) + DONE).status == "healthy"


@pytest.mark.parametrize(
    "text",
    [
        BANNER * 4 + CRASH + CRASH,
        CRASH + "\nDuring handling of the above exception, another exception occurred:\n\n" + CRASH,
    ],
)
def test_ranks_that_begin_alike_and_chains_of_exceptions_are_one_launch(tmp_path, text):
    assert diagnosed(tmp_path, text).earlier == ()


def trainings(style, counts):
    """Several trainings one after another, each with its epochs from the first one on; no row names a step."""
    text = ""
    for number, count in enumerate(counts):
        text += f"setting {number} of the search\n"
        for epoch in range(1, count + 1):
            loss = 0.2 + 2.5 * 0.9**epoch
            text += style.format(epoch=epoch, loss=loss, held_out=loss + 0.05)
    return text


KERAS = "Epoch {epoch}/60\n - 10s - loss: {loss:.4f} - val_loss: {held_out:.4f}\n"
HOME = "Epoch: {epoch}, Training Loss: {loss:.4f}, Validation Loss: {held_out:.4f}\n"


@pytest.mark.parametrize("style", [KERAS, HOME], ids=["keras", "home-made"])
def test_epochs_that_begin_again_are_another_training(tmp_path, style):
    (tmp_path / "train.log").write_text(trainings(style, [60] * 10), encoding="utf-8")
    view = RunView(load_run(tmp_path).run)

    assert len(view.curve("loss")) == 60
    assert diagnosed(tmp_path, trainings(style, [60] * 10)).status == "healthy"


@pytest.mark.parametrize("style", [KERAS, HOME], ids=["keras", "home-made"])
def test_a_leap_within_the_epochs_of_one_training_is_still_told(tmp_path, style):
    rows = [
        style.format(epoch=epoch, loss=loss, held_out=loss + 0.05)
        for epoch, loss in enumerate(
            [0.2 + 2.5 * 0.9**n for n in range(40)] + [3.0 - 0.02 * n for n in range(40)], start=1
        )
    ]
    dx = diagnosed(tmp_path, "".join(rows))

    assert dx.status != "healthy"
    assert "loss-divergence" in {found.cause.id for found in dx.findings[:2]}


AT_WORK = "".join(f"reading shard {number} of the corpus\n" for number in range(30))


def test_a_launch_under_way_behind_one_that_failed_is_the_run(tmp_path):
    dx = diagnosed(tmp_path, "loading the corpus\n" + CRASH + "loading the corpus\n" + AT_WORK)

    assert (dx.status, len(dx.earlier)) == ("insufficient", 1)


def test_launches_are_known_by_the_arguments_that_differ(tmp_path):
    arguments = "INFO Namespace(data='lists/set_a.txt', batch_size=1)\n"
    later = "INFO Namespace(data='lists/another_set_of_files.txt', batch_size=16)\n"
    dx = diagnosed(tmp_path, arguments + CRASH + arguments + CRASH + later + AT_WORK[:200])

    assert (dx.status, len(dx.earlier)) == ("insufficient", 2)


@pytest.mark.parametrize(
    "text",
    [
        "loading the corpus\n" + CRASH + "loading the corpus\nbye\n",
        "loading the corpus\n" + AT_WORK + CRASH + "loading the corpus\n" + AT_WORK[:300],
        "loading the corpus\nloading the corpus\n" + CRASH + AT_WORK,
        "loading the corpus\n" + CRASH + "loading the corpus\n" + AT_WORK + CRASH,
        "=" * 40 + "\n" + CRASH + "=" * 40 + "\n" + AT_WORK,
    ],
    ids=["last-words", "shorter-than-what-failed", "two-ranks", "failed-again", "a-rule-of-signs"],
)
def test_a_first_line_that_comes_again_below_a_failure_may_begin_nothing(tmp_path, text):
    assert diagnosed(tmp_path, text).status == "failed"


def test_a_log_that_begins_with_the_exception_of_a_rank_is_one_launch_whatever_other_ranks_raise_below(
    tmp_path,
):
    own = "".join(f"[rank5]: {line}\n" for line in CRASH.splitlines())
    other = own.replace("[rank5]", "[rank0]").replace(
        "RuntimeError: shape mismatch in block 4",
        "RuntimeError: Rank 5 failed to pass monitoredBarrier in 30000 ms",
    )
    dx = diagnosed(tmp_path, own + other)

    assert dx.earlier == ()
    assert dx.first_failure is not None
    assert dx.first_failure.rank == 5


def test_a_launch_that_a_shell_or_a_tracker_announces_below_an_error_is_the_run(tmp_path):
    prompt = "(rl) PS D:\\work\\agents> python .\\train.py\n"
    tracked = "wandb: Syncing run calm-river-{}\n"
    for text in (
        prompt + rows(100) + CRASH + prompt + "connected\n" + rows(300) + DONE,
        "ana@node7:~/seg$ python train.py\n"
        + rows(40)
        + CRASH
        + "ana@node7:~/seg$ python train.py\n"
        + rows(300)
        + DONE,
        tracked.format(1) + "searching\n" + CRASH + "loading\n" + tracked.format(2) + rows(300) + DONE,
    ):
        dx = diagnosed(tmp_path, text)
        assert (dx.status, dx.ended.state, len(dx.earlier)) == ("healthy", "completed", 1), text[:40]


def test_a_run_that_is_announced_where_nothing_failed_or_several_write_is_no_launch_of_its_own(tmp_path):
    tracked = "wandb: Syncing run calm-river-{}\n"
    for text in (
        tracked.format(1) + rows(100) + tracked.format(2) + rows(300, first=101) + DONE,
        tracked.format(1)
        + rows(150)
        + CRASH
        + tracked.format(2)
        + "Resuming from checkpoint out/checkpoint-100\n"
        + rows(300, first=101)
        + DONE,
    ):
        assert diagnosed(tmp_path, text).earlier == (), text[:40]


def test_a_table_below_a_date_begins_each_launch(tmp_path):
    def table(day):
        return f"Sat Mar {day} 10:11:12 2026       \n+-----------+\n| NVIDIA-SMI 570.1   Driver Version: 570.1   CUDA Version: 12.8 |\n+-----------+\n"

    dx = diagnosed(tmp_path, table(14) + CRASH + table(15) + CRASH + table(16) + "autotuning\n" * 20)

    assert (dx.ended.state, len(dx.earlier)) != ("crashed", 0)
    assert len(dx.earlier) == 2


def test_a_program_that_stopped_is_followed_by_a_launch_whose_configuration_is_not_found(tmp_path):
    interrupt = CRASH.replace("RuntimeError: shape mismatch in block 4", "KeyboardInterrupt")
    missing = "Cannot find primary config 'walker_b.yaml'. Check that it's in your config search path.\n"
    dx = diagnosed(tmp_path, rows(100) + interrupt + "warnings of the next start\n" + missing)

    assert dx.findings[0].cause.id == "invalid-config-argument"
    assert len(dx.earlier) == 1


def test_launches_that_reach_the_same_step_are_parted_by_banners_below_which_nothing_was_logged(tmp_path):
    banner = "[02.03.26|10:00:{:02}] Parameters:\n{{'work_dir': 'out'}}\n\ntraining begins\n"
    first = "step 0/300 loss nan lr 1e-4\n"
    failed_at_once = "".join(banner.format(at) for at in range(3))
    dx = diagnosed(tmp_path, banner.format(9) + first + failed_at_once + first.replace("nan", "1.61"))

    assert len(dx.earlier) == 1
    assert not any(finding.cause.id == "nonfinite-forward" for finding in dx.findings)
