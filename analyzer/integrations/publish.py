"""``analyzer diagnose RUN --publish SERVICE``: the verdict and the report where the run's curves already are. Only when asked.

tensorboard   a text summary beside the event files of the run directory
mlflow        tags and the report as artifacts of the run whose directory is given
wandb         summary values and the report as a panel of the run whose address or directory is given
trackio       values of the run whose project and name are given by TRACKIO_PROJECT and TRACKIO_RUN
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from analyzer.errors import InputError
from analyzer.model.diagnosis import Diagnosis

_OFFLINE_RUN = re.compile(r"(?:offline-)?run-\d{8}_\d{6}-(?P<id>[a-z0-9]{1,64})")


def publish(diagnosis: Diagnosis, service: str, place: str, report: str, brief: str) -> str:
    """Publish a diagnosis.

    Returns:
        Where it is now.

    Raises:
        InputError: The client is not installed, or the run is none of that service.
    """
    try:
        return SERVICES[service](diagnosis, place, report, brief)
    except ModuleNotFoundError as error:
        raise InputError(f"--publish {service} needs {error.name}: pip install {service}") from error


def _tags(diagnosis: Diagnosis) -> dict[str, str | float]:
    leads = (
        diagnosis.findings[0] if diagnosis.findings and diagnosis.status in {"failed", "degraded"} else None
    )
    tags: dict[str, str | float] = {
        "analyzer.status": diagnosis.status,
        "analyzer.summary": diagnosis.summary,
    }
    if leads is not None:
        tags |= {"analyzer.cause": leads.cause.id, "analyzer.probability": round(leads.probability, 3)}
    return tags


def _directory(place: str, service: str) -> Path:
    path = Path(place)
    if not path.is_dir():
        raise InputError(f"--publish {service}: {place} is no directory of a run")
    return path


def _tensorboard(diagnosis: Diagnosis, place: str, report: str, brief: str) -> str:
    del report  # the tab shows it; a text summary cannot
    from tensorboard.compat.proto.summary_pb2 import Summary  # noqa: PLC0415
    from tensorboard.plugins.text.metadata import create_summary_metadata  # noqa: PLC0415
    from tensorboard.summary.writer.event_file_writer import EventFileWriter  # noqa: PLC0415
    from tensorboard.util.tensor_util import make_tensor_proto  # noqa: PLC0415

    folder = _directory(place, "tensorboard") / "analyzer"
    text = "\n".join(f"    {line}" for line in brief.splitlines())  # indented: shown as it stands, no markup
    value = Summary.Value(
        tag=f"analyzer/{diagnosis.status}",
        metadata=create_summary_metadata("diagnosis", diagnosis.summary),
        tensor=make_tensor_proto([text.encode()], shape=(1,)),
    )
    writer = EventFileWriter(str(folder))
    _add(writer, Summary(value=[value]))
    writer.close()
    return str(folder)


def _add(writer: Any, summary: Any) -> None:
    import time  # noqa: PLC0415

    from tensorboard.compat.proto.event_pb2 import Event  # noqa: PLC0415

    writer.add_event(Event(wall_time=time.time(), step=0, summary=summary))


def _mlflow(diagnosis: Diagnosis, place: str, report: str, brief: str) -> str:
    from mlflow.tracking import MlflowClient  # noqa: PLC0415

    path = _directory(place, "mlflow").resolve()
    if not (path / "meta.yaml").is_file():
        raise InputError(
            f"--publish mlflow: {place} is no run of MLflow's file store (mlruns/EXPERIMENT/RUN)"
        )
    client = MlflowClient(os.environ.get("MLFLOW_TRACKING_URI") or path.parents[1].as_uri())
    for name, value in _tags(diagnosis).items():
        client.set_tag(path.name, name, value)
    client.log_text(path.name, report, "analyzer/report.html")
    client.log_text(path.name, brief, "analyzer/brief.txt")
    return f"run {path.name}: tags analyzer.*, artifacts analyzer/"


def _wandb(diagnosis: Diagnosis, place: str, report: str, brief: str) -> str:
    del brief
    from analyzer.fetch.address import RunAddress, parse_address  # noqa: PLC0415

    address = None if Path(place).exists() else parse_address(place)
    known: Mapping[str, Any]
    if isinstance(address, RunAddress):
        known = {"entity": address.entity, "project": address.project, "id": address.run_id, "resume": "must"}
    else:
        names = [
            match["id"]
            for path in Path(place).rglob("*run-*")
            if (match := _OFFLINE_RUN.fullmatch(path.name))
        ]
        if not names:
            raise InputError(
                f"--publish wandb: {place} is neither the address nor the directory of a W&B run"
            )
        known = {"id": names[-1], "resume": "allow"}
    import wandb  # noqa: PLC0415

    # the run is a finished one of somewhere else: nothing of this machine belongs to it
    quiet = wandb.Settings(
        silent=True, console="off", disable_git=True, x_disable_stats=True, x_disable_meta=True
    )
    run = wandb.init(**known, settings=quiet)
    run.summary.update(_tags(diagnosis))
    run.log({"analyzer/report": wandb.Html(report, inject=False)})
    run.finish()
    return f"run {known['id']}: summary analyzer.*, panel analyzer/report"


def _trackio(diagnosis: Diagnosis, place: str, report: str, brief: str) -> str:
    del place, report, brief
    project, name = os.environ.get("TRACKIO_PROJECT"), os.environ.get("TRACKIO_RUN")
    if not project or not name:
        raise InputError("--publish trackio: set TRACKIO_PROJECT and TRACKIO_RUN")
    import trackio  # noqa: PLC0415

    trackio.init(project=project, name=name, resume="must")
    trackio.log(_tags(diagnosis))
    trackio.finish()
    return f"run {name} of {project}: analyzer.*"


SERVICES: dict[str, Callable[[Diagnosis, str, str, str], str]] = {
    "tensorboard": _tensorboard, "mlflow": _mlflow, "wandb": _wandb, "trackio": _trackio,
}  # fmt: skip
"""Whereto, by name."""
