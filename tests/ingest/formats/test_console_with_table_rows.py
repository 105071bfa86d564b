"""A console whose rows are JSON objects or cells of a table: what ended the run stands between them or below."""

from __future__ import annotations

import pytest

from analyzer import diagnose


def loss(i: int) -> float:
    return 3.1 * 0.96**i + 0.03 * ((i * 7) % 5)


ROWS = {
    "json": ("", lambda i: f'{{"step": {i * 10}, "loss": {loss(i):.4f}, "lr": 0.0003}}\n'),
    "json-nested": ("", lambda i: f'{{"global_step": {i * 10}, "metrics": {{"loss": {loss(i):.4f}}}}}\n'),
    "csv": ("epoch,loss,acc\n", lambda i: f"{i},{loss(i):.4f},{0.1 + i * 0.02:.3f}\n"),
    "tsv": ("step\tloss\tlr\n", lambda i: f"{i * 10}\t{loss(i):.4f}\t0.0003\n"),
    "semicolons": ("epoch;loss;lr\n", lambda i: f"{i};{loss(i):.4f};0.001\n"),
}
ENDS = {
    'Traceback (most recent call last):\n  File "/home/u/train.py", line 9, in <module>\n    main()\n'
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n": "gpu-out-of-memory",
    "Segmentation fault (core dumped)\n": "native-crash",
    "Killed\n": "process-sigkilled",
    "[12.1] NVRM: Xid (PCI:0000:2a:00): 79, pid=77, name=python, GPU has fallen off the bus.\n": "gpu-fell-off-bus",
}
HARMLESS = (
    "UserWarning: step() before optimizer.step()\n",
    "Error: could not upload, retrying in 5 s\n",
    "failed to import the counters, profiling is off\n",
)


def log(rows: str, *, until: int = 40, since: int = 1) -> str:
    head, row = ROWS[rows]
    return head * (since == 1) + "".join(row(i) for i in range(since, until))


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("end", ENDS, ids=ENDS.get)
def test_what_ended_it_is_read_beside_the_rows(tmp_path, rows, end):
    path = tmp_path / "run.log"
    path.write_text(log(rows) + end, encoding="utf-8")
    answer = diagnose(path)
    assert answer.status == "failed"
    assert answer.findings[0].cause.id == ENDS[end]


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("line", HARMLESS)
def test_a_line_after_which_it_went_on_accuses_nobody(tmp_path, rows, line):
    path = tmp_path / "run.log"
    path.write_text(log(rows, until=15) + line + log(rows, since=15), encoding="utf-8")
    assert diagnose(path).status not in {"failed", "degraded"}


@pytest.mark.parametrize("rows", ROWS)
def test_the_rows_themselves_are_read_too(tmp_path, rows):
    path = tmp_path / "run.log"
    path.write_text(log(rows) + "Killed\n", encoding="utf-8")
    assert max(diagnose(path).coverage.metrics.values()) == 39


def test_a_console_that_is_named_as_a_table_is_read(tmp_path):
    rows = "".join(
        f"Epoch: [{at}/40], training loss: {2 / at:.4f}, training accuracy: {at}.0000%\n"
        for at in range(1, 41)
    )
    (tmp_path / "run.csv").write_text(rows)

    assert diagnose(tmp_path / "run.csv").coverage.metrics["loss"] == 40
