"""What is learned from the first rows of a log reads the rest of it in blocks, and nothing comes out differently."""

import numpy as np
import pytest
from log_reading import points, read_text

from analyzer.ingest.base import SourceWriter
from analyzer.ingest.builder import RunBuilder
from analyzer.ingest.text import log_reader
from analyzer.ingest.text.log_reader import LogReader
from analyzer.ingest.text.rows.learned import learned_blocks
from analyzer.ingest.text.rows.learned.fixed_width import floats
from analyzer.ingest.text.rows.learned.templates import TemplateRows
from analyzer.ingest.text.text_layer import read_blocks

LOGS = {
    "named by a form": "[rank0]:[titan] 2026-01-01 00:{minute:02d}:{second:02d},125 - root - INFO - step: {at:4d}  loss: {loss:8.4f}  grad_norm: {other:7.4f}  memory: 40.5GiB(50.00%)  tps: {big:,}  tflops: 12.50  mfu: 4.00%",
    "home-made": "iter {at} | loss {loss:.4f} | gnorm {other:.3f} | lr {other:.2e} | {other:.1f} ms/step",
    "with epochs whose length it says": "2026/01/01 00:{minute:02d}:{second:02d} - mmengine - INFO - Epoch(train)  [{epoch}][{batch:3d}/150]  lr: {other:.3e}  time: {third:.4f}  data_time: 0.0100  memory: 7973  loss: {loss:.4f}",
    "with epochs of which the first row tells less": "Epoch: [{at_epoch}][{at_batch}/150]\tTime {other:.3f} ({third:.3f})\tLoss {loss:.4f} ({third:.4f})",
    "with epochs of a length it does not say": "Epoch: {epoch} Step: {batch} loss: {loss:.4f}, acc: {other:.4f}",
    "JSON": '{{"step": {at}, "loss": {loss:.4f}, "lr": {other:.2e}}}',
    "without a step": "train loss:{loss:.5f}",
    "with a block of timers below each": " [2026-01-01 00:{minute:02d}:{second:02d}] iteration {at:8d}/     900 | elapsed time per iteration (ms): 1200.5 | lm loss: {loss:.6E} | grad norm: {other:.3f} |\n(min, max) time across ranks (ms):\n    forward-backward ...............................: ({other:.2f}, {third:.2f})\n    optimizer ......................................: ({third:.2f}, {loss:.2f})",
    "several launches": "it {batch}: loss={loss:.4f} time={other:.1f}ms",
}  # fmt: skip
ROWS = 900
"""Rows of a log; it is read in parts that are much smaller than usual."""


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    monkeypatch.setattr(log_reader, "FIRST_BYTES", 4_096)
    monkeypatch.setattr(log_reader, "PIECE_BYTES", 12_288)


def log_of(form, rows=ROWS):
    return [
        form.format(at=at, epoch=at // 150 + 1, batch=at % 150 + 1, at_epoch=at // 150, at_batch=at % 150, loss=8 - at / 400, other=1.5 + at % 7 / 8, third=0.5 + at % 11 / 8, big=1000 + at % 90, minute=at // 60, second=at % 60)
        for at in range(1, rows)
    ]  # fmt: skip


def read(text):
    """The points of a log by name, with lines and times, and how many of its lines were read in blocks."""
    builder = RunBuilder("run")
    builder.add_source("train.log", format_name="text-log", ingestor="text-log", size_bytes=0, sha256_head="")
    reader = LogReader(SourceWriter(builder, 0))
    reader.read(read_blocks([text.encode()], lambda _: None))
    run = builder.finish()
    series = {name: run.metrics.series(name) for name in run.metrics.names}
    found = {
        name: [
            np.nan_to_num(column, nan=-1.0).tolist() for column in (one.step, one.value, one.line, one.time_s)
        ]
        for name, one in series.items()
    }
    return found, [(event.kind, dict(event.fields)) for event in run.events], reader.rows_in_blocks


@pytest.fixture
def one_by_one(monkeypatch):
    """The same reading without anything learned."""

    def read_slowly(text):
        with monkeypatch.context() as patch:
            patch.setattr(learned_blocks.LearnedBlocks, "watch", lambda *_: None)
            return read(text)

    return read_slowly


@pytest.mark.parametrize("log", LOGS)
def test_blocks_give_what_single_rows_give(log, one_by_one):
    text = "\n".join(log_of(LOGS[log])) + "\n"
    points_of, events, in_blocks = read(text)

    assert (points_of, events) == one_by_one(text)[:2]
    assert in_blocks > ROWS / 3 or log == "several launches"


def test_rows_that_are_not_quite_alike_are_read_one_by_one(one_by_one):
    lines = log_of(LOGS["home-made"])
    lines[700] = lines[700].replace("loss ", "loss nan #")
    lines[701] = "iter 702 | loss nan | gnorm inf | lr 1.50e+00 | 1.5 ms/step"
    lines[750] = "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB"
    lines[800:800] = [
        "Traceback (most recent call last):",
        '  File "train.py", line 3, in <module>',
        "ValueError: bad",
        "",
    ]
    lines[850] = lines[850].replace("ms/step", "s/step")
    text = "\n".join(lines) + "\n"

    assert read(text)[:2] == one_by_one(text)[:2]


@pytest.mark.parametrize("places", [{70, 71}, {at for at in range(ROWS) if at % 5 == 0}])
def test_rows_that_tell_less_within_an_epoch_are_no_beginnings(places, one_by_one):
    """What is left out of them depends on their values, which an expression does not look at."""
    rows = [
        f"Epoch: [{at // 150}][{at % 150}/150]\tTime {'nan' if at in places else '0.5'}ms\tLoss {8 - at / 400:.4f}"
        for at in range(1, ROWS)
    ]
    text = "\n".join(rows) + "\n"
    assert read(text)[0] == one_by_one(text)[0]


@pytest.mark.parametrize("written", ["1.2.3", "1-2", "1,2", "1,234.5", "1e", "12e-3"])
def test_what_only_has_the_characters_of_a_number_is_none(written, one_by_one):
    lines = log_of(LOGS["home-made"])
    lines[700] = lines[700].replace("gnorm 1.", f"gnorm {written} ")
    lines[710] = lines[710].rpartition("| ")[0] + f"| {written} ms/step"
    text = "\n".join(lines) + "\n"

    assert read(text)[:2] == one_by_one(text)[:2]


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_results_below_a_row_of_a_block_get_its_step(line_end, one_by_one):
    lines = log_of("INFO: eta: 1:36:22  iter: {at}  time: {third:.4f}  loss: {loss:.4f}  lr: {other:.3e}")
    for at in (800, 600, 400):
        lines.insert(at, f"INFO: bbox mAP: 0.{at}, segm mAP: 0.{at + 1}")
    text = line_end.join(lines) + line_end

    assert read(text)[:2] == one_by_one(text)[:2]
    assert [step for step, _ in points(read_text(text), "bbox_map")] == [400, 600, 800]


def test_a_number_that_might_be_two_metrics_is_not_learned():
    line = "step {at} a_loss: {other:.3f} b_loss: {other:.3f}"
    lines = log_of(line, 500)
    text = "\n".join(lines) + "\nstep 500 a_loss: 1.0 b_loss: 2.0\n"

    assert points(read_text(text), "b_loss")[-1] == (500, 2.0)


def test_ranks_are_kept_apart(one_by_one):
    lines = [f"[rank{at % 2}]: step {at // 2} loss: {2 + at % 2}.5" for at in range(ROWS)]
    text = "\n".join(lines) + "\n"

    assert read(text)[:2] == one_by_one(text)[:2]


@pytest.mark.parametrize("restart", [
    "==== attempt {number} on host-{number} ====\nloading checkpoint step_{at} ...",
    "Epoch {number}",
    "",
])  # fmt: skip
def test_launches_in_every_block_do_not_keep_rows_from_being_read_in_blocks(restart, one_by_one):
    lines, at = [], 0
    for number in range(4 * ROWS):
        if number % 97 == 96:
            lines += [restart.format(number=number, at=at)] * bool(restart)
            at = 1 if number % 2 else max(at - 40, 1)
        at += 1
        lines.append(f"iter {at} | loss {8 - number / 900:.4f} | gnorm {1 + number % 7 / 8:.3f}")
    text = "\n".join(lines) + "\n"
    points_of, events, in_blocks = read(text)

    assert (points_of, events) == one_by_one(text)[:2]
    assert in_blocks > 2 * ROWS or "Epoch" in restart


def test_forms_in_turns_are_read_in_blocks_though_another_is_further_on(one_by_one):
    forms = (LOGS["with epochs whose length it says"], LOGS["home-made"], LOGS["named by a form"])
    rows = [log_of(form, 4 * ROWS) for form in forms]
    lines = [line for at in range(0, 4 * ROWS, 50) for one in rows for line in one[at : at + 50]]
    text = "\n".join(lines) + "\n"
    points_of, events, in_blocks = read(text)

    assert (points_of, events) == one_by_one(text)[:2]
    assert in_blocks > 0.7 * len(lines)


@pytest.mark.parametrize(
    "past_its_end", ["", "10/01/2026 10:22:33 - INFO - data - shard 7 samples={at} tokens=9{at}\n"]
)
def test_a_row_below_a_plain_bar_stands_where_its_last_redraw_does(monkeypatch, past_its_end):
    asked = []
    feed = TemplateRows.feed
    monkeypatch.setattr(TemplateRows, "feed", lambda self, *seen: asked.append(seen) or feed(self, *seen))
    text = ""
    for part in range(1, 5):
        for at in range(100 * part - 99, 100 * part + 1):
            text += (
                f"\r{at // 4:3d}%|{'#' * (at // 40):10}| {at}/400 [00:{at % 60:02d}<10:00,  1.0{at % 10}it/s]"
            )
            text += past_its_end.format(at=at) * (at % 2)
        text += f"\n  loss: {6 - part}.5  accuracy: 0.{part}\n"

    assert points(read_text(text), "loss") == [(100, 5.5), (200, 4.5), (300, 3.5), (400, 2.5)]
    assert len(asked) < 400 / 10


@pytest.mark.parametrize("form", ["{:.4f}", "{:.1f}", "{:.9f}", "{:.3e}", "{:.12e}", "{:06.0f}"])
def test_a_column_printed_in_one_width_is_read_as_float_reads_it(form):
    column = [form.format((7919 * n % 9973 + 1) / 1e4).encode() for n in range(500)]

    assert floats(column).tolist() == [float(number) for number in column]


def test_a_block_that_goes_on_is_read_to_its_end(one_by_one):
    form = LOGS["with a block of timers below each"]
    more = "\n    batch-generator ................................: ({other:.2f}, {big}.50)"
    rows = [
        row
        for first, longer in zip(log_of(form), log_of(form + more), strict=True)
        for row in (first, longer)
    ]
    text = "\n".join([*rows[:600], "Saving a checkpoint", *rows[600:]])

    found, _, in_blocks = read(text)

    assert found == one_by_one(text)[0]
    assert len(found["data_time_s"][1]) == len(log_of(form))
    assert in_blocks > ROWS / 3
