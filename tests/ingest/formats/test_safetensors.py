import json
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from structured_reading import claimed_by, read_every_prefix, read_files

from analyzer.ingest.formats.checkpoints import safetensors
from analyzer.ingest.formats.checkpoints.safetensors import STORED_TYPES, Safetensors, row_rms

NAMES = {
    np.dtype("f4"): "F32",
    np.dtype("f2"): "F16",
    np.dtype("f8"): "F64",
    np.dtype("i8"): "I64",
    np.dtype("u1"): "U8",
}
TOKENIZER = json.dumps(
    {
        "version": "1.0",
        "added_tokens": [
            {"id": index, "content": text, "special": True}
            for index, text in enumerate(
                ["<pad>", "<s>", "</s>", "<|im_start|>", "<|im_end|>", "<|reserved_0|>"]
            )
        ],
        "model": {"vocab": {}},
    }
)
SETTINGS = json.dumps({"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>", "tokenizer_class": "X"})
TEMPLATE = "{{ '<|im_start|>' + content + '<|im_end|>' }}"
MODEL = {"tokenizer.json": TOKENIZER, "tokenizer_config.json": SETTINGS, "chat_template.jinja": TEMPLATE}


def stored(arrays, bf16=()):
    """A safetensors file of arrays; those named in ``bf16`` are cut to bfloat16."""
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for name, array in arrays.items():
        kind = NAMES[array.dtype]
        raw = array.tobytes()
        if name in bf16:
            kind, raw = "BF16", (array.view(np.uint32) >> 16).astype(np.uint16).tobytes()
        header[name] = {
            "dtype": kind,
            "shape": list(array.shape),
            "data_offsets": [len(data), len(data) + len(raw)],
        }
        data += raw
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def embedding(rows=100, width=16, dtype=np.float32):
    return np.random.default_rng(0).normal(0, 0.02, (rows, width)).astype(dtype)


def tensors(run):
    return {tensor.name: tensor for tensor in run.tensors}


@pytest.mark.parametrize(
    ("dtype", "name"), [(np.float32, "float32"), (np.float16, "float16"), (np.float64, "float64")]
)
def test_row_sizes_of_the_template_tokens_and_of_ordinary_rows(dtype, name):
    weights = embedding(dtype=dtype)
    weights[3] = 1e-6
    run = read_files({**MODEL, "model.safetensors": stored({"model.embed_tokens.weight": weights})})
    (found,) = run.tensors
    sizes = np.sqrt((weights.astype(np.float64) ** 2).mean(axis=1))

    assert (found.dtype, found.shape, found.nonfinite) == (name, (100, 16), 0)
    assert found.row_names == {2: "</s>", 3: "<|im_start|>", 4: "<|im_end|>"}
    assert found.row_rms == pytest.approx({row: sizes[row] for row in (2, 3, 4)}, rel=1e-12)
    assert found.median_row_rms == pytest.approx(np.median(sizes[6:]), rel=1e-12)


def test_bfloat16_rows_far_below_the_smallest_half_precision_number_are_not_zero():
    weights = embedding()
    weights[3] = 1e-30
    run = read_files(
        {
            **MODEL,
            "m.safetensors": stored({"transformer.wte.weight": weights}, bf16={"transformer.wte.weight"}),
        }
    )

    assert run.tensors[0].dtype == "bfloat16"
    assert run.tensors[0].row_rms[3] == pytest.approx(1e-30, rel=0.01)


def test_a_pad_row_of_zeros_and_reserved_rows_are_not_untrained_rows():
    weights = embedding()
    weights[[0, 5]] = 0
    files = {**MODEL, "m.safetensors": stored({"model.embed_tokens.weight": weights})}
    without_template = {name: text for name, text in files.items() if name != "chat_template.jinja"}
    pad_is_eos = {**files, "tokenizer_config.json": SETTINGS.replace("</s>", "<pad>")}

    assert set(read_files(files).tensors[0].row_rms) == {2, 3, 4}
    assert set(read_files(without_template).tensors[0].row_rms) == {2, 3, 4}
    assert set(read_files(pad_is_eos).tensors[0].row_rms) == {3, 4}


def test_a_zero_row_of_a_chat_token_is_told():
    weights = embedding(dtype=np.float16)
    weights[3] = 0
    run = read_files({**MODEL, "m.safetensors": stored({"model.embed_tokens.weight": weights})})

    assert run.tensors[0].row_rms[3] == 0.0


def test_without_tokenizer_files_the_rows_stay_unknown_and_that_is_said():
    run = read_files({"m.safetensors": stored({"model.embed_tokens.weight": embedding()})})

    assert run.tensors[0].row_rms == {}
    assert run.tensors[0].median_row_rms is not None
    assert "no special token's row" in run.gaps[0].reason


def test_tokens_without_an_id_are_named_in_a_gap():
    settings_only = {
        "tokenizer_config.json": '{"tokenizer_class": "X", "additional_special_tokens": ["<|im_start|>"]}'
    }
    run = read_files({**settings_only, "m.safetensors": stored({"model.embed_tokens.weight": embedding()})})

    assert "<|im_start|>" in run.gaps[0].reason


def test_nonfinite_weights_are_counted_in_every_float_type():
    for dtype in (np.float16, np.float32, np.float64):
        array = np.ones((8, 8), dtype)
        array[0, :3] = [np.nan, np.inf, -np.inf]
        run = read_files({"m.safetensors": stored({"lm_head.weight": array, "ids": np.arange(3)})})
        assert (tensors(run)["lm_head.weight"].nonfinite, tensors(run)["ids"].nonfinite) == (3, 0)
    array = np.ones((4, 4), np.float32)
    array[1] = np.nan
    run = read_files(
        {**MODEL, "m.safetensors": stored({"wte.weight": array, "x": array}, bf16={"x", "wte.weight"})}
    )

    assert (tensors(run)["wte.weight"].nonfinite, tensors(run)["x"].nonfinite) == (4, 4)


def test_what_was_not_searched_is_said(monkeypatch):
    monkeypatch.setattr(safetensors, "OTHER_BYTES", 1 << 20)
    poisoned = np.full(1 << 20, np.nan, np.float32)
    run = read_files({"m.safetensors": stored({"a": poisoned, "b": np.zeros(8, np.float32)})})

    assert 0 < tensors(run)["a"].nonfinite < poisoned.size
    assert "3 of 4 MiB" in run.gaps[0].reason


def test_of_a_huge_embedding_spaced_rows_are_read_and_every_special_row(monkeypatch):
    monkeypatch.setattr(safetensors, "EMBEDDING_BYTES", 1 << 12)
    monkeypatch.setattr(safetensors, "BLOCK_BYTES", 1 << 8)
    weights = embedding(rows=4096)
    weights[4090] = 1e-6
    tokens = json.dumps(
        {"added_tokens": [{"id": 4090, "content": "<|x|>", "special": True}], "version": "1", "model": {}}
    )
    run = read_files({"tokenizer.json": tokens, "m.safetensors": stored({"tok_embeddings.weight": weights})})

    assert run.tensors[0].row_rms == pytest.approx({4090: 1e-6})
    assert run.tensors[0].median_row_rms == pytest.approx(0.02, rel=0.1)


def entry(**changes):
    return {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16], **changes}


@pytest.mark.parametrize(
    "bad",
    [
        entry(dtype="F99"),
        entry(shape=[2, -2]),
        entry(shape=[2, 3]),
        entry(shape=[2, True]),
        entry(data_offsets=[16, 0]),
        entry(data_offsets=[0, 10**30]),
        entry(shape=[2**40, 2**40]),
        entry(shape="x"),
        entry(data_offsets=[8, 24]),
        7,
    ],
)
def test_a_header_that_contradicts_itself_costs_that_tensor_only(bad):
    text = json.dumps({"bad": bad, "good": entry()}).encode()
    run = read_files({"m.safetensors": struct.pack("<Q", len(text)) + text + bytes(16)})

    assert [tensor.name for tensor in run.tensors] == ["good"]
    assert [gap.rows_lost for gap in run.gaps] == [1]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x00" * 8,
        struct.pack("<Q", 2**63) + b"{}",
        struct.pack("<Q", 10**6) + b"[" * 10**6,
        struct.pack("<Q", 2) + b"[]",
        struct.pack("<Q", 4) + b"{}  ",
    ],
)
def test_a_broken_file_is_a_gap_or_nothing(content):
    run = read_files({"m.safetensors": content}, Safetensors())

    assert not run.tensors


def test_a_checkpoint_cut_at_any_byte_never_raises_and_says_what_is_missing():
    content = stored({"embed_tokens.weight": embedding(rows=6, width=2), "x": np.ones(3, np.float16)})
    for run in read_every_prefix("m.safetensors", content, Safetensors()):
        assert run.gaps
        assert len(run.tensors) < 2


@given(st.binary(max_size=64), st.integers(0, 80))
@settings(max_examples=80, deadline=None)
def test_any_bytes_are_survived(noise, length):
    read_files(
        {"m.safetensors": struct.pack("<Q", length) + noise, "a.safetensors": noise or b"x"}, Safetensors()
    )


def test_a_checkpoint_is_known_by_its_content_or_its_extension():
    assert claimed_by("weights", stored({"x": np.ones(3, np.float32)})) == "safetensors"
    assert claimed_by("model.safetensors", b"version https://git-lfs") == "safetensors"
    assert claimed_by("other", b"\x10\0\0\0\0\0\0\0{not a header}") is None


def test_signalling_nans_of_damaged_weights_are_counted_without_a_warning():
    data = struct.pack("<4I", 0x7F800001, 0x3F800000, 0xFFBFFFFF, 0x7F7FFFFF)
    sizes, bad = row_rms(data, STORED_TYPES["F32"], 2)

    assert bad == 2
    assert sizes[0] == 1.0
