"""A reader, detector, rule, part of the answer or renderer that raises becomes a gap that names it; the rest stands."""

import importlib
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import analyzer
from analyzer import detect, pipeline
from analyzer.__main__ import main
from analyzer.cli.app import app
from analyzer.guard import OUR_FAULT, Guard
from analyzer.ingest.text import text_log
from analyzer.rules import score

RUN = Path(__file__).parents[2] / "samples" / "failed" / "qwen2-fp16-sft-loss-zero"
CAUSE = "bf16-pretrained-model-in-fp16"


def boom(*args, **kwargs):
    raise ZeroDivisionError("nothing to divide by")


@pytest.fixture
def guarded(monkeypatch):
    monkeypatch.setenv("ANALYZER_GUARD", "on")


@pytest.mark.usefixtures("guarded")
@pytest.mark.parametrize("name", [detector.name for detector in detect.DETECTORS])
def test_a_detector_that_raises_costs_itself(monkeypatch, name):
    broken = [d._replace(detect=boom) if d.name == name else d for d in detect.DETECTORS]
    monkeypatch.setattr(detect, "DETECTORS", tuple(broken))

    dx = analyzer.diagnose(RUN)

    (gap,) = [gap for gap in dx.gaps if OUR_FAULT in gap.reason]
    assert gap.reason.startswith(f"detector {name} failed and was left out")
    assert "ZeroDivisionError: nothing to divide by" in gap.reason
    assert dx.status != "healthy"


@pytest.mark.usefixtures("guarded")
def test_a_reader_that_raises_costs_its_file(monkeypatch):
    monkeypatch.setattr(text_log.TextLog, "read", boom)

    dx = analyzer.diagnose(RUN)

    assert any("reader text-log failed" in gap.reason and gap.path == "train.log" for gap in dx.gaps)
    assert CAUSE in {finding.cause.id for finding in (*dx.findings, *dx.ruled_out)}


@pytest.mark.usefixtures("guarded")
def test_a_rule_that_raises_costs_itself(monkeypatch):
    broken = analyzer.diagnose(RUN).ruled_out[0].rule_id
    ledger = score.ledger
    monkeypatch.setattr(
        score, "ledger", lambda rule, *rest: boom() if rule.id == broken else ledger(rule, *rest)
    )

    dx = analyzer.diagnose(RUN)

    assert [gap.reason.partition(" failed")[0] for gap in dx.gaps if OUR_FAULT in gap.reason] == [
        f"rule {broken}"
    ]
    assert dx.findings[0].cause.id == CAUSE


@pytest.mark.usefixtures("guarded")
@pytest.mark.parametrize(
    "part", ["next_checks", "_first_failure", "device_time", "_headline", "_ended", "onset"]
)
def test_a_part_of_the_answer_that_raises_is_left_out(monkeypatch, part):
    monkeypatch.setattr(pipeline, part, boom)

    dx = analyzer.diagnose(RUN)

    assert sum(OUR_FAULT in gap.reason for gap in dx.gaps) == 1
    assert dx.findings[0].cause.id == CAUSE
    assert OUR_FAULT in " ".join(analyzer.report(dx, "terminal").split()), (
        "on the first screen, not with --all only"
    )


@pytest.mark.usefixtures("guarded")
@pytest.mark.parametrize("name", ["terminal", "markdown", "json", "html"])
def test_a_renderer_that_raises_leaves_the_answer(monkeypatch, name):
    dx = analyzer.diagnose(RUN)
    place = (
        "analyzer.render" if name == "terminal" else f"analyzer.render.{name}"
    )  # the others are imported late
    monkeypatch.setattr(importlib.import_module(place), f"render_{name}", boom)

    text = analyzer.report(dx, name)

    assert CAUSE in text
    assert f"renderer {name} failed and was left out" in text
    if name == "json":
        assert json.loads(text)["status"] == "failed"


@pytest.mark.usefixtures("guarded")
def test_the_exit_code_stays_and_debug_shows_the_traceback(monkeypatch):
    broken = [d._replace(detect=boom) if d.name == "events" else d for d in detect.DETECTORS]
    monkeypatch.setattr(detect, "DETECTORS", tuple(broken))
    monkeypatch.setattr("sys.argv", ["analyzer", "diagnose", str(RUN), "--debug"])

    result = CliRunner().invoke(app, ["diagnose", str(RUN), "--debug"])

    assert result.exit_code == 0
    assert "FAILED" in result.stdout
    assert "ZeroDivisionError: nothing to divide by" in result.stderr
    assert "This is a bug in analyzer (detector events). Please report the traceback above." in result.stderr


def test_every_command_shows_the_traceback_of_our_bugs(monkeypatch):
    def broken(*_):
        raise ZeroDivisionError("ours")

    monkeypatch.setattr("analyzer.rules.search.readings", broken)
    monkeypatch.setattr("sys.argv", ["analyzer", "rules", "list", "--grep", "nan", "--debug"])
    with pytest.raises(ZeroDivisionError, match="ours"):
        main()


def test_in_the_tests_of_the_project_nothing_is_caught():
    guard = Guard()

    with pytest.raises(ZeroDivisionError), guard.part("anything"):
        boom()
    assert guard.faults == []
