"""A ClearML task recorded offline (``offline-<id>/``, or that folder as a zip): events and settings.

``metrics.jsonl`` and ``log.jsonl`` hold one JSON list of events a line, as many as were sent at once::

    [{"timestamp": 1795436997121, "type": "training_stats_scalar", "iter": 0, "metric": "loss", "variant": "train",
      "value": 2.33}, …]
    [{"timestamp": 1795436997115, "type": "log", "level": "info", "msg": "…"}]

and ``task.json`` the settings, ``{"hyperparams": {"General": {"lr": {"value": "0.001", …}}}, …}``. Plots and images
are left out. A task that was sent to a server left nothing here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from analyzer.ingest.base import Candidate, Match, OpenSource, SourceWriter
from analyzer.ingest.formats.config.structured_text import StructuredTextError, read_json
from analyzer.ingest.metric_columns import MetricColumns
from analyzer.ingest.scalar_text import config_scalar, metric_value, whole_step
from analyzer.ingest.source_text import bounded_lines, read_text
from analyzer.ingest.text.text_log import read_lines

MAX_TASK_BYTES = 16 << 20
"""``task.json`` holds the difference to the last commit, which people let grow to some MB."""

_MONITOR = ":monitor:"
"""Begins the titles of the samples that ClearML takes of the machine."""


class ClearMLEvents:
    """Reads ``metrics.jsonl`` and ``log.jsonl``."""

    def sniff(self, candidate: Candidate) -> Match:
        """A line begins with a list of events of a task."""
        head = candidate.head[:2000]
        is_list = head.startswith(b'[{"timestamp":') and b'"type":' in head and b'"task":' in head
        return Match.SURE if is_list else Match.NO

    def read(self, source: OpenSource, out: SourceWriter) -> None:
        """Scalars become points, messages lines of a console."""
        columns = MetricColumns(out)
        read_lines(_messages(source, columns, out), out)
        columns.flush()


def _messages(
    source: OpenSource, columns: MetricColumns, out: SourceWriter
) -> Iterator[tuple[int, str, float | None]]:
    for number, line in bounded_lines(source, out):
        try:
            events = json.loads(line) if line.strip() else []
        except (ValueError, RecursionError):
            out.gap("a line of events is damaged or cut", line=number, rows_lost=1)
            continue
        for event in events if isinstance(events, list) else []:
            if not isinstance(event, dict):
                continue
            stamp = metric_value(event.get("timestamp"))
            time_s = None if stamp is None else stamp / 1000
            if event.get("type") == "log":
                for text in str(event.get("msg", "")).splitlines():
                    yield number, text, time_s
            elif event.get("type") == "training_stats_scalar":
                _add(event, number, time_s, columns, out)


def _add(
    event: dict[str, Any], number: int, time_s: float | None, columns: MetricColumns, out: SourceWriter
) -> None:
    value = metric_value(event.get("value"))
    title, series = str(event.get("metric", ""))[:200], str(event.get("variant", ""))[:200]
    if value is None or not title:
        return
    if title.startswith(_MONITOR):
        out.metric(f"system.{series}", value, line=number, time_s=time_s)
        return
    name = title if series in (title, "") else f"{title}/{series}"
    stamp = float("nan") if time_s is None else time_s
    columns.add(name, value, step=whole_step(event.get("iter")), line=number, time_s=stamp)


class ClearMLTask:
    """Reads ``task.json``."""

    def sniff(self, candidate: Candidate) -> Match:
        """By its name and by what only such a task holds."""
        is_task = candidate.name.rpartition("/")[2] == "task.json" and b'"hyperparams"' in candidate.head
        return Match.SURE if is_task else Match.NO

    def read(self, source: OpenSource, out: SourceWriter) -> None:
        """Each hyperparameter by its name; the sections that people put them in are left out."""
        try:
            for entry in read_json(read_text(source, out, MAX_TASK_BYTES)):
                above, _, last = entry.key.rpartition(".")
                place, _, name = above.removeprefix("hyperparams.").partition(".")
                if entry.key.startswith("hyperparams.") and last == "value" and place and name:
                    value = config_scalar(str(entry.value))
                    out.config(name, value, framework="config", layer="runtime_echo", line=entry.line)
        except StructuredTextError as error:
            out.gap(f"{error}; what stands before was read", line=error.line)
