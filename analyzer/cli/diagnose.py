"""``analyzer diagnose SOURCE``."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from analyzer.cli.exit_codes import FINDING, FailOn
from analyzer.cli.output import Format, chosen_format, rendered, write
from analyzer.cli.study import SHOWN, run_study
from analyzer.errors import InputError
from analyzer.ingest import limits
from analyzer.ingest.limits import BASE_CPU_S

if TYPE_CHECKING:
    from analyzer.api import Study


Rules = Annotated[
    list[Path] | None, typer.Option("--rules", help="Further rule pack (directory or rule.yaml); repeatable.")
]
Source = Annotated[
    str, typer.Argument(help="Run directory, log file, address of a W&B run, or - for standard input.")
]
Baseline = Annotated[
    str | None, typer.Option("--baseline", help="A run that worked; what differs becomes evidence.")
]
Offline = Annotated[
    bool, typer.Option("--offline", help="Do not use the network; a W&B run is read from the cache.")
]
Checkpoint = Annotated[
    Path | None, typer.Option("--checkpoint", help="Checkpoint directory or safetensors file of the run.")
]
Replay = Annotated[
    list[Path] | None,
    typer.Option("--replay", help="Replay trace of the failing step (file or directory); repeatable."),
]
Metric = Annotated[
    list[str] | None, typer.Option("--metric", help="Metric to take as the loss: loss=train_mse; repeatable.")
]
Budget = Annotated[
    float,
    typer.Option(
        "--budget",
        min=1,
        help="CPU seconds allowed for a diagnosis, beside an allowance for the size of the files.",
    ),
]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an internal error.")]


class Service(StrEnum):
    """Where a diagnosis can be published."""

    tensorboard = "tensorboard"
    mlflow = "mlflow"
    wandb = "wandb"
    trackio = "trackio"


def diagnose_command(
    source: Source,
    format_name: Annotated[
        Format | None,
        typer.Option("--format", "-f", help="Output format; by default that of the suffix of --output."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="Write to a file instead of the screen: .html, .md, .json or .txt."
        ),
    ] = None,
    show_all: Annotated[
        bool, typer.Option("--all", help="Show every cause considered and every line of evidence.")
    ] = False,
    top: Annotated[int, typer.Option("--top", min=1, max=50, help="Causes shown in full.")] = SHOWN,
    rules: Rules = None,
    baseline: Baseline = None,
    checkpoint: Checkpoint = None,
    replay: Replay = None,
    metric: Metric = None,
    fail_on: Annotated[
        FailOn, typer.Option("--fail-on", help="Exit with code 1 if a fault at least this probable is found.")
    ] = FailOn.never,
    budget: Budget = BASE_CPU_S,
    publish: Annotated[
        list[Service] | None,
        typer.Option("--publish", help="Publish verdict and report to the tracker of the run; repeatable."),
    ] = None,
    offline: Offline = False,
    debug: Debug = False,
) -> None:
    """Find the root cause of a failed run.

    Shows the evidence with file and line, the fix as a change to your own files, and what was not seen.
    """
    del debug  # looked at in main()
    chosen = chosen_format(format_name, output)
    limits.CURRENT.base_s = budget
    try:
        study = run_study(
            source,
            rules=rules,
            baseline=baseline,
            checkpoint=checkpoint,
            replay=replay,
            metric=metric,
            offline=offline,
        )
    except InputError as error:
        if chosen is Format.json:
            write(_unreadable_json(source, error), output)
        raise
    write(rendered(study, chosen, output, show_all=show_all, top=top), output)
    for service in publish or []:
        _publish(study, service, source)
    diagnosis = study.diagnosis
    threshold = fail_on.threshold
    cut_off = diagnosis.status == "interrupted" and fail_on is not FailOn.never
    faults = (f for f in diagnosis.findings if f.severity in {"fatal", "degrading"})
    if cut_off or any(f.probability >= threshold for f in faults):
        raise typer.Exit(FINDING)


def _publish(study: Study, service: Service, source: str) -> None:
    from analyzer.integrations.publish import publish
    from analyzer.render.brief import render_brief
    from analyzer.render.html import render_html

    found, run = study.diagnosis, study.run
    where = publish(found, service.value, source, render_html(found, run), render_brief(found, run))
    typer.echo(f"published to {service.value}: {where}", err=True)


def _unreadable_json(source: str, error: InputError) -> str:
    from analyzer.api import report, unreadable

    return report(unreadable(source, error), "json")
