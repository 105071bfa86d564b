"""How people log: prints of many kinds, bars, rows of trainers, CSV, JSON lines, TensorBoard. Nothing here needs torch.

A form is a function from a run's rows to the text of one file; it prints what it has, and only that.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

Row = dict[str, float]
Table = dict[int, Row]
PARTS = ("d_loss", "g_loss", "d_real", "d_fake", "recon_loss", "kl", "embedding_std", "policy_loss", "mean_reward",
         "entropy", "rewards/margins", "rewards/accuracies", "memory_mb", "data_time", "step_time")  # fmt: skip


class Run:
    """A stored run, read for printing."""

    def __init__(self, stored: Mapping[str, Any]) -> None:
        self.epochs, self.steps = table(stored["epochs"]), table(stored["steps"])
        self.settings = {item["key"]: json.loads(item["value"]) for item in stored["settings"]}
        self.last = max(self.epochs, default=1)
        self.per_epoch = max(1, (max(self.steps, default=0) + 1) // self.last)

    def parts(self, row: Row) -> Row:
        """Values of a row that a task has of its own."""
        return {name: row[name] for name in PARTS if name in row}

    def own_words(self, row: Row) -> dict[str, str]:
        """The parts of a task are called as they are."""
        return {name: name for name in self.parts(row)}

    def epoch_of(self, step: int) -> float:
        """Passes over the data after a step."""
        return round((step + 1) / self.per_epoch, 2)


def table(curves: list[dict[str, Any]]) -> Table:
    """Stored curves as rows."""
    rows: Table = {}
    for curve in curves:
        for at, value in zip(curve["at"], curve["value"], strict=True):
            rows.setdefault(at, {})[curve["name"]] = float(f"{value:.5g}")
    return dict(sorted(rows.items()))


def _said(row: Row, words: Mapping[str, str], form: str, between: str) -> str:
    return between.join(form.format(words[name], row[name]) for name in words if name in row)


class Form:
    """A form: how it writes a run, what it calls its curves, and whether it prints the parts of a task as well."""

    def __init__(
        self, write: Callable[..., Any], words: Mapping[str, str], more: tuple[str, ...], parts: bool
    ) -> None:
        self.name, self.parts, self._write, self._words = write.__name__, parts, write, words
        self._shown = {*words, *more, *(PARTS if parts else ())}

    def __call__(self, run: Run) -> Iterator[str] | bytes:
        """The text of the run's file, line by line, or its bytes."""
        return self._write(run, self._words)

    def prints(self, name: str) -> bool:
        """Whether it prints a curve."""
        return name in self._shown


def form(*more: str, parts: bool = False, **words: str) -> Callable[[Callable[..., Any]], Form]:
    """Makes a form of a function of a run and of what the form calls its curves; ``more`` are curves without a word."""
    return lambda write: Form(write, words, more, parts)


@form(parts=True, loss="train loss", accuracy="train acc", val_loss="val loss", val_accuracy="val acc")
def bars(run: Run, words: Mapping[str, str]) -> Iterator[str]:
    """``Epoch 3/10 | train loss: 0.1 | val loss: 0.2 | val acc: 0.9``."""
    for at, row in run.epochs.items():
        names = {**words, **run.own_words(row)}
        yield f"Epoch {at}/{run.last} | " + _said(row, names, "{}: {:.4f}", " | ")


@form("loss", "val_loss")
def tabs(run: Run, _: Mapping[str, str]) -> Iterator[str]:
    """Losses only, parted by tabs."""
    for at, row in run.epochs.items():
        yield f"Epoch: {at} \t" + _said(
            row, {"loss": "Training Loss", "val_loss": "Validation Loss"}, "{}: {:.6f}", " \t"
        )


@form(parts=True, loss="loss", accuracy="train acc", val_accuracy="test acc", grad_norm="grad norm")
def commas(run: Run, words: Mapping[str, str]) -> Iterator[str]:
    """``epoch 3, loss 0.1, train acc 0.9, test acc 0.9``."""
    for at, row in run.epochs.items():
        yield f"epoch {at}, " + _said(row, {**words, **{n: n for n in run.parts(row)}}, "{} {:.3f}", ", ")


@form("lr", parts=True, loss="train_loss", val_loss="val_loss", val_accuracy="val_acc", grad_norm="grad_norm")
def logging(run: Run, words: Mapping[str, str]) -> Iterator[str]:
    """A line of the logging module an epoch."""
    seconds = 0.0
    for at, row in run.epochs.items():
        seconds += row.get("epoch_time", 1.0) * 30
        clock = f"2026-03-04 {10 + int(seconds) // 3600:02d}:{int(seconds) // 60 % 60:02d}:{int(seconds) % 60:02d},117"
        names = {**words, **run.own_words(row)}
        yield f"{clock} - INFO - Epoch {at}: {_said(row, names, '{}={:.4f}', ', ')}, lr={row['lr']:.2e}"


@form("loss", "accuracy", "val_loss", "val_accuracy")
def phases(run: Run, _: Mapping[str, str]) -> Iterator[str]:
    """Two lines an epoch, one a phase."""
    for at, row in run.epochs.items():
        yield from (f"Epoch {at - 1}/{run.last - 1}", "----------")
        yield _said(row, {"loss": "train Loss", "accuracy": "Acc"}, "{}: {:.4f}", " ")
        if "val_loss" in row:
            yield _said(row, {"val_loss": "val Loss", "val_accuracy": "Acc"}, "{}: {:.4f}", " ")
        yield ""


@form(loss="train_loss", val_loss="valid_loss", val_accuracy="accuracy")
def spreadsheet(run: Run, words: Mapping[str, str]) -> Iterator[str]:
    """A table that grows, as fastai prints it."""
    names = ("loss", "val_loss", "val_accuracy")
    had = [name for name in names if any(name in row for row in run.epochs.values())]
    yield "epoch     " + "  ".join(f"{words[name]:10}" for name in had) + "  time    "
    for at, row in run.epochs.items():
        values = "  ".join(f"{row.get(name, float('nan')):<10.6f}" for name in had)
        yield f"{at - 1:<10}{values}  00:{int(row.get('epoch_time', 0)):02d}"


@form(
    parts=True, loss="train_loss", accuracy="train_acc", val_loss="val_loss", val_accuracy="val_acc", lr="lr"
)
def dictionary(run: Run, words: Mapping[str, str]) -> Iterator[str]:
    """A dictionary an epoch."""
    for at, row in run.epochs.items():
        names = {**words, **run.own_words(row)}
        yield str({"epoch": at, **{names[name]: round(row[name], 5) for name in names if name in row}})


@form("val_accuracy", loss="avg_train_loss", val_loss="avg_val_loss")
def kaggle(run: Run, words: Mapping[str, str]) -> Iterator[str]:
    """Averages with dashes."""
    for at, row in run.epochs.items():
        yield f"Epoch {at} - {_said(row, words, '{}: {:.4f}', '  ')}  time: {row.get('epoch_time', 0):.0f}s"
        if "val_accuracy" in row:
            yield f"Epoch {at} - Score: {row['val_accuracy']:.4f}"


@form("epoch_time", accuracy="accuracy", loss="loss", val_accuracy="val_accuracy", val_loss="val_loss")
def keras(run: Run, words: Mapping[str, str]) -> Iterator[str]:
    """A bar and a summary an epoch."""
    for at, row in run.epochs.items():
        yield f"Epoch {at}/{run.last}"
        per = 1000 * row.get("epoch_time", 0.1) / run.per_epoch
        head = f"{run.per_epoch}/{run.per_epoch} ━━━━━━━━━━━━━━━━━━━━ {row.get('epoch_time', 0):.0f}s {per:.0f}ms/step"
        yield f"{head} - {_said(row, words, '{}: {:.4f}', ' - ')}"


@form("loss", "val_loss", "val_accuracy")
def tutorial(run: Run, _: Mapping[str, str]) -> Iterator[str]:
    """The first example of PyTorch: some batches, then a test."""
    size = int(run.settings["batch_size"])
    last, count = 0, size * run.per_epoch
    for step, row in run.steps.items():
        epoch, batch = step // run.per_epoch + 1, step % run.per_epoch
        if "loss" in row:
            if epoch != last:
                last = epoch
                yield ""
            done = f"{batch * size}/{count} ({100 * batch / run.per_epoch:.0f}%)"
            yield f"Train Epoch: {epoch} [{done}]\tLoss: {row['loss']:.6f}"
        if "val_loss" in row:
            right = row.get("val_accuracy")
            tail = "" if right is None else f", Accuracy: {round(right * 200)}/200 ({100 * right:.0f}%)"
            yield f"\nTest set: Average loss: {row['val_loss']:.4f}{tail}\n"


@form("loss", "val_loss", "lr", "step_time")
def iterations(run: Run, _: Mapping[str, str]) -> Iterator[str]:
    """``iter 20: loss 2.3, time 3.1ms`` and a line for each evaluation."""
    for step, row in run.steps.items():
        if "val_loss" in row:
            train = run.epochs[min(int(run.epoch_of(step)), run.last)].get("loss", float("nan"))
            yield f"step {step}: train loss {train:.4f}, val loss {row['val_loss']:.4f}"
        if "loss" in row:
            yield f"iter {step}: loss {row['loss']:.4f}, time {1000 * row['step_time']:.2f}ms, lr {row['lr']:.2e}"


@form(
    parts=True,
    loss="loss",
    accuracy="acc",
    grad_norm="gnorm",
    lr="lr",
    val_loss="val_loss",
    val_accuracy="val_acc",
)
def step_lines(run: Run, words: Mapping[str, str]) -> Iterator[str]:
    """Whatever a step has, with its words."""
    for step, row in run.steps.items():
        names = {**words, **run.own_words(row)}
        yield f"[step {step:05d}] {_said(row, names, '{}={:.5g}', ' ')}"


@form("loss", "accuracy", "val_loss", "val_accuracy", "step_time")
def progress_bar(run: Run, _: Mapping[str, str]) -> Iterator[str]:
    """Bars of tqdm that were written to a file."""
    for step, row in run.steps.items():
        batch = step % run.per_epoch + 1
        share = batch / run.per_epoch
        full = "█" * int(10 * share) + " " * (10 - int(10 * share))
        seconds = batch * row.get("step_time", 0.01)
        clock = f"{int(seconds) // 60:02d}:{int(seconds) % 60:02d}<00:00"
        if "loss" in row:
            tail = f"loss={row['loss']:.3g}" + (f", acc={row['accuracy']:.3g}" if "accuracy" in row else "")
            speed = 1 / max(row["step_time"], 1e-4)
            bar = f"{100 * share:3.0f}%|{full}| {batch}/{run.per_epoch} [{clock}, {speed:.2f}it/s, {tail}]"
            yield f"Epoch {step // run.per_epoch}: {bar}"
        if "val_loss" in row:
            yield f"Validation: {_said(row, {'val_loss': 'loss', 'val_accuracy': 'accuracy'}, '{} {:.4f}', ', ')}"


@form("val_loss", "val_accuracy", loss="loss", grad_norm="grad_norm", lr="learning_rate")
def hugging_face(run: Run, words: Mapping[str, str]) -> Iterator[str]:
    """Rows of Trainer."""
    for step, row in run.steps.items():
        epoch = run.epoch_of(step)
        if "loss" in row:
            yield str(
                {
                    **{words[n]: float(f"{row[n]:.4g}") for n in words if n in row},
                    **run.parts(row),
                    "epoch": epoch,
                }
            )
        if "val_loss" in row:
            right = {"eval_accuracy": round(row["val_accuracy"], 4)} if "val_accuracy" in row else {}
            yield str({"eval_loss": round(row["val_loss"], 4), **right, "eval_runtime": 0.41, "epoch": epoch})


@form("loss", "accuracy", "val_loss", "val_accuracy", "grad_norm", "lr", parts=True)
def json_lines(run: Run, _: Mapping[str, str]) -> Iterator[str]:
    """A JSON object a row."""
    for step, row in run.steps.items():
        yield json.dumps({"step": step, **{name: float(f"{value:.5g}") for name, value in row.items()}})


@form("loss", "accuracy", "val_loss", "val_accuracy", "grad_norm", "lr", "epoch_time", parts=True)
def json_epochs(run: Run, _: Mapping[str, str]) -> Iterator[str]:
    """A JSON object an epoch."""
    for at, row in run.epochs.items():
        names = {"loss": "train_loss", "accuracy": "train_accuracy"}
        yield json.dumps({"epoch": at, **{names.get(n, n): float(f"{v:.5g}") for n, v in row.items()}})


@form(
    parts=True,
    loss="train_loss",
    grad_norm="grad_norm",
    lr="lr-Adam",
    val_loss="val_loss",
    val_accuracy="val_acc",
)
def lightning(run: Run, words: Mapping[str, str]) -> Iterator[str]:
    """metrics.csv of Lightning: a line a step, another for each evaluation."""
    had = [n for n in (*words, *PARTS) if any(n in row for row in run.steps.values())]
    yield ",".join(["epoch", "step", *(words.get(name, name) for name in had)])
    for step, row in run.steps.items():
        for kind in (False, True):
            chosen = [f"{row[n]:.6g}" if n in row and n.startswith("val_") == kind else "" for n in had]
            if any(chosen):
                yield ",".join([str(min(step // run.per_epoch, run.last - 1)), str(step), *chosen])


@form("loss", "accuracy", "val_loss", "val_accuracy", "lr", parts=True)
def csv_epochs(run: Run, _: Mapping[str, str]) -> Iterator[str]:
    """A CSV row an epoch, as callbacks write it."""
    names = ("accuracy", "loss", "lr", "val_accuracy", "val_loss", *PARTS)
    had = [n for n in names if any(n in row for row in run.epochs.values())]
    yield ",".join(["epoch", *had])
    for at, row in run.epochs.items():
        yield ",".join([str(at - 1), *(f"{row[n]:.7g}" if n in row else "" for n in had)])


@form(
    parts=True,
    loss="Loss/train",
    accuracy="Accuracy/train",
    val_loss="Loss/val",
    val_accuracy="Accuracy/val",
    lr="lr",
    grad_norm="grad_norm",
)
def tensorboard(run: Run, words: Mapping[str, str]) -> bytes:
    """Scalars of a SummaryWriter."""
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary
    from tensorboard.summary.writer.event_file_writer import EventFileWriter

    with tempfile.TemporaryDirectory() as folder:
        writer = EventFileWriter(folder)
        for step, row in run.steps.items():
            for name in row:
                if name in words or name in PARTS:
                    value = Summary.Value(tag=words.get(name, name), simple_value=row[name])
                    writer.add_event(
                        Event(wall_time=1.77e9 + step, step=step, summary=Summary(value=[value]))
                    )
        writer.close()
        return next(Path(folder).iterdir()).read_bytes()


EPOCH_PRINTS: tuple[Form, ...] = (bars, tabs, commas, logging, phases, spreadsheet, dictionary, kaggle, keras)
STEP_PRINTS: tuple[Form, ...] = (tutorial, iterations, step_lines, progress_bar, hugging_face)
FILES: tuple[Form, ...] = (json_lines, json_epochs, lightning, csv_epochs, tensorboard)
KINDS = {"prints per epoch": EPOCH_PRINTS, "prints per step": STEP_PRINTS, "files": FILES}


def files(stored: Mapping[str, Any], form: Form, configuration: str) -> dict[str, str | bytes]:
    """The files that a run leaves in a form, with its settings in a header, on a command line, in a file, or nowhere."""
    run = Run(stored)
    body = form(run)
    found: dict[str, str | bytes] = {}
    head: list[str] = []
    if configuration == "namespace":
        head.append("Namespace(" + ", ".join(f"{k}={v!r}" for k, v in run.settings.items()) + ")")
    if configuration == "command":
        head.append("+ python train.py " + " ".join(f"--{k} {v}" for k, v in run.settings.items()))
    if configuration == "json":
        found["config.json"] = json.dumps(run.settings, indent=2)
    if configuration == "yaml":
        found["hparams.yaml"] = "".join(f"{k}: {json.dumps(v)}\n" for k, v in run.settings.items())
    if isinstance(body, bytes):
        return {
            **found,
            "events.out.tfevents.1770000000.host": body,
            **({"run.log": head[0] + "\n"} if head else {}),
        }
    text = "\n".join(body) + "\n"
    name = {
        json_lines: "metrics.jsonl",
        json_epochs: "history.jsonl",
        lightning: "metrics.csv",
        csv_epochs: "log.csv",
    }.get(form)
    if name is None:
        return {**found, "train.log": "".join(line + "\n" for line in head) + text}
    return {**found, name: text, **({"run.log": head[0] + "\n"} if head else {})}


CONFIGURATIONS = ("", "namespace", "", "command", "json", "", "yaml", "namespace")
"""How settings are stated; three of eight runs state none."""
