"""Run the specs of one group and judge them: the part that happens in a worker process."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import shutil
import sys
import time
import warnings
from collections.abc import Iterator
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from samples.make.common import write_yaml

from .faults import injection_of, load_all
from .outcome import TESTS, Case, Verdict, as_logged, twin_is_healthy
from .session import Session
from .truth import Truth

if TYPE_CHECKING:
    from .planning import Group
    from .spec import Spec

ENGINES = {
    "loop": "loop",
    "hf": "engine_hf",
    "lightning": "engine_lightning",
    "deepspeed": "engine_deepspeed",
    "deepspeed-0.14": "engine_deepspeed",
}
PACKAGES = {
    "loop": ("torch",),
    "hf": ("torch", "transformers"),
    "lightning": ("torch", "lightning"),
    "deepspeed": ("torch", "deepspeed"),
    "deepspeed-0.14": ("torch", "deepspeed"),
}


def run_spec(spec: Spec, directory: Path) -> tuple[Truth, float]:
    """Train one run into a fresh directory; its ground truth and its wall time in seconds."""
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    started = time.monotonic()
    engine = importlib.import_module(f".{ENGINES[spec.engine]}", __package__)
    with _captured(directory / "train.log"):
        session = Session(spec, injection_of(spec))
        if spec.option("states_config"):
            _write_config(spec, directory)
        engine.train(session, directory)
    log = directory / "train.log"
    if not log.stat().st_size:
        log.unlink()
    return session.truth, time.monotonic() - started


def _write_config(spec: Spec, directory: Path) -> None:
    """The file in which a user would have set the run up."""
    values: dict[str, object] = {
        "model": {"type": spec.architecture, "hidden_size": spec.width, "num_layers": spec.depth},
        "optimizer": spec.optimizer,
        "lr": spec.learning_rate,
        "weight_decay": spec.weight_decay,
        "batch_size": spec.batch_size,
        "gradient_accumulation_steps": spec.accumulation,
        "max_steps": spec.steps,
    }
    if spec.clip:
        values["max_grad_norm"] = spec.clip
    if spec.task != "regression":
        values["vocab_size" if spec.language else "num_classes"] = spec.classes
    write_yaml(directory / "config.yaml", values)


@contextlib.contextmanager
def _captured(log: Path) -> Iterator[None]:
    """Everything that the libraries print goes to the run's console log."""
    sys.stdout.flush()
    sys.stderr.flush()
    kept = os.dup(1), os.dup(2)
    with log.open("wb") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
        try:
            yield
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os.dup2(kept[0], 1)
            os.dup2(kept[1], 2)
            os.close(kept[0])
            os.close(kept[1])


def run_group(group: Group, out: Path) -> list[dict[str, Any]]:
    """All runs of a configuration as manifest rows; only the twins' if the twins are not healthy themselves."""
    truths: dict[str, Truth] = {}
    rows: list[dict[str, Any]] = []
    for spec in (group.twin, group.other):
        truths[spec.run_id], seconds = run_spec(spec, out / "runs" / spec.run_id)
        rows.append(_row(spec, Verdict(False, ""), "healthy", observable=True, seconds=seconds))
    twin, other = truths[group.twin.run_id], truths[group.other.run_id]
    healthy = twin_is_healthy(twin, other, group.twin.start)
    for row in rows:
        row.update(outcome=healthy.because, label="healthy" if healthy.bit else "")
    if not healthy.bit:
        return rows
    for spec in group.faulty:
        truth, seconds = run_spec(spec, out / "runs" / spec.run_id)
        rows.append(judged(spec, Case(truth, twin, other, spec.onset_step), seconds))
        truths[spec.run_id] = truth
    _keep_truths(truths, out)
    return rows


def judged(spec: Spec, case: Case, seconds: float) -> dict[str, Any]:
    """The manifest row of a faulty run, labelled by its outcome."""
    fault = load_all()[spec.fault]
    verdict = TESTS[fault.outcome](case)
    label = (verdict.label or fault.label) if verdict.bit else "healthy"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a thinned run can be too short for a median
        logged = TESTS[fault.outcome](as_logged(case, spec.log_every, means=spec.engine == "hf"))
    seen = logged.bit and logged.course != "slower" and _logged(fault.needs, spec)
    observable = seen if verdict.bit else True
    return _row(spec, verdict, label, observable=observable, seconds=seconds)


def _logged(needs: tuple[str, ...], spec: Spec) -> bool:
    """Whether a run's files hold what would show the fault: the metrics, and the number of classes for a guess's cost."""
    missing = set(spec.dropped)
    if spec.engine != "loop":
        missing.add("data_time_s")
    if not _has_times(spec):
        missing.add("step_time_s")
    if not spec.option("states_config") or spec.task == "regression":
        missing.add("classes")
    return not missing & set(needs)


def _has_times(spec: Spec) -> bool:
    """Whether rows carry a step time or a stamp: the TensorBoard files of libraries do, their other files do not."""
    if spec.engine == "hf":
        return spec.seed % 2 == 1
    if spec.engine == "lightning":
        return spec.seed % 2 == 0
    return spec.writer == "tensorboard" or "step_time_s" not in spec.dropped


def judge_again(group: Group, out: Path) -> list[dict[str, Any]]:
    """The manifest rows of a group that was made before, judged anew from the truths that were kept."""
    rows = json.loads(group_file(group, out).read_text(encoding="utf-8"))
    seconds = {row["run_id"]: (row["seconds"], row["versions"]) for row in rows}
    truths = {run_id: _kept_truth(run_id, out) for run_id in seconds}
    if len(rows) == 2:  # the twins were not healthy, and no truth was kept
        return list(rows)
    twin, other = truths[group.twin.run_id], truths[group.other.run_id]
    found = rows[:2]
    for spec in group.faulty:
        case = Case(truths[spec.run_id], twin, other, spec.onset_step)
        found.append(judged(spec, case, seconds[spec.run_id][0]) | {"versions": seconds[spec.run_id][1]})
    return list(found)


def group_file(group: Group, out: Path) -> Path:
    """Where the manifest rows of a group are kept."""
    return out / "groups" / f"{group.twin.run_id.removesuffix('-twin')}.json"


def _row(spec: Spec, verdict: Verdict, label: str, *, observable: bool, seconds: float) -> dict[str, Any]:
    return {
        "run_id": spec.run_id,
        "path": f"runs/{spec.run_id}",
        "kind": "metric",
        "fault": spec.fault,
        "label": label,
        "bit": verdict.bit,
        "observable": observable,
        "course": verdict.course if verdict.bit else "",
        "severity": round(spec.severity, 3),
        "onset_step": spec.onset_step if spec.onset else "",
        "twin": spec.twin,
        "writer": spec.writer,
        "architecture": spec.architecture,
        "optimizer": spec.optimizer,
        "schedule": spec.schedule,
        "precision": spec.precision,
        "batch_size": spec.batch_size,
        "steps": spec.steps,
        "log_every": spec.log_every,
        "seed": spec.seed,
        "exit_code": 0,
        "outcome": verdict.because,
        "versions": versions(spec.engine),
        "seconds": round(seconds, 2),
    }


def versions(engine: str) -> str:
    """Versions of the packages that made a run."""
    found = []
    for name in PACKAGES[engine]:
        with contextlib.suppress(PackageNotFoundError):
            module = sys.modules.get(name)
            found.append(f"{name} {getattr(module, '__version__', None) or version(name)}")
    return ", ".join(found)


def _kept_truth(run_id: str, out: Path) -> Truth:
    path = out / "truth" / f"{run_id}.json"
    return Truth(**json.loads(path.read_text(encoding="utf-8"))) if path.exists() else Truth()


def _keep_truths(truths: dict[str, Truth], out: Path) -> None:
    folder = out / "truth"
    folder.mkdir(exist_ok=True)
    for run_id, truth in truths.items():
        (folder / f"{run_id}.json").write_text(json.dumps(asdict(truth)), encoding="utf-8")
