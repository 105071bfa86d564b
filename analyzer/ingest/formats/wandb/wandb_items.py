"""The items of ``.wandb`` records, a key and a JSON value each, decoded one by one.

History, summary, configuration and system records all hold the same kind of item::

    0a 1b                                     item (field 1; field 3 in system records), 27 bytes
       12 0a 74 72 61 69 6e 2f 6c 6f 73 73    nested_key "train/loss" (older writers: 0a, key)
       82 01 0c 32 2e 30 …                    value_json "2.0…", always decimal text, NaN and Infinity bare

Not for a long history: see ``wandb_columns``, which gives the same points with array operations.

Of configuration, hardware and versions: HF Trainer hands W&B one flat dict, its arguments, and over the same keys the model's own
config; a DeepSpeed section and the adapter's config are nested in it. Here each key goes back to the framework that spells it.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any

from analyzer.ingest.base import SourceWriter
from analyzer.ingest.encodings.protobuf_wire import fields, signed
from analyzer.ingest.formats.config.argument_file import command_line
from analyzer.ingest.formats.config.structured_text import Entry
from analyzer.ingest.scalar_text import config_scalar, metric_value
from analyzer.lazy_regex import LazyRegex
from analyzer.model.config import ConfigScalar
from analyzer.record import dataclass, field
from analyzer.vocabulary.config import canonical_key

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


_LAYER = "runtime_echo"  # what W&B holds is what the program passed on when it ran, not a file to edit

_RUN_DIRECTORY = LazyRegex(r"(?:offline-)?run-\d{8}_\d{6}-[^/\\]+")

# At run time these are what from_pretrained was asked for if it was asked, else what the checkpoint says:
# neither the published nor the loaded dtype for sure. Kept under a name that no canonical key has.
_AMBIGUOUS_MODEL_KEYS = frozenset({"dtype", "torch_dtype"})

# transformers 4 puts its generation defaults into each model config; 20 is nobody's sequence length.
_GENERATION_DEFAULTS: Mapping[str, ConfigScalar] = {"max_length": 20}

_PERSONAL = frozenset({"email", "user", "username", "user_name", "entity", "host", "hostname"})
_ABSOLUTE_PATH = LazyRegex(r"/|~/|[A-Za-z]:[\\/]")
_ADAPTER = LazyRegex(r"peft_config\.[^.]+\.(?P<key>.+)")

_LABELS = {"transformers_trainer": "hf-trainer"}


@dataclass
class Environment:
    """Where and how a run was started; empty fields are unknown."""

    host: str = ""  # host name
    gpu_name: str = ""  # marketing name of the first GPU
    gpus: int = 0  # GPUs of the host
    versions: dict[str, str] = field(default_factory=dict)  # package or tool to version
    args: Sequence[str] = ()  # command line without the program


def launch_label(path: PurePath, run_id: str = "") -> str:
    """Label of the launch that wrote a file: its run directory, which no other launch shares, else its run id.

    A resumed W&B run keeps its id and gets a new directory.

    >>> launch_label(PurePath("wandb/run-20240415_202227-oj5c5z76/files/wandb-metadata.json"))
    'run-20240415_202227-oj5c5z76'
    """
    return next((part for part in reversed(path.parts) if _RUN_DIRECTORY.fullmatch(part)), run_id)


def write_label(label: str, out: SourceWriter) -> None:
    """Note the framework whose integration started W&B, by the label that it leaves."""
    if label in _LABELS:
        out.framework(_LABELS[label])


def write_environment(found: Environment, out: SourceWriter, *, line: int | None) -> None:
    """Write host, GPUs, versions and the command line."""
    out.layout(gpus=found.gpus or None, gpu_name=found.gpu_name or None, host=found.host or None, line=line)
    for package, version in found.versions.items():
        if version:
            out.config(package, version, framework="versions", layer=_LAYER, line=line)
    for key, text in command_line(found.args):
        value: ConfigScalar = True if text is None else config_scalar(text)
        if _is_public(key, value):
            out.config(key, value, framework="wandb", layer="cli", line=line, raw=text)


def write_config(entries: Iterable[Entry], out: SourceWriter) -> None:
    """Write what a program passed to ``wandb.config``, each key under the framework that spells it."""
    known = {entry.key: entry for entry in entries}
    is_trainer = "per_device_train_batch_size" in known
    holds_model = "model_type" in known and not known.keys().isdisjoint({"vocab_size", "hidden_size"})
    for entry in known.values():
        framework, key = _owner(entry, is_trainer=is_trainer, holds_model=holds_model)
        if _is_public(key, entry.value):
            out.config(key, entry.value, framework=framework, layer=_LAYER, line=entry.line, raw=entry.raw)
    if is_trainer:
        _note_trainer(known, out)


def _note_trainer(known: Mapping[str, Entry], out: SourceWriter) -> None:
    out.framework("hf-trainer")
    if any(key.startswith("deepspeed.") for key in known) or _value(known, "deepspeed"):
        out.framework("deepspeed")
    steps = _value(known, "logging_steps")
    # A whole number counts steps, also if written 10.0; a fraction is a share of the run.
    if _value(known, "logging_strategy") in (None, "steps") and isinstance(steps, int | float) and steps >= 1:
        out.loss_window(int(steps))


def _value(known: Mapping[str, Entry], key: str) -> ConfigScalar:
    return known[key].value if key in known else None


def _owner(entry: Entry, *, is_trainer: bool, holds_model: bool) -> tuple[str, str]:
    """Framework and key of an entry."""
    key = entry.key
    if is_trainer and key.startswith("deepspeed."):
        return "deepspeed", key.removeprefix("deepspeed.")
    adapter = _ADAPTER.fullmatch(key)
    if adapter:
        return "adapter", adapter["key"]
    if holds_model and canonical_key("model", key) is not None:
        is_ambiguous = key.rpartition(".")[2] in _AMBIGUOUS_MODEL_KEYS
        return "model", f"runtime.{key}" if is_ambiguous else key
    if holds_model and key in _GENERATION_DEFAULTS and entry.value == _GENERATION_DEFAULTS[key]:
        return "model", key
    return ("hf-trainer" if is_trainer else "wandb"), key


def _is_public(key: str, value: ConfigScalar) -> bool:
    """Whether an entry may be kept: no personal data, and paths only where a fact needs them (a model's name)."""
    if key.rpartition(".")[2].lower() in _PERSONAL:
        return False
    is_path = isinstance(value, str) and _ABSOLUTE_PATH.match(value) is not None
    return not is_path or canonical_key("wandb", key) is not None
