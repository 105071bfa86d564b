"""Runs as a server holds them, made from the offline directories of samples with the client's own schema."""

import json
import math
from datetime import UTC, datetime
from pathlib import Path

import pytest
from wandb_server import StoredRun

from analyzer.ingest.formats.wandb.wandb_framing import FrameReader
from analyzer.ingest.formats.wandb.wandb_log import OUTPUT_RAW, console_lines

ROOT = Path(__file__).parents[2]
SAMPLES = ROOT / "samples"


def as_served(value):
    """A value after its way through the server: NaN and infinity as text, whole floats as integers."""
    if isinstance(value, dict):
        return {key: as_served(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [as_served(inner) for inner in value]
    if isinstance(value, float):
        if not math.isfinite(value):
            return {True: "NaN"}.get(math.isnan(value), "Infinity" if value > 0 else "-Infinity")
        return int(value) if value.is_integer() and abs(value) < 2**53 else value
    return value


def records(directory):
    schema = pytest.importorskip("wandb.proto.wandb_internal_pb2", reason="needs the client's own schema")
    (log,) = Path(directory).glob("run-*.wandb")
    for data in FrameReader([log.read_bytes()]):
        record = schema.Record()
        record.ParseFromString(bytes(data))
        yield record


def _items(items):
    return {".".join(item.nested_key) or item.key: json.loads(item.value_json) for item in items}


def stored(directory, *, state=None):
    """What the server would hold if the run of an offline directory had been online."""
    run = StoredRun("", state="crashed")
    pieces = []
    for record in records(directory):
        kind = record.WhichOneof("record_type")
        if kind == "run":
            run.run_id, run.display_name = record.run.run_id, record.run.display_name
            run.created = f"{record.run.start_time.ToJsonString()[:19]}Z"
            run.config |= as_served(_items(record.run.config.update))
        elif kind == "config":
            run.config |= as_served(_items(record.config.update))
        elif kind == "history":
            row = _items(record.history.item)
            row.setdefault("_step", record.history.step.num)
            run.history.append(as_served(row))
        elif kind == "summary":
            run.summary |= as_served(_items(record.summary.update))
        elif kind == "stats":
            row = {f"system.{item.key}": json.loads(item.value_json) for item in record.stats.item}
            moment = record.stats.timestamp
            run.system.append(as_served({"_timestamp": moment.seconds + moment.nanos / 1e9, **row}))
        elif kind == "environment":
            run.files["wandb-metadata.json"] = _metadata(record.environment)
        elif kind == "output_raw":
            pieces.append((len(pieces), OUTPUT_RAW, memoryview(record.output_raw.SerializeToString())))
        elif kind == "exit":
            run.state = "failed" if record.exit.exit_code else "finished"
    run.state = state or run.state
    for path in sorted((Path(directory) / "files").rglob("*")):
        if path.is_file():
            run.files[path.relative_to(Path(directory) / "files").as_posix()] = path.read_bytes()
    lines = console_lines(pieces, pytest.fail)
    run.console = [(_iso(time_s), "", line) for _, line, time_s in lines]
    times = [row["_timestamp"] for row in run.history if "_timestamp" in row]
    run.heartbeat = f"{_iso(times[-1])[:19]}Z" if times else run.created
    return run


def _iso(time_s):
    return datetime.fromtimestamp(time_s, UTC).isoformat()[:26]


def _metadata(environment):
    found = {
        "os": environment.os,
        "python": environment.python,
        "host": environment.host,
        "program": environment.program,
        "args": list(environment.args),
        "gpu": environment.gpu_type,
        "gpu_count": environment.gpu_count,
    }
    return json.dumps({key: value for key, value in found.items() if value}).encode()
