"""Formats for other programs and for readers who have nothing but a few thousand characters."""

import csv
import io
import json
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import pytest

import analyzer
from analyzer.api import study
from analyzer.render.brief import MOST_CHARACTERS, render_brief
from analyzer.render.machine import CSV_COLUMNS, render_csv, render_junit, render_sarif
from tests.shipped_samples import SAMPLES, studied

ROOT = Path(__file__).parent.parent.parent
QWEN = ROOT / "samples/failed/qwen2-fp16-sft-loss-zero"
HEALTHY = ROOT / "samples/healthy/qwen2-bf16-sft"


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.name)
def test_a_brief_fits_into_its_budget(sample):
    found = studied(sample)
    text = render_brief(found.diagnosis, found.run)

    assert len(text) <= MOST_CHARACTERS
    assert found.diagnosis.status in text.splitlines()[0]


def test_a_brief_holds_what_an_outsider_needs():
    found = study(ROOT / "samples/failed/ddp-8-ranks-bad-record")
    text = render_brief(found.diagnosis, found.run)

    for part in (
        "[candidates (our odds)]",
        "undecodable-record",
        "something else",
        "[first failing lines",
        "JSONDecodeError",
        "loss, training: ",
        "fix: ",
        "restart: ",
        "[settings that matter]",
        "[read, and not read]",
    ):
        assert part in text


def test_a_brief_quotes_the_frames_of_the_first_failure_and_the_end_where_none_is_known(tmp_path):
    frames = ['  File "t.py", line 9, in save', "    gather(model)"]
    rows = [
        "step 1 loss 0.5",
        "Traceback (most recent call last):",
        *frames,
        "ValueError: api_key=abcdef123456 is odd",
    ]
    (tmp_path / "train.log").write_text("\n".join(rows) + "\n", encoding="utf-8")
    failed = study(tmp_path)
    (tmp_path / "train.log").write_text("step 1 loss 0.5\nready\nready\nthe end is here\n", encoding="utf-8")
    quiet = study(tmp_path)
    brief = render_brief(quiet.diagnosis, quiet.run)
    (tmp_path / "train.log").write_text("\n".join(rows) + "\n", encoding="utf-8")

    assert "4|     gather(model)" in render_brief(failed.diagnosis, failed.run)
    assert "abcdef" not in render_brief(failed.diagnosis, failed.run)
    assert "| ready\n| the end is here" in brief


def test_a_brief_quotes_the_end_also_where_the_program_went_on_after_its_first_failure(tmp_path):
    batch = [f"step {step} loss {2 / step:.4f}" for step in range(1, 21)]
    first = [
        "Traceback (most recent call last):",
        '  File "t.py", line 9, in step',
        "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB",
    ]
    rows = [*first, *batch, "the wrapper gives up"]
    (tmp_path / "train.log").write_text("\n".join(rows) + "\n", encoding="utf-8")
    found = study(tmp_path)

    assert "| step 20 loss 0.1000\n| the wrapper gives up\n" in render_brief(found.diagnosis, found.run)


def test_a_brief_shows_scores_under_names_of_the_run_before_other_curves(tmp_path):
    names = ["step", "loss", *(f"timer_{number}" for number in range(9)), "blank_rate", "dev_frame_accuracy"]
    rows = [[step, 5 - step / 10, *(9 * [step]), 0.9, 0.034] for step in range(40)]
    text = "\n".join(",".join(str(cell) for cell in row) for row in [names, *rows])
    (tmp_path / "m.csv").write_text(text + "\n", encoding="utf-8")
    found = study(tmp_path)

    further = render_brief(found.diagnosis, found.run).partition("[further curves, by their names]\n")[2]
    assert further.startswith("dev_frame_accuracy: 0: 0.034, ")
    assert "loss" not in further.partition("\n\n")[0]


def test_a_brief_names_points_that_are_not_finite(tmp_path):
    (tmp_path / "m.csv").write_text(
        "step,loss\n" + "".join(f"{i},{'nan' if i > 30 else 5 - i / 10}\n" for i in range(50))
    )
    found = study(tmp_path)

    assert "19 not finite, the first at 31" in render_brief(found.diagnosis, found.run)


def test_sarif_annotates_the_line_of_the_configuration_that_the_fix_changes():
    data = json.loads(render_sarif(analyzer.diagnose(QWEN)))
    result = data["runs"][0]["results"][0]

    assert data["version"] == "2.1.0"
    assert result["ruleId"] in {rule["id"] for rule in data["runs"][0]["tool"]["driver"]["rules"]}
    assert result["level"] == "error"
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "train_config.yaml"
    assert result["locations"][0]["physicalLocation"]["region"]["startLine"] >= 1


def test_junit_fails_for_a_fault_and_passes_for_a_healthy_run():
    failed = ET.fromstring(render_junit(analyzer.diagnose(QWEN)))
    healthy = ET.fromstring(render_junit(analyzer.diagnose(HEALTHY)))

    assert failed.find(".//failure").get("type") == "bf16-pretrained-model-in-fp16"
    assert healthy.find(".//failure") is None
    assert healthy.find("testsuite").get("failures") == "0"


def test_junit_is_xml_whatever_a_log_holds():
    found = replace(analyzer.diagnose(QWEN), summary="]]> <a> \x00\x1b \ud800 &", root='a"b<c')

    assert ET.fromstring(render_junit(found)).find(".//testcase").get("name") == 'a"b<c'


def test_csv_has_a_row_for_each_finding_and_no_formula():
    found = analyzer.diagnose(QWEN)
    rows = list(csv.DictReader(io.StringIO(render_csv(replace(found, root="=cmd|calc")))))

    assert tuple(rows[0]) == CSV_COLUMNS
    assert len(rows) == len(found.findings)
    assert rows[0]["root"] == "'=cmd|calc"
    assert rows[0]["cause_id"] == "bf16-pretrained-model-in-fp16"
