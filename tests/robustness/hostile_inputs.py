"""Inputs that somebody made to hurt whoever reads them, and those that accidents make. Each function fills a folder."""

import gzip
import json
import os
import pickle
import socket
import sqlite3
import struct
from pathlib import Path

ROWS = "".join(
    f"{{'loss': {3 - step / 20:.4f}, 'grad_norm': {1 - step / 100:.4f}, 'learning_rate': 0.0001, 'epoch': {step / 10:.2f}}}\n"
    for step in range(1, 31)
)
CASES = {}
DIGITS = "9" * 400


def case(function):
    """Register a case under the name of its function."""
    CASES[function.__name__] = function
    return function


def log(folder, text=ROWS, name="train.log"):
    """A log beside the hostile file, so that a run is there."""
    Path(folder, name).write_text(text, encoding="utf-8")


@case
def names_of_another_encoding(folder):
    log(folder)
    for name in (b"r\xe4nk.log", b"\xff\xfe.yaml", b"d\xe9\xe9p/conf.json"):
        path = Path(folder, os.fsdecode(name))
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b'{"learning_rate": 1e-4}\n' if name.endswith(b"json") else ROWS.encode())


@case
def names_with_newlines_escapes_and_bidi(folder):
    log(folder)
    for name in (
        "a\nb.log",
        "\x1b]52;c;aGk=\x07x.log",
        "\u202egol.exe.log",
        "x\x1b[31m.json",
        "<script>.log",
        "`a`|b.log",
    ):
        log(folder, ROWS + "RuntimeError: CUDA error: device-side assert triggered\n", name)


@case
def symlink_loops(folder):
    log(folder)
    Path(folder, "a").symlink_to("b")
    Path(folder, "b").symlink_to("a")
    Path(folder, "self.log").symlink_to("self.log")
    Path(folder, "up").symlink_to("..")
    Path(folder, "dangling.log").symlink_to("/nonexistent/file.log")


@case
def pipes_sockets_and_devices(folder):
    log(folder)
    os.mkfifo(Path(folder, "pipe.log"))
    os.mkfifo(Path(folder, "config.yaml"))
    here = Path.cwd()
    os.chdir(folder)  # names of sockets are short
    with socket.socket(socket.AF_UNIX) as made:
        made.bind("s.log")
    os.chdir(here)
    Path(folder, "zero.log").symlink_to("/dev/zero")


@case
def integers_of_hundreds_of_digits(folder):
    log(folder)
    config = f'{{"learning_rate": {DIGITS}, "train_batch_size": {DIGITS}, "gradient_accumulation_steps": -{DIGITS}, "fp16": {{"enabled": {DIGITS}, "initial_scale_power": {DIGITS}}}}}'
    Path(folder, "ds_config.json").write_text(config, encoding="utf-8")
    Path(folder, "config.yaml").write_text(
        f"lr: {DIGITS}\nmax_steps: {DIGITS}\nseed: 0x{DIGITS}\n", encoding="utf-8"
    )
    Path(folder, "train.py").write_text(f"lr = {DIGITS}\nmax_steps = -{DIGITS}\n", encoding="utf-8")
    Path(folder, "metrics.jsonl").write_text(
        f'{{"step": {DIGITS}, "loss": {DIGITS}}}\n' * 3, encoding="utf-8"
    )
    state = {"log_history": [{"step": 1, "loss": 2.0}], "global_step": 1, "max_steps": 1}
    text = json.dumps(state).replace('"global_step": 1', f'"global_step": {DIGITS}')
    Path(folder, "trainer_state.json").write_text(
        text.replace('"loss": 2.0', f'"loss": {DIGITS}'), encoding="utf-8"
    )
    Path(folder, "events.csv").write_text(f"step,loss\n{DIGITS},{DIGITS}\n1,2\n", encoding="utf-8")


@case
def integers_beyond_the_limit_of_python(folder):
    log(folder, f"{{'loss': {'9' * 5000}, 'epoch': 1}}\nstep: {'9' * 5000} loss: 2.0\n" + ROWS)
    Path(folder, "ds_config.json").write_text(f'{{"train_batch_size": {"9" * 5000}}}', encoding="utf-8")
    Path(folder, "metrics.jsonl").write_text(
        f'{{"step": {"9" * 5000}, "loss": 1}}\n{{"step": 2, "loss": 1}}\n' * 9, encoding="utf-8"
    )
    Path(folder, "train.py").write_text(f"max_steps = {'9' * 5000}\n", encoding="utf-8")
    Path(folder, "config.yaml").write_text(f"max_steps: {'9' * 5000}\n", encoding="utf-8")


@case
def a_long_chain_of_attributes(folder):
    log(folder)
    Path(folder, "train.py").write_text("cfg" + ".a" * 20_000 + " = 1\n", encoding="utf-8")
    Path(folder, "model.py").write_text(
        "x = " + "-" * 50_000 + "1\ny = " + "[" * 90 + "]" * 90 + "\n", encoding="utf-8"
    )
    Path(folder, "plus.py").write_text("x = " + "1+" * 50_000 + "1\n", encoding="utf-8")


@case
def nested_json(folder):
    log(folder)
    deep = "[" * 100_000 + "]" * 100_000
    objects = '{"a":' * 50_000 + "1" + "}" * 50_000
    for name in (
        "ds_config.json",
        "trainer_state.json",
        "config.json",
        "tokenizer.json",
        "tokenizer_config.json",
        "wandb-summary.json",
        "metrics.jsonl",
        "execution_trace.json",
    ):
        Path(folder, name).write_text(deep, encoding="utf-8")
        Path(folder, f"o_{name}").write_text(objects, encoding="utf-8")
    Path(folder, "deep.yaml").write_text("a: " + "[" * 5000, encoding="utf-8")
    Path(folder, "deep.log").write_text("Model config X {\n" + '"a": {\n' * 5000, encoding="utf-8")


@case
def a_configuration_without_a_suffix(folder):
    log(
        folder,
        "[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 1, reducing to 1\n" * 40 + ROWS,
    )
    text = json.dumps(
        {"fp16": {"enabled": True}, "train_batch_size": 8, "zero_optimization": {"stage": 2}}, indent=1
    )
    for name in ("ds_config", "ds_config.json.bak"):
        Path(folder, name).write_text(text, encoding="utf-8")
    with gzip.open(Path(folder, "ds_config.json.gz"), "wt") as stream:
        stream.write(text)
    with gzip.open(Path(folder, "train_config.yaml.gz"), "wt") as stream:
        stream.write("fp16: true\nbf16: false\nlearning_rate: 1.0\n")


@case
def damaged_sqlite(folder):
    log(folder)
    path = Path(folder, "mlflow.db")
    with sqlite3.connect(path) as database:
        database.executescript(
            "create table metrics (key text, value real, timestamp integer, step integer, is_nan integer, run_uuid text);"
            "create table runs (run_uuid text, name text, status text, start_time integer, end_time integer, lifecycle_stage text, experiment_id integer);"
            "create table params (key text, value text, run_uuid text);create table tags (key text, value text, run_uuid text);"
        )
        database.executemany(
            "insert into metrics values (?,?,?,?,0,'r')", [("loss", i / 7, i, i) for i in range(200)]
        )
        database.execute("insert into runs values ('r','n','FINISHED',1,2,'active',0)")
    database.close()
    data = path.read_bytes()
    for at in range(0, len(data), 97):
        changed = bytearray(data)
        changed[at] |= 0x80
        if at % (97 * 11) == 0:
            Path(folder, f"mlflow{at}.db").write_bytes(changed)
    changed = bytearray(data)
    changed[data.rindex(b"loss") + 1] |= 0x80
    path.write_bytes(changed)


@case
def pickles(folder):
    log(folder)

    class Evil:
        def __reduce__(self):
            return os.system, (f"touch {folder}/EXECUTED",)

    Path(folder, "nccl_trace_rank_0").write_bytes(pickle.dumps(Evil()))
    Path(folder, "nccl_trace_rank_2").write_bytes(
        b"\x80\x02X\x09\x00\x00\x00pg_configX\x09\x00\x00\x00pg_status" + b"]\x94" * 9_000_000 + b"."
    )
    Path(folder, "nccl_trace_rank_3").write_bytes(b"\x80\x04}" + b"(" * 300_000 + b".")
    Path(folder, "nccl_trace_rank_4").write_bytes(b"\x80\x04" + b"\x8e" + struct.pack("<Q", 1 << 60) + b"x")


@case
def a_flight_recorder_dump_of_nested_lists(folder):
    log(folder)
    with gzip.open(Path(folder, "nccl_trace_rank_0.json.gz"), "wb") as stream:
        stream.write(
            b'{"version": "2.5", "pg_config": {}, "pg_status": {}, "entries": ['
            + b"[]," * 20_000_000
            + b"[]]}"
        )
    with gzip.open(Path(folder, "nccl_trace_rank_1.json.gz"), "wb") as stream:
        stream.write(
            b'{"version": "2.5", "pg_config": {}, "pg_status": {}, "entries": ['
            + b"[1,[2]]," * 3_000_000
            + b"[]]}"
        )


@case
def a_tokenizer_of_nested_lists(folder):
    log(folder)
    Path(folder, "config.json").write_text(
        '{"model_type": "llama", "torch_dtype": "bfloat16"}', encoding="utf-8"
    )
    for name in ("tokenizer.json", "tokenizer_config.json"):
        Path(folder, name).write_bytes(b'{"version": "1.0", "added_tokens": [' + b"[]," * 6_000_000 + b"[]]}")


@case
def a_safetensors_header_of_megabytes(folder):
    log(folder)
    entries = ",".join(
        f'"t{i}":{{"dtype":"F32","shape":[1],"data_offsets":[{4 * i},{4 * i + 4}]}}' for i in range(400_000)
    )
    header = b"{" + entries.encode() + b"}"
    Path(folder, "model.safetensors").write_bytes(struct.pack("<Q", len(header)) + header)
    Path(folder, "huge.safetensors").write_bytes(struct.pack("<Q", 1 << 62) + b"{}")
    Path(folder, "lists.safetensors").write_bytes(struct.pack("<Q", 20_000_002) + b'{"a":' + b"[]" * 10)


@case
def lines_of_spaces(folder):
    log(
        folder,
        ROWS
        + ("State: Terminated\n" + " " * 64_000 + "\n") * 20
        + "tensor("
        + " " * 100_000
        + "\n"
        + "--- arguments ---\n"
        + (" fp16 " + "." * 60_000 + "\n") * 20,
    )
    Path(folder, "metrics.csv").write_text(
        "step,loss\n1,tensor(" + " " * 100_000 + "\n2,tensor([" + " " * 100_000 + "\n", encoding="utf-8"
    )


@case
def one_line_of_a_megabyte(folder):
    log(
        folder,
        ROWS
        + "50%|"
        + "█" * 300_000
        + "\n"
        + "a" * 1_000_000
        + "\n"
        + "=" * 1_000_000
        + "\n"
        + "loss: " * 160_000
        + "\n"
        + "%|" * 300_000
        + "\n",
    )


@case
def a_configuration_of_pretty_printed_spaces(folder):
    log(folder)
    with gzip.open(Path(folder, "printed.log.gz"), "wb") as stream:
        for _ in range(40):
            stream.write(b"{\n" + (b" " * 200 + b'"a": 1,\n') * 1200)
    with gzip.open(Path(folder, "spaces.log.gz"), "wb") as stream:
        stream.write(b" " * 20_000_000)


@case
def many_metric_names(folder):
    log(folder)
    Path(folder, "metrics.jsonl").write_text(
        "".join(f'{{"step": {i}, "loss": 1.0, "m{i}": 1.5}}\n' for i in range(25_000)), encoding="utf-8"
    )


@case
def a_wide_table(folder):
    names = ",".join(f"c{i}" for i in range(3000))
    Path(folder, "metrics.csv").write_text(
        f"step,{names}\n" + "".join(f"{r}," + "1," * 2999 + "1\n" for r in range(60)), encoding="utf-8"
    )
    log(folder)


@case
def bombs(folder):
    log(folder)
    with gzip.open(Path(folder, "zeros.log.gz"), "wb") as stream:
        for _ in range(100):
            stream.write(bytes(1 << 20))
    with gzip.open(Path(folder, "rows.json.gz"), "wb") as stream:
        stream.write(
            b'{"traceEvents": [' + b'{"ph":"X","name":"a","ts":1,"dur":1,"pid":1,"tid":1},' * 100_000
        )
    anchors = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
    anchors += "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 12))
    Path(folder, "config.yaml").write_text(anchors, encoding="utf-8")


@case
def escapes_in_every_field(folder):
    evil = "\x1b]52;c;cm0gLXJm\x07\x1b]8;;http://x.example/\x1b\\k\x1b]8;;\x1b\\\u202e\x9b31m\u2066<script>alert(1)</script>"
    log(folder, ROWS + f"RuntimeError: {evil}\n", "train.log")
    config = {
        f"learning_rate{evil}": 1,
        evil: evil,
        "fp16": {"enabled": True, evil: "x"},
        "model_name_or_path": evil,
    }
    Path(folder, "ds_config.json").write_text(json.dumps(config, ensure_ascii=False), encoding="utf-8")
    Path(folder, "config.yaml").write_text(
        f'"{evil}": 1\n'.replace("\x1b", "\\e").replace("\x07", "\\a").replace("\x9b", "\\x9b"),
        encoding="utf-8",
    )
    Path(folder, "metrics.csv").write_text(f"step,loss{evil},{evil}\n1,2,3\n2,3,4\n", encoding="utf-8")
    Path(folder, "metrics.jsonl").write_text(
        json.dumps({"step": 1, evil: 3.0, "loss": 1.0}) + "\n", encoding="utf-8"
    )


@case
def text_in_utf16(folder):
    Path(folder, "train.log").write_bytes(ROWS.encode("utf-16"))
    Path(folder, "ds_config.json").write_bytes(
        '{"fp16": {"enabled": true}, "train_batch_size": 8}'.encode("utf-16")
    )
    log(folder, ROWS, "b.log")


@case
def deep_directories(folder):
    log(folder)
    deep = Path(folder, *["d"] * 12)
    deep.mkdir(parents=True)
    log(deep, ROWS + "RuntimeError: CUDA error: an illegal memory access was encountered\n", "rank_3.log")


@case
def empty_files_of_every_name(folder):
    log(folder)
    for name in (
        "config.yaml",
        "trainer_state.json",
        "metrics.csv",
        "a.safetensors",
        "events.out.tfevents.1.h.1",
        "run-a.wandb",
        "mlflow.db",
        "x.json.gz",
        "nccl_trace_rank_0",
    ):
        Path(folder, name).write_bytes(b"")
        Path(folder, f"1{name}").write_bytes(b"\x00")
        Path(folder, f"2{name}").write_bytes(bytes(range(256)) * 9)


@case
def a_torch_archive_that_is_none(folder):
    log(folder)
    Path(folder, "trace.json").write_text(
        '{"traceEvents":[{"ph":"X","ts":' + DIGITS + ',"dur":-' + DIGITS + ',"name":' + "[" * 500 + "}",
        encoding="utf-8",
    )
    Path(folder, "t.json").write_text(
        '{"schemaVersion":1,"deviceProperties":[{"name":3}],"traceEvents":[{"ph":1e999,"ts":"NaN","name":null},7,null,[],{"ph":"X","ts":1e308,"dur":1e308,"pid":{},"tid":[],"cat":"kernel","name":"k","args":{"stream":"x","device":1e99}}]}',
        encoding="utf-8",
    )
