"""What people read: short, true to the diagnosis, safe on a terminal and in Markdown."""

import json
from dataclasses import replace

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.model.diagnosis import (
    ConfigChange,
    Coverage,
    Diagnosis,
    Evidence,
    Finding,
    Fix,
    GapNote,
    NextCheck,
    Place,
    RootCause,
    SourceNote,
)
from analyzer.model.happened import DeviceTime
from analyzer.render import Style, render_terminal, report
from analyzer.render.json import diagnosis_schema

DIFF = (
    '--- a/ds_config.json\n+++ b/ds_config.json\n@@ -1,2 +1,2 @@\n-  "enabled": true\n+  "enabled": false\n'
)


def evidence(name, bits, verdict=True, text="loss nan"):
    return Evidence(
        name,
        f"config.{name}",
        verdict,
        bits,
        True,
        f"reason {name}",
        {"config.x": 2.5},
        (Place("train.log", 7, text),),
    )


def finding(rule_id="PREC001", cause="fp16-loss-scale-collapse", probability=0.83, severity="fatal"):
    change = ConfigChange("deepspeed", "fp16.enabled", "true", "false", "ds_config.json", 1, DIFF)
    return Finding(
        rule_id=rule_id,
        severity=severity,
        symptom_kind="numerical_breakdown",
        symptom="the loss scale fell to its floor",
        bits=3.2,
        probability=probability,
        evidence=(evidence("a", 3.0), evidence("b", -2.0, verdict=False), evidence("c", 0.0, verdict=None)),
        cause=RootCause(
            cause,
            "Title of the cause",
            "symptom-class",
            None,
            "precision",
            "Mechanism.",
            ("https://example.org",),
        ),
        fixes=(
            Fix(
                "f",
                "Train in bf16",
                "cures",
                "restart",
                None,
                "the GPU has it",
                (change,),
                "x = 1",
                "",
                "fixed/some",
            ),
        ),
        restart_advice="fix-then-restart",
    )


def diagnosis(**changes):
    whole = Diagnosis(
        run_id="id",
        root="runs/7b",
        subject="",
        others=("runs/7a",),
        status="failed",
        summary="the loss scale fell",
        findings=(finding(), finding("PREC002", "fp16-activation-overflow", 0.1)),
        ruled_out=(finding("OPT001", "learning-rate-too-high", 0.001),),
        other_probability={"numerical_breakdown": 0.07},
        next_checks=(NextCheck("signal.x", "meaning", "look at it", "fp16-loss-scale-collapse", 0.96, 0.02),),
        coverage=Coverage(
            (SourceNote("train.log", "text-log"),),
            {"loss": 10},
            4,
            5,
            ("deepspeed",),
            17,
            False,
            ("grad norm",),
        ),
        gaps=(GapNote("a.tfevents", 3, "record 3 is damaged", 1),),
        tool_version="0",
        rules_digest="d",
        elapsed_s=0.1,
    )
    return replace(whole, **changes)


def test_the_first_screen_holds_cause_evidence_place_fix_rivals_check_and_gap():
    text = report(diagnosis())

    for part in (
        "FAILED  runs/7b",
        "83% likely: Title of the cause  [fp16-loss-scale-collapse]",
        "(train.log:7)",
        "| loss nan",
        "fix: Train in bf16 (cures it, if the GPU has it; reproduced: samples/fixed/some)",
        '+  "enabled": false',
        "other causes: 10% Title of the cause [fp16-activation-overflow]",
        "to be more certain: look at it",
        "if meaning: 96% for fp16-loss-scale-collapse; if not: 2%",
        "gap: a.tfevents:3: record 3 is damaged",
        "1 of 2 runs found here, the last to start; not looked at: runs/7a",
        "not seen: grad norm",
        "percentages are shares",
    ):
        assert part in text
    assert len(text.splitlines()) <= 40


def test_python_shows_a_line_and_a_notebook_a_card_without_foreign_markup():
    found = diagnosis(root="<b>runs</b>")

    assert repr(found) == "<Diagnosis <b>runs</b>: failed, 83% fp16-loss-scale-collapse>"
    assert "<b>83%</b> Title of the cause" in found._repr_html_()
    assert "&lt;b&gt;runs&lt;/b&gt;" in found._repr_html_()


def test_markdown_folds_what_only_some_readers_want():
    text = report(diagnosis(), "markdown")

    assert text.count("<details>") == text.count("</details>") >= 1
    assert "<summary>Considered and ranked below</summary>\n\n| probability | cause | why not |" in text


def test_the_step_time_split_of_a_trace_is_told_in_one_note():
    split = DeviceTime(0.48, 0.7, 0.0, 0.01, 0.29, 0.2, 0.0956, "aten::mm", 0.44, "gemm" * 40)
    plain = " ".join(render_terminal(diagnosis(device_time=split), Style(colour=False)).split())

    assert (
        "device time: 70% compute, 1% copies, 29% idle (host late 20%) of 480 ms traced, 95.6 ms per step"
        in plain
    )
    assert "most in aten::mm (44%), kernel gemmgemm" in plain
    assert "gemm" * 20 not in plain
    assert "device time: 70% compute" in report(diagnosis(device_time=split), "markdown")
    jsonschema.validate(diagnosis(device_time=split).to_dict(), diagnosis_schema())
    assert "device time" not in render_terminal(diagnosis(), Style(colour=False))


def test_no_line_is_wider_than_the_terminal_except_quotes_and_diffs():
    text = render_terminal(diagnosis(), Style(colour=False, width=80))

    assert [line for line in text.splitlines() if len(line) > 80] == []


def test_colours_only_where_asked_for():
    assert "\x1b[" in render_terminal(diagnosis(), Style(colour=True))
    assert "\x1b[" not in report(diagnosis())


def test_json_is_valid_by_the_published_schema_and_keeps_its_key_order():
    data = json.loads(report(diagnosis(), "json"))

    jsonschema.validate(data, diagnosis_schema())
    assert list(data)[:4] == ["schema", "run_id", "root", "subject"]
    assert data["findings"][0]["cause"]["id"] == "fp16-loss-scale-collapse"
    assert data["findings"][0]["evidence"][0]["refs"] == [
        {"path": "train.log", "line": 7, "text": "loss nan"}
    ]


def test_numbers_that_json_cannot_hold_become_strings():
    line = evidence("a", 3.0)._replace(values={"x": float("nan"), "y": float("-inf")})
    found = finding()._replace(evidence=(line,))
    data = json.loads(report(diagnosis(findings=(found,)), "json"), parse_constant=pytest.fail)

    assert data["findings"][0]["evidence"][0]["values"] == {"x": "NaN", "y": "-Infinity"}


def test_markdown_fences_cannot_be_closed_by_log_text_and_html_is_inert():
    change = ConfigChange("x", "k", "1", "2", "c.yaml", 1, "--- a\n+++ b\n+```\n+<script>\n")
    found = finding()._replace(
        symptom="<script>alert(1)</script>",
        fixes=(finding().fixes[0]._replace(changes=(change,)),),
    )
    text = report(diagnosis(findings=(found,), summary="<b>`x`"), "markdown")

    assert "````diff" in text
    assert "\\<b\\>\\`x\\`" in text


def test_explain_prints_every_line_of_the_ledger_and_refuses_what_was_not_considered():
    text = diagnosis().explain("PREC001")

    assert "a: true" in text
    assert "b: false" in text
    assert "c: unknown" in text
    assert "train.log:7" in text
    with pytest.raises(KeyError):
        diagnosis().explain("no-such-cause")


def test_an_unknown_format_is_refused():
    with pytest.raises(ValueError, match="known are terminal, json, markdown, html, brief"):
        report(diagnosis(), "pdf")


@given(st.floats(0, 1))
def test_a_share_is_never_rounded_to_certainty(probability):
    text = report(diagnosis(findings=(finding(probability=probability),)))

    assert "100%" not in text
    assert " 0%" not in text
