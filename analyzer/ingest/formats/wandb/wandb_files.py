"""The files that W&B keeps beside its log: ``config.yaml``, ``wandb-summary.json``, ``wandb-metadata.json``.

Runs that were online, or written by SDKs before wandb-core, have them in ``files/``; an offline run of today
has all of it in its ``.wandb`` file only. In ``config.yaml`` every value is wrapped::

    wandb_version: 1                  "files/config.yaml"
    _wandb:
      value: {cli_version: 0.16.6, huggingface_version: 4.39.3, t: {...}}
    learning_rate:
      desc: null
      value: 0.0001
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from analyzer.ingest.base import Candidate, Match, OpenSource, SourceWriter
from analyzer.ingest.encodings.json_positions import JsonReader, JsonTextError
from analyzer.ingest.formats.config.structured_text import Entry, StructuredTextError, read_yaml
from analyzer.ingest.formats.wandb.wandb_history import write_last_values
from analyzer.ingest.formats.wandb.wandb_items import (
    Environment,
    launch_label,
    numbers_in,
    write_config,
    write_environment,
    write_label,
)
from analyzer.ingest.source_text import read_text
from analyzer.lazy_regex import LazyRegex

MAX_BYTES = 4 << 20
"""The largest config.yaml of the survey has 10 KB, a summary with histograms 1 MB."""

_CONFIG = re.compile(rb"^(?:wandb_version:|_wandb:\s{0,9}$)", re.MULTILINE)
_WRAPPED = LazyRegex(r"^(?P<key>.{1,1000}?)\.(?P<part>value|desc|sort)(?P<rest>[.\[].*)?")
_VERSIONS = {"python_version": "python", "cli_version": "wandb", "huggingface_version": "transformers"}
_LABEL = "t.9.1"  # telemetry field 9, label; its field 1, code_string


class WandbConfig:
    """Reads ``config.yaml`` of a W&B run."""

    def sniff(self, candidate: Candidate) -> Match:
        """The head has the key ``wandb_version`` or ``_wandb``."""
        return Match.SURE if _CONFIG.search(candidate.head) else Match.NO

    def read(self, source: OpenSource, out: SourceWriter) -> None:
        """Values become configuration; W&B's own section gives versions."""
        found: list[Entry] = []
        versions: dict[str, str] = {}
        try:
            for entry in _unwrapped(read_yaml(read_text(source, out, MAX_BYTES))):
                key = entry.key.removeprefix("_wandb.")
                if key == entry.key:
                    found.append(entry)
                elif key in _VERSIONS:
                    versions[_VERSIONS[key]] = entry.raw
                elif key == _LABEL:
                    write_label(entry.raw, out)
        except StructuredTextError as error:
            out.gap(f"{error}; what stands before was read", line=error.line)
        write_environment(Environment(versions=versions), out, line=None)
        write_config(found, out)


def _unwrapped(entries: Iterator[Entry]) -> Iterator[Entry]:
    """Entries without the ``desc`` and ``value`` around them, and SwanLab's ``sort``."""
    for entry in entries:
        match = _WRAPPED.fullmatch(entry.key)
        if match is None:
            if entry.key != "wandb_version":
                yield entry
        elif match["part"] == "value":
            yield entry._replace(key=match["key"] + (match["rest"] or ""))


class WandbSummary:
    """Reads ``wandb-summary.json``, the last value of each metric."""

    def sniff(self, candidate: Candidate) -> Match:
        """By name, or by the section that W&B adds."""
        if not candidate.head.lstrip().startswith(b"{"):
            return Match.NO
        if candidate.name.rpartition("/")[2] == "wandb-summary.json":
            return Match.SURE
        is_summary = b'"_wandb"' in candidate.head and b'"runtime"' in candidate.head
        return Match.LIKELY if is_summary else Match.NO

    def read(self, source: OpenSource, out: SourceWriter) -> None:
        """Numbers become points without a step."""
        values: dict[str, tuple[float, int]] = {}
        for key, value, line in _members(source, out):
            for name, number in numbers_in(key, value):
                values[name] = (number, line)
        write_last_values(values, out)
        label = launch_label(source.path)
        if label:
            out.attempt(label)


class WandbMetadata:
    """Reads ``wandb-metadata.json``: hardware, versions, command line, start."""

    def sniff(self, candidate: Candidate) -> Match:
        """By name, or by the keys that every version of the file has."""
        head = candidate.head
        if not head.lstrip().startswith(b"{"):
            return Match.NO
        if candidate.name.rpartition("/")[2] == "wandb-metadata.json":
            return Match.SURE
        keys = (b'"startedAt"', b'"executable"', b'"host"', b'"program"')
        return Match.LIKELY if all(key in head for key in keys) else Match.NO

    def read(self, source: OpenSource, out: SourceWriter) -> None:
        """Take GPUs, host, versions, arguments and start; leave names, addresses and paths of people."""
        values: dict[str, Any] = {}
        gpu_line: int | None = None
        for key, value, line in _members(source, out):
            values[key] = value
            if key.startswith("gpu"):
                gpu_line = gpu_line or line
        devices = values.get("gpu_nvidia") or values.get("gpu_amd") or values.get("gpu_devices")
        devices = (
            [device for device in devices if isinstance(device, dict)] if isinstance(devices, list) else []
        )
        count = values.get("gpu_count", values.get("gpucount"))
        args = values.get("args")
        found = Environment(
            host=_text(values.get("host")),
            gpu_name=_text(devices[0].get("name")) if devices else _text(values.get("gpu")),
            gpus=count if isinstance(count, int) and count > 0 else len(devices),
            versions={
                "python": _text(values.get("python")),
                "cuda": _text(values.get("cudaVersion")) or _text(values.get("cuda")),
            },
            args=[arg for arg in args if isinstance(arg, str)] if isinstance(args, list) else [],
        )
        write_environment(found, out, line=gpu_line)
        label, start_s = launch_label(source.path), _unix_seconds(_text(values.get("startedAt")))
        if label and start_s is not None:
            out.attempt(label, start_s=start_s)


def _members(source: OpenSource, out: SourceWriter) -> Iterator[tuple[str, Any, int]]:
    """Top-level keys of a JSON object, their values and lines; a damaged rest becomes a gap."""
    reader = JsonReader(read_text(source, out, MAX_BYTES))
    try:
        for key in reader.members():
            yield key, reader.value(), reader.key_line
    except JsonTextError as error:
        out.gap(f"not JSON from here: {error}", line=error.line)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _unix_seconds(text: str) -> float | None:
    """An ISO time as unix seconds; W&B writes UTC, older versions without saying so."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return None
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
