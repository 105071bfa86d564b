"""Write event files record by record and read them twice: by the ingestor and by tensorboard itself."""

import struct

from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import SummaryMetadata
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.tensorflow_stub import errors
from tensorboard.compat.tensorflow_stub.pywrap_tensorflow import PyRecordReader_New
from tensorboard.util import tensor_util

from analyzer.ingest.base import OpenSource, SourceWriter
from analyzer.ingest.builder import RunBuilder
from analyzer.ingest.formats.tensorboard.tensorboard import TensorBoard
from analyzer.ingest.formats.tensorboard.tfrecord import masked_checksum
from analyzer.ingest.walk import make_candidate

NAME = "events.out.tfevents.1700000000.node.4242.0"
START_S = 1_700_000_000.25


def frame(payload):
    header = struct.pack("<Q", len(payload))
    return (
        header
        + struct.pack("<I", masked_checksum(header))
        + payload
        + struct.pack("<I", masked_checksum(payload))
    )


def opening(time_s=START_S):
    return Event(wall_time=time_s, file_version="brain.Event:2")


def event(tag, step, value, time_s=None, **fields):
    result = Event(wall_time=START_S + step if time_s is None else time_s, step=step, **fields)
    result.summary.value.add(tag=tag, simple_value=value)
    return result


def tensor_event(tag, step, tensor, plugin="scalars"):
    result = Event(wall_time=START_S + step, step=step)
    metadata = SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name=plugin))
    result.summary.value.add(tag=tag, tensor=tensor, metadata=metadata)
    return result


def text_event(tag, text):
    return tensor_event(
        f"{tag}/text_summary", 0, TensorProto(dtype=7, string_val=[text.encode()]), plugin="text"
    )


def write(directory, events, name=NAME):
    path = directory / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(frame(item.SerializeToString()) for item in events))
    return path


def read(path, name=None):
    """The run in one event file, with its attempts and gaps."""
    candidate = make_candidate(path, name or path.name)
    builder = RunBuilder(str(path))
    index = builder.add_source(
        candidate.name, format_name="tensorboard", ingestor="tensorboard", size_bytes=0, sha256_head=""
    )
    TensorBoard().read(OpenSource(candidate, index), SourceWriter(builder, index))
    return builder.finish()


def points(run):
    """Tag to (record, step, time, value) of every point, comparable: NaN as text."""
    found = {}
    metrics = run.metrics
    for raw, *point in zip(
        metrics.raw.tolist(),
        metrics.line.tolist(),
        metrics.step.tolist(),
        metrics.time_s.tolist(),
        metrics.value.tolist(),
        strict=True,
    ):
        found.setdefault(metrics.raw_names[raw], []).append(repr(point))
    return found


def oracle_points(path):
    """The same from tensorboard's own record reader and protobuf classes, up to the first damage."""
    found = {}
    reader = PyRecordReader_New(str(path))
    number = 0
    while True:
        try:
            reader.GetNext()
        except (errors.OutOfRangeError, errors.DataLossError):
            return found
        number += 1
        item = Event.FromString(reader.record())
        for value in item.summary.value:
            if value.HasField("simple_value"):
                number_value = value.simple_value
            elif value.HasField("tensor") and value.tensor.dtype != 7:
                array = tensor_util.make_ndarray(value.tensor)
                if array.size != 1:
                    continue
                number_value = float(array.reshape(-1)[0])
            else:
                continue
            point = [number, item.step, item.wall_time, number_value]
            found.setdefault(value.tag, []).append(repr(point))


def reasons(run):
    return [gap.reason for gap in run.gaps]
