"""Configuration inside event files: the hparams plugin, and texts that hold a trainer's arguments.

Not for prose: generated samples and tables of them are logged as texts too, so a text is read only if its tag
says that it is configuration. The forms, with what writes them::

    args/text_summary            {"output_dir": …, "fp16": true, …}      HF Trainer
    model_config/text_summary    {"hidden_size": 4096, …}                HF Trainer
    hyperparameters/text_summary |param|value| … |lr|0.001|              CleanRL and others
    lr/text_summary              0.00015          one text per argument: Megatron-LM
    _hparams_/session_start_info plugin data      torch add_hparams, Lightning, Keras
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from analyzer.ingest.base import Candidate, SourceWriter
from analyzer.ingest.encodings.protobuf_wire import BYTES, FIXED64, VARINT, WireError, spans, varint
from analyzer.ingest.formats.tensorboard.tensorboard_event import number_at, text_of
from analyzer.ingest.scalar_text import config_scalar
from analyzer.lazy_regex import LazyRegex
from analyzer.model.config import ConfigScalar
from analyzer.record import NamedTuple

_LAYER = "runtime_echo"
_TEXT_SUFFIX = "/text_summary"

MAX_TEXT_BYTES = 1 << 20
"""Longest text that is parsed; the arguments of the largest trainers take 20 kB."""

_MAX_KEYS = 5_000
"""Keys read from one text, or from all short texts; the longest list of arguments has 500."""

_MAX_ENTRIES = 50_000
"""Values taken from one file, so that arguments that are logged again at every step cost no memory."""

_MAX_DEPTH = 6

_TRAINER_ARGUMENTS = frozenset({"args", "training_args", "train_args", "sft_config"})
_TABLES = frozenset(
    {"hyperparameters", "hparams", "hyper_parameters", "config", "params", *_TRAINER_ARGUMENTS}
)

# Arguments that Megatron-LM always has; together they distinguish its dump from other short texts.
_MEGATRON_ARGUMENTS = frozenset({"num_layers", "micro_batch_size", "tensor_model_parallel_size"})
_MAX_ARGUMENT_CHARACTERS = 4096

# At run time these are what from_pretrained was asked for if it was asked, else what the checkpoint says:
# neither the published nor the loaded dtype for sure. Kept under a name that no canonical key has.
_AMBIGUOUS_MODEL_KEYS = frozenset({"dtype", "torch_dtype"})

_SUCCESS, _FAILURE = 1, 2


class ConfigTexts:
    """Collects the configuration of one event file.

    Attributes:
        session_end_s: When the hparams plugin says that the session ended, unix seconds; None if it does not.
    """

    def __init__(self, out: SourceWriter) -> None:
        self._out = out
        self._arguments: dict[str, tuple[str, int]] = {}
        self._read: set[str] = set()
        self._entries = 0
        self.session_end_s: float | None = None

    def add_text(self, tag: str, text: str, record: int) -> None:
        """Take a text summary, of each tag the first; what is not configuration is passed over."""
        name = tag.removesuffix(_TEXT_SUFFIX)
        last = name.rpartition("/")[2].lower()
        is_known = last in _TABLES or last == "model_config"
        if is_known and name in self._read:
            return
        if is_known:
            self._read.add(name)
        if len(text) > MAX_TEXT_BYTES:
            if is_known:
                self._out.gap(
                    f"text {name!r} is longer than {MAX_TEXT_BYTES} characters: not read", line=record
                )
            return
        start = text.lstrip()[:1]
        if start == "{" and is_known:
            self._add_json(last, text, record)
        elif start == "|" and is_known:
            for key, value in _table_rows(text):
                self._config(key, _word(value), record, raw=value)
        elif len(text) <= _MAX_ARGUMENT_CHARACTERS and "/" not in name and len(self._arguments) < _MAX_KEYS:
            self._arguments.setdefault(name, (text, record))

    def finish(self) -> None:
        """Write what can be judged only when the file was seen whole."""
        if not self._arguments.keys() >= _MEGATRON_ARGUMENTS:
            return
        self._out.framework("megatron")
        for key, (text, record) in self._arguments.items():
            self._config(key, _word(text), record, raw=text, framework="megatron")

    def _config(
        self,
        key: str,
        value: ConfigScalar,
        record: int,
        *,
        raw: str | None = None,
        framework: str = "hparams",
    ) -> None:
        self._entries += 1
        if self._entries > _MAX_ENTRIES:
            if self._entries == _MAX_ENTRIES + 1:
                self._out.gap(f"only the first {_MAX_ENTRIES} configured values are read", line=record)
            return
        self._out.config(key, value, framework=framework, layer=_LAYER, line=record, raw=raw)

    def _add_json(self, name: str, text: str, record: int) -> None:
        try:
            values = json.loads(text)
        except (ValueError, RecursionError) as error:
            self._out.gap(f"text {name!r} looks like JSON and is not: {error}", line=record)
            return
        if name == "model_config":
            for key, value in _flat(values):
                kept = f"runtime.{key}" if key.rpartition(".")[2] in _AMBIGUOUS_MODEL_KEYS else key
                self._config(kept, value, record, framework="model")
            return
        is_trainer = name in _TRAINER_ARGUMENTS or "per_device_train_batch_size" in values
        deepspeed = values.pop("deepspeed", None) if is_trainer else None
        if isinstance(deepspeed, dict):
            for key, value in _flat(deepspeed):
                self._config(key, value, record, framework="deepspeed")
        elif deepspeed is not None:
            values["deepspeed"] = deepspeed
        for key, value in _flat(values):
            self._config(key, value, record, framework="hf-trainer" if is_trainer else "hparams")
        if is_trainer:
            self._note_trainer(values)

    def _note_trainer(self, values: dict[str, Any]) -> None:
        if "per_device_train_batch_size" not in values:
            return
        self._out.framework("hf-trainer")
        steps = values.get("logging_steps")
        if values.get("logging_strategy", "steps") == "steps" and isinstance(steps, int) and steps >= 1:
            self._out.loss_window(steps)

    def add_hparams(self, content: memoryview, record: int) -> None:
        """Take the content of ``hparams`` plugin data: 3 session_start_info, 4 session_end_info."""
        data = bytes(content)
        try:
            for number, wire, start, stop in spans(data, 0, len(data)):
                if number == 3 and wire == BYTES:
                    self._session_start(data, start, stop, record)
                elif number == 4 and wire == BYTES:
                    self._session_end(data, start, stop, record)
        except WireError as error:
            self._out.gap(f"hyperparameters cannot be read: {error}", line=record)

    def _session_start(self, data: bytes, start: int, stop: int, record: int) -> None:
        for number, wire, entry_start, entry_stop in spans(data, start, stop):
            if number != 1 or wire != BYTES:
                continue
            key, value = "", None
            for part, part_wire, at, end in spans(data, entry_start, entry_stop):
                if part == 1 and part_wire == BYTES:
                    key = text_of(data[at:end])
                elif part == 2 and part_wire == BYTES:
                    value = _hparam(data, at, end)
            # Lightning joins nested keys with "/", the rest of the world with ".".
            self._config(key.replace("/", "."), value, record)

    def _session_end(self, data: bytes, start: int, stop: int, record: int) -> None:
        """Keras writes it when the run ends; torch writes ``success`` at once with the start, without a time."""
        status, end_s = 0, None
        for number, wire, at, _ in spans(data, start, stop):
            if number == 1 and wire == VARINT:
                status = varint(data, at)[0]
            elif number == 2 and wire == FIXED64:
                end_s = number_at(data, at, "<f8")
        if end_s:
            self.session_end_s = end_s
        if status == _FAILURE:
            text = "hparams session end: failure"
            self._out.event("session_failed", text, role="symptom", line=record, time_s=end_s)
        elif status == _SUCCESS and end_s:
            text = "hparams session end: success"
            self._out.event("training_completed", text, role="info", line=record, time_s=end_s)


def _hparam(data: bytes, start: int, stop: int) -> ConfigScalar:
    """A ``google.protobuf.Value``; whole numbers are integers again, which the format cannot say."""
    value: ConfigScalar = None
    for number, wire, at, end in spans(data, start, stop):
        if number == 2 and wire == FIXED64:
            number_value = number_at(data, at, "<f8")
            value = (
                int(number_value) if number_value.is_integer() and abs(number_value) < 2**53 else number_value
            )
        elif number == 3 and wire == BYTES:
            value = _word(text_of(data[at:end]))
        elif number == 4 and wire == VARINT:
            value = bool(varint(data, at)[0])
    return value


def _word(text: str) -> ConfigScalar:
    """Python's ``str`` of a value, read back."""
    text = text.strip()
    return None if text == "None" else config_scalar(text)


def _table_rows(text: str) -> Iterator[tuple[str, str]]:
    r"""Two-column rows of a Markdown table, without its header.

    >>> list(_table_rows("|param|value|\n|-|-|\n|lr|0.001|\n|env|a b|"))
    [('lr', '0.001'), ('env', 'a b')]
    """
    for count, line in enumerate(text.splitlines()):
        cells = [cell.strip() for cell in line.strip().strip("|").split("|", 2)]
        if count >= 2 and len(cells) == 2 and cells[0]:
            yield cells[0], cells[1]
        if count > _MAX_KEYS:
            return


def _flat(values: dict[str, Any]) -> Iterator[tuple[str, ConfigScalar]]:
    """Scalars of nested objects under dotted keys; lists of scalars as text, deeper ones not at all."""
    stack: list[tuple[str, Any, int]] = [("", values, 0)]
    count = 0
    while stack and count < _MAX_KEYS:
        prefix, value, depth = stack.pop()
        if isinstance(value, dict):
            if depth < _MAX_DEPTH:
                joint = f"{prefix}." if prefix else ""
                stack.extend((f"{joint}{key}", item, depth + 1) for key, item in reversed(value.items()))
            continue
        if isinstance(value, list):
            if any(isinstance(item, list | dict) for item in value):
                continue
            value = json.dumps(value)
        count += 1
        yield prefix, value


_NAME = LazyRegex(r"tfevents\.(?P<time>\d{1,12})\.(?P<rest>[^/]{1,300})$")
_PROCESS = LazyRegex(r"(?P<host>.{1,255})\.(?P<pid>\d{1,9})\.(?P<n>\d{1,6})(?:\.[A-Za-z][\w-]{0,40})?$")

_HELD_OUT = LazyRegex(
    r"(?i)^(?P<stem>.{0,200}?)(?:^|(?<=[_.-]))(?P<word>val|valid|validation|eval|evaluation|test|dev)$"
)

_MAX_LAUNCH_ENTRIES = 5_000
"""Directory entries looked at for the first writer of a launch; ``add_scalars`` makes one for every curve."""


def is_held_out(candidate: Candidate) -> bool:
    """Whether a file holds results on held-out data because of the directory in which it stands.

    Keras writes ``train/`` and ``validation/``, torch's ``add_scalars`` ``Loss_train/`` and ``Loss_val/``, with equal
    tags; an Estimator writes ``eval/`` below its own file. A directory that has no such sibling is the name of a run.
    """
    folder = candidate.path.parent
    match = _HELD_OUT.match(folder.name)
    if match is None:
        return False
    siblings = {f"{match['stem']}{word}".lower() for word in ("train", "training", "trn")}
    below = not match["stem"] and match["word"].lower() != "test"
    try:
        with os.scandir(folder.parent) as entries:
            for entry, _ in zip(entries, range(_MAX_LAUNCH_ENTRIES), strict=False):
                if entry.name.lower() in siblings or (below and "tfevents" in entry.name):
                    return True
    except OSError:
        return False
    return False


class WriterName(NamedTuple):
    """What the name of an event file says."""

    time_s: float  # Unix seconds at which the writer was made
    host: str  # host name
    process: str  # process number; empty if the name has none
    is_first: bool  # whether it was the first writer of its process; False if the name cannot say


def parse_name(name: str) -> WriterName | None:
    """Read the name of an event file; None if it is of another making.

    >>> parse_name("runs/x/events.out.tfevents.1700000000.node.example.org.4242.0")
    WriterName(time_s=1700000000.0, host='node.example.org', process='4242', is_first=True)
    >>> parse_name("000000000000_worker_0.tfevents") is None
    True
    """
    match = _NAME.search(name)
    if match is None:
        return None
    time_s, rest = float(match["time"]), match["rest"]
    process = _PROCESS.match(rest)
    if process is None:
        return WriterName(time_s, rest.removesuffix(".v2"), "", False)
    return WriterName(time_s, process["host"], process["pid"], int(process["n"]) == 0)


def launch_label(candidate: Candidate, writer: WriterName) -> str:
    """Label of the launch that an event file belongs to, equal for all files of that launch."""
    start_s = writer.time_s if writer.is_first else _first_writer_time(candidate, writer)
    process = f" pid {writer.process}" if writer.process else ""
    if start_s is None:
        return f"{writer.host}{process}"
    try:
        start = datetime.fromtimestamp(start_s, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (OverflowError, ValueError, OSError):
        start = str(int(start_s))
    return f"{writer.host}{process} {start}"


def _first_writer_time(candidate: Candidate, writer: WriterName) -> float | None:
    """Time of the latest first writer of the same process that is not younger, in the places where it can be.

    A name without a process number tells launches apart by time only; there the main file of the directory
    above is taken, and the file itself if there is none.
    """
    for names in _likely_directories(candidate, own=bool(writer.process)):
        others = (parse_name(name) for name in names)
        times = [
            other.time_s
            for other in others
            if other is not None
            and (other.host, other.process) == (writer.host, writer.process)
            and other.is_first == bool(writer.process)
            and other.time_s <= writer.time_s
        ]
        if times:
            return max(times)
    return None if writer.process else writer.time_s


def _likely_directories(candidate: Candidate, *, own: bool) -> Iterator[list[str]]:
    """Names of the files in the file's directory, then in those above it within the run, then beside it."""
    depth = candidate.name.count("/")
    directory = candidate.path.parent
    if own:
        yield _names(directory)[0]
    if depth == 0:
        return
    beside: list[str] = []
    for level, above in enumerate(directory.parents):
        if level == depth:
            break
        names, directories = _names(above)
        if level == 0:
            beside = directories
        yield names
    for name in beside[:20]:
        yield _names(directory.parent / name)[0]


def _names(directory: Path) -> tuple[list[str], list[str]]:
    """Names of event files and of sub-directories; none if the directory cannot be listed."""
    files: list[str] = []
    directories: list[str] = []
    try:
        with os.scandir(directory) as entries:
            for count, entry in enumerate(entries):
                if count >= _MAX_LAUNCH_ENTRIES:
                    break
                if "tfevents" in entry.name:
                    files.append(entry.name)
                elif entry.is_dir(follow_symlinks=False):
                    directories.append(entry.name)
    except OSError:
        return [], []
    return files, sorted(directories)
