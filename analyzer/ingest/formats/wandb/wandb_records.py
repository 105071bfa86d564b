"""The records of a ``.wandb`` file that come once or a few times: run, configuration, environment, exit.

Not for history, system metrics and console, which come by the thousand: see ``wandb_log``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from analyzer.ingest.base import SourceWriter
from analyzer.ingest.encodings.protobuf_wire import fields, signed
from analyzer.ingest.formats.config.structured_text import MAX_ENTRIES, Entry, StructuredTextError, read_json
from analyzer.ingest.formats.wandb.wandb_items import (
    MAX_VALUE_BYTES,
    Environment,
    read_item,
    timestamp,
    write_config,
    write_environment,
    write_label,
)

CONFIG, TELEMETRY, RUN, EXIT, PREEMPTING, ENVIRONMENT = 5, 11, 17, 18, 23, 26
"""Field numbers in ``wandb_internal.Record`` of the records that ``Launch`` takes."""

_TELEMETRY_VERSIONS = {4: "python", 5: "wandb", 6: "transformers"}
_RUN_TEXTS = {6: "group", 7: "job_type", 12: "sweep"}  # how people tell runs apart


class Launch:
    """What a file says about the launch that wrote it.

    Attributes:
        run_id: W&B's id of the run; a resumed run keeps it.
        start_s: Unix seconds at which the run began; None if unknown.
        exit_code: As recorded; None without an exit record.
        has_ended: Whether there is an exit record.
        runtime_s: Seconds that the run says it took; 0 if unknown.
    """

    def __init__(self) -> None:
        self.run_id = ""
        self.start_s: float | None = None
        self.exit_code: int | None = None
        self.has_ended = False
        self.runtime_s = 0
        self._config: dict[str, tuple[bytes, int]] = {}
        self._about_run: dict[str, str] = {}
        self._versions: dict[str, str] = {}
        self._line = 1
        self._readers = {
            CONFIG: self._read_config,
            TELEMETRY: self._read_telemetry,
            RUN: self._read_run,
            EXIT: self._read_exit,
            PREEMPTING: self._read_preempting,
            ENVIRONMENT: self._read_environment,
        }

    def take(self, kind: int, record: int, payload: memoryview, out: SourceWriter) -> None:
        """Read one record; kinds that are not known here are left.

        Raises:
            WireError: The record is damaged.
        """
        reader = self._readers.get(kind)
        if reader is not None:
            self._line = record
            reader(payload, out)

    def write(self, out: SourceWriter) -> None:
        """Write what is known only at the end: the last state of the configuration."""
        write_environment(Environment(versions=self._versions), out, line=None)
        for name, text in self._about_run.items():
            out.config(f"wandb.{name}", text, framework="wandb", layer="runtime_echo", line=1)
        write_config(self._entries(out), out)

    def _entries(self, out: SourceWriter) -> Iterator[Entry]:
        left = MAX_ENTRIES
        for key, (text, record) in self._config.items():
            try:
                for entry in read_json(f"{{{json.dumps(key)}:{text.decode('utf-8', 'replace')}}}"):
                    left -= 1
                    if left < 0:
                        out.gap(
                            f"only the first {MAX_ENTRIES} entries of the configuration were read",
                            line=record,
                        )
                        return
                    yield Entry(entry.key, entry.value, entry.raw, record)
            except StructuredTextError as error:
                out.gap(f"configuration key {key!r} cannot be read: {error}", line=record)

    def _read_config(self, payload: memoryview, out: SourceWriter) -> None:
        for number, _, part in fields(payload):
            if isinstance(part, int) or number not in (1, 2):
                continue
            keys, text = read_item(part)
            key = ".".join(keys)
            self._config.pop(key, None)
            if len(text) > MAX_VALUE_BYTES:
                out.gap(f"configuration key {key!r} is longer than {MAX_VALUE_BYTES} bytes", line=self._line)
            elif number == 1 and keys[:1] != ("_wandb",) and len(self._config) < MAX_ENTRIES:
                self._config[key] = (text, self._line)

    def _read_run(self, payload: memoryview, out: SourceWriter) -> None:
        tags: list[str] = []
        starting_step = 0
        resumed = False
        for number, _, part in fields(payload):
            if isinstance(part, int):
                starting_step = signed(part) if number == 14 else starting_step
                resumed = bool(part) if number == 18 else resumed
            elif number == 1:
                self.run_id = _text(part)
            elif number == 4:
                self._read_config(part, out)
            elif number in _RUN_TEXTS:
                self._about_run[_RUN_TEXTS[number]] = _text(part)
            elif number == 10:
                tags.append(_text(part))
            elif number == 13:
                out.layout(host=_text(part), line=self._line)
            elif number == 17:
                self.start_s = timestamp(part)
            elif number == 19:
                self._read_telemetry(part, out)
        if tags:
            self._about_run["tags"] = ", ".join(tags)
        if resumed:
            text = f"W&B run resumed at step {starting_step}"
            out.event("wandb_resumed", text, role="info", line=self._line, time_s=self.start_s)

    def _read_telemetry(self, payload: memoryview, out: SourceWriter) -> None:
        for number, _, part in fields(payload):
            if isinstance(part, int):
                continue
            if number in _TELEMETRY_VERSIONS:
                self._versions[_TELEMETRY_VERSIONS[number]] = _text(part)
            elif number == 9:
                for name, _, label in fields(part):
                    if name == 1 and not isinstance(label, int):
                        write_label(_text(label), out)

    def _read_environment(self, payload: memoryview, out: SourceWriter) -> None:
        found = Environment()
        args: list[str] = []
        for number, _, part in fields(payload):
            if isinstance(part, int):
                found.gpus = part if number == 19 else found.gpus
            elif number == 2:
                found.versions["python"] = _text(part)
            elif number == 5:
                args.append(_text(part))
            elif number == 12:
                found.host = _text(part)
            elif number == 18:
                found.gpu_name = found.gpu_name or _text(part)
            elif number in (24, 26):  # a device of NVIDIA or AMD
                found.gpu_name = found.gpu_name or _device_name(part, 1 if number == 24 else 10)
            elif number == 25:
                found.versions["cuda"] = _text(part)
        found.args = args
        write_environment(found, out, line=self._line)

    def _read_exit(self, payload: memoryview, _: SourceWriter) -> None:
        self.has_ended = True
        numbers = {number: signed(part) for number, _, part in fields(payload) if isinstance(part, int)}
        self.exit_code = numbers.get(1, 0)
        self.runtime_s = max(numbers.get(2, 0), 0)

    def _read_preempting(self, _: memoryview, out: SourceWriter) -> None:
        out.event(
            "wandb_preempting", "the job told W&B that it is being preempted", role="info", line=self._line
        )


def _text(part: memoryview) -> str:
    return str(part, "utf-8", "replace")


def _device_name(device: memoryview, field: int) -> str:
    names = (
        _text(part) for number, _, part in fields(device) if number == field and not isinstance(part, int)
    )
    return next(names, "")
