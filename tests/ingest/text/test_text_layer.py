"""Encodings, carriage returns, escapes, endless lines, prefixes, and the scan for literals."""

import gzip
import random
import tracemalloc
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from log_reading import points, read_text

from analyzer.ingest.base import OpenSource, SourceWriter
from analyzer.ingest.builder import RunBuilder
from analyzer.ingest.text.prefixes import peel
from analyzer.ingest.text.scan import LiteralScanner
from analyzer.ingest.text.text_layer import (
    MAX_RECORD_BYTES,
    line_blocks,
    read_blocks,
    record_end,
    record_start,
    strip_escapes,
)
from analyzer.ingest.text.text_log import TextLog
from analyzer.ingest.walk import make_candidate

OVERFLOW = "[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 65536, reducing to 32768"


def read_path(path):
    candidate = make_candidate(path, path.name)
    builder = RunBuilder(str(path))
    builder.add_source(path.name, format_name="text-log", ingestor="text-log", size_bytes=0, sha256_head="")
    TextLog().read(OpenSource(candidate, 0), SourceWriter(builder, 0))
    return builder.finish()


def test_records_of_a_redrawn_line_share_its_number():
    bars = "\r".join(f" {i}%|#  | {i}/100 [00:01<00:09,  9.0it/s]" for i in range(90))

    run = read_text(f"start\n{bars}\r{OVERFLOW}\nnext\n{OVERFLOW}\n")

    assert [event.ref.line for event in run.events] == [2, 4]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_encodings_with_a_mark_are_read(tmp_path, encoding):
    path = tmp_path / "train.log"
    path.write_text(f"学習\r\n{OVERFLOW}\r\n", encoding=encoding)

    events = read_path(path).events.of("loss_scale_overflow")

    assert [event.ref.line for event in events] == [2]


def test_bytes_that_are_no_utf8_do_not_hide_the_rest_of_a_line(tmp_path):
    path = tmp_path / "train.log"
    path.write_bytes(b"\xff\xfa\xb0 gbk \xd1\xb5 " + OVERFLOW.encode() + b"\n")

    assert len(read_path(path).events) == 1


def test_colours_inside_fields_do_not_split_them():
    coloured = "\x1b[31mstep: \x1b[1;92m 1\x1b[39m  \x1b[32mloss: \x1b[0m12.3822  [36mgrad_norm: [0m 4.9421\x1b]0;title\x07\n"

    run = read_text(coloured)

    assert (points(run, "loss"), points(run, "grad_norm")) == ([(1, 12.3822)], [(1, 4.9421)])


def test_text_without_escapes_is_not_copied():
    data = b"[2023-04-18 01:46:52] [INFO] plain"

    assert strip_escapes(data) is data


@pytest.mark.parametrize(
    ("line", "text", "rank"),
    [
        ("`iteration: 3 loss: 0.5", "iteration: 3 loss: 0.5", None),
        ("`model` version: 3", "`model` version: 3", None),
        ("3: [rank3]: boom", "boom", 3),
        ("[default0]:[rank1]: boom", "boom", 1),
        ("worker-12: boom", "boom", None),
        ("10.1.0.9: [rank2]: boom", "boom", 2),
        ("localhost: boom", "boom", None),
        ("1.2.3: boom", "1.2.3: boom", None),
        ("[node1:worker-0] boom", "boom", None),
        ("(RayTrainWorker pid=123, ip=10.0.0.1) boom", "boom", None),
        ("(main_process pid=77) boom", "boom", None),
        ("12.3s\t45\tboom", "boom", None),
        ('{"log":"[rank2]: boom\\n","stream":"stderr","time":"2026-01-01T00:00:00.5Z"}', "boom", 2),
        ("2026-01-01T00:00:00.123456789Z stdout F boom", "boom", None),
        ("2020-12-10 12:21:24 | INFO | train_inner | boom", "boom", None),
        ("[2023-04-18 01:46:52,554] [INFO] [engine.py:12:step] [Rank 5] boom", "boom", 5),
        ("2026-11-21 06:40:02,062 - mmengine - INFO - boom", "boom", None),
        ("12/08/2023 15:29:15 - INFO - __main__ -   boom", "boom", None),
        ("2026-11-21 06:40:02,062 - train.py[line:103] - INFO: boom", "boom", None),
        ("Sat, 21 Nov 2026 06:40:02 src/train.py[line:103] INFO boom", "boom", None),
        ("2026-11-21 06:40:02,062 - src/my-model/train.py:103 - INFO - boom", "boom", None),
        ("[rank7]:[E1003 18:37:01.832146912 ProcessGroupNCCL.cpp:607] boom", "boom", 7),
        ("W0727 22:15:04.157000 66845 torch/distributed/run.py:852] boom", "boom", None),
        ("[NeMo I 2024-09-28 19:46:49 adapter_mixins:435] boom", "boom", None),
        ("INFO:root:boom", "boom", None),
        ("step: 10 loss: 2.0", "step: 10 loss: 2.0", None),
        ("epoch-3: done", "epoch-3: done", None),
        ('worker-3:   File "a.py", line 1, in f', '  File "a.py", line 1, in f', None),
        ("node7:     main()", "    main()", None),
        ("[2026-05-19 13:00:10]     main()", "    main()", None),
    ],
)
def test_prefixes_are_peeled_and_their_rank_kept(line, text, rank):
    peeled = peel(line)

    assert (peeled.text, peeled.rank) == (text, rank)


def test_time_host_and_stream_of_prefixes_are_kept():
    deepspeed = peel("[2023-04-18 01:46:52,554] [INFO] [engine.py:12:step] x")
    zoned = peel("2026-01-01T02:00:00+02:00 stderr F x")

    assert deepspeed.time_s == pytest.approx(1681782412.554)
    assert (zoned.time_s, zoned.stream) == (1767225600.0, "stderr")
    assert peel("(TrainWorker pid=1, ip=10.0.0.9) x").host == "10.0.0.9"
    assert peel("[9999-99-99 99:99:99,000] [INFO] [a.py:1:f] x").time_s is None


PREFIXES = st.sampled_from(
    ["3: ", "[rank1]: ", "[default2]:", "worker-0: ", "INFO:root:", "12.5s\t7\t", "2026-01-01 00:00:00,123 - a - INFO - ",
     "[2023-04-18 01:46:52,554] [INFO] [x.py:1:f] [Rank 2] ", "2026-01-01T00:00:00Z stdout F ", " ", "(W pid=3) ", '{"log":"']
)  # fmt: skip


@given(st.lists(PREFIXES, max_size=6), st.text(max_size=40))
def test_peeling_twice_changes_nothing(prefixes, body):
    once = peel("".join(prefixes) + body)

    assert peel(once.text).text == once.text


@given(
    st.binary(max_size=400), st.lists(st.binary(min_size=1, max_size=12), min_size=1, max_size=8, unique=True)
)
def test_the_scan_finds_what_a_plain_search_finds(data, literals):
    planted = data + literals[0] + data[:7] + literals[-1]
    expected = []
    for index, literal in enumerate(literals):
        position = planted.find(literal)
        while position >= 0:
            expected.append((position, index))
            position = planted.find(literal, position + 1)

    assert LiteralScanner(literals).find(planted) == sorted(expected)


@given(st.binary(max_size=300), st.integers(1, 50))
def test_blocks_hold_every_byte_in_order_and_number_lines_right(data, size):
    body = data.replace(b"\x1b", b"").replace(b"[", b"").removeprefix(b"\xef\xbb\xbf")
    if body[:2] in (b"\xff\xfe", b"\xfe\xff"):
        body = body[2:]
    blocks = list(read_blocks((body[i : i + size] for i in range(0, len(body), size)), lambda _: None))

    assert b"".join(block.data for block in blocks) == body
    for index, block in enumerate(blocks):
        assert block.first_line == 1 + sum(earlier.data.count(b"\n") for earlier in blocks[:index])


def test_record_bounds_agree_from_both_sides():
    data = b"one\rtwo\nthree\r\n" + b"x" * (MAX_RECORD_BYTES + 10)

    assert [data[s : record_end(data, s)] for s in (0, 4, 8)] == [b"one", b"two", b"three"]
    assert record_start(data, 10, 0) == 8
    assert record_end(data, 15) == 15 + MAX_RECORD_BYTES


def test_a_line_of_many_megabytes_costs_one_gap_and_constant_memory():
    chunk = b"loss " * 200_000
    seen = []

    def endless():
        for _ in range(60):
            yield chunk

    tracemalloc.start()
    size = sum(len(block.data) for block in read_blocks(endless(), seen.append))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert (size, seen) == (60 * len(chunk), [1])
    assert peak < 12 * len(chunk)


def test_what_stands_deep_in_an_endless_line_is_found(tmp_path):
    path = tmp_path / "train.log"
    path.write_bytes(b"x" * 3_000_000 + OVERFLOW.encode() + b"y" * 3_000_000 + b"\n")

    run = read_path(path)

    assert len(run.events) == 1
    assert [gap.ref.line for gap in run.gaps] == [1]


def test_of_a_truncated_archive_the_readable_part_is_kept(tmp_path):
    text = "".join(f"{random.Random(i).random()} {OVERFLOW}\n" for i in range(5000)).encode()
    path = tmp_path / "train.log.gz"
    packed = gzip.compress(text)
    path.write_bytes(packed[: len(packed) // 2])

    run = read_path(path)

    assert len(run.events) > 100
    assert any("cannot be read" in gap.reason for gap in run.gaps)


def test_of_an_archive_with_a_damaged_middle_the_readable_part_is_kept(tmp_path):
    body = zlib.compress(b"x")  # not even gzip inside
    path = tmp_path / "train.log.gz"
    path.write_bytes(gzip.compress((OVERFLOW + "\n").encode() * 50_000)[:700] + body * 40)

    assert read_path(path).gaps


def test_lines_kept_one_by_one_carry_their_record_numbers_and_times():
    (block,) = line_blocks([(7, "a\n", 1.5), (9, "b\nc", None)])

    assert block.data == b"a\nb\nc\n"
    assert [(block.number(i), block.time_s(i)) for i in range(3)] == [(7, 1.5), (9, None), (9, None)]


def test_a_word_in_brackets_is_no_orphan_of_an_escape_sequence() -> None:
    data = b"stalled: op_7 [missing ranks: 3] [main] \x1b[32mok\x1b[m [31mred[0m [m\n"
    assert strip_escapes(data) == b"stalled: op_7 [missing ranks: 3] [main] ok red \n"


PRINTED = """\
all is ready\r
python : Traceback (most \r
recent call last):\r
At line:1 char:1\r
+ python fit.py *> a.log\r
+ ~~~~~~~~~~~~~~~~~~~~~~\r
    + CategoryInfo        \r
      : NotSpecified: (T..\r
    + FullyQualifiedErrorI\r
   d : NativeCommandError\r
 \r
  File "C:\\code\\a_long_nam\r
e\\fit.py", line 7, in \r
<module>\r
    fit(model)\r
ValueError: too few \r
classes, pass 12 or more \r
of them\r
==========================\r
bye\r
"""


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig"])
@pytest.mark.parametrize("size", [100_000, 1 << 20])
def test_what_powershell_broke_at_the_width_of_its_console_is_whole_again(encoding, size):
    data = PRINTED.encode(encoding)
    blocks = list(read_blocks(iter([data[i : i + size] for i in range(0, len(data), size)]), print))
    assert b"".join(block.data for block in blocks).decode().splitlines() == [
        "all is ready",
        "Traceback (most recent call last):",
        '  File "C:\\code\\a_long_name\\fit.py", line 7, in <module>',
        "    fit(model)",
        "ValueError: too few classes, pass 12 or more of them",
        "==========================",
        "bye",
    ]
    assert [blocks[0].number(place) for place in (0, 1, 2, 4)] == [1, 2, 12, 16]


def test_what_a_program_says_at_once_below_the_words_of_powershell_is_kept():
    """Somebody took the blank lines out of the log."""
    text = PRINTED.replace(" \r\n  File", "  File")
    whole = b"".join(block.data for block in read_blocks([text.encode("utf-16")], print)).decode()

    assert whole.splitlines()[2] == '  File "C:\\code\\a_long_name\\fit.py", line 7, in <module>'
    assert "NativeCommand" not in whole


def test_lines_of_one_length_are_left_alone_where_no_record_was_printed():
    text = "a line that ends in \r\nblank, and\r\n"
    (block,) = read_blocks([text.encode("utf-16")], print)
    assert block.data.decode() == text
