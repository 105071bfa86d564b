"""``analyzer replay plan | diff | run`` as a user types them."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from analyzer.cli.app import app
from analyzer.errors import InputError

SAMPLES = Path(__file__).parents[2] / "samples" / "failed"
TRACE = SAMPLES / "qwen2-fp16-sft-loss-zero-with-replay" / "replay.parquet"


def run(*words):
    return CliRunner().invoke(app, ["replay", *map(str, words)])


def test_a_plan_names_the_causes_the_experiment_and_what_each_outcome_means():
    done = run("plan", SAMPLES / "llama3-8b-fp16-zero2-nan-no-model-config")

    assert done.exit_code == 0
    assert "bf16-pretrained-model-in-fp16" in done.stdout
    assert "analyzer replay run" in done.stdout
    assert "if two runs of the same step differ" in done.stdout


def test_a_plan_as_json_has_a_schema():
    done = run("plan", SAMPLES / "llama3-8b-fp16-zero2-nan-no-model-config", "--json")

    assert json.loads(done.stdout)["schema"] == "analyzer.replay-plan/1"


def test_equal_traces_exit_with_zero():
    done = run("diff", TRACE, TRACE)

    assert done.exit_code == 0
    assert " 0 differ" in done.stdout


def test_parting_traces_exit_with_one_and_name_the_tensor(tmp_path):
    for name, second in (("a", 2.0), ("b", 3.0)):
        rows = [
            {"replay_id": "r", "source_format": "torch_hooks", "step": 0, "rank": 0, "seq": seq, "pass": "fwd",
             "module": module, "tensor_role": "output[0]", "dtype": "float32", "absmax": value, "nonfinite": False}
            for seq, (module, value) in enumerate((("embed", 1.0), ("layers.0", second)))
        ]  # fmt: skip
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = run("diff", tmp_path / "a.jsonl", tmp_path / "b.jsonl")

    assert done.exit_code == 1
    assert "layers.0 output[0] (float32): absmax 2 against 3" in done.stdout
    assert "embed" in done.stdout.splitlines()[-1]


def test_what_is_no_trace_is_one_line(tmp_path):
    log = SAMPLES / "qwen2-fp16-sft-loss-zero" / "train.log"
    done = run("diff", log, TRACE)

    assert isinstance(done.exception, InputError)
    assert "no replay trace" in str(done.exception)


def test_running_what_is_no_capsule_is_one_line(tmp_path):
    done = run("run", tmp_path, "--model", "json:loads")

    assert isinstance(done.exception, InputError)
    assert "capsule" in str(done.exception) or "torch" in str(done.exception)


@pytest.mark.parametrize("command", ["run", "plan", "diff", "convert"])
def test_each_command_explains_itself(command):
    assert run(command, "--help").exit_code == 0
