"""The items of ``.wandb`` records, a key and a JSON value each, decoded one by one.

History, summary, configuration and system records all hold the same kind of item::

    0a 1b                                     item (field 1; field 3 in system records), 27 bytes
       12 0a 74 72 61 69 6e 2f 6c 6f 73 73    nested_key "train/loss" (older writers: 0a, key)
       82 01 0c 32 2e 30 …                    value_json "2.0…", always decimal text, NaN and Infinity bare

Not for a long history: see ``wandb_columns``, which gives the same points with array operations.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from typing import Any

from analyzer.ingest.encodings.protobuf_wire import fields, signed
from analyzer.ingest.scalar_text import metric_value
from analyzer.lazy_regex import LazyRegex

MAX_VALUE_BYTES = 1 << 20
"""Longest value decoded. Numbers and configuration values are short; longer ones are tables and media."""

MAX_DEPTH = 16
"""Levels of nested dicts that are walked; the deepest real configuration (a model's own) has 5."""

NUMBER_BYTES = 24
"""Length of "-1.7976931348623157e+308"; no shortest decimal text of a float64 is longer."""

NUMBER_STARTS = b"-0123456789NI"
"""First bytes of numbers, bare NaN and Infinity."""

_NOT_FINITE = LazyRegex(r"(?i)[-+]?(?:nan|inf(?:inity)?)")


def decode_value(text: bytes | memoryview) -> Any:
    """The value that a JSON text stands for; None for one that is too long or is not JSON.

    >>> decode_value(b'{"a": NaN}'), decode_value(b"[1, 2")
    ({'a': nan}, None)
    """
    if len(text) > MAX_VALUE_BYTES:
        return None
    try:
        return json.loads(bytes(text))
    except (ValueError, RecursionError):
        return None


def read_item(item: bytes | memoryview) -> tuple[tuple[str, ...], bytes]:
    """Keys and JSON text of one item; the text is empty if there is none.

    Raises:
        WireError: The bytes are not a message.
    """
    keys: list[str] = []
    value = b""
    for number, _, part in fields(item):
        if isinstance(part, int):
            # Typed values, which the schema has beside the text: 4 is a bool, 5 a zigzag integer.
            if number in (4, 5):
                value = json.dumps(bool(part) if number == 4 else (part >> 1) ^ -(part & 1)).encode()
        elif number in (1, 2):
            keys.append(str(part, "utf-8", "replace"))
        elif number in (8, 16):
            value = bytes(part)
        elif number == 6 and len(part) == 8:
            value = json.dumps(struct.unpack("<d", part)[0]).encode()
        elif number == 7:
            value = json.dumps(str(part, "utf-8", "replace")).encode()
    return tuple(keys), value


def items(payload: bytes | memoryview, field: int) -> Iterator[tuple[tuple[str, ...], bytes]]:
    """Keys and JSON text of each item in a record.

    Raises:
        WireError: The record is damaged; the items before that place were given.
    """
    for number, _, part in fields(payload):
        if number == field and not isinstance(part, int):
            yield read_item(part)


def numbers_in(name: str, value: Any, depth: int = 0) -> Iterator[tuple[str, float]]:
    """Dotted names and numbers of a decoded value.

    Booleans, lists, media and histograms (objects with a ``_type``) have none. A text counts only if it
    spells NaN or infinity, as the server stores them.

    >>> list(numbers_in("n", {"x": 1, "y": {"z": "NaN"}, "s": "7", "h": {"_type": "histogram", "size": 2}}))
    [('n.x', 1.0), ('n.y.z', nan)]
    """
    if isinstance(value, dict):
        if "_type" not in value and depth < MAX_DEPTH:
            for key, inner in value.items():
                yield from numbers_in(f"{name}.{key}", inner, depth + 1)
        return
    if isinstance(value, str) and not (len(value) < 16 and _NOT_FINITE.fullmatch(value)):
        return
    number = metric_value(value)
    if number is not None:
        yield name, number


def logged_numbers(name: str, text: bytes) -> Iterator[tuple[str, float]]:
    """Dotted names and numbers of the JSON text of a logged value.

    >>> list(logged_numbers("loss", b"-Infinity")), list(logged_numbers("ok", b"true"))
    ([('loss', -inf)], [])
    """
    if 0 < len(text) <= NUMBER_BYTES and text[0] in NUMBER_STARTS:
        try:
            yield name, float(text)
        except ValueError:
            return
    else:
        yield from numbers_in(name, decode_value(text))


def timestamp(message: bytes | memoryview) -> float:
    """Unix seconds of a ``google.protobuf.Timestamp``: whole seconds and nanoseconds.

    Raises:
        WireError: The bytes are not a message.
    """
    parts = {number: signed(part) for number, _, part in fields(message) if isinstance(part, int)}
    return parts.get(1, 0) + parts.get(2, 0) / 1e9
