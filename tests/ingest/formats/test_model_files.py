import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from structured_reading import claimed_by, read_every_prefix, read_files

from analyzer.ingest.formats.checkpoints.model_files import ModelFiles

MODEL = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "vocab_size": 64000,
    "num_hidden_layers": 32,
}
TEMPLATE = "{% for m in messages %}{{'<|im_start|>' + m['role'] + m['content'] + '<|im_end|>'}}{% endfor %}"
ADDED = [
    {"id": 0, "content": "<unk>", "special": True},
    {"id": 1, "content": "<s>", "special": True},
    {"id": 2, "content": "</s>", "special": True},
    {"id": 6, "content": "<|im_start|>", "special": True},
    {"id": 7, "content": "<|im_end|>", "special": True},
    {"id": 9, "content": "<tool>", "special": False},
]
TOKENIZER = {
    "version": "1.0",
    "truncation": None,
    "added_tokens": ADDED,
    "model": {"type": "BPE", "vocab": {"a": 3, "b": 5}, "merges": ["a b"]},
}
SETTINGS = {
    "bos_token": {"content": "<s>", "lstrip": False},
    "chat_template": TEMPLATE,
    "eos_token": "</s>",
    "pad_token": None,
    "padding_side": "left",
    "tokenizer_class": "LlamaTokenizer",
    "unk_token": "<unk>",
}


def dump(content):
    return json.dumps(content, indent=2)


def said(run, framework):
    return {e.key_in_source: e.value for e in run.config.entries if e.framework == framework}


def test_a_model_states_its_dtype_and_sizes_on_the_lines_of_its_file():
    run = read_files({"model/config.json": dump({**MODEL, "torch_dtype": "bfloat16"})})

    assert run.config.value("model.native_dtype") == "bfloat16"
    assert run.config["model.native_dtype"].ref.line == 8
    assert run.config.value("model.layers") == 32


def test_a_model_of_several_parts_has_its_sizes_in_text_config():
    text = {
        "dtype": "bfloat16",
        "vocab_size": 262208,
        "num_hidden_layers": 34,
        "rope_scaling": {"factor": 8.0},
    }
    run = read_files(
        {
            "config.json": dump(
                {"model_type": "gemma3", "text_config": text, "vision_config": {"dtype": "float32"}}
            )
        }
    )

    assert run.config.value("model.native_dtype") == "bfloat16"
    assert run.config.value("model.vocab_size") == 262208
    assert not any("vision" in key or "rope" in key for key in said(run, "model"))


def test_the_dtype_in_a_checkpoint_of_the_run_is_not_the_one_the_model_was_published_in():
    files = {
        "base/config.json": dump({**MODEL, "dtype": "bfloat16"}),
        "out/checkpoint-500/config.json": dump({**MODEL, "dtype": "float32"}),
    }
    run = read_files(files)

    assert run.config.value("model.native_dtype") == "bfloat16"
    assert not run.config["model.native_dtype"].conflicts
    assert said(run, "checkpoint") == {"dtype": "float32"}


def test_the_tokenizer_files_together_tell_added_tokens_template_roles_and_size():
    run = read_files({"m/tokenizer.json": dump(TOKENIZER), "m/tokenizer_config.json": dump(SETTINGS)})

    assert said(run, "tokenizer") == {
        "added_tokens": 2,
        "vocab_size": 10,
        "padding_side": "left",
        "tokenizer_class": "LlamaTokenizer",
        "bos_token": "<s>",
        "eos_token": "</s>",
        "unk_token": "<unk>",
        "pad_token": None,
        "chat_template": "present",
        "chat_template_tokens": "<|im_end|>, <|im_start|>",
    }
    assert run.config["tokenizer.added_tokens"].conflicts == ()
    assert run.config["tokenizer.pad_token"].ref.line == 8


def test_a_role_that_no_file_mentions_is_unknown_and_not_missing():
    run = read_files({"tokenizer_config.json": '{"tokenizer_class": "X", "eos_token": "</s>"}'})

    assert "tokenizer.pad_token" not in run.config
    assert "tokenizer.chat_template" not in run.config


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("chat_template.jinja", TEMPLATE),
        ("chat_template.json", json.dumps({"chat_template": TEMPLATE})),
        ("tokenizer_config.json", json.dumps({"chat_template": [{"name": "default", "template": TEMPLATE}]})),
    ],
)
def test_the_template_may_stand_in_three_places(name, content):
    run = read_files({f"m/{name}": content})

    assert said(run, "tokenizer")["chat_template_tokens"] == "<|im_end|>, <|im_start|>"


def test_a_template_of_plain_words_uses_no_special_token():
    run = read_files({"chat_template.jinja": "{{ '### User: ' + content }}"})

    assert said(run, "tokenizer") == {"chat_template": "present", "chat_template_tokens": ""}


def test_the_decoder_of_an_older_tokenizer_counts_too():
    decoder = {str(t["id"]): {"content": t["content"], "special": t["special"]} for t in ADDED}
    run = read_files({"tokenizer_config.json": dump({**SETTINGS, "added_tokens_decoder": decoder})})

    assert run.config.value("tokenizer.added_tokens") == 2


def test_an_adapter_has_keys_of_its_own():
    content = {
        "peft_type": "LORA",
        "r": 8,
        "lora_alpha": 16,
        "target_modules": ["q_proj", "v_proj"],
        "base_model_name_or_path": "x/y",
    }
    run = read_files({"out/adapter_config.json": dump(content)})

    assert (run.config.value("lora.r"), run.config.value("model.name")) == (8, "x/y")
    assert said(run, "adapter")["target_modules"] == "q_proj, v_proj"


def test_a_generation_setting_is_not_a_training_setting():
    run = read_files(
        {"generation_config.json": dump({"max_length": 4096, "eos_token_id": 2, "_from_model_config": True})}
    )

    assert len(run.config) == 0


def test_a_link_out_of_the_run_is_not_followed(tmp_path):
    from structured_reading import read_directory

    outside, inside = tmp_path / "outside", tmp_path / "run"
    outside.mkdir()
    inside.mkdir()
    (outside / "tokenizer.json").write_text(dump(TOKENIZER))
    (inside / "tokenizer_config.json").write_text(dump({"tokenizer_class": "X", "pad_token": None}))
    (inside / "tokenizer.json").symlink_to(outside / "tokenizer.json")
    (inside / "config.json").write_text("{}")
    run = read_directory(inside, ModelFiles())

    assert "tokenizer.added_tokens" not in run.config


def test_a_damaged_tokenizer_is_a_gap():
    run = read_files({"tokenizer.json": dump(TOKENIZER)[:200]})

    assert len(run.gaps) == 1
    assert not run.config.entries


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("config.json", '{"learning_rate": 1e-4, "fp16": true}'),
        ("a.json", '{"vocab_size": 3}'),
        ("chat.jinja", "x"),
        ("config.json", "[1]"),
    ],
)
def test_other_json_is_not_a_model(name, content):
    assert claimed_by(name, content) != "model-files"


@pytest.mark.parametrize(
    ("name", "content"),
    [("config.json", MODEL), ("tokenizer_config.json", SETTINGS), ("tokenizer.json", TOKENIZER)],
)
def test_a_file_cut_at_any_byte_never_raises(name, content):
    for run in read_every_prefix(name, json.dumps(content).encode(), ModelFiles(), step=3):
        assert run.gaps


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)


@given(
    JSON,
    st.sampled_from([*SETTINGS, *TOKENIZER, "added_tokens_decoder", "extra_special_tokens", "text_config"]),
)
@settings(max_examples=60, deadline=None)
def test_any_value_under_any_key_is_survived(value, key):
    content = json.dumps({"tokenizer_class": "X", key: value})
    nested = json.dumps(
        {"version": "1.0", "truncation": None, "added_tokens": [value], "model": {"vocab": value}}
    )
    names = (
        "config.json",
        "tokenizer_config.json",
        "special_tokens_map.json",
        "added_tokens.json",
        "chat_template.json",
    )
    read_files({**dict.fromkeys(names, content), "tokenizer.json": nested}, ModelFiles())
