"""Planted faults, recorded and replayed for real (samples/replay): module, operator and cause of each are named."""

import json
from pathlib import Path

import pytest

import analyzer
from analyzer.api import load
from analyzer.detect import run_detectors
from analyzer.facts.build import build_facts
from analyzer.replay.verdict import FLOAT32, RECORDED, REPEATED, Outcome, judge

PLANTED = Path(__file__).parents[2] / "samples" / "replay" / "planted"
EXPECTED = {
    # folder: cause, module, operator or parameter, verdict of the reruns
    "log-of-zero-in-loss": ("loss-implementation-bug", "loss", "aten.log.default", "not_precision"),
    "log-of-zero-in-loss-handed-over": (
        "loss-implementation-bug",
        "loss",
        "aten.log.default",
        "not_precision",
    ),
    "log-of-zero-in-model": ("unsafe-math-forward", "middle", "aten.log.default", "not_precision"),
    "length-zero-in-model": ("unsafe-math-forward", "middle", "aten.div.Tensor", "not_precision"),
    "weight-nan": ("parameter-overwritten", "head", "head.weight", "weights"),
    "weight-huge": ("float32-overflow", "head", "aten.addmm.default", "overflow"),
    "norm-of-huge": ("float32-overflow", "middle.norm", "aten.native_layer_norm.default", "overflow"),
    "fp16-overflow": ("fp16-activation-overflow", "middle", "aten.mul.Tensor", "precision"),
    "masked-row": ("fully-masked-attention-row", "middle", "aten._softmax.default", "not_precision"),
    "batch-nan": ("bad-input-data", None, None, "data"),
    "root-behind-where": ("unsafe-math-gradient", "middle", "aten.div.Tensor", "not_precision"),
}


def facts_of(folder):
    return build_facts(run_detectors(load(PLANTED / folder))).plain


def test_every_folder_is_expected():
    assert {path.name for path in PLANTED.iterdir()} == set(EXPECTED)


@pytest.mark.parametrize("folder", EXPECTED)
def test_module_operator_and_cause_are_named(folder):
    cause, module, operator, verdict = EXPECTED[folder]
    diagnosis = analyzer.diagnose(PLANTED / folder)
    facts = facts_of(folder)

    assert diagnosis.status == "failed"
    assert diagnosis.findings[0].cause.id == cause
    assert facts.get("signal.replay.first_module") == module
    assert operator in (facts.get("signal.replay.first_op"), facts.get("signal.replay.bad_parameter"))
    assert facts["signal.rerun.verdict"] == verdict
    assert (
        facts["signal.replay.first_step"] == 6
    )  # the step at which it was planted, whatever came of it later


@pytest.mark.parametrize("folder", EXPECTED)
def test_a_capsule_is_no_checkpoint(folder):
    """Its weights are those of the moment of the fault; a run that started from bad ones they cannot show."""
    facts = facts_of(folder)

    assert not any(name.startswith("signal.checkpoint.") for name in facts)


def test_the_parameter_is_named_in_words():
    assert "head.weight" in analyzer.diagnose(PLANTED / "weight-nan").findings[0].symptom
    assert "head.weight" in analyzer.diagnose(PLANTED / "weight-huge").findings[0].symptom
    assert facts_of("weight-huge")["signal.replay.huge_parameter"] == "head.weight"


@pytest.mark.parametrize("folder", ["log-of-zero-in-model", "length-zero-in-model"])
def test_a_bad_forward_result_is_not_called_a_slope(folder):
    findings = analyzer.diagnose(PLANTED / folder).findings

    assert "unsafe-math-gradient" not in {finding.cause.id for finding in findings}
    assert "overflow" not in facts_of(folder)["signal.replay.origin"]


def test_the_loss_is_named_from_the_recording_alone(tmp_path):
    """Without a replay: the gradient that comes back is bad, and every tensor of the forward pass is finite."""
    for name in ("train.log", "replay.jsonl"):
        (tmp_path / name).write_bytes((PLANTED / "log-of-zero-in-loss" / name).read_bytes())
    facts = build_facts(run_detectors(load(tmp_path))).plain

    assert facts["signal.replay.first_module"] == "loss"


def test_a_loss_that_is_handed_over_is_seen_itself(tmp_path):
    for name in ("train.log", "replay.jsonl"):
        (tmp_path / name).write_bytes((PLANTED / "log-of-zero-in-loss-handed-over" / name).read_bytes())
    facts = build_facts(run_detectors(load(tmp_path))).plain

    assert (facts["signal.replay.first_module"], facts["signal.replay.first_pass"]) == ("loss", "forward")


def test_values_beyond_float32_clear_the_kernel():
    fails = [
        Outcome(name, loss=float("nan"), forward_bad=True, backward_bad=True)
        for name in (RECORDED, REPEATED, FLOAT32)
    ]

    assert judge(fails, kernel_wrong=True, beyond_float32=True).verdict == "overflow"
    assert judge(fails, kernel_wrong=True).verdict == "kernel"
    sound = [*fails[:2], Outcome(FLOAT32, loss=2.0, backward_bad=False)]
    assert judge(sound, kernel_wrong=True, beyond_float32=True).verdict == "kernel"


def test_an_infinite_tensor_of_a_dump_has_passed_its_limit(tmp_path):
    """An accelerator's dump of an fp16 overflow: the inputs are far inside the range, the output is infinite."""

    def tensor(high, low):
        return {"type": "torch.Tensor", "dtype": "torch.float16", "shape": [2, 8], "Max": high, "Min": low, "Mean": 0.5, "Norm": 3.0}  # fmt: skip

    name = "Module.module.layers.0.mlp.down_proj.Linear.forward.0"
    entry = {
        "input_args": [tensor(824.0, -3.0)],
        "output": [tensor("inf", -2.0)],
        "parameters": {"weight": tensor(300.5, -1.5)},
    }
    folder = tmp_path / "step2" / "rank0"
    folder.mkdir(parents=True)
    head = {"task": "statistics", "level": "mix", "framework": "pytorch", "dump_data_dir": None}
    (folder / "dump.json").write_text(json.dumps({**head, "data": {name: entry}}), encoding="utf-8")
    (tmp_path / "train.log").write_text(
        "".join(f"step {step} loss {'2.31' if step < 2 else 'nan'}\n" for step in range(9)), encoding="utf-8"
    )
    (tmp_path / "config.yaml").write_text(
        "fp16: true\nlearning_rate: 1e-4\nnum_train_epochs: 1\n", encoding="utf-8"
    )

    facts = build_facts(run_detectors(load(tmp_path))).plain
    assert facts["signal.replay.limit_share"] == 1.0
    assert analyzer.diagnose(tmp_path).findings[0].cause.id == "fp16-activation-overflow"
