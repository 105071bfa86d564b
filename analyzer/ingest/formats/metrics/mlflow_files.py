"""MLflow's file store: one small file for each metric, parameter and tag of a run.

    mlruns/<experiment>/<run id>/metrics/train/loss     1747661592123 2.5 10       unix ms, value, step
    mlruns/<experiment>/<run id>/params/learning_rate   1e-05
    mlruns/<experiment>/<run id>/meta.yaml              status: 4, start_time: 1747661500000, end_time: ...

Old files have no step; new ones name the dataset behind it. Files of logged models (``models/m-<id>``) repeat
the metrics of a run and are left alone, as are tags.
"""

from __future__ import annotations

import re

from analyzer.ingest.base import Candidate, Match, OpenSource, SourceWriter
from analyzer.ingest.metric_columns import MetricColumns, unix_seconds
from analyzer.ingest.scalar_text import config_scalar, metric_number, whole_step
from analyzer.ingest.source_text import bounded_lines, decode, read_text
from analyzer.ingest.text.text_log import looks_like_text
from analyzer.lazy_regex import LazyRegex

RUN_PATH = LazyRegex(
    r"(?:^|/)(?P<run>(?:m-)?[0-9a-f]{32})/(?:(?P<kind>metrics|params|tags|inputs|outputs|traces)/(?P<key>.{1,250})|(?P<meta>meta\.yaml))$"
)
"""A file of a run; relative to the directory that was given, or absolute if that was the run itself."""

_FIELD = LazyRegex(r"(?m)^(?P<name>[a-z_]{1,40}): '?(?P<value>[^'\n]{0,300}?)'?\s*$")

STATUS = {1: "RUNNING", 2: "SCHEDULED", 3: "FINISHED", 4: "FAILED", 5: "KILLED"}
"""Numbers of a run's status in ``meta.yaml``; the database has the words."""

MAX_PARAMETER_BYTES = 16_384
"""MLflow itself refuses parameters of more than 6,000 characters."""

_MAX_META_BYTES = 65_536
_MAX_DAMAGED = 20


class MlflowFiles:
    """Reads the files of one run, each for itself."""

    name = "mlflow-files"
    summary = "MLflow file store (mlruns): metrics, parameters, status of a run"
    is_log = True

    def sniff(self, candidate: Candidate) -> Match:
        """The place of the file in the store tells it; its text only has to be text."""
        head = candidate.head
        if not head or not looks_like_text(head):
            return Match.NO
        return Match.NO if _place(candidate) is None else Match.SURE

    def read(self, source: OpenSource, out: SourceWriter) -> None:
        """Points of a metric, one parameter, or how the run ended."""
        place = _place(source.candidate)
        if place is None or place["run"].startswith("m-"):
            return
        if place["meta"]:
            _read_meta(read_text(source, out, _MAX_META_BYTES), out, place["run"])
            return
        out.attempt(place["run"])
        key = place["key"] or ""
        if place["kind"] == "metrics":
            _read_metric(key, source, out)
        elif place["kind"] == "params":
            text = read_text(source, out, MAX_PARAMETER_BYTES).strip()
            add_parameter(key, text, out, line=1)


def _place(candidate: Candidate) -> re.Match[str] | None:
    return RUN_PATH.search(candidate.name) or RUN_PATH.search(candidate.path.as_posix())


def add_parameter(key: str, text: str, out: SourceWriter, line: int) -> None:
    """Record a parameter, which MLflow keeps as text whatever it was."""
    if key == "per_device_train_batch_size":
        out.framework("hf-trainer")
    out.config(key, config_scalar(text), framework="mlflow", line=line, raw=text)


def add_status(
    status: str, run: str, out: SourceWriter, start_ms: float | None, end_ms: float | None, line: int | None
) -> None:
    """Record when a run began and ended, and how.

    ``KILLED`` is what MLflow writes for a run that was interrupted; ``RUNNING`` is what stays behind when the
    process died without a word, or still lives.
    """
    start_s, end_s = unix_seconds(start_ms), unix_seconds(end_ms)
    out.attempt(
        run,
        start_s=start_s if start_ms and start_s == start_s else None,  # noqa: PLR0124  (NaN: no time)
        end_s=end_s if end_ms and end_s == end_s else None,  # noqa: PLR0124
        exit_code={"FINISHED": 0, "FAILED": 1}.get(status),
    )
    role = "cascade" if status in {"FAILED", "KILLED"} else "info"
    out.event(
        "tracker_status",
        f"status: {status}",
        role=role,
        line=line,
        fields={"status": status, "tracker": "mlflow"},
    )


def _read_meta(text: str, out: SourceWriter, run: str) -> None:
    values = {match["name"]: match["value"] for match in _FIELD.finditer(text)}
    number = whole_step(values.get("status"))
    status = STATUS.get(number or 0)
    if status is None:
        out.gap(f"the run's status {values.get('status', 'is missing')!r} is not known", line=1)
        return
    line = next((at for at, row in enumerate(text.split("\n"), 1) if row.startswith("status:")), None)
    start_ms, end_ms = (metric_number(values.get(name, "")) for name in ("start_time", "end_time"))
    add_status(status, run, out, start_ms, end_ms, line)


def _read_metric(key: str, source: OpenSource, out: SourceWriter) -> None:
    columns = MetricColumns(out)
    damaged = 0
    for line, data in bounded_lines(source, out):
        parts = decode(data).split()
        if not parts:
            continue
        value = metric_number(parts[1]) if len(parts) > 1 else None
        is_cut = not data.endswith(b"\n") and len(parts) < 3
        if value is None or is_cut:
            damaged += 1
            if damaged <= _MAX_DAMAGED:
                out.gap("not a point of a metric: time, value, step", line=line, rows_lost=1)
            continue
        step = whole_step(parts[2]) if len(parts) > 2 else None
        columns.add(key, value, step=step, line=line, time_s=unix_seconds(metric_number(parts[0])))
    if damaged > _MAX_DAMAGED:
        out.gap("further lines that are no points", rows_lost=damaged - _MAX_DAMAGED)
    columns.flush()
