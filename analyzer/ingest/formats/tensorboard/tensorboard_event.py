"""One TensorBoard ``Event`` message: scalars with their place in the bytes, texts, hparams, session marks.

Field numbers (``event.proto``, ``summary.proto``, ``tensor.proto``, stable since 2016)::

    Event    1 wall_time f64   2 step i64   3 file_version   5 Summary   7 SessionLog
    Summary  1 repeated Value
    Value    1 tag   2 simple_value f32   4 image   5 histo   6 audio   8 TensorProto   9 SummaryMetadata
    Metadata 1 plugin {1 name, 2 content}
    Tensor   1 dtype   2 shape   4 content   5 f32   6 f64   7 int   8 string   10 int64   11 bool
             13 half and bfloat16 bits   16 uint32   17 uint64

A version 1 scalar is ``simple_value``; a version 2 scalar is a tensor of one element. The places let
``tensorboard_templates`` read the next million alike without decoding them.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import numpy as np

from analyzer.ingest.encodings.protobuf_wire import BYTES, FIXED32, FIXED64, VARINT, signed, spans, varint
from analyzer.model.arrays import Values
from analyzer.record import dataclass, field

if TYPE_CHECKING:
    import numpy.typing as npt

MAX_TAG_BYTES = 1000
"""Bytes of a tag that are kept; the longest real ones (layer names of sharded models) have 200."""

_STRING = 7
_BFLOAT16 = 14
_HALF = 19
# TensorFlow's dtype number to the stored form of one element; bfloat16 has no NumPy form, see values_of.
_STORED = {
    1: "<f4", 2: "<f8", 3: "<i4", 4: "<u1", 5: "<i2", 6: "<i1", 9: "<i8", 10: "<u1", _BFLOAT16: "bfloat16",
    17: "<u2", _HALF: "<f2", 22: "<u4", 23: "<u8",
}  # fmt: skip
_UNPACK = {
    "<f4": struct.Struct("<f"), "<f8": struct.Struct("<d"), "<f2": struct.Struct("<e"), "<i4": struct.Struct("<i"),
    "<u1": struct.Struct("<B"), "<i2": struct.Struct("<h"), "<i1": struct.Struct("<b"), "<i8": struct.Struct("<q"),
    "<u2": struct.Struct("<H"), "<u4": struct.Struct("<I"), "<u8": struct.Struct("<Q"),
}  # fmt: skip
_VARINT_FIELDS = frozenset({7, 10, 11, 13, 16, 17})

# Plugins whose tensors are not scalars even if they hold one element.
_NOT_SCALARS = frozenset(
    {"histograms", "pr_curves", "images", "audio", "text", "hparams", "mesh", "debugger-v2", "custom_scalars"}
)


@dataclass(slots=True)
class Scalar:
    """One scalar of an event."""

    tag: str  # tag as logged
    value: float  # its value
    start: int  # offset of its bytes in the payload
    stored: str  # form of those bytes (see ``values_of``); empty if their number varies
    tag_start: int  # offset of the tag's bytes


@dataclass(slots=True)
class Event:
    """What an event says."""

    time_s: float = float("nan")  # wall time, unix seconds; NaN if absent
    time_start: int = -1  # offset of its eight bytes; -1 if absent
    step: int = 0  # step; 0 if absent, as in every reader of the format
    step_start: int = 0  # offset of the step's varint
    step_bytes: int = 0  # size of that varint; 0 if absent
    scalars: list[Scalar] = field(default_factory=list)  # scalars in order
    texts: list[tuple[str, str]] = field(default_factory=list)  # tag and UTF-8 text of string tensors
    hparams: list[memoryview] = field(default_factory=list)  # content of ``hparams`` plugin data
    session: int | None = None  # status of a session log (START 1, STOP 2, CHECKPOINT 3), or None
    other_values: int = 0  # histograms, images, audio and tensors of several elements
    # tags declared to be scalars whose tensor could not be understood
    unreadable_tags: list[str] = field(default_factory=list)

    @property
    def only_fixed_scalars(self) -> bool:
        """Whether nothing but the bytes of time, step and values can differ in an event of the same form."""
        return (
            self.time_start >= 0
            and bool(self.scalars)
            and all(scalar.stored for scalar in self.scalars)
            and not (self.texts or self.hparams or self.other_values or self.unreadable_tags)
            and self.session is None
        )


def values_of(column: npt.NDArray[np.generic], stored: str) -> Values:
    """Stored elements as float64, shape (n,); ``column`` holds ``uint16`` if ``stored`` is ``bfloat16``."""
    if stored == "bfloat16":
        return (column.astype(np.uint32) << np.uint32(16)).view(np.float32).astype(np.float64)
    with np.errstate(invalid="ignore"):  # converting a signalling NaN is no error here
        return column.astype(np.float64)


def stored_dtype(stored: str) -> np.dtype[np.generic]:
    """NumPy form of the bytes of one stored element."""
    return np.dtype("<u2" if stored == "bfloat16" else stored)


def text_of(raw: bytes | memoryview) -> str:
    r"""UTF-8 text; bytes that are not are kept visible as ``\xNN``."""
    return bytes(raw).decode("utf-8", "backslashreplace")


class EventDecoder:
    """Decodes the events of one file, in order.

    TensorBoard's writers may give a tag's plugin only with its first value, so it is remembered.
    """

    def __init__(self) -> None:
        self._plugins: dict[str, str] = {}

    def decode(self, payload: bytes) -> Event:
        """Decode one payload.

        Raises:
            WireError: It is not a protocol buffer message.
        """
        event = Event()
        for number, wire, start, stop in spans(payload, 0, len(payload)):
            if number == 1 and wire == FIXED64:
                event.time_s, event.time_start = number_at(payload, start, "<f8"), start
            elif number == 2 and wire == VARINT:
                event.step = signed(varint(payload, start)[0])
                event.step_start, event.step_bytes = start, stop - start
            elif number == 5 and wire == BYTES:
                for value_number, value_wire, value_start, value_stop in spans(payload, start, stop):
                    if value_number == 1 and value_wire == BYTES:
                        self._add_value(event, payload, value_start, value_stop)
            elif number == 7 and wire == BYTES:
                event.session = _session_status(payload, start, stop)
        return event

    def _add_value(self, event: Event, payload: bytes, start: int, stop: int) -> None:
        tag, tag_start, plugin, content = "", start, None, memoryview(b"")
        kind, kind_start, kind_stop = 0, 0, 0
        for number, wire, at, end in spans(payload, start, stop):
            if number == 1 and wire == BYTES:
                tag, tag_start = text_of(payload[at : min(end, at + MAX_TAG_BYTES)]), at
            elif number == 9 and wire == BYTES:
                plugin, content = _plugin(payload, at, end)
            elif (number, wire) in ((2, FIXED32), (4, BYTES), (5, BYTES), (6, BYTES), (8, BYTES)):
                kind, kind_start, kind_stop = number, at, end
        if plugin is None:
            plugin = self._plugins.get(tag, "")
        elif len(self._plugins) < 100_000:  # bounds memory on a file with a new tag in every event
            self._plugins[tag] = plugin
        if plugin == "hparams":
            event.hparams.append(content)
        elif kind == 2:
            value = number_at(payload, kind_start, "<f4")
            event.scalars.append(Scalar(tag, value, kind_start, "<f4", tag_start))
        elif kind == 8:
            dtype, elements, found = _tensor(payload, kind_start, kind_stop)
            if dtype == _STRING and plugin in ("", "text"):
                event.texts.extend(
                    (tag, text_of(payload[at:end])) for number, _, at, end in found if number == 8
                )
            elif dtype == _STRING or elements != 1 or plugin in _NOT_SCALARS:
                event.other_values += 1
            elif (element := _element(dtype, found, payload)) is not None:
                event.scalars.append(Scalar(tag, *element, tag_start))
            else:
                event.unreadable_tags.append(tag)
        elif kind:
            event.other_values += 1


def number_at(payload: bytes, start: int, stored: str) -> float:
    """The stored element at ``start``."""
    if stored == "bfloat16":
        return _bfloat16(payload[start] | payload[start + 1] << 8)
    return float(_UNPACK[stored].unpack_from(payload, start)[0])


def _bfloat16(bits: int) -> float:
    """The upper half of a float32."""
    value: float = _UNPACK["<f4"].unpack(struct.pack("<I", bits << 16))[0]
    return value


def _session_status(payload: bytes, start: int, stop: int) -> int:
    status = 0
    for number, wire, at, _ in spans(payload, start, stop):
        if number == 1 and wire == VARINT:
            status = varint(payload, at)[0]
    return status


def _plugin(payload: bytes, start: int, stop: int) -> tuple[str, memoryview]:
    name, content = "", memoryview(b"")
    for number, wire, at, end in spans(payload, start, stop):
        if number == 1 and wire == BYTES:
            for part, part_wire, part_at, part_end in spans(payload, at, end):
                if part == 1 and part_wire == BYTES:
                    name = text_of(payload[part_at : min(part_end, part_at + MAX_TAG_BYTES)])
                elif part == 2 and part_wire == BYTES:
                    content = memoryview(payload)[part_at:part_end]
    return name, content


def _tensor(payload: bytes, start: int, stop: int) -> tuple[int, int, list[tuple[int, int, int, int]]]:
    """Data type, number of elements, and the fields that hold values."""
    dtype, elements, found = 0, 1, []
    for number, wire, at, end in spans(payload, start, stop):
        if number == 1 and wire == VARINT:
            dtype = varint(payload, at)[0]
        elif number == 2 and wire == BYTES:
            elements = _elements(payload, at, end)
        elif number >= 4:
            found.append((number, wire, at, end))
    return dtype, elements, found


def _elements(payload: bytes, start: int, stop: int) -> int:
    """Product of the sizes in a tensor's shape; 1 for a shape without dimensions."""
    product = 1
    for number, wire, at, end in spans(payload, start, stop):
        if number == 2 and wire == BYTES:
            size = 0
            for part, part_wire, part_at, _ in spans(payload, at, end):
                if part == 1 and part_wire == VARINT:
                    size = signed(varint(payload, part_at)[0])
            product *= size
    return product


def _element(
    dtype: int, found: list[tuple[int, int, int, int]], payload: bytes
) -> tuple[float, int, str] | None:
    """Value, place and stored form of the one element of a tensor; None if its bytes do not say it."""
    stored = _STORED.get(dtype)
    if stored is None or len(found) != 1:
        return None
    number, wire, start, stop = found[0]
    size = stop - start
    fixed = (number == 4 and wire == BYTES and size == stored_dtype(stored).itemsize) or (
        (number, dtype, size) in ((5, 1, 4), (6, 2, 8)) and wire != VARINT
    )
    if fixed:
        return number_at(payload, start, stored), start, stored
    if number not in _VARINT_FIELDS or wire not in (VARINT, BYTES) or not size:
        return None
    bits, end = varint(payload, start)
    if end != stop:
        return None
    if dtype in (_HALF, _BFLOAT16):
        bits &= 0xFFFF
        value = _bfloat16(bits) if dtype == _BFLOAT16 else number_at(struct.pack("<H", bits), 0, stored)
    else:
        value = float(bits if dtype in (22, 23) else signed(bits))
    return value, start, ""
