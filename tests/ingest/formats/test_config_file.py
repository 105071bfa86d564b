import contextlib
import json
import math

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from structured_reading import claimed_by, read_every_prefix, read_files

import analyzer
from analyzer.ingest.formats.config import structured_text
from analyzer.ingest.formats.config.config_file import ConfigFile
from analyzer.ingest.formats.config.structured_text import (
    StructuredTextError,
    read_json,
    read_python,
    read_yaml,
)
from analyzer.ingest.scalar_text import config_scalar, metric_number
from analyzer.vocabulary.config import canonical_key

DEEPSPEED = """\
{
  "train_micro_batch_size_per_gpu": "auto",
  "fp16": {
    "enabled": true,
    "initial_scale_power": 16
  },
  "zero_optimization": {"stage": 2, "overlap_comm": false},
  "optimizer": {"type": "AdamW", "params": {"lr": 1e-4, "betas": [0.9, 0.95]}}
}
"""
MMENGINE = """\
lr = 2e-4
optim_wrapper = dict(
    type='AmpOptimWrapper',
    loss_scale='dynamic',
    optimizer=dict(type=AdamW, lr=lr, betas=(0.9, 0.999)),
    clip_grad=dict(max_norm=-1, error_if_nonfinite=False),
)
train_cfg = dict(max_iters=1000, type='IterBasedTrainLoop')
custom = load_something('x')
"""


def values(text, name="train.yaml"):
    run = read_files({name: text}, ConfigFile())
    return {entry.key_in_source: entry.value for entry in run.config.entries}


def by_key(entries):
    return {entry.key: entry.value for entry in entries}


def test_a_deepspeed_configuration_keeps_its_spelling_its_lines_and_auto():
    run = read_files({"ds_config.json": DEEPSPEED})
    entries = {entry.key_in_source: entry for entry in run.config.entries}

    assert run.frameworks == {"deepspeed"}
    assert entries["train_micro_batch_size_per_gpu"].value == "auto"
    assert (entries["fp16.initial_scale_power"].value, entries["fp16.initial_scale_power"].ref.line) == (
        16,
        5,
    )
    assert (entries["zero_optimization.stage"].raw, entries["zero_optimization.stage"].ref.line) == ("2", 7)
    assert entries["optimizer.params.lr"].raw == "1e-4"
    assert run.config.value("train.adam_beta2") == 0.95
    assert run.config.value("fp16.enabled") is True
    assert "train.micro_batch_size" not in run.config


def test_every_entry_stands_on_the_line_that_holds_its_key():
    for name, text in (
        ("ds.json", DEEPSPEED),
        ("c.yaml", "a:\n\n  # note\n  learning_rate: 1e-5\n  b:\n  - fp16: true\n"),
    ):
        lines = text.split("\n")
        for entry in read_files({name: text}, ConfigFile()).config.entries:
            word = entry.key_in_source.rpartition(".")[2].partition("[")[0]
            assert word in lines[entry.ref.line - 1]


def test_yaml_words_are_read_as_meant_and_kept_as_written():
    text = "learning_rate: 1e-5\nfp16: off\nbf16: yes\ntime: 12:30:00\nmode: 0755\nn: 1_000\nx:\ns: '1e-5'\nlr: 5.e-4\nh: 0x1F\n"
    run = read_files({"train.yaml": text})

    assert values(text) == {
        "learning_rate": 1e-5,
        "fp16": False,
        "bf16": True,
        "time": "12:30:00",
        "mode": "0755",
        "n": 1000,
        "x": None,
        "s": "1e-5",
        "lr": 5e-4,
        "h": 31,
    }
    assert {e.key_in_source: e.raw for e in run.config.entries}["fp16"] == "off"


@pytest.mark.parametrize(
    ("text", "framework"),
    [
        ("base_model: x\nsequence_len: 2048\nmicro_batch_size: 2\nlearning_rate: 1e-5\n", "axolotl"),
        (
            "model_name_or_path: x\nfinetuning_type: lora\ncutoff_len: 1024\nlearning_rate: 1e-5\n",
            "llamafactory",
        ),
        ("per_device_train_batch_size: 4\nlearning_rate: 1e-5\n", "hf-trainer"),
        ("distributed_type: DEEPSPEED\nmixed_precision: fp16\n", "accelerate"),
        ("learning_rate: 1e-5\nmax_seq_length: 128\n", "config"),
    ],
)
def test_the_framework_is_known_by_the_keys_that_only_it_has(text, framework):
    run = read_files({"train.yaml": text})

    assert {entry.framework for entry in run.config.entries} == {framework}
    assert ("hf-trainer" in run.frameworks) == (framework in {"axolotl", "llamafactory", "hf-trainer"})


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("per_device_train_batch_size: 4\nfp16: true\ndeepspeed: ds_config.json\n", True),
        (
            "per_device_train_batch_size: 4\nfp16: true\ndeepspeed:\n  zero_optimization:\n    stage: 2\n",
            True,
        ),
        ("distributed_type: DEEPSPEED\nmixed_precision: fp16\n", True),
        ("per_device_train_batch_size: 4\nfp16: true\ndeepspeed: null\n", False),
    ],
)
def test_a_trainer_that_hands_its_steps_to_deepspeed_is_noticed(text, asked):
    assert ("deepspeed" in read_files({"train.yaml": text}).frameworks) == asked


def test_an_mmengine_configuration_is_read_without_running_it():
    run = read_files({"20260101_000000/config.py": MMENGINE})
    entries = {entry.key_in_source: entry for entry in run.config.entries}

    assert run.frameworks == {"mmengine"}
    assert run.config.value("amp.wrapper") == "AmpOptimWrapper"
    assert run.config.value("train.optimizer") == "AdamW"
    assert (entries["optim_wrapper.optimizer.lr"].value, entries["optim_wrapper.optimizer.lr"].ref.line) == (
        2e-4,
        1,
    )
    assert (
        entries["optim_wrapper.clip_grad.max_norm"].raw,
        entries["optim_wrapper.clip_grad.max_norm"].ref.line,
    ) == ("-1", 6)
    assert run.config.value("train.max_steps") == 1000
    assert "custom" not in entries


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("train.py", "import torch\n\ndef main():\n    learning_rate = 1e-4\n    max_steps = 5\n\nmain()\n"),
        ("train.log", "learning_rate: 1e-4\nmax_steps: 10\nfp16: true\n"),
        (
            "log.txt",
            '{\n  learningRate : 0.1\n}\njson_stats: {"dropout":0,"learning_rate":0.1,"max_steps":9,"train_loss":0.4}\n',
        ),
        (
            "wandb/run-1/files/config.yaml",
            "wandb_version: 1\n\nlearning_rate:\n  value: 1e-5\nfp16:\n  value: true\n",
        ),
        ("docker-compose.yaml", "services:\n  web:\n    image: x\n"),
        ("trace.json", '{"traceEvents": [], "optimizer": 1, "learning_rate": 1, "max_steps": 1}'),
        ("model.safetensors.index.json", '{"metadata": {}, "weight_map": {"lora_r": "x"}}'),
    ],
    ids=["script", "log", "table", "wandb", "compose", "trace", "index"],
)
def test_other_files_are_not_a_training_configuration(name, content):
    assert claimed_by(name, content) is None


@pytest.mark.parametrize("indent", [None, 2])
def test_settings_at_the_head_of_a_log_do_not_hide_what_follows(tmp_path, indent):
    head = json.dumps({"lr": 0.001, "batch_size": 32, "epochs": 6, "seed": 1}, indent=indent)
    rows = "\n".join(f"epoch: {i} Loss : {1 / (i + 1):.4f}" for i in range(6))
    (tmp_path / "log.txt").write_text(f"{head}\ntraining items: 40\n{rows}\n")
    run = analyzer.load(tmp_path)

    assert "loss" in run.metrics.names
    assert len(run.metrics) == 6


def test_a_repeated_key_is_noted_and_the_last_one_wins():
    for name, text in (
        ("t.yaml", "learning_rate: 1\nfp16: true\nlearning_rate: 2\n"),
        ("t.json", '{"fp16": 1,\n\n"fp16": 2}'),
    ):
        run = read_files({name: text}, ConfigFile())
        (gap,) = run.gaps
        assert gap.ref.line == 3
        assert run.config[canonical_key("config", gap.reason.split()[0])].value == 2


def test_anchors_and_merge_keys_give_their_values_where_they_are_used():
    text = "base: &b\n  lr: 1e-3\n  fp16: true\nrun:\n  <<: *b\n  lr: 2e-3\ncopy: *b\nrate: &r 5\nsame: *r\n"
    entries = {entry.key: entry for entry in read_yaml(text)}

    assert by_key(read_yaml(text))["run.lr"] == 2e-3
    assert (entries["run.fp16"].value, entries["run.fp16"].line) == (True, 3)
    assert entries["copy.lr"].value == 1e-3
    assert (entries["same"].value, entries["same"].line) == (5, 8)
    assert not any(entry.note for entry in entries.values())


def test_bombs_end_early():
    layers = "\n".join(f"k{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 30))
    for text in (
        "learning_rate: 1\nfp16: true\nk0: &a0 [1, 1]\n" + layers,
        "learning_rate: 1\nfp16: true\nk0: &a0 [[], []]\n" + layers,
        "learning_rate: 1\nfp16: true\nx: " + "[" * 100_000,
        "learning_rate: 1\nfp16: true\nx: &x [*x]",
        "learning_rate: 1\nfp16: true\n" + "".join(f"k{i}: 1\n" for i in range(60_000)),
        '{"learning_rate": 1, "fp16": true, "x": ' + '{"a":' * 100_000,
        '{"learning_rate": 1, "fp16": true, "x": ' + "9" * 10_000 + "}",
    ):
        run = read_files({"t.yaml": text}, ConfigFile())
        assert len(run.config.entries) <= 20_000
    for text in ("x = " + "-" * 100_000 + "1", "x = a" + ".a" * 100_000, "x = " + "(" * 1000):
        with pytest.raises(StructuredTextError):
            list(read_python(text))
    assert list(read_python("x = [" + "[" * 90 + "1" + "]" * 91)) == []


def test_yaml_tags_build_nothing():
    text = "learning_rate: 1e-5\nfp16: !!python/object/apply:os.system ['false']\nbetas: !!python/tuple [0.9, 0.95]\nbad: !x y\n"

    assert by_key(read_yaml(text)) == {"learning_rate": 1e-5, "betas[0]": 0.9, "betas[1]": 0.95}


def test_what_stands_before_a_damaged_place_is_kept():
    for name, text, line in (
        ("t.yaml", "learning_rate: 1e-5\nfp16: true\nbad: }\n", 3),
        ("t.json", '{"fp16": true,\n "lr": }', 2),
    ):
        run = read_files({name: text}, ConfigFile())
        assert run.config.value("fp16.enabled") is True
        assert run.gaps[0].ref.line == line


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("ds.json", DEEPSPEED),
        ("t.py", MMENGINE),
        ("t.yaml", "base: &b\n  lr: 1e-3\nrun:\n  <<: *b\n  fp16: [a, 'é', {x: !!int 1}]\n"),
    ],
)
def test_a_configuration_cut_at_any_byte_never_raises(name, text):
    for run in read_every_prefix(name, text.encode(), ConfigFile(), step=2):
        assert run.gaps or run.config.entries or len(run.sources) == 1


@given(st.text(alphabet="ab: -[]{}&*<!|>'\"#%\n\t,?0.1eE~é\0", max_size=120))
@settings(max_examples=150, deadline=None)
def test_any_text_is_survived_by_every_reader(text):
    for read in (read_json, read_yaml, read_python):
        with contextlib.suppress(StructuredTextError):
            list(read(text))


LEAVES = st.integers(-(10**12), 10**12) | st.floats(allow_nan=False, allow_infinity=False) | st.booleans()
WORDS = st.text(alphabet="bcdgkmpqvwz_", min_size=1, max_size=6).filter(lambda word: not word.startswith("_"))
TREES = st.recursive(
    st.dictionaries(WORDS, LEAVES | WORDS, min_size=1, max_size=4),
    lambda inner: st.dictionaries(WORDS, inner | LEAVES, min_size=1, max_size=3),
    max_leaves=10,
)


def flatten(tree, prefix=""):
    for key, value in tree.items():
        if isinstance(value, dict):
            yield from flatten(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


@given(TREES)
@settings(max_examples=80, deadline=None)
def test_json_and_yaml_agree_with_the_standard_readers(tree):
    wanted = dict(flatten(tree))

    assert by_key(read_json(json.dumps(tree, indent=1))) == wanted
    assert by_key(read_yaml(json.dumps(tree))) == wanted
    assert by_key(read_yaml(yaml.safe_dump(tree))) == wanted


@given(st.integers() | st.floats())
def test_the_number_grammar_reads_what_python_writes(number):
    word = str(number)
    if isinstance(number, int) or math.isfinite(number):
        assert config_scalar(word) == number or len(word) > 60
    else:
        assert config_scalar(word) == word
    logged = metric_number(word)
    assert logged == float(number) or (math.isnan(logged) and math.isnan(number))


@pytest.mark.parametrize(
    "word",
    [
        "1_",
        "_1",
        "1__0",
        "1e",
        "e5",
        "0x",
        "-",
        ".",
        "1.2.3",
        "2026-01-01",
        "nan",
        ".inf",
        "1e9999",
        "y",
        "None",
    ],
)
def test_words_that_are_no_numbers_stay_words(word):
    assert config_scalar(word) == word


@pytest.mark.parametrize(
    ("key", "canonical"),
    [
        ("model.optim.lr", "train.learning_rate"),
        ("deepspeed.zero_optimization.stage", "zero.stage"),
        ("deepspeed_config.zero_stage", "zero.stage"),
        ("train_dataset.max_length", None),
        ("trainer.max_steps", "train.max_steps"),
    ],
)
def test_a_section_around_a_known_key_does_not_hide_it(key, canonical):
    assert canonical_key("config", key) == canonical


def test_secrets_are_not_kept():
    run = read_files({"t.yaml": "learning_rate: 1e-5\nfp16: true\nhub_token: hf_abcdefghijklmnopqrstuv\n"})

    assert {e.key_in_source: e.value for e in run.config.entries}["hub_token"] == "***"


DETECTRON = """\
MODEL:
  MASK_ON: true
SOLVER:
  IMS_PER_BATCH: 4
  BASE_LR: 0.02
  MAX_ITER: 90000
"""


def test_a_configuration_of_detectron2_is_known_by_its_solver():
    run = read_files({"config.yaml": DETECTRON})

    assert run.frameworks == {"detectron2"}
    assert run.config["train.learning_rate"].value == 0.02
    assert run.config["train.global_batch_size"].value == 4


def test_a_script_of_detectron2_and_the_key_that_it_sets_in_vain():
    text = (
        "cfg = get_cfg()\ncfg.SOLVER.IMS_PER_BATCH = 2\ncfg.BASE_LR = 0.001\ntrainer = DefaultTrainer(cfg)\n"
    )
    run = read_files({"train.py": text})

    assert run.config["train.global_batch_size"].value == 2
    assert "train.learning_rate" not in run.config
    (event,) = run.events.of("config_key_unused")
    assert (event.fields["key"], event.fields["section"], event.ref.line) == ("BASE_LR", "SOLVER", 3)


def test_a_script_that_sets_the_key_in_its_section_too_is_well():
    run = read_files({"train.py": "cfg.SOLVER.BASE_LR = 0.02\ncfg.BASE_LR = 0.001\n"})

    assert run.config["train.learning_rate"].value == 0.02
    assert not run.events.of("config_key_unused")


_WORDS = [
    "a",
    "1e-5",
    "true",
    "null",
    "~",
    "-x",
    "--",
    "---",
    "...",
    ".",
    ".5",
    "1_000",
    "0x1F",
    "1:2",
    "'no'",
    "''",
    "''''",
    "[1]",
    "|",
    ">",
    "&",
    "*a",
    "=",
    "#c",
    "on",
    "/p/q",
    "+",
    "-.5",
    "a#b",
]
_STARTS = ["a: ", "b:", "y: ", "- ", "  - ", " - ", "-", "a:  ", "<<: ", "# ", "  "]
_ENDS = ["", " ", "  # why", "#c", ":", " 2", "\t", "\r"]
_LINE = st.tuples(st.sampled_from(_STARTS), st.sampled_from(_WORDS), st.sampled_from(_ENDS)).map("".join)


@given(
    lines=st.lists(_LINE | st.sampled_from(["", "a: 1", "b:", "- x", "  - 'x y'"]), min_size=1, max_size=6)
)
@settings(max_examples=400)
def test_what_is_read_without_the_parser_reads_as_the_parser_reads_it(lines):
    flat = structured_text._flat_yaml("\n".join(lines))
    if flat is not None:
        builder = structured_text._YamlBuilder()
        assert builder.build("\n".join(lines)) is None
        assert list(structured_text._Walk().entries("", 1, flat)) == list(
            structured_text._Walk().entries("", 1, builder.root)
        )


def test_a_flat_file_with_lists_needs_no_parser():
    text = "lr: 1e-5\nreport_to:\n- wandb\n- csv  # both\nsave: 'no'\n\nbetas:\n  - 0.9\n  - 0.95\n"

    assert structured_text._flat_yaml(text) is not None
    assert [(e.key, e.value, e.line) for e in read_yaml(text)] == [
        ("lr", 1e-5, 1),
        ("report_to", "wandb, csv", 2),
        ("save", "no", 5),
        ("betas[0]", 0.9, 8),
        ("betas[1]", 0.95, 9),
    ]
