"""A capsule may come from anybody: its header is data, and hostile ones are refused with one line."""

import json
import struct

import pytest

from analyzer.errors import InputError
from analyzer.replay.capsule_header import FILES, SCHEMA, read_header, tree_of, value_of

GOOD = {
    "schema": SCHEMA,
    "step": 7,
    "loss_scale": 65536.0,
    "autocast": "float16",
    "training": True,
    "device": "cpu",
    "module": "Net",
    "batch": {"args": {"tuple": [{"tensor": "t0"}]}, "kwargs": {"dict": {}}},
}


def capsule(tmp_path, text=None, **changed):
    for name in FILES:
        (tmp_path / name).write_bytes(struct.pack("<Q", 2) + b"{}")
    (tmp_path / "capsule.json").write_text(json.dumps({**GOOD, **changed}) if text is None else text)
    return tmp_path


def test_a_header_is_read(tmp_path):
    header = read_header(capsule(tmp_path))

    assert (header.step, header.loss_scale, header.autocast, header.module) == (7, 65536.0, "float16", "Net")


@pytest.mark.parametrize(
    "changed",
    [
        {"schema": "analyzer-capsule/9"},
        {"loss_scale": -1.0},
        {"loss_scale": "1e9"},
        {"autocast": "__import__('os')"},
        {"step": "seven"},
        {"batch": []},
        {"batch": {"args": {}}},
        {"aliases": ["a"]},
    ],
)
def test_a_malformed_header_is_refused(tmp_path, changed):
    with pytest.raises(InputError, match=r"capsule\.json"):
        read_header(capsule(tmp_path, **changed))


@pytest.mark.parametrize("text", ["", "[" * 100_000, "[]", '{"schema": ' + "9" * 5000 + "}", "\x00\x01"])
def test_what_is_no_json_object_is_refused(tmp_path, text):
    with pytest.raises(InputError):
        read_header(capsule(tmp_path, text))


def test_a_batch_nested_beyond_reason_is_refused(tmp_path):
    batch = {"value": 1}
    for _ in range(200):
        batch = {"list": [batch]}

    with pytest.raises(InputError, match="too deep"):
        read_header(capsule(tmp_path, batch={"args": batch, "kwargs": {"dict": {}}}))


def test_a_tensor_file_that_claims_a_huge_header_is_refused(tmp_path):
    place = capsule(tmp_path)
    (place / FILES[0]).write_bytes(struct.pack("<Q", 2**62) + b"{}")

    with pytest.raises(InputError, match="damaged"):
        read_header(place)


def test_links_out_of_the_directory_are_not_followed(tmp_path):
    place = tmp_path / "capsule"
    place.mkdir()
    capsule(place)
    (tmp_path / "secret").write_bytes(struct.pack("<Q", 2) + b"{}")
    (place / FILES[1]).unlink()
    (place / FILES[1]).symlink_to(tmp_path / "secret")

    with pytest.raises(InputError, match="plain file"):
        read_header(place)


def test_a_pickle_is_never_looked_at(tmp_path):
    place = capsule(tmp_path)
    (place / FILES[2]).write_bytes(b"\x80\x04cos\nsystem\n(S'true'\ntR.")

    with pytest.raises(InputError, match="no safetensors"):
        read_header(place)


def test_a_batch_survives_its_tree_and_what_is_no_data_is_left_out():
    kept = {}
    batch = {"ids": b"tensor", "mask": None, "more": [1, (2.5, "x")], "cache": object()}

    tree = json.loads(json.dumps(tree_of(batch, kept, lambda value: isinstance(value, bytes))))

    assert value_of(tree, kept) == {"ids": b"tensor", "mask": None, "more": [1, (2.5, "x")], "cache": None}


@pytest.mark.parametrize(
    "tree", [None, {}, {"tensor": "t9"}, {"call": "os.system"}, {"value": []}, {"a": 1, "b": 2}]
)
def test_a_forged_tree_is_refused(tree):
    with pytest.raises(InputError):
        value_of(tree, {"t0": 1})
