"""The bounds hold: time per byte, memory of JSON, names, files; and what they leave is told."""

import gzip
import itertools
import json
import os
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hostile_inputs import ROWS

from analyzer import api
from analyzer.detect.curves.trend import running_medians
from analyzer.errors import InputError
from analyzer.ingest import base, limits
from analyzer.ingest.base import OpenSource
from analyzer.ingest.discover import load_run
from analyzer.ingest.encodings import bounded_json
from analyzer.ingest.text.log_reader import _table
from analyzer.ingest.text.scan import LiteralScanner
from analyzer.ingest.walk import MAX_FILES, discover, make_candidate


def reasons(run):
    return " | ".join(gap.reason for gap in run.gaps)


def test_a_budget_that_is_spent_ends_the_reading_is_told_and_forbids_healthy(tmp_path, monkeypatch):
    (tmp_path / "train.log").write_text(ROWS * 20, encoding="utf-8")
    (tmp_path / "rank_1.log").write_text(ROWS * 30, encoding="utf-8")
    looks = itertools.count()

    def process_time():  # the time of reading is spent once the first file is open
        return time.process_time() + (43 if next(looks) > 5 else 0)

    monkeypatch.setattr(limits, "time", SimpleNamespace(process_time=process_time))
    diagnosis = api.diagnose(tmp_path)

    assert "s of CPU that reading a run of this size may take are spent" in " ".join(
        gap.reason for gap in diagnosis.gaps
    )
    assert diagnosis.status != "healthy"


def test_a_budget_grows_with_the_bytes_on_disk_and_not_with_what_they_inflate_to():
    budget = limits.Budget(60.0)
    budget.open_file(400 * limits.BYTES_PER_CPU_S, compressed=False)
    assert budget.total_s == 460
    budget = limits.Budget(60.0)
    budget.open_file(100_000, compressed=True)
    assert budget.total_s < 61


def test_a_log_that_grows_faster_than_it_is_read_ends(tmp_path):
    path = tmp_path / "train.log"
    path.write_text(ROWS * 400, encoding="utf-8")
    size, read = path.stat().st_size, 0
    for block in OpenSource(make_candidate(path, "train.log"), 0).chunks(10_000):
        read += len(block)
        with path.open("a", encoding="utf-8") as stream:
            stream.write(ROWS * 20)
    assert read == size


def test_a_log_that_is_cut_while_it_is_read_is_told_and_forbids_healthy(tmp_path, monkeypatch):
    path = tmp_path / "train.log"
    path.write_text("".join(f"step {n} loss {2 + 3 * 0.99**n:.4f}\n" for n in range(400)), encoding="utf-8")
    assert api.diagnose(tmp_path).status == "healthy"
    real = base._read_block

    def read(stream, size_bytes):
        os.truncate(path, path.stat().st_size * 9 // 10)
        return real(stream, size_bytes)

    monkeypatch.setattr(base, "_read_block", read)
    diagnosis = api.diagnose(tmp_path)

    assert "it became shorter while it was read" in " ".join(gap.reason for gap in diagnosis.gaps)
    assert diagnosis.status != "healthy"


def test_the_end_of_a_log_beyond_the_bound_is_told_and_forbids_healthy(tmp_path, monkeypatch):
    rows = "".join(f"step {n} loss {2 + 3 * 0.99**n:.4f}\n" for n in range(400))
    (tmp_path / "train.log").write_text(rows, encoding="utf-8")
    monkeypatch.setattr(base, "MAX_EXPANDED_BYTES", len(rows) - 100)
    diagnosis = api.diagnose(tmp_path)

    assert "bytes after decompression" in " ".join(gap.reason for gap in diagnosis.gaps)
    assert diagnosis.status != "healthy"


def test_json_is_built_only_if_it_fits(tmp_path):
    assert bounded_json.loads(b'{"a": [1, 2]}') == {"a": [1, 2]}
    for text in (b"[" + b"[]," * 6_000_000 + b"[]]", "[" + "{}," * 2_000_000 + "{}]"):
        with pytest.raises(bounded_json.JsonTooLargeError, match="MB of memory"):
            bounded_json.loads(text)


def test_the_estimate_of_memory_is_near_the_truth():
    import tracemalloc

    for value in ([[]] * 100_000, [{"a": 1}] * 50_000, {f"k{i}": i for i in range(50_000)}):
        text = json.dumps(value)
        tracemalloc.start()
        kept = json.loads(text)
        taken = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        assert kept == value
        assert 0.5 * taken < bounded_json.memory_of(text) < 3 * taken


def test_files_are_chosen_by_promise_where_there_are_too_many(tmp_path, monkeypatch):
    for number in range(40):
        (tmp_path / f"a{number:03d}.dat").write_text("x", encoding="utf-8")
    (tmp_path / "z.log").write_text(ROWS, encoding="utf-8")
    monkeypatch.setattr("analyzer.ingest.walk.MAX_FILES", 10)
    discovery = discover(tmp_path)

    assert discovery.truncated_walk
    assert discovery.found[-1].candidate.name == "z.log"
    assert len(discovery.found) == 10
    assert MAX_FILES > 1_000


def test_another_file_system_is_not_entered_and_told(tmp_path, monkeypatch):
    (tmp_path / "train.log").write_text(ROWS, encoding="utf-8")
    (tmp_path / "mounted").mkdir()
    (tmp_path / "mounted" / "rank_1.log").write_text(ROWS * 2, encoding="utf-8")
    real = Path.lstat

    def lstat(self):
        state = list(real(self))
        if self.name == "mounted":
            state[2] += 1
        return os.stat_result(state)

    monkeypatch.setattr(Path, "lstat", lstat)
    run = load_run(tmp_path).run
    assert "on another file system" in reasons(run)
    assert len(run.sources) == 1


@pytest.mark.parametrize("place", ["/proc", "/sys/kernel", "/proc/self/mem", "/dev"])
def test_the_files_of_the_kernel_are_no_run(place):
    if not Path(place).exists():
        pytest.skip("no such place here")
    with pytest.raises(InputError, match="neither a directory nor a regular file"):
        discover(Path(place))


def test_names_without_end_cost_a_bound(tmp_path):
    rows = "".join(f'{{"step": {i}, "loss": 1.0, "m{i}": 1.5}}\n' for i in range(12_000))
    (tmp_path / "metrics.jsonl").write_text(rows, encoding="utf-8")
    run = load_run(tmp_path).run

    assert len(run.metrics.names) <= limits.METRIC_NAMES + 1
    assert "metric names are kept" in reasons(run)


def test_a_table_takes_few_bytes_a_point(tmp_path):
    """72 at half a million points; lists that grow take up to an eighth more."""
    import tracemalloc

    def peak(rows):
        text = "".join(f"{n},{3 / (n + 1):.6f},0.{n % 977},{n % 7}.5,{n % 11}.25\n" for n in range(rows))
        (tmp_path / "metrics.csv").write_text("step,loss,grad_norm,a,b\n" + text, encoding="utf-8")
        tracemalloc.start()
        kept = load_run(tmp_path).run
        reached = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return reached, len(kept.metrics)

    (few_bytes, few), (many_bytes, many) = peak(4_000), peak(16_000)
    assert (few, many) == (16_000, 64_000)
    assert (many_bytes - few_bytes) / (many - few) < 95


def test_a_table_without_end_keeps_a_bounded_number_of_points(tmp_path, monkeypatch):
    monkeypatch.setattr("analyzer.ingest.metric_columns.MAX_POINTS_OF_FILE", 1_000)
    rows = [f"{n},{'nan' if n == 777 else 3 / n},{99 if n == 1_500 else 0.5}\n" for n in range(1, 3_001)]
    (tmp_path / "metrics.csv").write_text("step,loss,grad_norm\n" + "".join(rows), encoding="utf-8")
    run = load_run(tmp_path).run
    loss, norm = (run.metrics.series(name) for name in ("loss", "grad_norm"))

    assert len(run.metrics) <= 1_000
    assert (int(loss.step[0]), int(loss.step[-1])) == (1, 3_000)
    assert loss.step[np.isnan(loss.value)].tolist() == [777]
    assert norm.step[norm.value == 99].tolist() == [1_500]
    assert "points of 2 metrics are left out" in reasons(run)


def test_medians_of_a_long_curve_take_little_memory():
    import tracemalloc

    values = np.random.default_rng(0).normal(size=40_000)
    expected = running_medians(values[:4_000], 401)
    assert np.array_equal(expected[200:3_000], running_medians(values[:4_500], 401)[200:3_000])
    tracemalloc.start()
    running_medians(values, 4_001)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 60_000_000


@pytest.mark.parametrize("filler", [b" ", b"-", b"=", b".", b"*", b"_", b"\t"])
def test_the_scan_is_as_fast_on_rules_and_indentation_as_on_text(filler):
    literals = tuple(
        literal if isinstance(literal, bytes) else literal.encode() for literal in _table().literals
    )
    scanner = LiteralScanner(literals)
    text = (b"the quick brown fox jumps over the lazy dog 0123456789\n" * 20_000)[:1_000_000]

    def seconds(data):
        began = time.process_time()
        scanner.find(data)
        return time.process_time() - began

    seconds(text)
    assert seconds(filler * 1_000_000) < 20 * max(seconds(text), 0.005)


def test_a_bomb_of_gzip_ends_soon(tmp_path):
    (tmp_path / "train.log").write_text(ROWS, encoding="utf-8")
    with gzip.open(tmp_path / "bomb.log.gz", "wb") as stream:
        for _ in range(200):
            stream.write(b" " * (1 << 20))
    began = time.process_time()
    load_run(tmp_path)
    assert time.process_time() - began < 30


def test_a_file_that_vanishes_while_others_are_read_is_a_gap(tmp_path):
    for number in range(40):
        (tmp_path / f"rank_{number}.log").write_text(ROWS * 5, encoding="utf-8")
    ended = threading.Event()

    def remove():
        for number in range(39, 0, -1):
            (tmp_path / f"rank_{number}.log").unlink()
            ended.wait(0.01)

    thread = threading.Thread(target=remove)
    thread.start()
    load_run(tmp_path)
    thread.join()
