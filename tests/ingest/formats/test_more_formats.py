"""Formats that a tracker, a logger, a monitor or a person writes: each read from a small file of its grammar."""

import io
import json
import sqlite3
import tarfile
import zipfile
from datetime import UTC, datetime, timedelta

import pytest

import analyzer
from analyzer.errors import InputError, UnknownFormatError
from analyzer.ingest.discover import load_run

START = datetime(2026, 3, 4, 10, 0, tzinfo=UTC)


def loss(step, planned=100):
    return round(0.4 + 3.6 * (1 - step / planned) ** 2, 4)


def at(step):
    return START + timedelta(seconds=2 * step)


def lines(rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


def steps_and_values(run, name="loss"):
    series = run.metrics.series(name)
    return series.step.tolist(), series.value.tolist()


# Tables as trackio 0.43 makes them; it stores the JSON cells as bytes.
TRACKIO = """
CREATE TABLE metrics (id INTEGER PRIMARY KEY AUTOINCREMENT, run_id TEXT NOT NULL, timestamp TEXT NOT NULL,
    run_name TEXT NOT NULL, step INTEGER NOT NULL, metrics TEXT NOT NULL, log_id TEXT, space_id TEXT);
CREATE TABLE configs (id INTEGER PRIMARY KEY AUTOINCREMENT, run_id TEXT NOT NULL, run_name TEXT NOT NULL,
    config TEXT NOT NULL, created_at TEXT NOT NULL, UNIQUE(run_id));
CREATE TABLE system_metrics (id INTEGER PRIMARY KEY AUTOINCREMENT, run_id TEXT NOT NULL, timestamp TEXT NOT NULL,
    run_name TEXT NOT NULL, metrics TEXT NOT NULL, log_id TEXT, space_id TEXT);
"""


def trackio(path):
    with sqlite3.connect(path) as database:
        database.executescript(TRACKIO)
        for number, run in enumerate(("first", "second")):
            for step in range(1, 31):
                cell = {
                    "train/loss": loss(step, 30),
                    "grad_norm": "NaN" if step == 20 else 1.0,
                    "note": "text",
                }
                stamp = (at(step) + timedelta(hours=number)).isoformat()
                row = (f"{number:032x}", stamp, run, step, json.dumps(cell).encode())
                database.execute(
                    "INSERT INTO metrics (run_id, timestamp, run_name, step, metrics) VALUES (?,?,?,?,?)", row
                )
            settings = {"learning_rate": 0.001 * (number + 1), "nested": {"fp16": True}, "_Username": None}
            database.execute(
                "INSERT INTO configs (run_id, run_name, config, created_at) VALUES (?,?,?,?)",
                (f"{number:032x}", run, json.dumps(settings).encode(), START.isoformat()),
            )
            database.execute(
                "INSERT INTO system_metrics (run_id, timestamp, run_name, metrics) VALUES (?,?,?,?)",
                (f"{number:032x}", START.isoformat(), run, json.dumps({"gpu/0/temp": 61}).encode()),
            )
    database.close()


def test_trackio_database(tmp_path):
    trackio(tmp_path / "demo.db")
    run = load_run(tmp_path).run

    assert steps_and_values(run) == (list(range(1, 31)), [loss(step, 30) for step in range(1, 31)])
    assert run.metrics.series("grad_norm").step[19] == 20
    assert run.config.value("train.learning_rate") == 0.002
    assert any("holds 2 runs" in gap.reason for gap in run.gaps)
    assert run.metrics.series("loss").time_s[0] == (at(1) + timedelta(hours=1)).timestamp()


def test_a_damaged_trackio_database_is_a_gap_or_refused(tmp_path):
    trackio(tmp_path / "demo.db")
    data = bytearray((tmp_path / "demo.db").read_bytes())
    for place in range(4096, len(data), 4096):
        data[place] ^= 0xFF
    (tmp_path / "demo.db").write_bytes(data)

    try:
        run = load_run(tmp_path).run
    except InputError:
        return
    assert any(gap.evidence for gap in run.gaps)


def test_structured_log(tmp_path):
    rows = [
        {"level": "info", "ts": at(s).isoformat(), "msg": f"step {s}/100 loss {loss(s)}", "grad_norm": 1.0}
        for s in range(1, 101)
    ]
    trace = 'Traceback (most recent call last):\n  File "train.py", line 5, in <module>\n    main()\nValueError: shard 17 holds no samples'
    rows.append({"level": "error", "ts": at(101).isoformat(), "msg": "training failed", "exc_info": trace})
    (tmp_path / "app.log").write_text(lines(rows))
    dx = analyzer.diagnose(tmp_path)

    assert dx.status == "failed"
    assert dx.first_failure.place.line == 101
    assert dx.coverage.metrics["loss"] == dx.coverage.metrics["grad_norm"] == 100


def test_json_lines_with_a_message_beside_their_numbers_keep_their_steps(tmp_path):
    rows = [
        {"time": at(s).isoformat(), "level": "INFO", "message": "train", "step": s, "loss": loss(s)}
        for s in range(1, 101)
    ]
    (tmp_path / "app.jsonl").write_text(lines(rows))

    assert steps_and_values(load_run(tmp_path).run) == (list(range(1, 101)), [loss(s) for s in range(1, 101)])


def test_journal_of_systemd(tmp_path):
    rows = [
        {"__REALTIME_TIMESTAMP": str(int(at(s).timestamp() * 1e6)), "_HOSTNAME": "node-a", "SYSLOG_IDENTIFIER": "train", "MESSAGE": f"step {s}/100 loss {loss(s)}"}
        for s in range(1, 60)
    ]  # fmt: skip
    kernel = "NVRM: Xid (PCI:0000:3b:00): 79, pid=4711, name=python, GPU has fallen off the bus."
    rows.append(
        {
            "__REALTIME_TIMESTAMP": str(int(at(60).timestamp() * 1e6)),
            "SYSLOG_IDENTIFIER": "kernel",
            "MESSAGE": list(kernel.encode()),
        }
    )
    (tmp_path / "journal.json").write_text(lines(rows))
    dx = analyzer.diagnose(tmp_path)

    assert dx.status == "failed"
    assert dx.findings[0].cause.id == "gpu-fell-off-bus"


@pytest.mark.parametrize("index", [False, True])
def test_history_of_keras(tmp_path, index):
    columns = {"loss": [2.0, 1.5, 1.1], "accuracy": [0.2, 0.4, 0.6], "val_loss": [2.1, 1.7, 1.4]}
    data = {k: {str(i): x for i, x in enumerate(v)} for k, v in columns.items()} if index else columns
    (tmp_path / "history.json").write_text(json.dumps(data))
    run = load_run(tmp_path).run

    assert steps_and_values(run) == ([1, 2, 3], [2.0, 1.5, 1.1])
    assert steps_and_values(run, "eval_loss") == ([1, 2, 3], [2.1, 1.7, 1.4])


def test_rows_as_a_list_of_objects_over_many_lines(tmp_path):
    rows = [{"iteration": n, "avg_loss": 2.0 / n, "wins": 3 * n, "parts": [1, 2]} for n in (1, 2, 3)]
    (tmp_path / "training_log.json").write_text(json.dumps(rows, indent=2))
    run = load_run(tmp_path).run

    assert steps_and_values(run) == ([1, 2, 3], [2.0, 1.0, 2.0 / 3])


def test_a_list_of_objects_without_a_metric_is_no_history(tmp_path):
    rows = [{"step": n, "instruction": "say it", "output": "it", "difficulty": n} for n in (1, 2, 3)]
    (tmp_path / "dataset.json").write_text(json.dumps(rows, indent=2))
    (tmp_path / "train.log").write_text("".join(f"step {n} loss {2 / n:.4f}\n" for n in range(1, 9)))

    assert not {"difficulty"} & set(load_run(tmp_path).run.metrics.names)


@pytest.mark.parametrize(
    ("name", "data", "points"),
    [
        ("loss_history.json", {"train": [2.0, 1.5, 1.1], "val": [2.1, 1.7, 1.4]}, [2.0, 1.5, 1.1]),
        ("losses.json", [2.0, 1.5, 1.1], [2.0, 1.5, 1.1]),
        ("sizes.json", [2.0, 1.5, 1.1], None),  # named for nothing that is minimised
        ("splits.json", {"train": [2.0, 1.5, 1.1], "val": [2.1, 1.7, 1.4]}, None),
    ],
)
def test_lists_of_a_file_that_is_named_for_the_loss(tmp_path, name, data, points):
    (tmp_path / name).write_text(json.dumps(data))
    (tmp_path / "train.log").write_text("step 1 grad_norm: 0.5\nstep 2 grad_norm: 0.5\n")
    run = load_run(tmp_path).run

    assert ("loss" in run.metrics.names) is (points is not None)
    assert points is None or steps_and_values(run) == ([1, 2, 3], points)


def test_a_history_whose_counter_comes_first(tmp_path):
    (tmp_path / "curve_3_epochs.json").write_text(
        json.dumps({"epochs": [1, 2, 3], "train_loss": [2.0, 1.5, 1.1]}, indent=2)
    )
    assert steps_and_values(load_run(tmp_path).run) == ([1, 2, 3], [2.0, 1.5, 1.1])

    (tmp_path / "curve_3_epochs.json").write_text(json.dumps({"epochs": [1, 2, 3], "pages": [2, 1, 1]}))
    with pytest.raises(UnknownFormatError):
        load_run(tmp_path)


def test_of_a_history_whose_epochs_are_counted_anew_the_last_training_is_read_and_that_is_told(tmp_path):
    losses = [0.5, 0.4, 0.3, 2.5, 2.0, 1.5, 1.25]
    data = {"epochs": [1, 2, 3, 1, 2, 3, 4], "train_loss": losses, "val_loss": losses}
    (tmp_path / "history.json").write_text(json.dumps(data))
    run = load_run(tmp_path).run

    assert steps_and_values(run) == ([1, 2, 3, 4], losses[3:])
    assert any("the last of 2 trainings" in gap.reason for gap in run.gaps)


def test_lists_of_several_metrics_are_a_history_whatever_the_file_is_called(tmp_path):
    losses = {"loss": [2.0, 1.5, 1.1], "val_loss": [2.1, 1.7, 1.4]}
    (tmp_path / "run7.json").write_text(
        json.dumps({"config": {"lr": 0.1, "sizes": [1, 2, 3]}, "history": losses})
    )
    run = load_run(tmp_path).run

    assert steps_and_values(run) == ([1, 2, 3], losses["loss"])
    assert steps_and_values(run, "eval_loss") == ([1, 2, 3], losses["val_loss"])

    (tmp_path / "run7.json").write_text(
        json.dumps({"weights": {"loss_weights": [1.0, 0.5, 0.1], "sizes": [1, 2, 3]}})
    )
    with pytest.raises(InputError):
        load_run(tmp_path)


@pytest.mark.parametrize(
    ("key", "counter"),
    [("history", "epoch"), ("history", "round"), ("epochs", "step"), ("training progress", "epoch")],
)
def test_a_history_of_rows_among_settings(tmp_path, key, counter):
    rows = [{counter: n, "train_loss": 2.0 / n, "at": "noon"} for n in (1, 2, 4)]
    path = tmp_path / "training_log.json"
    path.write_text(json.dumps({"seed": 1, "config": {"lr": 0.1}, key: rows}, indent=2))
    assert steps_and_values(load_run(tmp_path).run) == ([1, 2, 3], [2.0, 1.0, 0.5])

    path.write_text(json.dumps({"seed": 1, "results": [{"model": "small", "accuracy": 0.5}] * 3}))
    assert "accuracy" not in load_run(tmp_path).run.metrics.names  # of several models


def test_rows_below_a_line_of_settings(tmp_path):
    settings = {"lr": 0.1, "batch_size": 128, "epochs": 4, "depth": 29, "momentum": 0.9}
    rows = [settings, *({**settings, "epoch": n, "train_loss": 2.0 / (n + 1)} for n in range(4))]
    (tmp_path / "log.txt").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert len(load_run(tmp_path).run.metrics.series("loss")) == 4


def test_a_history_among_settings_and_results(tmp_path):
    mixed = {"status": "done", "learning_rate": 0.001, "batch_size": 64, "betas": [0.9, 0.999, 0.5, 0.1]}
    course = {"train_loss": [2.0, 1.5, 1.1], "val_loss": [2.1, 1.7, 1.4], "test_loss": 1.3}
    (tmp_path / "training_history.json").write_text(json.dumps(mixed | course))
    run = load_run(tmp_path).run
    assert steps_and_values(run) == ([1, 2, 3], [2.0, 1.5, 1.1])
    assert "betas" not in run.metrics.names

    (tmp_path / "train_config.json").write_text(json.dumps(mixed | {"val_loss": "mse"}))
    assert "loss" not in load_run(tmp_path / "train_config.json").run.metrics.names


def test_samples_of_nvidia_smi(tmp_path):
    rows = [
        "timestamp, name, pci.bus_id, temperature.gpu, utilization.gpu [%], memory.used [MiB], power.draw [W]"
    ]
    rows += [
        f"{at(i):%Y/%m/%d %H:%M:%S}.123, NVIDIA A100-SXM4-80GB, 00000000:{bus}:00.0, {40 + i}, 97 %, 30212 MiB, [N/A]"
        for i in range(5)
        for bus in ("3B", "5E")
    ]
    (tmp_path / "gpu.csv").write_text("\n".join(rows) + "\n")
    run = load_run(tmp_path).run

    assert run.metrics.series("system.gpu.1.temp").value.tolist() == [40.0, 41.0, 42.0, 43.0, 44.0]
    assert run.metrics.series("system.gpu.0.temp").time_s[0] == START.timestamp() + 0.123
    assert (run.layout.gpu_name, run.layout.gpus) == ("NVIDIA A100-SXM4-80GB", 2)


@pytest.mark.parametrize(("code", "status"), [(0, "insufficient"), (79, "failed")])
def test_samples_of_dcgm(tmp_path, code, status):
    text = "# HELP DCGM_FI_DEV_GPU_TEMP GPU temperature (in C).\n# TYPE DCGM_FI_DEV_GPU_TEMP gauge\n"
    text += "".join(
        f'DCGM_FI_DEV_GPU_TEMP{{gpu="{g}",modelName="NVIDIA A100-SXM4-80GB",Hostname="node-a"}} {60 + g}\n'
        for g in range(4)
    )
    text += "".join(
        f'DCGM_FI_DEV_XID_ERRORS{{gpu="{g}",Hostname="node-a"}} {code if g == 2 else 0}\n' for g in range(4)
    )
    (tmp_path / "metrics.prom").write_text(text)
    dx = analyzer.diagnose(tmp_path)

    assert dx.status == status
    assert not code or (dx.first_failure.host, dx.first_failure.place.line) == ("node-a", 9)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("hparams.yaml", "width: 512\nlr: 0.0003\nmy_own_key: 3\n"),
        ("args.txt", "batch_size=32\nlr=0.0003\nseed=1\n"),
        ("train_opt.txt", "------- Options -------\n   batch_size: 1      \n       lr: 0.0003   \t[default: 0.1]\n    seed: 3\n------- End -------\n"),
        ("args.txt", "Namespace(batch_size=32, betas=[0.9, 0.99], lr=0.0003, name='a, b')\n"),
    ],
)  # fmt: skip
def test_settings_under_any_keys(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    run = load_run(tmp_path).run

    assert [entry.value for entry in run.config.entries if entry.key_in_source == "lr"] == [0.0003]


@pytest.mark.parametrize("written", ["'adam'", '"adam"', "adam"])
def test_a_word_is_read_without_the_quotes_that_a_namespace_prints(tmp_path, written):
    (tmp_path / "args.txt").write_text(f"Namespace(task='a, b', optimizer={written}, lr=0.01)\n")
    run = load_run(tmp_path).run

    assert run.config.value("train.optimizer") == "adam"
    assert [entry.value for entry in run.config.entries if entry.key_in_source == "task"] == ["a, b"]


def test_a_pointer_of_git_lfs_is_named_as_one(tmp_path):
    (tmp_path / "train.log").write_text(
        f"version https://git-lfs.github.com/spec/v1\noid sha256:{'4d' * 32}\nsize 12345678\n"
    )

    with pytest.raises(InputError, match="Git LFS pointer"):
        load_run(tmp_path)


LOG = "".join(f"step {s}/100 loss {loss(s)}\n" for s in range(1, 101)) + "Training completed\n"


def as_zip(path, files):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, text)


def as_tar(path, files):
    with tarfile.open(path, "w:gz") as archive:
        for name, text in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))


@pytest.mark.parametrize(("name", "make"), [("run.zip", as_zip), ("run.tar.gz", as_tar)])
def test_a_run_in_an_archive(tmp_path, name, make):
    make(tmp_path / name, {"run7/train.log": LOG, "run7/config.yaml": "learning_rate: 0.001\nfp16: true\n"})
    dx = analyzer.diagnose(tmp_path / name)

    assert (dx.status, dx.root) == ("healthy", str(tmp_path / name))
    assert sorted(note.path for note in dx.coverage.sources) == ["run7/config.yaml", "run7/train.log"]


def test_an_archive_writes_nothing_outside_and_follows_no_link(tmp_path):
    secret = tmp_path / "secret.log"
    secret.write_text(LOG.replace("Training completed", "RuntimeError: of another run"))
    with tarfile.open(tmp_path / "run.tar", "w") as archive:
        for name in ("run7/train.log", "../../evil.log", "/evil.log"):
            entry = tarfile.TarInfo(name)
            entry.size = len(LOG)
            archive.addfile(entry, io.BytesIO(LOG.encode()))
        link = tarfile.TarInfo("run7/link.log")
        link.type, link.linkname = tarfile.SYMTYPE, str(secret)
        archive.addfile(link)
    dx = analyzer.diagnose(tmp_path / "run.tar")

    assert [note.path for note in dx.coverage.sources] == ["run7/train.log"]
    assert dx.status == "insufficient"
    assert any("left out" in gap.reason for gap in dx.gaps)
    assert not list(tmp_path.parent.glob("evil.log"))


def test_a_bomb_is_unpacked_within_bounds(tmp_path, monkeypatch):
    monkeypatch.setattr("analyzer.ingest.runs.archives.SMALL_BYTES", 1 << 16)
    as_zip(tmp_path / "run.zip", {"train.log": LOG, "zeros.log": "0" * (1 << 24)})
    run = load_run(tmp_path / "run.zip").run

    assert any("more than is unpacked" in gap.reason for gap in run.gaps)


def test_notes_that_quote_a_line_of_another_run_are_no_event(tmp_path):
    (tmp_path / "train.log").write_text(LOG)
    notes = "Last week the other run on node seven died.\nThe kernel wrote this line, which we should remember:\n\n    {}\n\nThis run is on another node and looks fine so far.\n"
    (tmp_path / "notes.txt").write_text(
        notes.format("NVRM: Xid (PCI:0000:9b:00): 79, pid=12, name=python, GPU has fallen off the bus.")
    )
    dx = analyzer.diagnose(tmp_path)

    assert dx.status == "healthy"
    assert any("notes and no log" in gap.reason for gap in dx.gaps)


def test_rows_of_epochs_below_the_name_of_a_phase(tmp_path):
    rows = [{"loss_mean": loss(step, 30), "accuracy": step / 40} for step in range(1, 31)]
    held_out = [{"loss_mean": row["loss_mean"] * 1.1} for row in rows]
    (tmp_path / "training_metrics.json").write_text(
        json.dumps({"train_metrics": rows, "dev_metrics": held_out})
    )
    run = load_run(tmp_path).run

    assert steps_and_values(run) == (list(range(1, 31)), [row["loss_mean"] for row in rows])
    assert steps_and_values(run, "eval_loss")[1] == pytest.approx([row["loss_mean"] for row in held_out])


def test_a_table_of_rewards_whose_index_has_no_name(tmp_path):
    (tmp_path / "rewards1.csv").write_text(",reward\n" + "".join(f"{n},{n % 7 - 100}.5\n" for n in range(60)))

    assert len(load_run(tmp_path).run.metrics.series("reward_mean")) == 60


@pytest.mark.parametrize(
    ("data", "metric", "points"),
    [
        (
            {"history": {"loss": [2.0, 1.5], "val_loss": [2.5, 2.0]}, "best": 3},
            "eval_loss",
            [(1, 2.5), (2, 2.0)],
        ),
        ({"train_losses": {"g": [2.0, 1.5]}, "config": {"lr": 0.5}}, "train_losses/g", [(1, 2.0), (2, 1.5)]),
        (
            [{"episode": n, "total_reward": n / 2, "steps": 143} for n in (1, 2)],
            "reward_mean",
            [(1, 0.5), (2, 1.0)],
        ),
    ],
)
def test_lists_below_a_key_and_rows_of_episodes(tmp_path, data, metric, points):
    (tmp_path / "training_stats.json").write_text(json.dumps(data))

    metrics = load_run(tmp_path).run.metrics
    series = metrics.series(metric)

    assert [(series.step_at(at), float(value)) for at, value in enumerate(series.value)] == points
    assert "config" not in metrics.names


def test_rows_below_a_phase_and_its_epoch_are_a_course(tmp_path):
    rows = {
        f"{phase}_{at}": {"loss": loss / at, "f1": 0.5}
        for at in (1, 2, 3)
        for phase, loss in (("train", 1.5), ("valid", 3.0))
    }
    (tmp_path / "output.json").write_text(json.dumps({"args": {"seed": 3, "lr": 0.1}, "scores": rows}))
    run = load_run(tmp_path).run

    assert steps_and_values(run) == ([1, 2, 3], [1.5, 0.75, 0.5])
    assert steps_and_values(run, "eval_loss") == ([1, 2, 3], [3.0, 1.5, 1.0])
