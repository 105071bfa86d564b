"""Write and read ``.wandb`` files in tests: the format's own writer and a plain reader, on wandb's schema."""

import json
import struct
import warnings
import zlib

import numpy as np
import pytest

from analyzer.ingest.base import OpenSource, SourceWriter
from analyzer.ingest.builder import RunBuilder
from analyzer.ingest.formats.wandb.wandb_framing import BLOCK_BYTES
from analyzer.ingest.formats.wandb.wandb_log import WandbLog
from analyzer.ingest.walk import make_candidate
from analyzer.model.tables import NULL_INT

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    pb = pytest.importorskip("wandb.proto.wandb_internal_pb2", reason="needs wandb's own schema as oracle")

HEADER = b":W&B\xe1\xbe\x00"


def read(path):
    """A run made of one file, and the writer's builder."""
    builder = RunBuilder(str(path))
    candidate = make_candidate(path, path.name)
    index = builder.add_source(
        path.name, format_name="wandb", ingestor="wandb", size_bytes=candidate.size_bytes, sha256_head=""
    )
    WandbLog().read(OpenSource(candidate, index), SourceWriter(builder, index))
    return builder.finish()


def framed(records, *, cut=None):
    """The bytes of a file that holds the records; the writer's side of the format."""
    data = bytearray(HEADER)
    for record in records:
        rest, is_first = record, True
        while rest or is_first:
            left = BLOCK_BYTES - len(data) % BLOCK_BYTES
            if left < 7:
                data += bytes(left)
                left = BLOCK_BYTES
            part, rest = rest[: left - 7], rest[left - 7 :]
            kind = 1 + (0 if is_first and not rest else 1 if is_first else 2 if rest else 3)
            data += struct.pack("<IHB", zlib.crc32(part, zlib.crc32(bytes([kind]))), len(part), kind) + part
            is_first = False
    return bytes(data[:cut])


def written(tmp_path, records, *, name="run-x.wandb", cut=None):
    path = tmp_path / name
    path.write_bytes(framed([record.SerializeToString() for record in records], cut=cut))
    return path


def history(step=None, /, **values):
    record = pb.Record()
    for key, value in values.items():
        item = record.history.item.add(value_json=value if isinstance(value, str) else json.dumps(value))
        item.nested_key.extend(key.split("__"))
    if step is not None:
        record.history.step.num = step
    return record


def output(text, *, stdout=True, seconds=0):
    record = pb.Record()
    record.output_raw.line = text
    record.output_raw.output_type = int(stdout)
    record.output_raw.timestamp.seconds = seconds
    return record


def ended(code):
    return pb.Record(exit=pb.RunExitRecord(exit_code=code, runtime=5))


def messages(data):
    """Records of a file by a plain reader, for comparison."""
    at, parts = 7, b""
    while at + 7 <= len(data):
        left = BLOCK_BYTES - at % BLOCK_BYTES
        if left < 7:
            at += left
            continue
        checksum, size, kind = struct.unpack_from("<IHB", data, at)
        part = data[at + 7 : at + 7 + size]
        if zlib.crc32(part, zlib.crc32(bytes([kind]))) != checksum:
            return
        parts = part if kind in (1, 2) else parts + part
        if kind in (1, 4):
            yield pb.Record.FromString(parts)
        at += 7 + size


def expected_points(data):
    """Name to [(step in the row, record number, value)] as the schema and ``json`` see them."""
    points, media = {}, set()
    for number, record in enumerate(messages(data), 1):
        row = {}
        for item in record.history.item:
            keys = [item.key] if item.key else list(item.nested_key)
            if len(keys) > 1 and keys[-1] == "_type":
                media.add(".".join(keys[:-1]) + ".")
            value = json.loads(item.value_json)
            if isinstance(value, int | float) and not isinstance(value, bool):
                row[".".join(keys)] = float(value)
        step = row.get("train/global_step", row.get("_step"))
        if step is None and record.history.HasField("step"):
            step = record.history.step.num
        for name, value in row.items():
            points.setdefault(name, []).append((step, number, value))
    return {
        name: rows
        for name, rows in points.items()
        if not name.startswith((*media, "_step", "_runtime", "_timestamp", "_wandb"))
    }


def logged_points(run):
    """Name as logged to [(step, record number, value)]."""
    table, points = run.metrics, {}
    for code, name in enumerate(table.raw_names):
        rows = np.flatnonzero(table.raw == code)
        points[name] = [
            (
                None if table.step[i] == NULL_INT else int(table.step[i]),
                int(table.line[i]),
                float(table.value[i]),
            )
            for i in rows
        ]
    return points


def assert_same_points(found, wanted):
    assert found.keys() == wanted.keys()
    for name, rows in wanted.items():
        assert [row[:2] for row in found[name]] == [row[:2] for row in rows], name
        np.testing.assert_array_equal([row[2] for row in found[name]], [row[2] for row in rows], err_msg=name)
