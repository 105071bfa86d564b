"""A word that nobody declared is refused where it stands, with the nearest that is declared."""

import json
import shutil

import pytest
from typer.testing import CliRunner

from analyzer.cli.app import app
from analyzer.errors import RuleSyntaxError
from analyzer.rules import causes
from analyzer.rules.causes import check_catalogue, rules_root

SLUG = "half-precision-norm-layer"


@pytest.mark.parametrize(
    ("file", "right", "wrong", "nearest"),
    [
        ("rule.yaml", "event.loss_scale_minimum.seen", "event.loss_scale_minimun.seen", "event.loss_scale_minimum.seen"),
        ("rule.yaml", "signal.embedding.ordinary_rows_tiny", "signal.embedding.ordinary_row_tiny", "signal.embedding.ordinary_rows_tiny"),
        ("rule.yaml", "config.precision_fp16_pure", "config.precison_fp16_pure", "config.precision_fp16_pure"),
        ("rule.yaml", "gate.scale_fell", "gate.scale_feld", "scale_fell"),
        ("rule.yaml", "{signal.onset.when|", "{signal.onset.wen|", "signal.onset.when"),
        ("rule.yaml", "test: signal.nonfinite_loss.seen", 'test: event.any(family="numerc")', "numeric"),
        ("rule.yaml", "test: signal.nonfinite_loss.seen", 'test: event.any(famly="numeric")', "family"),
        ("rule.yaml", "use: fp32", "use: fp23", "fp32"),
        ("rule.yaml", "llamafactory:", "lamafactory:", "llamafactory"),
        ("rule.yaml", "upcast_layernorm: true", "upcast_layernom: true", "upcast_layernorm"),
        ("rule.yaml", f"cause_id: {SLUG}", "cause_id: half-precision-norm-layr", SLUG),
        ("rule.yaml", "family: precision", "family: precison", "precision"),
        ("rule.yaml", "[sampling-probability-nonfinite", "[sampling-probability-nonfinit", "sampling-probability-nonfinite"),
        ("rule.yaml", "plateau", "plateu", "plateau"),
        ("rule.yaml", "strength: cures", "strength: cure", "cures"),
        ("rule.yaml", "restart_because:", "restart_becaus:", "restart_because"),
        ("cases.yaml", "signal.loss_scale.overflows: 18", "signal.loss_scale.overflow: 18", "signal.loss_scale.overflows"),
        ("cases.yaml", "finding: not_top", "finding: nottop", "not_top"),
        ("cases.yaml", "winner: PREC001", "winer: PREC001", "winner"),
    ],
)  # fmt: skip
def test_lint_names_file_line_and_the_nearest_name(tmp_path, monkeypatch, file, right, wrong, nearest):
    shutil.copytree(rules_root() / "precision" / SLUG, tmp_path / SLUG)
    path = tmp_path / SLUG / file
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace(right, wrong, 1), encoding="utf-8")
    monkeypatch.chdir(tmp_path)

    result = CliRunner().invoke(app, ["rules", "lint", SLUG])
    said = f"{result.output}{result.exception}"

    line = text[: text.index(right)].count("\n") + 1
    assert result.exit_code
    assert f"did you mean '{nearest}'?" in said
    assert f"{SLUG}/{file}:{line}:" in said


CAUSE = {
    "id": "scratch-full", "title": "The scratch disk is full", "family": "storage", "kind": "cause", "parent": None,
    "symptom_kind": "crash", "restart_advice": "fix-then-restart", "maturity": "common", "look_alikes": ["disk-full"],
}  # fmt: skip


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"look_alikes": ["disk-ful"]}, "no cause is called 'disk-ful'; did you mean 'disk-full'?"),
        ({"parent": "training-stal"}, "no cause is called 'training-stal'; did you mean 'training-stall'?"),
        ({"kind": "couse"}, "did you mean 'cause'?"),
        ({"family": "storge"}, "did you mean 'storage'?"),
        ({"symptom_kind": "crsh"}, "did you mean 'crash'?"),
        ({"maturty": "common"}, "did you mean 'maturity'?"),
        ({"id": "disk-full"}, "cause 'disk-full' stands there twice"),
    ],
)
def test_an_entry_of_the_catalogue_is_checked(tmp_path, monkeypatch, change, message):
    rows = json.loads((rules_root() / "causes.json").read_text(encoding="utf-8"))
    rows = [*rows, {**CAUSE, **change}]
    (tmp_path / "causes.json").write_text("[" + ",\n".join(map(json.dumps, rows)) + "]", encoding="utf-8")
    monkeypatch.setattr(causes, "rules_root", lambda: tmp_path)

    with pytest.raises(RuleSyntaxError) as error:
        check_catalogue()

    assert message in str(error.value)
    assert f"causes.json:{len(rows)}:" in str(error.value)


def test_lint_tells_every_invalid_rule(tmp_path):
    for slug, right in ((SLUG, "gate.scale_fell"), ("float32-overflow", "severity: ")):
        shutil.copytree(rules_root() / "precision" / slug, tmp_path / slug)
        path = tmp_path / slug / "rule.yaml"
        path.write_text(path.read_text(encoding="utf-8").replace(right, f"{right}x", 1), encoding="utf-8")

    result = CliRunner().invoke(app, ["rules", "lint", str(tmp_path)])

    assert "no gate is called 'scale_fellx'" in result.output
    assert "'xfatal' is not one of" in result.output
    assert "2 rules, 2 problems" in result.output
    assert result.exit_code == 4
