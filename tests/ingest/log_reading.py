"""Read text as the console log of a run; shared by the tests of line parsers."""

from pathlib import Path

import numpy as np

from analyzer.ingest.base import OpenSource, SourceWriter
from analyzer.ingest.builder import RunBuilder
from analyzer.ingest.text.text_layer import read_blocks
from analyzer.ingest.text.text_log import LogReader, TextLog
from analyzer.ingest.walk import make_candidate

PUBLIC = Path(__file__).parents[2] / ".." / "shared" / "data" / "public"


def read_bytes(data):
    builder = RunBuilder("run")
    builder.add_source("train.log", format_name="text-log", ingestor="text-log", size_bytes=0, sha256_head="")
    LogReader(SourceWriter(builder, 0)).read(read_blocks([data], lambda _: None))
    return builder.finish()


def read_text(text):
    return read_bytes(text.encode())


def read_file(path):
    candidate = make_candidate(path, path.name)
    builder = RunBuilder(str(path))
    builder.add_source(path.name, format_name="text-log", ingestor="text-log", size_bytes=0, sha256_head="")
    TextLog().read(OpenSource(candidate, 0), SourceWriter(builder, 0))
    return builder.finish()


def points(run, metric):
    """(step, value) of each point; the value nan is given as the text "nan"."""
    series = run.metrics.series(metric)
    if series is None:
        return []
    return [(series.step_at(i), "nan" if np.isnan(v) else float(v)) for i, v in enumerate(series.value)]


def only(run, kind):
    """The fields of the one event of a kind."""
    (event,) = run.events.of(kind)
    return dict(event.fields)
