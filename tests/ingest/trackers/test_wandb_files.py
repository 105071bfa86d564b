"""The files beside a W&B run: configuration, last values, metadata."""

import json
import math
from pathlib import Path

import pytest

from analyzer.ingest.base import Match, OpenSource, SourceWriter
from analyzer.ingest.builder import RunBuilder
from analyzer.ingest.discover import load_run
from analyzer.ingest.formats.wandb.wandb_files import WandbConfig, WandbMetadata, WandbSummary
from analyzer.ingest.registry import builtin_ingestors
from analyzer.ingest.walk import choose_ingestor, discover, make_candidate

PUBLIC = Path(__file__).parents[3] / ".." / "shared" / "data" / "public"

CONFIG = """\
wandb_version: 1

_wandb:
  desc: null
  value:
    cli_version: 0.16.6
    huggingface_version: 4.39.3
    start_time: 1713205347.0
    t:
      1:
      - 1
      - 11
      4: 3.10.14
      9:
        1: transformers_trainer
learning_rate:
  desc: null
  value: 1e-05
optim.betas:
  desc: null
  value:
  - 0.9
  - 0.95
per_device_train_batch_size:
  desc: null
  value: 4
fp16:
  desc: null
  value: true
deepspeed:
  desc: null
  value:
    fp16:
      initial_scale_power: 16
output_dir:
  desc: null
  value: /home/jane/out
hub_token:
  desc: null
  value: hf_abcdefghijklmnopqrstuvwxyz
model_type:
  desc: null
  value: llama
vocab_size:
  desc: null
  value: 32000
dtype:
  desc: null
  value: bfloat16
"""

METADATA = {
    "os": "Linux", "python": "3.10.14", "startedAt": "2024-04-15T18:22:27.251468", "host": "box", "program": "/home/jane/train.py",
    "args": ["--stage", "sft", "--flash_attn", "--learning_rate", "1e-4", "--prompt", "a = b", "--output_dir", "/home/jane/out"],
    "email": "jane@example.org", "username": "jane", "root": "/home/jane", "executable": "/usr/bin/python",
    "gpu": "Tesla T4", "gpu_count": 2, "gpu_devices": [{"name": "Tesla T4", "memory_total": 1}, {"name": "Tesla T4"}],
}  # fmt: skip


def read(ingestor, path, name=None):
    builder = RunBuilder(str(path))
    candidate = make_candidate(path, name or path.name)
    index = builder.add_source(
        candidate.name, format_name="x", ingestor="x", size_bytes=candidate.size_bytes, sha256_head=""
    )
    ingestor.read(OpenSource(candidate, index), SourceWriter(builder, index))
    return builder.finish()


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


@pytest.fixture
def config_run(tmp_path):
    return read(WandbConfig(), write(tmp_path / "config.yaml", CONFIG))


def test_values_are_taken_out_of_their_wrapping_with_their_lines(config_run):
    entries = {entry.key_in_source: entry for entry in config_run.config.entries}

    assert config_run.config.value("train.learning_rate") == 1e-5
    assert entries["learning_rate"].raw == "1e-05"
    assert entries["learning_rate"].ref.line == CONFIG.splitlines().index("  value: 1e-05") + 1
    assert entries["optim.betas[1]"].value == 0.95
    assert not any(key.startswith(("_wandb", "wandb_version")) for key in entries)


def test_keys_go_to_the_framework_that_spells_them(config_run):
    config = config_run.config

    assert config["fp16.initial_scale_power"].framework == "deepspeed"
    assert config["fp16.enabled"].framework == "hf-trainer"
    assert config["model.type"].framework == "model"
    assert config.value("model.native_dtype") is None
    assert config.value("weights.dtype") is None
    assert config.value("versions.transformers") == "4.39.3"
    assert config_run.frameworks == {"hf-trainer", "deepspeed"}


def test_secrets_and_personal_paths_do_not_get_in(config_run):
    assert "hf_abc" not in repr(config_run)
    assert "jane" not in repr(config_run)


def test_a_damaged_configuration_keeps_what_stands_before(tmp_path):
    run = read(WandbConfig(), write(tmp_path / "config.yaml", CONFIG + "bad: [\n"))

    assert run.config.value("train.learning_rate") == 1e-5
    assert len(run.gaps) == 1


def test_newer_files_without_a_version_key_are_known(tmp_path):
    text = "_wandb:\n    value:\n        cli_version: 0.31.0\nlr:\n    value: 0.1\n"
    path = write(tmp_path / "config.yaml", text)
    run = read(WandbConfig(), path)

    assert choose_ingestor(make_candidate(path, path.name), builtin_ingestors()).name == "wandb-config"
    assert run.config.value("train.learning_rate") == 0.1


def test_last_values_have_no_step_but_the_counters_own(tmp_path):
    text = '{"train/loss": NaN, "train/global_step": 32, "n": {"x": 1}, "h": {"_type": "histogram", "bins": [1]}, "s": "NaN", "t": "x", "_step": 31, "_runtime": 2, "_wandb": {"runtime": 3}}'
    run = read(WandbSummary(), write(tmp_path / "wandb-summary.json", text))
    points = {name: run.metrics.series(name) for name in run.metrics.names}

    assert set(points) == {"loss", "train/global_step", "n.x", "s"}
    assert math.isnan(points["loss"].value[0])
    assert math.isnan(points["s"].value[0])
    assert points["loss"].step_at(0) is None
    assert points["train/global_step"].step_at(0) == 32


def test_all_files_of_a_run_directory_belong_to_one_launch(tmp_path):
    directory = tmp_path / "run-20240415_202227-oj5c5z76"
    write(directory / "files" / "wandb-metadata.json", json.dumps(METADATA))
    write(directory / "files" / "wandb-summary.json", '{"loss": 1.5, "_wandb": {"runtime": 3}}')
    run = load_run(directory).run

    assert len(run.attempts) == 1
    assert sorted(run.attempts[0].sources) == [0, 1]


def test_metadata_gives_hardware_and_arguments_but_no_person(tmp_path):
    directory = tmp_path / "run-20240415_202227-oj5c5z76" / "files"
    run = read(WandbMetadata(), write(directory / "wandb-metadata.json", json.dumps(METADATA, indent=1)))
    entries = {entry.key_in_source: entry for entry in run.config.entries}

    assert (run.layout.gpus, run.layout.gpu_name, run.layout.host) == (2, "Tesla T4", "box")
    assert entries["learning_rate"].value == 1e-4
    assert entries["learning_rate"].layer == "cli"
    assert entries["flash_attn"].value is True
    assert entries["prompt"].value == "a = b"
    assert run.attempts[0].label == "run-20240415_202227-oj5c5z76"
    assert run.attempts[0].start_s == 1713205347.251468
    assert not any("jane" in repr(part) for part in (run.config, run.layout, run.attempts, run.events))


@pytest.mark.parametrize(
    ("ingestor", "name", "text"),
    [
        (WandbConfig(), "config.yaml", CONFIG),
        (WandbSummary(), "wandb-summary.json", '{"loss": 1.5, "n": {"x": [1, {"y": NaN}]}}'),
        (WandbMetadata(), "wandb-metadata.json", json.dumps(METADATA)),
    ],
)
def test_truncation_anywhere_never_raises(tmp_path, ingestor, name, text):
    path = tmp_path / name
    for size in range(1, len(text), 3):
        path.write_text(text[:size])
        read(ingestor, path)


@pytest.mark.parametrize(
    "text",
    [
        "_wandb:\n  value: " + "[" * 50_000,
        "_wandb:\n  value: 1\na: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\n" + "d: [*c, *c]\n" * 50,
        "_wandb:\n  value: !!python/object/apply:os.system [id]\n",
    ],
)
def test_hostile_yaml_is_read_without_harm(tmp_path, text):
    read(WandbConfig(), write(tmp_path / "config.yaml", text))


def test_hostile_json_is_read_without_harm(tmp_path):
    for text in (
        '{"a": ' + "[" * 100_000,
        '{"a": ' + '{"a": ' * 100_000,
        '{"a": 1' + "0" * 10_000 + "}",
        "{",
        "[1]",
        '{"args": 5, "gpu_count": "x"}',
    ):
        path = write(tmp_path / "wandb-metadata.json", text)
        read(WandbMetadata(), path)
        read(WandbSummary(), path)


def test_other_json_and_yaml_is_left_to_others(tmp_path):
    plain = write(tmp_path / "config.json", '{"startedAt": 1, "loss": 2}')
    other = write(tmp_path / "train.yaml", "learning_rate: 1e-5\n")

    assert WandbMetadata().sniff(make_candidate(plain, plain.name)) is Match.NO
    assert WandbSummary().sniff(make_candidate(plain, plain.name)) is Match.NO
    assert WandbConfig().sniff(make_candidate(other, other.name)) is Match.NO


@pytest.mark.skipif(not PUBLIC.is_dir(), reason="the collection of public runs is not beside this checkout")
def test_public_directories_are_recognised_and_read():
    wanted = {
        "config.yaml": "wandb-config",
        "wandb-summary.json": "wandb-summary",
        "wandb-metadata.json": "wandb-metadata",
    }
    found = [item for item in discover(PUBLIC / "wandb").found if item.candidate.path.name in wanted]
    assert found

    for item in found:
        path = item.candidate.path
        run = read(item.ingestor, path, item.candidate.name)

        assert item.ingestor.name == wanted[path.name]
        assert run.gaps == ()
