"""What the fuzzers damage: a small file for every reader, rules, scripts, secrets, and what a triage leaves behind."""

import gzip
import io
import json
import pickle
import sqlite3
import struct
import tarfile
import tempfile
import zipfile
import zlib
from functools import lru_cache
from pathlib import Path

import pyarrow as pa
from pyarrow import parquet

from analyzer.ingest.formats.tensorboard.tfrecord import masked_checksum

SAMPLES = Path(__file__).parents[2] / "samples"
TRACKERS = Path(__file__).parents[1] / "ingest" / "trackers" / "tracker_files"
STEPS = range(1, 13)
LOG = "".join(f"step {n}/12 loss {3 / n:.4f} grad_norm 0.{n}\n" for n in STEPS)


def _lines(rows):
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def _stamp(n):
    return f"2026-03-04T10:00:{n:02d}+00:00"


def _database(script, rows):
    """The bytes of a SQLite database."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "made.db")
        database = sqlite3.connect(path)
        database.executescript(script)
        for statement, values in rows:
            database.execute(statement, values)
        database.commit()
        database.close()
        return path.read_bytes()


def _mlflow_stores():
    script = """
        create table metrics (key text, value real, timestamp integer, step integer, is_nan integer, run_uuid text);
        create table runs (run_uuid text, name text, status text, start_time integer, end_time integer, lifecycle_stage text, experiment_id integer);
        create table params (key text, value text, run_uuid text); create table tags (key text, value text, run_uuid text);
        insert into runs values ('r', 'n', 'FAILED', 1779197000000, 1779197593000, 'active', 0);
        insert into params values ('learning_rate', '1e-05', 'r');
    """
    return _database(
        script,
        [
            ("insert into metrics values ('loss', ?, ?, ?, 0, 'r')", (3 / n, 1779197000000 + n, n))
            for n in STEPS
        ],
    )


def _parquet():
    table = pa.table(
        {"step": list(STEPS), "loss": [3 / n for n in STEPS], "val_loss": [4 / n for n in STEPS]}
    )
    stream = io.BytesIO()
    parquet.write_table(table, stream)
    return stream.getvalue()


def _trackio():
    script = """
        CREATE TABLE metrics (id INTEGER PRIMARY KEY AUTOINCREMENT, run_id TEXT NOT NULL, timestamp TEXT NOT NULL,
            run_name TEXT NOT NULL, step INTEGER NOT NULL, metrics TEXT NOT NULL, log_id TEXT, space_id TEXT);
        CREATE TABLE configs (id INTEGER PRIMARY KEY AUTOINCREMENT, run_id TEXT NOT NULL, run_name TEXT NOT NULL,
            config TEXT NOT NULL, created_at TEXT NOT NULL, UNIQUE(run_id));
        CREATE TABLE system_metrics (id INTEGER PRIMARY KEY AUTOINCREMENT, run_id TEXT NOT NULL, timestamp TEXT NOT NULL,
            run_name TEXT NOT NULL, metrics TEXT NOT NULL, log_id TEXT, space_id TEXT);
        INSERT INTO configs (run_id, run_name, config, created_at) VALUES ('0', 'a', '{"learning_rate": 0.001}', '2026-03-04');
    """
    insert = "INSERT INTO metrics (run_id, timestamp, run_name, step, metrics) VALUES ('0', ?, 'a', ?, ?)"
    return _database(
        script,
        [(insert, (_stamp(n), n, json.dumps({"train/loss": 3 / n, "grad_norm": "NaN"}))) for n in STEPS],
    )


def _msprobe():
    tensor = {"type": "torch.Tensor", "dtype": "torch.float16", "shape": [2, 8], "Max": 8.5, "Min": -1, "Mean": 0.5,
              "Norm": 3.0, "requires_grad": True}  # fmt: skip
    data = {
        "Module.layers.0.mlp.Linear.forward.1": {"input_args": [tensor], "input_kwargs": {"mask": tensor}, "output": [{**tensor, "Max": "inf"}], "parameters": {"weight": tensor}},
        "Functional.softmax.3.forward": {"input_args": [[tensor]], "output": [{**tensor, "Max": "nan"}]},
        "Cell.net.Dense.backward.0": {"input": [tensor], "output": [tensor]},
    }  # fmt: skip
    head = {"task": "statistics", "level": "mix", "framework": "pytorch", "dump_data_dir": None}
    return json.dumps({**head, "data": data}).encode()


def _flight_dump():
    entry = {
        "frames": [{"name": "step", "filename": "train.py", "line": 7}], "record_id": 0, "pg_id": 0,
        "process_group": ["0", "default_pg"], "collective_seq_id": 1, "p2p_seq_id": 0, "op_id": 1, "is_p2p": False,
        "profiling_name": "nccl:all_reduce", "time_created_ns": 1_700_000_000_000_000_000, "duration_ms": 1.5,
        "input_sizes": [[8, 64]], "input_dtypes": ["Float"], "output_sizes": [[8, 64]], "output_dtypes": ["Float"],
        "state": "completed", "time_discovered_started_ns": None, "time_discovered_completed_ns": None, "retired": True,
        "timeout_ms": 600_000,
    }  # fmt: skip
    entries = [{**entry, "record_id": n, "collective_seq_id": n} for n in range(6)]
    entries.append({**entry, "record_id": 6, "collective_seq_id": 6, "state": "scheduled", "retired": False})
    dump = {
        "version": "2.5", "rank": 0, "world_size": 2, "entries": entries,
        "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1]"}},
        "pg_status": {"0": {"last_enqueued_collective": 6, "last_started_collective": 5, "last_completed_collective": 5}},
    }  # fmt: skip
    return pickle.dumps(dump, protocol=2)


def _trace():
    event = {
        "ph": "X",
        "cat": "kernel",
        "pid": 0,
        "tid": 7,
        "args": {"External id": 1, "stream": 7, "device": 0},
    }
    events = [{**event, "name": f"gemm{n}", "ts": 1000 + 100 * n, "dur": 80} for n in STEPS]
    events += [
        {
            "ph": "X",
            "cat": "cpu_op",
            "name": "aten::mm",
            "pid": 1,
            "tid": 1,
            "ts": 900 + 100 * n,
            "dur": 50,
            "args": {"External id": n},
        }
        for n in STEPS
    ]
    events.append({"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "pid": 1, "tid": 1, "ts": 900, "dur": 1300})  # fmt: skip
    head = {
        "schemaVersion": 1,
        "deviceProperties": [{"id": 0, "name": "A100"}],
        "distributedInfo": {"rank": 0, "world_size": 2},
    }
    return json.dumps({**head, "traceEvents": events}).encode()


def _execution_trace():
    node = {"ctrl_deps": 1, "inputs": {"values": [], "shapes": [[8, 64]], "types": ["Tensor(float)"]}}
    nodes = [
        {"id": n, "name": "aten::mm", **node, "attrs": [{"name": "rf_id", "type": "uint64", "value": n}]}
        for n in STEPS
    ]
    return json.dumps({"schema": "1.1.1-chakra.0.0.4", "pid": 1, "nodes": nodes}, indent=1).encode()


def _notebook():
    table = "<table><tr><th>epoch</th><th>train_loss</th></tr>\n<tr><td>0</td><td>1.5</td></tr>\n</table>"
    printed = {"output_type": "stream", "name": "stdout", "text": LOG.splitlines(keepends=True)}
    drawn = {"output_type": "display_data", "data": {"text/html": [table]}}
    trace = ["\x1b[31mValueError\x1b[0m"]
    error = {"output_type": "error", "ename": "ValueError", "evalue": "no samples", "traceback": trace}
    held = ([printed, error], [drawn])
    cells = [{"cell_type": "code", "source": ["fit()"], "outputs": outputs} for outputs in held]
    return json.dumps({"nbformat": 4, "metadata": {}, "cells": cells}).encode()


def _archive():
    """A run in a tar, as far as the text log within it is concerned."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as archive:
        entry = tarfile.TarInfo("run7/train.log")
        entry.size = len(LOG)
        archive.addfile(entry, io.BytesIO(LOG.encode()))
    return made.getvalue()


def _zip():
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(zipfile.ZipInfo("run7/train.log"), LOG)
    return made.getvalue()


GATES = b"""gates:
  broke:
    says: a value that must be finite was not
    when: signal.nonfinite_loss.persists or event.any(family="numeric", role=["symptom", "cause"])
    cases:
    - {says: NaN, facts: {signal.nonfinite_loss.persists: true}, holds: yes}
  broke_twice:
    says: it broke, and the log says so
    when: gate.broke and not gate.broke or event.cuda_oom.count >= 2
    cases: []
"""

SCRIPTS = (
    ("train.py", b"""import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        self.fc = nn.Sequential(nn.Linear(20, 4), nn.Softmax(dim=1))
    def forward(self, x):
        x = self.fc(x)
        return x
model = Net()
rate = 0.3
optimizer = torch.optim.SGD(model.parameters(), lr=rate, momentum=-0.9)
train_loader = DataLoader(data, batch_size=16)
for epoch in range(10):
    for x, y in train_loader:
        loss = nn.functional.cross_entropy(model(x / 255), y)
        total += loss
        losses.append(loss)
        loss.backward()
        optimizer.step()
"""),
    ("keras.py", b"""from keras.layers import Dense
model.add(Dense(units=10, activation='softmax'))
model.compile(loss=BinaryCrossentropy(from_logits=True), optimizer=Adam(lr=0.003))
model.fit(x, x, epochs=3, validation_split=0.2, shuffle=False)
flow = ImageDataGenerator(rescale=1./255).flow_from_directory('a', f'{b!r:>{c}}')
"""),
    ("run.sbatch", b"""#!/bin/bash
#SBATCH --mem=64G -N 2 --time 01:00:00
export NCCL_SOCKET_IFNAME=eth0 A=$B B=${A:-x}${C}
BATCH=16; LR="3e-4$BATCH"
docker run --shm-size=1g image srun torchrun --nproc-per-node 8 \\
    train.py --batch-size $BATCH --warmup-steps ${W-3} +optim.name=adam "--a 'b" \\
    --lr $LR --bf16 2>&1 | tee log.txt
python -m torch.distributed.run --nproc $(nproc) `pwd`/t.py --x=1 > o.log
"""),
    ("val_loss_1.txt", b"".join(b"%.4f\n" % (3 / (n + 1)) for n in range(60))),
    ("loss.csv", b"".join(b"tensor(%.4e),\n" % (3 / (n + 1)) for n in range(20)) + b"nan\n-inf\n2.5"),
)  # fmt: skip

SECRET = b"hf_" + b"aB3" * 12
TEXTS = (
    b"wandb login --relogin "
    + b"0f" * 20
    + b"\nexport MY_TOKEN='"
    + SECRET
    + b"'\nmachine a login b password c4c4c4c4\n",
    b'{"api_key": "'
    + b"k1" * 14
    + b'", "run": "login(key=\\"'
    + b"q9" * 9
    + b'\\")"}\nhttps://u:pw12345678@h/x?sig=abc123def456\n',
    b"-----BEGIN RSA PRIVATE KEY-----\n"
    + b"aA1/" * 16
    + b"\n-----END RSA PRIVATE KEY-----\nstep 30 loss 2.4",
    b"step 10 loss 3.1417 lr 1e-4\nstep 20 loss 2.7182 lr 1e-5\nstep # # 2\n# # #\nstep 30 loss 2.4 lr 1e-",
)

RECORD = b'{"run":{"key":"00ff00ff00ff00ff","location":"a","outcome":"diagnosed","status":"failed","hosts":[]},"findings":[]}\n'
MANIFEST = (
    b'{"schema": "analyzer.triage/1", "runs": 1, "complete": true, "shard": [1, 2], "tool_version": "0", "rules_digest": "0",'
    b' "parts": [{"count": 1, "runs": "runs/part-00000-0123456789ab.parquet", "findings": "findings/part-00000-0123456789ab.parquet"}]}'
)

INSPECT = "2025-04-01 10:00:00,123 - INFO - layers.0.mlp_activation_{stat} \t\t iteration={step:06d} \t\t value={value}\n"
POD = b"""kind: Pod
metadata: {name: train-0, labels: {job: train}}
status:
  phase: Failed
  containerStatuses:
  - name: pytorch
    restartCount: 2
    lastState: {terminated: {exitCode: 137, reason: OOMKilled, finishedAt: "2026-05-19T13:33:12Z"}}
    state: {terminated: {exitCode: 1, reason: Error, startedAt: "2026-05-19T13:00:00Z"}}
"""
MLFLOW_RUN = "mlruns/1/" + "0123456789abcdef" * 2
CONFIG = b"learning_rate: 0.001\nfp16: true\nmodel: {vocab_size: 320, layers: [1, 2]}\nper_device_train_batch_size: 8\n"

MADE = {
    "argument-file": ("args.txt", lambda: b"batch_size=32\nlr=0.0003\nseed=1\nbetas=[0.9, 0.99]\n"),
    "config": ("config.yaml", lambda: CONFIG),
    "csv-metrics": ("metrics.csv", lambda: b"step,loss,lr\n" + b"".join(b"%d,%.3f,1e-4\n" % (n, 3 / n) for n in STEPS)),
    "episode-monitor": ("0.monitor.csv", lambda: b'#{"t_start": 1700000000.5, "env_id": "Cart-v1"}\nr,l,t\n' + b"".join(b"%d.5,%d,0.%d\n" % (n, n, n) for n in STEPS)),
    "execution-trace": ("et.json", _execution_trace),
    "flight-recorder": ("nccl_trace_rank_0", _flight_dump),
    "gpu-samples": ("gpu.csv", lambda: b"timestamp, name, pci.bus_id, temperature.gpu, utilization.gpu [%], power.draw [W]\n" + b"".join(b"2026/03/04 10:00:%02d.123, NVIDIA A100-SXM4-80GB, 00000000:3B:00.0, %d, 97 %%, [N/A]\n" % (n, 40 + n) for n in STEPS)),
    "history-json": ("history.json", lambda: json.dumps({"loss": [2.0, 1.5, 1.1], "accuracy": [0.2, 0.4, 0.6], "val_loss": [2.1, 1.7, 1.4]}).encode()),
    "job-status": ("pod.yaml", lambda: POD),
    "json-lines": ("log.jsonl", lambda: _lines({"step": n, "loss": 3 / n, "lr": 1e-4} for n in STEPS)),
    "kineto": ("rank0.pt.trace.json", _trace),
    "launch-script": ("run.sbatch", lambda: dict(SCRIPTS)["run.sbatch"]),
    "mlflow-database": ("mlflow.db", _mlflow_stores),
    "mlflow-files": (f"{MLFLOW_RUN}/metrics/train/loss", lambda: b"".join(b"%d %.3f %d\n" % (1779197592000 + n, 3 / n, n) for n in STEPS)),
    "msprobe": ("step12/rank3/dump.json", _msprobe),
    "named-column": ("val_loss.txt", lambda: b"".join(b"%.4f\n" % (3 / n) for n in STEPS)),
    "notebook": ("fit.ipynb", _notebook),
    "nvdlfw-inspect": ("nvdlfw_inspect_statistics_logs/nvdlfw_inspect_globalrank-3.log", lambda: "".join(INSPECT.format(stat=stat, step=n, value=n / 7) for n in STEPS for stat in ("max", "min")).encode()),
    "parquet-metrics": ("metrics.parquet", _parquet),
    "structured-log": ("app.log", lambda: _lines({"level": "info", "ts": _stamp(n), "msg": f"step {n}/12 loss {3 / n:.3f}", "grad_norm": 1.0} for n in STEPS)),
    "text-log": ("train.log", LOG.encode),
    "trackio": ("demo.db", _trackio),
    "training-script": ("train.py", lambda: dict(SCRIPTS)["keras.py"]),
    "wandb-config": ("wandb/run-1/files/config.yaml", lambda: b"_wandb:\n  desc: null\n  value: {cli_version: 0.17.0, framework: huggingface}\nlearning_rate:\n  desc: null\n  value: 0.001\n"),
    "wandb-download": ("run-a.jsonl", lambda: b'{"run": {"format": 1, "run_id": "a", "state": "crashed", "start_s": 1.79e9, "gaps": []}}\n' + _lines({"history": {"_step": n, "_timestamp": 1.79e9 + n, "train/loss": 3 / n, "train/grad_norm": "NaN"}} for n in STEPS) + _lines([{"system": {"_timestamp": 1.79e9, "system.gpu.0.temp": 80}}, {"console": {"line": "Traceback (most recent call last):", "time_s": 1.79e9, "level": "error"}}])),
    "wandb-metadata": ("wandb/run-1/files/wandb-metadata.json", lambda: json.dumps({"os": "Linux", "python": "3.11", "heartbeatAt": "2026-03-04T10:00:00", "args": ["--lr", "0.1"], "program": "train.py", "cpu_count": 8, "gpu": "Tesla T4", "gpu_count": 2}).encode()),
    "wandb-summary": ("wandb/run-1/files/wandb-summary.json", lambda: b'{"train/loss": 0.25, "_step": 100, "_runtime": 17.5, "_timestamp": 1.79e9, "train/grad_norm": "NaN", "_wandb": {"runtime": 17}}'),
}  # fmt: skip
"""Path and content of what is written here."""

OF_SAMPLES = {
    "capsule": "replay/planted/weight-nan/capsule/capsule.json",
    "elastic-error": "failed/ddp-4-ranks-rank-stalls/logs/none_cua15fzn/attempt_0/0/error.json",
    "model-files": "failed/gemma3-fp16-anomaly-first-step/model/config.json",
    "replay": "replay/planted/weight-nan/replay.jsonl",
    "requirements": "failed/qwen2-fp16-sft-loss-zero/wandb/offline-run-20261121_064457-dfv8t0au/files/requirements.txt",
    "safetensors": "failed/gemma3-fp16-anomaly-first-step/model/model.safetensors",
    "tensorboard": "failed/yi-6b-base-loss-scale-floor-logs-only/monitor/tensorboard/sft",
    "trainer-state": "failed/qwen2-fp16-sft-loss-zero/outputs/trainer_state.json",
    "wandb": "failed/qwen2-fp16-sft-loss-zero/wandb/offline-run-20261121_064457-dfv8t0au/run-dfv8t0au.wandb",
}
"""Samples of what a library wrote."""

OF_TRACKERS = {
    "clearml": "clearml/metrics.jsonl",
    "clearml-task": "clearml/task.json",
    "swanlab": "swanlab/run-obmw0r90.swanlab",
    "swanlab-config": "swanlab/config.yaml",
}
"""What a tracker wrote, kept beside the tests of its reader."""

ARCHIVES = {"archive": ("run.tar.gz", _archive), "zip": ("run.zip", _zip), "gzip": ("train.log.gz", lambda: gzip.compress(LOG.encode(), mtime=0))}  # fmt: skip
"""Runs in another wrapping; their readers are those of what is within."""


WITHOUT_LOG = {*ARCHIVES, "notebook", "structured-log", "text-log"}
"""Read by themselves: beside a log they are no part of the run, or are the log."""


@lru_cache(maxsize=1)
def reader_seeds():
    """Path within a run and content for every reader and wrapping."""
    found = {name: (path, make()) for name, (path, make) in {**MADE, **ARCHIVES}.items()}
    places = {name: SAMPLES / place for name, place in OF_SAMPLES.items()}
    places |= {name: TRACKERS / place for name, place in OF_TRACKERS.items()}
    for name, path in places.items():
        file = next(iter(sorted(path.iterdir()))) if path.is_dir() else path
        found[name] = (file.name, file.read_bytes())
    return found


HEADER_BYTES = 7
"""Of a file of W&B or SwanLab, before its first record."""


def resealed(reader, data):
    """The same data with checksums that are right, as far as its framing still holds."""
    if reader == "tensorboard":
        return _sealed(data, 0, _seal_event)
    return _sealed(data, HEADER_BYTES, _seal_record) if reader in {"wandb", "swanlab"} else data


def _sealed(data, at, seal):
    data = bytearray(data)
    while at is not None and at < len(data):
        at = seal(data, at)
    return bytes(data)


def _seal_event(data, at):
    """One record of an event file: length, its checksum, content, its checksum."""
    if at + 12 > len(data):
        return None
    (size,) = struct.unpack_from("<Q", data, at)
    end = at + 12 + size
    if end + 4 > len(data):
        return None
    struct.pack_into("<I", data, at + 8, masked_checksum(bytes(data[at : at + 8])))
    struct.pack_into("<I", data, end, masked_checksum(bytes(data[at + 12 : end])))
    return end + 4


def _seal_record(data, at):
    """One record of a W&B file: checksum, length, kind, content; blocks of 32 KiB end in zeros."""
    if 32_768 - at % 32_768 < HEADER_BYTES:
        return at + 32_768 - at % 32_768
    if at + HEADER_BYTES > len(data):
        return None
    size, kind = struct.unpack_from("<HB", data, at + 4)
    part = bytes(data[at + HEADER_BYTES : at + HEADER_BYTES + size])
    struct.pack_into("<I", data, at, zlib.crc32(part, zlib.crc32(bytes([kind]))))
    return at + HEADER_BYTES + size
