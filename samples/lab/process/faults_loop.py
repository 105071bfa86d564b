"""Faults of a plain training loop: memory, workers, records, files, signals, autograd."""

from __future__ import annotations

import json
import shutil
import signal
from pathlib import Path

from . import processes
from .outcomes import ends_with
from .plan import Hit, Plan, ProcessFault

TORCH_ADDRESS_SPACE_KIB = 750_000  # what the training process reserves with a small model, with some room


def _late_step(plan: Plan, share: tuple[float, float] = (0.1, 0.6)) -> int:
    """A random step of the run."""
    steps = 1536 // plan.settings["batch_size"] * plan.settings["epochs"]
    plan.onset_step = max(1, int(steps * plan.rng.uniform(*share)))
    return plan.onset_step


def _kill_trainer(plan: Plan) -> None:
    step = _late_step(plan)
    plan.hit = Hit(processes.step_reached(step), processes.send(processes.trainer, signal.SIGKILL))
    plan.planted = f"SIGKILL from outside to the training process after step {step}"


def _interrupt(plan: Plan) -> None:
    step = _late_step(plan)
    plan.wrapper = ["env", "--default-signal=INT"]  # a job started in the background ignores it
    plan.hit = Hit(processes.step_reached(step), processes.send(processes.trainer, signal.SIGINT))
    plan.planted = f"SIGINT, as Ctrl-C sends it, after step {step}"


def _terminate(plan: Plan) -> None:
    step = _late_step(plan)
    plan.hit = Hit(processes.step_reached(step), processes.send(processes.trainer, signal.SIGTERM))
    plan.planted = f"SIGTERM from outside to the training process after step {step}"


def _kill_worker(plan: Plan) -> None:
    step, index = _late_step(plan), plan.rng.randint(0, 1)
    plan.hit = Hit(
        processes.step_reached(step),
        processes.send(lambda run_dir: processes.worker(run_dir, index), signal.SIGKILL),
    )
    plan.planted = f"SIGKILL from outside to a loader worker after step {step}"


def _exhaust_address_space(plan: Plan) -> None:
    extra_mib = plan.rng.choice((500, 900, 1300))
    plan.severity = round(1 - extra_mib / 2600, 2)
    plan.settings |= {"width": 5000, "layers": 4, "optimizer": "AdamW", "num_workers": 0}
    plan.shell.append(f"ulimit -v {TORCH_ADDRESS_SPACE_KIB + extra_mib * 1024}")
    plan.planted = f"a model of 400 MB whose training needs four times that, under a limit of {extra_mib} MiB"


def _leak(plan: Plan) -> None:
    plan.settings |= {"keep_outputs": True, "num_workers": 0, "width": 512, "layers": 2, "batch_size": 256}
    plan.settings |= {"epochs": 500, "log_every": 1, "save_every": 10_000}
    room_mib = plan.rng.choice((400, 550, 700))
    if plan.rng.random() < 0.5:
        plan.shell.append(f"ulimit -v {TORCH_ADDRESS_SPACE_KIB + room_mib * 1024}")
        how = f"an address space limit {room_mib} MiB above the start"
    else:
        limit = (300 + room_mib) << 20
        plan.hit = Hit(processes.memory_above(limit), processes.send(processes.trainer, signal.SIGKILL))
        how = f"SIGKILL once it holds {300 + room_mib} MiB, as the kernel does"
    plan.planted = f"the outputs of every layer are kept with their graph; {how}"


def _record_lines(plan: Plan) -> tuple[Path, list[str], int]:
    """The records of the run and the index of one to harm."""
    path = plan.run_dir / plan.settings["data"]
    lines = path.read_text(encoding="utf-8").splitlines()
    return path, lines, plan.rng.randrange(2, len(lines))


def _change_record(plan: Plan, change: dict[str, object]) -> int:
    """Give one record other values; returns its index."""
    path, lines, index = _record_lines(plan)
    lines[index] = json.dumps(json.loads(lines[index]) | change)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return index


def _break_record(plan: Plan) -> None:
    path, lines, index = _record_lines(plan)
    lines[index] = lines[index][: plan.rng.randrange(10, len(lines[index]) - 5)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    plan.planted = f"record {index} breaks off in the middle"


def _ragged_record(plan: Plan) -> None:
    short = plan.rng.randint(3, 20)
    index = _change_record(plan, {"values": [0.1] * short})
    plan.planted = f"record {index} has {short} values instead of 24"


def _label_beyond(plan: Plan) -> None:
    label = plan.rng.choice((10, 11, 255, -1))
    index = _change_record(plan, {"label": label})
    plan.planted = f"record {index} has the label {label} of 10 classes"


def _break_picture(plan: Plan) -> None:
    index = plan.rng.randrange(2, 768)
    path = plan.run_dir / "data" / f"{index:05d}.png"
    data = path.read_bytes()
    kind = plan.rng.choice(("empty", "cut", "page"))
    page = b"<html><body>503 Service Unavailable</body></html>\n"
    path.write_bytes({"empty": b"", "cut": data[: len(data) // 2], "page": page}[kind])
    plan.planted = f"picture {index} is damaged ({kind})"


def _data_away(plan: Plan) -> None:
    plan.settings["data"] = plan.rng.choice(("data/train_v2.jsonl", "/mnt/datasets/points/train.jsonl"))
    plan.planted = "the data file of the settings does not exist"


def _fill_disk(plan: Plan) -> None:
    s = plan.settings
    numbers = 24 * s["width"] + s["layers"] * s["width"] ** 2 + 12 * s["width"]
    copies = 1 if s["optimizer"] == "SGD" else 3
    room = plan.rng.uniform(1.3, 3.6)
    s["save_every"] = 20
    kib = int(room * copies * numbers * 4 / 1024)
    plan.severity = round(1 / room, 2)
    mount = f"mkdir results && mount -t tmpfs -o size={kib}k tmpfs results"
    plan.planted = f"a tmpfs of {kib} KiB for the results, {room:.1f} checkpoints"
    if plan.rng.random() < 0.4:
        s["metrics_file"] = "results/metrics.csv"
        mount += "; dd if=/dev/zero of=results/other.bin bs=4k status=none 2> dd.log"
        plan.planted = f"a tmpfs of {kib} KiB for the results, which another file fills"
    plan.wrapper = ["unshare", "-Urm", "sh", "-c", mount + '; exec "$@"', "sh"]


def _limit_file_size(plan: Plan) -> None:
    plan.settings |= {"width": 128, "optimizer": "AdamW", "save_every": 20}
    plan.shell += ["trap '' XFSZ", f"ulimit -f {plan.rng.choice((64, 100, 160))}"]
    plan.planted = "a limit on the size of files below that of a checkpoint"


def _forbid_output(plan: Plan) -> None:
    if plan.rng.random() < 0.5:
        mount = 'mkdir results && mount -t tmpfs -o ro,size=1m tmpfs results && exec "$@"'
        plan.wrapper = ["unshare", "-Urm", "sh", "-c", mount, "sh"]
        plan.planted = "the output directory is mounted read-only"
    else:
        (plan.run_dir / "results").mkdir(mode=0o555)
        plan.wrapper = ["unshare", "-U"]  # without the privileges of root
        plan.planted = "the output directory belongs to nobody who may write"


def _keep_checkpoint(run_dir: Path) -> None:
    shutil.copy(min(run_dir.glob("results/checkpoints/step-*.pt")), run_dir / "pretrained.pt")
    shutil.rmtree(run_dir / "results")


def pretrained(plan: Plan) -> None:
    """The run starts from the checkpoint of an earlier, short launch."""
    plan.earlier = plan.settings | {"epochs": 1, "save_every": 20, "num_workers": 0}
    plan.settings |= {"init_from": "pretrained.pt"}
    plan.between = _keep_checkpoint


def _cut_checkpoint(plan: Plan) -> None:
    share = plan.rng.uniform(0.1, 0.9)

    def between(run_dir: Path) -> None:
        _keep_checkpoint(run_dir)
        path = run_dir / "pretrained.pt"
        path.write_bytes(path.read_bytes()[: int(path.stat().st_size * share)])

    plan.between = between
    plan.severity = round(1 - share, 2)
    plan.planted = f"the checkpoint breaks off after {share:.0%}"


def _other_shape(plan: Plan) -> None:
    width = plan.settings["width"] + plan.rng.choice((16, 32, -32))
    plan.earlier = (plan.earlier or {}) | {"width": width}
    plan.planted = f"the checkpoint is of a model of width {width} instead of {plan.settings['width']}"


def _inplace(plan: Plan) -> None:
    plan.settings["inplace_residual"] = True
    plan.planted = "the skip connection is added in place to the output of a sigmoid"


def _half_weights(plan: Plan) -> None:
    plan.settings |= {"weights_dtype": "float16"}
    plan.planted = "the weights are float16 although autocast is on and a GradScaler unscales"


def _wrong_dtype(plan: Plan) -> None:
    plan.settings |= {"weights_dtype": plan.rng.choice(("float16", "bfloat16", "float64"))}
    plan.planted = f"weights in {plan.settings['weights_dtype']}, inputs in float32"


_PICTURES = {"model": "cnn"}
_FP16 = {"amp": True, "layers": 2, "width": 64, "epochs": 2}

LOOP_FAULTS = (
    ProcessFault(
        "trainer_killed", "process-sigkilled", "loop", _kill_trainer,
        ends_with(r"\d+ Killed .*$", codes=(137,)), ("host-oom-kill",),
    ),
    ProcessFault(
        "keyboard_interrupt", "user-cancelled", "loop", _interrupt,
        ends_with(r"^KeyboardInterrupt", codes=(130, 1)),
    ),
    ProcessFault(
        "terminated", "user-cancelled", "loop", _terminate,
        ends_with(r"(?:^|\d )Terminated\b", codes=(143,)), ("scheduler-preemption",),
    ),
    ProcessFault(
        "worker_killed", "dataloader-worker-killed", "loop", _kill_worker,
        ends_with(r"DataLoader worker \(pid.*?\) (?:is killed by signal: Killed|exited unexpectedly)|in rebuild_storage_fd$"),
        ("process-sigkilled", "host-oom-kill"),
    ),
    ProcessFault(
        "address_space_exhausted", "host-oom-kill", "loop", _exhaust_address_space,
        ends_with(r"DefaultCPUAllocator: can't allocate memory: you tried to allocate \d+ bytes"),
    ),
    ProcessFault(
        "memory_leak", "host-memory-leak", "loop", _leak,
        ends_with(r"can't allocate memory: you tried to allocate \d+ bytes|\d+ Killed .*$", codes=(1, 137)),
        ("process-sigkilled", "host-oom-kill"), seconds=9,
    ),
    ProcessFault(
        "corrupt_record", "undecodable-record", "loop", _break_record,
        ends_with(r"Caught JSONDecodeError in DataLoader worker process \d+"), ("data-pipeline-bug",),
    ),
    ProcessFault(
        "ragged_record", "data-pipeline-bug", "loop", _ragged_record,
        ends_with(r"Caught RuntimeError in DataLoader worker process \d+", r"stack expects each tensor to be equal size.*|Trying to resize storage that is not resizable"),
    ),
    ProcessFault(
        "undecodable_picture", "undecodable-record", "loop", _break_picture,
        ends_with(r"Caught \w+ in DataLoader worker process \d+", r"^(?:PIL\.Unidentified\w+|OSError): .*"),
        args=_PICTURES,
    ),
    ProcessFault(
        "data_missing", "missing-input-path", "loop", _data_away,
        ends_with(r"FileNotFoundError: \[Errno 2\] No such file or directory.*"),
    ),
    ProcessFault(
        "label_out_of_range", "label-out-of-range", "loop", _label_beyond,
        ends_with(r"IndexError: Target -?\d+ is out of bounds"),
    ),
    ProcessFault(
        "disk_full", "disk-full", "loop", _fill_disk,
        ends_with(r"No space left on device|inline_container.*unexpected pos.*|file write failed"),
        ("checkpoint-write-failed",),
    ),
    ProcessFault(
        "file_too_large", "checkpoint-write-failed", "loop", _limit_file_size,
        ends_with(r"File too large|inline_container.*unexpected pos.*|file write failed"), ("disk-full",),
    ),
    ProcessFault(
        "output_unwritable", "checkpoint-path-unwritable", "loop", _forbid_output,
        ends_with(r"\[Errno (?:13|30)\] (?:Permission denied|Read-only file system).*"),
    ),
    ProcessFault(
        "checkpoint_truncated", "corrupt-checkpoint", "loop", _cut_checkpoint,
        ends_with(r"failed finding central directory|PytorchStreamReader failed.*|EOFError.*|in __init__\n.*PyTorchFileReader\(.*"),
        setup=pretrained, seconds=10,
    ),
    ProcessFault(
        "checkpoint_other_shape", "checkpoint-config-mismatch", "loop", _other_shape,
        ends_with(r"Error\(s\) in loading state_dict for \w+", r"size mismatch for \S+"),
        setup=pretrained, seconds=10,
    ),
    ProcessFault(
        "inplace_change", "autograd-graph-misuse", "loop", _inplace,
        ends_with(r"has been modified by an inplace operation"),
    ),
    ProcessFault(
        "dtype_mismatch", "user-code-exception", "loop", _wrong_dtype,
        ends_with(r"RuntimeError: .*dtype.*"),
    ),
    ProcessFault(
        "half_weights_unscaled", "fp16-trainable-weights-with-gradscaler", "loop", _half_weights,
        ends_with(r"ValueError: Attempting to unscale FP16 gradients"), args=_FP16,
    ),
)  # fmt: skip
