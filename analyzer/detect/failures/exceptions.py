"""The exception that ended a run: its type, message and place, and whether anything more specific is known of it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from analyzer.detect.base import Detector, FactWriter, RunView, event_refs
from analyzer.detect.failures.failure_order import Failure
from analyzer.detect.failures.first_failure import order_of
from analyzer.model.signal import Signal
from analyzer.model.tables import Event

PLAIN = frozenset(
    {
        "python_traceback",
        "module_missing",
        "dataloader_worker_exception",
        "weights_only_refused",
        "index_out_of_range",
        "too_many_open_files",
    }
)
"""Kinds that say no more than the exception itself; an index outside a table of the model says more."""

MISUSE = re.compile(
    r"shapes? .{0,80}(?:cannot be multiplied|is invalid for input|do(?:es)? not match|mismatch)|size mismatch|sizes? of tensors? .{0,60}must match"
    r"|The expanded size of the tensor|expected (?:scalar type|m1 and m2|input|object|self|a |an |\d)|Expected (?:all tensors|input|object|tensor|\d|hidden)"
    r"|should (?:be|have) the same (?:dtype|type|device)|must (?:be|have) the same (?:dtype|device|shape|size)|is out of bounds|out of range"
    r"|view size is not compatible|does not require grad|backward through the graph a second time|modified by an inplace operation"
    r"|Given groups=|Calculated padded input size|mat1 and mat2|batch1|must be real number|can't (?:convert|assign|optimize)|Can't call numpy"
    r"|not implemented for '|only batches of spatial targets|Boolean value of Tensor|invalid argument|not supported between|has no attribute",
)
"""How PyTorch refuses arguments: a mistake of the calling code, whatever the type of the exception."""

MESSAGE = 200
"""Characters of a message that fit a headline."""


def detect(view: RunView) -> Iterator[Signal]:
    """Facts ``exception.*``."""
    seen = view.events("python_traceback")
    if not seen:
        return
    tracebacks = [event for event in seen if event.role == "root_candidate"]
    out = FactWriter("exceptions", "exception.")
    out.put("own", bool(tracebacks), event_refs(tracebacks or seen[:1]))
    if tracebacks:
        _speak(view, tracebacks, out)
    yield out.signal()


def _speak(view: RunView, tracebacks: Sequence[Event], out: FactWriter) -> None:
    """Facts about the exception that ended the run, or the last one if training survived all."""
    order = order_of(view)
    fatal = _of(order.first) or next((event for failure in order.roots if (event := _of(failure))), None)
    out.put("ended_run", fatal is not None, [(fatal or tracebacks[-1]).ref])
    speaker = fatal or tracebacks[-1]
    for name in ("exception", "phase"):
        out.put({"exception": "type"}.get(name, name), speaker.fields.get(name), [speaker.ref])
    message = speaker.fields.get("message")
    if isinstance(message, str):
        out.put("message", " ".join(message.split())[:MESSAGE], [speaker.ref])
        out.put("misuse", MISUSE.search(message) is not None, [speaker.ref])
    out.put("place", _place(speaker), [speaker.ref])
    first = order.first
    if first is not None and fatal is not None:
        out.put("plain", first.family == "exception" and _is_plain(first), [first.speaker.ref])


def _of(failure: Failure | None) -> Event | None:
    """The traceback of a failure, if it has one that is no report of lost peers."""
    events = failure.events if failure is not None else ()
    return next((e for e in events if e.kind == "python_traceback" and e.role == "root_candidate"), None)


def _is_plain(failure: Failure) -> bool:
    """Whether nothing but an exception was recognised in the line."""
    named = [
        event for event in failure.events if event.kind not in PLAIN or event.fields.get("table") == "self"
    ]
    return not named


def _place(event: Event) -> str | None:
    """File, line and function of the last frame in the user's own code, in words."""
    file, line, function = (event.fields.get(name) for name in ("file", "line", "function"))
    if not isinstance(file, str):
        return None
    words = [file.replace("\\", "/").rpartition("/")[2] or file]
    words += [f"line {line}"] if isinstance(line, int) else []
    words += [f"in {function}"] if isinstance(function, str) and function else []
    return ", ".join(words)


DETECTOR = Detector("exceptions", ("exception.",), detect)
