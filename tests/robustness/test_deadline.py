"""Time holds inside of a computation: a detector, rule, reader or part of the answer without end costs itself, and is told."""

import contextlib
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import analyzer
from analyzer import detect, pipeline
from analyzer.errors import UnreadableFileError
from analyzer.guard import Deadline, Guard, OutOfTime
from analyzer.ingest import discover, limits
from analyzer.ingest.formats.config import training_script
from analyzer.ingest.text import text_log

# An interruption that falls into a callback of the collector is lost there and comes again a second later.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

FAILED = Path(__file__).parents[2] / "samples" / "failed" / "qwen2-fp16-sft-loss-zero"
HEALTHY = Path(__file__).parents[2] / "samples" / "healthy"
CAUSE = "bf16-pretrained-model-in-fp16"


def forever(*args, **kwargs):
    number = 0
    while True:
        number += 1


def swallowing(*args, **kwargs):
    """A loop that goes on after every error of its body."""
    while True:
        with contextlib.suppress(Exception):
            forever()


def until(seconds):
    end_s = time.process_time() + seconds
    return Deadline(lambda: end_s)


@pytest.fixture
def budget(monkeypatch):
    """A small one."""
    monkeypatch.setattr(limits.CURRENT, "base_s", 4.0)


def left_out(diagnosis):
    return [gap.reason for gap in diagnosis.gaps if "was left out: it did not end within" in gap.reason]


@pytest.mark.parametrize("endless", [forever, swallowing])
def test_work_without_end_is_interrupted(endless):
    began_s = time.process_time()
    with pytest.raises(OutOfTime), until(0.2):
        endless()
    assert time.process_time() - began_s < 2


def test_it_is_interrupted_in_any_thread():
    ended = []

    def work():
        try:
            with until(0.2):
                forever()
        except OutOfTime:
            ended.append(True)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert ended == [True] * 3


def test_what_ends_in_time_is_let_alone_even_at_the_last_moment():
    """Work that ends about when its time is over: afterwards nothing is raised any more."""
    late = 0
    for _ in range(60):
        try:
            with until(0.02):
                end_s = time.process_time() + 0.025
                while time.process_time() < end_s:
                    pass
        except OutOfTime:
            late += 1
    for _ in range(200_000):
        pass
    assert late > 0


def test_a_context_whose_end_was_skipped_interrupts_nobody_later():
    """What is raised where a context is left may skip its end; nobody holds it then."""
    until(0.01).__enter__()
    with until(60):
        end_s = time.process_time() + 0.1
        while time.process_time() < end_s:
            pass


def test_a_context_within_ends_with_the_one_around_it():
    with pytest.raises(OutOfTime), until(0.1), until(60):
        forever()


def test_each_part_may_take_a_quarter_of_what_is_left():
    guard, took = Guard(cpu_s=1.0), []
    for number in range(4):
        began_s = time.process_time()
        with guard.part(f"part {number}"):
            forever()
        took.append(time.process_time() - began_s)
    assert guard.late == ["part 0", "part 1", "part 2", "part 3"]
    assert took[0] > took[3]
    assert sum(took) < 1.2


@pytest.mark.usefixtures("budget")
@pytest.mark.parametrize("name", [detector.name for detector in detect.DETECTORS[::9]])
def test_a_detector_without_end_is_left_out_and_named(monkeypatch, name):
    slow = [d._replace(detect=forever) if d.name == name else d for d in detect.DETECTORS]
    monkeypatch.setattr(detect, "DETECTORS", tuple(slow))

    began_s = time.process_time()
    diagnosis = analyzer.diagnose(FAILED)

    assert time.process_time() - began_s < 4
    (reason,) = left_out(diagnosis)
    assert reason.startswith(f"detector {name} was left out")
    assert "--budget" in reason


@pytest.mark.usefixtures("budget")
def test_all_detectors_without_end_cost_no_more_than_the_budget(monkeypatch):
    monkeypatch.setattr(detect, "DETECTORS", tuple(d._replace(detect=forever) for d in detect.DETECTORS))

    began_s = time.process_time()
    diagnosis = analyzer.diagnose(FAILED)

    assert time.process_time() - began_s < 6  # the budget and what each part has at least
    assert len(left_out(diagnosis)) == len(detect.DETECTORS)
    assert diagnosis.status not in {"healthy", "failed"}


@pytest.mark.usefixtures("budget")
def test_a_run_of_which_a_detector_was_left_out_is_not_healthy(monkeypatch):
    run = next(path for path in sorted(HEALTHY.iterdir()) if analyzer.diagnose(path).status == "healthy")
    slow = [d._replace(detect=forever) if d.name == "stragglers" else d for d in detect.DETECTORS]
    monkeypatch.setattr(detect, "DETECTORS", tuple(slow))

    diagnosis = analyzer.diagnose(run)

    assert diagnosis.status == "insufficient"
    assert "did not end in time (detector stragglers)" in diagnosis.summary


@pytest.mark.usefixtures("budget")
@pytest.mark.parametrize("part", ["next_checks", "_first_failure", "_ended"])
def test_a_part_of_the_answer_without_end_is_left_out(monkeypatch, part):
    monkeypatch.setattr(pipeline, part, forever)
    diagnosis = analyzer.diagnose(FAILED)
    assert len(left_out(diagnosis)) == 1
    assert diagnosis.findings[0].cause.id == CAUSE


@pytest.mark.usefixtures("budget")
def test_a_reader_that_reaches_no_next_block_is_interrupted_and_keeps_what_it_has(monkeypatch):
    real = text_log.TextLog.read

    def read(self, source, out):
        real(self, source, out)
        while True:
            out.metric("loss", 1.0, step=1, line=1)

    monkeypatch.setattr(text_log.TextLog, "read", read)
    began_s = time.process_time()
    diagnosis = analyzer.diagnose(FAILED)

    assert time.process_time() - began_s < 5
    assert any("the rest of the file was not read" in gap.reason for gap in diagnosis.gaps)
    assert diagnosis.status != "healthy"
    assert CAUSE in {finding.cause.id for finding in (*diagnosis.findings, *diagnosis.ruled_out)}


@pytest.mark.usefixtures("budget")
def test_one_file_without_end_leaves_time_for_the_others(tmp_path, monkeypatch):
    (tmp_path / "a.py").write_text("import torch\noptimizer.step(loss.backward())\n", encoding="utf-8")
    (tmp_path / "train.log").write_text("step 1 loss 3.0\nstep 2 loss 2.9\n" * 5, encoding="utf-8")
    monkeypatch.setattr(training_script.TrainingScript, "read", forever)
    run = discover.load_run(tmp_path).run
    assert run.metrics.value.size
    assert any("more than its part" in gap.reason and gap.evidence for gap in run.gaps)


def test_what_comes_before_the_readers_ends_as_well(monkeypatch):
    monkeypatch.setattr(limits.CURRENT, "base_s", 0.5)
    monkeypatch.setattr(discover, "group_runs", forever)
    with pytest.raises(
        UnreadableFileError, match="s of CPU that reading a run of this size may take are spent"
    ):
        analyzer.diagnose(FAILED)


LOOKED_AT = """
import sys
from analyzer.guard import Deadline
sys.settrace(lambda *_: None)
with Deadline(lambda: float("inf")):
    pass
print(sum(range(3)))
"""


def test_a_program_that_is_profiled_or_debugged_goes_on_after_a_deadline():
    result = subprocess.run(
        [sys.executable, "-c", LOOKED_AT], capture_output=True, text=True, timeout=60, check=True
    )

    assert result.stdout == "3\n"
