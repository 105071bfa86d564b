"""Frequent metric lines read in blocks give what the reader of single lines gives, in whatever they stand."""

import os
import random
import sys

import pytest

from analyzer.ingest.base import SourceWriter
from analyzer.ingest.builder import RunBuilder
from analyzer.ingest.text import log_reader
from analyzer.ingest.text.log_reader import LogReader
from analyzer.ingest.text.rows.learned import row_batches
from analyzer.ingest.text.text_layer import line_blocks, read_blocks

SEEDS = 40 if os.environ.get("CI") else 120
"""Logs that are made up, each by the dice of its number: those of CI are among those that are read elsewhere."""

COLUMNS = ("metric", "raw", "step", "time_s", "value", "rank", "line")


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("ANALYZER_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "literals"))
    monkeypatch.setattr(log_reader, "FAST_FROM_BYTES", 0)
    monkeypatch.setattr(log_reader, "FIRST_BYTES", 6_000)
    monkeypatch.setattr(log_reader, "PIECE_BYTES", 20_000)


def read(data, *, blocks, size=1 << 20, records=False):
    builder = RunBuilder("run")
    builder.add_source("train.log", format_name="text-log", ingestor="text-log", size_bytes=0, sha256_head="")
    reader = LogReader(SourceWriter(builder, 0))
    if not blocks:
        reader._learned.watch = lambda *_: None
    if records:
        lines = data.decode("utf-8", "replace").split("\n")
        reader.read(line_blocks((2 * i, line, 1.5e9 + i) for i, line in enumerate(lines)))
    else:
        reader.read(read_blocks((data[i : i + size] for i in range(0, len(data), size)), lambda _: None))
    return builder.finish(), reader.rows_in_blocks


def assert_same(one, other):
    assert (one.metrics.names, one.metrics.raw_names) == (other.metrics.names, other.metrics.raw_names)
    for column in COLUMNS:
        mine, theirs = getattr(one.metrics, column), getattr(other.metrics, column)
        assert mine.tobytes() == theirs.tobytes(), column
    assert list(one.events) == list(other.events)
    assert one.step_window == other.step_window
    assert (one.frameworks, one.gaps, one.layout) == (other.frameworks, other.gaps, other.layout)


def bar(random_, at, total=5000):
    body = random_.choice(["█" * 3 + " " * 7, "#" * 10, " " * 10, "█" * 150])
    title = random_.choice(["", "", " ", "  ", "Map: ", "Training: "])
    rest = random_.choice(
        ["[00:22<54:11,  1.53it/s]", "[0:12:02<10:54:38,  1.06s/it]", "[00:22<54:11, 1.5it/s, loss=2.5]"]
    )
    return f"{title}{at * 100 // total:3d}%|{body}| {at}/{total} {rest}"


def number(random_):
    return random_.choice(
        [
            f"{random_.random() * 9:.4f}",
            f"{random_.random():.6e}",
            "0.0",
            "nan",
            "inf",
            "-inf",
            "1",
            "-0.5",
            "1e-05",
            "NaN",
            "1_0",
            "2.5.",
        ]
        if random_.random() < 0.2
        else [f"{random_.random() * 9:.4f}"]
    )


def hf_row(random_, step):
    def value():
        return number(random_)

    forms = [
        f"{{'loss': {value()}, 'grad_norm': {value()}, 'learning_rate': {value()}, 'epoch': {step / 100}}}",
        f"{{'loss': '{value()}', 'grad_norm': '{value()}', 'learning_rate': '{value()}', 'epoch': '{step / 100}'}}",
        f"{{'loss': {value()}, 'rewards/chosen': {value()}, 'epoch': {step / 100}}}",
        f"{{'loss': {value()}, 'step': {step}, 'note': 'x'}}",
        f"{{'loss': {value()}, 'step': {step}}}",
        "{'loss': 0.0, 'grad_norm': 0.0, 'learning_rate': 1e-05, 'epoch': 1.0}",
        f"{{'eval_loss': {value()}, 'eval_runtime': 12.3, 'epoch': {step / 100}}}",
        "{'train_runtime': 9.7, 'train_steps_per_second': 3.1, 'train_loss': 4.5, 'epoch': 0.6}",
    ]
    weights = [8, 4, 2, 1, 1, 2, 2, 0.2]
    return random_.choices(forms, weights)[0]


def deepspeed_row(random_, step):
    second = f"{step // 60 % 60:02d}:{step % 60:02d}"
    prefix = f"[2026-10-01 00:{second},{random_.randrange(1000):03d}] [INFO] [logging.py:107:log_dist] "
    if random_.random() < 0.1:
        prefix = random_.choice(["", "[rank3]: ", "node-1: ", "[2026-99-01 00:00:00,000] [INFO] [a.py:1:f] "])
    rank = random_.choice(["[Rank 0] ", "[Rank 0] ", "[Rank 2] ", "[Rank -1] ", ""])
    rates = ", ".join(number(random_) for _ in range(random_.choice([1, 1, 3])))
    speed = (
        f"epoch=0/micro_step={step * 4}/global_step={step}, RunningAvgSamplesPerSec={number(random_)},"
        f" CurrSamplesPerSec={number(random_)}"
    )
    return random_.choice(
        [
            f"{prefix}{rank}step={step}, skipped={step // 97}, lr=[{rates}], mom=[(0.9, 0.95)]",
            f"{prefix}{speed}, MemAllocated=61.20GB, MaxMemAllocated=72.00GB",
            f"{prefix}0/{step}, RunningAvgSamplesPerSec=51.1, CurrSamplesPerSec=42.8",
        ]
    )


def megatron_row(random_, step):
    prefix = random_.choice(
        ["", " ", " [2026-10-01 00:00:01] ", "[2026-10-01 00:00:01] ", "3: ", "[default1]: "]
    )
    loss = random_.choice(
        [f" lm loss: {number(random_)} |"] * 6 + ["", f" lm loss: 2.5 | mtp_1 loss: {number(random_)} |"]
    )
    scale = random_.choice(["65536.0", "65536.0", "-1.0"])
    return (
        f"{prefix}iteration {step:8d}/    5000 | consumed samples: {step * 256:12d} | elapsed time per iteration (ms):"
        f" {number(random_)} | learning rate: {number(random_)} | global batch size:   256 |{loss} loss scale: {scale} |"
        f" grad norm: {number(random_)} | number of skipped iterations:   {random_.choice('0001')} |"
        f" number of nan iterations:   {random_.choice('0001')} |{random_.choice(['', ' ', ' extra'])}"
    )


TIMERS = (
    "(min, max) time across ranks (ms):\n    forward-backward ...............................: (1000.10, 1100.25)\n"
    "    optimizer ......................................: (80.00, 90.00)"
)
OTHERS = (
    "[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 65536, reducing to 32768",
    "node-0:4000:5000 [0] NCCL INFO Channel 00/24 : 0 1 2",
    "Traceback (most recent call last):\n  File \"train.py\", line 3, in <module>\n    main()\nValueError: {'loss': 1.0}",
    'Traceback (most recent call last):\n  File "train.py", line 3, in <module>',
    '  json = {\n    "train_batch_size": 16,\n    "fp16": {"enabled": true}\n  }',
    "  json = {",
    "step 10: train loss 2.5, val loss 2.6",
    "iter 20: loss 3.1, time 250.00ms",
    "\x1b[31mred\x1b[0m {'loss': 2.0, 'epoch': 0.5}",
    "[31m{'loss': 2.0, 'epoch': 0.5}[0m",
    "{'loss': 1.0, 'epoch': 0.1} {'loss': 2.0, 'epoch': 0.2}",
    "[rank1]: {'loss': 1.0, 'epoch': 0.1}",
    "3: {'loss': 1.0, 'grad_norm': 2.0, 'learning_rate': 1e-4, 'epoch': 0.1}",
    "[2026-10-01 00:00:01,123] [INFO] [x.py:1:f] {'loss': 1.0, 'epoch': 0.1}",
    "loss is nan at step 5", "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB.",
    "", "   ", "10/01/2026 10:22:33 - INFO - trainer.data - rank 1 shard", "  5%|", "७%|", "\u2003x", "(min, max) time across ranks (ms):",
    "    optimizer ......................................: (80.00, 90.00)",
)  # fmt: skip


MAIN = (
    "{{'loss': {a:.4f}, 'grad_norm': {b}, 'epoch': {step}}}",
    "\r {step}%|███    | {step}/5000 [00:22<54:11,  1.53it/s]{{'loss': '{a:.4g}', 'epoch': '{b}'}}",
    "{{'loss': {a:.4f}, 'epoch': {b}}}\n  5%|#    | {step}/5000 [00:22<54:11,  1.53it/s]",
    "[2026-10-01 00:00:01,123] [INFO] [logging.py:107:log_dist] [Rank 0] step={step}, skipped=0, lr=[{a:.4f}, {a:.4f}], mom=[(0.9, 0.95)]",
    (
        "  5%|#    | {step}/5000 [00:22<54:11,  1.53it/s][2026-10-01 00:00:01,123] [INFO] [logging.py:107:log_dist] [Rank 0] step={step},"
        " skipped={step}, lr=[{a:.4f}], mom=[(0.9, 0.95)]"
    ),
    (
        " [2026-10-01 00:00:01] iteration {step:8d}/    5000 | elapsed time per iteration (ms): {a:.1f} | lm loss: {a:.4f} | loss scale: {b} |"
        " number of skipped iterations:   0 | number of nan iterations:   0 |"
    ),
)
"""What one of the logs prints most; all else of the same programs stands between."""


def mixed_log(seed, lines=180, usual=0.0):
    """A log of many programs; the share ``usual`` of its lines is of one wording, so that it is learned."""
    random_ = random.Random(seed)
    parts = []
    break_ = random_.choice(["\n", "\n", "\r\n"])
    kinds = random_.choices(range(6), k=random_.randint(2, 6))
    main = random_.choice(MAIN)
    for step in range(1, lines):
        if random_.random() < usual:
            parts.append(main.format(step=step, a=random_.random() * 9, b=random_.choice([0.25, 1.5, 2.5])))
            continue
        kind = random_.choice(kinds)
        glue = random_.choice(["", "", bar(random_, step), "\r" + bar(random_, step) + "\r"])
        if kind == 0:
            parts.append(glue + hf_row(random_, step))
            if random_.random() < 0.3:
                parts[-1] += random_.choice(["\n", "\r", "  \n", ""]) + bar(random_, step)
        elif kind == 1:
            parts.append(deepspeed_row(random_, step))
        elif kind == 2:
            parts.append(megatron_row(random_, step))
        elif kind == 3:
            parts.append(bar(random_, step) + random_.choice(["", "\r", "\n"]))
        elif kind == 4:
            parts.append(TIMERS)
        elif random_.random() < 0.4:
            parts.append(random_.choice(OTHERS))
    return break_.join(parts).encode("utf-8", "surrogatepass") + random_.choice([b"", b"\n", b"\xff\n"])


@pytest.mark.parametrize("seed", range(SEEDS))
def test_blocks_and_single_lines_give_the_same_run(seed, monkeypatch):
    monkeypatch.setattr(row_batches, "MIN_TOGETHER", random.Random(seed).choice([1, 2, 5, 24]))
    data = mixed_log(seed) if seed % 3 else mixed_log(seed, 500, usual=0.8)
    size = random.Random(seed).choice([1 << 20, 1 << 20, 6000, 700])

    single, _ = read(data, blocks=False, size=size)
    blocks, _ = read(data, blocks=True, size=size)

    assert_same(single, blocks)


@pytest.mark.parametrize("main", range(len(MAIN)))
def test_what_a_log_prints_most_is_read_in_blocks(main, monkeypatch):
    monkeypatch.setattr(sys.modules[__name__], "MAIN", MAIN[main : main + 1])
    data = mixed_log(1, 600, usual=0.9)

    single, _ = read(data, blocks=False)
    blocks, in_blocks = read(data, blocks=True)

    assert_same(single, blocks)
    assert in_blocks > 300


@pytest.mark.parametrize("seed", range(SEEDS // 6))
def test_so_do_records_of_a_tracker(seed):
    data = mixed_log(1000 + seed, lines=100).replace(b"\r\n", b"\n")

    assert_same(read(data, blocks=False, records=True)[0], read(data, blocks=True, records=True)[0])


def test_usual_rows_are_read_in_blocks():
    rows = []
    for step in range(1, 401):
        rows.append(
            f"\r {step // 4}%|#    | {step}/100 [00:22<54:11,  1.53it/s]{{'loss': 2.5, 'grad_norm': 1.0, 'epoch': 0.{step}}}"
        )
        rows.append(
            f"[2026-10-01 00:00:01,123] [INFO] [logging.py:107:log_dist] [Rank 0] step={step}, skipped=0, lr=[0.0003], mom=[(0.9, 0.95)]"
        )
        rows.append(
            f"[2026-10-01 00:00:01,123] [INFO] [timer.py:264:stop] epoch=0/micro_step={step}/global_step={step},"
            " RunningAvgSamplesPerSec=40.5, CurrSamplesPerSec=41.5, MemAllocated=61.20GB, MaxMemAllocated=72.00GB"
        )
        rows.append(
            f" [2026-10-01 00:00:01] iteration {step:8d}/     100 | consumed samples: {step:12d} | elapsed time per iteration (ms): 1200.1"
            " | learning rate: 3.000000E-04 | global batch size:   256 | lm loss: 2.500000E+00 | loss scale: 65536.0 | grad norm: 1.000"
            " | number of skipped iterations:   0 | number of nan iterations:   0 |"
        )
    _, in_blocks = read("\n".join(rows).encode(), blocks=True)

    assert in_blocks > 0.7 * len(rows)


QUIET = (
    "pytorch allocator cache flushes since last step. this happens when there is high memory pressure",
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB.",
    "NCCL communicator was aborted on rank 3.",
)


@pytest.mark.parametrize("seed", range(SEEDS // 4))
def test_lines_between_rows_get_the_step_that_the_log_had_reached(seed):
    random_ = random.Random(seed)
    usual = 0 if seed % 3 else 0.02
    parts = []
    for step in range(1, 400):
        loss = f"{random_.random() * 9:.4f}" if random_.random() >= usual else number(random_)
        parts.append(
            bar(random_, step, 5000)
            if random_.random() < usual
            else f"  5%|#    | {step}/5000 [00:22<54:11,  1.53it/s]"
        )
        parts[-1] += (
            random_.choice(["", "\n"]) + f"{{'loss': {loss}, 'grad_norm': 1.5, 'epoch': {step / 100}}}"
        )
        if step % 3 == 0:
            parts.append(
                f" [2026-10-01 00:00:01] iteration {step:8d}/    5000 | elapsed time per iteration (ms): 1200.1 | lm loss: {loss}"
                " | loss scale: 65536.0 | grad norm: 1.000 | number of skipped iterations:   0 |"
            )
            parts.append(TIMERS)
        if step % 5 == 0:
            parts.append(
                f"[2026-10-01 00:00:01,123] [INFO] [logging.py:107:log_dist] [Rank 0] step={step}, skipped=0, lr=[0.0003],"
                " mom=[(0.9, 0.95)]"
            )
        if random_.random() < 0.1:
            parts.append(random_.choice(QUIET))
    data = "\n".join(parts).encode()

    single, _ = read(data, blocks=False, size=20_000)
    blocks, in_blocks = read(data, blocks=True, size=20_000)

    assert_same(single, blocks)
    assert in_blocks > 100
    assert len({event.step for event in blocks.events}) > 10
