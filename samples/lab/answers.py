"""Whole diagnoses of the lab's runs, judged: is the cause named, is a faulty run called healthy, is a sound one accused.

The curves of ``excerpt.parquet`` are written as three loggers would (CSV per step, JSON lines per step, console rows per
epoch), with and without the run's configuration beside them, and diagnosed as a user would. Labels come from outcome
tests that never saw the fault's name. Every second fault, by its name, is held out: nobody tunes on its runs.

    python -m samples.lab answers [--part held-out] [--every 3] [--confusion]
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

EXCERPT = Path(__file__).with_name("excerpt.parquet")
NAMES = {
    "loss": "loss", "eval_loss": "val_loss", "grad_norm": "grad_norm", "learning_rate": "lr",
    "step_time_s": "step_time", "data_time_s": "data_time",
}  # fmt: skip
BENIGN = {"fp16-scale-calibration", "recovered-loss-spike"}
"""Labels of runs that need no fix: to call them healthy is right."""

EPOCHS = 8
"""Rows of a run that is logged per epoch: 4 to 12 are usual where people log so."""

FORMS = ("csv per step", "json per step", "console per epoch")

Curves = dict[str, dict[int, float]]


def held_out_fault(fault: str) -> bool:
    """Whether a fault is kept from tuning: every second one, by its name alone."""
    return hashlib.sha256(fault.encode()).digest()[0] % 2 == 1


def curves_of(row: Mapping[str, Any]) -> Curves:
    """The curves of a run by the names that are logged, step to value."""
    return {
        name: dict(zip(row[f"{metric}.step"], row[f"{metric}.value"], strict=True))
        for metric, name in NAMES.items()
        if row[f"{metric}.step"]
    }


def per_epoch(curves: Curves) -> Curves:
    """Means of the loss and last values of everything else, over equal parts of the run."""
    last = max((max(points) for points in curves.values()), default=0) + 1
    found: Curves = {}
    for name, points in curves.items():
        parts: dict[int, list[float]] = {}
        for step, value in sorted(points.items()):
            parts.setdefault(min(EPOCHS, 1 + step * EPOCHS // last), []).append(value)
        found[name] = {
            epoch: math.fsum(values) / len(values) if name == "loss" else values[-1]
            for epoch, values in parts.items()
        }
    return found


def write_run(place: Path, row: Mapping[str, Any], form: str, *, configured: bool) -> None:
    """Write one run as a logger would."""
    curves = curves_of(row)
    if form == "console per epoch":
        curves = per_epoch(curves)
    lines = list(_lines(curves, form))
    place.joinpath(
        "train.log" if "console" in form else f"metrics.{'csv' if 'csv' in form else 'jsonl'}"
    ).write_text("\n".join(lines) + "\n", encoding="utf-8")
    if configured:
        settings = {item["key"]: item["value"] for item in row["settings"] or []}
        settings |= {
            "optimizer": row["optimizer"],
            "lr_scheduler_type": row["schedule"],
            "batch_size": int(row["batch_size"]),
            "max_steps": int(row["steps"]),
            "precision": row["precision"],
        }
        (place / "config.json").write_text(json.dumps(settings), encoding="utf-8")


def _lines(curves: Curves, form: str) -> Iterator[str]:
    steps = sorted({step for points in curves.values() for step in points})
    if "csv" in form:
        yield ",".join(("step", *curves))
    for step in steps:
        here = {name: points[step] for name, points in curves.items() if step in points}
        if "csv" in form:
            yield ",".join([str(step), *(repr(here[name]) if name in here else "" for name in curves)])
        elif "json" in form:
            yield json.dumps({"step": step, **here})
        else:
            yield f"Epoch {step}/{EPOCHS}: " + ", ".join(
                f"{name} {value:.6g}" for name, value in here.items()
            )


@dataclass(frozen=True, slots=True)
class Answer:
    """What was said of one run in one form."""

    fault: str
    label: str
    form: str
    status: str
    causes: tuple[str, ...]
    probability: float

    def right_in(self, first: int) -> bool:
        """Whether the label, the class above it or a cause below it is among the first causes."""
        from analyzer.rules.causes import catalogue

        entries = catalogue()
        label = entries.get(self.label)
        return any(
            cause == self.label
            or (label is not None and label.parent == cause)
            or (cause in entries and entries[cause].parent == self.label)
            for cause in self.causes[:first]
        )


def answer(task: tuple[Mapping[str, Any], str, bool]) -> Answer:
    """Diagnose one run in one form."""
    import analyzer
    from analyzer.errors import AnalyzerError

    row, form, configured = task
    said = f"{form}, configuration {'known' if configured else 'unknown'}"
    with tempfile.TemporaryDirectory() as folder:
        write_run(Path(folder), row, form, configured=configured)
        try:
            found = analyzer.diagnose(Path(folder))
        except AnalyzerError:
            return Answer(row["fault"], row["label"], said, "unreadable", (), 0.0)
    findings = [finding for finding in found.findings if finding.cause.kind != "benign"]
    causes = tuple(finding.cause.id for finding in findings)
    return Answer(
        row["fault"], row["label"], said, found.status, causes, findings[0].probability if findings else 0.0
    )


def table(answers: Sequence[Answer]) -> list[str]:
    """One line for each form and half of the faults."""
    lines = [f"{'':54} faulty  top-1  top-3  called healthy  wrong at .6 | sound  called healthy  accused"]
    for form in dict.fromkeys(item.form for item in answers):
        for half, chosen in (("open faults", False), ("held-out faults", True)):
            bad = [
                a
                for a in answers
                if a.form == form and a.label != "healthy" and held_out_fault(a.fault) == chosen
            ]
            good = [
                a
                for a in answers
                if a.form == form and a.label == "healthy" and held_out_fault(a.fault) == chosen
            ]
            lines.append(f"{form + ', ' + half:54} {_faulty(bad)} | {_sound(good)}")
    return lines


def _faulty(bad: Sequence[Answer]) -> str:
    n = max(1, len(bad))
    healthy = sum(a.status == "healthy" for a in bad)
    wrong = sum(a.probability >= 0.6 and not a.right_in(1) for a in bad)
    top1, top3 = sum(a.right_in(1) for a in bad) / n, sum(a.right_in(3) for a in bad) / n
    return f"{len(bad):6d} {top1:6.0%} {top3:6.0%} {healthy:15d} {wrong / n:12.1%}"


def _sound(good: Sequence[Answer]) -> str:
    healthy = sum(a.status == "healthy" for a in good)
    accused = sum(a.status in {"failed", "degraded"} for a in good)
    return f"{len(good):5d} {healthy / max(1, len(good)):15.0%} {accused / max(1, len(good)):8.1%}"


def run(options: argparse.Namespace) -> None:
    """Judge and print."""
    import pyarrow.parquet as pq

    rows = pq.read_table(EXCERPT).to_pylist()
    rows = [row for row in rows if not options.part or row["part"] == options.part][:: options.every]
    # A fault that did not bite, or of which nothing was logged, is no test of what a log can tell.
    rows = [{**row, "label": "healthy"} if row["label"] in BENIGN else row for row in rows]
    rows = [row for row in rows if row["label"] == "healthy" or (row["bit"] == row["observable"] == "true")]
    tasks = [(row, form, configured) for form in FORMS for configured in (False, True) for row in rows]
    with ProcessPoolExecutor(2) as pool:
        answers = list(pool.map(answer, tasks, chunksize=16))
    print("\n".join(table(answers)))
    if options.confusion:
        missed = Counter(
            (a.label, a.causes[0] if a.causes else a.status) for a in answers if not a.right_in(1)
        )
        for (label, said), count in missed.most_common(40):
            if label != "healthy" or said not in {"healthy", "insufficient"}:
                print(f"{count:5d}  {label} -> {said}")


def add_options(command: argparse.ArgumentParser) -> None:
    """Options of the command."""
    command.add_argument("--part", default="held-out", help="part of the excerpt; empty for all of it")
    command.add_argument("--every", type=int, default=1, help="take every N-th run only")
    command.add_argument("--confusion", action="store_true", help="list what is taken for what")
