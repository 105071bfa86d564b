"""Members of a large object come one by one, whatever the blocks, and a cut loses only what follows it."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyzer.ingest.encodings.json_stream import MAX_MEMBER_CHARACTERS, JsonStreamError, members

DOCUMENT = {
    "task": "statistics",
    "data": {"a.b": {"x": [1, 2.5, None, {"é": '"}{\\'}]}, "c": {}, "n": -7, "t": True},
    "after": [1],
}
FLAT = [
    ("task", "statistics", False),
    *((k, v, True) for k, v in DOCUMENT["data"].items()),
    ("after", [1], False),
]


def blocks(text: bytes, size: int):
    return [text[i : i + size] for i in range(0, len(text), size)]


@given(st.integers(1, 40), st.sampled_from([None, 1]), st.booleans())
def test_any_block_size_gives_the_same_members(size, indent, ascii_only):
    text = json.dumps(DOCUMENT, indent=indent, ensure_ascii=ascii_only).encode()
    assert [tuple(member[:3]) for member in members(blocks(text, size), "data")] == FLAT


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_each_member_knows_its_line(size):
    text = b'{\n"task": 1,\n\n"data": {"a": {\n"x": 1},\n"b": 2}}'
    assert [(m.key, m.line) for m in members(blocks(text, size), "data")] == [("task", 2), ("a", 4), ("b", 6)]


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize("number", ["1.5e+16", "-1E-7", "12", "0.25", "-0"])
def test_a_number_that_is_cut_anywhere_is_read_whole(number):
    text = f'{{"data": {{"a": {number}}}}}'.encode()
    for cut in range(len(text)):
        assert [m.value for m in members([text[:cut], text[cut:]], "data")] == [json.loads(number)]


@given(st.dictionaries(st.text(max_size=5), values, max_size=6), st.integers(1, 17))
def test_the_standard_parser_agrees(data, size):
    text = json.dumps({"data": data}).encode()
    assert {member.key: member.value for member in members(blocks(text, size), "data")} == json.loads(text)[
        "data"
    ]


def test_a_cut_at_every_byte_gives_a_prefix_and_says_that_something_is_missing():
    text = json.dumps(DOCUMENT).encode()
    for cut in range(len(text)):
        found = []
        with pytest.raises(JsonStreamError):
            found.extend(iter_into(found, members(blocks(text[:cut], 11), "data")))
        assert found == FLAT[: len(found)]


def iter_into(found, source):
    for item in source:
        found.append(tuple(item[:3]))
    return ()


@pytest.mark.parametrize(
    "text",
    [b"", b"[1]", b"{1:2}", b'{"data": {"a" 1}}', b'{"data": {"a": }}', b'{"data": {"a": 1,}}', b'{"data": {"a": 1} "b"}', b"\xff\xfe{"],
)  # fmt: skip
def test_what_is_no_json_is_an_error_and_nothing_worse(text):
    with pytest.raises(JsonStreamError):
        list(members([text], "data"))


def test_depth_size_and_digits_are_bounded():
    with pytest.raises(JsonStreamError, match="deep"):
        list(members([b'{"data": {"a": ' + b"[" * 200_000], "data"))
    with pytest.raises(JsonStreamError, match="characters"):
        list(members([b'{"data": {"a": "' + b"x" * (2 * MAX_MEMBER_CHARACTERS + 9), b'y"'], "data"))
    digits = b"9" * 100_000
    text = b'{"data": {"a": -' + digits + b', "b": 2}}'
    found = {member.key: member.value for member in members([text], "data")}
    assert found == {"a": -math.inf, "b": 2}


def test_an_endless_text_costs_bounded_memory():
    read = 0

    def endless():
        nonlocal read
        yield b'{"data": {"a": "'
        while True:
            read += 1 << 20
            yield b"x" * (1 << 20)

    with pytest.raises(JsonStreamError):
        list(members(endless(), "data"))
    assert read < 5 * MAX_MEMBER_CHARACTERS
