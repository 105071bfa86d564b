"""A log that stops while a counter was on its way is told from one whose counter reached where it ends."""

import pytest

from analyzer.ingest.discover import load_run
from analyzer.ingest.text.setup.open_counter import stops_within

FORMS = {
    "bar": lambda epoch, at: (
        f"{at:3d}%|{'#' * (at // 10):10s}| {at}/100 [00:{at // 2:02d}<00:50, 2.00it/s]\r"
    ),
    "titled bar": lambda epoch, at: f"Epoch {epoch}: {at:3d}%|##   | {at}/100 [00:09<00:20, loss=0.51]\r",
    "bar without its carriage returns": lambda epoch, at: f"Checking: {at:3d}%|##  | {at}/100 samples",
    "brackets": lambda epoch, at: f"INFO - Epoch [{epoch}][{at}/100] lr: 1e-3, loss: {0.9 - at / 500:.4f}\n",
    "share": lambda epoch, at: f"Train Epoch: {epoch} [{at * 64}/6400 ({at}%)] Loss: 0.51\n",
    "words": lambda epoch, at: f"  Batch {at} of 100 | objective 0.51\n",
    "keras": lambda epoch, at: f"{at:3d}/100 [====>.....] - ETA: 3s - loss: 0.51\r",
}
"""How programs print where they are within an epoch of 100, in our own words."""


def printed(form, *stops):
    """Epochs that each go up to a stop."""
    return "".join(
        FORMS[form](epoch, at) for epoch, stop in enumerate(stops, 1) for at in range(0, stop + 1, 10)
    )


@pytest.mark.parametrize("form", FORMS)
def test_a_counter_that_had_further_to_go_was_cut_off(form):
    assert stops_within(printed(form, 100, 100, 40))
    assert stops_within(printed(form, 60))
    assert stops_within(
        printed(form, 100, 40) + "\n/lib/pool.py:9: UserWarning: 1 leaked semaphore\n  warnings.warn("
    )


@pytest.mark.parametrize("form", FORMS)
def test_a_counter_that_ends_where_it_did_before_is_whole(form):
    assert not stops_within(printed(form, 100, 100, 100))
    assert not stops_within(printed(form, 100, 90))
    assert not stops_within(printed(form, 70, 70, 70))  # the loop stops short of its bar each time


@pytest.mark.parametrize("form", FORMS)
def test_what_is_said_behind_a_counter_ends_it(form):
    assert not stops_within(printed(form, 100, 40) + "\nsaved the model to out/last.ckpt\n")


@pytest.mark.parametrize(
    "last", ["accuracy 8120/10000", "fold [3/10] mean 0.81", "kept 12/40 heads [ok]", ""]
)
def test_two_numbers_with_a_slash_are_no_counter(last):
    assert not stops_within("loaded\nepoch 1 loss 0.5\n" + last)


def test_logs_that_stop_within_a_count(tmp_path):
    clocked = "".join(
        f"2026-03-0{1 + at // 50} 10:{at % 50:02d}:00 stage [{1 + at // 30}][{at % 30 * 10}/300] loss {2 / (1 + at / 20):.3f}\n"
        for at in range(80)
    )
    (tmp_path / "train.log").write_text(clocked, encoding="utf-8")

    assert load_run(tmp_path).run.log_ends[0].cut_off


PREPARED = "".join(f"Progress: {part} / 600 [{part // 6}%]\n" for part in range(100, 601, 100))
TRACKED = "".join(
    f"Progress: {at} / 9000 [{at // 90}%], Speed: 0.250 s/iter, ETA 0:12:40\n" for at in range(100, 801, 100)
)


@pytest.mark.parametrize(
    ("text", "counted"),
    [
        (TRACKED, (800, 9000)),
        (PREPARED + "step 10 loss 2.1\nstep 20 loss 1.8\n", (None, None)),
        (PREPARED.replace("]", "] files read"), (None, None)),
        (TRACKED + "step 40/50 loss 1.1\n", (40, 50)),
        (TRACKED + "Epoch 2/5 loss 1.1\n", (None, None)),
        (
            "        70 iter, 3 epoch / 9000 iterations\n  0.5 iters/sec. Estimated time to finish: 1 day\n",
            (70, 9000),
        ),
        ("        70 iter, 3 epoch / 90 epochs\n", (None, None)),
    ],
    ids=[
        "all-steps",
        "files",
        "files-in-words",
        "steps-are-named",
        "epochs-are-named",
        "chainers",
        "chainers-epochs",
    ],
)
def test_only_a_progress_with_the_time_of_a_step_is_that_of_the_run(tmp_path, text, counted):
    (tmp_path / "train.log").write_text("loading\n" + text, encoding="utf-8")
    (end,) = load_run(tmp_path).run.log_ends

    assert (end.step, end.steps) == counted
