"""What ``analyzer diagnose`` and ``explain`` do, without Typer: ``analyzer diagnose RUN`` starts here directly."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from analyzer.cli.output import Format, rendered, write
from analyzer.cli.progress import reading
from analyzer.vocabulary.compiled import kept_expressions

if TYPE_CHECKING:
    from analyzer.api import Study

SHOWN = 3
"""Causes shown in full, unless ``--top`` says otherwise."""


def print_diagnosis(source: str) -> None:
    """``analyzer diagnose SOURCE`` without any option.

    Raises:
        InputError: Nothing could be read.
    """
    write(rendered(run_study(source), Format.terminal, None, show_all=False, top=SHOWN), None)


def run_study(
    source: str,
    *,
    rules: list[Path] | None = None,
    baseline: str | None = None,
    checkpoint: Path | None = None,
    replay: list[Path] | None = None,
    metric: list[str] | None = None,
    offline: bool = False,
) -> Study:
    """Diagnose a path, a run on a W&B server, or standard input.

    Raises:
        InputError: Nothing could be read.
    """
    from analyzer import api

    more, traces = rules or [], replay or []
    metrics: dict[str, str] = {}
    if metric:
        from analyzer.ingest.chosen_names import parse_choices

        metrics = parse_choices(metric)
    read = api.study_stdin if source == "-" else partial(api.study, source)
    with kept_expressions(), reading():
        return read(
            rules=more,
            metrics=metrics,
            baseline=baseline,
            checkpoint=checkpoint,
            replay=traces,
            offline=offline,
        )
