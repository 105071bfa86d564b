"""TensorBoard files: the installed tensorboard package is the oracle for what is in them."""

import gzip
import math
import struct
from pathlib import Path

import numpy as np
import pytest
from event_files import (
    NAME,
    START_S,
    event,
    frame,
    opening,
    oracle_points,
    points,
    read,
    reasons,
    tensor_event,
    write,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.compat.proto.event_pb2 import Event, SessionLog
from tensorboard.compat.proto.summary_pb2 import HistogramProto
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.summary.writer.event_file_writer import EventFileWriter
from tensorboard.util import tensor_util

from analyzer.errors import InputError
from analyzer.ingest.base import Candidate, Match
from analyzer.ingest.discover import load_run
from analyzer.ingest.formats.tensorboard import tensorboard, tensorboard_templates, tfrecord
from analyzer.ingest.formats.tensorboard.tensorboard import TensorBoard
from analyzer.ingest.formats.tensorboard.tfrecord import masked_checksum
from analyzer.model.tables import NULL_INT

PUBLIC = Path(__file__).parents[3] / ".." / "shared" / "data" / "public"


# Values -------------------------------------------------------------------------------------------------------


SCALARS = st.lists(
    st.tuples(
        st.sampled_from(["loss", "lr", "train/grad_norm", "train/loss", "eval/los"]),
        st.one_of(st.integers(0, 300), st.integers(-(2**63) + 1, 2**63 - 1)),
        st.floats(width=32),
        st.floats(0.5, 4e9),
    ),
    max_size=60,
)


@given(SCALARS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_random_scalars_come_back_exactly(tmp_path, scalars):
    events = [event(tag, step, value, time_s) for tag, step, value, time_s in scalars]
    path = write(tmp_path, [opening(), *events])

    assert points(read(path)) == oracle_points(path)


@pytest.mark.parametrize("bucket_shift", [48, 63])
@pytest.mark.parametrize("kind", ["v1", "v2", "mixed"])
def test_many_points_come_back_as_event_accumulator_gives_them(tmp_path, kind, bucket_shift, monkeypatch):
    """Steps of one to three bytes, several tags of one length; with one-bit hashes, collisions everywhere."""
    monkeypatch.setattr(tensorboard_templates, "_BUCKET_SHIFT", bucket_shift)
    tags = ["a/loss", "b/loss", "c/los", "grad_norm", "lr", "learning_rate"]
    events = [opening()]
    generator = np.random.default_rng(0)
    for step in [0, *range(100, 150), *range(16_300, 16_420)]:
        for tag in tags:
            value = float(np.float32(generator.normal()))
            if kind == "v2" or (kind == "mixed" and step % 3 == 0):
                events.append(tensor_event(tag, step, TensorProto(dtype=1, float_val=[value])))
            else:
                events.append(event(tag, step, value))
    path = write(tmp_path, events)
    found = points(read(path))

    assert found == oracle_points(path)
    accumulator = EventAccumulator(str(path), size_guidance={"scalars": 0, "tensors": 0})
    accumulator.Reload()
    listed = accumulator.Tags()
    assert set(found) == {*listed["scalars"], *listed["tensors"]}
    if kind == "v1":
        assert read(path).metrics.series("a/loss").value.tolist() == [
            x.value for x in accumulator.Scalars("a/loss")
        ]


def test_points_stay_in_record_order_over_windows_and_blocks(tmp_path, monkeypatch):
    """Some records of a window are read as columns, others one by one."""
    monkeypatch.setattr(tfrecord, "WINDOW_BYTES", 3000)
    monkeypatch.setattr(tensorboard, "FLUSH_POINTS", 50)
    scalars = [event("eval/loss" if step % 40 == 0 else "loss", step, step) for step in range(600)]
    path = write(tmp_path, [opening(), *scalars, *scalars])

    assert points(read(path)) == oracle_points(path)


def test_a_file_of_tensorboards_own_writer_is_read(tmp_path):
    writer = EventFileWriter(str(tmp_path))
    for step in range(100):
        writer.add_event(event("loss", step, 1 / (step + 1)))
    writer.close()
    run = load_run(tmp_path).run

    assert run.metrics.series("loss").step.tolist() == list(range(100))
    assert run.gaps == ()


def test_events_with_several_values_and_histograms_between_are_read(tmp_path):
    events = [opening()]
    for step in range(50):
        item = event("loss", step, math.nan if step == 40 else 1.0)
        item.summary.value.add(tag="lr", simple_value=step)
        if step % 5 == 0:
            item.summary.value.add(tag="weights", histo=HistogramProto(num=1, bucket=[1.0] * 20))
        events.append(item)
    path = write(tmp_path, events)

    assert points(read(path)) == oracle_points(path)


@pytest.mark.parametrize(
    ("dtype", "as_bytes"),
    [
        (dtype, as_bytes)
        for dtype in ("f4", "f8", "f2", "i4", "i8", "u1", "bool", "u4")
        for as_bytes in (0, 1)
    ],
)
@pytest.mark.parametrize("count", [1, 20])
def test_tensor_scalars_of_every_type_are_read(tmp_path, dtype, as_bytes, count):
    array = np.array(True if dtype == "bool" else 3, dtype) if dtype[0] in "bu" else np.array(-2, dtype)
    tensor = tensor_util.make_tensor_proto(array)
    if as_bytes:
        tensor = TensorProto(dtype=tensor.dtype, tensor_content=array.tobytes())
    path = write(tmp_path, [opening(), *(tensor_event("x", step, tensor) for step in range(count))])

    assert read(path).metrics.series("x").value.tolist() == [float(array)] * count


@pytest.mark.parametrize("tensor", [{"half_val": [0x4049]}, {"tensor_content": b"\x49\x40"}])
def test_bfloat16_is_the_upper_half_of_a_float(tmp_path, tensor):
    path = write(
        tmp_path,
        [opening(), *(tensor_event("x", step, TensorProto(dtype=14, **tensor)) for step in range(20))],
    )

    assert read(path).metrics.series("x").value.tolist() == [3.140625] * 20


def test_a_point_without_metadata_belongs_to_the_plugin_of_the_first(tmp_path):
    pr_curve = TensorProto(dtype=1, float_val=[0.5])
    bare = Event(wall_time=START_S, step=2)
    bare.summary.value.add(tag="curve", tensor=pr_curve)
    path = write(
        tmp_path, [opening(), tensor_event("curve", 1, pr_curve, "pr_curves"), bare, event("loss", 1, 1.0)]
    )

    assert set(points(read(path))) == {"loss"}


def test_a_scalar_that_cannot_be_understood_is_a_gap(tmp_path):
    complex_number = TensorProto(dtype=8, scomplex_val=[1.0, 2.0])
    run = read(write(tmp_path, [opening(), tensor_event("z", 1, complex_number), event("loss", 1, 1.0)]))

    assert reasons(run) == ["1 values of 'z' are of a type that is not understood"]
    assert run.gaps[0].ref.line == 2


def test_a_tag_that_is_no_text_is_kept_readable(tmp_path):
    payload = event("lossX", 1, 2.5).SerializeToString().replace(b"lossX", b"loss\xff")
    path = tmp_path / NAME
    path.write_bytes(frame(opening().SerializeToString()) + frame(payload) * 20)

    assert {tag: len(found) for tag, found in points(read(path)).items()} == {"loss\\xff": 20}


def test_samples_are_divided_and_other_axes_are_no_steps(tmp_path):
    events = [opening()]
    for step in range(1, 6):
        events.append(event("Train/Samples/train_loss", step * 32, 1.0))
        events.append(event("lm loss vs samples", step * 32, 1.0))
    run = read(write(tmp_path, events))

    assert run.metrics.series("loss").step.tolist() == [1, 2, 3, 4, 5]
    assert set(run.metrics.series("lm loss vs samples").step.tolist()) == {NULL_INT}
    assert "deepspeed" in run.frameworks


# Damage -------------------------------------------------------------------------------------------------------


def small_file():
    events = [opening(), *(event("loss", step, step / 7) for step in range(20)), event("lr", 20, 1e-4)]
    frames = [frame(item.SerializeToString()) for item in events]
    return frames, b"".join(frames)


def test_a_file_cut_at_any_byte_yields_a_prefix_and_says_so(tmp_path):
    frames, whole = small_file()
    path = tmp_path / NAME
    path.write_bytes(whole)
    everything = [point for found in points(read(path)).values() for point in found]
    ends = np.cumsum([len(item) for item in frames])
    for cut in range(1, len(whole) + 1):
        path.write_bytes(whole[:cut])
        run = read(path)
        found = [point for part in points(run).values() for point in part]

        assert found == everything[: max(int(np.searchsorted(ends, cut, "right")) - 1, 0)]
        assert ("the file ends inside" in " ".join(reasons(run))) == (cut not in ends)


def test_a_flipped_byte_anywhere_loses_the_record_it_hits_only(tmp_path):
    frames, whole = small_file()
    path = tmp_path / NAME
    path.write_bytes(whole)
    everything = points(read(path))
    ends = np.cumsum([len(item) for item in frames])
    for place in range(len(whole)):
        broken = bytearray(whole)
        broken[place] ^= 0x20
        path.write_bytes(bytes(broken))
        run = read(path)
        hit = int(np.searchsorted(ends, place, "right")) + 1

        assert points(run) == {
            tag: kept
            for tag, found in everything.items()
            if (kept := [point for point in found if not point.startswith(f"[{hit},")])
        }
        assert [gap.ref.line for gap in run.gaps] == [hit]
        assert str(hit) in run.gaps[0].reason


@given(st.data())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
def test_damage_in_a_long_file_costs_the_records_that_it_hits(tmp_path, data):
    """Here most records are read as columns, whose checksums are computed from tables."""
    tags = ["loss", "grad_norm", "lr"]
    events = [opening(), *(event(tags[step % 3], step, step / 3) for step in range(90, 200))]
    frames = [frame(item.SerializeToString()) for item in events]
    ends = np.cumsum([len(item) for item in frames])
    broken = bytearray(b"".join(frames))
    hit = set()
    for _ in range(data.draw(st.integers(1, 6))):
        place = data.draw(st.integers(0, len(broken) - 1))
        broken[place] ^= data.draw(st.integers(1, 255))
        hit.add(int(np.searchsorted(ends, place, "right")))
    path = tmp_path / NAME
    path.write_bytes(bytes(broken))
    steps = read(path).metrics.step.tolist()

    # Two flips may hit the same byte and mend it.
    assert {item.step for index, item in enumerate(events[1:], 1) if index not in hit} <= set(steps)
    assert broken == b"".join(frames) or len(steps) < len(events)
    assert set(steps) <= set(range(90, 200))


def test_a_damaged_record_in_a_long_file_is_named_and_the_rest_kept(tmp_path):
    """EventAccumulator ends in silence where the checksum does not fit."""
    path = write(tmp_path, [opening(), *(event("loss", step, 1.0) for step in range(2000))])
    broken = bytearray(path.read_bytes())
    broken[len(broken) // 4] ^= 0xFF
    path.write_bytes(bytes(broken))
    run = read(path)
    accumulator = EventAccumulator(str(path), size_guidance={"scalars": 0})
    accumulator.Reload()

    assert len(accumulator.Scalars("loss")) < 600
    assert len(run.metrics) == 1999
    assert len(run.gaps) == 1


def test_a_truncated_archive_gives_what_inflates(tmp_path):
    whole = b"".join(
        frame(item.SerializeToString())
        for item in [opening(), *(event("loss", s, math.sin(s)) for s in range(3000))]
    )
    packed = gzip.compress(whole)
    path = tmp_path / f"{NAME}.gz"
    path.write_bytes(packed[: len(packed) // 2])
    run = read(path)

    assert 500 < len(run.metrics) < 3000
    assert any("the rest of the file cannot be read" in reason for reason in reasons(run))


def test_an_intact_record_that_is_no_event_is_a_gap(tmp_path):
    path = tmp_path / NAME
    path.write_bytes(
        frame(opening().SerializeToString())
        + frame(b"\x0f junk")
        + frame(event("x", 1, 1.0).SerializeToString())
    )
    run = read(path)

    assert list(points(run)) == ["x"]
    assert [(gap.ref.line, gap.rows_lost) for gap in run.gaps] == [(2, 1)]


def test_a_file_with_only_its_opening_record_says_that_nothing_was_logged(tmp_path):
    path = write(tmp_path, [opening()])
    assert path.stat().st_size == 40
    write(tmp_path, [opening(), event("loss", 1, 1.0)], "events.out.tfevents.1700000500.node.4300.0")
    (tmp_path / "events.out.tfevents.1700000900.node.4400.0").touch()
    run = load_run(tmp_path).run

    assert any("no scalar in the opening record alone: the run died" in reason for reason in reasons(run))
    assert any("0 bytes" in reason for reason in reasons(run))


def test_a_directory_with_only_dead_files_is_an_input_error(tmp_path):
    write(tmp_path, [opening()])

    with pytest.raises(InputError, match="first log"):
        load_run(tmp_path)


def test_records_of_sagemaker_debugger_carry_no_checksum(tmp_path):
    payload = event("loss/mul:0", 3, 0.5).SerializeToString()
    record = frame(payload)[:-4] + struct.pack("<I", masked_checksum(b"0x12345678"))
    path = tmp_path / "000000000003_worker_0.tfevents"
    for count in (1, 30):
        path.write_bytes(record * count)
        assert read(path).metrics.value.tolist() == [0.5] * count


# Launches -----------------------------------------------------------------------------------------------------


def test_a_restart_erases_nothing(tmp_path):
    """EventAccumulator drops the NaNs of a crashed launch when a later one goes back to an earlier step."""
    first = [event("loss", step, math.nan if step >= 15 else 1.0) for step in range(20)]
    second = [event("loss", step, 0.5, START_S + 100 + step) for step in range(10, 20)]
    restart = Event(wall_time=START_S + 100, step=10, session_log=SessionLog(status=SessionLog.START))
    write(tmp_path, [opening(), *first])
    write(tmp_path, [opening(START_S + 100), restart, *second], "events.out.tfevents.1700000100.node.5000.0")
    run = load_run(tmp_path).run
    loss = run.metrics.series("loss")
    accumulator = EventAccumulator(str(tmp_path), size_guidance={"scalars": 0})
    accumulator.Reload()

    assert not any(math.isnan(point.value) for point in accumulator.Scalars("loss"))
    assert int(np.isnan(loss.value).sum()) == 5
    assert loss.attempt.tolist() == [0] * 20 + [1] * 10
    assert [(attempt.start_s, attempt.end_s) for attempt in run.attempts] == [
        (START_S, START_S + 19),
        (START_S + 100, START_S + 119),
    ]
    assert [row.step for row in run.events.of("session_start")] == [10]
    assert run.layout.host == "node"


def labels_of(tmp_path, names):
    for name in names:
        write(tmp_path, [opening(), event("loss", 1, 1.0)], name)
    return [read(tmp_path / name, name).attempts[0].label for name in names]


@pytest.mark.parametrize(
    "names",
    [
        [
            NAME,
            "loss_train/events.out.tfevents.1700000003.node.4242.1",
            "hp/1/events.out.tfevents.1700000009.node.4242.2",
        ],
        [
            "train/events.out.tfevents.1700000000.n.7.0.v2",
            "validation/events.out.tfevents.1700000060.n.7.1.v2",
        ],
        ["events.out.tfevents.1700000000.node", "eval/events.out.tfevents.1700000300.node"],
    ],
    ids=["torch", "keras", "tensorflow-1"],
)
def test_files_of_one_launch_share_an_attempt(tmp_path, names):
    assert len(set(labels_of(tmp_path, names))) == 1


@pytest.mark.parametrize(
    "names",
    [
        [NAME, "events.out.tfevents.1700003600.node.4242.0"],
        [NAME, "events.out.tfevents.1700000000.other.4242.0"],
        ["events.out.tfevents.1700000000.node", "events.out.tfevents.1700000300.node"],
    ],
    ids=["container with the same process number", "two hosts", "tensorflow-1"],
)
def test_files_of_different_launches_do_not(tmp_path, names):
    assert len(set(labels_of(tmp_path, names))) == 2


def test_a_sub_directory_belongs_to_the_launch_before_it(tmp_path):
    later = "events.out.tfevents.1700003600.node.4242.0"
    curves = ["x/events.out.tfevents.1700000003.node.4242.1", "x/events.out.tfevents.1700003603.node.4242.1"]
    first, second, first_curve, second_curve = labels_of(tmp_path, [NAME, later, *curves])

    assert (first_curve, second_curve) == (first, second)


# Recognition --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "head", "match"),
    [
        (NAME, frame(opening().SerializeToString()), Match.SURE),
        ("renamed.log", frame(opening().SerializeToString()), Match.SURE),
        ("train.tfrecord", frame(b"\x0a\x10" + bytes(16)), Match.NO),
        (NAME, b"\x19" + frame(opening().SerializeToString())[1:], Match.LIKELY),
        (NAME, b"\x18\x00\x00", Match.LIKELY),
        (NAME, b"version https://git-lfs.github.com/spec/v1\n", Match.NO),
        ("tfevents/console.log", b"step 1\x00 loss 2.0 and so on", Match.NO),
    ],
)
def test_event_files_are_known_by_their_first_record(name, head, match):
    assert TensorBoard().sniff(Candidate(Path(name), name, len(head), head)) == match


PUBLIC_FILES = (
    sorted(path for path in PUBLIC.rglob("*tfevents*") if path.is_file()) if PUBLIC.is_dir() else []
)


@pytest.mark.skipif(not PUBLIC_FILES, reason="the collection of public run logs is not on this machine")
def test_public_files_are_read_as_tensorboard_reads_them():
    for path in PUBLIC_FILES:
        if "sagemaker" not in str(path):  # whose writer stores no checksum, so that tensorboard stops
            assert points(read(path)) == oracle_points(path), path
