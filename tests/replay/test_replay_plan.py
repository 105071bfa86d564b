"""``analyzer replay plan``: which experiment separates the explanations that lead."""

from pathlib import Path

import pytest

import analyzer
from analyzer import api
from analyzer.replay.plan import plan

SAMPLES = Path(__file__).parents[2] / "samples"
OPEN = SAMPLES / "failed" / "llama3-8b-fp16-zero2-nan-no-model-config"


def test_an_open_question_of_precision_is_rerun_and_recorded_around_the_step():
    made = plan(analyzer.diagnose(OPEN), step=16)

    assert made.leading[0][1] < 0.95
    assert made.experiments[0].command.count("analyzer replay run") == 1
    assert "full_steps=(11, 18)" in made.experiments[1].command
    assert all(experiment.why for experiment in made.experiments)


def test_a_trace_at_hand_is_not_asked_for_again():
    titles = [e.title for e in plan(analyzer.diagnose(OPEN), has_trace=True, has_rerun=True).experiments]

    assert titles
    assert not any("capsule" in title or "Record" in title for title in titles)


def test_a_settled_run_needs_no_experiment():
    settled = SAMPLES / "failed" / "qwen2-fp16-sft-loss-zero-with-replay"

    assert "apply its fix" in plan(analyzer.diagnose(settled), has_trace=True, has_rerun=True).reason


def test_nothing_is_planned_for_a_healthy_run():
    made = plan(analyzer.diagnose(SAMPLES / "healthy" / "qwen2-bf16-sft"))

    assert made.experiments == ()
    assert "no fault" in made.reason


def test_a_hang_asks_for_the_flight_recorder_not_for_tensors():
    made = plan(analyzer.diagnose(SAMPLES / "failed" / "ddp-4-ranks-rank-stalls"))

    assert any("flight recorder" in experiment.title for experiment in made.experiments)
    assert not any("capsule" in experiment.title for experiment in made.experiments)


MODULES = {
    "tinyllama-fp16-unpacked-grad-nan": ("fully-masked-attention-row", "layers.2.self_attn"),
    "yi-6b-base-loss-scale-floor": ("untrained-special-token-embedding", "input_layernorm"),
    "yi-6b-base-loss-scale-floor-logs-only": ("untrained-special-token-embedding", "input_layernorm"),
    "qwen2-fp16-sft-loss-zero": ("bf16-pretrained-model-in-fp16", "layers.1.mlp.down_proj"),
    "llama3-8b-fp16-zero2-nan-at-20": ("bf16-pretrained-model-in-fp16", "layers.1.mlp.down_proj"),
    "gemma3-fp16-compiled-backward-nan": ("fp16-activation-overflow", "layers.5"),
}


@pytest.mark.parametrize("name", MODULES)
def test_with_its_trace_each_incident_is_settled_and_the_module_named(name):
    cause, module = MODULES[name]
    run = api.load(SAMPLES / "failed" / f"{name}-with-replay")
    top = api.diagnose(run).findings[0]

    assert top.cause.id == cause
    assert top.share >= 0.95
    assert any(module in line.observed() for line in top.speaks_for())


def test_with_its_trace_the_false_alarm_stays_healthy():
    run = api.load(SAMPLES / "healthy" / "gemma3-fp16-anomaly-false-alarm-with-replay")

    assert len(run.replay) > 100
    assert api.diagnose(run).status == "healthy"
