"""Whole diagnoses of the lab's runs, judged: is the cause named, is a faulty run called healthy, is a sound one accused.

The curves of ``excerpt.parquet`` are written as three loggers would (CSV per step, JSON lines per step, console rows per
epoch), with and without the run's configuration beside them, and diagnosed as a user would. Labels come from outcome
tests that never saw the fault's name. Every second fault, by its name, was held out at first; that half wore out, its
single answers were looked at too, and neither half is blind any more.

    python -m samples.lab answers [--runs trainings] [--part held-out] [--every 3] [--confusion]
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
    """Whether a fault was kept from tuning at first: every second one, by its name alone."""
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


def files_of(row: Mapping[str, Any], form: str, *, configured: bool) -> dict[str, str]:
    """The files that a logger would leave of one run."""
    curves = curves_of(row)
    if form == "console per epoch":
        curves = per_epoch(curves)
    name = "train.log" if "console" in form else f"metrics.{'csv' if 'csv' in form else 'jsonl'}"
    found = {name: "\n".join(_lines(curves, form)) + "\n"}
    if configured:
        settings = {
            item["key"]: int(item["value"]) if float(item["value"]).is_integer() else item["value"]
            for item in row["settings"] or []
        }
        settings |= {
            "optimizer": row["optimizer"],
            "lr_scheduler_type": row["schedule"],
            "batch_size": int(row["batch_size"]),
            "max_steps": int(row["steps"]),
            "precision": row["precision"],
        }
        found["config.json"] = json.dumps(settings)
    return found


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
class Case:
    """One run as a user would have it: its files, and what is true of it."""

    fault: str
    labels: tuple[str, ...]
    form: str
    files: Mapping[str, str | bytes]
    name: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """What was said of one run in one form; of several labels each is right, and none means that the run is sound."""

    fault: str
    labels: tuple[str, ...]
    form: str
    status: str
    causes: tuple[str, ...]
    probability: float
    name: str = ""

    def right_in(self, first: int) -> bool:
        """Whether a label, the class above it or a cause below it is among the first causes."""
        from analyzer.rules.causes import catalogue

        entries = catalogue()
        above = {entries[label].parent for label in self.labels if label in entries}
        return any(
            cause in self.labels
            or cause in above
            or (cause in entries and entries[cause].parent in self.labels)
            for cause in self.causes[:first]
        )


def answer(case: Case) -> Answer:
    """Diagnose one run in one form."""
    import analyzer
    from analyzer.errors import AnalyzerError

    with tempfile.TemporaryDirectory() as folder:
        for name, content in case.files.items():
            Path(folder, name).write_bytes(content if isinstance(content, bytes) else content.encode())
        try:
            found = analyzer.diagnose(Path(folder))
        except AnalyzerError:
            return Answer(case.fault, case.labels, case.form, "unreadable", (), 0.0, case.name)
    findings = [finding for finding in found.findings if finding.cause.kind != "benign"]
    causes = tuple(finding.cause.id for finding in findings)
    probability = findings[0].probability if findings else 0.0
    return Answer(case.fault, case.labels, case.form, found.status, causes, probability, case.name)


def table(answers: Sequence[Answer]) -> list[str]:
    """One line for each form and half of the faults."""
    lines = [f"{'':54} faulty  top-1  top-3  called healthy  wrong at .6 | sound  called healthy  accused"]
    for form in dict.fromkeys(item.form for item in answers):
        for half, chosen in (("open faults", False), ("faults held out at first", True)):
            here = [a for a in answers if a.form == form and held_out_fault(a.fault) == chosen]
            bad, good = [a for a in here if a.labels], [a for a in here if not a.labels]
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


def excerpt_cases(part: str, every: int) -> Iterator[Case]:
    """The runs of the excerpt in six forms."""
    import pyarrow.parquet as pq

    rows = pq.read_table(EXCERPT).to_pylist()
    rows = [row for row in rows if not part or row["part"] == part][::every]
    # A fault that did not bite, or of which nothing was logged, is no test of what a log can tell.
    rows = [{**row, "label": "healthy"} if row["label"] in BENIGN else row for row in rows]
    rows = [row for row in rows if row["label"] == "healthy" or (row["bit"] == row["observable"] == "true")]
    for form in FORMS:
        for configured in (False, True):
            said = f"{form}, configuration {'known' if configured else 'unknown'}"
            for row in rows:
                labels = () if row["label"] == "healthy" else (row["label"],)
                yield Case(
                    row["fault"], labels, said, files_of(row, form, configured=configured), row["run_id"]
                )


def run(options: argparse.Namespace) -> None:
    """Judge and print."""
    if options.runs == "trainings":
        from .trainings.judging import cases

        chosen = cases(options.every)
    else:
        chosen = excerpt_cases(options.part, options.every)
    with ProcessPoolExecutor(2) as pool:
        answers = list(pool.map(answer, chosen, chunksize=16))
    print("\n".join(table(answers)))
    if options.confusion:
        missed = Counter(
            (
                a.fault if options.runs == "trainings" else "/".join(a.labels) or "healthy",
                a.causes[0] if a.causes else a.status,
            )
            for a in answers
            if not a.right_in(1)
        )
        for (label, said), count in missed.most_common(60):
            if label not in {"healthy", "none"} or said not in {"healthy", "insufficient"}:
                print(f"{count:5d}  {label} -> {said}")


def add_options(command: argparse.ArgumentParser) -> None:
    """Options of the command."""
    command.add_argument(
        "--runs", choices=("excerpt", "trainings"), default="excerpt", help="which labelled runs"
    )
    command.add_argument("--part", default="held-out", help="part of the excerpt; empty for all of it")
    command.add_argument("--every", type=int, default=1, help="take every N-th run only")
    command.add_argument("--confusion", action="store_true", help="list what is taken for what")
